//! `package_read_bulk`: components that are nothing but numbers, from the bytes of a package in memory to columns.

use std::{hint::black_box, path::Path};

use bevy_app::App;
use bevy_asset::{AssetPath, AssetServer};
use bevy_ecs::{prelude::*, reflect::AppTypeRegistry};
use bevy_math::{Mat4, Quat, Vec3, Vec4};
use bevy_reflect::Reflect;
use bevy_world_serialization::{
    DynamicWorld, DynamicWorldBuilder,
    serde::{DynamicWorldSerializer, WorldDeserializer},
};
use seamless_asset::{bench_support::Services, codec::Encoding};
use serde::de::DeserializeSeed;

use crate::{
    app::{Plugins, app, cpu_ns, writer},
    level::level,
    row::{Row, Samples, Targets},
};

const LEVEL: &str = "bulk.pkg";
const ENTITIES: usize = 4000;
/// Bytes of the columns.
const COLUMNS: [usize; 4] = [
    ENTITIES * size_of::<Pose>(),
    ENTITIES * size_of::<Track>(),
    ENTITIES * size_of::<Body>(),
    ENTITIES * size_of::<Samples32>(),
];

/// The bones of a small skeleton.
#[derive(Component, Reflect, Clone)]
#[reflect(Component)]
struct Pose {
    bones: [Mat4; 16],
}

/// Points to go along.
#[derive(Component, Reflect, Clone)]
#[reflect(Component)]
struct Track {
    points: [Vec4; 32],
}

/// What physics knows of a thing.
#[derive(Component, Reflect, Clone)]
#[reflect(Component)]
pub struct Body {
    rotation: Quat,
    position: Vec3,
    mass: f32,
    velocity: Vec3,
    drag: f32,
    spin: Vec3,
    age: f32,
}

/// Numbers, many at a time.
#[derive(Component, Reflect, Clone)]
#[reflect(Component)]
struct Samples32 {
    ids: [u64; 16],
    values: [f32; 64],
}

type Thing = (Pose, Track, Body, Samples32);

fn number(row: usize, index: usize) -> f32 {
    (row * 31 + index) as f32 * 0.25
}

fn vector(row: usize, index: usize) -> Vec3 {
    Vec3::new(number(row, index), number(row, index + 1), number(row, index + 2))
}

/// A body that differs from those of other rows.
pub fn body(row: usize) -> Body {
    Body {
        rotation: Quat::from_rotation_y(number(row, 0)),
        position: vector(row, 1),
        mass: number(row, 4),
        velocity: vector(row, 5),
        drag: number(row, 8),
        spin: vector(row, 9),
        age: number(row, 12),
    }
}

fn thing(row: usize) -> Thing {
    (
        Pose {
            bones: core::array::from_fn(|bone| Mat4::from_translation(vector(row, bone))),
        },
        Track {
            points: core::array::from_fn(|point| vector(row, point).extend(1.0)),
        },
        body(row),
        Samples32 {
            ids: core::array::from_fn(|index| (row * 16 + index) as u64),
            values: core::array::from_fn(|index| number(row, index)),
        },
    )
}

/// Measures reading. All memory that is written to is new: nothing is freed before the end, since an allocator would give it
/// away again, and then it is warm. That is also why the peer, which frees much, has its turns behind the others'.
pub fn run(samples: Option<usize>) -> Row {
    let mut app = app(Plugins::Bare, Path::new("."));
    app.register_type::<Pose>()
        .register_type::<Track>()
        .register_type::<Body>()
        .register_type::<Samples32>();
    app.update();
    let services = Services::new(app.world()).expect("the app has the plugin");
    let package = package(&app);
    let source = COLUMNS.map(|size| vec![7_u8; size]);
    let path = AssetPath::from(LEVEL);
    let mut result = Samples::default();
    let rate = |ns: f64| COLUMNS.iter().sum::<usize>() as f64 / ns;
    let rounds = samples.unwrap_or(21) + 2;
    let mut kept = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        let (ours, decoded) = cpu_ns(|| services.decode(&path, &package).expect("the package is sound"));
        let (limit, copy) = cpu_ns(|| black_box(black_box(&source).clone()));
        kept.push((decoded, copy));
        result.ours.push(rate(ours));
        result.limit.push(rate(limit));
    }
    let scene = scene(&app);
    for _ in 0..rounds {
        let (peer, dynamic) = cpu_ns(|| read_dynamic(&app, &scene));
        assert_eq!(dynamic.entities.len(), ENTITIES);
        result.peer.push(rate(peer));
    }
    // The first rounds use up what was free before.
    for samples in [&mut result.ours, &mut result.limit, &mut result.peer] {
        samples.drain(..2);
    }
    let targets = Targets {
        first: 1.0,
        aim: 10.0,
        of_limit: Some(0.5),
    };
    let row = result.row(
        "package_read_bulk",
        "GB/s",
        Some("DynamicWorld from postcard"),
        Some("memcpy into fresh memory"),
        targets,
    );
    row.higher_is_better()
}

/// A level of things, and nothing else; not compressed.
fn package(app: &App) -> Vec<u8> {
    let things: Vec<Thing> = (0..ENTITIES).map(thing).collect();
    let mut writer = writer(app.world(), LEVEL);
    let columns = level(
        &mut writer,
        app.world(),
        LEVEL,
        &[
            things.iter().map(|thing| &thing.0 as &dyn Reflect).collect(),
            things.iter().map(|thing| &thing.1 as &dyn Reflect).collect(),
            things.iter().map(|thing| &thing.2 as &dyn Reflect).collect(),
            things.iter().map(|thing| &thing.3 as &dyn Reflect).collect(),
        ],
    );
    let expected = COLUMNS.map(|size| (Encoding::Plain as u8, size));
    assert_eq!(columns, expected, "what is counted is what is there");
    writer.finish().expect("the package is within the limits")
}

/// The same things as Bevy's scene, in postcard.
fn scene(app: &App) -> Vec<u8> {
    let registry = app.world().resource::<AppTypeRegistry>().read();
    let mut world = World::new();
    let entities: Vec<Entity> = (0..ENTITIES).map(|row| world.spawn(thing(row)).id()).collect();
    let dynamic = DynamicWorldBuilder::from_world(&world, &registry)
        .extract_entities(entities.into_iter())
        .build();
    postcard::to_allocvec(&DynamicWorldSerializer::new(&dynamic, &registry)).expect("every component can be written")
}

fn read_dynamic(app: &App, scene: &[u8]) -> DynamicWorld {
    let registry = app.world().resource::<AppTypeRegistry>().read();
    let mut server = app.world().resource::<AssetServer>();
    let seed = WorldDeserializer {
        type_registry: &registry,
        load_from_path: &mut server,
    };
    seed.deserialize(&mut postcard::Deserializer::from_bytes(scene))
        .expect("it was written a moment ago")
}
