//! Tests of the manifest: its text, and everything that is refused.

use bevy_math::{Vec3, vec3};

use super::{LevelEntry, MANIFEST_FORMAT, ManifestError, ManifestLimits, PackageEntry, VolumeEntry, WorldManifest};
use crate::volume::{VolumeFault, VolumeMode, VolumeShape};

fn sample() -> WorldManifest {
    let level = |name: &str| LevelEntry {
        name: name.into(),
        package: format!("{name}.pkg"),
        dependencies: vec!["shared_0.pkg".into(), "sub/shared_1.pkg".into()],
        translation: [192.0, 0.0, 448.5],
        bounds: Some(([0.0, -1.5, 0.0], [1.0, 2.0, 3.0])),
        entities: 12,
        bytes: 1 << 40,
        ..LevelEntry::default()
    };
    let volume = |name: &str, shape| VolumeEntry {
        name: name.into(),
        shape,
        unload_margin: 6.5,
        levels: vec!["a".into()],
        mode: VolumeMode::Load,
        enabled: false,
        unload_delay: 0.25,
        priority: 3.5,
    };
    WorldManifest {
        format: MANIFEST_FORMAT,
        name: "world".into(),
        levels: vec![level("a"), level("b")],
        volumes: vec![
            volume(
                "box",
                VolumeShape::Box {
                    min: Vec3::ZERO,
                    max: vec3(64.0, 0.1, 1e-20),
                },
            ),
            volume("ball", VolumeShape::default()),
            volume(
                "tunnel",
                VolumeShape::Capsule {
                    a: Vec3::X,
                    b: vec3(30.0, 2.0, 1.0),
                    radius: 4.5,
                },
            ),
            volume(
                "planes",
                VolumeShape::Convex {
                    planes: vec![(Vec3::Y, 5.0), (-Vec3::Y, 1.0)],
                },
            ),
        ],
        packages: ["a.pkg", "b.pkg", "shared_0.pkg", "startup.pkg", "sub/shared_1.pkg"]
            .map(listed)
            .into(),
        startup: Some("startup.pkg".into()),
        registry: Some("world.registry".into()),
        peak_entities: 24,
    }
}

fn listed(package: &str) -> PackageEntry {
    PackageEntry {
        package: package.into(),
        content_hash: u64::MAX,
        exports: 7,
        entities: 12,
    }
}

#[test]
fn broken_lists_of_packages_are_named() {
    let text = broken(|manifest| manifest.packages[2] = listed("../a.pkg"));
    assert!(text.contains("`../a.pkg`") && text.contains("; cook"), "{text}");
    assert!(broken(|manifest| manifest.packages.push(listed("a.pkg"))).contains("two packages"));
    assert!(broken(|manifest| manifest.packages.push(listed(""))).contains("package 5 has no name"));
}

fn read(text: &str) -> Result<WorldManifest, ManifestError> {
    WorldManifest::from_ron(text.as_bytes(), &ManifestLimits::default())
}

#[test]
fn text_and_back() {
    let text = sample().to_ron().unwrap();
    assert_eq!(read(&text).unwrap(), sample());
    assert_eq!(text, sample().to_ron().unwrap());
    assert!(
        text.contains("Box(") && text.contains("(64.0, 0.1,"),
        "plain tuples, one line each: {text}"
    );
    assert!(!text.contains('\r'));
    let entries = text.lines().filter(|line| line.starts_with("    (")).count();
    let WorldManifest {
        levels,
        volumes,
        packages,
        ..
    } = sample();
    assert_eq!(
        entries,
        levels.len() + volumes.len() + packages.len(),
        "one line each: {text}"
    );
    let mut without = WorldManifest {
        startup: None,
        registry: None,
        ..sample()
    };
    without.packages.retain(|listed| listed.package != "startup.pkg");
    let text = without.to_ron().unwrap();
    assert!(
        !text.contains("startup"),
        "worlds without startup content do not speak of it: {text}"
    );
    assert_eq!(read(&text).unwrap(), without);
}

/// What a cooker wrote before volumes had modes, delays and priorities.
const FORMAT_2: &str = r#"(
  format: 2,
  name: "old",
  levels: [
    (name: "a", package: "a.pkg", dependencies: [], translation: (192.0, 0.0, 448.5), rotation: (0.0, 0.0, 0.0, 1.0), scale: (1.0, 1.0, 1.0), always_loaded: false, entities: 12, bytes: 99, bounds: None),
  ],
  volumes: [
    (name: "around a", shape: Sphere(center: (0.0, 0.0, 0.0), radius: 5.0), unload_margin: 6.5, levels: ["a"]),
  ],
  packages: [],
  peak_entities: 12,
)
"#;

#[test]
fn what_an_older_cooker_wrote_is_read() {
    let manifest = read(FORMAT_2).unwrap();
    let volume = VolumeEntry {
        name: "around a".into(),
        shape: VolumeShape::Sphere {
            center: Vec3::ZERO,
            radius: 5.0,
        },
        unload_margin: 6.5,
        levels: vec!["a".into()],
        mode: VolumeMode::LoadAndShow,
        enabled: true,
        unload_delay: 2.0,
        priority: 1.0,
    };
    assert_eq!(manifest.volumes, [volume]);
    assert!(matches!(
        read(&FORMAT_2.replacen("format: 2", "format: 1", 1)),
        Err(ManifestError::Format {
            found: 1,
            oldest: 2,
            newest: MANIFEST_FORMAT
        })
    ));
}

/// Breaks the sample and returns what is said about it.
fn broken(damage: impl FnOnce(&mut WorldManifest)) -> String {
    let mut manifest = sample();
    damage(&mut manifest);
    let error = manifest.validate().expect_err("a broken manifest was accepted");
    assert_eq!(manifest.to_ron().as_ref(), Err(&error), "a broken manifest was written");
    error.to_string()
}

#[test]
fn broken_levels_are_named() {
    let cases: Vec<(&str, Box<dyn Fn(&mut LevelEntry)>)> = vec![
        ("`b`", Box::new(|level| level.translation[1] = f32::NAN)),
        ("translation", Box::new(|level| level.translation[2] = f32::INFINITY)),
        ("rotation", Box::new(|level| level.rotation = [0.0; 4])),
        ("rotation", Box::new(|level| level.rotation[0] = f32::NAN)),
        ("scale", Box::new(|level| level.scale[0] = f32::NAN)),
        ("zero", Box::new(|level| level.scale[0] = 0.0)),
        ("bounds", Box::new(|level| level.bounds = Some(([1.0; 3], [0.0; 3])))),
        (
            "bounds",
            Box::new(|level| level.bounds = Some(([f32::NAN; 3], [0.0; 3]))),
        ),
        ("itself", Box::new(|level| level.dependencies.push("b.pkg".into()))),
        (
            "twice",
            Box::new(|level| level.dependencies.push("shared_0.pkg".into())),
        ),
        ("two levels are called `a`", Box::new(|level| level.name = "a".into())),
        ("level 1 has no name", Box::new(|level| level.name.clear())),
    ];
    for (expected, damage) in cases {
        let text = broken(|manifest| damage(&mut manifest.levels[1]));
        assert!(text.contains(expected), "{expected}: {text}");
    }
    for path in [
        "",
        "/b.pkg",
        "../b.pkg",
        "x/../../b.pkg",
        "x\\b.pkg",
        "c:b.pkg",
        "http://h/b.pkg",
        "b.pkg#A",
        "./b",
        "x//b",
    ] {
        let text = broken(|manifest| manifest.levels[1].package = path.into());
        assert!(text.contains("`b`") && text.contains("package path"), "{path}: {text}");
    }
}

#[test]
fn broken_volumes_and_worlds_are_named() {
    let text = broken(|manifest| manifest.volumes[0].levels.push("nowhere".into()));
    assert!(text.contains("`box`") && text.contains("`nowhere`"), "{text}");
    let text = broken(|manifest| manifest.volumes[1].unload_margin = f32::NAN);
    assert!(
        text.contains("`ball`") && text.contains(&VolumeFault::Margin.to_string()),
        "{text}"
    );
    let text = broken(|manifest| manifest.volumes[0].unload_delay = -1.0);
    assert!(
        text.contains("`box`") && text.contains("zero or more, in seconds"),
        "{text}"
    );
    let text = broken(|manifest| manifest.volumes[0].priority = f32::NAN);
    assert!(text.contains("`box`") && text.contains("one is usual"), "{text}");
    let text = broken(|manifest| {
        manifest.volumes[3].shape = VolumeShape::Convex {
            planes: vec![(Vec3::NAN, 1.0)],
        }
    });
    assert!(text.contains("`planes`"), "{text}");
    let text = broken(|manifest| manifest.startup = Some("../startup.pkg".into()));
    assert!(text.contains("startup package's path `../startup.pkg`"), "{text}");
    assert!(broken(|manifest| manifest.volumes[2].name = "box".into()).contains("two volumes"));
    assert!(broken(|manifest| manifest.levels.clear()).contains("no levels"));
    assert!(broken(|manifest| manifest.format += 1).contains("format"));
}

#[test]
fn what_is_no_manifest_is_refused() {
    let good = sample().to_ron().unwrap();
    assert!(matches!(read("(format: 2)"), Err(ManifestError::Syntax(_))));
    assert!(matches!(
        WorldManifest::from_ron(&[0xff, 0xfe, 0], &ManifestLimits::default()),
        Err(ManifestError::Syntax(_))
    ));
    assert!(matches!(
        read(&good.replacen("name:", "nam:", 1)),
        Err(ManifestError::Syntax(_))
    ));
    assert!(matches!(
        read("(format: 99, all: \"else\", differs: [1, 2])"),
        Err(ManifestError::Format { found: 99, .. })
    ));
    let bomb = format!("(format: 2, name: {}", "[".repeat(100_000));
    assert!(matches!(read(&bomb), Err(ManifestError::Syntax(_))));
    for length in 0..good.len() - 2 {
        let cut = read(&good[..length]);
        assert_eq!(cut, Err(ManifestError::CutOff), "cut at {length}");
    }
    let quoted = good.replacen("name: \"", "name: \"\\\"(", 1);
    assert!(read(&quoted).is_ok(), "what is quoted opens nothing");
}

#[test]
fn limits_hold() {
    let good = sample().to_ron().unwrap();
    let refused = |limits: ManifestLimits| match WorldManifest::from_ron(good.as_bytes(), &limits) {
        Err(ManifestError::TooLarge { what, .. }) => what,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        refused(ManifestLimits {
            bytes: 100,
            ..Default::default()
        }),
        "bytes"
    );
    assert_eq!(
        refused(ManifestLimits {
            levels: 1,
            ..Default::default()
        }),
        "levels"
    );
    assert_eq!(
        refused(ManifestLimits {
            volumes: 2,
            ..Default::default()
        }),
        "volumes"
    );
    assert_eq!(
        refused(ManifestLimits {
            packages: 3,
            ..Default::default()
        }),
        "packages"
    );
}

#[test]
fn a_zero_quaternion_never_reaches_a_transform() {
    let placement = sample().levels[0].placement();
    assert_eq!(placement.translation, vec3(192.0, 0.0, 448.5));
    assert!(placement.rotation.is_normalized());
}

#[test]
fn the_peak_is_where_most_levels_are_wanted() {
    let row = |count: usize| {
        let name = |at: usize| format!("level {at}");
        let levels = (0..count).map(|at| LevelEntry {
            name: name(at),
            package: format!("{at}.pkg"),
            // The one in the middle of the row is wanted wherever one is.
            always_loaded: at == count / 2,
            entities: 100 + at as u32,
            ..LevelEntry::default()
        });
        let volumes = (0..count).map(|at| VolumeEntry {
            name: name(at),
            // Neighbours reach each other's middle with their margin only.
            shape: VolumeShape::Sphere {
                center: vec3(at as f32 * 10.0, 0.0, 0.0),
                radius: 8.0,
            },
            unload_margin: 3.0,
            levels: vec![name(at)],
            ..VolumeEntry::default()
        });
        WorldManifest {
            format: MANIFEST_FORMAT,
            levels: levels.collect(),
            volumes: volumes.collect(),
            ..WorldManifest::default()
        }
    };
    // The end of the row has the larger levels: the last three but one.
    assert_eq!(row(10).estimate_peak_entities(), 107 + 108 + 109 + 105);
    assert_eq!(row(1).estimate_peak_entities(), 100);
    assert_eq!(WorldManifest::default().estimate_peak_entities(), 0);
    let mut endless = row(3);
    endless.levels.iter_mut().for_each(|level| level.entities = u32::MAX);
    assert_eq!(endless.estimate_peak_entities(), u32::MAX);
    // From the ground up, which is far from the origin.
    let mut high = row(1);
    high.levels[0].always_loaded = false;
    high.volumes[0].shape = VolumeShape::Box {
        min: vec3(f32::NEG_INFINITY, 1_000.0, -1.0),
        max: vec3(5.0, f32::INFINITY, 1.0),
    };
    assert_eq!(high.estimate_peak_entities(), 100);
    let of_thousands = row(3000).estimate_peak_entities();
    assert!((9_000..15_000).contains(&of_thousands), "sampled: {of_thousands}");
}
