//! What is cooked with the exact profile and streamed equals what Bevy spawns from the same source.

mod instances;
mod sliced;

use std::{
    fs,
    path::{Path, PathBuf},
};

use bevy::prelude::*;
use bevy_seamless::asset::{LevelInstance, package::ObjectId};
use seamless_tests::{
    app::{bevy_spawn_at, headless_with},
    cooked::{Cooked, reveal},
    fixtures::{register_types, write_animated_gltf, write_everything_gltf, write_everything_scn},
    skip::skipped,
    snapshot::{Snapshot, SnapshotOptions, assert_same},
};

/// A placement with no zero and no one in it.
fn elsewhere() -> Transform {
    Transform {
        translation: Vec3::new(12.5, -3.25, 100.0),
        rotation: Quat::from_xyzw(0.0, 0.6, 0.0, 0.8),
        scale: Vec3::new(2.0, 0.5, 1.5),
    }
}

/// How a world file says where something stands.
fn placed(placement: Transform) -> String {
    let (at, turn, scale) = (placement.translation, placement.rotation, placement.scale);
    format!(
        "translation: ({:?}, {:?}, {:?}), rotation: ({:?}, {:?}, {:?}, {:?}), scale: ({:?}, {:?}, {:?})",
        at.x, at.y, at.z, turn.x, turn.y, turn.z, turn.w, scale.x, scale.y, scale.z
    )
}

/// Cooks `source`, a file that `write` makes, as a world of one level that stands at `placement`.
fn cook_one(write: impl FnOnce(&Path), source: &str, placement: Transform) -> Cooked {
    let placed = placed(placement);
    let world = format!("(levels: [(name: \"level\", source: \"{source}\", {placed})])");
    Cooked::new(write, &world, register_types)
}

/// Streams the one level of `cooked`, and updates three times more.
fn reveal_one(cooked: &Cooked) -> (App, Entity) {
    let (mut app, world) = cooked.start(register_types);
    let root = reveal(&mut app, world, "level");
    for _ in 0..3 {
        app.update();
    }
    (app, root)
}

/// The root belongs to whoever places the level; where it stands must be the same.
#[track_caller]
fn assert_stands(app: &App, root: Entity, placement: Transform) {
    let expected = Transform {
        rotation: placement.rotation.normalize(),
        ..placement
    };
    assert_eq!(app.world().get::<Transform>(root), Some(&expected));
    let global = app.world().get::<GlobalTransform>(root);
    assert_eq!(global, Some(&GlobalTransform::from(expected)));
}

/// All of a level but its root's components, less what `options` leave out.
#[track_caller]
fn snapshot(app: &App, root: Entity, options: &SnapshotOptions) -> Snapshot {
    let options = options.clone().without_root_components();
    let snapshot = Snapshot::with(app.world(), root, &options);
    assert_eq!(snapshot.problems(), Vec::<String>::new());
    assert!(snapshot.entity_count() > 1, "the level is not empty");
    snapshot
}

/// Loads the source both ways and compares; returns the cook and the snapshot, for more questions.
fn compare(write: impl FnOnce(&Path), source: &str, bevy_path: &str, placement: Transform) -> (Cooked, Snapshot) {
    let cooked = cook_one(write, source, placement);
    let mut bevy = headless_with(cooked.sources(), register_types);
    let bevy_root = bevy_spawn_at(&mut bevy, bevy_path, placement);
    let (ours, our_root) = reveal_one(&cooked);
    assert_stands(&bevy, bevy_root, placement);
    assert_stands(&ours, our_root, placement);
    let options = SnapshotOptions::default();
    let expected = snapshot(&bevy, bevy_root, &options);
    let found = snapshot(&ours, our_root, &options);
    assert_same(&expected, &found);
    assert_eq!(cooked.report.entities as usize, found.entity_count() - 1);
    (cooked, found)
}

#[test]
fn everything_gltf() {
    let write = |dir: &Path| {
        write_everything_gltf(dir);
    };
    let (_, snapshot) = compare(write, "everything.gltf", "everything.gltf#Scene0", Transform::IDENTITY);
    let text = snapshot.to_text();
    for part in [
        "SkinnedMesh",
        "MorphWeights",
        "SpotLight",
        "Orthographic",
        "GltfExtras",
        "Vertex_Tangent",
    ] {
        assert!(text.contains(part), "{part} is compared");
    }
    compare(write, "everything.gltf#Scene1", "everything.gltf#Scene1", elsewhere());
}

#[test]
fn everything_gltf_placed_elsewhere() {
    let write = |dir: &Path| {
        write_everything_gltf(dir);
    };
    compare(write, "everything.gltf", "everything.gltf#Scene0", elsewhere());
}

#[test]
fn everything_scn() {
    let write = |dir: &Path| {
        write_everything_scn(dir);
    };
    let (_, snapshot) = compare(write, "everything.scn.ron", "everything.scn.ron", elsewhere());
    let text = snapshot.to_text();
    for part in ["Inventory", "CrewOf", "EscortedBy", "Skills", "StandardMaterial"] {
        assert!(text.contains(part), "{part} is compared");
    }
}

#[test]
fn animated_gltf_is_equal_and_its_clips_are_cooked() {
    let write = |dir: &Path| {
        write_animated_gltf(dir);
    };
    let (cooked, _) = compare(write, "animated.gltf", "animated.gltf#Scene0", Transform::IDENTITY);
    assert_eq!(cooked.report.warnings, [], "nothing is left out");
    // The level's own package, and no entity refers to the clip.
    let level = &cooked.report.levels[0];
    let info = seamless_cook::inspect(&cooked.out().join(format!("{}.pkg", level.name))).expect("the package is sound");
    let clip = info.exports.iter().find(|export| export.name == "Animation0");
    assert_eq!(
        clip.map(|clip| clip.class.as_str()),
        Some("bevy_animation::AnimationClip")
    );
}

/// The entity with this object path in the package of the level.
fn by_path(app: &App, root: Entity, object: &str) -> Option<Entity> {
    let instance = app.world().get::<LevelInstance>(root);
    let id = ObjectId::new("level.pkg", object);
    instance.expect("the root tells what is in the level").entity(id)
}

/// A node is found by the names on the way to it, with `~1` for the second of a name.
#[test]
fn a_gltf_node_is_found_by_its_object_path() {
    let write = |dir: &Path| {
        write_everything_gltf(dir);
    };
    let cooked = cook_one(write, "everything.gltf", Transform::IDENTITY);
    let (app, root) = reveal_one(&cooked);
    let second = by_path(&app, root, "Main/Root/dup~1").expect("there are three nodes of that name");
    let name = |entity| app.world().get::<Name>(entity).map(Name::as_str);
    assert_eq!(name(second), Some("dup"));
    let at = app.world().get::<Transform>(second).map(|at| at.translation);
    assert_eq!(at, Some(Vec3::X), "it is the second of them");
    let parent = app.world().get::<ChildOf>(second).map(ChildOf::parent);
    assert_eq!(parent, by_path(&app, root, "Main/Root"));
    assert_eq!(parent.and_then(name), Some("Root"));
    assert_eq!(by_path(&app, root, "Main/Root/nobody"), None);
}

/// An entity of a scene is found by its number in the file.
#[test]
fn a_scene_entity_is_found_by_its_object_path() {
    let [first, second] = [7, 3].map(|index| Entity::from_raw_u32(index).expect("a small number").to_bits());
    let placed = |number: u64, x: f32| {
        format!(
            "{number}: (components: {{\"{}\": (translation: ({x:?}, 0.0, 0.0), rotation: (0.0, 0.0, 0.0, 1.0), \
             scale: (1.0, 1.0, 1.0))}})",
            Transform::type_path()
        )
    };
    let scene = format!(
        "(resources: {{}}, entities: {{{}, {}}})",
        placed(first, 1.0),
        placed(second, 2.0)
    );
    let write = |dir: &Path| fs::write(dir.join("two.scn.ron"), scene).expect("the scene is written");
    let cooked = cook_one(write, "two.scn.ron", Transform::IDENTITY);
    let (app, root) = reveal_one(&cooked);
    for (number, x) in [(first, 1.0), (second, 2.0)] {
        let entity = by_path(&app, root, &number.to_string()).expect("it is in the level");
        let at = app.world().get::<Transform>(entity).map(|at| at.translation.x);
        assert_eq!(at, Some(x));
    }
    assert_eq!(by_path(&app, root, "1"), None);
}

/// A folder of models that is shared by several projects, beside this one; not part of it.
fn models(folder: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../shared/data/gltf")
        .join(folder);
    path.is_dir().then_some(path)
}

fn copy_files(from: &Path, to: &Path) {
    for file in fs::read_dir(from).expect("the folder is there").flatten() {
        fs::copy(file.path(), to.join(file.file_name())).expect("a file is copied");
    }
}

fn compare_models(folder: &str, files: &[&str]) {
    let Some(models) = models(folder) else {
        skipped(&format!("../shared/data/gltf/{folder} is not there"));
        return;
    };
    for file in files {
        let write = |dir: &Path| copy_files(&models, dir);
        compare(write, file, &format!("{file}#Scene0"), elsewhere());
    }
}

#[test]
fn flight_helmet() {
    compare_models("FlightHelmet", &["FlightHelmet.gltf"]);
}

#[test]
fn alien_cake() {
    compare_models("AlienCake", &["alien.glb", "cakeBirthday.glb", "tile.glb"]);
}
