//! A world of many levels over few packages, all of it in memory.

use std::path::Path;

use bevy::{
    asset::{RenderAssetUsages, io::memory::Dir},
    mesh::PrimitiveTopology,
    prelude::*,
    reflect::TypePath,
};
use bevy_seamless::{
    asset::package::Role,
    level::{LevelEntry, MANIFEST_FORMAT, VolumeEntry, VolumeMode, VolumeShape, WorldManifest},
};
use seamless_tests::handmade::{References, add_asset, add_level, new_ids, new_package};

/// The manifest's file.
pub const MANIFEST: &str = "soak.seamless";
/// Packages of levels.
pub const PACKAGES: usize = 200;
/// Packages that levels share, each with a mesh.
const SHARED: usize = 20;
/// Packages of levels whose files are damaged: one in a hundred.
pub const DAMAGED: [usize; 2] = [57, 133];
/// How far apart levels stand, in metres.
pub const SPACING: f32 = 64.0;
/// Every so many packages, one has a level that takes more than a frame.
const LARGE_EVERY: usize = 50;

/// A reference to the next entity of the level.
#[derive(Component, Reflect, Clone, Debug)]
#[reflect(Component)]
pub struct Link(#[entities] pub Entity);

/// How many entities a package's level has.
pub fn entities_of(package: usize) -> usize {
    if package.is_multiple_of(LARGE_EVERY) {
        600
    } else {
        6 + package % 7
    }
}

/// Levels stand in a square.
pub fn side_of(levels: usize) -> usize {
    (levels as f32).sqrt().ceil() as usize
}

/// Where a level stands.
pub fn place_of(level: usize, levels: usize) -> Vec3 {
    let side = side_of(levels);
    Vec3::new((level % side) as f32, 0.0, (level / side) as f32) * SPACING
}

/// Writes all packages and a manifest of so many levels into `dir`, with a volume for each level if `with_volumes`.
pub fn write_world(app: &App, dir: &Dir, levels: usize, with_volumes: bool) {
    let put = |name: &str, bytes: Vec<u8>| dir.insert_asset(Path::new(name), bytes);
    for number in 0..SHARED {
        let name = shared(number);
        let mut writer = new_package(app, &name);
        add_asset(app, &mut writer, "Mesh", mesh(number));
        put(&name, writer.finish().expect("the package is within the limits"));
    }
    let mut sizes = Vec::new();
    for number in 0..PACKAGES {
        let name = package(number);
        let mut bytes = level(app, &name, number);
        sizes.push(bytes.len() as u64);
        if DAMAGED.contains(&number) {
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
        }
        put(&name, bytes);
    }
    let manifest = WorldManifest {
        format: MANIFEST_FORMAT,
        name: "soak".into(),
        levels: (0..levels).map(|number| entry(number, levels, &sizes)).collect(),
        volumes: if with_volumes { volumes(levels) } else { Vec::new() },
        peak_entities: 4_000,
        ..WorldManifest::default()
    };
    put(MANIFEST, manifest.to_ron().expect("the manifest is valid").into_bytes());
}

/// What a level is called.
pub fn name_of(level: usize) -> String {
    format!("level_{level}")
}

fn shared(number: usize) -> String {
    format!("shared_{number}.pkg")
}

fn package(number: usize) -> String {
    format!("cell_{number}.pkg")
}

fn entry(number: usize, levels: usize, sizes: &[u64]) -> LevelEntry {
    let (place, of) = (place_of(number, levels), number % PACKAGES);
    let half = Vec3::splat(SPACING / 2.0);
    LevelEntry {
        name: name_of(number),
        package: package(of),
        dependencies: vec![shared(of % SHARED)],
        translation: place.to_array(),
        entities: entities_of(of) as u32,
        bytes: sizes[of],
        bounds: Some(((place - half).to_array(), (place + half).to_array())),
        ..LevelEntry::default()
    }
}

fn volumes(levels: usize) -> Vec<VolumeEntry> {
    let volume = |number: usize| VolumeEntry {
        name: format!("volume_{number}"),
        shape: VolumeShape::Sphere {
            center: place_of(number, levels),
            radius: 1.2 * SPACING,
        },
        unload_margin: 0.2 * SPACING,
        levels: vec![name_of(number)],
        mode: if number.is_multiple_of(7) {
            VolumeMode::Load
        } else {
            VolumeMode::LoadAndShow
        },
        unload_delay: 0.5,
        ..VolumeEntry::default()
    };
    (0..levels).map(volume).collect()
}

/// A mesh with as many points as its number says.
fn mesh(number: usize) -> Mesh {
    let points: Vec<[f32; 3]> = (0..number % 30 + 3).map(|point| [point as f32, 1.0, 2.0]).collect();
    Mesh::new(PrimitiveTopology::PointList, RenderAssetUsages::default())
        .with_inserted_attribute(Mesh::ATTRIBUTE_POSITION, points)
}

/// A package with a level: one entity above all others, of which a third are lights, a third show a mesh of the package and a third one
/// that is shared.
fn level(app: &App, name: &str, number: usize) -> Vec<u8> {
    let count = entities_of(number);
    let ids = new_ids(count);
    let mut writer = new_package(app, name);
    let own = add_asset(app, &mut writer, "Mesh", mesh(number));
    let shared = writer.import(&shared(number % SHARED), "Mesh", Mesh::type_path(), Role::ALL);
    let mut references = References::default();
    let own = references.handle::<Mesh>(app, own);
    let shared = references.handle::<Mesh>(app, shared.expect("an import"));
    let third = (count - 1) / 3;
    let starts = [0, 1, 1 + third, 1 + 2 * third];
    let ends = [1, 1 + third, 1 + 2 * third, count];
    add_level(app, &mut writer, name, &ids, vec![0], &references, |level| {
        for (group, range) in starts.into_iter().zip(ends).map(|(start, end)| start..end).enumerate() {
            let rows = || range.clone();
            level
                .add(rows().map(|row| Name::new(format!("thing {row}"))))
                .add(rows().map(|row| Transform::from_xyz(row as f32, 0.0, 0.0)))
                .add(rows().map(|_| Visibility::default()))
                .add(rows().map(|row| Link(ids[(row + 1) % count])));
            match group {
                0 => level.add([Children::from_collection_risky(ids[1..].to_vec())]),
                _ => level.add(rows().map(|_| ChildOf(ids[0]))),
            };
            match group {
                1 => _ = level.add(rows().map(light)),
                2 => _ = level.add(rows().map(|_| Mesh3d(own.clone()))),
                3 => _ = level.add(rows().map(|_| Mesh3d(shared.clone()))),
                _ => {}
            }
            level.end_group(range.len());
        }
    });
    writer.finish().expect("the package is within the limits")
}

fn light(row: usize) -> PointLight {
    PointLight {
        intensity: row as f32,
        ..PointLight::default()
    }
}
