//! Links and decodes one package whose bytes are there. Pure but for handles and entity ids; see [`decode`].

use core::any::TypeId;
use std::{borrow::Cow, collections::VecDeque, sync::Arc};

use bevy_asset::{UntypedAssetId, UntypedHandle};
use bevy_ecs::{
    entity::Entity,
    hierarchy::{ChildOf, Children},
};
use bevy_platform::collections::HashMap;
use bevy_reflect::{Reflect, TypeRegistry};
use seamless_package::{Export, NameIndex, ObjectRef, Package, RefTarget};

use super::{
    PostLoad, Verify,
    classes::{AssetClass, Class, ClassLinker, ResourceClass},
    closure::{Need, Reach},
    task::{Job, LoadServices, Stop, Wanted},
    verify::Unverified,
};
use crate::{
    codec::{BulkUse, DecodeContext, DecodeError, DecodedAsset, ErasedAssetCodec},
    entities::ReservedEntities,
    error::{LoadError, LoadErrorKind},
    level_data::{DecodedLevel, GroupTable, LevelTable, check_columns},
    linker::Linker,
    load::LoadState,
    objects::Slot,
    spawn::{Group, Values, typed_column},
};

/// A package whose values are decoded.
pub(super) struct LoadedPackage {
    pub linker: Arc<Linker>,
    /// Packages that it imports from, open until they are loaded too.
    pub sources: Vec<Arc<Linker>>,
    /// What it needs of other packages.
    pub needs: Vec<Need>,
    /// The imports that still are to be compared with the exports of their packages.
    pub unverified: Vec<Unverified>,
    /// Handles of its own assets; they keep the objects alive as long as the package is in use. Those of imports are held by what
    /// was decoded, and by nothing else.
    pub handles: Vec<UntypedHandle>,
    /// The objects that were asked for, in that order.
    pub wanted: Vec<UntypedHandle>,
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

struct Decoder<'a> {
    services: &'a LoadServices,
    job: &'a Job,
    file: &'a str,
    package: &'a Package,
    reach: &'a Reach,
    tail: &'a [u8],
    registry: &'a TypeRegistry,
    class_linker: ClassLinker<'a>,
    classes: Vec<Option<Class>>,
    imports: Vec<Option<UntypedHandle>>,
    unverified: Vec<Unverified>,
    exports: Vec<Option<UntypedHandle>>,
}

/// Links a package, decodes what the job reaches, and reserves the entities of its level.
pub(super) fn decode(
    services: &LoadServices,
    job: &Job,
    linker: Arc<Linker>,
    reach: &Reach,
    tail: &[u8],
) -> Result<LoadedPackage, Stop> {
    let registry = services.registry.read();
    let package = linker.package();
    let class_linker = ClassLinker::new(&linker, &services.codecs, &registry);
    let class = |index| Some(class_linker.class(package.schema(index)?));
    let classes = (0..package.exports().len()).map(class).collect();
    let mut decoder = Decoder {
        services,
        job,
        file: &job.path.to_string(),
        package,
        reach,
        tail,
        registry: &registry,
        class_linker,
        classes,
        imports: Vec::new(),
        unverified: Vec::new(),
        exports: vec![None; package.exports().len()],
    };
    decoder.link_imports()?;
    let mut assets = decoder.decode_assets()?;
    let mut post_load = PostLoad::new(services, &linker);
    let level = match job.wanted {
        Wanted::Level { .. } => Some(decoder.decode_level(&mut post_load)?),
        _ => None,
    };
    let wanted = decoder.wanted()?;
    let Decoder {
        exports,
        mut unverified,
        ..
    } = decoder;
    let requested = post_load.assets(&mut assets)?;
    unverified.extend(requested.unverified);
    let rendered = assets.iter().filter(|asset| asset.value.is_rendered());
    let own = exports
        .into_iter()
        .zip(package.exports())
        .filter(|(_, export)| !export.is_forced());
    let own = own.filter_map(|(handle, _)| handle);
    let mut needs = reach.needs(&linker);
    needs.extend(requested.needs);
    Ok(LoadedPackage {
        needs,
        unverified,
        handles: own.chain(requested.handles).collect(),
        wanted,
        rendered: rendered.map(|asset| asset.asset).collect(),
        assets: assets.into(),
        level,
        linker,
        sources: Vec::new(),
    })
}

impl Decoder<'_> {
    fn error(&self, object: &str, kind: impl Into<LoadErrorKind>) -> Stop {
        Stop::from(LoadError::object(self.file, object, kind))
    }

    fn link_imports(&mut self) -> Result<(), Stop> {
        self.job.progress.set(LoadState::Linking);
        self.imports = vec![None; self.package.imports().len()];
        let package = self.package;
        // Many imports have one type.
        let mut types: HashMap<NameIndex, Option<(Cow<str>, Option<TypeId>)>> = HashMap::default();
        for index in self.reach.imported() {
            let Some(import) = package.imports().get(index) else {
                continue;
            };
            let known = types.entry(import.type_path).or_insert_with(|| {
                let type_path = package.name_of(import.type_path).unwrap_or_default();
                let type_path = self.class_linker.names.today(type_path)?;
                let codec = self.services.codecs.read().asset_by_path(&type_path);
                Some((type_path, codec.map(|codec| codec.type_id)))
            });
            let Some((type_path, type_id)) = known else {
                continue;
            };
            let acquired = type_id.and_then(|type_id| self.services.objects.acquire_slot(import.object_id, type_id));
            let Some((handle, slot)) = acquired else {
                let object = package.name_of(import.object).unwrap_or_default();
                return Err(self.error(object, DecodeError::UnknownType(type_path.to_string())));
            };
            if self.job.verify == Verify::Deferred && package.forced_for_import(index).is_none() {
                self.unverified
                    .push(Unverified::new(slot, self.file, package, index, type_path));
            }
            if let Some(place) = self.imports.get_mut(index) {
                *place = Some(handle);
            }
        }
        self.job.progress.set(LoadState::Decoding);
        Ok(())
    }

    /// Gives every asset that is reached its handle and decodes those that this load has to provide, in file order.
    fn decode_assets(&mut self) -> Result<Vec<LoadedAsset>, Stop> {
        let mut assets = Vec::new();
        for (index, export) in self.package.exports().iter().enumerate() {
            self.job.progress.check()?;
            if export.is_class() || !self.reach.exports.get(index).is_some_and(|reached| *reached) {
                continue;
            }
            let name = self.package.name_of(export.name).unwrap_or_default();
            let class = match self.class_of(&export) {
                Some(Class::Asset(class)) => class,
                Some(Class::Unknown(error)) => return Err(self.error(name, error.clone())),
                _ => continue,
            };
            let codec = &class.codec;
            let unknown = || self.error(name, DecodeError::UnknownType(codec.type_path.to_owned()));
            // Copies of others' objects may have gone meanwhile: nothing of this package keeps them alive.
            if self.job.wanted == (Wanted::Level { assets: false }) && !export.is_forced() {
                let handle = self.services.objects.acquire(export.object_id, codec.type_id);
                let handle = handle.ok_or_else(unknown)?;
                self.set_export(index, handle);
                continue;
            }
            let claim = self.services.objects.claim(export.object_id, codec.type_id);
            let claim = claim.ok_or_else(unknown)?;
            let (handle, slot) = claim.into_parts();
            if let Some(slot) = slot {
                let value = self.decode_asset(index, name, class)?;
                assets.push(LoadedAsset {
                    slot,
                    asset: handle.id(),
                    name: name.to_owned(),
                    bytes: export.raw_size + self.bulk_bytes(index, &class.codec),
                    value,
                });
            }
            self.set_export(index, handle);
        }
        Ok(assets)
    }

    /// The handles of the objects that were asked for: those named, or all.
    fn wanted(&self) -> Result<Vec<UntypedHandle>, Stop> {
        let handle = |name: &Arc<str>| {
            let handle = self
                .package
                .find_name(name)
                .and_then(|index| self.exports.get(index)?.clone());
            // It is there, and no asset.
            handle.ok_or_else(|| self.error(name, LoadErrorKind::NoSuchObject))
        };
        match &self.job.wanted {
            Wanted::Objects(names) => names.iter().map(handle).collect(),
            Wanted::Assets => Ok(self.exports.iter().flatten().cloned().collect()),
            Wanted::Level { .. } => Ok(Vec::new()),
        }
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

    fn bulk_bytes(&self, index: usize, codec: &ErasedAssetCodec) -> u64 {
        match codec.bulk {
            BulkUse::Load => self.package.bulk(index).iter().map(|bulk| bulk.raw_size).sum(),
            BulkUse::OnDemand => 0,
        }
    }

    fn decode_asset(&self, index: usize, name: &str, class: &AssetClass) -> Result<Box<dyn DecodedAsset>, Stop> {
        let bad = |error| self.error(name, LoadErrorKind::Package(error));
        let data = self
            .package
            .export_data(index, self.tail, self.tail_offset())
            .map_err(bad)?;
        let bulk = match class.codec.bulk {
            BulkUse::Load => self.payloads(index, name, &class.codec)?,
            BulkUse::OnDemand => Vec::new(),
        };
        let handles = self.references(index);
        let context = self.context(&[], &handles);
        class
            .decode(&data, bulk, &context)
            .map_err(|error| self.error(name, error))
    }

    /// The payloads that an asset is decoded with.
    fn payloads(&self, index: usize, name: &str, codec: &ErasedAssetCodec) -> Result<Vec<Vec<u8>>, Stop> {
        let payload = |payload| {
            let location = self.package.bulk_location(index, payload);
            if let Some((origin, _)) = location.and_then(|location| location.origin) {
                return Err(self.error(
                    name,
                    LoadErrorKind::ExternalBulk {
                        payload,
                        origin: origin.to_owned(),
                        type_path: codec.type_path,
                    },
                ));
            }
            let bytes = self.package.bulk_data(index, payload, self.tail, self.tail_offset());
            Ok(bytes.map_err(|error| self.error(name, error))?.into_owned())
        };
        (0..self.package.bulk(index).len()).map(payload).collect()
    }

    /// What follows the header of the file.
    fn tail_offset(&self) -> u64 {
        self.package.summary().header_len()
    }

    fn references(&self, index: usize) -> Vec<Option<UntypedHandle>> {
        let target = |reference: ObjectRef| match reference.target() {
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

    fn decode_level(&self, post_load: &mut PostLoad) -> Result<Box<LoadedLevel>, Stop> {
        let mut found = None;
        let mut resources = Vec::new();
        for (index, export) in self.package.exports().iter().enumerate() {
            if export.is_class() || !export.role.intersects(self.services.role) {
                continue;
            }
            match self.class_of(&export) {
                Some(Class::Level) => found = Some(index),
                Some(Class::Resource(class)) => resources.extend(self.decode_resource(index, class)?),
                _ => {}
            }
        }
        let index = found.ok_or_else(|| LoadError::package(self.file, LoadErrorKind::NoLevel))?;
        let name = self.package.export_name(index).unwrap_or_default();
        let data = self
            .package
            .export_data(index, self.tail, self.tail_offset())
            .map_err(|error| self.error(name, LoadErrorKind::Package(error)))?;
        let table = LevelTable::parse(&data, self.services.max_entities).map_err(|error| self.error(name, error))?;
        self.decode_table(name, index, table, resources, post_load)
    }

    fn decode_resource(&self, index: usize, class: &ResourceClass) -> Result<Option<Box<dyn Reflect>>, Stop> {
        let data = self
            .package
            .export_data(index, self.tail, self.tail_offset())
            .map_err(|error| self.error(&class.type_path, LoadErrorKind::Package(error)))?;
        let handles = self.references(index);
        class
            .decode(&data, &self.context(&[], &handles))
            .map_err(|error| self.error(&class.type_path, error))
    }

    fn decode_table(
        &self,
        name: &str,
        index: usize,
        table: LevelTable,
        resources: Vec<Box<dyn Reflect>>,
        post_load: &mut PostLoad,
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
            self.job.progress.check()?;
            let (rows, left) = rest.split_at_checked(group.rows as usize).unwrap_or((rest, &[]));
            rest = left;
            groups.push(self.decode_group(name, group, rows, root, &context, post_load)?);
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
        post_load: &mut PostLoad,
    ) -> Result<Group, Stop> {
        let mut columns = Vec::with_capacity(group.columns.len());
        for column in &group.columns {
            if !column.role.intersects(self.services.role) {
                continue;
            }
            let class = match self.classes.get(column.class as usize).and_then(Option::as_ref) {
                Some(Class::Component(class)) => class,
                #[cfg(feature = "migrations")]
                Some(Class::Dropped) => continue,
                Some(Class::Unknown(error)) => return Err(self.error(name, error.clone())),
                _ => {
                    let message = format!("export {} is no component class", column.class);
                    return Err(self.error(name, DecodeError::Malformed(message)));
                }
            };
            let object = || format!("{name}.{}", class.type_path);
            let mut decoded = Vec::new();
            class
                .decode(column.data, rows.len(), context, &mut decoded)
                .map_err(|error| self.error(&object(), error))?;
            for column in decoded {
                columns.push(post_load.column(&object, column)?);
            }
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
