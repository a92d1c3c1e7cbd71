//! Whether the machine left a frame alone. See [`interruptions`].

use std::fs::read_to_string;

/// How often the calling thread has lost its core to somebody else, since it began; none where the system does not tell.
///
/// A thread that loses its core has it back after a few milliseconds: many budgets' worth, of which nothing is the pipeline's own doing.
pub fn interruptions() -> Option<u64> {
    count(&read_to_string("/proc/thread-self/status").ok()?)
}

fn count(status: &str) -> Option<u64> {
    let count = |line: &str| line.strip_prefix("nonvoluntary_ctxt_switches:")?.trim().parse().ok();
    status.lines().find_map(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_says_is_read() {
        let status = "Name:\tlevels\nvoluntary_ctxt_switches:\t7\nnonvoluntary_ctxt_switches:\t12\n";
        assert_eq!(count(status), Some(12));
        assert_eq!(count("Name:\tlevels\n"), None);
    }
}
