//! Streaming volumes: regions that ask for levels, and their geometry. See [`StreamingVolume`].

mod shape;
#[cfg(test)]
mod tests;

pub use shape::{VolumeError, VolumeFault, VolumeShape};

use bevy_ecs::{component::Component, entity::Entity, reflect::ReflectComponent};
use bevy_reflect::{Reflect, std_traits::ReflectDefault};

/// A region of the world that asks for levels while a [`StreamingSource`](crate::StreamingSource) is inside it.
///
/// A world's manifest brings its own volumes, one entity each; an app may spawn more of them, change them and despawn
/// them at any time. The shape is in world space: the entity's transform plays no part.
///
/// A volume that cannot be used (not a number, inside out, no planes) is logged once with what mends it, and asks for
/// nothing.
///
/// ```
/// # use bevy_math::Vec3;
/// # use seamless_level::{StreamingVolume, VolumeShape};
/// let volume = StreamingVolume {
///     shape: VolumeShape::Sphere { center: Vec3::ZERO, radius: 300.0 },
///     levels: vec!["harbour".into(), "lighthouse".into()],
///     unload_margin: 30.0,
///     world: None,
/// };
/// assert!(volume.validate("harbour").is_ok());
/// ```
#[derive(Component, Reflect, Clone, Debug, PartialEq)]
#[reflect(Component, Default, Clone, PartialEq)]
pub struct StreamingVolume {
    /// The region, in world space.
    pub shape: VolumeShape,
    /// The names of the levels it asks for.
    pub levels: Vec<String>,
    /// A wanted level stays wanted until every source is further than this outside, in world units. It keeps a source
    /// that wanders along the border from loading and unloading in turns.
    pub unload_margin: f32,
    /// The [`SeamlessWorld`](crate::SeamlessWorld) entity whose levels are meant; `None` is the only one there is.
    #[entities]
    pub world: Option<Entity>,
}

impl Default for StreamingVolume {
    fn default() -> Self {
        let shape = VolumeShape::default();
        let unload_margin = shape.default_unload_margin();
        Self {
            shape,
            levels: Vec::new(),
            unload_margin,
            world: None,
        }
    }
}

impl StreamingVolume {
    /// Checks shape and margin.
    ///
    /// # Errors
    /// When the volume can not be used; the error calls it `name` and says what mends it.
    pub fn validate(&self, name: &str) -> Result<(), VolumeError> {
        self.shape.validate(self.unload_margin).map_err(|fault| VolumeError {
            volume: name.to_owned(),
            fault,
        })
    }
}
