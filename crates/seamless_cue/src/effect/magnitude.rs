//! How much a modifier does. See [`Magnitude`].

use bevy_reflect::Reflect;
use serde::{Deserialize, Serialize};

use super::EffectSpec;
use crate::{Attributes, GameplayTag, Operation, attribute::finite};

/// How many levels a [`Magnitude::Levels`] can list.
pub const MAX_LEVELS: usize = 256;

/// Whose attribute is asked.
#[derive(Reflect, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[reflect(Clone, Debug, PartialEq)]
pub enum Whose {
    /// That of whoever the effect comes from, [`EffectSpec::source`].
    Source,
    /// That of whoever has the effect.
    Target,
}

/// How much a modifier does. It is worked out when the effect is applied, or stacked once more, and stays until then.
///
/// In RON: `Constant(5.0)`, `Scaled(base: 10.0, per_level: 2.5)`, `Levels([10.0, 15.0, 25.0])`,
/// `Attribute(of: Source, attribute: "Attribute.Strength", factor: 0.5, plus: 3.0)`, `Given("Data.Damage")`.
#[derive(Reflect, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[reflect(Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub enum Magnitude {
    /// Always the same.
    Constant(f32),
    /// So much at level 1, and so much more for each level above.
    Scaled {
        /// At level 1.
        base: f32,
        /// For each further level.
        per_level: f32,
    },
    /// Of level 1, 2, 3 and so on; between two levels it is between their magnitudes, and beyond the ends it is that at the end.
    Levels(Vec<f32>),
    /// An attribute's current value times `factor`, `plus` so much.
    Attribute {
        /// Whose attribute.
        of: Whose,
        /// Which one.
        attribute: GameplayTag,
        /// Default: 1.
        #[serde(default = "one")]
        factor: f32,
        /// Default: 0.
        #[serde(default)]
        plus: f32,
    },
    /// What whoever applies the effect says: [`EffectSpec::given`].
    Given(GameplayTag),
}

fn one() -> f32 {
    1.0
}

/// What a modifier does to an attribute.
#[derive(Reflect, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[reflect(Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Modifier {
    /// Which attribute. A target that does not have it is not modified by it.
    pub attribute: GameplayTag,
    /// What is done.
    pub operation: Operation,
    /// How much.
    pub magnitude: Magnitude,
}

/// A modifier whose magnitude is known.
#[derive(Reflect, Clone, Copy, Debug, PartialEq)]
#[reflect(Clone, Debug, PartialEq)]
pub struct AppliedModifier {
    /// Which attribute.
    pub attribute: GameplayTag,
    /// What is done.
    pub operation: Operation,
    /// How much, by one stack.
    pub magnitude: f32,
}

/// Why the magnitude of a modifier is not known.
#[derive(Reflect, Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[reflect(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum MagnitudeError {
    /// Nobody said how much.
    #[error("the effect wants to be told `{0}`; say it with `EffectSpec::given`")]
    NotGiven(GameplayTag),
    /// There is nobody whose attribute could be asked for.
    #[error(
        "the effect's magnitude depends on the source's attribute `{0}`, and the source is not said, is gone, or has no `Attributes`; say it \
         with `EffectSpec::source`, or keep what it is with `Gameplay::capture` when the shot is fired"
    )]
    NoSource(GameplayTag),
    /// An attribute that is asked for is not there.
    #[error("the {of:?} has no attribute `{attribute}`, on which the effect's magnitude depends; give it one")]
    NoAttribute {
        /// Whose it would be.
        of: Whose,
        /// Which one.
        attribute: GameplayTag,
    },
}

impl Magnitude {
    /// How much that is, for an effect of this spec, between entities with these attributes.
    ///
    /// # Errors
    /// When it depends on what is not there.
    pub fn evaluate(
        &self,
        spec: &EffectSpec,
        source: Option<&Attributes>,
        target: Option<&Attributes>,
    ) -> Result<f32, MagnitudeError> {
        Ok(finite(match self {
            Self::Constant(value) => *value,
            Self::Scaled { base, per_level } => base + per_level * (finite(spec.level) - 1.0),
            Self::Levels(levels) => at_level(levels, spec.level),
            Self::Attribute {
                of,
                attribute,
                factor,
                plus,
            } => attribute_of(*of, *attribute, spec, source, target)? * factor + plus,
            Self::Given(name) => spec.given_value(*name).ok_or(MagnitudeError::NotGiven(*name))?,
        }))
    }

    /// What is wrong with it, if anything is.
    pub(crate) fn fault(&self) -> Option<String> {
        let is_finite = match self {
            Self::Constant(value) => value.is_finite(),
            Self::Scaled { base, per_level } => base.is_finite() && per_level.is_finite(),
            Self::Levels(levels) => levels.iter().all(|value| value.is_finite()),
            Self::Attribute { factor, plus, .. } => factor.is_finite() && plus.is_finite(),
            Self::Given(_) => true,
        };
        match self {
            _ if !is_finite => Some("a magnitude is no finite number".to_owned()),
            Self::Levels(levels) if levels.is_empty() => Some("`Levels` lists no level".to_owned()),
            Self::Levels(levels) if levels.len() > MAX_LEVELS => {
                Some(format!("`Levels` lists {}; {MAX_LEVELS} are possible", levels.len()))
            }
            _ => None,
        }
    }
}

/// What an attribute is; a captured one is what it was.
fn attribute_of(
    of: Whose,
    attribute: GameplayTag,
    spec: &EffectSpec,
    source: Option<&Attributes>,
    target: Option<&Attributes>,
) -> Result<f32, MagnitudeError> {
    let attributes = match of {
        Whose::Source => match (spec.captured_value(attribute), source) {
            (Some(value), _) => return Ok(value),
            (None, None) => return Err(MagnitudeError::NoSource(attribute)),
            (None, source) => source,
        },
        Whose::Target => target,
    };
    let value = attributes.and_then(|attributes| attributes.current(attribute));
    value.ok_or(MagnitudeError::NoAttribute { of, attribute })
}

/// The value of a level, from 1, in a list.
fn at_level(levels: &[f32], level: f32) -> f32 {
    let last = levels.len().saturating_sub(1);
    let at = (finite(level) - 1.0).clamp(0.0, last as f32);
    let below = at.floor();
    let of = |index: usize| levels.get(index.min(last)).copied().unwrap_or_default();
    let (low, high) = (of(below as usize), of(below as usize + 1));
    low + (high - low) * (at - below)
}
