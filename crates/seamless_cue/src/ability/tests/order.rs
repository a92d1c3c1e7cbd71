//! What observers do while they are told is told behind all that had happened before.

use bevy_app::App;
use bevy_asset::Handle;
use bevy_ecs::prelude::*;

use super::{
    super::{AbilityOutput, telling::Telling},
    app::*,
};
use crate::{effect::Output, *};

fn heard(app: &mut App) -> Vec<String> {
    core::mem::take(&mut app.world_mut().resource_mut::<Heard>().0)
}

/// Notes cues, and beginnings and ends with who has them.
fn listening_app() -> App {
    let (mut app, ..) = app();
    app.add_observer(|on: On<AbilityCue>, mut heard: ResMut<Heard>| heard.0.push(format!("{:?} {}", on.kind, on.tag)))
        .add_observer(|_: On<EffectApplied>, mut heard: ResMut<Heard>| heard.0.push("applied".into()))
        .add_observer(|_: On<EffectRemoved>, mut heard: ResMut<Heard>| heard.0.push("removed".into()))
        .add_observer(|_: On<AbilityActivated>, mut heard: ResMut<Heard>| heard.0.push("activated".into()))
        .add_observer(|_: On<AbilityEnded>, mut heard: ResMut<Heard>| heard.0.push("ended".into()));
    app
}

fn glowing() -> Effect {
    Effect {
        duration: EffectDuration::Infinite,
        tags: tags(&["Effect.Glow"]),
        cues: FiredCues {
            active: vec![tag("Cue.Glow")],
            ..FiredCues::default()
        },
        ..Effect::default()
    }
}

fn apply(app: &mut App, entity: Entity, effect: &Handle<Effect>) {
    app.world_mut()
        .commands()
        .apply_effect(entity, EffectSpec::new(effect.clone()));
    app.world_mut().flush();
}

#[test]
fn an_end_does_not_overtake_its_beginning() {
    let mut app = listening_app();
    // The first that hears of it takes it away.
    app.add_observer(|on: On<EffectApplied>, mut gameplay: Gameplay| {
        let id = on.info.id.expect("it lasts");
        assert!(gameplay.remove_effect(on.entity, id, None));
    });
    let hero = hero(&mut app);
    let glow = add(&mut app, glowing());
    apply(&mut app, hero, &glow);
    assert_eq!(
        heard(&mut app),
        ["applied", "Add Cue.Glow", "Remove Cue.Glow", "removed"]
    );
    assert!(app.world().get::<Effects>(hero).unwrap().is_empty());
}

#[test]
fn commands_of_an_observer_are_told_behind() {
    let mut app = listening_app();
    app.add_observer(|on: On<AbilityActivated>, mut commands: Commands| commands.end_ability(on.entity, on.info.id));
    app.add_observer(|on: On<EffectApplied>, mut commands: Commands| {
        commands.remove_effects_with(on.entity, tags(&["Effect.Glow"]));
    });
    let hero = hero(&mut app);
    let glow = add(&mut app, glowing());
    apply(&mut app, hero, &glow);
    assert_eq!(
        heard(&mut app),
        ["applied", "Add Cue.Glow", "Remove Cue.Glow", "removed"]
    );
    let aura = Ability {
        duration: AbilityDuration::Held,
        cues: FiredCues {
            active: vec![tag("Cue.Aura")],
            ..FiredCues::default()
        },
        ..Ability::default()
    };
    let aura = grant(&mut app, hero, aura);
    activate(&mut app, hero, aura).unwrap();
    assert_eq!(
        heard(&mut app),
        ["Add Cue.Aura", "activated", "Remove Cue.Aura", "ended"]
    );
}

/// Who is hit hits back, for ever; one is hit by the other.
fn thorns(app: &mut App) -> [Entity; 2] {
    #[derive(Component)]
    struct Foe(Entity);
    app.add_observer(|on: On<EffectExecuted>, foes: Query<&Foe>, mut commands: Commands| {
        if let Ok(Foe(foe)) = foes.get(on.entity) {
            commands.apply_effect(*foe, EffectSpec::new(on.info.effect.clone()));
        }
    });
    let pair = [hero(app), hero(app)];
    app.world_mut().entity_mut(pair[0]).insert(Foe(pair[1]));
    app.world_mut().entity_mut(pair[1]).insert(Foe(pair[0]));
    pair
}

#[test]
fn who_hits_back_for_ever_stops_no_app_and_loses_nothing() {
    let mut app = listening_app();
    app.world_mut().resource_mut::<AbilitySettings>().max_told_rounds = 5;
    let [one, other] = thorns(&mut app);
    let hit = add(
        &mut app,
        Effect {
            modifiers: vec![Modifier {
                attribute: mana(),
                operation: Operation::Add,
                magnitude: Magnitude::Constant(-1.0),
            }],
            ..Effect::default()
        },
    );
    apply(&mut app, one, &hit);
    let lost = |app: &App| 200.0 - value(app, one) - value(app, other);
    // The first hit, and five answers; the next one is not told yet.
    assert_eq!(lost(&app), 7.0);
    assert_eq!(app.world().resource::<AbilityStats>().put_off, 1);
    // What happens meanwhile waits in its order.
    let glow = add(&mut app, glowing());
    apply(&mut app, one, &glow);
    app.world_mut()
        .gameplay(move |gameplay| gameplay.remove_effects_with(one, &tags(&["Effect.Glow"])));
    assert_eq!(heard(&mut app), [""; 0]);
    app.world_mut().resource_mut::<AbilitySettings>().max_told_rounds = 0;
    frame(&mut app, 0.0);
    assert_eq!(
        heard(&mut app),
        ["applied", "Add Cue.Glow", "Remove Cue.Glow", "removed"]
    );
    assert_eq!(lost(&app), 8.0);
}

#[test]
fn a_thousand_answers_need_no_stack() {
    let (mut app, ..) = app();
    app.world_mut().resource_mut::<AbilitySettings>().max_told_rounds = 20_000;
    let [one, other] = thorns(&mut app);
    let hit = add(&mut app, Effect::default());
    #[derive(Resource, Default)]
    struct Hits(u32);
    app.init_resource::<Hits>().add_observer(
        |on: On<EffectExecuted>, mut hits: ResMut<Hits>, mut commands: Commands| {
            hits.0 += 1;
            if hits.0 == 10_000 {
                commands.entity(on.entity).despawn();
            }
        },
    );
    apply(&mut app, one, &hit);
    assert!(app.world().resource::<Hits>().0 >= 10_000);
    assert_eq!(app.world().resource::<AbilityStats>().put_off, 0);
    let alive = [one, other].map(|entity| app.world().get_entity(entity).is_ok());
    assert_eq!(alive.iter().filter(|alive| **alive).count(), 1);
}

#[test]
fn rejections_have_their_place() {
    let mut app = listening_app();
    app.add_observer(|_: On<EffectRejected>, mut heard: ResMut<Heard>| heard.0.push("rejected".into()));
    app.add_observer(|on: On<EffectApplied>, mut commands: Commands| {
        commands.apply_effect(on.entity, EffectSpec::default());
    });
    let hero = hero(&mut app);
    let glow = add(&mut app, glowing());
    apply(&mut app, hero, &glow);
    assert_eq!(heard(&mut app), ["applied", "Add Cue.Glow", "rejected"]);
}

#[test]
fn with_too_much_untold_nothing_begins_and_everything_ends() {
    let (mut app, ..) = app();
    let hero = hero(&mut app);
    let glow = add(&mut app, glowing());
    apply(&mut app, hero, &glow);
    let aura = grant(
        &mut app,
        hero,
        Ability {
            duration: AbilityDuration::Held,
            ..Ability::default()
        },
    );
    let untold = 1 << 20;
    let over = Output::Ability(AbilityOutput::CooldownOver(aura));
    app.world_mut()
        .resource_mut::<Telling>()
        .push(hero, core::iter::repeat_n(over, untold));
    app.world_mut().gameplay(move |gameplay| {
        let spec = EffectSpec::new(glow);
        assert_eq!(
            gameplay.apply_effect(hero, &spec),
            Err(EffectRefused::Untold { untold })
        );
        let activated = gameplay.try_activate(hero, aura, Aim::default());
        assert_eq!(activated, Err(AbilityRefused::Untold { untold }));
        let granted = gameplay.grant(hero, AbilitySpec::default());
        assert!(matches!(granted, Err(GrantError::Untold { .. })));
        assert_eq!(gameplay.remove_effects_with(hero, &tags(&["Effect.Glow"])), 1);
        assert!(gameplay.revoke(hero, aura));
    });
}
