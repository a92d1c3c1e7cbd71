//! Links and decodes one package whose bytes are there. Pure but for handles and entity ids; see [`decode`].

use core::any::TypeId;
use std::{borrow::Cow, collections::VecDeque, sync::Arc};

use bevy_asset::{UntypedAssetId, UntypedHandle};
use bevy_ecs::{
    entity::Entity,
    hierarchy::{ChildOf, Children},
};
use bevy_reflect::{Reflect, TypeRegistry};
use seamless_package::{Export, ObjectRef, Package, RefTarget};

use super::{
    PostLoad, Verify,
    classes::{AssetClass, Class, ClassLinker, ResourceClass},
    closure::{Need, Reach},
    task::{Job, LoadServices, Stop, Wanted},
    verify::Unverified,
};
use crate::{
    codec::{BulkUse, DecodeContext, DecodeError, DecodedAsset},
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

pub(super) struct Decoder<'a> {
    services: &'a LoadServices,
    job: &'a Job,
    file: String,
    package: &'a Package,
    reach: &'a Reach,
    registry: &'a TypeRegistry,
    class_linker: ClassLinker<'a>,
    classes: Vec<Option<Class>>,
    imports: Vec<Option<UntypedHandle>>,
    unverified: Vec<Unverified>,
    exports: Vec<Option<UntypedHandle>>,
}

/// A part of a package's file, which starts at the byte `start`.
#[derive(Clone, Copy)]
pub(super) struct Tail<'t> {
    pub bytes: &'t [u8],
    pub start: u64,
}

/// Links a package, decodes what the job reaches, and reserves the entities of its level. `data` is what follows the header of the
/// file.
pub(super) fn decode(
    services: &LoadServices,
    job: &Job,
    linker: Arc<Linker>,
    reach: &Reach,
    data: &[u8],
) -> Result<LoadedPackage, Stop> {
    let registry = services.registry.read();
    let tail = Tail {
        bytes: data,
        start: linker.package().summary().header_len(),
    };
    let mut decoder = Decoder::new(services, job, &linker, reach, &registry);
    decoder.link_imports()?;
    let assets = decoder.decode_assets(tail)?;
    let mut post_load = PostLoad::new(services, &linker);
    let level = match job.wanted {
        Wanted::Level { .. } => Some(decoder.decode_level(tail, &mut post_load)?),
        _ => None,
    };
    decoder.finish(&linker, assets, level, post_load)
}

impl<'a> Decoder<'a> {
    pub fn new(
        services: &'a LoadServices,
        job: &'a Job,
        linker: &'a Linker,
        reach: &'a Reach,
        registry: &'a TypeRegistry,
    ) -> Self {
        let package = linker.package();
        let class_linker = ClassLinker::new(linker, &services.codecs, registry);
        let class = |index| Some(class_linker.class(package.schema(index)?));
        let classes = (0..package.exports().len()).map(class).collect();
        Self {
            services,
            job,
            file: job.path.to_string(),
            package,
            reach,
            registry,
            class_linker,
            classes,
            imports: Vec::new(),
            unverified: Vec::new(),
            exports: vec![None; package.exports().len()],
        }
    }

    /// The package that is decoded.
    pub fn package(&self) -> &'a Package {
        self.package
    }

    /// Runs the post-loads and puts together what was decoded; `assets` are in the order of the exports.
    pub fn finish(
        self,
        linker: &Arc<Linker>,
        mut assets: Vec<LoadedAsset>,
        level: Option<Box<LoadedLevel>>,
        post_load: PostLoad,
    ) -> Result<LoadedPackage, Stop> {
        let wanted = self.wanted()?;
        let mut unverified = self.unverified;
        let requested = post_load.assets(&mut assets)?;
        unverified.extend(requested.unverified);
        let rendered = assets.iter().filter(|asset| asset.value.is_rendered());
        let own = self
            .exports
            .into_iter()
            .zip(self.package.exports())
            .filter(|(_, export)| !export.is_forced());
        let own = own.filter_map(|(handle, _)| handle);
        let mut needs = self.reach.needs(linker);
        needs.extend(requested.needs);
        Ok(LoadedPackage {
            needs,
            unverified,
            handles: own.chain(requested.handles).collect(),
            wanted,
            rendered: rendered.map(|asset| asset.asset).collect(),
            assets: assets.into(),
            level,
            linker: linker.clone(),
            sources: Vec::new(),
        })
    }
}

impl Decoder<'_> {
    fn error(&self, object: &str, kind: impl Into<LoadErrorKind>) -> Stop {
        Stop::from(LoadError::object(self.file.as_str(), object, kind))
    }

    /// Gives every import that is reached its handle.
    pub fn link_imports(&mut self) -> Result<(), Stop> {
        self.job.progress.set(LoadState::Linking);
        self.imports = vec![None; self.package.imports().len()];
        for index in self.reach.imported() {
            let Some(import) = self.package.imports().get(index) else {
                continue;
            };
            let object = self.package.name_of(import.object).unwrap_or_default();
            let type_path = self.package.name_of(import.type_path).unwrap_or_default();
            let Some(type_path) = self.class_linker.names.today(type_path) else {
                continue;
            };
            let unknown = || self.error(object, DecodeError::UnknownType(type_path.clone().into_owned()));
            let codec = self.services.codecs.read().asset_by_path(&type_path);
            let codec = codec.ok_or_else(unknown)?;
            let acquired = self.services.objects.acquire_slot(import.object_id, codec.type_id);
            let (handle, slot) = acquired.ok_or_else(unknown)?;
            if self.job.verify == Verify::Deferred && self.package.forced_for_import(index).is_none() {
                self.unverified
                    .push(Unverified::new(slot, &self.file, self.package, index, &type_path));
            }
            if let Some(place) = self.imports.get_mut(index) {
                *place = Some(handle);
            }
        }
        self.job.progress.set(LoadState::Decoding);
        Ok(())
    }

    /// Gives every asset that is reached its handle and decodes those that this load has to provide, in file order.
    fn decode_assets(&mut self, tail: Tail) -> Result<Vec<LoadedAsset>, Stop> {
        let mut assets = Vec::new();
        for index in 0..self.package.exports().len() {
            self.job.progress.check()?;
            let Some(slot) = self.claim(index)? else { continue };
            let data = self.data(index, tail)?;
            let payloads = (0..self.payload_count(index)).map(|payload| self.payload(index, payload, tail));
            let payloads = payloads.collect::<Result<_, _>>()?;
            assets.push(self.asset(index, slot, &data, payloads)?);
        }
        Ok(assets)
    }

    /// Gives an asset that is reached its handle; gives its slot if this load has to provide the value.
    pub fn claim(&mut self, index: usize) -> Result<Option<Slot>, Stop> {
        let package = self.package;
        let Some(export) = package.exports().get(index) else {
            return Ok(None);
        };
        if export.is_class() || !self.reach.exports.get(index).is_some_and(|reached| *reached) {
            return Ok(None);
        }
        let name = package.name_of(export.name).unwrap_or_default();
        let codec = match self.class_of(export) {
            Some(Class::Asset(class)) => &class.codec,
            Some(Class::Unknown(error)) => return Err(self.error(name, error.clone())),
            _ => return Ok(None),
        };
        let unknown = || self.error(name, DecodeError::UnknownType(codec.type_path.to_owned()));
        // Copies of others' objects may have gone meanwhile: nothing of this package keeps them alive.
        let (handle, slot) = if self.job.wanted == (Wanted::Level { assets: false }) && !export.is_forced() {
            let handle = self.services.objects.acquire(export.object_id, codec.type_id);
            (handle.ok_or_else(unknown)?, None)
        } else {
            let claim = self.services.objects.claim(export.object_id, codec.type_id);
            claim.ok_or_else(unknown)?.into_parts()
        };
        if let Some(place) = self.exports.get_mut(index) {
            *place = Some(handle);
        }
        Ok(slot)
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

    fn class_of(&self, export: &Export) -> Option<&Class> {
        match export.class.target() {
            RefTarget::Export(index) => self.classes.get(index)?.as_ref(),
            _ => None,
        }
    }

    /// The class of an asset.
    fn asset_class(&self, index: usize) -> Option<&AssetClass> {
        match self.class_of(self.package.exports().get(index)?)? {
            Class::Asset(class) => Some(class),
            _ => None,
        }
    }

    fn name(&self, index: usize) -> &'_ str {
        self.package.export_name(index).unwrap_or_default()
    }

    /// How many payloads an asset is decoded with.
    pub fn payload_count(&self, index: usize) -> usize {
        match self.asset_class(index).map(|class| class.codec.bulk) {
            Some(BulkUse::Load) => self.package.bulk(index).len(),
            _ => 0,
        }
    }

    /// The data of an export.
    pub fn data<'t>(&self, index: usize, tail: Tail<'t>) -> Result<Cow<'t, [u8]>, Stop> {
        let data = self.package.export_data(index, tail.bytes, tail.start);
        data.map_err(|error| self.error(self.name(index), error))
    }

    /// A payload that an asset is decoded with.
    pub fn payload(&self, index: usize, payload: usize, tail: Tail) -> Result<Vec<u8>, Stop> {
        let location = self.package.bulk_location(index, payload);
        if let Some((origin, _)) = location.and_then(|location| location.origin) {
            let kind = LoadErrorKind::ExternalBulk {
                payload,
                origin: origin.to_owned(),
                type_path: self.asset_class(index).map_or("", |class| class.codec.type_path),
            };
            return Err(self.error(self.name(index), kind));
        }
        let bytes = self.package.bulk_data(index, payload, tail.bytes, tail.start);
        Ok(bytes.map_err(|error| self.error(self.name(index), error))?.into_owned())
    }

    /// Decodes an asset that was claimed.
    pub fn asset(&self, index: usize, slot: Slot, data: &[u8], payloads: Vec<Vec<u8>>) -> Result<LoadedAsset, Stop> {
        let name = self.name(index);
        let handle = self.exports.get(index).and_then(Option::as_ref);
        let (Some(handle), Some(class)) = (handle, self.asset_class(index)) else {
            return Err(self.error(name, LoadErrorKind::NoSuchObject));
        };
        // About as large as it is once decoded.
        let bytes = data.len() + payloads.iter().map(Vec::len).sum::<usize>();
        let handles = self.references(index);
        let value = class.decode(data, payloads, &self.context(&[], &handles));
        Ok(LoadedAsset {
            slot,
            asset: handle.id(),
            name: name.to_owned(),
            bytes: bytes as u64,
            value: value.map_err(|error| self.error(name, error))?,
        })
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

    fn decode_level(&self, tail: Tail, post_load: &mut PostLoad) -> Result<Box<LoadedLevel>, Stop> {
        let mut found = None;
        let mut resources = Vec::new();
        for (index, export) in self.package.exports().iter().enumerate() {
            if export.is_class() || !export.role.intersects(self.services.role) {
                continue;
            }
            match self.class_of(export) {
                Some(Class::Level) => found = Some(index),
                Some(Class::Resource(class)) => resources.extend(self.decode_resource(index, class, tail)?),
                _ => {}
            }
        }
        let index = found.ok_or_else(|| LoadError::package(self.file.as_str(), LoadErrorKind::NoLevel))?;
        let name = self.name(index);
        let data = self.data(index, tail)?;
        let table = LevelTable::parse(&data, self.services.max_entities).map_err(|error| self.error(name, error))?;
        self.decode_table(name, index, table, resources, post_load)
    }

    fn decode_resource(
        &self,
        index: usize,
        class: &ResourceClass,
        tail: Tail,
    ) -> Result<Option<Box<dyn Reflect>>, Stop> {
        let data = self.data(index, tail)?;
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
