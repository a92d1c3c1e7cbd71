//! `StandardMaterial` in packages. See [`StandardMaterialCodec`].

use core::any::TypeId;

use bevy_pbr::StandardMaterial;
use bevy_reflect::{Reflect, TypeRegistry};
#[cfg(feature = "write")]
use seamless_asset::codec::{EncodeContext, EncodeError, EncodedAsset, encode_reflected};
use seamless_asset::{
    codec::{AssetCodec, DecodeContext, DecodeError, decode_reflected_whole, description_of},
    package::Role,
};
use wgpu_types::Face;

/// The codec of [`StandardMaterial`]: its reflected fields, and `cull_mode`, which reflection leaves out.
pub struct StandardMaterialCodec;

impl AssetCodec for StandardMaterialCodec {
    type Asset = StandardMaterial;
    const VERSION: u32 = 1;
    const ROLE: Role = Role::CLIENT;
    const IS_REFLECTED: bool = true;

    fn layout(registry: &TypeRegistry) -> String {
        registry
            .get_type_info(TypeId::of::<StandardMaterial>())
            .map_or_else(|| "not registered".into(), |info| description_of(info, registry))
    }

    #[cfg(feature = "write")]
    fn encode(material: &StandardMaterial, context: &mut EncodeContext) -> Result<EncodedAsset, EncodeError> {
        let mut encoded = EncodedAsset::default();
        encoded.data.push(match material.cull_mode {
            None => 0,
            Some(Face::Front) => 1,
            Some(Face::Back) => 2,
        });
        encode_reflected(material.as_reflect(), context, &mut encoded.data)?;
        Ok(encoded)
    }

    fn decode(data: &[u8], _: Vec<Vec<u8>>, context: &DecodeContext) -> Result<StandardMaterial, DecodeError> {
        let (cull_mode, rest) = split_cull_mode(data)?;
        let registration = context.registry.get(TypeId::of::<StandardMaterial>());
        let value = decode_reflected_whole(registration.ok_or_else(unknown)?, rest, context)?;
        with_cull_mode(value, cull_mode)
    }

    fn decode_layout(
        data: &[u8],
        _: Vec<Vec<u8>>,
        read: &dyn Fn(&[u8]) -> Result<Box<dyn Reflect>, DecodeError>,
    ) -> Result<StandardMaterial, DecodeError> {
        let (cull_mode, rest) = split_cull_mode(data)?;
        with_cull_mode(read(rest)?, cull_mode)
    }
}

fn unknown() -> DecodeError {
    DecodeError::UnknownType("bevy_pbr::StandardMaterial".into())
}

fn split_cull_mode(data: &[u8]) -> Result<(Option<Face>, &[u8]), DecodeError> {
    match data.split_first() {
        Some((0, rest)) => Ok((None, rest)),
        Some((1, rest)) => Ok((Some(Face::Front), rest)),
        Some((2, rest)) => Ok((Some(Face::Back), rest)),
        _ => Err(DecodeError::Malformed("unknown cull mode".into())),
    }
}

fn with_cull_mode(value: Box<dyn Reflect>, cull_mode: Option<Face>) -> Result<StandardMaterial, DecodeError> {
    let mut material = *value.downcast::<StandardMaterial>().map_err(|_| unknown())?;
    material.cull_mode = cull_mode;
    Ok(material)
}
