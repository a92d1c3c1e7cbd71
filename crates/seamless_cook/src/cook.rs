//! One cook, from the graph of the last one to the output folder. See [`Cook`].

mod fingerprint;
mod sources;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Instant;

use bevy::asset::UntypedHandle;
use bevy::camera::primitives::Aabb;
use bevy::prelude::*;
use bevy::reflect::TypePath;
use seamless_asset::codec::Codecs;
use seamless_package::Role;

use crate::app::{CookApp, CookOptions, prepare};
use crate::assets::{AssetKey, AssetStore, AssetWalk, FileContents, ObjectRecord, closure, left_out};
use crate::bounds::{self, Bounds};
use crate::graph::cache::Cache;
use crate::graph::digest::{Digest, Parts};
use crate::graph::output::{Output, write_error};
use crate::graph::recorder::{Recorder, SeenFile, text};
use crate::graph::state::{FileUnit, Graph, LevelUnit, Memory, Seen, Settings, StartupUnit};
use crate::graph::storage::{Stamp, Storage, stamp};
use crate::level::{EncodedLevel, LevelEncoder};
use crate::load::Loader;
use crate::plan::{PlannedLevel, WorldPlan, world_name};
use crate::report::{ContentError, CookError, CookReport, CookedTextureReport, Progress, Stage};
use crate::share::{self, PackagePlan};
use crate::startup;
use crate::texture::TextureUse;
use crate::texture_step::{self, TextureStep};
use crate::write::{self, MANIFEST_EXTENSION, Stop, current_stamp, load, write_world};

use self::sources::{LoneFile, Sources};

/// How often lost bytes are made again before the disk is blamed.
const MOST_ROUNDS: u32 = 3;

/// What a cook is asked to do.
pub(crate) struct Order<'a> {
    pub cooker: &'a CookApp,
    pub world_file: &'a Path,
    pub out: &'a Path,
    pub options: &'a CookOptions,
    pub progress: &'a dyn Progress,
    pub storage: &'a dyn Storage,
}

impl Order<'_> {
    /// Does it.
    pub fn run(&self) -> Result<CookReport, CookError> {
        let start = Instant::now();
        let world = world_name(self.world_file);
        let failed = |errors| {
            let report = CookReport {
                world: world.clone(),
                ..CookReport::default()
            };
            Err(fail(report, errors, start))
        };
        let identity = fingerprint::identity(self);
        if let Some(report) = self.unchanged(identity, start) {
            return Ok(report);
        }
        let began = sources::settle();
        let plan = match self.plan() {
            Ok(plan) => plan,
            Err(errors) => return failed(errors),
        };
        let mut output = Output::open(self.storage, self.out)?;
        let state_file = state_file(&world);
        let memory = self.storage.read(&output.cook_folder().join(&state_file)).ok();
        let memory = memory.and_then(|bytes| Memory::parse(&bytes));
        let seen = memory.as_ref().and_then(Memory::seen).unwrap_or_default();
        let graph = memory.as_ref().and_then(Memory::graph).unwrap_or_default();
        let cache = Cache::new(self.storage, output.cook_folder().join("objects"));
        let recorder = Recorder::new(&plan.root);
        let mut cook = Cook {
            order: self,
            app: self.cooker.build_app(&recorder),
            sources: Sources::new(&plan, seen),
            store: AssetStore::new(&cache, self.textures()),
            cache: &cache,
            recorder,
            plan: &plan,
            old: graph,
            new: Graph::default(),
            errors: Vec::new(),
        };
        let mut report = CookReport {
            world: world.clone(),
            ..CookReport::default()
        };
        cook.run(&mut output, &mut report).map_err(|stop| match stop {
            Stop::Content(error) => fail(core::mem::take(&mut report), vec![error], start),
            Stop::Cook(error) => error,
            Stop::Lost => write_error(&output.cook_folder(), std::io::ErrorKind::InvalidData.into()),
        })?;
        cook.remember(identity, began, &mut output, &mut report, &state_file)?;
        report.seconds = start.elapsed().as_secs_f64();
        if !cook.errors.is_empty() {
            let errors = core::mem::take(&mut cook.errors);
            return Err(fail(report, errors, start));
        }
        Ok(report)
    }

    fn textures(&self) -> Option<TextureStep> {
        let settings = texture_step::settings(self.options.profile)?;
        Some(TextureStep::new(settings, self.options.jobs))
    }

    fn plan(&self) -> Result<WorldPlan, Vec<ContentError>> {
        let mut plan = WorldPlan::read(self.world_file)?;
        if !self.options.maps.is_empty() {
            plan.keep_only(&self.options.maps)?;
        }
        Ok(plan)
    }

    /// The report of the last cook, if nothing has changed since.
    fn unchanged(&self, identity: Option<Digest>, start: Instant) -> Option<CookReport> {
        let identity = identity?;
        let folder = self.out.join(crate::graph::output::COOK_FOLDER);
        if folder.join("journal").exists() {
            return None;
        }
        let bytes = self
            .storage
            .read(&folder.join(state_file(&world_name(self.world_file))))
            .ok()?;
        let seen = Memory::parse(&bytes)?.seen()?;
        if seen.identity != Some(identity) || !Sources::all_unchanged(&seen) {
            return None;
        }
        let same = |(file, old): (&String, &Stamp)| stamp(&self.out.join(file)) == Some(*old);
        if !seen.outputs.iter().all(same) {
            return None;
        }
        let mut report = seen.report;
        report.work = crate::report::CookWork::default();
        report.seconds = start.elapsed().as_secs_f64();
        Some(report)
    }
}

fn state_file(world: &str) -> String {
    format!("{world}.state")
}

fn fail(mut report: CookReport, mut errors: Vec<ContentError>, start: Instant) -> CookError {
    errors.dedup();
    report.errors = errors;
    report.packages = Vec::new();
    report.levels = Vec::new();
    report.seconds = start.elapsed().as_secs_f64();
    CookError::Content(Box::new(report))
}

/// A cook that found something to do.
struct Cook<'a> {
    order: &'a Order<'a>,
    plan: &'a WorldPlan,
    app: App,
    recorder: Recorder,
    sources: Sources,
    cache: &'a Cache<'a>,
    store: AssetStore<'a>,
    /// Of the last cook, less what does not hold any more.
    old: Graph,
    new: Graph,
    errors: Vec<ContentError>,
}

/// What a level's bytes follow from, beside the files.
pub(crate) fn level_key(plan: &WorldPlan, level: &PlannedLevel) -> String {
    let path = text(&level.asset_path);
    format!("{path}|{:?}|{:?}|{}", level.kind, plan.resources, level.source)
}

impl Cook<'_> {
    fn run(&mut self, output: &mut Output, report: &mut CookReport) -> Result<(), Stop> {
        self.forget_changed();
        for round in 0.. {
            self.encode_startup();
            self.encode_levels();
            self.encode_missing();
            self.settle_textures();
            if let Some(source) = self.store.stopped.take() {
                return Err(Stop::Cook(write_error(&output.cook_folder(), source)));
            }
            if !self.errors.is_empty() {
                return Ok(());
            }
            match self.write(output, report) {
                Err(Stop::Lost) if round < MOST_ROUNDS => self.forget_lost(),
                result => return result,
            }
        }
        Ok(())
    }

    /// Takes over what still holds.
    fn forget_changed(&mut self) {
        let fingerprint = fingerprint::of_app(self.app.world(), self.order);
        if self.old.fingerprint != Some(fingerprint) {
            let packages = core::mem::take(&mut self.old.packages);
            self.old = Graph {
                packages,
                ..Graph::default()
            };
        }
        self.new.fingerprint = Some(fingerprint);
        let sources = &mut self.sources;
        sources.remember_settings(&self.old.files);
        self.old.files.retain(|_, unit| sources.hold(&unit.dependencies));
        let files = &self.old.files;
        self.old.levels.retain(|_, level| files.contains_key(&level.file));
        let asked = startup::asked(self.app.world(), self.plan);
        let files = startup::files(self.app.world(), self.plan);
        if self.old.startup.asked != asked || !sources.hold(&self.old.startup.dependencies) {
            // Startup content comes first, and decides how its files are loaded.
            for file in files.iter().chain(&self.old.startup.files) {
                self.old.files.remove(file);
                sources.forget_settings(file);
            }
            let files = &self.old.files;
            self.old.levels.retain(|_, level| files.contains_key(&level.file));
            self.old.startup = StartupUnit::default();
        }
        let units = self.old.files.values().map(|unit| &unit.objects);
        let units = units.chain(self.old.levels.values().map(|level| &level.objects));
        for objects in units.chain([&self.old.startup.objects]) {
            self.store.inherit(objects);
        }
    }

    /// Bytes that the cache should have are not there, so all are looked at: whatever has lost its own is made again.
    fn forget_lost(&mut self) {
        let cache = self.cache;
        let mut known: BTreeMap<Digest, bool> = BTreeMap::new();
        let mut is_lost = |blob: &Digest| *known.entry(*blob).or_insert_with(|| cache.get(blob).is_none());
        self.store.objects.retain(|_, object| !is_lost(&object.blob));
        for levels in [&mut self.old.levels, &mut self.new.levels] {
            levels.retain(|_, level| {
                !is_lost(&level.blob) && !level.objects.values().any(|object| is_lost(&object.blob))
            });
        }
        for startup in [&mut self.old.startup, &mut self.new.startup] {
            if startup.objects.values().any(|object| is_lost(&object.blob)) {
                *startup = StartupUnit::default();
            }
        }
    }

    fn encode_startup(&mut self) {
        let asked = startup::asked(self.app.world(), self.plan);
        if asked.is_none() || self.new.startup.asked == asked {
            return;
        }
        if self.old.startup.asked == asked {
            self.new.startup = self.old.startup.clone();
            return;
        }
        let unit = startup::encode(
            &mut self.app,
            self.plan,
            self.order.options,
            &self.recorder,
            &mut self.store,
            &mut self.errors,
            prepare,
        );
        self.new.startup = unit.unwrap_or_default();
    }

    /// Levels that do not hold any more.
    fn encode_levels(&mut self) {
        let mut asked = BTreeSet::new();
        let mut changed = Vec::new();
        for level in &self.plan.levels {
            let key = level_key(self.plan, level);
            match self.old.levels.get(&key) {
                _ if self.new.levels.contains_key(&key) => {}
                Some(unit) => {
                    self.new.levels.insert(key, unit.clone());
                }
                None if asked.insert(key) => changed.push(level.clone()),
                None => {}
            }
        }
        self.load_levels(&changed);
    }

    /// Loads and encodes levels in order, a few being loaded ahead.
    fn load_levels(&mut self, levels: &[PlannedLevel]) {
        let progress = self.order.progress;
        progress.begin(Stage::Load, levels.len() as u64);
        progress.begin(Stage::Encode, levels.len() as u64);
        let mut loader = Loader::new(levels, self.order.options);
        let mut encoder = LevelEncoder::new(self.plan.resources, &self.recorder);
        for (index, level) in levels.iter().enumerate() {
            let outcome = loader.wait_for(&mut self.app, index);
            progress.step(Stage::Load, &level.name);
            prepare(self.app.world_mut(), self.order.options);
            self.store.clips.offer(self.app.world_mut(), &self.recorder);
            let key = level_key(self.plan, level);
            let (world, store, new) = (self.app.world(), &mut self.store, &mut self.new);
            outcome.encode(&mut self.errors, |root, errors| {
                let Some(encoded) = encoder.encode(world, &key, level, root, store, errors) else {
                    return;
                };
                // Plain data into memory: nothing that could fail.
                let bytes = postcard::to_allocvec(&encoded.level).unwrap_or_default();
                let Some(blob) = store.keep(&bytes) else { return };
                store.encoded += 1;
                let drawn: BTreeSet<&AssetKey> = encoded.level.drawn.iter().map(|drawn| &drawn.mesh).collect();
                let unit = LevelUnit {
                    file: text(&level.asset_path),
                    blob,
                    entities: encoded.level.entities.len() as u32,
                    references: encoded.level.all_references(),
                    labelled: encoded.labelled,
                    // Told when all of them are there.
                    objects: BTreeMap::new(),
                    drawn: drawn.into_iter().cloned().collect(),
                    contents: encoded.contents.map(|(_, contents)| contents),
                    warnings: encoded.warnings,
                };
                new.levels.insert(key.clone(), unit);
            });
            self.store.start_textures(self.app.world(), &mut self.errors);
            loader.release(index);
            progress.step(Stage::Encode, &level.name);
        }
        progress.end(Stage::Load);
        progress.end(Stage::Encode);
    }

    /// All that the world refers to.
    fn needed(&self) -> BTreeSet<&AssetKey> {
        let levels = self.plan.levels.iter();
        let units = levels.filter_map(|level| self.new.levels.get(&level_key(self.plan, level)));
        let references = units.flat_map(LevelUnit::roots);
        closure(&self.store.objects, references.chain(&self.new.startup.root))
    }

    /// Assets whose files have changed, while no level that refers to them has: each file is loaded by itself. Where that does not
    /// work, the levels that lead to it are loaded, and tell what is wrong.
    fn encode_missing(&mut self) {
        let mut tried = BTreeSet::new();
        loop {
            self.store.finish_textures(&mut self.errors);
            if !self.errors.is_empty() {
                return;
            }
            let missing = self
                .needed()
                .into_iter()
                .filter(|key| !self.store.objects.contains_key(*key));
            let missing: BTreeSet<AssetKey> = missing.cloned().collect();
            let files: BTreeSet<String> = missing.iter().filter_map(|key| key.file().map(str::to_owned)).collect();
            let (lone, stuck): (Vec<_>, Vec<_>) = files.into_iter().partition(|file| {
                let settings = self.sources.settings(file);
                settings != Settings::Unknown && tried.insert(file.clone())
            });
            if !lone.is_empty() {
                self.load_files(&lone, &missing);
                continue;
            }
            let is_lost = |key: &AssetKey| key.file().is_none_or(|file| stuck.iter().any(|stuck| stuck == file));
            let lost: BTreeSet<AssetKey> = missing.into_iter().filter(is_lost).collect();
            if !lost.is_empty() {
                self.load_referrers(&lost);
            }
            return;
        }
    }

    /// Loads files by themselves, and encodes what is missing of them.
    fn load_files(&mut self, files: &[String], missing: &BTreeSet<AssetKey>) {
        let lone: Vec<LoneFile> = files.iter().map(|file| LoneFile { path: file.clone() }).collect();
        for file in files {
            if let Settings::Given(settings) = self.sources.settings(file) {
                self.recorder.load_with(file, settings);
            }
        }
        startup::free(&mut self.app);
        let mut loader = Loader::new(&lone, self.order.options);
        for (index, file) in files.iter().enumerate() {
            let outcome = loader.wait_for(&mut self.app, index);
            prepare(self.app.world_mut(), self.order.options);
            self.store.clips.offer(self.app.world_mut(), &self.recorder);
            if outcome.is_ready() {
                let of_file = missing.iter().filter(|key| key.file() == Some(file));
                for key in of_file {
                    self.encode_lone(key);
                }
                self.store.start_textures(self.app.world(), &mut self.errors);
                let settings = self.sources.settings(file);
                if let Some(fresh) = self.store.fresh.get_mut(file) {
                    *fresh = settings;
                }
            }
            loader.release(index);
        }
    }

    fn encode_lone(&mut self, key: &AssetKey) {
        let world = self.app.world();
        let registry = world.resource::<AppTypeRegistry>().read();
        let codecs = world.resource::<Codecs>().clone();
        let codecs = codecs.read();
        let handles = world.resource::<AssetServer>().get_handles_untyped(key.path());
        let codec = codecs.asset_by_path(key.type_path());
        let is_asset = |handle: &UntypedHandle| codec.as_ref().is_some_and(|codec| codec.type_id == handle.type_id());
        let Some(handle) = handles.into_iter().find(is_asset) else {
            return;
        };
        let clips = core::mem::take(&mut self.store.clips);
        let walk = AssetWalk {
            world,
            registry: &registry,
            codecs: &codecs,
            unit: "",
            clips: &clips,
            recorder: &self.recorder,
            source: "",
        };
        // An error is told by the level that is loaded then.
        self.store.add_lone(&walk, &handle);
        self.store.clips = clips;
    }

    /// Loads the levels, and the startup content, that lead to these assets.
    fn load_referrers(&mut self, lost: &BTreeSet<AssetKey>) {
        let leading = referrers(&self.store.objects, lost);
        let root = self.new.startup.root.as_ref();
        let startup = root.is_some_and(|root| leading.contains(root));
        let levels: BTreeSet<String> = (self.new.levels.iter())
            .filter(|(_, level)| level.roots().any(|key| leading.contains(key)))
            .map(|(key, _)| key.clone())
            .collect();
        // Whatever leads there is made anew, so that the walk gets there.
        self.store.objects.retain(|key, _| !leading.contains(key));
        startup::free(&mut self.app);
        if startup {
            self.old.startup = StartupUnit::default();
            self.new.startup = StartupUnit::default();
            self.encode_startup();
        }
        startup::free(&mut self.app);
        self.old.levels.retain(|key, _| !levels.contains(key));
        self.new.levels.retain(|key, _| !levels.contains(key));
        self.encode_levels();
    }

    /// A texture is cooked for what all materials that are needed use it for, which is known at the end only: the few that turn out to
    /// be used for something else as well are cooked again.
    fn settle_textures(&mut self) {
        for _ in 0..MOST_ROUNDS {
            let objects = &self.store.objects;
            let needed = self.needed();
            let uses = self.texture_uses(&needed);
            let usage = |key: &AssetKey| uses.get(key).copied().unwrap_or(TextureUse::Unknown);
            let is_other = |key: &AssetKey| {
                let cooked = objects.get(key).and_then(|object| object.texture.as_ref());
                cooked.is_some_and(|(cooked, _)| *cooked != usage(key))
            };
            let others: Vec<AssetKey> = needed.into_iter().filter(|key| is_other(key)).cloned().collect();
            if let Some(textures) = &mut self.store.textures {
                textures.uses = uses;
            }
            if others.is_empty() || !self.errors.is_empty() {
                return;
            }
            for key in &others {
                self.store.objects.remove(key);
            }
            self.encode_missing();
        }
    }

    /// What textures are used for. Whoever is no material whose textures are known may use them for anything.
    fn texture_uses(&self, needed: &BTreeSet<&AssetKey>) -> BTreeMap<AssetKey, TextureUse> {
        let mut uses: BTreeMap<AssetKey, TextureUse> = BTreeMap::new();
        let mut note = |key: &AssetKey, usage: TextureUse| {
            let known = uses.entry(key.clone()).or_insert(usage);
            *known = known.join(usage);
        };
        let is_image = |key: &&AssetKey| key.type_path() == Image::type_path();
        for key in needed.iter().filter(|key| !key.is_startup_index()) {
            let Some(object) = self.store.objects.get(*key) else {
                continue;
            };
            object.uses.iter().for_each(|(key, usage)| note(key, *usage));
            let is_used = |key: &&AssetKey| object.uses.iter().any(|(known, _)| known == *key);
            let others = object.references.iter().filter(is_image).filter(|key| !is_used(key));
            others.for_each(|key| note(key, TextureUse::Unknown));
        }
        for level in &self.plan.levels {
            let unit = self.new.levels.get(&level_key(self.plan, level));
            let images = unit.into_iter().flat_map(|unit| &unit.references).filter(is_image);
            images.for_each(|key| note(key, TextureUse::Unknown));
        }
        uses
    }

    fn write(&mut self, output: &mut Output, report: &mut CookReport) -> Result<(), Stop> {
        let plan = self.plan;
        let mut units = Vec::new();
        for level in &plan.levels {
            let key = level_key(plan, level);
            let unit = self.new.levels.get(&key);
            units.push(unit.ok_or_else(|| {
                // No level is left out without an error.
                Stop::Content(ContentError::new(
                    level.source.as_str(),
                    "",
                    "was not encoded; cook again",
                ))
            })?);
        }
        let needed: BTreeSet<AssetKey> = self.needed().into_iter().cloned().collect();
        let objects: BTreeMap<AssetKey, ObjectRecord> = (self.store.objects.iter())
            .filter(|(key, _)| needed.contains(*key))
            .map(|(key, object)| (key.clone(), object.clone()))
            .collect();
        let bounds = self.bounds(&units)?;
        report.warnings = warnings(plan, &units, &objects);
        report.textures = textures(&objects);
        let root = self.new.startup.root.as_ref();
        let packages = share::assign(plan, root, &units, &objects, self.order.progress);
        let packages = packages.map_err(|mut errors| {
            let last = errors.pop();
            self.errors.extend(errors);
            last.map_or_else(|| Stop::Content(ContentError::new("", "", "")), Stop::Content)
        })?;
        let versions = self
            .app
            .world()
            .resource::<Codecs>()
            .read()
            .migrations()
            .versions()
            .to_vec();
        let roles = self.order.options.target.roles;
        let packages = stripped(packages, &objects, roles);
        let world = write::World {
            plan,
            roles,
            world_file: &self.order.world_file.display().to_string(),
            levels: &units,
            bounds: &bounds,
            objects: &objects,
            packages: &packages,
            versions: &versions,
            cache: self.cache,
            old: &self.old.packages,
        };
        *report = CookReport {
            world: core::mem::take(&mut report.world),
            warnings: core::mem::take(&mut report.warnings),
            textures: core::mem::take(&mut report.textures),
            ..CookReport::default()
        };
        let written = write_world(&world, output, self.order.progress, report)?;
        self.new.bounds = self.remembered_bounds(&units, &bounds);
        self.new.packages = written;
        Ok(())
    }

    /// What each level's bounds follow from.
    fn bounds_key(&self, level: &PlannedLevel, unit: &LevelUnit) -> Digest {
        let mut parts = Parts::default();
        parts
            .value(&(level.translation, level.rotation, level.scale))
            .digest(&unit.blob);
        for mesh in &unit.drawn {
            parts.value(&self.store.objects.get(mesh).and_then(|object| object.bounds));
        }
        parts.finish()
    }

    fn bounds(&self, units: &[&LevelUnit]) -> Result<Vec<Option<Bounds>>, Stop> {
        let levels = self.plan.levels.iter().zip(units);
        let bounds = levels.map(|(level, unit)| {
            let known = self.old.bounds.get(&level.name);
            if let Some((_, bounds)) = known.filter(|(key, _)| *key == self.bounds_key(level, unit)) {
                return Ok(*bounds);
            }
            let encoded: EncodedLevel = load(self.cache, &unit.blob)?;
            let mesh = |key: &AssetKey| {
                let (center, half_extents) = self.store.objects.get(key)?.bounds?;
                Some(Aabb {
                    center: center.into(),
                    half_extents: half_extents.into(),
                })
            };
            Ok(bounds::of_drawn(level, &encoded.drawn, mesh))
        });
        bounds.collect()
    }

    fn remembered_bounds(
        &self,
        units: &[&LevelUnit],
        bounds: &[Option<Bounds>],
    ) -> BTreeMap<String, (Digest, Option<Bounds>)> {
        let levels = self.plan.levels.iter().zip(units).zip(bounds);
        levels
            .map(|((level, unit), bounds)| (level.name.clone(), (self.bounds_key(level, unit), *bounds)))
            .collect()
    }
}

impl Cook<'_> {
    /// Leaves what this cook knows for the next one.
    fn remember(
        &mut self,
        identity: Option<Digest>,
        began: i128,
        output: &mut Output,
        report: &mut CookReport,
        state_file: &str,
    ) -> Result<(), CookError> {
        let is_done = self.errors.is_empty();
        if !self.order.options.maps.is_empty() {
            // What this cook was not asked for still holds.
            for (key, level) in core::mem::take(&mut self.old.levels) {
                self.new.levels.entry(key).or_insert(level);
            }
        }
        self.remember_files();
        let mut seen = Seen {
            root: self.plan.root.clone(),
            began,
            files: self.seen_files(),
            ..Seen::default()
        };
        if is_done {
            let tracked = self.store.objects.keys().all(|key| key.file().is_none_or(is_tracked));
            seen.identity = identity.filter(|_| tracked);
            let manifest = format!("{}.{MANIFEST_EXTENSION}", self.plan.name);
            for file in self.new.packages.keys().chain([&manifest]) {
                seen.outputs.insert(file.clone(), current_stamp(output, file)?);
            }
            seen.report = report.clone();
        } else {
            self.new.packages = core::mem::take(&mut self.old.packages);
        }
        output.replace_own(state_file, &Memory::new(&seen, &self.new).to_bytes())?;
        report.work.sources_loaded = self.recorder.loads();
        report.work.encoded = self.store.encoded;
        report.work.files_written = output.writes() + self.cache.writes();
        Ok(())
    }

    /// The units of all files that anything is from.
    fn remember_files(&mut self) {
        self.store.drop_broken();
        let mut files: BTreeMap<String, FileUnit> = BTreeMap::new();
        for (key, level) in &mut self.new.levels {
            files.entry(level.file.clone()).or_default();
            level.objects = self.store.anonymous_of(key);
        }
        if self.new.startup.root.is_some() {
            self.new.startup.objects = self.store.anonymous_of(startup::STARTUP_UNIT);
        }
        for (key, object) in &self.store.objects {
            if let Some(file) = key.file().filter(|file| is_tracked(file)) {
                let unit = files.entry(file.to_owned()).or_default();
                unit.objects.insert(key.clone(), object.clone());
            }
        }
        for (file, unit) in &mut files {
            let old = self.old.files.get(file);
            let settings = self.store.fresh.get(file).or(old.map(|old| &old.settings));
            unit.settings = settings.cloned().unwrap_or_default();
            unit.dependencies = match old {
                Some(old) if !self.recorder.has_loaded(file) => old.dependencies.clone(),
                _ => self.recorder.dependencies(file),
            };
        }
        self.new.files = files;
    }

    /// Every file that a unit depends on.
    fn seen_files(&self) -> BTreeMap<String, SeenFile> {
        let read = self.recorder.files();
        let units = self.new.files.values().map(|unit| &unit.dependencies);
        let paths = units.chain([&self.new.startup.dependencies]).flat_map(BTreeMap::keys);
        paths
            .filter_map(|path| {
                let seen = read.get(path).copied().or_else(|| self.sources.seen(path));
                Some((path.clone(), seen?))
            })
            .collect()
    }
}

/// These assets, and all that lead to one of them.
fn referrers(objects: &BTreeMap<AssetKey, ObjectRecord>, of: &BTreeSet<AssetKey>) -> BTreeSet<AssetKey> {
    let mut users: BTreeMap<&AssetKey, Vec<&AssetKey>> = BTreeMap::new();
    for (key, object) in objects {
        for reference in &object.references {
            users.entry(reference).or_default().push(key);
        }
    }
    let mut found = BTreeSet::new();
    let mut open: Vec<&AssetKey> = of.iter().collect();
    while let Some(key) = open.pop() {
        if found.insert(key.clone()) {
            open.extend(users.get(key).into_iter().flatten());
        }
    }
    found
}

/// What became of the textures.
fn textures(objects: &BTreeMap<AssetKey, ObjectRecord>) -> Vec<CookedTextureReport> {
    let textures = objects
        .iter()
        .filter_map(|(key, object)| Some((key, object.texture.as_ref()?)));
    textures
        .map(|(key, (_, texture))| CookedTextureReport {
            object: key.path(),
            texture: texture.clone(),
        })
        .collect()
}

/// Leaves out what nobody of the target needs.
fn stripped(
    mut packages: Vec<PackagePlan>,
    objects: &BTreeMap<AssetKey, ObjectRecord>,
    roles: Role,
) -> Vec<PackagePlan> {
    for package in &mut packages {
        let is_needed = |key: &AssetKey| objects.get(key).is_some_and(|object| object.role.intersects(roles));
        package.assets.retain(is_needed);
    }
    packages.retain(|package| package.level().is_some() || !package.assets.is_empty());
    packages
}

/// Whether it is known when a file changes: those of other asset sources may come from anywhere.
fn is_tracked(file: &str) -> bool {
    !file.contains("://")
}

/// What the levels, and the files that they are from, are warned of.
fn warnings(plan: &WorldPlan, units: &[&LevelUnit], objects: &BTreeMap<AssetKey, ObjectRecord>) -> Vec<ContentError> {
    let mut files: BTreeMap<String, FileContents> = BTreeMap::new();
    let mut told = BTreeSet::new();
    let mut warnings = Vec::new();
    for (level, unit) in plan.levels.iter().zip(units) {
        if let Some(contents) = &unit.contents {
            files.entry(unit.file.clone()).or_default().join(contents);
        }
        if told.insert(level_key(plan, level)) {
            warnings.extend(unit.warnings.iter().cloned());
        }
    }
    warnings.extend(left_out(&files, objects));
    for (key, object) in objects {
        let path = key.path();
        let (file, label) = path.split_once('#').unwrap_or((&path, ""));
        warnings.extend(
            object
                .warnings
                .iter()
                .map(|warning| ContentError::new(file, label, warning.as_str())),
        );
    }
    warnings
}
