//! Requests to bring what is live up to date with its file. See [`ReloadRequest`].

use core::fmt;
use std::sync::Arc;

use bevy_asset::AssetPath;
use bevy_ecs::message::Message;

use super::{InstanceId, Verify, objects::Outcome};
use crate::error::LoadError;

/// What becomes of objects that were changed since they were loaded: components that game code wrote to, took away, or entities that
/// it despawned, and assets that it modified.
///
/// A component is changed when it was written to after the reveal (or the last reload) *and* has another value than the new file
/// gives it. What Bevy works out itself, [`GlobalTransform`](bevy_transform::components::GlobalTransform) for instance, is nobody's
/// change and stays Bevy's. Components that game code added are never touched. What observers do to a level while it is revealed is no
/// change, but how the level comes. An asset is changed when Bevy has told so
/// ([`AssetEvent::Modified`](bevy_asset::AssetEvent)), at the end of the frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReloadPolicy {
    /// They stay as they are; everything else is brought up to date. The default: nothing that happened in the game is lost. An
    /// entity whose object the file has no more goes all the same.
    #[default]
    KeepEdits,
    /// They become what the file says.
    Overwrite,
    /// The reload fails, and its error names the first of them.
    Refuse,
}

/// A package whose file was cooked again, and whose live objects are to become what is in the file, where they are.
///
/// The new file is read and decoded off the main thread. Then, in one frame, all live instances of its level and its live assets
/// change: an entity whose object is still there keeps its id, and those of its components that differ are inserted over the old
/// ones (`Changed` and `On<Insert>`, not `Added`); what does not differ is not touched. Entities of new objects are spawned, those of
/// lost ones despawned, with whatever game code hung below them. Assets keep their handles
/// ([`AssetEvent::Modified`](bevy_asset::AssetEvent)). A reload that fails changes nothing.
///
/// Persistent resources of a level came with its first reveal and are not brought again.
///
/// ```
/// # use seamless_asset::{ReloadPolicy, ReloadRequest, Streamer};
/// # let mut streamer = Streamer::default();
/// let reload = streamer.reload(ReloadRequest {
///     policy: ReloadPolicy::Overwrite,
///     ..ReloadRequest::new("world/meadow.pkg")
/// });
/// assert!(reload.result().is_none(), "it is under way");
/// ```
#[derive(Debug, Clone, Default)]
pub struct ReloadRequest {
    /// The path of the package; it may be partly qualified, see [`Linkers::resolve`](crate::Linkers::resolve).
    pub package: String,
    /// What becomes of what was changed at run time.
    pub policy: ReloadPolicy,
    /// When the imports of the new file are compared with the packages they are from.
    pub verify: Verify,
    /// Larger goes first, among reloads, objects and levels alike, on the scale of [`InstanceRequest::priority`](crate::InstanceRequest::priority).
    pub priority: f32,
}

impl ReloadRequest {
    /// A request for this package, with the defaults for the rest.
    pub fn new(package: impl Into<String>) -> Self {
        Self {
            package: package.into(),
            ..Self::default()
        }
    }
}

/// What became of a [`ReloadRequest`]. Dropping it before the end cancels the reload.
#[derive(Clone)]
#[must_use = "dropping it before the end cancels the reload"]
pub struct ReloadLoad(pub(super) Arc<Outcome<ReloadReport>>);

impl ReloadLoad {
    /// What was done, or why nothing was. `None` while it is under way.
    #[must_use]
    pub fn result(&self) -> Option<Result<&ReloadReport, &Arc<LoadError>>> {
        self.0.result.get().map(Result::as_ref)
    }

    /// Whether it came to an end, good or bad.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.0.result.get().is_some()
    }
}

impl fmt::Debug for ReloadLoad {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_tuple("ReloadLoad").field(&self.result()).finish()
    }
}

/// What a reload did, all instances of the package taken together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReloadReport {
    /// The instances of the package's level that were brought up to date.
    pub instances: Vec<InstanceId>,
    /// Assets that got a new value in their place.
    pub assets_replaced: usize,
    /// Assets that were not live before.
    pub assets_added: usize,
    /// Entities whose object the file still has.
    pub entities_kept: usize,
    /// Those of them of which a component was written, added or removed.
    pub entities_changed: usize,
    /// Entities that are new.
    pub entities_spawned: usize,
    /// Entities that the file has no more.
    pub entities_despawned: usize,
    /// Components of kept entities that got the file's value.
    pub components_written: usize,
    /// Components of kept entities that the file has no more.
    pub components_removed: usize,
    /// Run-time changes that stayed: components, despawned entities, assets.
    pub edits_kept: usize,
    /// Run-time changes that gave way to the file.
    pub edits_overwritten: usize,
}

/// A package was reloaded, in this frame. Written in [`StreamingSystems::Reveal`](crate::StreamingSystems).
#[derive(Message, Debug, Clone)]
pub struct Reloaded {
    /// Which one.
    pub package: AssetPath<'static>,
    /// What was done.
    pub report: ReloadReport,
}
