//! Cues that wait until they can be played. Pure; see [`Pending`].

mod store;
#[cfg(test)]
mod tests;

use core::time::Duration;

use bevy_ecs::entity::Entity;

use self::store::{NONE, Store};
use crate::{
    active::ActiveId,
    cue::{CueAct, CueContext, CueKey},
    tag::GameplayTag,
};

/// A cue on its way. Its context stays where it is until the way's end is known.
#[derive(Debug)]
pub(crate) struct Cue<'c> {
    pub context: &'c mut CueContext,
    /// As it was fired.
    pub tag: GameplayTag,
    /// As it is played.
    pub queue: GameplayTag,
    /// When it was fired.
    pub at: Duration,
    pub act: CueAct,
    /// Of an add: what lasts.
    pub of: Option<ActiveId>,
}

impl Cue<'_> {
    #[inline]
    pub fn key(&self) -> CueKey {
        self.context.key(self.tag)
    }
}

/// A cue that waits, or has waited, in a list of those of its tag. What is kept of it beyond its context is limited: a test adds it up.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub context: CueContext,
    pub tag: GameplayTag,
    queue: GameplayTag,
    /// In nanoseconds.
    at: u64,
    number: u64,
    before: u32,
    behind: u32,
    /// The next add of the same key.
    again: u32,
    of: Option<ActiveId>,
    pub act: CueAct,
}

impl Waiting {
    #[inline]
    pub fn at(&self) -> Duration {
        Duration::from_nanos(self.at)
    }

    pub fn of(&self) -> Option<ActiveId> {
        self.of
    }

    #[inline]
    pub fn cue(&mut self) -> Cue<'_> {
        Cue {
            tag: self.tag,
            queue: self.queue,
            at: self.at(),
            act: self.act,
            of: self.of,
            context: &mut self.context,
        }
    }
}

/// The cues of one tag, first fired first.
#[derive(Clone, Copy, Debug)]
struct Queue {
    tag: GameplayTag,
    first: u32,
    last: u32,
}

/// The waiting adds of one key, first fired first. Kept with what lasts, so that none of them is ever looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Adds {
    first: u32,
    last: u32,
}

impl Default for Adds {
    fn default() -> Self {
        let (first, last) = (NONE, NONE);
        Self { first, last }
    }
}

impl Adds {
    /// The first of them waits no longer.
    pub fn pop(&mut self, first: &Waiting) {
        self.first = first.again;
        if self.first == NONE {
            self.last = NONE;
        }
    }
}

/// One queue for each tag, which holds more than the order of each key: what waits behind others of its tag waits behind those of its own key.
/// So a cue is deferred in constant time, and what [can be taken back](Self::cancel) is in a list of its key.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    nodes: Store<Waiting>,
    /// One for each tag under which somebody waits.
    queues: Vec<Queue>,
    /// By [`GameplayTag::index`]: one more than the place in `queues`; 0: nobody waits.
    of_tag: Vec<u32>,
    /// Counts what was fired, so that queues can be compared.
    number: u64,
    /// Where the next [`sweep`](Self::sweep) begins.
    cursor: usize,
}

impl Pending {
    /// How many wait.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether anybody waits under this tag.
    #[inline]
    pub fn has(&self, tag: GameplayTag) -> bool {
        self.of_tag.get(tag.index()).is_some_and(|place| *place != 0)
    }

    /// All tags under which somebody waits, each with the number of its first cue: lower was fired earlier.
    pub fn tags(&self) -> impl Iterator<Item = (u64, GameplayTag)> + '_ {
        let first = |queue: &Queue| Some((self.nodes.get(queue.first)?.number, queue.tag));
        self.queues.iter().filter_map(first)
    }

    /// Puts a cue behind those of its tag, and an add behind those of its key.
    #[inline]
    pub fn push(&mut self, cue: Cue, adds: Option<&mut Adds>) {
        let place = self.queue_of(cue.queue);
        let last = self.queues[place].last;
        self.number += 1;
        let index = self.nodes.insert(Waiting {
            tag: cue.tag,
            queue: cue.queue,
            at: cue.at.as_nanos() as u64,
            number: self.number,
            before: last,
            behind: NONE,
            again: NONE,
            of: cue.of,
            act: cue.act,
            context: cue.context.take(),
        });
        match self.nodes.get_mut(last) {
            Some(last) => last.behind = index,
            None => self.queues[place].first = index,
        }
        self.queues[place].last = index;
        if let Some(adds) = adds {
            match self.nodes.get_mut(adds.last) {
                Some(last) => last.again = index,
                None => adds.first = index,
            }
            adds.last = index;
        }
    }

    /// The first cue of a tag.
    #[inline]
    pub fn peek(&self, tag: GameplayTag) -> Option<&Waiting> {
        self.nodes.get(self.queue(tag)?.first)
    }

    /// The number of the first cue of a tag.
    pub fn number(&self, tag: GameplayTag) -> Option<u64> {
        Some(self.peek(tag)?.number)
    }

    /// Takes the first cue of a tag. If it is an add, it is the first of its key's: [`Adds::pop`] it.
    pub fn pop(&mut self, tag: GameplayTag) -> Option<Waiting> {
        let first = self.queue(tag)?.first;
        self.take(first)
    }

    /// Takes the waiting adds of a key away; how many there were.
    pub fn cancel(&mut self, key: &CueKey, adds: &mut Adds) -> usize {
        let mut count = 0;
        let is_one = |node: &&Waiting| node.act.is_add() && node.context.key(node.tag) == *key;
        while self.nodes.get(adds.first).filter(is_one).is_some()
            && let Some(taken) = self.take(adds.first)
        {
            adds.pop(&taken);
            count += 1;
        }
        *adds = Adds::default();
        count
    }

    /// Looks at so many places, from where the last look ended, and takes away whom `goes` says so of. Of adds only those whose key is done with as a
    /// whole may go: nobody is to [cancel](Self::cancel) them any more.
    pub fn sweep(&mut self, places: usize, mut goes: impl FnMut(CueAct, Duration, Entity) -> bool) {
        for _ in 0..places.min(self.nodes.places()) {
            let Some(index) = self.nodes.place_from(self.cursor) else {
                break;
            };
            self.cursor = index as usize + 1;
            let is_gone = |node: &Waiting| goes(node.act, node.at(), node.context.target);
            if self.nodes.get(index).is_some_and(is_gone) {
                self.take(index);
            }
        }
    }

    /// Everybody who waits, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &Waiting> + '_ {
        self.nodes.iter()
    }

    /// How many wait under a tag.
    pub fn count(&self, tag: GameplayTag) -> usize {
        let mut at = self.queue(tag).map_or(NONE, |queue| queue.first);
        let mut count = 0;
        while let Some(node) = self.nodes.get(at) {
            count += 1;
            at = node.behind;
        }
        count
    }

    fn queue(&self, tag: GameplayTag) -> Option<&Queue> {
        let place = self.of_tag.get(tag.index())?.checked_sub(1)?;
        self.queues.get(place as usize)
    }

    /// The place of a tag's queue, which is made if there is none.
    #[inline]
    fn queue_of(&mut self, tag: GameplayTag) -> usize {
        match self.of_tag.get(tag.index()) {
            Some(place) if *place != 0 => *place as usize - 1,
            _ => self.new_queue(tag),
        }
    }

    fn new_queue(&mut self, tag: GameplayTag) -> usize {
        let at = tag.index();
        if self.of_tag.len() <= at {
            self.of_tag.resize(at + 1, 0);
        }
        let (first, last) = (NONE, NONE);
        self.queues.push(Queue { tag, first, last });
        self.of_tag[at] = self.queues.len() as u32;
        self.queues.len() - 1
    }

    /// Takes a cue out of its queue, wherever it is in it.
    fn take(&mut self, index: u32) -> Option<Waiting> {
        let node = self.nodes.remove(index)?;
        self.unlink(&node);
        Some(node)
    }

    fn unlink(&mut self, node: &Waiting) {
        let place = self.queue_of(node.queue);
        match self.nodes.get_mut(node.before) {
            Some(before) => before.behind = node.behind,
            None => self.queues[place].first = node.behind,
        }
        match self.nodes.get_mut(node.behind) {
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
}
