//! Reflected values as bytes. See [`encode_reflected`].

use core::cell::{Cell, RefCell};

use bevy_asset::{ReflectHandle, UntypedHandle};
use bevy_reflect::{
    PartialReflect, Reflect, ReflectRef, ReflectSerialize, TypeRegistry,
    serde::{ReflectSerializeWithRegistry, ReflectSerializerProcessor, TypedReflectSerializer},
};
use serde::{
    Serialize, Serializer,
    ser::{Error, SerializeMap, SerializeSeq},
};

use super::{MAX_DEPTH, StoredHandle, TOO_DEEP};
use crate::codec::{EncodeContext, EncodeError};
use crate::soft::ReflectSoftHandle;

/// Appends `value`; its handles become references of the export.
///
/// Maps and sets are written in the order of their keys' bytes, so the same value always has the same bytes.
///
/// # Errors
/// When a type in it is not registered, or cannot be written.
pub fn encode_reflected(
    value: &dyn Reflect,
    context: &mut EncodeContext,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let registry = context.registry;
    let writer = Writer::new(Handles::References(RefCell::new(context)), 0);
    let bytes = writer.bytes(value.as_partial_reflect(), registry).map_err(|error| {
        let is_too_deep = writer.depth.get() == usize::MAX;
        EncodeError::Reflect {
            type_path: value.reflect_type_path().to_owned(),
            message: if is_too_deep {
                TOO_DEEP.to_owned()
            } else {
                error.to_string()
            },
        }
    })?;
    out.extend_from_slice(&bytes);
    Ok(())
}

/// What becomes of handles.
enum Handles<'a, 'b> {
    References(RefCell<&'a mut EncodeContext<'b>>),
    /// Nothing is noted: the bytes are compared only, in an order that is the same for every run.
    Paths,
}

/// Writes handles and unordered collections, and counts how deep the value is nested.
struct Writer<'a, 'b> {
    handles: Handles<'a, 'b>,
    depth: Cell<usize>,
    /// The value that comes next has been counted.
    is_counted: Cell<bool>,
}

impl<'a, 'b> Writer<'a, 'b> {
    fn new(handles: Handles<'a, 'b>, depth: usize) -> Self {
        Self {
            handles,
            depth: Cell::new(depth),
            is_counted: Cell::default(),
        }
    }

    fn bytes(&self, value: &dyn PartialReflect, registry: &TypeRegistry) -> postcard::Result<Vec<u8>> {
        postcard::to_allocvec(&TypedReflectSerializer::with_processor(value, registry, self))
    }

    /// As Bevy's serialiser would write the value where it has no more to do with handles; `Err` gives the serialiser back.
    fn collection<S: Serializer>(
        &self,
        value: &dyn PartialReflect,
        registry: &TypeRegistry,
        serializer: S,
    ) -> Result<Result<S::Ok, S>, S::Error> {
        if writes_itself(value, registry) {
            return Ok(Err(serializer));
        }
        let part = |part| TypedReflectSerializer::with_processor(part, registry, self);
        match value.reflect_ref() {
            ReflectRef::Map(map) => {
                let mut state = serializer.serialize_map(Some(map.len()))?;
                let sorted = self.sorted(map.iter(), |(key, _)| *key, registry);
                for (key, value) in sorted.map_err(Error::custom)? {
                    state.serialize_entry(&part(key), &part(value))?;
                }
                state.end().map(Ok)
            }
            ReflectRef::Set(set) => {
                let mut state = serializer.serialize_seq(Some(set.len()))?;
                for item in self.sorted(set.iter(), |item| *item, registry).map_err(Error::custom)? {
                    state.serialize_element(&part(item))?;
                }
                state.end().map(Ok)
            }
            _ => Ok(Err(serializer)),
        }
    }

    /// The items by the bytes of their keys.
    fn sorted<'v, T>(
        &self,
        items: impl Iterator<Item = T>,
        key: impl Fn(&T) -> &'v dyn PartialReflect,
        registry: &TypeRegistry,
    ) -> postcard::Result<Vec<T>> {
        let keyed = items.map(|item| {
            let writer = Writer::new(Handles::Paths, self.depth.get());
            let bytes = writer.bytes(key(&item), registry);
            // Whether it was the depth.
            Ok((bytes.inspect_err(|_| self.depth.set(writer.depth.get()))?, item))
        });
        let mut keyed: Vec<_> = keyed.collect::<postcard::Result<_>>()?;
        keyed.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(keyed.into_iter().map(|(_, item)| item).collect())
    }

    /// What a soft handle names is told to the cooker; it is written like any other value.
    fn tell_soft(&self, value: &dyn PartialReflect, registry: &TypeRegistry) {
        let Handles::References(context) = &self.handles else {
            return;
        };
        let Some(value) = value.try_as_reflect() else { return };
        let soft = registry.get_type_data::<ReflectSoftHandle>(value.as_any().type_id());
        if let Some(reference) = soft.and_then(|soft| soft.reference(value)) {
            context.borrow_mut().soft_reference(reference);
        }
    }

    fn handle<S: Serializer>(&self, handle: &UntypedHandle, serializer: S) -> Result<S::Ok, S::Error> {
        let stored = match (handle, &self.handles) {
            (UntypedHandle::Uuid { uuid, .. }, _) => StoredHandle::Uuid(uuid.into_bytes()),
            (strong, Handles::References(context)) => StoredHandle::Object(context.borrow_mut().reference(strong)),
            (strong, Handles::Paths) => {
                let path = strong.path().map(ToString::to_string);
                return path.serialize(serializer);
            }
        };
        stored.serialize(serializer)
    }
}

/// Whether Bevy's serialiser leaves it to the type how it is written.
fn writes_itself(value: &dyn PartialReflect, registry: &TypeRegistry) -> bool {
    let type_id = value.try_as_reflect().map(|value| value.as_any().type_id());
    let registration = type_id.and_then(|type_id| registry.get(type_id));
    registration.is_some_and(|registration| {
        registration.contains::<ReflectSerialize>() || registration.contains::<ReflectSerializeWithRegistry>()
    })
}

impl ReflectSerializerProcessor for Writer<'_, '_> {
    fn try_serialize<S: Serializer>(
        &self,
        value: &dyn PartialReflect,
        registry: &TypeRegistry,
        serializer: S,
    ) -> Result<Result<S::Ok, S>, S::Error> {
        let handle = value.try_as_reflect().and_then(|value| {
            let reflect_handle = registry.get_type_data::<ReflectHandle>(value.as_any().type_id())?;
            reflect_handle.downcast_handle_untyped(value.as_any())
        });
        if let Some(handle) = handle {
            return self.handle(&handle, serializer).map(Ok);
        }
        if self.is_counted.take() {
            self.tell_soft(value, registry);
            return self.collection(value, registry, serializer);
        }
        // As for reading: Bevy tells when a value begins, not when it ends.
        let depth = self.depth.get();
        if depth >= MAX_DEPTH {
            self.depth.set(usize::MAX);
            return Err(Error::custom(TOO_DEEP));
        }
        self.depth.set(depth + 1);
        self.is_counted.set(true);
        let written = TypedReflectSerializer::with_processor(value, registry, self).serialize(serializer)?;
        self.depth.set(depth);
        Ok(Ok(written))
    }
}
