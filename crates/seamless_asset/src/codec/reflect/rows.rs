//! Many reflected values of one type, each read over an earlier one. See [`RowDecoder`].

use bevy_reflect::{PartialReflect, Reflect, ReflectMut, TypeRegistration, list};
use serde::de::DeserializeOwned;

use super::{
    MAX_DEPTH, decode_nested, decode_reflected, from_reflect, read_handle,
    shape::{Kind, Node, Shape, Variants},
};
use crate::codec::{DecodeContext, DecodeError};

/// Reads one value after the other.
///
/// Bevy's deserialiser makes each value from dynamic ones: every field is boxed, found by name and converted. This one keeps
/// a value of each type, overwrites its fields in place, and makes the row from it with the type's `FromReflect`, as Bevy does
/// from the dynamic one. The first value of a type or of an enum's variant goes Bevy's way, and so do parts that have no
/// fields to overwrite: maps and sets for instance. Both ways read the same bytes; the tests compare what they make of
/// them. Should a type be stranger than that, its rows are read Bevy's way.
pub(super) struct RowDecoder<'a> {
    registration: &'a TypeRegistration,
    context: &'a DecodeContext<'a>,
    shape: Shape<'a>,
    scratch: Scratch,
    /// A row could be read Bevy's way only.
    pub is_strange: bool,
}

/// For each node of the shape a value to overwrite; for an enum one of each variant.
type Scratch = Vec<Vec<Option<Box<dyn Reflect>>>>;

impl<'a> RowDecoder<'a> {
    /// A decoder of values of the registered type.
    pub fn new(registration: &'a TypeRegistration, context: &'a DecodeContext<'a>) -> Self {
        let shape = Shape::of(registration, context.registry);
        let scratch = shape.nodes.iter().map(|_| Vec::new()).collect();
        Self {
            registration,
            context,
            shape,
            scratch,
            is_strange: false,
        }
    }

    /// Takes one value off the front of `data`.
    ///
    /// # Errors
    /// When the bytes are no such value, or a reference in it leads nowhere.
    pub fn next(&mut self, data: &mut &[u8]) -> Result<Box<dyn Reflect>, DecodeError> {
        if !self.is_strange {
            let mut reader = Reader {
                context: self.context,
                nodes: &self.shape.nodes,
                scratch: &mut self.scratch,
                data,
                depth: 0,
            };
            if let Ok(value) = reader.make(Shape::ROOT) {
                *data = reader.data;
                return Ok(value);
            }
        }
        let (value, rest) = decode_reflected(self.registration, data, self.context)?;
        self.is_strange = true;
        *data = rest;
        Ok(value)
    }
}

/// A value that this way cannot read. Bevy's way finds out what is wrong, if anything is.
struct Strange;

struct Reader<'r, 'a, 'd> {
    context: &'a DecodeContext<'a>,
    nodes: &'r [Node<'a>],
    scratch: &'r mut Scratch,
    data: &'d [u8],
    /// Values around the one that is read.
    depth: usize,
}

impl Reader<'_, '_, '_> {
    /// A new value of the node's type.
    fn make(&mut self, at: usize) -> Result<Box<dyn Reflect>, Strange> {
        let node = &self.nodes[at];
        let slot = match &node.kind {
            Kind::Whole => return self.whole(node),
            Kind::Handle(handle) => {
                let stored = self.take()?;
                return read_handle(handle, stored, self.context).map_err(|_| Strange);
            }
            Kind::Deserialize(deserialize) => {
                let mut bytes = postcard::Deserializer::from_bytes(self.data);
                let value = deserialize.deserialize(&mut bytes).map_err(|_| Strange)?;
                self.data = bytes.finalize().map_err(|_| Strange)?;
                return Ok(value);
            }
            Kind::Variants(variants) => variants.index(self.data).map_err(|_| Strange)?.0,
            Kind::Plain(_) | Kind::Fields(_) | Kind::Array(..) | Kind::List(_) => 0,
        };
        // Taken: what an error leaves half written is not used again.
        if let Some(mut scratch) = self.scratch[at].get_mut(slot).and_then(Option::take) {
            self.overwrite(at, scratch.as_partial_reflect_mut())?;
            let value = from_reflect(node.registration, scratch.as_partial_reflect());
            self.keep(at, slot, Some(scratch));
            return value.ok_or(Strange);
        }
        let value = self.whole(node)?;
        // Only now it is known that there is such a variant.
        self.keep(at, slot, from_reflect(node.registration, value.as_partial_reflect()));
        Ok(value)
    }

    fn keep(&mut self, at: usize, slot: usize, value: Option<Box<dyn Reflect>>) {
        let slots = &mut self.scratch[at];
        if slots.len() <= slot {
            slots.resize_with(slot + 1, || None);
        }
        slots[slot] = value;
    }

    /// A new value, Bevy's way.
    fn whole(&mut self, node: &Node) -> Result<Box<dyn Reflect>, Strange> {
        let value = decode_nested(node.registration, self.data, self.context, self.depth);
        let (value, rest) = value.map_err(|_| Strange)?;
        self.data = rest;
        Ok(value)
    }

    /// A plain value that is part of the form.
    fn take<T: DeserializeOwned>(&mut self) -> Result<T, Strange> {
        let (value, rest) = postcard::take_from_bytes(self.data).map_err(|_| Strange)?;
        self.data = rest;
        Ok(value)
    }

    /// Overwrites all of `value`, which is of the node's type.
    fn overwrite(&mut self, at: usize, value: &mut dyn PartialReflect) -> Result<(), Strange> {
        match &self.nodes[at].kind {
            Kind::Plain(read) => {
                let value = value.try_as_reflect_mut().ok_or(Strange)?;
                self.data = read(value.as_any_mut(), self.data).map_err(|_| Strange)?;
                return Ok(());
            }
            Kind::Fields(fields) => return self.parts(fields.iter().copied(), value),
            Kind::Array(item, len) => return self.parts(core::iter::repeat_n(*item, *len), value),
            Kind::List(item) => return self.list(at, *item, value),
            Kind::Variants(variants) => {
                if let Some(fields) = self.fields_of_same_variant(variants, value) {
                    return self.parts(fields.iter().copied(), value);
                }
            }
            Kind::Handle(_) | Kind::Deserialize(_) | Kind::Whole => {}
        }
        replace(value, self.make(at)?)
    }

    /// The fields of the variant that comes next, if `value` is that variant already; its index is then read.
    fn fields_of_same_variant<'n>(
        &mut self,
        variants: &'n Variants,
        value: &mut dyn PartialReflect,
    ) -> Option<&'n [usize]> {
        let ReflectMut::Enum(value) = value.reflect_mut() else {
            return None;
        };
        let (index, rest) = variants.index(self.data).ok()?;
        let fields = variants.fields.get(index).filter(|_| index == value.variant_index())?;
        self.data = rest;
        Some(fields)
    }

    fn parts(&mut self, nodes: impl Iterator<Item = usize>, value: &mut dyn PartialReflect) -> Result<(), Strange> {
        self.descend()?;
        let mut value = value.reflect_mut();
        for (index, at) in nodes.enumerate() {
            let part = part_of(&mut value, index).ok_or(Strange)?;
            self.overwrite(at, part)?;
        }
        self.depth -= 1;
        Ok(())
    }

    /// To the parts of a value. After an error nobody comes back.
    fn descend(&mut self) -> Result<(), Strange> {
        self.depth += 1;
        if self.depth < MAX_DEPTH { Ok(()) } else { Err(Strange) }
    }

    fn list(&mut self, at: usize, item: usize, value: &mut dyn PartialReflect) -> Result<(), Strange> {
        let start = self.data;
        let len: usize = self.take()?;
        // Items without bytes are left to Bevy, and so are lengths that cannot be true.
        if len > self.data.len() {
            self.data = start;
            return replace(value, self.whole(&self.nodes[at])?);
        }
        let ReflectMut::List(list) = value.reflect_mut() else {
            return Err(Strange);
        };
        while list.len() > len {
            list.pop().ok_or(Strange)?;
        }
        if len == 0 {
            return Ok(());
        }
        self.descend()?;
        (0..len).try_for_each(|index| self.item(item, index, list))?;
        self.depth -= 1;
        Ok(())
    }

    /// An item that is there is overwritten, another is added.
    fn item(&mut self, item: usize, index: usize, list: &mut dyn list::List) -> Result<(), Strange> {
        if index < list.len() {
            let old = list.get_mut(index).ok_or(Strange)?;
            return self.overwrite(item, old);
        }
        let new = self.make(item)?;
        if new.as_any().type_id() != self.nodes[item].registration.type_id() {
            return Err(Strange);
        }
        list.push(new.into_partial_reflect());
        Ok(())
    }
}

fn replace(value: &mut dyn PartialReflect, new: Box<dyn Reflect>) -> Result<(), Strange> {
    let value = value.try_as_reflect_mut().ok_or(Strange)?;
    value.set(new).map_err(|_| Strange)
}

fn part_of<'v>(value: &'v mut ReflectMut, index: usize) -> Option<&'v mut dyn PartialReflect> {
    match value {
        ReflectMut::Struct(value) => value.field_at_mut(index),
        ReflectMut::TupleStruct(value) => value.field_mut(index),
        ReflectMut::Tuple(value) => value.field_mut(index),
        ReflectMut::Array(value) => value.get_mut(index),
        ReflectMut::Enum(value) => value.field_at_mut(index),
        _ => None,
    }
}
