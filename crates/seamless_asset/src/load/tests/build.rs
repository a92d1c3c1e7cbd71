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

/// A chain of `count` entities, each liking the next, all below the first, with a mesh of the package.
pub(crate) fn chain(app: &App, name: &str, count: u32, shared: Option<&str>) -> Vec<u8> {
    chain_writer(app, name, count, shared).finish().unwrap()
}

/// The same with a copy of the package that has the mesh, which is `original`: no other file is needed.
pub(crate) fn seek_free_chain(app: &App, name: &str, count: u32, original: &[u8]) -> Vec<u8> {
    let package = Package::parse(original, &Limits::default()).unwrap();
    let mut writer = chain_writer(app, name, count, Some(package.name()));
    copy_object(&mut writer, original, "Mesh", false);
    writer.finish().unwrap()
}

/// A chain with a mesh of its own, and a copy of the mesh of the package in `original` that nothing refers to.
pub(super) fn chain_with_lone_copy(app: &App, name: &str, count: u32, original: &[u8]) -> Vec<u8> {
    let mut writer = chain_writer(app, name, count, None);
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
    let handle = app.world().resource::<Assets<Mesh>>().reserve_handle();
    let mut group = |rows: core::ops::Range<usize>, kin: Box<dyn Reflect>| {
        let all = ids.get(rows.clone()).unwrap_or_default().iter();
        let placed = |row: usize| Box::new(Transform::from_xyz(row as f32, 2.0, 3.0)) as Box<dyn Reflect>;
        let next = |row: usize| Box::new(Likes(ids[(row + 1) % ids.len()])) as Box<dyn Reflect>;
        let mut columns: Vec<Vec<Box<dyn Reflect>>> = vec![
            rows.clone().map(placed).collect(),
            all.clone()
                .map(|_| Box::new(Mesh3d(handle.clone())) as Box<dyn Reflect>)
                .collect(),
            rows.map(next).collect(),
        ];
        if count > 1 {
            let kin = all.map(|_| kin.reflect_clone().unwrap());
            columns.push(kin.collect());
        }
        let encode = |values: &Vec<Box<dyn Reflect>>| {
            let codec = codecs.component(values[0].as_any().type_id(), &registry).unwrap();
            let class = writer.class(&codec.schema(&registry)).unwrap().index() as u32;
            let values: Vec<&dyn Reflect> = values.iter().map(|value| &**value).collect();
            let mut data = Vec::new();
            codec.encode(&values, &mut context, &mut data).unwrap();
            (class, data)
        };
        columns.iter().map(encode).collect::<Vec<_>>()
    };
    let mut groups = Vec::new();
    if count > 0 {
        let below = Children::from_collection_risky(ids[1..].to_vec());
        groups.push((1, group(0..1, Box::new(below))));
    }
    if count > 1 {
        groups.push((count - 1, group(1..ids.len(), Box::new(ChildOf(ids[0])))));
    }
    let object_ids = (0..count).map(|row| ObjectId::new(name, &row.to_string())).collect();
    let mut level = LevelBuilder::new(object_ids, if count == 0 { vec![] } else { vec![0] });
    for (rows, columns) in &groups {
        let columns = columns.iter();
        level.group(*rows, columns.map(|(class, data)| (*class, Role::ALL, data.as_slice())));
    }
    drop((registry, codecs));
    level.export(&mut writer, vec![mesh], Codec::None).unwrap();
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
        bulk_use: package.exports().get(index).unwrap().bulk_use,
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
        data: data.into(),
        refs,
        bulk: vec![],
        bulk_use: Default::default(),
        codec: Codec::None,
    }
}

pub(super) fn mesh_object(writer: &mut PackageWriter, app: &App, shared: Option<&str>) -> ObjectRef {
    use bevy_reflect::TypePath;
    if let Some(package) = shared {
        return writer.import(package, "Mesh", Mesh::type_path(), Role::ALL).unwrap();
    }
    let mesh = Mesh::new(PrimitiveTopology::PointList, RenderAssetUsages::default())
        .with_inserted_attribute(Mesh::ATTRIBUTE_POSITION, vec![[0.0, 1.0, 2.0]]);
    asset_object(writer, app, "Mesh", mesh, vec![])
}

/// Adds an asset as its codec writes it; it refers to `refs`, in the order in which it has them.
pub(super) fn asset_object<A: Asset>(
    writer: &mut PackageWriter,
    app: &App,
    name: &str,
    asset: A,
    refs: Vec<ObjectRef>,
) -> ObjectRef {
    let registry = app.world().resource::<AppTypeRegistry>().read();
    let codecs = app.world().resource::<Codecs>().read();
    let codec = codecs.asset(core::any::TypeId::of::<A>()).unwrap();
    let class = writer.class(&codec.schema(&registry)).unwrap();
    let mut world = World::new();
    world.init_resource::<Assets<A>>();
    let handle = world.resource_mut::<Assets<A>>().add(asset);
    let rows = EntityRows::default();
    let mut context = EncodeContext::new(&registry, &rows);
    let encoded = codec
        .encode(&world, handle.id().untyped(), &mut context)
        .unwrap()
        .unwrap();
    assert_eq!(context.into_references().len(), refs.len());
    let export = NewExport {
        bulk: encoded.bulk.into_iter().map(NewBulk::from).collect(),
        ..new_export(name, class, encoded.data, refs)
    };
    writer.export(export).unwrap()
}

pub(crate) fn shared_package(app: &App, name: &str) -> Vec<u8> {
    let mut writer = new_package(app, name);
    mesh_object(&mut writer, app, None);
    writer.finish().unwrap()
}
