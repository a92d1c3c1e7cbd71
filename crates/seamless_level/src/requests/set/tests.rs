//! The counts against a plain list of requests.

use std::collections::BTreeSet;

use super::{RequestKind, RequestSet};
use crate::{random::Random, target::LevelTarget};

const ALL: [RequestKind; 5] = [
    RequestKind::Load,
    RequestKind::Show,
    RequestKind::ShowIfLoaded,
    RequestKind::Hide,
    RequestKind::Ban,
];

/// The rule once more, over a list of requests.
fn target_of(requests: &[(u32, RequestKind)], level: u32) -> LevelTarget {
    let has = |kind| requests.contains(&(level, kind));
    let shown = if has(RequestKind::Hide) {
        LevelTarget::Loaded
    } else {
        LevelTarget::Visible
    };
    match (has(RequestKind::Ban), has(RequestKind::Show), has(RequestKind::Load)) {
        (true, ..) => LevelTarget::Unloaded,
        (_, true, _) => shown,
        (_, _, true) if has(RequestKind::ShowIfLoaded) => shown,
        (_, _, true) => LevelTarget::Loaded,
        _ => LevelTarget::Unloaded,
    }
}

#[test]
fn counts_are_those_of_a_multiset() {
    let mut random = Random(0xC0FF_EE00_1234_5678);
    for _ in 0..300 {
        let levels = 1 + random.below(6) as u32;
        let mut set = RequestSet::new(levels as usize);
        let mut model: Vec<(u32, RequestKind)> = Vec::new();
        let mut touched = BTreeSet::new();
        for _ in 0..200 {
            if random.below(2) == 0 || model.is_empty() {
                let request = (random.below(levels as usize) as u32, ALL[random.below(ALL.len())]);
                set.add(request.0, request.1);
                model.push(request);
                touched.insert(request.0);
            } else {
                let (level, kind) = model.swap_remove(random.below(model.len()));
                set.remove(level, kind);
                touched.insert(level);
            }
            for level in 0..levels {
                assert_eq!(set.target(level), target_of(&model, level));
                for kind in ALL {
                    let count = model.iter().filter(|request| **request == (level, kind)).count();
                    assert_eq!(set.count(level, kind) as usize, count);
                }
            }
            assert_eq!(set.is_empty(), model.is_empty());
            if random.below(5) == 0 {
                assert_eq!(set.dirty().len(), touched.len(), "each level is listed once");
                assert_eq!(set.dirty().iter().copied().collect::<BTreeSet<_>>(), touched);
                set.clear_dirty();
                assert!(set.dirty().is_empty());
                touched.clear();
            }
        }
        for (level, kind) in model {
            set.remove(level, kind);
        }
        assert!(set.is_empty() && (0..levels).all(|level| set.target(level) == LevelTarget::Unloaded));
    }
}

/// In whatever order requests come, the same comes of them.
#[test]
fn order_does_not_matter() {
    let mut random = Random(7);
    for _ in 0..500 {
        let mut requests: Vec<RequestKind> = (0..random.below(8)).map(|_| ALL[random.below(ALL.len())]).collect();
        let target = |requests: &[RequestKind]| {
            let mut set = RequestSet::new(1);
            requests.iter().for_each(|kind| set.add(0, *kind));
            set.target(0)
        };
        let before = target(&requests);
        random.shuffle(&mut requests);
        assert_eq!(target(&requests), before, "{requests:?}");
    }
}

#[test]
fn the_highest_wins_and_a_ban_is_a_ceiling() {
    let target = |requests: &[RequestKind]| {
        let mut set = RequestSet::new(1);
        requests.iter().for_each(|kind| set.add(0, *kind));
        set.target(0)
    };
    use RequestKind::{Ban, Load, Show, ShowIfLoaded};
    assert_eq!(target(&[]), LevelTarget::Unloaded);
    assert_eq!(target(&[Load, Load]), LevelTarget::Loaded);
    assert_eq!(target(&[Load, Show]), LevelTarget::Visible);
    assert_eq!(target(&[ShowIfLoaded]), LevelTarget::Unloaded);
    assert_eq!(target(&[ShowIfLoaded, Load]), LevelTarget::Visible);
    assert_eq!(target(&[Show, Show, Load, Ban]), LevelTarget::Unloaded);
}

#[test]
fn levels_that_there_are_not_are_ignored() {
    let mut set = RequestSet::new(2);
    set.add(2, RequestKind::Show);
    set.remove(u32::MAX, RequestKind::Show);
    assert!(set.is_empty() && set.dirty().is_empty());
    assert_eq!(set.target(2), LevelTarget::Unloaded);
}
