//! The levels that wait for the main thread. See [`Coming`].

#[cfg(test)]
mod tests;

use core::{cmp::Ordering, ops::Bound, time::Duration};
use std::collections::BTreeSet;

use bevy_platform::collections::HashMap;

use super::Pipeline;
use crate::load::{InstanceId, InstanceRequest, InstanceTarget, instance::Turn, rank::by_rank};

/// Where a level is in its order.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Place {
    pub rank: f64,
    pub id: InstanceId,
}

// By `by_rank`, which is total.
impl Eq for Place {}

impl Ord for Place {
    fn cmp(&self, other: &Self) -> Ordering {
        by_rank((self.rank, self.id), (other.rank, other.id))
    }
}

impl PartialOrd for Place {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Levels in the order in which they go.
#[derive(Debug, Default)]
pub(super) struct Order {
    places: BTreeSet<Place>,
    /// Where each of them is.
    ranks: HashMap<InstanceId, f64>,
}

impl Order {
    /// The most urgent one, and the next one behind a place.
    pub fn first(&self) -> Option<Place> {
        self.places.first().copied()
    }

    pub fn after(&self, place: Place) -> Option<Place> {
        let behind = (Bound::Excluded(place), Bound::Unbounded);
        self.places.range(behind).next().copied()
    }

    pub fn len(&self) -> usize {
        self.places.len()
    }

    pub fn contains(&self, id: InstanceId) -> bool {
        self.ranks.contains_key(&id)
    }

    /// All of them, the most urgent first.
    pub fn iter(&self) -> impl Iterator<Item = Place> {
        self.places.iter().copied()
    }

    /// A level waits with this rank, or not.
    pub fn set(&mut self, id: InstanceId, rank: Option<f64>) {
        let before = match rank {
            Some(rank) => self.ranks.insert(id, rank),
            None => self.ranks.remove(&id),
        };
        if let Some(rank) = before {
            self.places.remove(&Place { rank, id });
        }
        if let Some(rank) = rank {
            self.places.insert(Place { rank, id });
        }
    }

    #[cfg(test)]
    fn is_same(&self, other: &Self) -> bool {
        let ids = |order: &Self| order.ranks.keys().copied().collect::<BTreeSet<_>>();
        ids(self) == ids(other) && self.places == other.places
    }
}

/// The levels that wait for the main thread, by rank. They are known from one frame to the next, and only those are looked at of which something has
/// changed: many may wait while a frame has time for one.
#[derive(Debug, Default)]
pub(super) struct Coming {
    /// Those whose loads could start, by [`Queued`].
    queued: [Order; 3],
    /// Those that could come into the world or into sight.
    pub ready: Order,
    /// Those that wait for gates of their own.
    held: BTreeSet<InstanceId>,
    /// What their ranks are of.
    aging: Duration,
    /// What makes one essential.
    essential_priority: f32,
    /// How many were looked at.
    #[cfg(test)]
    pub looks: u64,
}

/// What decides beside its rank whether the load of a level starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Queued {
    /// It comes whatever memory there is.
    Essential,
    /// It is to be shown.
    Shown,
    /// It is to be loaded, and not to be shown.
    Loaded,
}

impl Queued {
    pub const ALL: [Self; 3] = [Self::Essential, Self::Shown, Self::Loaded];
}

/// How a level waits for the main thread.
#[derive(Default)]
struct Waits {
    is_held: bool,
    queued: Option<(Queued, f64)>,
    ready: Option<f64>,
}

impl Coming {
    /// Those of one kind whose loads could start.
    pub fn queued(&self, kind: Queued) -> &Order {
        &self.queued[kind as usize]
    }

    /// Those that wait for gates of their own.
    pub fn held(&self) -> &BTreeSet<InstanceId> {
        &self.held
    }

    fn set(&mut self, id: InstanceId, waits: &Waits) {
        if waits.is_held {
            self.held.insert(id);
        } else {
            self.held.remove(&id);
        }
        for (kind, order) in Queued::ALL.into_iter().zip(&mut self.queued) {
            order.set(
                id,
                waits.queued.filter(|queued| queued.0 == kind).map(|queued| queued.1),
            );
        }
        self.ready.set(id, waits.ready);
    }
}

impl Pipeline {
    /// Looks again at levels of which something has changed: they, a package that they need, or what gates say of them.
    pub(super) fn look_at_coming(&mut self) {
        let mut stirred = core::mem::take(&mut self.instances.index_mut().stirred);
        stirred.append(self.level_gates.stirred());
        let mut turned = core::mem::take(&mut self.packages.index_mut().turned);
        for path in turned.drain(..) {
            let users = self.packages.get(&path).map(|entry| &entry.users);
            stirred.extend(users.into_iter().flatten());
        }
        if self.coming.aging != self.arrivals.aging() {
            self.coming.aging = self.arrivals.aging();
            let orders = self.coming.queued.iter().chain([&self.coming.ready]);
            stirred.extend(orders.flat_map(|order| order.ranks.keys()));
        }
        stirred.sort_unstable();
        stirred.dedup();
        for id in stirred.drain(..) {
            let waits = self.how_it_waits(id);
            self.coming.set(id, &waits);
            #[cfg(test)]
            {
                self.coming.looks += 1;
            }
        }
        // The lists keep their memory.
        self.instances.index_mut().stirred = stirred;
        self.packages.index_mut().turned = turned;
    }

    fn how_it_waits(&self, id: InstanceId) -> Waits {
        let instance = self.instances.get(&id);
        let Some((instance, turn)) = instance.and_then(|instance| Some((instance, instance.turn()?))) else {
            return Waits::default();
        };
        let is_shown = matches!(turn, Turn::Reveal | Turn::Show);
        let rank = instance.rank(&self.arrivals);
        Waits {
            is_held: (is_shown || turn == Turn::Announce) && self.level_gates.holds(id, &instance.phase),
            queued: (turn == Turn::Start).then_some((self.kind_of(&instance.request), rank)),
            ready: (is_shown && self.is_ready(id)).then_some(rank),
        }
    }

    fn kind_of(&self, request: &InstanceRequest) -> Queued {
        if request.priority >= self.coming.essential_priority {
            Queued::Essential
        } else if request.target == InstanceTarget::Loaded {
            Queued::Loaded
        } else {
            Queued::Shown
        }
    }

    /// Those are essential that are so urgent.
    pub(super) fn note_essential(&mut self, priority: f32) {
        let before = core::mem::replace(&mut self.coming.essential_priority, priority);
        if before.to_bits() != priority.to_bits() {
            let queued = self.coming.queued.iter().flat_map(|order| order.ranks.keys());
            self.instances.index_mut().stirred.extend(queued);
        }
    }

    /// As if requests had come in so many frames that nobody remembers the first ones.
    #[cfg(test)]
    pub fn forget_arrivals(&mut self) {
        let (now, aging) = (self.arrivals.now(), self.arrivals.aging());
        let first = self.arrivals.came(0);
        for number in 0..10_000 {
            self.arrivals
                .note((1 << 32) + number, now + aging * number as u32, aging);
        }
        assert!(self.arrivals.came(0) > first, "it is forgotten");
        // It is no later than it was.
        self.arrivals.note(1 << 33, now, aging);
    }

    /// How many levels were looked at so far.
    #[cfg(test)]
    pub fn looks(&self) -> u64 {
        self.coming.looks
    }

    /// Whether what is known is what looking at all levels would find now.
    #[cfg(test)]
    pub(super) fn is_coming_known(&mut self) -> bool {
        self.look_at_coming();
        let mut fresh = Coming::default();
        for (id, _) in self.instances.iter() {
            fresh.set(*id, &self.how_it_waits(*id));
        }
        let known = &self.coming;
        let mut queued = fresh.queued.iter().zip(&known.queued);
        fresh.held == known.held && fresh.ready.is_same(&known.ready) && queued.all(|(a, b)| a.is_same(b))
    }
}
