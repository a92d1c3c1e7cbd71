use proptest::prelude::*;

use super::*;

const MS: Duration = Duration::from_millis(1);

fn book(budget: &mut FrameBudget, took: Duration) {
    budget.book(UnitKind::Reveal, took, || format!("{took:?}"));
}

#[test]
fn half_of_what_is_left_is_planned_with() {
    let mut budget = FrameBudget::new(MS * 10, MS * 2);
    assert!(budget.allows(MS * 4) && !budget.allows(MS * 5));
    book(&mut budget, MS * 3);
    assert!(budget.allows(MS) && !budget.allows(MS * 2));
    assert_eq!(budget.spent(), MS * 3);
    assert!(!budget.is_full());
    book(&mut budget, MS * 2);
    assert!(budget.is_full());
}

/// What fits an untouched frame waits for one; what fits none does not.
#[test]
fn the_first_unit_starts_if_it_fits_or_fits_no_frame() {
    let mut short = FrameBudget::new(MS * 4, MS * 3);
    assert!(!short.allows(MS), "the next frame may have room");
    assert!(short.allows(MS * 3), "no frame has");
    book(&mut short, MS * 3);
    assert!(!short.allows(MS * 3));
}

/// A frame that had room, and frames after it that have none.
#[test]
fn nobody_waits_for_room_in_two_frames() {
    let mut others = Patience::default();
    let roomy = FrameBudget::new(MS * 4, MS).after(&mut others);
    others.learn(&roomy);
    let mut short = FrameBudget::new(MS * 4, MS * 4).after(&mut others);
    assert!(!short.allows(MS) && !short.has_spare(MS));
    others.learn(&short);
    let mut overdue = FrameBudget::new(MS * 4, MS * 4).after(&mut others);
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
    let roomy = FrameBudget::new(MS * 4, MS).after(&mut others);
    others.learn(&roomy);
    let mut short = FrameBudget::new(MS * 4, MS * 4).after(&mut others);
    assert!(!short.allows(MS));
    others.learn(&short);
    let calm = FrameBudget::new(MS * 4, MS * 4).after(&mut others);
    others.learn(&calm);
    assert_eq!(others.idle(), 1, "nobody asked meanwhile");
    assert!(FrameBudget::new(MS * 4, MS * 4).after(&mut others).allows(MS));
}

/// A frame in which nothing is done is lost if the next has no more room than it had.
#[test]
fn nobody_waits_for_room_that_no_frame_has() {
    let mut others = Patience::default();
    let mut frame = |gone: Duration| FrameBudget::new(MS * 4, gone).after(&mut others);
    assert!(frame(MS * 4).allows(MS), "there never was any");
    assert!(frame(MS * 2).allows(MS));
    assert!(!frame(MS * 4).allows(MS / 2), "the last one had");
    let waited = (1..).find(|_| frame(MS * 4).allows(MS / 2));
    assert!(waited.is_some_and(|frames| frames < 8), "{waited:?}");
    assert!(frame(MS * 4).allows(MS / 2), "and from then on");
}

/// What frames had room for under a larger budget is nothing to wait for.
#[test]
fn a_budget_that_is_lowered_holds_at_once() {
    let mut others = Patience::default();
    let roomy = FrameBudget::new(MS * 4, Duration::ZERO).after(&mut others);
    others.learn(&roomy);
    for budget in [MS / 2, Duration::ZERO] {
        let mut frame = FrameBudget::new(budget, Duration::ZERO).after(&mut others);
        assert!(frame.allows(MS), "it fits no frame of {budget:?}");
        book(&mut frame, MS);
        others.learn(&frame);
    }
}

#[test]
fn what_can_wait_gets_less() {
    let mut budget = FrameBudget::new(MS * 10, Duration::ZERO);
    assert!(budget.has_spare(MS * 2) && !budget.has_spare(MS * 3) && budget.allows(MS * 3));
    assert!(budget.is_large(MS * 2) && !budget.is_large(MS));
}

#[test]
fn without_a_limit_all_may_start() {
    let mut budget = FrameBudget::new(MS, MS);
    budget.lift(true);
    assert!(budget.allows(MS * 9) && budget.has_spare(MS * 9) && !budget.is_large(MS * 9));
    assert!(!budget.why_without_limit().is_empty());
    budget.lift(false);
    assert!(!budget.allows(MS / 2) && budget.why_without_limit().is_empty());
    assert!(FrameBudget::unlimited().allows(Duration::from_secs(1_000)));
}

proptest! {
    /// If units take what was thought, no frame exceeds its budget but by one that fits none.
    #[test]
    fn who_keeps_to_estimates_keeps_to_the_budget(units in prop::collection::vec(0..3_000_u64, 1..40), gone in 0..2_000_u64) {
        let (all, gone) = (Duration::from_micros(2_000), Duration::from_micros(gone));
        let mut budget = FrameBudget::new(all, gone);
        for unit in units.into_iter().map(Duration::from_micros) {
            let was_first = budget.spent().is_zero();
            if budget.allows(unit) {
                book(&mut budget, unit);
                prop_assert!(gone + budget.spent() <= all || was_first && unit > all.mul_f64(PLANNED));
            }
        }
    }
}
