//! Entries that are counted and listed as they change, so that no frame has to look at all of them. See [`Tracked`].

use core::hash::Hash;
use core::ops::{Deref, DerefMut};

use bevy_platform::collections::HashMap;

/// What an [`Index`] knows of an entry.
pub(super) trait Marked {
    type Mark: PartialEq + Copy;

    fn mark(&self) -> Self::Mark;
}

/// Lists and sums over all entries, kept up to date with each change of one.
pub(super) trait Index<K, M>: Default {
    fn add(&mut self, key: &K, mark: M);

    fn remove(&mut self, key: &K, mark: M);

    /// An entry has another mark.
    fn change(&mut self, key: &K, before: M, after: M) {
        self.remove(key, before);
        self.add(key, after);
    }

    /// Whether the lists and sums are the same.
    #[cfg(test)]
    fn is_same(&self, other: &Self) -> bool;
}

/// Entries by key, with an index.
pub(super) struct Tracked<K, V, I> {
    entries: HashMap<K, V>,
    index: I,
}

impl<K, V, I: Default> Default for Tracked<K, V, I> {
    fn default() -> Self {
        Self {
            entries: HashMap::default(),
            index: I::default(),
        }
    }
}

impl<K: Hash + Eq + Clone, V: Marked, I: Index<K, V::Mark>> Tracked<K, V, I> {
    pub fn get(&self, key: &K) -> Option<&V> {
        self.entries.get(key)
    }

    /// The index takes notice when what this gives is dropped.
    pub fn get_mut(&mut self, key: &K) -> Option<EntryMut<'_, K, V, I>> {
        let entry = self.entries.get_mut(key)?;
        Some(EntryMut {
            key: key.clone(),
            before: entry.mark(),
            entry,
            index: &mut self.index,
        })
    }

    pub fn insert(&mut self, key: K, entry: V) {
        self.remove(&key);
        self.index.add(&key, entry.mark());
        self.entries.insert(key, entry);
    }

    pub fn remove(&mut self, key: &K) -> Option<V> {
        let entry = self.entries.remove(key)?;
        self.index.remove(key, entry.mark());
        Some(entry)
    }

    pub fn contains_key(&self, key: &K) -> bool {
        self.entries.contains_key(key)
    }

    /// All of them, in no order. Nothing for every frame.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.entries.iter()
    }

    /// Changes all of them, in no order, in ways that the index need not know of.
    pub fn for_each_unmarked(&mut self, mut change: impl FnMut(&mut V)) {
        for entry in self.entries.values_mut() {
            let before = entry.mark();
            change(entry);
            debug_assert!(before == entry.mark(), "the index does not know");
        }
    }

    /// Whether the index is what it would be if all entries were looked at now.
    #[cfg(test)]
    pub fn is_counted(&self) -> bool {
        let mut fresh = I::default();
        self.entries
            .iter()
            .for_each(|(key, entry)| fresh.add(key, entry.mark()));
        fresh.is_same(&self.index)
    }

    pub fn index(&self) -> &I {
        &self.index
    }

    pub fn index_mut(&mut self) -> &mut I {
        &mut self.index
    }
}

/// An entry that is being changed.
pub(super) struct EntryMut<'a, K, V: Marked, I: Index<K, V::Mark>> {
    key: K,
    before: V::Mark,
    entry: &'a mut V,
    index: &'a mut I,
}

impl<K, V: Marked, I: Index<K, V::Mark>> Deref for EntryMut<'_, K, V, I> {
    type Target = V;

    fn deref(&self) -> &V {
        self.entry
    }
}

impl<K, V: Marked, I: Index<K, V::Mark>> DerefMut for EntryMut<'_, K, V, I> {
    fn deref_mut(&mut self) -> &mut V {
        self.entry
    }
}

impl<K, V: Marked, I: Index<K, V::Mark>> Drop for EntryMut<'_, K, V, I> {
    fn drop(&mut self) {
        let after = self.entry.mark();
        if self.before != after {
            self.index.change(&self.key, self.before, after);
        }
    }
}
