//! What a cue is: who it is about, and what happens. See [`CueContext`].

use core::hash::{Hash, Hasher};

use bevy_ecs::entity::Entity;
use bevy_math::Vec3;
use bevy_reflect::Reflect;

use crate::tag::{GameplayTag, TagSet};

/// All that is known of something that happens, as it was when it happened. It is kept while the cue waits, and given to whoever plays it.
///
/// ```
/// # use bevy_ecs::entity::Entity;
/// # use bevy_math::Vec3;
/// use seamless_cue::CueContext;
///
/// # let (orc, knight) = (Entity::PLACEHOLDER, Entity::PLACEHOLDER);
/// let hit = CueContext::new(orc).by(knight).at(Vec3::ZERO).magnitude(12.0);
/// assert_eq!(hit.instigator, Some(knight));
/// ```
#[derive(Reflect, Clone, Debug, PartialEq)]
#[reflect(Clone, Debug, PartialEq)]
pub struct CueContext {
    /// Whom it happens to. Observers of this entity hear of it.
    pub target: Entity,
    /// Who brought it about: the one who struck.
    pub instigator: Option<Entity>,
    /// By what: the sword, the spell.
    pub source: Option<Entity>,
    /// Where, in the world. None: where the target is.
    pub location: Option<Vec3>,
    /// The direction of the surface that was struck.
    pub normal: Option<Vec3>,
    /// How much, in whatever the game measures it in. Default: 1.
    pub magnitude: f32,
    /// What else there is to say of it.
    pub tags: TagSet,
}

impl CueContext {
    /// Something that happens to `target`, of which nothing else is known.
    #[must_use]
    #[inline]
    pub fn new(target: Entity) -> Self {
        Self {
            target,
            instigator: None,
            source: None,
            location: None,
            normal: None,
            magnitude: 1.0,
            tags: TagSet::new(),
        }
    }

    /// Says who brought it about.
    #[must_use]
    #[inline]
    pub fn by(self, instigator: Entity) -> Self {
        Self {
            instigator: Some(instigator),
            ..self
        }
    }

    /// Says by what.
    #[must_use]
    #[inline]
    pub fn with(self, source: Entity) -> Self {
        Self {
            source: Some(source),
            ..self
        }
    }

    /// Says where, in the world.
    #[must_use]
    #[inline]
    pub fn at(self, location: Vec3) -> Self {
        Self {
            location: Some(location),
            ..self
        }
    }

    /// Says the direction of the surface.
    #[must_use]
    #[inline]
    pub fn facing(self, normal: Vec3) -> Self {
        Self {
            normal: Some(normal),
            ..self
        }
    }

    /// Says how much.
    #[must_use]
    #[inline]
    pub fn magnitude(self, magnitude: f32) -> Self {
        Self { magnitude, ..self }
    }

    /// Says what else there is to say.
    #[must_use]
    pub fn tagged(self, tags: impl IntoIterator<Item = GameplayTag>) -> Self {
        Self {
            tags: tags.into_iter().collect(),
            ..self
        }
    }

    /// Moves it out, but for what takes no memory to keep.
    #[inline]
    pub(crate) fn take(&mut self) -> Self {
        Self {
            tags: core::mem::take(&mut self.tags),
            ..*self
        }
    }

    /// Which cue of this tag it is about.
    #[inline]
    pub(crate) fn key(&self, tag: GameplayTag) -> CueKey {
        CueKey {
            target: self.target,
            tag,
            instigator: self.instigator,
            source: self.source,
        }
    }
}

/// What game code asks for.
#[derive(Reflect, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CueAct {
    /// It happens, and is over: an impact.
    Execute,
    /// It begins, and lasts until it is removed: a fire. `OnActive`, then `WhileActive`.
    Add,
    /// It has begun before, and this app hears of it now: `WhileActive` only.
    Join,
    /// It ends.
    Remove,
}

impl CueAct {
    /// Whether it makes a cue last.
    pub(crate) fn is_add(self) -> bool {
        matches!(self, Self::Add | Self::Join)
    }
}

/// What is played.
#[derive(Reflect, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CueEvent {
    /// It begins right now.
    OnActive,
    /// It lasts; who has not seen its beginning hears of this only.
    WhileActive,
    /// It ends.
    Removed,
    /// It happened, and is over.
    Executed,
}

/// Which lasting cue: adds and removes of the same key belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CueKey {
    pub target: Entity,
    pub tag: GameplayTag,
    pub instigator: Option<Entity>,
    pub source: Option<Entity>,
}

/// By hand, because what is derived hashes each `Option` as two numbers.
impl Hash for CueKey {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        let bits = |entity: Option<Entity>| entity.map_or(0, Entity::to_bits);
        state.write_u64(self.target.to_bits());
        state.write_u64(bits(self.instigator));
        state.write_u64(bits(self.source));
        state.write_usize(self.tag.index());
    }
}

/// What is known of a cue, for one of those who play it.
pub(crate) enum Told<'c> {
    /// Others play it as well.
    Again(&'c CueContext),
    /// Nobody does after this one, so it is not copied.
    Last(&'c mut CueContext),
}

impl Told<'_> {
    #[inline]
    pub fn context(&self) -> &CueContext {
        match self {
            Self::Again(context) => context,
            Self::Last(context) => context,
        }
    }

    #[inline]
    pub fn own(self) -> CueContext {
        match self {
            Self::Again(context) => context.clone(),
            Self::Last(context) => context.take(),
        }
    }
}
