//! Textures that go by rules of their own. See [`MipGroups`].

#[cfg(test)]
mod tests;

use bevy_ecs::{reflect::ReflectResource, resource::Resource};
use bevy_reflect::{Reflect, prelude::ReflectDefault};

/// Groups of textures, by where they lie; may be changed while the game runs. A texture is in the first group that names it.
///
/// ```
/// # use seamless_render::mip::{MipGroup, MipGroups};
/// let groups = MipGroups(vec![
///     MipGroup {
///         // Faces are never coarser than this, and cut last.
///         min_size: Some(256),
///         weight: 4.0,
///         ..MipGroup::new(["characters.pkg#", "textures/faces/"])
///     },
///     MipGroup {
///         bias: 1.0,
///         ..MipGroup::new(["textures/rubble/"])
///     },
/// ]);
/// ```
#[derive(Resource, Reflect, Clone, Debug, Default, PartialEq)]
#[reflect(Resource, Default, Clone, PartialEq)]
pub struct MipGroups(pub Vec<MipGroup>);

/// How the textures of a group stream.
#[derive(Reflect, Clone, Debug, PartialEq)]
pub struct MipGroup {
    /// What the object paths of its textures begin with: `textures/faces/`, or `characters.pkg#`.
    pub paths: Vec<String>,
    /// How much coarser they are, in mips, beside what the settings say; negative: finer.
    pub bias: f32,
    /// Their longest side, in texels, if that is less than what the settings say.
    pub max_size: Option<u32>,
    /// Their longer side has as many texels at least, whoever sees them, if they have so many: those of all of them at once should fit the pool.
    pub min_size: Option<u32>,
    /// How much their errors count beside those of others, when the pool is too small for all.
    pub weight: f32,
}

impl MipGroup {
    /// A group of the textures whose object paths begin with one of these, which goes by the settings.
    #[must_use]
    pub fn new<P: Into<String>>(paths: impl IntoIterator<Item = P>) -> Self {
        Self {
            paths: paths.into_iter().map(Into::into).collect(),
            bias: 0.0,
            max_size: None,
            min_size: None,
            weight: 1.0,
        }
    }
}

impl MipGroups {
    /// The group of a texture, by its object path.
    #[must_use]
    pub fn of(&self, path: &str) -> Option<&MipGroup> {
        let is_in = |group: &&MipGroup| group.paths.iter().any(|prefix| path.starts_with(prefix.as_str()));
        self.0.iter().find(is_in)
    }
}
