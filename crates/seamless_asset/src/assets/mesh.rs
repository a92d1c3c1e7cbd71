//! Meshes: attributes and indices, in an order of their bytes that packs well. See [`MeshCodec`].

use bevy_asset::RenderAssetUsages;
use bevy_math::{Vec3, bounding::Aabb3d};
use bevy_mesh::{
    Indices, Mesh, MeshVertexAttribute, PrimitiveTopology, VertexAttributeValues, VertexFormat,
    morph::MorphAttributes,
    skinning::{JointAabb, SkinnedMeshBounds},
};
use bevy_reflect::TypePath;
use serde::{Deserialize, Serialize};

#[cfg(feature = "write")]
use super::arrays::with_header;
use super::{arrays::Arrays, planes};
use crate::codec::{AssetCodec, DecodeContext, DecodeError};
#[cfg(feature = "write")]
use crate::codec::{EncodeContext, EncodeError, EncodedAsset};

/// The codec of [`Mesh`]: topology, every attribute, indices, morph targets and their names, skin bounds and usage.
pub struct MeshCodec;

/// Everything but the arrays, in the order in which they follow.
#[derive(Serialize, Deserialize)]
struct StoredMesh {
    topology: PrimitiveTopology,
    attributes: Vec<StoredAttribute>,
    indices: StoredIndices,
    morph_targets: Option<u32>,
    morph_target_names: Option<Vec<String>>,
    asset_usage: u8,
    enable_raytracing: bool,
    final_aabb: Option<[[f32; 3]; 2]>,
    skin_bounds: Option<StoredSkinBounds>,
}

#[derive(Serialize, Deserialize)]
struct StoredAttribute {
    name: String,
    id: u64,
    format: VertexFormat,
    vertices: u32,
}

#[derive(Serialize, Deserialize, Clone, Copy)]
enum StoredIndices {
    None,
    U16(u32),
    U32(u32),
}

#[derive(Serialize, Deserialize)]
struct StoredSkinBounds {
    aabbs: Vec<[[f32; 3]; 2]>,
    joints: Vec<u16>,
}

impl AssetCodec for MeshCodec {
    type Asset = Mesh;
    const VERSION: u32 = 2;

    fn is_rendered(mesh: &Mesh) -> bool {
        mesh.asset_usage.contains(RenderAssetUsages::RENDER_WORLD)
    }

    #[cfg(feature = "write")]
    fn encode(mesh: &Mesh, _: &mut EncodeContext) -> Result<EncodedAsset, EncodeError> {
        let lost = |error: &dyn core::fmt::Display| {
            EncodeError::Other(format!(
                "the mesh's vertices are gone ({error}); load it with `RenderAssetUsages::MAIN_WORLD`"
            ))
        };
        let mut arrays = Vec::new();
        let mut attributes = Vec::new();
        for (attribute, values) in mesh.try_attributes().map_err(|error| lost(&error))? {
            attributes.push(StoredAttribute {
                name: attribute.name.to_owned(),
                id: attribute_id(attribute),
                format: attribute.format,
                vertices: values.len() as u32,
            });
            push_attribute(values, &mut arrays);
        }
        let indices = mesh.try_indices_option().map_err(|error| lost(&error))?;
        if let Some((index, vertices)) = indices.and_then(|indices| wild_index(mesh, indices)) {
            return Err(EncodeError::WildIndex { index, vertices });
        }
        let indices = match indices {
            None => StoredIndices::None,
            Some(Indices::U16(indices)) => {
                planes::push(indices, &mut arrays);
                StoredIndices::U16(indices.len() as u32)
            }
            Some(Indices::U32(indices)) => {
                planes::push(indices, &mut arrays);
                StoredIndices::U32(indices.len() as u32)
            }
        };
        let morph_targets = mesh.get_morph_targets().map(|targets| {
            planes::push(targets, &mut arrays);
            targets.len() as u32
        });
        let stored = StoredMesh {
            topology: mesh.primitive_topology(),
            attributes,
            indices,
            morph_targets,
            morph_target_names: mesh.morph_target_names().map(<[String]>::to_vec),
            asset_usage: mesh.asset_usage.bits(),
            enable_raytracing: mesh.enable_raytracing,
            final_aabb: mesh.final_aabb.map(|aabb| [aabb.min.to_array(), aabb.max.to_array()]),
            skin_bounds: mesh.skinned_mesh_bounds().map(StoredSkinBounds::of),
        };
        with_header(&stored, &arrays)
    }

    fn decode(data: &[u8], _: Vec<Vec<u8>>, context: &DecodeContext) -> Result<Mesh, DecodeError> {
        decode(data, Form::Planes, context)
    }

    fn decode_version(
        version: u32,
        data: &[u8],
        _: Vec<Vec<u8>>,
        context: &DecodeContext,
    ) -> Result<Mesh, DecodeError> {
        match version {
            1 => decode(data, Form::Memory, context),
            _ => Err(DecodeError::version(Mesh::type_path(), version, Self::VERSION)),
        }
    }
}

/// How arrays are stored.
#[derive(Clone, Copy)]
enum Form {
    /// As they lie in memory: version 1.
    Memory,
    /// See [`planes`].
    Planes,
}

impl Form {
    fn values<T: planes::Value>(self, arrays: &mut Arrays, count: u32) -> Result<Vec<T>, DecodeError> {
        match self {
            Self::Memory => arrays.values(count),
            Self::Planes => planes::values(arrays, count),
        }
    }
}

fn decode(data: &[u8], form: Form, context: &DecodeContext) -> Result<Mesh, DecodeError> {
    let (stored, mut arrays) = Arrays::split::<StoredMesh>(data, "a mesh")?;
    let usage = RenderAssetUsages::from_bits(stored.asset_usage)
        .ok_or_else(|| malformed(format!("unknown asset usage {:#x}", stored.asset_usage)))?;
    let mut mesh = Mesh::new(stored.topology, usage);
    for attribute in &stored.attributes {
        let values = read_attribute(attribute, form, &mut arrays)?;
        mesh.insert_attribute(known_attribute(attribute, context)?, values);
    }
    read_indices(&mut mesh, stored.indices, form, &mut arrays)?;
    if let Some(count) = stored.morph_targets {
        mesh.set_morph_targets(form.values::<MorphAttributes>(&mut arrays, count)?);
    }
    if let Some(names) = stored.morph_target_names {
        mesh.set_morph_target_names(names);
    }
    arrays.finish()?;
    mesh.enable_raytracing = stored.enable_raytracing;
    mesh.final_aabb = stored.final_aabb.map(|[min, max]| Aabb3d {
        min: min.into(),
        max: max.into(),
    });
    mesh.set_skinned_mesh_bounds(stored.skin_bounds.map(StoredSkinBounds::into_bounds));
    Ok(mesh)
}

fn malformed(message: String) -> DecodeError {
    DecodeError::Malformed(message)
}

/// Bevy keeps the id of an attribute private; its `Debug` form is the number in parentheses.
#[cfg(feature = "write")]
fn attribute_id(attribute: &MeshVertexAttribute) -> u64 {
    let text = format!("{:?}", attribute.id);
    text.chars()
        .filter(char::is_ascii_digit)
        .collect::<String>()
        .parse()
        .unwrap_or(u64::MAX)
}

/// The attribute with the stored id: Bevy's own, or one of the plugin's.
fn known_attribute(stored: &StoredAttribute, context: &DecodeContext) -> Result<MeshVertexAttribute, DecodeError> {
    let builtin = [
        Mesh::ATTRIBUTE_POSITION,
        Mesh::ATTRIBUTE_NORMAL,
        Mesh::ATTRIBUTE_UV_0,
        Mesh::ATTRIBUTE_UV_1,
        Mesh::ATTRIBUTE_TANGENT,
        Mesh::ATTRIBUTE_COLOR,
        Mesh::ATTRIBUTE_JOINT_WEIGHT,
        Mesh::ATTRIBUTE_JOINT_INDEX,
    ];
    let found = builtin
        .iter()
        .chain(context.mesh_attributes)
        .find(|attribute| attribute.name == stored.name && attribute.at_id(stored.id).id == attribute.id);
    let Some(attribute) = found else {
        return Err(DecodeError::UnknownType(format!(
            "vertex attribute {}` (give it to `SeamlessAssetPlugin::mesh_attributes`)",
            stored.name
        )));
    };
    if attribute.format != stored.format {
        return Err(malformed(format!("attribute {} changed its format", stored.name)));
    }
    Ok(*attribute)
}

trait AtId {
    fn at_id(&self, id: u64) -> MeshVertexAttribute;
}

impl AtId for MeshVertexAttribute {
    /// The same attribute under another id, to compare ids, which are opaque.
    fn at_id(&self, id: u64) -> MeshVertexAttribute {
        MeshVertexAttribute::new(self.name, id, self.format)
    }
}

/// Hands all kinds of vertex values to a macro: those that [`VertexAttributeValues`] has.
macro_rules! with_formats {
    ($apply:ident) => {
        $apply!(
            Uint8,
            Uint8x2,
            Uint8x4,
            Sint8,
            Sint8x2,
            Sint8x4,
            Unorm8,
            Unorm8x2,
            Unorm8x4,
            Snorm8,
            Snorm8x2,
            Snorm8x4,
            Uint16,
            Uint16x2,
            Uint16x4,
            Sint16,
            Sint16x2,
            Sint16x4,
            Unorm16,
            Unorm16x2,
            Unorm16x4,
            Snorm16,
            Snorm16x2,
            Snorm16x4,
            Float16,
            Float16x2,
            Float16x4,
            Float32,
            Float32x2,
            Float32x3,
            Float32x4,
            Uint32,
            Uint32x2,
            Uint32x3,
            Uint32x4,
            Sint32,
            Sint32x2,
            Sint32x3,
            Sint32x4,
            Float64,
            Float64x2,
            Float64x3,
            Float64x4,
            Unorm10_10_10_2,
            Unorm8x4Bgra,
        )
    };
}

fn read_attribute(
    stored: &StoredAttribute,
    form: Form,
    arrays: &mut Arrays,
) -> Result<VertexAttributeValues, DecodeError> {
    macro_rules! read {
        ($($format:ident),* $(,)?) => {
            match stored.format {
                $(VertexFormat::$format => {
                    VertexAttributeValues::$format(form.values(arrays, stored.vertices)?)
                })*
            }
        };
    }
    Ok(with_formats!(read))
}

#[cfg(feature = "write")]
fn push_attribute(values: &VertexAttributeValues, arrays: &mut Vec<u8>) {
    macro_rules! push {
        ($($format:ident),* $(,)?) => {
            match values {
                $(VertexAttributeValues::$format(values) => planes::push(values, arrays),)*
            }
        };
    }
    with_formats!(push);
}

/// Indices are checked against the vertices: the GPU must not read past them.
fn read_indices(mesh: &mut Mesh, stored: StoredIndices, form: Form, arrays: &mut Arrays) -> Result<(), DecodeError> {
    let indices = match stored {
        StoredIndices::None => return Ok(()),
        StoredIndices::U16(count) => Indices::U16(form.values(arrays, count)?),
        StoredIndices::U32(count) => Indices::U32(form.values(arrays, count)?),
    };
    if let Some((index, vertices)) = wild_index(mesh, &indices) {
        return Err(malformed(format!("index {index} of {vertices} vertices")));
    }
    mesh.insert_indices(indices);
    Ok(())
}

/// The first index that leads past the vertices, and how many these are. In a strip the largest number begins a new one.
fn wild_index(mesh: &Mesh, indices: &Indices) -> Option<(usize, usize)> {
    let restart = mesh.primitive_topology().is_strip().then_some(match indices {
        Indices::U16(_) => u16::MAX as usize,
        Indices::U32(_) => u32::MAX as usize,
    });
    let vertices = mesh.count_vertices();
    let is_wild = |index: &usize| *index >= vertices && Some(*index) != restart;
    indices.iter().find(is_wild).map(|index| (index, vertices))
}

impl StoredSkinBounds {
    #[cfg(feature = "write")]
    fn of(bounds: &SkinnedMeshBounds) -> Self {
        Self {
            aabbs: bounds
                .aabbs
                .iter()
                .map(|aabb| [aabb.center.to_array(), aabb.half_size.to_array()])
                .collect(),
            joints: bounds.aabb_index_to_joint_index.iter().map(|joint| joint.0).collect(),
        }
    }

    fn into_bounds(self) -> SkinnedMeshBounds {
        SkinnedMeshBounds {
            aabbs: self
                .aabbs
                .into_iter()
                .map(|[center, half_size]| JointAabb {
                    center: Vec3::from_array(center),
                    half_size: Vec3::from_array(half_size),
                })
                .collect(),
            aabb_index_to_joint_index: self.joints.into_iter().map(bevy_mesh::skinning::JointIndex).collect(),
        }
    }
}

#[cfg(test)]
mod tests;
