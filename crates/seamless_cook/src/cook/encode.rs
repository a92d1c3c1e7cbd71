//! Encodes what does not hold any more.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use bevy::asset::UntypedHandle;
use bevy::prelude::*;
use seamless_asset::codec::Codecs;

use super::sources::LoneFile;
use super::{Cook, level_key};
use crate::app::prepare;
use crate::assets::{AssetKey, AssetWalk, Closure, closure, referrers};
use crate::graph::recorder::text;
use crate::graph::state::{LevelUnit, Settings, StartupUnit};
use crate::level::LevelEncoder;
use crate::load::Loader;
use crate::plan::{PlannedLevel, SourceKind};
use crate::report::Stage;
use crate::startup;

/// By file, what is needed and not known.
type Missing = BTreeMap<Option<String>, BTreeSet<AssetKey>>;

fn by_file<'k>(keys: impl Iterator<Item = &'k AssetKey>) -> Missing {
    let mut missing = Missing::new();
    for key in keys {
        let file = key.file().map(str::to_owned);
        missing.entry(file).or_default().insert(key.clone());
    }
    missing
}

impl Cook<'_> {
    pub(super) fn encode_startup(&mut self) {
        let asked = startup::asked(self.app.world(), &self.plan);
        if asked.is_none() || self.new.startup.asked == asked {
            return;
        }
        if self.old.startup.asked == asked {
            self.new.startup = self.old.startup.clone();
            return;
        }
        self.is_otherwise = true;
        let unit = startup::encode(
            &mut self.app,
            &self.plan,
            self.order.options,
            &self.recorder,
            &mut self.store,
            &mut self.errors,
            prepare,
        );
        self.new.startup = unit.unwrap_or_default();
    }

    /// Levels that do not hold any more, in their turns: whoever comes first says how a file is loaded.
    pub(super) fn encode_levels(&mut self) {
        let mut asked = BTreeSet::new();
        let mut changed = Vec::new();
        for level in &self.plan.levels {
            let key = level_key(&self.plan, level);
            if self.new.levels.contains_key(&key) || self.broken.contains(&key) {
                continue;
            }
            match self.old.levels.remove(&key) {
                Some(unit) => {
                    self.new.levels.insert(key, unit);
                }
                None if asked.insert(key.clone()) => changed.push((self.turn(&key, level), level.clone())),
                None => {}
            }
        }
        changed.sort_by_key(|(turn, _)| *turn);
        let mut turns: Vec<_> = changed.chunk_by(|(a, _), (b, _)| a == b).collect();
        if turns.is_empty() {
            turns.push(&[]);
        }
        for levels in turns {
            let levels: Vec<PlannedLevel> = levels.iter().map(|(_, level)| level.clone()).collect();
            self.load_levels(&levels);
        }
    }

    /// Loads and encodes levels in order, a few being loaded ahead.
    fn load_levels(&mut self, levels: &[PlannedLevel]) {
        self.is_otherwise |= !levels.is_empty();
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
            let key = level_key(&self.plan, level);
            let (world, store, new) = (self.app.world(), &mut self.store, &mut self.new);
            let (sound, start) = (self.errors.len(), Instant::now());
            outcome.encode(&mut self.errors, |root, errors| {
                let Some(encoded) = encoder.encode(world, &key, level, root, store, errors) else {
                    return;
                };
                // Plain data into memory: nothing that could fail.
                let bytes = postcard::to_allocvec(&encoded.level).unwrap_or_default();
                let Some(blob) = store.keep(&bytes) else { return };
                store.encoded += 1;
                let unit = LevelUnit {
                    file: text(&level.asset_path),
                    is_asset: level.kind == SourceKind::Asset,
                    is_soft: level.asked.as_ref().is_some_and(|asked| asked.by.is_some()),
                    blob,
                    seconds: start.elapsed().as_secs_f64(),
                    entities: encoded.level.entities.len() as u32,
                    references: encoded.level.all_references(),
                    labelled: encoded.labelled,
                    drawn: encoded.drawn,
                    contents: encoded.contents,
                    warnings: encoded.warnings,
                    soft: encoded.soft,
                };
                new.levels.insert(key.clone(), unit);
            });
            if self.errors.len() > sound {
                // The next cook goes there again, and tells the same; this one has told it.
                self.new.levels.remove(&key);
                self.broken.insert(key);
            }
            self.store.start_textures(self.app.world(), &mut self.errors);
            loader.release(index);
            progress.step(Stage::Encode, &level.name);
        }
        progress.end(Stage::Load);
        progress.end(Stage::Encode);
    }

    /// What is known of the planned levels.
    pub(super) fn units(&self) -> impl Iterator<Item = &LevelUnit> {
        self.planned_units().map(|(_, unit)| unit)
    }

    /// The planned levels of which something is known.
    pub(super) fn planned_units(&self) -> impl Iterator<Item = (&PlannedLevel, &LevelUnit)> {
        let levels = self.plan.levels.iter();
        levels.filter_map(|level| Some((level, self.new.levels.get(&level_key(&self.plan, level))?)))
    }

    /// All that the world refers to.
    pub(super) fn needed(&self) -> Closure<'_> {
        let references = self.units().flat_map(LevelUnit::roots);
        closure(&self.store.objects, references.chain(&self.new.startup.root))
    }

    /// Assets whose files have changed, while no level that refers to them has: each file is loaded by itself. Where that does not
    /// work, the levels that lead to it are loaded, and tell what is wrong.
    pub(super) fn encode_missing(&mut self) {
        let (mut tried, mut lost_before) = (BTreeSet::new(), BTreeSet::new());
        let mut known = self.missing_again();
        if known.is_some() {
            let textures = self
                .gone
                .objects
                .iter()
                .filter_map(|(_, key, was)| Some((key, was.texture.as_deref()?.0)));
            self.store.use_as_before(textures);
        }
        loop {
            let missing = known.take().unwrap_or_else(|| self.missing());
            let lone: Vec<String> = (missing.keys().flatten())
                .filter(|file| {
                    self.sources.settings(file, &self.old.files).is_replayable() && tried.insert((*file).clone())
                })
                .cloned()
                .collect();
            if !lone.is_empty() {
                let encoded = self.store.encoded_now.len();
                self.load_files(&lone, &missing);
                let mut keys = missing.values().flatten();
                if self.store.encoded_now.len() == encoded && keys.all(|key| self.store.is_pending(key)) {
                    // Textures lead nowhere: if they can be cooked, nothing else is missing.
                    self.store.finish_textures(&mut self.errors);
                    let mut keys = missing.values().flatten();
                    if keys.all(|key| self.store.objects.contains_key(key)) {
                        return;
                    }
                }
                continue;
            }
            // They are waited for only when no file is left to load.
            self.store.finish_textures(&mut self.errors);
            let lost: BTreeSet<AssetKey> = missing.into_values().flatten().collect();
            // What is not there when the levels that lead to it were loaded has told why.
            if lost.is_empty() || lost == lost_before {
                return;
            }
            self.load_referrers(&lost);
            lost_before = lost;
        }
    }

    /// What is needed, where that is all that was there before: what is gone is missing then.
    fn missing_again(&self) -> Option<Missing> {
        let is_first = self.leads_as_before() && self.store.encoded_now.is_empty();
        let is_all = self.store.objects.len() + self.gone.objects.len() == self.gone.of;
        (is_first && is_all).then(|| by_file(self.gone.objects.iter().map(|(_, key, _)| key)))
    }

    /// What is needed, not known, and not on its way, by file.
    fn missing(&self) -> Missing {
        let unknown = self.needed().unknown.into_iter();
        by_file(unknown.filter(|key| !self.store.is_pending(key)))
    }

    /// Loads files by themselves, and encodes what is missing of them.
    fn load_files(&mut self, files: &[String], missing: &Missing) {
        let lone: Vec<LoneFile> = files.iter().map(|file| LoneFile { path: file.clone() }).collect();
        for file in files {
            if let Settings::Given(settings) = self.sources.settings(file, &self.old.files) {
                self.recorder.load_with(file, settings.as_bytes().to_vec());
            }
        }
        if self.recorder.loads() > 0 {
            startup::free(&mut self.app);
        }
        let mut loader = Loader::new(&lone, self.order.options);
        for (index, file) in files.iter().enumerate() {
            let outcome = loader.wait_for(&mut self.app, index);
            prepare(self.app.world_mut(), self.order.options);
            self.store.clips.offer(self.app.world_mut(), &self.recorder);
            if outcome.is_ready() {
                for key in missing.get(&Some(file.clone())).into_iter().flatten() {
                    self.encode_lone(key);
                }
                self.store.start_textures(self.app.world(), &mut self.errors);
                let loading = self.sources.loading(file, &self.old.files);
                self.store.keep_loading(file, loading.cloned().unwrap_or_default());
            }
            loader.release(index);
        }
        self.recorder.load_all_as_they_are();
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
        self.is_otherwise = true;
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
}
