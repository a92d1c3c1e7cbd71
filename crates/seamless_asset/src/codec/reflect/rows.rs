//! Many reflected values of one type, each read into a clone of an earlier one. See [`RowDecoder`].

use bevy_reflect::{PartialReflect, Reflect, ReflectMut, TypeRegistration};

use super::{
    decode_reflected, read_handle,
    shape::{Kind, Node, Shape, Variants},
};
use crate::codec::{DecodeContext, DecodeError};

/// Reads one value after the other.
///
/// Bevy's deserialiser makes each value from dynamic ones: every field is boxed, found by name and converted. This one clones
/// a value that it made before, and overwrites its fields in place. The first value of a type or of an enum's variant still
/// goes Bevy's way, and so do parts that have no fields to overwrite: maps and sets for instance. Both ways read the
/// same bytes; the tests compare what they make of them.
pub(super) struct RowDecoder<'a> {
    context: &'a DecodeContext<'a>,
    shape: Shape<'a>,
    templates: Templates,
}

/// For each node of the shape an earlier value; for an enum one of each variant.
type Templates = Vec<Vec<Option<Box<dyn Reflect>>>>;

impl<'a> RowDecoder<'a> {
    /// A decoder of values of the registered type.
    pub fn new(registration: &'a TypeRegistration, context: &'a DecodeContext<'a>) -> Self {
        let shape = Shape::of(registration, context.registry);
        let templates = shape.nodes.iter().map(|_| Vec::new()).collect();
        Self {
            context,
            shape,
            templates,
        }
    }

    /// Takes one value off the front of `data`.
    ///
    /// # Errors
    /// When the bytes are no such value, or a reference in it leads nowhere.
    pub fn next(&mut self, data: &mut &[u8]) -> Result<Box<dyn Reflect>, DecodeError> {
        let reader = Reader {
            context: self.context,
            nodes: &self.shape.nodes,
        };
        reader.make(Shape::ROOT, &mut self.templates, data)
    }
}

struct Reader<'r, 'a> {
    context: &'a DecodeContext<'a>,
    nodes: &'r [Node<'a>],
}

impl Reader<'_, '_> {
    /// A new value of the node's type.
    fn make(&self, at: usize, templates: &mut Templates, data: &mut &[u8]) -> Result<Box<dyn Reflect>, DecodeError> {
        let node = &self.nodes[at];
        let slot = match &node.kind {
            Kind::Whole => return self.whole(node, data),
            Kind::Handle(handle) => {
                let (stored, rest) = postcard::take_from_bytes(data).map_err(|error| node.error(error))?;
                *data = rest;
                return read_handle(handle, stored, self.context);
            }
            Kind::Deserialize(deserialize) => {
                let mut bytes = postcard::Deserializer::from_bytes(data);
                let value = deserialize.deserialize(&mut bytes).map_err(|error| node.error(error))?;
                *data = bytes.finalize().map_err(|error| node.error(error))?;
                return Ok(value);
            }
            Kind::Variants(variants) => variants.index(data).map_err(|error| node.error(error))?.0,
            Kind::Plain(_) | Kind::Fields(_) | Kind::Array(..) | Kind::List(_) => 0,
        };
        let template = templates[at].get(slot).and_then(Option::as_ref);
        if let Some(mut value) = template.and_then(|template| template.reflect_clone().ok()) {
            self.overwrite(at, value.as_partial_reflect_mut(), templates, data)?;
            return Ok(value);
        }
        let value = self.whole(node, data)?;
        // Only now it is known that there is such a variant.
        if templates[at].len() <= slot {
            templates[at].resize_with(slot + 1, || None);
        }
        templates[at][slot] = value.reflect_clone().ok();
        Ok(value)
    }

    /// A new value, Bevy's way.
    fn whole(&self, node: &Node, data: &mut &[u8]) -> Result<Box<dyn Reflect>, DecodeError> {
        let (value, rest) = decode_reflected(node.registration, data, self.context)?;
        *data = rest;
        Ok(value)
    }

    /// Overwrites all of `value`, which is of the node's type.
    fn overwrite(
        &self,
        at: usize,
        value: &mut dyn PartialReflect,
        templates: &mut Templates,
        data: &mut &[u8],
    ) -> Result<(), DecodeError> {
        let node = &self.nodes[at];
        match &node.kind {
            Kind::Plain(read) => {
                let value = value.try_as_reflect_mut().ok_or_else(|| node.error("it is dynamic"))?;
                *data = read(value.as_any_mut(), data).map_err(|error| node.error(error))?;
                return Ok(());
            }
            Kind::Fields(fields) => return self.parts(node, fields.iter().copied(), value, templates, data),
            Kind::Array(item, len) => {
                return self.parts(node, core::iter::repeat_n(*item, *len), value, templates, data);
            }
            Kind::List(item) => return self.list(node, *item, value, templates, data),
            Kind::Variants(variants) => {
                if let Some(fields) = overwritten_fields(variants, value, data) {
                    return self.parts(node, fields.iter().copied(), value, templates, data);
                }
            }
            Kind::Handle(_) | Kind::Deserialize(_) | Kind::Whole => {}
        }
        let new = self.make(at, templates, data)?;
        let value = value.try_as_reflect_mut().ok_or_else(|| node.error("it is dynamic"))?;
        value.set(new).map_err(|_| node.error("a part is of another type"))
    }

    fn parts(
        &self,
        node: &Node,
        nodes: impl Iterator<Item = usize>,
        value: &mut dyn PartialReflect,
        templates: &mut Templates,
        data: &mut &[u8],
    ) -> Result<(), DecodeError> {
        let mut value = value.reflect_mut();
        for (index, at) in nodes.enumerate() {
            let part = part_of(&mut value, index).ok_or_else(|| node.error("a part is missing"))?;
            self.overwrite(at, part, templates, data)?;
        }
        Ok(())
    }

    /// Items that are there are overwritten, others are added or taken away.
    fn list(
        &self,
        node: &Node,
        item: usize,
        value: &mut dyn PartialReflect,
        templates: &mut Templates,
        data: &mut &[u8],
    ) -> Result<(), DecodeError> {
        let (len, rest) = postcard::take_from_bytes::<usize>(data).map_err(|error| node.error(error))?;
        // Items without bytes are Bevy's business, and lengths that cannot be true.
        if len > rest.len() {
            let new = self.whole(node, data)?;
            let value = value.try_as_reflect_mut().ok_or_else(|| node.error("it is dynamic"))?;
            return value.set(new).map_err(|_| node.error("a part is of another type"));
        }
        let ReflectMut::List(list) = value.reflect_mut() else {
            return Err(node.error("it is no list"));
        };
        *data = rest;
        while list.len() > len {
            list.pop();
        }
        for index in 0..len {
            match list.get_mut(index) {
                Some(old) => self.overwrite(item, old, templates, data)?,
                None => list.push(self.make(item, templates, data)?.into_partial_reflect()),
            }
        }
        Ok(())
    }
}

/// The fields of the variant that comes next, if `value` is that variant already; its index is then read.
fn overwritten_fields<'n>(
    variants: &'n Variants,
    value: &mut dyn PartialReflect,
    data: &mut &[u8],
) -> Option<&'n [usize]> {
    let ReflectMut::Enum(value) = value.reflect_mut() else {
        return None;
    };
    let (index, rest) = variants.index(data).ok()?;
    let fields = variants.fields.get(index).filter(|_| index == value.variant_index())?;
    *data = rest;
    Some(fields)
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
