//! Everything about streamables at once. See [`Streamables`].

use core::panic::Location;
use std::sync::Arc;

use bevy_ecs::{prelude::Res, system::SystemParam};

use super::{
    Streamable, StreamableHub, StreamableReport, StreamableRequest,
    report::{self, HeldStreamable},
};

/// Asks for sets of objects, joins streamables, and tells who holds what. Only reads resources: systems that have it run side by side.
///
/// ```
/// # use bevy_ecs::prelude::*; use bevy_mesh::Mesh;
/// # use seamless_asset::{SoftHandle, Streamable, StreamableRequest, Streamables};
/// #[derive(Resource)]
/// struct Zone {
///     cues: Vec<SoftHandle<Mesh>>,
///     loading: Vec<Streamable>,
/// }
///
/// fn enter(mut zone: ResMut<Zone>, streamables: Streamables) {
///     let cues = streamables.request(StreamableRequest::new(&zone.cues).named("cues"));
///     let rest = streamables.combine("zone", zone.loading.drain(..).chain([cues]));
///     zone.loading.push(rest);
/// }
///
/// fn leaks(streamables: Streamables) {
///     println!("{}", streamables.report());
/// }
/// ```
#[derive(SystemParam)]
pub struct Streamables<'w> {
    hub: Res<'w, StreamableHub>,
}

impl Streamables<'_> {
    /// Asks for a set of objects.
    #[track_caller]
    pub fn request(&self, request: StreamableRequest) -> Streamable {
        self.hub.request(request, Location::caller())
    }

    /// One that ends when all of these have, and keeps them alive. Its progress is that of all of them; to pause or cancel it does so to each,
    /// and so does its priority. Of nothing it is loaded at once.
    #[track_caller]
    pub fn combine(&self, name: impl Into<Arc<str>>, parts: impl IntoIterator<Item = Streamable>) -> Streamable {
        let parts = parts.into_iter().collect();
        self.hub.combine(name.into(), parts, Location::caller())
    }

    /// All that somebody holds, at work or ended, in the order of their requests.
    #[must_use]
    pub fn all(&self) -> Vec<Streamable> {
        self.hub.all()
    }

    /// Who holds what, and how much: what is to be looked at when memory does not come back.
    #[must_use]
    pub fn report(&self) -> StreamableReport {
        let held: Vec<HeldStreamable> = self.hub.all().iter().map(report::held).collect();
        StreamableReport { held }
    }
}
