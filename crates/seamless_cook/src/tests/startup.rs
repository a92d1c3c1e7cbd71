//! Startup content: what plugins register and the world file lists goes into one package, and is nobody else's.

use bevy::gltf::Gltf;
use bevy::prelude::*;
use seamless_asset::codec::{Encoding, schema};
use seamless_asset::{STARTUP_EXPORT, SeamlessAssetApp, StartupContent, StartupIndex, StartupOwner};
use seamless_level::{ManifestLimits, WorldManifest};
use seamless_package::{Codec, Limits, NewExport, ObjectRef, Package, PackageWriter, RefTarget, Role};

use super::*;
use crate::{InspectError, inspect, list};

struct Hud;
struct Props;

const RED_PICTURE: &str = "scenes/red.ppm";
const DOOR: &str = "scenes/b.gltf#Mesh0/Primitive0";

/// Two levels that share a picture, which a plugin refers to as well; another plugin refers to a material with it.
fn game() -> CookApp {
    CookApp::new().with(|app| {
        app.add_startup_content::<Hud, Image>([RED_PICTURE])
            .add_startup_content::<Hud, Mesh>([DOOR])
            .add_startup_content::<Props, StandardMaterial>(["scenes/a.gltf#Material0/std"])
            .add_systems(Startup, hang_picture);
    })
}

/// It comes along with the plugin, and finds nothing in the cooker.
fn hang_picture(mut commands: Commands, content: Res<StartupContent>) -> Result {
    commands.spawn(ImageNode(content.get(RED_PICTURE)?));
    Ok(())
}

#[derive(Component)]
struct ImageNode(#[expect(dead_code, reason = "nobody looks at it")] Handle<Image>);

const ONE_SEEK_FREE: &str = r#"(levels: [(source: "scenes/a.gltf"), (source: "scenes/b.gltf", seek_free: true)])"#;

fn package(fixture: &Fixture, file: &str) -> Package {
    let bytes = std::fs::read(fixture.out().join(file)).unwrap();
    Package::verify_whole(&bytes, &Limits::default()).unwrap()
}

fn manifest(fixture: &Fixture) -> WorldManifest {
    let bytes = std::fs::read(fixture.out().join("test.seamless")).unwrap();
    WorldManifest::from_ron(&bytes, &ManifestLimits::default()).unwrap()
}

fn names(package: &Package) -> Vec<&str> {
    let objects = (0..package.exports().len()).filter(|index| package.class_of(*index).is_some());
    objects.filter_map(|index| package.export_name(index)).collect()
}

#[test]
fn it_lies_in_one_package_that_needs_no_other() {
    let fixture = two_scenes();
    let report = fixture
        .cook_with(&game(), ONE_SEEK_FREE, &CookOptions::default())
        .unwrap();
    let startup = package(&fixture, "startup.pkg");
    assert!(startup.imports().is_empty());
    let mut found = names(&startup);
    assert_eq!(found.pop(), Some(STARTUP_EXPORT), "the index comes last");
    found.sort_unstable();
    let door = DOOR.replace('#', "/");
    assert_eq!(found, ["scenes/a.gltf/Material0/std", door.as_str(), RED_PICTURE]);
    assert_eq!(report.packages[0].file, "startup.pkg");
    assert_eq!((report.packages[0].assets, report.packages[0].users), (4, 2));
    assert_eq!(manifest(&fixture).startup.as_deref(), Some("startup.pkg"));
}

/// Not even a level that is read without a seek has copies: startup content is always live.
#[test]
fn levels_import_it_and_never_copy_it() {
    let fixture = two_scenes();
    fixture.write("scenes/c.gltf", gltf(&["Gate"], "red.ppm"));
    let world = r#"(levels: [
        (source: "scenes/a.gltf"), (source: "scenes/b.gltf", seek_free: true),
        (name: "b2", source: "scenes/b.gltf", seek_free: true), (source: "scenes/c.gltf"),
    ])"#;
    let report = fixture.cook_with(&game(), world, &CookOptions::default()).unwrap();
    let startup = package(&fixture, "startup.pkg");
    let is_startup = |import: &usize, level: &Package| level.import_package(*import) == Some("startup.pkg");
    for (level, objects) in [("a.pkg", 1), ("b.pkg", 2), ("b2.pkg", 2), ("c.pkg", 1)] {
        let level = package(&fixture, level);
        let imports = (0..level.imports().len()).filter(|import| is_startup(import, &level));
        let imports: Vec<usize> = imports.collect();
        assert!(
            imports.iter().all(|import| level.forced_for_import(*import).is_none()),
            "{}",
            level.name()
        );
        let known = imports
            .iter()
            .map(|import| level.imports().get(*import).unwrap().object_id);
        assert!(known.clone().all(|id| startup.find(id).is_some()));
        assert!(known.count() >= objects - 1, "{}", level.name());
        assert!(!names(&level).contains(&RED_PICTURE), "{}", level.name());
    }
    // The material of the doors is shared by two levels that are read without a seek: both have a copy, which refers to the picture.
    let level = package(&fixture, "b.pkg");
    let copy = (0..level.exports().len()).find(|index| level.origin_of(*index).is_some());
    let copy = copy.expect("the material is copied");
    assert_eq!(level.class_of(copy).unwrap().type_path, StandardMaterial::type_path());
    let refs = level.refs(copy).iter().map(|reference| reference.target());
    let refs: Vec<_> = refs
        .filter(|target| matches!(target, RefTarget::Import(import) if is_startup(import, &level)))
        .collect();
    assert_eq!(refs.len(), 1, "the picture");
    assert_eq!(
        level.imports().len(),
        3,
        "the material, and picture and mesh, which are live"
    );
    for level in &report.levels[1..3] {
        assert_eq!(level.dependencies, ["startup.pkg"], "{}", level.name);
    }
}

#[test]
fn the_report_tells_who_pins_what() {
    let fixture = two_scenes();
    let world = r#"(levels: [(source: "scenes/a.gltf")], startup: ["scenes/b.gltf#Material0/std", "scenes/b.gltf#Mesh0/Primitive0"])"#;
    let report = fixture.cook_with(&game(), world, &CookOptions::default()).unwrap();
    let startup = report.startup.expect("there is startup content");
    let owners: Vec<_> = startup
        .owners
        .iter()
        .map(|owner| owner.owner.rsplit(':').next().unwrap())
        .collect();
    assert_eq!(owners, ["Hud", "Props", "test.world.ron"]);
    let objects = |owner: &StartupOwner| (owner.exclusive.objects, owner.shared.objects);
    let [hud, props, listed] = &startup.owners[..] else {
        panic!("{startup:#?}")
    };
    assert_eq!(
        objects(hud),
        (0, 2),
        "the picture is the materials' too, the door the world file's"
    );
    assert_eq!(objects(props), (1, 1));
    assert_eq!(objects(listed), (1, 2));
    assert_eq!(listed.paths, ["scenes/b.gltf#Material0/std", DOOR]);
    assert_eq!(startup.total.objects, 4);
    let file = std::fs::metadata(fixture.out().join("startup.pkg")).unwrap();
    assert_eq!(startup.package_bytes, file.len());
    // The picture is one pixel of four bytes and the door has three positions, beside what describes them.
    assert!(startup.total.resident_bytes > 40 && startup.total.resident_bytes < 4_000);
    assert!(startup.missing.is_empty() && startup.read.is_none());
    let info = inspect(&fixture.out().join("startup.pkg")).unwrap();
    assert_eq!(info.startup, Some(startup));
    assert_eq!(inspect(&fixture.out().join("a.pkg")).unwrap().startup, None);
}

#[test]
fn a_broken_index_is_an_error() {
    let fixture = Fixture::new();
    let class = schema(StartupIndex::type_path(), Encoding::Asset, 1, "codec");
    let mut writer = PackageWriter::new("startup.pkg");
    let index = NewExport {
        name: STARTUP_EXPORT,
        class: writer.class(&class).unwrap(),
        outer: ObjectRef::NONE,
        role: Role::ALL,
        data: vec![0xff].into(),
        refs: Vec::new(),
        bulk: Vec::new(),
        bulk_use: Default::default(),
        codec: Codec::None,
    };
    writer.export(index).unwrap();
    fixture.write("startup.pkg", writer.finish().unwrap());
    let error = inspect(&fixture.path("startup.pkg")).unwrap_err();
    assert!(matches!(error, InspectError::Startup { .. }), "{error}");
    assert!(error.to_string().contains("startup.pkg#Startup"), "{error}");
}

#[test]
fn the_same_content_gives_the_same_bytes() {
    let fixtures = [two_scenes(), two_scenes()];
    let files = fixtures.each_ref().map(|fixture| {
        fixture
            .cook_with(&game(), ONE_SEEK_FREE, &CookOptions::default())
            .unwrap();
        files(&fixture.out())
    });
    assert_eq!(files[0], files[1]);
    for file in &files[0] {
        let [a, b] = fixtures
            .each_ref()
            .map(|fixture| std::fs::read(fixture.out().join(file)).unwrap());
        assert_eq!(a, b, "{file}");
    }
}

/// A cooker without the game's plugins makes no such package, and takes the old one away.
#[test]
fn without_startup_content_there_is_no_package() {
    let fixture = two_scenes();
    fixture.cook_with(&game(), TWO_LEVELS, &CookOptions::default()).unwrap();
    assert!(fixture.out().join("startup.pkg").exists());
    let worlds = list(&fixture.out()).unwrap();
    assert_eq!(
        worlds[0].startup.as_ref().map(|(file, _)| file.as_str()),
        Some("startup.pkg")
    );
    assert!(worlds[0].shared.iter().all(|(file, _)| file != "startup.pkg"));
    let report = fixture.cook(TWO_LEVELS).unwrap();
    assert_eq!(report.startup, None);
    assert!(!fixture.out().join("startup.pkg").exists());
    let text = std::fs::read_to_string(fixture.out().join("test.seamless")).unwrap();
    assert!(!text.contains("startup"), "{text}");
}

#[test]
fn what_is_missing_or_cannot_be_cooked_names_its_plugin() {
    let fixture = two_scenes();
    let wrong = CookApp::new().with(|app| {
        app.add_startup_content::<Hud, Image>(["icons/gone.png", "scenes/b.gltf"])
            .add_startup_content::<Props, Mesh>(["scenes/a.gltf#Mesh7/Primitive0"])
            .add_startup_content::<Props, Gltf>(["scenes/a.gltf"])
            .add_startup_content::<Hud, StandardMaterial>(["scenes/torn.gltf#Material0/std"]);
    });
    fixture.write("scenes/torn.gltf", gltf(&["Torn"], "gone.ppm"));
    let world = r#"(levels: [(source: "scenes/a.gltf"), (source: "scenes/torn.gltf")])"#;
    let errors = fixture.errors_with(&wrong, world, &CookOptions::default());
    assert_error(&errors, "icons/gone.png", "", "Hud");
    assert_error(&errors, "icons/gone.png", "", "`root`");
    assert_error(&errors, "scenes/b.gltf", "", "Hud");
    assert_error(&errors, "scenes/a.gltf", "Mesh7/Primitive0", "Props");
    assert_error(&errors, "scenes/a.gltf", "", "codec");
    assert_error(&errors, "scenes/a.gltf", "", "Props");
    assert_error(&errors, "gone.ppm", "", "Hud");
    // What is wrong with the levels is listed as well, once.
    assert_eq!(
        errors.iter().filter(|error| error.file.contains("gone.ppm")).count(),
        1,
        "{errors:#?}"
    );
}

#[test]
fn no_level_has_the_name_of_the_startup_package() {
    let errors = two_scenes().errors(r#"(levels: [(name: "Startup", source: "scenes/a.gltf")])"#);
    assert_error(&errors, "test.world.ron", "level `Startup`", "startup content");
}

#[test]
fn what_is_wrong_with_the_list_of_the_world_file_is_told() {
    let fixture = two_scenes();
    fixture.write("scenes/outside.txt", "");
    let world = r#"(levels: [(source: "scenes/a.gltf")], startup: ["scenes/gone.ppm#label", "/etc/red.ppm"])"#;
    let errors = fixture.errors(world);
    assert_error(
        &errors,
        "test.world.ron",
        "startup `scenes/gone.ppm#label`",
        "is not there",
    );
    assert_error(&errors, "test.world.ron", "startup `/etc/red.ppm`", "absolute");
    let world = r#"(root: "scenes", levels: [(source: "scenes/a.gltf")], startup: ["top.ppm", "scenes/outside.txt"])"#;
    fixture.write("top.ppm", RED);
    let errors = fixture.errors(world);
    assert_error(&errors, "test.world.ron", "top.ppm", "outside the world's `root`");
    let world = r#"(levels: [(source: "scenes/a.gltf")], startup: ["scenes/outside.txt", "scenes/a.gltf#Mesh9"])"#;
    let errors = fixture.errors(world);
    assert_error(&errors, "scenes/outside.txt", "", "test.world.ron");
    assert_error(&errors, "scenes/a.gltf", "Mesh9", "test.world.ron");
}
