//! Streaming volumes: regions that ask for levels, and their geometry. See [`StreamingVolume`].

mod ends;
mod entry;
mod mode;
mod place;
mod shape;
#[cfg(test)]
mod tests;

pub use mode::VolumeMode;
pub use shape::{VolumeError, VolumeFault, VolumeShape};

use bevy_ecs::{component::Component, entity::Entity, reflect::ReflectComponent};
use bevy_reflect::{Reflect, std_traits::ReflectDefault};

/// For how many seconds a volume asks for its levels after the last source has left, when nothing else is said.
pub const DEFAULT_UNLOAD_DELAY: f32 = 2.0;
/// The priority of a volume when nothing else is said.
pub const DEFAULT_PRIORITY: f32 = 1.0;

/// A region of the world that asks for levels while a [`StreamingSource`](crate::StreamingSource) is inside it.
///
/// A world's manifest brings its own volumes, one entity each; an app may spawn more of them, change them and despawn
/// them at any time.
///
/// It goes where its entity is, and turns and grows with it: on an entity with a `Transform`, as a child of a ship or in a level, the shape is in
/// that entity's own space. On one without, as those of manifests are, it is in world space.
///
/// A volume that cannot be used (not a number, inside out, no planes, no levels) is logged once with what mends it, and asks for
/// nothing.
///
/// ```
/// # use bevy_math::Vec3;
/// # use seamless_level::{StreamingVolume, VolumeShape};
/// let volume = StreamingVolume {
///     shape: VolumeShape::Sphere { center: Vec3::ZERO, radius: 300.0 },
///     levels: vec!["harbour".into(), "lighthouse".into()],
///     unload_margin: Some(30.0),
///     ..StreamingVolume::default()
/// };
/// assert!(volume.validate("harbour").is_ok());
/// ```
#[derive(Component, Reflect, Clone, Debug, PartialEq)]
#[reflect(Component, Default, Clone, PartialEq)]
pub struct StreamingVolume {
    /// The region, in its entity's space: see [`VolumeShape::transformed`].
    pub shape: VolumeShape,
    /// The names of the levels it asks for.
    pub levels: Vec<String>,
    /// What it asks of them.
    pub mode: VolumeMode,
    /// Whether it asks for anything. A volume that is disabled lets go of its levels at once, without a delay. Bevy's `Disabled` on its entity
    /// has no effect.
    pub enabled: bool,
    /// Its levels stay wanted until every source is further than this outside, in world units. It keeps a source
    /// that wanders along the border from loading and unloading in turns. `None`, the default, is a tenth of the shape's size, and ten where that is
    /// not known ([`VolumeShape::default_unload_margin`]), where the size is as the entity's scale makes it.
    pub unload_margin: Option<f32>,
    /// For how many seconds its levels stay wanted from then on: who comes back soon finds them there. There is no
    /// delay on the way in.
    ///
    /// What the way of a source leads into, as far as it [looks ahead](crate::StreamingSource::ahead), is wanted until it turns away or has
    /// passed it.
    pub unload_delay: f32,
    /// How much it counts beside other volumes, one by default: its levels load as if sources were so many times
    /// nearer.
    pub priority: f32,
    /// The [`SeamlessWorld`](crate::SeamlessWorld) entity whose levels are meant. `None`, the default, is the only one there is. Of several it is that of
    /// the level which its entity came with: below whose root it hangs, or with which it goes by [`OfLevel`](seamless_asset::OfLevel); or else the only
    /// one that has all of its levels. Where neither says which, an error is logged ([`VolumeFault::AmbiguousWorld`]), and the volume asks for
    /// nothing, unless it asked one of them before: then it goes on to, as long as that one is there and has any of its levels.
    #[entities]
    pub world: Option<Entity>,
}

impl Default for StreamingVolume {
    fn default() -> Self {
        Self {
            shape: VolumeShape::default(),
            levels: Vec::new(),
            mode: VolumeMode::default(),
            enabled: true,
            unload_margin: None,
            unload_delay: DEFAULT_UNLOAD_DELAY,
            priority: DEFAULT_PRIORITY,
            world: None,
        }
    }
}

impl StreamingVolume {
    /// A volume that asks for these levels, all else as by default.
    ///
    /// ```
    /// # use bevy_math::Vec3;
    /// # use seamless_level::{StreamingVolume, VolumeShape};
    /// let house = VolumeShape::Sphere { center: Vec3::ZERO, radius: 20.0 };
    /// let volume = StreamingVolume::new(house, ["house"]);
    /// ```
    #[must_use]
    pub fn new(shape: VolumeShape, levels: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            shape,
            levels: levels.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }

    /// Checks shape, margin, delay and priority.
    ///
    /// # Errors
    /// When the volume can not be used; the error calls it `name` and says what mends it.
    pub fn validate(&self, name: &str) -> Result<(), VolumeError> {
        self.fault().map_or(Ok(()), |fault| {
            Err(VolumeError {
                volume: name.to_owned(),
                fault,
            })
        })
    }

    /// The first thing that is wrong with it, levels and world not looked at.
    pub(crate) fn fault(&self) -> Option<VolumeFault> {
        let shape = self.shape.validate(self.margin()).err();
        shape.or_else(|| numbers_fault(self.unload_delay, self.priority))
    }

    /// How far outside a source may be before the levels leave.
    pub(crate) fn margin(&self) -> f32 {
        self.unload_margin.unwrap_or_else(|| self.shape.default_unload_margin())
    }
}

/// What is wrong with a delay or a priority.
pub(crate) fn numbers_fault(unload_delay: f32, priority: f32) -> Option<VolumeFault> {
    let is_usable = |number: f32| number.is_finite() && number >= 0.0;
    match (is_usable(unload_delay), is_usable(priority)) {
        (false, _) => Some(VolumeFault::Delay),
        (_, false) => Some(VolumeFault::Priority),
        _ => None,
    }
}
