//! Whole cooks of small worlds.

use core::time::Duration;

use bevy::asset::{AssetLoader, LoadContext, io::Reader};
use bevy::image::ImageLoaderSettings;
use bevy::prelude::*;
use seamless_level::{ManifestLimits, VolumeEntry, VolumeMode, VolumeShape, WorldManifest};
use seamless_package::{Limits, Package};

use super::*;
use crate::{PackageInfo, Profile, inspect, list};

fn export<'a>(info: &'a PackageInfo, name: &str) -> &'a crate::ExportInfo {
    let found = info.exports.iter().find(|export| export.name == name);
    found.unwrap_or_else(|| panic!("no `{name}` in {:#?}", info.exports))
}

fn manifest(fixture: &Fixture) -> WorldManifest {
    let bytes = std::fs::read(fixture.out().join("test.seamless")).unwrap();
    WorldManifest::from_ron(&bytes, &ManifestLimits::default()).unwrap()
}

#[test]
fn volumes_are_written_as_their_authors_want_them() {
    let fixture = two_scenes();
    let world = TWO_LEVELS.trim_end_matches(')').to_owned()
        + r#", volumes: [
            (name: "tunnel", shape: Capsule(a: (0.0, 0.0, 0.0), b: (9.0, 0.0, 0.0), radius: 2.0), levels: ["b"],
             mode: ShowIfLoaded, enabled: false, unload_delay: 0.5, priority: 3.0),
            (name: "plain", shape: Sphere(center: (0.0, 0.0, 0.0), radius: 10.0), levels: ["a"]),
        ])"#;
    fixture.cook(&world).unwrap();
    let [tunnel, plain] = manifest(&fixture).volumes.try_into().unwrap();
    let shape = VolumeShape::Capsule {
        a: Vec3::ZERO,
        b: Vec3::X * 9.0,
        radius: 2.0,
    };
    let expected = VolumeEntry {
        name: "tunnel".into(),
        unload_margin: shape.default_unload_margin(),
        shape,
        levels: vec!["b".into()],
        mode: VolumeMode::ShowIfLoaded,
        enabled: false,
        unload_delay: 0.5,
        priority: 3.0,
    };
    assert_eq!(tunnel, expected);
    let entry = VolumeEntry::default();
    assert_eq!(
        (plain.mode, plain.enabled, plain.unload_delay, plain.priority),
        (entry.mode, entry.enabled, entry.unload_delay, entry.priority)
    );
}

#[test]
fn levels_share_what_both_use() {
    let fixture = two_scenes();
    let report = fixture.cook(TWO_LEVELS).unwrap();
    assert_eq!(
        files(&fixture.out()),
        ["a.pkg", "b.pkg", "shared_0.pkg", "test.registry", "test.seamless"]
    );
    // A scene root, four nodes, and a primitive under each.
    assert_eq!(report.levels[0].entities, 9);
    assert_eq!(report.entities, 12);
    assert_eq!(report.levels[1].dependencies, ["shared_0.pkg"]);

    let shared = inspect(&fixture.out().join("shared_0.pkg")).unwrap();
    assert_eq!(export(&shared, "scenes/red.ppm").bulk[0].raw_bytes, 4);
    let a = inspect(&fixture.out().join("a.pkg")).unwrap();
    assert_eq!(export(&a, "Material0/std").refs, ["shared_0.pkg#scenes/red.ppm"]);
    assert_eq!(export(&a, "Level").refs, ["Mesh0/Primitive0", "Material0/std"]);
    assert_eq!(a.level.unwrap().entities, 9);

    let manifest = manifest(&fixture);
    let bounds = manifest.levels[1].bounds.unwrap();
    assert_eq!(bounds, ([10.0, 0.0, 0.0], [11.0, 2.0, 0.0]));
    // No volumes were named, so each level has one around it, with ten metres to spare.
    assert_eq!(manifest.volumes.len(), 2);
    assert!(manifest.volumes[1].shape.contains(Vec3::new(19.0, 0.0, 0.0)));
    assert!(!manifest.volumes[1].shape.contains(Vec3::new(22.0, 0.0, 0.0)));

    let worlds = list(&fixture.out()).unwrap();
    assert_eq!(worlds[0].levels.len(), 2);
    assert!(worlds[0].missing.is_empty());
}

/// What two apps compare before they speak of objects over a network is what is in the files.
#[test]
fn the_manifest_lists_every_package() {
    let fixture = two_scenes();
    fixture.cook(TWO_LEVELS).unwrap();
    let manifest = manifest(&fixture);
    let names: Vec<&str> = manifest.packages.iter().map(|entry| &*entry.package).collect();
    assert_eq!(names, ["a.pkg", "b.pkg", "shared_0.pkg"]);
    for entry in &manifest.packages {
        let bytes = std::fs::read(fixture.out().join(&entry.package)).unwrap();
        let package = Package::verify_whole(&bytes, &Limits::default()).unwrap();
        assert_eq!(package.name(), entry.package);
        assert_eq!(package.summary().content_hash, entry.content_hash);
        assert_eq!(package.exports().len(), entry.exports as usize);
    }
    let entities: Vec<u32> = manifest.packages.iter().map(|entry| entry.entities).collect();
    assert_eq!(entities, [9, 3, 0]);
}

/// Bevy's loader waits for textures below others that wait for theirs, on one stack.
#[test]
fn many_scenes_with_textures_are_loaded_at_once() {
    const SCENES: usize = 64;
    let fixture = Fixture::new();
    let two_textures = gltf(&["Wheel"], "red.ppm").replace(
        r#""textures":[{"source":0}]"#,
        r#""textures":[{"source":0},{"source":0}]"#,
    );
    fixture
        .write("scenes/triangle.bin", triangle())
        .write("scenes/red.ppm", RED);
    let levels: Vec<String> = (0..SCENES)
        .map(|index| {
            fixture.write(&format!("scenes/{index}.gltf"), &two_textures);
            format!(r#"(source: "scenes/{index}.gltf")"#)
        })
        .collect();
    let all_ahead = CookOptions {
        levels_ahead: SCENES,
        ..CookOptions::default()
    };
    let world = format!("(levels: [{}])", levels.join(", "));
    let report = fixture.cook_with(&CookApp::new(), &world, &all_ahead).unwrap();
    assert_eq!(report.levels.len(), SCENES);
}

#[test]
fn the_same_sources_give_the_same_bytes() {
    let (first, second) = (two_scenes(), two_scenes());
    first.cook(TWO_LEVELS).unwrap();
    let one_ahead = CookOptions {
        levels_ahead: 1,
        ..CookOptions::default()
    };
    second.cook_with(&CookApp::new(), TWO_LEVELS, &one_ahead).unwrap();
    let names = files(&first.out());
    assert_eq!(names, files(&second.out()));
    for name in names {
        let read = |fixture: &Fixture| std::fs::read(fixture.out().join(&name)).unwrap();
        assert!(read(&first) == read(&second), "{name} differs");
    }
}

/// A map of the standard library has another order in every run.
#[derive(Component, Reflect)]
#[reflect(Component)]
struct Stock {
    amounts: std::collections::HashMap<String, u32>,
    names: std::collections::HashSet<String>,
}

#[test]
fn maps_and_sets_have_the_same_bytes_in_every_cook() {
    let amounts: Vec<String> = (0..30).map(|at| format!("\"item {at}\": {at}")).collect();
    let names: Vec<String> = (0..30).map(|at| format!("\"item {at}\"")).collect();
    let stock = format!("(amounts: {{{}}}, names: [{}])", amounts.join(", "), names.join(", "));
    let cook = || {
        let fixture = Fixture::new();
        fixture.write("a.scn.ron", super::scene(&[(Stock::type_path(), &stock)]));
        let app = CookApp::new().with(|app| {
            app.register_type::<Stock>();
        });
        fixture
            .cook_with(&app, r#"(levels: [(source: "a.scn.ron")])"#, &CookOptions::default())
            .unwrap();
        std::fs::read(fixture.out().join("a.pkg")).unwrap()
    };
    assert!(cook() == cook(), "the cooks differ");
}

#[test]
fn packages_of_an_earlier_cook_go() {
    let fixture = two_scenes();
    fixture.cook(TWO_LEVELS).unwrap();
    fixture.write("out/mine.pkg", "not of this world");
    fixture.cook(r#"(levels: [(source: "scenes/b.gltf")])"#).unwrap();
    assert_eq!(
        files(&fixture.out()),
        ["b.pkg", "mine.pkg", "test.registry", "test.seamless"]
    );
    fixture.write("other.world.ron", TWO_LEVELS);
    let other = CookApp::new().cook(
        &fixture.path("other.world.ron"),
        &fixture.out(),
        &CookOptions::default(),
        &(),
    );
    assert!(matches!(other, Err(CookError::ForeignPackage { .. })), "{other:?}");
    assert_eq!(
        files(&fixture.out()),
        ["b.pkg", "mine.pkg", "test.registry", "test.seamless"]
    );
}

#[test]
fn missing_files_are_named_with_who_needs_them() {
    let fixture = two_scenes();
    fixture.write("scenes/c.gltf", gltf(&["Box"], "green.ppm"));
    let errors = fixture.errors(r#"(levels: [(source: "scenes/b.gltf"), (source: "scenes/c.gltf")])"#);
    assert_eq!(errors.len(), 1, "{errors:#?}");
    assert_error(&errors, "scenes/green.ppm", "", "failed to load");
    assert_error(&errors, "scenes/green.ppm", "", "scenes/c.gltf#Material0/std");
}

#[test]
fn broken_files_are_errors() {
    let fixture = two_scenes();
    fixture
        .write("broken.glb", "glTF, but not really")
        .write("broken.scn.ron", "(entities: {1: (");
    let errors = fixture.errors(
        r#"(levels: [(source: "broken.glb"), (name: "ron", source: "broken.scn.ron"), (name: "scene", source: "scenes/a.gltf#Scene7")])"#,
    );
    assert_eq!(errors.len(), 3, "{errors:#?}");
    assert_error(&errors, "broken.glb", "level `broken`", "failed to load");
    assert_error(&errors, "broken.scn.ron", "level `ron`", "failed to load");
    assert_error(&errors, "scenes/a.gltf#Scene7", "", "has no scene 7; it has 1");
}

#[derive(TypePath)]
struct StuckLoader;

impl AssetLoader for StuckLoader {
    type Asset = Image;
    type Settings = ImageLoaderSettings;
    type Error = std::io::Error;

    async fn load(
        &self,
        _: &mut dyn Reader,
        _: &ImageLoaderSettings,
        _: &mut LoadContext<'_>,
    ) -> Result<Image, std::io::Error> {
        core::future::pending().await
    }

    fn extensions(&self) -> &[&str] {
        &["stuck"]
    }
}

#[test]
fn a_load_without_progress_is_an_error() {
    let fixture = two_scenes();
    fixture
        .write("scenes/c.gltf", gltf(&["Box"], "never.stuck"))
        .write("scenes/never.stuck", "");
    let app = CookApp::new().with(|app| {
        app.register_asset_loader(StuckLoader);
    });
    let options = CookOptions {
        // Long enough for the other level on a busy machine.
        load_timeout: Duration::from_secs(4),
        ..CookOptions::default()
    };
    let errors = fixture.errors_with(
        &app,
        r#"(levels: [(source: "scenes/c.gltf"), (source: "scenes/b.gltf")])"#,
        &options,
    );
    assert_error(&errors, "scenes/c.gltf", "level `c`", "made no progress for 4.0 s");
    assert_error(&errors, "scenes/never.stuck", "", "still loading");
    assert_eq!(errors.len(), 2, "the other level is well: {errors:#?}");
}

#[derive(Resource, Reflect, Default)]
#[reflect(Resource, Default)]
struct Gravity(f32);

#[derive(Component, Reflect)]
#[reflect(Component)]
struct Target(#[entities] Entity);

fn scene(target: u32) -> String {
    let number = |index| Entity::from_raw_u32(index).unwrap().to_bits();
    format!(
        r#"(resources: {{"{}": (9.5)}}, entities: {{
            {}: (components: {{"{}": ({})}}),
            {}: (components: {{"bevy_transform::components::transform::Transform": (translation: (1.0, 2.0, 3.0), rotation: (0.0, 0.0, 0.0, 1.0), scale: (1.0, 1.0, 1.0))}}),
        }})"#,
        Gravity::type_path(),
        number(5),
        Target::type_path(),
        number(target),
        number(7),
    )
}

fn own_types() -> CookApp {
    CookApp::new().with(|app| {
        app.register_type::<Gravity>().register_type::<Target>();
    })
}

#[test]
fn resources_follow_the_policy() {
    let fixture = Fixture::new();
    fixture.write("a.scn.ron", scene(7));
    let options = CookOptions::default();
    let errors = fixture.errors_with(&own_types(), r#"(levels: [(source: "a.scn.ron")])"#, &options);
    assert_eq!(errors.len(), 1, "{errors:#?}");
    assert_error(&errors, "a.scn.ron", Gravity::type_path(), "`resources: Ignore`");

    let ignoring = r#"(levels: [(source: "a.scn.ron")], resources: Ignore)"#;
    let report = fixture.cook_with(&own_types(), ignoring, &options).unwrap();
    assert_error(&report.warnings, "a.scn.ron", Gravity::type_path(), "left out");
    let name = format!("Resource:{}", Gravity::type_path());
    let info = inspect(&fixture.out().join("a.pkg")).unwrap();
    assert!(info.exports.iter().all(|export| export.name != name));
    assert_eq!(info.level.unwrap().entities, 2);

    let keeping = r#"(levels: [(source: "a.scn.ron")], resources: Persistent)"#;
    fixture.cook_with(&own_types(), keeping, &options).unwrap();
    let info = inspect(&fixture.out().join("a.pkg")).unwrap();
    assert_eq!(export(&info, &name).raw_bytes, 4);
}

/// A resource is a component too; a class is one of both.
#[test]
fn a_type_that_is_a_resource_and_a_component_is_an_error() {
    let fixture = Fixture::new();
    let scene = scene(7).replace(
        &format!(
            "\"{}\": ({})",
            Target::type_path(),
            Entity::from_raw_u32(7).unwrap().to_bits()
        ),
        &format!("\"{}\": (1.5)", Gravity::type_path()),
    );
    fixture.write("a.scn.ron", scene);
    let world = r#"(levels: [(source: "a.scn.ron")], resources: Persistent)"#;
    let errors = fixture.errors_with(&own_types(), world, &CookOptions::default());
    assert_eq!(errors.len(), 1, "{errors:#?}");
    assert_error(&errors, "a.scn.ron", "package `a.pkg`", Gravity::type_path());
    assert_error(&errors, "a.scn.ron", "package `a.pkg`", "not as two of them");
}

#[test]
fn entities_outside_the_level_are_errors() {
    let fixture = Fixture::new();
    fixture.write("a.scn.ron", scene(9));
    let world = r#"(levels: [(source: "a.scn.ron")], resources: Ignore)"#;
    let errors = fixture.errors_with(&own_types(), world, &CookOptions::default());
    let object = format!("entity `{}`", Entity::from_raw_u32(5).unwrap().to_bits());
    assert_eq!(errors.len(), 1, "{errors:#?}");
    assert_error(&errors, "a.scn.ron", &object, "not part of the level");
}

#[test]
fn unknown_types_are_errors() {
    let fixture = Fixture::new();
    let number = Entity::from_raw_u32(1).unwrap().to_bits();
    let scene = format!(r#"(resources: {{}}, entities: {{{number}: (components: {{"game::Unheard": (1)}})}})"#);
    fixture.write("a.scn.ron", scene);
    let errors = fixture.errors(r#"(levels: [(source: "a.scn.ron")])"#);
    assert_error(&errors, "a.scn.ron", "level `a`", "game::Unheard");
}

/// A real model, named in a world file of three lines.
#[cfg(unix)]
#[test]
fn the_flight_helmet_cooks() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/gltf/FlightHelmet");
    if !data.is_dir() {
        use std::io::Write;
        let message = "skipped: no FlightHelmet in ../shared/data";
        writeln!(std::io::stderr(), "{message}").unwrap();
        return;
    }
    let fixture = Fixture::new();
    std::os::unix::fs::symlink(&data, fixture.path("helmet")).unwrap();
    let report = fixture
        .cook("(\n    levels: [(source: \"helmet/FlightHelmet.gltf\")],\n)")
        .unwrap();
    assert_eq!(report.warnings, []);
    assert_eq!(report.levels[0].entities, 13);
    let info = inspect(&fixture.out().join("FlightHelmet.pkg")).unwrap();
    let of_class = |class: &str| {
        info.exports
            .iter()
            .filter(|export| export.class.ends_with(class))
            .count()
    };
    assert_eq!(
        (of_class("::Mesh"), of_class("::StandardMaterial"), of_class("::Image")),
        (6, 6, 15)
    );
}

/// What is shipped is smaller; what is cooked often is written and read fast.
#[test]
fn shipped_data_is_stored_as_zstd_and_other_data_as_lz4() {
    let fixture = two_scenes();
    let names: Vec<String> = (0..60).map(|index| format!("Wheel{index}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    fixture.write("scenes/a.gltf", gltf(&names, "red.ppm"));
    for (profile, codec) in [(Profile::Exact, "lz4"), (Profile::Dev, "lz4"), (Profile::Ship, "zstd")] {
        let options = CookOptions {
            profile,
            ..CookOptions::default()
        };
        fixture.cook_with(&CookApp::new(), TWO_LEVELS, &options).unwrap();
        let package = inspect(&fixture.out().join("a.pkg")).unwrap();
        let level = package.exports.iter().find(|export| export.name == "Level").unwrap();
        assert_eq!(level.codec, codec, "{profile:?}");
        assert!(level.stored_bytes < level.raw_bytes);
        let codecs = package.exports.iter().map(|export| export.codec.as_str());
        assert!(codecs.into_iter().all(|found| found == codec || found == "none"));
        let mut classes = package.exports.iter().filter(|export| export.class == "class");
        assert!(classes.all(|class| class.codec == codec), "all together");
    }
}
