//! The arrivals that somebody holds. See [`Arrivals`].

use core::convert::Infallible;
use std::sync::{Arc, Weak};

use async_channel::Sender;
use bevy_ecs::{
    change_detection::DetectChangesMut,
    entity::Entity,
    resource::Resource,
    system::{Res, ResMut},
};
use bevy_log::warn;
use seamless_asset::StreamingClock;

use super::{Arrival, ArrivalPoint, COMPLETE, GONE, Shared, StreamingStatus};
use crate::select::SourceInput;

/// All arrivals that somebody holds, or held at the last selection.
#[derive(Resource, Default)]
pub(crate) struct Arrivals {
    all: Vec<Entry>,
    next: u64,
    /// Whether Bevy propagates transforms, so that it is known in a frame where its end will find everything. Here, and in no resource of its own.
    pub are_places_known: bool,
}

struct Entry {
    key: u64,
    point: ArrivalPoint,
    shared: Weak<Shared>,
    /// Until it has ended; dropping this ends it for those who wait.
    waiting: Option<Sender<Infallible>>,
    /// Somebody held it at the last selection, which had it among its sources.
    was_held: bool,
    /// There was a world for it, if only one that had failed.
    had_world: bool,
}

impl Arrivals {
    /// Takes a place in, if there are not as many as `most` already.
    pub fn add(&mut self, point: ArrivalPoint, most: usize) -> Arrival {
        // Entities have the small numbers.
        let key = u64::MAX - self.next;
        self.next += 1;
        let (waiting, done) = async_channel::bounded(1);
        let shared = Arc::new(Shared::new(done));
        if !point.input(key).is_finite() {
            warn!("{point:?} is gone at once: one of its numbers is infinite or none");
            shared.end(GONE);
            return Arrival(shared);
        }
        if self.all.len() >= most {
            warn!("more than {most} places are prepared; drop some arrivals, or raise `LevelSettings::max_requests`");
            shared.end(GONE);
            return Arrival(shared);
        }
        self.all.push(Entry {
            key,
            point,
            shared: Arc::downgrade(&shared),
            waiting: Some(waiting),
            was_held: false,
            had_world: false,
        });
        Arrival(shared)
    }

    /// Forgets those whose last clone was dropped before the last selection; all others are looked at from now on. One that is dropped asks
    /// once more: whoever was moved to its place in the same frame is there in the next selection only.
    pub fn begin(&mut self) {
        self.all.retain_mut(|entry| {
            let is_held = entry.shared.strong_count() > 0;
            core::mem::replace(&mut entry.was_held, is_held) || is_held
        });
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

impl Entry {
    fn look(&mut self, status: &StreamingStatus) {
        let Some(shared) = self.shared.upgrade() else { return };
        let meant = self.point.world;
        self.had_world |= meant.is_some() || status.has_any(meant);
        if !status.has_world(meant) {
            // The first world may be spawned later than its first arrival.
            if self.had_world {
                self.end(&shared, GONE);
            }
            return;
        }
        let progress = status.progress_of(self.key, meant);
        shared.set_progress(&progress);
        if progress.is_complete() {
            self.end(&shared, COMPLETE);
        }
    }

    fn end(&mut self, shared: &Shared, state: u8) {
        shared.end(state);
        self.waiting = None;
    }
}

/// Tells who waits how far it is, and when all is there.
pub(crate) fn report_arrivals(mut arrivals: ResMut<Arrivals>, status: StreamingStatus, clock: Res<StreamingClock>) {
    let _time = clock.measure("arrivals");
    let arrivals = arrivals.bypass_change_detection();
    let waiting = arrivals
        .all
        .iter_mut()
        .filter(|entry| entry.was_held && entry.waiting.is_some());
    waiting.for_each(|entry| entry.look(&status));
}
