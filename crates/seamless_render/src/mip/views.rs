//! From where textures are looked at: cameras, and other points that are expected to be looked from. See [`MipViewpoint`].

#[cfg(test)]
mod tests;
mod track;

use bevy_camera::{Camera, Camera3d, MainPassResolutionOverride, Projection};
use bevy_ecs::{prelude::*, system::SystemParam};
use bevy_math::{Mat4, Vec3};
use bevy_reflect::{Reflect, prelude::ReflectDefault};
use bevy_render::camera::MipBias;
use bevy_transform::components::GlobalTransform;
use seamless_asset::Viewpoints;

use super::need::MipView;
use track::Tracks;

/// More are not looked from: those that weigh least are left out.
const MOST_VIEWS: usize = 8;
/// What a viewpoint that knows nothing of a lens has, if there is no camera: 1080 pixels for an eighth of a turn.
const USUAL_PIXELS: f32 = 1303.0;
/// What is nearer than this is not drawn, in metres, for who does not tell.
const USUAL_NEAR: f32 = 0.1;
/// What a camera weighs.
const CAMERA_WEIGHT: f32 = 1e6;
/// Expected places have keys from here on: those of entities that had been replaced so often do not occur.
const EXPECTED: u64 = u64::MAX << 32;

/// A point from which the world is going to be seen, though no camera is there: textures are as fine there as if one were, wherever that looked, so nothing is to
/// be done when it comes. Where the pool has no room for that, they count as little as what nobody sees. It has to have a [`GlobalTransform`]. Cameras
/// need none, nor do the places that levels are got ready for.
#[derive(Component, Reflect, Clone, Copy, Debug, PartialEq)]
#[require(bevy_transform::components::Transform)]
#[reflect(Component, Default, Clone, PartialEq)]
pub struct MipViewpoint {
    /// How many pixels a metre has that is one metre away: the picture's height in pixels, divided by twice the tangent of half of the angle of view. None: as
    /// many as with the camera that has most.
    pub pixels: Option<f32>,
    /// How much it counts beside other viewpoints: there are eight views at most, cameras included, which come first.
    pub weight: f32,
}

impl Default for MipViewpoint {
    fn default() -> Self {
        Self {
            pixels: None,
            weight: 1.0,
        }
    }
}

/// All that is looked from.
#[derive(SystemParam)]
pub(super) struct Looking<'w, 's> {
    cameras: Query<
        'w,
        's,
        (
            Entity,
            &'static Camera,
            &'static Projection,
            &'static GlobalTransform,
            Option<&'static MipBias>,
            Option<&'static MainPassResolutionOverride>,
        ),
        With<Camera3d>,
    >,
    viewpoints: Query<'w, 's, (Entity, &'static MipViewpoint, &'static GlobalTransform)>,
    expected: Res<'w, Viewpoints>,
}

/// The views of the last frame, and how they move.
#[derive(Debug, Default)]
pub(super) struct MipViews {
    views: Vec<MipView>,
    weighed: Vec<(f32, MipView)>,
    tracks: Tracks,
}

impl MipViews {
    /// At most eight, cameras first.
    pub fn views(&self) -> &[MipView] {
        &self.views
    }

    /// Takes those of a frame. `now` is in seconds.
    pub fn note(&mut self, looking: &Looking, now: f64) {
        self.weighed.clear();
        let mut most = 0.0_f32;
        for (entity, camera, projection, transform, bias, size) in &looking.cameras {
            let Some(view) = camera_view(entity, camera, projection, transform, bias, size) else {
                continue;
            };
            most = most.max(if view.is_orthographic { 0.0 } else { view.pixels });
            self.weighed.push((CAMERA_WEIGHT, view));
        }
        let usual = if most > 0.0 { most } else { USUAL_PIXELS };
        let point = |key: u64, position: Vec3, pixels: f32| MipView {
            key,
            position,
            velocity: Vec3::ZERO,
            pixels,
            is_orthographic: false,
            near: USUAL_NEAR,
            bias: 0.0,
            is_expected: true,
        };
        for (entity, of, transform) in &looking.viewpoints {
            let view = point(entity.to_bits(), transform.translation(), of.pixels.unwrap_or(usual));
            self.weighed.push((of.weight.min(CAMERA_WEIGHT), view));
        }
        for (number, expected) in (0..).zip(&looking.expected.0) {
            let view = point(u64::MAX - number, expected.position, usual);
            self.weighed.push((expected.weight.min(CAMERA_WEIGHT), view));
        }
        // Queries tell in the order of tables, which is not the same from frame to frame.
        self.weighed
            .sort_unstable_by(|(a, view), (b, other)| b.total_cmp(a).then(view.key.cmp(&other.key)));
        self.weighed.truncate(MOST_VIEWS);
        self.views.clear();
        self.views.extend(self.weighed.iter().map(|(_, view)| *view));
        self.views.sort_unstable_by_key(|view| view.key);
        self.tracks.note(&mut self.views, now);
    }
}

/// What a camera needs; none if it draws nothing.
fn camera_view(
    entity: Entity,
    camera: &Camera,
    projection: &Projection,
    transform: &GlobalTransform,
    bias: Option<&MipBias>,
    size: Option<&MainPassResolutionOverride>,
) -> Option<MipView> {
    let size = size.map(|size| size.0).or_else(|| camera.physical_viewport_size())?;
    let clip = camera.clip_from_view();
    if !camera.is_active || size.x == 0 || size.y == 0 {
        return None;
    }
    Some(MipView {
        key: entity.to_bits(),
        position: transform.translation(),
        velocity: Vec3::ZERO,
        pixels: pixels(&clip, size.as_vec2().to_array()),
        is_orthographic: clip.w_axis.w == 1.0,
        near: near(projection),
        bias: bias.map_or(0.0, |bias| bias.0),
        is_expected: false,
    })
}

/// Pixels per metre that is one metre away, or, of what is orthographic, anywhere: the larger of width's and height's.
fn pixels(clip: &Mat4, [width, height]: [f32; 2]) -> f32 {
    (clip.x_axis.x.abs() * width).max(clip.y_axis.y.abs() * height) / 2.0
}

fn near(projection: &Projection) -> f32 {
    match projection {
        Projection::Perspective(perspective) => perspective.near,
        Projection::Orthographic(_) => 0.0,
        Projection::Custom(_) => USUAL_NEAR,
    }
}
