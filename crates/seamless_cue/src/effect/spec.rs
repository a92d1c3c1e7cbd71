//! An effect as it is applied. See [`EffectSpec`].

use bevy_asset::Handle;
use bevy_ecs::entity::{Entity, MapEntities};
use bevy_math::Vec3;
use bevy_reflect::{Reflect, std_traits::ReflectDefault};
use smallvec::SmallVec;

use super::{Effect, Magnitude, Whose};
use crate::{Attributes, GameplayTag};

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
#[derive(Reflect, MapEntities, Clone, Debug, PartialEq)]
#[reflect(Default, Clone, Debug, PartialEq)]
pub struct EffectSpec {
    /// Which effect. The handle keeps it loaded as long as the effect lasts.
    pub effect: Handle<Effect>,
    /// From 1; need not be whole.
    pub level: f32,
    /// What it comes from: a weapon, an arrow, a trap. Whose attributes count where a magnitude asks for those of the source, and whose stacks these are.
    #[entities]
    pub source: Option<Entity>,
    /// Who has brought it about.
    #[entities]
    pub instigator: Option<Entity>,
    /// Values for [`Magnitude::Given`], each name once.
    pub given: SmallVec<[(GameplayTag, f32); 2]>,
    /// What attributes of the source were when it was [captured](crate::Gameplay::capture); these count, and not what they are when it hits.
    pub captured: SmallVec<[(GameplayTag, f32); 2]>,
    /// Where it hits, for its cues.
    pub location: Option<Vec3>,
    /// The surface there.
    pub normal: Option<Vec3>,
}

impl Default for EffectSpec {
    /// No effect, of level 1, from nobody.
    fn default() -> Self {
        Self {
            effect: Handle::default(),
            level: 1.0,
            source: None,
            instigator: None,
            given: SmallVec::new(),
            captured: SmallVec::new(),
            location: None,
            normal: None,
        }
    }
}

impl EffectSpec {
    /// An effect of level 1, from nobody.
    #[must_use]
    pub fn new(effect: Handle<Effect>) -> Self {
        Self {
            effect,
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

    /// With a value for [`Magnitude::Given`], instead of the one that this name had.
    #[must_use]
    pub fn given(mut self, name: GameplayTag, value: f32) -> Self {
        self.given.retain(|(own, _)| *own != name);
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
        find(&self.given, name)
    }

    /// What this attribute of the source was when it was captured.
    #[must_use]
    pub fn captured_value(&self, attribute: GameplayTag) -> Option<f32> {
        find(&self.captured, attribute)
    }

    /// Keeps of the source's attributes what the effect will ask for.
    pub(crate) fn capture(&mut self, effect: &Effect, source: &Attributes) {
        for modifier in &effect.modifiers {
            let Magnitude::Attribute { of, attribute, .. } = modifier.magnitude else {
                continue;
            };
            if of == Whose::Source
                && self.captured_value(attribute).is_none()
                && let Some(value) = source.current(attribute)
            {
                self.captured.push((attribute, value));
            }
        }
    }
}

fn find(values: &[(GameplayTag, f32)], name: GameplayTag) -> Option<f32> {
    let mut values = values.iter().rev();
    values.find(|(own, _)| *own == name).map(|(_, value)| *value)
}
