mod again;
mod tickets;

use bevy_ecs::prelude::*;
use bevy_math::Quat;

use super::*;
use crate::{
    LevelSettings, LevelState, SeamlessLevelPlugin, SeamlessWorld, StreamingVolume, VolumeShape, WorldManifest,
    world::tests::{Stage, WEST, add_manifest, level_app, manifest},
};

fn stage() -> Stage {
    let mut stage = Stage::new();
    stage.frames(3);
    stage.told();
    stage
}

fn house(number: usize) -> NewInstance {
    let place = Transform::from_xyz(10.0 * number as f32, 0.0, 0.0);
    NewInstance::new(format!("house_{number}"), "west", place)
}

fn add(stage: &mut Stage, instance: NewInstance) -> Result<LevelTicket, RequestError> {
    stage.ask(move |levels| levels.add_instance(instance.clone()))
}

fn remove(stage: &mut Stage, name: &'static str) -> Result<(), RequestError> {
    stage.ask(move |levels| levels.remove_instance(name))
}

fn find(stage: &Stage, name: &str) -> Option<LevelState> {
    let table = stage.app.world().get::<LevelTable>(stage.world).unwrap();
    table.get(name).map(crate::Level::state)
}

fn slots(stage: &Stage) -> usize {
    stage.app.world().get::<LevelTable>(stage.world).unwrap().len()
}

#[test]
fn the_games_hooks_get_what_it_has_for_an_instance() {
    let mut stage = stage();
    let house = NewInstance {
        data: Some("(owner: \"mayor\")".to_owned()),
        ..house(1)
    };
    let _ticket = add(&mut stage, house).unwrap();
    stage.frames(1);
    let request = stage.level("house_1").request(1.0);
    let data = request.data.as_ref().and_then(seamless_asset::InstanceData::as_text);
    assert_eq!(data, Some("(owner: \"mayor\")"));
    assert_eq!(request.path().as_str(), "test/house_1");
    assert!(stage.level("west").request(1.0).data.is_none());
}

/// A saved game builds its houses again as soon as the world's levels are known.
#[test]
fn houses_are_built_when_the_table_comes() {
    #[derive(Resource, Default)]
    struct Built(Vec<LevelTicket>);

    let mut stage = Stage::new();
    stage.app.init_resource::<Built>();
    let build = |_: On<Add, LevelTable>, mut levels: Levels, mut built: ResMut<Built>| {
        built.0.push(levels.add_instance(house(1)).unwrap());
    };
    stage.app.add_observer(build);
    stage.frames(4);
    assert_eq!(find(&stage, "house_1"), Some(LevelState::Visible));
    assert_eq!(stage.app.world().resource::<Built>().0.len(), 1);
}

#[test]
fn an_instance_is_a_level_like_any_other() {
    let mut stage = stage();
    let ticket = add(&mut stage, house(1)).unwrap();
    assert_eq!((ticket.level(), ticket.target()), ("house_1", LevelTarget::Visible));
    stage.frames(1);
    assert_eq!(stage.told(), ["+house_1"], "asked for, there in the next frame");
    let level = stage.level("house_1");
    assert_eq!(level.entry().package, "west.pkg");
    assert_eq!(level.entry().placement(), Transform::from_xyz(10.0, 0.0, 0.0));
    assert_eq!(level.path().as_str(), "test/house_1");
    drop(ticket);
    stage.frames(3);
    assert_eq!(stage.told(), ["-house_1"]);
    assert_eq!(find(&stage, "house_1"), Some(LevelState::Unloaded), "it stays known");
    stage.ask(|levels| levels.load("house_1")).unwrap();
    stage.frames(1);
    assert_eq!(stage.told(), ["+house_1"]);
    remove(&mut stage, "house_1").unwrap();
    stage.frames(2);
    assert_eq!(stage.told(), ["-house_1"], "whoever wants it");
    assert_eq!(find(&stage, "house_1"), None);
    assert!(matches!(
        remove(&mut stage, "house_1"),
        Err(RequestError::UnknownInstance { .. })
    ));
}

#[test]
fn volumes_and_requests_may_name_it() {
    let mut stage = stage();
    let standing = stage.ask(|levels| levels.load("house_1"));
    assert!(matches!(standing, Err(RequestError::UnknownLevel { .. })));
    stage.app.world_mut().spawn(crate::LevelWanted {
        levels: vec!["house_2".into()],
        ..crate::LevelWanted::default()
    });
    drop(add(&mut stage, house(1)));
    drop(add(&mut stage, house(2)));
    // In the same frame, before any table knows it.
    stage.ask(|levels| levels.preload("house_1")).unwrap();
    stage.app.world_mut().spawn(StreamingVolume {
        shape: VolumeShape::Sphere {
            center: WEST,
            radius: 10.0,
        },
        levels: vec!["house_1".into()],
        unload_delay: 0.0,
        ..StreamingVolume::default()
    });
    stage.hold("house_1");
    stage.frames(1);
    assert_eq!(stage.level("house_1").target(), LevelTarget::Loaded);
    assert_eq!(stage.told(), ["+house_2"], "who wanted it before it was there gets it");
    stage.release();
    stage.go(WEST);
    assert_eq!(stage.level("house_1").target(), LevelTarget::Visible);
    remove(&mut stage, "house_1").unwrap();
    stage.frames(2);
    assert!(stage.told().contains(&"-house_1".to_owned()));
    // Its place is free, though a volume names it and is on.
    let before = slots(&stage);
    drop(add(&mut stage, house(3)));
    stage.frames(3);
    assert_eq!(slots(&stage), before);
    assert_eq!(find(&stage, "house_3"), Some(LevelState::Unloaded));
}

#[test]
fn a_hundred_houses_come_and_go_and_come_again() {
    let mut stage = stage();
    let before = slots(&stage);
    for round in 0..3 {
        let tickets: Vec<_> = (0..100).map(|number| add(&mut stage, house(number)).unwrap()).collect();
        stage.frames(2);
        assert_eq!(stage.told().len(), 100, "round {round}");
        assert_eq!(slots(&stage), before + 100, "places are used again");
        stage.ask(|levels| (0..100).for_each(|number| levels.remove_instance(&format!("house_{number}")).unwrap()));
        stage.frames(3);
        assert_eq!(stage.told().len(), 100);
        drop(tickets);
        stage.frames(1);
    }
    assert_eq!(stage.tracked(), 1, "the base is left");
    let removed = stage.app.world().get::<LevelTable>(stage.world).unwrap().iter();
    assert_eq!(removed.filter(|level| level.is_removed()).count(), 100);
}

#[test]
fn one_that_is_removed_while_it_loads_never_comes() {
    let mut stage = stage();
    stage.hold("house_1");
    let _ticket = add(&mut stage, house(1)).unwrap();
    stage.frames(3);
    assert!(matches!(find(&stage, "house_1"), Some(LevelState::Loading(_))));
    remove(&mut stage, "house_1").unwrap();
    // Another of the same name at once.
    let moved = NewInstance {
        placement: Transform::from_xyz(0.0, 7.0, 0.0),
        ..house(1)
    };
    let _other = add(&mut stage, moved).unwrap();
    stage.frames(1);
    stage.release();
    stage.frames(3);
    assert_eq!(stage.told(), ["+house_1"]);
    assert_eq!(stage.level("house_1").entry().translation, [0.0, 7.0, 0.0]);
    assert_eq!(stage.tracked(), 2);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let mut stage = Stage::with(level_app(SeamlessLevelPlugin {
        settings: LevelSettings {
            max_instances: 2,
            ..LevelSettings::default()
        },
    }));
    let early = add(&mut stage, house(1));
    assert!(
        matches!(early, Err(RequestError::NotYet { .. })),
        "there is no world yet"
    );
    stage.frames(3);
    let unknown = add(&mut stage, NewInstance::new("a", "mill", Transform::default()));
    assert!(matches!(unknown, Err(RequestError::UnknownLevel { level }) if level == "mill"));
    for taken in ["east", "house_1"] {
        let _first = add(&mut stage, house(1));
        let again = add(&mut stage, NewInstance::new(taken, "west", Transform::default()));
        assert!(matches!(again, Err(RequestError::NameTaken { name }) if name == taken));
    }
    let flat = Transform::from_scale(Vec3::new(1.0, 0.0, 1.0));
    let wrong = add(&mut stage, NewInstance::new("b", "west", flat));
    assert!(wrong.unwrap_err().to_string().contains("scale"));
    assert!(add(&mut stage, NewInstance::new("", "west", Transform::default())).is_err());
    // Of another instance.
    let second = add(&mut stage, NewInstance::new("c", "house_1", Transform::default()));
    assert!(second.is_ok());
    let third = add(&mut stage, house(3));
    assert_eq!(third.unwrap_err(), RequestError::TooManyInstances { limit: 2 });
    let manifests = remove(&mut stage, "west");
    assert!(matches!(manifests, Err(RequestError::UnknownInstance { .. })));
}

#[test]
fn instances_outlive_a_manifest_and_go_with_their_world() {
    let mut stage = stage();
    let _ticket = add(&mut stage, house(1)).unwrap();
    stage.frames(2);
    stage.told();
    cook_again(&mut stage, &[]);
    let told = stage.told();
    assert!(
        told.contains(&"-house_1".to_owned()) && told.contains(&"+house_1".to_owned()),
        "{told:?}"
    );
    assert!(stage.level("house_1").is_visible());
    stage.app.world_mut().despawn(stage.world);
    stage.frames(3);
    assert!(stage.told().contains(&"-house_1".to_owned()));
    assert!(stage.app.world().resource::<AddedInstances>().all.is_empty());
}

/// The world was cooked again, with these levels more.
fn cook_again(stage: &mut Stage, more: &[&str]) {
    let mut manifest = manifest();
    manifest.levels.extend(more.iter().map(|name| LevelEntry {
        name: (*name).into(),
        package: "east.pkg".into(),
        ..LevelEntry::default()
    }));
    let world = stage.app.world_mut();
    let handle = world.get::<SeamlessWorld>(stage.world).unwrap().0.clone();
    let mut manifests = world.resource_mut::<bevy_asset::Assets<WorldManifest>>();
    manifests.insert(handle.id(), manifest).unwrap();
    stage.frames(6);
}

/// The names of the instances that are left out.
fn are_left_out(stage: &Stage) -> Vec<String> {
    let world = stage.app.world();
    let (table, added) = (world.get::<LevelTable>(stage.world), world.resource::<AddedInstances>());
    left_out(stage.world, table.unwrap(), added)
        .map(str::to_owned)
        .collect()
}

#[test]
fn a_level_of_a_new_manifest_keeps_its_name_from_an_instance() {
    let mut stage = stage();
    let _tickets = [1, 2].map(|number| add(&mut stage, house(number)).unwrap());
    ask_for(&mut stage, "house_1");
    stage.frames(2);
    cook_again(&mut stage, &["house_1"]);
    assert_eq!(are_left_out(&stage), ["house_1"]);
    let package = |stage: &Stage| stage.level("house_1").entry().package.clone();
    assert_eq!(package(&stage), "east.pkg", "the name means the manifest's level");
    assert_eq!(slots(&stage), 3 + 1 + 1, "and the other house is there");
    stage.go(WEST);
    assert!(stage.level("house_1").is_visible(), "so it does for volumes");
    let again = add(&mut stage, house(1));
    assert!(matches!(again, Err(RequestError::NameTaken { .. })));
    // Whoever takes the instance away takes nothing from the manifest.
    remove(&mut stage, "house_1").unwrap();
    stage.frames(3);
    assert_eq!((package(&stage).as_str(), are_left_out(&stage).len()), ("east.pkg", 0));
    assert!(stage.level("house_1").is_visible());
}

#[test]
fn an_instance_that_was_left_out_comes_back_when_its_name_is_free() {
    let mut stage = stage();
    let _ticket = add(&mut stage, house(1)).unwrap();
    cook_again(&mut stage, &["house_1"]);
    cook_again(&mut stage, &[]);
    assert_eq!(are_left_out(&stage), [""; 0]);
    assert_eq!(stage.level("house_1").entry().package, "west.pkg");
    assert!(stage.level("house_1").is_visible());
}

#[test]
fn bounds_move_along() {
    let of = LevelEntry {
        translation: [100.0, 0.0, 0.0],
        bounds: Some(([98.0, 0.0, -1.0], [102.0, 3.0, 1.0])),
        ..LevelEntry::default()
    };
    let turned = Transform::from_xyz(0.0, 10.0, 0.0)
        .with_rotation(Quat::from_rotation_y(core::f32::consts::FRAC_PI_2))
        .with_scale(Vec3::splat(2.0));
    let (min, max) = NewInstance::new("a", "b", turned).entry(&of).bounds.unwrap();
    let near = |a: [f32; 3], b: [f32; 3]| Vec3::from(a).distance(Vec3::from(b)) < 1e-3;
    assert!(
        near(min, [-2.0, 10.0, -4.0]) && near(max, [2.0, 16.0, 4.0]),
        "{min:?} {max:?}"
    );
    let given = NewInstance {
        bounds: Some((Vec3::ZERO, Vec3::ONE)),
        ..NewInstance::new("a", "b", turned)
    };
    assert_eq!(given.entry(&of).bounds, Some(([0.0; 3], [1.0; 3])));
}

fn ask_for(stage: &mut Stage, level: &str) -> Entity {
    let volume = StreamingVolume {
        shape: VolumeShape::Sphere {
            center: WEST,
            radius: 10.0,
        },
        levels: vec![level.into()],
        unload_delay: 0.0,
        ..StreamingVolume::default()
    };
    stage.app.world_mut().spawn(volume).id()
}

/// The place of what was removed is another's now; the volume names the first.
#[test]
fn a_volume_means_a_name_and_not_a_place() {
    let mut stage = stage();
    drop(add(&mut stage, house(1)));
    stage.frames(1);
    ask_for(&mut stage, "house_1");
    stage.frames(2);
    let before = slots(&stage);
    remove(&mut stage, "house_1").unwrap();
    stage.frames(3);
    drop(add(&mut stage, house(2)));
    stage.frames(3);
    assert_eq!(slots(&stage), before, "it has the place of the first");
    stage.go(WEST);
    assert_eq!(find(&stage, "house_2"), Some(LevelState::Unloaded));
    // Another one of that name is meant as well.
    drop(add(&mut stage, house(1)));
    stage.frames(2);
    assert_eq!(find(&stage, "house_1"), Some(LevelState::Visible));
    assert_eq!(find(&stage, "house_2"), Some(LevelState::Unloaded));
    // In one frame, too.
    remove(&mut stage, "house_1").unwrap();
    drop(add(&mut stage, house(1)));
    stage.frames(3);
    assert_eq!(find(&stage, "house_1"), Some(LevelState::Visible));
}

#[test]
fn a_volume_may_name_what_is_added_later() {
    let mut stage = stage();
    let volume = ask_for(&mut stage, "house_1");
    stage.go(WEST);
    drop(add(&mut stage, house(1)));
    stage.frames(2);
    assert_eq!(find(&stage, "house_1"), Some(LevelState::Visible));
    // It names another one now.
    let mut volume = stage.app.world_mut().get_mut::<StreamingVolume>(volume).unwrap();
    volume.levels = vec!["house_2".into()];
    stage.frames(3);
    assert_eq!(find(&stage, "house_1"), Some(LevelState::Unloaded));
    drop(add(&mut stage, house(2)));
    stage.frames(2);
    assert_eq!(find(&stage, "house_2"), Some(LevelState::Visible));
}

#[test]
fn what_is_added_comes_by_its_distance_as_well() {
    let mut stage = stage();
    let world = stage.world;
    stage
        .app
        .world_mut()
        .entity_mut(world)
        .insert(crate::DistanceStreaming {
            load: 50.0,
            show: 20.0,
            unload: 50.0,
            delay: 0.0,
            ..crate::DistanceStreaming::default()
        });
    stage.frames(2);
    let at = |x: f32, name: &str| NewInstance {
        bounds: Some((Vec3::new(x, 0.0, 0.0), Vec3::new(x + 1.0, 1.0, 1.0))),
        ..NewInstance::new(name, "west", Transform::from_xyz(x, 0.0, 0.0))
    };
    drop(add(&mut stage, at(500.0, "far")));
    drop(add(&mut stage, at(540.0, "farther")));
    stage.frames(3);
    assert_eq!(find(&stage, "far"), Some(LevelState::Unloaded));
    stage.go(Vec3::X * 495.0);
    assert_eq!(stage.level("far").target(), LevelTarget::Visible);
    assert_eq!(stage.level("farther").target(), LevelTarget::Loaded);
    remove(&mut stage, "far").unwrap();
    stage.frames(3);
    let before = slots(&stage);
    // What is at its place in the table is elsewhere in the world.
    drop(add(&mut stage, at(5000.0, "farthest")));
    stage.frames(3);
    assert_eq!(slots(&stage), before);
    assert_eq!(stage.level("farthest").target(), LevelTarget::Unloaded);
    stage.go(Vec3::X * 4990.0);
    assert_eq!(stage.level("farthest").target(), LevelTarget::Visible);
    assert_eq!(stage.level("farther").target(), LevelTarget::Unloaded);
}

/// A hundred houses weigh a hundred times as much as one.
#[test]
fn what_is_added_counts_under_the_caps() {
    let mut manifest = manifest();
    manifest.levels.iter_mut().for_each(|level| level.bytes = 10);
    let plugin = SeamlessLevelPlugin {
        settings: LevelSettings {
            max_bytes: 110,
            ..LevelSettings::default()
        },
    };
    let mut stage = Stage::of(level_app(plugin), manifest);
    stage.frames(3);
    let tickets: Vec<_> = (0..100).map(|number| add(&mut stage, house(number)).unwrap()).collect();
    stage.frames(3);
    let visible = |stage: &Stage| {
        let table = stage.app.world().get::<LevelTable>(stage.world).unwrap();
        (table.iter().filter(|level| level.is_visible()).count(), table.dropped())
    };
    assert_eq!(visible(&stage), (11, 90));
    drop(tickets);
    for number in 0..100 {
        let name: &'static str = format!("house_{number}").leak();
        remove(&mut stage, name).unwrap();
    }
    stage.frames(5);
    assert_eq!(visible(&stage), (1, 0));
    let before = slots(&stage);
    let _tickets: Vec<_> = (0..100).map(|number| add(&mut stage, house(number)).unwrap()).collect();
    stage.frames(3);
    assert_eq!(
        (visible(&stage), slots(&stage)),
        ((11, 90), before),
        "in places that were others'"
    );
}

/// The world that they were added to is over.
#[test]
fn another_manifest_takes_nothing_over() {
    let mut stage = Stage::new();
    stage.frames(2);
    let house = NewInstance::new("house", "west", Transform::IDENTITY);
    let ticket = stage.ask(move |levels| levels.add_instance(house.clone())).unwrap();
    stage.frames(3);
    assert!(stage.level("house").is_visible());
    let other = add_manifest(&mut stage.app, manifest());
    let world = stage.app.world_mut();
    world.entity_mut(stage.world).insert(SeamlessWorld(other));
    stage.frames(5);
    let table = stage.app.world().get::<LevelTable>(stage.world).unwrap();
    assert!(table.get("west").is_some() && table.get("house").is_none());
    drop(ticket);
}
