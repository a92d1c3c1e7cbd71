//! Why a registry is refused. See [`RegistryError`].

/// A registry that cannot be used: why, and what mends it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// The file could not be read.
    #[error("the registry cannot be read: {0}; check the path and the disk")]
    Io(String),
    /// It is another file.
    #[error(
        "is no registry of objects; give the path of the `.registry` file that `seamless cook` wrote beside the manifest"
    )]
    NoRegistry,
    /// Written by another version.
    #[error("the registry has format {found}, this version reads format {known}; cook the world again")]
    Format {
        /// The file's format.
        found: u32,
        /// What this version reads.
        known: u32,
    },
    /// Its bytes are not those that were written.
    #[error("the registry is damaged: {0}; copy it again, or cook the world again")]
    Damaged(String),
    /// More than the loader's limits allow.
    #[error(
        "the registry has {found} {what}, and {limit} are allowed; split the world, or raise `RegistryLimits::{what}`"
    )]
    TooLarge {
        /// Of what: the field of [`RegistryLimits`](super::RegistryLimits).
        what: &'static str,
        /// How many.
        found: u64,
        /// The limit.
        limit: u64,
    },
    /// Two rows for one object.
    #[error("the registry has `{0}` twice, with one type; cook the world again")]
    Twice(String),
    /// Two paths that cannot be told from each other.
    #[error("the paths `{first}` and `{second}` have the same 64-bit hash; rename one of the files")]
    Collision {
        /// One.
        first: String,
        /// The other.
        second: String,
    },
}
