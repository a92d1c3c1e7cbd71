//! Where requests come in, and who is held. See [`StreamableHub`].

use core::{
    panic::Location,
    sync::atomic::{AtomicU64, Ordering},
};
use std::sync::{Arc, Mutex, Weak};

use bevy_ecs::resource::Resource;
use bevy_platform::{
    collections::{HashMap, HashSet},
    hash::PassHash,
};

use super::{
    Streamable, StreamableId, StreamableRequest,
    active::Active,
    loads::Loads,
    shared::{Late, Shared, lock},
};
use crate::soft::SoftPath;

/// All streamables of an app. Who asks only reads it.
#[derive(Resource, Default)]
pub(crate) struct StreamableHub {
    next: AtomicU64,
    incoming: Mutex<Vec<Arc<Shared>>>,
    pub(super) late: Late,
    pub(super) active: Vec<Active>,
    /// Those that have ended, as long as somebody holds them.
    pub(super) held: Vec<Weak<Shared>>,
    pub(super) loads: Loads,
    /// Hashes of the paths that are under way, and how many want them.
    pub(super) wanted: HashMap<u64, u32, PassHash>,
    /// When the ended ones that nobody holds are forgotten next: when there are so many.
    pub(super) sweep_at: usize,
}

impl StreamableHub {
    /// Takes a request in; it is looked at in the next [`drive`](super::drive).
    pub fn request(&self, request: StreamableRequest, caller: &'static Location<'static>) -> Streamable {
        let StreamableRequest {
            name,
            paths,
            priority,
            is_paused,
        } = request;
        let mut seen = HashSet::new();
        let paths: Box<[SoftPath]> = paths.into_iter().filter(|path| seen.insert(path.clone())).collect();
        let id = self.next();
        let late = self.late.clone();
        self.add(Shared::new(
            id,
            name,
            caller,
            (paths, Box::default()),
            (priority, is_paused),
            late,
        ))
    }

    /// One that ends with these.
    pub fn combine(&self, name: Arc<str>, parts: Box<[Streamable]>, caller: &'static Location<'static>) -> Streamable {
        let priority = parts.iter().map(Streamable::priority).fold(f32::MIN, f32::max);
        let id = self.next();
        let late = self.late.clone();
        self.add(Shared::new(
            id,
            name,
            caller,
            (Box::default(), parts),
            (priority, false),
            late,
        ))
    }

    fn next(&self) -> StreamableId {
        StreamableId(self.next.fetch_add(1, Ordering::Relaxed))
    }

    fn add(&self, shared: Shared) -> Streamable {
        let shared = Arc::new(shared);
        lock(&self.incoming).push(shared.clone());
        Streamable(shared)
    }

    /// What has come in since the last time.
    pub(super) fn take_incoming(&self) -> Vec<Arc<Shared>> {
        core::mem::take(&mut *lock(&self.incoming))
    }

    /// Whether a path is under way for a streamable.
    pub fn is_wanted(&self, hash: u64) -> bool {
        self.wanted.contains_key(&hash)
            || lock(&self.incoming)
                .iter()
                .any(|shared| shared.paths.iter().any(|path| path.hash() == hash))
    }

    /// A streamable is over.
    pub(super) fn let_go(&mut self, active: &Active) {
        for hash in &active.hashes {
            if let Some(count) = self.wanted.get_mut(hash) {
                *count -= 1;
                if *count == 0 {
                    self.wanted.remove(hash);
                }
            }
        }
    }

    /// Forgets the ended ones that nobody holds, when there are many: so they stay in proportion to what is held.
    pub(super) fn sweep(&mut self) {
        if self.held.len() >= self.sweep_at {
            self.held.retain(|shared| shared.strong_count() > 0);
            self.sweep_at = (self.held.len() * 2).max(64);
        }
    }

    /// All that somebody holds, at work or ended, in the order of their requests.
    pub(super) fn all(&self) -> Vec<Streamable> {
        let incoming = lock(&self.incoming).clone();
        let active = self.active.iter().filter_map(|active| active.shared.upgrade());
        let held = self.held.iter().filter_map(Weak::upgrade);
        let mut all: Vec<_> = held.chain(active).chain(incoming).map(Streamable).collect();
        all.sort_by_key(Streamable::id);
        all
    }
}
