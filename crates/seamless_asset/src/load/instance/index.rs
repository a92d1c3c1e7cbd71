//! What each frame asks of all instances. See [`InstanceIndex`].

use std::collections::BTreeSet;

use bevy_ecs::entity::Entity;
use bevy_platform::collections::HashMap;

use super::{InstanceMark, Memory, Seen, TURNS, Turn};
use crate::load::{InstanceId, tracked::Index};

/// Those that wait for something, each with the frame since which it does, if that decides who goes first. In the order of that, and of requests.
pub(in crate::load) type Waiting = BTreeSet<(u64, InstanceId)>;

/// What each frame asks of instances.
#[derive(Default)]
pub(in crate::load) struct InstanceIndex {
    turns: [Waiting; TURNS],
    /// Those in the world, by their roots.
    roots: HashMap<Entity, InstanceId>,
    /// How many of those are seen by all, live or leaving.
    pub live: u64,
    /// Entities of those that are seen by all.
    pub entities: u64,
    /// Entities of those that nobody sees.
    pub hidden: u64,
    /// How many are loading.
    pub loading: u64,
    memory: Memory,
    /// Those whose entities take memory already.
    pub with_memory: BTreeSet<InstanceId>,
    /// Others do not know yet that these are elsewhere by now, or gone.
    pub changed: Vec<InstanceId>,
    /// How these wait may be otherwise by now.
    pub stirred: Vec<InstanceId>,
}

impl InstanceIndex {
    /// What the entities take in memory of instances that are in the world.
    pub fn live_memory(&self) -> u64 {
        self.memory.live
    }

    /// The same of those that wait.
    pub fn staged_memory(&self) -> u64 {
        self.memory.staged
    }

    /// The same of those that are loading, as it is thought.
    pub fn expected_memory(&self) -> u64 {
        self.memory.expected
    }

    fn count_memory(&mut self, mark: &InstanceMark, change: impl Fn(u64, u64) -> u64) {
        self.memory.live = change(self.memory.live, mark.memory.live);
        self.memory.staged = change(self.memory.staged, mark.memory.staged);
        self.memory.expected = change(self.memory.expected, mark.memory.expected);
        self.loading = change(self.loading, mark.task.is_some().into());
    }

    /// Those that wait for this.
    pub fn waiting(&self, turn: Turn) -> &Waiting {
        &self.turns[turn as usize]
    }

    /// The instance in the world that has this root.
    pub fn of_root(&self, root: Entity) -> Option<InstanceId> {
        self.roots.get(&root).copied()
    }

    /// What the instances that are seen by all, or by nobody, add up to.
    fn count(&mut self, seen: Seen, change: impl Fn(u64, u64) -> u64, entities: u64) {
        match seen {
            Seen::ByAll => {
                self.live = change(self.live, 1);
                self.entities = change(self.entities, entities);
            }
            Seen::ByNobody => self.hidden = change(self.hidden, entities),
        }
    }
}

impl Index<InstanceId, InstanceMark> for InstanceIndex {
    fn add(&mut self, id: &InstanceId, mark: InstanceMark) {
        self.changed.push(*id);
        self.stirred.push(*id);
        self.count_memory(&mark, |sum, more| sum + more);
        if mark.memory.is_there() {
            self.with_memory.insert(*id);
        }
        if let Some((root, entities, seen)) = mark.place {
            self.roots.insert(root, *id);
            self.count(seen, |sum, more| sum + more, entities);
        }
        if let Some((since, turn)) = mark.turn {
            self.turns[turn as usize].insert((since, *id));
        }
    }

    fn remove(&mut self, id: &InstanceId, mark: InstanceMark) {
        self.changed.push(*id);
        self.stirred.push(*id);
        self.count_memory(&mark, |sum, less| sum - less);
        self.with_memory.remove(id);
        if let Some((root, entities, seen)) = mark.place {
            self.roots.remove(&root);
            self.count(seen, |sum, less| sum - less, entities);
        }
        if let Some((since, turn)) = mark.turn {
            self.turns[turn as usize].remove(&(since, *id));
        }
    }

    fn change(&mut self, id: &InstanceId, before: InstanceMark, after: InstanceMark) {
        let wait = after.wait;
        if (InstanceMark { wait, ..before }) == after {
            self.stirred.push(*id);
        } else {
            self.remove(id, before);
            self.add(id, after);
        }
    }

    #[cfg(test)]
    fn is_same(&self, other: &Self) -> bool {
        let sums = |index: &Self| ([index.live, index.entities, index.hidden, index.loading], index.memory);
        let are_lists_same =
            self.turns == other.turns && self.roots == other.roots && self.with_memory == other.with_memory;
        are_lists_same && sums(self) == sums(other)
    }
}
