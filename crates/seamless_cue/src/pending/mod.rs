//! Cues that wait until they can be played. Pure; see [`Pending`].

#[cfg(test)]
mod tests;

use core::hash::BuildHasher;
use core::time::Duration;

use bevy_ecs::entity::Entity;
use bevy_platform::{collections::HashTable, hash::FixedHasher};

use crate::{
    cue::{CueAct, CueContext, CueKey},
    tag::GameplayTag,
};

/// No cue.
const NONE: u32 = u32::MAX;

/// A cue that waits.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Waiting {
    pub context: CueContext,
    /// As it was fired.
    pub tag: GameplayTag,
    /// As it is played.
    pub queue: GameplayTag,
    /// When it was fired.
    pub at: Duration,
    pub act: CueAct,
}

impl Waiting {
    pub fn key(&self) -> CueKey {
        self.context.key(self.tag)
    }
}

/// A place for a cue, in a list of those of its tag.
#[derive(Debug)]
enum Slot {
    Free { next: u32 },
    Used(Node),
}

/// What is kept of a waiting cue beyond its context is limited: a test adds it up.
#[derive(Debug)]
struct Node {
    context: CueContext,
    tag: GameplayTag,
    queue: GameplayTag,
    at: Duration,
    number: u64,
    before: u32,
    behind: u32,
    act: CueAct,
}

/// The cues of one tag, first fired first.
#[derive(Clone, Copy, Debug)]
struct Queue {
    tag: GameplayTag,
    first: u32,
    last: u32,
}

/// One queue for each tag, which holds more than the order of each key: what waits behind others of its tag waits behind those of its own key.
/// So a cue is deferred in constant time, and only what [can be taken back](Self::cancel_adds) is found by its key.
#[derive(Debug)]
pub(crate) struct Pending {
    slots: Vec<Slot>,
    free: u32,
    used: usize,
    /// One for each tag under which somebody waits.
    queues: Vec<Queue>,
    /// By [`GameplayTag::index`]: one more than the place in `queues`; 0: nobody waits.
    of_tag: Vec<u32>,
    /// Waiting adds by key, several of one key.
    adds: HashTable<u32>,
    /// Counts what was fired, so that queues can be compared.
    number: u64,
    /// Where the next [`sweep`](Self::sweep) begins.
    cursor: usize,
}

impl Default for Pending {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            free: NONE,
            used: 0,
            queues: Vec::new(),
            of_tag: Vec::new(),
            adds: HashTable::new(),
            number: 0,
            cursor: 0,
        }
    }
}

impl Pending {
    /// How many wait.
    pub fn len(&self) -> usize {
        self.used
    }

    /// Whether anybody waits under this tag.
    pub fn has(&self, tag: GameplayTag) -> bool {
        self.of_tag.get(tag.index()).is_some_and(|place| *place != 0)
    }

    /// All tags under which somebody waits, each with the number of its first cue: lower was fired earlier.
    pub fn tags(&self) -> impl Iterator<Item = (u64, GameplayTag)> + '_ {
        let first = |queue: &Queue| Some((self.node(queue.first)?.number, queue.tag));
        self.queues.iter().filter_map(first)
    }

    /// Puts a cue behind those of its tag.
    pub fn push(&mut self, cue: Waiting) {
        let place = self.queue_of(cue.queue);
        let last = self.queues[place].last;
        let is_add = cue.act.is_add();
        let key = cue.key();
        self.number += 1;
        let node = Node {
            context: cue.context,
            tag: cue.tag,
            queue: cue.queue,
            at: cue.at,
            number: self.number,
            before: last,
            behind: NONE,
            act: cue.act,
        };
        let index = self.place(node);
        match self.node_mut(last) {
            Some(last) => last.behind = index,
            None => self.queues[place].first = index,
        }
        self.queues[place].last = index;
        if is_add {
            let slots = &self.slots;
            let hash = |index: &u32| slot(slots, *index).map_or(0, |node| hash(&node.context.key(node.tag)));
            self.adds.insert_unique(self::hash(&key), index, hash);
        }
    }

    /// The first cue of a tag, its number, and what it says.
    pub fn peek(&self, tag: GameplayTag) -> Option<(CueAct, GameplayTag, Duration, &CueContext)> {
        let node = self.node(self.queue(tag)?.first)?;
        Some((node.act, node.tag, node.at, &node.context))
    }

    /// The number of the first cue of a tag.
    pub fn number(&self, tag: GameplayTag) -> Option<u64> {
        Some(self.node(self.queue(tag)?.first)?.number)
    }

    /// Takes the first cue of a tag.
    pub fn pop(&mut self, tag: GameplayTag) -> Option<Waiting> {
        let first = self.queue(tag)?.first;
        self.take(first)
    }

    /// Takes all waiting adds of a key away; how many there were.
    pub fn cancel_adds(&mut self, key: &CueKey) -> usize {
        let mut count = 0;
        while let Some(index) = self.find_add(key) {
            self.take(index);
            count += 1;
        }
        count
    }

    fn find_add(&self, key: &CueKey) -> Option<u32> {
        let is_it = |index: &u32| slot(&self.slots, *index).is_some_and(|node| node.context.key(node.tag) == *key);
        self.adds.find(hash(key), is_it).copied()
    }

    /// Looks at so many places, from where the last look ended, and takes away whom `goes` says so of.
    pub fn sweep(&mut self, places: usize, mut goes: impl FnMut(CueAct, Duration, Entity) -> bool) {
        for _ in 0..places.min(self.slots.len()) {
            if self.cursor >= self.slots.len() {
                self.cursor = 0;
            }
            let index = self.cursor as u32;
            self.cursor += 1;
            if self
                .node(index)
                .is_some_and(|node| goes(node.act, node.at, node.context.target))
            {
                self.take(index);
            }
        }
    }

    /// Everybody who waits, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (GameplayTag, CueAct, Duration, &CueContext)> + '_ {
        self.slots.iter().filter_map(|slot| match slot {
            Slot::Used(node) => Some((node.tag, node.act, node.at, &node.context)),
            Slot::Free { .. } => None,
        })
    }

    /// How many wait under a tag.
    pub fn count(&self, tag: GameplayTag) -> usize {
        let mut at = self.queue(tag).map_or(NONE, |queue| queue.first);
        let mut count = 0;
        while let Some(node) = self.node(at) {
            count += 1;
            at = node.behind;
        }
        count
    }

    fn node(&self, index: u32) -> Option<&Node> {
        slot(&self.slots, index)
    }

    fn node_mut(&mut self, index: u32) -> Option<&mut Node> {
        match self.slots.get_mut(index as usize)? {
            Slot::Used(node) => Some(node),
            Slot::Free { .. } => None,
        }
    }

    fn queue(&self, tag: GameplayTag) -> Option<&Queue> {
        let place = self.of_tag.get(tag.index())?.checked_sub(1)?;
        self.queues.get(place as usize)
    }

    /// The place of a tag's queue, which is made if there is none.
    fn queue_of(&mut self, tag: GameplayTag) -> usize {
        let at = tag.index();
        if self.of_tag.len() <= at {
            self.of_tag.resize(at + 1, 0);
        }
        if self.of_tag[at] == 0 {
            let (first, last) = (NONE, NONE);
            self.queues.push(Queue { tag, first, last });
            self.of_tag[at] = self.queues.len() as u32;
        }
        self.of_tag[at] as usize - 1
    }

    fn place(&mut self, node: Node) -> u32 {
        self.used += 1;
        let index = self.free;
        if let Some(Slot::Free { next }) = self.slots.get(index as usize) {
            self.free = *next;
            self.slots[index as usize] = Slot::Used(node);
            return index;
        }
        self.slots.push(Slot::Used(node));
        self.slots.len() as u32 - 1
    }

    /// Takes a cue out of its queue, wherever it is in it.
    fn take(&mut self, index: u32) -> Option<Waiting> {
        let key = self.node(index).map(|node| node.context.key(node.tag))?;
        let place = self.slots.get_mut(index as usize)?;
        let Slot::Used(node) = core::mem::replace(place, Slot::Free { next: self.free }) else {
            return None;
        };
        self.free = index;
        self.used -= 1;
        if node.act.is_add()
            && let Ok(entry) = self.adds.find_entry(hash(&key), |at| *at == index)
        {
            entry.remove();
        }
        self.unlink(&node);
        if self.used == 0 {
            self.shrink();
        }
        Some(Waiting {
            context: node.context,
            tag: node.tag,
            queue: node.queue,
            at: node.at,
            act: node.act,
        })
    }

    fn unlink(&mut self, node: &Node) {
        let place = self.queue_of(node.queue);
        match self.node_mut(node.before) {
            Some(before) => before.behind = node.behind,
            None => self.queues[place].first = node.behind,
        }
        match self.node_mut(node.behind) {
            Some(behind) => behind.before = node.before,
            None => self.queues[place].last = node.before,
        }
        if self.queues[place].first == NONE {
            self.queues.swap_remove(place);
            self.of_tag[node.queue.index()] = 0;
            if let Some(moved) = self.queues.get(place) {
                self.of_tag[moved.tag.index()] = place as u32 + 1;
            }
        }
    }

    /// After a storm its memory is given back, but for what an ordinary frame needs.
    fn shrink(&mut self) {
        const KEPT: usize = 4096;
        self.slots.clear();
        self.free = NONE;
        self.cursor = 0;
        if self.slots.capacity() > KEPT {
            self.slots.shrink_to(KEPT);
            self.adds.shrink_to(KEPT, |_| 0);
        }
    }
}

fn slot(slots: &[Slot], index: u32) -> Option<&Node> {
    match slots.get(index as usize)? {
        Slot::Used(node) => Some(node),
        Slot::Free { .. } => None,
    }
}

fn hash(key: &CueKey) -> u64 {
    FixedHasher.hash_one(key)
}
