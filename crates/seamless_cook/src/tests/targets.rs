//! Packages for some, and of some levels only.

use bevy::asset::LoadContext;
use bevy::prelude::*;
use seamless_asset::SeamlessAssetApp;

use super::*;
use crate::{Profile, Target, inspect, verify};

fn options(target: &str, maps: &[&str]) -> CookOptions {
    CookOptions {
        target: Target::named(target).unwrap(),
        maps: maps.iter().map(|map| (*map).to_owned()).collect(),
        ..CookOptions::default()
    }
}

fn classes(fixture: &Fixture, file: &str) -> Vec<String> {
    let info = inspect(&fixture.out().join(file)).unwrap();
    info.exports.into_iter().map(|export| export.class).collect()
}

#[test]
fn packages_of_a_server_carry_no_textures() {
    let fixture = two_scenes();
    fixture
        .cook_with(&CookApp::new(), TWO_LEVELS, &options("client", &[]))
        .unwrap();
    let image = "bevy_image::image::Image";
    let has_image = |fixture: &Fixture| {
        let packages = files(&fixture.out()).into_iter().filter(|file| file.ends_with(".pkg"));
        packages
            .flat_map(|file| classes(fixture, &file))
            .any(|class| class == image)
    };
    assert!(has_image(&fixture));
    let client = fixture
        .cook_with(&CookApp::new(), TWO_LEVELS, &options("all", &[]))
        .unwrap();
    assert!(has_image(&fixture));
    let server = fixture
        .cook_with(&CookApp::new(), TWO_LEVELS, &options("server", &[]))
        .unwrap();
    assert!(!has_image(&fixture));
    let faults = verify(&fixture.out(), None).unwrap().faults;
    assert!(faults.is_empty(), "what is left out is no fault: {faults:?}");
    assert!(server.bytes < client.bytes);
    // The levels are there all the same, from what was encoded for the client.
    assert_eq!(server.entities, client.entities);
    assert_eq!((server.work.sources_loaded, server.work.encoded), (0, 0));
}

#[test]
fn only_the_maps_that_are_asked_for_are_cooked() {
    let fixture = two_scenes();
    let report = fixture
        .cook_with(&CookApp::new(), TWO_LEVELS, &options("all", &["b"]))
        .unwrap();
    assert_eq!(files(&fixture.out()), ["b.pkg", "test.registry", "test.seamless"]);
    assert_eq!(report.levels.len(), 1);
    // The other one's source was not looked at.
    let cook = || fixture.cook_with(&CookApp::new(), TWO_LEVELS, &options("all", &["b"]));
    std::fs::write(fixture.path("scenes/a.gltf"), "broken").unwrap();
    assert_eq!(cook().unwrap().work.sources_loaded, 0);
}

#[test]
fn a_map_that_is_not_there_is_an_error() {
    let fixture = two_scenes();
    let errors = fixture.errors_with(&CookApp::new(), TWO_LEVELS, &options("all", &["b", "c", "d"]));
    assert_eq!(errors.len(), 2, "{errors:?}");
    assert!(errors[0].message.contains("there are a, b"), "{errors:?}");
}

#[test]
fn what_a_cook_of_some_maps_leaves_out_is_still_known() {
    let fixture = two_scenes();
    fixture.cook(TWO_LEVELS).unwrap();
    let all = std::fs::read(fixture.out().join("a.pkg")).unwrap();
    fixture
        .cook_with(&CookApp::new(), TWO_LEVELS, &options("all", &["b"]))
        .unwrap();
    let work = fixture.cook(TWO_LEVELS).unwrap().work;
    assert_eq!((work.sources_loaded, work.encoded), (0, 0));
    assert_eq!(std::fs::read(fixture.out().join("a.pkg")).unwrap(), all);
}

#[test]
fn targets_are_known_by_name() {
    for name in Target::NAMES {
        assert!(Target::named(name).is_some(), "{name}");
    }
    // A server has no GPU that could lack anything.
    for name in ["", "-rgba8", "server-rgba8", "clients", "Client"] {
        assert_eq!(Target::named(name), None, "{name}");
    }
}

#[test]
fn textures_stay_uncompressed_where_the_target_lacks_blocks() {
    let fixture = two_scenes();
    fixture.write(
        "scenes/checker.ppm",
        [b"P6 8 8 255\n".as_slice(), &[200; 8 * 8 * 3]].concat(),
    );
    fixture.write("scenes/a.gltf", gltf(&["Door"], "checker.ppm"));
    let cook = |target: &str| {
        let options = CookOptions {
            profile: Profile::Dev,
            ..options(target, &[])
        };
        let report = fixture.cook_with(&CookApp::new(), TWO_LEVELS, &options).unwrap();
        let mut textures = report.textures.into_iter();
        textures
            .find(|texture| texture.object == "scenes/checker.ppm")
            .unwrap()
            .texture
    };
    let (desktop, phone) = (cook("client"), cook("client-rgba8"));
    assert_eq!(&*desktop.to_format, "bc1rgbaunormsrgb");
    assert_eq!(&*phone.to_format, "rgba8unormsrgb");
    assert_eq!((desktop.to_mips, phone.to_mips), (4, 4));
    assert_eq!(cook("client"), desktop);
}

/// Somebody of every target needs it, and a picture that a server does not.
#[derive(Asset, Reflect)]
struct Poster {
    picture: Handle<Image>,
}

#[derive(Component, Reflect)]
#[reflect(Component)]
struct Hangs(Handle<Poster>);

impl OfBytes for Poster {
    const EXTENSIONS: &'static [&'static str] = &["poster"];

    fn of_bytes(bytes: Vec<u8>, context: &mut LoadContext) -> Self {
        let picture = context.load(String::from_utf8_lossy(&bytes).into_owned());
        Self { picture }
    }
}

#[test]
fn another_reference_to_what_is_left_out_is_written() {
    let app = CookApp::new().with(|app| {
        app.init_asset::<Poster>()
            .register_asset_loader(BytesLoader::<Poster>::default())
            .register_type::<Hangs>()
            .cook_by_reflection::<Poster>();
    });
    let fixture = |picture: &str| {
        let fixture = Fixture::new();
        fixture
            .write("a.scn.ron", scene(&[(Hangs::type_path(), r#"(Path("hall.poster"))"#)]))
            .write("hall.poster", picture)
            .write("a.ppm", RED)
            .write("b.ppm", RED);
        fixture
    };
    let cook = |fixture: &Fixture| {
        let world = r#"(levels: [(source: "a.scn.ron")])"#;
        fixture.cook_with(&app, world, &options("server", &[])).unwrap();
        std::fs::read(fixture.out().join("a.pkg")).unwrap()
    };
    let (edited, fresh) = (fixture("a.ppm"), fixture("b.ppm"));
    let before = cook(&edited);
    edited.write("hall.poster", "b.ppm");
    let after = cook(&edited);
    assert!(before != after);
    assert!(after == cook(&fresh));
}
