//! Why startup content is not there. See [`StartupContentError`].

use std::sync::Arc;

use crate::error::LoadError;

/// Why [`StartupContent::get`](super::StartupContent::get) has no handle.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum StartupContentError {
    /// No startup package was loaded.
    #[error(
        "`{path}` is not loaded: there is no startup package; add a `SeamlessStartupPlugin` with the path of the `startup.pkg` that `seamless cook` wrote, after `SeamlessAssetPlugin`"
    )]
    NotLoaded {
        /// The path that was asked for.
        path: String,
    },
    /// The startup package could not be loaded.
    #[error("`{path}` is not loaded, because the startup package failed: {error}")]
    Failed {
        /// The path that was asked for.
        path: String,
        /// What is wrong with the package.
        error: Arc<LoadError>,
    },
    /// The startup package has no such content.
    #[error(
        "`{path}` is not in the startup package; register it with `add_startup_content` in a plugin of the game and of its cook program, and cook again"
    )]
    NotCooked {
        /// The path that was asked for.
        path: String,
    },
    /// It is there, as an asset of another type.
    #[error("`{path}` is startup content, but no `{wanted}`; ask for the type that was registered")]
    WrongType {
        /// The path that was asked for.
        path: String,
        /// The type that was asked for.
        wanted: &'static str,
    },
    /// It is for apps of another role, for clients on a server for instance.
    #[error("`{path}` is startup content for another role than this app's; ask for it where that role is")]
    OtherRole {
        /// The path that was asked for.
        path: String,
    },
}
