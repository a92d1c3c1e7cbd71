//! `cook.ron`: what is wrong with it, and what it is about.

use super::*;
use crate::{CookSettings, LayoutRule, LayoutSettings, Placement};

const FILE: &str = "cook.ron";

fn errors(settings: impl AsRef<[u8]>) -> Vec<ContentError> {
    let fixture = two_scenes();
    fixture.write(FILE, settings);
    fixture.errors(TWO_LEVELS)
}

#[test]
fn everything_has_a_default() {
    assert_eq!(CookSettings::parse("()").unwrap(), CookSettings::default());
    let settings =
        CookSettings::parse(r#"(layout: (rules: [(objects: "ui/*", place: Duplicate)], open_bytes: 5))"#).unwrap();
    let rule = LayoutRule {
        objects: "ui/*".into(),
        place: Placement::Duplicate,
    };
    let expected = LayoutSettings {
        rules: vec![rule],
        open_bytes: 5,
        ..LayoutSettings::default()
    };
    assert_eq!(settings.layout, expected);
}

#[test]
fn syntax_errors_name_line_and_column() {
    let error = CookSettings::parse("(\n    layout: (open_byte: 5),\n)").unwrap_err();
    assert_eq!(error.line, 2);
    assert!(error.column > 10, "{error}");
    assert!(error.to_string().contains("open_byte"), "{error}");
    assert!(error.to_string().contains("CookSettings"), "{error}");
}

#[test]
fn all_that_is_wrong_is_told() {
    assert_error(&errors("(layout: (persistent: 3))"), FILE, "", "line 1");
    let both = errors(r#"(layout: (persistent_percent: 101, rules: [(objects: "", place: Share)]))"#);
    assert_error(&both, FILE, "layout.persistent_percent", "at most 100");
    assert_error(&both, FILE, "layout.rules", "names no objects");
    assert_error(&errors([0xff, 0xfe]), FILE, "", "cannot be read");
    assert_error(&errors(vec![b' '; (1 << 20) + 1]), FILE, "", "1048576 are enough");
    let rule = r#"(objects: "a", place: Auto),"#;
    let rules = format!("(layout: (rules: [{}]))", rule.repeat(1025));
    assert_error(&errors(rules), FILE, "layout.rules", "1024 are enough");
}

#[test]
fn patterns_fit_paths_and_whole_files() {
    let fits = |objects: &str, path: &str| {
        let rule = LayoutRule {
            objects: objects.into(),
            place: Placement::Auto,
        };
        rule.fits(path)
    };
    for (pattern, path) in [
        ("*", "a/b.glb#Mesh0"),
        ("a/b.glb", "a/b.glb"),
        ("a/b.glb", "a/b.glb#Mesh0/Primitive0"),
        ("a/*.glb", "a/c/b.glb#Mesh0"),
        ("a/?.glb", "a/b.glb"),
        ("*#Mesh*", "a/b.glb#Mesh0/Primitive0"),
        ("*b*b*#*0", "a/bab.glb#Mesh0"),
        ("*", "#StandardMaterial0"),
        ("**", ""),
        ("ä?", "äö"),
    ] {
        assert!(fits(pattern, path), "{pattern} {path}");
    }
    for (pattern, path) in [
        ("a/b", "a/b.glb"),
        ("a/?.glb", "a/.glb"),
        ("a/b.glb#Mesh1", "a/b.glb#Mesh10"),
        ("*#Mesh*", "a/b.glb"),
        ("*.glb", "a/b.gltf"),
        ("", "a"),
    ] {
        assert!(!fits(pattern, path), "{pattern} {path}");
    }
    // In no more steps than there are letters by letters.
    assert!(!fits(&"*a".repeat(200), &"a".repeat(199)));
}

/// The next cook sees a change as that of any source, and leaves what the first of these settings left.
#[test]
fn a_change_is_noticed() {
    let fixture = two_scenes();
    let cook = |settings: Option<&str>| {
        match settings {
            Some(text) => drop(fixture.write(FILE, text)),
            None => std::fs::remove_file(fixture.path(FILE)).unwrap(),
        }
        fixture.cook(TWO_LEVELS).unwrap();
        let report = fixture.cook(TWO_LEVELS).unwrap();
        assert_eq!(report.work.packages_written, 0);
        let bytes = |file: &String| std::fs::read(fixture.out().join(file)).unwrap();
        let files = files(&fixture.out());
        files.iter().map(|file| (file.clone(), bytes(file))).collect::<Vec<_>>()
    };
    let shared = cook(Some(SHARE));
    let copied = cook(None);
    assert_ne!(shared, copied);
    assert_eq!(cook(Some(SHARE)), shared);
    assert_eq!(cook(Some("()")), copied);
}
