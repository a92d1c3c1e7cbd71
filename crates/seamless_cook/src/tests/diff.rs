//! `diff` tells exactly what was edited.

use bevy::prelude::*;

use super::*;
use crate::{Change, DiffError, DiffReport, PackageDiff, diff};

/// A fixture cooked twice: before and after an edit.
fn around(fixture: &Fixture, world: &str, edit: impl FnOnce(&Fixture), after: &str) -> DiffReport {
    fixture.cook(world).unwrap();
    std::fs::rename(fixture.out(), fixture.path("before")).unwrap();
    edit(fixture);
    fixture.cook(after).unwrap();
    diff(&fixture.path("before"), &fixture.out()).unwrap()
}

fn only<'r>(report: &'r DiffReport, package: &str) -> &'r PackageDiff {
    let [found] = &report.packages[..] else {
        panic!("not one package: {:#?}", report.packages)
    };
    assert_eq!(found.package, package);
    found
}

#[test]
fn equal_folders_have_no_difference() {
    let fixture = two_scenes();
    let report = around(&fixture, TWO_LEVELS, |_| {}, TWO_LEVELS);
    assert!(report.is_equal(), "{report:#?}");
    assert_eq!(report.equal, 3);
}

/// Tables hold checksums, and may be right where the data is not.
#[test]
fn damaged_data_is_no_equal_data() {
    let fixture = two_scenes();
    fixture.cook(TWO_LEVELS).unwrap();
    let sound = fixture.out().join("a.pkg");
    let damaged = fixture.path("a.pkg");
    let mut bytes = std::fs::read(&sound).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&damaged, &bytes).unwrap();
    let report = diff(&sound, &damaged).unwrap();
    let package = only(&report, "a.pkg");
    assert!(
        package.objects.is_empty() && package.header[0].contains("one is damaged"),
        "{package:#?}"
    );
    bytes.pop();
    std::fs::write(&damaged, &bytes).unwrap();
    assert!(!diff(&sound, &damaged).unwrap().is_equal(), "it is shorter");
}

#[test]
fn another_picture_is_one_payload() {
    let fixture = two_scenes();
    let green = b"P6\n1 1\n255\n\x00\xff\x00";
    let report = around(
        &fixture,
        TWO_LEVELS,
        |fixture| {
            fixture.write("scenes/red.ppm", green);
        },
        TWO_LEVELS,
    );
    let package = only(&report, "shared_0.pkg");
    assert!(
        report.manifests.is_empty(),
        "hashes are told with the packages: {:#?}",
        report.manifests
    );
    let [picture] = &package.objects[..] else {
        panic!("{:#?}", package.objects)
    };
    assert_eq!(
        (picture.object.as_str(), picture.change()),
        ("scenes/red.ppm", Change::Changed)
    );
    assert!(!picture.data && !picture.place && picture.references_added.is_empty());
    let [bulk] = &picture.bulk[..] else {
        panic!("{picture:#?}")
    };
    assert_eq!(
        (bulk.payload, bulk.change, bulk.place_only),
        (0, Change::Changed, false)
    );
    assert!(package.level.is_none() && package.header.is_empty());
}

/// Three entities by hand, each with a place and a name.
fn people(names: &[(&str, f32)]) -> String {
    let entities: Vec<String> = (1..)
        .zip(names)
        .map(|(index, (name, x))| {
            format!(
                "{}: (components: {{\"{}\": \"{name}\", \"{}\": (translation: ({x:?}, 0.0, 0.0), rotation: (0.0, 0.0, 0.0, 1.0), scale: (1.0, 1.0, 1.0))}})",
                number(index),
                Name::type_path(),
                Transform::type_path()
            )
        })
        .collect();
    format!("(resources: {{}}, entities: {{{}}})", entities.join(", "))
}

#[test]
fn entities_are_compared_component_by_component() {
    let fixture = Fixture::new();
    fixture.write("a.scn.ron", people(&[("Ann", 1.0), ("Bob", 2.0), ("Cid", 3.0)]));
    let world = r#"(levels: [(source: "a.scn.ron")])"#;
    let edited = people(&[("Ann", 1.0), ("Bob", 2.5), ("Cyd", 3.0), ("Dan", 4.0)]);
    let report = around(
        &fixture,
        world,
        |fixture| {
            fixture.write("a.scn.ron", edited);
        },
        world,
    );
    let level = only(&report, "a.pkg").level.as_ref().expect("its level differs");
    // Who is called otherwise is somebody else.
    assert_eq!(
        (&level.added[..], &level.removed[..]),
        (&["Cyd", "Dan"].map(String::from)[..], &["Cid".to_owned()][..])
    );
    let found: Vec<_> = level
        .components
        .iter()
        .map(|component| {
            (
                component.component.as_str(),
                component.changed,
                &component.entities[..],
                component.by_value,
            )
        })
        .collect();
    let bob = "Bob".to_owned();
    let expected = [(Transform::type_path(), 1, &[bob][..], true)];
    let found: Vec<_> = found
        .into_iter()
        .filter(|(path, ..)| *path != GlobalTransform::type_path())
        .collect();
    assert_eq!(found, expected);
    let manifest = &report.manifests[0];
    assert!(
        manifest
            .what
            .iter()
            .any(|what| what.starts_with("level a: ") && what.contains("entities 3 -> 4")),
        "{manifest:#?}"
    );
}

/// Rows and references are numbers that shift; names are compared.
#[test]
fn a_new_entity_does_not_change_the_others() {
    let fixture = two_scenes();
    let more = gltf(&["Wheel", "Wheel", "", "", "First"], "red.ppm");
    let report = around(
        &fixture,
        TWO_LEVELS,
        |fixture| {
            fixture.write("scenes/a.gltf", more);
        },
        TWO_LEVELS,
    );
    let level = only(&report, "a.pkg").level.as_ref().expect("its level differs");
    assert!(
        !level.added.is_empty() && level.added.iter().all(|name| name.contains("First")),
        "{level:#?}"
    );
    assert!(level.removed.is_empty(), "{level:#?}");
    let changed: Vec<_> = level
        .components
        .iter()
        .map(|component| component.component.as_str())
        .collect();
    assert_eq!(
        changed,
        [Children::type_path()],
        "the scene's root has another child: {level:#?}"
    );
    assert!(level.moved > 0);
}

#[test]
fn packages_and_references_come_and_go() {
    let fixture = two_scenes();
    let one = r#"(levels: [(source: "scenes/a.gltf")])"#;
    let report = around(&fixture, TWO_LEVELS, |_| {}, one);
    let found: Vec<_> = report
        .packages
        .iter()
        .map(|package| (package.package.as_str(), package.change))
        .collect();
    let expected = [
        ("a.pkg", Change::Changed),
        ("b.pkg", Change::Removed),
        ("shared_0.pkg", Change::Removed),
    ];
    assert_eq!(found, expected);
    let a = &report.packages[0];
    assert!(
        a.header
            .contains(&"no longer imports shared_0.pkg#scenes/red.ppm".to_owned()),
        "{:?}",
        a.header
    );
    let find = |name: &str| a.objects.iter().find(|object| object.object == name);
    assert_eq!(
        find("scenes/red.ppm").map(crate::ObjectDiff::change),
        Some(Change::Added)
    );
    let material = find("Material0/std").expect("it refers to the picture elsewhere");
    assert_eq!(material.references_removed, ["shared_0.pkg#scenes/red.ppm"]);
    assert_eq!(material.references_added, ["a.pkg#scenes/red.ppm"]);
    let back = diff(&fixture.out(), &fixture.path("before")).unwrap();
    assert_eq!(back.packages[1].change, Change::Added);
}

#[test]
fn two_packages_alone_and_what_cannot_be_compared() {
    let fixture = two_scenes();
    fixture.cook(TWO_LEVELS).unwrap();
    let [a, b] = ["a.pkg", "b.pkg"].map(|file| fixture.out().join(file));
    assert!(diff(&a, &a).unwrap().is_equal());
    let report = diff(&a, &b).unwrap();
    assert!(
        only(&report, "a.pkg")
            .header
            .contains(&"name a.pkg -> b.pkg".to_owned())
    );
    let error = diff(&fixture.out(), &a).unwrap_err();
    assert!(matches!(error, DiffError::Unlike { .. }), "{error}");
    std::fs::write(&b, "torn").unwrap();
    let error = diff(&a, &b).unwrap_err();
    assert!(matches!(error, DiffError::Inspect(_)), "{error}");
    assert!(error.to_string().contains("b.pkg"), "{error}");
}

#[test]
fn registries_differ_in_objects_and_in_what_these_cost() {
    let fixture = two_scenes();
    fixture.write("more.ppm", RED);
    let listed = TWO_LEVELS.replace("levels:", "assets: [\"more.ppm\"], levels:");
    let report = around(&fixture, TWO_LEVELS, |_| {}, &listed);
    let [registry] = &report.registries[..] else {
        panic!("{:#?}", report.registries)
    };
    assert_eq!(
        (registry.registry.as_str(), registry.change),
        ("test.registry", Change::Changed)
    );
    let image = "more.ppm (bevy_image::image::Image)";
    assert_eq!(registry.what, [format!("{image} added")]);
    assert_eq!(registry.resized, 0);
    let backwards = diff(&fixture.out(), &fixture.path("before")).unwrap();
    assert_eq!(backwards.registries[0].what, [format!("{image} removed")]);
    // With another name the package is another one; nothing else is.
    std::fs::remove_dir_all(fixture.path("before")).unwrap();
    let renamed = listed.replace("\"scenes/a.gltf\"", "\"scenes/a.gltf\", name: \"first\"");
    let report = around(&fixture, &listed, |_| {}, &renamed);
    let what = report.registries[0].what.join("\n");
    let level = r#"scenes/a.gltf (seamless::Level): assets, package "a.pkg" -> "first.pkg""#;
    assert!(what.contains(level), "{what}");
    assert!(!what.contains("more.ppm"), "{what}");
    // A larger picture costs more, wherever it is used: what it is, and where, is the same.
    std::fs::remove_dir_all(fixture.path("before")).unwrap();
    let larger = [b"P6\n2 1\n255\n".as_slice(), &[7; 6]].concat();
    let paint = |fixture: &Fixture| {
        fixture.write("more.ppm", larger);
    };
    let report = around(&fixture, &renamed, paint, &renamed);
    assert!(!report.is_equal());
    assert!(report.registries.iter().all(|registry| registry.what.is_empty()));
}

#[test]
fn the_registry_is_listed() {
    let fixture = two_scenes();
    fixture.cook(TWO_LEVELS).unwrap();
    let registry = |fixture: &Fixture| {
        let mut worlds = crate::list(&fixture.out()).unwrap();
        (worlds[0].registry.take().unwrap(), worlds[0].missing.clone())
    };
    let file = fixture.out().join("test.registry");
    let bytes = std::fs::read(&file).unwrap();
    let (listed, missing) = registry(&fixture);
    assert_eq!(
        (listed.file.as_str(), listed.bytes),
        ("test.registry", Some(bytes.len() as u64))
    );
    assert!(listed.objects.is_some_and(|objects| objects >= 4), "{listed:?}");
    assert_eq!(missing, [""; 0]);
    std::fs::write(&file, "?").unwrap();
    assert_eq!(registry(&fixture).0.objects, None);
    std::fs::remove_file(&file).unwrap();
    let (listed, missing) = registry(&fixture);
    assert_eq!(
        (listed.bytes, missing.as_slice()),
        (None, ["test.registry".to_owned()].as_slice())
    );
}
