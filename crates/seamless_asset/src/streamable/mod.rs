//! Requests for sets of objects. See [`Streamable`] and [`Streamables`].
//!
//! ```text
//! request ─► waiting for registries ─► loading ⇄ paused ─► loaded │ failed │ cancelled
//! ```
//! [`drive`] asks the [`Streamer`](crate::Streamer) for what is wanted, before the pipeline's work of the frame; [`settle`] tells afterwards what
//! has come. An object is loaded once, however many streamables ask for it while it is under way. Where many begin or end in one frame, both do
//! as much as their [`Share`](share::Share) of it allows, the most urgent first.

mod active;
mod future;
mod hub;
mod loads;
mod report;
mod settings;
mod share;
mod shared;
mod streamables;
mod systems;
#[cfg(test)]
pub(crate) mod tests;

pub use future::Finished;
pub(crate) use hub::StreamableHub;
pub use report::{HeldStreamable, StreamableReport};
pub use settings::{StreamableSettings, StreamableStats};
pub use shared::{Streamable, StreamableEnd, StreamableId, StreamableProgress, StreamableState};
pub use streamables::Streamables;
pub(crate) use systems::{drive, settle};

use std::sync::Arc;

use bevy_ecs::event::Event;

use crate::soft::SoftPath;

/// Objects to be loaded together.
///
/// ```
/// # use bevy_mesh::Mesh;
/// # use seamless_asset::{SoftHandle, StreamableRequest};
/// # let (rock, tree) = (SoftHandle::<Mesh>::new("rock.glb#Mesh0"), SoftHandle::<Mesh>::new("tree.glb#Mesh0"));
/// let forest = StreamableRequest {
///     priority: 10.0,
///     ..StreamableRequest::new([&rock, &tree]).named("forest")
/// };
/// ```
#[derive(Debug, Clone, Default)]
pub struct StreamableRequest {
    /// What to call it in reports and events. Default: its first path.
    pub name: Arc<str>,
    /// What to load. The same path twice counts once.
    pub paths: Vec<SoftPath>,
    /// Larger goes first, among objects and levels alike, on the scale of [`InstanceRequest::priority`](crate::InstanceRequest::priority).
    pub priority: f32,
    /// Whether it waits for [`Streamable::resume`] before it begins.
    pub is_paused: bool,
}

impl StreamableRequest {
    /// A request for what these soft handles name.
    pub fn new<P: Into<SoftPath>>(paths: impl IntoIterator<Item = P>) -> Self {
        Self {
            paths: paths.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }

    /// The same with a name.
    #[must_use]
    pub fn named(mut self, name: impl Into<Arc<str>>) -> Self {
        self.name = name.into();
        self
    }
}

/// A [`Streamable`] has come to its end; triggered once for each, unless it was dropped before. Everything that it has loaded is live.
///
/// ```
/// # use bevy_ecs::prelude::*; use bevy_app::App;
/// # use seamless_asset::{StreamableEnd, StreamableFinished};
/// # let mut app = App::new();
/// app.add_observer(|finished: On<StreamableFinished>| {
///     if let StreamableEnd::Failed(errors) = &finished.end {
///         eprintln!("{} has come in part: {}", finished.name, errors[0]);
///     }
/// });
/// ```
#[derive(Event, Debug, Clone)]
pub struct StreamableFinished {
    /// Which one.
    pub id: StreamableId,
    /// What it is called.
    pub name: Arc<str>,
    /// How it has ended.
    pub end: StreamableEnd,
}
