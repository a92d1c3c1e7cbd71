//! What an entity is at the moment, as tags. See [`OwnedTags`].

use bevy_ecs::{component::Component, reflect::ReflectComponent};
use bevy_reflect::{Reflect, std_traits::ReflectDefault};
use smallvec::SmallVec;

use crate::{GameplayTag, TagSet};

/// The tags that an entity has at the moment: given by effects and abilities while they last, or by game code as *loose* ones.
///
/// Who gives one takes the same away later, so each is counted: a hero that two spells have stunned is stunned until both are over. Effects and
/// abilities ask for tags and are kept back by tags, and a cue can be suppressed by one.
///
/// ```
/// use seamless_cue::{GameplayTag, OwnedTags};
///
/// let stunned = GameplayTag::new("State.Stunned")?;
/// let mut tags = OwnedTags::default();
/// tags.add(GameplayTag::new("State.Stunned.Frozen")?);
/// tags.add(stunned);
/// tags.remove(stunned);
/// assert!(tags.has(stunned) && !tags.has_exact(stunned));
/// # Ok::<_, seamless_cue::TagError>(())
/// ```
#[derive(Component, Reflect, Clone, Debug, Default, PartialEq, Eq)]
#[reflect(Component, Default, Clone, Debug, PartialEq)]
pub struct OwnedTags {
    /// In the order of their names, each with how many have given it, one at least.
    counts: SmallVec<[(GameplayTag, u32); 4]>,
}

impl OwnedTags {
    /// Adds a tag, or one more of it. Gives whether it was not there.
    pub fn add(&mut self, tag: GameplayTag) -> bool {
        match self.find(tag) {
            Ok(at) => {
                self.counts[at].1 = self.counts[at].1.saturating_add(1);
                false
            }
            Err(at) => {
                self.counts.insert(at, (tag, 1));
                true
            }
        }
    }

    /// Takes one of a tag away. Gives whether it is not there any more, and was.
    pub fn remove(&mut self, tag: GameplayTag) -> bool {
        let Ok(at) = self.find(tag) else { return false };
        // What came from a scene may count nothing.
        self.counts[at].1 = self.counts[at].1.saturating_sub(1);
        let is_last = self.counts[at].1 == 0;
        if is_last {
            self.counts.remove(at);
        }
        is_last
    }

    /// Adds one of each.
    pub fn add_all(&mut self, tags: &TagSet) {
        tags.iter().for_each(|tag| {
            self.add(tag);
        });
    }

    /// Takes one of each away.
    pub fn remove_all(&mut self, tags: &TagSet) {
        tags.iter().for_each(|tag| {
            self.remove(tag);
        });
    }

    /// Whether the entity has this tag, or a kind of it.
    #[must_use]
    pub fn has(&self, tag: GameplayTag) -> bool {
        self.counts.iter().any(|(own, _)| own.is_a(tag))
    }

    /// Whether the entity has just this tag.
    #[must_use]
    pub fn has_exact(&self, tag: GameplayTag) -> bool {
        self.find(tag).is_ok()
    }

    /// The first of these tags that the entity [has](Self::has).
    #[must_use]
    pub fn first_of(&self, tags: &TagSet) -> Option<GameplayTag> {
        tags.iter().find(|tag| self.has(*tag))
    }

    /// The first of these tags that the entity does not [have](Self::has).
    #[must_use]
    pub fn first_missing(&self, tags: &TagSet) -> Option<GameplayTag> {
        tags.iter().find(|tag| !self.has(*tag))
    }

    /// How often just this tag was given.
    #[must_use]
    pub fn count(&self, tag: GameplayTag) -> u32 {
        self.find(tag).map_or(0, |at| self.counts[at].1)
    }

    /// The tags in the order of their names, with their counts.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (GameplayTag, u32)> + '_ {
        self.counts.iter().copied()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    fn find(&self, tag: GameplayTag) -> Result<usize, usize> {
        self.counts.binary_search_by(|(own, _)| own.cmp(&tag))
    }
}
