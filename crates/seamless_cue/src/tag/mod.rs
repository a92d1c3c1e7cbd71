//! Hierarchical tags. See [`GameplayTag`].

pub(crate) mod gate;
mod interner;
mod set;
#[cfg(test)]
mod tests;

pub use set::{MAX_TAG_SET, TagSet};

use core::{
    cmp::Ordering,
    fmt,
    hash::{Hash, Hasher},
    iter, ptr,
    str::FromStr,
};

use bevy_reflect::{Reflect, ReflectDeserialize, ReflectSerialize};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// How many bytes a tag's name may have.
pub const MAX_TAG_BYTES: usize = 256;
/// How many parts a tag's name may have.
pub const MAX_TAG_DEPTH: usize = 16;
/// How many tags an app may have, their parents among them. A tag takes memory as long as the process runs.
pub const MAX_TAGS: usize = 65_536;

/// The name of something that happens or is the case, as a path from the general to the special: `Cue.Hit.Fire` is a kind of `Cue.Hit`, which
/// is a kind of `Cue`.
///
/// Each name is in memory once, for as long as the process runs, so a tag is as large as a pointer, is copied freely, and knows its parent.
/// Names consist of letters, digits, `_` and `-`, with dots between the parts; case counts. In files a tag is its name.
///
/// ```
/// use seamless_cue::GameplayTag;
///
/// let fire = GameplayTag::new("Cue.Hit.Fire")?;
/// let hit = GameplayTag::new("Cue.Hit")?;
/// assert!(fire.is_a(hit) && !hit.is_a(fire));
/// assert_eq!(fire.parent(), Some(hit));
/// # Ok::<_, seamless_cue::TagError>(())
/// ```
#[derive(Reflect, Clone, Copy)]
#[reflect(opaque, Serialize, Deserialize, Clone, Debug, PartialEq, Hash)]
pub struct GameplayTag(&'static Entry);

/// What is kept of a tag.
struct Entry {
    name: &'static str,
    parent: Option<GameplayTag>,
    /// How many parts the name has.
    depth: usize,
    /// Counts the tags of the process.
    index: u32,
}

/// Why a text is no tag.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TagError {
    /// Something is missing: the whole name, or what stands before, after or between dots.
    #[error("`{name}` has an empty part; write a tag as `Cue.Hit.Fire`")]
    EmptyPart {
        /// The text.
        name: String,
    },
    /// A character that no tag has.
    #[error("`{name}` holds {found:?}; a tag has letters, digits, `_` and `-`, with dots between its parts")]
    Character {
        /// The text.
        name: String,
        /// What does not belong there.
        found: char,
    },
    /// More than [`MAX_TAG_BYTES`] or [`MAX_TAG_DEPTH`].
    #[error(
        "a tag of {bytes} bytes in {parts} parts, which starts with `{start}`; {MAX_TAG_BYTES} bytes in {MAX_TAG_DEPTH} parts are possible"
    )]
    TooLong {
        /// How long it is.
        bytes: usize,
        /// How many parts it has.
        parts: usize,
        /// Its first characters.
        start: String,
    },
    /// More than [`MAX_TAGS`].
    #[error(
        "`{name}` would be one tag too many; an app has {MAX_TAGS} at most: do tags hold numbers or names of players?"
    )]
    TooMany {
        /// The text.
        name: String,
    },
}

impl GameplayTag {
    /// The tag of this name. Its parents are tags from then on, too.
    ///
    /// # Errors
    /// When the text is no tag, or there are too many.
    pub fn new(name: &str) -> Result<Self, TagError> {
        if let Some(known) = interner::find(name) {
            return Ok(known);
        }
        check(name)?;
        interner::intern(name)
    }

    /// The tag of this name, if anybody has made it. Unlike [`new`](Self::new) it never takes memory, so it is what to ask with about names from
    /// outside.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        interner::find(name)
    }

    /// The whole name.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// The tag that this one is a kind of.
    #[must_use]
    pub fn parent(self) -> Option<Self> {
        self.0.parent
    }

    /// How many parts its name has, one at least.
    #[must_use]
    pub fn depth(self) -> usize {
        self.0.depth
    }

    /// A number for tables: tags are counted from zero as they are made, so it differs from run to run. At most [`MAX_TAGS`].
    #[must_use]
    pub fn index(self) -> usize {
        self.0.index as usize
    }

    /// Itself, its parent, that one's parent, and so on.
    pub fn lineage(self) -> impl Iterator<Item = Self> {
        iter::successors(Some(self), |tag| tag.parent())
    }

    /// Whether it is `other`, or a kind of it.
    #[must_use]
    pub fn is_a(self, other: Self) -> bool {
        self.depth() >= other.depth() && self.lineage().nth(self.depth() - other.depth()) == Some(other)
    }
}

/// The names that a tag is of a kind of, and its own: `Cue`, `Cue.Hit`, `Cue.Hit.Fire`.
pub(crate) fn prefixes(name: &str) -> impl Iterator<Item = &str> {
    let ends = name.match_indices('.').map(|(at, _)| at).chain([name.len()]);
    ends.map(|end| &name[..end])
}

/// Whether a text is a tag.
pub(crate) fn check(name: &str) -> Result<(), TagError> {
    let parts = name.split('.').count();
    if name.len() > MAX_TAG_BYTES || parts > MAX_TAG_DEPTH {
        return Err(TagError::TooLong {
            bytes: name.len(),
            parts,
            start: name.chars().take(32).collect(),
        });
    }
    if name.split('.').any(str::is_empty) {
        return Err(TagError::EmptyPart { name: name.to_owned() });
    }
    let is_fine = |c: &char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    match name.chars().find(|c| !is_fine(c)) {
        Some(found) => Err(TagError::Character {
            name: name.to_owned(),
            found,
        }),
        None => Ok(()),
    }
}

impl FromStr for GameplayTag {
    type Err = TagError;

    fn from_str(name: &str) -> Result<Self, TagError> {
        Self::new(name)
    }
}

impl TryFrom<&str> for GameplayTag {
    type Error = TagError;

    fn try_from(name: &str) -> Result<Self, TagError> {
        Self::new(name)
    }
}

impl fmt::Display for GameplayTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for GameplayTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GameplayTag({})", self.name())
    }
}

impl PartialEq for GameplayTag {
    fn eq(&self, other: &Self) -> bool {
        ptr::eq(self.0, other.0)
    }
}

impl Eq for GameplayTag {}

impl Hash for GameplayTag {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.index.hash(state);
    }
}

/// By name, so that what is sorted by tags is the same in every run.
impl Ord for GameplayTag {
    fn cmp(&self, other: &Self) -> Ordering {
        if self == other {
            return Ordering::Equal;
        }
        self.name().cmp(other.name())
    }
}

impl PartialOrd for GameplayTag {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Serialize for GameplayTag {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for GameplayTag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(NameVisitor)
    }
}

/// Takes a name without a copy.
struct NameVisitor;

impl de::Visitor<'_> for NameVisitor {
    type Value = GameplayTag;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a tag such as \"Cue.Hit.Fire\"")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<GameplayTag, E> {
        gate::pass(name).map_err(E::custom)?;
        GameplayTag::new(name).map_err(E::custom)
    }
}
