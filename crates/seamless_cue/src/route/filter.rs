//! Cues that are not to be played. See [`SuppressCues`].

use bevy_ecs::{component::Component, entity::Entity, reflect::ReflectComponent};
use bevy_reflect::{Reflect, std_traits::ReflectDefault};

use crate::{
    cue::CueContext,
    effect::OwnedTags,
    tag::{GameplayTag, TagSet},
};

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

/// On an entity whose cues are not to be played: neither loaded nor kept. What was added before can still be removed; an add that is suppressed counts
/// as one, so its removal ends nothing that others have added. All entities' cues are suppressed by
/// [`CueConfig::suppressed`](crate::CueConfig::suppressed), and by their tags [`CueConfig::suppressed_while`](crate::CueConfig::suppressed_while).
#[derive(Component, Reflect, Clone, Debug, Default, PartialEq)]
#[reflect(Component, Default, Clone, Debug, PartialEq)]
pub struct SuppressCues {
    /// Of the cues that it is the target of.
    pub on_it: CueFilter,
    /// Of the cues that it is the instigator of.
    pub by_it: CueFilter,
}

/// Cues that nobody plays while an entity has one of some tags, or a kind of one: [`OwnedTags`](crate::OwnedTags), which effects and abilities give
/// it. What is suppressed is not made up for when the tag is gone.
///
/// ```
/// use seamless_cue::{CueConfig, CueFilter, GameplayTag, SuppressWhile, TagSet};
///
/// // Who hides makes no noise.
/// let quiet = SuppressWhile {
///     cues: CueFilter::Tags([GameplayTag::new("Cue.Step")?].into_iter().collect()),
///     target_has: [GameplayTag::new("State.Hidden")?].into_iter().collect(),
///     instigator_has: TagSet::new(),
/// };
/// let config = CueConfig {
///     suppressed_while: vec![quiet],
///     ..CueConfig::default()
/// };
/// # Ok::<_, seamless_cue::TagError>(())
/// ```
#[derive(Reflect, Clone, Debug, Default, PartialEq)]
#[reflect(Default, Clone, Debug, PartialEq)]
pub struct SuppressWhile {
    /// Which cues.
    pub cues: CueFilter,
    /// Tags of the target, each of which will do.
    pub target_has: TagSet,
    /// Tags of the instigator, each of which will do.
    pub instigator_has: TagSet,
}

impl SuppressWhile {
    /// Whether a cue of this tag is suppressed; told what tags an entity has.
    pub(crate) fn applies<'t>(
        &self,
        tag: GameplayTag,
        context: &CueContext,
        tags: impl Fn(Entity) -> Option<&'t OwnedTags>,
    ) -> bool {
        let has = |entity, wanted: &TagSet| {
            !wanted.is_empty() && tags(entity).is_some_and(|tags| tags.first_of(wanted).is_some())
        };
        let is_instigator = |instigator| has(instigator, &self.instigator_has);
        self.cues.has(tag) && (has(context.target, &self.target_has) || context.instigator.is_some_and(is_instigator))
    }
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
