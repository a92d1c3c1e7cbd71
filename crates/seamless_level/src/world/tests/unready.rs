//! Worlds that do not come, or not as one thinks: what is told of them, and that the others come all the same.

use std::{sync::Arc, time::Duration};

use bevy_asset::{AssetPath, AssetServer};
use bevy_ecs::schedule::SingleThreadedExecutor;
use seamless_asset::{StreamingSettings, doubles::logged};

use super::*;

const SECOND: Duration = Duration::from_secs(1);

/// What other threads log is not heard.
fn on_one_thread(mut stage: Stage) -> Stage {
    stage.app.edit_schedule(SpawnScene, |schedule| {
        schedule.set_executor(SingleThreadedExecutor::new());
    });
    stage.app.insert_resource(StreamingTime::stopped());
    stage
}

impl Stage {
    fn pass(&mut self, time: Duration) {
        self.app.world_mut().resource_mut::<StreamingTime>().advance(time);
    }

    fn set_handle(&mut self, handle: Handle<WorldManifest>) {
        let mut world = self.app.world_mut().entity_mut(self.world);
        world.insert(SeamlessWorld(handle));
    }

    fn has_failed(&self) -> bool {
        self.app.world().get::<WorldFailure>(self.world).is_some()
    }

    fn count<C: Component>(&mut self) -> usize {
        let world = self.app.world_mut();
        world.query_filtered::<(), With<C>>().iter(world).count()
    }
}

fn count_of(said: &[String], text: &str) -> usize {
    said.iter().filter(|line| line.contains(text)).count()
}

#[test]
fn a_world_whose_handle_points_to_nothing_fails_at_once_and_another_handle_mends_it() {
    for path in ["../w.seamless", "/w.seamless"] {
        let mut stage = Stage::new();
        let handle: Handle<WorldManifest> = stage.app.world().resource::<AssetServer>().load(path);
        assert_eq!(handle, Handle::default(), "{path}");
        stage.set_handle(handle);
        stage.frames(1);
        let told = stage.told();
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(
            told[0].contains("points to nothing") && told[0].contains("asset folder"),
            "{told:?}"
        );
        stage.frames(5);
        assert!(stage.has_failed() && stage.told().is_empty(), "it is told once");
        let good = add_manifest(&mut stage.app, manifest());
        stage.set_handle(good);
        stage.frames(4);
        assert_eq!(stage.told(), ["+base"]);
        assert!(!stage.has_failed());
    }
}

#[test]
fn a_manifest_that_nobody_loads_is_told_once_and_awaited() {
    let mut stage = on_one_thread(Stage::new());
    let handle = stage.app.world().resource::<Assets<WorldManifest>>().reserve_handle();
    stage.set_handle(handle.clone());
    let mut said = Vec::new();
    for second in 0..20 {
        said.extend(logged(|| stage.frames(2)));
        assert_eq!(count_of(&said, "nobody loads"), usize::from(second >= 5), "{said:?}");
        stage.pass(SECOND);
    }
    assert!(!stage.has_failed());
    let mut manifests = stage.app.world_mut().resource_mut::<Assets<WorldManifest>>();
    manifests.insert(&handle, manifest()).unwrap();
    stage.frames(3);
    assert!(stage.level("base").is_visible());
}

#[test]
fn a_manifest_that_is_modified_in_each_frame_is_told_once() {
    for (between, expected) in [(Duration::ZERO, 1), (SECOND, 0)] {
        let mut stage = on_one_thread(Stage::new());
        stage.frames(3);
        let handle = stage.app.world().get::<SeamlessWorld>(stage.world).unwrap().0.clone();
        let said = logged(|| {
            for _ in 0..12 {
                let mut manifests = stage.app.world_mut().resource_mut::<Assets<WorldManifest>>();
                manifests.get_mut(&handle).unwrap().peak_entities += 1;
                stage.frames(1);
                stage.pass(between);
            }
        });
        assert_eq!(count_of(&said, "made anew again and again"), expected, "{said:?}");
        stage.frames(4);
        assert!(stage.level("base").is_visible(), "it comes to rest");
    }
}

/// How many of three small worlds are there after each frame.
fn there_after_each_frame(budget: Duration) -> [usize; 4] {
    let mut app = level_app(SeamlessLevelPlugin::default());
    app.insert_resource(StreamingSettings {
        budget,
        ..StreamingSettings::default()
    });
    let mut stage = Stage::of(app, manifest());
    for _ in 0..2 {
        let handle = add_manifest(&mut stage.app, manifest());
        stage.app.world_mut().spawn(SeamlessWorld(handle));
    }
    let there = [(); 4].map(|()| {
        stage.frames(1);
        stage.count::<LevelTable>()
    });
    assert_eq!(stage.count::<StreamingVolume>(), 6);
    let world = stage.app.world_mut();
    let worlds: Vec<Entity> = world.query_filtered::<Entity, With<LevelTable>>().iter(world).collect();
    for entity in worlds {
        world.entity_mut(entity).remove::<SeamlessWorld>();
    }
    stage.frames(4);
    assert_eq!((stage.count::<LevelTable>(), stage.count::<StreamingVolume>()), (0, 0));
    there
}

#[test]
fn small_worlds_share_the_time_of_a_frame_and_none_starves() {
    assert_eq!(there_after_each_frame(Duration::ZERO), [1, 2, 3, 3]);
    assert_eq!(there_after_each_frame(Duration::MAX), [3; 4]);
}

/// A world that was told to hang, and comes: what observes that ends it.
#[test]
fn a_world_that_an_observer_ends_as_its_failure_goes_leaves_nothing() {
    let mut stage = Stage::new();
    let error = WorldError::Stalled {
        path: AssetPath::from("w.seamless"),
        seconds: 10,
    };
    let mut world = stage.app.world_mut().entity_mut(stage.world);
    world.insert(WorldFailure(Arc::new(error)));
    stage
        .app
        .add_observer(|failure: On<Remove, WorldFailure>, mut commands: Commands| {
            commands.entity(failure.entity).despawn();
        });
    stage.frames(3);
    assert!(stage.app.world().get_entity(stage.world).is_err());
    assert_eq!((stage.count::<LevelTable>(), stage.count::<StreamingVolume>()), (0, 0));
}

#[test]
fn who_wants_too_much_in_each_frame_is_told_once_until_it_fits() {
    let mut stage = on_one_thread(Stage::with(level_app_with(LevelSettings {
        max_requests: 1,
        ..LevelSettings::default()
    })));
    let quest = stage.app.world_mut().spawn(LevelWanted::default()).id();
    let told = |stage: &mut Stage, levels: &[&str]| {
        let said = logged(|| {
            for _ in 0..5 {
                let mut wanted = stage.app.world_mut().get_mut::<LevelWanted>(quest).unwrap();
                *wanted = LevelWanted::new(levels.iter().copied());
                stage.frames(1);
            }
        });
        count_of(&said, "levels wanted by")
    };
    assert_eq!(told(&mut stage, &["west", "east"]), 1);
    assert_eq!(told(&mut stage, &["east", "west"]), 0, "it is known");
    assert_eq!(told(&mut stage, &["west"]), 0, "it fits");
    assert_eq!(told(&mut stage, &["west", "east"]), 1);
    // There is room for a while, although nobody says anything anew.
    for limit in [2, 1] {
        stage.app.world_mut().resource_mut::<LevelSettings>().max_requests = limit;
        stage.frames(2);
    }
    assert_eq!(told(&mut stage, &["west", "east"]), 1);
}
