//! The source files: which have changed since the last cook. See [`Sources`].

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bevy::asset::UntypedHandle;
use bevy::prelude::*;

use crate::graph::digest::Digest;
use crate::graph::recorder::{Dependencies, SeenFile, meta_path};
use crate::graph::state::{FileUnit, Loading, Seen, Settings};
use crate::graph::storage::stamp;
use crate::load::Loadable;
use crate::plan::WorldPlan;
use crate::report::ContentError;

/// The clock that files are stamped with is that much behind, at most: a file that was changed within that time before a cook looked
/// at it, or later, may have changed again without another stamp. In nanoseconds.
const STAMP_LAG: i128 = 20_000_000;

/// Waits until every change before the call has another stamp than any to come, and calls `make` meanwhile; gives the time in nanoseconds
/// since 1970.
pub(super) fn settle<T>(make: impl FnOnce() -> T) -> (i128, T) {
    let start = Instant::now();
    let made = make();
    let lag = Duration::from_nanos(STAMP_LAG as u64 + 1);
    std::thread::sleep(lag.saturating_sub(start.elapsed()));
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    (since.map_or(0, |since| since.as_nanos() as i128), made)
}

/// Source files; the bytes of each are looked at once in a cook.
pub(super) struct Sources {
    root: PathBuf,
    /// What the last cook saw, and which of that is not so any more.
    seen: BTreeMap<String, SeenFile>,
    changed: BTreeSet<String>,
    /// What this one saw of other files.
    now: BTreeMap<String, SeenFile>,
    loadings: BTreeMap<String, Loading>,
}

impl Sources {
    /// Those of the plan; of the ones that the last cook has seen, these have changed.
    pub fn new(plan: &WorldPlan, seen: Seen, changed: BTreeSet<String>) -> Self {
        let is_same = seen.root == plan.root;
        Self {
            root: plan.root.clone(),
            seen: if is_same { seen.files } else { BTreeMap::new() },
            changed,
            now: BTreeMap::new(),
            loadings: BTreeMap::new(),
        }
    }

    /// Which files have changed since.
    pub fn changed(seen: &Seen) -> BTreeSet<String> {
        let files = seen.files.iter();
        let changed = files.filter(|(path, file)| !is_same(&seen.root, path, file, seen.began));
        changed.map(|(path, _)| path.clone()).collect()
    }

    /// Whether the files still hold this.
    pub fn hold(&mut self, dependencies: &Dependencies) -> bool {
        dependencies.iter().all(|(path, digest)| self.digest(path) == *digest)
    }

    /// What this cook saw of a file without loading it.
    pub fn seen(&self, path: &str) -> Option<SeenFile> {
        self.now.get(path).copied()
    }

    /// What the last cook saw of a file that has not changed since.
    pub fn unchanged(&self, path: &str) -> Option<&SeenFile> {
        self.seen.get(path).filter(|_| !self.changed.contains(path))
    }

    /// Remembers how files were loaded, whether they have changed since or not.
    pub fn remember_loadings(&mut self, files: &BTreeMap<String, FileUnit>) {
        let loadings = files.iter().map(|(file, unit)| (file.clone(), unit.loading.clone()));
        self.loadings = loadings.collect();
    }

    /// Whoever refers to a file now decides how it is loaded.
    pub fn forget_loading(&mut self, file: &str) {
        self.loadings.remove(file);
    }

    /// How a file was loaded the last time.
    pub fn loading(&self, file: &str) -> Loading {
        self.loadings.get(file).cloned().unwrap_or_default()
    }

    /// How a file is loaded by itself. What was never loaded is only known to who refers to it.
    pub fn settings(&self, file: &str) -> Settings {
        match self.loadings.get(file).map(|loading| &loading.settings) {
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

/// Whether a file is what it was, as far as can be told without reading it.
fn is_same(root: &Path, path: &str, file: &SeenFile, began: i128) -> bool {
    let now = stamp(&root.join(path));
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
