//! The source files: which have changed since the last cook. See [`Sources`].

use core::num::NonZeroUsize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bevy::asset::UntypedHandle;
use bevy::prelude::*;

use crate::graph::digest::Digest;
use crate::graph::recorder::{Dependencies, SeenFile, meta_path};
use crate::graph::state::{FileUnits, Loading, Seen, SeenFiles, Settings};
use crate::graph::storage::{Stamp, stamp};
use crate::load::Loadable;
use crate::parts::in_parts;
use crate::plan::WorldPlan;
use crate::report::ContentError;

/// The clock that files are stamped with is that much behind, at most: a file that was changed within that time before a cook looked
/// at it, or later, may have changed again without another stamp. In nanoseconds.
const STAMP_LAG: i128 = 20_000_000;

/// Waits until every change before `start` has another stamp than any to come; gives the time in nanoseconds since 1970. What a file was
/// before that time says nothing of what it is.
pub(super) fn settle(start: Instant) -> i128 {
    let lag = Duration::from_nanos(STAMP_LAG as u64 + 1);
    std::thread::sleep(lag.saturating_sub(start.elapsed()));
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as i128)
}

/// Source files; the bytes of each are looked at once in a cook.
pub(super) struct Sources {
    root: PathBuf,
    /// What the last cook saw, and which of that is not so any more.
    seen: SeenFiles,
    changed: Vec<bool>,
    /// What this one saw of other files.
    now: BTreeMap<String, SeenFile>,
    /// How files were loaded whose units do not hold any more.
    loadings: BTreeMap<String, Loading>,
    /// Files of which it is not known any more how they are to be loaded.
    disowned: BTreeSet<String>,
}

impl Sources {
    /// Those of the plan; of the ones that the last cook has seen, these have changed.
    pub fn new(plan: &WorldPlan, seen: &Seen, files: SeenFiles, mut changed: Vec<bool>) -> Self {
        if seen.root != plan.root {
            // They are other files.
            changed.fill(true);
        }
        Self {
            root: plan.root.clone(),
            seen: files,
            changed,
            now: BTreeMap::new(),
            loadings: BTreeMap::new(),
            disowned: BTreeSet::new(),
        }
    }

    /// What the last cook saw, in places.
    pub fn before(&self) -> &SeenFiles {
        &self.seen
    }

    /// Whether the files still hold this.
    pub fn hold(&mut self, dependencies: &Dependencies) -> bool {
        dependencies.iter().all(|(path, digest)| self.digest(path) == *digest)
    }

    /// As [`hold`](Self::hold), of files that the last cook has seen.
    pub fn hold_seen(&mut self, dependencies: &[(u32, Option<Digest>)]) -> bool {
        dependencies.iter().all(|(place, digest)| {
            let place = *place as usize;
            if let Some(file) = self.unchanged_at(place) {
                return file.digest == *digest;
            }
            let path = self.seen.all().get(place).map(|(path, _)| path.clone());
            path.is_some_and(|path| self.digest(&path) == *digest)
        })
    }

    /// What this cook saw of a file without loading it.
    pub fn seen(&self, path: &str) -> Option<SeenFile> {
        self.now.get(path).copied()
    }

    /// What the last cook saw of a file that has not changed since.
    pub fn unchanged(&self, path: &str) -> Option<&SeenFile> {
        self.unchanged_at(self.seen.find(path)?)
    }

    /// As [`unchanged`](Self::unchanged), of the file in this place.
    pub fn unchanged_at(&self, place: usize) -> Option<&SeenFile> {
        let (_, file) = self.seen.all().get(place)?;
        (self.changed.get(place) == Some(&false)).then_some(file)
    }

    /// Remembers how a file was loaded whose unit does not hold any more.
    pub fn remember_loading(&mut self, file: &str, loading: &Loading) {
        self.loadings.insert(file.to_owned(), loading.clone());
    }

    /// Whoever refers to files now decides how they are loaded.
    pub fn forget_loadings(&mut self) {
        self.loadings.clear();
    }

    /// As [`forget_loadings`](Self::forget_loadings), of one file.
    pub fn forget_loading(&mut self, file: &str) {
        self.loadings.remove(file);
    }

    /// As [`forget_loading`](Self::forget_loading), of a file that holds.
    pub fn disown(&mut self, file: &str) {
        self.forget_loading(file);
        self.disowned.insert(file.to_owned());
    }

    /// Whether a file was taken from its owner.
    pub fn is_disowned(&self, file: &str) -> bool {
        self.disowned.contains(file)
    }

    /// How a file was loaded the last time, if that is known of it; `files` are those that hold.
    pub fn loading<'l>(&'l self, file: &str, files: &'l FileUnits) -> Option<&'l Loading> {
        let held = files.get(file).filter(|_| !self.is_disowned(file));
        let held = held.map(|unit| &unit.loading);
        held.or_else(|| self.loadings.get(file))
    }

    /// How a file is loaded by itself. What was never loaded is only known to who refers to it.
    pub fn settings(&self, file: &str, files: &FileUnits) -> Settings {
        match self.loading(file, files).map(|loading| &loading.settings) {
            Some(Settings::Given(_)) if stamp(&self.root.join(meta_path(file))).is_some() => Settings::Unknown,
            Some(settings) => settings.clone(),
            None => Settings::Unknown,
        }
    }

    fn digest(&mut self, path: &str) -> Option<Digest> {
        if let Some(file) = self.unchanged(path).or_else(|| self.now.get(path)) {
            return file.digest;
        }
        let file = look(&self.root.join(path));
        self.now.insert(path.to_owned(), file);
        file.digest
    }
}

/// So many files are looked at by one thread in one go.
const FILES_AT_ONCE: usize = 1024;

/// Whether each of these files has changed since it was seen; so many threads look.
pub(super) fn changed(seen: &Seen, files: &SeenFiles, threads: NonZeroUsize) -> Vec<bool> {
    let parts: Vec<_> = files.all().chunks(FILES_AT_ONCE).collect();
    let changed = in_parts(threads, &parts, |files| {
        let mut path = seen.root.clone();
        let changed = files.iter().map(|(file, known)| {
            path.push(file);
            let is_same = is_same(stamp(&path), known, seen.began);
            path.clone_from(&seen.root);
            !is_same
        });
        changed.collect::<Vec<_>>()
    });
    changed.concat()
}

/// Whether a file is what it was, as far as can be told without reading it.
fn is_same(now: Option<Stamp>, file: &SeenFile, began: i128) -> bool {
    now == file.stamp && now.is_none_or(|stamp| stamp.latest() + STAMP_LAG < began)
}

/// Stamped before it is read: what changes in between has another stamp the next time.
fn look(path: &Path) -> SeenFile {
    SeenFile {
        stamp: stamp(path),
        digest: std::fs::read(path).ok().map(|bytes| Digest::of(&bytes)),
    }
}

/// A file that is loaded by itself.
pub(super) struct LoneFile {
    pub path: String,
}

impl Loadable for LoneFile {
    fn load(&self, world: &World) -> UntypedHandle {
        let server = world.resource::<AssetServer>();
        server.load_builder().load_untyped(self.path.clone()).untyped()
    }

    fn file(&self) -> String {
        self.path.clone()
    }

    fn error(&self, message: String) -> ContentError {
        ContentError::new(self.path.as_str(), "", message)
    }
}
