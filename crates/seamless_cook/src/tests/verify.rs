//! `verify` finds nothing in what was cooked, and everything in what was broken.

mod made;
mod manifests;

use seamless_level::{ManifestLimits, WorldManifest};
use seamless_package::{Limits, Package, PackageError};

use super::seek_free::{films, two_players};
use super::*;
use crate::{Fault, FaultKind, InspectError, VerifyReport, verify};

const ONE_SEEK_FREE: &str = r#"(levels: [(source: "scenes/a.gltf"), (source: "scenes/b.gltf", seek_free: true)])"#;

fn checked(directory: &Path) -> VerifyReport {
    verify(directory, None).unwrap()
}

/// The faults of one kind.
fn of_kind<'r>(report: &'r VerifyReport, kind: &str) -> Vec<&'r Fault> {
    report.faults.iter().filter(|fault| fault.kind.name() == kind).collect()
}

/// The one fault of this kind: its file, and what its text must hold.
#[track_caller]
fn assert_fault<'r>(report: &'r VerifyReport, kind: &str, file: &str, parts: &[&str]) -> &'r Fault {
    let found = of_kind(report, kind);
    let [fault] = found[..] else {
        panic!("not one `{kind}` in {:#?}", report.faults)
    };
    let text = fault.to_string();
    assert_eq!(fault.file, file, "{text}");
    for part in parts {
        assert!(text.contains(part), "no `{part}` in: {text}");
    }
    fault
}

/// The files that have faults.
fn files_with_faults(report: &VerifyReport) -> Vec<&str> {
    let mut files: Vec<&str> = report.faults.iter().map(|fault| fault.file.as_str()).collect();
    files.dedup();
    files
}

impl Fixture {
    fn bytes(&self, file: &str) -> Vec<u8> {
        std::fs::read(self.out().join(file)).unwrap()
    }

    fn put(&self, file: &str, bytes: &[u8]) {
        std::fs::write(self.out().join(file), bytes).unwrap();
    }

    fn opened(&self, file: &str) -> Package {
        Package::verify_whole(&self.bytes(file), &Limits::default()).unwrap()
    }

    /// Changes the manifest, which stays a valid one.
    fn edit_manifest(&self, edit: impl FnOnce(&mut WorldManifest)) {
        let mut manifest = WorldManifest::from_ron(&self.bytes("test.seamless"), &ManifestLimits::default()).unwrap();
        edit(&mut manifest);
        self.put("test.seamless", manifest.to_ron().unwrap().as_bytes());
    }
}

#[test]
fn what_was_cooked_is_sound() {
    for world in [
        TWO_LEVELS,
        ONE_SEEK_FREE,
        r#"(levels: [(source: "scenes/a.gltf"), (source: "scenes/b.gltf", seek_free: true)], startup: ["scenes/red.ppm"])"#,
        r#"(levels: [(source: "scenes/a.gltf", seek_free: true), (source: "scenes/b.gltf", seek_free: true)])"#,
    ] {
        let fixture = two_scenes();
        let cooked = fixture.cook(world).unwrap();
        let report = checked(&fixture.out());
        assert!(report.faults.is_empty(), "{world}: {:#?}", report.faults);
        assert_eq!((report.packages, report.manifests), (cooked.packages.len(), 1));
        assert_eq!(report.bytes, cooked.bytes);
        assert!(report.objects > 10);
    }
}

/// Two levels that play one film, of which the second has a copy without its frames.
fn two_films() -> Fixture {
    let fixture = two_players();
    cook_films(&fixture);
    fixture
}

fn cook_films(fixture: &Fixture) {
    let world = r#"(levels: [(source: "a.scn.ron"), (source: "b.scn.ron", seek_free: true)])"#;
    fixture.cook_with(&films(), world, &CookOptions::default()).unwrap();
}

#[test]
fn every_flipped_byte_is_found_and_all_of_them_in_one_run() {
    let fixture = two_films();
    assert!(checked(&fixture.out()).faults.is_empty());
    let sound = fixture.bytes("shared_0.pkg");
    for at in (0..sound.len()).step_by(97) {
        let mut bytes = sound.clone();
        bytes[at] ^= 0x10;
        fixture.put("shared_0.pkg", &bytes);
        let report = checked(&fixture.out());
        assert!(
            files_with_faults(&report).contains(&"shared_0.pkg"),
            "byte {at}: {:#?}",
            report.faults
        );
    }
    fixture.put("shared_0.pkg", &sound);

    // Two objects of one file, and the payload of another.
    let package = fixture.opened("a.pkg");
    let mut bytes = fixture.bytes("a.pkg");
    let level = package.find_name("Level").unwrap();
    bytes[package.export_range(level).unwrap().start as usize + 3] ^= 1;
    fixture.put("a.pkg", &bytes);
    let film = fixture.opened("shared_0.pkg");
    let at = film
        .bulk_location(film.find_name("heat.film").unwrap(), 0)
        .unwrap()
        .range
        .start;
    let mut bytes = sound;
    bytes[at as usize + 7] ^= 1;
    fixture.put("shared_0.pkg", &bytes);
    let report = checked(&fixture.out());
    let damaged: Vec<_> = of_kind(&report, "package")
        .iter()
        .map(|fault| (fault.file.as_str(), fault.object.as_str()))
        .collect();
    assert_eq!(damaged, [("a.pkg", "Level"), ("shared_0.pkg", "heat.film")]);
    assert_eq!(report.faults.len(), 2, "{:#?}", report.faults);
}

#[test]
fn files_cut_off_lengthened_or_replaced() {
    let fixture = two_scenes();
    fixture.cook(TWO_LEVELS).unwrap();
    let sound = fixture.bytes("b.pkg");
    fixture.put("b.pkg", &sound[..sound.len() - 1]);
    let report = checked(&fixture.out());
    let kinds = of_kind(&report, "package");
    assert!(kinds.iter().any(
        |fault| matches!(&fault.kind, FaultKind::Package(error) if matches!(**error, PackageError::Truncated { .. }))
    ));
    let longer = [&sound[..], b"!"].concat();
    fixture.put("b.pkg", &longer);
    assert_fault(&checked(&fixture.out()), "package", "b.pkg", &["1 bytes follow"]);
    fixture.put("b.pkg", b"no package");
    assert_fault(&checked(&fixture.out()), "package", "b.pkg", &["not a package"]);
    let mut newer = sound.clone();
    newer[8..12].copy_from_slice(&99_u32.to_le_bytes());
    fixture.put("b.pkg", &newer);
    assert_fault(&checked(&fixture.out()), "package", "b.pkg", &["99", "newer"]);
    fixture.put("b.pkg", &sound);
    assert!(checked(&fixture.out()).faults.is_empty());
}

#[test]
fn packages_of_two_cooks_do_not_mix() {
    let fixture = two_scenes();
    fixture.cook(ONE_SEEK_FREE).unwrap();
    let old: Vec<Vec<u8>> = ["a.pkg", "b.pkg"].map(|file| fixture.bytes(file)).to_vec();

    // Swapped: each is the other.
    fixture.put("a.pkg", &old[1]);
    fixture.put("b.pkg", &old[0]);
    let report = checked(&fixture.out());
    let named = of_kind(&report, "wrong_name");
    assert_eq!(named.len(), 2, "{:#?}", report.faults);
    assert!(named[0].to_string().contains("was cooked as `b.pkg`"), "{}", named[0]);
    fixture.put("a.pkg", &old[0]);

    // Another picture: the copy in the level is not the original any more.
    fixture.write("scenes/red.ppm", b"P6\n1 1\n255\n\x00\xff\x00");
    fixture.cook(ONE_SEEK_FREE).unwrap();
    fixture.put("b.pkg", &old[1]);
    let report = checked(&fixture.out());
    assert_fault(
        &report,
        "stale_origin",
        "b.pkg",
        &["copies 1 object of `shared_0.pkg`", "cook both again"],
    );
    let hash = of_kind(&report, "listed");
    assert_eq!(hash.len(), 1, "{:#?}", report.faults);
    assert!(
        hash[0]
            .to_string()
            .starts_with("test.seamless: says that `b.pkg` has content "),
        "{}",
        hash[0]
    );
}

#[test]
fn payloads_that_are_gone_or_moved() {
    let fixture = two_films();
    let (level, shared) = (fixture.bytes("b.pkg"), fixture.bytes("shared_0.pkg"));
    std::fs::remove_file(fixture.out().join("shared_0.pkg")).unwrap();
    let report = checked(&fixture.out());
    let missing = of_kind(&report, "missing_package");
    let texts: Vec<String> = missing.iter().map(ToString::to_string).collect();
    let expected = [
        "a.pkg: needs `shared_0.pkg`, which is not here (1 import); copy it here, or cook the world again",
        "b.pkg: needs `shared_0.pkg`, which is not here (1 bulk payload); copy it here, or cook the world again",
        "test.seamless: needs `shared_0.pkg`, which is not here (it is listed); copy it here, or cook the world again",
    ];
    assert_eq!(texts, expected);

    fixture.put("shared_0.pkg", &shared);
    fixture.write("heat.film", vec![9; 50_000]);
    cook_films(&fixture);
    fixture.put("b.pkg", &level);
    let report = checked(&fixture.out());
    let stale = assert_fault(
        &report,
        "package",
        "b.pkg",
        &["bulk payload 0", "refers into `shared_0.pkg`"],
    );
    assert_eq!(stale.object, "shared_0.pkg#heat.film");
    assert_fault(&report, "stale_origin", "b.pkg", &[]);
}

#[test]
fn an_older_cook_of_one_package_has_other_versions() {
    use seamless_asset::{SeamlessAssetApp, codec::Migrations};
    let cooker = |entries: &'static [&'static str]| {
        CookApp::new().with(|app| {
            app.add_migrations(entries.iter().fold(Migrations::game(), |list, entry| list.entry(entry)));
        })
    };
    let fixture = two_scenes();
    let options = CookOptions::default();
    fixture.cook_with(&cooker(&["initial"]), TWO_LEVELS, &options).unwrap();
    let old = fixture.bytes("a.pkg");
    let newer: &[&str] = &["initial", "doors have keys"];
    fixture.cook_with(&cooker(newer), TWO_LEVELS, &options).unwrap();
    assert!(checked(&fixture.out()).faults.is_empty());
    fixture.put("a.pkg", &old);
    let report = checked(&fixture.out());
    assert_fault(
        &report,
        "mixed_versions",
        "a.pkg",
        &["version 1 of `game`", "`b.pkg` at 2", "another cook"],
    );

    // A game's own program knows its list, and how far it goes.
    let list = |entries: &[&str]| {
        let engine = seamless_asset::codec::Codecs::default();
        let mut lists = engine.read().migrations().versions().to_vec();
        let id = seamless_package::VersionId::GAME;
        lists.push(seamless_package::VersionList::new(id, "game", entries.iter().copied()).unwrap());
        lists
    };
    fixture.cook_with(&cooker(newer), TWO_LEVELS, &options).unwrap();
    let ahead = verify(&fixture.out(), Some(&list(&["initial"]))).unwrap();
    let ahead = of_kind(&ahead, "version");
    assert_eq!(ahead.len(), 3, "every package");
    assert!(ahead[0].to_string().contains("run a newer build"), "{}", ahead[0]);
    assert!(verify(&fixture.out(), Some(&list(newer))).unwrap().faults.is_empty());
    let unknown = verify(&fixture.out(), Some(&[])).unwrap();
    assert!(of_kind(&unknown, "version")[0].to_string().contains("add the plugin"));
}

#[test]
fn a_folder_without_cooked_files_is_an_error() {
    let fixture = two_scenes();
    let error = verify(&fixture.path("scenes"), None).unwrap_err();
    assert!(matches!(error, InspectError::NothingCooked { .. }), "{error}");
    let error = verify(&fixture.path("gone"), None).unwrap_err();
    assert!(matches!(error, InspectError::Io { .. }), "{error}");
}
