//! Which notifies a tag leads to: its own, then those of the tags that it is a kind of, until one overrides. Pure; see [`Routes`].

pub(crate) mod cull;
pub(crate) mod filter;
#[cfg(test)]
mod tests;
pub(crate) mod translate;

use bevy_platform::collections::HashMap;
use smallvec::SmallVec;

use crate::tag::GameplayTag;

/// A notify's number: its place in the engine's list, for as long as the app runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NotifyId(pub u32);

impl NotifyId {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The notifies of one tag, nearest first. Nearly all tags have one.
pub(crate) type Route = SmallVec<[NotifyId; 2]>;

/// What is registered, and by tag what follows from it.
///
/// A tag's route is found once and then read from a table by the tag's index; tags that were made after the last look are found when they
/// are asked for.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    notifies: HashMap<GameplayTag, SmallVec<[Entry; 1]>>,
    /// By [`GameplayTag::index`]; `None`: nobody has asked yet.
    table: Vec<Option<Route>>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    id: NotifyId,
    overrides: bool,
}

impl Routes {
    /// Registers a notify of `tag`; one that overrides keeps cues from the notifies of the tag's parents.
    pub fn insert(&mut self, id: NotifyId, tag: GameplayTag, overrides: bool) {
        let of_tag = self.notifies.entry(tag).or_default();
        of_tag.retain(|entry| entry.id != id);
        of_tag.push(Entry { id, overrides });
        of_tag.sort_unstable_by_key(|entry| entry.id);
        self.table.clear();
    }

    /// Forgets a notify of `tag`.
    pub fn remove(&mut self, id: NotifyId, tag: GameplayTag) {
        if let Some(of_tag) = self.notifies.get_mut(&tag) {
            of_tag.retain(|entry| entry.id != id);
            if of_tag.is_empty() {
                self.notifies.remove(&tag);
            }
            self.table.clear();
        }
    }

    /// The notifies of `tag`, in the order in which they play.
    pub fn of(&mut self, tag: GameplayTag) -> &Route {
        let at = tag.index();
        if self.table.len() <= at {
            self.table.resize(at + 1, None);
        }
        let notifies = &self.notifies;
        self.table[at].get_or_insert_with(|| find(notifies, tag))
    }

    /// Whether `tag` has a notify of its own.
    pub fn has(&self, tag: GameplayTag) -> bool {
        self.notifies.contains_key(&tag)
    }
}

fn find(notifies: &HashMap<GameplayTag, SmallVec<[Entry; 1]>>, tag: GameplayTag) -> Route {
    let mut route = Route::new();
    for kind in tag.lineage() {
        let of_kind = notifies.get(&kind).map(SmallVec::as_slice).unwrap_or_default();
        route.extend(of_kind.iter().map(|entry| entry.id));
        if of_kind.iter().any(|entry| entry.overrides) {
            break;
        }
    }
    route
}
