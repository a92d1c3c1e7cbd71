//! Counts of levels by their states, and what a frame at rest looks at.

use bevy_diagnostic::{DiagnosticPath, DiagnosticsStore};

use super::*;
use crate::{diagnostics, random::Random, world::slots::StateCounts};

fn table(stage: &Stage) -> &LevelTable {
    stage.app.world().get::<LevelTable>(stage.world).unwrap()
}

fn measured(stage: &Stage, path: &DiagnosticPath) -> f64 {
    let store = stage.app.world().resource::<DiagnosticsStore>();
    store.get(path).unwrap().value().unwrap()
}

/// Levels in a row, each in a ball of radius ten, twenty apart.
fn row(count: usize) -> WorldManifest {
    let mut world = manifest();
    let name = |index: usize| format!("row {index}");
    world.levels = (0..count)
        .map(|index| LevelEntry {
            name: name(index),
            package: format!("row {index}.pkg"),
            ..LevelEntry::default()
        })
        .collect();
    world.volumes = (0..count)
        .map(|index| VolumeEntry {
            name: name(index),
            shape: ball(Vec3::X * 20.0 * index as f32, 10.0),
            levels: vec![name(index)],
            unload_delay: 0.0,
            ..VolumeEntry::default()
        })
        .collect();
    world
}

#[test]
fn a_frame_at_rest_looks_at_no_level() {
    let mut stage = Stage::of(level_app(SeamlessLevelPlugin::default()), row(10_000));
    stage.app.init_resource::<DiagnosticsStore>();
    stage.go(Vec3::X * 4000.0);
    stage.frames(10);
    assert_eq!(measured(&stage, &diagnostics::VISIBLE), 1.0);
    stage.fake().is_idle = true;
    let before = table(&stage).levels.touched();
    stage.frames(100);
    assert_eq!(table(&stage).levels.touched(), before);
    assert_eq!(measured(&stage, &diagnostics::VISIBLE), 1.0);
    assert_eq!(measured(&stage, &diagnostics::WANTED), 1.0);
}

#[test]
fn counts_are_what_a_recount_says() {
    const COUNT: usize = 12;
    let mut random = Random(0xC0_0417);
    let mut stage = Stage::of(level_app(SeamlessLevelPlugin::default()), row(COUNT));
    stage.app.init_resource::<DiagnosticsStore>();
    stage.frames(3);
    let names: Vec<&'static str> = (0..COUNT).map(|index| &*format!("row {index}").leak()).collect();
    let mut seen = StateCounts::default();
    for _ in 0..2000 {
        let name = names[random.below(COUNT)];
        match random.below(10) {
            0 => drop(stage.fake().held.insert(name)),
            1 => drop(stage.fake().broken.insert(name)),
            2 => drop(stage.fake().unreadable.insert(name)),
            3 => {
                let fake = &mut *stage.fake();
                fake.held.clear();
                fake.broken.clear();
                fake.unreadable.clear();
            }
            4 => stage.ask(|levels| levels.load(name)).unwrap(),
            5 => stage.ask(|levels| levels.unload(name)).unwrap(),
            6 => stage.ask(|levels| levels.release(name)).unwrap(),
            7 => stage.ask(|levels| levels.retry(name)).unwrap(),
            8 => {
                let house = NewInstance::new("house", name, bevy_transform::components::Transform::IDENTITY);
                if stage.ask(|levels| levels.remove_instance("house")).is_err() {
                    let ticket = stage.ask(move |levels| levels.add_instance(house.clone()));
                    core::mem::forget(ticket.unwrap());
                }
            }
            _ => {
                let place = GlobalTransform::from_translation(Vec3::X * 20.0 * random.below(COUNT) as f32);
                stage.app.world_mut().entity_mut(stage.source).insert(place);
            }
        }
        stage.frames(1);
        let counts = table(&stage).counts();
        assert_eq!(counts, StateCounts::recount(table(&stage)));
        assert_eq!(measured(&stage, &diagnostics::VISIBLE), counts.visible.into());
        assert_eq!(measured(&stage, &diagnostics::LOADING), counts.loading.into());
        assert_eq!(measured(&stage, &diagnostics::FAILED), counts.failed.into());
        seen.visible += counts.visible;
        seen.loading += counts.loading;
        seen.leaving += counts.leaving;
        seen.failed += counts.failed;
    }
    let StateCounts {
        visible,
        loading,
        leaving,
        failed,
        ..
    } = seen;
    assert!(
        [visible, loading, leaving, failed].iter().all(|count| *count > 20),
        "{seen:?}"
    );
}

/// What counters say is measured.
#[test]
fn what_is_left_out_and_late_is_measured() {
    let mut stage = Stage::with(level_app(SeamlessLevelPlugin {
        max_levels: 1,
        ..SeamlessLevelPlugin::default()
    }));
    stage.app.init_resource::<DiagnosticsStore>();
    stage.go(WEST);
    assert_eq!(table(&stage).dropped(), 1);
    assert_eq!(measured(&stage, &diagnostics::DROPPED), 1.0);
    assert_eq!(measured(&stage, &diagnostics::BEGUN_LATE), 0.0);
    for path in &diagnostics::ALL {
        measured(&stage, path);
    }
}
