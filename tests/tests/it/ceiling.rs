//! Levels under a memory ceiling: the most urgent one comes, whatever its file says of its size.

use std::{fs, path::Path};

use bevy::{ecs::system::RunSystemOnce, prelude::*};
use bevy_seamless::{level::MANIFEST_FORMAT, prelude::*};
use seamless_tests::{
    app::run_until,
    cooked::{Ask, STREAM_LIMIT, ask, level_of, state, streaming_app},
    handmade::{References, add_asset, add_level, new_ids, new_package},
};

const SMALL: usize = 9;
const HERE: Vec3 = Vec3::ZERO;
const LARGE: Vec3 = Vec3::new(50.0, 0.0, 0.0);
const OTHER: Vec3 = Vec3::new(5000.0, 0.0, 0.0);
const BOTH: Vec3 = Vec3::new(0.0, 0.0, 9000.0);

/// A package with a level of so many entities.
fn write_level(app: &App, dir: &Path, name: &str, count: usize) {
    let mut writer = new_package(app, name);
    let ids = new_ids(count);
    let roots = (0..count as u32).collect();
    add_level(app, &mut writer, name, &ids, roots, &References::default(), |level| {
        level
            .add((0..count).map(|row| Transform::from_xyz(row as f32, 0.0, 0.0)))
            .add((0..count).map(|_| Visibility::default()));
        level.end_group(count);
    });
    fs::write(dir.join(name), writer.finish().expect("the package is small")).expect("it is written");
}

/// A package that all levels share, with more in it than in all of them.
fn write_shared(app: &App, dir: &Path) {
    let mut writer = new_package(app, "shared.pkg");
    add_asset(app, &mut writer, "ball", Sphere::new(1.0).mesh().uv(60, 60));
    fs::write(dir.join("shared.pkg"), writer.finish().expect("it is small")).expect("it is written");
}

fn manifest() -> WorldManifest {
    let level = |name: String| LevelEntry {
        package: format!("{name}.pkg"),
        name,
        dependencies: vec!["shared.pkg".into()],
        // All files have the same size.
        bytes: 5,
        ..LevelEntry::default()
    };
    let volume = |name: String, center: Vec3, radius: f32| VolumeEntry {
        shape: VolumeShape::Sphere { center, radius },
        levels: vec![name.clone()],
        name,
        unload_delay: 0.0,
        ..VolumeEntry::default()
    };
    let small = || (0..SMALL).map(|index| format!("small_{index}"));
    let far = [("large", LARGE), ("other", OTHER)];
    WorldManifest {
        format: MANIFEST_FORMAT,
        name: "test".into(),
        levels: small().chain(far.map(|(name, _)| name.to_owned())).map(level).collect(),
        volumes: small()
            .map(|name| volume(name, HERE, 100.0))
            .chain(far.map(|(name, at)| volume(name.to_owned(), at, 10.0)))
            .chain([VolumeEntry {
                levels: vec!["large".to_owned(), "other".to_owned()],
                ..volume("both".to_owned(), BOTH, 10.0)
            }])
            .collect(),
        ..WorldManifest::default()
    }
}

struct Stage {
    app: App,
    world: Entity,
    source: Entity,
}

impl Stage {
    fn new(dir: &Path) -> Self {
        let mut app = streaming_app(dir, |_| {});
        for index in 0..SMALL {
            write_level(&app, dir, &format!("small_{index}.pkg"), 1000);
        }
        write_level(&app, dir, "large.pkg", 3000);
        write_level(&app, dir, "other.pkg", 1000);
        write_shared(&app, dir);
        let manifest = app.world_mut().resource_mut::<Assets<WorldManifest>>().add(manifest());
        let world = app.world_mut().spawn(SeamlessWorld(manifest)).id();
        let source = StreamingSource {
            ahead: 0.0,
            ..StreamingSource::default()
        };
        let source = app.world_mut().spawn(source).id();
        app.update();
        Self { app, world, source }
    }

    fn go(&mut self, to: Vec3) {
        let place = (Transform::from_translation(to), GlobalTransform::from_translation(to));
        self.app.world_mut().entity_mut(self.source).insert(place);
    }

    #[track_caller]
    fn until(&mut self, done: impl Fn(&World, Entity) -> bool) {
        let world = self.world;
        let is_done = run_until(&mut self.app, STREAM_LIMIT, |ecs| done(ecs, world));
        assert!(is_done, "{:?}", self.app.world().resource::<StreamingStats>());
    }

    fn frames(&mut self, count: usize) {
        (0..count).for_each(|_| self.app.update());
    }

    fn used(&self) -> u64 {
        self.app.world().resource::<StreamingStats>().memory.total()
    }

    fn set_ceiling(&mut self, bytes: u64) {
        let mut settings = self.app.world_mut().resource_mut::<StreamingSettings>();
        settings.memory_ceiling = Some(bytes);
    }

    fn revealed(&self) -> u64 {
        self.app.world().resource::<StreamingStats>().revealed
    }
}

fn small(ecs: &World, world: Entity) -> usize {
    let is_there = |index: &usize| state(ecs, world, &format!("small_{index}")) == LevelState::Visible;
    (0..SMALL).filter(is_there).count()
}

fn is_large_there(ecs: &World, world: Entity) -> bool {
    state(ecs, world, "large") == LevelState::Visible
}

fn is_large_gone(ecs: &World, world: Entity) -> bool {
    state(ecs, world, "large") == LevelState::Unloaded
}

/// What memory is in use when nothing moves any more: without the large level, and what that takes.
fn measure(stage: &mut Stage) -> [u64; 2] {
    stage.go(HERE);
    stage.until(|ecs, world| small(ecs, world) == SMALL);
    stage.go(LARGE);
    stage.until(is_large_there);
    stage.frames(30);
    let all = stage.used();
    stage.go(HERE);
    stage.until(is_large_gone);
    stage.frames(30);
    let without = stage.used();
    assert!(all > without && without > 0);
    [without, all - without]
}

#[test]
fn the_least_urgent_levels_go_for_the_most_urgent_one() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut stage = Stage::new(dir.path());
    let [used, large] = measure(&mut stage);
    let ceiling = used + large / 3;
    stage.set_ceiling(ceiling);
    stage.frames(30);
    assert_eq!(small(stage.app.world(), stage.world), SMALL, "there is room for these");
    stage.go(LARGE);
    let world = stage.world;
    let mut most = 0;
    let came = run_until(&mut stage.app, STREAM_LIMIT, |ecs| {
        most = most.max(ecs.resource::<StreamingStats>().memory.total());
        is_large_there(ecs, world)
    });
    assert!(came, "{:?}", stage.app.world().resource::<StreamingStats>());
    assert!(most <= ceiling + large, "{most} with a ceiling of {ceiling}");
    // Two of them make room for it; a further one that went all the same comes back.
    stage.until(|ecs, world| small(ecs, world) == SMALL - 2 && is_large_there(ecs, world));
    assert!(stage.used() <= ceiling);
    // Nothing comes back only to go again.
    let revealed = stage.revealed();
    stage.frames(300);
    assert_eq!(
        (small(stage.app.world(), world), stage.revealed()),
        (SMALL - 2, revealed)
    );
    // When it is not wanted any more, they come back.
    stage.go(HERE);
    stage.until(|ecs, world| small(ecs, world) == SMALL && is_large_gone(ecs, world));
}

/// Two that are as urgent as each other, and have no room beside each other, whatever their files say: the one that is there stays, and nobody waits for ever.
#[test]
fn who_is_no_more_urgent_than_what_is_there_is_left_out() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut stage = Stage::new(dir.path());
    let are_there = |ecs: &World, world, expected: [bool; 2]| {
        ["large", "other"].map(|name| state(ecs, world, name) == LevelState::Visible) == expected
    };
    stage.go(BOTH);
    stage.until(|ecs, world| are_there(ecs, world, [true, true]));
    stage.frames(30);
    let all = stage.used();
    ask(&mut stage.app, "large", Ask::Unload);
    stage.until(is_large_gone);
    stage.frames(30);
    let without = stage.used();
    stage.set_ceiling(all - (all - without) / 3);
    ask(&mut stage.app, "large", Ask::Release);
    stage.frames(2);
    let is_settled = |status: StreamingStatus| status.is_everything_there();
    stage.until(|ecs, world| level_of(ecs, world, "large").state() != LevelState::Unloaded);
    let start = std::time::Instant::now();
    while !stage
        .app
        .world_mut()
        .run_system_once(is_settled)
        .expect("the system runs")
    {
        assert!(start.elapsed() < STREAM_LIMIT, "somebody waits for ever");
        stage.app.update();
    }
    assert!(are_there(stage.app.world(), stage.world, [false, true]));
    stage.set_ceiling(2 * all);
    stage.until(|ecs, world| are_there(ecs, world, [true, true]));
}

/// Memory is tight, so what is only to be loaded is held back, and nobody goes for it.
#[test]
fn who_gets_a_place_ready_is_told_that_there_is_no_room() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut stage = Stage::new(dir.path());
    let [used, _] = measure(&mut stage);
    stage.set_ceiling(used * 11 / 10);
    let prepare = |mut levels: Levels| {
        levels.prepare(ArrivalPoint {
            target: LevelTarget::Loaded,
            ..ArrivalPoint::at(OTHER)
        })
    };
    let arrival = stage.app.world_mut().run_system_once(prepare).unwrap();
    let waited = arrival.clone();
    stage.until(move |_, _| waited.result().is_some());
    assert_eq!(arrival.result(), Some(StreamingResult::WithFailures(1)));
    assert_eq!(small(stage.app.world(), stage.world), SMALL);
    stage.app.world_mut().resource_mut::<StreamingSettings>().memory_ceiling = None;
    stage.until(|ecs, world| level_of(ecs, world, "other").state() == LevelState::Hidden);
}
