//! Packages with a level, put together value by value: where a cook would take long, or has no source for it.

use bevy::{prelude::*, reflect::TypePath};
use bevy_seamless::asset::{
    codec::{Codecs, EncodeContext, EntityRows},
    level_data::LevelBuilder,
    package::{ClassIndex, Codec, NewExport, ObjectId, ObjectRef, PackageWriter, PayloadUse, Role},
};

/// An empty package, saved at the latest versions of `app`.
///
/// # Panics
/// Never: an app's lists of versions are within the limits.
#[must_use]
pub fn new_package(app: &App, name: &str) -> PackageWriter {
    let mut writer = PackageWriter::new(name);
    let codecs = app.world().resource::<Codecs>().read();
    let versions = codecs.migrations().versions();
    writer.versions(versions).expect("the lists are short");
    writer
}

/// Adds an asset as its codec writes it. It refers to no other.
///
/// # Panics
/// When the app has no codec for it, or the package cannot hold it.
pub fn add_asset<A: Asset>(app: &App, writer: &mut PackageWriter, name: &str, asset: A) -> ObjectRef {
    add_asset_with(app, writer, name, asset, &References::default())
}

/// The same of an asset that refers to these others.
///
/// # Panics
/// When the app has no codec for it, it refers to another, or the package cannot hold it.
pub fn add_asset_with<A: Asset>(
    app: &App,
    writer: &mut PackageWriter,
    name: &str,
    asset: A,
    references: &References,
) -> ObjectRef {
    let registry = app.world().resource::<AppTypeRegistry>().read();
    let codecs = app.world().resource::<Codecs>().read();
    let codec = codecs
        .asset(core::any::TypeId::of::<A>())
        .expect("the type has a codec");
    let class = writer.class(&codec.schema(&registry)).expect("a class");
    let mut world = World::new();
    world.init_resource::<Assets<A>>();
    let handle = world.resource_mut::<Assets<A>>().add(asset);
    let rows = EntityRows::default();
    let mut context = EncodeContext::new(&registry, &rows);
    let encoded = codec.encode(&world, handle.id().untyped(), &mut context);
    let encoded = encoded.expect("it can be encoded").expect("it is there");
    let refs = context.into_references();
    let is_marked = codec.marks(&world, handle.id().untyped(), &encoded);
    let export = NewExport {
        refs: refs.iter().map(|handle| references.object(handle)).collect(),
        bulk_use: PayloadUse::marked(is_marked),
        bulk: encoded.bulk.into_iter().map(Into::into).collect(),
        ..export(name, class, encoded.data)
    };
    writer.export(export).expect("it fits")
}

fn export(name: &str, class: ClassIndex, data: Vec<u8>) -> NewExport<'_> {
    NewExport {
        name,
        class,
        outer: ObjectRef::NONE,
        role: Role::ALL,
        data: data.into(),
        refs: Vec::new(),
        bulk: Vec::new(),
        bulk_use: Default::default(),
        codec: Codec::None,
    }
}

/// Assets that the entities of a level refer to: a handle for each, and where it is.
#[derive(Default)]
pub struct References(Vec<(UntypedHandle, ObjectRef)>);

impl References {
    /// A handle that stands for an object of the package, or for an import.
    pub fn handle<A: Asset>(&mut self, app: &App, object: ObjectRef) -> Handle<A> {
        let handle = app.world().resource::<Assets<A>>().reserve_handle();
        self.0.push((handle.clone().untyped(), object));
        handle
    }

    fn object(&self, handle: &UntypedHandle) -> ObjectRef {
        let known = self.0.iter().find(|(known, _)| known == handle);
        known.expect("the handle is one of these").1
    }
}

/// Writes a level into a package: groups of entities with one set of components, one after the other.
pub struct LevelWriter<'a> {
    app: &'a App,
    writer: &'a mut PackageWriter,
    context: EncodeContext<'a>,
    level: LevelBuilder,
    columns: Vec<(u32, Vec<u8>)>,
}

impl LevelWriter<'_> {
    /// Adds a component of the next group: a value for each row.
    ///
    /// # Panics
    /// When the app cannot encode it.
    pub fn add<C: Component + Reflect + TypePath>(&mut self, values: impl IntoIterator<Item = C>) -> &mut Self {
        let registry = self.app.world().resource::<AppTypeRegistry>().read();
        let codecs = self.app.world().resource::<Codecs>().read();
        let codec = codecs.component(core::any::TypeId::of::<C>(), &registry);
        let codec = codec.expect("the component is registered");
        let class = self.writer.class(&codec.schema(&registry)).expect("a class");
        let values: Vec<C> = values.into_iter().collect();
        let values: Vec<&dyn Reflect> = values.iter().map(|value| value as &dyn Reflect).collect();
        let mut data = Vec::new();
        let encoded = codec.encode(&values, &mut self.context, &mut data);
        encoded.expect("the values can be encoded");
        self.columns.push((class.index() as u32, data));
        self
    }

    /// Ends a group of so many entities.
    pub fn end_group(&mut self, rows: usize) {
        let columns = core::mem::take(&mut self.columns);
        let columns = columns.iter();
        let columns = columns.map(|(class, data)| (*class, Role::ALL, data.as_slice()));
        self.level.group(rows as u32, columns);
    }
}

/// A level with entities named by their numbers, `ids`, of which those in the rows `roots` have no parent; `write` adds their components.
///
/// # Panics
/// When the package cannot hold it.
pub fn add_level(
    app: &App,
    writer: &mut PackageWriter,
    package: &str,
    ids: &[Entity],
    roots: Vec<u32>,
    references: &References,
    write: impl FnOnce(&mut LevelWriter),
) {
    let rows: EntityRows = ids.iter().copied().zip(0..).collect();
    let registry = app.world().resource::<AppTypeRegistry>().read();
    let objects = (0..ids.len()).map(|row| ObjectId::new(package, &row.to_string()));
    let mut level = LevelWriter {
        app,
        writer,
        context: EncodeContext::new(&registry, &rows),
        level: LevelBuilder::new(objects.collect(), roots),
        columns: Vec::new(),
    };
    write(&mut level);
    let LevelWriter {
        context, level, writer, ..
    } = level;
    let refs = context.into_references();
    let refs = refs.iter().map(|handle| references.object(handle)).collect();
    level.export(writer, refs, Codec::None).expect("the level fits");
}

/// Ids for the entities of a level that is to be written.
#[must_use]
pub fn new_ids(count: usize) -> Vec<Entity> {
    let mut source = World::new();
    (0..count).map(|_| source.spawn_empty().id()).collect()
}
