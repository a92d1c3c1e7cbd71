//! How large levels are, as their authors state it, and what is told where nobody does.

use bevy::math::Vec3;
use seamless_level::{LevelEntry, ManifestLimits, VolumeShape, WorldManifest};

use super::*;

fn manifest(fixture: &Fixture) -> WorldManifest {
    let bytes = std::fs::read(fixture.out().join("test.seamless")).unwrap();
    WorldManifest::from_ron(&bytes, &ManifestLimits::default()).unwrap()
}

fn level<'m>(manifest: &'m WorldManifest, name: &str) -> &'m LevelEntry {
    manifest.levels.iter().find(|level| level.name == name).unwrap()
}

/// Two levels of triangles and two instances of the first, which says this of its bounds.
fn stating(bounds: &str) -> String {
    format!(
        r#"(levels: [
            (source: "scenes/a.gltf", translation: (100.0, 0.0, 0.0), scale: (2.0, 1.0, 1.0), {bounds}),
            (source: "scenes/b.gltf"),
        ], instances: [
            (of: "a", name: "again", translation: (0.0, 10.0, 0.0)),
            (of: "a", name: "large", bounds: ((0.0, 0.0, 0.0), (4.0, 4.0, 4.0))),
        ])"#
    )
}

#[test]
fn what_the_author_states_wins_over_what_is_measured() {
    let fixture = two_scenes();
    let of_triangle = Some(([0.0, 0.0, 0.0], [1.0, 2.0, 0.0]));
    fixture.cook(&stating("")).unwrap();
    let measured = manifest(&fixture);
    assert_eq!(
        level(&measured, "a").bounds,
        Some(([100.0, 0.0, 0.0], [102.0, 2.0, 0.0]))
    );
    assert_eq!(
        level(&measured, "again").bounds,
        Some(([0.0, 10.0, 0.0], [1.0, 12.0, 0.0]))
    );
    // What was measured before is not remembered.
    fixture
        .cook(&stating("bounds: ((-1.0, -2.0, -3.0), (1.0, 2.0, 3.0))"))
        .unwrap();
    let stated = manifest(&fixture);
    assert_eq!(
        level(&stated, "a").bounds,
        Some(([98.0, -2.0, -3.0], [102.0, 2.0, 3.0])),
        "in its own space, before it is placed"
    );
    assert_eq!(
        level(&stated, "again").bounds,
        Some(([-1.0, 8.0, -3.0], [1.0, 12.0, 3.0]))
    );
    for manifest in [&measured, &stated] {
        assert_eq!(level(manifest, "b").bounds, of_triangle);
        assert_eq!(level(manifest, "large").bounds, Some(([0.0; 3], [4.0; 3])));
    }
    let around = VolumeShape::Box {
        min: Vec3::new(88.0, -12.0, -13.0),
        max: Vec3::new(112.0, 12.0, 13.0),
    };
    assert_eq!(stated.volumes[0].shape, around);
}

#[test]
fn a_level_that_nothing_tells_the_size_of_is_warned_of() {
    let fixture = Fixture::new();
    fixture.write("dark.scn.ron", "(resources: {}, entities: {})");
    let world = |volumes: &str| {
        format!(
            r#"(levels: [
                (name: "dark", source: "dark.scn.ron"),
                (name: "always", source: "dark.scn.ron", always_loaded: true),
                (name: "asked", source: "dark.scn.ron", on_request: true),
                (name: "placed", source: "dark.scn.ron", on_request: true),
                (name: "stated", source: "dark.scn.ron", bounds: ((0.0, 0.0, 0.0), (1.0, 1.0, 1.0))),
            ], instances: [
                (of: "asked", name: "asked_1", bounds: ((0.0, 0.0, 0.0), (1.0, 1.0, 1.0))),
                (of: "placed", name: "placed_1"),
                (of: "placed", name: "placed_2"),
            ], {volumes})"#
        )
    };
    let report = fixture.cook(&world("")).unwrap();
    let warned: Vec<&str> = report.warnings.iter().map(|warning| warning.object.as_str()).collect();
    assert_eq!(warned, ["level `dark`", "level `placed`"]);
    assert_error(&report.warnings, "test.world.ron", "level `dark`", "within 50 units");
    // Nobody gets a volume that might be wrong.
    assert_eq!(fixture.cook(&world("volumes: []")).unwrap().warnings, []);
}

#[test]
fn bounds_that_are_none_are_errors() {
    let errors = two_scenes().errors(
        r#"(levels: [
            (name: "over", source: "scenes/a.gltf", bounds: ((1.0, 0.0, 0.0), (0.0, 0.0, 0.0))),
            (name: "nan", source: "scenes/b.gltf", bounds: ((NaN, 0.0, 0.0), (1.0, 1.0, 1.0))),
        ], instances: [
            (of: "over", name: "endless", bounds: ((0.0, 0.0, 0.0), (inf, 1.0, 1.0))),
        ])"#,
    );
    let file = "test.world.ron";
    assert_error(&errors, file, "level `over`", "`min` above their `max`");
    assert_error(&errors, file, "level `nan`", "write finite numbers");
    assert_error(&errors, file, "instance `endless`", "write finite numbers");
    assert_eq!(errors.len(), 3, "{errors:#?}");
}
