//! How much world texture coordinates cover. See [`uv_density`].

use bevy::math::{DVec2, DVec3};
use bevy::mesh::{Mesh, MeshVertexAttribute, VertexAttributeValues};
use seamless_asset::assets::MeshUvDensity;

use super::triangles::{positions, triangles};

/// Texture coordinates are 32-bit floats around one: a triangle with less area than this has none but rounding.
const LEAST_UV_AREA: f64 = 1e-13;

/// Metres per unit of each channel of texture coordinates: the median over the mesh's area of the square root of world area by UV area.
///
/// A median, because some triangles of nearly every mesh have texture coordinates that mean nothing: they change the result only where
/// they are half of the surface. Triangles without area, in the world or in texture coordinates, and those that are not finite, do
/// not count.
#[must_use]
pub fn uv_density(mesh: &Mesh) -> MeshUvDensity {
    let Some(positions) = positions(mesh) else {
        return MeshUvDensity::default();
    };
    let triangles = triangles(mesh, positions.len());
    let channel = |attribute| median(densities(positions, coordinates(mesh, attribute)?, &triangles));
    MeshUvDensity {
        uv_0: channel(Mesh::ATTRIBUTE_UV_0),
        uv_1: channel(Mesh::ATTRIBUTE_UV_1),
    }
}

fn coordinates(mesh: &Mesh, attribute: MeshVertexAttribute) -> Option<&[[f32; 2]]> {
    match mesh.try_attribute_option(attribute).ok()?? {
        VertexAttributeValues::Float32x2(coordinates) => Some(coordinates),
        _ => None,
    }
}

/// Density and area of each triangle that has both.
fn densities(positions: &[[f32; 3]], coordinates: &[[f32; 2]], triangles: &[[u32; 3]]) -> Vec<(f64, f64)> {
    let of_triangle = |corners: &[u32; 3]| {
        let point = |corner: u32| Some(DVec3::from(positions.get(corner as usize)?.map(f64::from)));
        let uv = |corner: u32| Some(DVec2::from(coordinates.get(corner as usize)?.map(f64::from)));
        let [a, b, c] = *corners;
        let area = (point(b)? - point(a)?).cross(point(c)? - point(a)?).length() / 2.0;
        let uv_area = (uv(b)? - uv(a)?).perp_dot(uv(c)? - uv(a)?).abs() / 2.0;
        let density = (area / uv_area).sqrt();
        let counts = uv_area >= LEAST_UV_AREA && area > 0.0 && area.is_finite() && density.is_finite();
        (counts && density > 0.0).then_some((density, area))
    };
    triangles.iter().filter_map(of_triangle).collect()
}

/// The density at half of the area.
fn median(mut densities: Vec<(f64, f64)>) -> Option<f32> {
    densities.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let half = densities.iter().map(|(_, area)| area).sum::<f64>() / 2.0;
    let mut covered = 0.0;
    let at_half = densities.iter().find(|(_, area)| {
        covered += area;
        covered >= half
    });
    let density = at_half?.0 as f32;
    (density.is_finite() && density > 0.0).then_some(density)
}
