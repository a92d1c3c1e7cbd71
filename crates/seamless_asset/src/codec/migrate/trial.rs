//! Types that serialise themselves: whether they do it as `derive(Serialize)` does. See [`lies_as_its_fields`].

use bevy_reflect::{
    Reflect, ReflectDeserialize, ReflectSerialize, TypeRegistration, TypeRegistry, std_traits::ReflectDefault,
};

use super::{
    convert::convert_whole,
    read::{Decoder, Reader},
    sample::Samples,
};
use crate::codec::{DecodeContext, reflect::SchemaTree};

/// The longest value that is tried: each of its bytes is changed once.
pub(super) const MAX_BYTES: usize = 4096;

/// Whether a type that serialises itself does so as if it were its fields, one after the other, as `derive(Serialize)`
/// does where no attribute says otherwise. Then older values can be read by their stored fields.
///
/// It is tried: with its default value, with values that have every variant and every part of it somewhere, and with
/// those values' bytes changed one by one. What cannot be tried is not trusted.
pub(super) fn lies_as_its_fields(registration: &TypeRegistration, now: &SchemaTree, registry: &TypeRegistry) -> bool {
    let default = registration.data::<ReflectDefault>().map(|default| default.default());
    let Some(default) = default.and_then(|default| write(registration, &*default)) else {
        return false;
    };
    let decoder = Decoder::of_fields(now, registry);
    let context = context(registry);
    let Some(samples) = Samples::of(now, &decoder, &context) else {
        return false;
    };
    let trial = Trial {
        registration,
        decoder: &decoder,
        context: &context,
    };
    trial.agrees_around(&default) && samples.all(|sample| trial.takes(&sample) && trial.agrees_around(&sample))
}

/// Nothing but the types.
fn context(registry: &TypeRegistry) -> DecodeContext<'_> {
    DecodeContext {
        registry,
        entities: &[],
        handles: &[],
        mesh_attributes: &[],
        object: None,
    }
}

struct Trial<'a> {
    registration: &'a TypeRegistration,
    decoder: &'a Decoder,
    context: &'a DecodeContext<'a>,
}

impl Trial<'_> {
    /// The value that the fields in `bytes` make, as the type writes it.
    fn by_fields(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut reader = Reader::new(self.decoder, self.context, bytes, 1);
        let value = reader.next().ok().filter(|_| reader.data.is_empty())?;
        let value = convert_whole(value, self.registration, self.context).ok()?;
        write(self.registration, &*value)
    }

    /// Whether the type reads such fields at all.
    fn takes(&self, bytes: &[u8]) -> bool {
        read(self.registration, bytes).is_some()
    }

    /// Whether the type reads and writes `bytes` as its fields, and bytes like them too.
    fn agrees_around(&self, bytes: &[u8]) -> bool {
        let agrees = |bytes: &[u8]| match read(self.registration, bytes) {
            Some(own) => write(self.registration, &*own) == self.by_fields(bytes),
            // What it does not take as its own says nothing.
            None => true,
        };
        bytes.len() <= MAX_BYTES
            && agrees(bytes)
            && self.by_fields(bytes).as_deref() == Some(bytes)
            && (0..bytes.len()).all(|at| {
                let mut changed = bytes.to_vec();
                changed[at] ^= 1;
                agrees(&changed)
            })
    }
}

fn write(registration: &TypeRegistration, value: &dyn Reflect) -> Option<Vec<u8>> {
    let serialize = registration.data::<ReflectSerialize>()?;
    postcard::to_allocvec(&*serialize.get_serializable(value)).ok()
}

fn read(registration: &TypeRegistration, bytes: &[u8]) -> Option<Box<dyn Reflect>> {
    let mut bytes = postcard::Deserializer::from_bytes(bytes);
    let value = registration
        .data::<ReflectDeserialize>()?
        .deserialize(&mut bytes)
        .ok()?;
    bytes.finalize().ok()?.is_empty().then_some(value)
}
