//! Values whose references lead to objects that are not loaded yet: they wait, in order, for a while.

use super::error::{PendingError, RefError};
use super::limits::PendingLimits;
use super::map::{ObjectIndex, PackageMap};
use crate::id::ObjectId;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// What is known, and what is loaded, at the time of a call.
#[derive(Clone, Copy)]
pub struct Objects<'a> {
    /// The map, with the objects of every package whose tables were read.
    pub map: &'a PackageMap,
    /// Whether an object is live, so that game code may see a reference to it.
    pub live: &'a dyn Fn(ObjectId) -> bool,
}

/// A value of the game that has arrived, with the references in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incoming<T> {
    /// Values of one channel are delivered in the order in which they were given.
    pub channel: u32,
    /// Its references, as [`RefDecoder::decode`](super::RefDecoder::decode) gave them; none are references to nothing.
    pub refs: Vec<Option<ObjectIndex>>,
    /// The value.
    pub value: T,
    /// What it costs to keep it, in bytes: what [`PendingLimits::bytes`] counts.
    pub bytes: u64,
}

/// Names a value that was given to a [`PendingRefs`]; later ones are greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(u64);

/// Whether a value had to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolution {
    /// It is among the actions.
    Delivered(Ticket),
    /// It waits for its objects, or for values before it.
    Pending(Ticket),
}

/// What the caller has to do, in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action<T> {
    /// Load this object and keep it, or only keep it if it is live already, until [`Action::Release`]. Said once per object.
    Want {
        /// The object.
        object: ObjectIndex,
        /// Its id, if the map knows it; else the tables of the package come first.
        id: Option<ObjectId>,
        /// Path of its package.
        path: Arc<str>,
    },
    /// No value waits for this object any more. What was delivered is the game's to keep.
    Release {
        /// The object.
        object: ObjectIndex,
    },
    /// It is the turn of this value.
    Deliver {
        /// The value's ticket.
        ticket: Ticket,
        /// Its channel.
        channel: u32,
        /// The value.
        value: T,
        /// Its references, all live, in the order in which they were given; or what became of the first bad one.
        refs: Result<Vec<Option<ObjectId>>, RefError>,
    },
}

/// The values of one peer that wait for objects.
///
/// A state machine without a clock and without effects: every call adds to `actions` what is to be done. Values of one
/// channel are delivered in order: one that is complete waits for those before it, and one whose object cannot be loaded, or
/// not in time, is delivered with the error when it is its turn. As [`PendingLimits::age`] is the same for all, no value
/// waits longer than that.
///
/// A reference is checked again when its value is delivered: what was live when it arrived and is no more makes it wait.
#[derive(Debug, Clone)]
pub struct PendingRefs<T> {
    limits: PendingLimits,
    now: Duration,
    next: u64,
    bytes: u64,
    refs: u64,
    channels: BTreeMap<u32, VecDeque<Queued<T>>>,
    /// The channels of all values that wait, oldest value first.
    order: BTreeMap<Ticket, u32>,
    wanted: BTreeMap<ObjectIndex, Wanted>,
}

#[derive(Debug, Clone)]
struct Queued<T> {
    ticket: Ticket,
    deadline: Duration,
    /// The reference that it waits for, or that has failed; those before it were live when they were looked at. So each
    /// is looked at a few times in all, however many there are and in whatever order they are loaded.
    at: usize,
    incoming: Incoming<T>,
}

#[derive(Debug, Clone)]
struct Wanted {
    path: Arc<str>,
    waiters: BTreeSet<Ticket>,
    failed: Option<Arc<str>>,
}

impl<T> PendingRefs<T> {
    /// Nothing waits yet.
    pub fn new(limits: PendingLimits) -> Self {
        Self {
            limits,
            now: Duration::ZERO,
            next: 0,
            bytes: 0,
            refs: 0,
            channels: BTreeMap::new(),
            order: BTreeMap::new(),
            wanted: BTreeMap::new(),
        }
    }

    /// Takes a value. If all of its objects are live and no value of its channel waits, it is delivered at once; else its
    /// objects are wanted, and it waits. `now` is the time since any fixed moment.
    ///
    /// # Errors
    /// [`PendingError::Limit`] for more than may wait, [`PendingError::UnknownPackage`] for a reference of another map.
    pub fn resolve(
        &mut self,
        objects: &Objects<'_>,
        incoming: Incoming<T>,
        now: Duration,
        actions: &mut Vec<Action<T>>,
    ) -> Result<Resolution, PendingError> {
        self.now = self.now.max(now);
        let ticket = Ticket(self.next);
        if !self.channels.contains_key(&incoming.channel)
            && let Ok(ids) = live_ids(objects, &incoming.refs)
        {
            self.next = self.next.saturating_add(1);
            actions.push(deliver(ticket, incoming, Ok(ids)));
            return Ok(Resolution::Delivered(ticket));
        }
        let new = self.check_room(objects.map, &incoming)?;
        self.next = self.next.saturating_add(1);
        for (object, path) in new {
            self.want(objects.map, object, path, actions);
        }
        let channel = incoming.channel;
        self.enqueue(ticket, incoming);
        // It may refer to what has failed already.
        self.advance(objects, channel, actions);
        if self.order.contains_key(&ticket) {
            Ok(Resolution::Pending(ticket))
        } else {
            Ok(Resolution::Delivered(ticket))
        }
    }

    /// The objects that a value would make wanted, with the paths of their packages, if there is room for it and them.
    fn check_room(
        &self,
        map: &PackageMap,
        incoming: &Incoming<T>,
    ) -> Result<BTreeMap<ObjectIndex, Arc<str>>, PendingError> {
        let values = (self.order.len() as u64).saturating_add(1);
        check("values", self.limits.values.into(), values)?;
        let bytes = self.bytes.saturating_add(incoming.bytes);
        check("bytes", self.limits.bytes, bytes)?;
        let refs = self.refs.saturating_add(incoming.refs.len() as u64);
        check("refs", self.limits.refs.into(), refs)?;
        let mut new = BTreeMap::new();
        for object in incoming.refs.iter().flatten().copied() {
            if self.wanted.contains_key(&object) {
                continue;
            }
            let packages = map.len();
            let info = map.package(object.package);
            let info = info.ok_or(PendingError::UnknownPackage { object, packages })?;
            new.insert(object, info.path.clone());
        }
        let wanted = (self.wanted.len() as u64).saturating_add(new.len() as u64);
        check("objects", self.limits.objects.into(), wanted)?;
        Ok(new)
    }

    fn want(&mut self, map: &PackageMap, object: ObjectIndex, path: Arc<str>, actions: &mut Vec<Action<T>>) {
        let wanted = Wanted {
            path: path.clone(),
            waiters: BTreeSet::new(),
            failed: None,
        };
        self.wanted.insert(object, wanted);
        let id = map.object_at(object);
        actions.push(Action::Want { object, id, path });
    }

    fn enqueue(&mut self, ticket: Ticket, incoming: Incoming<T>) {
        for object in incoming.refs.iter().flatten() {
            if let Some(wanted) = self.wanted.get_mut(object) {
                wanted.waiters.insert(ticket);
            }
        }
        let failed = |object: &Option<ObjectIndex>| object.is_some_and(|object| self.has_failed(object));
        let at = incoming.refs.iter().position(failed).unwrap_or(0);
        self.bytes = self.bytes.saturating_add(incoming.bytes);
        self.refs = self.refs.saturating_add(incoming.refs.len() as u64);
        self.order.insert(ticket, incoming.channel);
        let queue = self.channels.entry(incoming.channel).or_default();
        queue.push_back(Queued {
            ticket,
            deadline: self.now.saturating_add(self.limits.age),
            at,
            incoming,
        });
    }

    /// An object has become live, and the map knows it. Delivers what waited for it alone.
    pub fn loaded(&mut self, objects: &Objects<'_>, object: ObjectId, actions: &mut Vec<Action<T>>) {
        let Some(index) = objects.map.index_of(object) else {
            return;
        };
        if let Some(wanted) = self.wanted.get_mut(&index) {
            wanted.failed = None;
        }
        for channel in self.channels_of(index) {
            if self.waits_for(channel) == Some(index) {
                self.advance(objects, channel, actions);
            }
        }
    }

    /// An object could not be loaded; `why` says so to people. The values that refer to it are delivered with the error,
    /// each when it is its turn.
    pub fn failed(
        &mut self,
        objects: &Objects<'_>,
        object: ObjectIndex,
        why: impl Into<Arc<str>>,
        actions: &mut Vec<Action<T>>,
    ) {
        let Some(wanted) = self.wanted.get_mut(&object) else {
            return;
        };
        wanted.failed = Some(why.into());
        for ticket in &wanted.waiters {
            let queue = self
                .order
                .get(ticket)
                .and_then(|channel| self.channels.get_mut(channel));
            let Some(queue) = queue else { continue };
            let place = queue.binary_search_by_key(ticket, |queued| queued.ticket);
            let queued = place.ok().and_then(|place| queue.get_mut(place));
            let Some(queued) = queued else { continue };
            let at = queued.incoming.refs.iter().position(|other| *other == Some(object));
            queued.at = at.unwrap_or(queued.at);
        }
        for channel in self.channels_of(object) {
            self.advance(objects, channel, actions);
        }
    }

    /// Delivers the values that have waited too long. To be called now and then, such as once a frame; it costs nothing
    /// while nothing is overdue.
    pub fn tick(&mut self, objects: &Objects<'_>, now: Duration, actions: &mut Vec<Action<T>>) {
        self.now = self.now.max(now);
        while let Some((_, &channel)) = self.order.first_key_value()
            && self.next_deadline().is_some_and(|deadline| deadline <= self.now)
        {
            // The oldest of all is the first of its channel, and overdue: this delivers it.
            self.advance(objects, channel, actions);
        }
    }

    /// The peer is gone: what waits is dropped, and what is wanted is released.
    pub fn close(self, actions: &mut Vec<Action<T>>) {
        actions.extend(self.wanted.into_keys().map(|object| Action::Release { object }));
    }

    /// When the oldest value that waits will have waited too long.
    pub fn next_deadline(&self) -> Option<Duration> {
        let (_, channel) = self.order.first_key_value()?;
        let oldest = self.channels.get(channel)?.front()?;
        Some(oldest.deadline)
    }

    /// The wanted objects of one package, such as to tell what became of each when the package is loaded or has failed.
    pub fn wanted_of(&self, package: u32) -> impl Iterator<Item = ObjectIndex> {
        let index = |export| ObjectIndex { package, export };
        let of_package = self.wanted.range(index(0)..=index(u32::MAX));
        of_package.map(|(object, _)| *object)
    }

    /// Objects that are wanted.
    pub fn wanted_len(&self) -> usize {
        self.wanted.len()
    }

    /// Values that wait.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether no value waits.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Bytes of the values that wait.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The channels in which a value refers to `object`.
    fn channels_of(&self, object: ObjectIndex) -> BTreeSet<u32> {
        let waiters = self.wanted.get(&object).map(|wanted| wanted.waiters.iter());
        let channels = waiters
            .into_iter()
            .flatten()
            .filter_map(|ticket| self.order.get(ticket));
        channels.copied().collect()
    }

    /// The object that a channel waits for.
    fn waits_for(&self, channel: u32) -> Option<ObjectIndex> {
        let first = self.channels.get(&channel)?.front()?;
        first.incoming.refs.get(first.at).copied().flatten()
    }

    fn has_failed(&self, object: ObjectIndex) -> bool {
        self.wanted.get(&object).is_some_and(|wanted| wanted.failed.is_some())
    }

    /// Delivers from the front of a channel what need not wait any longer.
    fn advance(&mut self, objects: &Objects<'_>, channel: u32, actions: &mut Vec<Action<T>>) {
        while let Some(first) = self.channels.get_mut(&channel).and_then(VecDeque::front_mut) {
            let refs = match first.judge(objects) {
                Ok(ids) => Ok(ids),
                Err(object) => {
                    let overdue = first.deadline <= self.now;
                    match self.load_error(object) {
                        Some(error) => Err(error),
                        None if overdue => Err(self.timed_out(object)),
                        None => return,
                    }
                }
            };
            self.deliver_first(channel, refs, actions);
        }
    }

    fn load_error(&self, object: ObjectIndex) -> Option<RefError> {
        let wanted = self.wanted.get(&object)?;
        Some(RefError::LoadFailed {
            object,
            path: wanted.path.clone(),
            why: wanted.failed.clone()?,
        })
    }

    fn timed_out(&self, object: ObjectIndex) -> RefError {
        // Always there: what a waiting value refers to is wanted.
        let wanted = self.wanted.get(&object);
        RefError::TimedOut {
            object,
            path: wanted.map_or_else(|| "".into(), |wanted| wanted.path.clone()),
            age: self.limits.age,
        }
    }

    fn deliver_first(
        &mut self,
        channel: u32,
        refs: Result<Vec<Option<ObjectId>>, RefError>,
        actions: &mut Vec<Action<T>>,
    ) {
        let Some(queue) = self.channels.get_mut(&channel) else {
            return;
        };
        let Some(Queued { ticket, incoming, .. }) = queue.pop_front() else {
            return;
        };
        if queue.is_empty() {
            self.channels.remove(&channel);
        }
        self.order.remove(&ticket);
        self.bytes = self.bytes.saturating_sub(incoming.bytes);
        self.refs = self.refs.saturating_sub(incoming.refs.len() as u64);
        let objects: BTreeSet<ObjectIndex> = incoming.refs.iter().flatten().copied().collect();
        actions.push(deliver(ticket, incoming, refs));
        for object in objects {
            self.leave(ticket, object, actions);
        }
    }

    /// `ticket` waits for `object` no longer.
    fn leave(&mut self, ticket: Ticket, object: ObjectIndex, actions: &mut Vec<Action<T>>) {
        let Some(wanted) = self.wanted.get_mut(&object) else {
            return;
        };
        wanted.waiters.remove(&ticket);
        if wanted.waiters.is_empty() {
            self.wanted.remove(&object);
            actions.push(Action::Release { object });
        }
    }
}

impl<T> Queued<T> {
    /// The ids of all references if all are live, else one that is not.
    fn judge(&mut self, objects: &Objects<'_>) -> Result<Vec<Option<ObjectId>>, ObjectIndex> {
        let refs = &self.incoming.refs;
        let rest = refs.iter().enumerate().skip(self.at);
        let missing = rest.filter_map(|(at, object)| Some((at, (*object)?)));
        let missing = missing
            .into_iter()
            .find(|(_, object)| live_id(objects, *object).is_none());
        let judged = missing.map_or_else(|| live_ids(objects, refs), Err);
        judged.map_err(|(at, object)| {
            self.at = at;
            object
        })
    }
}

fn live_id(objects: &Objects<'_>, object: ObjectIndex) -> Option<ObjectId> {
    objects.map.object_at(object).filter(|id| (objects.live)(*id))
}

/// The ids of all `refs`, or position and place of the first that is not live.
fn live_ids(
    objects: &Objects<'_>,
    refs: &[Option<ObjectIndex>],
) -> Result<Vec<Option<ObjectId>>, (usize, ObjectIndex)> {
    let mut ids = Vec::with_capacity(refs.len());
    for (at, object) in refs.iter().enumerate() {
        ids.push(match *object {
            Some(object) => Some(live_id(objects, object).ok_or((at, object))?),
            None => None,
        });
    }
    Ok(ids)
}

fn deliver<T>(ticket: Ticket, incoming: Incoming<T>, refs: Result<Vec<Option<ObjectId>>, RefError>) -> Action<T> {
    Action::Deliver {
        ticket,
        channel: incoming.channel,
        value: incoming.value,
        refs,
    }
}

fn check(field: &'static str, limit: u64, found: u64) -> Result<(), PendingError> {
    if found > limit {
        return Err(PendingError::Limit { field, limit, found });
    }
    Ok(())
}
