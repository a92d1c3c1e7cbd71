//! How much world a mesh's texture coordinates cover. See [`MeshUvDensity`].

use bevy_ecs::{component::Component, reflect::ReflectComponent};
use bevy_reflect::{Reflect, prelude::ReflectDefault};
use seamless_package::Cursor;

use crate::codec::{DecodeError, Record};

/// How many metres of the mesh one unit of texture coordinates covers; the cooker computes it once.
///
/// On an entity with a `Mesh3d` it says all that mip streaming needs to know of the mesh, which may itself be on the GPU only: a
/// texture of `n` texels per side has `n / density` texels per metre of the surface, in the mesh's own space. The scale of the entity
/// multiplies the density, a scale of the material's texture coordinates divides it. A mesh has one material in Bevy, so this is
/// the density of the material slot as well.
///
/// It is the median over the surface: half of the mesh's area is covered more densely. Triangles without area, in the world or in
/// texture coordinates, do not count.
///
/// ```
/// # use seamless_asset::assets::MeshUvDensity;
/// let wall = MeshUvDensity { uv_0: Some(4.0), uv_1: None };
/// // A texture of 1024 texels that is seen at 100 pixels a metre: 256 texels a metre are there, so mip 1 will do.
/// let texels_per_metre = 1024.0 / wall.uv_0.unwrap();
/// assert_eq!((texels_per_metre / 100.0_f32).log2().floor(), 1.0);
/// ```
#[derive(Component, Reflect, Debug, Clone, Copy, PartialEq, Default)]
#[reflect(Component, Debug, Clone, PartialEq, Default)]
pub struct MeshUvDensity {
    /// Metres per unit of `Mesh::ATTRIBUTE_UV_0`, a positive number. `None`: the mesh has no such coordinates, or none that cover anything.
    pub uv_0: Option<f32>,
    /// The same of `Mesh::ATTRIBUTE_UV_1`.
    pub uv_1: Option<f32>,
}

/// A channel that is not there is stored as zero, and so is one that is no density.
impl Record for MeshUvDensity {
    const VERSION: u32 = 1;

    fn write(&self, out: &mut Vec<u8>) {
        for channel in [self.uv_0, self.uv_1] {
            let density = channel.filter(|density| density.is_finite() && *density > 0.0);
            out.extend_from_slice(&density.unwrap_or(0.0).to_le_bytes());
        }
    }

    fn read(cursor: &mut Cursor) -> Result<Self, DecodeError> {
        Ok(Self {
            uv_0: read_channel(cursor)?,
            uv_1: read_channel(cursor)?,
        })
    }
}

fn read_channel(cursor: &mut Cursor) -> Result<Option<f32>, DecodeError> {
    match cursor.f32()? {
        0.0 => Ok(None),
        value if value.is_finite() && value > 0.0 => Ok(Some(value)),
        other => Err(DecodeError::Malformed(format!(
            "{other} metres per unit of a mesh's UV"
        ))),
    }
}
