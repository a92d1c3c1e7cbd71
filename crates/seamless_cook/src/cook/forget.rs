//! What does not hold any more.

use std::collections::{BTreeMap, BTreeSet};

use super::{Cook, fingerprint, level_key};
use crate::assets::{Objects, Text};
use crate::graph::digest::Digest;
use crate::graph::state::{Settings, StartupUnit, Units};
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
            self.old.files.retain(|file, _| !file.starts_with("embedded://"));
        }
        self.new.program = program;
        if self.old.fingerprint != Some(fingerprint) {
            self.old = Units::default();
            self.sources.forget_loadings();
        }
        self.new.fingerprint = Some(fingerprint);
        // Of files that have changed, too: mostly they are used as they were.
        self.store.guess_uses(&self.old.objects);
        let sources = &mut self.sources;
        let files = &self.old.files;
        self.old.levels.retain(|_, level| files.contains_key(&level.file));
        let asked = startup::asked(self.app.world(), self.plan);
        let files = startup::files(self.app.world(), self.plan);
        if self.old.startup.asked != asked || !sources.hold(&self.old.startup.dependencies) {
            // Startup content comes first, and decides how its files are loaded.
            for file in files.iter().chain(&self.old.startup.files) {
                self.old.files.remove(file);
                sources.forget_loading(file);
            }
            let files = &self.old.files;
            self.old.levels.retain(|_, level| files.contains_key(&level.file));
            self.old.startup = StartupUnit::default();
        }
        self.forget_ownerless();
        self.store.inherited = self
            .old
            .files
            .iter()
            .map(|(file, unit)| (file.clone(), unit.loading.clone()))
            .collect();
        let mut objects = core::mem::take(&mut self.old.objects);
        self.forget_objects(&mut objects);
        self.store.inherit(objects);
    }

    /// Forgets those of units that are no more.
    fn forget_objects(&self, objects: &mut Objects) {
        let Units {
            files, levels, startup, ..
        } = &self.old;
        // They are sorted: those of one file are neighbours, mostly.
        let mut last: Option<(String, bool)> = None;
        objects.retain(|key, _| match (key.file(), key.unit()) {
            (Some(file), _) => match &last {
                Some((known, holds)) if known == file => *holds,
                _ => last.insert((file.to_owned(), files.contains_key(file))).1,
            },
            (None, Some(startup::STARTUP_UNIT)) => startup.root.is_some(),
            (None, Some(unit)) => levels.contains_key(unit),
            (None, None) => false,
        });
    }

    /// Files whose settings were those of a level that is no more: who refers to them first now decides.
    fn forget_ownerless(&mut self) {
        let levels = self.plan.levels.iter().chain(&self.plan.other_levels);
        let owners: BTreeSet<String> = levels.map(|level| level_key(self.plan, level)).collect();
        let sources = &mut self.sources;
        // Neighbours mostly have the same one.
        let mut last: Option<(Text, bool)> = None;
        let mut is_there = |owner: &Text| match &last {
            Some((known, is_there)) if known == owner => *is_there,
            _ => last.insert((owner.clone(), owners.contains(&**owner))).1,
        };
        self.old.files.retain(|file, unit| {
            let loading = &unit.loading;
            let is_owned = loading.settings == Settings::Own
                || *loading.owner == *startup::STARTUP_UNIT
                || is_there(&loading.owner);
            if !is_owned {
                sources.forget_loading(file);
            }
            is_owned
        });
    }

    /// Bytes that the cache should have are not there, so all are looked at: whatever has lost its own is made again.
    pub(super) fn forget_lost(&mut self) {
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
