//! Requests for single objects, or for all of a package. See [`ObjectRequest`].

use core::fmt;
use std::sync::{Arc, OnceLock};

use bevy_asset::{AssetPath, UntypedHandle};

use super::{LoadState, Progress, Verify};
use crate::error::LoadError;

/// What a load may do to get an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LoadPolicy {
    /// Read it, unless it is live.
    #[default]
    Load,
    /// Give it if it is live. Never touches the disk. For single objects: what a whole package holds is not known without its file.
    LiveOnly,
}

/// Objects to load, each with everything that it refers to, and nothing else of their packages.
///
/// ```
/// # use seamless_asset::{LoadPolicy, ObjectRequest};
/// let rock = ObjectRequest::new(["world/shared_0.pkg#rock.glb/Mesh0/Primitive0"]);
/// let if_there = ObjectRequest { policy: LoadPolicy::LiveOnly, ..rock };
/// ```
#[derive(Debug, Clone, Default)]
pub struct ObjectRequest {
    /// Object paths, `dir/file.pkg#Object`. Without an object: all assets of the package. The path of a package that is open
    /// may be partly qualified; see [`Linkers::resolve`](crate::Linkers::resolve).
    pub paths: Vec<String>,
    /// What may be done to get them.
    pub policy: LoadPolicy,
    /// When imports are compared with the packages they are from.
    pub verify: Verify,
    /// Larger goes first, among objects and levels alike, on the scale of [`InstanceRequest::priority`](crate::InstanceRequest::priority).
    pub priority: f32,
}

impl ObjectRequest {
    /// A request for these object paths, with the defaults for the rest.
    pub fn new<P: Into<String>>(paths: impl IntoIterator<Item = P>) -> Self {
        Self {
            paths: paths.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }
}

/// What became of an [`ObjectRequest`].
///
/// It keeps the objects alive; so does any handle taken from it. Dropping it before the end cancels the load.
#[derive(Clone)]
#[must_use = "dropping it before the end cancels the load"]
pub struct ObjectLoad {
    pub(super) id: u64,
    pub(super) outcome: Arc<Outcome<Vec<UntypedHandle>>>,
}

/// What a request waits for, shared with the pipeline, which forgets it when nobody waits any more.
pub(super) struct Outcome<T> {
    pub result: OnceLock<Result<T, Arc<LoadError>>>,
    pub progress: Arc<Progress>,
}

impl<T> Default for Outcome<T> {
    fn default() -> Self {
        Self {
            result: OnceLock::new(),
            progress: Arc::default(),
        }
    }
}

impl<T> Outcome<T> {
    /// Ends the request, once.
    pub fn finish(&self, result: Result<T, Box<LoadError>>) {
        let _ = self.result.set(result.map_err(Arc::from));
    }

    /// As [`finish`](Self::finish), with an error that others have too.
    pub fn fail(&self, error: Arc<LoadError>) {
        let _ = self.result.set(Err(error));
    }
}

impl<T> Drop for Outcome<T> {
    fn drop(&mut self) {
        self.progress.cancel();
    }
}

impl ObjectLoad {
    /// Handles of the objects in the order of the request's paths, those of a whole package in the order of its exports; or what
    /// went wrong. `None` while it is under way. The values are in their `Assets` by then.
    #[must_use]
    pub fn result(&self) -> Option<Result<&[UntypedHandle], &Arc<LoadError>>> {
        let result = self.outcome.result.get()?;
        Some(result.as_ref().map(Vec::as_slice))
    }

    /// Whether it came to an end, good or bad.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.outcome.result.get().is_some()
    }

    /// Whether anything was done for it yet: as long as nothing was, to drop it wastes nothing.
    #[must_use]
    pub fn has_started(&self) -> bool {
        self.is_finished() || self.outcome.progress.state() != LoadState::Requested
    }
}

impl fmt::Debug for ObjectLoad {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_tuple("ObjectLoad").field(&self.result()).finish()
    }
}

/// A path of a request, taken apart.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct ObjectPath {
    pub package: AssetPath<'static>,
    /// `None`: all assets of the package.
    pub object: Option<Arc<str>>,
}
