//! What is drawn in the world: volumes, bounds, sources.

use core::f32::consts::PI;

use bevy_camera::{Camera, Camera3d, RenderTarget};
use bevy_color::Color;
use bevy_ecs::{
    entity::Entity,
    query::{Has, With},
    system::{Query, Res},
};
use bevy_gizmos::{config::GizmoConfigStore, gizmos::Gizmos, primitives::dim3::GizmoPrimitive3d};
use bevy_math::{BVec3, Isometry3d, Quat, Vec3, primitives::Capsule3d};
use bevy_transform::components::{GlobalTransform, Transform};

use super::{
    OverlaySettings,
    outline::{frame, outlines},
};
use crate::{
    arrival::Arrivals,
    select::{SourceInput, VolumeState},
    settings::LevelSettings,
    source::{SourceMotion, SourceShape, StreamingSource},
    volume::{StreamingVolume, VolumeShape},
    world::{DistanceStreaming, EvenHidden, LevelSelection, LevelState, LevelTable},
};

/// What is not asked, or by nobody.
const GREY: Color = Color::srgb(0.4, 0.4, 0.4);
/// Where levels are shown by their distance, and where they are loaded: as those that are, but dimmer than what a source sees by itself.
const SHOWN: Color = Color::srgb(0.08, 0.36, 0.12);
const LOADED: Color = Color::srgb(0.12, 0.2, 0.4);

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

/// The colour of a volume; of one that no world knows there is no state.
pub(super) fn volume_color(state: Option<VolumeState>) -> Color {
    match state {
        None => Color::srgb(0.5, 0.05, 0.05),
        Some(VolumeState::Off) => GREY,
        Some(VolumeState::On) => Color::srgb(0.1, 0.9, 1.0),
        Some(VolumeState::Lingering { .. }) => Color::srgb(1.0, 0.6, 0.1),
    }
}

pub(super) fn level_color(state: LevelState) -> Color {
    match state {
        LevelState::Unloaded => GREY,
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
        let (bounds, asks) = (region.bounds(), state.is_some_and(VolumeState::asks));
        if asks || is_near(eye, bounds, reach) {
            let within = frame(bounds, eye.unwrap_or_default(), reach);
            shape(&mut gizmos, region, volume_color(state), within);
        }
    }
}

fn shape(gizmos: &mut Draw, shape: &VolumeShape, color: Color, (min, max): (Vec3, Vec3)) {
    match shape {
        VolumeShape::Box { min: low, max: high } => cuboid(gizmos, low.max(min), high.min(max), color),
        VolumeShape::Sphere { center, radius } => {
            gizmos.sphere(Isometry3d::from_translation(*center), *radius, color);
        }
        VolumeShape::Capsule { a, b, radius } => {
            let line = *b - *a;
            let along = line.try_normalize().unwrap_or(Vec3::Y);
            let place = Isometry3d::new((*a + *b) * 0.5, Quat::from_rotation_arc(Vec3::Y, along));
            gizmos.primitive_3d(&Capsule3d::new(*radius, line.length()), place, color);
        }
        // It may have no end.
        VolumeShape::Convex { planes } => {
            for face in outlines(planes, min, max) {
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

pub(super) fn sources(
    sources: Query<(&StreamingSource, Option<&SourceMotion>, &GlobalTransform)>,
    worlds: Query<(Entity, Option<&DistanceStreaming>), (With<LevelTable>, EvenHidden)>,
    arrivals: Res<Arrivals>,
    settings: Res<LevelSettings>,
    mut gizmos: Draw,
) {
    for (source, motion, place) in &sources {
        let at = place.translation();
        if !at.is_finite() {
            continue;
        }
        let input = source.input(0, place, motion.map_or(Vec3::ZERO, SourceMotion::velocity));
        let mut asked = worlds
            .iter()
            .filter(|(world, _)| source.world.is_none_or(|meant| meant == *world))
            .peekable();
        let asks = source.asks(&input, settings.follow_remote) && asked.peek().is_some();
        let color = if asks { Color::WHITE } else { GREY };
        seen(&mut gizmos, at, input.shape, input.look, color);
        if !asks {
            continue;
        }
        let way = input.velocity * input.ahead;
        if input.looks_ahead() && way.is_finite() {
            gizmos.arrow(at, at + way, color);
        }
        for distances in asked.filter_map(|(_, distances)| distances.filter(|distances| distances.is_valid())) {
            by_distance(&mut gizmos, &input, distances);
        }
    }
    for arrival in arrivals.all().filter(|arrival| arrival.position.is_finite()) {
        let color = Color::srgb(1.0, 0.3, 0.8);
        gizmos.cross(Isometry3d::from_translation(arrival.position), 1.0, color);
        seen(&mut gizmos, arrival.position, arrival.shape, arrival.look, color);
    }
}

/// As far as levels come by their distance from a source.
fn by_distance(gizmos: &mut Draw, source: &SourceInput, distances: &DistanceStreaming) {
    let DistanceStreaming { show, load, axes, .. } = *distances;
    let loaded = (show < load).then_some((load, LOADED));
    for (range, color) in [(show, SHOWN)].into_iter().chain(loaded) {
        let radius = source.shape.radius() + range * source.reach.max(0.0);
        if axes.all() {
            region(gizmos, source.position, source.shape, radius, source.look, color);
        } else {
            flat_region(gizmos, source.position, radius, axes, color);
        }
    }
}

/// What is no further than `radius` from a place along one or two axes, as far as it is as high as that: a circle, or a line.
fn flat_region(gizmos: &mut Draw, at: Vec3, radius: f32, axes: BVec3, color: Color) {
    if radius <= 0.0 || !radius.is_finite() {
        return;
    }
    let of = |mask: BVec3| Vec3::select(mask, Vec3::ONE, Vec3::ZERO);
    if axes.bitmask().count_ones() == 1 {
        gizmos.line(at - of(axes) * radius, at + of(axes) * radius, color);
    } else {
        let across = Quat::from_rotation_arc(Vec3::Z, of(!axes));
        gizmos.circle(Isometry3d::new(at, across), radius, color);
    }
}

/// A small ball where a source is, and what it sees from there.
fn seen(gizmos: &mut Draw, at: Vec3, shape: SourceShape, look: Option<Vec3>, color: Color) {
    gizmos.sphere(Isometry3d::from_translation(at), 0.5, color);
    region(gizmos, at, shape, shape.radius(), look, color);
}

/// What is no further than `radius` from a place, where a source of this shape looks.
fn region(gizmos: &mut Draw, at: Vec3, shape: SourceShape, radius: f32, look: Option<Vec3>, color: Color) {
    if radius <= 0.0 || !radius.is_finite() {
        return;
    }
    match (shape, look.and_then(Vec3::try_normalize)) {
        (SourceShape::Sector { half_angle, .. }, Some(look)) if half_angle < PI => {
            sector(at, look, radius, half_angle.max(0.0))
                .into_iter()
                .for_each(|line| gizmos.lineloop(line, color));
        }
        _ => drop(gizmos.sphere(Isometry3d::from_translation(at), radius, color)),
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
