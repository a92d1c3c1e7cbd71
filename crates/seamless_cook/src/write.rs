//! Writes packages and manifest: aside first, then all renamed, the manifest last. See [`write_world`].

mod manifest;
mod seek_free;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::Instant;

use seamless_asset::level_data::{LEVEL_EXPORT, LevelBuilder, level_schema};
use seamless_asset::{LoadErrorKind, STARTUP_EXPORT, StartupReport, StartupTable};
use seamless_level::LevelEntry;
use seamless_package::{
    ClassIndex, Codec, Limits, NewBulk, NewExport, ObjectId, ObjectRef, Package, PackageWriter, Role, Schema,
    VersionList, WriteError,
};

use crate::assets::{AssetKey, AssetStore, EncodedObject};
use crate::level::EncodedLevel;
use crate::output::{Pending, failed, refuse_foreign, refuse_newer, stale_packages};
use crate::plan::WorldPlan;
use crate::report::{ContentError, CookError, CookReport, LevelReport, PackageReport, Progress, Stage};
use crate::share::{PackageKind, PackagePlan};

use self::manifest::{listed_package, manifest};
use self::seek_free::Copies;

/// How data is stored where it saves enough.
const CODEC: Codec = Codec::Lz4;

/// The ending of manifests.
pub(crate) const MANIFEST_EXTENSION: &str = "seamless";

/// Why writing stopped.
pub(crate) enum Stop {
    Content(ContentError),
    Cook(CookError),
}

impl Stop {
    pub(crate) fn into_cook_error(self, report: &mut CookReport, start: Instant) -> CookError {
        match self {
            Self::Cook(error) => error,
            Self::Content(error) => {
                report.seconds = start.elapsed().as_secs_f64();
                CookError::Content(Box::new(CookReport {
                    errors: vec![error],
                    packages: Vec::new(),
                    levels: Vec::new(),
                    ..core::mem::take(report)
                }))
            }
        }
    }
}

/// Where each asset is: index of its package, and its name there.
type Names = BTreeMap<AssetKey, (usize, String)>;

/// Everything that is known about where objects are.
struct Layout<'a> {
    packages: &'a [PackagePlan],
    names: Names,
    /// Type path and role of each asset; stays when its bytes are gone.
    types: BTreeMap<AssetKey, (String, Role)>,
    versions: &'a [VersionList],
}

/// Writes the world into `out`, and completes the report.
pub(crate) fn write_world(
    plan: &WorldPlan,
    world_file: &str,
    levels: Vec<EncodedLevel>,
    mut store: AssetStore,
    packages: &[PackagePlan],
    versions: &[VersionList],
    out: &Path,
    progress: &dyn Progress,
    report: &mut CookReport,
) -> Result<(), Stop> {
    fs::create_dir_all(out).map_err(|source| failed(out, source))?;
    refuse_foreign(plan, packages, out)?;
    refuse_newer(packages, versions, out)?;
    let manifest_path = out.join(format!("{}.{MANIFEST_EXTENSION}", plan.name));
    let stale = stale_packages(&manifest_path, packages);
    let layout = Layout {
        packages,
        names: names(plan, &levels, packages),
        types: store
            .objects
            .iter()
            .map(|(key, object)| (key.clone(), (object.schema.type_path.clone(), object.role)))
            .collect(),
        versions,
    };
    let takes_copies = plan.levels.iter().any(|level| level.seek_free);
    let mut copies = Copies::default();
    progress.begin(Stage::Write, packages.len() as u64 + 1);
    let mut pending = Pending::default();
    let mut entries = Vec::new();
    let mut listed = Vec::new();
    let mut imports: Vec<BTreeSet<usize>> = Vec::new();
    let mut levels: Vec<Option<EncodedLevel>> = levels.into_iter().map(Some).collect();
    for (index, package) in packages.iter().enumerate() {
        let level = package
            .level()
            .and_then(|level| Some((plan.levels.get(level)?, levels.get_mut(level)?.take()?)));
        let mut writer = Writer::new(&layout, index);
        let content = |error: WriteError| {
            let source = level.as_ref().map_or(world_file, |(level, _)| level.source.as_str());
            Stop::Content(ContentError::new(
                source,
                format!("package `{}`", package.file),
                error.to_string(),
            ))
        };
        let kept = (takes_copies && package.kind == PackageKind::Shared).then(|| Copies::of(package, &store));
        let copies_for = level.as_ref().filter(|(level, _)| level.seek_free).map(|_| &copies);
        let bytes = writer
            .build(package, level.as_ref().map(|(_, level)| level), &mut store, copies_for)
            .map_err(content)?;
        if let Some(kept) = kept {
            copies.add(kept, &bytes, &layout.names).map_err(content)?;
        }
        if package.kind == PackageKind::Startup {
            report.startup = Some(startup_report(&bytes).map_err(|error| {
                let package = format!("package `{}`", package.file);
                Stop::Content(ContentError::new(world_file, package, error.to_string()))
            })?);
        }
        pending.write(out.join(&package.file), &bytes)?;
        listed.push(
            listed_package(package, level.as_ref().map(|(_, level)| level), &bytes).map_err(|error| {
                // Nothing that a source could mend.
                Stop::Content(ContentError::new(
                    world_file,
                    format!("package `{}`", package.file),
                    error.to_string(),
                ))
            })?,
        );
        report.packages.push(PackageReport {
            file: package.file.clone(),
            bytes: bytes.len() as u64,
            assets: package.assets.len() as u32,
            users: package.users.len() as u32,
        });
        if let Some((level, encoded)) = &level {
            let dependencies = dependencies(packages, &imports, &writer.used);
            entries.push(entry(level, encoded, package, &bytes, dependencies));
        }
        imports.push(writer.used);
        progress.step(Stage::Write, &package.file);
    }
    report.levels = plan
        .levels
        .iter()
        .zip(&entries)
        .map(|(level, entry)| level_report(&level.source, entry))
        .collect();
    report.entities = entries.iter().map(|entry| u64::from(entry.entities)).sum();
    report.bytes = report.packages.iter().map(|package| package.bytes).sum();
    listed.sort_unstable_by(|a, b| a.package.cmp(&b.package));
    let startup = packages.iter().find(|package| package.kind == PackageKind::Startup);
    let startup = startup.map(|package| package.file.clone());
    let manifest = manifest(plan, entries, listed, startup);
    let text = manifest
        .to_ron()
        .map_err(|error| Stop::Content(ContentError::new(world_file, "", error.to_string())))?;
    pending.write(manifest_path, text.as_bytes())?;
    pending.commit()?;
    for file in stale {
        // A package that stays behind is unused, no more.
        let _ = fs::remove_file(out.join(file));
    }
    progress.step(Stage::Write, &plan.name);
    progress.end(Stage::Write);
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

fn entry(
    level: &crate::plan::PlannedLevel,
    encoded: &EncodedLevel,
    package: &PackagePlan,
    bytes: &[u8],
    dependencies: Vec<String>,
) -> LevelEntry {
    LevelEntry {
        name: level.name.clone(),
        package: package.file.clone(),
        dependencies,
        translation: level.translation,
        rotation: level.rotation,
        scale: level.scale,
        always_loaded: level.always_loaded,
        entities: encoded.entities.len() as u32,
        bytes: bytes.len() as u64,
        bounds: encoded.bounds,
    }
}

/// The name of each asset in its package: its label where it is from the level's own file, else its path; `~n` where
/// another object has that name.
fn names(plan: &WorldPlan, levels: &[EncodedLevel], packages: &[PackagePlan]) -> Names {
    let mut names = Names::new();
    for (index, package) in packages.iter().enumerate() {
        let level = package
            .level()
            .and_then(|level| Some((plan.levels.get(level)?, levels.get(level)?)));
        let own = level.map(|(level, _)| format!("{}#", level.asset_path.to_string_lossy().replace('\\', "/")));
        let entities = level
            .into_iter()
            .flat_map(|(_, level)| &level.entities)
            .map(String::as_str);
        let mut taken: BTreeSet<String> = entities
            .chain([LEVEL_EXPORT, STARTUP_EXPORT])
            .map(str::to_owned)
            .collect();
        for key in &package.assets {
            if key.is_startup_index() {
                // Nothing else of the package has the name: it was taken from the start.
                names.insert(key.clone(), (index, STARTUP_EXPORT.to_owned()));
                continue;
            }
            let path = key.path();
            let label = own.as_ref().and_then(|own| path.strip_prefix(own.as_str()));
            let name = label.map_or_else(|| path.replace('#', "/"), str::to_owned);
            let numbered = (1_u32..).map(|number| format!("{name}~{number}"));
            let free = core::iter::once(name.clone())
                .chain(numbered)
                .find(|name| !taken.contains(name));
            let name = free.unwrap_or(name);
            taken.insert(name.clone());
            names.insert(key.clone(), (index, name));
        }
    }
    names
}

/// Writes one package.
struct Writer<'a> {
    layout: &'a Layout<'a>,
    index: usize,
    writer: PackageWriter,
    classes: BTreeMap<String, ClassIndex>,
    exported: BTreeMap<AssetKey, ObjectRef>,
    used: BTreeSet<usize>,
}

impl<'a> Writer<'a> {
    fn new(layout: &'a Layout<'a>, index: usize) -> Self {
        let file = layout.packages.get(index).map_or("", |package| package.file.as_str());
        Self {
            layout,
            index,
            writer: PackageWriter::new(file),
            classes: BTreeMap::new(),
            exported: BTreeMap::new(),
            used: BTreeSet::new(),
        }
    }

    fn build(
        &mut self,
        package: &PackagePlan,
        level: Option<&EncodedLevel>,
        store: &mut AssetStore,
        copies: Option<&Copies>,
    ) -> Result<Vec<u8>, WriteError> {
        self.writer.versions(self.layout.versions)?;
        let schema = level_schema();
        let assets: Vec<(&AssetKey, EncodedObject)> = package
            .assets
            .iter()
            .filter_map(|key| Some((key, store.objects.remove(key)?)))
            .collect();
        let mut schemas: Vec<&Schema> = assets.iter().map(|(_, asset)| &asset.schema).collect();
        let copied = copies
            .zip(level)
            .map(|(copies, level)| (copies, copies.needed(level, &assets)));
        if let Some((copies, keys)) = &copied {
            schemas.extend(keys.iter().filter_map(|key| copies.schema(key)));
        }
        if let Some(level) = level {
            let columns = level.groups.iter().flat_map(|group| &group.columns);
            schemas.extend(columns.map(|column| &*column.schema));
            schemas.extend(level.resources.iter().map(|resource| &resource.schema));
            schemas.push(&schema);
        }
        schemas.sort_by_key(|schema| &schema.type_path);
        for schema in schemas {
            // A type that is two things, say a resource and a component, is refused here.
            let class = self.writer.class(schema)?;
            self.classes.insert(schema.type_path.clone(), class);
        }
        for (key, asset) in assets {
            self.asset(key, asset)?;
        }
        if let Some(level) = level {
            self.level(level, &package.file)?;
        }
        if let Some((copies, keys)) = copied {
            self.copy(copies, &keys)?;
        }
        core::mem::replace(&mut self.writer, PackageWriter::new("")).finish()
    }

    fn class(&self, type_path: &str) -> Result<ClassIndex, WriteError> {
        self.classes
            .get(type_path)
            .copied()
            .ok_or_else(|| WriteError::BadClass {
                object: type_path.to_owned(),
            })
    }

    fn asset(&mut self, key: &AssetKey, asset: EncodedObject) -> Result<(), WriteError> {
        let name = self
            .layout
            .names
            .get(key)
            .map_or_else(|| key.path(), |(_, name)| name.clone());
        let refs = self.refs(&asset.references)?;
        let export = NewExport {
            name: &name,
            class: self.class(&asset.schema.type_path)?,
            outer: ObjectRef::NONE,
            role: asset.role,
            data: asset.data,
            refs,
            bulk: asset.bulk.into_iter().map(NewBulk::Inline).collect(),
            codec: CODEC,
        };
        let reference = self.writer.export(export)?;
        self.exported.insert(key.clone(), reference);
        Ok(())
    }

    fn refs(&mut self, keys: &[AssetKey]) -> Result<Vec<ObjectRef>, WriteError> {
        keys.iter().map(|key| self.reference(key)).collect()
    }

    fn reference(&mut self, key: &AssetKey) -> Result<ObjectRef, WriteError> {
        if let Some(reference) = self.exported.get(key) {
            return Ok(*reference);
        }
        let known = self.layout.names.get(key).zip(self.layout.types.get(key));
        let home = known.and_then(|((home, name), types)| Some((*home, self.layout.packages.get(*home)?, name, types)));
        let Some((home, package, name, (type_path, role))) = home.filter(|(home, ..)| *home != self.index) else {
            return Err(WriteError::BadReference {
                object: key.path(),
                reference: ObjectRef::NONE,
                what: "which has no package",
            });
        };
        self.used.insert(home);
        self.writer.import(&package.file, name, type_path, *role)
    }

    fn level(&mut self, level: &EncodedLevel, file: &str) -> Result<(), WriteError> {
        for resource in &level.resources {
            let refs = self.refs(&resource.references)?;
            self.writer.export(NewExport {
                name: &format!("Resource:{}", resource.type_path),
                class: self.class(&resource.type_path)?,
                outer: ObjectRef::NONE,
                role: Role::ALL,
                data: resource.data.clone(),
                refs,
                bulk: Vec::new(),
                codec: CODEC,
            })?;
        }
        let ids = entity_ids(level, file)?;
        let mut builder = LevelBuilder::new(ids, level.roots.clone());
        for group in &level.groups {
            let mut columns = Vec::new();
            for column in &group.columns {
                let class = self.class(&column.schema.type_path)?.index() as u32;
                columns.push((class, column.role, column.data.as_slice()));
            }
            builder.group(group.rows, columns.into_iter());
        }
        let refs = self.refs(&level.references)?;
        builder.export(&mut self.writer, refs, CODEC)?;
        Ok(())
    }
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

/// The entities' ids, of which no two may be the same.
fn entity_ids(level: &EncodedLevel, file: &str) -> Result<Vec<ObjectId>, WriteError> {
    let mut owners: BTreeMap<ObjectId, &str> = BTreeMap::new();
    let mut ids = Vec::with_capacity(level.entities.len());
    for name in &level.entities {
        let id = ObjectId::new(file, name);
        if let Some(first) = owners.insert(id, name) {
            return Err(WriteError::IdCollision {
                id,
                first: first.to_owned(),
                second: name.clone(),
            });
        }
        ids.push(id);
    }
    Ok(ids)
}
