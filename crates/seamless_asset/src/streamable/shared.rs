//! What user code holds. See [`Streamable`].

use core::{
    fmt,
    panic::Location,
    sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering},
    time::Duration,
};
use std::{
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    task::Waker,
};

use bevy_asset::{Asset, Handle, UntypedHandle};
use bevy_ecs::world::World;

use super::Finished;
use crate::soft::{SoftError, SoftHandle, SoftPath};

/// Names a [`Streamable`]; never reused in an app's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamableId(pub u64);

/// Where a [`Streamable`] is on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum StreamableState {
    /// Nothing was done for it yet: it was asked for in this frame, or a registry is on its way that may know its paths.
    Waiting = 0,
    /// Its objects are being loaded.
    Loading = 1,
    /// Nothing more is asked for; what was being read comes.
    Paused = 2,
    /// All its objects are live.
    Loaded = 3,
    /// Some of its objects could not be loaded; the others are live.
    Failed = 4,
    /// It was cancelled, and holds nothing.
    Cancelled = 5,
}

/// How a [`Streamable`] has ended.
#[derive(Debug, Clone)]
pub enum StreamableEnd {
    /// All its objects are live.
    Loaded,
    /// Some of its objects could not be loaded, each for one of these reasons; the others are live.
    Failed(Arc<[SoftError]>),
    /// It was cancelled before.
    Cancelled,
}

impl StreamableEnd {
    /// Whether everything is there.
    #[must_use]
    pub fn is_loaded(&self) -> bool {
        matches!(self, Self::Loaded)
    }

    /// What could not be loaded.
    #[must_use]
    pub fn errors(&self) -> &[SoftError] {
        match self {
            Self::Failed(errors) => errors,
            _ => &[],
        }
    }
}

/// How far a [`Streamable`] has come.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct StreamableProgress {
    /// Bytes of what is there, as far as registries know.
    pub bytes: u64,
    /// Bytes of all of it.
    pub total_bytes: u64,
    /// Objects that are there, or have failed.
    pub objects: u32,
    /// All of them.
    pub total_objects: u32,
    /// How long it will take from here, at the pace so far; none as long as nothing has come.
    pub eta: Option<Duration>,
}

impl StreamableProgress {
    /// From 0 to 1: by bytes where they are known, else by objects. Of nothing at all it is 1.
    #[must_use]
    pub fn fraction(&self) -> f32 {
        match (self.total_bytes, self.total_objects) {
            (0, 0) => 1.0,
            (0, all) => self.objects as f32 / all as f32,
            (all, _) => (self.bytes as f64 / all as f64) as f32,
        }
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.bytes += other.bytes;
        self.total_bytes += other.total_bytes;
        self.objects += other.objects;
        self.total_objects += other.total_objects;
        // They load side by side.
        self.eta = self.eta.max(other.eta);
    }
}

/// What is called when a streamable ends.
pub(super) type Callback = Box<dyn FnOnce(&mut World, &StreamableEnd) + Send + Sync>;

/// A request for a set of objects, and what came of it: it **keeps them alive until it, and each of its clones, is dropped**. To drop it
/// before its end cancels it.
///
/// Its end is told in four ways: [`end`](Self::end), a future ([`finished`](Self::finished)), a callback ([`on_finish`](Self::on_finish)), and the
/// event [`StreamableFinished`](crate::StreamableFinished).
///
/// ```
/// # use bevy_ecs::prelude::*; use bevy_mesh::Mesh;
/// # use seamless_asset::{SoftHandle, SoftObjects, Streamable};
/// #[derive(Resource)]
/// struct Arsenal(Streamable);
///
/// fn order(soft: SoftObjects, mut commands: Commands) {
///     let arsenal = soft.load(&SoftHandle::<Mesh>::new("cannon.glb#Mesh0/Primitive0"));
///     arsenal.on_finish(|_, end| println!("{}", if end.is_loaded() { "fire at will" } else { "no cannon" }));
///     commands.insert_resource(Arsenal(arsenal));
/// }
///
/// fn wait(arsenal: Res<Arsenal>) {
///     println!("{:.0} %", arsenal.0.progress().fraction() * 100.0);
/// }
/// ```
#[derive(Clone)]
pub struct Streamable(pub(super) Arc<Shared>);

/// What a streamable and the hub have in common. Its locks are held for a look only.
pub(super) struct Shared {
    pub id: StreamableId,
    pub name: Arc<str>,
    /// Who has asked.
    pub caller: &'static Location<'static>,
    pub paths: Box<[SoftPath]>,
    /// What it waits for besides, and keeps alive.
    pub parts: Box<[Streamable]>,
    /// Bits of an `f32`.
    priority: AtomicU32,
    is_paused: AtomicBool,
    is_cancelled: AtomicBool,
    /// Whether the hub is to look at the three above.
    pub is_changed: AtomicBool,
    state: AtomicU8,
    bytes: AtomicU64,
    progress: Mutex<StreamableProgress>,
    end: OnceLock<StreamableEnd>,
    /// Empty before the end, and after a cancel.
    held: Mutex<Held>,
    wakers: Mutex<Vec<Waker>>,
    callbacks: Mutex<Vec<Callback>>,
    late: Late,
}

/// What a streamable keeps alive.
#[derive(Default)]
pub(super) struct Held {
    /// By its paths.
    pub by_path: Box<[Option<UntypedHandle>]>,
    /// What levels refer to.
    #[expect(dead_code, reason = "it is only kept alive")]
    pub more: Vec<UntypedHandle>,
}

/// Those that have got a callback after their end.
pub(super) type Late = Arc<Mutex<Vec<Streamable>>>;

impl Shared {
    pub fn new(
        id: StreamableId,
        name: Arc<str>,
        caller: &'static Location<'static>,
        (paths, parts): (Box<[SoftPath]>, Box<[Streamable]>),
        (priority, is_paused): (f32, bool),
        late: Late,
    ) -> Self {
        let name = match (name.is_empty(), paths.first()) {
            (true, Some(first)) => first.shared().clone(),
            _ => name,
        };
        Self {
            id,
            name,
            caller,
            paths,
            parts,
            priority: AtomicU32::new(priority.to_bits()),
            is_paused: AtomicBool::new(is_paused),
            is_cancelled: AtomicBool::new(false),
            is_changed: AtomicBool::new(false),
            state: AtomicU8::new(StreamableState::Waiting as u8),
            bytes: AtomicU64::new(0),
            progress: Mutex::default(),
            end: OnceLock::new(),
            held: Mutex::default(),
            wakers: Mutex::default(),
            callbacks: Mutex::default(),
            late,
        }
    }

    pub fn priority(&self) -> f32 {
        f32::from_bits(self.priority.load(Ordering::Relaxed))
    }

    pub fn is_paused(&self) -> bool {
        self.is_paused.load(Ordering::Relaxed)
    }

    pub fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed)
    }

    pub fn set_state(&self, state: StreamableState) {
        self.state.store(state as u8, Ordering::Relaxed);
    }

    pub fn tell(&self, progress: StreamableProgress) {
        self.bytes.store(progress.total_bytes, Ordering::Relaxed);
        *lock(&self.progress) = progress;
    }

    /// Bytes of what it holds, as far as registries know.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    pub fn end(&self) -> Option<&StreamableEnd> {
        self.end.get()
    }

    /// Ends it, once. Gives who is to be called.
    pub fn finish(&self, end: StreamableEnd, held: Held) -> Vec<Callback> {
        self.set_state(match &end {
            StreamableEnd::Loaded => StreamableState::Loaded,
            StreamableEnd::Failed(_) => StreamableState::Failed,
            StreamableEnd::Cancelled => StreamableState::Cancelled,
        });
        if !self.is_cancelled() {
            *lock(&self.held) = held;
        }
        if self.end.set(end).is_err() {
            return Vec::new();
        }
        let wakers = core::mem::take(&mut *lock(&self.wakers));
        wakers.into_iter().for_each(Waker::wake);
        core::mem::take(&mut *lock(&self.callbacks))
    }

    pub fn wake_at_end(&self, waker: &Waker) {
        let mut wakers = lock(&self.wakers);
        if !wakers.iter().any(|known| known.will_wake(waker)) {
            wakers.push(waker.clone());
        }
    }

    fn change(&self) {
        self.is_changed.store(true, Ordering::Release);
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Streamable {
    /// Which one it is.
    #[must_use]
    pub fn id(&self) -> StreamableId {
        self.0.id
    }

    /// What it is called.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Who has asked for it.
    #[must_use]
    pub fn caller(&self) -> &'static Location<'static> {
        self.0.caller
    }

    /// What it was asked for, each path once.
    #[must_use]
    pub fn paths(&self) -> &[SoftPath] {
        &self.0.paths
    }

    /// Where it is on its way.
    #[must_use]
    pub fn state(&self) -> StreamableState {
        match self.0.state.load(Ordering::Relaxed) {
            0 => StreamableState::Waiting,
            1 => StreamableState::Loading,
            2 => StreamableState::Paused,
            3 => StreamableState::Loaded,
            4 => StreamableState::Failed,
            _ => StreamableState::Cancelled,
        }
    }

    /// How it has ended; none while it is under way.
    #[must_use]
    pub fn end(&self) -> Option<&StreamableEnd> {
        self.0.end()
    }

    /// Whether it has come to an end, good or bad.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.end().is_some()
    }

    /// Whether everything is there.
    #[must_use]
    pub fn is_loaded(&self) -> bool {
        self.end().is_some_and(StreamableEnd::is_loaded)
    }

    /// Its end, for tasks. It keeps the objects alive like a clone.
    ///
    /// ```
    /// # use seamless_asset::{Streamable, StreamableEnd};
    /// async fn first_act(scenery: Streamable) {
    ///     if scenery.finished().await.is_loaded() {
    ///         // …
    ///     }
    /// }
    /// ```
    pub fn finished(&self) -> Finished {
        Finished::new(self.clone())
    }

    /// Calls back once at its end, on the main thread; not if it is dropped before. If it has ended already: right away in the next frame.
    pub fn on_finish(&self, callback: impl FnOnce(&mut World, &StreamableEnd) + Send + Sync + 'static) {
        lock(&self.0.callbacks).push(Box::new(callback));
        if self.is_finished() {
            lock(&self.0.late).push(self.clone());
        }
    }

    /// Whoever came after the end.
    pub(super) fn take_late_callbacks(&self) -> Vec<Callback> {
        core::mem::take(&mut *lock(&self.0.callbacks))
    }

    /// How far it has come, as of the last frame.
    #[must_use]
    pub fn progress(&self) -> StreamableProgress {
        *lock(&self.0.progress)
    }

    /// The object that one of its soft handles names; none before its end, and if that object could not be loaded.
    #[must_use]
    pub fn get<T: Asset>(&self, handle: &SoftHandle<T>) -> Option<Handle<T>> {
        let (path, hash) = handle.parts();
        let is_it = |known: &SoftPath| {
            known.hash() == hash && known.shared() == path && known.fits(core::any::TypeId::of::<T>())
        };
        if let Some(place) = self.0.paths.iter().position(is_it) {
            let held = lock(&self.0.held);
            return held.by_path.get(place)?.clone()?.try_typed().ok();
        }
        self.0.parts.iter().find_map(|part| part.get(handle))
    }

    /// The objects, by [`paths`](Self::paths); empty before its end. None of one that could not be loaded, and of levels.
    #[must_use]
    pub fn handles(&self) -> Vec<Option<UntypedHandle>> {
        lock(&self.0.held).by_path.to_vec()
    }

    /// How urgent it is.
    #[must_use]
    pub fn priority(&self) -> f32 {
        self.0.priority()
    }

    /// Larger goes first; what is under way is told. Its parts, if it has any, get the same priority.
    pub fn set_priority(&self, priority: f32) {
        self.0.priority.store(priority.to_bits(), Ordering::Relaxed);
        self.0.parts.iter().for_each(|part| part.set_priority(priority));
        self.0.change();
    }

    /// Asks for nothing more. What is being read comes; what only waits for its turn is asked for again by [`resume`](Self::resume).
    pub fn pause(&self) {
        self.set_paused(true);
    }

    /// Goes on.
    pub fn resume(&self) {
        self.set_paused(false);
    }

    fn set_paused(&self, is_paused: bool) {
        self.0.is_paused.store(is_paused, Ordering::Relaxed);
        self.0.parts.iter().for_each(|part| part.set_paused(is_paused));
        self.0.change();
    }

    /// Gives it up: nothing more is loaded for it, it lets go of what it has, and ends as cancelled if it has not ended yet. Its parts too.
    pub fn cancel(&self) {
        self.0.is_cancelled.store(true, Ordering::Relaxed);
        let held = core::mem::take(&mut *lock(&self.0.held));
        drop(held);
        self.0.parts.iter().for_each(Self::cancel);
        self.0.change();
    }
}

impl fmt::Debug for Streamable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Streamable")
            .field("id", &self.id())
            .field("name", &self.name())
            .field("caller", &format_args!("{}", self.caller()))
            .field("state", &self.state())
            .finish_non_exhaustive()
    }
}
