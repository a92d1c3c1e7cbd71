//! Content that is loaded ahead, by name: for a phase of the game, for what a player has chosen, for where somebody is. See [`PreloadSets`].
//!
//! ```text
//! phases, selections, zones ─► what is wanted ─► follow: one streamable for each set ─► tell: progress, messages, release
//! ```

mod error;
mod phase;
mod progress;
mod sets;
mod systems;
#[cfg(test)]
mod tests;
mod zone;

pub use error::PreloadError;
pub use phase::PreloadAppExt;
pub use progress::{PreloadEvent, PreloadProgress, PreloadSettings, PreloadState};
pub use sets::PreloadSets;
pub(crate) use systems::add_preload;
pub use zone::{PreloadSource, PreloadZone};

use bevy_ecs::schedule::SystemSet;

use crate::soft::SoftPath;

/// What is loaded together: objects by their soft handles, and all that lies in folders.
///
/// ```
/// # use bevy_mesh::Mesh;
/// # use seamless_asset::{PreloadSet, SoftHandle};
/// let sword = SoftHandle::<Mesh>::new("knight/sword.glb#Mesh0/Primitive0");
/// let knight = PreloadSet::new([&sword]).folder("cues/knight").priority(10.0);
/// assert_eq!((knight.objects.len(), knight.folders.len()), (1, 1));
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PreloadSet {
    /// What soft handles name.
    pub objects: Vec<SoftPath>,
    /// Folders, or files: what registries have at paths in or below them is loaded. Cue notifies there are in the runtime library meanwhile.
    pub folders: Vec<String>,
    /// Larger goes first, among objects and levels alike, on the scale of [`InstanceRequest::priority`](crate::InstanceRequest::priority). Default: 0.
    pub priority: f32,
}

impl PreloadSet {
    /// What these soft handles name.
    pub fn new<P: Into<SoftPath>>(objects: impl IntoIterator<Item = P>) -> Self {
        Self {
            objects: objects.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }

    /// All that registries have in this folder or below it.
    pub fn of_folder(folder: impl Into<String>) -> Self {
        Self::default().folder(folder)
    }

    /// The same, and an object.
    #[must_use]
    pub fn with(mut self, object: impl Into<SoftPath>) -> Self {
        self.objects.push(object.into());
        self
    }

    /// The same, and all that registries have in this folder or below it.
    #[must_use]
    pub fn folder(mut self, folder: impl Into<String>) -> Self {
        self.folders.push(folder.into());
        self
    }

    /// The same, more or less urgent.
    #[must_use]
    pub fn priority(self, priority: f32) -> Self {
        Self { priority, ..self }
    }
}

/// The order in which preload sets are looked at, in `SpawnScene`.
#[derive(SystemSet, Debug, Clone, PartialEq, Eq, Hash)]
pub enum PreloadSystems {
    /// Phases and zones say which sets they want. Systems of a game that do so by other rules belong here.
    Want,
    /// What is new is asked for.
    Follow,
    /// Progress is told, and what is not needed any more is released.
    Tell,
    /// States go on where everything has come.
    Advance,
}
