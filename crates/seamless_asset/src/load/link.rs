//! Links and decodes one package whose bytes are there. Pure but for handles and entity ids; see [`decode`].

mod level;
mod merge;
mod over;

use core::any::TypeId;
use std::{borrow::Cow, collections::VecDeque, sync::Arc};

use bevy_asset::{UntypedAssetId, UntypedHandle};
use bevy_ecs::entity::Entity;
use bevy_log::debug_span;
use bevy_platform::collections::{HashMap, HashSet};
use bevy_reflect::TypeRegistry;
use seamless_package::{Export, NameIndex, ObjectId, ObjectRef, Package, RefTarget};

use super::{
    PostLoad, Verify,
    classes::{AssetClass, Class, ClassLinker},
    closure::{Need, Reach, leaves_payloads},
    cost::{CostKey, UnitKind},
    task::{Job, LoadServices, Stop, Wanted},
    verify::Unverified,
};
use crate::{
    codec::{DecodeContext, DecodeError, DecodedAsset, DecodedObject},
    error::{LoadError, LoadErrorKind},
    linker::Linker,
    load::LoadState,
    objects::Slot,
    reveal::keep_box,
};

pub(crate) use level::LoadedLevel;
pub(super) use level::RowGroup;
pub(crate) use merge::{KeptGroup, LiveLevel, ReloadedLevel};
pub(super) use over::Claim;
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
    /// Handles of its own assets, and of copies that nothing in it refers to; they keep the objects alive as long as the package is
    /// in use. Those of imports and of other copies are held by what was decoded, and by nothing else.
    pub handles: Vec<UntypedHandle>,
    /// The objects that were asked for, in that order.
    pub wanted: Vec<UntypedHandle>,
    /// Values to move into `Assets`. References come first, but for copies of other packages' objects.
    pub assets: VecDeque<LoadedAsset>,
    /// All objects that came up, each once, to be called complete when all that they refer to is there.
    pub slots: Vec<Slot>,
    /// What all of them take in memory, about, whoever brings them.
    pub memory: u64,
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

impl LoadedAsset {
    /// What tells the cost of its insertion.
    pub fn cost_key(&self) -> CostKey {
        CostKey {
            unit: UnitKind::Insert,
            of: Some(self.asset.type_id()),
        }
    }
}

pub(super) struct Decoder<'a> {
    services: &'a LoadServices,
    job: &'a Job,
    file: String,
    linker: &'a Linker,
    package: &'a Package,
    reach: &'a Reach,
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
    debug_span!("link").in_scope(|| decoder.link_imports())?;
    let decoding = debug_span!("decode").entered();
    decoder.changed = decoder.changed();
    let assets = decoder.decode_assets(tail)?;
    let mut post_load = PostLoad::new(services, &linker, matches!(job.wanted, Wanted::Reload(_)));
    // Post-loads of components run in between, column by column.
    let level = decoder.decode_levels(tail, &mut post_load)?;
    drop(decoding);
    let _span = debug_span!("post_load").entered();
    decoder.finish(&linker, assets, level, post_load)
}

/// A level, or what is wrong with it.
type LevelResult = Result<Box<LoadedLevel>, Box<LoadError>>;

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
            linker,
            package,
            reach,
            registry,
            class_linker,
            classes,
            imports: Vec::new(),
            unverified: Vec::new(),
            exports: vec![None; package.exports().len()],
            slots: Vec::new(),
            rendered: Vec::new(),
            changed: Vec::new(),
            renewed: Renewed::default(),
        }
    }

    /// The package that is decoded.
    pub fn package(&self) -> &'a Package {
        self.package
    }

    /// The level for a new instance, or for those that are live.
    fn decode_levels(&mut self, tail: Tail, post_load: &mut PostLoad) -> Result<Option<LevelResult>, Stop> {
        match &self.job.wanted {
            Wanted::Level { instance, .. } => match self.decode_level(instance, tail, post_load) {
                Err(Stop::Cancelled) => Err(Stop::Cancelled),
                Err(Stop::Failed(error)) => Ok(Some(Err(error))),
                Ok(level) => Ok(Some(Ok(level))),
            },
            Wanted::Reload(reloading) => {
                for live in &reloading.levels {
                    let staged = self.decode_level_over(live, tail, post_load)?;
                    self.renewed.levels.push(staged);
                }
                Ok(None)
            }
            Wanted::Assets | Wanted::Objects(_) => Ok(None),
        }
    }

    /// Runs the post-loads and puts together what was decoded; `assets` are in the order of the exports.
    pub fn finish(
        self,
        linker: &Arc<Linker>,
        mut assets: Vec<LoadedAsset>,
        level: Option<LevelResult>,
        post_load: PostLoad,
    ) -> Result<LoadedPackage, Stop> {
        let wanted = self.wanted()?;
        let kept = self.kept();
        let (mut unverified, mut slots, mut rendered) = (self.unverified, self.slots, self.rendered);
        let requested = post_load.assets(&mut assets, &self.job.progress)?;
        if self.services.codecs.read().rows().gives_boxes {
            assets.iter_mut().for_each(|asset| keep_box(&mut *asset.value));
        }
        unverified.extend(requested.unverified);
        let brought: HashSet<usize> = assets.iter().map(|asset| asset.slot.address()).collect();
        slots.retain(|slot| !brought.contains(&slot.address()));
        let there: u64 = slots.iter().map(Slot::bytes).sum();
        let memory = there + assets.iter().map(|asset| asset.bytes).sum::<u64>();
        slots.extend(assets.iter().map(|asset| asset.slot.clone()));
        let new = assets.iter().filter(|asset| asset.value.is_rendered());
        rendered.extend(new.map(|asset| asset.asset));
        let kept = self.exports.into_iter().zip(kept).filter(|(_, is_kept)| *is_kept);
        let handles = kept.filter_map(|(handle, _)| handle);
        let mut needs = self.reach.needs(linker);
        needs.extend(requested.needs);
        Ok(LoadedPackage {
            needs,
            unverified,
            handles: handles.chain(requested.handles).collect(),
            wanted,
            slots,
            memory,
            rendered,
            has_assets: !matches!(self.job.wanted, Wanted::Level { assets: false, .. }),
            assets: assets.into(),
            level,
            renewed: self.renewed,
            linker: linker.clone(),
            sources: Vec::new(),
        })
    }
}

impl Decoder<'_> {
    fn error(&self, object: &str, kind: impl Into<LoadErrorKind>) -> Stop {
        Stop::from(LoadError::object(self.file.as_str(), object, kind))
    }

    /// Which exports the package keeps: its own, and the copies that nothing in it refers to, so that whoever asks for them by name
    /// finds them. The other copies are kept by what refers to them.
    fn kept(&self) -> Vec<bool> {
        let count = self.package.exports().len();
        let mut kept = vec![true; count];
        // All exports behind the first copy are copies.
        let first_copy = self.package.exports().iter().position(|export| export.is_forced());
        let Some(first_copy) = first_copy else { return kept };
        for target in (0..count).flat_map(|index| self.targets(index)) {
            if let Some(is_kept) = kept.get_mut(target) {
                *is_kept = target < first_copy;
            }
        }
        kept
    }

    /// Gives every import that is reached its handle.
    pub fn link_imports(&mut self) -> Result<(), Stop> {
        self.job.progress.set(LoadState::Linking);
        self.imports = vec![None; self.package.imports().len()];
        let package = self.package;
        // Many imports have one type.
        let mut types: HashMap<NameIndex, Option<(Cow<str>, Option<TypeId>)>> = HashMap::default();
        // Of a package that is being reloaded the tables may have what is not live, and never will be if that fails.
        let is_unsure = self.job.verify == Verify::Deferred || self.services.linkers.were_any_reset();
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
            let id = self.linker.cook().object(import.object_id);
            let acquired = type_id.and_then(|type_id| self.services.objects.acquire_slot(id, type_id));
            let Some((handle, slot)) = acquired else {
                let object = package.name_of(import.object).unwrap_or_default();
                return Err(self.error(object, DecodeError::UnknownType(type_path.to_string())));
            };
            if is_unsure && package.forced_for_import(index).is_none() {
                let unverified = Unverified::new(slot, self.linker, index, type_path);
                self.unverified.push(unverified);
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
            let Some(claim) = self.claim(index)? else { continue };
            let data = self.data(index, tail)?;
            let payloads = (0..self.payload_count(index)).map(|payload| self.payload(index, payload, tail));
            let payloads = payloads.collect::<Result<_, _>>()?;
            assets.push(self.asset(index, claim, &data, payloads)?);
        }
        Ok(assets)
    }

    /// Gives an asset that is reached its handle; gives what its value is for if this load has to provide it.
    pub fn claim(&mut self, index: usize) -> Result<Option<Claim>, Stop> {
        let package = self.package;
        let Some(export) = package.exports().get(index) else {
            return Ok(None);
        };
        if export.is_class() || !self.reach.exports.get(index).is_some_and(|reached| *reached) {
            return Ok(None);
        }
        let name = package.name_of(export.name).unwrap_or_default();
        let (type_id, type_path) = match self.class_of(&export) {
            Some(Class::Asset(class)) => (class.codec.type_id, class.codec.type_path),
            Some(Class::Unknown(error)) => return Err(self.error(name, error.clone())),
            _ => return Ok(None),
        };
        let unknown = || self.error(name, DecodeError::UnknownType(type_path.to_owned()));
        let id = self.linker.cook().object(export.object_id);
        let acquired = self.services.objects.acquire_slot(id, type_id);
        let (handle, slot) = acquired.ok_or_else(unknown)?;
        // Copies of others' objects may have gone meanwhile: nothing of this package keeps them alive.
        let is_provided = matches!(self.job.wanted, Wanted::Level { assets: false, .. }) && !export.is_forced();
        let mut claim = None;
        if !is_provided {
            if slot.is_live() && slot.is_rendered() {
                self.rendered.push(handle.id());
            }
            self.slots.push(slot.clone());
            claim = self.wanting(index, &handle, slot);
        }
        if let Some(place) = self.exports.get_mut(index) {
            *place = Some(handle);
        }
        Ok(claim)
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

    fn class_of(&self, export: &Export) -> Option<&Class> {
        match export.class.target() {
            RefTarget::Export(index) => self.classes.get(index)?.as_ref(),
            _ => None,
        }
    }

    /// The class of an asset.
    fn asset_class(&self, index: usize) -> Option<&AssetClass> {
        match self.class_of(&self.package.exports().get(index)?)? {
            Class::Asset(class) => Some(class),
            _ => None,
        }
    }

    fn name(&self, index: usize) -> &'_ str {
        self.package.export_name(index).unwrap_or_default()
    }

    /// How many payloads an asset is decoded with.
    pub fn payload_count(&self, index: usize) -> usize {
        let class = self.asset_class(index).zip(self.package.exports().get(index));
        match class.is_some_and(|(class, export)| !leaves_payloads(class.codec.bulk, &export)) {
            true => self.package.bulk(index).len(),
            false => 0,
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
    pub fn asset(&self, index: usize, claim: Claim, data: &[u8], payloads: Vec<Vec<u8>>) -> Result<LoadedAsset, Stop> {
        let name = self.name(index);
        let handle = self.exports.get(index).and_then(Option::as_ref);
        let export = self.package.exports().get(index);
        let (Some(handle), Some(class), Some(export)) = (handle, self.asset_class(index), export) else {
            return Err(self.error(name, LoadErrorKind::NoSuchObject));
        };
        // About as large as it is once decoded.
        let bytes = data.len() + payloads.iter().map(Vec::len).sum::<usize>();
        let handles = self.references(index);
        let object = DecodedObject::new(self.linker, export.object_id, name);
        let context = DecodeContext {
            object: Some(&object),
            ..self.context(&[], &handles)
        };
        let value = class.decode(data, payloads, &context);
        let mut value = value.map_err(|error| self.error(name, error))?;
        object.finish(&mut *value);
        Ok(LoadedAsset {
            slot: claim.slot,
            replaces: claim.replaces,
            fingerprint: self.fingerprint(index, &export),
            object: export.object_id,
            asset: handle.id(),
            name: name.to_owned(),
            bytes: bytes as u64,
            value,
        })
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
            object: None,
        }
    }
}
