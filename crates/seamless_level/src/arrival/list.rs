//! The arrivals that somebody holds. See [`Arrivals`].

use bevy_ecs::{
    change_detection::DetectChangesMut,
    entity::Entity,
    resource::Resource,
    system::{Res, ResMut},
};
use bevy_log::warn;
use seamless_asset::StreamingClock;

use super::{Arrival, ArrivalPoint, LOOKED_AT, Promise, StreamingStatus};
use crate::select::SourceInput;

/// All arrivals that somebody holds, or held at the last selection.
#[derive(Resource, Default)]
pub(crate) struct Arrivals {
    all: Vec<Entry>,
    next: u64,
    /// The place among them of the one that is looked at next.
    next_looked: usize,
    /// Whether Bevy propagates transforms, so that it is known in a frame where its end will find everything. Here, and in no resource of its own.
    pub are_places_known: bool,
}

struct Entry {
    key: u64,
    point: ArrivalPoint,
    promise: Promise,
    /// Somebody held it at the last selection, which had it among its sources.
    was_held: bool,
}

impl Arrivals {
    /// Takes a place in, if there are not as many as `most` already.
    pub fn add(&mut self, point: ArrivalPoint, most: usize) -> Arrival {
        // Entities have the small numbers.
        let key = u64::MAX - self.next;
        self.next += 1;
        let (mut promise, outcome) = Promise::new();
        if !point.input(key).is_finite() {
            warn!("{point:?} is gone at once: one of its numbers is infinite or none");
            promise.give_up();
        } else if self.all.len() >= most {
            warn!("more than {most} places are prepared; drop some arrivals, or raise `LevelSettings::max_requests`");
            promise.give_up();
        } else {
            self.all.push(Entry {
                key,
                point,
                promise,
                was_held: false,
            });
        }
        Arrival(outcome)
    }

    /// Forgets those whose last clone was dropped before the last selection; all others are looked at from now on. One that is dropped asks
    /// once more: whoever was moved to its place in the same frame is there in the next selection only.
    pub fn begin(&mut self) {
        self.all.retain_mut(|entry| {
            let is_held = entry.promise.is_held();
            core::mem::replace(&mut entry.was_held, is_held) || is_held
        });
    }

    /// Looks at those who wait: at so many in a frame at most, in turn.
    fn look(&mut self, mut look: impl FnMut(u64, Option<Entity>, &mut Promise)) {
        let first = self.next_looked.min(self.all.len());
        let (before, from) = self.all.split_at_mut(first);
        let places = (first..).zip(from).chain((0..).zip(before));
        let waiting = places.filter(|(_, entry)| entry.was_held && !entry.promise.is_over());
        for (place, entry) in waiting.take(LOOKED_AT) {
            look(entry.key, entry.point.world, &mut entry.promise);
            self.next_looked = place + 1;
        }
    }

    /// All that are looked at, whichever world they ask.
    pub fn all(&self) -> impl Iterator<Item = SourceInput> {
        self.all.iter().map(|entry| entry.point.input(entry.key))
    }

    /// Those that ask a world, as its sources.
    pub fn sources(&self, world: Entity) -> impl Iterator<Item = SourceInput> {
        let meant = self
            .all
            .iter()
            .filter(move |entry| entry.point.world.is_none_or(|meant| meant == world));
        meant.map(|entry| entry.point.input(entry.key))
    }
}

/// Tells who waits how far it is, and when all is there.
pub(crate) fn report_arrivals(mut arrivals: ResMut<Arrivals>, status: StreamingStatus, clock: Res<StreamingClock>) {
    let _time = clock.measure("arrivals");
    let arrivals = arrivals.bypass_change_detection();
    arrivals.look(|key, meant, promise| promise.look(meant, &status, || Some(status.progress_of(key, meant))));
}
