//! Who looks. See [`MipView`].

use bevy_math::Vec3;

/// A point of view for which textures are to be fine enough: a camera, or a place where one will be.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct MipView {
    /// By what it is known again in the next frame.
    pub key: u64,
    /// Where it is, in world space.
    pub position: Vec3,
    /// How it moves, in metres a second; zero for one that rests or has jumped.
    pub velocity: Vec3,
    /// Pixels per metre of what is one metre away; of an orthographic view per metre, however far away.
    pub pixels: f32,
    /// Whether things look as large from everywhere.
    pub is_orthographic: bool,
    /// What is nearer than this is not drawn, in metres.
    pub near: f32,
    /// How much coarser it may be, in mips: what the view's shaders add to the lod.
    pub bias: f32,
    /// No camera is there, but one will be: what is around it counts, whether a camera sees it or not.
    pub is_expected: bool,
}

impl MipView {
    /// A perspective view at rest, of so many physical pixels in height. `fov_y` is its whole angle in radians.
    ///
    /// Pixels are those of the picture's middle. At its edge, what faces the picture's plane is finer by `log2(1 / cos)` of the angle between;
    /// who wants that as well lowers the bias.
    #[must_use]
    pub fn perspective(key: u64, position: Vec3, fov_y: f32, height: f32, near: f32) -> Self {
        Self {
            key,
            position,
            velocity: Vec3::ZERO,
            pixels: height / (2.0 * (fov_y / 2.0).tan()),
            is_orthographic: false,
            near,
            bias: 0.0,
            is_expected: false,
        }
    }

    /// An orthographic view at rest, whose picture is so many physical pixels, and `metres` of the world, in height.
    #[must_use]
    pub fn orthographic(key: u64, position: Vec3, metres: f32, height: f32) -> Self {
        Self {
            key,
            position,
            velocity: Vec3::ZERO,
            pixels: height / metres,
            is_orthographic: true,
            near: 0.0,
            bias: 0.0,
            is_expected: false,
        }
    }

    /// Where it will be in so many seconds.
    #[must_use]
    pub fn ahead(&self, seconds: f32) -> Self {
        Self {
            position: self.position + self.velocity * seconds,
            ..*self
        }
    }

    /// By how many mips the lod of everything is another for `other` at the same place; infinite if that cannot be told.
    pub(in crate::mip) fn zoom(&self, other: &Self) -> f32 {
        let lens = |view: &Self| view.bias - view.pixels.log2();
        let bits = |view: &Self| (view.bias.to_bits(), view.pixels.to_bits());
        let kind = |view: &Self| (view.is_orthographic, view.is_expected);
        let is_alike = kind(self) == kind(other) && self.near == other.near;
        let change = (lens(self) - lens(other)).abs();
        match is_alike {
            true if bits(self) == bits(other) => 0.0,
            true if !change.is_nan() => change,
            _ => f32::INFINITY,
        }
    }
}
