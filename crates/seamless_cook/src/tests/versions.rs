//! Packages are saved at the latest versions, and newer ones are not overwritten.

use seamless_asset::SeamlessAssetApp;
use seamless_asset::codec::Migrations;
use seamless_package::{Limits, Package, VersionId};

use super::*;
use crate::inspect;

fn cooker(entries: &[&str]) -> CookApp {
    let entries: Vec<String> = entries.iter().map(|entry| (*entry).to_owned()).collect();
    CookApp::new().with(move |app| {
        let list = entries.iter().fold(Migrations::game(), |list, entry| list.entry(entry));
        app.add_migrations(list);
    })
}

#[test]
fn packages_name_the_versions_that_they_were_saved_with() {
    let fixture = two_scenes();
    let app = cooker(&["initial", "doors have keys"]);
    fixture.cook_with(&app, TWO_LEVELS, &CookOptions::default()).unwrap();
    for file in ["a.pkg", "shared_0.pkg"] {
        let bytes = std::fs::read(fixture.out().join(file)).unwrap();
        let package = Package::parse(&bytes, &Limits::default()).unwrap();
        let game = package.versions(VersionId::GAME).unwrap();
        assert!(game.entries().eq(["initial", "doors have keys"]));
        assert!(package.versions(VersionId::ENGINE).is_some());
    }
    let info = inspect(&fixture.out().join("a.pkg")).unwrap();
    let game = info.versions.iter().find(|list| list.label == "game").unwrap();
    assert_eq!(game.entries, ["initial", "doors have keys"]);
}

/// An older cooker would throw away what the newer one knew.
#[test]
fn a_newer_package_is_not_overwritten() {
    let fixture = two_scenes();
    let newer = cooker(&["initial", "doors have keys"]);
    fixture.cook_with(&newer, TWO_LEVELS, &CookOptions::default()).unwrap();
    let before = std::fs::read(fixture.out().join("a.pkg")).unwrap();
    let error = fixture.cook_with(&cooker(&["initial"]), TWO_LEVELS, &CookOptions::default());
    let error = error.expect_err("it is refused").to_string();
    for part in [".pkg", "newer build", "`doors have keys`", "another directory"] {
        assert!(error.contains(part), "{error}");
    }
    assert_eq!(std::fs::read(fixture.out().join("a.pkg")).unwrap(), before);

    // Of a newer format it knows the number alone.
    let mut bytes = before;
    bytes[8..12].copy_from_slice(&99_u32.to_le_bytes());
    std::fs::write(fixture.out().join("a.pkg"), &bytes).unwrap();
    let error = fixture.cook_with(&newer, TWO_LEVELS, &CookOptions::default());
    let error = error.expect_err("it is refused").to_string();
    assert!(error.contains("a.pkg") && error.contains("99"), "{error}");
    assert_eq!(std::fs::read(fixture.out().join("a.pkg")).unwrap(), bytes);
}

/// A cooker that lacks a plugin would save values of today as if they were from before the plugin's first entry.
#[test]
fn a_package_with_a_list_that_is_not_known_is_not_overwritten() {
    let fixture = two_scenes();
    let with_plugin = CookApp::new().with(|app| {
        let id = VersionId(*b"a plugin's UUID.");
        app.add_migrations(
            Migrations::custom(bevy::asset::uuid::Uuid::from_bytes(id.0), "weather plugin").entry("rain"),
        );
    });
    fixture
        .cook_with(&with_plugin, TWO_LEVELS, &CookOptions::default())
        .unwrap();
    let before = std::fs::read(fixture.out().join("a.pkg")).unwrap();
    let error = fixture.cook(TWO_LEVELS).expect_err("it is refused");
    assert!(matches!(error, CookError::NewerPackage { .. }), "{error}");
    let error = error.to_string();
    for part in [".pkg", "`weather plugin`", "add the plugin", "another directory"] {
        assert!(error.contains(part), "{error}");
    }
    assert_eq!(std::fs::read(fixture.out().join("a.pkg")).unwrap(), before);
}

/// Nothing else would tell: the program logs nothing, and the packages would be saved without the list.
#[test]
#[should_panic(expected = "the migrations of `game` have the id of those of `game`")]
fn two_lists_of_one_owner_stop_the_cook() {
    let app = cooker(&["initial"]).with(|app| {
        app.add_migrations(Migrations::game().entry("of another plugin"));
    });
    let fixture = two_scenes();
    let _ = fixture.cook_with(&app, TWO_LEVELS, &CookOptions::default());
}
