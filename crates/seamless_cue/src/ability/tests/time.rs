//! Time: it does not matter in how many frames it passes.

use core::time::Duration;

use bevy_app::{App, Update};
use bevy_ecs::prelude::*;
use bevy_time::Time;
use proptest::prelude::*;

use super::app::*;
use crate::*;

fn ms(time: u16) -> Duration {
    Duration::from_millis(time.into())
}

fn effect(time: f32, grants: &[&str]) -> Effect {
    Effect {
        duration: EffectDuration::For(seconds(time)),
        grants: tags(grants),
        ..Effect::default()
    }
}

fn apply(app: &mut App, entity: Entity, effect: Effect) {
    let effect = add(app, effect);
    let applied = app
        .world_mut()
        .gameplay(move |gameplay| gameplay.apply_effect(entity, &EffectSpec::new(effect)).is_ok());
    assert_eq!(applied, Some(true));
}

fn channel(commit: CommitPolicy) -> Ability {
    Ability {
        duration: AbilityDuration::For(seconds(9.0)),
        interrupted_by: tags(&["State.Stunned"]),
        commit,
        ..Ability::default()
    }
}

#[test]
fn a_stun_interrupts_however_short_it_is() {
    let (mut app, ..) = app();
    let hero = hero(&mut app);
    let spell = grant(&mut app, hero, channel(CommitPolicy::AtOnce));
    activate(&mut app, hero, spell).unwrap();
    apply(&mut app, hero, effect(0.1, &["State.Stunned"]));
    assert!(!is_active(&app, hero, spell), "at once");
    // A stun that waits until something that keeps it away is over, and is over itself within the same frame.
    let stun = Effect {
        works_if: TagRequirements {
            forbid: tags(&["State.Steady"]),
            ..TagRequirements::default()
        },
        ..effect(0.4, &["State.Stunned"])
    };
    frame(&mut app, 1.0);
    activate(&mut app, hero, spell).unwrap();
    apply(&mut app, hero, effect(0.2, &["State.Steady"]));
    apply(&mut app, hero, stun);
    assert!(is_active(&app, hero, spell));
    frame(&mut app, 1.0);
    assert!(!is_active(&app, hero, spell));
    assert!(!has(&app, hero, "State.Stunned"));
    // A loose tag does it in the next step.
    activate(&mut app, hero, spell).unwrap();
    app.world_mut()
        .gameplay(move |gameplay| gameplay.add_tag(hero, tag("State.Stunned")));
    frame(&mut app, 0.0);
    assert!(!is_active(&app, hero, spell));
}

#[test]
fn who_is_stunned_does_not_commit() {
    let (mut app, ..) = app();
    let hero = hero(&mut app);
    let shot = grant(&mut app, hero, channel(CommitPolicy::Asked));
    activate(&mut app, hero, shot).unwrap();
    let committed = app.world_mut().gameplay(move |gameplay| {
        gameplay.add_tag(hero, tag("State.Stunned"));
        gameplay.commit(hero, shot)
    });
    let refused = AbilityRefused::ForbiddenTag(tag("State.Stunned"));
    assert_eq!(committed, Some(Err(refused)));
}

#[derive(Resource, Default)]
struct Times(u32);

/// An app that counts activations, with a hero who has this.
fn counting(ability: Ability) -> (App, Entity) {
    let (mut app, ..) = app();
    app.init_resource::<Times>()
        .add_observer(|_: On<AbilityActivated>, mut times: ResMut<Times>| times.0 += 1);
    let hero = hero(&mut app);
    grant(&mut app, hero, ability);
    (app, hero)
}

fn pulse(time: Duration) -> Ability {
    Ability {
        activation: ActivationPolicy::Always,
        cooldown: Some(Cooldown {
            time,
            tags: tags(&["Cooldown.Pulse"]),
        }),
        ..Ability::default()
    }
}

#[test]
fn a_pulse_of_a_tenth_comes_ten_times_a_second() {
    for (frames, time) in [(60, 1.0 / 60.0), (1, 1.0), (7, 1.0 / 7.0)] {
        let (mut app, _) = counting(pulse(ms(100)));
        frame(&mut app, 0.0);
        assert_eq!(app.world().resource::<Times>().0, 1, "as soon as there is a step");
        (0..frames).for_each(|_| frame(&mut app, time));
        // The eleventh is in the moment of the end, which floats may miss by a hair.
        let found = app.world().resource::<Times>().0;
        assert!((10..=11).contains(&found), "{found} in {frames} frames");
    }
}

#[test]
fn what_begins_by_itself_has_a_limit_too() {
    let (mut app, _) = counting(pulse(ms(1)));
    app.world_mut().resource_mut::<AbilitySettings>().max_periods_per_step = 20;
    frame(&mut app, 0.0);
    frame(&mut app, 3600.0);
    assert_eq!(app.world().resource::<Times>().0, 21);
    frame(&mut app, 0.001);
    assert!(app.world().resource::<Times>().0 > 21, "it goes on");
}

/// What is told of an aura that costs mana, which comes again over time.
fn course(steps: &[u16]) -> (Vec<String>, f32) {
    let (mut app, ..) = app();
    app.add_observer(|_: On<AbilityActivated>, mut heard: ResMut<Heard>| heard.0.push("activated".into()))
        .add_observer(|on: On<AbilityEnded>, mut heard: ResMut<Heard>| heard.0.push(format!("ended {:?}", on.why)))
        .add_observer(|_: On<CooldownOver>, mut heard: ResMut<Heard>| heard.0.push("ready".into()))
        .add_observer(|_: On<EffectPeriodic>, mut heard: ResMut<Heard>| heard.0.push("drop".into()));
    let hero = hero(&mut app);
    let spring = Effect {
        duration: EffectDuration::Infinite,
        period: Some(Period {
            every: ms(30),
            at_once: false,
        }),
        modifiers: vec![Modifier {
            attribute: mana(),
            operation: Operation::Add,
            magnitude: Magnitude::Constant(4.0),
        }],
        ..Effect::default()
    };
    apply(&mut app, hero, spring);
    grant(
        &mut app,
        hero,
        Ability {
            duration: AbilityDuration::For(ms(50)),
            costs: vec![Cost {
                attribute: mana(),
                amount: Magnitude::Constant(40.0),
            }],
            grants: tags(&["State.Aura"]),
            ..pulse(ms(70))
        },
    );
    frame(&mut app, 0.0);
    for step in steps {
        app.world_mut().resource_mut::<Time>().advance_by(ms(*step));
        app.update();
    }
    (
        core::mem::take(&mut app.world_mut().resource_mut::<Heard>().0),
        value(&app, hero),
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Effects, cooldowns, ends and beginnings, in one frame or in many.
    #[test]
    fn it_does_not_matter_in_how_many_frames_time_passes(steps in prop::collection::vec(1u16..60, 1..8)) {
        let in_all: u16 = steps.iter().sum();
        let single: Vec<u16> = (0..in_all).map(|_| 1).collect();
        let expected = course(&single);
        prop_assert_eq!(course(&steps), expected.clone());
        prop_assert_eq!(course(&[in_all]), expected);
    }
}

#[test]
fn nothing_is_taken_off_what_begins_in_a_frame() {
    for before in [true, false] {
        let (mut app, ..) = app();
        let hero = hero(&mut app);
        let [bless, hold] = [effect(0.5, &["State.Blessed"]), effect(9.0, &[])].map(|effect| add(&mut app, effect));
        let cast = grant(
            &mut app,
            hero,
            Ability {
                duration: AbilityDuration::For(seconds(0.5)),
                cooldown: Some(Cooldown {
                    time: seconds(0.5),
                    tags: TagSet::new(),
                }),
                ..Ability::default()
            },
        );
        let mut is_done = false;
        let deeds = move |mut gameplay: Gameplay| {
            if !core::mem::replace(&mut is_done, true) {
                for effect in [&bless, &hold] {
                    assert!(gameplay.apply_effect(hero, &EffectSpec::new(effect.clone())).is_ok());
                }
                assert!(gameplay.try_activate(hero, cast, Aim::default()).is_ok());
            }
        };
        match before {
            true => app.add_systems(Update, deeds.before(AbilitySystems::Tick)),
            false => app.add_systems(Update, deeds.after(AbilitySystems::Tick)),
        };
        // A long frame first: it is over when the deeds are done.
        frame(&mut app, 2.0);
        let remaining = |app: &App| {
            let effects = app.world().get::<Effects>(hero).unwrap();
            let abilities = app.world().get::<Abilities>(hero).unwrap();
            let cooldown = abilities.cooldowns().next().map(|running| running.remaining);
            let own = abilities.get(cast).and_then(GrantedAbility::remaining);
            (effects.iter().next().and_then(ActiveEffect::remaining), cooldown, own)
        };
        let left = |time: f32| Some(seconds(time));
        assert_eq!(remaining(&app), (left(0.5), left(0.5), left(0.5)), "before: {before}");
        frame(&mut app, 0.25);
        assert_eq!(remaining(&app), (left(0.25), left(0.25), left(0.25)));
        frame(&mut app, 0.25);
        assert!(!has(&app, hero, "State.Blessed") && !is_active(&app, hero, cast));
    }
}
