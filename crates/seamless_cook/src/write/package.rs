//! One package, from what is in the cache. See [`Writer`].

use std::borrow::Cow;
use std::collections::BTreeMap;

use bevy::reflect::TypePath;
use seamless_asset::assets::MeshUvDensity;
use seamless_asset::level_data::{LevelBuilder, level_schema};
use seamless_package::{
    ClassIndex, NewData, NewExport, ObjectId, ObjectRef, PackageWriter, PayloadUse, Role, Schema, WriteError,
};

use super::seek_free::{Copied, Originals};
use super::{Layout, Stop};
use crate::assets::{AssetKey, ByKey, EncodedObject, ObjectRecord};
use crate::density;
use crate::graph::blob::Stored;
use crate::graph::cache::Cache;
use crate::graph::output::Output;
use crate::layout::{PackageKind, PackagePlan};
use crate::level::{EncodedColumn, EncodedLevel};

/// Where objects seem to be that nobody of the target needs, and that lie nowhere: whoever asks for one is told by this name.
pub(crate) const LEFT_OUT: &str = "not-for-this-target.pkg";

/// What a package is made of.
pub(super) struct Inputs<'a> {
    objects: Vec<(&'a AssetKey, &'a ObjectRecord, EncodedObject)>,
    level: Option<EncodedLevel>,
    copies: Vec<Copied<'a>>,
}

impl<'a> Inputs<'a> {
    /// What the cache, and the packages that copies are made from, have of it.
    pub fn load(
        layout: &Layout<'a>,
        cache: &Cache,
        package: &'a PackagePlan,
        originals: &Originals,
        output: &Output,
    ) -> Result<Self, Stop> {
        let world = layout.world;
        let level = world.entities(cache, package)?;
        let objects = package.assets.iter();
        let objects = objects.filter_map(|key| Some((key, world.object(cache, key)?)));
        let objects = objects.map(|(key, (record, object))| Ok((key, record, object?)));
        Ok(Self {
            objects: objects.collect::<Result<_, Stop>>()?,
            level,
            copies: originals.load(layout, cache, &package.copies, output)?,
        })
    }
}

/// Writes one package.
pub(super) struct Writer<'a> {
    pub layout: &'a Layout<'a>,
    index: usize,
    pub writer: PackageWriter,
    classes: BTreeMap<String, ClassIndex>,
    exported: ByKey<ObjectRef>,
}

impl<'a> Writer<'a> {
    pub fn new(layout: &'a Layout<'a>, index: usize) -> Self {
        let file = layout
            .world
            .packages
            .get(index)
            .map_or("", |package| package.file.as_str());
        Self {
            layout,
            index,
            writer: PackageWriter::new(file),
            classes: BTreeMap::new(),
            exported: ByKey::default(),
        }
    }

    /// The package's bytes.
    pub fn build(mut self, inputs: Inputs, file: &str) -> Result<Vec<u8>, WriteError> {
        let Inputs { objects, level, copies } = inputs;
        self.writer.class_codec(self.layout.world.codec);
        self.writer.versions(self.layout.world.versions)?;
        self.add_classes(&objects, level.as_ref(), &copies)?;
        for (key, record, object) in objects {
            self.asset(key, record, object)?;
        }
        if let Some(level) = &level {
            self.level(level, file)?;
        }
        self.copy(copies)?;
        self.writer.finish()
    }

    fn add_classes(
        &mut self,
        objects: &[(&AssetKey, &ObjectRecord, EncodedObject)],
        level: Option<&EncodedLevel>,
        copies: &[Copied],
    ) -> Result<(), WriteError> {
        let level_schema = level_schema();
        let mut schemas: Vec<&Schema> = objects.iter().map(|(_, _, object)| &*object.schema).collect();
        schemas.extend(copies.iter().map(|copy| &*copy.object.schema));
        if let Some(level) = level {
            schemas.extend(self.columns(level).filter_map(|column| level.schema(column)));
            schemas.extend(level.resources.iter().map(|resource| &*resource.schema.0));
            schemas.push(&level_schema);
        }
        schemas.sort_by_key(|schema| &schema.type_path);
        for schema in schemas {
            // A type that is two things, say a resource and a component, is refused here.
            let class = self.writer.class(schema)?;
            self.classes.insert(schema.type_path.clone(), class);
        }
        Ok(())
    }

    pub fn class(&self, type_path: &str) -> Result<ClassIndex, WriteError> {
        self.classes
            .get(type_path)
            .copied()
            .ok_or_else(|| WriteError::BadClass {
                object: type_path.to_owned(),
            })
    }

    fn asset(&mut self, key: &AssetKey, record: &ObjectRecord, object: EncodedObject) -> Result<(), WriteError> {
        let name = self.layout.name(key);
        let refs = self.refs(&record.references)?;
        let export = NewExport {
            name: &name,
            class: self.class(&object.schema.type_path)?,
            outer: ObjectRef::NONE,
            role: record.role,
            data: NewData::Packed(object.data.0),
            refs,
            bulk: object.bulk.into_iter().map(Stored::into).collect(),
            bulk_use: self.bulk_use(record),
            codec: self.layout.world.codec,
        };
        let reference = self.writer.export(export)?;
        self.exported.insert(key.clone(), reference);
        Ok(())
    }

    /// Startup content is there before the first frame, whole.
    fn bulk_use(&self, record: &ObjectRecord) -> PayloadUse {
        let package = self.layout.world.packages.get(self.index);
        let is_startup = package.is_some_and(|package| package.kind == PackageKind::Startup);
        PayloadUse::marked(record.is_marked && !is_startup)
    }

    fn refs(&mut self, keys: &[AssetKey]) -> Result<Vec<ObjectRef>, WriteError> {
        keys.iter().map(|key| self.reference(key)).collect()
    }

    pub fn reference(&mut self, key: &AssetKey) -> Result<ObjectRef, WriteError> {
        if let Some(reference) = self.exported.get(key) {
            return Ok(*reference);
        }
        if let Some(object) = self.layout.left_out(key) {
            return (self.writer).import(LEFT_OUT, &key.path(), key.type_path(), object.role);
        }
        let Some(home) = self.layout.home(key).filter(|home| home.package != self.index) else {
            return Err(WriteError::BadReference {
                object: key.path(),
                reference: ObjectRef::NONE,
                what: "which has no package",
            });
        };
        self.writer.import(home.file, home.name, home.type_path, home.role)
    }

    /// The columns that somebody of the target needs.
    fn columns<'l>(&self, level: &'l EncodedLevel) -> impl Iterator<Item = &'l EncodedColumn> {
        let roles = self.layout.world.roles;
        let columns = level.groups.iter().flat_map(|group| &group.columns);
        columns.filter(move |column| column.role.intersects(roles))
    }

    fn level(&mut self, level: &EncodedLevel, file: &str) -> Result<(), WriteError> {
        for resource in &level.resources {
            let refs = self.refs(&resource.references)?;
            let type_path = &resource.schema.0.type_path;
            self.writer.export(NewExport {
                name: &format!("Resource:{type_path}"),
                class: self.class(type_path)?,
                outer: ObjectRef::NONE,
                role: Role::ALL,
                data: resource.data.clone().into(),
                refs,
                bulk: Vec::new(),
                bulk_use: PayloadUse::WithObject,
                codec: self.layout.world.codec,
            })?;
        }
        let (ids, world) = (entity_ids(level, file)?, self.layout.world);
        let mut builder = LevelBuilder::new(ids, level.roots.clone());
        for group in &level.groups {
            let mut columns = Vec::new();
            for column in group
                .columns
                .iter()
                .filter(|column| column.role.intersects(self.layout.world.roles))
            {
                let type_path = level.schema(column).map_or("", |schema| schema.type_path.as_str());
                let class = self.class(type_path)?.index() as u32;
                let data = match type_path == MeshUvDensity::type_path() {
                    true => density::filled(&column.data, &group.densities, &level.references, world.objects).into(),
                    false => Cow::Borrowed(column.data.as_slice()),
                };
                columns.push((class, column.role, data));
            }
            let columns = columns.iter().map(|(class, role, data)| (*class, *role, &**data));
            builder.group(group.rows, columns);
        }
        let refs = self.refs(&level.references)?;
        builder.export(&mut self.writer, refs, self.layout.world.codec)?;
        Ok(())
    }
}

/// Where an asset is at home.
pub(super) struct Home<'a> {
    /// Index of the package.
    pub package: usize,
    pub file: &'a str,
    pub name: &'a str,
    pub type_path: &'a str,
    pub role: Role,
}

impl Layout<'_> {
    /// The package of an asset, and its place there.
    pub fn place(&self, key: &AssetKey) -> Option<(usize, usize)> {
        *self.places.get(self.world.objects.get_index_of(key)?)?
    }

    pub fn name(&self, key: &AssetKey) -> String {
        let name = self.place(key).and_then(|place| self.name_at(place));
        name.map_or_else(|| key.path(), str::to_owned)
    }

    fn name_at(&self, (package, place): (usize, usize)) -> Option<&str> {
        Some(self.names.get(package)?.1.get(place)?)
    }

    /// An asset that nobody of the target needs.
    fn left_out(&self, key: &AssetKey) -> Option<&ObjectRecord> {
        let object = self.world.objects.get(key)?;
        (!object.role.intersects(self.world.roles)).then_some(object)
    }

    pub fn home(&self, key: &AssetKey) -> Option<Home<'_>> {
        let (index, key, object) = self.world.objects.get_full(key)?;
        let (package, place) = *self.places.get(index)?.as_ref()?;
        Some(Home {
            package,
            file: &self.world.packages.get(package)?.file,
            name: self.name_at((package, place))?,
            type_path: key.type_path(),
            role: object.role,
        })
    }
}

/// The entities' ids, of which no two may be the same.
fn entity_ids(level: &EncodedLevel, file: &str) -> Result<Vec<ObjectId>, WriteError> {
    let mut owners: BTreeMap<ObjectId, &str> = BTreeMap::new();
    let mut ids = Vec::with_capacity(level.entities.len());
    for name in &level.entities {
        let id = ObjectId::new(file, name);
        if let Some(first) = owners.insert(id, name) {
            return Err(WriteError::IdCollision {
                id,
                first: first.to_owned(),
                second: name.clone(),
            });
        }
        ids.push(id);
    }
    Ok(ids)
}
