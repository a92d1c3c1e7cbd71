//! The world manifest: what the cooker writes beside the packages, and what a [`SeamlessWorld`](crate::SeamlessWorld)
//! is made of. See [`WorldManifest`].

mod error;
mod loader;
mod peak;
#[cfg(test)]
mod tests;
mod validate;

pub use error::ManifestError;
pub use loader::{ManifestLimits, WorldManifestLoader};

use bevy_asset::Asset;
use bevy_math::{Quat, Vec3};
use bevy_reflect::Reflect;
use bevy_transform::components::Transform;
use serde::{Deserialize, Serialize};

use crate::volume::{DEFAULT_PRIORITY, DEFAULT_UNLOAD_DELAY, VolumeMode, VolumeShape};

/// The version of the manifest's format that this crate writes.
pub const MANIFEST_FORMAT: u32 = 5;
/// The oldest version that it reads. What came since has defaults, so no world has to be cooked again.
pub const OLDEST_MANIFEST_FORMAT: u32 = 2;

/// A cooked world: its levels, where they stand, and the volumes that ask for them.
///
/// The file is RON text, `<world name>.seamless`, beside the packages it names.
#[derive(Asset, Reflect, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct WorldManifest {
    /// [`MANIFEST_FORMAT`] of the cooker that wrote it; [`OLDEST_MANIFEST_FORMAT`] at least.
    pub format: u32,
    /// The world's name, for people.
    pub name: String,
    /// The levels; their order breaks ties where priorities are equal.
    pub levels: Vec<LevelEntry>,
    /// The volumes.
    pub volumes: Vec<VolumeEntry>,
    /// All packages of the cook, by path: the list that two apps compare before they speak of objects over a network. Only a manifest
    /// that no cooker wrote has none.
    #[serde(default)]
    pub packages: Vec<PackageEntry>,
    /// The package of startup content, a path relative to the manifest's directory; none if there is no such content. A
    /// `SeamlessStartupPlugin` loads it; without one it is loaded with the levels that use it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub startup: Option<String>,
    /// The registry of the world's objects, a path relative to the manifest's directory; none if it was cooked without one. It is loaded with
    /// the world, and soft handles are looked up in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registry: Option<String>,
    /// How many entities are live at the same time at most, about, while one source moves through the volumes; room for them is
    /// made when the world comes. Zero when it is not known: a manifest's file that says nothing else is given an
    /// [estimate](Self::estimate_peak_entities) when it is loaded; who makes a manifest in code has to ask for that.
    #[serde(default)]
    pub peak_entities: u32,
}

/// One level of a [`WorldManifest`].
#[derive(Reflect, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct LevelEntry {
    /// Its name, unique in the world.
    pub name: String,
    /// Its package, a path relative to the manifest's directory.
    pub package: String,
    /// The shared packages it needs, relative likewise, in the order in which they are to be loaded.
    pub dependencies: Vec<String>,
    /// Where its origin stands in the world.
    pub translation: [f32; 3],
    /// How it is turned: a unit quaternion `x, y, z, w`.
    pub rotation: [f32; 4],
    /// Its scale along each axis.
    pub scale: [f32; 3],
    /// Whether it is wanted always, wherever the sources are.
    pub always_loaded: bool,
    /// Whether it comes only when it is asked for by name: [`DistanceStreaming`](crate::DistanceStreaming) leaves it alone.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub on_request: bool,
    /// How many entities it has.
    pub entities: u32,
    /// The size of its package, in bytes; shared packages do not count.
    pub bytes: u64,
    /// The world-space box (min, max) around what it renders, or that its author states, after placement, when known.
    pub bounds: Option<([f32; 3], [f32; 3])>,
    /// What the game's own code is to know of it, before it is loaded too: of an instance, what makes it differ from others of its package.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
}

/// One package of a [`WorldManifest`], as the cooker wrote it.
#[derive(Reflect, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct PackageEntry {
    /// Its path relative to the manifest's directory, which is the name it was cooked under.
    pub package: String,
    /// Its content hash: where it is equal, so are all objects and their order.
    pub content_hash: u64,
    /// How many exports it has.
    pub exports: u32,
    /// How many entities its level has.
    pub entities: u32,
}

impl Default for LevelEntry {
    /// A nameless level without a package, placed at the origin.
    fn default() -> Self {
        Self {
            name: String::new(),
            package: String::new(),
            dependencies: Vec::new(),
            translation: [0.0; 3],
            rotation: [0.0, 0.0, 0.0, 1.0],
            scale: [1.0; 3],
            always_loaded: false,
            on_request: false,
            entities: 0,
            bytes: 0,
            bounds: None,
            data: None,
        }
    }
}

/// One streaming volume of a [`WorldManifest`]. What is not said in the file is as in [`StreamingVolume`](crate::StreamingVolume)'s default.
#[derive(Reflect, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct VolumeEntry {
    /// Its name, unique among the volumes.
    pub name: String,
    /// Its shape, in world space.
    pub shape: VolumeShape,
    /// How far outside a source may be before the levels leave, in world units.
    pub unload_margin: f32,
    /// The names of the levels it asks for.
    pub levels: Vec<String>,
    /// What it asks of them.
    #[serde(default)]
    pub mode: VolumeMode,
    /// Whether it asks for anything from the start.
    #[serde(default = "enabled")]
    pub enabled: bool,
    /// For how many seconds the levels stay wanted when every source is outside of the margin.
    #[serde(default = "default_unload_delay")]
    pub unload_delay: f32,
    /// How much it counts beside other volumes.
    #[serde(default = "default_priority")]
    pub priority: f32,
}

fn enabled() -> bool {
    true
}

fn default_unload_delay() -> f32 {
    DEFAULT_UNLOAD_DELAY
}

fn default_priority() -> f32 {
    DEFAULT_PRIORITY
}

impl Default for VolumeEntry {
    /// A nameless ball of radius one around the origin that asks for no levels.
    fn default() -> Self {
        Self {
            name: String::new(),
            shape: VolumeShape::default(),
            unload_margin: 0.0,
            levels: Vec::new(),
            mode: VolumeMode::default(),
            enabled: enabled(),
            unload_delay: default_unload_delay(),
            priority: default_priority(),
        }
    }
}

impl LevelEntry {
    /// Checks that its paths and numbers make sense.
    ///
    /// # Errors
    /// The first fault found, as in [`WorldManifest::validate`].
    pub fn validate(&self) -> Result<(), ManifestError> {
        validate::level(self)
    }

    /// The same level under another name at another place: what its package is, and its bounds moved along.
    #[must_use]
    pub fn placed_again(&self, name: &str, translation: [f32; 3], rotation: [f32; 4], scale: [f32; 3]) -> Self {
        let mut entry = Self {
            name: name.to_owned(),
            translation,
            rotation,
            scale,
            always_loaded: false,
            on_request: false,
            data: None,
            ..self.clone()
        };
        let placement = entry.placement();
        entry.bounds = self.bounds.and_then(|bounds| self.moved(bounds, &placement));
        entry
    }

    /// Bounds of the level where it stands elsewhere.
    fn moved(&self, (min, max): ([f32; 3], [f32; 3]), placement: &Transform) -> Option<([f32; 3], [f32; 3])> {
        let (min, max) = (Vec3::from(min), Vec3::from(max));
        let there = placement.compute_affine() * self.placement().compute_affine().inverse();
        let half = (max - min) * 0.5;
        let middle = there.transform_point3((min + max) * 0.5);
        let axes = [there.matrix3.x_axis, there.matrix3.y_axis, there.matrix3.z_axis];
        let [x, y, z] = axes.map(|axis| Vec3::from(axis.abs()));
        let half = x * half.x + y * half.y + z * half.z;
        let (min, max) = (middle - half, middle + half);
        (min.is_finite() && max.is_finite()).then(|| (min.to_array(), max.to_array()))
    }

    /// The placement as a transform.
    #[must_use]
    pub fn placement(&self) -> Transform {
        Transform {
            translation: Vec3::from_array(self.translation),
            rotation: Quat::from_array(self.rotation).normalize(),
            scale: Vec3::from_array(self.scale),
        }
    }
}

impl WorldManifest {
    /// Checks that the manifest makes sense: see [`ManifestError`] for what is looked at.
    ///
    /// # Errors
    /// The first fault found; it names the level or the volume and what mends it.
    pub fn validate(&self) -> Result<(), ManifestError> {
        validate::manifest(self)
    }

    /// Counts the entities of the levels that a source in the middle of a volume needs, those that may linger in the
    /// volumes' margins included, and returns the largest count: what the cooker stores as
    /// [`peak_entities`](Self::peak_entities). Looks at some hundred volumes where there are more.
    #[must_use]
    pub fn estimate_peak_entities(&self) -> u32 {
        peak::entities(self)
    }

    /// Reads a manifest from the text of its file, and validates it.
    ///
    /// # Errors
    /// When it is larger than `limits`, no manifest of this version, or not valid.
    pub fn from_ron(bytes: &[u8], limits: &ManifestLimits) -> Result<Self, ManifestError> {
        loader::parse(bytes, limits)
    }

    /// The text of its file: the same text for the same manifest, on every platform.
    ///
    /// # Errors
    /// When it is not valid; an invalid manifest is never written.
    pub fn to_ron(&self) -> Result<String, ManifestError> {
        self.validate()?;
        loader::print(self)
    }
}
