//! What soft handles lead to, so that they are resolved without a lock. See [`SoftTable`].

use core::any::TypeId;
use std::sync::{
    Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak,
    atomic::{AtomicBool, Ordering},
};

use bevy_asset::{Asset, StrongHandle, UntypedAssetId, UntypedHandle};
use bevy_ecs::resource::Resource;
use bevy_platform::{collections::HashMap, hash::PassHash};

use super::{
    SoftHandle, SoftPath,
    hint::{Hint, MOST_ROWS, Mark},
};
use crate::{
    linker::Linkers,
    objects::{LiveId, LiveObjects, Slot},
    registry::ObjectRegistries,
};

/// Paths that were asked for and are not in the table, kept until the next frame: more are looked up the slow way again.
const MOST_MISSES: usize = 1024;

/// What was found out about paths, by their hashes. Who asks only reads it; what is not in it is noted, looked up the slow way, and put in
/// once a frame.
#[derive(Resource)]
pub(crate) struct SoftTable {
    rows: Vec<Row>,
    index: HashMap<u64, u32, PassHash>,
    misses: Mutex<Vec<SoftPath>>,
    has_misses: AtomicBool,
    /// Of the registries that it is made by.
    generation: u64,
    live: LiveObjects,
    linkers: Linkers,
}

/// What is known of a path.
struct Row {
    mark: Mark,
    /// Whose value is there with all that it refers to, once it was seen to be: it is as long as the handle is.
    complete: OnceLock<UntypedAssetId>,
    hash: u64,
    path: Arc<str>,
    /// As what it was looked for, or found.
    type_id: Option<TypeId>,
    handle: Weak<StrongHandle>,
    slot: Option<Slot>,
    /// How many handles were reserved when there was none for it.
    reserved: u64,
}

/// What became of a look into the table.
pub(crate) enum Look {
    Loaded(Arc<StrongHandle>),
    /// Somebody has a handle, and the value, or a part of what it refers to, is not there yet.
    OnItsWay,
    Absent,
    /// The table does not know.
    Unknown,
}

impl SoftTable {
    pub fn new(live: LiveObjects, linkers: Linkers) -> Self {
        Self {
            rows: Vec::new(),
            index: HashMap::default(),
            misses: Mutex::default(),
            has_misses: AtomicBool::new(false),
            generation: 0,
            live,
            linkers,
        }
    }

    /// Forgets all, if the registries are others.
    pub fn follow(&mut self, generation: u64) {
        if self.generation != generation {
            self.generation = generation;
            self.rows.clear();
            self.index.clear();
        }
    }

    /// The object in the row where a handle was found before, if it is live with all that it refers to.
    #[inline]
    pub fn look_there(&self, hint: &Hint) -> Option<Arc<StrongHandle>> {
        let (row, _) = self.complete_there(hint)?;
        row.handle.upgrade()
    }

    /// As [`look_there`](Self::look_there), where somebody else has the handle: counts nobody.
    #[inline]
    pub fn id_there(&self, hint: &Hint) -> Option<UntypedAssetId> {
        let (row, id) = self.complete_there(hint)?;
        (row.handle.strong_count() > 0).then_some(id)
    }

    #[inline]
    fn complete_there(&self, hint: &Hint) -> Option<(&Row, UntypedAssetId)> {
        let mark = hint.get();
        let row = self.rows.get(mark.row()).filter(|row| row.mark == mark)?;
        Some((row, *row.complete.get()?))
    }

    /// What the table has of a handle. Takes no lock and allocates nothing.
    pub fn look<T: Asset>(&self, handle: &SoftHandle<T>) -> Look {
        let (path, hash) = handle.parts();
        let row = self.index.get(&hash).and_then(|row| self.rows.get(*row as usize));
        let is_it =
            |row: &&Row| row.type_id == Some(TypeId::of::<T>()) && (Arc::ptr_eq(&row.path, path) || row.path == *path);
        let Some(row) = row.filter(is_it) else {
            return Look::Unknown;
        };
        handle.hint().set(row.mark);
        match row.look() {
            Look::Absent => row.absent(&self.live),
            look => look,
        }
    }

    /// What there is of a path, the slow way: by the registries, and a look-up in the map of live objects. Noted, so that it is in the table
    /// from the next frame on.
    pub fn find(&self, path: &SoftPath, registries: &ObjectRegistries) -> Look {
        self.note(path);
        self.row(path, registries).map_or(Look::Absent, |row| row.look())
    }

    fn note(&self, path: &SoftPath) {
        let mut misses = self.misses();
        if misses.len() < MOST_MISSES {
            misses.push(path.clone());
            self.has_misses.store(true, Ordering::Relaxed);
        }
    }

    fn misses(&self) -> MutexGuard<'_, Vec<SoftPath>> {
        self.misses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts in what was asked for since the last time, up to so many rows.
    pub fn take_misses(&mut self, registries: &ObjectRegistries, most: usize) {
        if !self.has_misses.swap(false, Ordering::Relaxed) {
            return;
        }
        let misses = core::mem::take(&mut *self.misses());
        for path in misses {
            if let Some(row) = self.row(&path, registries) {
                self.insert(row, most);
            }
        }
    }

    /// Puts a path in that has just been loaded.
    pub fn learn(&mut self, path: &SoftPath, registries: &ObjectRegistries, most: usize) {
        if let Some(row) = self.row(path, registries) {
            self.insert(row, most);
        }
    }

    fn insert(&mut self, row: Row, most: usize) {
        let most = most.min(MOST_ROWS);
        if self.rows.len() >= most && !self.index.contains_key(&row.hash) {
            // Who is gone is forgotten first. Whoever has no room is looked up the slow way.
            self.forget();
            if self.rows.len() >= most {
                return;
            }
        }
        let at = *self.index.entry(row.hash).or_insert(self.rows.len() as u32) as usize;
        let mark = Mark::new(at);
        let row = Row { mark, ..row };
        match self.rows.get_mut(at) {
            Some(place) => *place = row,
            None => self.rows.push(row),
        }
    }

    /// Forgets who is gone.
    fn forget(&mut self) {
        self.rows.retain(|row| row.handle.strong_count() > 0);
        self.index.clear();
        for (at, row) in self.rows.iter_mut().enumerate() {
            row.mark = Mark::new(at);
            self.index.insert(row.hash, at as u32);
        }
    }

    /// What a path leads to now; none if nothing is known of it.
    fn row(&self, path: &SoftPath, registries: &ObjectRegistries) -> Option<Row> {
        let id = self.live_id(path, registries)?;
        let (watched, reserved) = self.live.watch(id, |type_id| path.fits(type_id));
        let (type_id, handle, slot) = match watched {
            Some(watched) => (Some(watched.type_id), watched.handle, Some(watched.slot)),
            None => (path.of().map(|of| of.id), Weak::new(), None),
        };
        Some(Row {
            mark: Hint::default().get(),
            complete: OnceLock::new(),
            hash: path.hash(),
            path: path.shared().clone(),
            type_id,
            handle,
            slot,
            reserved,
        })
    }

    /// The handle of an object that is live with all that it refers to.
    pub fn live(&self, id: LiveId) -> Option<UntypedHandle> {
        self.live.get(id)
    }

    /// The identity of what a path names.
    pub fn live_id(&self, path: &SoftPath, registries: &ObjectRegistries) -> Option<LiveId> {
        if let Some(found) = registries.resolve(path) {
            return Some(found.live_id());
        }
        self.id_at(path.path())
    }

    /// The identity of the object at an object path, if its package was ever open.
    pub fn id_at(&self, object_path: &str) -> Option<LiveId> {
        let (package, object) = object_path.split_once('#')?;
        let package = self.linkers.resolve(package).ok()?;
        self.linkers.live_id(&package, object)
    }

    /// Whether a path is that of an object in a package, and no source's.
    pub fn is_object_path(path: &str) -> bool {
        let package = path.split_once('#').map(|(package, _)| package);
        let extension = package.and_then(|package| package.rsplit_once('.'));
        extension.is_some_and(|(_, extension)| extension == crate::linker::PACKAGE_EXTENSION)
    }

    /// How many paths it knows.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.rows.len()
    }
}

impl Row {
    fn look(&self) -> Look {
        let Some(slot) = &self.slot else {
            return Look::Absent;
        };
        match self.handle.upgrade() {
            Some(handle) if slot.is_complete() => {
                self.complete.get_or_init(|| UntypedHandle::Strong(handle.clone()).id());
                Look::Loaded(handle)
            }
            Some(_) => Look::OnItsWay,
            None => Look::Absent,
        }
    }

    /// Nobody has it, unless somebody came since.
    fn absent(&self, live: &LiveObjects) -> Look {
        match live.reserved() == self.reserved {
            true => Look::Absent,
            false => Look::Unknown,
        }
    }
}
