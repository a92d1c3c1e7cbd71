use proptest::prelude::*;

use super::*;

const MS: Duration = Duration::from_millis(1);

const INPUTS: FrameInputs = FrameInputs {
    base: Duration::from_millis(2),
    boost: 2.0,
    horizon: Duration::from_millis(750),
    least: 0.5,
    slow_frame: Duration::from_millis(16),
    arrival: None,
    ready: Duration::ZERO,
    recent_frame: Some(Duration::from_millis(10)),
};

fn boosted(arrival: f32, ready: Duration) -> FramePlan {
    plan_frame(&FrameInputs {
        arrival: Some(arrival),
        ready,
        ..INPUTS
    })
}

fn at_frames_of(milliseconds: u32) -> FramePlan {
    plan_frame(&FrameInputs {
        recent_frame: Some(MS * milliseconds),
        ..INPUTS
    })
}

const BASE: FramePlan = FramePlan {
    budget: INPUTS.base,
    is_boosted: false,
    is_reduced: false,
};

#[test]
fn without_hurry_it_is_the_base() {
    assert_eq!(plan_frame(&INPUTS), BASE);
    let unknown = FrameInputs {
        recent_frame: None,
        ..INPUTS
    };
    assert_eq!(plan_frame(&unknown), BASE);
    assert_eq!(boosted(10.0, MS * 100), BASE, "it is far away");
    assert_eq!(boosted(0.0, Duration::ZERO), BASE, "nothing can be done");
    assert_eq!(boosted(0.16, MS * 5), BASE, "ten frames do half a millisecond each");
    assert_eq!(boosted(f32::NAN, MS * 100), BASE);
}

#[test]
fn it_grows_as_much_as_is_needed_in_time_up_to_the_boost() {
    // Three quarters of a budget are planned with: 21 ms in 10 frames.
    let plan = boosted(0.16, MS * 21);
    assert!(plan.is_boosted && !plan.is_reduced);
    assert!((plan.budget.as_secs_f64() - 2.8e-3).abs() < 1e-6, "{plan:?}");
    let twice = FramePlan {
        budget: MS * 4,
        is_boosted: true,
        is_reduced: false,
    };
    assert_eq!(boosted(0.16, MS * 100), twice);
    assert_eq!(boosted(0.0, MS * 100), twice, "it is late already");
    assert_eq!(boosted(-3.0, MS * 100), twice);
    assert_eq!(boosted(0.1, Duration::MAX), twice);
}

#[test]
fn slow_frames_are_fewer_until_somebody_arrives() {
    // 10.5 ms in five frames.
    let slow = FrameInputs {
        arrival: Some(0.16),
        ready: MS * 21 / 2,
        recent_frame: Some(MS * 32),
        ..INPUTS
    };
    let plan = plan_frame(&slow);
    assert!(plan.is_boosted && !plan.is_reduced);
    assert!((plan.budget.as_secs_f64() - 2.8e-3).abs() < 1e-6, "{plan:?}");
}

#[test]
fn a_boost_counts_when_it_was_used() {
    let plan = boosted(0.0, MS * 100);
    assert!(plan.has_used_boost(MS * 3, INPUTS.base));
    assert!(!plan.has_used_boost(MS, INPUTS.base));
    assert!(!BASE.has_used_boost(MS * 3, INPUTS.base));
}

#[test]
fn it_shrinks_where_frames_are_slow() {
    assert_eq!(at_frames_of(20), BASE, "a quarter more is not slow");
    let plan = at_frames_of(25);
    assert!(plan.is_reduced && !plan.is_boosted);
    assert!((plan.budget.as_secs_f64() - 1.6e-3).abs() < 1e-6, "{plan:?}");
    assert_eq!(at_frames_of(1000).budget, MS, "half of it is left");
    let some = FrameInputs {
        arrival: Some(0.0),
        ready: MS + MS / 10,
        recent_frame: Some(MS * 1000),
        ..INPUTS
    };
    assert_eq!(plan_frame(&some).budget, MS + MS / 2, "what is needed soon is done");
    let both = FrameInputs {
        arrival: Some(0.0),
        ready: MS * 100,
        recent_frame: Some(MS * 100),
        ..INPUTS
    };
    assert!(plan_frame(&both).is_boosted, "whoever needs it soon comes first");
}

#[test]
fn the_time_of_frames_is_the_mean_of_the_last_few_without_our_own() {
    let mut rhythm = Rhythm::default();
    let mut now = Duration::ZERO;
    for frame in 0..20 {
        assert_eq!(rhythm.frame().is_some(), frame > RECENT, "{frame}");
        rhythm.begin(now, if frame == 0 { Duration::ZERO } else { MS * 4 });
        now += MS * 20;
    }
    assert_eq!(rhythm.frame(), Some(MS * 16));
    // A pause is forgotten.
    now += MS * 5000;
    for _ in 0..=RECENT {
        rhythm.begin(now, MS * 4);
        now += MS * 20;
    }
    assert_eq!(rhythm.frame(), Some(MS * 16));
}

#[test]
fn what_runs_later_has_its_time_reserved() {
    let mut reserve = Reserve::default();
    assert_eq!(reserve.of(MS), Duration::ZERO);
    for _ in 0..100 {
        reserve.learn(MS / 10);
    }
    let found = reserve.of(MS);
    assert!(found >= MS / 10 && found < MS / 8, "{found:?}");
    let before = reserve.of(MS);
    reserve.learn(MS * 500);
    assert!(reserve.of(MS) < before * 2, "one long frame");
    for _ in 0..20 {
        reserve.learn(MS / 10);
    }
    assert!(reserve.of(MS) < before * 3 / 2, "is forgotten");
    for _ in 0..100 {
        reserve.learn(MS * 500);
    }
    assert_eq!(reserve.of(MS), MS / 4, "no more than a quarter");
    assert_eq!(reserve.of(Duration::ZERO), Duration::ZERO);
}

proptest! {
    /// Whatever settings, clocks and games say.
    #[test]
    fn a_budget_is_between_the_least_and_the_boosted_one(
        base in 0..100_000_u64, boost in any::<f32>(), horizon in any::<u32>(), least in any::<f32>(), slow in any::<u32>(),
        arrival in any::<Option<f32>>(), ready in any::<u64>(), recent in any::<Option<u64>>(),
    ) {
        let base = Duration::from_micros(base);
        let inputs = FrameInputs {
            base,
            boost,
            horizon: Duration::from_micros(horizon.into()),
            least,
            slow_frame: Duration::from_micros(slow.into()),
            arrival,
            ready: Duration::from_nanos(ready),
            recent_frame: recent.map(Duration::from_nanos),
        };
        let plan = plan_frame(&inputs);
        let least = if least.is_nan() { 0.0 } else { least.clamp(0.0, 1.0) };
        let most = boost.max(1.0);
        prop_assert!(plan.budget >= multiplied(base, least));
        prop_assert!(plan.budget <= multiplied(base, most));
        prop_assert_eq!((plan.is_boosted, plan.is_reduced), (plan.budget > base, plan.budget < base));
        let ready = inputs.ready.min(enough_work(&inputs));
        prop_assert_eq!(plan, plan_frame(&FrameInputs { ready, ..inputs }), "more than enough counts for nothing");
    }
}

#[test]
fn a_boost_without_an_end_is_as_much_as_it_takes() {
    let boosted = |boost, base| {
        plan_frame(&FrameInputs {
            arrival: Some(0.0),
            ready: MS * 300,
            boost,
            base,
            ..INPUTS
        })
    };
    let plan = boosted(f32::INFINITY, INPUTS.base);
    assert!(plan.is_boosted && plan.budget >= MS * 300, "{plan:?}");
    assert_eq!(boosted(f32::MAX, INPUTS.base), plan);
    for none in [f32::NAN, -1.0] {
        assert_eq!(boosted(none, INPUTS.base), BASE);
    }
    assert_eq!(boosted(f32::INFINITY, Duration::ZERO).budget, Duration::ZERO);
}
