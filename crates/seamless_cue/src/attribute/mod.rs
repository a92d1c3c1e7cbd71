//! Named numbers of an entity. See [`Attributes`].

mod change;
mod modifier;
#[cfg(test)]
mod tests;

pub use change::AttributeChanged;
pub(crate) use change::tell_changes;
pub(crate) use modifier::finite;
pub use modifier::{Aggregate, Operation, operate};

use bevy_ecs::{component::Component, reflect::ReflectComponent};
use bevy_reflect::{Reflect, std_traits::ReflectDefault};
use serde::{Deserialize, Serialize};

use crate::GameplayTag;

/// How many attributes an entity may have.
pub const MAX_ATTRIBUTES: usize = 256;

/// An end of an attribute's range.
#[derive(Reflect, Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[reflect(Clone, Debug, PartialEq)]
pub enum Bound {
    /// This number.
    Value(f32),
    /// What another attribute of the entity is at the moment: health ends at `Attribute.MaxHealth`.
    Attribute(GameplayTag),
}

/// An attribute as it is declared.
///
/// ```
/// use seamless_cue::{AttributeDef, GameplayTag};
///
/// let most = AttributeDef::new(GameplayTag::new("Attribute.MaxHealth")?, 100.0).min(1.0);
/// let health = AttributeDef::new(GameplayTag::new("Attribute.Health")?, 100.0).min(0.0).max_of(most.name);
/// # Ok::<_, seamless_cue::TagError>(())
/// ```
#[derive(Reflect, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[reflect(Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct AttributeDef {
    /// What it is called.
    pub name: GameplayTag,
    /// Its value without any modifiers.
    pub base: f32,
    /// The least it can be. Default: no bound.
    #[serde(default)]
    pub min: Option<Bound>,
    /// The most it can be; where the two ends are the wrong way round, this one counts. Default: no bound.
    #[serde(default)]
    pub max: Option<Bound>,
}

impl AttributeDef {
    /// An attribute without bounds.
    #[must_use]
    pub fn new(name: GameplayTag, base: f32) -> Self {
        let (min, max) = (None, None);
        Self { name, base, min, max }
    }

    /// With this as the least it can be.
    #[must_use]
    pub fn min(self, min: f32) -> Self {
        let min = Some(Bound::Value(min));
        Self { min, ..self }
    }

    /// With this as the most it can be.
    #[must_use]
    pub fn max(self, max: f32) -> Self {
        let max = Some(Bound::Value(max));
        Self { max, ..self }
    }

    /// With another attribute as the most it can be.
    #[must_use]
    pub fn max_of(self, max: GameplayTag) -> Self {
        let max = Some(Bound::Attribute(max));
        Self { max, ..self }
    }

    fn bounds(&self) -> impl Iterator<Item = Bound> {
        self.min.into_iter().chain(self.max)
    }

    /// Whether another attribute bounds it.
    fn is_bounded_by_other(&self) -> bool {
        self.bounds().any(|bound| matches!(bound, Bound::Attribute(_)))
    }
}

/// Why attributes cannot be an entity's.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AttributeError {
    /// More than [`MAX_ATTRIBUTES`].
    #[error("{count} attributes; {MAX_ATTRIBUTES} are possible")]
    TooMany {
        /// How many.
        count: usize,
    },
    /// One name for two.
    #[error("`{name}` is there twice; remove one of them")]
    Twice {
        /// The name.
        name: GameplayTag,
    },
    /// An infinite value, or none.
    #[error("`{name}` has a base or a bound that is no finite number; leave a bound out instead")]
    NotFinite {
        /// Whose it is.
        name: GameplayTag,
    },
    /// A bound that is not there.
    #[error("`{name}` is bounded by `{bound}`, which the entity does not have; declare that too")]
    NoBound {
        /// What is bounded.
        name: GameplayTag,
        /// By what.
        bound: GameplayTag,
    },
    /// A bound that itself depends on another.
    #[error("`{name}` is bounded by `{bound}`, which is bounded by an attribute itself; bound that one by numbers")]
    Nested {
        /// What is bounded.
        name: GameplayTag,
        /// By what.
        bound: GameplayTag,
    },
}

/// An attribute of an entity.
#[derive(Reflect, Clone, Debug, PartialEq)]
#[reflect(Clone, Debug, PartialEq)]
pub struct Attribute {
    def: AttributeDef,
    aggregate: Aggregate,
    current: f32,
    /// What observers were last told.
    told: f32,
}

impl Attribute {
    /// What it is called.
    #[must_use]
    pub fn name(&self) -> GameplayTag {
        self.def.name
    }

    /// Its value without modifiers.
    #[must_use]
    pub fn base(&self) -> f32 {
        self.def.base
    }

    /// Its value with the modifiers that are at work, within its bounds.
    #[must_use]
    pub fn current(&self) -> f32 {
        self.current
    }
}

/// Named numbers of an entity: health, mana, speed.
///
/// Each has a *base*, which instant effects change for good, and a *current* value, which is the base with the modifiers of all effects that
/// are active and work (see [`Aggregate`] for their order), kept within the bounds. What a bound cuts off the base by a passing modifier comes back when
/// that ends; a lasting change starts from within the bounds: who has 150 of at most 100 health, because a blessing has just ended, and loses 10,
/// has 90.
///
/// ```
/// use seamless_cue::{AttributeDef, Attributes, GameplayTag};
///
/// let (health, most) = (GameplayTag::new("Attribute.Health")?, GameplayTag::new("Attribute.MaxHealth")?);
/// let mut attributes = Attributes::new([
///     AttributeDef::new(health, 80.0).min(0.0).max_of(most),
///     AttributeDef::new(most, 100.0),
/// ])?;
/// attributes.set_base(health, 120.0);
/// assert_eq!(attributes.current(health), Some(100.0));
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Component, Reflect, Clone, Debug, Default, PartialEq)]
#[reflect(Component, Default, Clone, Debug, PartialEq)]
pub struct Attributes {
    /// A few, so looking through them is the fastest way to one.
    values: Vec<Attribute>,
}

impl Attributes {
    /// These attributes.
    ///
    /// # Errors
    /// When there are too many, one is there twice or has a value that is no number, or a bound leads nowhere or too far.
    pub fn new(defs: impl IntoIterator<Item = AttributeDef>) -> Result<Self, AttributeError> {
        let mut all = defs.into_iter();
        let defs: Vec<AttributeDef> = all.by_ref().take(MAX_ATTRIBUTES).collect();
        let more = all.count();
        if more > 0 {
            let count = defs.len() + more;
            return Err(AttributeError::TooMany { count });
        }
        check(&defs)?;
        let new = |def: AttributeDef| Attribute {
            current: def.base,
            told: def.base,
            aggregate: Aggregate::default(),
            def,
        };
        let values = defs.into_iter().map(new).collect();
        let mut attributes = Self { values };
        attributes.recompute();
        for value in &mut attributes.values {
            value.told = value.current;
        }
        Ok(attributes)
    }

    /// The attribute of this name.
    #[must_use]
    pub fn get(&self, name: GameplayTag) -> Option<&Attribute> {
        self.values.iter().find(|value| value.def.name == name)
    }

    /// What an attribute is at the moment.
    #[must_use]
    pub fn current(&self, name: GameplayTag) -> Option<f32> {
        Some(self.get(name)?.current)
    }

    /// What an attribute is without modifiers.
    #[must_use]
    pub fn base(&self, name: GameplayTag) -> Option<f32> {
        Some(self.get(name)?.def.base)
    }

    /// All of them, in the order in which they were declared.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Attribute> {
        self.values.iter()
    }

    /// What an attribute cannot fall below at the moment, if there is such a number.
    #[must_use]
    pub fn least(&self, name: GameplayTag) -> Option<f32> {
        self.bound(self.get(name)?.def.min)
    }

    /// Sets the base, within the bounds. Gives whether there is such an attribute.
    pub fn set_base(&mut self, name: GameplayTag, base: f32) -> bool {
        self.change_base(name, Operation::Override, base, 1)
    }

    /// Changes the base for good, from within the bounds and to within them. Gives whether there is such an attribute.
    pub fn change_base(&mut self, name: GameplayTag, operation: Operation, magnitude: f32, stacks: u32) -> bool {
        let Some(index) = self.values.iter().position(|value| value.def.name == name) else {
            return false;
        };
        let start = self.clamped(index, self.values[index].def.base);
        let end = self.clamped(index, operate(start, operation, magnitude, stacks));
        self.values[index].def.base = end;
        self.recompute();
        true
    }

    /// Takes all modifiers away; [`add_modifier`](Self::add_modifier) and [`recompute`](Self::recompute) follow.
    pub(crate) fn clear_modifiers(&mut self) {
        for value in &mut self.values {
            value.aggregate = Aggregate::default();
        }
    }

    pub(crate) fn add_modifier(&mut self, name: GameplayTag, operation: Operation, magnitude: f32, stacks: u32) {
        if let Some(value) = self.values.iter_mut().find(|value| value.def.name == name) {
            value.aggregate.push(operation, magnitude, stacks);
        }
    }

    /// Current values from bases and modifiers: first those that bound others. Gives whether one is another now.
    pub(crate) fn recompute(&mut self) -> bool {
        let mut has_changed = false;
        for is_bounded in [false, true] {
            for index in 0..self.values.len() {
                let value = &self.values[index];
                if value.def.is_bounded_by_other() == is_bounded {
                    let new = self.clamped(index, value.aggregate.apply(value.def.base));
                    let old = core::mem::replace(&mut self.values[index].current, new);
                    has_changed |= old != new;
                }
            }
        }
        has_changed
    }

    fn clamped(&self, index: usize, value: f32) -> f32 {
        let def = &self.values[index].def;
        let value = finite(value);
        let value = self.bound(def.min).map_or(value, |min| value.max(min));
        self.bound(def.max).map_or(value, |max| value.min(max))
    }

    fn bound(&self, bound: Option<Bound>) -> Option<f32> {
        match bound? {
            Bound::Value(value) => Some(value),
            Bound::Attribute(name) => self.current(name),
        }
    }

    /// What has another value than observers know, as name, old and new value; they know from now on.
    pub(crate) fn take_changes(&mut self) -> impl Iterator<Item = (GameplayTag, f32, f32)> + '_ {
        let changed = self.values.iter_mut().filter(|value| value.current != value.told);
        changed.map(|value| {
            let old = core::mem::replace(&mut value.told, value.current);
            (value.def.name, old, value.current)
        })
    }
}

/// Whether these can be an entity's.
fn check(defs: &[AttributeDef]) -> Result<(), AttributeError> {
    for (index, def) in defs.iter().enumerate() {
        let name = def.name;
        if defs[..index].iter().any(|other| other.name == name) {
            return Err(AttributeError::Twice { name });
        }
        let is_finite = |bound: Bound| !matches!(bound, Bound::Value(value) if !value.is_finite());
        if !(def.base.is_finite() && def.bounds().all(is_finite)) {
            return Err(AttributeError::NotFinite { name });
        }
        for bound in def.bounds() {
            check_bound(defs, name, bound)?;
        }
    }
    Ok(())
}

fn check_bound(defs: &[AttributeDef], name: GameplayTag, bound: Bound) -> Result<(), AttributeError> {
    let Bound::Attribute(bound) = bound else { return Ok(()) };
    match defs.iter().find(|def| def.name == bound) {
        None => Err(AttributeError::NoBound { name, bound }),
        Some(def) if def.is_bounded_by_other() => Err(AttributeError::Nested { name, bound }),
        Some(_) => Ok(()),
    }
}
