//! What a cook leaves for the next one.

use std::collections::BTreeMap;

use super::Cook;
use crate::assets::{AssetKey, KeySet};
use crate::graph::digest::Digest;
use crate::graph::output::Output;
use crate::graph::recorder::SeenFile;
use crate::graph::state::{FileUnit, Memory, Seen};
use crate::report::{CookError, CookReport};
use crate::startup;
use crate::write::{MANIFEST_EXTENSION, current_stamp};

impl Cook<'_> {
    /// Leaves what this cook knows for the next one.
    pub(super) fn remember(
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
        // Said before the objects move.
        let tracked = self.store.objects.keys().all(|key| key.file().is_none_or(is_tracked));
        self.remember_files();
        let mut seen = Seen {
            root: self.plan.root.clone(),
            began,
            files: self.seen_files(),
            ..Seen::default()
        };
        if is_done {
            seen.identity = identity.filter(|_| tracked);
            let manifest = format!("{}.{MANIFEST_EXTENSION}", self.plan.name);
            for file in self.new.packages.keys().chain([&manifest]) {
                seen.outputs.insert(file.clone(), current_stamp(output, file)?);
            }
            seen.report = report.clone();
        } else {
            self.new.packages = core::mem::take(&mut self.old.packages);
        }
        output.replace_own(state_file, &Memory::encode(&seen, &self.new))?;
        report.work.sources_loaded = self.recorder.loads();
        report.work.encoded = self.store.encoded;
        report.work.files_written = output.writes() + self.cache.writes();
        Ok(())
    }

    /// The units of all files that anything is from.
    fn remember_files(&mut self) {
        self.store.drop_broken();
        self.store.sort();
        let mut files: BTreeMap<String, FileUnit> = BTreeMap::new();
        for (key, level) in &mut self.new.levels {
            files.entry(level.file.clone()).or_default();
            level.objects = self.store.anonymous_of(key);
        }
        if self.new.startup.root.is_some() {
            self.new.startup.objects = self.store.anonymous_of(startup::STARTUP_UNIT);
        }
        for (key, object) in core::mem::take(&mut self.store.objects) {
            let Some(file) = key.file().filter(|file| is_tracked(file)) else {
                continue;
            };
            let unit = match files.get_mut(file) {
                Some(unit) => unit,
                None => files.entry(file.to_owned()).or_default(),
            };
            unit.objects.push((key, object));
        }
        let encoded_now: KeySet = self.store.encoded_now.iter().collect();
        for (file, unit) in &mut files {
            let old = self.old.files.get(file);
            let loading = self.store.fresh.get(file).or(old.map(|old| &old.loading));
            unit.loading = loading.cloned().unwrap_or_default();
            // What was taken over is of the bytes that were there then, whatever was read now.
            let is_new = |key: &AssetKey| encoded_now.contains(key);
            unit.dependencies = match old {
                Some(old) if !self.recorder.has_loaded(file) || !unit.objects.iter().all(|(key, _)| is_new(key)) => {
                    old.dependencies.clone()
                }
                _ => self.recorder.dependencies(file),
            };
        }
        self.new.files = files;
    }

    /// Every file that a unit depends on. Where something was taken over because of what the last cook saw of a file, that is what was seen:
    /// a file that was changed, and read for something else, since this cook looked at it is then another one for the next cook.
    fn seen_files(&self) -> BTreeMap<String, SeenFile> {
        let read = self.recorder.files();
        let units = self.new.files.values().map(|unit| &unit.dependencies);
        let paths = units.chain([&self.new.startup.dependencies]).flat_map(BTreeMap::keys);
        paths
            .filter_map(|path| {
                let held = self.sources.unchanged(path).copied();
                let seen = held
                    .or_else(|| read.get(path).copied())
                    .or_else(|| self.sources.seen(path));
                Some((path.clone(), seen?))
            })
            .collect()
    }
}

/// Whether it is known when a file changes: those of other asset sources may come from anywhere. Embedded ones lie in the program.
fn is_tracked(file: &str) -> bool {
    file.starts_with("embedded://") || !file.contains("://")
}
