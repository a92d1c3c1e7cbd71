//! The levels that could come now. See [`Coming`].

#[cfg(test)]
mod tests;

use core::{cmp::Ordering, ops::Bound, time::Duration};
use std::collections::BTreeSet;

use bevy_platform::collections::HashMap;

use super::Pipeline;
use crate::load::{InstanceId, instance::Turn, rank::by_rank};

/// Where a level is in the order of those that could come.
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

/// The levels that could come into the world or into sight, by rank, and those that gates hold back. They are known from one frame to the next, and only
/// those are looked at of which something has changed: many may wait while a frame has time for one.
#[derive(Debug, Default)]
pub(super) struct Coming {
    order: BTreeSet<Place>,
    /// Where each of them is.
    ranks: HashMap<InstanceId, f64>,
    held: BTreeSet<InstanceId>,
    /// What their ranks are of.
    aging: Duration,
    /// How many were looked at.
    #[cfg(test)]
    looks: u64,
}

impl Coming {
    /// The most urgent one, and the next one behind a place.
    pub fn first(&self) -> Option<Place> {
        self.order.first().copied()
    }

    pub fn after(&self, place: Place) -> Option<Place> {
        let behind = (Bound::Excluded(place), Bound::Unbounded);
        self.order.range(behind).next().copied()
    }

    /// All of them, the most urgent first.
    pub fn iter(&self) -> impl Iterator<Item = Place> {
        self.order.iter().copied()
    }

    /// Those that wait for gates of their own.
    pub fn held(&self) -> &BTreeSet<InstanceId> {
        &self.held
    }

    /// A level could come with this rank, or not.
    fn set(&mut self, id: InstanceId, rank: Option<f64>) {
        let before = match rank {
            Some(rank) => self.ranks.insert(id, rank),
            None => self.ranks.remove(&id),
        };
        if let Some(rank) = before {
            self.order.remove(&Place { rank, id });
        }
        if let Some(rank) = rank {
            self.order.insert(Place { rank, id });
        }
    }

    fn hold(&mut self, id: InstanceId, is_held: bool) {
        if is_held {
            self.held.insert(id);
        } else {
            self.held.remove(&id);
        }
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
            stirred.extend(self.coming.ranks.keys());
        }
        stirred.sort_unstable();
        stirred.dedup();
        for id in stirred.drain(..) {
            let (is_held, rank) = self.how_it_waits(id);
            self.coming.hold(id, is_held);
            self.coming.set(id, rank);
            #[cfg(test)]
            {
                self.coming.looks += 1;
            }
        }
        // The lists keep their memory.
        self.instances.index_mut().stirred = stirred;
        self.packages.index_mut().turned = turned;
    }

    /// Whether gates hold a level back, and its rank if it could come.
    fn how_it_waits(&self, id: InstanceId) -> (bool, Option<f64>) {
        let instance = self.instances.get(&id);
        let Some((instance, turn)) = instance.and_then(|instance| Some((instance, instance.turn()?))) else {
            return (false, None);
        };
        let is_shown = matches!(turn, Turn::Reveal | Turn::Show);
        if !is_shown && turn != Turn::Announce {
            return (false, None);
        }
        let is_held = self.level_gates.holds(id, &instance.phase);
        let could_come = is_shown && self.is_ready(id);
        (is_held, could_come.then(|| instance.rank(id, &self.arrivals)))
    }

    /// As if requests had come in so many frames that nobody remembers earlier ones.
    #[cfg(test)]
    pub fn forget_arrivals(&mut self) {
        let (now, aging) = (self.arrivals.now(), self.arrivals.aging());
        for number in 0..10_000 {
            self.arrivals.note((1 << 32) + number, now, aging);
        }
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
            let (is_held, rank) = self.how_it_waits(*id);
            fresh.hold(*id, is_held);
            fresh.set(*id, rank);
        }
        let ids = |coming: &Coming| coming.ranks.keys().copied().collect::<BTreeSet<_>>();
        fresh.held == self.coming.held && ids(&fresh) == ids(&self.coming) && fresh.order == self.coming.order
    }
}
