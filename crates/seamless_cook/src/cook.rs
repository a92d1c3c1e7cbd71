//! One cook, from the graph of the last one to the output folder. See [`Cook`].

mod again;
mod encode;
mod fingerprint;
mod forget;
mod owners;
mod past;
mod remember;
mod soft;
mod sources;
mod summary;
mod uses;

use core::num::NonZeroUsize;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::resume_unwind;
use std::path::Path;
use std::time::Instant;

use bevy::camera::primitives::Aabb;
use bevy::prelude::*;
use seamless_asset::codec::Codecs;
use seamless_package::VersionList;

use crate::app::{CookApp, CookOptions};
use crate::assets::{AssetKey, AssetStore, Objects, closure};
use crate::bounds::{self, Bounds};
use crate::dialogue;
use crate::graph::cache::Cache;
use crate::graph::digest::{Digest, Parts};
use crate::graph::output::{COOK_FOLDER, Output, write_error};
use crate::graph::recorder::{Recorder, text};
use crate::graph::state::{LevelUnit, Memory, Outcome, Units};
use crate::graph::storage::Storage;
use crate::layout::{self, LaidOut};
use crate::level::EncodedLevel;
use crate::plan::{PlannedLevel, SourceKind, WorldPlan, world_name};
use crate::report::{ContentError, CookError, CookReport, Progress};
use crate::startup;
use crate::texture_step::{self, TextureStep};
use crate::write::{self, Stop, load, write_world};

use self::again::Gone;
use self::past::Past;
use self::remember::{Keeper, KeptUnits};
use self::sources::Sources;

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
        let program = fingerprint::program(self);
        let (state_file, identity) = (state_file(&world), fingerprint::identity(self, program));
        let threads = NonZeroUsize::new(self.options.jobs).unwrap_or(NonZeroUsize::MIN);
        let past = Past::read(self.storage, self.out, &state_file, threads);
        if let Some(report) = self.unchanged(&past, identity, start) {
            return Ok(report);
        }
        let plan = match self.plan() {
            Ok(plan) => plan,
            Err(errors) => return failed(errors),
        };
        let mut output = Output::open(self.storage, self.out)?;
        let past = past.read_again(self.storage, self.out, &state_file);
        let cache = Cache::new(self.storage, output.cook_folder().join("objects"));
        let recorder = Recorder::new(&plan.root);
        let is_changed = past.is_changed();
        let is_same = identity.is_some() && past.seen.identity == identity && past.outputs_are_there(self.out);
        let past = past.settle(&plan, is_same, || self.app(&recorder, is_changed));
        let mut cook = Cook {
            order: self,
            program,
            app: past.made,
            sources: past.sources,
            store: AssetStore::new(&cache, self.textures(), self.options),
            cache: &cache,
            recorder,
            plan: plan.clone(),
            old: past.units,
            new: Units::default(),
            before: past.outcome,
            after: Outcome::default(),
            kept: None,
            memory: past.memory,
            gone: Gone::new(past.gone),
            told: past.report,
            is_same,
            is_otherwise: false,
            errors: Vec::new(),
            broken: BTreeSet::new(),
            steps: BTreeMap::new(),
        };
        let mut report = CookReport {
            world: world.clone(),
            ..CookReport::default()
        };
        cook.run(&mut output, &mut report)?;
        cook.remember(identity, past.began, &mut output, &mut report, &state_file)?;
        let mut errors = core::mem::take(&mut cook.errors);
        cook.free();
        report.seconds = start.elapsed().as_secs_f64();
        if !errors.is_empty() {
            // In an order of their own, whatever was found first.
            errors.sort();
            return Err(fail(report, errors, start));
        }
        Ok(report)
    }

    fn app(&self, recorder: &Recorder, is_changed: bool) -> App {
        let mut app = self.cooker.build_app(recorder);
        if is_changed {
            // Something will be loaded, and Bevy's first update takes longer than any other.
            app.update();
        }
        app
    }

    fn textures(&self) -> Option<TextureStep> {
        let settings = texture_step::settings(self.options)?;
        Some(TextureStep::new(
            settings,
            self.options.profile.codec(),
            self.options.jobs,
        ))
    }

    fn plan(&self) -> Result<WorldPlan, Vec<ContentError>> {
        let mut plan = WorldPlan::read(self.world_file)?;
        if !self.options.maps.is_empty() {
            plan.keep_only(&self.options.maps)?;
        }
        Ok(plan)
    }

    /// The report of the last cook, if nothing has changed since.
    fn unchanged(&self, past: &Past, identity: Option<Digest>, start: Instant) -> Option<CookReport> {
        let is_interrupted = self.out.join(COOK_FOLDER).join("journal").exists();
        let is_same = identity.is_some() && past.seen.identity == identity;
        if is_interrupted || !is_same || past.is_changed() || !past.outputs_are_there(self.out) {
            return None;
        }
        let mut report = past.report()?;
        report.work = crate::report::CookWork::default();
        report.seconds = start.elapsed().as_secs_f64();
        Some(report)
    }
}

pub(crate) fn state_file(world: &str) -> String {
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
    /// Of what the app is built by.
    program: Option<Digest>,
    /// What soft references lead to is added to it.
    plan: WorldPlan,
    app: App,
    recorder: Recorder,
    sources: Sources,
    cache: &'a Cache<'a>,
    store: AssetStore<'a>,
    /// Of the last cook, less what does not hold any more.
    old: Units,
    /// Of this one: levels and startup content. Objects are in the store, and files in what is kept.
    new: Units,
    before: Outcome,
    after: Outcome,
    /// What is remembered of the units of a world that was written.
    kept: Option<KeptUnits>,
    /// What the last cook left, as bytes.
    memory: Memory,
    gone: Gone,
    /// What the last cook told, if everything beside the sources is as it was.
    told: Option<CookReport>,
    /// Everything beside the sources, and the output folder, is as the last cook left it.
    is_same: bool,
    /// A level or startup content was encoded, or something was lost.
    is_otherwise: bool,
    errors: Vec<ContentError>,
    /// Levels that have errors.
    broken: BTreeSet<String>,
    /// By what it follows from, after how many steps a level was planned that soft references led to.
    steps: BTreeMap<String, usize>,
}

/// What a level's bytes follow from, beside the files.
pub(crate) fn level_key(plan: &WorldPlan, level: &PlannedLevel) -> String {
    let path = text(&level.asset_path);
    let asked = level.asked.as_ref().filter(|_| level.kind == SourceKind::Asset);
    let type_path = asked.and_then(|asked| asked.type_path.as_deref()).unwrap_or_default();
    format!(
        "{path}|{:?}|{:?}|{}|{type_path}",
        level.kind, plan.resources, level.source
    )
}

impl Cook<'_> {
    /// Of a large world there is so much that nobody should wait until it is freed.
    fn free(mut self) {
        let (sources, graphs) = (self.sources, (self.old, self.new, self.before, self.after));
        let of_store = self.store.into_parts();
        let kept = (self.memory, self.gone, self.told, self.kept);
        // What is bound to this thread stays here.
        let is_bound = !self.app.world().storages().non_sends.is_empty();
        let world = (!is_bound).then(|| core::mem::take(self.app.world_mut()));
        let free = move || drop((sources, graphs, of_store, kept, world));
        // Where there is no thread to be had, it is freed here.
        let _ = std::thread::Builder::new().spawn(free);
    }

    /// Content errors are in `errors` afterwards.
    fn run(&mut self, output: &mut Output, report: &mut CookReport) -> Result<(), CookError> {
        self.forget_changed();
        for _ in 0..=MOST_ROUNDS {
            self.encode_startup();
            self.encode_all();
            let again = self.again();
            if again.is_none() {
                self.settle_uses();
            }
            self.store.finish_packing();
            if let Some(source) = self.store.stopped.take() {
                return Err(write_error(&output.cook_folder(), source));
            }
            if !self.errors.is_empty() {
                return Ok(());
            }
            match self.write(again.as_ref(), output, report) {
                Ok(()) => return Ok(()),
                Err(Stop::Lost) => self.forget_lost(),
                Err(Stop::Cook(error)) => return Err(error),
                Err(Stop::Content(errors)) => {
                    self.errors.extend(errors);
                    return Ok(());
                }
            }
        }
        Err(write_error(
            &output.cook_folder(),
            std::io::ErrorKind::InvalidData.into(),
        ))
    }

    /// Writes the world, and puts together meanwhile what will be remembered of its units. Where only these objects are others, not much has to be
    /// looked at.
    fn write(
        &mut self,
        again: Option<&BTreeSet<usize>>,
        output: &mut Output,
        report: &mut CookReport,
    ) -> Result<(), Stop> {
        let told = self.told.take();
        if again.is_none() {
            startup::complete(self.app.world(), &self.plan, &mut self.store, &self.new.startup);
            self.store.sort();
        }
        let keeper = self.keeper();
        let (written, kept) = std::thread::scope(|scope| {
            let kept = scope.spawn(|| {
                let kept = again.and_then(|changed| keeper.keep_again(&self.memory, &self.gone, changed));
                kept.unwrap_or_else(|| keeper.keep())
            });
            let written = match again.zip(told) {
                Some((changed, told)) => self.write_again(changed, told, output, report),
                None => self.write_world(output, report),
            };
            (written, kept.join().unwrap_or_else(|panic| resume_unwind(panic)))
        });
        self.after = written?;
        self.kept = Some(kept);
        Ok(())
    }

    fn keeper(&self) -> Keeper<'_> {
        Keeper {
            old: &self.old,
            new: &self.new,
            is_sound: self.errors.is_empty(),
            is_partial: !self.order.options.maps.is_empty(),
            objects: &self.store.objects,
            encoded_now: &self.store.encoded_now,
            fresh: &self.store.fresh,
            sources: &self.sources,
            recorder: &self.recorder,
        }
    }

    fn write_world(&self, output: &mut Output, report: &mut CookReport) -> Result<Outcome, Stop> {
        let plan = &self.plan;
        let units = self.encoded_levels()?;
        let limited = dialogue::limit(&dialogue::Input {
            plan,
            units: &units,
            objects: &self.store.objects,
            startup: self.new.startup.root.as_ref(),
            roles: self.order.options.target.roles,
            cache: self.cache,
            codec: self.order.options.profile.codec(),
        })?;
        let levels: Vec<&LevelUnit> = limited.units.iter().map(|unit| &**unit).collect();
        let objects = self.written(&levels, limited.objects);
        let known_bounds = self.bounds(&units)?;
        let bounds: Vec<Option<Bounds>> = known_bounds.iter().map(|(_, bounds)| *bounds).collect();
        let root = self.new.startup.root.as_ref();
        let roles = self.order.options.target.roles;
        let layout = layout::Input {
            plan,
            startup: root,
            levels: &levels,
            bounds: &bounds,
            objects: &objects,
            roles,
        };
        let layout = layout::assign(&layout, self.order.progress).map_err(Stop::Content)?;
        let (versions, world_file) = (self.versions(), self.order.world_file.display().to_string());
        let world = write::World {
            levels: &levels,
            bounds: &bounds,
            own: &limited.own,
            own_sets: Some(&limited.sets),
            packages: &layout.packages,
            ..self.world(&world_file, &objects, &versions)
        };
        let mut warnings = summary::warnings(plan, &units, &objects);
        warnings.extend(limited.warnings);
        warnings.extend(layout.warnings);
        warnings.extend(summary::without_bounds(plan, &bounds));
        *report = CookReport {
            world: core::mem::take(&mut report.world),
            warnings,
            layout: layout.report,
            dialogue: limited.report,
            textures: uses::textures(&objects),
            slowest: summary::slowest(plan, &units, &objects, |_| true),
            ..CookReport::default()
        };
        let names = plan.levels.iter().map(|level| level.name.clone());
        // Places are told among all that is remembered, whether it is needed or not.
        let laid_out = || LaidOut::of(&layout.packages, &self.store.objects);
        Ok(Outcome {
            packages: write_world(&world, self.cache, output, self.order.progress, report)?,
            bounds: names.zip(known_bounds).collect(),
            layout: limited.own.is_empty().then(laid_out).flatten(),
        })
    }

    fn versions(&self) -> Vec<VersionList> {
        let codecs = self.app.world().resource::<Codecs>().read();
        codecs.migrations().versions().to_vec()
    }

    /// The world that is written, without what it is laid out to.
    fn world<'w>(&'w self, world_file: &'w str, objects: &'w Objects, versions: &'w [VersionList]) -> write::World<'w> {
        write::World {
            plan: &self.plan,
            roles: self.order.options.target.roles,
            codec: self.order.options.profile.codec(),
            world_file,
            levels: &[],
            bounds: &[],
            objects,
            own: &[],
            own_sets: None,
            packages: &[],
            again: None,
            versions,
            old: &self.before.packages,
            jobs: self.order.options.jobs,
        }
    }

    /// The unit of each planned level.
    fn encoded_levels(&self) -> Result<Vec<&LevelUnit>, Stop> {
        let unit = |level: &PlannedLevel| {
            let unit = self.new.levels.get(&level_key(&self.plan, level));
            unit.ok_or_else(|| {
                // No level is left out without an error.
                let message = "was not encoded; cook again";
                Stop::Content(vec![ContentError::new(level.source.as_str(), "", message)])
            })
        };
        self.plan.levels.iter().map(unit).collect()
    }

    /// All that is needed by these levels, and by the startup content, with what exists for one level only.
    fn written(&self, levels: &[&LevelUnit], of_levels: Objects) -> Cow<'_, Objects> {
        let mut all = Cow::Borrowed(&self.store.objects);
        if !of_levels.is_empty() {
            all.to_mut().extend(of_levels);
            all.to_mut().sort_keys();
        }
        let kept = {
            let roots = levels.iter().flat_map(|level| level.roots());
            let needed = closure(&all, roots.chain(&self.new.startup.root));
            let known = needed.known().map(|(key, object)| (key.clone(), object.clone()));
            (!needed.is_all()).then(|| known.collect())
        };
        // Mostly that is all of them.
        kept.map_or(all, Cow::Owned)
    }

    /// What each level's bounds follow from.
    fn bounds_key(&self, level: &PlannedLevel, unit: &LevelUnit) -> Digest {
        let mut parts = Parts::default();
        parts
            .value(&(level.translation, level.rotation, level.scale, level.bounds))
            .digest(&unit.blob);
        for (mesh, _) in &unit.drawn {
            parts.value(&self.store.objects.get(mesh).and_then(|object| object.bounds));
        }
        parts.finish()
    }

    /// The bounds of each level, with what they follow from.
    fn bounds(&self, units: &[&LevelUnit]) -> Result<Vec<(Digest, Option<Bounds>)>, Stop> {
        let levels = self.plan.levels.iter().zip(units);
        let bounds = levels.map(|(level, unit)| {
            let key = self.bounds_key(level, unit);
            let known = self.before.bounds.get(&level.name);
            if let Some(known) = known.filter(|(known, _)| *known == key) {
                return Ok(*known);
            }
            // Its author knows better.
            if let Some(stated) = bounds::stated(level) {
                return Ok((key, Some(stated)));
            }
            let encoded: EncodedLevel = load(self.cache, &unit.blob)?;
            let mesh = |key: &AssetKey| {
                let (center, half_extents) = self.store.objects.get(key)?.bounds?;
                Some(Aabb {
                    center: center.into(),
                    half_extents: half_extents.into(),
                })
            };
            Ok((key, bounds::of_drawn(level, &encoded.drawn, mesh)))
        });
        bounds.collect()
    }
}
