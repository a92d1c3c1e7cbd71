//! Waiting cues against plain lists, and what they take.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use proptest::prelude::*;

use super::*;

fn tag(number: usize) -> GameplayTag {
    GameplayTag::new(&format!("Pending.T{number}")).expect("a tag")
}

fn entity(number: u32) -> Entity {
    Entity::from_raw_u32(number).expect("small")
}

/// What was fired, for comparison.
#[derive(Debug, Clone, PartialEq)]
struct Fired {
    of: usize,
    target: u32,
    act: CueAct,
    at: u64,
}

impl Fired {
    fn key(&self) -> CueKey {
        CueContext::new(entity(self.target)).key(tag(self.of))
    }

    fn push(&self, pending: &mut Pending, adds: Option<&mut Adds>) {
        let (tag, queue) = (tag(self.of), tag(self.of));
        let cue = Cue {
            context: &mut CueContext::new(entity(self.target)).magnitude(self.at as f32),
            tag,
            queue,
            at: Duration::from_millis(self.at),
            act: self.act,
            of: None,
        };
        pending.push(cue, adds);
    }
}

/// That a waiting cue is one that was fired.
fn is(waiting: &Waiting, fired: &Fired) -> bool {
    let (target, at) = (entity(fired.target), Duration::from_millis(fired.at));
    let context = CueContext::new(target).magnitude(fired.at as f32);
    waiting.tag == tag(fired.of) && waiting.act == fired.act && waiting.at() == at && waiting.context == context
}

#[test]
fn a_waiting_cue_takes_few_bytes_beyond_its_context() {
    let beyond = size_of::<store::Place<Waiting>>() - size_of::<CueContext>();
    assert!(beyond <= 64, "{beyond}");
}

#[test]
fn memory_of_a_storm_is_given_back_as_it_is_played() {
    let mut pending = Pending::default();
    let fired = |at| Fired {
        of: 0,
        target: at as u32,
        act: CueAct::Execute,
        at,
    };
    for at in 0..20_000 {
        fired(at).push(&mut pending, None);
    }
    assert!((20_000..21_000).contains(&pending.nodes.capacity()));
    for at in 0..20_000 {
        assert!(is(&pending.pop(tag(0)).expect("one waits"), &fired(at)));
        assert!(pending.nodes.capacity() <= 20_000 - at as usize + 1024);
    }
    assert!(pending.nodes.capacity() <= 256 && pending.nodes.places() == 0 && pending.queues.is_empty());
    fired(1).push(&mut pending, None);
    assert_eq!(pending.len(), 1);
}

/// Who stays holds the memory of a few others only: places that were left are used again.
#[test]
fn who_stays_keeps_no_more_memory_than_was_needed_at_once() {
    let mut pending = Pending::default();
    for round in 0..100 {
        for at in 0..1000 {
            let target = if at % 100 == 0 { 7 } else { 8 };
            let act = CueAct::Execute;
            Fired { of: 0, target, act, at }.push(&mut pending, None);
        }
        pending.sweep(usize::MAX, |_, at, target| {
            target == entity(8) || (round > 50 && at.as_millis() > 0)
        });
    }
    assert!(
        pending.nodes.capacity() <= 1000 + 100 * 10 + 512,
        "{}",
        pending.nodes.capacity()
    );
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
        let mut lists: BTreeMap<usize, VecDeque<Fired>> = BTreeMap::new();
        let mut adds: BTreeMap<(usize, u32), Adds> = BTreeMap::new();
        // Nobody asks for those who were swept.
        let mut dead = BTreeSet::new();
        for (at, step) in (0..).zip(steps) {
            match step {
                Step::Push(_, target, _) | Step::Cancel(_, target) if dead.contains(&target) => {}
                Step::Push(of, target, act) => {
                    let act = [CueAct::Execute, CueAct::Add, CueAct::Join, CueAct::Remove][act as usize];
                    let fired = Fired { of, target, act, at };
                    let adds = act.is_add().then(|| adds.entry((of, target)).or_default());
                    fired.push(&mut pending, adds);
                    lists.entry(of).or_default().push_back(fired);
                }
                Step::Pop(of) => {
                    let (popped, expected) = (pending.pop(tag(of)), lists.entry(of).or_default().pop_front());
                    prop_assert_eq!(popped.is_some(), expected.is_some());
                    if let (Some(popped), Some(expected)) = (popped, expected) {
                        prop_assert!(is(&popped, &expected), "{:?} {:?}", popped, expected);
                        if popped.act.is_add() {
                            adds.entry((of, expected.target)).or_default().pop(&popped);
                        }
                    }
                }
                Step::Cancel(of, target) => {
                    let list = lists.entry(of).or_default();
                    let before = list.len();
                    list.retain(|cue| !(cue.act.is_add() && cue.target == target));
                    let key = Fired { of, target, act: CueAct::Add, at }.key();
                    let adds = adds.entry((of, target)).or_default();
                    prop_assert_eq!(pending.cancel(&key, adds), before - list.len());
                    prop_assert_eq!(*adds, Adds::default());
                }
                Step::Sweep(places, target) => {
                    dead.insert(target);
                    let mut gone = Vec::new();
                    pending.sweep(places, |_, at, of| {
                        let goes = of == entity(target);
                        gone.extend(goes.then_some(at.as_millis() as u64));
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
                let first = pending.peek(tag(*of)).map(|cue| cue.at().as_millis() as u64);
                prop_assert_eq!(first, list.front().map(|cue| cue.at));
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
