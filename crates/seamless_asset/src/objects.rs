//! Which objects are live: one handle per object id, shared by everything that loads. See [`LiveObjects`].

use core::any::TypeId;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use bevy_asset::{AssetHandleProvider, StrongHandle, UntypedHandle};
use bevy_platform::collections::HashMap;
use seamless_package::ObjectId;

/// The map from object id to live handle.
///
/// Handles are the reference count: the map holds none itself. An object whose last handle is gone is reserved anew
/// by the next load that needs it. Usable from any thread; the lock is held for a look-up only.
#[derive(Clone, Default)]
pub struct LiveObjects {
    objects: Arc<Mutex<HashMap<ObjectId, Entry>>>,
    providers: Arc<Mutex<HashMap<TypeId, AssetHandleProvider>>>,
}

struct Entry {
    handle: Weak<StrongHandle>,
    value: Value,
}

/// Where the value of a handle comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Value {
    /// Not yet in `Assets`: it was reserved by an import, or a load is decoding it.
    Missing,
    /// It is in `Assets`.
    Live,
}

/// A handle, and whether the caller has to provide its value.
pub struct Claim {
    /// The object's handle.
    pub handle: UntypedHandle,
    /// Whether nobody else provides the value.
    pub provide: bool,
}

impl LiveObjects {
    /// Makes handles of `type_id` available to tasks.
    pub(crate) fn set_provider(&self, type_id: TypeId, provider: AssetHandleProvider) {
        lock(&self.providers).insert(type_id, provider);
    }

    /// The handle of an object that another package provides. `None` when the app lacks the asset type.
    #[must_use]
    pub fn acquire(&self, id: ObjectId, type_id: TypeId) -> Option<UntypedHandle> {
        self.with_entry(id, type_id, |handle, _| handle)
    }

    /// The handle of an object that the caller has the bytes of. Two loads that race may both be asked to provide the
    /// value; the first to insert it wins.
    #[must_use]
    pub fn claim(&self, id: ObjectId, type_id: TypeId) -> Option<Claim> {
        self.with_entry(id, type_id, |handle, value| {
            let provide = *value == Value::Missing;
            Claim { handle, provide }
        })
    }

    /// Whether the value is still to be provided; if so, the caller does it now.
    pub(crate) fn provide(&self, id: ObjectId) -> bool {
        match lock(&self.objects).get_mut(&id) {
            Some(entry) if entry.value == Value::Missing => {
                entry.value = Value::Live;
                true
            }
            _ => false,
        }
    }

    /// The handle of an object that is live, if it is.
    #[must_use]
    pub fn get(&self, id: ObjectId) -> Option<UntypedHandle> {
        let objects = lock(&self.objects);
        let entry = objects.get(&id)?;
        (entry.value == Value::Live)
            .then(|| entry.handle.upgrade())
            .flatten()
            .map(UntypedHandle::Strong)
    }

    /// How many objects have a handle.
    #[must_use]
    pub fn len(&self) -> usize {
        let objects = lock(&self.objects);
        objects.values().filter(|entry| entry.handle.strong_count() > 0).count()
    }

    /// Whether no object has a handle.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn with_entry<T>(
        &self,
        id: ObjectId,
        type_id: TypeId,
        use_entry: impl FnOnce(UntypedHandle, &mut Value) -> T,
    ) -> Option<T> {
        let mut objects = lock(&self.objects);
        if let Some(entry) = objects.get_mut(&id)
            && let Some(handle) = entry.handle.upgrade()
        {
            return Some(use_entry(UntypedHandle::Strong(handle), &mut entry.value));
        }
        let handle = lock(&self.providers).get(&type_id)?.reserve_handle();
        let UntypedHandle::Strong(strong) = &handle else {
            return None;
        };
        let mut entry = Entry {
            handle: Arc::downgrade(strong),
            value: Value::Missing,
        };
        let result = use_entry(handle, &mut entry.value);
        if objects.len() == objects.capacity() {
            // Before the map grows it forgets who is gone, so it stays in proportion to what is live.
            objects.retain(|_, entry| entry.handle.strong_count() > 0);
        }
        objects.insert(id, entry);
        Some(result)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
