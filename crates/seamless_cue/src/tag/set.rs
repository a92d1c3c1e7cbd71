//! Sets of tags. See [`TagSet`].

use core::fmt;

use bevy_reflect::{Reflect, ReflectDeserialize, ReflectSerialize, std_traits::ReflectDefault};
use serde::{Deserialize, Deserializer, Serialize, de};
use smallvec::SmallVec;

use super::GameplayTag;

/// How many tags a list of a file may have.
pub const MAX_TAG_SET: usize = 256;

/// Some tags, each once, in the order of their names. A set has the tags in it, and all that these are kinds of.
///
/// ```
/// use seamless_cue::{GameplayTag, TagSet};
///
/// let tags: TagSet = [GameplayTag::new("State.Burning.Slow")?].into_iter().collect();
/// assert!(tags.has(GameplayTag::new("State.Burning")?));
/// assert!(!tags.has_exact(GameplayTag::new("State.Burning")?));
/// # Ok::<_, seamless_cue::TagError>(())
/// ```
#[derive(Reflect, Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[reflect(opaque, Default, Serialize, Deserialize, Clone, Debug, PartialEq, Hash)]
#[serde(into = "Vec<GameplayTag>")]
pub struct TagSet(SmallVec<[GameplayTag; 4]>);

impl TagSet {
    /// No tags.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether this tag, or a kind of it, is in the set.
    #[must_use]
    pub fn has(&self, tag: GameplayTag) -> bool {
        self.0.iter().any(|own| own.is_a(tag))
    }

    /// Whether just this tag is in the set.
    #[must_use]
    pub fn has_exact(&self, tag: GameplayTag) -> bool {
        self.0.binary_search(&tag).is_ok()
    }

    /// Whether the set [has](Self::has) one of the others; of no others it has none.
    #[must_use]
    pub fn has_any(&self, others: &Self) -> bool {
        others.iter().any(|tag| self.has(tag))
    }

    /// Whether the set [has](Self::has) each of the others; of no others it has all.
    #[must_use]
    pub fn has_all(&self, others: &Self) -> bool {
        others.iter().all(|tag| self.has(tag))
    }

    /// Puts a tag in. Gives whether it was not there.
    pub fn insert(&mut self, tag: GameplayTag) -> bool {
        let Err(at) = self.0.binary_search(&tag) else {
            return false;
        };
        self.0.insert(at, tag);
        true
    }

    /// Takes a tag out. Gives whether it was there.
    pub fn remove(&mut self, tag: GameplayTag) -> bool {
        let found = self.0.binary_search(&tag);
        found.map(|at| self.0.remove(at)).is_ok()
    }

    /// The tags, in the order of their names.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = GameplayTag> + '_ {
        self.0.iter().copied()
    }

    /// How many tags there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'de> Deserialize<'de> for TagSet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(TagsVisitor)
    }
}

/// Takes no more tags than a set may have: each is made for good.
struct TagsVisitor;

impl<'de> de::Visitor<'de> for TagsVisitor {
    type Value = TagSet;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a list of tags")
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut list: A) -> Result<TagSet, A::Error> {
        let mut tags = TagSet::new();
        for _ in 0..MAX_TAG_SET {
            match list.next_element()? {
                Some(tag) => tags.insert(tag),
                None => return Ok(tags),
            };
        }
        match list.next_element::<de::IgnoredAny>()? {
            Some(_) => Err(de::Error::custom(format!("more than {MAX_TAG_SET} tags in one list"))),
            None => Ok(tags),
        }
    }
}

impl FromIterator<GameplayTag> for TagSet {
    fn from_iter<I: IntoIterator<Item = GameplayTag>>(tags: I) -> Self {
        let mut tags: SmallVec<_> = tags.into_iter().collect();
        tags.sort_unstable();
        tags.dedup();
        Self(tags)
    }
}

impl From<Vec<GameplayTag>> for TagSet {
    fn from(tags: Vec<GameplayTag>) -> Self {
        tags.into_iter().collect()
    }
}

impl From<TagSet> for Vec<GameplayTag> {
    fn from(tags: TagSet) -> Self {
        tags.0.into_vec()
    }
}

impl Extend<GameplayTag> for TagSet {
    fn extend<I: IntoIterator<Item = GameplayTag>>(&mut self, tags: I) {
        for tag in tags {
            self.insert(tag);
        }
    }
}
