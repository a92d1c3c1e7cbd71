//! What is drawn in the world: volumes, bounds, sources.

use core::f32::consts::PI;

use bevy_camera::{Camera, Camera3d, RenderTarget};
use bevy_color::Color;
use bevy_ecs::{
    entity::Entity,
    query::Has,
    system::{Query, Res},
};
use bevy_gizmos::{config::GizmoConfigStore, gizmos::Gizmos, primitives::dim3::GizmoPrimitive3d};
use bevy_math::{Isometry3d, Quat, Vec3, Vec3A, primitives::Capsule3d};
use bevy_transform::components::{GlobalTransform, Transform};

use super::{OverlaySettings, outline::outlines};
use crate::{
    arrival::Arrivals,
    select::VolumeState,
    settings::LevelSettings,
    source::{SourceMotion, SourceShape, StreamingSource},
    target::LevelTarget,
    volume::{StreamingVolume, VolumeShape},
    world::{EvenHidden, LevelSelection, LevelState, LevelTable},
};

type Draw<'w, 's> = Gizmos<'w, 's, OverlaySettings>;

pub(super) type Cameras<'w, 's> = Query<
    'w,
    's,
    (
        &'static Camera,
        &'static GlobalTransform,
        Option<&'static RenderTarget>,
        Has<Camera3d>,
    ),
>;

/// The eye of whoever looks, if there is one: of the cameras that see the world in three dimensions, and in a window, if any does, the last one.
pub(super) fn active<'a>(cameras: &'a Cameras) -> Option<(&'a Camera, &'a GlobalTransform)> {
    let active = cameras.iter().filter(|(camera, ..)| camera.is_active);
    let last = active.max_by_key(|(camera, _, target, is_3d)| {
        let is_seen = matches!(target, None | Some(RenderTarget::Window(_)));
        (*is_3d, is_seen, camera.order)
    });
    last.map(|(camera, place, ..)| (camera, place))
}

/// Whether something is near enough to be drawn.
fn is_near(eye: Option<Vec3>, (min, max): (Vec3, Vec3), reach: f32) -> bool {
    eye.is_none_or(|eye| eye.distance(eye.clamp(min.min(max), max)) <= reach)
}

pub(super) fn volume_color(state: VolumeState) -> Color {
    match state {
        VolumeState::Off => Color::srgb(0.4, 0.4, 0.4),
        VolumeState::On => Color::srgb(0.1, 0.9, 1.0),
        VolumeState::Lingering { .. } => Color::srgb(1.0, 0.6, 0.1),
    }
}

pub(super) fn level_color(state: LevelState) -> Color {
    match state {
        LevelState::Unloaded => Color::srgb(0.4, 0.4, 0.4),
        LevelState::Loading(_) => Color::srgb(1.0, 0.9, 0.1),
        LevelState::Hidden => Color::srgb(0.3, 0.5, 1.0),
        LevelState::Revealing => Color::srgb(1.0, 0.6, 0.1),
        LevelState::Visible => Color::srgb(0.2, 0.9, 0.3),
        LevelState::Leaving => Color::srgb(0.7, 0.3, 0.9),
        LevelState::Failed => Color::srgb(1.0, 0.1, 0.1),
    }
}

pub(super) fn volumes(
    volumes: Query<(Entity, &StreamingVolume, Option<&GlobalTransform>), EvenHidden>,
    worlds: Query<&LevelSelection, EvenHidden>,
    cameras: Cameras,
    store: Res<GizmoConfigStore>,
    mut gizmos: Draw,
) {
    let reach = store.config::<OverlaySettings>().1.reach;
    let eye = active(&cameras).map(|(_, place)| place.translation());
    for (entity, volume, place) in &volumes {
        let placed = place.map(|place| volume.shape.transformed(place));
        let Some(region) = placed.as_ref().map_or(Some(&volume.shape), Option::as_ref) else {
            continue;
        };
        let mut selections = worlds.iter();
        let state = selections.find_map(|selection| {
            let key = selection.volumes.get(&entity)?;
            Some(selection.selector.volume_state(*key))
        });
        let state = state.unwrap_or_default();
        if state.asks() || is_near(eye, region.bounds(), reach) {
            shape(&mut gizmos, region, volume_color(state), eye.unwrap_or_default(), reach);
        }
    }
}

fn shape(gizmos: &mut Draw, shape: &VolumeShape, color: Color, eye: Vec3, reach: f32) {
    match shape {
        VolumeShape::Box { min, max } => cuboid(gizmos, *min, *max, color),
        VolumeShape::Sphere { center, radius } => {
            gizmos.sphere(Isometry3d::from_translation(*center), *radius, color);
        }
        VolumeShape::Capsule { a, b, radius } => {
            let line = *b - *a;
            let along = line.try_normalize().unwrap_or(Vec3::Y);
            let place = Isometry3d::new((*a + *b) * 0.5, Quat::from_rotation_arc(Vec3::Y, along));
            gizmos.primitive_3d(&Capsule3d::new(*radius, line.length()), place, color);
        }
        // It may have no end: as far as is drawn anyway.
        VolumeShape::Convex { planes } => {
            for face in outlines(planes, eye - reach, eye + reach) {
                gizmos.lineloop(face, color);
            }
        }
    }
}

fn cuboid(gizmos: &mut Draw, min: Vec3, max: Vec3, color: Color) {
    let place = Transform::from_translation((min + max) * 0.5).with_scale(max - min);
    gizmos.cube(place, color);
}

pub(super) fn bounds(
    worlds: Query<&LevelTable, EvenHidden>,
    cameras: Cameras,
    store: Res<GizmoConfigStore>,
    mut gizmos: Draw,
) {
    let reach = store.config::<OverlaySettings>().1.reach;
    let eye = active(&cameras).map(|(_, place)| place.translation());
    for level in worlds.iter().flatten().filter(|level| !level.is_gone()) {
        let Some((min, max)) = level.entry().bounds else {
            continue;
        };
        let (min, max) = (Vec3::from(min), Vec3::from(max));
        if level.is_wanted() || is_near(eye, (min, max), reach) {
            cuboid(&mut gizmos, min, max, level_color(level.state()));
        }
    }
}

/// A way ahead that is shorter is not drawn.
const LEAST_WAY: f32 = 0.5;

/// What is not asked, or by nobody.
const GREY: Color = Color::srgb(0.4, 0.4, 0.4);

/// What a source is drawn in: white if it asks for levels.
pub(super) fn source_color(source: &StreamingSource, settings: &LevelSettings) -> Color {
    if source.is_followed(settings) && source.target != LevelTarget::Unloaded {
        Color::WHITE
    } else {
        GREY
    }
}

pub(super) fn sources(
    sources: Query<(&StreamingSource, Option<&SourceMotion>, &GlobalTransform)>,
    arrivals: Res<Arrivals>,
    settings: Res<LevelSettings>,
    mut gizmos: Draw,
) {
    for (source, motion, place) in &sources {
        let at = place.translation();
        if !at.is_finite() {
            continue;
        }
        let color = source_color(source, &settings);
        let look = place.affine().matrix3 * -Vec3A::Z;
        seen(&mut gizmos, at, source.shape, Some(look.into()), color);
        let way = motion.map_or(Vec3::ZERO, |motion| motion.velocity() * source.ahead);
        if way.is_finite() && way.length() > LEAST_WAY {
            gizmos.arrow(at, at + way, color);
        }
    }
    for arrival in arrivals.all().filter(|arrival| arrival.position.is_finite()) {
        let color = Color::srgb(1.0, 0.3, 0.8);
        gizmos.cross(Isometry3d::from_translation(arrival.position), 1.0, color);
        seen(&mut gizmos, arrival.position, arrival.shape, arrival.look, color);
    }
}

/// A small ball where a source is, and what it sees from there.
fn seen(gizmos: &mut Draw, at: Vec3, shape: SourceShape, look: Option<Vec3>, color: Color) {
    let place = Isometry3d::from_translation(at);
    gizmos.sphere(place, 0.5, color);
    let radius = shape.radius();
    if radius <= 0.0 || !radius.is_finite() {
        return;
    }
    match (shape, look.and_then(Vec3::try_normalize)) {
        (SourceShape::Sector { half_angle, .. }, Some(look)) if half_angle < PI => {
            sector(at, look, radius, half_angle.max(0.0))
                .into_iter()
                .for_each(|line| gizmos.lineloop(line, color));
        }
        _ => drop(gizmos.sphere(place, radius, color)),
    }
}

/// The outline of a part of a ball: two slices through its middle, and its rim.
pub(super) fn sector(at: Vec3, look: Vec3, radius: f32, half_angle: f32) -> [Vec<Vec3>; 3] {
    const STEPS: usize = 16;
    let (right, up) = look.any_orthonormal_pair();
    let part = |step: usize| step as f32 / STEPS as f32;
    let slice = |side: Vec3| {
        let angle = |step: usize| half_angle * (2.0 * part(step) - 1.0);
        let corner = |step: usize| at + radius * (look * angle(step).cos() + side * angle(step).sin());
        core::iter::once(at).chain((0..=STEPS).map(corner)).collect()
    };
    let rim = |step: usize| {
        let (sin, cos) = (part(step) * 2.0 * PI).sin_cos();
        let side = (right * cos + up * sin) * half_angle.sin();
        at + radius * (look * half_angle.cos() + side)
    };
    [slice(right), slice(up), (0..STEPS).map(rim).collect()]
}
