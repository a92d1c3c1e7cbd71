//! `world_comes`, `world_goes` and `world_goes/taken`: the worst frame while a world of 10 000 levels with a volume each comes, or goes, beside one as large
//! that stays. It goes because its entity is despawned, or because that is no world any more.
//!
//! Ours alone: there is nothing that one would use instead. The limit is what all streaming may take of a frame. Nobody asks for a level, so
//! what is measured is what it costs to know of them. Wall time, because a hitch is one.

use std::{path::Path, time::Instant};

use bevy_app::App;
use bevy_asset::Assets;
use bevy_ecs::{entity::Entity, query::With};
use bevy_math::vec3;
use seamless_asset::StreamingSettings;
use seamless_level::{
    LevelEntry, LevelTable, MANIFEST_FORMAT, SeamlessWorld, StreamingVolume, VolumeEntry, VolumeShape, WorldManifest,
};

use crate::{
    app::{Plugins, app},
    row::{Row, Samples, Targets, quantile},
};

/// Levels along each side.
const SIDE: usize = 100;
const LEVELS: usize = SIDE * SIDE;

/// What the world does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// It comes.
    Comes,
    /// It goes.
    Goes,
    /// Its entity stays.
    Taken,
}

/// Measures a world that comes or goes.
pub fn run(way: Way, samples: Option<usize>) -> Row {
    let mut result = Samples::default();
    let mut most = 0;
    for _ in 0..samples.unwrap_or(7) {
        let mut app = app(Plugins::Levels, Path::new("."));
        spawn(&mut app, "resident");
        settle(&mut app, LEVELS);
        let mut idle: Vec<f64> = (0..100).map(|_| frame(&mut app)).collect();
        let usual = quantile(&mut idle, 0.5);
        let world = spawn(&mut app, "other");
        let coming = settle(&mut app, 2 * LEVELS);
        match way {
            Way::Comes | Way::Goes => _ = app.world_mut().despawn(world),
            Way::Taken => _ = app.world_mut().entity_mut(world).remove::<SeamlessWorld>(),
        }
        let going = settle(&mut app, LEVELS);
        let frames = if way == Way::Comes { coming } else { going };
        most = most.max(frames.len());
        result.ours.push(frames.into_iter().fold(0.0, f64::max) - usual);
        let budget = app.world().resource::<StreamingSettings>().budget;
        result.limit.push(budget.as_secs_f64() * 1e3);
    }
    let name = match way {
        Way::Comes => "world_comes",
        Way::Goes => "world_goes",
        Way::Taken => "world_goes/taken",
    };
    let targets = Targets {
        of_limit: Some(1.0),
        ..Targets::default()
    };
    let mut row = result.row(name, "ms", None, Some("the budget"), targets);
    row.note = format!("it takes {most} frames at most");
    row
}

fn spawn(app: &mut App, name: &str) -> Entity {
    let manifest = manifest(name);
    let handle = app.world_mut().resource_mut::<Assets<WorldManifest>>().add(manifest);
    app.world_mut().spawn(SeamlessWorld(handle)).id()
}

/// Frames until there are so many volumes, and all worlds have their levels; with what each has taken.
pub fn settle(app: &mut App, volumes: usize) -> Vec<f64> {
    let mut frames = Vec::new();
    loop {
        frames.push(frame(app));
        let world = app.world_mut();
        let there = world.query_filtered::<(), With<StreamingVolume>>().iter(world).count();
        let worlds = world.query_filtered::<(), With<SeamlessWorld>>().iter(world).count();
        let built = world.query_filtered::<(), With<LevelTable>>().iter(world).count();
        if there == volumes && worlds == built {
            // What is deferred comes in the next ones.
            frames.extend((0..5).map(|_| frame(app)));
            return frames;
        }
        assert!(frames.len() < 100_000, "the world comes");
    }
}

/// One frame, in milliseconds.
fn frame(app: &mut App) -> f64 {
    let start = Instant::now();
    app.update();
    start.elapsed().as_secs_f64() * 1e3
}

/// Its levels are squares of 100 m, with a volume each that is 160 m wider.
pub fn manifest(name: &str) -> WorldManifest {
    let levels = (0..LEVELS).map(|number| {
        let (x, z) = ((number % SIDE) as f32 * 100.0, (number / SIDE) as f32 * 100.0);
        LevelEntry {
            name: format!("cell_{number}"),
            package: format!("levels/cell_{number}.pkg"),
            dependencies: vec!["shared_0.pkg".into(), format!("shared_{}.pkg", 1 + number % 50)],
            translation: [x, 0.0, z],
            entities: 100,
            bytes: 100_000,
            bounds: Some(([x, 0.0, z], [x + 100.0, 50.0, z + 100.0])),
            ..LevelEntry::default()
        }
    });
    let volumes = (0..LEVELS).map(|number| {
        let (x, z) = ((number % SIDE) as f32 * 100.0, (number / SIDE) as f32 * 100.0);
        VolumeEntry {
            name: format!("around cell_{number}"),
            shape: VolumeShape::Box {
                min: vec3(x - 80.0, -500.0, z - 80.0),
                max: vec3(x + 180.0, 2000.0, z + 180.0),
            },
            levels: vec![format!("cell_{number}")],
            ..VolumeEntry::default()
        }
    });
    WorldManifest {
        format: MANIFEST_FORMAT,
        name: name.into(),
        levels: levels.collect(),
        volumes: volumes.collect(),
        ..WorldManifest::default()
    }
}
