//! The page of a cook holds everything, and nothing breaks out of its text.

use super::*;
use crate::{ObjectTiming, html_report};

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
    let page = html_report(&fixture.out(), &[]).unwrap();
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
    assert!(!page.contains("Slowest"), "nobody measured");
    assert!(!page.contains("NaN") && !page.contains("\"inf"));
    assert_eq!(
        page,
        html_report(&fixture.out(), &[]).unwrap(),
        "the same page for the same files"
    );
}

#[test]
fn the_slowest_objects_come_first() {
    let fixture = two_scenes();
    fixture.cook(TWO_LEVELS).unwrap();
    let timing = |object: &str, seconds| ObjectTiming {
        object: object.into(),
        step: "compress".into(),
        seconds,
    };
    let page = html_report(&fixture.out(), &[timing("quick.png", 0.001), timing("slow.png", 1.25)]).unwrap();
    let texts = texts(&page);
    let place = |text: &str| {
        texts
            .iter()
            .position(|found| found == text)
            .unwrap_or_else(|| panic!("no {text}"))
    };
    assert!(place("slow.png") < place("quick.png"));
    assert_eq!(texts[place("slow.png") + 4], "1250.0 ms");
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
    let page = html_report(&fixture.out(), &first.slowest).unwrap();
    assert!(texts(&page).contains(&first.slowest[0].object));
}

#[cfg(unix)]
#[test]
fn names_cannot_break_out() {
    let fixture = two_scenes();
    let name = "<b onload=\"x\">&'";
    fixture
        .write("scenes/<i>.ppm", RED)
        .write("scenes/b.gltf", gltf(&["Door"], "<i>.ppm"));
    fixture.cook(TWO_LEVELS).unwrap();
    let timings = [ObjectTiming {
        object: name.into(),
        step: "<".into(),
        seconds: 1.0,
    }];
    let page = html_report(&fixture.out(), &timings).unwrap();
    let texts = texts(&page);
    assert!(texts.contains(&"&lt;b onload=&quot;x&quot;&gt;&amp;&#39;".to_owned()));
    assert!(texts.contains(&"scenes/&lt;i&gt;.ppm".to_owned()));
    assert!(!page.contains("<b onload") && !page.contains("<i>"));
}
