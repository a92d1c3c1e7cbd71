//! Several worlds at a time: which of them a source asks, and which one a volume means.

use bevy_ecs::schedule::SingleThreadedExecutor;
use bevy_transform::components::Transform;
use seamless_asset::{LevelInstance, OfLevel, doubles::logged};

use super::*;
use crate::random::Random;

const TOWER: Vec3 = Vec3::new(0.0, 500.0, 0.0);

/// The manifest of the other tests, with names of its own.
fn deep() -> WorldManifest {
    let mut manifest = manifest();
    manifest.name = "deep".into();
    let rename = |name: &mut String| *name = format!("deep {name}");
    for level in &mut manifest.levels {
        rename(&mut level.name);
    }
    for volume in &mut manifest.volumes {
        volume.levels.iter_mut().for_each(rename);
    }
    manifest
}

fn add_world(stage: &mut Stage, manifest: WorldManifest) -> Entity {
    let handle = add_manifest(&mut stage.app, manifest);
    stage.app.world_mut().spawn(SeamlessWorld(handle)).id()
}

fn table(stage: &Stage, world: Entity) -> &LevelTable {
    stage.app.world().get(world).unwrap()
}

/// The levels that are wanted of a world, but for those that always are.
fn wanted(stage: &Stage, world: Entity) -> Vec<&str> {
    let levels = table(stage, world).iter();
    let wanted = levels.filter(|level| level.is_wanted() && !level.entry().always_loaded);
    wanted.map(Level::name).collect()
}

fn spawn_source(stage: &mut Stage, world: Option<Entity>, at: Vec3) -> Entity {
    let source = StreamingSource {
        world,
        ..StreamingSource::default()
    };
    let place = GlobalTransform::from_translation(at);
    stage.app.world_mut().spawn((source, place)).id()
}

fn set_world(stage: &mut Stage, source: Entity, world: Option<Entity>) {
    let mut source = stage.app.world_mut().get_mut::<StreamingSource>(source).unwrap();
    source.world = world;
}

fn is_complete(stage: &mut Stage, source: Entity) -> bool {
    let system = move |status: StreamingStatus| status.is_streaming_complete(source);
    stage.app.world_mut().run_system_once(system).unwrap()
}

/// An overworld and a dungeon on one server, both around the origin.
#[test]
fn a_source_of_one_world_asks_no_other() {
    let mut stage = Stage::new();
    let second = add_world(&mut stage, manifest());
    let (first, source) = (stage.world, stage.source);
    set_world(&mut stage, source, Some(first));
    let other = spawn_source(&mut stage, Some(second), EAST);
    let anybody = spawn_source(&mut stage, None, TOWER);
    stage.hold("west");
    stage.go(WEST);
    assert_eq!(wanted(&stage, first), ["west"]);
    assert_eq!(wanted(&stage, second), ["east"]);
    let complete = |stage: &mut Stage| [source, other, anybody].map(|source| is_complete(stage, source));
    assert_eq!(complete(&mut stage), [false, true, true]);
    stage.release();
    stage.frames(2);
    assert_eq!(complete(&mut stage), [true; 3]);
    // Who asks all worlds waits for one that comes.
    add_world(&mut stage, deep());
    assert_eq!(complete(&mut stage), [true, true, false]);
    stage.frames(3);
    assert_eq!(complete(&mut stage), [true; 3]);
}

#[test]
fn who_changes_its_world_is_complete_when_that_has_seen_it() {
    let mut stage = Stage::new();
    let second = add_world(&mut stage, manifest());
    let (first, source) = (stage.world, stage.source);
    set_world(&mut stage, source, Some(first));
    stage.go(WEST);
    assert_eq!(wanted(&stage, first), ["west"]);
    assert!(wanted(&stage, second).is_empty());
    assert!(is_complete(&mut stage, source));
    set_world(&mut stage, source, Some(second));
    assert!(!is_complete(&mut stage, source));
    stage.frames(2);
    assert_eq!(wanted(&stage, second), ["west"]);
    assert!(wanted(&stage, first).is_empty());
    assert!(is_complete(&mut stage, source));
    set_world(&mut stage, source, None);
    assert!(!is_complete(&mut stage, source), "the first has not seen it again");
    stage.frames(2);
    assert_eq!([first, second].map(|world| wanted(&stage, world)), [["west"]; 2]);
    assert!(is_complete(&mut stage, source));
}

#[test]
fn sources_may_change_their_worlds_at_any_time() {
    let mut stage = Stage::new();
    let second = add_world(&mut stage, manifest());
    let first = stage.world;
    stage.app.world_mut().despawn(stage.source);
    let mut sources = Vec::new();
    for _ in 0..5 {
        sources.push(spawn_source(&mut stage, None, Vec3::ZERO));
    }
    let mut random = Random(11);
    for step in 0..300 {
        let changed = StreamingSource {
            world: [None, Some(first), Some(second), Some(Entity::PLACEHOLDER)][random.below(4)],
            ahead: 0.0,
            ..StreamingSource::default()
        };
        let place = GlobalTransform::from_translation([WEST, EAST, Vec3::ZERO][random.below(3)]);
        let source = sources[random.below(5)];
        stage.app.world_mut().entity_mut(source).insert((changed, place));
        stage.frames(2);
        let world = stage.app.world();
        let is_asked = |of: Entity, at: Vec3| {
            sources.iter().any(|source| {
                let meant = world.get::<StreamingSource>(*source).unwrap().world;
                let place = world.get::<GlobalTransform>(*source).unwrap().translation();
                place == at && meant.is_none_or(|meant| meant == of)
            })
        };
        for of in [first, second] {
            let mut expected = Vec::new();
            expected.extend(is_asked(of, WEST).then_some("west"));
            expected.extend(is_asked(of, EAST).then_some("east"));
            assert_eq!(wanted(&stage, of), expected, "in step {step}");
        }
    }
}

#[test]
fn a_source_of_a_world_that_is_none_asks_for_nothing() {
    let mut stage = Stage::new();
    let (first, source) = (stage.world, stage.source);
    let later = stage.app.world_mut().spawn_empty().id();
    set_world(&mut stage, source, Some(later));
    stage.go(WEST);
    assert!(wanted(&stage, first).is_empty());
    assert!(!is_complete(&mut stage, source));
    // It becomes one.
    let handle = add_manifest(&mut stage.app, manifest());
    stage.app.world_mut().entity_mut(later).insert(SeamlessWorld(handle));
    stage.frames(3);
    assert_eq!(wanted(&stage, later), ["west"]);
    assert!(wanted(&stage, first).is_empty());
    assert!(is_complete(&mut stage, source));
    stage.app.world_mut().despawn(later);
    stage.frames(2);
    assert!(wanted(&stage, first).is_empty());
    assert!(!is_complete(&mut stage, source));
    let seen = stage.app.world().get::<StreamingSource>(source).unwrap();
    assert_eq!(ArrivalPoint::of(seen, WEST).world, Some(later));
}

#[test]
fn nothing_is_late_in_a_world_where_nobody_is() {
    let mut manifest = manifest();
    manifest.levels[1].bounds = Some(([-55.0, 0.0, -5.0], [-45.0, 5.0, 5.0]));
    let mut stage = Stage::of(level_app(SeamlessLevelPlugin::default()), manifest.clone());
    let second = add_world(&mut stage, manifest);
    let (first, source) = (stage.world, stage.source);
    set_world(&mut stage, source, Some(first));
    let by_name = LevelWanted {
        levels: vec!["west".into()],
        world: Some(second),
        ..LevelWanted::default()
    };
    stage.app.world_mut().spawn(by_name);
    stage.hold("west");
    stage.go(WEST);
    assert_eq!(wanted(&stage, second), ["west"]);
    let late = |stage: &Stage| -> Vec<Entity> {
        let late = stage.app.world().resource::<LateLevels>();
        late.iter().map(|level| level.world).collect()
    };
    assert_eq!(late(&stage), [first]);
    set_world(&mut stage, source, Some(second));
    stage.frames(1);
    assert_eq!(late(&stage), [second]);
}

fn volume(levels: &[&str]) -> StreamingVolume {
    StreamingVolume {
        unload_margin: Some(1.0),
        unload_delay: 0.0,
        ..StreamingVolume::new(ball(TOWER, 5.0), levels.iter().copied())
    }
}

fn volume_mut(stage: &mut Stage, volume: Entity) -> Mut<'_, StreamingVolume> {
    stage.app.world_mut().get_mut(volume).unwrap()
}

/// A game loads the next world while the player is in this one; whether the names of the two differ or not.
#[test]
fn a_volume_keeps_its_level_when_a_second_world_comes() {
    for other in [manifest(), deep()] {
        let mut stage = Stage::new();
        let own = stage.app.world_mut().spawn(volume(&["west"])).id();
        stage.go(TOWER);
        let root = stage.level("west").root();
        assert!(root.is_some());
        stage.told();
        let base = format!("+{}", other.levels[0].name);
        let second = add_world(&mut stage, other);
        stage.frames(5);
        assert_eq!(stage.told(), [base]);
        assert_eq!(stage.level("west").root(), root);
        // Nor is it forgotten which one it asked while it is off.
        for enabled in [false, true] {
            volume_mut(&mut stage, own).enabled = enabled;
            stage.frames(3);
            assert_eq!(stage.level("west").is_visible(), enabled);
        }
        let root = stage.level("west").root();
        stage.app.world_mut().despawn(second);
        stage.frames(3);
        assert!(root.is_some() && stage.level("west").root() == root);
    }
}

#[test]
fn names_that_one_world_has_say_which_is_meant() {
    let mut stage = Stage::new();
    let second = add_world(&mut stage, deep());
    let first = stage.world;
    stage.frames(3);
    for levels in [&["west"][..], &["deep west"], &["east", "deep east"], &["hut"]] {
        stage.app.world_mut().spawn(volume(levels));
    }
    stage.go(TOWER);
    assert_eq!(wanted(&stage, first), ["west"]);
    assert_eq!(wanted(&stage, second), ["deep west"]);
    // The game adds a level that one of them names, and nobody but that one asks for it.
    let hut = NewInstance::new("hut", "deep west", Transform::default());
    drop(stage.ask(move |levels| levels.add_instance(hut.clone())).unwrap());
    stage.frames(3);
    assert_eq!(wanted(&stage, first), ["west"]);
    assert_eq!(wanted(&stage, second), ["deep west", "hut"]);
    stage.ask(|levels| levels.remove_instance("hut")).unwrap();
    stage.frames(3);
    assert_eq!(wanted(&stage, second), ["deep west"]);
}

#[test]
fn names_that_several_worlds_have_are_told_once() {
    let mut stage = Stage::new();
    // What other threads log is not heard.
    stage.app.edit_schedule(SpawnScene, |schedule| {
        schedule.set_executor(SingleThreadedExecutor::new());
    });
    let second = add_world(&mut stage, manifest());
    let first = stage.world;
    stage.frames(3);
    let new = stage.app.world_mut().spawn(volume(&["west"])).id();
    let placed = StreamingVolume {
        world: Some(second),
        ..volume(&["east"])
    };
    let placed = stage.app.world_mut().spawn(placed).id();
    stage.go(Vec3::ZERO);
    let said = logged(|| {
        stage.go(TOWER);
        volume_mut(&mut stage, placed).world = None;
        for _ in 0..5 {
            volume_mut(&mut stage, new).priority += 1.0;
            volume_mut(&mut stage, placed).priority += 1.0;
            stage.frames(1);
        }
    });
    let told = said.iter().filter(|line| line.contains("names no world"));
    assert_eq!(told.count(), 1, "the new one was told before: {said:?}");
    assert!(wanted(&stage, first).is_empty());
    assert_eq!(wanted(&stage, second), ["east"], "where it was");
}

#[test]
fn a_volume_of_a_level_asks_the_world_of_that_level() {
    let mut stage = Stage::new();
    let second = add_world(&mut stage, manifest());
    let first = stage.world;
    stage.go(WEST);
    let roots = [first, second].map(|world| table(&stage, world).root_of("west").unwrap());
    for root in roots {
        let level = LevelInstance {
            name: "west".into(),
            ..LevelInstance::default()
        };
        stage.app.world_mut().entity_mut(root).insert(level);
    }
    let near = || StreamingVolume {
        shape: ball(WEST, 5.0),
        ..volume(&["east"])
    };
    let world = stage.app.world_mut();
    let house = world.spawn(ChildOf(roots[1])).id();
    let below = world.spawn((near(), ChildOf(house))).id();
    stage.frames(2);
    assert_eq!(wanted(&stage, first), ["west"]);
    assert_eq!(wanted(&stage, second), ["west", "east"]);
    stage.app.world_mut().despawn(below);
    stage.app.world_mut().spawn((near(), OfLevel(roots[0])));
    stage.frames(2);
    assert_eq!(wanted(&stage, first), ["west", "east"]);
    assert_eq!(wanted(&stage, second), ["west"]);
}
