//! How large a mesh is. See [`bounds`].

use bevy::camera::primitives::{Aabb, Sphere};
use bevy::math::Vec3A;
use bevy::mesh::Mesh;

use super::triangles::positions;

/// Where a mesh is, at rest: morph targets and bones may move its vertices out.
#[derive(Debug, Clone, Copy)]
pub struct MeshBounds {
    /// The smallest box, in the mesh's own space.
    pub aabb: Aabb,
    /// A small ball, in the mesh's own space; never larger than the one around the box.
    pub sphere: Sphere,
}

/// The bounds of a mesh's vertices; `None` when it has none. Vertices that are not finite do not count: they draw nothing.
#[must_use]
pub fn bounds(mesh: &Mesh) -> Option<MeshBounds> {
    let points: Vec<Vec3A> = points(mesh)?.collect();
    let aabb = around_all(points.iter().copied())?;
    let spheres = [aabb.center, ritter(&points, *points.first()?)].map(|center| around(&points, center));
    let [of_box, other] = spheres;
    let sphere = if other.radius < of_box.radius { other } else { of_box };
    Some(MeshBounds { aabb, sphere })
}

/// The box of [`bounds`] alone.
pub(crate) fn aabb(mesh: &Mesh) -> Option<Aabb> {
    around_all(points(mesh)?)
}

fn points(mesh: &Mesh) -> Option<impl Iterator<Item = Vec3A>> {
    let points = positions(mesh)?.iter().map(|position| Vec3A::from_array(*position));
    Some(points.filter(|point| point.is_finite()))
}

fn around_all(mut points: impl Iterator<Item = Vec3A>) -> Option<Aabb> {
    let first = points.next()?;
    let (min, max) = points.fold((first, first), |(min, max), point| (min.min(point), max.max(point)));
    Some(Aabb {
        // Halves first: the sum of two large numbers may not be finite.
        center: min * 0.5 + max * 0.5,
        half_extents: max * 0.5 - min * 0.5,
    })
}

/// The smallest ball around `center` that holds all points.
fn around(points: &[Vec3A], center: Vec3A) -> Sphere {
    let radius = points.iter().map(|point| point.distance(center)).fold(0.0, f32::max);
    // Distances are rounded: a point must not lie a hair outside.
    let radius = radius * (1.0 + 4.0 * f32::EPSILON);
    Sphere { center, radius }
}

/// The centre of Ritter's ball (Graphics Gems, 1990): around two points far apart, grown to hold each point in turn.
fn ritter(points: &[Vec3A], first: Vec3A) -> Vec3A {
    let farthest = |from: Vec3A| {
        let farther = |a: Vec3A, b: Vec3A| {
            if b.distance_squared(from) > a.distance_squared(from) {
                b
            } else {
                a
            }
        };
        points.iter().copied().fold(from, farther)
    };
    let one = farthest(first);
    let other = farthest(one);
    let mut center = one.midpoint(other);
    let mut radius = one.distance(other) / 2.0;
    for point in points {
        let distance = center.distance(*point);
        if distance > radius {
            let grown = (radius + distance) / 2.0;
            center += (*point - center) * ((grown - radius) / distance);
            radius = grown;
        }
    }
    center
}
