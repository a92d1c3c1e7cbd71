//! Finds out whether a component is nothing but numbers. See [`PlainType`].

use core::{alloc::Layout, any::TypeId};
use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, PoisonError, RwLock},
};

use bevy_ecs::{
    entity::{Entity, EntityMapper},
    reflect::ReflectComponent,
    world::World,
};
use bevy_platform::collections::HashMap;
use bevy_reflect::{Reflect, TypeInfo, TypeRegistration, TypeRegistry};

use super::{
    Leaf, MAX_DEPTH, MAX_ROW, Number, NumberKind, PlainLayout,
    number::{MAX_STEPS, Place, visit},
};
use crate::codec::{CookByField, DecodeContext, attribute::has_attribute, decode_reflected_whole};

/// The proof that a component type is *plain*: every byte of it is part of a number, and whatever is in these bytes,
/// it is a value of the type.
///
/// There is no other way to make one than [`of`](Self::of), and no way to change it: `unsafe` code relies on it. It found that
///
/// * each number is a place in a value of the type that reflection lends to safe code as a `&mut u32` (say), to be set to
///   anything. So no bit pattern of the number is one that safe code could not make: the type has no say in it;
/// * the numbers cover the type's bytes, each byte once. So there is no padding, whose bytes have no value, and no
///   field that reflection does not know, whose bytes could be anything: an ignored one, a `bool`, a part of an enum;
/// * dropping a value does nothing ([`ComponentInfo::drop`](bevy_ecs::component::ComponentInfo::drop)). So a value
///   that was not made by the type's own code misses nothing that its `Drop` counts on, and copies of it are harmless;
/// * the type's `FromReflect` makes any number of values, of any numbers. So values are not handed out one by one, as a
///   witness of something that `unsafe` code elsewhere relies on.
///
/// The last is what cannot be observed for all times: a type that implements `FromReflect` by hand to limit *how many* values
/// there are, and relies on it in `unsafe` code, without `Drop`, must say [`CookByField`].
///
/// Beyond that, a type is plain only where nobody can tell the difference: bytes of all patterns that are tried must be
/// read by reflection to exactly the numbers that they stand for. A type that checks or changes its fields in its
/// `FromReflect` or `Deserialize` is not plain, nor is one that leaves out fields or maps entities.
#[derive(Debug)]
pub struct PlainType {
    type_id: TypeId,
    row: Layout,
    layout: PlainLayout,
}

impl PlainType {
    /// Finds out whether the registered type is plain. Takes up to some hundred microseconds: keep the answer.
    #[must_use]
    pub fn of(registration: &TypeRegistration, registry: &TypeRegistry) -> Option<Self> {
        if has_attribute::<CookByField>(registration.type_info()) {
            return None;
        }
        let component = registration.data::<ReflectComponent>()?;
        let row = layout_without_drop(component, registration.type_id())?;
        let kinds = kinds_of(registration.type_info(), registry)?;
        // A first look that costs nothing: most types end here.
        if row.size() != kinds.iter().map(|kind| kind.size()).sum::<usize>() {
            return None;
        }
        // The type's own code runs, on numbers that it never saw: it may assert.
        let probe = AssertUnwindSafe(|| probe(registration, registry, component, row, &kinds));
        let layout = catch_unwind(probe).ok()??;
        Some(Self {
            type_id: registration.type_id(),
            row,
            layout,
        })
    }

    /// The type.
    #[must_use]
    pub fn type_id(&self) -> TypeId {
        self.type_id
    }

    /// Size and alignment of a value.
    #[must_use]
    pub fn row(&self) -> Layout {
        self.row
    }

    /// Where its numbers are.
    #[must_use]
    pub fn layout(&self) -> &PlainLayout {
        &self.layout
    }

    /// Appends the bytes of `value` to `out`, each number little-endian; `false` when it is of another type.
    #[cfg(feature = "write")]
    pub(in crate::codec) fn write(&self, value: &mut dyn Reflect, out: &mut Vec<u8>) -> bool {
        let Some((layout, numbers)) = observe(value, self.type_id, self.row) else {
            return false;
        };
        if layout != self.layout {
            return false;
        }
        let start = out.len();
        out.resize(start + self.row.size(), 0);
        let mut numbers = numbers.into_iter();
        for leaf in self.layout.leaves() {
            let (size, from) = (leaf.kind.size(), start + leaf.offset);
            for (index, number) in numbers.by_ref().take(leaf.count).enumerate() {
                let mut bytes = [0; 16];
                number.write_le(&mut bytes);
                out[from + index * size..from + (index + 1) * size].copy_from_slice(&bytes[..size]);
            }
        }
        true
    }
}

/// Size and alignment as Bevy knows them, if nothing is to be dropped. Only Bevy tells; a world of its own is asked, since
/// tasks have none.
fn layout_without_drop(component: &ReflectComponent, type_id: TypeId) -> Option<Layout> {
    let mut world = World::new();
    let id = component.register_component(&mut world);
    let info = world.components().get_info(id)?;
    let is_plain = info.type_id() == Some(type_id) && info.drop().is_none() && info.is_send_and_sync();
    (is_plain && (1..=MAX_ROW).contains(&info.layout().size())).then(|| info.layout())
}

/// The numbers that a type consists of, in the order of their declaration; `None` when there is something else.
fn kinds_of(info: &TypeInfo, registry: &TypeRegistry) -> Option<Vec<NumberKind>> {
    let mut kinds = Kinds {
        registry,
        found: Vec::new(),
        steps: 0,
    };
    kinds.parts(info, 0)?;
    Some(kinds.found)
}

struct Kinds<'r> {
    registry: &'r TypeRegistry,
    found: Vec<NumberKind>,
    steps: usize,
}

impl Kinds<'_> {
    fn parts(&mut self, info: &TypeInfo, depth: usize) -> Option<()> {
        if depth == MAX_DEPTH {
            return None;
        }
        let mut all = |types: &mut dyn Iterator<Item = TypeId>| {
            for type_id in types {
                self.part(type_id, depth)?;
            }
            Some(())
        };
        match info {
            TypeInfo::Struct(info) => all(&mut info.iter().map(|field| field.type_id())),
            TypeInfo::TupleStruct(info) => all(&mut info.iter().map(|field| field.type_id())),
            TypeInfo::Tuple(info) => all(&mut info.iter().map(|field| field.type_id())),
            TypeInfo::Array(info) => all(&mut core::iter::repeat_n(info.item_ty().id(), info.capacity())),
            _ => None,
        }
    }

    fn part(&mut self, type_id: TypeId, depth: usize) -> Option<()> {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return None;
        }
        if let Some(kind) = NumberKind::of(type_id) {
            self.found.push(kind);
            return Some(());
        }
        self.parts(self.registry.get_type_info(type_id)?, depth + 1)
    }
}

/// What the bytes of the numbers are filled with, by their index: nothing, everything (a NaN, a -1), and differently.
const PATTERNS: [fn(usize) -> u8; 5] = [
    |_| 0,
    |_| 0xFF,
    |index| (index as u8).wrapping_mul(37).wrapping_add(11),
    |index| (index as u8).wrapping_mul(101) ^ 0x5A,
    |index| if index % 2 == 0 { 0x80 } else { 0x01 },
];

/// Makes values of all patterns by reflection, and looks where their numbers are. `None` when a number is not as it was given, or
/// anything else is unlike [`PlainType`] has it.
fn probe(
    registration: &TypeRegistration,
    registry: &TypeRegistry,
    component: &ReflectComponent,
    row: Layout,
    kinds: &[NumberKind],
) -> Option<PlainLayout> {
    let context = DecodeContext {
        registry,
        entities: &[],
        handles: &[],
        mesh_attributes: &[],
        object: None,
    };
    let mut samples = Vec::new();
    for pattern in PATTERNS {
        let numbers = fill(kinds, pattern)?;
        let mut data = Vec::new();
        numbers.iter().for_each(|number| number.write_postcard(&mut data));
        let value = decode_reflected_whole(registration, &data, &context).ok()?;
        samples.push((numbers, value));
    }
    let mut found = None;
    for (numbers, value) in &mut samples {
        let mut mapper = Touched(false);
        component.map_entities(&mut **value, &mut mapper);
        let (layout, is) = observe(&mut **value, registration.type_id(), row)?;
        let is_as_given = is
            .iter()
            .map(|number| bits(*number))
            .eq(numbers.iter().map(|number| bits(*number)));
        if mapper.0 || !is_as_given || found.as_ref().is_some_and(|found| *found != layout) {
            return None;
        }
        found = Some(layout);
    }
    found
}

/// Notes that a component maps entities.
struct Touched(bool);

impl EntityMapper for Touched {
    fn get_mapped(&mut self, source: Entity) -> Entity {
        self.0 = true;
        source
    }

    fn set_mapped(&mut self, _: Entity, _: Entity) {}
}

fn fill(kinds: &[NumberKind], pattern: fn(usize) -> u8) -> Option<Vec<Number>> {
    let mut index = 0;
    let numbers = kinds.iter().map(|kind| {
        let bytes: Vec<u8> = (index..index + kind.size()).map(pattern).collect();
        index += kind.size();
        Number::from_le(*kind, &bytes)
    });
    numbers.collect()
}

/// To compare by: a NaN is not equal to itself.
fn bits(number: Number) -> (NumberKind, [u8; 16]) {
    let mut bytes = [0; 16];
    number.write_le(&mut bytes);
    (number.kind(), bytes)
}

/// Where the numbers of `value` are, and what they are, in the order of their declaration; `None` when it is not of
/// this type, or they do not cover it.
fn observe(value: &mut dyn Reflect, type_id: TypeId, row: Layout) -> Option<(PlainLayout, Vec<Number>)> {
    // Not by `as_any`, which is the type's own code.
    let any: &dyn Any = &*value;
    if any.type_id() != type_id || Layout::for_value(&*value) != row {
        return None;
    }
    let start = core::ptr::from_ref(&*value).addr();
    let (mut leaves, mut numbers) = (Vec::new(), Vec::new());
    let mut is_inside = true;
    visit(value.as_partial_reflect_mut(), &mut |place| {
        is_inside &= add_place(&mut leaves, &place, start);
        numbers.push(place.number);
    })?;
    let layout = PlainLayout::new(row.size(), row.align(), leaves).ok()?;
    is_inside.then_some((layout, numbers))
}

/// Adds a number; those of one array make one leaf. `false` when it lies in front of the value.
fn add_place(leaves: &mut Vec<Leaf>, place: &Place, start: usize) -> bool {
    let Some(offset) = place.address.checked_sub(start) else {
        return false;
    };
    let kind = place.number.kind();
    if let Some(last) = leaves.last_mut()
        && last.path == place.path
        && last.kind == kind
        && last.offset + last.size() == offset
    {
        last.count += 1;
        return true;
    }
    leaves.push(Leaf {
        path: place.path.to_owned(),
        kind,
        count: 1,
        offset,
    });
    true
}

/// What was found out, by type.
#[derive(Default)]
pub(in crate::codec) struct PlainTypes(RwLock<HashMap<TypeId, Option<Arc<PlainType>>>>);

impl PlainTypes {
    /// As [`PlainType::of`], once for each type. No lock is held meanwhile.
    pub fn of(&self, registration: &TypeRegistration, registry: &TypeRegistry) -> Option<Arc<PlainType>> {
        let type_id = registration.type_id();
        let known = self
            .0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&type_id)
            .cloned();
        known.unwrap_or_else(|| {
            let found = PlainType::of(registration, registry).map(Arc::new);
            let mut types = self.0.write().unwrap_or_else(PoisonError::into_inner);
            types.insert(type_id, found.clone());
            found
        })
    }
}
