//! Who of those that wait goes first. Pure; see [`rank`].

use core::{
    cmp::Ordering,
    sync::atomic::{AtomicU64, Ordering as Atomic},
    time::Duration,
};
use std::collections::VecDeque;

/// Where the scale of priorities turns: above, what counts is how many times larger one is than another; below, through zero and into
/// the negative, how many times farther it is from here.
const TURN: f64 = 1.0 / (1 << 20) as f64;

/// What a wait counts for at least, so that `aging` may be zero.
const LEAST_AGING: Duration = Duration::from_millis(1);

/// Times at which requests came that are remembered.
const KEPT: usize = 4096;

/// Requests that come within this part of `aging` count as having come together, in their order. So what is remembered goes back for 64 times
/// `aging` at least, however many frames there are: whoever has waited for so long goes before the most urgent of those that come.
const TOGETHER: u32 = 64;

/// How urgent a request is that came at this time. Larger goes first; see [`by_rank`].
///
/// A request that has waited for `aging` is as urgent as a new one of twice its priority; if that is negative, of half of it. So
/// whoever has waited `aging × log2(p / q)` longer goes before the other, whose priority is `p` to its own `q`: nobody waits for ever.
/// All ranks would rise alike while time goes on, so they stay what they are.
pub(super) fn rank(priority: f32, came: Duration, aging: Duration) -> f64 {
    urgency(priority) - came.as_secs_f64() / aging.max(LEAST_AGING).as_secs_f64()
}

/// Rises with the priority, and is finite.
fn urgency(priority: f32) -> f64 {
    let priority = if priority.is_nan() { 0.0 } else { priority };
    let priority = f64::from(priority.clamp(f32::MIN, f32::MAX));
    if priority >= TURN {
        priority.log2()
    } else {
        TURN.log2() - (2.0 - priority / TURN).log2()
    }
}

/// The order of two that wait: larger rank first, then the older.
pub(crate) fn by_rank<T: Ord>(a: (f64, T), b: (f64, T)) -> Ordering {
    b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))
}

/// A rank that the main thread changes while tasks look at it. Only one thread sets it.
#[derive(Debug, Default)]
pub(super) struct Rank(AtomicU64);

impl Rank {
    pub fn get(&self) -> f64 {
        f64::from_bits(self.0.load(Atomic::Relaxed))
    }

    pub fn set(&self, rank: f64) {
        self.0.store(rank.to_bits(), Atomic::Relaxed);
    }
}

/// When requests came. They have numbers that rise, so it is enough to know the numbers of each frame.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    /// One more than the last number that had come at a time, oldest first.
    frames: VecDeque<(u64, Duration)>,
    now: Duration,
    aging: Duration,
    /// When it was last told what time it is, and for how long that had stood still by then.
    told: Duration,
    stood: Duration,
}

impl Arrivals {
    /// Until `now` nobody has waited, since it was last told what time it is.
    pub fn stand_still(&mut self, now: Duration) {
        self.stood += now.saturating_sub(self.told);
        self.told = now;
    }

    /// All requests with numbers below `next` have come by `now`. What `aging` is from now on.
    pub fn note(&mut self, next: u64, now: Duration, aging: Duration) {
        self.told = now;
        let now = now.saturating_sub(self.stood);
        (self.now, self.aging) = (now, aging);
        let together = aging.max(LEAST_AGING) / TOGETHER;
        match self.frames.back_mut() {
            Some((last, _)) if *last >= next => {}
            Some((last, came)) if now < came.saturating_add(together) => *last = next,
            _ => self.frames.push_back((next, now)),
        }
        if self.frames.len() > KEPT {
            self.frames.pop_front();
        }
    }

    /// When a request came. One whose frame is forgotten counts as old as the oldest that is not.
    pub fn came(&self, number: u64) -> Duration {
        let later = self.frames.partition_point(|(next, _)| *next <= number);
        self.frames.get(later).map_or(self.now, |(_, came)| *came)
    }

    /// The rank of a request.
    pub fn rank(&self, number: u64, priority: f32) -> f64 {
        rank(priority, self.came(number), self.aging)
    }

    /// The rank of one that waits since another time.
    pub fn rank_since(&self, since: Duration, priority: f32) -> f64 {
        rank(priority, since, self.aging)
    }

    /// What all ranks are of.
    pub fn aging(&self) -> Duration {
        self.aging
    }

    /// The time of the last frame in which requests were taken, less that which [stood still](Self::stand_still).
    pub fn now(&self) -> Duration {
        self.now
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_second_of_waiting_is_worth_twice_the_priority() {
        const NOW: Duration = Duration::from_secs(1_000);
        let of = |priority, seconds| rank(priority, NOW - SECOND * seconds, SECOND) + NOW.as_secs_f64();
        assert_eq!(of(8.0, 0), of(4.0, 1));
        assert_eq!(of(1.0, 0), 0.0);
        assert_eq!(rank(1.0, SECOND * 10, SECOND * 5), -2.0);
        assert!(of(3.0, 0) > of(2.0, 0));
        // Below zero, it is worth half of what is missing.
        assert!((of(-8.0, 1) - of(-4.0, 0)).abs() < 1e-6);
        // Endless ones are only very urgent, or hardly, and what is no number is none.
        assert!(of(f32::INFINITY, 0) < of(1.0, 200) && of(f32::NEG_INFINITY, 400) > of(1.0, 0));
        assert_eq!(of(f32::NAN, 0), of(0.0, 0));
        // Without aging to speak of, age alone counts; with endless aging, priority.
        assert!(rank(1.0, SECOND, Duration::ZERO) > rank(1e9, SECOND * 2, Duration::ZERO));
        assert!(rank(1.0, SECOND, Duration::MAX) < rank(1.1, NOW, Duration::MAX));
    }

    #[test]
    fn larger_priorities_rank_higher() {
        let mut priorities = vec![0.0, 1e-30, 1e-7, 9.5e-7, 9.6e-7, 1e-6, 0.5, 1.0, 1.5, 1e9];
        priorities.extend(priorities.clone().iter().skip(1).map(|priority| -priority));
        priorities.extend([f32::MIN, f32::MAX]);
        priorities.sort_unstable_by(f32::total_cmp);
        let ranks: Vec<_> = priorities.iter().map(|priority| urgency(*priority)).collect();
        assert!(
            ranks.is_sorted() && ranks.iter().all(|rank| rank.is_finite()),
            "{ranks:?}"
        );
        let first_two = [-1.0, -2.0].map(urgency);
        assert!(first_two[0] > first_two[1]);
    }

    #[test]
    fn equal_ranks_go_in_the_order_of_requests() {
        let mut waiting = [(1.0, 3), (2.0, 2), (1.0, 1), (2.0, 4)];
        waiting.sort_unstable_by(|a, b| by_rank(*a, *b));
        assert_eq!(waiting, [(2.0, 2), (2.0, 4), (1.0, 1), (1.0, 3)]);
    }

    #[test]
    fn requests_are_as_old_as_the_frame_that_took_them() {
        let mut arrivals = Arrivals::default();
        arrivals.note(0, SECOND, SECOND);
        assert_eq!(arrivals.came(0), SECOND, "it comes in this frame");
        arrivals.note(3, SECOND * 2, SECOND);
        arrivals.note(3, SECOND * 3, SECOND);
        arrivals.note(5, SECOND * 4, SECOND);
        arrivals.note(5, SECOND * 9, SECOND);
        let came = |arrivals: &Arrivals| [0, 2, 3, 4, 5].map(|number| arrivals.came(number).as_secs());
        assert_eq!(came(&arrivals), [2, 2, 4, 4, 9]);
        assert_eq!(arrivals.rank(4, 2.0), 1.0 - 4.0);
        for frame in 0..2 * KEPT as u64 {
            arrivals.note(6 + frame, SECOND * (10 + frame as u32), SECOND);
        }
        assert_eq!(arrivals.frames.len(), KEPT);
        let oldest = arrivals.frames[0].1;
        assert_eq!(arrivals.came(0), oldest, "as old as the oldest that is known");
    }

    /// However many frames there are in a second.
    #[test]
    fn who_has_waited_for_a_minute_is_known_to_have() {
        let mut arrivals = Arrivals::default();
        for frame in 0..60_000_u32 {
            arrivals.note(u64::from(frame) + 1, SECOND * frame / 1000, SECOND);
        }
        assert_eq!(arrivals.came(0), Duration::ZERO);
        let (least, most) = (arrivals.rank(0, 1e-30), arrivals.rank(59_999, 1e8));
        assert!(least > most, "{least} {most}");
        // Those that come together have come in their order, and hardly earlier than they did.
        for number in [7, 500, 30_007, 59_999] {
            let came = SECOND * number / 1000;
            let known = arrivals.came(number.into());
            assert!(known <= came && came - known < SECOND / TOGETHER, "{number}: {known:?}");
        }
    }

    /// A request: the tick of its arrival, its priority.
    fn requests() -> impl Strategy<Value = Vec<(u64, f32)>> {
        prop::collection::vec((0..40_u64, -100.0_f32..100.0), 1..80)
    }

    /// Serves one request a tick, the one of the highest rank. The ticks at which they are served.
    fn serve(requests: &[(u64, f32)], tick: Duration, aging: Duration) -> Vec<u64> {
        let mut served = vec![None; requests.len()];
        for now in 0.. {
            let waiting = requests.iter().zip(&served).enumerate();
            let waiting = waiting.filter(|(_, ((came, _), served))| *came <= now && served.is_none());
            let ranked = waiting.map(|(at, ((came, priority), _))| (rank(*priority, tick * *came as u32, aging), at));
            if let Some((_, at)) = ranked.min_by(|a, b| by_rank(*a, *b)) {
                served[at] = Some(now);
            } else if served.iter().all(Option::is_some) {
                break;
            }
        }
        served.into_iter().flatten().collect()
    }

    /// A cut scene in which nothing may begin: who was asked for before has waited for nobody.
    #[test]
    fn while_time_stands_still_nobody_waits() {
        let mut arrivals = Arrivals::default();
        arrivals.note(1, SECOND, SECOND);
        for frame in 2..=60 {
            arrivals.stand_still(SECOND * frame);
            arrivals.note(1, SECOND * frame, SECOND);
        }
        arrivals.note(2, SECOND * 62, SECOND);
        assert_eq!(arrivals.now(), SECOND * 3, "one second before, and two after");
        assert_eq!((arrivals.came(0), arrivals.came(1)), (SECOND, SECOND * 3));
        assert!(
            arrivals.rank(1, 8.0) > arrivals.rank(0, 1.0),
            "three times as urgent is more than two seconds"
        );
    }

    proptest! {
        /// Nobody waits for more than those that were there when it came, and those that came within the bound.
        #[test]
        fn nobody_waits_longer_than_the_bound(requests in requests(), tick in 1..2000_u32, aging in 1..2000_u32) {
            let (tick, aging) = (Duration::from_millis(tick.into()), Duration::from_millis(aging.into()));
            let served = serve(&requests, tick, aging);
            let urgencies = || requests.iter().map(|(_, priority)| urgency(*priority));
            let spread = urgencies().fold(f64::MIN, f64::max) - urgencies().fold(f64::MAX, f64::min);
            let bound = aging.as_secs_f64() * spread;
            for ((came, _), at) in requests.iter().zip(&served) {
                let is_before = |(other, when): (&(u64, f32), &u64)| {
                    let later = tick.as_secs_f64() * other.0.saturating_sub(*came) as f64;
                    prop_assert!(when >= at || later <= bound + 1e-6, "overtaken by one that came {later} s later");
                    Ok(when < at && when >= came)
                };
                let mut waited = 0;
                for before in requests.iter().zip(&served).map(is_before) {
                    waited += u64::from(before?);
                }
                prop_assert_eq!(at - came, waited, "it never waits for nobody");
            }
        }
    }
}
