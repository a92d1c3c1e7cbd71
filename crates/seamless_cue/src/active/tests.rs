//! The table against a plain map.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::cue::CueContext;

fn key(number: u32) -> CueKey {
    let entity = |number| Entity::from_raw_u32(number).expect("small");
    let tag = GameplayTag::new("Active.Tag").expect("a tag");
    CueContext::new(entity(number % 5)).by(entity(number)).key(tag)
}

fn active(key: CueKey, adds: u32) -> Active {
    Active {
        key,
        queue: key.tag,
        adds,
        is_ending: false,
        waiting: Adds::default(),
        played: Route::new(),
    }
}

#[derive(Debug, Clone)]
enum Step {
    Insert(u32),
    Remove(u32),
    Sweep(usize, u32),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..40u32).prop_map(Step::Insert),
        2 => (0..40u32).prop_map(Step::Remove),
        1 => (0..50usize, 0..5u32).prop_map(|(places, dead)| Step::Sweep(places, dead)),
    ]
}

proptest! {
    #[test]
    fn it_is_a_map_in_which_places_stay(steps in prop::collection::vec(step(), 1..200)) {
        let mut table = ActiveCues::default();
        let mut map: BTreeMap<u32, (ActiveId, u32)> = BTreeMap::new();
        for (count, step) in (0..).zip(steps) {
            match step {
                Step::Insert(number) => match table.find(&key(number)) {
                    Ok(id) => prop_assert_eq!(Some(id), map.get(&number).map(|(id, _)| *id)),
                    Err(hash) => {
                        let id = table.insert(hash, active(key(number), count));
                        prop_assert!(map.insert(number, (id, count)).is_none());
                    }
                },
                Step::Remove(number) => {
                    let removed = table.find(&key(number)).ok().and_then(|id| table.remove(id, &key(number)));
                    prop_assert_eq!(removed.map(|active| active.adds), map.remove(&number).map(|(_, count)| count));
                }
                Step::Sweep(places, dead) => {
                    let dead = key(dead).target;
                    let before = table.len();
                    let gone = table.sweep(places, |target| target != dead);
                    prop_assert_eq!(table.len(), before - gone);
                    map.retain(|number, _| key(*number).target != dead || table.find(&key(*number)).is_ok());
                }
            }
            prop_assert_eq!(table.len(), map.len());
            for (number, (id, count)) in &map {
                prop_assert_eq!(table.find(&key(*number)).ok(), Some(*id));
                prop_assert_eq!(table.at(*id, &key(*number)).map(|active| active.adds), Some(*count));
                prop_assert!(table.at(*id, &key(*number + 40)).is_none(), "another key");
            }
        }
        table.sweep(usize::MAX, |_| false);
        prop_assert_eq!((table.len(), table.index.len()), (0, 0));
    }
}
