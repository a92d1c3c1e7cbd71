//! What a cook leaves for the next one.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::Cook;
use super::again::Gone;
use super::sources::Sources;
use crate::assets::{AssetKey, KeySet, ObjectRecord, Objects};
use crate::graph::digest::Digest;
use crate::graph::output::Output;
use crate::graph::recorder::{Dependencies, Recorder, SeenFile};
use crate::graph::state::{
    FileUnitOf, FileUnitsOf, Kept, LevelUnit, Loading, Memory, Seen, SeenDependencies, Units, UnitsOf,
};
use crate::report::{CookError, CookReport};
use crate::startup::STARTUP_UNIT;
use crate::write::{MANIFEST_EXTENSION, current_stamp, registry_file};

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
        let kept = self.kept.take();
        let kept = kept.unwrap_or_else(|| {
            self.store.sort();
            self.keeper().keep()
        });
        let mut seen = Seen {
            root: self.plan.root.clone(),
            began,
            ..Seen::default()
        };
        let nothing = CookReport::default();
        let mut told = &nothing;
        if is_done {
            seen.identity = identity.filter(|_| kept.is_tracked);
            let manifest = format!("{}.{MANIFEST_EXTENSION}", self.plan.name);
            let packages = self.after.packages.iter();
            seen.outputs = packages.map(|(file, package)| (file.clone(), package.stamp)).collect();
            for file in [manifest, registry_file(&self.plan.name)] {
                let stamp = current_stamp(output, &file)?;
                seen.outputs.insert(file, stamp);
            }
            if !kept.is_whole {
                // Places would be others.
                self.after.layout = None;
            }
            told = report;
        } else {
            self.after.packages = core::mem::take(&mut self.before.packages);
        }
        let memory = Memory::new(kept.units, &self.after, told, &seen);
        output.replace_own(state_file, memory.bytes())?;
        report.work.sources_loaded = self.recorder.loads();
        report.work.encoded = self.store.encoded;
        report.work.files_written = output.writes() + self.cache.writes();
        Ok(())
    }
}

/// What is remembered of units.
pub(super) struct KeptUnits {
    units: Kept,
    /// Whether it is known of every file when it changes.
    is_tracked: bool,
    /// Whether all objects are remembered.
    is_whole: bool,
}

/// Puts together what is remembered of units: when nothing of these changes any more, and beside whatever else is to be done.
pub(super) struct Keeper<'a> {
    pub old: &'a Units,
    pub new: &'a Units,
    /// Everything could be encoded.
    pub is_sound: bool,
    /// What this cook was not asked for still holds.
    pub is_partial: bool,
    /// All of them, sorted.
    pub objects: &'a Objects,
    pub encoded_now: &'a [AssetKey],
    pub fresh: &'a BTreeMap<String, Loading>,
    pub sources: &'a Sources,
    pub recorder: &'a Recorder,
}

/// Files with whether all that is known of them was encoded by this cook.
type Files<'a> = BTreeMap<&'a str, bool>;

impl<'a> Keeper<'a> {
    pub fn keep(&self) -> KeptUnits {
        let levels = self.levels();
        let (objects, files, is_tracked) = self.known(&levels);
        let read = files.iter().map(|(file, is_new)| self.read(file, *is_new));
        let read: Vec<Option<Dependencies>> = read.collect();
        let places = Places::of(self, files.keys().copied(), &read);
        let files = files.into_keys().zip(&read);
        let files = files.map(|(file, read)| (file, self.unit(file, read.as_ref(), &places)));
        let is_whole = objects.len() == self.objects.len();
        let units = UnitsOf {
            program: self.new.program,
            fingerprint: self.new.fingerprint,
            levels,
            startup: &self.new.startup,
            objects,
        };
        KeptUnits {
            units: Kept::new(&units, &files.collect(), &places.seen),
            is_tracked,
            is_whole,
        }
    }

    /// As [`keep`](Self::keep), where only these objects are others than the last cook remembered, and are from files that are gone. None if
    /// other files are read for them now.
    pub fn keep_again(&self, memory: &Memory, gone: &Gone, changed: &BTreeSet<usize>) -> Option<KeptUnits> {
        let before = self.sources.before();
        let mut files: FileUnitsOf = Vec::with_capacity(self.old.files.len() + gone.files.len());
        for (file, unit) in self.old.files.iter() {
            let (dependencies, loading) = (unit.dependencies.as_slice().into(), Cow::Borrowed(&unit.loading));
            files.push((file, FileUnitOf { dependencies, loading }));
        }
        for (file, unit) in &gone.files {
            let read = self.recorder.dependencies(file);
            let placed = read
                .iter()
                .map(|(path, digest)| Some((before.find(path)? as u32, *digest)));
            let placed = placed.collect::<Option<SeenDependencies>>()?;
            if !placed
                .iter()
                .map(|(place, _)| place)
                .eq(unit.dependencies.iter().map(|(place, _)| place))
            {
                return None;
            }
            let loading = Cow::Borrowed(self.fresh.get(file)?);
            let dependencies = placed.into();
            files.push((file, FileUnitOf { dependencies, loading }));
        }
        files.sort_by_key(|(file, _)| *file);
        let seen = before.all().iter().enumerate();
        let seen: Vec<_> = seen
            .map(|(place, (path, _))| (path.as_str(), self.seen(path, Some(place))))
            .collect();
        let objects = changed
            .iter()
            .filter_map(|place| Some((*place, self.objects.get_index(*place)?.1)));
        let objects: BTreeMap<usize, &ObjectRecord> = objects.collect();
        // A mention of a key is a number that is not known here.
        if objects
            .values()
            .any(|object| !object.references.is_empty() || !object.uses.is_empty())
        {
            return None;
        }
        Some(KeptUnits {
            units: Kept::patched(memory, &objects, &files, &seen)?,
            // It was so before, or there would be nothing to compare with.
            is_tracked: true,
            is_whole: true,
        })
    }

    fn levels(&self) -> BTreeMap<&'a str, &'a LevelUnit> {
        let of = |units: &'a Units| units.levels.iter().map(|(key, level)| (key.as_str(), level));
        let mut levels: BTreeMap<_, _> = of(self.new).collect();
        for (key, level) in of(self.old).filter(|_| self.is_partial) {
            levels.entry(key).or_insert(level);
        }
        levels
    }

    /// The objects that are remembered, the files that anything is from, and whether it is known of all files when they change.
    fn known(
        &self,
        levels: &BTreeMap<&'a str, &'a LevelUnit>,
    ) -> (Vec<(&'a AssetKey, &'a ObjectRecord)>, Files<'a>, bool) {
        let encoded_now: KeySet = self.encoded_now.iter().collect();
        let broken = self.broken();
        let mut files: Files = levels.values().map(|level| (level.file.as_str(), true)).collect();
        let (mut known, mut all_tracked) = (Vec::with_capacity(self.objects.len()), true);
        // They are sorted: of neighbours mostly the same is to be told.
        let mut last: Option<(&str, bool, bool)> = None;
        for (key, object) in self.objects {
            let is_broken = broken.contains(key);
            let is_known = match (key.file(), key.unit()) {
                (Some(file), _) => {
                    let is_tracked = is_tracked(file);
                    all_tracked &= is_tracked;
                    let told = (file, is_tracked && !is_broken, encoded_now.contains(key));
                    if last != Some(told) && told.1 {
                        *files.entry(file).or_insert(true) &= told.2;
                    }
                    last = Some(told);
                    is_tracked
                }
                (None, Some(STARTUP_UNIT)) => self.new.startup.root.is_some(),
                (None, unit) => unit.is_some_and(|unit| levels.contains_key(unit)),
            };
            if is_known && !is_broken {
                known.push((key, object));
            }
        }
        (known, files, all_tracked)
    }

    /// What leads to something that could not be encoded: the next cook goes there again, and tells the same.
    fn broken(&self) -> KeySet<'a> {
        let mut broken = KeySet::default();
        if self.is_sound {
            return broken;
        }
        loop {
            let before = broken.len();
            for (key, object) in self.objects {
                let is_there = |key: &AssetKey| self.objects.contains_key(key) && !broken.contains(key);
                if !object.references.iter().all(is_there) {
                    broken.insert(key);
                }
            }
            if broken.len() == before {
                return broken;
            }
        }
    }

    /// What a file's unit depends on, if that is not what the last cook told.
    fn read(&self, file: &str, is_new: bool) -> Option<Dependencies> {
        // What was taken over is of the bytes that were there then, whatever was read now.
        let is_old = self.old.files.contains_key(file) && (!is_new || !self.recorder.has_loaded(file));
        (!is_old).then(|| self.recorder.dependencies(file))
    }

    fn unit(&self, file: &str, read: Option<&Dependencies>, places: &Places<'_>) -> FileUnitOf<'a> {
        let old = self.old.files.get(file);
        let loading = self.fresh.get(file).or(old.map(|old| &old.loading));
        let dependencies: SeenDependencies = match (read, old) {
            (Some(read), _) => {
                let placed = read.iter().map(|(path, digest)| (places.find(path), *digest));
                placed.collect()
            }
            (None, Some(old)) => {
                let moved = old.dependencies.iter();
                moved.map(|(place, digest)| (places.moved(*place), *digest)).collect()
            }
            (None, None) => SeenDependencies::new(),
        };
        FileUnitOf {
            dependencies: dependencies.into(),
            loading: loading.map_or_else(|| Cow::Owned(Loading::default()), Cow::Borrowed),
        }
    }

    /// What was seen of a file first: by the last cook, where something was taken over because of that, else by this one. A file that was changed,
    /// and read for something else, since then is another one for the next cook.
    fn seen(&self, path: &str, before: Option<usize>) -> SeenFile {
        let held = before.and_then(|place| self.sources.unchanged_at(place)).copied();
        let seen = held
            .or_else(|| self.sources.seen(path))
            .or_else(|| self.recorder.seen(path));
        seen.unwrap_or(NEVER_SEEN)
    }
}

/// A file that nobody has looked at, so that no unit holds by it.
const NEVER_SEEN: SeenFile = SeenFile {
    stamp: None,
    digest: None,
};

/// Every file that a unit depends on, and where each is told.
struct Places<'u> {
    seen: Vec<(&'u str, SeenFile)>,
    /// By place in what the last cook saw.
    moved: Vec<u32>,
}

impl<'u> Places<'u> {
    fn of<'f>(keeper: &Keeper<'u>, files: impl Iterator<Item = &'f str>, read: &'u [Option<Dependencies>]) -> Self {
        let before = keeper.sources.before();
        let mut is_used = vec![false; before.all().len()];
        for (file, _) in files.zip(read).filter(|(_, read)| read.is_none()) {
            let unit = keeper.old.files.get(file);
            for (place, _) in unit.into_iter().flat_map(|unit| &unit.dependencies) {
                if let Some(is_used) = is_used.get_mut(*place as usize) {
                    *is_used = true;
                }
            }
        }
        let mut others = Vec::new();
        let read = read.iter().flatten().chain([&keeper.new.startup.dependencies]);
        for path in read.flat_map(BTreeMap::keys) {
            match before.find(path).and_then(|place| is_used.get_mut(place)) {
                Some(is_used) => *is_used = true,
                None => others.push((path.as_str(), None)),
            }
        }
        let used = before.all().iter().enumerate().zip(&is_used);
        let used = used.filter(|(_, is_used)| **is_used);
        let mut all: Vec<(&str, Option<usize>)> = used
            .map(|((place, (path, _)), _)| (path.as_str(), Some(place)))
            .chain(others)
            .collect();
        all.sort();
        all.dedup();
        let mut moved = vec![u32::MAX; is_used.len()];
        for (place, (_, before)) in all.iter().enumerate() {
            if let Some(moved) = before.and_then(|before| moved.get_mut(before)) {
                *moved = place as u32;
            }
        }
        let seen = all.into_iter().map(|(path, before)| (path, keeper.seen(path, before)));
        Self {
            seen: seen.collect(),
            moved,
        }
    }

    /// Places that lead nowhere are none that hold.
    fn find(&self, path: &str) -> u32 {
        let found = self.seen.binary_search_by(|(known, _)| (*known).cmp(path));
        found.map_or(u32::MAX, |place| place as u32)
    }

    fn moved(&self, before: u32) -> u32 {
        self.moved.get(before as usize).copied().unwrap_or(u32::MAX)
    }
}

/// Whether it is known when a file changes: those of other asset sources may come from anywhere. Embedded ones lie in the program.
fn is_tracked(file: &str) -> bool {
    file.starts_with("embedded://") || !file.contains("://")
}
