//! The world file `*.world.ron`: what to cook, and where it stands. See [`WorldFile`].

use seamless_level::{DEFAULT_PRIORITY, DEFAULT_UNLOAD_DELAY, VolumeMode, VolumeShape};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::bounds::Bounds;
use crate::dialogue::DialogueLimit;

/// A world as its author writes it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorldFile {
    /// The asset root, relative to the world file's directory. Default: the deepest directory that holds the world
    /// file and all sources.
    #[serde(default)]
    pub root: Option<String>,
    /// The levels.
    #[serde(default)]
    pub levels: Vec<LevelSource>,
    /// Further placements of levels: each loads and leaves for itself, from the package of its level.
    #[serde(default)]
    pub instances: Vec<InstanceSource>,
    /// The streaming volumes. Default: one around each level and each instance that is neither always loaded nor on request. It is a box, larger than the
    /// level's bounds by half their greatest extent on each side, or by ten metres if that is more; a ball of 50 m, and a warning, where nothing tells them.
    /// An empty list is none: then levels come by [`DistanceStreaming`](seamless_level::DistanceStreaming), or when the game asks for them.
    #[serde(default)]
    pub volumes: Option<Vec<VolumeSource>>,
    /// Startup content beside that of the game's plugins: assets that are live before the first frame and stay for ever. Paths relative
    /// to the world file's directory, with a label for a part of a file (`kit.glb#Mesh0/Primitive0`). At run time they are asked
    /// for by their path relative to the asset root.
    #[serde(default)]
    pub startup: Vec<String>,
    /// What is cooked although no level refers to it: files, with a label for a part of one, and folders with all that is below them and that
    /// something loads. Relative to the world file's directory. Each is loaded without a level, by soft handles; scenes become packages that can
    /// be placed at run time. What soft handles of levels and assets name is cooked without being listed.
    #[serde(default)]
    pub assets: Vec<String>,
    /// What to do with resources that a scene holds.
    #[serde(default)]
    pub resources: ResourcePolicy,
}

/// One level of a [`WorldFile`].
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LevelSource {
    /// The level's name. Default: the source's file stem, and the label if there is one.
    #[serde(default)]
    pub name: Option<String>,
    /// The scene, relative to the world file's directory: `.gltf`, `.glb` (with an optional `#Scene0`) or `.scn.ron`.
    pub source: String,
    /// Where the level stands, in metres.
    #[serde(default)]
    pub translation: [f32; 3],
    /// How it is turned: a unit quaternion, x y z w.
    #[serde(default = "identity")]
    pub rotation: [f32; 4],
    /// Its scale.
    #[serde(default = "one")]
    pub scale: [f32; 3],
    /// How large it is: the least and the largest corner of a box, in its own space, so before it is placed. Default: the box around its meshes (`Mesh3d`)
    /// at rest. What has none needs it, as a level of sprites or sounds, and what grows after it was loaded.
    #[serde(default)]
    pub bounds: Option<Bounds>,
    /// Whether it is loaded wherever the streaming sources are.
    #[serde(default)]
    pub always_loaded: bool,
    /// Whether it comes only when the game asks for it by name, as a level for the night, or has to be placed, by [`instances`](WorldFile::instances) or
    /// `Levels::add_instance`, as a house that stands nowhere by itself. It gets no volume, and does not come by its distance.
    #[serde(default)]
    pub on_request: bool,
    /// How many variants of each set of dialogue ([`DialogueVariants`](seamless_asset::DialogueVariants)) come with the level at most, at least
    /// one. Which they are follows from the names of the levels that are cooked, of the set and of its sounds: each level has others, and of
    /// all levels about as many have each variant. So the whole world has all of them, and each level holds few. Weights have no part in who
    /// gets what: a rare variant is in as many levels as a frequent one, and its weight counts among those that came with the level. What
    /// startup content leads to comes whole. Default: all.
    #[serde(default)]
    pub max_variants: Option<u32>,
    /// The same for some sets, in place of `max_variants`; of several that fit, the last one counts. 1 024 at most.
    #[serde(default)]
    pub dialogue: Vec<DialogueLimit>,
    /// Whether the level's package holds copies of all shared assets that the level needs, so that it is read from one file without
    /// a seek, whatever costs less (see [`LayoutSettings`](crate::LayoutSettings)). It takes more room on the disk, and none in memory: what is live already is not loaded again. Payloads that are read on
    /// demand (`BulkUse::OnDemand`) are not copied.
    #[serde(default)]
    pub seek_free: bool,
    /// What the game's own code is to know of it, before it is loaded too: the name of the place, its weather. It is in the manifest as it is
    /// ([`LevelEntry::data`](seamless_level::LevelEntry::data)), and hooks of the game get it.
    #[serde(default)]
    pub data: Option<String>,
}

/// Another placement of a level of a [`WorldFile`]: a house that stands in ten places, cooked once.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InstanceSource {
    /// The level, by name.
    pub of: String,
    /// The instance's name, unique among levels and instances. Saves and peers know its entities by it.
    pub name: String,
    /// Where it stands, in metres.
    #[serde(default)]
    pub translation: [f32; 3],
    /// How it is turned: a unit quaternion, x y z w.
    #[serde(default = "identity")]
    pub rotation: [f32; 4],
    /// Its scale.
    #[serde(default = "one")]
    pub scale: [f32; 3],
    /// How large it is, in its own space. Default: as its level.
    #[serde(default)]
    pub bounds: Option<Bounds>,
    /// Whether it is loaded wherever the streaming sources are.
    #[serde(default)]
    pub always_loaded: bool,
    /// Whether it comes only when the game asks for it by name.
    #[serde(default)]
    pub on_request: bool,
    /// What makes it differ from others, for the game's own code; stored in the manifest as it is.
    #[serde(default)]
    pub data: Option<String>,
}

fn identity() -> [f32; 4] {
    [0.0, 0.0, 0.0, 1.0]
}

fn one() -> [f32; 3] {
    [1.0; 3]
}

/// One streaming volume of a [`WorldFile`].
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VolumeSource {
    /// Its name. Default: `volume_<n>`.
    #[serde(default)]
    pub name: Option<String>,
    /// Its shape, in world space.
    pub shape: VolumeShape,
    /// How far outside, in metres, a streaming source must be before the levels leave. Default: a tenth of its size, ten metres
    /// where that is not known: for a convex shape, or a box that has two ends along no axis.
    #[serde(default)]
    pub unload_margin: Option<f32>,
    /// The levels that it asks for, by name.
    pub levels: Vec<String>,
    /// What it asks of them: `Load`, `LoadAndShow`, `ShowIfLoaded` or `BlockUntilLoaded`. Default: `LoadAndShow`.
    #[serde(default)]
    pub mode: VolumeMode,
    /// Whether it asks for anything from the start. Default: true.
    #[serde(default = "enabled")]
    pub enabled: bool,
    /// For how many seconds its levels stay when all streaming sources are outside of the margin. Default: two.
    #[serde(default = "unload_delay")]
    pub unload_delay: f32,
    /// How much it counts beside other volumes. Default: one.
    #[serde(default = "priority")]
    pub priority: f32,
}

fn enabled() -> bool {
    true
}

fn unload_delay() -> f32 {
    DEFAULT_UNLOAD_DELAY
}

fn priority() -> f32 {
    DEFAULT_PRIORITY
}

/// What to do with resources that a scene holds: they are global, so they neither come nor go with a level.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub enum ResourcePolicy {
    /// A scene with a resource is an error.
    #[default]
    Error,
    /// Resources are left out, with a warning.
    Ignore,
    /// Resources are cooked with their level, inserted when it is first revealed, and stay for ever.
    Persistent,
}

/// Why a world file cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}; see the world file's format in the documentation of `seamless_cook`")]
pub struct WorldFileError {
    /// Line in the file, from 1.
    pub line: usize,
    /// Column in the line, from 1.
    pub column: usize,
    /// What is wrong there.
    pub message: String,
}

impl WorldFile {
    /// Parses the text of a world file. Optional fields may be given without `Some`.
    ///
    /// # Errors
    /// With line and column, when it is no such text.
    pub fn parse(text: &str) -> Result<Self, WorldFileError> {
        parse_ron(text).map_err(|(line, column, message)| WorldFileError { line, column, message })
    }
}

/// Parses what an author writes; optional fields may be given without `Some`. An error is line, column, and what is wrong there.
pub(crate) fn parse_ron<T: DeserializeOwned>(text: &str) -> Result<T, (usize, usize, String)> {
    ron::Options::default()
        .with_default_extension(ron::extensions::Extensions::IMPLICIT_SOME)
        .from_str(text)
        .map_err(|error| (error.span.start.line, error.span.start.col, error.code.to_string()))
}
