//! World files that are wrong: every error is found, and says what mends it.

use proptest::prelude::*;
use proptest::test_runner::Config;
use seamless_level::VolumeMode;

use super::*;
use crate::graph::output::is_plain_name;
use crate::plan::check_name;
use crate::world_file::{ResourcePolicy, WorldFile};

#[test]
fn a_full_world_file_parses() {
    let world = WorldFile::parse(
        r#"(
            root: "..",
            levels: [(name: "a", source: "a.glb#Scene0", translation: (1.0, 2.0, 3.0), always_loaded: true), (source: "b.scn.ron")],
            volumes: [
                (shape: Box(min: (0.0, -100.0, 0.0), max: (64.0, 200.0, 64.0)), levels: ["a"], unload_margin: 3.0),
                (shape: Sphere(center: (0.0, 0.0, 0.0), radius: 300.0), levels: ["a", "b"], name: "ball"),
                (shape: Convex(planes: [((0.0, 1.0, 0.0), 5.0)]), levels: ["b"]),
                (
                    shape: Capsule(a: (0.0, 0.0, 0.0), b: (9.0, 0.0, 0.0), radius: 2.0),
                    levels: ["b"],
                    mode: BlockUntilLoaded,
                    enabled: false,
                    unload_delay: 0.5,
                    priority: 3.0,
                ),
            ],
            resources: Persistent,
        )"#,
    )
    .unwrap();
    assert_eq!(world.root.as_deref(), Some(".."));
    assert_eq!(world.levels[0].translation, [1.0, 2.0, 3.0]);
    assert_eq!(world.levels[1].rotation, [0.0, 0.0, 0.0, 1.0]);
    assert_eq!(world.levels[1].name, None);
    let volumes = world.volumes.unwrap();
    assert_eq!(volumes[0].unload_margin, Some(3.0));
    assert_eq!(volumes[1].name.as_deref(), Some("ball"));
    let what = |index: usize| {
        let volume = &volumes[index];
        (volume.mode, volume.enabled, volume.unload_delay, volume.priority)
    };
    assert_eq!(what(0), (VolumeMode::LoadAndShow, true, 2.0, 1.0));
    assert_eq!(what(3), (VolumeMode::BlockUntilLoaded, false, 0.5, 3.0));
    assert_eq!(world.resources, ResourcePolicy::Persistent);
}

#[test]
fn syntax_errors_name_line_and_column() {
    let error = WorldFile::parse("(\n    levels: [(sauce: \"a.glb\")],\n)").unwrap_err();
    assert_eq!(error.line, 2);
    assert!(error.column > 10, "{error}");
    assert!(error.to_string().contains("sauce"), "{error}");
    let errors = Fixture::new().errors("(levels: [");
    assert_error(&errors, "test.world.ron", "", "line 1");
}

#[test]
fn all_errors_are_listed() {
    let fixture = two_scenes();
    let errors = fixture.errors(
        r#"(levels: [
            (source: "scenes/a.gltf"),
            (name: "A", source: "scenes/b.gltf"),
            (name: "self", source: "test.world.ron"),
            (name: "picture", source: "scenes/red.ppm"),
            (name: "gone", source: "scenes/gone.glb"),
            (name: "absolute", source: "/scenes/a.gltf"),
            (name: "label", source: "scenes/a.gltf#Mesh0"),
            (name: "nan", source: "scenes/a.gltf", translation: (NaN, 0.0, 0.0)),
            (name: "flat", source: "scenes/a.gltf", scale: (1.0, 0.0, 1.0)),
            (name: "turned", source: "scenes/a.gltf", rotation: (0.0, 0.0, 0.0, 2.0)),
            (name: "shared_3", source: "scenes/a.gltf"),
            (name: "up/down", source: "scenes/a.gltf"),
        ], volumes: [
            (name: "nan", shape: Sphere(center: (0.0, NaN, 0.0), radius: 1.0), levels: ["a"]),
            (name: "inverted", shape: Box(min: (1.0, 0.0, 0.0), max: (0.0, 0.0, 0.0)), levels: ["a"]),
            (name: "everywhere", shape: Convex(planes: []), levels: ["a"]),
            (name: "margin", shape: Sphere(center: (0.0, 0.0, 0.0), radius: 1.0), levels: ["a"], unload_margin: inf),
            (name: "delay", shape: Sphere(center: (0.0, 0.0, 0.0), radius: 1.0), levels: ["a"], unload_delay: -1.0),
            (name: "priority", shape: Sphere(center: (0.0, 0.0, 0.0), radius: 1.0), levels: ["a"], priority: NaN),
            (name: "capsule", shape: Capsule(a: (0.0, 0.0, 0.0), b: (0.0, 0.0, 0.0), radius: -1.0), levels: ["a"]),
            (name: "nothing", shape: Sphere(center: (0.0, 0.0, 0.0), radius: 1.0), levels: []),
        ])"#,
    );
    let file = "test.world.ron";
    assert_error(&errors, file, "level `A`", "two levels of this name");
    assert_error(&errors, file, "level `self`", "the world file itself");
    assert_error(&errors, file, "level `picture`", "is no scene");
    assert_error(&errors, file, "level `gone`", "is not there");
    assert_error(&errors, file, "level `absolute`", "absolute path");
    assert_error(&errors, file, "level `label`", "names no scene");
    assert_error(&errors, file, "level `nan`", "NaN");
    assert_error(&errors, file, "level `flat`", "zero on an axis");
    assert_error(&errors, file, "level `turned`", "unit quaternion");
    assert_error(&errors, file, "level `shared_3`", "kept for packages of shared assets");
    assert_error(&errors, file, "level `up/down`", "cannot be a file name");
    assert_error(&errors, file, "volume `nan`", "not a number");
    assert_error(&errors, file, "volume `inverted`", "`min` above its `max`");
    assert_error(&errors, file, "volume `everywhere`", "no planes");
    assert_error(&errors, file, "volume `margin`", "unload margin");
    assert_error(&errors, file, "volume `delay`", "unload delay is negative");
    assert_error(&errors, file, "volume `priority`", "one is usual");
    assert_error(&errors, file, "volume `capsule`", "radius is negative");
    assert_error(&errors, file, "volume `nothing`", "lists no level");
}

#[test]
fn volumes_name_levels_that_are_there() {
    let errors = two_scenes().errors(
        r#"(levels: [(source: "scenes/a.gltf")],
        volumes: [(shape: Sphere(center: (0.0, 0.0, 0.0), radius: 1.0), levels: ["a", "elsewhere"])])"#,
    );
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_error(
        &errors,
        "test.world.ron",
        "volume `volume_0`",
        "`elsewhere`, which is no level",
    );
}

#[test]
fn an_empty_world_is_an_error() {
    assert_error(
        &Fixture::new().errors("(levels: [])"),
        "test.world.ron",
        "levels",
        "the world is empty",
    );
}

#[test]
fn a_world_file_that_is_not_there_is_an_error() {
    let fixture = Fixture::new();
    let result = CookApp::new().cook(
        &fixture.path("none.world.ron"),
        &fixture.out(),
        &CookOptions::default(),
        &(),
    );
    assert_error(
        result.unwrap_err().content_errors(),
        "none.world.ron",
        "",
        "cannot be read",
    );
    let result = CookApp::new().cook(&fixture.path("a.glb"), &fixture.out(), &CookOptions::default(), &());
    assert_error(result.unwrap_err().content_errors(), "a.glb", "", "is no world file");
}

#[test]
fn sources_outside_the_root_are_refused() {
    let fixture = two_scenes();
    fixture.write("other/x", "");
    let errors = fixture.errors(r#"(root: "other", levels: [(source: "scenes/a.gltf")])"#);
    assert_error(&errors, "test.world.ron", "level `a`", "outside the world's `root`");
}

#[test]
fn names_that_a_file_cannot_have_are_refused() {
    for name in ["con", "Nul.txt", "COM3", "lpt².x", "CONOUT$", "prn .a"] {
        assert!(check_name(name).is_err_and(|error| error.contains("device")), "{name}");
    }
    for name in ["startup", "STARTUP", "shared_12"] {
        assert!(
            check_name(name).is_err_and(|error| error.contains("is kept for")),
            "{name}"
        );
    }
    for name in ["console", "COM", "COM10", "com¼", "nulls", "startup_2", "shared_a"] {
        assert_eq!(check_name(name), Ok(()), "{name}");
    }
}

#[test]
fn startup_content_without_a_label_behind_its_mark_is_an_error() {
    let errors = two_scenes().errors(r#"(levels: [(source: "scenes/a.gltf")], startup: ["scenes/a.gltf#"])"#);
    assert_error(
        &errors,
        "test.world.ron",
        "startup `scenes/a.gltf#`",
        "no path of an asset",
    );
}

proptest! {
    #![proptest_config(Config { cases: 2000, failure_persistence: None, ..Config::default() })]

    #[test]
    fn a_name_that_is_taken_is_a_plain_file_name(name in "[a-cA-C./\\\\: \u{0}-\u{1f}*?|<>#~\u{2215}\u{ff0f}nulcon$1-3_-]{0,12}") {
        if check_name(&name).is_ok() {
            let file = name.clone() + ".pkg";
            prop_assert!(is_plain_name(&file), "{:?}", file);
            prop_assert_eq!(Path::new(&name).components().count(), 1);
            prop_assert!(!name.ends_with(['.', ' ']));
        }
    }
}
