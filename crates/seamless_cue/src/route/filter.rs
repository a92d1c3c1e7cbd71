//! Cues that are not to be played. See [`SuppressCues`].

use bevy_ecs::{component::Component, reflect::ReflectComponent};
use bevy_reflect::{Reflect, std_traits::ReflectDefault};

use crate::tag::{GameplayTag, TagSet};

/// Some cues, by their tags.
#[derive(Reflect, Clone, Debug, Default, PartialEq)]
#[reflect(Default, Clone, Debug, PartialEq)]
pub enum CueFilter {
    /// None of them.
    #[default]
    None,
    /// All of them.
    All,
    /// Those with one of these tags, or of a kind of it.
    Tags(TagSet),
}

impl CueFilter {
    /// Whether a cue of this tag is one of them.
    #[must_use]
    pub fn has(&self, tag: GameplayTag) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::Tags(tags) => tags.iter().any(|filtered| tag.is_a(filtered)),
        }
    }
}

/// On an entity whose cues are not to be played: neither loaded nor kept. What was added before can still be removed. All entities' cues are
/// suppressed by [`CueConfig::suppressed`](crate::CueConfig::suppressed).
#[derive(Component, Reflect, Clone, Debug, Default, PartialEq)]
#[reflect(Component, Default, Clone, Debug, PartialEq)]
pub struct SuppressCues {
    /// Of the cues that it is the target of.
    pub on_it: CueFilter,
    /// Of the cues that it is the instigator of.
    pub by_it: CueFilter,
}

impl SuppressCues {
    /// Suppresses all cues that the entity is the target of.
    #[must_use]
    pub fn all() -> Self {
        Self {
            on_it: CueFilter::All,
            by_it: CueFilter::None,
        }
    }
}
