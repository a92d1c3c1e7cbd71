//! What happens seldom, and must be right all the same.

use bevy_ecs::prelude::*;
use bevy_reflect::TypeRegistry;

use super::app::*;
use crate::*;

fn cost(attribute: &str, amount: f32) -> Vec<Cost> {
    vec![Cost {
        attribute: tag(attribute),
        amount: Magnitude::Constant(amount),
    }]
}

#[test]
fn what_is_paid_for_is_not_cancelled() {
    let (mut app, ..) = app();
    app.add_observer(|on: On<AbilityRejected>, mut heard: ResMut<Heard>| heard.0.push(on.refused.to_string()));
    let hero = hero(&mut app);
    let shot = |costs: Vec<Cost>| Ability {
        costs,
        commit: CommitPolicy::Asked,
        duration: AbilityDuration::Held,
        ..Ability::default()
    };
    let cheap = grant(&mut app, hero, shot(cost("Attribute.Mana", 30.0)));
    activate(&mut app, hero, cheap).unwrap();
    let dear = grant(&mut app, hero, shot(Vec::new()));
    activate(&mut app, hero, dear).unwrap();
    let mut commands = app.world_mut().commands();
    commands.commit_ability(hero, cheap);
    commands.commit_ability(hero, cheap);
    app.world_mut().flush();
    assert!(is_active(&app, hero, cheap));
    assert_eq!(value(&app, hero), 70.0);
    let heard = &app.world().resource::<Heard>().0;
    assert_eq!(heard, &[AbilityRefused::Committed.to_string()]);
    // One that cannot be paid for is.
    let dearer = grant(
        &mut app,
        hero,
        Ability {
            while_active: WhileActive::Restart,
            ..shot(cost("Attribute.Mana", 60.0))
        },
    );
    activate(&mut app, hero, dearer).unwrap();
    app.world_mut()
        .gameplay(move |gameplay| gameplay.set_base(hero, mana(), 10.0));
    app.world_mut().commands().commit_ability(hero, dearer);
    app.world_mut().flush();
    assert!(!is_active(&app, hero, dearer));
}

#[test]
fn refusals_say_what_is_missing() {
    let (mut app, ..) = app();
    let hero = hero(&mut app);
    let prayer = grant(
        &mut app,
        hero,
        Ability {
            costs: cost("Attribute.Faith", 1.0),
            ..Ability::default()
        },
    );
    let refused = activate(&mut app, hero, prayer).unwrap_err();
    let expected = "it costs `Attribute.Faith`, which the owner does not have; give it that attribute";
    assert_eq!(refused.to_string(), expected);
    let remaining = core::time::Duration::from_millis(40);
    let refused = AbilityRefused::Cooldown { remaining };
    assert_eq!(refused.to_string(), "it can be used again in 0.1 s");
    let many = (0..300).map(|index| AttributeDef::new(tag(&format!("Attribute.Many.{index}")), 0.0));
    assert_eq!(
        Attributes::new(many).unwrap_err(),
        AttributeError::TooMany { count: 300 }
    );
}

#[test]
fn what_costs_an_effect_is_asked_for_that_before() {
    let (mut app, ..) = app();
    let hero = hero(&mut app);
    let tired = Effect {
        duration: EffectDuration::For(seconds(1.0)),
        apply_if: TagRequirements {
            require: tags(&["State.Awake"]),
            ..TagRequirements::default()
        },
        ..Effect::default()
    };
    let tired = add(&mut app, tired);
    let run = grant(
        &mut app,
        hero,
        Ability {
            cost_effect: Some(tired),
            cooldown: Some(Cooldown {
                time: seconds(2.0),
                tags: TagSet::new(),
            }),
            ..Ability::default()
        },
    );
    let can = app.world_mut().gameplay(move |gameplay| {
        let before = gameplay.can_activate(hero, run);
        gameplay.add_tag(hero, tag("State.Awake"));
        (before, gameplay.can_activate(hero, run), gameplay.cooldown(hero, run))
    });
    let refused = AbilityRefused::CostEffect(EffectRefused::MissingTag(tag("State.Awake")));
    assert_eq!(can, Some((Err(refused), Ok(()), None)));
    activate(&mut app, hero, run).unwrap();
    frame(&mut app, 0.5);
    let cooldown = app.world_mut().gameplay(move |gameplay| gameplay.cooldown(hero, run));
    assert_eq!(cooldown, Some(Some((seconds(1.5), seconds(2.0)))));
}

#[test]
fn an_arrow_is_as_strong_as_who_has_shot_it() {
    let (mut app, ..) = app();
    let (hero, foe) = (hero(&mut app), hero(&mut app));
    let arrow = add(
        &mut app,
        Effect {
            modifiers: vec![Modifier {
                attribute: mana(),
                operation: Operation::Add,
                magnitude: Magnitude::Attribute {
                    of: Whose::Source,
                    attribute: mana(),
                    factor: -0.5,
                    plus: 0.0,
                },
            }],
            ..Effect::default()
        },
    );
    let spec = EffectSpec::new(arrow).from(hero);
    let loose = spec.clone();
    let captured = app
        .world_mut()
        .gameplay(move |gameplay| gameplay.capture(spec))
        .unwrap();
    app.world_mut().despawn(hero);
    let hit = |app: &mut bevy_app::App, spec: EffectSpec, target: Entity| {
        let applied = app
            .world_mut()
            .gameplay(move |gameplay| gameplay.apply_effect(target, &spec));
        applied.expect("there is a plugin")
    };
    let refused = hit(&mut app, loose, foe).unwrap_err();
    assert_eq!(refused, EffectRefused::Magnitude(MagnitudeError::NoSource(mana())));
    assert!(refused.to_string().contains("Gameplay::capture"), "{refused}");
    assert_eq!(hit(&mut app, captured.clone(), foe), Ok(EffectOutcome::Executed));
    assert_eq!(value(&app, foe), 50.0);
    app.world_mut().despawn(foe);
    assert_eq!(hit(&mut app, captured, foe), Err(EffectRefused::NoTarget));
}

#[test]
fn executions_tell_what_they_have_changed() {
    #[derive(Resource, Default)]
    struct Changes(Vec<BaseChange>, f32);
    let (mut app, ..) = app();
    app.init_resource::<Changes>()
        .add_observer(|on: On<EffectExecuted>, mut changes: ResMut<Changes>| {
            changes.0.extend_from_slice(&on.changes);
            changes.1 = on.info.modifiers[0].magnitude;
        });
    let hero = hero(&mut app);
    let blow = add(
        &mut app,
        Effect {
            modifiers: vec![Modifier {
                attribute: mana(),
                operation: Operation::Add,
                magnitude: Magnitude::Constant(-300.0),
            }],
            ..Effect::default()
        },
    );
    app.world_mut()
        .commands()
        .entity(hero)
        .apply_effect(EffectSpec::new(blow));
    app.world_mut().flush();
    let change = BaseChange {
        attribute: mana(),
        old: 100.0,
        new: 0.0,
    };
    let found = app.world().resource::<Changes>();
    assert_eq!((&found.0[..], found.1), (&[change][..], -300.0));
}

#[test]
fn only_what_changes_counts_as_changed() {
    #[derive(Resource, Default)]
    struct Changes(usize, usize);
    let (mut app, ..) = app();
    app.init_resource::<Changes>().add_systems(
        bevy_app::PostUpdate,
        |effects: Query<(), Changed<Effects>>,
         abilities: Query<(), Changed<Abilities>>,
         mut changes: ResMut<Changes>| {
            changes.0 += effects.iter().count();
            changes.1 += abilities.iter().count();
        },
    );
    let hero = hero(&mut app);
    let bless = add(
        &mut app,
        Effect {
            duration: EffectDuration::For(seconds(0.35)),
            ..Effect::default()
        },
    );
    grant(&mut app, hero, Ability::default());
    app.world_mut()
        .gameplay(move |gameplay| gameplay.apply_effect(hero, &EffectSpec::new(bless)).is_ok());
    let changes = |app: &mut bevy_app::App| {
        frame(app, 0.1);
        core::mem::take(&mut *app.world_mut().resource_mut::<Changes>())
    };
    let found: Vec<_> = (0..5)
        .map(|_| changes(&mut app))
        .map(|found| (found.0, found.1))
        .collect();
    assert_eq!(found, [(1, 1), (0, 0), (0, 0), (1, 0), (0, 0)]);
}

#[test]
fn levels_begin_at_one() {
    assert_eq!((EffectSpec::default().level, AbilitySpec::default().level), (1.0, 1.0));
    let slot = tag("Slot.First");
    let spec = AbilitySpec::default().level(2.0).slot(slot);
    assert_eq!((spec.level, spec.slot, spec.source), (2.0, Some(slot), None));
}

#[test]
fn a_cooldown_that_goes_with_its_ability_is_told() {
    let (mut app, ..) = app();
    app.add_observer(|_: On<CooldownOver>, mut heard: ResMut<Heard>| heard.0.push("ready".into()));
    let hero = hero(&mut app);
    let bolt = grant(
        &mut app,
        hero,
        Ability {
            cooldown: Some(Cooldown {
                time: seconds(2.0),
                tags: TagSet::new(),
            }),
            ..Ability::default()
        },
    );
    activate(&mut app, hero, bolt).unwrap();
    app.world_mut().gameplay(move |gameplay| gameplay.revoke(hero, bolt));
    assert_eq!(app.world().resource::<Heard>().0, ["ready"]);
}

#[test]
fn the_limit_of_pending_grants_can_be_lowered() {
    let (mut app, ..) = app();
    let hero = hero(&mut app);
    let set = AbilitySet {
        abilities: vec![SetEntry {
            ability: seamless_asset::SoftHandle::new("nowhere.pkg#nothing"),
            level: 1.0,
            slot: None,
        }],
    };
    for _ in 0..3 {
        let mut grants = app.world_mut().resource_mut::<SetGrants>();
        grants.when_loaded(hero, &set, 0.0).unwrap();
    }
    app.world_mut().resource_mut::<AbilitySettings>().max_pending_grants = 1;
    frame(&mut app, 0.1);
    let mut grants = app.world_mut().resource_mut::<SetGrants>();
    while grants.pending() < 1 {
        grants.when_loaded(hero, &set, 0.0).unwrap();
    }
    let refused = grants.when_loaded(hero, &set, 0.0);
    assert!(matches!(refused, Err(GrantError::TooManyPending { limit: 1 })));
}

#[test]
fn events_are_known_to_reflection() {
    let (app, ..) = app();
    let registry = app.world().resource::<AppTypeRegistry>().read();
    let has = |registry: &TypeRegistry, name: &str| {
        let found = registry.get_with_short_type_path(name);
        found.is_some_and(|found| found.data::<bevy_ecs::reflect::ReflectEvent>().is_some())
    };
    for name in [
        "EffectApplied",
        "EffectRemoved",
        "AbilityActivated",
        "AbilityCue",
        "AttributeChanged",
    ] {
        assert!(has(&registry, name), "{name}");
    }
}
