//! Waits grow, end, and are not all the same.

use core::time::Duration;
use std::collections::HashSet;

use super::RetryPolicy;

fn seconds(policy: &RetryPolicy, failure: u32, level: u32) -> Option<f32> {
    policy.wait(failure, level).map(|wait| wait.as_secs_f32())
}

#[test]
fn waits_double_and_end() {
    let policy = RetryPolicy::default();
    for level in 0..500 {
        for (failure, longest) in [(1, 0.5), (2, 1.0), (3, 2.0), (4, 4.0)] {
            let wait = seconds(&policy, failure, level).unwrap();
            assert!(wait > longest / 2.0 && wait <= longest, "{wait} of {longest}");
        }
        assert_eq!(
            [0, 5, 6, u32::MAX].map(|failure| policy.wait(failure, level)),
            [None; 4]
        );
    }
    let patient = RetryPolicy {
        attempts: u32::MAX,
        ..policy
    };
    for failure in [7, 8, 100, u32::MAX] {
        let wait = seconds(&patient, failure, 3).unwrap();
        assert!(wait > 15.0 && wait <= 30.0, "{wait}");
    }
    assert_eq!(RetryPolicy::OFF.wait(1, 0), None);
}

#[test]
fn levels_wait_differently_and_always_the_same() {
    let policy = RetryPolicy::default();
    let frames = |failure| -> HashSet<u32> {
        let waits = (0..200).map(|level| seconds(&policy, failure, level).unwrap());
        waits.map(|wait| (wait * 60.0) as u32).collect()
    };
    assert!(frames(1).len() >= 14, "two hundred levels, a quarter of a second");
    assert!(frames(4).len() > 60);
    assert_eq!(policy.wait(2, 77), policy.wait(2, 77));
}

#[test]
fn numbers_that_are_none_do_no_harm() {
    let policy = RetryPolicy::default();
    for factor in [f32::NAN, f32::INFINITY, -3.0, 0.0] {
        let wait = RetryPolicy { factor, ..policy }.wait(3, 1).unwrap();
        assert!(wait <= policy.most, "{factor}");
    }
    let endless = RetryPolicy {
        first: Duration::MAX,
        most: Duration::MAX,
        ..policy
    };
    assert!(endless.wait(4, 1).is_some());
}
