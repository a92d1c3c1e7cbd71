//! Requests in, states out. See [`Streamer`].

use std::sync::{Arc, Weak};

use bevy_asset::UntypedHandle;
use bevy_ecs::resource::Resource;
use bevy_platform::collections::HashMap;

use super::{
    InstanceId, InstanceRequest, InstanceTarget, LoadState,
    bulk::{BulkLoad, BulkRequest},
    file::FilePartRequest,
    instance::Known,
    objects::{ObjectLoad, ObjectRequest, Outcome},
    open::{OpenRequest, PackageOpen},
    reload::{ReloadLoad, ReloadReport, ReloadRequest},
};
use crate::{linker::Linker, threads::LoadingThreads};

/// The queue of level instances, objects, bulk payloads, tables and reloads. Every call returns at once; the pipeline acts on it in
/// [`StreamingSystems::Reveal`](crate::StreamingSystems) of the same frame.
#[derive(Resource, Default)]
pub struct Streamer {
    next: u64,
    pub(crate) threads: Option<LoadingThreads>,
    pub(super) commands: Vec<Command>,
    pub(super) states: HashMap<InstanceId, Known>,
}

pub(super) enum Command {
    Load(InstanceId, Box<InstanceRequest>),
    Objects(u64, ObjectRequest, Weak<Outcome<Vec<UntypedHandle>>>),
    Bulk(u64, BulkRequest, Weak<Outcome<Vec<u8>>>),
    FilePart(u64, FilePartRequest, Weak<Outcome<Vec<u8>>>),
    Open(u64, OpenRequest, Weak<Outcome<Arc<Linker>>>),
    Reload(InstanceId, ReloadRequest, Weak<Outcome<ReloadReport>>),
    Priority(InstanceId, f32),
    ObjectPriority(u64, f32),
    Target(InstanceId, InstanceTarget),
    Expect(usize),
}

impl Streamer {
    /// The threads that load; none in an app without a pipeline.
    #[must_use]
    pub fn loading_threads(&self) -> Option<&LoadingThreads> {
        self.threads.as_ref()
    }

    /// Asks for a level. What becomes of it is told by [`InstanceEvent`](super::InstanceEvent)s.
    pub fn load(&mut self, request: InstanceRequest) -> InstanceId {
        let id = self.next_instance();
        self.commands.push(Command::Load(id, Box::new(request)));
        id
    }

    pub(super) fn next_instance(&mut self) -> InstanceId {
        let id = InstanceId(self.next);
        self.next += 1;
        self.states.insert(id, Known::State(LoadState::Requested));
        id
    }

    /// Asks for objects. They are live when the [`ObjectLoad`] has a result, and as long as somebody holds that or their handles.
    pub fn load_objects(&mut self, request: ObjectRequest) -> ObjectLoad {
        let (id, outcome) = self.next_outcome();
        let command = Command::Objects(id, request, Arc::downgrade(&outcome));
        self.commands.push(command);
        ObjectLoad { id, outcome }
    }

    /// Changes the priority of objects that are not there yet.
    pub fn set_object_priority(&mut self, load: &ObjectLoad, priority: f32) {
        self.commands.push(Command::ObjectPriority(load.id, priority));
    }

    /// Asks for a bulk payload of an object, or for a part of it. The object itself is not loaded.
    pub fn load_bulk(&mut self, request: BulkRequest) -> BulkLoad {
        let (id, outcome) = self.next_outcome();
        let command = Command::Bulk(id, request, Arc::downgrade(&outcome));
        self.commands.push(command);
        BulkLoad(outcome)
    }

    /// Asks for a part of a file that is no package.
    pub fn load_file_part(&mut self, request: FilePartRequest) -> BulkLoad {
        let (id, outcome) = self.next_outcome();
        let command = Command::FilePart(id, request, Arc::downgrade(&outcome));
        self.commands.push(command);
        BulkLoad(outcome)
    }

    /// Asks for the tables of a package, and nothing else of it.
    pub fn open(&mut self, request: OpenRequest) -> PackageOpen {
        let (id, outcome) = self.next_outcome();
        let command = Command::Open(id, request, Arc::downgrade(&outcome));
        self.commands.push(command);
        PackageOpen(outcome)
    }

    /// Asks that what is live of a package becomes what is in its file now; see [`ReloadRequest`]. It is refused while the package
    /// is loaded or reloaded; a load that comes while the reload is under way waits for its end.
    pub fn reload(&mut self, request: ReloadRequest) -> ReloadLoad {
        let (id, outcome) = self.next_outcome();
        let command = Command::Reload(InstanceId(id), request, Arc::downgrade(&outcome));
        self.commands.push(command);
        ReloadLoad(outcome)
    }

    /// One more than the number of the last request.
    pub(super) fn next_number(&self) -> u64 {
        self.next
    }

    pub(super) fn next_outcome<T>(&mut self) -> (u64, Arc<Outcome<T>>) {
        let id = self.next;
        self.next += 1;
        (id, Arc::default())
    }

    /// Changes the priority of a level that is not live yet.
    pub fn set_priority(&mut self, id: InstanceId, priority: f32) {
        self.commands.push(Command::Priority(id, priority));
    }

    /// Says how far a level is to come from now on. Idempotent; the last word counts.
    ///
    /// * `Shown` after `Loaded`: its entities come in one frame, or, if it was hidden, can be seen again in one.
    /// * `Loaded` after `Shown`: a level that is in the world is hidden, if the app [opted in](crate::SeamlessAssetPlugin::sliced_levels);
    ///   else it stays, and that is counted ([`StreamingStats::refused_hides`](crate::StreamingStats::refused_hides)).
    /// * Any of these after `Gone`: a level that has not left yet is kept, without an event. One that has left is not known any more:
    ///   [`load`](Self::load) it again.
    pub fn set_target(&mut self, id: InstanceId, target: InstanceTarget) {
        self.commands.push(Command::Target(id, target));
    }

    /// Lets go of a level: cancels its load at the next stage, or takes it out of the world. Idempotent.
    pub fn unload(&mut self, id: InstanceId) {
        self.set_target(id, InstanceTarget::Gone);
    }

    /// Says that up to about so many entities of levels will be live at the same time, so that Bevy's tables get room for
    /// them now and need not grow while the player moves. The largest number counts, up to a million. Best before the first
    /// level is asked for; a `SeamlessWorld` says it for its levels.
    pub fn expect_entities(&mut self, entities: usize) {
        self.commands.push(Command::Expect(entities));
    }

    /// Where the instance is; `None` once it is gone.
    #[must_use]
    pub fn state(&self, id: InstanceId) -> Option<LoadState> {
        self.states.get(&id).map(Known::state)
    }

    /// How many instances are known, in any state.
    #[must_use]
    pub fn len(&self) -> usize {
        self.states.len()
    }

    /// Whether no instance is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.states.is_empty()
    }
}
