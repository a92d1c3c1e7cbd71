//! The world of the flight: the same levels as packages on disk and as Bevy's `WorldAsset`s in memory.

use std::{io, path::Path};

use bevy_app::App;
use bevy_asset::{Assets, Handle, UntypedHandle};
use bevy_ecs::{hierarchy::Children, reflect::AppTypeRegistry};
use bevy_math::Vec3;
use bevy_mesh::Mesh;
use bevy_world_serialization::WorldAsset;
use seamless_asset::{
    codec::{Codecs, EncodeContext, EntityRows},
    package::{Codec, NewBulk, NewExport, ObjectRef, PackageWriter},
};

use super::path::{CELL, GRID};
use crate::{
    app::{KIT, Kit, grid, material_name, mesh_name},
    scene::{Scene, SourceWorld},
};

/// Entities of each level, the root not counted.
pub const ENTITIES: usize = 1300;
/// Quads along each side of a level's ground.
const GROUND: u32 = 48;

/// The file of a cell's level.
pub fn file(cell: usize) -> String {
    format!("cell_{cell}.pkg")
}

/// Where a cell's level stands.
pub fn corner(cell: usize) -> Vec3 {
    Vec3::new((cell % GRID) as f32, 0.0, (cell / GRID) as f32) * CELL
}

/// A level of the flight in a world of its own. Its first mesh is the ground, which no other level has.
fn level(app: &mut App, kit: &Kit) -> (SourceWorld, Handle<Mesh>) {
    let ground = app.world_mut().resource_mut::<Assets<Mesh>>().add(grid(GROUND));
    let mut meshes = kit.meshes.clone();
    meshes[0] = ground.clone();
    let kit = Kit {
        meshes,
        materials: kit.materials.clone(),
    };
    (SourceWorld::new(&Scene::Renderable(ENTITIES), &kit), ground)
}

/// Writes all packages below `dir`.
///
/// # Errors
/// When a file cannot be written.
pub fn write_packages(app: &mut App, kit: &Kit, dir: &Path) -> io::Result<()> {
    write_kit(app, kit, dir)?;
    for cell in 0..GRID * GRID {
        let (source, _ground) = level(app, kit);
        std::fs::write(dir.join(file(cell)), level_package(app, &source, kit, &file(cell)))?;
    }
    Ok(())
}

/// Writes the package of the shared assets.
///
/// # Errors
/// When it cannot be written.
pub fn write_kit(app: &App, kit: &Kit, dir: &Path) -> io::Result<()> {
    let mut writer = PackageWriter::new(KIT);
    for (index, mesh) in kit.meshes.iter().enumerate() {
        export(app, &mut writer, &mesh_name(index), &mesh.clone().untyped());
    }
    for (index, material) in kit.materials.iter().enumerate() {
        export(app, &mut writer, &material_name(index), &material.clone().untyped());
    }
    std::fs::write(dir.join(KIT), writer.finish().expect("the kit is within the limits"))
}

fn level_package(app: &App, source: &SourceWorld, kit: &Kit, name: &str) -> Vec<u8> {
    let registry = app.world().resource::<AppTypeRegistry>().read();
    let codecs = app.world().resource::<Codecs>().read();
    let mut writer = PackageWriter::new(name);
    source.level(&registry, &codecs, &mut writer, name, &mut |writer, handle| {
        let import = kit.import(writer, handle).expect("a new import");
        import.unwrap_or_else(|| export(app, writer, "ground", handle))
    });
    writer.finish().expect("the level is within the limits")
}

/// Puts an asset into a package.
fn export(app: &App, writer: &mut PackageWriter, name: &str, handle: &UntypedHandle) -> ObjectRef {
    let registry = app.world().resource::<AppTypeRegistry>().read();
    let codec = app
        .world()
        .resource::<Codecs>()
        .read()
        .asset(handle.type_id())
        .expect("the asset has a codec");
    let class = writer.class(&codec.schema(&registry)).expect("one schema for a type");
    let rows = EntityRows::default();
    let mut context = EncodeContext::new(&registry, &rows);
    let encoded = codec
        .encode(app.world(), handle.id(), &mut context)
        .expect("it can be carried over");
    let encoded = encoded.expect("the asset has a value");
    assert!(
        context.into_references().is_empty(),
        "assets of the flight refer to nothing"
    );
    let export = NewExport {
        name,
        class,
        outer: ObjectRef::NONE,
        role: codec.role,
        data: encoded.data.into(),
        refs: Vec::new(),
        bulk: encoded.bulk.into_iter().map(NewBulk::from).collect(),
        bulk_use: Default::default(),
        codec: Codec::Lz4,
    };
    writer.export(export).expect("a new object")
}

/// All levels as Bevy's own assets, loaded and in memory.
pub fn world_assets(app: &mut App, kit: &Kit) -> Vec<Handle<WorldAsset>> {
    let add = |_| {
        let (mut source, _) = level(app, kit);
        // The entity with the `WorldAssetRoot` is the root.
        source.world.entity_mut(source.root).remove::<Children>();
        source.world.despawn(source.root);
        app.world_mut()
            .resource_mut::<Assets<WorldAsset>>()
            .add(WorldAsset::new(source.world))
    };
    (0..GRID * GRID).map(add).collect()
}
