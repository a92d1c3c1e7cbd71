//! Plain components: which they are, how they are stored, and what is not one.

mod columns;
mod detect;
mod layout;

use core::any::TypeId;
use std::sync::Arc;

use bevy_ecs::{component::ComponentId, prelude::*, reflect::ReflectComponent};
use bevy_math::{IVec2, Mat4, Quat, Vec2, Vec3, Vec4};
use bevy_reflect::{GetTypeRegistration, Reflect, TypeRegistry};
use seamless_package::{Role, Schema};

use super::*;
use crate::{
    codec::{
        CodecRegistry, ComponentCodec, CookByField, DecodeContext, DecodeError, EncodeContext, EncodeError, Encoding,
        EntityRows, Immutable, ReflectCodec, schema,
    },
    spawn::{Column, Group, Passes, Values, spawn},
};

/// Every kind of number, structs in structs, tuples, arrays of both, and Bevy's vectors, without a gap.
#[derive(Component, Reflect, Clone, Debug, PartialEq)]
#[reflect(Component)]
struct Everything {
    wide: (u128, i128),
    long: [u64; 2],
    signed: i64,
    double: f64,
    turn: Quat,
    column: Vec4,
    place: Vec3,
    cell: IVec2,
    parts: [Part; 2],
    word: u32,
    half: [i16; 3],
    bytes: [u8; 5],
    small: i8,
    last: Tail,
}

#[derive(Reflect, Clone, Debug, PartialEq)]
struct Part(i32, Vec2);

#[derive(Reflect, Clone, Debug, PartialEq)]
struct Tail {
    a: u16,
    b: u16,
    c: [[f32; 2]; 3],
    rest: [u8; TAIL],
}

/// What is left of 16 bytes, so that there is no padding.
const TAIL: usize = 24;

fn registry<T: GetTypeRegistration>() -> TypeRegistry {
    let mut registry = TypeRegistry::default();
    registry.register::<T>();
    registry
}

fn plain<T: GetTypeRegistration>() -> Option<PlainType> {
    let registry = registry::<T>();
    PlainType::of(registry.get(TypeId::of::<T>()).unwrap(), &registry)
}

fn encode<T: Reflect>(
    codec: &dyn ComponentCodec,
    registry: &TypeRegistry,
    values: &[T],
) -> Result<Vec<u8>, EncodeError> {
    let rows = EntityRows::default();
    let mut data = Vec::new();
    let values: Vec<&dyn Reflect> = values.iter().map(|value| value as &dyn Reflect).collect();
    codec.encode(&values, &mut EncodeContext::new(registry, &rows), &mut data)?;
    Ok(data)
}

fn decode(
    codec: &dyn ComponentCodec,
    registry: &TypeRegistry,
    data: &[u8],
    rows: usize,
) -> Result<Box<dyn Column>, DecodeError> {
    let context = DecodeContext {
        registry,
        entities: &[],
        handles: &[],
        mesh_attributes: &[],
        object: None,
    };
    codec.decode(data, rows, &context)
}

struct OnePass;

impl Passes for OnePass {
    fn is_late(&self, _: &World, _: ComponentId) -> bool {
        false
    }
}

/// The values of a column, taken out of the world into which they were spawned.
fn spawned<C: Component + Clone>(column: Box<dyn Column>) -> Vec<C> {
    let mut world = World::new();
    world.register_component::<C>();
    let entities: Vec<Entity> = (0..column.len()).map(|_| world.entity_allocator().alloc()).collect();
    let group = Group {
        entities: entities.clone(),
        values: Values::Columns(vec![column]),
    };
    spawn(&mut world, vec![group], &OnePass);
    entities
        .iter()
        .map(|entity| world.get::<C>(*entity).unwrap().clone())
        .collect()
}
