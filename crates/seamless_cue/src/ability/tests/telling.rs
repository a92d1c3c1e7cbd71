//! Who hears what, and in which order.

use bevy_ecs::prelude::*;
use bevy_reflect::{Reflect, structs::Struct};

use super::app::*;
use crate::{ability::stats::COUNTERS, counters::Counter, *};

fn note(text: impl Into<String>) -> impl FnOnce(&mut Heard) {
    let text = text.into();
    move |heard| heard.0.push(text)
}

/// Notes every event, and lets the spell do what it does.
fn listening_app() -> bevy_app::App {
    let (mut app, ..) = app();
    app.add_observer(
        |on: On<AbilityActivated>,
         abilities: Res<bevy_asset::Assets<Ability>>,
         mut heard: ResMut<Heard>,
         mut commands: Commands| {
            note("activated")(&mut heard);
            let ability = abilities.get(&on.info.ability).expect("it is there");
            if let (Some(burn), Some(target)) = (ability.effect("burn"), on.aim.target) {
                commands.apply_effect(target, EffectSpec::new(burn.clone()).from(on.entity));
            }
        },
    )
    .add_observer(|_: On<AbilityCommitted>, mut heard: ResMut<Heard>| note("committed")(&mut heard))
    .add_observer(|on: On<AbilityEnded>, mut heard: ResMut<Heard>| note(format!("ended: {:?}", on.why))(&mut heard))
    .add_observer(|_: On<EffectApplied>, mut heard: ResMut<Heard>| note("applied")(&mut heard))
    .add_observer(|on: On<EffectRemoved>, mut heard: ResMut<Heard>| note(format!("removed: {:?}", on.why))(&mut heard))
    .add_observer(|_: On<EffectPeriodic>, mut heard: ResMut<Heard>| note("executed")(&mut heard))
    .add_observer(|on: On<EffectRejected>, mut heard: ResMut<Heard>| {
        note(format!("rejected: {}", on.refused))(&mut heard)
    })
    .add_observer(|on: On<AbilityRejected>, mut heard: ResMut<Heard>| note(format!("no: {}", on.refused))(&mut heard))
    .add_observer(|on: On<AbilityCue>, mut heard: ResMut<Heard>| note(format!("{:?} {}", on.kind, on.tag))(&mut heard))
    .add_observer(|on: On<CooldownOver>, mut heard: ResMut<Heard>| note(format!("ready: {:?}", on.ability))(&mut heard))
    .add_observer(|on: On<AttributeChanged>, mut heard: ResMut<Heard>| {
        note(format!("{} from {} to {}", on.attribute, on.old, on.new))(&mut heard);
    });
    app
}

fn heard(app: &mut bevy_app::App) -> Vec<String> {
    core::mem::take(&mut app.world_mut().resource_mut::<Heard>().0)
}

#[test]
fn events_come_in_the_order_of_what_happens() {
    let mut app = listening_app();
    let (hero, foe) = (hero(&mut app), hero(&mut app));
    let burn = add(
        &mut app,
        Effect {
            duration: EffectDuration::For(seconds(1.0)),
            period: Some(Period {
                every: seconds(0.5),
                at_once: false,
            }),
            modifiers: vec![Modifier {
                attribute: mana(),
                operation: Operation::Add,
                magnitude: Magnitude::Constant(-10.0),
            }],
            cues: FiredCues {
                active: vec![tag("Cue.Burning")],
                executed: vec![tag("Cue.Sizzle")],
            },
            ..Effect::default()
        },
    );
    let slot = tag("Slot.Primary");
    let fire = add(
        &mut app,
        Ability {
            costs: vec![Cost {
                attribute: mana(),
                amount: Magnitude::Constant(30.0),
            }],
            cooldown: Some(Cooldown {
                time: seconds(0.75),
                tags: TagSet::new(),
            }),
            effects: vec![NamedEffect {
                name: "burn".into(),
                effect: burn,
            }],
            cues: FiredCues {
                executed: vec![tag("Cue.Cast")],
                ..FiredCues::default()
            },
            ..Ability::default()
        },
    );
    let spec = AbilitySpec {
        slot: Some(slot),
        ..AbilitySpec::new(fire)
    };
    let mut commands = app.world_mut().commands();
    commands.grant_ability(hero, spec);
    commands.activate_slot(hero, slot, Aim::at(foe));
    commands.activate_slot(hero, slot, Aim::at(foe));
    app.world_mut().flush();
    assert_eq!(
        heard(&mut app),
        [
            "committed",
            "Execute Cue.Cast",
            "activated",
            "ended: Finished",
            "applied",
            "Add Cue.Burning",
            "no: it can be used again in 0.8 s",
        ]
    );
    frame(&mut app, 0.5);
    let expected = [
        "Execute Cue.Sizzle",
        "executed",
        "Attribute.Mana from 100 to 70",
        "Attribute.Mana from 100 to 90",
    ];
    assert_eq!(heard(&mut app), expected);
    frame(&mut app, 0.5);
    assert_eq!(
        heard(&mut app),
        [
            "ready: AbilityId(0)",
            "Execute Cue.Sizzle",
            "executed",
            "Remove Cue.Burning",
            "removed: Expired",
            "Attribute.Mana from 90 to 80",
        ]
    );
    frame(&mut app, 0.5);
    assert_eq!(heard(&mut app), [""; 0]);
}

#[test]
fn commands_to_who_is_not_there_are_rejected_and_nothing_stops() {
    let mut app = listening_app();
    let plain = app.world_mut().spawn_empty().id();
    let effect = add(&mut app, Effect::default());
    let mut commands = app.world_mut().commands();
    commands.apply_effect(plain, EffectSpec::new(effect.clone()));
    commands.activate_slot(plain, tag("Slot.Primary"), Aim::default());
    commands.entity(plain).despawn();
    commands.apply_effect(plain, EffectSpec::new(effect));
    commands.remove_effects_with(plain, TagSet::new());
    commands.end_ability(plain, AbilityId(0));
    app.world_mut().flush();
    let no_target = "rejected: the target is not there, or has no `Effects`; insert that component";
    let no_owner = "no: the entity is not there, or has no `Abilities`; insert that component";
    assert_eq!(heard(&mut app), [no_target, no_owner, no_target]);
}

#[test]
fn nothing_counts_as_changed_that_is_as_it_was() {
    #[derive(Resource, Default)]
    struct Changes(usize);
    let (mut app, ..) = app();
    app.init_resource::<Changes>().add_systems(
        bevy_app::PostUpdate,
        |attributes: Query<(), Changed<Attributes>>,
         tags: Query<(), Changed<OwnedTags>>,
         mut changes: ResMut<Changes>| {
            changes.0 += attributes.iter().count() + tags.iter().count();
        },
    );
    let hero = hero(&mut app);
    let bless = add(
        &mut app,
        Effect {
            duration: EffectDuration::Infinite,
            grants: tags(&["State.Blessed"]),
            ..Effect::default()
        },
    );
    app.world_mut()
        .gameplay(move |gameplay| gameplay.apply_effect(hero, &EffectSpec::new(bless)).is_ok());
    frame(&mut app, 0.1);
    app.world_mut().resource_mut::<Changes>().0 = 0;
    frame(&mut app, 0.1);
    frame(&mut app, 0.1);
    assert_eq!(app.world().resource::<Changes>().0, 0);
}

#[test]
fn every_number_is_a_diagnostic() {
    let stats = AbilityStats::default();
    let stats: &dyn Struct = &stats;
    let fields: Vec<&str> = (0..stats.field_len())
        .filter_map(|index| stats.name_at(index))
        .collect();
    let counted: Vec<&str> = COUNTERS.iter().map(|counter| counter.field).collect();
    assert_eq!(counted, fields);
    for Counter { field, path, .. } in &COUNTERS {
        assert_eq!(path.as_str(), format!("seamless/abilities/{field}"));
    }
    let _: &dyn Reflect = &AbilityStats::default();
}

#[test]
fn without_the_plugin_nothing_is_done_and_nothing_panics() {
    let mut world = World::new();
    let entity = world.spawn_empty().id();
    assert_eq!(world.gameplay(move |gameplay| gameplay.tags(entity).is_some()), None);
}

#[test]
fn systems_have_one_order() {
    let (mut app, ..) = app();
    let world = app.world_mut();
    world.schedule_scope(bevy_app::Update, |world, schedule| {
        schedule.initialize(world).expect("it can be built");
        assert!(schedule.systems().expect("it is built").count() >= 5);
        let conflicts = schedule.graph().conflicting_systems();
        assert_eq!(conflicts.iter().count(), 0, "no order is said");
    });
}

#[test]
fn what_is_done_is_counted() {
    let (mut app, ..) = app();
    let hero = hero(&mut app);
    let bless = add(
        &mut app,
        Effect {
            duration: EffectDuration::Infinite,
            cues: FiredCues {
                active: vec![tag("Cue.Halo")],
                ..FiredCues::default()
            },
            ..Effect::default()
        },
    );
    let id = grant(&mut app, hero, Ability::default());
    app.world_mut().gameplay(move |gameplay| {
        let nobody = EffectSpec::default();
        assert!(gameplay.apply_effect(hero, &EffectSpec::new(bless)).is_ok());
        assert!(gameplay.apply_effect(hero, &nobody).is_err());
        assert!(gameplay.try_activate(hero, id, Aim::default()).is_ok());
        assert!(gameplay.try_activate(hero, AbilityId(7), Aim::default()).is_err());
    });
    let expected = AbilityStats {
        effects_applied: 1,
        effects_refused: 1,
        activations: 1,
        activations_refused: 1,
        cues: 1,
        ..AbilityStats::default()
    };
    assert_eq!(app.world().resource::<AbilityStats>(), &expected);
    frame(&mut app, 0.1);
    let expected = AbilityStats {
        active_effects: 1,
        granted_abilities: 1,
        ..AbilityStats::default()
    };
    assert_eq!(app.world().resource::<AbilityStats>(), &expected);
}
