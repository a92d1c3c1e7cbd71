//! Levels that are read from one file: copies of what they share, with the identity of the originals.

use seamless_level::{ManifestLimits, WorldManifest};
use seamless_package::{Limits, Package};

use super::*;
use crate::inspect;

const ONE_SEEK_FREE: &str = r#"(levels: [(source: "scenes/a.gltf"), (source: "scenes/b.gltf", seek_free: true)])"#;

fn package(fixture: &Fixture, file: &str) -> Package {
    let bytes = std::fs::read(fixture.out().join(file)).unwrap();
    Package::verify_whole(&bytes, &Limits::default()).unwrap()
}

#[test]
fn a_seek_free_level_has_copies_of_what_it_shares() {
    let fixture = two_scenes();
    let report = fixture.cook(ONE_SEEK_FREE).unwrap();
    assert!(report.levels[1].dependencies.is_empty());
    assert_eq!(report.levels[0].dependencies, ["shared_0.pkg"]);
    let bytes = std::fs::read(fixture.out().join("test.seamless")).unwrap();
    let manifest = WorldManifest::from_ron(&bytes, &ManifestLimits::default()).unwrap();
    assert!(manifest.levels[1].dependencies.is_empty());

    let (shared, level) = (package(&fixture, "shared_0.pkg"), package(&fixture, "b.pkg"));
    assert!(level.is_seek_free() && !package(&fixture, "a.pkg").is_seek_free());
    let original = shared.find_name("scenes/red.ppm").unwrap();
    let id = shared.exports().get(original).unwrap().object_id;
    let copy = level.find(id).expect("the copy has the original's identity");
    let origin = level.origin_of(copy).unwrap();
    assert_eq!((origin.package, origin.index as usize), ("shared_0.pkg", original));
    assert_eq!(origin.content_hash, shared.summary().content_hash);
    assert_eq!(copy + 1, level.exports().len(), "copies come behind everything else");

    let info = inspect(&fixture.out().join("b.pkg")).unwrap();
    assert_eq!(info.exports[copy].copied_from.as_deref(), Some("shared_0.pkg"));
    assert_eq!(info.exports[copy].bulk_bytes, [4]);
}

/// Which levels are seek-free changes nothing but these.
#[test]
fn other_packages_are_as_they_would_be() {
    let (with, without) = (two_scenes(), two_scenes());
    with.cook(ONE_SEEK_FREE).unwrap();
    without
        .cook(r#"(levels: [(source: "scenes/a.gltf"), (source: "scenes/b.gltf")])"#)
        .unwrap();
    for file in ["a.pkg", "shared_0.pkg"] {
        let [a, b] = [&with, &without].map(|fixture| std::fs::read(fixture.out().join(file)).unwrap());
        assert_eq!(a, b, "{file}");
    }
}
