//! Cues that last. Pure; see [`ActiveCues`].

#[cfg(test)]
mod tests;

use core::hash::BuildHasher;

use bevy_ecs::entity::Entity;
use bevy_platform::{collections::HashTable, hash::FixedHasher};

use crate::{cue::CueKey, pending::Adds, route::Route, tag::GameplayTag};

/// A cue that was added and not removed.
#[derive(Clone, Debug)]
pub(crate) struct Active {
    pub key: CueKey,
    /// What it is played as.
    pub queue: GameplayTag,
    /// Adds that no remove has answered. 0: its removal waits.
    pub adds: u32,
    /// Whether a removal waits.
    pub is_ending: bool,
    /// Those of its adds that wait.
    pub waiting: Adds,
    /// Who has heard that it is active, and is to hear that it ends.
    pub played: Route,
}

impl Active {
    /// Whether nobody has heard of it, or will.
    pub fn is_silent(&self) -> bool {
        self.played.is_empty() && self.waiting == Adds::default()
    }
}

/// Where a cue that lasts is, as long as it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ActiveId(u32);

/// What a key that is not there is put in by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyHash(u32);

/// All of them, by key. A cue is looked up once on its way; from then on its place is known, also by those of its adds that wait.
#[derive(Debug, Default)]
pub(crate) struct ActiveCues {
    slots: Vec<Option<Active>>,
    free: Vec<u32>,
    index: HashTable<Place>,
    cursor: usize,
}

/// With its hash, so that a table that grows looks at nothing else.
#[derive(Clone, Copy, Debug)]
struct Place {
    hash: u32,
    at: u32,
}

impl ActiveCues {
    /// All of them, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &Active> {
        self.slots.iter().flatten()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Where that of a key is, or what to put it in by.
    #[inline]
    pub fn find(&self, key: &CueKey) -> Result<ActiveId, KeyHash> {
        let hash = (FixedHasher.hash_one(key) >> 32) as u32;
        let is_it = |place: &Place| place.hash == hash && self.is_at(place.at, key);
        match self.index.find(spread(hash), is_it) {
            Some(place) => Ok(ActiveId(place.at)),
            None => Err(KeyHash(hash)),
        }
    }

    #[inline]
    fn is_at(&self, at: u32, key: &CueKey) -> bool {
        matches!(self.slots.get(at as usize), Some(Some(active)) if active.key == *key)
    }

    /// The one in a place, if it is still that of this key.
    #[inline]
    pub fn at(&mut self, id: ActiveId, key: &CueKey) -> Option<&mut Active> {
        let active = self.slots.get_mut(id.0 as usize)?.as_mut();
        active.filter(|active| active.key == *key)
    }

    /// A new one; there is none of its key.
    pub fn insert(&mut self, KeyHash(hash): KeyHash, active: Active) -> ActiveId {
        let at = match self.free.pop() {
            Some(at) => {
                self.slots[at as usize] = Some(active);
                at
            }
            None => {
                self.slots.push(Some(active));
                self.slots.len() as u32 - 1
            }
        };
        let place = Place { hash, at };
        self.index
            .insert_unique(spread(hash), place, |place| spread(place.hash));
        ActiveId(at)
    }

    /// Takes the one in a place out, if it is still that of this key.
    pub fn remove(&mut self, id: ActiveId, key: &CueKey) -> Option<Active> {
        self.at(id, key)?;
        let hash = (FixedHasher.hash_one(key) >> 32) as u32;
        if let Ok(place) = self.index.find_entry(spread(hash), |place| place.at == id.0) {
            place.remove();
        }
        self.free.push(id.0);
        self.slots.get_mut(id.0 as usize)?.take()
    }

    /// Looks at so many places, from where the last look ended, and takes those away whose target is gone; how many.
    pub fn sweep(&mut self, places: usize, mut is_alive: impl FnMut(Entity) -> bool) -> usize {
        let mut gone = 0;
        for _ in 0..places.min(self.slots.len()) {
            if self.cursor >= self.slots.len() {
                self.cursor = 0;
            }
            let at = self.cursor as u32;
            self.cursor += 1;
            let Some(Some(active)) = self.slots.get(at as usize) else {
                continue;
            };
            let key = active.key;
            if !is_alive(key.target) {
                self.remove(ActiveId(at), &key);
                gone += 1;
            }
        }
        gone
    }
}

/// A table takes the place from the low bits, and tells entries apart by the highest.
#[inline]
fn spread(hash: u32) -> u64 {
    u64::from(hash) << 32 | u64::from(hash)
}
