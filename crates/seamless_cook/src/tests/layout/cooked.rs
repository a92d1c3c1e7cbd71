//! Cooked worlds: where things lie, that everything about them is sound, and what the report says.

use seamless_package::{Limits, Package};

use super::super::seek_free::{films, two_players};
use super::super::*;
use crate::{Choice, LayoutReason, inspect, verify, why};

const RED_PICTURE: &str = "scenes/red.ppm";
/// As [`TWO_LEVELS`], with a third one that is always loaded.
const WITH_SKY: &str = r#"(levels: [
    (source: "scenes/a.gltf"), (source: "scenes/b.gltf", translation: (10.0, 0.0, 0.0)),
    (source: "scenes/sky.scn.ron", always_loaded: true),
])"#;

/// The sources of [`two_scenes`], with these settings.
fn scenes(settings: &str) -> Fixture {
    let fixture = two_scenes();
    fixture
        .write("cook.ron", settings)
        .write("scenes/sky.scn.ron", "(resources: {}, entities: {})");
    fixture
}

fn rule(objects: &str, place: &str) -> String {
    format!("(layout: (rules: [(objects: \"{objects}\", place: {place})]))")
}

fn package(fixture: &Fixture, file: &str) -> Package {
    let bytes = std::fs::read(fixture.out().join(file)).unwrap();
    Package::verify_whole(&bytes, &Limits::default()).unwrap()
}

#[track_caller]
fn assert_sound(fixture: &Fixture, app: &CookApp) {
    let faults = verify(&fixture.out(), app.versions().as_deref()).unwrap().faults;
    assert!(faults.is_empty(), "{faults:#?}");
}

#[track_caller]
fn assert_warned(report: &CookReport, object: &str, message: &str) {
    assert_error(&report.warnings, "cook.ron", object, message);
}

#[test]
fn small_shared_objects_are_copied_and_levels_open_nothing_else() {
    let fixture = scenes("()");
    let report = fixture.cook(TWO_LEVELS).unwrap();
    assert_eq!(
        files(&fixture.out()),
        ["a.pkg", "b.pkg", "originals_0.pkg", "test.registry", "test.seamless"]
    );
    let original = package(&fixture, "originals_0.pkg");
    let index = original.find_name(RED_PICTURE).unwrap();
    let id = original.exports().get(index).unwrap().object_id;
    for (level, file) in report.levels.iter().zip(["a.pkg", "b.pkg"]) {
        assert!(level.dependencies.is_empty(), "{level:?}");
        let package = package(&fixture, file);
        assert!(package.is_seek_free());
        let copy = package.find(id).expect("the copy has the original's identity");
        assert_eq!(package.origin_of(copy).unwrap().package, "originals_0.pkg");
    }
    assert_sound(&fixture, &CookApp::new());

    let layout = &report.layout;
    assert_eq!(layout.chosen, layout.duplicate_everything);
    assert!(layout.chosen.price < layout.share_everything.price && layout.chosen.opens < 1.0);
    let [group] = &layout.groups[..] else {
        panic!("{:#?}", layout.groups)
    };
    assert_eq!((group.choice, group.reason), (Choice::Duplicate, LayoutReason::Cost));
    assert_eq!((group.levels, group.objects), (2, 1));
    assert_eq!(
        (&group.some_levels[..], &group.largest[..]),
        (&["a".into(), "b".into()][..], &[RED_PICTURE.into()][..])
    );
    assert_eq!(
        group.duplicated.disk_bytes,
        3 * group.stored_bytes,
        "two copies, and the original"
    );
    assert_eq!(group.shared.disk_bytes, group.stored_bytes);
    assert!(group.shared.opens > group.duplicated.opens);

    let found = why(RED_PICTURE, &fixture.out()).unwrap();
    assert_eq!(found.chains.len(), 2, "{found:#?}");
}

/// A picture that is no smaller when it is compressed.
fn noise(width: u32) -> Vec<u8> {
    let mut state = 1_u32;
    let texels = (0..3 * width * width).map(|_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    });
    let head = format!("P6\n{width} {width}\n255\n");
    head.into_bytes().into_iter().chain(texels).collect()
}

#[test]
fn large_shared_objects_are_shared() {
    let fixture = scenes("()");
    fixture.write("scenes/red.ppm", noise(300));
    let report = fixture.cook(TWO_LEVELS).unwrap();
    assert_eq!(report.levels[0].dependencies, ["shared_0.pkg"]);
    assert_eq!(report.layout.groups[0].choice, Choice::Share);
    let stored = report.layout.groups[0].stored_bytes;
    assert!(report.layout.duplicate_everything.disk_bytes >= report.layout.chosen.disk_bytes + stored);
    assert_eq!(report.layout.chosen, report.layout.share_everything);
    assert_sound(&fixture, &CookApp::new());
}

#[test]
fn rules_force_each_place() {
    let places = [
        ("Share", Choice::Share, "shared_0.pkg"),
        ("Duplicate", Choice::Duplicate, "originals_0.pkg"),
        ("Persistent", Choice::Persistent, "shared_persistent.pkg"),
    ];
    for (place, choice, file) in places {
        let fixture = scenes(&rule("*.ppm", place));
        fixture.write(
            "scenes/red.ppm",
            if place == "Duplicate" {
                noise(300)
            } else {
                RED.to_owned()
            },
        );
        let report = fixture.cook(WITH_SKY).unwrap();
        assert_eq!(report.warnings, [], "{place}");
        let group = &report.layout.groups[0];
        assert_eq!((group.choice, group.reason), (choice, LayoutReason::Rule));
        assert!(package(&fixture, file).find_name(RED_PICTURE).is_some(), "{place}");
        let depends: &[&str] = if choice == Choice::Duplicate { &[] } else { &[file] };
        assert_eq!(report.levels[0].dependencies, depends);
        // What is always loaded brings along what is persistent, though it does not use it.
        let sky: &[&str] = if choice == Choice::Persistent { &[file] } else { &[] };
        assert_eq!(report.levels[2].dependencies, sky);
        assert_sound(&fixture, &CookApp::new());
    }
}

/// What is persistent is not always opened before a seek-free level, and one level's own may be moved there.
#[test]
fn what_is_persistent_is_copied_by_seek_free_levels() {
    let fixture = scenes(&rule("*", "Persistent"));
    let world = WITH_SKY.replace("\"scenes/a.gltf\"", "\"scenes/a.gltf\", seek_free: true");
    let report = fixture.cook(&world).unwrap();
    assert!(report.levels[0].dependencies.is_empty());
    assert!(package(&fixture, "a.pkg").is_seek_free());
    assert!(
        package(&fixture, "shared_persistent.pkg")
            .find_name("scenes/a.gltf/Material0/std")
            .is_some()
    );
    assert!(
        report
            .layout
            .groups
            .iter()
            .all(|group| group.choice == Choice::Persistent)
    );
    assert_sound(&fixture, &CookApp::new());
}

#[test]
fn rules_without_effect_are_warned_of() {
    let fixture = scenes(&rule("scenes/blue.ppm", "Share"));
    let report = fixture.cook(TWO_LEVELS).unwrap();
    assert_warned(&report, "rule `scenes/blue.ppm`", "fits no object");
    // A part of a world need not have all that rules are about.
    let part = CookOptions {
        maps: vec!["a".into()],
        ..CookOptions::default()
    };
    let report = fixture.cook_with(&CookApp::new(), TWO_LEVELS, &part).unwrap();
    assert_eq!(report.warnings, []);

    fixture.write("cook.ron", rule("*.ppm", "Persistent"));
    let report = fixture.cook(TWO_LEVELS).unwrap();
    assert_warned(&report, "rule `*.ppm`", "no level is always loaded");
    assert_eq!(report.layout.groups[0].choice, Choice::Share);

    // The material of the scene that both levels are leads to the picture.
    let twice = r#"(levels: [(source: "scenes/a.gltf"), (name: "again", source: "scenes/a.gltf", translation: (90.0, 0.0, 0.0))])"#;
    let against = r#"(layout: (rules: [(objects: "*", place: Duplicate), (objects: "*#Material*", place: Share)]))"#;
    fixture.write("cook.ron", against);
    let report = fixture.cook(twice).unwrap();
    assert_warned(&report, "rule `*`", "has no effect on `scenes/red.ppm`");
    assert_sound(&fixture, &CookApp::new());
}

/// The last rule that fits counts, and `Auto` takes an object out of them.
#[test]
fn later_rules_are_exceptions_of_earlier_ones() {
    let rules = r#"(layout: (rules: [(objects: "*", place: Share), (objects: "*red*", place: Auto)]))"#;
    let fixture = scenes(rules);
    let report = fixture.cook(TWO_LEVELS).unwrap();
    let group = &report.layout.groups[0];
    assert_eq!((group.choice, group.reason), (Choice::Duplicate, LayoutReason::Cost));
}

/// The prices decide, so a disk on which opening is free gets no copies.
#[test]
fn prices_are_settings() {
    let fixture = scenes("(layout: (open_bytes: 0))");
    let report = fixture.cook(TWO_LEVELS).unwrap();
    assert_eq!(report.layout.groups[0].choice, Choice::Share);
}

#[test]
fn payloads_on_demand_stay_with_the_original() {
    let app = films();
    let fixture = two_players();
    fixture.write("cook.ron", "()");
    let world = r#"(levels: [(source: "a.scn.ron"), (source: "b.scn.ron")])"#;
    let report = fixture.cook_with(&app, world, &CookOptions::default()).unwrap();
    assert!(report.levels.iter().all(|level| level.dependencies.is_empty()));
    let info = inspect(&fixture.out().join("a.pkg")).unwrap();
    let film = info.exports.iter().find(|export| export.copied_from.is_some()).unwrap();
    assert_eq!(film.bulk[0].package.as_deref(), Some("originals_0.pkg"));
    let group = &report.layout.groups[0];
    assert!(group.duplicated.read_bytes < group.stored_bytes / 10, "{group:#?}");
    assert_sound(&fixture, &app);
}

/// The page shows what was decided, from the output folder alone.
#[test]
fn the_page_tells_the_layout() {
    let fixture = scenes("()");
    fixture.cook(TWO_LEVELS).unwrap();
    let page = crate::html_report(&fixture.out()).unwrap();
    for text in ["Layout", "copied", RED_PICTURE, "costs least"] {
        assert!(page.contains(text), "no `{text}` in the page");
    }
    crate::clean(&fixture.out(), true).unwrap();
    let page = crate::html_report(&fixture.out()).unwrap();
    assert!(!page.contains("costs least"), "nobody remembers why");
}
