//! `steady_allocs`: allocations per frame while nothing comes, goes or moves.
//!
//! A world of 1 000 levels of which 200 are visible, with a volume each, and one source that stands still, in an app with `SeamlessPlugins` that
//! has opted in to levels in slices. Counted is what the schedules of a frame allocate, on one thread. In `PostUpdate`, where Bevy's own systems
//! allocate in every frame, these are taken out once all is at rest, and ours run alone; in the others Bevy's are counted too. The peer
//! is the same app without ours. The limit is that nothing is to do.

#[cfg(test)]
mod tests;

use std::path::Path;

use allocation_counter::measure;
use bevy_app::{App, MainScheduleOrder, PluginGroup, PostUpdate};
use bevy_asset::{AssetApp, AssetServer, io::memory::Dir};
use bevy_camera::CameraPlugin;
use bevy_ecs::{
    schedule::{InternedScheduleLabel, ScheduleCleanupPolicy},
    world::World,
};
use bevy_image::Image;
use bevy_math::Vec3;
use bevy_mesh::MeshPlugin;
use bevy_pbr::StandardMaterial;
use bevy_seamless::SeamlessPlugins;
use bevy_time::TimePlugin;
use bevy_transform::{TransformPlugin, components::Transform};
use seamless_asset::{SeamlessAssetPlugin, StreamingStats};
use seamless_level::{
    LevelEntry, LevelTable, MANIFEST_FORMAT, SeamlessWorld, StreamingSource, VolumeEntry, VolumeShape, WorldManifest,
};
use seamless_tests::app::on_one_thread;

use crate::{
    app::in_memory,
    level::places,
    row::{Row, Samples, Targets},
};

const LEVELS: usize = 1_000;
const VISIBLE: usize = 200;
/// Entities of each level.
const ENTITIES: usize = 10;
const FRAMES: usize = 10_000;
const PACKAGE: &str = "level.pkg";
const MANIFEST: &str = "steady.seamless";
/// In the full name of every system of this project.
const OURS: &str = "seamless_";

/// Measures frames in which nothing is to do.
pub fn run(samples: Option<usize>) -> Row {
    let frames = samples.unwrap_or(FRAMES);
    let (mut ours, mut peer) = (app(true), app(false));
    let mut result = Samples::default();
    for _ in 0..frames {
        result.ours.push(frame(&mut ours));
        result.peer.push(frame(&mut peer));
    }
    result.limit.push(0.0);
    let worst = result.ours.iter().copied().fold(0.0, f64::max);
    let most = result.ours.iter().filter(|count| **count > 0.0).count();
    let mean = result.ours.iter().sum::<f64>() / frames as f64;
    let targets = Targets::default();
    let mut row = result.row(
        "steady_allocs",
        "allocations",
        Some("the same app without levels"),
        Some("nothing to do"),
        targets,
    );
    row.note = format!("mean {mean:.3} a frame, at most {worst}; {most} of {frames} frames allocate at all");
    row
}

/// An app that has come to rest.
fn app(with_levels: bool) -> App {
    let dir = Dir::default();
    let mut app = in_memory(&dir);
    app.add_plugins((
        TimePlugin,
        TransformPlugin,
        MeshPlugin,
        CameraPlugin,
        bevy_diagnostic::DiagnosticsPlugin,
    ))
    .init_asset::<Image>()
    .init_asset::<StandardMaterial>();
    if with_levels {
        app.add_plugins(SeamlessPlugins.set(SeamlessAssetPlugin {
            sliced_levels: true,
            ..SeamlessAssetPlugin::default()
        }));
    }
    app.register_type::<Transform>();
    app.finish();
    app.cleanup();
    on_one_thread(app.world_mut());
    if with_levels {
        fill(&mut app, &dir);
    }
    keep_ours(app.world_mut());
    // What is kept for some frames fills up.
    for _ in 0..400 {
        frame(&mut app);
    }
    app
}

/// Takes Bevy's systems out of `PostUpdate`: nothing changes any more that they would follow.
fn keep_ours(world: &mut World) {
    world.run_schedule(PostUpdate);
    world.schedule_scope(PostUpdate, |world, schedule| {
        let systems = schedule.systems().expect("it has run");
        let others = systems.filter(|(_, system)| !system.name().contains(OURS));
        let sets: Vec<_> = others.flat_map(|(_, system)| system.default_system_sets()).collect();
        for set in sets {
            // Where a system is there twice, both have gone with the first.
            _ = schedule.remove_systems_in_set(set, world, ScheduleCleanupPolicy::RemoveSystemsOnly);
        }
        schedule.initialize(world).expect("what is left can be built");
        let mut left = schedule.systems().expect("it is built");
        assert!(left.all(|(_, system)| system.name().contains(OURS)));
    });
}

/// Loads the world, and waits for its levels.
fn fill(app: &mut App, dir: &Dir) {
    let bytes = places(app, PACKAGE, ENTITIES);
    let levels = (0..LEVELS).map(|number| LevelEntry {
        name: number.to_string(),
        package: PACKAGE.into(),
        entities: ENTITIES as u32,
        bytes: bytes.len() as u64,
        ..LevelEntry::default()
    });
    // Those that are wanted lie around the source, the others far away.
    let volumes = (0..LEVELS).map(|number| VolumeEntry {
        name: number.to_string(),
        shape: VolumeShape::Sphere {
            center: if number < VISIBLE {
                Vec3::ZERO
            } else {
                Vec3::new(1_000.0 + number as f32 * 10.0, 0.0, 0.0)
            },
            radius: 50.0,
        },
        levels: vec![number.to_string()],
        ..VolumeEntry::default()
    });
    let manifest = WorldManifest {
        format: MANIFEST_FORMAT,
        name: "steady".into(),
        levels: levels.collect(),
        volumes: volumes.collect(),
        ..WorldManifest::default()
    };
    let text = manifest.to_ron().expect("the manifest is valid");
    dir.insert_asset(Path::new(PACKAGE), bytes);
    dir.insert_asset(Path::new(MANIFEST), text.into_bytes());
    let handle = app.world().resource::<AssetServer>().load(MANIFEST);
    let world = app.world_mut().spawn(SeamlessWorld(handle)).id();
    app.world_mut()
        .spawn((StreamingSource::default(), Transform::default()));
    let start = std::time::Instant::now();
    while app.world().resource::<StreamingStats>().live_instances < VISIBLE as u64 {
        assert!(start.elapsed().as_secs() < 60, "the levels come");
        app.update();
        std::thread::sleep(core::time::Duration::from_millis(1));
    }
    let table = app.world().get::<LevelTable>(world).expect("the world is there");
    assert_eq!(table.iter().filter(|level| level.is_visible()).count(), VISIBLE);
}

/// One frame; how often its schedules have allocated.
fn frame(app: &mut App) -> f64 {
    let world = app.world_mut();
    let order = world.resource::<MainScheduleOrder>();
    let labels: Vec<InternedScheduleLabel> = order.labels.clone();
    let allocated = |label| measure(|| _ = world.try_run_schedule(label)).count_total;
    let count: u64 = labels.into_iter().map(allocated).sum();
    world.clear_trackers();
    count as f64
}
