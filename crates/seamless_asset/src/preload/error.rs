//! Why a set is not there as a whole. See [`PreloadError`].

use std::sync::Arc;

use crate::soft::SoftError;

/// Why something of a preload set is not there. The rest of the set is.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum PreloadError {
    /// Nobody has said what the set is.
    #[error(
        "preload set `{set}` is wanted by {reason}, and nobody has declared it; call `PreloadSets::declare`, or correct its name"
    )]
    Undeclared {
        /// Its name.
        set: Arc<str>,
        /// Who wants it.
        reason: Arc<str>,
    },
    /// A folder without objects.
    #[error(
        "preload set `{set}`: {registries} registries have nothing in `{folder}`; add it to `assets` of the world file and cook again, or correct \
         the path"
    )]
    EmptyFolder {
        /// The set.
        set: Arc<str>,
        /// The folder.
        folder: String,
        /// How many registries were looked through.
        registries: usize,
    },
    /// More sets than may be wanted.
    #[error("preload set `{set}` is one too many: {most} may be wanted; raise `PreloadSettings::max_wanted`")]
    TooMany {
        /// The set.
        set: Arc<str>,
        /// How many may be wanted.
        most: usize,
    },
    /// An object that could not be loaded.
    #[error(transparent)]
    Object(#[from] SoftError),
}
