//! What happens seldom, and must be right all the same.

use super::*;

fn works_if(forbid: &str) -> TagRequirements {
    TagRequirements {
        forbid: tags(&[forbid]),
        ..TagRequirements::default()
    }
}

#[test]
fn no_stacks_removed_is_nothing_told() {
    let mut bench = Bench::new();
    let rage = bench.book.add(lasting(10));
    bench.apply(&rage).unwrap();
    let id = bench.first().id();
    bench.told();
    assert!(bench.remove(id, Some(0)));
    assert_eq!(bench.told(), []);
    assert!(!bench.remove(EffectId(99), Some(0)));
}

#[test]
fn a_value_is_given_once() {
    let name = tag("Data.Damage");
    let spec = EffectSpec::default().given(name, 1.0).given(name, 2.0);
    assert_eq!((spec.given.len(), spec.given_value(name)), (1, Some(2.0)));
}

#[test]
fn a_definition_that_is_changed_meanwhile_does_not_change_what_is_at_work() {
    let mut bench = Bench::new();
    let bless = bench.book.add(Effect {
        modifiers: vec![
            modifier(Operation::Add, Magnitude::Constant(10.0)),
            modifier(Operation::Multiply, Magnitude::Constant(2.0)),
        ],
        ..lasting(100)
    });
    bench.apply(&bless).unwrap();
    assert_eq!(bench.power(), 220.0);
    // Its author puts one in front.
    let mut effect = bench.book.get_mut(&bless).expect("it is there");
    effect
        .modifiers
        .insert(0, modifier(Operation::Divide, Magnitude::Constant(4.0)));
    drop(effect);
    bench.tick(1);
    assert_eq!(bench.power(), 220.0);
    bench.tick(99);
    bench.apply(&bless).unwrap();
    assert_eq!(bench.power(), 55.0);
}

#[test]
fn inhibited_effects_do_not_use_the_budget() {
    let mut bench = Bench::new();
    let quiet = bench.book.add(Effect {
        duration: EffectDuration::Infinite,
        works_if: works_if("State.Silenced"),
        ..periodic(1, 1, false)
    });
    let loud = bench.book.add(Effect {
        duration: EffectDuration::Infinite,
        ..periodic(1, 10, false)
    });
    bench.tags.add(tag("State.Silenced"));
    bench.apply(&quiet).unwrap();
    bench.apply(&loud).unwrap();
    bench.tick(500);
    assert_eq!((bench.power(), bench.out.periods_dropped), (50.0, 0));
    // It kept time meanwhile.
    bench.tags.remove(tag("State.Silenced"));
    bench.tick(1);
    assert_eq!(bench.power(), 49.0);
}

#[test]
fn a_step_of_a_year_is_no_long_one() {
    const YEAR: u64 = 31_536_000_000;
    let mut bench = Bench::new();
    let poison = bench.book.add(Effect {
        duration: EffectDuration::Infinite,
        ..periodic(1, 1, false)
    });
    let rage = bench.book.add(Effect {
        stacking: Some(Stacking {
            duration: Restart::Keep,
            ..stacking(MAX_STACKS, Expiry::OneStack)
        }),
        ..lasting(1)
    });
    bench.apply(&poison).unwrap();
    let EffectOutcome::Started(rage_id) = bench.apply(&rage).unwrap() else {
        panic!("it starts")
    };
    for _ in 0..98 {
        bench.apply(&rage).unwrap();
    }
    bench.told();
    let limits = EffectLimits { periods: 10, ..LIMITS };
    bench.tick_within(20, limits);
    // Five of each; then the stacks whose time falls into the rest of the step are over in one.
    let stacks = bench.effects.get(rage_id).expect("it lasts").stacks();
    assert_eq!((stacks, bench.power()), (79, 95.0));
    assert_eq!(bench.out.periods_dropped, 15);
    bench.tick_within(YEAR, limits);
    assert!(bench.effects.get(rage_id).is_none());
    assert_eq!(bench.power(), 90.0);
    assert_eq!(bench.out.periods_dropped, 15 + YEAR - 5);
    assert!(bench.told().len() < 100);
}

#[test]
fn a_circle_of_tags_does_not_flicker() {
    let mut bench = Bench::new();
    for (grants, forbid) in [("State.A", "State.B"), ("State.B", "State.C"), ("State.C", "State.A")] {
        let effect = bench.book.add(Effect {
            grants: tags(&[grants]),
            works_if: works_if(forbid),
            ..lasting(100)
        });
        bench.apply(&effect).unwrap();
    }
    let works = |bench: &Bench| -> Vec<bool> { bench.effects.iter().map(|active| !active.is_inhibited()).collect() };
    let settled = works(&bench);
    assert_eq!(settled, [false, true, false], "nobody works against its tags");
    assert!(bench.out.circle.contains(&tag("State.A")), "{:?}", bench.out.circle);
    bench.told();
    for _ in 0..10 {
        bench.tick(1);
        assert_eq!((works(&bench), bench.told()), (settled.clone(), Vec::new()));
    }
    // With another one in the way, there is no circle any more.
    bench.tags.add(tag("State.B"));
    bench.out.unsettled = 0;
    bench.tick(1);
    bench.tick(1);
    assert_eq!((works(&bench), bench.out.unsettled), (vec![false, false, true], 0));
}

#[test]
fn long_chains_are_no_circles() {
    let mut bench = Bench::new();
    // Each waits for the tag of the one that is applied after it.
    for index in 0..20 {
        let effect = bench.book.add(Effect {
            grants: tags(&[&format!("Chain.T{index}")]),
            works_if: TagRequirements {
                require: tags(&[&format!("Chain.T{}", index + 1)]),
                ..TagRequirements::default()
            },
            ..lasting(100)
        });
        bench.apply(&effect).unwrap();
    }
    bench.tags.add(tag("Chain.T20"));
    bench.tick(1);
    assert!(bench.effects.iter().all(|active| !active.is_inhibited()));
    assert_eq!(bench.out.unsettled, 0);
}

#[test]
fn tags_that_count_nothing_can_be_removed() {
    let text = r#"{"seamless_cue::effect::owned_tags::OwnedTags": (counts: [("State.Odd", 0)])}"#;
    let mut registry = bevy_reflect::TypeRegistry::new();
    registry.register::<OwnedTags>();
    registry.register::<(GameplayTag, u32)>();
    let seed = bevy_reflect::serde::ReflectDeserializer::new(&registry);
    let mut deserializer = ::ron::Deserializer::from_str(text).expect("it is RON");
    let value = serde::de::DeserializeSeed::deserialize(seed, &mut deserializer).expect("it is read");
    let mut owned = <OwnedTags as bevy_reflect::FromReflect>::from_reflect(&*value).expect("they are tags");
    assert!(owned.has(tag("State.Odd")));
    assert!(owned.remove(tag("State.Odd")) && owned.is_empty());
}
