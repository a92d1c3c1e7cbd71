use proptest::prelude::*;

use super::*;

const MS: Duration = Duration::from_millis(1);

fn book(budget: &mut FrameBudget, took: Duration) {
    budget.book(UnitKind::Reveal, took, || format!("{took:?}"));
}

/// A frame of which so much is gone when units begin.
fn frame(budget: Duration, gone: Duration, others: &mut Patience) -> FrameBudget {
    let mut frame = FrameBudget::new(budget);
    frame.begin_units(gone, Duration::ZERO, others);
    frame
}

/// The same after one that had all of it.
fn usual_frame(budget: Duration, gone: Duration) -> FrameBudget {
    let others = &mut Patience::default();
    learn(budget, Duration::ZERO, others);
    frame(budget, gone, others)
}

/// Frames to come know of a frame without anything to do that had so much left.
fn learn(budget: Duration, gone: Duration, others: &mut Patience) {
    let roomy = frame(budget, gone, others);
    others.learn(&roomy);
}

#[test]
fn a_part_of_what_is_left_is_planned_with() {
    // Six of eight.
    let mut budget = usual_frame(MS * 10, MS * 2);
    assert!(budget.allows(MS * 6));
    book(&mut budget, MS * 5);
    assert!(budget.allows(MS) && !budget.allows(MS * 2));
    assert_eq!(budget.spent, MS * 5);
    assert!(!budget.is_full());
    book(&mut budget, MS * 2);
    assert!(budget.is_full());
    assert_eq!(budget.known(), MS * 9);
}

#[test]
fn a_small_budget_has_a_larger_margin() {
    for (budget, expected) in [(0, 0), (500, 250), (1_000, 600), (2_000, 1_500), (4_000, 3_000)] {
        let [budget, expected] = [budget, expected].map(Duration::from_micros);
        assert_eq!(planned(budget), expected, "{budget:?}");
    }
}

/// As room for entities that are announced, and the leave of levels that memory has no room for.
#[test]
fn what_units_took_before_others_may_begin_is_theirs() {
    let mut budget = FrameBudget::new(MS * 10);
    book(&mut budget, MS * 2);
    budget.begin_units(MS * 3, MS, &mut Patience::default());
    assert_eq!((budget.spent, budget.known()), (MS * 2, MS * 3));
    assert!(
        budget.allows(MS * 4) && !budget.allows(MS * 5),
        "six of eight, and two are spent"
    );
}

#[test]
fn by_the_clock_what_lies_between_units_is_spent_too() {
    let mut budget = FrameBudget::new(MS * 10);
    book(&mut budget, MS * 2);
    budget.begin_units(MS * 3, Duration::ZERO, &mut Patience::default());
    budget.watch();
    std::thread::sleep(MS * 4);
    assert_eq!(budget.spent, MS * 2, "nobody has looked");
    book(&mut budget, Duration::ZERO);
    assert!(budget.spent >= MS * 6 && !budget.allows(MS * 2));
    // What is reserved for is not spent.
    let before = budget.spent;
    std::thread::sleep(MS * 4);
    budget.watch();
    assert_eq!((budget.spent, budget.known()), (before, before + MS));
    book(&mut budget, MS);
    assert!(budget.spent >= before + MS);
}

/// What fits an untouched frame waits for one; what fits none does not.
#[test]
fn the_first_unit_starts_if_it_fits_or_fits_no_frame() {
    let mut others = Patience::default();
    learn(MS * 4, MS, &mut others);
    let mut short = frame(MS * 4, MS * 3, &mut others);
    assert!(!short.allows(MS * 2), "the next frame may have room");
    let mut roomy = frame(MS * 4, MS, &mut others);
    assert!(roomy.allows(MS * 3), "no frame has");
    book(&mut roomy, MS * 3);
    assert!(!roomy.allows(MS * 3));
}

/// A debug build, or a small budget in slow frames: levels come by more than a slice in a frame.
#[test]
fn where_no_frame_has_time_streaming_has_some_all_the_same() {
    let (all, small) = (MS * 4, MS / 10);
    let mut others = Patience::default();
    let mut units = |gone: Duration| {
        let mut frame = frame(all, gone, &mut others);
        let count = (0..100).take_while(|_| {
            let may = frame.allows(small);
            if may {
                book(&mut frame, small);
            }
            may
        });
        let count = count.count();
        others.learn(&frame);
        (count, frame.is_large(small))
    };
    for _ in 0..8 {
        assert_eq!(units(all), (1, true), "one unit for want of anything better");
    }
    for _ in 0..8 {
        assert_eq!(units(all), (3, true), "an eighth of three milliseconds");
    }
    assert_eq!(units(MS * 3), (6, false), "six of ten that are left");
    assert_eq!(units(all).0, 0, "the next has time");
}

/// What is over the budget anyway is over it by less in a frame that is as roomy as others.
#[test]
fn what_fits_no_frame_waits_for_one_with_about_as_much_room_as_there_is() {
    let mut others = Patience::default();
    learn(MS * 10, MS, &mut others);
    let mut short = frame(MS * 10, MS * 5, &mut others);
    assert!(!short.allows(MS * 7));
    let mut about = frame(MS * 10, MS * 2, &mut others);
    assert!(about.allows(MS * 7));
    let mut short = frame(MS * 10, MS * 5, &mut others);
    assert!(short.allows(MS * 50), "that is too much anyway");
    // Others have a unit in each of these frames, so nothing is overdue.
    learn(MS * 10, MS, &mut others);
    let waited = (1..).find(|_| {
        let mut short = frame(MS * 10, MS * 5, &mut others);
        let may = short.allows(MS * 7);
        book(&mut short, MS);
        others.learn(&short);
        may
    });
    assert!(waited.is_some_and(|frames| frames < 5), "{waited:?}");
}

/// A frame that had room, and frames after it that have none.
#[test]
fn nobody_waits_for_room_in_two_frames() {
    let mut others = Patience::default();
    learn(MS * 4, MS, &mut others);
    let mut short = frame(MS * 4, MS * 4, &mut others);
    assert!(!short.allows(MS) && !short.has_spare(MS));
    others.learn(&short);
    let mut overdue = frame(MS * 4, MS * 4, &mut others);
    assert!(overdue.allows(MS));
    book(&mut overdue, MS);
    assert!(!overdue.allows(MS), "one, and no more");
    others.learn(&overdue);
    assert_eq!(others.idle(), 0);
}

/// As a level that is wanted and let go of by turns.
#[test]
fn who_is_put_off_in_every_second_frame_has_its_turn() {
    let mut others = Patience::default();
    learn(MS * 4, MS, &mut others);
    let mut short = frame(MS * 4, MS * 4, &mut others);
    assert!(!short.allows(MS));
    others.learn(&short);
    learn(MS * 4, MS * 4, &mut others);
    assert_eq!(others.idle(), 1, "nobody asked meanwhile");
    assert!(frame(MS * 4, MS * 4, &mut others).allows(MS));
}

/// A frame in which nothing is done is lost if the next has no more room than it had.
#[test]
fn nobody_waits_for_room_that_no_frame_has() {
    let mut others = Patience::default();
    let mut of_four = |gone: Duration| frame(MS * 4, gone, &mut others);
    assert!(of_four(MS * 4).allows(MS), "there never was any");
    assert!(of_four(MS * 2).allows(MS));
    assert!(!of_four(MS * 4).allows(MS / 2), "the last one had");
    let waited = (1..).find(|_| of_four(MS * 4).allows(MS / 2));
    assert!(waited.is_some_and(|frames| frames < 8), "{waited:?}");
    assert!(of_four(MS * 4).allows(MS / 2), "and from then on");
}

/// What frames had room for under a larger budget is nothing to wait for.
#[test]
fn a_budget_that_is_lowered_holds_at_once() {
    let mut others = Patience::default();
    learn(MS * 4, Duration::ZERO, &mut others);
    for budget in [MS / 2, Duration::ZERO] {
        let mut frame = frame(budget, Duration::ZERO, &mut others);
        assert!(frame.allows(MS), "it fits no frame of {budget:?}");
        book(&mut frame, MS);
        others.learn(&frame);
    }
}

#[test]
fn what_can_wait_gets_less() {
    let mut budget = usual_frame(MS * 10, Duration::ZERO);
    assert!(budget.has_spare(MS * 3) && !budget.has_spare(MS * 4) && budget.allows(MS * 4));
    assert!(budget.is_large(MS * 2) && !budget.is_large(MS));
}

#[test]
fn without_a_limit_all_may_start() {
    let mut budget = usual_frame(MS, MS);
    budget.lift(true);
    assert!(budget.allows(MS * 9) && budget.has_spare(MS * 9) && !budget.is_large(MS * 9));
    assert!(!budget.why_without_limit().is_empty());
    budget.lift(false);
    assert!(!budget.allows(MS / 2) && budget.why_without_limit().is_empty());
    assert!(FrameBudget::unlimited().allows(Duration::from_secs(1_000)));
}

proptest! {
    /// If units take what was thought, no frame exceeds its budget but by one that fits none, as far as is remembered.
    #[test]
    fn who_keeps_to_estimates_keeps_to_the_budget(units in prop::collection::vec(0..3_000_u64, 1..40), gone in 0..2_000_u64) {
        let (all, gone) = (Duration::from_micros(2_000), Duration::from_micros(gone));
        let mut budget = usual_frame(all, gone);
        for unit in units.into_iter().map(Duration::from_micros) {
            let was_first = budget.spent.is_zero();
            if budget.allows(unit) {
                book(&mut budget, unit);
                prop_assert!(gone + budget.spent <= all || was_first && unit > planned(all).mul_f64(REMEMBERED));
            }
        }
    }

    /// A nanosecond is lost in rounding, and three by the part.
    #[test]
    fn the_budget_for_what_is_planned_is_found_again(budget in 0..100_000_000_u64) {
        let budget = Duration::from_nanos(budget);
        let found = budget_for(planned(budget));
        prop_assert!(found.abs_diff(budget) < Duration::from_nanos(8), "{budget:?}: {found:?}");
    }
}
