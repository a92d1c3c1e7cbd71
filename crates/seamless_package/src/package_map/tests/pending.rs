//! Values that wait: order, errors, time and limits.

use super::*;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

const AGE: Duration = Duration::from_secs(10);

/// A map with all objects known, and which of them are live.
struct Bed {
    map: PackageMap,
    live: RefCell<BTreeSet<ObjectId>>,
    pending: PendingRefs<u32>,
    now: Duration,
}

impl Bed {
    fn new() -> Self {
        Self::with(PendingLimits::default())
    }

    fn with(limits: PendingLimits) -> Self {
        Self {
            map: full(3),
            live: RefCell::default(),
            pending: PendingRefs::new(limits),
            now: Duration::from_secs(100),
        }
    }

    /// Calls the queue, and gives back what it wants done.
    fn call<R>(
        &mut self,
        call: impl FnOnce(&mut PendingRefs<u32>, &Objects<'_>, Duration, &mut Vec<Action<u32>>) -> R,
    ) -> (R, Vec<Action<u32>>) {
        let mut actions = Vec::new();
        let live = |id| self.live.borrow().contains(&id);
        let objects = Objects {
            map: &self.map,
            live: &live,
        };
        let result = call(&mut self.pending, &objects, self.now, &mut actions);
        (result, actions)
    }

    fn try_give(
        &mut self,
        channel: u32,
        value: u32,
        refs: &[ObjectIndex],
    ) -> (Result<Resolution, PendingError>, Vec<Action<u32>>) {
        let incoming = Incoming {
            channel,
            refs: refs.iter().copied().map(Some).collect(),
            value,
            bytes: 100,
        };
        self.call(|pending, objects, now, actions| pending.resolve(objects, incoming, now, actions))
    }

    fn give(&mut self, channel: u32, value: u32, refs: &[ObjectIndex]) -> Vec<Action<u32>> {
        let (resolution, actions) = self.try_give(channel, value, refs);
        let delivered = matches!(resolution.unwrap(), Resolution::Delivered(_));
        assert_eq!(values(&actions).contains(&value), delivered);
        actions
    }

    fn load(&mut self, index: ObjectIndex) -> Vec<Action<u32>> {
        let id = self.map.object_at(index).unwrap();
        self.live.borrow_mut().insert(id);
        self.call(|pending, objects, _, actions| pending.loaded(objects, id, actions))
            .1
    }

    fn fail(&mut self, index: ObjectIndex, why: &str) -> Vec<Action<u32>> {
        self.call(|pending, objects, _, actions| pending.failed(objects, index, why, actions))
            .1
    }

    fn after(&mut self, time: Duration) -> Vec<Action<u32>> {
        self.now += time;
        self.call(|pending, objects, now, actions| pending.tick(objects, now, actions))
            .1
    }
}

/// The values delivered, in order.
fn values(actions: &[Action<u32>]) -> Vec<u32> {
    let value = |action: &Action<u32>| match action {
        Action::Deliver { value, .. } => Some(*value),
        _ => None,
    };
    actions.iter().filter_map(value).collect()
}

/// The errors delivered, in order.
fn errors(actions: &[Action<u32>]) -> Vec<RefError> {
    let error = |action: &Action<u32>| match action {
        Action::Deliver { refs: Err(error), .. } => Some(error.clone()),
        _ => None,
    };
    actions.iter().filter_map(error).collect()
}

fn want(object: ObjectIndex) -> Action<u32> {
    Action::Want {
        object,
        id: Some(super::object(object.package, object.export)),
        path: path(object.package).into(),
    }
}

fn release(object: ObjectIndex) -> Action<u32> {
    Action::Release { object }
}

#[test]
fn live_objects_are_delivered_at_once() {
    let mut bed = Bed::new();
    bed.load(index(0, 1));
    let incoming = Incoming {
        channel: 5,
        refs: vec![Some(index(0, 1)), None, Some(index(0, 1))],
        value: 7,
        bytes: 1,
    };
    let (resolution, actions) =
        bed.call(|pending, objects, now, actions| pending.resolve(objects, incoming, now, actions));
    let Ok(Resolution::Delivered(ticket)) = resolution else {
        panic!("{resolution:?}");
    };
    let id = Some(object(0, 1));
    let expected = Action::Deliver {
        ticket,
        channel: 5,
        value: 7,
        refs: Ok(vec![id, None, id]),
    };
    assert_eq!(actions, [expected]);
    assert!(bed.pending.is_empty());
}

#[test]
fn an_object_that_is_not_loaded_is_wanted_once() {
    let mut bed = Bed::new();
    let [a, b] = [index(1, 1), index(1, 2)];
    assert_eq!(bed.give(0, 1, &[a, a]), [want(a)]);
    assert_eq!(bed.give(0, 2, &[a, b]), [want(b)]);
    assert_eq!(bed.give(1, 3, &[b]), []);
    assert_eq!(
        (bed.pending.len(), bed.pending.bytes(), bed.pending.wanted_len()),
        (3, 300, 2)
    );
    assert_eq!(bed.pending.wanted_of(1).collect::<Vec<_>>(), [a, b]);
    assert_eq!(bed.pending.wanted_of(0).count(), 0);
    let loaded = bed.load(a);
    assert_eq!(values(&loaded), [1]);
    assert_eq!(loaded.len(), 1, "the second value still wants it");
    let loaded = bed.load(b);
    assert_eq!(values(&loaded), [2, 3]);
    assert_eq!(loaded.iter().filter(|action| **action == release(a)).count(), 1);
    assert_eq!(loaded.last(), Some(&release(b)));
    assert_eq!(
        (bed.pending.len(), bed.pending.bytes(), bed.pending.wanted_len()),
        (0, 0, 0)
    );
    // A new mention, after it was released and has left again.
    bed.live.borrow_mut().clear();
    assert_eq!(bed.give(0, 4, &[a]), [want(a)]);
}

#[test]
fn an_object_of_a_package_that_was_never_opened_is_wanted_by_its_place() {
    let mut bed = Bed::new();
    bed.map = list(3);
    let place = index(2, 9);
    let (id, path) = (None, path(2).into());
    assert_eq!(
        bed.give(0, 1, &[place]),
        [Action::Want {
            object: place,
            id,
            path
        }]
    );
    learn(&mut bed.map, 2);
    assert_eq!(values(&bed.load(place)), [1]);
}

#[test]
fn a_channel_keeps_its_order_and_does_not_hold_up_others() {
    let mut bed = Bed::new();
    let [a, b] = [index(0, 1), index(0, 2)];
    bed.give(0, 1, &[a]);
    bed.give(0, 2, &[b]);
    assert_eq!(values(&bed.give(0, 3, &[])), [], "no references, but behind others");
    assert_eq!(values(&bed.give(1, 4, &[])), [4]);
    assert_eq!(values(&bed.load(b)), []);
    assert_eq!(values(&bed.load(a)), [1, 2, 3]);
}

#[test]
fn a_failed_load_is_an_error_when_it_is_its_turn() {
    let mut bed = Bed::new();
    let [a, b] = [index(0, 1), index(1, 2)];
    bed.give(0, 1, &[a]);
    bed.give(0, 2, &[a, b]);
    bed.give(0, 3, &[a]);
    assert_eq!(bed.fail(b, "the file is damaged; copy it again"), []);
    let loaded = bed.load(a);
    assert_eq!(values(&loaded), [1, 2, 3]);
    let error = RefError::LoadFailed {
        object: b,
        path: path(1).into(),
        why: "the file is damaged; copy it again".into(),
    };
    has_a_mend(&error);
    assert_eq!(errors(&loaded), [error]);
    assert_eq!(bed.pending.wanted_len(), 0);
}

#[test]
fn what_has_failed_fails_for_later_values_too() {
    let mut bed = Bed::new();
    let [a, b] = [index(0, 1), index(1, 2)];
    bed.give(0, 1, &[a, b]);
    // The value is delivered, so nobody waits for the object, and it is asked for anew.
    assert_eq!(errors(&bed.fail(b, "no")).len(), 1);
    assert_eq!(bed.give(0, 2, &[b]), [want(b)]);
    // Here one still waits, in another channel, for something before it.
    bed.give(1, 3, &[a]);
    bed.give(1, 4, &[b]);
    assert_eq!(values(&bed.fail(b, "no")), [2]);
    assert_eq!(values(&bed.give(2, 5, &[index(0, 9), b])), [5]);
    // It works after all, and leaves again: that is no failure.
    bed.load(b);
    bed.live.borrow_mut().clear();
    assert_eq!(values(&bed.load(a)), [3]);
    let done = bed.load(b);
    assert_eq!((values(&done), errors(&done)), (vec![4], vec![]));
}

#[test]
fn a_failure_does_not_wait_for_other_objects_of_the_value() {
    let mut bed = Bed::new();
    let refs: Vec<_> = (0..9).map(|export| index(0, export)).collect();
    bed.give(0, 1, &refs);
    bed.give(0, 2, &refs[3..4]);
    bed.load(refs[0]);
    let failed = bed.fail(refs[5], "no");
    assert_eq!((values(&failed), errors(&failed).len()), (vec![1], 1));
    assert_eq!(
        failed
            .iter()
            .filter(|action| matches!(action, Action::Release { .. }))
            .count(),
        8
    );
    assert_eq!(values(&bed.load(refs[3])), [2]);
}

#[test]
fn objects_may_be_loaded_in_any_order() {
    for step in [1, 2, 4, 5, 7, 8] {
        let mut bed = Bed::new();
        let refs: Vec<_> = (0..9).map(|export| index(0, export)).collect();
        bed.give(0, 1, &refs);
        let order: Vec<_> = (0..9).map(|at| refs[at * step % 9]).collect();
        for object in &order[..8] {
            assert_eq!(values(&bed.load(*object)), []);
        }
        assert_eq!(values(&bed.load(order[8])), [1]);
    }
}

#[test]
fn each_reference_is_looked_at_a_few_times_only() {
    let mut bed = Bed::new();
    let refs: Vec<_> = (0..EXPORTS).map(|export| index(0, export)).collect();
    bed.give(0, 1, &refs);
    let asked = RefCell::new(0);
    for object in &refs {
        let id = bed.map.object_at(*object).unwrap();
        bed.live.borrow_mut().insert(id);
        let live = |id| {
            *asked.borrow_mut() += 1;
            bed.live.borrow().contains(&id)
        };
        let objects = Objects {
            map: &bed.map,
            live: &live,
        };
        bed.pending.loaded(&objects, id, &mut Vec::new());
    }
    assert!(bed.pending.is_empty());
    assert!(asked.take() <= 3 * EXPORTS);
}

#[test]
fn what_waits_too_long_is_an_error_in_order() {
    let mut bed = Bed::new();
    let [a, b] = [index(0, 1), index(1, 2)];
    bed.give(0, 1, &[a]);
    assert_eq!(bed.pending.next_deadline(), Some(bed.now + AGE));
    assert_eq!(bed.after(AGE / 2), []);
    bed.give(0, 2, &[b]);
    bed.give(1, 3, &[b, a]);
    bed.give(0, 4, &[]);
    let nearly = AGE / 2 - Duration::from_nanos(1);
    assert_eq!(bed.after(nearly), []);
    let late = bed.after(Duration::from_nanos(1));
    let error = RefError::TimedOut {
        object: a,
        path: path(0).into(),
        age: AGE,
    };
    assert_eq!((values(&late), errors(&late)), (vec![1], vec![error.clone()]));
    has_a_mend(&error);
    assert!(!late.contains(&release(a)), "channel 1 waits for it");
    let last = bed.after(AGE);
    assert_eq!(values(&last), [2, 4, 3]);
    assert_eq!(errors(&last).len(), 2);
    assert!(last.contains(&release(a)) && last.contains(&release(b)));
    assert_eq!(bed.pending.next_deadline(), None);
}

#[test]
fn time_does_not_go_back() {
    let mut bed = Bed::new();
    bed.give(0, 1, &[index(0, 1)]);
    bed.now = Duration::ZERO;
    bed.give(1, 2, &[index(0, 1)]);
    bed.now = Duration::from_secs(100);
    assert_eq!(values(&bed.after(AGE)), [1, 2]);
}

#[test]
fn what_has_left_in_the_meantime_is_not_delivered() {
    let mut bed = Bed::new();
    let [a, b] = [index(0, 1), index(0, 2)];
    bed.load(b);
    assert_eq!(bed.give(0, 1, &[a]), [want(a)]);
    // Live, but it has to stay so until the value's turn.
    assert_eq!(bed.give(0, 2, &[b]), [want(b)]);
    bed.live.borrow_mut().clear();
    assert_eq!(values(&bed.load(a)), [1]);
    assert_eq!(values(&bed.load(b)), [2]);
}

#[test]
fn news_of_what_nobody_waits_for_is_no_news() {
    let mut bed = Bed::new();
    bed.give(0, 1, &[index(0, 1)]);
    assert_eq!(bed.load(index(0, 2)), []);
    assert_eq!(bed.fail(index(0, 3), "no"), []);
    let unknown = ObjectId::new("no.pkg", "X");
    let (_, actions) = bed.call(|pending, objects, _, actions| pending.loaded(objects, unknown, actions));
    assert_eq!(actions, []);
}

#[test]
fn a_peer_that_leaves_releases_what_it_wanted() {
    let mut bed = Bed::new();
    let [a, b] = [index(0, 1), index(1, 2)];
    bed.give(0, 1, &[b, a]);
    let mut actions = Vec::new();
    bed.pending.close(&mut actions);
    assert_eq!(actions, [release(a), release(b)]);
}

#[test]
fn every_limit_is_kept() {
    let limits = PendingLimits {
        values: 3,
        bytes: 250,
        refs: 5,
        objects: 4,
        age: AGE,
    };
    let full = |field, limit, found| Err(PendingError::Limit { field, limit, found });
    let refs: Vec<_> = (0..4).map(|export| index(0, export)).collect();
    let mut bed = Bed::with(limits.clone());
    let many = [&refs[..], &refs[..2]].concat();
    assert_eq!(bed.try_give(0, 1, &many), (full("refs", 5, 6), vec![]));
    bed.give(0, 2, &refs[..3]);
    let two_more = [index(1, 0), index(1, 1)];
    assert_eq!(bed.try_give(1, 3, &two_more), (full("objects", 4, 5), vec![]));
    bed.give(1, 4, &two_more[..1]);
    assert_eq!(bed.try_give(2, 5, &refs[..1]), (full("bytes", 250, 300), vec![]));
    let mut bed = Bed::with(PendingLimits { bytes: 1000, ..limits });
    for value in 0..3 {
        bed.give(0, value, &refs[..1]);
    }
    let (error, actions) = bed.try_give(0, 3, &[]);
    assert_eq!((error.clone(), actions), (full("values", 3, 4), vec![]));
    has_a_mend(&error.unwrap_err());
    // What need not wait is not limited, and what was refused has left no trace.
    assert_eq!(values(&bed.give(9, 4, &[])), [4]);
    assert_eq!(values(&bed.load(refs[0])), [0, 1, 2]);
    assert_eq!((bed.pending.bytes(), bed.pending.wanted_len()), (0, 0));
    assert_eq!(values(&bed.give(0, 5, &refs[1..])), []);
    assert_eq!(values(&bed.give(0, 6, &refs[1..3])), [], "there is room again");
}

#[test]
fn references_of_another_map_are_refused() {
    let mut bed = Bed::new();
    let object = index(3, 0);
    let (error, actions) = bed.try_give(0, 1, &[index(0, 0), object]);
    let packages = 3;
    assert_eq!(error, Err(PendingError::UnknownPackage { object, packages }));
    has_a_mend(&error.unwrap_err());
    assert_eq!(actions, []);
    assert!(bed.pending.is_empty() && bed.pending.wanted_len() == 0);
}

#[test]
fn tickets_tell_values_apart() {
    let mut bed = Bed::new();
    let (first, _) = bed.try_give(0, 1, &[index(0, 0)]);
    let (second, _) = bed.try_give(1, 2, &[]);
    let (Ok(Resolution::Pending(first)), Ok(Resolution::Delivered(second))) = (first, second) else {
        panic!("one waits, one does not");
    };
    assert!(first < second);
    let delivered = bed.load(index(0, 0));
    assert!(matches!(delivered[0], Action::Deliver { ticket, .. } if ticket == first));
    let why: Arc<str> = "no".into();
    assert_eq!(bed.fail(index(0, 0), &why), []);
}
