//! Values read by the schema that they were stored with. See [`Decoder`].

use std::sync::{Arc, OnceLock};

use bevy_ecs::entity::Entity;
use bevy_math::{Quat, Vec2, Vec3, Vec4};
use bevy_platform::collections::HashMap;
use bevy_reflect::serde::ReflectDeserializeWithRegistry;
use bevy_reflect::{PartialReflect, Reflect, ReflectDeserialize, TypePath, TypeRegistration, TypeRegistry};
use serde::de::DeserializeOwned;

use super::{
    MigrateError, Plan,
    own::same,
    trial::lies_as_its_fields,
    value::{Fields, Items, TypeName, Value},
};
use crate::codec::{
    DecodeContext, DecodeError,
    reflect::{MAX_DEPTH, SchemaField, SchemaShape, SchemaTree, TOO_DEEP},
};

/// Reads values of one stored type.
pub(super) struct Decoder {
    nodes: Vec<Node>,
}

/// A stored type.
struct Node {
    name: TypeName,
    read: Read,
}

type Parts = Vec<(Arc<str>, usize)>;

/// How its values are read.
enum Read {
    Plain(ReadPlain),
    Own(ReflectDeserialize),
    OwnWithRegistry(ReflectDeserializeWithRegistry),
    Handle,
    Fields(Parts),
    Variants(Vec<(Arc<str>, Parts)>),
    Option(usize),
    Items(Items, usize),
    Array(usize, usize),
    Map(usize, usize),
    /// It serialised itself, and the app does not know it any more.
    Gone,
    /// It serialised itself, and may do so in another way now.
    Changed,
}

/// Reads a value; returns the bytes behind it.
type ReadPlain = for<'d> fn(&'d [u8]) -> postcard::Result<(Box<dyn PartialReflect>, &'d [u8])>;

impl Decoder {
    /// A decoder of what `tree` describes, in the words of the time of `plan`'s first migration.
    pub fn new(tree: &SchemaTree, plan: &Plan, registry: &TypeRegistry) -> Self {
        let nodes = tree.nodes.iter().enumerate().map(|(at, node)| {
            let read = if node.is_own {
                read_own(tree, at, plan, registry)
            } else {
                read_parts(&node.shape)
            };
            let name = TypeName::then(&*node.path);
            Node { name, read }
        });
        Self { nodes: nodes.collect() }
    }

    /// A decoder of a type that serialises itself, as if it were its fields.
    pub fn of_fields(tree: &SchemaTree, registry: &TypeRegistry) -> Self {
        let mut decoder = Self::new(tree, &Plan::default(), registry);
        if let (Some(root), Some(stored)) = (decoder.nodes.first_mut(), tree.nodes.first()) {
            root.read = read_parts(&stored.shape);
        }
        decoder
    }
}

fn names(fields: &[SchemaField]) -> Parts {
    fields.iter().map(|(name, at)| (name.as_ref().into(), *at)).collect()
}

fn read_parts(shape: &SchemaShape) -> Read {
    match shape {
        SchemaShape::Struct(fields) | SchemaShape::TupleStruct(fields) | SchemaShape::Tuple(fields) => {
            Read::Fields(names(fields))
        }
        SchemaShape::Enum(variants) => {
            let variants = variants
                .iter()
                .map(|(name, fields)| (name.as_ref().into(), names(fields)));
            Read::Variants(variants.collect())
        }
        SchemaShape::Option(at) => Read::Option(*at),
        SchemaShape::List(at) => Read::Items(Items::List, *at),
        SchemaShape::Set(at) => Read::Items(Items::Set, *at),
        SchemaShape::Array(at, len) => Read::Array(*at, *len),
        SchemaShape::Map(key, value) => Read::Map(*key, *value),
        SchemaShape::Handle => Read::Handle,
        SchemaShape::Leaf | SchemaShape::Opaque => Read::Gone,
    }
}

/// A type that serialises itself is read by itself, if it is known to be the one that wrote.
fn read_own(tree: &SchemaTree, at: usize, plan: &Plan, registry: &TypeRegistry) -> Read {
    let node = &tree.nodes[at];
    if let Some(read) = plain(&node.path) {
        return Read::Plain(read);
    }
    let Some(registration) = registry.get_with_type_path(&plan.renamed(&node.path)) else {
        return Read::Gone;
    };
    let now = SchemaTree::of(registration.type_info(), registry);
    if same((tree, at), (&now, 0), plan) {
        return own_of(registration).unwrap_or(Read::Gone);
    }
    if !matches!(node.shape, SchemaShape::Leaf) && lies_as_its_fields(registration, &now, registry) {
        return read_parts(&node.shape);
    }
    Read::Changed
}

fn own_of(registration: &TypeRegistration) -> Option<Read> {
    let own = registration.data::<ReflectDeserialize>().cloned().map(Read::Own);
    own.or_else(|| {
        let own = registration.data::<ReflectDeserializeWithRegistry>();
        own.cloned().map(Read::OwnWithRegistry)
    })
}

/// The types whose form is fixed, whether or not the app still has a use for them.
fn plain(path: &str) -> Option<ReadPlain> {
    static KNOWN: OnceLock<HashMap<&'static str, ReadPlain>> = OnceLock::new();
    macro_rules! of {
        ($($type:ty),*) => { HashMap::from_iter([$((<$type>::type_path(), read_plain::<$type> as ReadPlain)),*]) };
    }
    let known = KNOWN.get_or_init(|| {
        of![
            bool, char, f32, f64, u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize, String, Vec2, Vec3,
            Vec4, Quat, Entity
        ]
    });
    known.get(path).copied()
}

fn read_plain<T: DeserializeOwned + Reflect>(data: &[u8]) -> postcard::Result<(Box<dyn PartialReflect>, &[u8])> {
    let (value, rest) = postcard::take_from_bytes::<T>(data)?;
    Ok((Box::new(value), rest))
}

/// Reads values off the front of its data.
pub(super) struct Reader<'a, 'd> {
    decoder: &'a Decoder,
    context: &'a DecodeContext<'a>,
    pub data: &'d [u8],
    /// Values that may still be made: a forged schema must not make many of no bytes.
    budget: usize,
}

/// Values without bytes that no data accounts for.
const FREE_VALUES: usize = 1 << 16;

impl<'a, 'd> Reader<'a, 'd> {
    /// A reader of `rows` values.
    pub fn new(decoder: &'a Decoder, context: &'a DecodeContext<'a>, data: &'d [u8], rows: usize) -> Self {
        let accounted = rows.saturating_mul(256).saturating_add(data.len().saturating_mul(16));
        Self {
            decoder,
            context,
            data,
            budget: accounted.saturating_add(FREE_VALUES),
        }
    }

    /// The next value.
    pub fn next(&mut self) -> Result<Value, DecodeError> {
        self.value(0, 0)
    }

    /// The next value, of the type of node `at`.
    pub fn part(&mut self, at: usize) -> Result<Value, DecodeError> {
        self.value(at, 0)
    }

    fn value(&mut self, at: usize, depth: usize) -> Result<Value, DecodeError> {
        let Node { name, read } = &self.decoder.nodes[at];
        let path = name.path();
        if depth >= MAX_DEPTH {
            return Err(unreadable(path, TOO_DEEP));
        }
        self.budget = self
            .budget
            .checked_sub(1)
            .ok_or_else(|| unreadable(path, "it has far more parts than bytes"))?;
        Ok(match read {
            Read::Plain(read) => {
                let (value, rest) = read(self.data).map_err(|error| unreadable(path, error))?;
                self.data = rest;
                Value::Leaf(name.clone(), value)
            }
            Read::Own(own) => self.own(name, |bytes| {
                own.deserialize(bytes).map(<dyn Reflect>::into_partial_reflect)
            })?,
            Read::OwnWithRegistry(own) => {
                let registry = self.context.registry;
                self.own(name, |bytes| own.deserialize(bytes, registry))?
            }
            Read::Handle => Value::Handle(self.take(path)?),
            Read::Fields(parts) => self.fields(name, None, parts, depth)?,
            Read::Variants(variants) => {
                let index: u32 = self.take(path)?;
                let variant = variants.get(index as usize);
                let (variant, parts) =
                    variant.ok_or_else(|| unreadable(path, format_args!("it has no variant {index}")))?;
                self.fields(name, Some(variant), parts, depth)?
            }
            Read::Option(at) => self.option(name, *at, depth)?,
            Read::Items(kind, at) => {
                let len = self.len(path)?;
                Value::Items(*kind, self.items(*at, len, depth)?)
            }
            Read::Array(at, len) => Value::Items(Items::Array, self.items(*at, *len, depth)?),
            Read::Map(key, value) => self.map(path, *key, *value, depth)?,
            Read::Gone => return Err(self.cannot(path, |type_path, leaf| MigrateError::Gone { type_path, leaf })),
            Read::Changed => {
                return Err(self.cannot(path, |type_path, leaf| MigrateError::OwnForm { type_path, leaf }));
            }
        })
    }

    fn cannot(&self, path: &str, error: impl FnOnce(String, String) -> MigrateError) -> DecodeError {
        let class = self.decoder.nodes.first().map_or("", |node| node.name.path());
        error(class.to_owned(), path.to_owned()).into()
    }

    fn own(
        &mut self,
        name: &TypeName,
        read: impl FnOnce(
            &mut postcard::Deserializer<'d, postcard::de_flavors::Slice<'d>>,
        ) -> postcard::Result<Box<dyn PartialReflect>>,
    ) -> Result<Value, DecodeError> {
        let mut bytes = postcard::Deserializer::from_bytes(self.data);
        let value = read(&mut bytes).map_err(|error| unreadable(name.path(), error))?;
        self.data = bytes.finalize().map_err(|error| unreadable(name.path(), error))?;
        Ok(Value::Leaf(name.clone(), value))
    }

    fn take<T: DeserializeOwned>(&mut self, path: &str) -> Result<T, DecodeError> {
        let (value, rest) = postcard::take_from_bytes(self.data).map_err(|error| unreadable(path, error))?;
        self.data = rest;
        Ok(value)
    }

    fn len(&mut self, path: &str) -> Result<usize, DecodeError> {
        self.take(path)
    }

    fn fields(
        &mut self,
        name: &TypeName,
        variant: Option<&Arc<str>>,
        parts: &'a Parts,
        depth: usize,
    ) -> Result<Value, DecodeError> {
        let fields = parts
            .iter()
            .map(|(name, at)| Ok((name.clone(), self.value(*at, depth + 1)?)))
            .collect::<Result<_, DecodeError>>()?;
        Ok(Value::Fields(Fields {
            type_name: name.clone(),
            variant: variant.cloned(),
            fields,
        }))
    }

    fn option(&mut self, name: &TypeName, at: usize, depth: usize) -> Result<Value, DecodeError> {
        let is_some: bool = self.take(name.path())?;
        let fields = if is_some {
            vec![("0".into(), self.value(at, depth + 1)?)]
        } else {
            Vec::new()
        };
        Ok(Value::Fields(Fields {
            type_name: name.clone(),
            variant: Some(if is_some { "Some" } else { "None" }.into()),
            fields,
        }))
    }

    /// Memory grows with the items that are really there.
    fn items(&mut self, at: usize, len: usize, depth: usize) -> Result<Vec<Value>, DecodeError> {
        (0..len).try_fold(Vec::new(), |mut items, _| {
            items.push(self.value(at, depth + 1)?);
            Ok(items)
        })
    }

    fn map(&mut self, path: &str, key: usize, value: usize, depth: usize) -> Result<Value, DecodeError> {
        let len = self.len(path)?;
        let entries = (0..len).try_fold(Vec::new(), |mut entries, _| {
            entries.push((self.value(key, depth + 1)?, self.value(value, depth + 1)?));
            Ok::<_, DecodeError>(entries)
        });
        Ok(Value::Map(entries?))
    }
}

fn unreadable(path: &str, why: impl core::fmt::Display) -> DecodeError {
    DecodeError::Reflect {
        type_path: path.to_owned(),
        message: why.to_string(),
    }
}
