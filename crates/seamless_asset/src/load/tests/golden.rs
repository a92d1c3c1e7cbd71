//! Packages with every encoding of `docs/FORMAT.md`, kept for ever: they stay loadable, and mean what they meant. The first has no
//! image with mips, and images in version 1; the first two have meshes in version 1.

use std::path::PathBuf;

use bevy_camera::{primitives::Aabb, visibility::Visibility};
use bevy_image::Image;
use bevy_math::{Mat4, Vec3, Vec3A};
use bevy_mesh::{Indices, VertexAttributeValues, skinning::SkinnedMeshInverseBindposes};
use bevy_transform::components::GlobalTransform;
use seamless_package::{Limits, Package};
use wgpu_types::{Extent3d, TextureDimension, TextureFormat};

use super::{
    build::{asset_object, new_export, old_package},
    *,
};
use crate::{
    LevelInstance,
    codec::{encode_reflected, resource_schema},
};

const NAME: &str = "golden.pkg";

/// By reflection, field by field.
#[derive(Component, Reflect, Clone, Debug, PartialEq)]
#[reflect(Component)]
#[reflect(no_auto_register)]
#[type_path = "golden"]
struct Kept {
    label: String,
    slots: Vec<u32>,
    depth: Option<i64>,
    mood: Mood,
    #[entities]
    next: Entity,
}

#[derive(Reflect, Clone, Debug, PartialEq)]
#[reflect(no_auto_register)]
#[type_path = "golden"]
enum Mood {
    Calm,
    Angry { since: f64, at: (u8, i16) },
}

/// As it lies in memory, which is the same with every compiler.
#[derive(Component, Reflect, Clone, Debug, PartialEq)]
#[reflect(Component)]
#[reflect(no_auto_register)]
#[type_path = "golden"]
#[repr(C)]
struct Numbers {
    place: [f32; 3],
    id: u32,
    small: [i16; 4],
}

/// An asset by reflection, with a reference.
#[derive(Asset, Reflect, Clone, Debug, PartialEq)]
#[reflect(no_auto_register)]
#[type_path = "golden"]
struct Note {
    title: String,
    about: Vec<Handle<Mesh>>,
}

#[derive(Resource, Reflect, Clone, Debug, PartialEq)]
#[reflect(Resource)]
#[reflect(no_auto_register)]
#[type_path = "golden"]
struct Season {
    name: String,
    day: u32,
}

fn golden_app(dir: &Dir) -> App {
    app_with(dir, |app| {
        app.register_type::<Kept>()
            .register_type::<Numbers>()
            .register_type::<Season>()
            .init_asset::<Image>()
            .init_asset::<Note>()
            .cook_by_reflection::<Note>();
    })
}

/// The package as it is written today.
fn written(app: &App) -> Vec<u8> {
    let mut writer = old_package(NAME);
    let mesh = Mesh::new(PrimitiveTopology::TriangleList, RenderAssetUsages::MAIN_WORLD)
        .with_inserted_attribute(
            Mesh::ATTRIBUTE_POSITION,
            vec![[0.0, 1.0, 2.0], [3.0, 4.0, 5.0], [6.0, 7.0, 8.0]],
        )
        .with_inserted_attribute(Mesh::ATTRIBUTE_UV_0, vec![[0.25, 0.5], [0.75, 1.0], [0.0, 0.125]])
        .with_inserted_indices(Indices::U16(vec![2, 0, 1]));
    let mesh = asset_object(&mut writer, app, "Mesh", mesh, vec![]);
    let image = Image::new(
        Extent3d {
            width: 2,
            height: 1,
            depth_or_array_layers: 1,
        },
        TextureDimension::D2,
        vec![1, 2, 3, 4, 5, 6, 7, 8],
        TextureFormat::Rgba8UnormSrgb,
        RenderAssetUsages::MAIN_WORLD,
    );
    asset_object(&mut writer, app, "Image", image, vec![]);
    asset_object(&mut writer, app, "Mipped", mipped(), vec![]);
    let poses = SkinnedMeshInverseBindposes::from(vec![Mat4::from_translation(Vec3::new(1.0, 2.0, 3.0))]);
    asset_object(&mut writer, app, "Poses", poses, vec![]);
    let handle = app.world().resource::<Assets<Mesh>>().reserve_handle();
    let note = Note {
        title: "how to sail".into(),
        about: vec![handle.clone(), handle.clone()],
    };
    asset_object(&mut writer, app, "Note", note, vec![mesh]);
    let season = Season {
        name: "spring".into(),
        day: 300,
    };
    write_resource(&mut writer, app, &season);
    write_level(&mut writer, app, mesh, handle);
    writer.finish().unwrap()
}

/// 128 × 1 texels in two layers: one mip is a payload, seven are the tail.
fn mipped() -> Image {
    let mut image = Image {
        data: Some((0..2 * 255).map(|at| (at % 251) as u8).collect()),
        asset_usage: RenderAssetUsages::MAIN_WORLD,
        ..Image::default()
    };
    image.texture_descriptor.size = Extent3d {
        width: 128,
        height: 1,
        depth_or_array_layers: 2,
    };
    image.texture_descriptor.mip_level_count = 8;
    image.texture_descriptor.format = TextureFormat::R8Unorm;
    image
}

fn write_resource<R: Resource + Reflect + bevy_reflect::Typed>(writer: &mut PackageWriter, app: &App, value: &R) {
    let registry = app.world().resource::<AppTypeRegistry>().read();
    let class = writer.class(&resource_schema(R::type_info(), &registry)).unwrap();
    let rows = EntityRows::default();
    let mut data = Vec::new();
    encode_reflected(value, &mut EncodeContext::new(&registry, &rows), &mut data).unwrap();
    let name = format!("Resource:{}", R::type_path());
    writer.export(new_export(&name, class, data, vec![])).unwrap();
}

fn write_level(writer: &mut PackageWriter, app: &App, mesh: ObjectRef, handle: Handle<Mesh>) {
    let registry = app.world().resource::<AppTypeRegistry>().read();
    let codecs = app.world().resource::<Codecs>().read();
    let ids: Vec<Entity> = (1..=3).filter_map(Entity::from_raw_u32).collect();
    let rows: EntityRows = ids.iter().copied().zip(0..).collect();
    let mut context = EncodeContext::new(&registry, &rows);
    let mut column = |values: &[&dyn Reflect]| {
        let codec = codecs.component(values[0].as_any().type_id(), &registry).unwrap();
        let class = writer.class(&codec.schema(&registry)).unwrap().index() as u32;
        let mut data = Vec::new();
        codec.encode(values, &mut context, &mut data).unwrap();
        (class, Role::ALL, data)
    };
    let place = Transform::from_xyz(1.0, 2.0, 3.0);
    let ship = [
        column(&[&place.with_scale(Vec3::new(4.0, 5.0, 6.0))]),
        column(&[&GlobalTransform::from(place)]),
        column(&[&Visibility::Hidden]),
        column(&[&Name::new("Ship ü")]),
        column(&[&Aabb {
            center: Vec3A::new(1.0, 2.0, 3.0),
            half_extents: Vec3A::new(4.0, 5.0, 6.0),
        }]),
        column(&[&Children::from_collection_risky(vec![ids[2], ids[1]])]),
    ];
    let kept = |label: &str, mood, next| Kept {
        label: label.to_owned(),
        slots: vec![1, 300],
        depth: Some(-5),
        mood,
        next,
    };
    let numbers = |id| Numbers {
        place: [1.0, 2.0, 3.0],
        id,
        small: [-1, 2, -3, 4],
    };
    let angry = Mood::Angry {
        since: 0.5,
        at: (7, -8),
    };
    let crew = [
        column(&[&kept("cook", Mood::Calm, ids[2]), &kept("boy", angry, ids[0])]),
        column(&[&numbers(70_000), &numbers(2)]),
        column(&[&Mesh3d(handle.clone()), &Mesh3d(handle)]),
        column(&[&ChildOf(ids[0]), &ChildOf(ids[0])]),
    ];
    let names = ["Ship", "Ship/Cook", "Ship/Boy"];
    let mut level = LevelBuilder::new(names.map(|name| ObjectId::new(NAME, name)).to_vec(), vec![0]);
    level.group(
        1,
        ship.iter().map(|(class, role, data)| (*class, *role, data.as_slice())),
    );
    level.group(
        2,
        crew.iter().map(|(class, role, data)| (*class, *role, data.as_slice())),
    );
    level.export(writer, vec![mesh], Codec::None).unwrap();
}

/// The latest is what the encoders write today.
const LATEST: u32 = 3;

fn path(number: u32) -> PathBuf {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/load/tests/golden");
    PathBuf::from(folder).join(format!("encodings-{number}.pkg"))
}

fn kept(number: u32) -> Vec<u8> {
    std::fs::read(path(number)).expect("the golden file is kept")
}

/// Once: `cargo test -p seamless_asset write_golden -- --ignored`. It replaces nothing.
#[test]
#[ignore = "writes the golden file of new encodings"]
fn write_golden_file() {
    let bytes = written(&golden_app(&Dir::default()));
    if !path(LATEST).exists() {
        std::fs::write(path(LATEST), bytes).unwrap();
    }
}

/// What is in the golden package, in words that do not come from the encoders.
#[test]
fn every_encoding_stays_readable() {
    // A build without migrations reads the latest versions only.
    let oldest = if cfg!(feature = "migrations") { 1 } else { LATEST };
    for number in oldest..=LATEST {
        check_golden(number);
    }
}

fn check_golden(number: u32) {
    let dir = Dir::default();
    let mut app = golden_app(&dir);
    put(&dir, NAME, kept(number));
    let id = load(&mut app, NAME, &[]);
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Live));
    let world = app.world_mut();
    let level = world.query::<&LevelInstance>().single(world).unwrap().clone();
    let entity = |name: &str| level.entity(ObjectId::new(NAME, name)).unwrap();
    let [ship, cook, boy] = ["Ship", "Ship/Cook", "Ship/Boy"].map(entity);
    check_ship(world, ship, [boy, cook]);
    let mesh = check_crew(world, ship, [cook, boy]);
    check_assets(world, &mesh);
    check_images(world, number);
    assert_eq!(
        *world.resource::<Season>(),
        Season {
            name: "spring".into(),
            day: 300
        }
    );
}

fn check_ship(world: &World, ship: Entity, children: [Entity; 2]) {
    let ship = world.entity(ship);
    let place = Transform::from_xyz(1.0, 2.0, 3.0);
    assert_eq!(ship.get(), Some(&place.with_scale(Vec3::new(4.0, 5.0, 6.0))));
    assert_eq!(ship.get(), Some(&GlobalTransform::from(place)));
    assert_eq!(ship.get(), Some(&Visibility::Hidden));
    assert_eq!(ship.get(), Some(&Name::new("Ship ü")));
    let aabb = ship.get::<Aabb>().unwrap();
    assert_eq!(aabb.center, Vec3A::new(1.0, 2.0, 3.0));
    assert_eq!(aabb.half_extents, Vec3A::new(4.0, 5.0, 6.0));
    assert_eq!(ship.get::<Children>().unwrap()[..], children);
}

fn check_crew(world: &World, ship: Entity, [cook, boy]: [Entity; 2]) -> Handle<Mesh> {
    let crew = [
        (cook, "cook", 70_000, Mood::Calm, boy),
        (
            boy,
            "boy",
            2,
            Mood::Angry {
                since: 0.5,
                at: (7, -8),
            },
            ship,
        ),
    ];
    for (entity, label, id, mood, next) in crew {
        let entity = world.entity(entity);
        let kept = Kept {
            label: label.into(),
            slots: vec![1, 300],
            depth: Some(-5),
            mood,
            next,
        };
        assert_eq!(entity.get(), Some(&kept));
        let numbers = Numbers {
            place: [1.0, 2.0, 3.0],
            id,
            small: [-1, 2, -3, 4],
        };
        assert_eq!(entity.get(), Some(&numbers));
        assert_eq!(entity.get(), Some(&ChildOf(ship)));
    }
    world.get::<Mesh3d>(cook).unwrap().0.clone()
}

fn check_assets(world: &World, handle: &Handle<Mesh>) {
    let mesh = world.resource::<Assets<Mesh>>().get(handle).unwrap();
    let positions = vec![[0.0, 1.0, 2.0], [3.0, 4.0, 5.0], [6.0, 7.0, 8.0]];
    let found = mesh.attribute(Mesh::ATTRIBUTE_POSITION).unwrap();
    assert!(matches!(found, VertexAttributeValues::Float32x3(found) if *found == positions));
    let found = mesh.attribute(Mesh::ATTRIBUTE_UV_0).unwrap();
    let uvs = vec![[0.25, 0.5], [0.75, 1.0], [0.0, 0.125]];
    assert!(matches!(found, VertexAttributeValues::Float32x2(found) if *found == uvs));
    assert!(matches!(mesh.indices(), Some(Indices::U16(found)) if *found == [2, 0, 1]));
    assert_eq!(mesh.primitive_topology(), PrimitiveTopology::TriangleList);
    let (_, poses) = world
        .resource::<Assets<SkinnedMeshInverseBindposes>>()
        .iter()
        .next()
        .unwrap();
    assert_eq!(poses[..], [Mat4::from_translation(Vec3::new(1.0, 2.0, 3.0))]);
    let (_, note) = world.resource::<Assets<Note>>().iter().next().unwrap();
    assert_eq!(note.title, "how to sail");
    assert_eq!(note.about, [handle.clone(), handle.clone()]);
}

fn check_images(world: &World, number: u32) {
    let images = world.resource::<Assets<Image>>();
    let of_width = |width: u32| {
        images
            .iter()
            .find(|(_, image)| image.width() == width)
            .map(|(_, image)| image)
    };
    let image = of_width(2).unwrap();
    assert_eq!(image.data.as_deref(), Some(&[1, 2, 3, 4, 5, 6, 7, 8][..]));
    assert_eq!(image.height(), 1);
    assert_eq!(image.texture_descriptor.format, TextureFormat::Rgba8UnormSrgb);
    let found = of_width(128).map(|image| (image.data.clone(), image.texture_descriptor.mip_level_count));
    assert_eq!(found, (number > 1).then(|| (mipped().data, 8)));
}

/// The container has golden files of its own; here it is what lies in its exports.
#[test]
fn the_encoders_still_write_the_same() {
    let (kept, written) = (kept(LATEST), written(&golden_app(&Dir::default())));
    let [old, new] = [&kept, &written].map(|bytes| Package::parse(bytes, &Limits::default()).unwrap());
    let mut encodings: Vec<u8> = old.schemas().map(|(_, schema)| schema.encoding).collect();
    encodings.sort_unstable();
    encodings.dedup();
    assert_eq!(encodings, [1, 2, 3, 4, 5, 6, 7, 8], "every encoding has a class");
    assert_eq!(old.exports().len(), new.exports().len());
    for index in 0..old.exports().len() {
        let name = old.export_name(index).unwrap();
        assert_eq!(new.export_name(index), Some(name));
        assert_eq!(old.schema(index), new.schema(index), "{name}");
        assert_eq!(old.refs(index), new.refs(index), "{name}");
        let data = |package: &Package, bytes: &[u8]| {
            let payloads = 0..package.bulk(index).len();
            let bulk: Vec<_> = payloads
                .map(|payload| package.bulk_data(index, payload, bytes, 0).unwrap().into_owned())
                .collect();
            (package.export_data(index, bytes, 0).unwrap().into_owned(), bulk)
        };
        assert!(
            data(&old, &kept) == data(&new, &written),
            "The bytes of {name} have changed. If that was meant: raise the version of its type or of the level table, keep the \
             golden file and what reads it, add a new one, and bring docs/FORMAT.md up to date."
        );
    }
}
