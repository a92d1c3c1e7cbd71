//! Where the names of tags are: each once, for as long as the process runs, as Bevy keeps its labels.

use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use bevy_platform::collections::HashMap;

use super::{Entry, GameplayTag, MAX_TAGS, TagError, prefixes};

static TAGS: RwLock<Option<HashMap<&'static str, GameplayTag>>> = RwLock::new(None);

/// A thread that panicked had changed nothing, or all.
fn read() -> RwLockReadGuard<'static, Option<HashMap<&'static str, GameplayTag>>> {
    TAGS.read().unwrap_or_else(PoisonError::into_inner)
}

/// The tag of this name, if there is one.
pub fn find(name: &str) -> Option<GameplayTag> {
    read().as_ref()?.get(name).copied()
}

/// Makes the tag of a name that was checked, and its parents.
pub fn intern(name: &str) -> Result<GameplayTag, TagError> {
    let mut tags = TAGS.write().unwrap_or_else(PoisonError::into_inner);
    let tags = tags.get_or_insert_default();
    let mut parent = None;
    for part in prefixes(name) {
        let tag = match tags.get(part) {
            Some(known) => *known,
            None => insert(tags, part, parent).ok_or_else(|| TagError::TooMany { name: name.to_owned() })?,
        };
        parent = Some(tag);
    }
    Ok(parent.expect("a name has one part at least"))
}

fn insert(
    tags: &mut HashMap<&'static str, GameplayTag>,
    name: &str,
    parent: Option<GameplayTag>,
) -> Option<GameplayTag> {
    if tags.len() >= MAX_TAGS {
        return None;
    }
    let name: &'static str = name.to_owned().leak();
    let tag = GameplayTag(Box::leak(Box::new(Entry {
        name,
        parent,
        depth: parent.map_or(0, GameplayTag::depth) + 1,
        index: tags.len() as u32,
    })));
    tags.insert(name, tag);
    Some(tag)
}
