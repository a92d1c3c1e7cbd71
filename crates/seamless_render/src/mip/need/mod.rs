//! How fine a mip a view needs of what draws with a texture: a pure function of both. See [`footprint`].

mod outline;
mod surface;
#[cfg(test)]
mod tests;
mod view;

pub(in crate::mip) use surface::LEAST_DIAGONAL;
pub use surface::{SurfaceSphere, surface_spheres};
pub use view::MipView;

pub(super) use outline::Outline;

use std::sync::Arc;

use bevy_math::{Affine3A, Mat2, Vec3};

/// The finest lod that is told apart: a texture of 65 536 texels, one unit of whose coordinates is one pixel for each texel, is at mip 0.
pub const FINEST_LOD: f32 = -16.0;
/// The coarsest: a unit of texture coordinates is within a pixel, so each texture is at its last mip.
pub const COARSEST_LOD: f32 = 0.0;
/// By how much an lod changes at most while a view travels [`Footprint::slack`], in mips.
pub const SLACK_MIPS: f32 = 1.0 / 32.0;

/// What is drawn, as far as it matters for mips: where its surface is.
#[derive(Clone, Debug)]
pub struct Surface {
    /// The middle of its box, in world space.
    pub center: Vec3,
    /// Half of its box's sides, in metres.
    pub half: Vec3,
    /// From the mesh's space to the world's.
    pub world: Affine3A,
    /// Where within the box it is, in the mesh's space; without, it is anywhere. See [`surface_spheres`].
    pub spheres: Option<Arc<[SurfaceSphere]>>,
}

/// Who draws with textures: the part of an entity with one material and one channel of texture coordinates.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct MipUser {
    /// Its material.
    pub material: u32,
    /// Its channel of texture coordinates, 0 or 1.
    pub channel: u8,
    /// Metres per unit of texture coordinates, in the mesh's space: the finest that matters of the whole mesh.
    pub metres: f32,
    /// How much larger the entity is than its mesh, the largest of the three axes.
    pub object_scale: f32,
    /// How often the material repeats its textures; see [`uv_scale`].
    pub uv_scale: f32,
}

/// How fine the mips are that a view samples.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Footprint {
    /// log2 of units of texture coordinates per pixel, the least of the surface: a texture of side n is sampled at mip
    /// `log2(n) + lod`. From [`FINEST_LOD`] to [`COARSEST_LOD`].
    pub lod: f32,
    /// How far the view may travel until that is another by [`SLACK_MIPS`], in metres.
    pub slack: f32,
    /// What it covers of the picture, if nothing were before it, in pixels: the mean over all sides.
    pub area: f32,
}

/// What a view needs of a surface. Numbers that are none give the coarsest lod.
#[must_use]
pub fn footprint(view: &MipView, surface: &Surface, user: &MipUser) -> Footprint {
    Outline::new(surface, user).look(view, COARSEST_LOD)
}

/// How much more densely a material's texture coordinates lie for its `uv_transform`. A GPU takes the larger derivative of the two along a
/// pixel's sides: that is least where the pixel lies across the two axes of the transform, and then the root of their mean square.
/// An anisotropic sampler takes the smaller one.
#[must_use]
pub fn uv_scale(uv_transform: Mat2, is_anisotropic: bool) -> f32 {
    let squares = uv_transform.x_axis.length_squared() + uv_transform.y_axis.length_squared();
    if !is_anisotropic {
        return (squares / 2.0).sqrt();
    }
    // The singular values' squares have this sum, and this product.
    let product = uv_transform.determinant().powi(2);
    let larger = (squares + (squares * squares - 4.0 * product).max(0.0).sqrt()) / 2.0;
    if larger > 0.0 { (product / larger).sqrt() } else { 0.0 }
}
