//! Components that are one asset handle. See [`HandleCodec`].

use core::any::TypeId;

#[cfg(feature = "write")]
use bevy_asset::UntypedHandle;
use bevy_asset::{Asset, Handle};
use bevy_ecs::{
    component::{Component, ComponentId},
    world::World,
};
use bevy_platform::collections::HashMap;
use bevy_reflect::{Reflect, TypePath, TypeRegistry};
use seamless_package::{Cursor, Role, Schema};
use uuid::Uuid;

use super::{ComponentCodec, DecodeContext, DecodeError, Encoding, schema};
#[cfg(feature = "write")]
use super::{EncodeContext, EncodeError};
use crate::spawn::{Column, typed_column};

/// The [`ComponentCodec`] of a component that wraps one [`Handle`], such as `Mesh3d`.
///
/// A row is the handle's index in the level's reference list plus one, or zero and then the UUID of a handle that
/// is none of the package's objects (Bevy's default material, say).
pub struct HandleCodec<C, A: Asset> {
    #[cfg_attr(
        not(feature = "write"),
        expect(dead_code, reason = "only the encoder takes components apart")
    )]
    get: fn(&C) -> &Handle<A>,
    make: fn(Handle<A>) -> C,
    role: Role,
}

impl<C, A: Asset> HandleCodec<C, A> {
    /// A codec from the two ways between component and handle.
    pub fn new(role: Role, get: fn(&C) -> &Handle<A>, make: fn(Handle<A>) -> C) -> Self {
        Self { get, make, role }
    }
}

impl<C: Component + Reflect + TypePath, A: Asset> ComponentCodec for HandleCodec<C, A> {
    fn type_id(&self) -> TypeId {
        TypeId::of::<C>()
    }

    fn type_path(&self) -> &str {
        C::type_path()
    }

    fn schema(&self, _: &TypeRegistry) -> Schema {
        let description = format!("handle of {}", A::type_path());
        schema(C::type_path(), Encoding::Handle, 1, &description)
    }

    fn role(&self) -> Role {
        self.role
    }

    fn register(&self, world: &mut World) -> ComponentId {
        world.register_component::<C>()
    }

    #[cfg(feature = "write")]
    fn encode(
        &self,
        values: &[&dyn Reflect],
        context: &mut EncodeContext,
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        for value in values {
            let value = value
                .downcast_ref::<C>()
                .ok_or_else(|| EncodeError::Other(format!("is not a `{}`", C::type_path())))?;
            match (self.get)(value).clone().untyped() {
                UntypedHandle::Uuid { uuid, .. } => {
                    out.extend_from_slice(&0_u32.to_le_bytes());
                    out.extend_from_slice(uuid.as_bytes());
                }
                strong => {
                    let index = context.reference(&strong);
                    out.extend_from_slice(&(index + 1).to_le_bytes());
                }
            }
        }
        Ok(())
    }

    fn decode(&self, data: &[u8], rows: usize, context: &DecodeContext) -> Result<Box<dyn Column>, DecodeError> {
        let mut cursor = Cursor::new(data);
        // Levels use few assets on many entities: the type is checked once for each.
        let mut typed: HashMap<u32, Handle<A>> = HashMap::default();
        let mut values = Vec::with_capacity(rows);
        for _ in 0..rows {
            let handle = match cursor.u32()?.checked_sub(1) {
                None => Handle::Uuid(read_uuid(&mut cursor)?, core::marker::PhantomData),
                Some(index) => match typed.get(&index) {
                    Some(handle) => handle.clone(),
                    None => {
                        let handle = typed_handle::<A>(context, index)?;
                        typed.insert(index, handle.clone());
                        handle
                    }
                },
            };
            values.push((self.make)(handle));
        }
        cursor.finish()?;
        Ok(typed_column(values))
    }
}

/// The handle at `index` of the reference list, as a handle of `A`.
pub(crate) fn typed_handle<A: Asset>(context: &DecodeContext, index: u32) -> Result<Handle<A>, DecodeError> {
    context
        .handle(index)?
        .clone()
        .try_typed::<A>()
        .map_err(|_| DecodeError::WrongHandle {
            index,
            expected: A::type_path(),
        })
}

pub(super) fn read_uuid(cursor: &mut Cursor) -> Result<Uuid, DecodeError> {
    let bytes = cursor.bytes(16)?;
    Uuid::from_slice(bytes).map_err(|error| DecodeError::Malformed(error.to_string()))
}
