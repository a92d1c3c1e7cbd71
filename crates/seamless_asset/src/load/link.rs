//! Links and decodes one package whose bytes are there. Pure but for handles and entity ids; see [`decode`].

mod level;
mod merge;
mod over;

use std::{collections::VecDeque, sync::Arc};

use bevy_asset::{UntypedAssetId, UntypedHandle};
use bevy_ecs::entity::Entity;
use bevy_reflect::TypeRegistry;
use seamless_package::{Export, ObjectId, ObjectRef, Package, RefTarget};

use super::{
    PostLoad, Verify,
    classes::{AssetClass, Class, ClassLinker},
    closure::{Need, Reach},
    task::{Job, LoadServices, Stop, Wanted},
    verify::Unverified,
};
use crate::{
    codec::{BulkUse, DecodeContext, DecodeError, DecodedAsset, ErasedAssetCodec},
    error::{LoadError, LoadErrorKind},
    linker::Linker,
    load::LoadState,
    objects::Slot,
};

pub(crate) use level::LoadedLevel;
pub(crate) use merge::{KeptGroup, LiveLevel, StagedLevel};
pub(crate) use over::{Reloading, Renewed};

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
    /// Values to move into `Assets`. References come first, but for copies of other packages' objects.
    pub assets: VecDeque<LoadedAsset>,
    /// All objects that came up, to be called complete when all that they refer to is there.
    pub slots: Vec<Slot>,
    /// The values that a renderer will prepare, whoever provided them.
    pub rendered: Vec<UntypedAssetId>,
    /// Whether it has provided all assets of the file that it read.
    pub has_assets: bool,
    /// The level, when one was asked for. What is wrong with it is nothing to those who need the assets only.
    pub level: Option<Result<Box<LoadedLevel>, Box<LoadError>>>,
    /// What a reload found, when it was one.
    pub renewed: Renewed,
}

/// A decoded asset that this load provides.
pub(super) struct LoadedAsset {
    pub slot: Slot,
    pub object: ObjectId,
    pub asset: UntypedAssetId,
    pub name: String,
    /// Its decoded size, about.
    pub bytes: u64,
    pub value: Box<dyn DecodedAsset>,
    /// Tells one version of the object from another; 0 tells nothing.
    pub fingerprint: u64,
    /// A reload puts it over the value that is there.
    pub replaces: bool,
}

struct Decoder<'a> {
    services: &'a LoadServices,
    job: &'a Job,
    file: &'a str,
    linker: &'a Linker,
    package: &'a Package,
    reach: &'a Reach,
    tail: &'a [u8],
    registry: &'a TypeRegistry,
    class_linker: ClassLinker<'a>,
    classes: Vec<Option<Class>>,
    imports: Vec<Option<UntypedHandle>>,
    unverified: Vec<Unverified>,
    exports: Vec<Option<UntypedHandle>>,
    slots: Vec<Slot>,
    /// What is live, and a renderer prepares.
    rendered: Vec<UntypedAssetId>,
    /// By index in the export table; of a reload only.
    changed: Vec<bool>,
    renewed: Renewed,
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
        linker: &linker,
        package,
        reach,
        tail,
        registry: &registry,
        class_linker,
        classes,
        imports: Vec::new(),
        unverified: Vec::new(),
        exports: vec![None; package.exports().len()],
        slots: Vec::new(),
        rendered: Vec::new(),
        changed: Vec::new(),
        renewed: Renewed::default(),
    };
    decoder.link_imports()?;
    decoder.changed = decoder.changed();
    let mut assets = decoder.decode_assets()?;
    let mut post_load = PostLoad::new(services, &linker, matches!(job.wanted, Wanted::Reload(_)));
    let mut level = None;
    match &job.wanted {
        Wanted::Level { .. } => match decoder.decode_level(&mut post_load) {
            Err(Stop::Cancelled) => return Err(Stop::Cancelled),
            Err(Stop::Failed(error)) => level = Some(Err(error)),
            Ok(decoded) => level = Some(Ok(decoded)),
        },
        Wanted::Reload(reloading) => {
            for live in &reloading.levels {
                let staged = decoder.decode_level_over(live, &mut post_load)?;
                decoder.renewed.levels.push(staged);
            }
        }
        Wanted::Assets | Wanted::Objects(_) => {}
    }
    let wanted = decoder.wanted()?;
    let Decoder {
        exports,
        mut unverified,
        mut slots,
        mut rendered,
        renewed,
        ..
    } = decoder;
    let requested = post_load.assets(&mut assets)?;
    unverified.extend(requested.unverified);
    slots.extend(assets.iter().map(|asset| asset.slot.clone()));
    let new = assets.iter().filter(|asset| asset.value.is_rendered());
    rendered.extend(new.map(|asset| asset.asset));
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
        slots,
        rendered,
        has_assets: !matches!(job.wanted, Wanted::Level { assets: false }),
        assets: assets.into(),
        level,
        renewed,
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
                    .push(Unverified::new(slot, self.file, self.package, index, &type_path));
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
        let mut renewed = Renewed::default();
        let (mut slots, mut rendered) = (Vec::new(), Vec::new());
        for (index, export) in self.package.exports().iter().enumerate() {
            self.job.progress.check()?;
            if export.is_class() || !self.reach.exports.get(index).is_some_and(|reached| *reached) {
                continue;
            }
            let name = self.package.name_of(export.name).unwrap_or_default();
            let class = match self.class_of(export) {
                Some(Class::Asset(class)) => class,
                Some(Class::Unknown(error)) => return Err(self.error(name, error.clone())),
                _ => continue,
            };
            let codec = &class.codec;
            let unknown = || self.error(name, DecodeError::UnknownType(codec.type_path.to_owned()));
            // Copies of others' objects may have gone meanwhile: nothing of this package keeps them alive.
            if matches!(self.job.wanted, Wanted::Level { assets: false }) && !export.is_forced() {
                let handle = self.services.objects.acquire(export.object_id, codec.type_id);
                let handle = handle.ok_or_else(unknown)?;
                self.set_export(index, handle);
                continue;
            }
            let acquired = self.services.objects.acquire_slot(export.object_id, codec.type_id);
            let (handle, slot) = acquired.ok_or_else(unknown)?;
            let fingerprint = self.fingerprint(index, export);
            if slot.is_live() && slot.is_rendered() {
                rendered.push(handle.id());
            }
            slots.push(slot.clone());
            if let Some((slot, replaces)) = self.claim(index, &handle, slot, &mut renewed) {
                let value = self.decode_asset(index, name, class)?;
                assets.push(LoadedAsset {
                    slot,
                    object: export.object_id,
                    asset: handle.id(),
                    name: name.to_owned(),
                    bytes: export.raw_size + self.bulk_bytes(index, &class.codec),
                    value,
                    fingerprint,
                    replaces,
                });
            }
            self.set_export(index, handle);
        }
        (self.renewed, self.slots, self.rendered) = (renewed, slots, rendered);
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
            Wanted::Level { .. } | Wanted::Reload(_) => Ok(Vec::new()),
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
}
