//! Writes packages and manifest, as far as they are not there already. See [`write_world`].

mod key;
mod manifest;
mod package;
mod packages;
mod registry;
mod seek_free;

use core::num::NonZeroUsize;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use seamless_asset::level_data::LEVEL_EXPORT;
use seamless_asset::{LoadErrorKind, STARTUP_EXPORT, StartupReport, StartupTable};
use seamless_level::LevelEntry;
use seamless_package::{Codec, Limits, Package, Role, VersionList};

use crate::assets::{AssetKey, ByKey, EncodedObject, ObjectRecord, Objects};
use crate::bounds::Bounds;
use crate::dialogue::OwnKeys;
use crate::graph::cache::Cache;
use crate::graph::digest::{Digest, Parts};
use crate::graph::output::{Output, write_error};
use crate::graph::recorder::text;
use crate::graph::state::{LevelUnit, Written};
use crate::graph::storage::{Stamp, stamp};
use crate::layout::{Again, PackageKind, PackagePlan};
use crate::level::EncodedLevel;
use crate::output::{refuse_foreign, stale_packages};
use crate::parts::in_parts;
use crate::plan::{PlannedLevel, SourceKind, WorldPlan};
use crate::report::{ContentError, CookError, CookReport, LevelReport, PackageReport, Progress, Stage};

use self::manifest::{listed, manifest};
pub(crate) use self::package::LEFT_OUT;
use self::packages::{Done, write_packages};
pub(crate) use self::registry::registry_file;

/// The ending of manifests.
pub(crate) const MANIFEST_EXTENSION: &str = "seamless";

/// Why writing stopped.
pub(crate) enum Stop {
    Content(Vec<ContentError>),
    Cook(CookError),
    /// The cache has lost this.
    Lost,
}

impl From<CookError> for Stop {
    fn from(error: CookError) -> Self {
        Self::Cook(error)
    }
}

/// Where each object is, by its place among all of them: index of its package, and its place there.
type Places = Vec<Option<(usize, usize)>>;

/// What the names of a package's assets follow from, and these, in the order of its assets.
type NameList = (Digest, Arc<Vec<String>>);

/// A world that only needs to be written.
pub(crate) struct World<'a> {
    pub plan: &'a WorldPlan,
    /// What nobody of these needs is left out.
    pub roles: Role,
    /// How data is stored where it saves enough.
    pub codec: Codec,
    pub world_file: &'a str,
    /// In the order of the plan.
    pub levels: &'a [&'a LevelUnit],
    pub bounds: &'a [Option<Bounds>],
    pub objects: &'a Objects,
    /// By level, what stands for objects there, if anything does anywhere.
    pub own: &'a [OwnKeys],
    /// Objects of one level that are in no cache, if there are any.
    pub own_sets: Option<&'a ByKey<EncodedObject>>,
    pub packages: &'a [PackagePlan],
    /// Where only few objects are others than in what is there already. What is told of all others still holds.
    pub again: Option<&'a Again>,
    pub versions: &'a [VersionList],
    /// What is in the output folder already.
    pub old: &'a BTreeMap<String, Written>,
    /// How many threads put packages together.
    pub jobs: usize,
}

/// Everything that is known about where objects are.
struct Layout<'a> {
    world: &'a World<'a>,
    places: Cow<'a, [Option<(usize, usize)>]>,
    /// By package.
    names: Vec<NameList>,
}

/// What a manifest says of a level.
struct Entry {
    /// Its place in the plan.
    place: usize,
    /// Index of its package.
    package: usize,
    level: LevelEntry,
}

impl<'a> World<'a> {
    fn threads(&self) -> NonZeroUsize {
        NonZeroUsize::new(self.jobs).unwrap_or(NonZeroUsize::MIN)
    }

    /// What was written of a package in which nothing is another one, if that is known.
    fn same(&self, index: usize) -> Option<&'a Written> {
        let is_changed = self.again?.is_changed.get(index)?;
        let package = self.packages.get(index).filter(|_| !is_changed)?;
        self.old.get(&package.file)
    }

    /// How many assets a package has.
    fn count(&self, index: usize) -> usize {
        let counted = || Some(self.packages.get(index)?.assets.len());
        let known = self.again.map(|again| again.counts.get(index).copied());
        known.unwrap_or_else(counted).unwrap_or_default()
    }

    /// The level of a package, if it is one's.
    fn level_of(&self, package: &PackagePlan) -> Option<(&'a PlannedLevel, &'a LevelUnit)> {
        let level = package.level()?;
        Some((self.plan.levels.get(level)?, *self.levels.get(level)?))
    }

    fn object(&self, cache: &Cache, key: &AssetKey) -> Option<(&'a ObjectRecord, Result<EncodedObject, Stop>)> {
        let record = self.objects.get(key)?;
        let object = match self.own_sets.and_then(|sets| sets.get(key)) {
            Some(set) => Ok(set.clone()),
            None => load(cache, &record.blob),
        };
        Some((record, object))
    }

    /// The entities of a level's package, which refer to what is the level's own.
    fn entities(&self, cache: &Cache, package: &PackagePlan) -> Result<Option<EncodedLevel>, Stop> {
        let level = self.level_of(package);
        let Some((_, unit)) = level.filter(|(level, _)| level.kind != SourceKind::Asset) else {
            return Ok(None);
        };
        let mut level: EncodedLevel = load(cache, &unit.blob)?;
        if let Some(own) = package.level().and_then(|level| self.own.get(level)) {
            own.put_into(&mut level.references);
            for resource in &mut level.resources {
                own.put_into(&mut resource.references);
            }
        }
        Ok(Some(level))
    }
}

/// What was put into the cache.
pub(crate) fn load<T: serde::de::DeserializeOwned>(cache: &Cache, blob: &Digest) -> Result<T, Stop> {
    let bytes = cache.get(blob).ok_or(Stop::Lost)?;
    postcard::from_bytes(&bytes).map_err(|_| Stop::Lost)
}

/// Brings the output folder up to date and completes the report; gives what is in the folder then, without the stamps of what was
/// written now.
pub(crate) fn write_world(
    world: &World,
    cache: &Cache,
    output: &mut Output,
    progress: &dyn Progress,
    report: &mut CookReport,
) -> Result<BTreeMap<String, Written>, Stop> {
    let folder = output.path("");
    refuse_foreign(world.plan, world.packages, &folder)?;
    let manifest_file = format!("{}.{MANIFEST_EXTENSION}", world.plan.name);
    let stale = stale_packages(&output.path(&manifest_file), world.old, world.packages);
    progress.begin(Stage::Write, world.packages.len() as u64 + 1);
    let layout = Layout {
        world,
        places: match world.again {
            Some(again) => Cow::Borrowed(&again.places),
            None => places(world).into(),
        },
        names: names(world, cache)?,
    };
    let done = write_packages(&layout, cache, output, progress)?;
    complete_report(world, &done, output, report)?;
    let mut entries = entries(world, &done);
    write_registry(&layout, &entries, output)?;
    entries.retain(|entry| world.is_placed(entry.place));
    let source = |place: usize| world.plan.levels.get(place).map_or("", |level| level.source.as_str());
    let reports = entries
        .iter()
        .map(|entry| level_report(source(entry.place), &entry.level));
    report.levels = reports.collect();
    let levels = entries.into_iter().map(|entry| entry.level).collect();
    write_manifest(world, levels, &done, &manifest_file, output)?;
    output.commit(stale)?;
    progress.step(Stage::Write, &world.plan.name);
    progress.end(Stage::Write);
    let files = world.packages.iter().map(|package| package.file.clone());
    files
        .zip(done)
        .map(|(file, done)| stamped(output, file, done))
        .collect()
}

/// What was written has its place now, and its stamp.
fn stamped(output: &Output, file: String, done: Done) -> Result<(String, Written), Stop> {
    let mut written = done.written;
    if done.is_new {
        written.stamp = current_stamp(output, &file)?;
    }
    Ok((file, written))
}

pub(crate) fn current_stamp(output: &Output, file: &str) -> Result<Stamp, CookError> {
    let path = output.path(file);
    stamp(&path).ok_or_else(|| write_error(&path, std::io::ErrorKind::NotFound.into()))
}

fn package_error(world: &World, package: &PackagePlan, error: &dyn core::fmt::Display) -> Stop {
    let level = world.level_of(package);
    let source = level.map_or(world.world_file, |(level, _)| level.source.as_str());
    Stop::Content(vec![ContentError::new(
        source,
        format!("package `{}`", package.file),
        error.to_string(),
    )])
}

fn write_manifest(
    world: &World,
    levels: Vec<LevelEntry>,
    done: &[Done],
    file: &str,
    output: &mut Output,
) -> Result<(), Stop> {
    let mut packages: Vec<_> = world
        .packages
        .iter()
        .zip(done)
        .map(|(package, done)| {
            let level = world.level_of(package);
            listed(
                &package.file,
                &done.written,
                level.map_or(0, |(_, level)| level.entities),
            )
        })
        .collect();
    packages.sort_unstable_by(|a, b| a.package.cmp(&b.package));
    let startup = world
        .packages
        .iter()
        .find(|package| package.kind == PackageKind::Startup);
    let startup = startup.map(|package| package.file.clone());
    let registry = Some(registry_file(&world.plan.name));
    let manifest = manifest(world.plan, levels, packages, (startup, registry));
    let text = manifest
        .to_ron()
        .map_err(|error| Stop::Content(vec![ContentError::new(world.world_file, "", error.to_string())]))?;
    let before = output.read(file).ok();
    stage_if_new(file, text.as_bytes(), before.as_deref(), output)
}

fn write_registry(layout: &Layout, entries: &[Entry], output: &mut Output) -> Result<(), Stop> {
    let world = layout.world;
    let file = registry_file(&world.plan.name);
    let before = output.read(&file).ok();
    let registry = registry::registry(layout, entries, before.as_deref());
    let registry = registry
        .map_err(|error| Stop::Content(vec![ContentError::new(world.world_file, "registry", error.to_string())]))?;
    stage_if_new(&file, &registry, before.as_deref(), output)
}

/// Stages a file that is not there as it is to be.
fn stage_if_new(file: &str, bytes: &[u8], before: Option<&[u8]>, output: &mut Output) -> Result<(), Stop> {
    if before != Some(bytes) {
        output.stage(file, bytes)?;
    }
    Ok(())
}

fn complete_report(world: &World, done: &[Done], output: &Output, report: &mut CookReport) -> Result<(), Stop> {
    for (index, (package, done)) in world.packages.iter().zip(done).enumerate() {
        if package.kind == PackageKind::Startup {
            let bytes = output.read(&package.file);
            let bytes = bytes.map_err(|source| write_error(&output.path(&package.file), source))?;
            let startup = startup_report(&bytes).map_err(|error| package_error(world, package, &error))?;
            report.startup = Some(startup);
        }
        report.packages.push(PackageReport {
            file: package.file.clone(),
            bytes: done.written.stamp.bytes,
            assets: world.count(index) as u32,
            users: package.users.len() as u32,
        });
    }
    report.entities = world.levels.iter().map(|level| u64::from(level.entities)).sum();
    report.bytes = report.packages.iter().map(|package| package.bytes).sum();
    report.without_volume = world.plan.without_volume();
    report.work.packages_written = done.iter().filter(|done| done.is_new).count() as u64;
    Ok(())
}

/// What the startup package pins, as its own tables tell.
fn startup_report(bytes: &[u8]) -> Result<StartupReport, LoadErrorKind> {
    let package = Package::parse(bytes, &Limits::default())?;
    let table = StartupTable::of(&package, bytes, 0)?;
    Ok(StartupReport::of(&package, &table, Role::ALL))
}

fn level_report(source: &str, entry: &LevelEntry) -> LevelReport {
    LevelReport {
        name: entry.name.clone(),
        source: source.to_owned(),
        entities: entry.entities,
        bytes: entry.bytes,
        dependencies: entry.dependencies.clone(),
    }
}

/// What a manifest says of levels, in its order.
fn entries(world: &World, done: &[Done]) -> Vec<Entry> {
    let places: BTreeMap<&str, usize> = (world.packages.iter().enumerate())
        .map(|(index, package)| (package.file.as_str(), index))
        .collect();
    let used: Vec<BTreeSet<usize>> = (done.iter())
        .map(|done| {
            (done.written.used.iter())
                .filter_map(|file| places.get(file.as_str()).copied())
                .collect()
        })
        .collect();
    let persistent = (world.packages.iter()).position(|package| package.kind == PackageKind::Persistent);
    let packages = world.packages.iter().zip(done).zip(&used).enumerate();
    packages
        .filter_map(|(index, ((package, done), used_here))| {
            let place = package.level()?;
            let (level, unit) = world.level_of(package)?;
            let mut used_here = used_here.clone();
            // Who is always there brings the package and keeps it, whether it uses it or not.
            used_here.extend(persistent.filter(|_| level.always_loaded && !level.seek_free));
            let level = LevelEntry {
                name: level.name.clone(),
                package: package.file.clone(),
                dependencies: dependencies(world.packages, &used, &used_here),
                translation: level.translation,
                rotation: level.rotation,
                scale: level.scale,
                always_loaded: level.always_loaded,
                on_request: level.on_request,
                entities: unit.entities,
                bytes: done.written.stamp.bytes,
                bounds: world.bounds.get(place).copied().flatten(),
                data: level.data.clone(),
            };
            Some(Entry {
                place,
                package: index,
                level,
            })
        })
        .collect()
}

fn places(world: &World) -> Places {
    let mut places = vec![None; world.objects.len()];
    for (index, package) in world.packages.iter().enumerate() {
        for (rank, key) in package.assets.iter().enumerate() {
            let place = world.objects.get_index_of(key);
            if let Some(place) = place.and_then(|place| places.get_mut(place)) {
                *place = Some((index, rank));
            }
        }
    }
    places
}

/// The name of each asset in its package: its label where it is from the level's own file, else its path; `~n` where
/// another object has that name.
fn names(world: &World, cache: &Cache) -> Result<Vec<NameList>, Stop> {
    let key = |(index, package): &(usize, &PackagePlan)| {
        if let Some(same) = world.same(*index) {
            return (None, same.names_key);
        }
        let level = world.level_of(package);
        let own = level.map(|(level, _)| format!("{}#", text(&level.asset_path)));
        let mut key = Parts::default();
        key.value(&own)
            .value(&package.assets)
            .value(&level.map(|(_, level)| &level.blob));
        (own, key.finish())
    };
    let packages: Vec<_> = world.packages.iter().enumerate().collect();
    let keys = in_parts(world.threads(), &packages, key);
    let lists = world.packages.iter().zip(keys).map(|(package, (own, key))| {
        let old = world.old.get(&package.file).filter(|old| old.names_key == key);
        if let Some(old) = old {
            return Ok((key, old.names.clone()));
        }
        let level = world.level_of(package);
        let level = level.map(|(_, level)| load::<EncodedLevel>(cache, &level.blob));
        let entities = level.transpose()?.map_or_else(Vec::new, |level| level.entities);
        Ok((key, Arc::new(names_of(package, own.as_deref(), entities))))
    });
    lists.collect()
}

fn names_of(package: &PackagePlan, own: Option<&str>, entities: Vec<String>) -> Vec<String> {
    let kept = [LEVEL_EXPORT, STARTUP_EXPORT].map(str::to_owned);
    let mut taken: BTreeSet<String> = entities.into_iter().chain(kept).collect();
    let name_of = |key: &AssetKey| {
        if key.is_startup_index() {
            // Nothing else of the package has the name: it was taken from the start.
            return STARTUP_EXPORT.to_owned();
        }
        let path = key.path();
        let label = own.and_then(|own| path.strip_prefix(own));
        let name = label.map_or_else(|| path.replace('#', "/"), str::to_owned);
        let numbered = (1_u32..).map(|number| format!("{name}~{number}"));
        let free = core::iter::once(name.clone())
            .chain(numbered)
            .find(|name| !taken.contains(name));
        let name = free.unwrap_or(name);
        taken.insert(name.clone());
        name
    };
    package.assets.iter().map(name_of).collect()
}

/// The shared packages that `used` leads to, in load order: each only imports from earlier ones.
fn dependencies(packages: &[PackagePlan], imports: &[BTreeSet<usize>], used: &BTreeSet<usize>) -> Vec<String> {
    let mut needed = used.clone();
    let mut open: Vec<usize> = used.iter().copied().collect();
    while let Some(index) = open.pop() {
        let next = imports
            .get(index)
            .into_iter()
            .flatten()
            .filter(|next| needed.insert(**next));
        open.extend(next.copied().collect::<Vec<_>>());
    }
    needed
        .iter()
        .filter_map(|index| Some(packages.get(*index)?.file.clone()))
        .collect()
}
