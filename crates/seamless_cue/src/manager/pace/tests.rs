//! Budgets hold, for cues that take whatever they take.

use proptest::prelude::*;

use super::*;

/// Plays cues that take so long, in microseconds, and gives how many were played, how long it took, and the looks at the clock.
fn play(room: u64, costs: impl IntoIterator<Item = u64>) -> (usize, u64, usize) {
    let mut pace = Pace::new(Duration::from_micros(room), Duration::ZERO);
    let (mut now, mut looks) = (0, 0);
    for (at, cost) in costs.into_iter().enumerate() {
        now += cost;
        let clock = || {
            looks += 1;
            Duration::from_micros(now)
        };
        if !pace.has_time(clock) {
            return (at + 1, now, looks);
        }
    }
    (usize::MAX, now, looks)
}

#[test]
fn quick_cues_need_few_looks() {
    let (played, took, looks) = play(10_000, core::iter::repeat(1));
    assert!(took <= 10_000 && played > 9_900, "{played} in {took}");
    assert!(looks < played / 40, "{looks} looks");
}

#[test]
fn one_is_played_whatever_it_takes() {
    assert_eq!(play(10, [500, 1, 1]), (1, 500, 1));
    assert_eq!(play(0, [0, 1]).0, 1);
}

proptest! {
    /// Of cues that all take the same, as many are played as fit.
    #[test]
    fn what_fits_is_played(room in 1..5_000u64, cost in 1..400u64) {
        let (played, took, _) = play(room, core::iter::repeat(cost));
        prop_assert_eq!(played as u64, (room / cost).max(1));
        prop_assert!(took <= room.max(cost));
    }

    /// Slow cues behind quick ones overrun by what they take between two looks at most.
    #[test]
    fn slow_ones_behind_quick_ones_are_noticed(quick in 1..200usize, slow in 2..50u64) {
        let costs = core::iter::repeat_n(1, quick).chain(core::iter::repeat(slow));
        let (_, took, _) = play(2_000, costs);
        prop_assert!(took <= 2_000 + u64::from(MOST) * slow, "{}", took);
    }
}
