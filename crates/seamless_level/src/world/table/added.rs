//! Levels that game code adds and removes, and their places.

use super::{Level, LevelTable, beside};
use crate::{manifest::LevelEntry, world::state::LevelState};

impl LevelTable {
    /// The places of levels that were removed and are gone, if they are free. Those that are not [taken](Self::add) are to be
    /// [given back](Self::give_back).
    pub(crate) fn free_places(&mut self, is_free: impl Fn(u32) -> bool) -> Vec<u32> {
        let levels = &self.levels;
        let is_gone = |index: &u32| levels.get(*index).is_some_and(|level| level.instance.is_none());
        let removed = core::mem::take(&mut self.removed).into_iter();
        let (free, others) = removed.partition(|index| is_gone(index) && is_free(*index));
        self.removed = others;
        free
    }

    /// Places that nobody has taken.
    pub(crate) fn give_back(&mut self, free: impl IntoIterator<Item = u32>) {
        self.removed.extend(free);
    }

    /// Adds a level, in a free place or as the last one. Gives its index.
    pub(crate) fn add(&mut self, entry: LevelEntry, id: u64, free: Option<u32>) -> u32 {
        let path = self.path.clone();
        let name = entry.name.clone();
        let level = Level::new(&self.name, entry, &|name| beside(path.as_ref(), name));
        let index = free.unwrap_or(self.levels.len() as u32);
        match self.levels.get_mut(index) {
            Some(slot) => {
                // One that could not be loaded is forgotten with its failure.
                slot.set_state(LevelState::Unloaded, &mut self.counts);
                *slot = level;
            }
            None => self.levels.push(level),
        }
        self.by_name.insert(name.clone(), index as usize);
        self.added.insert(name, (index, id));
        index
    }

    /// Nobody finds the level any more that was added under this name. Gives its index.
    pub(crate) fn remove(&mut self, name: &str) -> Option<u32> {
        let (index, _) = self.added.remove(name)?;
        self.by_name.remove(name);
        self.removed.push(index);
        if let Some(level) = self.levels.get_mut(index) {
            level.is_removed = true;
        }
        Some(index)
    }
}
