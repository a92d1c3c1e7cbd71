//! `seamless clean`.

use super::*;
use crate::{CleanReport, CookWork, clean};

#[test]
fn what_no_world_needs_goes() {
    let fixture = two_scenes();
    fixture.cook(TWO_LEVELS).unwrap();
    let untouched = clean(&fixture.out(), false).unwrap();
    assert_eq!(untouched.removed, 0, "everything is needed");
    // Another level, and the old one's entities are in nobody's way.
    fixture.write("scenes/a.gltf", gltf(&["other"], "red.ppm"));
    fixture.cook(TWO_LEVELS).unwrap();
    let report = clean(&fixture.out(), false).unwrap();
    assert!(report.removed > 0 && report.bytes > 0 && report.kept > 2, "{report:?}");
    assert_eq!(fixture.cook(TWO_LEVELS).unwrap().work, CookWork::default());
    // What is left is enough to make the packages again.
    std::fs::remove_file(fixture.out().join("a.pkg")).unwrap();
    let work = fixture.cook(TWO_LEVELS).unwrap().work;
    assert_eq!((work.encoded, work.packages_written), (0, 1));
}

#[test]
fn everything_goes_when_asked() {
    let fixture = two_scenes();
    fixture.cook(TWO_LEVELS).unwrap();
    let before = files(&fixture.out());
    let report = clean(&fixture.out(), true).unwrap();
    assert_eq!(report.kept, 1, "the lock");
    assert_eq!(files(&fixture.out()), before);
    assert!(fixture.cook(TWO_LEVELS).unwrap().work.encoded > 0);
    assert_eq!(clean(&fixture.path("nowhere"), true).unwrap(), CleanReport::default());
}
