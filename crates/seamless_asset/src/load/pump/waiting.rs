//! The requests for objects, payloads and tables that have not begun. See [`Waiting`].

use bevy_platform::collections::HashMap;

use super::{
    Pipeline,
    coming::{Order, Place},
    start::number,
};
use crate::load::{InstanceId, tasks::JobOwner};

/// The requests for objects, payloads and tables that have not begun, by rank, from one frame to the next: there may be thousands of them while a frame
/// has room for one.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    order: Order,
    owners: HashMap<u64, JobOwner>,
}

impl Waiting {
    /// All of them, the most urgent first.
    pub fn order(&self) -> &Order {
        &self.order
    }

    /// What waits in a place.
    pub fn owner(&self, place: Place) -> Option<JobOwner> {
        self.owners.get(&place.id.0).copied()
    }

    /// It waits with this rank.
    pub fn set(&mut self, owner: JobOwner, rank: f64) {
        self.order.set(InstanceId(number(owner)), Some(rank));
        self.owners.insert(number(owner), owner);
    }

    /// It waits no more, if it did.
    pub fn remove(&mut self, number: u64) {
        self.order.set(InstanceId(number), None);
        self.owners.remove(&number);
    }
}

impl Pipeline {
    /// What has come waits for its turn.
    pub(super) fn wait(&mut self, owner: JobOwner, priority: f32) {
        let rank = self.arrivals.rank(number(owner), priority);
        self.waiting.set(owner, rank);
    }

    /// Ranks all of them anew.
    pub(super) fn rank_waiting_again(&mut self) {
        let all: Vec<_> = self.waiting_objects().chain(self.waiting_singles()).collect();
        all.into_iter().for_each(|(priority, owner)| self.wait(owner, priority));
    }
}
