//! Cues that last. Pure; see [`ActiveCues`].

use core::hash::BuildHasher;

use bevy_ecs::entity::Entity;
use bevy_platform::{collections::HashTable, hash::FixedHasher};

use crate::{cue::CueKey, route::Route, tag::GameplayTag};

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
    /// Who has heard that it is active, and is to hear that it ends.
    pub played: Route,
}

/// All of them, by key.
#[derive(Debug, Default)]
pub(crate) struct ActiveCues {
    entries: Vec<Active>,
    index: HashTable<u32>,
    cursor: usize,
}

impl ActiveCues {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// That of a key.
    pub fn get_mut(&mut self, key: &CueKey) -> Option<&mut Active> {
        let entries = &self.entries;
        let at = *self.index.find(hash(key), |at| entries[*at as usize].key == *key)?;
        self.entries.get_mut(at as usize)
    }

    /// A new one; there is none of its key.
    pub fn insert(&mut self, active: Active) {
        let hash = hash(&active.key);
        self.entries.push(active);
        let entries = &self.entries;
        let rehash = |at: &u32| self::hash(&entries[*at as usize].key);
        self.index.insert_unique(hash, entries.len() as u32 - 1, rehash);
    }

    /// Takes that of a key out.
    pub fn remove(&mut self, key: &CueKey) -> Option<Active> {
        let entries = &self.entries;
        let is_it = |at: &u32| entries[*at as usize].key == *key;
        let Ok(found) = self.index.find_entry(hash(key), is_it) else {
            return None;
        };
        let (at, _) = found.remove();
        let removed = self.entries.swap_remove(at as usize);
        // Who was the last has moved.
        let (moved, was) = (at as usize, self.entries.len() as u32);
        if let Some(active) = self.entries.get(moved)
            && let Ok(mut place) = self.index.find_entry(hash(&active.key), |at| *at == was)
        {
            *place.get_mut() = at;
        }
        Some(removed)
    }

    /// Looks at so many, from where the last look ended, and takes those away whose target is gone; how many.
    pub fn sweep(&mut self, count: usize, mut is_alive: impl FnMut(Entity) -> bool) -> usize {
        let mut gone = 0;
        for _ in 0..count.min(self.entries.len()) {
            if self.cursor >= self.entries.len() {
                self.cursor = 0;
            }
            let Some(active) = self.entries.get(self.cursor) else {
                break;
            };
            if is_alive(active.key.target) {
                self.cursor += 1;
            } else {
                let key = active.key;
                self.remove(&key);
                gone += 1;
            }
        }
        gone
    }
}

fn hash(key: &CueKey) -> u64 {
    FixedHasher.hash_one(key)
}
