mod lines;
mod sources;

use core::{any::TypeId, time::Duration};
use std::collections::BTreeSet;

use bevy_app::{App, Last, PostUpdate};
use bevy_asset::{AssetApp, Assets};
use bevy_camera::{Camera, Camera3d, ComputedCameraValues, RenderTargetInfo, Viewport};
use bevy_color::{Color, LinearRgba};
use bevy_ecs::prelude::*;
use bevy_gizmos::{GizmoAsset, GizmoHandles, GizmoPlugin};
use bevy_math::{Mat4, UVec2, Vec3};
use bevy_mesh::{Mesh, skinning::SkinnedMeshInverseBindposes};
use bevy_transform::components::{GlobalTransform, Transform};
use seamless_asset::{LoadState, MemoryPressure, PanelLine, PanelLines, StreamingSettings, StreamingStats};

use super::{panel::*, *};
use crate::{
    ArrivalPoint, LateLevels, LevelSettings, LevelState, LevelTable, LevelTarget, NewInstance, SeamlessLevelPlugin,
    SourceShape, StreamingSource, StreamingVolume, VolumeShape,
    world::tests::{EAST, Stage, WEST, level_app, manifest},
};

fn stage(is_on: bool) -> Stage {
    let mut app = level_app(SeamlessLevelPlugin::default());
    let settings = OverlaySettings {
        is_on,
        ..OverlaySettings::default()
    };
    // The pipeline's plugin has them.
    app.init_asset::<Mesh>().init_asset::<SkinnedMeshInverseBindposes>();
    app.init_resource::<StreamingStats>()
        .init_resource::<StreamingSettings>()
        .init_resource::<ButtonInput<KeyCode>>()
        .add_plugins((GizmoPlugin, SeamlessOverlayPlugin { settings }));
    let mut manifest = manifest();
    for level in &mut manifest.levels {
        level.bounds = Some(([-60.0, 0.0, -5.0], [60.0, 5.0, 5.0]));
    }
    let mut stage = Stage::of(app, manifest);
    let place = GlobalTransform::from(Transform::from_xyz(0.0, 30.0, 80.0).looking_at(Vec3::ZERO, Vec3::Y));
    stage.app.world_mut().spawn((camera(), place));
    let shapes = [
        VolumeShape::Box {
            min: Vec3::ZERO,
            max: Vec3::ONE,
        },
        VolumeShape::Capsule {
            a: Vec3::ZERO,
            b: Vec3::Y,
            radius: 1.0,
        },
        VolumeShape::Capsule {
            a: Vec3::ZERO,
            b: Vec3::ZERO,
            radius: 1.0,
        },
        VolumeShape::Convex {
            planes: vec![(Vec3::Y, 3.0)],
        },
        VolumeShape::default(),
    ];
    for shape in shapes {
        let volume = StreamingVolume {
            shape,
            levels: vec!["base".into()],
            ..StreamingVolume::default()
        };
        stage.app.world_mut().spawn(volume);
    }
    stage
}

/// As Bevy's camera systems would leave it, for a window of 800 by 600.
fn camera() -> Camera {
    Camera {
        computed: ComputedCameraValues {
            clip_from_view: Mat4::perspective_infinite_reverse_rh(1.0, 4.0 / 3.0, 0.1),
            target_info: Some(RenderTargetInfo {
                physical_size: UVec2::new(800, 600),
                scale_factor: 1.0,
            }),
            ..ComputedCameraValues::default()
        },
        ..Camera::default()
    }
}

/// Whether anything was drawn in the world, and on the panel.
fn drawn(app: &App) -> [bool; 2] {
    let handles = app.world().resource::<GizmoHandles>().handles();
    [TypeId::of::<OverlaySettings>(), TypeId::of::<OverlayPanel>()].map(|group| handles[&group].is_some())
}

fn set(app: &mut App, change: impl Fn(&mut OverlaySettings)) {
    let mut store = app.world_mut().resource_mut::<GizmoConfigStore>();
    change(store.config_mut::<OverlaySettings>().1);
    app.update();
}

const STATES: [LevelState; 7] = [
    LevelState::Unloaded,
    LevelState::Loading(LoadState::Reading),
    LevelState::Hidden,
    LevelState::Revealing,
    LevelState::Visible,
    LevelState::Leaving,
    LevelState::Failed,
];

#[test]
fn sixty_frames_with_levels_in_all_states_are_drawn() {
    let mut stage = stage(true);
    for frame in 0..60 {
        let at = GlobalTransform::from_translation([WEST, EAST, Vec3::NAN, Vec3::ZERO][frame / 10 % 4]);
        stage.app.world_mut().entity_mut(stage.source).insert(at);
        match frame {
            5 => stage.ask(|levels| levels.unload("base")).unwrap(),
            8 => stage.hold("east"),
            30 => stage.ask(|levels| levels.load("east")).unwrap(),
            40 => stage.release(),
            _ => {}
        }
        stage.frames(1);
        if frame == 0 {
            continue;
        }
        assert_eq!(drawn(&stage.app), [true; 2], "frame {frame}");
        // Once more, with a level in any state.
        let world = stage.app.world_mut();
        let state = STATES[frame % STATES.len()];
        let mut table = world.get_mut::<LevelTable>(stage.world).unwrap();
        let was = table.pretend("west", state).unwrap();
        world.run_schedule(PostUpdate);
        world.run_schedule(Last);
        assert_eq!(drawn(&stage.app), [true; 2], "{state:?}");
        let mut table = stage.app.world_mut().get_mut::<LevelTable>(stage.world).unwrap();
        table.pretend("west", was);
    }
}

/// What was drawn in the world, each corner of a line with its colour.
fn world_lines(app: &App) -> Vec<(Vec3, LinearRgba)> {
    let handles = app.world().resource::<GizmoHandles>().handles();
    let Some(handle) = &handles[&TypeId::of::<OverlaySettings>()] else {
        return Vec::new();
    };
    let gizmos = app.world().resource::<Assets<GizmoAsset>>();
    let buffer = gizmos.get(handle).unwrap().buffer();
    let points = buffer.list_positions.iter().chain(&buffer.strip_positions);
    let colors = buffer.list_colors.iter().chain(&buffer.strip_colors);
    points.copied().zip(colors.copied()).collect()
}

/// How many corners lines have in the world.
fn corners(app: &App) -> usize {
    world_lines(app).len()
}

fn points(app: &App) -> impl Iterator<Item = Vec3> {
    let points = world_lines(app).into_iter().map(|(point, _)| point);
    points.filter(|point| point.is_finite())
}

/// Whether anything in the world is drawn in this colour.
fn is_drawn_in(app: &App, color: Color) -> bool {
    let color = color.to_linear();
    world_lines(app).iter().any(|(_, drawn)| *drawn == color)
}

/// One that is turned off, of which something is wrong, or that asks a world that is not there.
#[test]
fn volumes_that_nobody_hears_are_dark_red() {
    let mut stage = stage(true);
    set(&mut stage.app, |settings| {
        (settings.bounds, settings.sources) = (false, false);
    });
    stage.frames(3);
    let dark = draw::volume_color(None);
    assert!(!is_drawn_in(&stage.app, dark), "all are heard");
    let volume = StreamingVolume {
        levels: vec!["base".into()],
        ..StreamingVolume::default()
    };
    let nothing = stage.app.world_mut().spawn_empty().id();
    let deaf = [
        StreamingVolume {
            enabled: false,
            ..volume.clone()
        },
        StreamingVolume {
            priority: -1.0,
            ..volume.clone()
        },
        StreamingVolume {
            world: Some(nothing),
            ..volume
        },
    ];
    for volume in deaf {
        let entity = stage.app.world_mut().spawn(volume.clone()).id();
        stage.frames(2);
        assert!(is_drawn_in(&stage.app, dark), "{volume:?}");
        stage.app.world_mut().despawn(entity);
        stage.frames(2);
        assert!(!is_drawn_in(&stage.app, dark));
    }
}

/// What is in use is drawn however far away it is, and as it is.
#[test]
fn planes_that_are_far_away_are_drawn_where_they_are() {
    let mut stage = stage(true);
    set(&mut stage.app, |settings| {
        (settings.bounds, settings.sources, settings.reach) = (false, false, 10.0);
    });
    let at = Vec3::X * 5_000.0;
    let sides = [Vec3::X, Vec3::Y, Vec3::Z].map(|axis| [(axis, axis.dot(at) + 4.0), (-axis, 4.0 - axis.dot(at))]);
    let volume = StreamingVolume {
        shape: VolumeShape::Convex { planes: sides.concat() },
        levels: vec!["east".into()],
        ..StreamingVolume::default()
    };
    stage.app.world_mut().spawn(volume);
    stage.go(at);
    let there: Vec<Vec3> = points(&stage.app).filter(|point| point.distance(at) < 100.0).collect();
    assert!(there.len() >= 24, "six faces: {there:?}");
    for corner in there {
        let off = (corner - at).abs() - 4.0;
        assert!(off.abs().max_element() < 0.1, "{corner}");
    }
}

#[test]
fn a_box_without_an_end_is_drawn_as_far_as_others() {
    let mut stage = stage(true);
    set(&mut stage.app, |settings| {
        (settings.bounds, settings.sources, settings.reach) = (false, false, 200.0);
    });
    let before = points(&stage.app).count();
    let at = Vec3::new(4_000.0, 50.0, 0.0);
    let volume = StreamingVolume {
        shape: VolumeShape::Box {
            min: (at - 4.0).with_y(f32::NEG_INFINITY),
            max: (at + 4.0).with_y(f32::INFINITY),
        },
        levels: vec!["east".into()],
        ..StreamingVolume::default()
    };
    stage.app.world_mut().spawn(volume);
    stage.go(at);
    assert!(points(&stage.app).count() > before);
    let heights: Vec<f32> = points(&stage.app)
        .filter(|point| point.distance(at.with_y(point.y)) < 100.0)
        .map(|point| point.y)
        .collect();
    let eye = 30.0;
    assert!(
        !heights.is_empty() && heights.iter().all(|height| ((height - eye).abs() - 200.0).abs() < 0.1),
        "{heights:?}"
    );
}

/// What was removed leaves no box behind.
#[test]
fn an_instance_that_is_removed_is_not_drawn() {
    let mut stage = stage(true);
    stage.frames(3);
    set(&mut stage.app, |settings| {
        (settings.volumes, settings.sources) = (false, false)
    });
    let before = corners(&stage.app);
    let ticket = stage.ask(|levels| levels.add_instance(NewInstance::new("house", "west", Transform::IDENTITY)));
    stage.frames(3);
    assert!(corners(&stage.app) > before);
    stage.ask(|levels| levels.remove_instance("house")).unwrap();
    drop(ticket);
    stage.frames(5);
    assert_eq!(corners(&stage.app), before);
}

/// The picture may be a part of the window, and others may be drawn over it.
#[test]
fn the_panel_is_in_the_picture_of_who_looks() {
    let mut stage = stage(true);
    let world = stage.app.world_mut();
    let (eye, place) = world
        .query::<(Entity, &GlobalTransform)>()
        .iter(world)
        .find_map(|(entity, place)| world.get::<Camera>(entity).map(|_| (entity, *place)))
        .unwrap();
    let half = Viewport {
        physical_position: UVec2::new(400, 0),
        physical_size: UVec2::new(400, 600),
        ..Viewport::default()
    };
    world.get_mut::<Camera>(eye).unwrap().viewport = Some(half);
    world.entity_mut(eye).insert(Camera3d::default());
    let over = Camera { order: 1, ..camera() };
    world.spawn((over, GlobalTransform::from_xyz(0.0, -5000.0, 0.0)));
    stage.frames(3);
    let world = stage.app.world();
    let camera = world.get::<Camera>(eye).unwrap();
    let handles = world.resource::<GizmoHandles>().handles();
    let handle = handles[&TypeId::of::<OverlayPanel>()].as_ref().unwrap();
    let buffer = world.resource::<Assets<GizmoAsset>>().get(handle).unwrap().buffer();
    let points = buffer.strip_positions.iter().chain(&buffer.list_positions);
    let points: Vec<_> = points.filter(|point| point.is_finite()).collect();
    assert!(points.len() > 100);
    let is_seen = |point: &&&Vec3| {
        let at = camera.world_to_ndc(&place, ***point).unwrap();
        at.x.abs() <= 1.0 && at.y.abs() <= 1.0
    };
    assert_eq!(points.iter().filter(is_seen).count(), points.len());
}

#[test]
fn states_have_colours_of_their_own() {
    let colors = STATES.map(|state| format!("{:?}", draw::level_color(state)));
    assert_eq!(BTreeSet::from(colors).len(), STATES.len());
}

#[test]
fn a_key_turns_it_on_and_off() {
    let mut stage = stage(false);
    stage.frames(3);
    assert_eq!(drawn(&stage.app), [false; 2]);
    let press = |stage: &mut Stage, key| {
        let mut keys = stage.app.world_mut().resource_mut::<ButtonInput<KeyCode>>();
        keys.reset_all();
        keys.press(key);
        stage.frames(1);
        stage.app.world_mut().resource_mut::<ButtonInput<KeyCode>>().clear();
        stage.frames(1);
    };
    press(&mut stage, KeyCode::F2);
    assert_eq!(drawn(&stage.app), [false; 2]);
    press(&mut stage, KeyCode::F1);
    assert_eq!(drawn(&stage.app), [true; 2]);
    press(&mut stage, KeyCode::F1);
    assert_eq!(drawn(&stage.app), [false; 2]);
}

#[test]
fn each_part_can_be_left_away() {
    let mut stage = stage(true);
    stage.frames(3);
    let app = &mut stage.app;
    set(app, |settings| settings.panel = false);
    assert_eq!(drawn(app), [true, false]);
    set(app, |settings| (settings.volumes, settings.bounds) = (false, false));
    assert_eq!(drawn(app), [true, false], "sources are left");
    set(app, |settings| (settings.sources, settings.panel) = (false, true));
    assert_eq!(drawn(app), [false, true]);
    set(app, |settings| (settings.panel, settings.bounds) = (false, true));
    assert_eq!(drawn(app), [true, false]);
    set(app, |settings| (settings.bounds, settings.volumes) = (false, true));
    assert_eq!(drawn(app), [true, false]);
}

#[test]
fn without_a_camera_there_is_no_panel() {
    let mut stage = stage(true);
    let world = stage.app.world_mut();
    let cameras: Vec<Entity> = world.query_filtered::<Entity, With<Camera>>().iter(world).collect();
    for camera in cameras {
        world.despawn(camera);
    }
    stage.frames(3);
    assert_eq!(drawn(&stage.app), [true, false]);
}
