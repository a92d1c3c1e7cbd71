//! What a reflected type consists of, as far as its values can be overwritten part by part. See [`Shape`].

use core::any::{Any, TypeId};

use bevy_asset::ReflectHandle;
use bevy_ecs::entity::Entity;
use bevy_math::{Quat, Vec2, Vec3, Vec4};
use bevy_platform::collections::HashMap;
use bevy_reflect::{
    ReflectDeserialize, ReflectFromReflect, TypeInfo, TypeRegistration, TypeRegistry,
    enums::{EnumInfo, VariantInfo},
    serde::{ReflectDeserializeWithRegistry, SerializationData},
};
use serde::de::DeserializeOwned;

/// A type and the types of its parts, down to the leaves, each once.
pub(super) struct Shape<'a> {
    pub nodes: Vec<Node<'a>>,
}

/// One type.
pub(super) struct Node<'a> {
    pub registration: &'a TypeRegistration,
    pub kind: Kind<'a>,
}

/// Reads a value of a known type over the one that is there; returns the bytes behind it.
pub(super) type ReadPlain = for<'d> fn(&mut dyn Any, &'d [u8]) -> postcard::Result<&'d [u8]>;

/// How the values of a type lie in the bytes: as Bevy's `TypedReflectSerializer` writes them with postcard.
pub(super) enum Kind<'a> {
    /// A plain value.
    Plain(ReadPlain),
    /// It reads itself.
    Deserialize(&'a ReflectDeserialize),
    /// An asset handle.
    Handle(&'a ReflectHandle),
    /// Parts of these nodes, one after the other.
    Fields(Vec<usize>),
    /// So many parts of one node.
    Array(usize, usize),
    /// A count, then parts of one node.
    List(usize),
    /// One of several lists of fields.
    Variants(Variants),
    /// Anything else: only Bevy knows.
    Whole,
}

/// The variants of an enum.
pub(super) struct Variants {
    /// The nodes of each variant's fields.
    pub fields: Vec<Vec<usize>>,
    /// Bevy writes an `Option` as serde does.
    is_option: bool,
}

impl Variants {
    /// The index of the variant at the front of `data`, and what comes behind it.
    pub fn index<'d>(&self, data: &'d [u8]) -> postcard::Result<(usize, &'d [u8])> {
        if self.is_option {
            let (is_some, rest) = postcard::take_from_bytes::<bool>(data)?;
            // Declared in this order.
            return Ok((usize::from(is_some), rest));
        }
        let (index, rest) = postcard::take_from_bytes::<u32>(data)?;
        Ok((index as usize, rest))
    }
}

impl<'a> Shape<'a> {
    /// The node of the type itself.
    pub const ROOT: usize = 0;

    /// The shape of a registered type.
    pub fn of(registration: &'a TypeRegistration, registry: &'a TypeRegistry) -> Self {
        let mut builder = Builder {
            registry,
            nodes: Vec::new(),
            known: HashMap::default(),
        };
        builder.add(registration);
        Self { nodes: builder.nodes }
    }
}

struct Builder<'a> {
    registry: &'a TypeRegistry,
    nodes: Vec<Node<'a>>,
    known: HashMap<TypeId, usize>,
}

impl<'a> Builder<'a> {
    /// The node of a type.
    fn add(&mut self, registration: &'a TypeRegistration) -> usize {
        if let Some(at) = self.known.get(&registration.type_id()) {
            return *at;
        }
        let at = self.nodes.len();
        self.known.insert(registration.type_id(), at);
        let kind = Kind::Whole;
        self.nodes.push(Node { registration, kind });
        self.nodes[at].kind = self.kind(registration).unwrap_or(Kind::Whole);
        at
    }

    fn add_type(&mut self, type_id: TypeId) -> Option<usize> {
        Some(self.add(self.registry.get(type_id)?))
    }

    fn add_all(&mut self, types: impl Iterator<Item = TypeId>) -> Option<Vec<usize>> {
        types.map(|type_id| self.add_type(type_id)).collect()
    }

    /// In the order in which Bevy's serialiser decides. `None` when a part is not registered.
    fn kind(&mut self, registration: &'a TypeRegistration) -> Option<Kind<'a>> {
        if let Some(handle) = registration.data::<ReflectHandle>() {
            return Some(Kind::Handle(handle));
        }
        if let Some(deserialize) = registration.data::<ReflectDeserialize>() {
            return Some(plain(registration.type_id()).map_or(Kind::Deserialize(deserialize), Kind::Plain));
        }
        // Fields that are left out have no node.
        if registration.contains::<ReflectDeserializeWithRegistry>() || registration.contains::<SerializationData>() {
            return Some(Kind::Whole);
        }
        Some(match registration.type_info() {
            TypeInfo::Struct(info) => Kind::Fields(self.add_all(info.iter().map(|field| field.type_id()))?),
            TypeInfo::TupleStruct(info) => Kind::Fields(self.add_all(info.iter().map(|field| field.type_id()))?),
            TypeInfo::Tuple(info) => Kind::Fields(self.add_all(info.iter().map(|field| field.type_id()))?),
            TypeInfo::Array(info) => Kind::Array(self.add_type(info.item_ty().id())?, info.capacity()),
            TypeInfo::List(info) => self.list(info.item_ty().id())?,
            TypeInfo::Enum(info) => Kind::Variants(self.variants(info)?),
            TypeInfo::Map(_) | TypeInfo::Set(_) | TypeInfo::Opaque(_) => Kind::Whole,
        })
    }

    /// Items are made, not only overwritten, and tuples for instance say nothing of how that is done.
    fn list(&mut self, item: TypeId) -> Option<Kind<'a>> {
        let at = self.add_type(item)?;
        let is_made = self.nodes[at].registration.contains::<ReflectFromReflect>();
        Some(if is_made { Kind::List(at) } else { Kind::Whole })
    }

    fn variants(&mut self, info: &EnumInfo) -> Option<Variants> {
        let fields = info.iter().map(|variant| match variant {
            VariantInfo::Struct(variant) => self.add_all(variant.iter().map(|field| field.type_id())),
            VariantInfo::Tuple(variant) => self.add_all(variant.iter().map(|field| field.type_id())),
            VariantInfo::Unit(_) => Some(Vec::new()),
        });
        let table = info.type_path_table();
        Some(Variants {
            fields: fields.collect::<Option<_>>()?,
            is_option: table.module_path() == Some("core::option") && table.ident() == Some("Option"),
        })
    }
}

/// The types that are met most, and need no detour.
fn plain(type_id: TypeId) -> Option<ReadPlain> {
    macro_rules! of {
        ($($type:ty),*) => { [$((TypeId::of::<$type>(), read::<$type> as ReadPlain)),*] };
    }
    let known = of![
        bool, char, f32, f64, u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize, Vec2, Vec3, Vec4, Quat,
        Entity
    ];
    if type_id == TypeId::of::<String>() {
        return Some(read_string);
    }
    known.iter().find(|(known, _)| *known == type_id).map(|(_, read)| *read)
}

fn read<'d, T: DeserializeOwned + 'static>(value: &mut dyn Any, data: &'d [u8]) -> postcard::Result<&'d [u8]> {
    let (new, rest) = postcard::take_from_bytes(data)?;
    *value.downcast_mut::<T>().ok_or(postcard::Error::WontImplement)? = new;
    Ok(rest)
}

/// Into the memory that the string has.
fn read_string<'d>(value: &mut dyn Any, data: &'d [u8]) -> postcard::Result<&'d [u8]> {
    let (new, rest) = postcard::take_from_bytes::<&str>(data)?;
    let value = value.downcast_mut::<String>().ok_or(postcard::Error::WontImplement)?;
    value.clear();
    value.push_str(new);
    Ok(rest)
}
