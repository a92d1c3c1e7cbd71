//! The layout of reflected types, as text that people and [`migrate`](crate::codec) read. See [`description_of`].

use core::{any::TypeId, fmt};
use std::borrow::Cow;

use bevy_asset::ReflectHandle;
use bevy_platform::collections::HashMap;
use bevy_reflect::{
    NamedField, ReflectDeserialize, ReflectSerialize, Type, TypeInfo, TypeRegistration, TypeRegistry, UnnamedField,
    enums::{EnumInfo, VariantInfo},
    serde::{ReflectDeserializeWithRegistry, ReflectSerializeWithRegistry, SerializationData},
};

/// The layout of a type: its fields or items and their types, down to the leaves, each type once. Two types with
/// equal descriptions have the same positional form, unless a leaf changes how it serialises itself.
///
/// A line for each type, `own` in front of one that serialises itself; below it a line for each field (`.name type`) and
/// variant (`|name`). The first type is the one described:
///
/// ```text
/// struct game::Widget
/// .size u8
/// .state core::option::Option<game::State>
/// leaf u8
/// option core::option::Option<game::State>
/// .0 game::State
/// enum game::State
/// |Idle
/// |Goes
/// .to glam::Vec3
/// …
/// ```
#[must_use]
pub fn description_of(info: &'static TypeInfo, registry: &TypeRegistry) -> String {
    SchemaTree::of(info, registry).to_string()
}

/// A type and the types of its parts, each once; the first is the type itself.
pub(in crate::codec) struct SchemaTree {
    pub nodes: Vec<SchemaNode>,
}

/// One type.
pub(in crate::codec) struct SchemaNode {
    /// Its type path.
    pub path: Cow<'static, str>,
    /// It serialises itself; its parts are known all the same, to see that it changed.
    pub is_own: bool,
    pub shape: SchemaShape,
}

/// A part: its name and the node of its type.
pub(in crate::codec) type SchemaField = (Cow<'static, str>, usize);

/// How the values of a type lie in the bytes, as Bevy's `TypedReflectSerializer` writes them with postcard.
pub(in crate::codec) enum SchemaShape {
    Struct(Vec<SchemaField>),
    TupleStruct(Vec<SchemaField>),
    Tuple(Vec<SchemaField>),
    Enum(Vec<(Cow<'static, str>, Vec<SchemaField>)>),
    /// Bevy writes an `Option` as serde does.
    Option(usize),
    List(usize),
    Array(usize, usize),
    Set(usize),
    Map(usize, usize),
    Handle,
    /// A value without parts that serialises itself.
    Leaf,
    /// Nobody can read it.
    Opaque,
}

impl SchemaTree {
    /// The tree of a registered type.
    pub fn of(info: &'static TypeInfo, registry: &TypeRegistry) -> Self {
        let mut builder = Builder {
            registry,
            nodes: Vec::new(),
            known: HashMap::default(),
        };
        builder.add(info.type_id(), info.type_path());
        Self { nodes: builder.nodes }
    }
}

struct Builder<'a> {
    registry: &'a TypeRegistry,
    nodes: Vec<SchemaNode>,
    known: HashMap<TypeId, usize>,
}

impl Builder<'_> {
    fn add(&mut self, type_id: TypeId, path: &'static str) -> usize {
        if let Some(at) = self.known.get(&type_id) {
            return *at;
        }
        let at = self.nodes.len();
        self.known.insert(type_id, at);
        self.nodes.push(SchemaNode {
            path: path.into(),
            is_own: false,
            shape: SchemaShape::Opaque,
        });
        if let Some(registration) = self.registry.get(type_id) {
            let is_own = serialises_itself(registration);
            let shape = self.shape(registration, is_own);
            let node = &mut self.nodes[at];
            (node.is_own, node.shape) = (is_own, shape);
        }
        at
    }

    /// In the order in which Bevy's serialiser decides.
    fn shape(&mut self, registration: &TypeRegistration, is_own: bool) -> SchemaShape {
        if registration.contains::<ReflectHandle>() {
            return SchemaShape::Handle;
        }
        let skipped = registration.data::<SerializationData>();
        let is_stored = |index: &usize| !skipped.is_some_and(|data| data.is_field_skipped(*index));
        match registration.type_info() {
            TypeInfo::Struct(info) => SchemaShape::Struct(self.named(info.iter(), is_stored)),
            TypeInfo::TupleStruct(info) => SchemaShape::TupleStruct(self.unnamed(info.iter(), is_stored)),
            TypeInfo::Tuple(info) => SchemaShape::Tuple(self.unnamed(info.iter(), is_stored)),
            TypeInfo::Array(info) => SchemaShape::Array(self.part(&info.item_ty()), info.capacity()),
            TypeInfo::List(info) => SchemaShape::List(self.part(&info.item_ty())),
            TypeInfo::Set(info) => SchemaShape::Set(self.part(&info.value_ty())),
            TypeInfo::Map(info) => SchemaShape::Map(self.part(&info.key_ty()), self.part(&info.value_ty())),
            TypeInfo::Enum(info) => self.variants(info),
            TypeInfo::Opaque(_) if is_own => SchemaShape::Leaf,
            TypeInfo::Opaque(_) => SchemaShape::Opaque,
        }
    }

    fn part(&mut self, ty: &Type) -> usize {
        self.add(ty.id(), ty.path())
    }

    fn named<'f>(
        &mut self,
        fields: impl Iterator<Item = &'f NamedField>,
        is_stored: impl Fn(&usize) -> bool,
    ) -> Vec<SchemaField> {
        let stored = fields.enumerate().filter(|(index, _)| is_stored(index));
        stored
            .map(|(_, field)| (field.name().into(), self.part(field.ty())))
            .collect()
    }

    fn unnamed<'f>(
        &mut self,
        fields: impl Iterator<Item = &'f UnnamedField>,
        is_stored: impl Fn(&usize) -> bool,
    ) -> Vec<SchemaField> {
        let stored = fields.enumerate().filter(|(index, _)| is_stored(index));
        stored
            .map(|(index, field)| (index.to_string().into(), self.part(field.ty())))
            .collect()
    }

    /// Fields of variants are stored, whatever their attributes say.
    fn variants(&mut self, info: &EnumInfo) -> SchemaShape {
        if is_option(info)
            && let Some(VariantInfo::Tuple(some)) = info.variant("Some")
            && let Some(field) = some.field_at(0)
        {
            return SchemaShape::Option(self.part(field.ty()));
        }
        let variants = info.iter().map(|variant| {
            let fields = match variant {
                VariantInfo::Struct(variant) => self.named(variant.iter(), |_| true),
                VariantInfo::Tuple(variant) => self.unnamed(variant.iter(), |_| true),
                VariantInfo::Unit(_) => Vec::new(),
            };
            (variant.name().into(), fields)
        });
        SchemaShape::Enum(variants.collect())
    }
}

/// Bevy tells an `Option` from other enums by its name.
pub(in crate::codec) fn is_option(info: &EnumInfo) -> bool {
    let table = info.type_path_table();
    table.module_path() == Some("core::option") && table.ident() == Some("Option")
}

fn serialises_itself(registration: &TypeRegistration) -> bool {
    !registration.contains::<ReflectHandle>()
        && (registration.contains::<ReflectSerialize>()
            || registration.contains::<ReflectDeserialize>()
            || registration.contains::<ReflectSerializeWithRegistry>()
            || registration.contains::<ReflectDeserializeWithRegistry>())
}

impl fmt::Display for SchemaTree {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        for node in &self.nodes {
            self.write_node(node, f)?;
        }
        Ok(())
    }
}

impl SchemaTree {
    fn write_node(&self, node: &SchemaNode, f: &mut fmt::Formatter) -> fmt::Result {
        let is_own = node.is_own && !matches!(node.shape, SchemaShape::Leaf);
        f.write_str(if is_own { "own " } else { "" })?;
        let path = &node.path;
        match &node.shape {
            SchemaShape::Struct(fields) => self.write_fields(format_args!("struct {path}"), fields, f),
            SchemaShape::TupleStruct(fields) => self.write_fields(format_args!("tuple_struct {path}"), fields, f),
            SchemaShape::Tuple(fields) => self.write_fields(format_args!("tuple {path}"), fields, f),
            SchemaShape::Enum(variants) => {
                writeln!(f, "enum {path}")?;
                variants
                    .iter()
                    .try_for_each(|(name, fields)| self.write_fields(format_args!("|{name}"), fields, f))
            }
            SchemaShape::Option(at) => self.write_parts(format_args!("option {path}"), [("0", at)], f),
            SchemaShape::List(at) => self.write_parts(format_args!("list {path}"), [("item", at)], f),
            SchemaShape::Array(at, len) => self.write_parts(format_args!("array {len} {path}"), [("item", at)], f),
            SchemaShape::Set(at) => self.write_parts(format_args!("set {path}"), [("item", at)], f),
            SchemaShape::Map(key, value) => {
                self.write_parts(format_args!("map {path}"), [("key", key), ("value", value)], f)
            }
            SchemaShape::Handle => writeln!(f, "handle {path}"),
            SchemaShape::Leaf => writeln!(f, "leaf {path}"),
            SchemaShape::Opaque => writeln!(f, "opaque {path}"),
        }
    }

    fn write_fields(&self, head: fmt::Arguments, fields: &[SchemaField], f: &mut fmt::Formatter) -> fmt::Result {
        self.write_parts(head, fields.iter().map(|(name, at)| (&**name, at)), f)
    }

    fn write_parts<'p>(
        &self,
        head: fmt::Arguments,
        parts: impl IntoIterator<Item = (&'p str, &'p usize)>,
        f: &mut fmt::Formatter,
    ) -> fmt::Result {
        writeln!(f, "{head}")?;
        parts
            .into_iter()
            .try_for_each(|(name, at)| writeln!(f, ".{name} {}", self.nodes[*at].path))
    }
}

/// The first line in which two descriptions differ, and the type that it belongs to, for error messages.
pub(crate) fn first_difference(was: &str, is: &str) -> (String, String) {
    let (mut was, mut is) = (was.lines(), is.lines());
    let mut of = String::new();
    loop {
        let pair = (was.next(), is.next());
        match pair {
            (None, None) => return (String::new(), String::new()),
            (Some(a), Some(b)) if a == b => {
                if !a.starts_with('.') {
                    of = a.to_owned();
                }
            }
            (a, b) => {
                let line = |line: Option<&str>| match line {
                    Some(part) if part.starts_with(['.', '|']) => format!("{of} {part}"),
                    Some(line) => line.to_owned(),
                    None => "nothing more".to_owned(),
                };
                return (line(a), line(b));
            }
        }
    }
}
