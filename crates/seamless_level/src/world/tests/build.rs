//! Worlds that are too large for one frame: they come in slices and a task, and all at once.

use bevy_ecs::error::{FallbackErrorHandler, ignore};
use bevy_time::{Real, Time};
use seamless_asset::StreamingSettings;

use super::{counts::row, *};
use crate::world::build::WorldBuild;

const COUNT: usize = 600;

/// An app whose frames have no time, so that as little as possible happens in each.
fn hurried() -> App {
    let mut app = level_app(SeamlessLevelPlugin::default());
    app.insert_resource(StreamingSettings {
        budget: core::time::Duration::ZERO,
        ..StreamingSettings::default()
    });
    app
}

fn volumes(app: &mut App) -> usize {
    let world = app.world_mut();
    world.query::<&StreamingVolume>().iter(world).count()
}

fn volume_of(app: &mut App, name: &str) -> Option<Entity> {
    let world = app.world_mut();
    let mut named = world.query_filtered::<(Entity, &Name), With<StreamingVolume>>();
    let found = named.iter(world).find(|(_, found)| found.as_str() == name);
    found.map(|(volume, _)| volume)
}

impl Stage {
    fn is_there(&self) -> bool {
        self.app.world().get::<LevelTable>(self.world).is_some()
    }

    /// The levels that are there when the source is at `x`.
    fn seen_at(&mut self, x: f32) -> Vec<String> {
        // By a leap from far away: it is not on its way to anything.
        self.go(Vec3::Y * 1.0e5);
        self.go(Vec3::X * x);
        self.frames(3);
        let table = self.app.world().get::<LevelTable>(self.world).unwrap();
        let seen = table.iter().filter(|level| level.is_visible());
        seen.map(|level| level.name().to_owned()).collect()
    }
}

#[test]
fn a_large_world_comes_over_many_frames_and_at_once() {
    let mut stage = Stage::of(hurried(), row(COUNT));
    stage.app.add_observer(
        |add: On<Add, StreamingVolume>, mut volumes: Query<(&mut StreamingVolume, &Name)>| {
            if let Ok((mut volume, name)) = volumes.get_mut(add.entity)
                && name.as_str() == "row 2"
            {
                volume.enabled = false;
            }
        },
    );
    stage.go(Vec3::X * 200.0);
    let mut most = 0;
    let frames = stage.until(|stage| {
        let is_there = stage.is_there();
        let count = volumes(&mut stage.app);
        assert!(count >= most && (count == COUNT) >= is_there, "{count}");
        most = count;
        assert!(is_there || stage.tracked() == 0, "nothing is asked for before");
        count > 100 && !is_there
    });
    assert!(frames > 10, "{frames}");
    // What game code does meanwhile counts.
    let [three, five, seven] = ["row 3", "row 5", "row 7"].map(|name| volume_of(&mut stage.app, name).unwrap());
    let world = stage.app.world_mut();
    world.get_mut::<StreamingVolume>(three).unwrap().enabled = false;
    world.get_mut::<StreamingVolume>(five).unwrap().shape = ball(Vec3::X * -1000.0, 10.0);
    world.despawn(seven);
    world.spawn(StreamingVolume {
        shape: ball(Vec3::X * -2000.0, 10.0),
        levels: vec!["row 9".into()],
        unload_delay: 0.0,
        world: Some(stage.world),
        ..StreamingVolume::default()
    });
    stage.until(|stage| stage.is_there());
    assert_eq!(volumes(&mut stage.app), COUNT);
    stage.frames(3);
    assert!(stage.level("row 10").is_visible());
    assert!(stage.app.world().get::<WorldBuild>(stage.world).is_none());
    let none: [&str; 0] = [];
    for gone in [2.0, 3.0, 5.0, 7.0] {
        assert_eq!(stage.seen_at(20.0 * gone), none, "{gone}");
    }
    assert_eq!(stage.seen_at(-1000.0), ["row 5"]);
    assert_eq!(stage.seen_at(-2000.0), ["row 9"]);
    for there in [0, 1, 4, 6, 8, 9, 299, COUNT - 1] {
        assert_eq!(stage.seen_at(20.0 * there as f32), [format!("row {there}")]);
    }
    // And so does what it does later.
    let world = stage.app.world_mut();
    world.get_mut::<StreamingVolume>(three).unwrap().enabled = true;
    assert_eq!(stage.seen_at(60.0), ["row 3"]);
}

/// A large world without volumes, its levels in a row, 20 units apart.
fn by_distance() -> WorldManifest {
    let mut manifest = row(COUNT);
    manifest.volumes.clear();
    for (level, x) in manifest.levels.iter_mut().zip(0_u16..) {
        let x = 20.0 * f32::from(x);
        level.bounds = Some(([x - 1.0, -1.0, -1.0], [x + 1.0, 1.0, 1.0]));
    }
    manifest
}

#[test]
fn a_large_world_comes_by_distance_as_a_small_one() {
    for change in [false, true] {
        let mut stage = Stage::of(hurried(), by_distance());
        let near = DistanceStreaming {
            load: 5.0,
            show: 5.0,
            unload: 6.0,
            delay: 0.0,
            ..DistanceStreaming::default()
        };
        let first = if change { DistanceStreaming::default() } else { near };
        stage.app.world_mut().entity_mut(stage.world).insert(first);
        stage.until(|stage| stage.app.world().get::<WorldBuild>(stage.world).is_some());
        stage.frames(2);
        stage.app.world_mut().entity_mut(stage.world).insert(near);
        stage.until(|stage| stage.is_there());
        assert_eq!(stage.seen_at(200.0), ["row 10"]);
        assert_eq!(stage.seen_at(20.0 * 599.0), ["row 599"]);
        stage
            .app
            .world_mut()
            .entity_mut(stage.world)
            .remove::<DistanceStreaming>();
        let none: [&str; 0] = [];
        assert_eq!(stage.seen_at(200.0), none);
    }
}

/// What was taken away while the world was on its way does not come with it.
#[test]
fn distances_that_end_while_a_large_world_comes_are_over() {
    let mut stage = Stage::of(hurried(), by_distance());
    let world = stage.world;
    stage
        .app
        .world_mut()
        .entity_mut(world)
        .insert(DistanceStreaming::default());
    stage.until(|stage| stage.app.world().get::<WorldBuild>(stage.world).is_some());
    stage.frames(2);
    stage.app.world_mut().entity_mut(world).remove::<DistanceStreaming>();
    stage.until(|stage| stage.is_there());
    let none: [&str; 0] = [];
    assert_eq!(stage.seen_at(200.0), none);
}

/// At whatever point it is.
#[test]
fn a_manifest_that_changes_while_its_world_comes_counts() {
    for frames in [1, 3, 10, 20, 30, 40, 60] {
        let mut stage = Stage::of(hurried(), row(COUNT));
        stage.frames(frames);
        let world = stage.app.world_mut();
        let handle = world.get::<SeamlessWorld>(stage.world).unwrap().0.clone();
        let mut manifests = world.resource_mut::<Assets<WorldManifest>>();
        let mut manifest = manifests.get_mut(&handle).unwrap();
        manifest.levels.truncate(COUNT - 100);
        manifest.volumes.truncate(COUNT - 100);
        drop(manifest);
        stage.frames(2);
        stage.until(|stage| stage.is_there());
        assert_eq!(volumes(&mut stage.app), COUNT - 100, "after {frames}");
        assert_eq!(stage.seen_at(200.0), ["row 10"]);
    }
}

#[test]
fn another_world_takes_the_place_of_one_that_comes() {
    for frames in [1, 3, 10, 20, 30, 40, 60] {
        let mut stage = Stage::of(hurried(), row(COUNT));
        stage.frames(frames);
        let other = add_manifest(&mut stage.app, row(300));
        let world = stage.app.world_mut();
        world.entity_mut(stage.world).insert(SeamlessWorld(other));
        stage.frames(2);
        stage.until(|stage| stage.is_there());
        let table = stage.app.world().get::<LevelTable>(stage.world).unwrap();
        assert_eq!((table.len(), volumes(&mut stage.app)), (300, 300), "after {frames}");
        assert_eq!(stage.seen_at(200.0), ["row 10"]);
    }
}

#[test]
fn a_world_that_goes_while_it_comes_leaves_nothing() {
    for frames in [0, 1, 3, 10, 20, 30, 40, 60] {
        for despawn in [false, true] {
            let mut stage = Stage::of(hurried(), row(COUNT));
            stage.frames(frames);
            let world = stage.app.world_mut();
            if despawn {
                world.despawn(stage.world);
            } else {
                world.entity_mut(stage.world).remove::<SeamlessWorld>();
            }
            stage.frames(100);
            assert_eq!(volumes(&mut stage.app), 0, "after {frames}");
            let world = stage.app.world_mut();
            let left = world.query_filtered::<(), Or<(With<LevelTable>, With<WorldBuild>)>>();
            assert_eq!({ left }.iter(world).count(), 0, "after {frames}");
        }
    }
}

type NamedVolumes<'w, 's> = Query<'w, 's, (&'static StreamingVolume, &'static Name)>;

/// Ends the world of a volume.
fn end_world_of(volume: Entity, volumes: &NamedVolumes, commands: &mut Commands) {
    if let Ok((volume, name)) = volumes.get(volume)
        && name.as_str() == "row 2"
        && let Some(world) = volume.world
    {
        commands.entity(world).despawn();
    }
}

#[test]
fn a_world_that_an_observer_ends_while_its_volumes_come_leaves_nothing() {
    for count in [4, COUNT] {
        for is_early in [false, true] {
            let mut stage = Stage::of(hurried(), row(count));
            if is_early {
                // The world goes before Bevy has noted the volume as one that goes with it, and that fails.
                stage.app.insert_resource(FallbackErrorHandler(ignore));
                stage.app.add_observer(
                    |add: On<Add, StreamingVolume>, volumes: NamedVolumes, mut commands: Commands| {
                        end_world_of(add.entity, &volumes, &mut commands);
                    },
                );
            } else {
                stage.app.add_observer(
                    |insert: On<Insert, StreamingVolume>, volumes: NamedVolumes, mut commands: Commands| {
                        end_world_of(insert.entity, &volumes, &mut commands);
                    },
                );
            }
            stage.until(|stage| stage.app.world().get_entity(stage.world).is_err());
            for _ in 0..10 {
                assert_eq!(volumes(&mut stage.app), 0, "of {count}, early: {is_early}");
                stage.frames(1);
            }
        }
    }
}

#[test]
fn a_large_manifest_that_makes_no_sense_fails_once() {
    let mut manifest = row(COUNT);
    manifest.levels[500].scale = [0.0; 3];
    let mut stage = Stage::of(hurried(), manifest);
    let mut told = Vec::new();
    stage.until(|stage| {
        told.extend(stage.told());
        !told.is_empty()
    });
    stage.frames(20);
    told.extend(stage.told());
    assert!(told.len() == 1 && told[0].contains("`row 500`"), "{told:?}");
    assert_eq!(volumes(&mut stage.app), 0);
    let world = stage.app.world_mut();
    assert!(world.get::<WorldFailure>(stage.world).is_some());
    let handle = world.get::<SeamlessWorld>(stage.world).unwrap().0.clone();
    let mut manifests = world.resource_mut::<Assets<WorldManifest>>();
    manifests.get_mut(&handle).unwrap().levels[500].scale = [1.0; 3];
    stage.until(|stage| stage.is_there());
    assert_eq!(stage.seen_at(200.0), ["row 10"]);
    assert!(stage.app.world().get::<WorldFailure>(stage.world).is_none());
}

/// Volumes that say no world are looked at again, since which one they mean may be unclear now; it is not here, and all others stay as they are.
#[test]
fn a_second_world_leaves_the_volumes_of_the_first_alone() {
    let mut stage = Stage::of(level_app(SeamlessLevelPlugin::default()), row(10));
    stage.app.init_resource::<Time<Real>>();
    let free = StreamingVolume {
        shape: ball(Vec3::X * -500.0, 10.0),
        levels: vec!["row 3".into()],
        unload_delay: 0.0,
        ..StreamingVolume::default()
    };
    stage.app.world_mut().spawn(free);
    assert_eq!(stage.seen_at(-500.0), ["row 3"]);
    assert_eq!(stage.seen_at(100.0), ["row 5"]);
    let other = add_manifest(&mut stage.app, manifest());
    let other = stage.app.world_mut().spawn(SeamlessWorld(other)).id();
    assert_eq!(stage.seen_at(-500.0), ["row 3"], "the other has no such level");
    assert_eq!(stage.seen_at(100.0), ["row 5"]);
    stage.app.world_mut().despawn(other);
    assert_eq!(stage.seen_at(-500.0), ["row 3"]);
    assert_eq!(stage.seen_at(100.0), ["row 5"]);
}

/// How many volumes there are in each frame until it is `done`.
fn watch(stage: &mut Stage, mut done: impl FnMut(&mut Stage) -> bool) -> Vec<usize> {
    let mut counts = vec![volumes(&mut stage.app)];
    stage.until(|stage| {
        counts.push(volumes(&mut stage.app));
        done(stage)
    });
    counts
}

/// So many may go in one frame whatever time it has.
const AT_ONCE: usize = 256;

/// The most that are despawned from one frame to the next.
fn most_at_once(counts: &[usize]) -> usize {
    let gone = counts.windows(2).map(|pair| pair[0].saturating_sub(pair[1]));
    gone.max().unwrap_or_default()
}

#[test]
fn a_large_world_that_is_taken_down_goes_over_many_frames() {
    let mut stage = Stage::of(hurried(), row(COUNT));
    stage.until(|stage| stage.is_there());
    assert_eq!(volumes(&mut stage.app), COUNT);
    let of_before: Vec<Entity> = stage
        .app
        .world()
        .get::<LevelVolumes>(stage.world)
        .unwrap()
        .iter()
        .collect();
    // It becomes another one: none of its volumes is there when that is.
    let other = SeamlessWorld(add_manifest(&mut stage.app, row(COUNT / 2)));
    stage.app.world_mut().entity_mut(stage.world).insert(other);
    stage.frames(1);
    assert!(!stage.is_there());
    let counts = watch(&mut stage, |stage| stage.is_there());
    assert!(most_at_once(&counts) <= AT_ONCE, "{counts:?}");
    assert_eq!(volumes(&mut stage.app), COUNT / 2);
    let entities = stage.app.world().entities();
    assert!(!of_before.iter().any(|volume| entities.contains_spawned(*volume)));
    assert_eq!(stage.seen_at(20.0).len(), 1);
    // It is no world any more.
    stage.app.world_mut().entity_mut(stage.world).remove::<SeamlessWorld>();
    let counts = watch(&mut stage, |stage| volumes(&mut stage.app) == 0);
    assert!(most_at_once(&counts) <= AT_ONCE && counts.len() >= 4, "{counts:?}");
    assert!(stage.app.world().get::<LevelVolumes>(stage.world).is_none());
}
