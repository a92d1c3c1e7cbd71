//! Types that serialise themselves: whether their form is still the one that was stored. See [`same`] and [`lies_as_its_fields`].

use bevy_platform::collections::HashSet;
use bevy_reflect::{
    Reflect, ReflectDeserialize, ReflectSerialize, TypeRegistration, TypeRegistry, std_traits::ReflectDefault,
};

use super::{
    Plan,
    convert::convert_whole,
    read::{Decoder, Reader},
};
use crate::codec::{
    DecodeContext,
    reflect::{SchemaField, SchemaShape, SchemaTree},
};

/// Whether two types consist of the same parts, all the way down, when the first's are renamed as `plan` does.
pub(super) fn same(was: (&SchemaTree, usize), is: (&SchemaTree, usize), plan: &Plan) -> bool {
    Comparison {
        was: was.0,
        is: is.0,
        plan,
        seen: HashSet::default(),
    }
    .nodes(was.1, is.1)
}

struct Comparison<'a> {
    was: &'a SchemaTree,
    is: &'a SchemaTree,
    plan: &'a Plan,
    seen: HashSet<(usize, usize)>,
}

impl Comparison<'_> {
    fn nodes(&mut self, was_at: usize, is_at: usize) -> bool {
        // Types may contain themselves; a forged tree may be a long chain of them.
        let mut open = vec![(was_at, is_at)];
        while let Some((was_at, is_at)) = open.pop() {
            if !self.seen.insert((was_at, is_at)) {
                continue;
            }
            let (was, is) = (&self.was.nodes[was_at], &self.is.nodes[is_at]);
            let is_same = was.is_own == is.is_own
                && self.plan.renamed(&was.path) == is.path
                && shapes(&was.shape, &is.shape, &mut open);
            if !is_same {
                return false;
            }
        }
        true
    }
}

fn shapes(was: &SchemaShape, is: &SchemaShape, open: &mut Vec<(usize, usize)>) -> bool {
    use SchemaShape::{Array, Enum, Handle, Leaf, List, Map, Opaque, Option, Set, Struct, Tuple, TupleStruct};
    match (was, is) {
        (Struct(was), Struct(is)) | (TupleStruct(was), TupleStruct(is)) | (Tuple(was), Tuple(is)) => {
            fields(was, is, open)
        }
        (Enum(was), Enum(is)) => {
            let mut pairs = was.iter().zip(is);
            was.len() == is.len() && pairs.all(|(was, is)| was.0 == is.0 && fields(&was.1, &is.1, open))
        }
        (Option(was), Option(is)) | (List(was), List(is)) | (Set(was), Set(is)) => {
            open.push((*was, *is));
            true
        }
        (Array(was, was_len), Array(is, is_len)) => {
            open.push((*was, *is));
            was_len == is_len
        }
        (Map(was_key, was), Map(is_key, is)) => {
            open.extend([(*was_key, *is_key), (*was, *is)]);
            true
        }
        (Handle, Handle) | (Leaf, Leaf) | (Opaque, Opaque) => true,
        _ => false,
    }
}

fn fields(was: &[SchemaField], is: &[SchemaField], open: &mut Vec<(usize, usize)>) -> bool {
    open.extend(was.iter().zip(is).map(|(was, is)| (was.1, is.1)));
    was.len() == is.len() && was.iter().zip(is).all(|(was, is)| was.0 == is.0)
}

/// How many bytes of the default value are changed to see what becomes of it.
const MAX_TRIALS: usize = 64;

/// Whether a type that serialises itself does so as if it were its fields, one after the other, as `derive(Serialize)`
/// does where no attribute says otherwise. Then older values can be read by their stored fields.
///
/// It is tried: with its default value, and with that value's bytes changed one by one.
pub(super) fn lies_as_its_fields(registration: &TypeRegistration, now: &SchemaTree, registry: &TypeRegistry) -> bool {
    let Some(bytes) = registration
        .data::<ReflectDefault>()
        .and_then(|default| write(registration, &*default.default()))
    else {
        return false;
    };
    let decoder = Decoder::of_fields(now, registry);
    let by_fields = |bytes: &[u8]| {
        let context = DecodeContext {
            registry,
            entities: &[],
            handles: &[],
            mesh_attributes: &[],
        };
        let mut reader = Reader::new(&decoder, &context, bytes, 1);
        let value = reader.next().ok().filter(|_| reader.data.is_empty())?;
        write(registration, &*convert_whole(value, registration, &context).ok()?)
    };
    let agrees = |bytes: &[u8]| match read(registration, bytes) {
        Some(own) => write(registration, &*own) == by_fields(bytes),
        // What it does not take as its own says nothing.
        None => true,
    };
    by_fields(&bytes).as_ref() == Some(&bytes)
        && (0..bytes.len().min(MAX_TRIALS)).all(|at| {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            agrees(&changed)
        })
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
