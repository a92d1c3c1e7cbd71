//! Which objects are live: one handle per object id, shared by everything that loads. See [`LiveObjects`].

use core::{
    any::TypeId,
    sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
};
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use bevy_asset::{AssetHandleProvider, AssetPath, StrongHandle, UntypedHandle, io::AssetSourceId};
use bevy_platform::collections::HashMap;
use seamless_package::ObjectId;
use smallvec::SmallVec;
use xxhash_rust::xxh3::xxh3_64;

use crate::linker::folder_of;

/// The folder that packages were cooked into together, as this app finds it: what their asset paths have in front of their names, asset
/// source included. Empty for a cook at the root of the default source, else with a slash at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CookFolder(u64);

impl Default for CookFolder {
    /// The root of the default asset source.
    fn default() -> Self {
        Self::new("")
    }
}

impl CookFolder {
    /// That of this path.
    #[must_use]
    pub fn new(folder: &str) -> Self {
        Self(xxh3_64(folder.as_bytes()))
    }

    /// That of the package at this path, which was cooked under this name.
    pub(crate) fn of(path: &AssetPath, name: &str) -> Self {
        let folder = folder_of(path, name);
        match path.source() {
            AssetSourceId::Default => Self::new(&folder),
            AssetSourceId::Name(source) => Self::new(&format!("{source}://{folder}")),
        }
    }

    /// An object of this cook.
    #[must_use]
    pub fn object(self, object: ObjectId) -> LiveId {
        LiveId { cook: self, object }
    }
}

/// Which object is live: its id, and whose cook it is of.
///
/// An [`ObjectId`] is made of names that are relative to the folder of the cook. Two worlds that were cooked into two folders may well
/// have a `levels/start.pkg` each, and these have nothing in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LiveId {
    cook: CookFolder,
    object: ObjectId,
}

impl LiveId {
    /// The object that is called so in a package that was cooked under this name, in a [`CookFolder`].
    #[must_use]
    pub fn new(folder: &str, package: &str, object: &str) -> Self {
        CookFolder::new(folder).object(ObjectId::new(package, object))
    }
}

/// The map from objects to live handles.
///
/// Handles are the reference count: the map holds none itself. An object whose last handle is gone is reserved anew
/// by the next load that needs it. Usable from any thread; the lock is held for a look-up only.
#[derive(Clone, Default)]
pub struct LiveObjects {
    objects: Arc<Mutex<HashMap<LiveId, Entries>>>,
    /// How many handles were ever reserved.
    reserved: Arc<AtomicU64>,
    providers: Arc<Mutex<HashMap<TypeId, AssetHandleProvider>>>,
}

/// An object has one type. An import that takes it for something else gets an entry of its own, which nobody will ever
/// provide, and does no harm to the object.
type Entries = SmallVec<[Entry; 1]>;

struct Entry {
    type_id: TypeId,
    handle: Weak<StrongHandle>,
    slot: Slot,
}

impl Entry {
    fn handle(&self) -> Option<UntypedHandle> {
        self.handle.upgrade().map(UntypedHandle::Strong)
    }
}

/// What is known of an object's handle; see [`LiveObjects::watch`].
pub(crate) struct Watched {
    pub type_id: TypeId,
    pub handle: Weak<StrongHandle>,
    pub slot: Slot,
}

/// What became of a handle's value. Shared by the map and by the loads that may provide the value, so that the main thread never
/// waits for the map's lock, whose holder may have been put to sleep.
///
/// ```text
/// reserved ─► live: the value is in `Assets` ─► complete: so is everything that it refers to
/// ```
/// Values of one closure become live one after the other, and a load that others' values are a part of may be cancelled in the
/// middle. Whoever finds an object complete needs no load; whoever finds it live spares the decoding, and loads what it refers to.
#[derive(Clone, Default)]
pub(crate) struct Slot(Arc<SlotState>);

#[derive(Default)]
struct SlotState {
    is_live: AtomicBool,
    is_complete: AtomicBool,
    is_rendered: AtomicBool,
    fingerprint: AtomicU64,
    /// What the value takes in memory, about; nothing as long as it is not there. The main thread writes this and the next.
    bytes: AtomicU64,
    /// How many packages keep it.
    holders: AtomicU32,
}

impl Slot {
    /// Whether the value is still to be provided; if so, the caller does it now, with the one of this fingerprint. A rendered one is
    /// something that gates wait for.
    pub fn provide(&self, fingerprint: u64, is_rendered: bool) -> bool {
        let is_first = !self.0.is_live.swap(true, Ordering::AcqRel);
        if is_first {
            self.0.is_rendered.store(is_rendered, Ordering::Release);
            self.replace(fingerprint);
        }
        is_first
    }

    /// The caller puts a value of this fingerprint over the one that is there.
    pub fn replace(&self, fingerprint: u64) {
        self.0.fingerprint.store(fingerprint, Ordering::Relaxed);
    }

    pub fn is_live(&self) -> bool {
        self.0.is_live.load(Ordering::Acquire)
    }

    pub fn is_rendered(&self) -> bool {
        self.0.is_rendered.load(Ordering::Acquire)
    }

    /// What the value takes in memory, about.
    pub fn bytes(&self) -> u64 {
        self.0.bytes.load(Ordering::Relaxed)
    }

    /// Says what the value takes; gives what it took before.
    pub fn set_bytes(&self, bytes: u64) -> u64 {
        self.0.bytes.swap(bytes, Ordering::Relaxed)
    }

    /// A package keeps it; whether that is the first one.
    pub fn hold(&self) -> bool {
        self.0.holders.fetch_add(1, Ordering::Relaxed) == 0
    }

    /// A package keeps it no more; whether that was the last one.
    pub fn let_go(&self) -> bool {
        self.0.holders.fetch_sub(1, Ordering::Relaxed) == 1
    }

    /// Whether any package keeps it.
    pub fn is_held(&self) -> bool {
        self.0.holders.load(Ordering::Relaxed) > 0
    }

    /// Tells it from others, as long as it is there.
    pub fn address(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    /// Everything that the value refers to is live.
    pub fn complete(&self) {
        self.0.is_complete.store(true, Ordering::Release);
    }

    pub fn is_complete(&self) -> bool {
        self.0.is_complete.load(Ordering::Acquire)
    }

    /// Whether its value is known to be of this fingerprint, which is 0 where nothing is known.
    pub fn has(&self, fingerprint: u64) -> bool {
        fingerprint != 0 && self.0.fingerprint.load(Ordering::Relaxed) == fingerprint
    }
}

impl LiveObjects {
    /// Makes handles of `type_id` available to tasks.
    pub(crate) fn set_provider(&self, type_id: TypeId, provider: AssetHandleProvider) {
        lock(&self.providers).insert(type_id, provider);
    }

    /// The handle of an object that another package provides. `None` when the app lacks the asset type.
    #[must_use]
    pub fn acquire(&self, id: LiveId, type_id: TypeId) -> Option<UntypedHandle> {
        self.with_entry(id, type_id, |handle, _| handle)
    }

    /// As [`acquire`](Self::acquire), with what tells whether the value is there. Two loads that race may both find that it is not
    /// and decode it; the first to insert it wins.
    pub(crate) fn acquire_slot(&self, id: LiveId, type_id: TypeId) -> Option<(UntypedHandle, Slot)> {
        self.with_entry(id, type_id, |handle, slot| (handle, slot.clone()))
    }

    /// The handle of an object that is live with all that it refers to, if it is.
    #[must_use]
    pub fn get(&self, id: LiveId) -> Option<UntypedHandle> {
        self.find(id, Slot::is_complete)
    }

    /// The handle of an object whose value is there, if it is.
    pub(crate) fn provided(&self, id: LiveId) -> Option<UntypedHandle> {
        self.find(id, Slot::is_live)
    }

    /// The handle of an object, whether its value is there or not, with what tells that, for who looks often; and how many were
    /// [`reserved`](Self::reserved) by then.
    pub(crate) fn watch(&self, id: LiveId, is_it: impl Fn(TypeId) -> bool) -> (Option<Watched>, u64) {
        let objects = lock(&self.objects);
        let entries = objects.get(&id).into_iter().flatten();
        let mut fitting = entries.filter(|entry| entry.handle.strong_count() > 0 && is_it(entry.type_id));
        let watched = fitting.next().map(|entry| Watched {
            type_id: entry.type_id,
            handle: entry.handle.clone(),
            slot: entry.slot.clone(),
        });
        (watched, self.reserved())
    }

    /// How many handles were ever reserved. As long as it stays the same, who was not live is not. Takes no lock.
    pub(crate) fn reserved(&self) -> u64 {
        self.reserved.load(Ordering::Acquire)
    }

    fn find(&self, id: LiveId, is_it: fn(&Slot) -> bool) -> Option<UntypedHandle> {
        let objects = lock(&self.objects);
        let mut found = objects.get(&id)?.iter().filter(|entry| is_it(&entry.slot));
        found.find_map(Entry::handle)
    }

    /// Whether the value of an object is known to be of this fingerprint.
    pub(crate) fn has(&self, id: LiveId, fingerprint: u64) -> bool {
        let objects = lock(&self.objects);
        let mut entries = objects.get(&id).into_iter().flatten();
        entries.any(|entry| entry.slot.is_live() && entry.slot.has(fingerprint))
    }

    /// How many objects have a handle.
    #[must_use]
    pub fn len(&self) -> usize {
        let objects = lock(&self.objects);
        let entries = objects.values().flatten();
        entries.filter(|entry| entry.handle.strong_count() > 0).count()
    }

    /// Whether no object has a handle.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn with_entry<T>(
        &self,
        id: LiveId,
        type_id: TypeId,
        use_entry: impl FnOnce(UntypedHandle, &Slot) -> T,
    ) -> Option<T> {
        let mut objects = lock(&self.objects);
        let known = objects.get(&id).into_iter().flatten();
        for entry in known.filter(|entry| entry.type_id == type_id) {
            if let Some(handle) = entry.handle.upgrade() {
                return Some(use_entry(UntypedHandle::Strong(handle), &entry.slot));
            }
        }
        let handle = lock(&self.providers).get(&type_id)?.reserve_handle();
        let UntypedHandle::Strong(strong) = &handle else {
            return None;
        };
        let entry = Entry {
            type_id,
            handle: Arc::downgrade(strong),
            slot: Slot::default(),
        };
        self.reserved.fetch_add(1, Ordering::AcqRel);
        let result = use_entry(handle, &entry.slot);
        if objects.len() == objects.capacity() {
            // Before the map grows it forgets who is gone, so it stays in proportion to what is live.
            objects.retain(|_, entries| entries.iter().any(|entry| entry.handle.strong_count() > 0));
        }
        let entries = objects.entry(id).or_default();
        entries.retain(|entry| entry.type_id != type_id);
        entries.push(entry);
        Some(result)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
