//! Effects that an entity has. See [`Effects`].

use core::time::Duration;

use bevy_asset::{AssetId, Handle};
use bevy_ecs::{component::Component, entity::Entity, reflect::ReflectComponent};
use bevy_math::Vec3;
use bevy_reflect::{Reflect, std_traits::ReflectDefault};
use smallvec::SmallVec;

use super::{Effect, OwnedTags};
use crate::{CueOrigin, GameplayTag, TagSet};

/// How many values an [`EffectSpec`] may be given; further ones are left out.
pub const MAX_GIVEN: usize = 32;

/// An effect as it is applied: which one, how strong, and by whom.
///
/// ```no_run
/// # use bevy_ecs::prelude::*; use bevy_asset::Handle;
/// # use seamless_cue::{Effect, EffectCommands, EffectSpec};
/// # fn hit(mut commands: Commands, burn: Handle<Effect>, hero: Entity, target: Entity) {
/// commands.apply_effect(target, EffectSpec::new(burn).level(3.0).from(hero));
/// # }
/// ```
#[derive(Reflect, Clone, Debug, Default, PartialEq)]
#[reflect(Default, Clone, Debug, PartialEq)]
pub struct EffectSpec {
    /// Which effect. The handle keeps it loaded as long as the effect lasts.
    pub effect: Handle<Effect>,
    /// From 1; need not be whole.
    pub level: f32,
    /// What it comes from: a weapon, an arrow, a trap. Whose attributes count where a magnitude asks for those of the source, and whose stacks these are.
    pub source: Option<Entity>,
    /// Who has brought it about.
    pub instigator: Option<Entity>,
    /// Values for [`Magnitude::Given`](crate::Magnitude::Given).
    pub given: SmallVec<[(GameplayTag, f32); 2]>,
    /// Where it hits, for its cues.
    pub location: Option<Vec3>,
    /// The surface there.
    pub normal: Option<Vec3>,
}

impl EffectSpec {
    /// An effect of level 1, from nobody.
    #[must_use]
    pub fn new(effect: Handle<Effect>) -> Self {
        let level = 1.0;
        Self {
            effect,
            level,
            ..Self::default()
        }
    }

    /// Of this level.
    #[must_use]
    pub fn level(self, level: f32) -> Self {
        Self { level, ..self }
    }

    /// From this entity, which is its source and its instigator.
    #[must_use]
    pub fn from(self, entity: Entity) -> Self {
        let (source, instigator) = (Some(entity), Some(entity));
        Self {
            source,
            instigator,
            ..self
        }
    }

    /// With this as its source.
    #[must_use]
    pub fn source(self, source: Entity) -> Self {
        let source = Some(source);
        Self { source, ..self }
    }

    /// With a value for [`Magnitude::Given`](crate::Magnitude::Given).
    #[must_use]
    pub fn given(mut self, name: GameplayTag, value: f32) -> Self {
        if self.given.len() < MAX_GIVEN {
            self.given.push((name, value));
        }
        self
    }

    /// At this place.
    #[must_use]
    pub fn at(self, location: Vec3, normal: Vec3) -> Self {
        let (location, normal) = (Some(location), Some(normal));
        Self {
            location,
            normal,
            ..self
        }
    }

    /// The value of this name, the one given last.
    #[must_use]
    pub fn given_value(&self, name: GameplayTag) -> Option<f32> {
        let mut given = self.given.iter().rev();
        given.find(|(own, _)| *own == name).map(|(_, value)| *value)
    }
}

/// Names an effect of an entity. Never used again for another one of that entity.
#[derive(Reflect, Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[reflect(Clone, Debug, PartialEq, Hash)]
pub struct EffectId(pub(crate) u64);

/// What an effect has given while it works, so that just this is taken away again.
#[derive(Reflect, Clone, Debug, Default, PartialEq)]
#[reflect(Default, Clone, Debug, PartialEq)]
pub(crate) struct Given {
    pub tags: TagSet,
    pub cues: SmallVec<[GameplayTag; 2]>,
    /// Whoever plays a cue finds it again by this, also where others have added stacks since.
    pub origin: CueOrigin,
}

/// An effect that lasts, on an entity.
#[derive(Reflect, Clone, Debug, PartialEq)]
#[reflect(Clone, Debug, PartialEq)]
pub struct ActiveEffect {
    pub(crate) id: EffectId,
    pub(crate) spec: EffectSpec,
    /// One for each modifier.
    pub(crate) magnitudes: SmallVec<[f32; 2]>,
    pub(crate) remaining: Option<Duration>,
    pub(crate) to_period: Option<Duration>,
    pub(crate) stacks: u32,
    /// While it works.
    pub(crate) given: Option<Given>,
}

impl ActiveEffect {
    /// Names it.
    #[must_use]
    pub fn id(&self) -> EffectId {
        self.id
    }

    /// How it was applied, the last time if it is stacked.
    #[must_use]
    pub fn spec(&self) -> &EffectSpec {
        &self.spec
    }

    /// How long it still lasts; `None` if it has no end of its own.
    #[must_use]
    pub fn remaining(&self) -> Option<Duration> {
        self.remaining
    }

    /// The time to its next execution, if it has a period.
    #[must_use]
    pub fn to_period(&self) -> Option<Duration> {
        self.to_period
    }

    /// How often it is there.
    #[must_use]
    pub fn stacks(&self) -> u32 {
        self.stacks
    }

    /// When it is executed or ends next.
    pub(crate) fn next_turn(&self) -> Option<Duration> {
        [self.remaining, self.to_period].into_iter().flatten().min()
    }

    pub(crate) fn is_due(&self) -> bool {
        self.next_turn() == Some(Duration::ZERO)
    }

    pub(crate) fn pass(&mut self, time: Duration) {
        for timer in [&mut self.remaining, &mut self.to_period].into_iter().flatten() {
            *timer = timer.saturating_sub(time);
        }
    }

    /// Whether it is there and does nothing, because [`Effect::works_if`] is not so.
    #[must_use]
    pub fn is_inhibited(&self) -> bool {
        self.given.is_none()
    }
}

/// The effects that an entity has at the moment. Only who has this component can be affected; it brings [`OwnedTags`].
///
/// They change through [`EffectCommands`](crate::EffectCommands) and [`Gameplay`](crate::Gameplay).
#[derive(Component, Reflect, Clone, Debug, Default, PartialEq)]
#[reflect(Component, Default, Clone, Debug, PartialEq)]
#[require(OwnedTags)]
pub struct Effects {
    /// In the order in which they were applied.
    pub(crate) active: Vec<ActiveEffect>,
    pub(crate) next: u64,
}

impl Effects {
    /// All of them, in the order in which they were applied.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &ActiveEffect> {
        self.active.iter()
    }

    /// The one of this id.
    #[must_use]
    pub fn get(&self, id: EffectId) -> Option<&ActiveEffect> {
        self.position(id).map(|at| &self.active[at])
    }

    /// How many there are; stacks count as one.
    #[must_use]
    pub fn len(&self) -> usize {
        self.active.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.active.is_empty()
    }

    /// How often an effect is there, its stacks counted; of `instigator` only, if one is said, and with `working` only where it is not
    /// inhibited.
    #[must_use]
    pub fn count(&self, effect: AssetId<Effect>, instigator: Option<Entity>, working: bool) -> u32 {
        let counts = |active: &&ActiveEffect| {
            active.spec.effect.id() == effect
                && (instigator.is_none() || active.spec.instigator == instigator)
                && !(working && active.is_inhibited())
        };
        self.active.iter().filter(counts).map(|active| active.stacks).sum()
    }

    pub(crate) fn position(&self, id: EffectId) -> Option<usize> {
        self.active.binary_search_by_key(&id, |active| active.id).ok()
    }
}
