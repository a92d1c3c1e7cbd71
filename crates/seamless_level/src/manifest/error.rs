//! Why a world manifest is refused. See [`ManifestError`].

use crate::volume::VolumeError;

/// A world manifest that can not be used: which part, why, and what mends it.
#[derive(thiserror::Error, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ManifestError {
    /// The file could not be read.
    #[error("the world manifest cannot be read: {0}; check the path and the disk")]
    Io(String),
    /// More than the loader's limits allow.
    #[error(
        "the world manifest has {found} {what}, more than the limit of {limit}; split the world, or raise `ManifestLimits::{what}`"
    )]
    TooLarge {
        /// What there is too much of; the field of [`ManifestLimits`](super::ManifestLimits).
        what: &'static str,
        /// How much there is.
        found: u64,
        /// The limit.
        limit: u64,
    },
    /// Not RON text, or not the text of a manifest.
    #[error("the world manifest is not understood: {0}; it is written by `seamless cook`, cook the world again")]
    Syntax(String),
    /// The text of a manifest up to somewhere.
    #[error(
        "the world manifest is not understood: it ends in the middle; if it is not just being written, cook the world again"
    )]
    CutOff,
    /// Written by another version.
    #[error(
        "the world manifest has format {found}, this version reads formats {oldest} to {newest}; cook the world again"
    )]
    Format {
        /// The file's format.
        found: u32,
        /// The oldest format that can be read.
        oldest: u32,
        /// The newest one.
        newest: u32,
    },
    /// No levels.
    #[error("world `{world}` has no levels; name at least one in its world file and cook it again")]
    Empty {
        /// The world's name.
        world: String,
    },
    /// A level, a volume or a listed package without a name.
    #[error("{what} {index} has no name; give it one in the world file and cook it again")]
    Nameless {
        /// `level`, `volume` or `package`.
        what: &'static str,
        /// Which, counted from zero.
        index: usize,
    },
    /// Two levels, two volumes or two listed packages of the same name.
    #[error("two {what}s are called `{name}`; rename one of them in the world file and cook it again")]
    DuplicateName {
        /// `level`, `volume` or `package`.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// Two levels whose names have one number, by which saves and peers know them.
    #[error(
        "levels `{level}` and `{other}` have the same id by chance; rename one of them in the world file and cook it again"
    )]
    SameId {
        /// One level.
        level: String,
        /// The other one.
        other: String,
    },
    /// The list of packages has a path that is absolute, or leads out of the manifest's directory.
    #[error(
        "listed package `{path}` must be relative, within the manifest's directory, without `..`, `\\`, `#` or `:`; cook the world again"
    )]
    ListedPath {
        /// The path.
        path: String,
    },
    /// A package path that is empty, absolute, or leads out of the manifest's directory.
    #[error(
        "level `{level}`: package path `{path}` must be relative, within the manifest's directory, without `..`, `\\`, `#` or `:`; cook the world again"
    )]
    PackagePath {
        /// The level.
        level: String,
        /// The path.
        path: String,
    },
    /// A path of the startup package that is empty, absolute, or leads out of the manifest's directory.
    #[error(
        "the startup package's path `{path}` must be relative, within the manifest's directory, without `..`, `\\`, `#` or `:`; cook the world again"
    )]
    StartupPath {
        /// The path.
        path: String,
    },
    /// A path of the registry that is empty, absolute, or leads out of the manifest's directory.
    #[error(
        "the registry's path `{path}` must be relative, within the manifest's directory, without `..`, `\\`, `#` or `:`; cook the world again"
    )]
    RegistryPath {
        /// The path.
        path: String,
    },
    /// A level's package is among its own dependencies.
    #[error("level `{level}`: its package `{package}` depends on itself; cook the world again")]
    SelfDependency {
        /// The level.
        level: String,
        /// The package.
        package: String,
    },
    /// A package is twice among a level's dependencies.
    #[error("level `{level}`: `{package}` is listed twice among its dependencies; cook the world again")]
    DuplicateDependency {
        /// The level.
        level: String,
        /// The package.
        package: String,
    },
    /// A number of a level's placement or bounds is unusable.
    #[error("level `{level}`: its {field} {fault}; mend it in the world file and cook it again")]
    Placement {
        /// The level.
        level: String,
        /// The field.
        field: &'static str,
        /// What is wrong with it.
        fault: &'static str,
    },
    /// A volume that can not be used.
    #[error(transparent)]
    Volume(#[from] VolumeError),
}
