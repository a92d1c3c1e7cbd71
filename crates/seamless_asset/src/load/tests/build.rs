//! The packages that tests load.

use seamless_package::{ForcedOrigin, Limits, NewBulk, Package, Schema};

use super::*;

/// An empty package, saved at the latest versions of `app`.
pub(super) fn new_package(app: &App, name: &str) -> PackageWriter {
    let mut writer = PackageWriter::new(name);
    let codecs = app.world().resource::<Codecs>().read();
    writer.versions(codecs.migrations().versions()).unwrap();
    writer
}

/// An empty package, as an app without any migrations saved it.
pub(super) fn old_package(name: &str) -> PackageWriter {
    let mut writer = PackageWriter::new(name);
    writer
        .versions(Codecs::default().read().migrations().versions())
        .unwrap();
    writer
}

/// A chain of `count` entities, each the child of the one before, each liking the next, with a mesh of the package.
pub(super) fn chain(app: &App, name: &str, count: u32, shared: Option<&str>) -> Vec<u8> {
    chain_writer(app, name, count, shared).finish().unwrap()
}

/// The same with a copy of the package that has the mesh, which is `original`: no other file is needed.
pub(super) fn seek_free_chain(app: &App, name: &str, count: u32, original: &[u8]) -> Vec<u8> {
    let package = Package::parse(original, &Limits::default()).unwrap();
    let mut writer = chain_writer(app, name, count, Some(package.name()));
    copy_object(&mut writer, original, "Mesh", false);
    writer.finish().unwrap()
}

fn chain_writer(app: &App, name: &str, count: u32, shared: Option<&str>) -> PackageWriter {
    let mut source = World::new();
    let ids: Vec<Entity> = (0..count).map(|_| source.spawn_empty().id()).collect();
    let rows: EntityRows = ids.iter().copied().zip(0..).collect();
    let registry = app.world().resource::<AppTypeRegistry>().read();
    let codecs = app.world().resource::<Codecs>().read();
    let mut context = EncodeContext::new(&registry, &rows);
    let mut writer = new_package(app, name);
    let mesh = mesh_object(&mut writer, app, shared);
    let mut columns = Vec::new();
    let handle = app.world().resource::<Assets<Mesh>>().reserve_handle();
    let values: [Vec<Box<dyn Reflect>>; 4] = [
        ids.iter()
            .map(|_| Box::new(Transform::from_xyz(1.0, 2.0, 3.0)) as Box<dyn Reflect>)
            .collect(),
        ids.iter()
            .map(|_| Box::new(Mesh3d(handle.clone())) as Box<dyn Reflect>)
            .collect(),
        (0..ids.len())
            .map(|row| Box::new(Likes(ids[(row + 1) % ids.len()])) as Box<dyn Reflect>)
            .collect(),
        (1..ids.len())
            .map(|row| Box::new(ChildOf(ids[row - 1])) as Box<dyn Reflect>)
            .collect(),
    ];
    for values in &values {
        let Some(first) = values.first() else { continue };
        let codec = codecs.component(first.as_any().type_id(), &registry).unwrap();
        let class = writer.class(&codec.schema(&registry)).unwrap().index() as u32;
        let mut encode = |values: &[Box<dyn Reflect>]| {
            let mut data = Vec::new();
            let values: Vec<&dyn Reflect> = values.iter().map(|value| &**value).collect();
            codec.encode(&values, &mut context, &mut data).unwrap();
            data
        };
        let head = if values.len() == ids.len() {
            encode(&values[..1])
        } else {
            Vec::new()
        };
        let rest = if values.len() == ids.len() {
            encode(&values[1..])
        } else {
            encode(values)
        };
        columns.push((class, head, rest));
    }
    drop((registry, codecs));
    let object_ids = (0..count).map(|row| ObjectId::new(name, &row.to_string())).collect();
    let mut level = LevelBuilder::new(object_ids, if count == 0 { vec![] } else { vec![0] });
    if count > 0 {
        let head: Vec<_> = columns
            .iter()
            .take(3)
            .map(|(class, head, _)| (*class, Role::ALL, head.as_slice()))
            .collect();
        level.group(1, head.into_iter());
    }
    if count > 1 {
        let rest: Vec<_> = columns
            .iter()
            .map(|(class, _, rest)| (*class, Role::ALL, rest.as_slice()))
            .collect();
        level.group(count - 1, rest.into_iter());
    }
    let class = writer
        .class(&schema(LEVEL_CLASS, Encoding::Level, LEVEL_VERSION, "level table"))
        .unwrap();
    writer
        .export(new_export(LEVEL_EXPORT, class, level.finish(), vec![mesh]))
        .unwrap();
    if shared.is_some() {
        // For copies; classes come before them.
        writer.class(&mesh_schema(app)).unwrap();
    }
    writer
}

fn mesh_schema(app: &App) -> Schema {
    let registry = app.world().resource::<AppTypeRegistry>().read();
    let codecs = app.world().resource::<Codecs>().read();
    codecs.asset(core::any::TypeId::of::<Mesh>()).unwrap().schema(&registry)
}

/// Copies an object without references out of the package in `original`. Its payloads come along, or stay there.
pub(super) fn copy_object(writer: &mut PackageWriter, original: &[u8], object: &str, payloads_stay: bool) {
    let package = Package::parse(original, &Limits::default()).unwrap();
    let index = package.find_name(object).unwrap();
    let class = writer.class(package.class_of(index).unwrap()).unwrap();
    let bulk = package.bulk(index).iter().enumerate().map(|(payload, bulk)| {
        if payloads_stay {
            return NewBulk::External(bulk);
        }
        let bytes = package.bulk_data(index, payload, original, 0).unwrap();
        bytes.into_owned().into()
    });
    let from = ForcedOrigin {
        package: package.name(),
        content_hash: package.summary().content_hash,
        index: index as u32,
    };
    let data = package.export_data(index, original, 0).unwrap().into_owned();
    let copy = NewExport {
        bulk: bulk.collect(),
        ..new_export(object, class, data, vec![])
    };
    writer.forced(from, copy).unwrap();
}

pub(super) fn new_export(
    name: &str,
    class: seamless_package::ClassIndex,
    data: Vec<u8>,
    refs: Vec<ObjectRef>,
) -> NewExport<'_> {
    NewExport {
        name,
        class,
        outer: ObjectRef::NONE,
        role: Role::ALL,
        data,
        refs,
        bulk: vec![],
        codec: Codec::None,
    }
}

pub(super) fn mesh_object(writer: &mut PackageWriter, app: &App, shared: Option<&str>) -> ObjectRef {
    use bevy_reflect::TypePath;
    if let Some(package) = shared {
        return writer.import(package, "Mesh", Mesh::type_path(), Role::ALL).unwrap();
    }
    let registry = app.world().resource::<AppTypeRegistry>().read();
    let codec = app
        .world()
        .resource::<Codecs>()
        .read()
        .asset(core::any::TypeId::of::<Mesh>())
        .unwrap();
    let class = writer.class(&codec.schema(&registry)).unwrap();
    let mut world = World::new();
    world.init_resource::<Assets<Mesh>>();
    let mesh = Mesh::new(PrimitiveTopology::PointList, RenderAssetUsages::MAIN_WORLD)
        .with_inserted_attribute(Mesh::ATTRIBUTE_POSITION, vec![[0.0, 1.0, 2.0]]);
    let handle = world.resource_mut::<Assets<Mesh>>().add(mesh);
    let rows = EntityRows::default();
    let mut context = EncodeContext::new(&registry, &rows);
    let encoded = codec
        .encode(&world, handle.id().untyped(), &mut context)
        .unwrap()
        .unwrap();
    writer.export(new_export("Mesh", class, encoded.data, vec![])).unwrap()
}

pub(super) fn shared_package(app: &App, name: &str) -> Vec<u8> {
    let mut writer = new_package(app, name);
    mesh_object(&mut writer, app, None);
    writer.finish().unwrap()
}
