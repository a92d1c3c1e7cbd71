//! Pools never give one instance to two, and never hold more than their cap.

use proptest::prelude::*;

use super::*;

fn plays_for(target: u32) -> PlaysFor {
    PlaysFor {
        target: Entity::from_raw_u32(target).expect("small"),
        instigator: None,
        source: None,
    }
}

fn ends(pool: &mut Pool<u32>, instance: u32, at: u64) {
    pool.playing_mut(instance).expect("it plays").until = Some(Duration::from_secs(at));
}

#[test]
fn a_full_pool_takes_the_oldest_or_drops() {
    let mut pool = Pool::new(2, 0, WhenFull::ReuseOldest);
    assert_eq!(pool.take(plays_for(0)), Give::NotYet);
    pool.give_back(7);
    pool.give_back(8);
    assert_eq!(pool.take(plays_for(0)), Give::Free(8));
    assert_eq!(pool.take(plays_for(1)), Give::Free(7));
    assert_eq!(pool.take(plays_for(2)), Give::Oldest(8));
    pool.when_full = WhenFull::GoWithout;
    assert_eq!(pool.take(plays_for(3)), Give::Full);
    let stats = pool.stats();
    assert_eq!((stats.high_water, stats.full, stats.playing), (3, 2, 2));
    assert_eq!(stats.recommended(10), 3);
}

#[test]
fn what_lasts_keeps_its_instance() {
    let mut pool = Pool::new(4, 0, WhenFull::GoWithout);
    pool.give_back(1);
    pool.take(plays_for(0));
    assert_eq!(pool.take(plays_for(0)), Give::Same(1));
    assert_eq!(pool.ended(Duration::MAX, |_| true), Vec::<u32>::new());
    ends(&mut pool, 1, 3);
    assert_eq!(pool.ended(Duration::from_secs(2), |_| true), Vec::<u32>::new());
    pool.give_back(2);
    assert_eq!(pool.take(plays_for(0)), Give::Free(2), "one that ends is nobody's");
    assert_eq!(pool.ended(Duration::from_secs(3), |_| true), [1]);
    assert_eq!(pool.ended(Duration::ZERO, |_| false), [2], "its target is gone");
}

#[test]
fn instances_are_made_ahead_and_no_more_than_are_asked_for() {
    let mut pool: Pool<u32> = Pool::new(3, 9, WhenFull::GoWithout);
    assert!(pool.wants_more());
    pool.making = 3;
    assert!(!pool.wants_more(), "not more than the cap");
    pool.making = 1;
    assert!(pool.should_make(true) && !pool.should_make(false));
    pool.making = 0;
    assert!(pool.should_make(false));
    // All on their way, none here: the cue waits, though the pool is full.
    pool.making = 3;
    assert_eq!(pool.look(plays_for(0)), Give::NotYet);
}

proptest! {
    #[test]
    fn an_instance_is_in_one_place(steps in prop::collection::vec((0..5u8, 0..6u32), 1..200), cap in 1..6u32, drops: bool) {
        let when_full = if drops { WhenFull::GoWithout } else { WhenFull::ReuseOldest };
        let mut pool: Pool<u32> = Pool::new(cap, 2, when_full);
        let (mut next, mut now) = (0, 0);
        for (step, target) in steps {
            match step {
                0 if pool.look(plays_for(target)) == Give::NotYet && pool.should_make(true) => pool.making += 1,
                1 if pool.making > 0 => {
                    pool.making -= 1;
                    pool.give_back(next);
                    next += 1;
                }
                2 => {
                    let looked = pool.look(plays_for(target));
                    prop_assert_eq!(pool.take(plays_for(target)), looked);
                    if let Give::Free(instance) | Give::Oldest(instance) = looked {
                        ends(&mut pool, instance, now + 2);
                    }
                }
                3 => {
                    now += 1;
                    for instance in pool.ended(Duration::from_secs(now), |_| true) {
                        pool.give_back(instance);
                    }
                }
                4 => pool.lose(|lost| *lost == target),
                _ => {}
            }
            prop_assert!(pool.total() <= cap);
            let mut all: Vec<u32> = pool.playing.iter().map(|playing| playing.instance).collect();
            all.extend(&pool.free);
            all.sort_unstable();
            prop_assert!(all.windows(2).all(|pair| pair[0] != pair[1]), "{:?}", all);
        }
    }
}
