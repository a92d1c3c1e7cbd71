use proptest::prelude::*;

use super::*;

const MICROSECOND: Duration = Duration::from_micros(1);

const KINDS: [UnitKind; 14] = [
    UnitKind::Insert,
    UnitKind::Begin,
    UnitKind::HiddenSpawn,
    UnitKind::Reveal,
    UnitKind::RevealSliced,
    UnitKind::Show,
    UnitKind::Hide,
    UnitKind::Leave,
    UnitKind::Mark,
    UnitKind::LeaveUnseen,
    UnitKind::Sweep,
    UnitKind::Reload,
    UnitKind::Room,
    UnitKind::Blocking,
];

fn nanoseconds(fixed: f64, per_item: f64, items: u64) -> Duration {
    Duration::from_nanos((fixed + per_item * items as f64) as u64)
}

fn within(found: Duration, expected: Duration, part: f64) -> bool {
    (found.as_secs_f64() / expected.as_secs_f64() - 1.0).abs() < part
}

#[test]
fn kinds_have_names_of_their_own() {
    let names: std::collections::BTreeSet<_> = KINDS.iter().map(|kind| kind.name()).collect();
    assert_eq!(names.len(), KINDS.len());
    assert_eq!(UnitKind::RevealSliced.to_string(), "reveal of slices");
}

/// Guesses about what an app never does say nothing about what it does.
#[test]
fn what_is_known_of_the_whole_is_not_lowered_by_guesses() {
    let slices = (UnitKind::HiddenSpawn, 32);
    let cost =
        |costs: &CostModel, items| costs.whole_or_sliced(UnitKind::Reveal, slices, UnitKind::RevealSliced, items);
    let mut costs = CostModel::default();
    let guessed = cost(&costs, 1000);
    assert_eq!(guessed, costs.of(UnitKind::Reveal, 1000), "by guesses it is less");
    for _ in 0..100 {
        costs.learn(UnitKind::Reveal, 30, MICROSECOND * 600);
    }
    assert!(cost(&costs, 30) > MICROSECOND * 500);
    // What was done in slices is known better by these.
    for _ in 0..100 {
        costs.learn(UnitKind::HiddenSpawn, 32, MICROSECOND * 10);
    }
    assert!(cost(&costs, 3200) > MICROSECOND * 10_000);
    for _ in 0..100 {
        costs.learn(UnitKind::RevealSliced, 3200, MICROSECOND * 200);
    }
    let thought = cost(&costs, 3200);
    assert!(thought < MICROSECOND * 2000);
    // Who is shown whole all the same takes what that takes.
    let whole = costs.in_one(UnitKind::Reveal, 3200, thought);
    assert!(whole > MICROSECOND * 10_000);
    let unknown = CostModel::default().in_one(UnitKind::Reveal, 3200, thought);
    assert_eq!(unknown, thought);
}

#[test]
fn what_is_not_known_is_guessed_from_what_is_alike() {
    let (mesh, image) = (TypeId::of::<u8>(), TypeId::of::<u16>());
    let of = |of| CostKey {
        unit: UnitKind::Insert,
        of: Some(of),
    };
    let mut costs = CostModel::default();
    assert_eq!(
        costs.of(of(mesh), 1_000_000),
        Duration::from_nanos(1_002_000),
        "a nanosecond a byte"
    );
    assert_eq!(
        costs.of(UnitKind::Reveal, 1000),
        Duration::from_micros(1002),
        "and a microsecond an entity"
    );
    for _ in 0..200 {
        costs.learn(of(mesh), 1000, MICROSECOND * 10);
    }
    assert!(within(costs.of(of(mesh), 1000), MICROSECOND * 10, 0.05));
    assert_eq!(
        costs.of(of(image), 1000),
        costs.of(UnitKind::Insert, 1000),
        "it is an insert as well"
    );
    assert!(within(costs.of(of(image), 1000), MICROSECOND * 10, 0.05));
    for _ in 0..200 {
        costs.learn(of(image), 1000, MICROSECOND * 40);
    }
    assert!(
        within(costs.of(of(mesh), 1000), MICROSECOND * 10, 0.05),
        "types have rates of their own"
    );
    assert!(within(costs.of(of(image), 1000), MICROSECOND * 40, 0.05));
    assert_eq!(
        costs.of(UnitKind::Reveal, 1000),
        Duration::from_micros(1002),
        "so have kinds"
    );
}

/// Interrupted in the middle, now and then.
#[test]
fn a_few_outliers_tell_little() {
    let mut costs = CostModel::default();
    for unit in 0..400 {
        let took = nanoseconds(5_000.0, 100.0, 1000);
        costs.learn(UnitKind::Hide, 1000, if unit % 50 == 7 { took * 1000 } else { took });
    }
    let found = costs.of(UnitKind::Hide, 1000);
    assert!(found < Duration::from_micros(105) * 2, "{found:?}");
}

#[test]
fn a_change_is_followed_soon_and_upwards_sooner() {
    let mut costs = CostModel::default();
    let mut units_until = |took: Duration, is_there: fn(Duration, Duration) -> bool| {
        (0..1000).find(|_| {
            costs.learn(UnitKind::Sweep, 32, took);
            is_there(costs.of(UnitKind::Sweep, 32), took)
        })
    };
    let _ = units_until(MICROSECOND * 5, |found, took| found < took * 11 / 10);
    let up = units_until(MICROSECOND * 50, |found, took| found >= took * 9 / 10);
    let down = units_until(MICROSECOND * 5, |found, took| found <= took * 2);
    assert!(up.is_some_and(|up| up < 20), "{up:?}");
    assert!(down > up && down.is_some_and(|down| down < 120), "{down:?}");
}

/// All levels of a world may be of one size: another is then a part of that.
#[test]
fn units_of_one_size_say_what_an_item_takes() {
    let mut costs = CostModel::default();
    for _ in 0..300 {
        costs.learn(UnitKind::Leave, 1300, MICROSECOND * 260);
    }
    for (items, expected) in [(13, 2.6), (1300, 260.0), (13_000, 2600.0)] {
        let expected = Duration::from_secs_f64(expected * 1e-6);
        assert!(within(costs.of(UnitKind::Leave, items), expected, 0.05));
    }
}

/// What is fixed of a unit's time comes again with each.
#[test]
fn what_takes_many_units_takes_what_is_fixed_many_times() {
    let mut costs = CostModel::default();
    for unit in 0..2000 {
        let items = if unit % 2 == 0 { 4 } else { 32 };
        costs.learn(UnitKind::Sweep, items, nanoseconds(10_000.0, 300.0, items));
    }
    let (line, units) = (
        costs.of(UnitKind::Sweep, 1300),
        costs.of_units(UnitKind::Sweep, 1300, 32),
    );
    assert!(within(units, nanoseconds(10_000.0, 300.0, 32) * 41, 0.25), "{units:?}");
    assert!(line < units.mul_f64(0.8), "{line:?}, {units:?}");
    assert_eq!(costs.of_units(UnitKind::Sweep, 0, 32), Duration::ZERO);
}

proptest! {
    #[test]
    fn a_fixed_part_and_a_slope_are_found_again(
        fixed in 500.0..10_000.0_f64,
        per_item in 300.0..4_000.0_f64,
        sizes in prop::collection::vec(1..3000_u64, 300),
    ) {
        let mut costs = CostModel::default();
        for items in sizes.into_iter().chain([1, 2, 4, 8, 1000, 2000, 3000].repeat(10)) {
            costs.learn(UnitKind::Reveal, items, nanoseconds(fixed, per_item, items));
        }
        for items in [1, 10, 100, 1000, 10_000] {
            let (found, expected) = (costs.of(UnitKind::Reveal, items), nanoseconds(fixed, per_item, items));
            prop_assert!(within(found, expected, 0.25), "{items}: {found:?} for {expected:?}");
        }
    }

    /// Noise of up to a fifth: few units exceed their estimates, and these are not wild.
    #[test]
    fn few_units_exceed_their_estimates(noise in prop::collection::vec((-0.2..0.2_f64, 1..2000_u64), 400)) {
        let (mut costs, mut exceeded) = (CostModel::default(), 0);
        for (at, (noise, items)) in noise.into_iter().enumerate() {
            let truth = nanoseconds(4_000.0, 150.0, items);
            let took = truth.mul_f64(1.0 + noise);
            let estimate = costs.of(UnitKind::Show, items);
            if at >= 100 {
                exceeded += u32::from(took > estimate);
                prop_assert!(estimate < truth * 4, "{estimate:?} for {truth:?}");
            }
            costs.learn(UnitKind::Show, items, took);
        }
        prop_assert!(exceeded < 40, "{exceeded} of 300");
    }

    /// Whatever is measured, estimates are numbers, and larger units never cost less.
    #[test]
    fn estimates_are_finite(
        kind in prop::sample::select(&KINDS),
        units in prop::collection::vec((any::<u64>(), any::<u64>()), 1..60),
        asked in any::<u64>(),
    ) {
        let mut costs = CostModel::default();
        for (items, took) in units {
            costs.learn(kind, items, Duration::from_nanos(took));
            let rate = &costs.rates[&CostKey::from(kind)];
            let estimate = rate.estimate(asked);
            prop_assert!(estimate.is_finite() && estimate >= 0.0, "{rate:?}");
            prop_assert!(costs.of(kind, asked / 2) <= costs.of(kind, asked));
        }
    }
}
