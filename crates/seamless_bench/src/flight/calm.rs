//! Whether the machine left a frame alone. See [`interruptions`] and [`longest_piece`].

use std::{
    fs::read_to_string,
    hint::black_box,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Instant,
};

use crate::row::quantile;

/// How often the calling thread has lost its core to somebody else, since it began; none where the system does not tell.
///
/// A thread that loses its core has it back after a few milliseconds: many budgets' worth, of which nothing is the pipeline's own doing.
pub fn interruptions() -> Option<u64> {
    count(&read_to_string("/proc/thread-self/status").ok()?)
}

/// Pieces from which it is told how long a piece takes.
const USUAL: usize = 101;

/// How many times as long as usual the longest takes of pieces of work that are all the same: each counts, for `piece` milliseconds, and all together
/// for `total`, while another thread has something to do, as those that load. What it takes beyond one is the machine's.
pub fn longest_piece(piece: f64, total: f64) -> f64 {
    let timed = |steps: u64| {
        let start = Instant::now();
        (0..steps).for_each(|step| {
            black_box(step);
        });
        start.elapsed().as_secs_f64() * 1e3
    };
    let usual = |steps: u64| quantile(&mut (0..USUAL).map(|_| timed(steps)).collect::<Vec<_>>(), 0.5);
    let guess = 100_000;
    let steps = (guess as f64 * piece / usual(guess)) as u64;
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                core::hint::spin_loop();
            }
        });
        let longest = (0..(total / piece) as usize).map(|_| timed(steps)).fold(0.0, f64::max);
        let usual = usual(steps);
        is_over.store(true, Ordering::Relaxed);
        longest / usual
    })
}

fn count(status: &str) -> Option<u64> {
    let count = |line: &str| line.strip_prefix("nonvoluntary_ctxt_switches:")?.trim().parse().ok();
    status.lines().find_map(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_piece_is_shorter_than_the_longest() {
        let longest = longest_piece(0.1, 10.0);
        assert!(longest.is_finite() && longest > 0.5, "{longest}");
    }

    #[test]
    fn what_the_system_says_is_read() {
        let status = "Name:\tlevels\nvoluntary_ctxt_switches:\t7\nnonvoluntary_ctxt_switches:\t12\n";
        assert_eq!(count(status), Some(12));
        assert_eq!(count("Name:\tlevels\n"), None);
    }
}
