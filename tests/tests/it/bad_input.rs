//! Broken files and foreign types, through the whole plugin group: an error that names file, object and mend, and the
//! rest of the world goes on.

pub(crate) mod leaks;
mod manifests;

use std::{fs, path::Path};

use bevy::prelude::*;
use bevy_seamless::{
    asset::{InstanceEvent, InstanceRequest, Streamer},
    prelude::*,
};
use seamless_tests::{
    app::run_until,
    cooked::{Ask, Cooked, STREAM_LIMIT, ask, level_of, reveal, reveal_fails, state, wait_until_live},
    fixtures::{register_types, write_animated_gltf, write_everything_scn},
};

/// A door as it was when the world was cooked.
mod then {
    use bevy::prelude::*;

    #[derive(Component, Reflect, Default)]
    #[reflect(Component, Default, no_auto_register)]
    #[type_path = "bad_input"]
    #[type_name = "Door"]
    pub struct Door {
        open: bool,
    }
}

/// The same door after the game went on.
mod now {
    use bevy::prelude::*;

    #[derive(Component, Reflect, Default)]
    #[reflect(Component, Default, no_auto_register)]
    #[type_path = "bad_input"]
    #[type_name = "Door"]
    pub struct Door {
        pub open: bool,
        pub angle: f32,
    }
}

/// A door that older doors do not become.
mod other {
    use bevy::prelude::*;

    #[derive(Component, Reflect, Default)]
    #[reflect(Component, Default, no_auto_register)]
    #[type_path = "bad_input"]
    #[type_name = "Door"]
    pub struct Door {
        open: String,
    }
}

const DOOR: &str = "bad_input::Door";

/// The text of a scene with `doors` doors.
fn scene_with_doors(doors: usize) -> String {
    let door = |at: usize| format!("{}: (components: {{\"{DOOR}\": (open: true)}}),", at + 1);
    let doors: String = (0..doors).map(door).collect();
    format!("(resources: {{}}, entities: {{ {doors} }})")
}

fn register_old_door(app: &mut App) {
    register_types(app);
    app.register_type::<then::Door>();
}

fn register_new_door(app: &mut App) {
    register_types(app);
    app.register_type::<now::Door>();
}

fn register_other_door(app: &mut App) {
    register_types(app);
    app.register_type::<other::Door>();
}

fn write_sources(dir: &Path) {
    write_everything_scn(dir);
    write_animated_gltf(dir);
    fs::write(dir.join("door.scn.ron"), scene_with_doors(40)).expect("the scene is written");
}

/// As [`write_sources`], for levels that have what they share in a package of its own, however small it is.
pub(crate) fn write_shared_sources(dir: &Path) {
    write_sources(dir);
    let settings = r#"(layout: (rules: [(objects: "*", place: Share)]))"#;
    fs::write(dir.join("cook.ron"), settings).expect("the settings are written");
}

/// `bad`, to be broken, and `good`, which shares nothing with it.
fn two_levels() -> Cooked {
    let world = r#"(levels: [(name: "bad", source: "everything.scn.ron"), (name: "good", source: "animated.gltf")])"#;
    Cooked::new(write_sources, world, register_types)
}

/// As [`two_levels`]; the bad one has doors.
fn level_with_doors() -> Cooked {
    let world = r#"(levels: [(name: "bad", source: "door.scn.ron"), (name: "good", source: "animated.gltf")])"#;
    Cooked::new(write_sources, world, register_old_door)
}

fn assert_parts(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "`{part}` is in: {text}");
    }
}

/// The bad level fails with these words, nothing of it is there, and the good one comes.
fn assert_fails_alone(app: &mut App, world: Entity, parts: &[&str]) {
    let before = app
        .world()
        .archetypes()
        .iter()
        .map(|archetype| archetype.len())
        .sum::<u32>();
    let error = reveal_fails(app, world, "bad");
    assert_parts(&error, parts);
    let after = app
        .world()
        .archetypes()
        .iter()
        .map(|archetype| archetype.len())
        .sum::<u32>();
    // The system that asks may be new.
    assert!(after <= before + 2, "{before} entities became {after}");
    assert_eq!(level_of(app.world(), world, "bad").root(), None);
    reveal(app, world, "good");
    assert_eq!(state(app.world(), world, "bad"), LevelState::Failed);
}

#[test]
fn a_missing_package() {
    let cooked = two_levels();
    fs::remove_file(cooked.file("bad.pkg")).expect("it was there");
    let (mut app, world) = cooked.start(register_types);
    let parts = ["bad.pkg", "cannot be read", "is the world cooked"];
    assert_fails_alone(&mut app, world, &parts);
}

#[test]
fn a_missing_shared_package() {
    let world = r#"(levels: [(name: "bad", source: "everything.gltf"), (name: "too", source: "everything.gltf"),
        (name: "good", source: "animated.gltf")])"#;
    let cooked = Cooked::new(write_shared_sources, world, register_types);
    let shared = cooked.report.levels[0].dependencies[0].clone();
    fs::remove_file(cooked.file(&shared)).expect("it was there");
    let (mut app, world) = cooked.start(register_types);
    let parts = ["bad.pkg", &shared, "is the world cooked"];
    assert_fails_alone(&mut app, world, &parts);
    assert_parts(&reveal_fails(&mut app, world, "too"), &["too.pkg", &shared]);
}

#[test]
fn a_truncated_package_can_be_tried_again() {
    let cooked = two_levels();
    let file = cooked.file("bad.pkg");
    let whole = fs::read(&file).expect("it is there");
    let (mut app, world) = cooked.start(register_types);
    let end = whole.len();
    for length in [0, 1, 31, 64, 200, end / 3, end / 2, end - 1] {
        fs::write(&file, &whole[..length]).expect("it is written");
        assert_fails_alone(&mut app, world, &["bad.pkg", "cook it again"]);
        ask(&mut app, "bad", Ask::Unload);
        app.update();
    }
    fs::write(&file, &whole[..end / 2]).expect("it is written");
    reveal_fails(&mut app, world, "bad");
    fs::write(&file, &whole).expect("it is written");
    ask(&mut app, "bad", Ask::Retry);
    app.update();
    wait_until_live(&mut app, world, "bad");
    assert!(level_of(app.world(), world, "bad").error().is_none());
}

#[test]
fn an_import_that_is_not_there() {
    let levels = |source: &str| {
        format!(
            "(levels: [(name: \"bad\", source: \"{source}\"), (name: \"too\", source: \"{source}\"), \
             (name: \"good\", source: \"everything.gltf#Scene1\")])"
        )
    };
    let cooked = Cooked::new(write_shared_sources, &levels("animated.gltf"), register_types);
    let other = Cooked::new(write_shared_sources, &levels("everything.gltf"), register_types);
    let shared = cooked.report.levels[0].dependencies[0].clone();
    fs::copy(other.file(&shared), cooked.file(&shared)).expect("both have a shared package of that name");
    let (mut app, world) = cooked.start(register_types);
    let parts = [
        "bad.pkg#",
        "imports `",
        &shared,
        "no such object",
        "cook the world again",
    ];
    assert_fails_alone(&mut app, world, &parts);
}

#[test]
fn an_unknown_type() {
    let cooked = level_with_doors();
    let (mut app, world) = cooked.start(register_types);
    let parts = ["bad.pkg#Level", DOOR, "unknown type", "register it"];
    assert_fails_alone(&mut app, world, &parts);
}

#[test]
fn a_changed_type() {
    let cooked = level_with_doors();
    let (mut app, world) = cooked.start(register_other_door);
    assert_fails_alone(&mut app, world, &["bad.pkg#Level", DOOR, "open", "String"]);
}

#[test]
fn a_type_that_gained_a_field_comes_along() {
    let cooked = level_with_doors();
    let (mut app, world) = cooked.start(register_new_door);
    reveal(&mut app, world, "bad");
    let mut doors = app.world_mut().query::<&now::Door>();
    let doors = doors.iter(app.world()).filter(|door| door.open && door.angle == 0.0);
    assert_eq!(doors.count(), 40);
}

#[test]
fn the_same_type_is_no_error() {
    let cooked = level_with_doors();
    let (mut app, world) = cooked.start(register_old_door);
    reveal(&mut app, world, "bad");
    let mut doors = app.world_mut().query::<&then::Door>();
    assert_eq!(doors.iter(app.world()).count(), 40);
}

#[test]
fn a_shared_package_is_no_level() {
    let world = r#"(levels: [(name: "bad", source: "animated.gltf"), (name: "too", source: "animated.gltf"),
        (name: "good", source: "everything.gltf#Scene1")])"#;
    let cooked = Cooked::new(write_shared_sources, world, register_types);
    let shared = &cooked.report.levels[0].dependencies[0];
    fs::copy(cooked.file(shared), cooked.file("bad.pkg")).expect("it is copied");
    let (mut app, world) = cooked.start(register_types);
    assert_fails_alone(&mut app, world, &["bad.pkg", "holds no level"]);
}

#[test]
fn a_request_that_lists_itself() {
    let cooked = two_levels();
    let (mut app, world) = cooked.start(register_types);
    let request = InstanceRequest {
        name: "loop".to_owned(),
        package: "bad.pkg".into(),
        dependencies: vec!["bad.pkg".into()],
        placement: Transform::IDENTITY,
        ..InstanceRequest::default()
    };
    let id = app.world_mut().resource_mut::<Streamer>().load(request);
    app.update();
    let errors: Vec<String> = app
        .world_mut()
        .resource_mut::<Messages<InstanceEvent>>()
        .drain()
        .filter_map(|event| match event {
            InstanceEvent::Failed { id: failed, error } if failed == id => Some(error.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(errors.len(), 1);
    assert_parts(&errors[0], &["bad.pkg", "depends on itself", "cook the world again"]);
    reveal(&mut app, world, "bad");
}

#[test]
fn a_volume_with_nan_asks_for_nothing() {
    let cooked = two_levels();
    let (mut app, world) = cooked.start(register_types);
    let volume = |radius: f32, level: &str| StreamingVolume {
        shape: VolumeShape::Sphere {
            center: Vec3::splat(5000.0),
            radius,
        },
        levels: vec![level.to_owned()],
        unload_margin: Some(1.0),
        ..StreamingVolume::default()
    };
    let broken = app.world_mut().spawn(volume(f32::NAN, "bad")).id();
    app.world_mut().spawn(volume(10.0, "good"));
    app.world_mut().spawn((
        StreamingSource::default(),
        Transform::from_translation(Vec3::splat(5000.0)),
    ));
    // A source that is nowhere is left out, too.
    app.world_mut()
        .spawn((StreamingSource::default(), Transform::from_translation(Vec3::NAN)));
    wait_until_live(&mut app, world, "good");
    assert_eq!(state(app.world(), world, "bad"), LevelState::Unloaded);
    let error = volume(f32::NAN, "bad")
        .validate("mine")
        .expect_err("it is no volume")
        .to_string();
    assert_parts(
        &error,
        &["streaming volume `mine`", "not a number", "give finite numbers"],
    );
    // It is mended while the app runs.
    *app.world_mut().get_mut::<StreamingVolume>(broken).expect("it stays") = volume(20.0, "bad");
    wait_until_live(&mut app, world, "bad");
}

/// Waits until nothing is under way or in the world any more.
fn wait_until_empty(app: &mut App) {
    let empty = run_until(app, STREAM_LIMIT, |ecs| {
        let stats = ecs.resource::<StreamingStats>();
        ecs.resource::<Streamer>().is_empty() && stats.live_instances == 0 && stats.live_packages == 0
    });
    assert!(empty, "{:?}", app.world().resource::<StreamingStats>());
}
