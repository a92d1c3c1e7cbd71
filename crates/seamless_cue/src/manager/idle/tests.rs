//! Who of the idle goes.

use super::*;

fn idle(id: u32, used: u64) -> Idle {
    Idle {
        id: NotifyId(id),
        used: Duration::from_secs(used),
    }
}

fn leave(most: usize, after: u64) -> Vec<u32> {
    let all = vec![idle(0, 30), idle(1, 10), idle(2, 20), idle(3, 10)];
    let now = Duration::from_secs(40);
    let leaving = leaving(all, most, now, Duration::from_secs(after));
    leaving.into_iter().map(|id| id.0).collect()
}

#[test]
fn those_that_are_too_many_go_the_oldest_first_and_nobody_too_early() {
    assert!(leave(4, 0).is_empty());
    assert!(leave(usize::MAX, 0).is_empty());
    assert_eq!(leave(2, 0), [1, 3]);
    assert_eq!(leave(0, 20), [1, 3, 2], "one is too young");
    assert!(leave(0, 100).is_empty());
}
