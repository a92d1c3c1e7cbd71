//! What does not hold any more.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::again::MOST_CHANGED;
use super::{Cook, fingerprint};
use crate::assets::{AssetKey, Inherited, Objects};
use crate::graph::digest::Digest;
use crate::graph::state::{FileUnit, StartupUnit, Units};
use crate::startup;

impl Cook<'_> {
    /// Takes over what still holds.
    pub(super) fn forget_changed(&mut self) {
        let program = self.program;
        let known = self
            .old
            .fingerprint
            .filter(|_| program.is_some() && self.old.program == program);
        let fingerprint = known.unwrap_or_else(|| fingerprint::of_app(self.app.world(), self.order));
        if program.is_none() || self.old.program != program {
            // They lie in the program.
            let gone = self.forget_files(|file, _| file.starts_with("embedded://"));
            for (file, unit) in self.gone.files.get(gone..).unwrap_or_default() {
                self.sources.remember_loading(file, &unit.loading);
            }
        }
        self.new.program = program;
        if self.old.fingerprint != Some(fingerprint) {
            self.old = Units::default();
            self.sources.forget_loadings();
        }
        self.new.fingerprint = Some(fingerprint);
        // Of files that have changed, too: mostly they are used as they were.
        self.store.guess_uses(&self.old.objects);
        self.forget_levels();
        let asked = startup::asked(self.app.world(), &self.plan);
        if self.old.startup.asked != asked || !self.sources.hold(&self.old.startup.dependencies) {
            // Startup content comes first, and decides how its files are loaded.
            let mut files = startup::files(self.app.world(), &self.plan);
            files.extend(core::mem::take(&mut self.old.startup.files));
            files.iter().for_each(|file| self.sources.forget_loading(file));
            self.forget_files(|file, _| files.contains(file));
            let files = &self.old.files;
            self.old.levels.retain(|_, level| files.contains_key(&level.file));
            self.old.startup = StartupUnit::default();
        }
        self.forget_ownerless();
        self.store.inherited = Inherited::new(self.old.files.clone());
        let mut objects = core::mem::take(&mut self.old.objects);
        self.forget_objects(&mut objects);
        self.store.inherit(objects);
    }

    /// Forgets some files; gives the place of the first of them among all that are gone.
    pub(super) fn forget_files(&mut self, mut is_gone: impl FnMut(&str, &FileUnit) -> bool) -> usize {
        let before = self.gone.files.len();
        // Nobody else has them yet.
        let files = Arc::make_mut(&mut self.old.files);
        self.gone
            .files
            .extend(files.extract_if(.., |file, unit| is_gone(file, unit)));
        before
    }

    /// Forgets those of units that are no more.
    fn forget_objects(&mut self, objects: &mut Objects) {
        let Units {
            files, levels, startup, ..
        } = &self.old;
        let gone: BTreeSet<&str> = self.gone.files.iter().map(|(file, _)| file.as_str()).collect();
        let holds = |key: &AssetKey| match (key.file(), key.unit()) {
            // All files were there, or none could be read.
            (Some(file), _) => !files.is_empty() && !gone.contains(file),
            (None, Some(startup::STARTUP_UNIT)) => startup.root.is_some(),
            (None, Some(unit)) => levels.contains_key(unit),
            (None, None) => false,
        };
        let lost = objects.keys().enumerate().filter(|(_, key)| !holds(key));
        let lost: Vec<usize> = lost.map(|(place, _)| place).collect();
        self.gone.of = objects.len();
        if lost.len() <= MOST_CHANGED {
            self.gone.take(objects, &lost);
        } else {
            objects.retain(|key, _| holds(key));
        }
    }

    /// Forgets levels that are planned no more, and those whose sources do not hold. An asset is made anew like any other, as whoever referred to
    /// its file first has it loaded; that it is one of that path is still so.
    fn forget_levels(&mut self) {
        let planned = self.planned_keys();
        let (files, sources) = (&self.old.files, &self.sources);
        let is_loaded_alone = |file: &str| sources.settings(file, files).is_replayable();
        self.old.levels.retain(|key, level| {
            let holds = files.contains_key(&level.file) || level.is_asset && is_loaded_alone(&level.file);
            holds && (level.is_soft || planned.contains(key))
        });
    }

    /// Bytes that the cache should have are not there, so all are looked at: whatever has lost its own is made again.
    pub(super) fn forget_lost(&mut self) {
        self.is_otherwise = true;
        let cache = self.cache;
        let mut known: BTreeMap<Digest, bool> = BTreeMap::new();
        let mut is_lost = |blob: &Digest| *known.entry(*blob).or_insert_with(|| cache.get(blob).is_none());
        let mut lost_units = BTreeSet::new();
        self.store.objects.retain(|key, object| {
            let is_lost = is_lost(&object.blob);
            lost_units.extend(key.unit().filter(|_| is_lost).map(str::to_owned));
            !is_lost
        });
        for levels in [&mut self.old.levels, &mut self.new.levels] {
            levels.retain(|key, level| !is_lost(&level.blob) && !lost_units.contains(key));
        }
        if lost_units.contains(startup::STARTUP_UNIT) {
            self.old.startup = StartupUnit::default();
            self.new.startup = StartupUnit::default();
        }
    }
}
