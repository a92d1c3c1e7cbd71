//! Manifests that say something else than the packages.

use super::*;

/// What `verify` says after an edit of the manifest of two levels, one of them seek-free, with startup content.
fn after(edit: impl FnOnce(&mut WorldManifest)) -> VerifyReport {
    let fixture = two_scenes();
    let world = r#"(levels: [(source: "scenes/a.gltf"), (source: "scenes/b.gltf", seek_free: true)],
        startup: ["scenes/b.gltf#Mesh0/Primitive0"])"#;
    fixture.cook(world).unwrap();
    assert!(checked(&fixture.out()).faults.is_empty());
    fixture.edit_manifest(edit);
    checked(&fixture.out())
}

#[test]
fn numbers_are_compared() {
    let report = after(|manifest| {
        manifest.packages[0].content_hash ^= 1;
        manifest.packages[0].exports += 1;
        manifest.packages[0].entities += 1;
        manifest.levels[1].entities += 2;
        manifest.levels[1].bytes -= 3;
    });
    let texts: Vec<String> = of_kind(&report, "listed").iter().map(ToString::to_string).collect();
    assert_eq!(texts.len(), 5, "{texts:#?}");
    for (text, part) in texts
        .iter()
        .zip(["content", "exports:", "entities:", "bytes:", "entities:"])
    {
        assert!(text.contains(part) && text.ends_with("cook the world again"), "{text}");
    }
    assert!(
        texts[4].starts_with("test.seamless#level b: says that `b.pkg`"),
        "{}",
        texts[4]
    );
    assert_eq!(report.faults.len(), 5);
}

#[test]
fn lists_are_complete() {
    let report = after(|manifest| manifest.packages.retain(|listed| listed.package != "a.pkg"));
    let fault = assert_fault(&report, "not_listed", "test.seamless", &["uses `a.pkg`"]);
    assert_eq!(fault.object, "level a");
    let report = after(|manifest| manifest.packages.retain(|listed| listed.package != "startup.pkg"));
    let unlisted = of_kind(&report, "not_listed");
    let objects: Vec<_> = unlisted.iter().map(|fault| fault.object.as_str()).collect();
    assert_eq!(objects, ["", "level b"], "the world has it, and one level imports it");
    let report = after(|manifest| {
        let mut gone = manifest.packages[0].clone();
        gone.package = "gone.pkg".into();
        manifest.packages.push(gone);
        manifest.packages.sort_by(|a, b| a.package.cmp(&b.package));
    });
    assert_fault(&report, "missing_package", "test.seamless", &["needs `gone.pkg`"]);
}

#[test]
fn dependencies_are_what_packages_import() {
    let report = after(|manifest| manifest.levels[0].dependencies.clear());
    let fault = assert_fault(
        &report,
        "dependencies",
        "test.seamless",
        &["shared_0.pkg", "and lists []"],
    );
    assert_eq!(fault.object, "level a");
    let report = after(|manifest| manifest.levels[1].dependencies.push("a.pkg".into()));
    assert_fault(&report, "dependencies", "test.seamless", &["level b", "lists [a.pkg"]);
}

#[test]
fn levels_and_startup_content_are_what_they_are() {
    let report = after(|manifest| manifest.levels[0].package = "startup.pkg".into());
    assert_fault(&report, "no_level", "test.seamless", &["level a", "`startup.pkg`"]);
    let report = after(|manifest| manifest.startup = Some("a.pkg".into()));
    assert_fault(&report, "no_startup", "test.seamless", &["`a.pkg`"]);
}

#[test]
fn packages_nobody_refers_to() {
    let fixture = two_scenes();
    fixture.cook(TWO_LEVELS).unwrap();
    fixture.edit_manifest(|manifest| {
        manifest.levels.retain(|level| level.name == "a");
        manifest.volumes.retain(|volume| volume.levels == ["a"]);
        manifest.packages.retain(|listed| listed.package != "b.pkg");
    });
    let report = checked(&fixture.out());
    assert_fault(&report, "unused", "b.pkg", &["delete it"]);
    assert_eq!(report.faults.len(), 1, "{:#?}", report.faults);
    fixture.put("test.seamless", b"(");
    let report = checked(&fixture.out());
    assert_fault(&report, "manifest", "test.seamless", &["cook the world again"]);
    assert_eq!(report.faults.len(), 1, "the list is not known: {:#?}", report.faults);
    let error = crate::why("scenes/red.ppm", &fixture.out()).unwrap_err();
    assert!(
        matches!(error, crate::WhyError::Inspect(InspectError::Manifest { .. })),
        "{error}"
    );
}

/// A folder in the folder with a manifest of its own is another world's.
#[test]
fn worlds_below_are_not_looked_at() {
    let fixture = two_scenes();
    fixture.cook(TWO_LEVELS).unwrap();
    let inner = fixture.out().join("inner");
    std::fs::create_dir(&inner).unwrap();
    for file in files(&fixture.out()).iter().filter(|file| *file != "inner") {
        std::fs::copy(fixture.out().join(file), inner.join(file)).unwrap();
    }
    assert!(checked(&fixture.out()).faults.is_empty());
    std::fs::remove_file(inner.join("test.seamless")).unwrap();
    let report = checked(&fixture.out());
    assert_eq!(of_kind(&report, "wrong_name").len(), 3, "{:#?}", report.faults);
}
