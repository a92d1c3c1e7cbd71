use core::{any::TypeId, time::Duration};
use std::collections::BTreeSet;

use bevy_app::{App, Last, PostUpdate};
use bevy_asset::{AssetApp, Assets};
use bevy_camera::{Camera, Camera3d, ComputedCameraValues, RenderTargetInfo, Viewport};
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

/// How many corners lines have in the world.
fn corners(app: &App) -> usize {
    let handles = app.world().resource::<GizmoHandles>().handles();
    let Some(handle) = &handles[&TypeId::of::<OverlaySettings>()] else {
        return 0;
    };
    let gizmos = app.world().resource::<Assets<GizmoAsset>>();
    let buffer = gizmos.get(handle).unwrap().buffer();
    buffer.list_positions.len() + buffer.strip_positions.len()
}

#[test]
fn where_sources_go_what_they_see_and_what_is_prepared_is_drawn() {
    let mut stage = stage(true);
    set(&mut stage.app, |settings| {
        (settings.volumes, settings.bounds) = (false, false);
    });
    stage.frames(5);
    let at_rest = corners(&stage.app);
    assert!(at_rest > 0);
    // It flies, and an arrow shows where to.
    for frame in 0..30 {
        let at = GlobalTransform::from_xyz(frame as f32 * 0.2, 0.0, 0.0);
        stage.app.world_mut().entity_mut(stage.source).insert(at);
        stage.frames(1);
    }
    assert!(corners(&stage.app) > at_rest, "the arrow");
    stage.frames(30);
    assert_eq!(corners(&stage.app), at_rest, "it has stopped");
    let mut of = |shape| {
        let mut source = stage.app.world_mut().get_mut::<StreamingSource>(stage.source).unwrap();
        source.shape = shape;
        stage.frames(1);
        corners(&stage.app)
    };
    let (radius, half_angle) = (20.0, 0.6);
    let ball = of(SourceShape::Sphere { radius });
    let part = of(SourceShape::Sector { radius, half_angle });
    assert!(
        ball > at_rest && part > at_rest && ball != part,
        "{at_rest} {ball} {part}"
    );
    assert_eq!(
        of(SourceShape::Sector {
            radius,
            half_angle: 4.0
        }),
        ball,
        "it sees all around"
    );
    assert_eq!(of(SourceShape::Sphere { radius: f32::INFINITY }), at_rest);
    of(SourceShape::Point);
    let arrival = stage.ask(|levels| levels.prepare(ArrivalPoint::at(WEST)));
    stage.frames(1);
    assert!(corners(&stage.app) > at_rest, "the place that is prepared");
    drop(arrival);
    stage.frames(3);
    assert_eq!(corners(&stage.app), at_rest);
}

/// Only who asks is drawn in white.
#[test]
fn sources_that_ask_for_nothing_are_grey() {
    let (mut settings, source) = (LevelSettings::default(), StreamingSource::default());
    let remote = StreamingSource { remote: true, ..source };
    let [idle, disabled] = [
        StreamingSource {
            target: LevelTarget::Unloaded,
            ..source
        },
        StreamingSource {
            enabled: false,
            ..source
        },
    ];
    let grey = draw::source_color(&disabled, &settings);
    assert_ne!(draw::source_color(&source, &settings), grey);
    for other in [remote, idle] {
        assert_eq!(draw::source_color(&other, &settings), grey, "{other:?}");
    }
    settings.follow_remote = true;
    assert_ne!(draw::source_color(&remote, &settings), grey);
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
fn the_outline_of_a_sector_is_where_it_sees() {
    let (at, look, half_angle) = (Vec3::new(1.0, 2.0, 3.0), Vec3::NEG_Z, 0.6);
    let [right, up, rim] = draw::sector(at, look, 10.0, half_angle);
    assert!(right[0] == at && up[0] == at);
    for corner in right[1..].iter().chain(&up[1..]).chain(&rim) {
        let way = *corner - at;
        assert!((way.length() - 10.0).abs() < 1e-3 && way.angle_between(look) < half_angle + 1e-3);
    }
    assert!(
        rim.iter()
            .all(|corner| ((*corner - at).angle_between(look) - half_angle).abs() < 1e-3)
    );
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

#[test]
fn the_panel_says_what_there_is() {
    let mut stats = StreamingStats {
        last_frame: Duration::from_micros(1_234),
        budget_last: Duration::from_millis(2),
        overrun_count: 3,
        live_packages: 5,
        live_bytes: 3 << 20,
        live_entities: 700,
        hidden_entities: 7,
        ..StreamingStats::default()
    };
    stats.memory.packages = 3 << 20;
    let mut levels = Levels {
        dropped: 2,
        ..Levels::default()
    };
    levels.by_state[0] = 4;
    levels.by_state[2] = 12;
    levels.by_stage[2] = 12;
    for number in 0..12 {
        levels.wanted.push(Wanted {
            name: format!("level_{number}"),
            state: LevelState::Loading(LoadState::Reading),
            priority: number as f32,
        });
    }
    let lines = lines(
        &stats,
        &StreamingSettings::default(),
        &mut levels,
        &LateLevels::default(),
        &PanelLines::default(),
    );
    let text: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(
        text[..7],
        [
            "streaming 1.23 of 2.00 ms, 3 overruns",
            "levels: 4 visible, 12 coming, 2 left out",
            "queue: 12 reading",
            "memory 3.0 MiB",
            "5 packages, 3.0 MiB stored; 700 entities, 7 hidden",
            "  level_11  reading  11.000",
            "  level_10  reading  10.000",
        ]
    );
    assert_eq!((text.len(), text.last()), (16, Some(&"  and 2 more")));
}

#[test]
fn the_panel_says_what_the_frame_and_memory_really_had() {
    let mut stats = StreamingStats {
        last_frame: Duration::from_micros(3_100),
        budget_last: Duration::from_millis(4),
        ..StreamingStats::default()
    };
    let mut settings = StreamingSettings::default();
    let said = |stats: &StreamingStats, settings: &StreamingSettings| {
        let late = LateLevels::default();
        let lines = lines(stats, settings, &mut Levels::default(), &late, &PanelLines::default());
        [lines[0].text.clone(), lines[3].text.clone()]
    };
    assert_eq!(
        said(&stats, &settings),
        ["streaming 3.10 of 4.00 ms (boosted), 0 overruns", "memory 0.0 MiB"]
    );
    stats.budget_last = Duration::from_millis(1);
    stats.memory.levels = 60 << 20;
    stats.memory.staged = 4 << 20;
    stats.memory_pressure = MemoryPressure::Tight;
    stats.memory_short = 5 << 20;
    stats.memory_held = 2;
    settings.memory_ceiling = Some(70 << 20);
    assert_eq!(
        said(&stats, &settings),
        [
            "streaming 3.10 of 1.00 ms (reduced), 0 overruns",
            "memory 64.0 of 70.0 MiB, tight, 5.0 short, 2 held"
        ]
    );
    stats.memory_pressure = MemoryPressure::Over;
    assert!(said(&stats, &settings)[1].contains(", over,"));
}

#[test]
fn the_panel_names_levels_that_are_late() {
    let mut stage = stage(true);
    stage.frames(3);
    stage.hold("west");
    stage.go(WEST);
    let late = stage.app.world().resource::<LateLevels>().clone();
    let (stats, settings) = (StreamingStats::default(), StreamingSettings::default());
    let lines = lines(&stats, &settings, &mut Levels::default(), &late, &PanelLines::default());
    assert_eq!(lines.last().unwrap().text, "late: west  0.0 s");
    assert!(
        lines.iter().all(|line| line.text.is_ascii()),
        "its letters are those of ASCII"
    );
}

#[test]
fn the_panel_says_what_others_say() {
    let (stats, settings) = (StreamingStats::default(), StreamingSettings::default());
    let said = |others: &PanelLines| {
        let lines = lines(
            &stats,
            &settings,
            &mut Levels::default(),
            &LateLevels::default(),
            others,
        );
        lines[5..].to_vec()
    };
    let mut others = PanelLines::default();
    let mips = ["pool: 3 of 4 MiB", "wanted: 5 MiB"].map(PanelLine::new);
    others.set("mips", mips.to_vec());
    let alarm = PanelLine {
        is_alarm: true,
        ..PanelLine::new("brush fire")
    };
    others.set("cues", vec![alarm]);
    let lines = said(&others);
    let text: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(
        text,
        ["brush fire", "pool: 3 of 4 MiB", "wanted: 5 MiB"],
        "topic by topic"
    );
    assert!(lines[0].color != lines[1].color && lines[1].color == lines[2].color);
    others.set("cues", Vec::new());
    others.set("mips", vec![PanelLine::new("line"); 30]);
    let lines = said(&others);
    assert_eq!((lines.len(), lines[24].text.as_str()), (25, "  and 6 more"));
}

#[test]
fn the_panel_is_drawn_with_lines_of_others() {
    let mut stage = stage(true);
    let mut others = stage.app.world_mut().resource_mut::<PanelLines>();
    others.set("mips", vec![PanelLine::new("pool: 3 of 4 MiB")]);
    stage.frames(3);
    assert_eq!(drawn(&stage.app), [true; 2]);
}
