//! Why a soft handle leads nowhere. See [`SoftError`].

use std::sync::Arc;

use crate::error::LoadError;

/// Why what a soft handle names could not be loaded.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum SoftError {
    /// It names nothing.
    #[error("a soft handle that names nothing cannot be loaded; give it a path")]
    Empty,
    /// No registry has the path.
    #[error(
        "soft path `{path}` is in none of the {registries} registries that are loaded; correct it, add its source to `assets` of the world file and \
         cook again, or load the registry of its world"
    )]
    Unknown {
        /// The path.
        path: String,
        /// How many registries were asked.
        registries: usize,
    },
    /// Another type is there.
    #[error(
        "soft path `{path}` leads to a `{found}`, and a `{wanted}` is wanted; correct the path, or the type of the handle"
    )]
    Type {
        /// The path.
        path: String,
        /// The type of the handle.
        wanted: &'static str,
        /// What is there.
        found: String,
    },
    /// Its load failed.
    #[error("soft path `{path}` cannot be loaded: {error}")]
    Load {
        /// The path.
        path: String,
        /// Which package, why, and the mend.
        error: Arc<LoadError>,
    },
    /// The source's load failed; only where sources are loaded, see [`StreamableSettings::sources`](crate::StreamableSettings::sources).
    #[error("the source of soft path `{path}` cannot be loaded: {message}")]
    Source {
        /// The path.
        path: String,
        /// What Bevy's loader says.
        message: String,
    },
    /// More than an app may ask for.
    #[error(
        "{found} {what} are asked for, and {most} are possible; drop what is not needed, or raise `StreamableSettings::{setting}`"
    )]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many.
        found: usize,
        /// The limit.
        most: usize,
        /// The limit's name.
        setting: &'static str,
    },
    /// The request was cancelled before it was there.
    #[error("the request was cancelled")]
    Cancelled,
}

impl SoftError {
    /// Whether the same request may come to a good end later, although nobody has mended anything.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Load { error, .. } if error.kind.is_transient())
    }
}
