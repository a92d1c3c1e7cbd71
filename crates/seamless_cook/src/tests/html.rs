//! The page of a cook holds everything, and nothing breaks out of its text.

use super::*;
use crate::html_report;

/// Whether all tags are closed in order; gives the texts between them.
fn texts(page: &str) -> Vec<String> {
    let page = page.strip_prefix("<!DOCTYPE html>").expect("it says what it is");
    let mut open: Vec<&str> = Vec::new();
    let mut texts = Vec::new();
    let mut rest = page;
    while let Some((text, tag)) = rest.split_once('<') {
        assert!(!text.contains('>'), "`>` in `{text}`");
        texts.push(text.trim().to_owned());
        let (tag, after) = tag.split_once('>').expect("a tag ends");
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "closed in order");
        } else if !tag.ends_with('/') {
            open.push(tag.split_whitespace().next().unwrap());
        }
    }
    assert!(open.is_empty(), "{open:?} stay open");
    texts
}

#[test]
fn it_tells_everything_and_needs_nothing() {
    let fixture = two_scenes();
    let world = r#"(levels: [(source: "scenes/a.gltf"), (source: "scenes/b.gltf", seek_free: true)])"#;
    let report = fixture.cook(world).unwrap();
    let page = html_report(&fixture.out()).unwrap();
    let texts = texts(&page);
    for package in &report.packages {
        assert!(texts.contains(&package.file), "{}", package.file);
    }
    assert!(texts.contains(&"Cook of test".to_owned()));
    assert!(
        texts.contains(&"shared_0.pkg#scenes/red.ppm".to_owned()),
        "the copy is told"
    );
    for outside in ["http", "src=", "<script", "@import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert!(!page.contains("NaN") && !page.contains("\"inf"));
    assert_eq!(
        page,
        html_report(&fixture.out()).unwrap(),
        "the same page for the same files"
    );
}

#[test]
fn a_cook_tells_what_took_longest() {
    let fixture = two_scenes();
    let first = fixture.cook(TWO_LEVELS).unwrap();
    assert!(first.slowest.iter().any(|timing| timing.object.starts_with("level `")));
    assert!(first.slowest.iter().any(|timing| timing.object.contains(".ppm")));
    assert!(
        first
            .slowest
            .iter()
            .all(|timing| timing.seconds > 0.0 && timing.step == "encode")
    );
    assert!(first.slowest.is_sorted_by(|a, b| a.seconds >= b.seconds));
    // What has nothing to do knows it still.
    assert_eq!(fixture.cook(TWO_LEVELS).unwrap().slowest, first.slowest);
    let page = texts(&html_report(&fixture.out()).unwrap());
    let start = page.iter().position(|text| text == "Slowest objects").unwrap();
    let places = first.slowest.iter().map(|timing| {
        let told = page[start..].iter().position(|text| *text == timing.object);
        told.unwrap_or_else(|| panic!("no {}", timing.object))
    });
    assert!(places.is_sorted(), "the slowest come first");
    // Without what the cook left, nobody knows.
    std::fs::remove_dir_all(fixture.out().join(".cook")).unwrap();
    let page = html_report(&fixture.out()).unwrap();
    assert!(!page.contains("Slowest") && !page.contains("Layout of"));
}

#[cfg(unix)]
#[test]
fn names_cannot_break_out() {
    let fixture = two_scenes();
    fixture
        .write("scenes/<i>&'.ppm", RED)
        .write("scenes/b.gltf", gltf(&["Door"], "<i>&'.ppm"));
    fixture.cook(TWO_LEVELS).unwrap();
    let page = html_report(&fixture.out()).unwrap();
    let texts = texts(&page);
    assert!(texts.contains(&"scenes/&lt;i&gt;&amp;&#39;.ppm".to_owned()));
    assert!(!page.contains("<i>") && !page.contains("&'"));
}
