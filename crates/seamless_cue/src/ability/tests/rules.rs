//! When abilities can be used, and what that costs.

use proptest::prelude::*;

use super::app::*;
use crate::*;

fn held(names: &[&str]) -> Ability {
    Ability {
        tags: tags(names),
        duration: AbilityDuration::Held,
        ..Ability::default()
    }
}

fn cost(amount: f32) -> Vec<Cost> {
    let amount = Magnitude::Constant(amount);
    vec![Cost {
        attribute: mana(),
        amount,
    }]
}

#[test]
fn costs_and_cooldowns_hold_back() {
    let (mut app, ..) = app();
    let hero = hero(&mut app);
    let bolt = grant(
        &mut app,
        hero,
        Ability {
            costs: cost(40.0),
            cooldown: Some(Cooldown {
                time: seconds(2.0),
                tags: tags(&["Cooldown.Bolt"]),
            }),
            ..Ability::default()
        },
    );
    assert_eq!(activate(&mut app, hero, bolt), Ok(()));
    assert!(!is_active(&app, hero, bolt), "it was over at once");
    assert_eq!((value(&app, hero), has(&app, hero, "Cooldown.Bolt")), (60.0, true));
    frame(&mut app, 0.5);
    let remaining = seconds(1.5);
    assert_eq!(
        activate(&mut app, hero, bolt),
        Err(AbilityRefused::Cooldown { remaining })
    );
    frame(&mut app, 1.5);
    assert!(!has(&app, hero, "Cooldown.Bolt"));
    assert_eq!(activate(&mut app, hero, bolt), Ok(()));
    let reset = app
        .world_mut()
        .gameplay(move |gameplay| gameplay.reset_cooldown(hero, bolt));
    assert_eq!((reset, has(&app, hero, "Cooldown.Bolt")), (Some(true), false));
    let refused = AbilityRefused::Cost {
        attribute: mana(),
        amount: 40.0,
        available: 20.0,
    };
    assert_eq!(activate(&mut app, hero, bolt), Err(refused.clone()));
    assert_eq!(refused.to_string(), "it costs 40 of `Attribute.Mana`, and there is 20");
    assert_eq!(value(&app, hero), 20.0);
}

#[test]
fn abilities_with_a_tag_in_common_share_a_cooldown() {
    let (mut app, ..) = app();
    let hero = hero(&mut app);
    let potion = |names: &[&str], time: f32| Ability {
        cooldown: Some(Cooldown {
            time: seconds(time),
            tags: tags(names),
        }),
        ..Ability::default()
    };
    let small = grant(&mut app, hero, potion(&["Cooldown.Potion"], 1.0));
    let large = grant(&mut app, hero, potion(&["Cooldown.Potion", "Cooldown.Large"], 5.0));
    let own = grant(&mut app, hero, potion(&[], 1.0));
    activate(&mut app, hero, small).unwrap();
    let remaining = seconds(1.0);
    assert_eq!(
        activate(&mut app, hero, large),
        Err(AbilityRefused::Cooldown { remaining })
    );
    assert_eq!(activate(&mut app, hero, own), Ok(()));
    assert!(activate(&mut app, hero, own).is_err());
    // Who gives the ability back keeps the cooldown that others share.
    app.world_mut()
        .gameplay(move |gameplay| gameplay.revoke(hero, small) && gameplay.revoke(hero, own));
    assert!(activate(&mut app, hero, large).is_err());
    assert_eq!(app.world().get::<Abilities>(hero).unwrap().cooldowns().len(), 1);
    frame(&mut app, 1.0);
    assert_eq!(activate(&mut app, hero, large), Ok(()));
}

#[test]
fn tags_of_the_owner_decide() {
    let (mut app, ..) = app();
    let hero = hero(&mut app);
    let spell = grant(
        &mut app,
        hero,
        Ability {
            activate_if: TagRequirements {
                require: tags(&["State.Armed"]),
                forbid: tags(&["State.Silenced"]),
            },
            interrupted_by: tags(&["State.Stunned"]),
            grants: tags(&["State.Casting"]),
            ..held(&["Ability.Spell"])
        },
    );
    let set = |app: &mut App, name: &'static str, on: bool| {
        app.world_mut().gameplay(move |gameplay| match on {
            true => gameplay.add_tag(hero, tag(name)),
            false => gameplay.remove_tag(hero, tag(name)),
        });
    };
    assert_eq!(
        activate(&mut app, hero, spell),
        Err(AbilityRefused::MissingTag(tag("State.Armed")))
    );
    set(&mut app, "State.Armed", true);
    for name in ["State.Silenced", "State.Stunned"] {
        set(&mut app, name, true);
        assert_eq!(
            activate(&mut app, hero, spell),
            Err(AbilityRefused::ForbiddenTag(tag(name)))
        );
        set(&mut app, name, false);
    }
    activate(&mut app, hero, spell).unwrap();
    assert_eq!(activate(&mut app, hero, spell), Err(AbilityRefused::Active));
    assert!(has(&app, hero, "State.Casting"));
    set(&mut app, "State.Silenced", true);
    frame(&mut app, 0.1);
    assert!(is_active(&app, hero, spell));
    set(&mut app, "State.Stunned", true);
    frame(&mut app, 0.1);
    assert!(!is_active(&app, hero, spell) && !has(&app, hero, "State.Casting"));
}

use bevy_app::App;

#[test]
fn abilities_cancel_and_block_each_other() {
    let (mut app, ..) = app();
    let hero = hero(&mut app);
    let stealth = grant(&mut app, hero, held(&["Ability.Stealth"]));
    let channel = grant(
        &mut app,
        hero,
        Ability {
            cancels: tags(&["Ability.Stealth"]),
            blocks: tags(&["Ability.Spell", "Ability.Stealth"]),
            ..held(&["Ability.Spell.Channel"])
        },
    );
    activate(&mut app, hero, stealth).unwrap();
    activate(&mut app, hero, channel).unwrap();
    assert!(!is_active(&app, hero, stealth) && is_active(&app, hero, channel));
    assert_eq!(activate(&mut app, hero, stealth), Err(AbilityRefused::Blocked(channel)));
    app.world_mut().gameplay(move |gameplay| gameplay.end(hero, channel));
    assert_eq!(activate(&mut app, hero, stealth), Ok(()));
}

#[test]
fn what_is_committed_later_costs_later() {
    let (mut app, ..) = app();
    let hero = hero(&mut app);
    let shot = grant(
        &mut app,
        hero,
        Ability {
            costs: cost(60.0),
            commit: CommitPolicy::Asked,
            while_active: WhileActive::Restart,
            ..held(&[])
        },
    );
    let commit = |app: &mut App| {
        app.world_mut()
            .gameplay(move |gameplay| gameplay.commit(hero, shot))
            .unwrap()
    };
    assert_eq!(commit(&mut app), Err(AbilityRefused::NotActive));
    activate(&mut app, hero, shot).unwrap();
    assert_eq!(value(&app, hero), 100.0);
    assert_eq!(commit(&mut app), Ok(()));
    assert_eq!(commit(&mut app), Err(AbilityRefused::Committed));
    assert_eq!(value(&app, hero), 40.0);
    // It cannot be paid for a second time, so it does not even begin anew.
    assert!(matches!(
        activate(&mut app, hero, shot),
        Err(AbilityRefused::Cost { .. })
    ));
    assert!(is_active(&app, hero, shot));
}

#[test]
fn a_cost_effect_comes_with_the_costs_or_nothing_does() {
    let (mut app, ..) = app();
    let hero = hero(&mut app);
    let tired = add(
        &mut app,
        Effect {
            duration: EffectDuration::For(seconds(1.0)),
            grants: tags(&["State.Tired"]),
            apply_if: TagRequirements {
                forbid: tags(&["State.Tired"]),
                ..TagRequirements::default()
            },
            ..Effect::default()
        },
    );
    let run = grant(
        &mut app,
        hero,
        Ability {
            costs: cost(10.0),
            cost_effect: Some(tired),
            ..Ability::default()
        },
    );
    activate(&mut app, hero, run).unwrap();
    let refused = AbilityRefused::CostEffect(EffectRefused::ForbiddenTag(tag("State.Tired")));
    assert_eq!(activate(&mut app, hero, run), Err(refused));
    assert_eq!(value(&app, hero), 90.0);
    frame(&mut app, 1.0);
    activate(&mut app, hero, run).unwrap();
    assert_eq!(value(&app, hero), 80.0);
}

#[test]
fn some_end_by_themselves_and_some_begin_by_themselves() {
    let (mut app, ..) = app();
    let hero = hero(&mut app);
    let aura = grant(
        &mut app,
        hero,
        Ability {
            duration: AbilityDuration::For(seconds(1.0)),
            activation: ActivationPolicy::Always,
            activate_if: TagRequirements {
                forbid: tags(&["State.Silenced"]),
                ..TagRequirements::default()
            },
            cooldown: Some(Cooldown {
                time: seconds(2.0),
                tags: TagSet::new(),
            }),
            ..Ability::default()
        },
    );
    let found: Vec<bool> = (0..6)
        .map(|_| {
            frame(&mut app, 0.5);
            is_active(&app, hero, aura)
        })
        .collect();
    assert_eq!(found, [true, true, false, false, true, true]);
}

#[test]
fn who_is_not_there_is_told_so() {
    let (mut app, ..) = app();
    let hero = hero(&mut app);
    let id = grant(&mut app, hero, Ability::default());
    let plain = app.world_mut().spawn_empty().id();
    assert_eq!(activate(&mut app, plain, id), Err(AbilityRefused::NoOwner));
    assert_eq!(activate(&mut app, hero, AbilityId(99)), Err(AbilityRefused::NotGranted));
    let gone = app
        .world()
        .get::<Abilities>(hero)
        .unwrap()
        .get(id)
        .unwrap()
        .spec()
        .ability
        .id();
    app.world_mut()
        .resource_mut::<bevy_asset::Assets<Ability>>()
        .remove(gone);
    assert_eq!(activate(&mut app, hero, id), Err(AbilityRefused::NotLoaded));
    app.world_mut().resource_mut::<AbilitySettings>().max_abilities = 1;
    let spec = AbilitySpec::default();
    let granted = app.world_mut().gameplay(move |gameplay| gameplay.grant(hero, spec));
    assert!(matches!(granted, Some(Err(GrantError::TooMany { limit: 1 }))));
}

#[derive(Clone, Debug)]
enum Deed {
    Grant(usize),
    Revoke(usize),
    Activate(usize),
    End(usize),
    Stun(bool),
    Wait(u8),
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        2 => (0usize..4).prop_map(Deed::Grant),
        1 => (0usize..6).prop_map(Deed::Revoke),
        5 => (0usize..6).prop_map(Deed::Activate),
        1 => (0usize..6).prop_map(Deed::End),
        1 => any::<bool>().prop_map(Deed::Stun),
        3 => (1u8..20).prop_map(Deed::Wait),
    ]
}

fn kinds() -> [Ability; 4] {
    let cooldown = |names: &[&str]| {
        Some(Cooldown {
            time: seconds(1.0),
            tags: tags(names),
        })
    };
    let cues = FiredCues {
        active: vec![tag("Cue.Cast")],
        executed: vec![tag("Cue.Flash")],
    };
    [
        Ability {
            cooldown: cooldown(&["Cooldown.A"]),
            costs: cost(5.0),
            cues: cues.clone(),
            ..Ability::default()
        },
        Ability {
            grants: tags(&["State.Casting"]),
            interrupted_by: tags(&["State.Stunned"]),
            blocks: tags(&["Ability.Other"]),
            cues: cues.clone(),
            ..held(&["Ability.Cast"])
        },
        Ability {
            duration: AbilityDuration::For(seconds(0.5)),
            grants: tags(&["State.Casting", "State.Other"]),
            cancels: tags(&["Ability.Cast"]),
            cooldown: cooldown(&["Cooldown.A", "Cooldown.B"]),
            cues,
            ..held(&["Ability.Other"])
        },
        Ability {
            while_active: WhileActive::Restart,
            grants: tags(&["State.Running"]),
            ..held(&["Ability.Run"])
        },
    ]
    .map(|ability| ability)
}

/// What was told, counted.
#[derive(bevy_ecs::resource::Resource, Default)]
struct Balance {
    activated: usize,
    ended: usize,
    cues: i64,
}

fn balanced_app() -> App {
    use bevy_ecs::prelude::*;
    let (mut app, ..) = app();
    app.init_resource::<Balance>()
        .add_observer(|_: On<AbilityActivated>, mut balance: ResMut<Balance>| balance.activated += 1)
        .add_observer(|_: On<AbilityEnded>, mut balance: ResMut<Balance>| balance.ended += 1)
        .add_observer(|cue: On<AbilityCue>, mut balance: ResMut<Balance>| match cue.kind {
            CueAct::Add => balance.cues += 1,
            CueAct::Remove => balance.cues -= 1,
            CueAct::Execute | CueAct::Join => {}
        });
    app
}

/// Tags, told events and cues are those of what is active, and no more.
fn check_books(app: &App, hero: bevy_ecs::entity::Entity, stunned: bool) -> Result<(), TestCaseError> {
    let abilities = app.world().get::<Abilities>(hero).unwrap();
    let mut expected = OwnedTags::default();
    let definitions = app.world().resource::<bevy_asset::Assets<Ability>>();
    let mut active = 0;
    let mut cues = 0;
    for granted in abilities.iter().filter(|granted| granted.is_active()) {
        let ability = definitions.get(&granted.spec().ability).unwrap();
        expected.add_all(&ability.grants);
        active += 1;
        cues += ability.cues.active.len() as i64;
    }
    for running in abilities.cooldowns() {
        prop_assert!(!running.remaining.is_zero() && running.remaining <= running.total);
        expected.add_all(&running.tags);
    }
    if stunned {
        expected.add(tag("State.Stunned"));
    }
    prop_assert_eq!(app.world().get::<OwnedTags>(hero).unwrap(), &expected);
    let balance = app.world().resource::<Balance>();
    prop_assert_eq!(balance.activated - balance.ended, active);
    prop_assert_eq!(balance.cues, cues);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Whatever is done, the books are right, and what is refused has changed nothing.
    #[test]
    fn the_books_are_right(deeds in prop::collection::vec(deed(), 1..60)) {
        let mut app = balanced_app();
        let hero = hero(&mut app);
        let mut stunned = false;
        let ids = |app: &App| -> Vec<AbilityId> {
            app.world().get::<Abilities>(hero).unwrap().iter().map(GrantedAbility::id).collect()
        };
        for deed in deeds {
            match deed {
                Deed::Grant(kind) => {
                    grant(&mut app, hero, kinds()[kind].clone());
                }
                Deed::Revoke(nth) => if let Some(id) = ids(&app).get(nth).copied() {
                    app.world_mut().gameplay(move |gameplay| gameplay.revoke(hero, id));
                },
                Deed::Activate(nth) => if let Some(id) = ids(&app).get(nth).copied() {
                    let parts = |app: &App| {
                        let entity = app.world().entity(hero);
                        (entity.get::<Abilities>().cloned(), entity.get::<OwnedTags>().cloned(), entity.get::<Attributes>().cloned())
                    };
                    let before = parts(&app);
                    if activate(&mut app, hero, id).is_err() {
                        prop_assert_eq!(before, parts(&app));
                    }
                },
                Deed::End(nth) => if let Some(id) = ids(&app).get(nth).copied() {
                    app.world_mut().gameplay(move |gameplay| gameplay.cancel(hero, id));
                },
                Deed::Stun(stun) if stun != stunned => {
                    stunned = stun;
                    app.world_mut().gameplay(move |gameplay| match stun {
                        true => gameplay.add_tag(hero, tag("State.Stunned")),
                        false => gameplay.remove_tag(hero, tag("State.Stunned")),
                    });
                }
                Deed::Stun(_) => {}
                Deed::Wait(tenths) => frame(&mut app, f32::from(tenths) / 10.0),
            }
            check_books(&app, hero, stunned)?;
        }
        for id in ids(&app) {
            app.world_mut().gameplay(move |gameplay| gameplay.revoke(hero, id));
        }
        frame(&mut app, 1.0);
        check_books(&app, hero, stunned)?;
        prop_assert!(app.world().get::<Abilities>(hero).unwrap().is_idle());
    }
}
