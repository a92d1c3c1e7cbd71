//! Waiting cues against plain lists, and what they take.

use std::collections::{BTreeMap, VecDeque};

use proptest::prelude::*;

use super::*;

fn tag(number: usize) -> GameplayTag {
    GameplayTag::new(&format!("Pending.T{number}")).expect("a tag")
}

fn entity(number: u32) -> Entity {
    Entity::from_raw_u32(number).expect("small")
}

fn waiting(of: usize, target: u32, act: CueAct, at: u64) -> Waiting {
    Waiting {
        context: CueContext::new(entity(target)).magnitude(at as f32),
        tag: tag(of),
        queue: tag(of),
        at: Duration::from_millis(at),
        act,
    }
}

/// A place in the list of adds: its number, a byte of control, and what is free because tables are at most 7/8 full, and half that after they
/// have grown.
const OF_TABLE: usize = (size_of::<u32>() + 1) * 16 / 7;

#[test]
fn a_waiting_cue_takes_few_bytes_beyond_its_context() {
    let beyond = size_of::<Slot>() - size_of::<CueContext>() + OF_TABLE;
    assert!(
        beyond <= 64 + OF_TABLE && size_of::<Slot>() - size_of::<CueContext>() <= 56,
        "{beyond}"
    );
    // An executed one is in no table.
    assert!(size_of::<Slot>() - size_of::<CueContext>() <= 64);
}

#[test]
fn memory_of_a_storm_is_given_back() {
    let mut pending = Pending::default();
    for at in 0..20_000 {
        pending.push(waiting(0, at as u32, CueAct::Add, at));
    }
    assert!(pending.slots.capacity() >= 20_000);
    for at in 0..20_000 {
        assert_eq!(pending.pop(tag(0)).expect("one waits").at, Duration::from_millis(at));
    }
    assert!(pending.slots.capacity() <= 4096 && pending.adds.is_empty() && pending.queues.is_empty());
    pending.push(waiting(1, 1, CueAct::Execute, 1));
    assert_eq!(pending.len(), 1);
}

#[derive(Debug, Clone)]
enum Step {
    Push(usize, u32, u8),
    Pop(usize),
    Cancel(usize, u32),
    Sweep(usize, u32),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => (0..4usize, 0..4u32, 0..4u8).prop_map(|(of, target, act)| Step::Push(of, target, act)),
        2 => (0..4usize).prop_map(Step::Pop),
        2 => (0..4usize, 0..4u32).prop_map(|(of, target)| Step::Cancel(of, target)),
        1 => (0..9usize, 0..4u32).prop_map(|(places, target)| Step::Sweep(places, target)),
    ]
}

proptest! {
    #[test]
    fn queues_are_plain_lists(steps in prop::collection::vec(step(), 1..80)) {
        let mut pending = Pending::default();
        let mut lists: BTreeMap<usize, VecDeque<Waiting>> = BTreeMap::new();
        for (at, step) in (0..).zip(steps) {
            match step {
                Step::Push(of, target, act) => {
                    let act = [CueAct::Execute, CueAct::Add, CueAct::Join, CueAct::Remove][act as usize];
                    let cue = waiting(of, target, act, at);
                    pending.push(cue.clone());
                    lists.entry(of).or_default().push_back(cue);
                }
                Step::Pop(of) => {
                    prop_assert_eq!(pending.pop(tag(of)), lists.entry(of).or_default().pop_front());
                }
                Step::Cancel(of, target) => {
                    let list = lists.entry(of).or_default();
                    let before = list.len();
                    list.retain(|cue| !(cue.act.is_add() && cue.context.target == entity(target)));
                    let key = CueContext::new(entity(target)).key(tag(of));
                    prop_assert_eq!(pending.cancel_adds(&key), before - list.len());
                }
                Step::Sweep(places, target) => {
                    let mut gone = Vec::new();
                    pending.sweep(places, |_, at, of| {
                        let goes = of == entity(target);
                        gone.extend(goes.then_some(at));
                        goes
                    });
                    for list in lists.values_mut() {
                        list.retain(|cue| !gone.contains(&cue.at));
                    }
                }
            }
            prop_assert_eq!(pending.len(), lists.values().map(VecDeque::len).sum::<usize>());
            prop_assert_eq!(pending.iter().count(), pending.len());
            for (of, list) in &lists {
                prop_assert_eq!(pending.has(tag(*of)), !list.is_empty());
                prop_assert_eq!(pending.count(tag(*of)), list.len());
                prop_assert_eq!(pending.peek(tag(*of)).map(|(_, _, at, _)| at), list.front().map(|cue| cue.at));
            }
            let mut first: Vec<_> = pending.tags().collect();
            first.sort_unstable_by_key(|(number, _)| *number);
            let mut expected: Vec<_> = lists.iter().filter_map(|(of, list)| Some((list.front()?.at, tag(*of)))).collect();
            expected.sort_unstable_by_key(|(at, _)| *at);
            prop_assert_eq!(first.iter().map(|(_, tag)| *tag).collect::<Vec<_>>(), expected.iter().map(|(_, tag)| *tag).collect::<Vec<_>>());
        }
        // A sweep of all places finds everybody.
        pending.sweep(usize::MAX, |_, _, _| true);
        prop_assert_eq!(pending.len(), 0);
        prop_assert_eq!(pending.tags().count(), 0);
    }
}
