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
}

/// What fits an untouched frame waits for one; what fits none does not.
#[test]
fn the_first_unit_starts_if_it_fits_or_fits_no_frame() {
    let mut short = FrameBudget::new(MS * 4, MS * 3);
    assert!(!short.allows(MS) && short.is_idle(), "the next frame may have room");
    assert!(short.allows(MS * 3), "no frame has");
    book(&mut short, MS * 3);
    assert!(!short.allows(MS * 3) && !short.is_idle());
}

/// What streaming does anyway may take all of each frame.
#[test]
fn nobody_waits_for_room_for_ever() {
    let frames = |idle| FrameBudget::new(MS * 4, MS * 4).after_idle(idle);
    for idle in 0..MOST_IDLE {
        assert!(!frames(idle).allows(MS) && !frames(idle).has_spare(MS));
    }
    let mut overdue = frames(MOST_IDLE);
    assert!(overdue.allows(MS) && !overdue.is_idle());
    book(&mut overdue, MS);
    assert!(!overdue.allows(MS), "one, and no more");
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
