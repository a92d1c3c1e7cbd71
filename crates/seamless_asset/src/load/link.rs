//! Links and decodes one package whose bytes are there. Pure but for handles and entity ids; see [`decode`].

use core::any::TypeId;
use std::{collections::VecDeque, sync::Arc};

use bevy_asset::{UntypedAssetId, UntypedHandle};
use bevy_ecs::{
    entity::Entity,
    hierarchy::{ChildOf, Children},
};
use bevy_reflect::{Reflect, TypeRegistry};
use seamless_package::{Export, ObjectRef, Package, RefTarget, Schema};

use super::{
    imports::{Exports, ImportedObject, exports_of, imports_of},
    task::{Job, LoadServices, Stop},
};
use crate::{
    codec::{
        ComponentCodec, DecodeContext, DecodeError, DecodedAsset, Encoding, ErasedAssetCodec, check_layout,
        decode_reflected_whole, resource_schema,
    },
    entities::ReservedEntities,
    error::{LoadError, LoadErrorKind},
    level_data::{DecodedLevel, GroupTable, LEVEL_VERSION, LevelTable, check_columns},
    load::{LoadState, Progress},
    objects::Slot,
    spawn::{Group, Values, typed_column},
};

/// A package whose values are decoded.
pub(super) struct LoadedPackage {
    /// The name it was cooked under, which imports of others use.
    pub name: String,
    /// Every object that it exports.
    pub exports: Exports,
    /// The objects that it imports, to check against the exports of their packages.
    pub imports: Vec<ImportedObject>,
    /// Handles of its assets and of those it imports; they keep the objects alive as long as the package is in use.
    pub handles: Vec<UntypedHandle>,
    /// Values to move into `Assets`, in an order in which references come first.
    pub assets: VecDeque<LoadedAsset>,
    /// The values that a renderer will prepare.
    pub rendered: Vec<UntypedAssetId>,
    /// The level, when one was asked for.
    pub level: Option<Box<LoadedLevel>>,
}

/// A decoded asset that this load provides.
pub(super) struct LoadedAsset {
    pub slot: Slot,
    pub asset: UntypedAssetId,
    pub name: String,
    /// Its decoded size, about.
    pub bytes: u64,
    pub value: Box<dyn DecodedAsset>,
}

/// A decoded level and the ids it will have.
pub(crate) struct LoadedLevel {
    pub level: DecodedLevel,
    pub reserved: ReservedEntities,
    pub root: Entity,
    pub resources: Vec<Box<dyn Reflect>>,
    /// Bytes read for this level alone, when its package's assets were there already.
    pub bytes: u64,
}

/// What a class of the package stands for in this app.
enum Class {
    Asset(Arc<ErasedAssetCodec>),
    Component(Arc<dyn ComponentCodec>),
    Resource(String),
    Level,
    /// Unknown here; an error only for an object whose role this app has.
    Unknown(DecodeError),
}

struct Linker<'a> {
    services: &'a LoadServices,
    job: &'a Job,
    file: &'a str,
    package: &'a Package,
    tail: &'a [u8],
    registry: &'a TypeRegistry,
    classes: Vec<Option<Class>>,
    imports: Vec<Option<UntypedHandle>>,
    exports: Vec<Option<UntypedHandle>>,
}

/// Links `package`, decodes what the job asks for, and reserves the entities of its level.
pub(super) fn decode(
    services: &LoadServices,
    job: &Job,
    file: &str,
    package: Package,
    tail: &[u8],
) -> Result<LoadedPackage, Stop> {
    let registry = services.registry.read();
    let mut linker = Linker {
        services,
        job,
        file,
        package: &package,
        tail,
        registry: &registry,
        classes: Vec::new(),
        imports: Vec::new(),
        exports: vec![None; package.exports().len()],
    };
    linker.link_classes();
    linker.link_imports()?;
    let assets = linker.decode_assets(&job.progress)?;
    let level = if job.level { Some(linker.decode_level()?) } else { None };
    let Linker { imports, exports, .. } = linker;
    let rendered = assets.iter().filter(|asset| asset.value.is_rendered());
    Ok(LoadedPackage {
        name: package.name().to_owned(),
        exports: exports_of(&package),
        imports: imports_of(&package, services.role),
        handles: exports.into_iter().chain(imports).flatten().collect(),
        rendered: rendered.map(|asset| asset.asset).collect(),
        assets: assets.into(),
        level,
    })
}

impl Linker<'_> {
    fn error(&self, object: &str, kind: impl Into<LoadErrorKind>) -> Stop {
        Stop::from(LoadError::object(self.file, object, kind))
    }

    /// Finds the codec of each class, and compares its layout with the one in the package.
    fn link_classes(&mut self) {
        self.classes = (0..self.package.exports().len())
            .map(|index| Some(self.class(self.package.schema(index)?)))
            .collect();
    }

    fn class(&self, stored: &Schema) -> Class {
        let codecs = self.services.codecs.read();
        let path = stored.type_path.as_str();
        let unknown = || DecodeError::UnknownType(path.to_owned());
        let known = match Encoding::from_u8(stored.encoding) {
            Some(Encoding::Level) => Ok((
                Schema {
                    version: LEVEL_VERSION,
                    ..stored.clone()
                },
                Class::Level,
            )),
            Some(Encoding::Resource) => {
                let known = self.registry.get_with_type_path(path).ok_or_else(unknown);
                known.map(|known| {
                    let is = resource_schema(known.type_info(), self.registry);
                    (is, Class::Resource(path.to_owned()))
                })
            }
            Some(Encoding::Asset) => {
                let codec = codecs.asset_by_path(path).ok_or_else(unknown);
                codec.map(|codec| (codec.schema(self.registry), Class::Asset(codec)))
            }
            Some(_) => {
                let codec = codecs.component_reader(stored, self.registry);
                return codec.map_or_else(Class::Unknown, Class::Component);
            }
            None => {
                let message = format!("encoding {} is unknown", stored.encoding);
                Err(DecodeError::Malformed(message))
            }
        };
        known
            .and_then(|(is, class)| check_layout(stored, &is).map(|()| class))
            .unwrap_or_else(Class::Unknown)
    }

    fn link_imports(&mut self) -> Result<(), Stop> {
        self.job.progress.set(LoadState::Linking);
        let mut imports = Vec::with_capacity(self.package.imports().len());
        for import in self.package.imports() {
            if !import.role.intersects(self.services.role) {
                imports.push(None);
                continue;
            }
            let object = self.package.name_of(import.object).unwrap_or_default();
            let type_path = self.package.name_of(import.type_path).unwrap_or_default();
            let unknown = || DecodeError::UnknownType(type_path.to_owned());
            let codec = self.services.codecs.read().asset_by_path(type_path);
            let codec = codec.ok_or_else(|| self.error(object, unknown()))?;
            let handle = self.services.objects.acquire(import.object_id, codec.type_id);
            imports.push(Some(handle.ok_or_else(|| self.error(object, unknown()))?));
        }
        self.imports = imports;
        self.job.progress.set(LoadState::Decoding);
        Ok(())
    }

    /// Gives every asset its handle and decodes those that this load has to provide, in file order.
    fn decode_assets(&mut self, progress: &Progress) -> Result<Vec<LoadedAsset>, Stop> {
        let mut assets = Vec::new();
        for (index, export) in self.package.exports().iter().enumerate() {
            if progress.is_cancelled() {
                return Err(Stop::Cancelled);
            }
            if export.is_class() || !export.role.intersects(self.services.role) {
                continue;
            }
            let name = self.package.name_of(export.name).unwrap_or_default();
            let codec = match self.class_of(export) {
                Some(Class::Asset(codec)) => codec.clone(),
                Some(Class::Unknown(error)) => return Err(self.error(name, copy_error(error))),
                _ => continue,
            };
            let unknown = || self.error(name, DecodeError::UnknownType(codec.type_path.to_owned()));
            if !self.job.assets {
                let handle = self.services.objects.acquire(export.object_id, codec.type_id);
                let handle = handle.ok_or_else(unknown)?;
                self.set_export(index, handle);
                continue;
            }
            let claim = self.services.objects.claim(export.object_id, codec.type_id);
            let claim = claim.ok_or_else(unknown)?;
            let (handle, slot) = claim.into_parts();
            if let Some(slot) = slot {
                let value = self.decode_asset(index, export, name, &codec)?;
                assets.push(LoadedAsset {
                    slot,
                    asset: handle.id(),
                    name: name.to_owned(),
                    bytes: export.raw_size + self.bulk_bytes(index),
                    value,
                });
            }
            self.set_export(index, handle);
        }
        Ok(assets)
    }

    fn set_export(&mut self, index: usize, handle: UntypedHandle) {
        if let Some(slot) = self.exports.get_mut(index) {
            *slot = Some(handle);
        }
    }

    fn class_of(&self, export: &Export) -> Option<&Class> {
        match export.class.target() {
            RefTarget::Export(index) => self.classes.get(index)?.as_ref(),
            _ => None,
        }
    }

    fn bulk_bytes(&self, index: usize) -> u64 {
        self.package.bulk(index).iter().map(|bulk| bulk.raw_size).sum()
    }

    fn decode_asset(
        &self,
        index: usize,
        export: &Export,
        name: &str,
        codec: &ErasedAssetCodec,
    ) -> Result<Box<dyn DecodedAsset>, Stop> {
        let bad = |error| self.error(name, LoadErrorKind::Package(error));
        let data = self
            .package
            .export_data(index, self.tail, self.tail_offset())
            .map_err(bad)?;
        let mut bulk = Vec::new();
        for payload in 0..export.bulk_count as usize {
            let bytes = self.package.bulk_data(index, payload, self.tail, self.tail_offset());
            bulk.push(bytes.map_err(bad)?.into_owned());
        }
        let handles = self.references(index);
        let context = self.context(&[], &handles);
        codec
            .decode(&data, bulk, &context)
            .map_err(|error| self.error(name, error))
    }

    /// What follows the header of the file.
    fn tail_offset(&self) -> u64 {
        self.package.summary().header_len()
    }

    fn references(&self, index: usize) -> Vec<Option<UntypedHandle>> {
        let target = |reference: &ObjectRef| match reference.target() {
            RefTarget::None => None,
            RefTarget::Export(index) => self.exports.get(index)?.clone(),
            RefTarget::Import(index) => self.imports.get(index)?.clone(),
        };
        self.package.refs(index).iter().map(target).collect()
    }

    fn context<'c>(&'c self, entities: &'c [Entity], handles: &'c [Option<UntypedHandle>]) -> DecodeContext<'c> {
        DecodeContext {
            registry: self.registry,
            entities,
            handles,
            mesh_attributes: &self.services.mesh_attributes,
        }
    }

    fn decode_level(&self) -> Result<Box<LoadedLevel>, Stop> {
        let mut found = None;
        let mut resources = Vec::new();
        for (index, export) in self.package.exports().iter().enumerate() {
            if export.is_class() || !export.role.intersects(self.services.role) {
                continue;
            }
            match self.class_of(export) {
                Some(Class::Level) => found = Some(index),
                Some(Class::Resource(type_path)) => resources.push(self.decode_resource(index, type_path)?),
                _ => {}
            }
        }
        let index = found.ok_or_else(|| LoadError::package(self.file, LoadErrorKind::NoLevel))?;
        let export = &self.package.exports()[index];
        let name = self.package.name_of(export.name).unwrap_or_default();
        let data = self
            .package
            .export_data(index, self.tail, self.tail_offset())
            .map_err(|error| self.error(name, LoadErrorKind::Package(error)))?;
        let table = LevelTable::parse(&data, self.services.max_entities).map_err(|error| self.error(name, error))?;
        self.decode_table(name, index, table, resources)
    }

    fn decode_resource(&self, index: usize, type_path: &str) -> Result<Box<dyn Reflect>, Stop> {
        let data = self
            .package
            .export_data(index, self.tail, self.tail_offset())
            .map_err(|error| self.error(type_path, LoadErrorKind::Package(error)))?;
        let registration = self
            .registry
            .get_with_type_path(type_path)
            .ok_or_else(|| self.error(type_path, DecodeError::UnknownType(type_path.to_owned())))?;
        let handles = self.references(index);
        decode_reflected_whole(registration, &data, &self.context(&[], &handles))
            .map_err(|error| self.error(type_path, error))
    }

    fn decode_table(
        &self,
        name: &str,
        index: usize,
        table: LevelTable,
        resources: Vec<Box<dyn Reflect>>,
    ) -> Result<Box<LoadedLevel>, Stop> {
        // One more for the root. Whatever goes wrong below, the guard gives the ids back.
        let reserved = self.services.pool.reserve(table.ids.len() + 1);
        let Some((&root, entities)) = reserved.as_slice().split_first() else {
            return Err(self.error(name, LoadErrorKind::NoLevel));
        };
        let handles = self.references(index);
        let context = self.context(entities, &handles);
        let mut groups = Vec::with_capacity(table.groups.len());
        let mut rest = entities;
        for group in &table.groups {
            if self.job.progress.is_cancelled() {
                return Err(Stop::Cancelled);
            }
            let (rows, left) = rest.split_at_checked(group.rows as usize).unwrap_or((rest, &[]));
            rest = left;
            groups.push(self.decode_group(name, group, rows, root, &context)?);
        }
        let roots = table
            .roots
            .iter()
            .filter_map(|row| entities.get(*row as usize).copied())
            .collect();
        let with_children = |group: &&Group| group.values.types().contains(&TypeId::of::<Children>());
        let level = DecodedLevel {
            parents: groups
                .iter()
                .filter(with_children)
                .flat_map(|group| group.entities.iter().copied())
                .collect(),
            groups,
            entities: entities.to_vec(),
            roots,
            objects: Arc::new(table.ids.iter().map(|id| id.0).zip(entities.iter().copied()).collect()),
        };
        Ok(Box::new(LoadedLevel {
            level,
            root,
            reserved,
            resources,
            bytes: 0,
        }))
    }

    fn decode_group(
        &self,
        name: &str,
        group: &GroupTable,
        rows: &[Entity],
        root: Entity,
        context: &DecodeContext,
    ) -> Result<Group, Stop> {
        let mut columns = Vec::with_capacity(group.columns.len());
        for column in &group.columns {
            if !column.role.intersects(self.services.role) {
                continue;
            }
            let codec = match self.classes.get(column.class as usize).and_then(Option::as_ref) {
                Some(Class::Component(codec)) => codec,
                Some(Class::Unknown(error)) => return Err(self.error(name, copy_error(error))),
                _ => {
                    let message = format!("export {} is no component class", column.class);
                    return Err(self.error(name, DecodeError::Malformed(message)));
                }
            };
            let decoded = codec.decode(column.data, rows.len(), context);
            columns.push(decoded.map_err(|error| self.error(&format!("{name}.{}", codec.type_path()), error))?);
        }
        if columns
            .iter()
            .all(|column| (**column).type_id() != TypeId::of::<ChildOf>())
        {
            // Entities without a parent of their own hang below the instance's root.
            columns.push(typed_column(vec![ChildOf(root); rows.len()]));
        }
        check_columns(&columns, rows.len()).map_err(|error| self.error(name, error))?;
        let codecs = self.services.codecs.read();
        let values = Values::new(columns, codecs.rows()).map_err(|error| self.error(name, error))?;
        Ok(Group {
            entities: rows.to_vec(),
            values,
        })
    }
}

/// A class's error is reported for the first object that needs the class, and the class may have many.
fn copy_error(error: &DecodeError) -> DecodeError {
    match error {
        DecodeError::UnknownType(name) => DecodeError::UnknownType(name.clone()),
        DecodeError::SchemaChanged { type_path, was, is } => DecodeError::SchemaChanged {
            type_path: type_path.clone(),
            was: was.clone(),
            is: is.clone(),
        },
        DecodeError::ImmutableChanged { type_path, was, is } => DecodeError::ImmutableChanged {
            type_path: type_path.clone(),
            was: was.clone(),
            is: is.clone(),
        },
        DecodeError::Layout { type_path, error } => DecodeError::Layout {
            type_path: type_path.clone(),
            error: error.clone(),
        },
        other => DecodeError::Malformed(other.to_string()),
    }
}
