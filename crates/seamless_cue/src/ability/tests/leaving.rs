//! What becomes of effects and abilities when their components leave.

use bevy_app::App;
use bevy_ecs::{entity::MapEntities, prelude::*};

use super::app::*;
use crate::*;

fn heard(app: &mut App) -> Vec<String> {
    core::mem::take(&mut app.world_mut().resource_mut::<Heard>().0)
}

/// Somebody who is blessed, casts, and has a cooldown.
fn busy() -> (App, Entity) {
    let (mut app, ..) = app();
    let hero = hero(&mut app);
    let cues = |name: &str| FiredCues {
        active: vec![tag(name)],
        ..FiredCues::default()
    };
    let bless = add(
        &mut app,
        Effect {
            duration: EffectDuration::Infinite,
            grants: tags(&["State.Blessed"]),
            modifiers: vec![Modifier {
                attribute: mana(),
                operation: Operation::Add,
                magnitude: Magnitude::Constant(-20.0),
            }],
            cues: cues("Cue.Halo"),
            ..Effect::default()
        },
    );
    let cast = grant(
        &mut app,
        hero,
        Ability {
            duration: AbilityDuration::Held,
            grants: tags(&["State.Casting"]),
            cooldown: Some(Cooldown {
                time: seconds(9.0),
                tags: tags(&["Cooldown.Cast"]),
            }),
            cues: cues("Cue.Cast"),
            ..Ability::default()
        },
    );
    app.world_mut().gameplay(move |gameplay| {
        assert!(gameplay.apply_effect(hero, &EffectSpec::new(bless)).is_ok());
        assert!(gameplay.try_activate(hero, cast, Aim::default()).is_ok());
        assert!(gameplay.add_tag(hero, tag("State.Loose")));
    });
    app.add_observer(|on: On<AbilityCue>, mut heard: ResMut<Heard>| heard.0.push(format!("{:?} {}", on.kind, on.tag)))
        .add_observer(|on: On<EffectRemoved>, mut heard: ResMut<Heard>| heard.0.push(format!("removed {:?}", on.why)))
        .add_observer(|on: On<AbilityEnded>, mut heard: ResMut<Heard>| heard.0.push(format!("ended {:?}", on.why)))
        .add_observer(|_: On<AbilityRevoked>, mut heard: ResMut<Heard>| heard.0.push("revoked".into()))
        .add_observer(|_: On<CooldownOver>, mut heard: ResMut<Heard>| heard.0.push("ready".into()));
    (app, hero)
}

fn owned(app: &App, hero: Entity) -> Vec<&'static str> {
    let tags = app.world().get::<OwnedTags>(hero).unwrap();
    tags.iter().map(|(tag, _)| tag.name()).collect()
}

const ABILITIES_END: [&str; 4] = ["Remove Cue.Cast", "ended Revoked", "revoked", "ready"];
const EFFECTS_END: [&str; 2] = ["Remove Cue.Halo", "removed Removed"];

#[test]
fn who_loses_the_component_keeps_nothing_of_it() {
    for replace in [false, true] {
        let (mut app, hero) = busy();
        assert_eq!(value(&app, hero), 80.0);
        let mut entity = app.world_mut().entity_mut(hero);
        match replace {
            true => entity.insert(Effects::default()),
            false => entity.remove::<Effects>(),
        };
        assert_eq!(heard(&mut app), EFFECTS_END);
        assert_eq!(value(&app, hero), 100.0);
        assert_eq!(owned(&app, hero), ["Cooldown.Cast", "State.Casting", "State.Loose"]);
        let mut entity = app.world_mut().entity_mut(hero);
        match replace {
            true => entity.insert(Abilities::default()),
            false => entity.remove::<Abilities>(),
        };
        assert_eq!(heard(&mut app), ABILITIES_END);
        assert_eq!(owned(&app, hero), ["State.Loose"]);
    }
}

#[test]
fn clearing_ends_everything() {
    let (mut app, hero) = busy();
    app.world_mut().commands().entity(hero).clear_gameplay();
    app.world_mut().flush();
    assert_eq!(heard(&mut app), [&ABILITIES_END[..], &EFFECTS_END[..]].concat());
    assert_eq!((owned(&app, hero), value(&app, hero)), (vec!["State.Loose"], 100.0));
    let again = app.world_mut().gameplay(move |gameplay| gameplay.clear(hero));
    assert_eq!((again, heard(&mut app)), (Some(false), Vec::new()));
}

#[test]
fn of_who_is_despawned_nothing_is_told() {
    let (mut app, hero) = busy();
    app.world_mut().despawn(hero);
    frame(&mut app, 0.1);
    assert_eq!(heard(&mut app), [""; 0]);
    // And of the next one it is.
    let (mut app, hero) = busy();
    let other = super::app::hero(&mut app);
    app.world_mut().despawn(other);
    app.world_mut().entity_mut(hero).remove::<Effects>();
    assert_eq!(heard(&mut app), EFFECTS_END);
}

#[test]
fn no_id_is_used_again() {
    let (mut app, hero) = busy();
    let ids = |app: &App| {
        let entity = app.world().entity(hero);
        let effect = entity.get::<Effects>().unwrap().iter().next().unwrap().id();
        (effect, entity.get::<Abilities>().unwrap().iter().next().unwrap().id())
    };
    let before = ids(&app);
    app.world_mut().entity_mut(hero).remove::<(Effects, Abilities)>();
    app.world_mut().entity_mut(hero).insert(Abilities::default());
    let effect = add(
        &mut app,
        Effect {
            duration: EffectDuration::Infinite,
            ..Effect::default()
        },
    );
    app.world_mut()
        .gameplay(move |gameplay| gameplay.apply_effect(hero, &EffectSpec::new(effect)).is_ok());
    grant(&mut app, hero, Ability::default());
    let after = ids(&app);
    assert!(before.0 < after.0 && before.1 < after.1, "{before:?} {after:?}");
}

#[test]
fn entities_within_are_mapped() {
    let (mut app, hero) = busy();
    let [old, new] = [1, 2].map(|index| Entity::from_raw_u32(index).expect("an entity"));
    let curse = add(
        &mut app,
        Effect {
            duration: EffectDuration::Infinite,
            cues: FiredCues {
                active: vec![tag("Cue.Curse")],
                ..FiredCues::default()
            },
            ..Effect::default()
        },
    );
    app.world_mut()
        .gameplay(move |gameplay| gameplay.apply_effect(hero, &EffectSpec::new(curse).from(old)).is_ok());
    let mut effects = app.world().get::<Effects>(hero).unwrap().clone();
    <Effects as Component>::map_entities(&mut effects, &mut (old, new));
    let last = effects.iter().last().unwrap();
    assert_eq!((last.spec().source, last.spec().instigator), (Some(new), Some(new)));
    assert_eq!(last.given.as_ref().unwrap().origin.source, Some(new));
    let mut spec = AbilitySpec::default().source(old);
    spec.map_entities(&mut (old, new));
    assert_eq!(spec.source, Some(new));
}
