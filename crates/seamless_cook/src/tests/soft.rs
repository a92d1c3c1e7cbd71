//! What soft handles name, and what the world file lists beside levels, is cooked into packages that need no level.

mod again;
mod game;

use bevy::prelude::*;
use seamless_asset::level_data::LEVEL_CLASS;
use seamless_asset::{ObjectRegistries, ObjectRegistry, ObjectScan, RegistryLimits, RegistryObject, SoftHandle};
use seamless_level::{ManifestLimits, WorldManifest};
use seamless_package::{Limits, Package};

use self::game::{Spell, Wand, game, spell};
use super::*;
use crate::{Target, verify};

pub(super) fn registry(fixture: &Fixture) -> ObjectRegistry {
    let bytes = std::fs::read(fixture.out().join("test.registry")).unwrap();
    ObjectRegistry::from_bytes(&bytes, "", &RegistryLimits::default()).unwrap()
}

fn manifest(fixture: &Fixture) -> WorldManifest {
    let bytes = std::fs::read(fixture.out().join("test.seamless")).unwrap();
    WorldManifest::from_ron(&bytes, &ManifestLimits::default()).unwrap()
}

pub(super) fn paths(registry: &ObjectRegistry) -> Vec<&str> {
    registry.objects().iter().map(|object| &*object.path).collect()
}

#[track_caller]
pub(super) fn one<'r>(registry: &'r ObjectRegistry, path: &str) -> &'r RegistryObject {
    match registry.at(path) {
        [only] => only,
        other => panic!("{path}: {other:?}"),
    }
}

/// Whether the object is where the registry says.
fn is_there(fixture: &Fixture, object: &RegistryObject) -> bool {
    let bytes = std::fs::read(fixture.out().join(&*object.package)).unwrap();
    let package = Package::verify_whole(&bytes, &Limits::default()).unwrap();
    let index = package.find_name(&object.object);
    index
        .and_then(|index| package.class_of(index))
        .is_some_and(|class| class.type_path == *object.type_path)
}

pub(super) fn sound(fixture: &Fixture) {
    let faults = verify(&fixture.out(), None).unwrap().faults;
    assert!(faults.is_empty(), "{faults:#?}");
}

/// A level whose entity has a wand with a spell.
fn school(wand: &str) -> Fixture {
    let fixture = Fixture::new();
    let wand = format!("(spell: \"{wand}\", spare: [])");
    fixture.write("hall.scn.ron", scene(&[(Wand::type_path(), &wand)]));
    fixture
}

const HALL: &str = r#"(levels: [(source: "hall.scn.ron")])"#;

#[test]
fn what_levels_and_assets_name_is_cooked_transitively() {
    let fixture = school("fire.spell");
    fixture
        .write("fire.spell", spell("smoke.spell", "red.ppm", "element=fire"))
        .write("smoke.spell", spell("", "", "element=smoke"))
        .write("unused.spell", spell("", "", ""))
        .write("red.ppm", RED);
    fixture.cook_with(&game(), HALL, &CookOptions::default()).unwrap();
    let registry = registry(&fixture);
    assert_eq!(
        paths(&registry),
        ["fire.spell", "hall.scn.ron", "red.ppm", "smoke.spell"]
    );
    for path in ["fire.spell", "red.ppm", "smoke.spell"] {
        assert!(is_there(&fixture, one(&registry, path)), "{path}");
    }
    let fire = one(&registry, "fire.spell");
    assert_eq!(fire.type_path.as_ref(), Spell::type_path());
    assert_eq!(fire.tag("element").collect::<Vec<_>>(), ["fire"]);
    assert_eq!(
        fire.soft.iter().map(|path| &**path).collect::<Vec<_>>(),
        ["smoke.spell"]
    );
    assert_eq!(fire.bundles.len(), 1);
    assert_eq!(&*fire.bundles[0].0, "cast");
    // A picture that it refers to comes with it.
    assert!(fire.bytes > one(&registry, "smoke.spell").bytes);
    let hall = one(&registry, "hall.scn.ron");
    assert_eq!((&*hall.type_path, &*hall.package), (LEVEL_CLASS, "hall.pkg"));
    assert_eq!(hall.soft.len(), 1);
    // The level does not wait for them.
    let manifest = manifest(&fixture);
    assert_eq!(manifest.levels.len(), 1);
    assert!(manifest.levels[0].dependencies.is_empty());
    assert_eq!(manifest.registry.as_deref(), Some("test.registry"));
    sound(&fixture);
}

#[test]
fn listed_files_and_folders_need_no_level() {
    let fixture = school("");
    fixture
        .write("spells/a.spell", spell("", "", ""))
        .write("spells/deep/b.spell", spell("", "", ""))
        .write("spells/readme.txt", "not for the game")
        .write("spells/.hidden.spell", "?")
        .write("red.ppm", RED)
        .write("boxes/box.gltf", gltf(&["Box"], "../red.ppm"))
        .write("boxes/triangle.bin", triangle());
    let world = r#"(levels: [(source: "hall.scn.ron")], assets: ["spells", "boxes/box.gltf", "boxes/box.gltf#Mesh0/Primitive0"])"#;
    fixture.cook_with(&game(), world, &CookOptions::default()).unwrap();
    let registry = registry(&fixture);
    let found = paths(&registry);
    for path in [
        "spells/a.spell",
        "spells/deep/b.spell",
        "boxes/box.gltf",
        "boxes/box.gltf#Mesh0/Primitive0",
        "red.ppm",
    ] {
        assert!(found.contains(&path), "{path} in {found:?}");
    }
    assert!(
        !found
            .iter()
            .any(|path| path.contains("readme") || path.contains("hidden"))
    );
    // A scene is a level that nobody places, and no volume asks for.
    let level = one(&registry, "boxes/box.gltf").level.as_deref().unwrap();
    assert!(level.entities >= 2 && !level.assets.is_empty(), "{level:?}");
    let manifest = manifest(&fixture);
    let names: Vec<_> = manifest.levels.iter().map(|level| level.name.as_str()).collect();
    assert_eq!(names, ["hall"]);
    assert!(manifest.volumes.iter().all(|volume| volume.levels == ["hall"]));
    let mut registries = ObjectRegistries::default();
    registries.insert(registry.clone());
    assert_eq!(
        registries.scan(&ObjectScan::new().under("spells").of::<Spell>()).len(),
        2
    );
    sound(&fixture);
}

#[test]
fn paths_that_lead_nowhere_name_who_has_them() {
    let fixture = school("fire.spell");
    fixture.write("fire.spell", spell("lost.spell", "", ""));
    let errors = fixture.errors_with(&game(), HALL, &CookOptions::default());
    assert_eq!(errors.len(), 1, "{errors:#?}");
    assert_error(&errors, "lost.spell", "", "`fire.spell` refers to it softly");
    // A level, a label, and another type.
    let fixture = school("red.ppm");
    fixture.write("red.ppm", RED);
    let errors = fixture.errors_with(&game(), HALL, &CookOptions::default());
    assert_error(&errors, "red.ppm", "", "level `hall` of `hall.scn.ron`");
    let fixture = school("../out of.spell");
    let errors = fixture.errors_with(&game(), HALL, &CookOptions::default());
    assert_error(&errors, "out of.spell", "", "refers to it softly");
    let world = r#"(levels: [(source: "hall.scn.ron")], assets: ["nothing.spell"])"#;
    let errors = school("").errors_with(&game(), world, &CookOptions::default());
    assert_error(&errors, "test.world.ron", "assets `nothing.spell`", "is not there");
}

/// Whoever lies in a level anyway stays there, and the registry tells where.
#[test]
fn what_a_level_has_is_found_in_its_package() {
    let fixture = two_scenes();
    let wand = "(spell: \"\", spare: [])";
    fixture.write("hall.scn.ron", scene(&[(Wand::type_path(), wand)]));
    let world = r#"(levels: [(source: "scenes/a.gltf"), (source: "hall.scn.ron")], assets: ["scenes/a.gltf#Mesh0/Primitive0"])"#;
    fixture.cook_with(&game(), world, &CookOptions::default()).unwrap();
    let registry = registry(&fixture);
    assert!(is_there(&fixture, one(&registry, "scenes/a.gltf#Mesh0/Primitive0")));
    sound(&fixture);
}

#[test]
fn targets_and_maps_are_respected() {
    let fixture = school("fire.spell");
    fixture
        .write(
            "yard.scn.ron",
            scene(&[(Wand::type_path(), "(spell: \"rain.spell\", spare: [])")]),
        )
        .write("fire.spell", spell("", "red.ppm", ""))
        .write("rain.spell", spell("", "", ""))
        .write("red.ppm", RED);
    let world = r#"(levels: [(source: "hall.scn.ron"), (source: "yard.scn.ron")])"#;
    let only_yard = CookOptions {
        maps: vec!["yard".into()],
        ..CookOptions::default()
    };
    fixture.cook_with(&game(), world, &only_yard).unwrap();
    assert_eq!(paths(&registry(&fixture)), ["rain.spell", "yard.scn.ron"]);
    let server = CookOptions {
        target: Target::named("server").unwrap(),
        ..CookOptions::default()
    };
    fixture.cook_with(&game(), world, &server).unwrap();
    let registry = registry(&fixture);
    assert!(paths(&registry).contains(&"fire.spell"));
    assert!(!paths(&registry).contains(&"red.ppm"), "only clients see it");
    sound(&fixture);
}

#[test]
fn verify_follows_soft_references() {
    let fixture = school("fire.spell");
    fixture.write("fire.spell", spell("smoke.spell", "", ""));
    fixture.write("smoke.spell", spell("", "", ""));
    fixture.cook_with(&game(), HALL, &CookOptions::default()).unwrap();
    let sound = registry(&fixture);
    let kinds = |objects: Vec<RegistryObject>| {
        let registry = ObjectRegistry::new("", objects).unwrap();
        fixture.write("out/test.registry", seamless_asset::write_registry(&registry).unwrap());
        let faults = verify(&fixture.out(), None).unwrap().faults;
        faults
            .iter()
            .map(|fault| format!("{} {}", fault.kind.name(), fault.object))
            .collect::<Vec<_>>()
    };
    let without = |path: &str| {
        sound
            .objects()
            .iter()
            .filter(|object| *object.path != *path)
            .cloned()
            .collect()
    };
    assert_eq!(kinds(without("smoke.spell")), ["soft_nowhere fire.spell"]);
    assert_eq!(kinds(without("fire.spell")), ["soft_nowhere hall.scn.ron"]);
    let with = |change: fn(&mut RegistryObject)| {
        let mut objects = sound.objects().to_vec();
        objects
            .iter_mut()
            .filter(|object| *object.path == *"smoke.spell")
            .for_each(change);
        objects
    };
    assert_eq!(
        kinds(with(|object| object.object = "fog".into())),
        ["registry_row smoke.spell"]
    );
    assert_eq!(
        kinds(with(|object| object.package = "fog.pkg".into())),
        ["registry_row smoke.spell"]
    );
    assert_eq!(
        kinds(with(|object| object.type_path = "Fog".into())),
        ["registry_row smoke.spell"]
    );
    fixture.write("out/test.registry", "?");
    assert_eq!(verify(&fixture.out(), None).unwrap().faults[0].kind.name(), "registry");
    std::fs::remove_file(fixture.out().join("test.registry")).unwrap();
    assert_eq!(verify(&fixture.out(), None).unwrap().faults[0].kind.name(), "registry");
    // The next cook sees that it is gone.
    fixture.cook_with(&game(), HALL, &CookOptions::default()).unwrap();
    assert!(verify(&fixture.out(), None).unwrap().faults.is_empty());
    assert!(SoftHandle::<Spell>::new("a/b.pkg#c").is_object_path());
}
