//! Volumes that go where their entities are: pure geometry.

#[cfg(test)]
mod tests;

use bevy_math::{Mat3, Vec3};
use bevy_transform::components::GlobalTransform;

use super::{
    StreamingVolume, VolumeFault, VolumeShape,
    shape::{box_planes, is_somewhere},
};

impl VolumeShape {
    /// The same region where an entity is: in world space, if it was in the entity's own.
    ///
    /// A box that is turned or sheared becomes [`Convex`](Self::Convex), and has no end where it had none. A ball and the ends of a capsule stay round:
    /// their radius grows as much as anything does there.
    ///
    /// None for a transform with numbers that are infinite or none, or that flattens everything.
    ///
    /// ```
    /// # use bevy_math::Vec3;
    /// # use bevy_transform::components::{GlobalTransform, Transform};
    /// # use seamless_level::VolumeShape;
    /// let cabin = VolumeShape::Box { min: Vec3::NEG_ONE, max: Vec3::ONE };
    /// let ship = Transform::from_xyz(500.0, 0.0, 0.0).with_scale(Vec3::splat(2.0));
    /// let cabin = cabin.transformed(&GlobalTransform::from(ship)).expect("a ship is somewhere");
    /// assert!(cabin.contains(Vec3::new(498.5, 0.0, 0.0)) && !cabin.contains(Vec3::ZERO));
    /// ```
    #[must_use]
    pub fn transformed(&self, place: &GlobalTransform) -> Option<Self> {
        let affine = place.affine();
        let matrix = Mat3::from(affine.matrix3);
        let determinant = matrix.determinant();
        if !affine.is_finite() || !determinant.is_finite() || determinant == 0.0 {
            return None;
        }
        let to_world = |point: Vec3| affine.transform_point3(point);
        Some(match self {
            Self::Box { min, max } if is_straight(&matrix) => {
                // An infinite number times nothing is none, so axes go by themselves.
                let scaled = |corner: Vec3| corner * matrix.diagonal() + Vec3::from(affine.translation);
                let (one, other) = (scaled(*min), scaled(*max));
                // An end that is too far away for numbers is not the same as none.
                let is_lost = |from: Vec3, to: Vec3| (from.is_finite_mask() & !to.is_finite_mask()).any();
                if is_lost(*min, one) || is_lost(*max, other) {
                    return None;
                }
                // One that is none stays none, mirrored or not.
                let is_mirrored = matrix.diagonal().cmplt(Vec3::ZERO);
                Self::Box {
                    min: Vec3::select(is_mirrored, other, one),
                    max: Vec3::select(is_mirrored, one, other),
                }
            }
            Self::Box { min, max } if is_somewhere(*min, *max) => {
                let sides = box_planes(*min, *max).filter(|(_, d)| d.is_finite());
                let planes = sides.map(|side| plane(side, &matrix, to_world)).collect();
                Self::Convex { planes }
            }
            Self::Box { .. } => self.clone(),
            Self::Sphere { center, radius } => Self::Sphere {
                center: to_world(*center),
                radius: radius * most_scale(&matrix),
            },
            Self::Capsule { a, b, radius } => Self::Capsule {
                a: to_world(*a),
                b: to_world(*b),
                radius: radius * most_scale(&matrix),
            },
            Self::Convex { planes } => Self::Convex {
                planes: planes.iter().map(|side| plane(*side, &matrix, to_world)).collect(),
            },
        })
    }
}

impl StreamingVolume {
    /// Where it is in the world, and how far outside of that a source may be before the levels leave.
    ///
    /// # Errors
    /// The first thing that is wrong with it there, levels and world not looked at.
    pub(crate) fn placed(&self, place: Option<&GlobalTransform>) -> Result<(VolumeShape, f32), VolumeFault> {
        // What is wrong with it anyway is told rather.
        if let Some(fault) = self.fault() {
            return Err(fault);
        }
        let Some(place) = place else {
            return Ok((self.shape.clone(), self.margin()));
        };
        let shape = self.shape.transformed(place).ok_or(VolumeFault::Transform)?;
        let margin = self.unload_margin.unwrap_or_else(|| {
            let matrix = Mat3::from(place.affine().matrix3);
            let along = [matrix.x_axis, matrix.y_axis, matrix.z_axis].map(Vec3::length);
            self.shape.scaled_margin(along.into(), most_scale(&matrix))
        });
        shape.validate(margin).map_err(|_| VolumeFault::Transform)?;
        Ok((shape, margin))
    }
}

/// Whether axes stay where they were, seen as lines.
fn is_straight(matrix: &Mat3) -> bool {
    *matrix == Mat3::from_diagonal(matrix.diagonal())
}

/// By how much lengths grow at most, in whatever direction: where an entity is sheared, that is along none of its axes. It is the largest singular value, by the
/// trigonometric solution for a symmetric matrix (Smith, *Eigenvalues of a symmetric 3 × 3 matrix*, 1961).
fn most_scale(matrix: &Mat3) -> f32 {
    // Of what is near one, the squares are numbers too.
    let elements = matrix.to_cols_array().into_iter();
    let size = elements.fold(0.0, |size: f32, element| size.max(element.abs()));
    if size == 0.0 {
        return 0.0;
    }
    let matrix = *matrix / size;
    let square = matrix.transpose() * matrix;
    let (diagonal, off) = (square.diagonal(), square - Mat3::from_diagonal(square.diagonal()));
    let mean = diagonal.element_sum() / 3.0;
    let columns = [off.x_axis, off.y_axis, off.z_axis];
    let spread = (diagonal - mean).length_squared() + columns.into_iter().map(Vec3::length_squared).sum::<f32>();
    let spread = (spread / 6.0).sqrt();
    if spread == 0.0 {
        return mean.sqrt() * size;
    }
    let unit = (square - Mat3::from_diagonal(Vec3::splat(mean))) * (1.0 / spread);
    let angle = (unit.determinant() * 0.5).clamp(-1.0, 1.0).acos() / 3.0;
    (mean + 2.0 * spread * angle.cos()).sqrt() * size
}

/// A plane, seen in the world: its points go along, and its normal stays across them.
fn plane((normal, d): (Vec3, f32), matrix: &Mat3, to_world: impl Fn(Vec3) -> Vec3) -> (Vec3, f32) {
    let length = normal.length();
    let unit = normal / length;
    let on_it = to_world(unit * (d / length));
    let normal = (matrix.inverse().transpose() * unit).normalize();
    (normal, normal.dot(on_it))
}
