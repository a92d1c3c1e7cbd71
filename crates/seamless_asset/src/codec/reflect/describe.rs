//! The layout of reflected types, in words. See [`description_of`].

use core::any::TypeId;

use bevy_platform::collections::HashSet;
use bevy_reflect::{Type, TypeInfo, TypeRegistry, enums::VariantInfo};

/// The layout of a type in words: its fields or items and their types, down to the leaves, each type once. Two types with
/// equal descriptions have the same positional form, unless a leaf changes how it serialises itself.
#[must_use]
pub fn description_of(info: &TypeInfo, registry: &TypeRegistry) -> String {
    let mut description = Description {
        registry,
        seen: HashSet::default(),
        text: String::new(),
    };
    description.add(info);
    description.text
}

struct Description<'a> {
    registry: &'a TypeRegistry,
    seen: HashSet<TypeId>,
    text: String,
}

impl Description<'_> {
    fn add(&mut self, info: &TypeInfo) {
        self.text.push_str(info.type_path());
        if matches!(info, TypeInfo::Opaque(_)) || !self.seen.insert(info.type_id()) {
            return;
        }
        match info {
            TypeInfo::Struct(info) => {
                let fields = info.iter().map(|field| (Some(field.name()), field.ty()));
                self.list(['{', '}'], fields);
            }
            TypeInfo::TupleStruct(info) => self.list(['(', ')'], info.iter().map(|field| (None, field.ty()))),
            TypeInfo::Tuple(info) => self.list(['(', ')'], info.iter().map(|field| (None, field.ty()))),
            TypeInfo::List(info) => self.list(['[', ']'], [(None, &info.item_ty())].into_iter()),
            TypeInfo::Array(info) => self.list(['[', ']'], [(None, &info.item_ty())].into_iter()),
            TypeInfo::Set(info) => self.list(['[', ']'], [(None, &info.value_ty())].into_iter()),
            TypeInfo::Map(info) => {
                let entry = [(None, &info.key_ty()), (None, &info.value_ty())];
                self.list(['[', ']'], entry.into_iter());
            }
            TypeInfo::Enum(info) => {
                self.text.push('<');
                for variant in info.iter() {
                    self.variant(variant);
                    self.text.push('|');
                }
                self.text.push('>');
            }
            TypeInfo::Opaque(_) => {}
        }
    }

    fn variant(&mut self, variant: &VariantInfo) {
        self.text.push_str(variant.name());
        match variant {
            VariantInfo::Struct(variant) => {
                let fields = variant.iter().map(|field| (Some(field.name()), field.ty()));
                self.list(['{', '}'], fields);
            }
            VariantInfo::Tuple(variant) => self.list(['(', ')'], variant.iter().map(|field| (None, field.ty()))),
            VariantInfo::Unit(_) => {}
        }
    }

    fn list<'t>(&mut self, [open, close]: [char; 2], parts: impl Iterator<Item = (Option<&'static str>, &'t Type)>) {
        self.text.push(open);
        for (name, part) in parts {
            if let Some(name) = name {
                self.text.push_str(name);
                self.text.push(':');
            }
            match self.registry.get_type_info(part.id()) {
                Some(info) => self.add(info),
                None => self.text.push_str(part.path()),
            }
            self.text.push(',');
        }
        self.text.push(close);
    }
}
