//! A world file, checked: names, files and volumes that can be cooked. See [`WorldPlan::read`].

mod assets;
mod instances;
mod names;
mod volumes;

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use bevy::asset::AssetPath;
use bevy::prelude::Transform;

pub(crate) use self::assets::{Asked, in_words, line_of, listing, path_of, planned};
pub(crate) use self::instances::PlannedInstance;
pub(crate) use self::names::check_name;
use self::names::{check_file_name, default_name};
use crate::bounds::{self, Bounds};
use crate::dialogue::DialogueLimits;
use crate::graph::recorder::{file_and_label, text};
use crate::report::ContentError;
use crate::settings::CookSettings;
use crate::world_file::{LevelSource, ResourcePolicy, VolumeSource, WorldFile};

/// The ending of world files.
pub const WORLD_EXTENSION: &str = ".world.ron";

/// What kind of scene a source is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SourceKind {
    /// glTF, with the index of the scene if it is not the default one.
    Gltf(Option<usize>),
    /// Bevy's own `.scn.ron`.
    DynamicWorld,
    /// No scene, but one asset: the source is its path.
    Asset,
}

/// A level that can be loaded.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PlannedLevel {
    pub name: String,
    /// As written in the world file, for messages.
    pub source: String,
    /// Relative to the asset root.
    pub asset_path: PathBuf,
    pub kind: SourceKind,
    pub translation: [f32; 3],
    pub rotation: [f32; 4],
    pub scale: [f32; 3],
    /// What the author states, in the level's own space.
    pub bounds: Option<Bounds>,
    pub always_loaded: bool,
    pub on_request: bool,
    pub seek_free: bool,
    pub dialogue: DialogueLimits,
    /// For the game's own code.
    pub data: Option<String>,
    /// Why it is cooked, if it is no level of the world: it is not placed, and not in the manifest.
    pub asked: Option<Asked>,
}

/// A world that can be cooked.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WorldPlan {
    pub name: String,
    /// The world file, without its directory.
    pub file_name: String,
    /// Absolute.
    pub root: PathBuf,
    /// The levels, then what is cooked beside them, in packages of its own.
    pub levels: Vec<PlannedLevel>,
    /// Levels of the world that this cook is not asked for.
    pub other_levels: Vec<PlannedLevel>,
    pub instances: Vec<PlannedInstance>,
    pub volumes: Vec<VolumeSource>,
    /// Whether the world file has volumes, of these levels or of others: else each level gets one around its bounds.
    pub has_volumes: bool,
    /// Startup content of the world file, relative to the asset root.
    pub startup: Vec<String>,
    pub resources: ResourcePolicy,
    pub settings: CookSettings,
}

/// The world's name: the file name without `.world.ron`.
pub(crate) fn world_name(world_file: &Path) -> String {
    let name = world_file.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.strip_suffix(WORLD_EXTENSION).or_else(|| name.strip_suffix(".ron"));
    stem.unwrap_or(&name).to_owned()
}

impl WorldPlan {
    /// Leaves only these levels, and the volumes that load one of them.
    ///
    /// # Errors
    /// Every name that is no level's.
    pub(crate) fn keep_only(&mut self, maps: &[String]) -> Result<(), Vec<ContentError>> {
        let own = self.levels.iter().filter(|level| level.asked.is_none());
        let names: BTreeSet<&str> = own.map(|level| level.name.as_str()).collect();
        let unknown = maps.iter().filter(|map| !names.contains(map.as_str()));
        let errors: Vec<ContentError> = unknown
            .map(|map| {
                let known: Vec<&str> = names.iter().copied().take(SOME_NAMES).collect();
                let more = if names.len() > known.len() { ", …" } else { "" };
                let message = format!("is no level of this world; there are {}{more}", known.join(", "));
                ContentError::new(self.file_name.as_str(), format!("map `{map}`"), message)
            })
            .collect();
        if !errors.is_empty() {
            return Err(errors);
        }
        let levels = core::mem::take(&mut self.levels).into_iter();
        (self.levels, self.other_levels) =
            levels.partition(|level| level.asked.is_some() || maps.contains(&level.name));
        self.instances.retain(|instance| maps.contains(&instance.of));
        let instances = &self.instances;
        let is_kept = |name: &String| maps.contains(name) || instances.iter().any(|instance| instance.name == *name);
        for volume in &mut self.volumes {
            volume.levels.retain(is_kept);
        }
        self.volumes.retain(|volume| !volume.levels.is_empty());
        Ok(())
    }
}

/// How many names of levels an error lists.
const SOME_NAMES: usize = 12;

struct Checker<'a> {
    file: String,
    world_file: &'a Path,
    errors: Vec<ContentError>,
}

impl WorldPlan {
    /// Reads and checks a world file.
    ///
    /// # Errors
    /// Everything that is wrong with it, not only the first thing.
    pub(crate) fn read(world_file: &Path) -> Result<Self, Vec<ContentError>> {
        let file = world_file.display().to_string();
        let one = |message: String| vec![ContentError::new(file.as_str(), "", message)];
        if !file.ends_with(WORLD_EXTENSION) {
            return Err(one(format!(
                "is no world file; give a file whose name ends with `{WORLD_EXTENSION}`"
            )));
        }
        check_file_name(&world_name(world_file)).map_err(one)?;
        let world_file = std::path::absolute(world_file)
            .map(|path| normalized(&path))
            .map_err(|error| one(format!("has no absolute path: {error}")))?;
        let text = std::fs::read_to_string(&world_file)
            .map_err(|error| one(format!("cannot be read: {error}; give the path of a world file")))?;
        let source = WorldFile::parse(&text).map_err(|error| one(error.to_string()))?;
        let mut checker = Checker {
            file,
            world_file: &world_file,
            errors: Vec::new(),
        };
        let mut plan = checker.plan(source);
        match CookSettings::beside(&world_file) {
            Ok(settings) => plan.settings = settings,
            Err(errors) => checker.errors.extend(errors),
        }
        if checker.errors.is_empty() {
            Ok(plan)
        } else {
            Err(checker.errors)
        }
    }
}

impl Checker<'_> {
    fn error(&mut self, object: impl Into<String>, message: impl Into<String>) {
        self.errors.push(ContentError::new(self.file.as_str(), object, message));
    }

    fn plan(&mut self, source: WorldFile) -> WorldPlan {
        let directory = self.world_file.parent().unwrap_or(Path::new("")).to_owned();
        if source.levels.is_empty() {
            self.error("levels", "the world is empty; list at least one level");
        }
        let levels = source.levels.into_iter();
        let (mut levels, mut files): (Vec<_>, Vec<_>) =
            levels.filter_map(|level| self.level(&directory, level)).unzip();
        let level_count = files.len();
        let startup: Vec<_> = source
            .startup
            .iter()
            .filter_map(|path| self.startup(&directory, path))
            .collect();
        files.extend(startup.iter().map(|(file, _)| file.clone()));
        let listed = self.listed(&directory, &source.assets);
        files.extend(listed.iter().map(|listed| listed.file.clone()));
        let root = self.root(&directory, source.root.as_deref(), &files);
        files.truncate(level_count);
        let startup = startup
            .into_iter()
            .filter_map(|(file, label)| self.startup_path(&root, &file, label));
        let startup = startup.collect();
        self.place_below(&root, &mut levels, &files);
        self.names(&levels);
        let instances = self.instances(source.instances, &levels);
        let names = levels.iter().map(|level| level.name.as_str());
        let names: BTreeSet<&str> = names
            .chain(instances.iter().map(|instance| instance.name.as_str()))
            .collect();
        let mut seen = BTreeSet::new();
        let assets = self.planned_assets(&root, listed, &levels);
        let has_volumes = source.volumes.is_some();
        let volumes = source.volumes.into_iter().flatten().enumerate();
        let volumes = volumes
            .map(|(index, volume)| self.volume(index, volume, &names, &mut seen))
            .collect();
        levels.extend(assets);
        WorldPlan {
            name: world_name(self.world_file),
            file_name: self
                .world_file
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            root,
            levels,
            other_levels: Vec::new(),
            instances,
            volumes,
            has_volumes,
            startup,
            resources: source.resources,
            settings: CookSettings::default(),
        }
    }

    /// Tells levels where their sources are below the root.
    fn place_below(&mut self, root: &Path, levels: &mut [PlannedLevel], files: &[PathBuf]) {
        for (level, file) in levels.iter_mut().zip(files) {
            match file.strip_prefix(root) {
                Ok(path) => level.asset_path = path.to_owned(),
                Err(_) => self.error(
                    format!("level `{}`", level.name),
                    format!(
                        "its source `{}` is outside the world's `root`; move it, or widen `root`",
                        level.source
                    ),
                ),
            }
        }
    }

    /// Checks one level; gives it with the absolute path of its source.
    fn level(&mut self, directory: &Path, level: LevelSource) -> Option<(PlannedLevel, PathBuf)> {
        let (file, label) = file_and_label(&level.source);
        let name = level.name.clone().unwrap_or_else(|| default_name(file, label));
        let object = format!("level `{name}`");
        let before = self.errors.len();
        if let Err(message) = check_name(&name) {
            self.error(&object, message);
        }
        self.placement(&object, level.translation, level.rotation, level.scale);
        self.bounds(&object, level.bounds);
        self.when(&object, level.always_loaded, level.on_request);
        let dialogue = DialogueLimits {
            of_all: level.max_variants,
            of_some: level.dialogue.clone(),
        };
        (dialogue.faults().into_iter()).for_each(|fault| self.error(&object, fault));
        let kind = self.kind(&object, file, label);
        if Path::new(file).is_absolute() {
            self.error(
                &object,
                format!("its source `{file}` is an absolute path; write it relative to the world file"),
            );
            return None;
        }
        let path = normalized(&directory.join(file));
        if path == self.world_file {
            self.error(&object, "lists the world file itself as its source; name a scene");
        } else if kind.is_some() && !path.is_file() {
            self.error(
                &object,
                format!("its source `{file}` is not there; correct the path, or make the file"),
            );
        }
        if self.errors.len() > before {
            return None;
        }
        let level = PlannedLevel {
            name,
            source: level.source,
            asset_path: PathBuf::new(),
            kind: kind?,
            translation: level.translation,
            rotation: unit(level.rotation),
            scale: level.scale,
            bounds: level.bounds,
            always_loaded: level.always_loaded,
            on_request: level.on_request,
            seek_free: level.seek_free,
            dialogue,
            data: level.data,
            asked: None,
        };
        Some((level, path))
    }

    /// Checks one path of startup content; gives the absolute path of its file, and the label.
    fn startup<'s>(&mut self, directory: &Path, path: &'s str) -> Option<(PathBuf, Option<&'s str>)> {
        let (file, label) = file_and_label(path);
        let object = format!("startup `{path}`");
        if Path::new(file).is_absolute() {
            self.error(object, "is an absolute path; write it relative to the world file");
            return None;
        }
        let absolute = normalized(&directory.join(file));
        if !absolute.is_file() {
            self.error(object, "is not there; correct the path, or make the file");
            return None;
        }
        Some((absolute, label))
    }

    /// The path of startup content as the game asks for it: relative to the asset root.
    fn startup_path(&mut self, root: &Path, file: &Path, label: Option<&str>) -> Option<String> {
        let Ok(path) = file.strip_prefix(root) else {
            let object = format!("startup `{}`", file.display());
            self.error(object, "is outside the world's `root`; move it, or widen `root`");
            return None;
        };
        let path = text(path);
        let path = label.map_or_else(|| path.clone(), |label| format!("{path}#{label}"));
        if let Err(error) = AssetPath::try_parse(&path) {
            let message =
                format!("is no path of an asset: {error}; write a file, and `#` and a label for a part of it");
            self.error(format!("startup `{path}`"), message);
            return None;
        }
        Some(path)
    }

    fn placement(&mut self, object: &str, translation: [f32; 3], rotation: [f32; 4], scale: [f32; 3]) {
        let finite = |values: &[f32]| values.iter().all(|value| value.is_finite());
        if !finite(&translation) || !finite(&rotation) || !finite(&scale) {
            self.error(
                object,
                "its placement holds NaN or an infinite number; write finite numbers",
            );
            return;
        }
        let length: f32 = rotation.iter().map(|value| value * value).sum();
        if (length - 1.0).abs() > 1e-2 {
            self.error(
                object,
                "its `rotation` is no unit quaternion; (0.0, 0.0, 0.0, 1.0) turns nothing",
            );
        }
        if scale.contains(&0.0) {
            self.error(object, "its `scale` is zero on an axis; nothing would be seen of it");
        }
    }

    fn bounds(&mut self, object: &str, stated: Option<Bounds>) {
        let Some((min, max)) = stated else { return };
        if min.iter().zip(&max).any(|(min, max)| min > max) {
            let message = "its `bounds` have a `min` above their `max`; write ((least x, y, z), (largest x, y, z))";
            self.error(object, message);
        } else if bounds::placed((min, max), &Transform::IDENTITY).is_none() {
            let message = "its `bounds` hold NaN or reach too far; write finite numbers, or leave `bounds` away";
            self.error(object, message);
        }
    }

    fn when(&mut self, object: &str, always_loaded: bool, on_request: bool) {
        if always_loaded && on_request {
            self.error(object, "is `always_loaded` and `on_request`; leave one of them away");
        }
    }

    fn kind(&mut self, object: &str, file: &str, label: Option<&str>) -> Option<SourceKind> {
        let lower = file.to_ascii_lowercase();
        if lower.ends_with(".gltf") || lower.ends_with(".glb") {
            let Some(label) = label else {
                return Some(SourceKind::Gltf(None));
            };
            let index = label.strip_prefix("Scene").and_then(|index| index.parse().ok());
            if index.is_none() {
                self.error(
                    object,
                    format!("`#{label}` names no scene; write `#Scene0`, `#Scene1` and so on"),
                );
            }
            return Some(SourceKind::Gltf(Some(index?)));
        }
        if lower.ends_with(".scn.ron") {
            if label.is_some() {
                self.error(object, "a `.scn.ron` file holds one scene; leave the label away");
            }
            return Some(SourceKind::DynamicWorld);
        }
        if lower.ends_with(WORLD_EXTENSION) {
            self.error(object, "a world cannot be a level of a world; name scenes");
        } else {
            self.error(
                object,
                format!("`{file}` is no scene; sources are `.gltf`, `.glb` or `.scn.ron` files"),
            );
        }
        None
    }

    fn root(&mut self, directory: &Path, root: Option<&str>, files: &[PathBuf]) -> PathBuf {
        let Some(root) = root else {
            let mut common = directory.to_owned();
            while !files.iter().all(|file| file.starts_with(&common)) && common.pop() {}
            return common;
        };
        if Path::new(root).is_absolute() {
            self.error(
                "root",
                format!("`{root}` is an absolute path; write it relative to the world file"),
            );
        }
        let path = normalized(&directory.join(root));
        if !path.is_dir() {
            self.error(
                "root",
                format!("`{root}` is no directory; correct it, or leave it away"),
            );
        }
        path
    }

    /// Names are file names too, and files of one name differ by more than case.
    fn names(&mut self, levels: &[PlannedLevel]) {
        let mut seen = BTreeSet::new();
        for level in levels {
            if !seen.insert(level.name.to_lowercase()) {
                self.error(
                    format!("level `{}`", level.name),
                    "there are two levels of this name; give one another `name` (upper and lower case count as one)",
                );
            }
        }
    }
}

/// Rounds off what an author's few digits leave over; a rotation that is exact stays as it is.
fn unit(rotation: [f32; 4]) -> [f32; 4] {
    let length = rotation.iter().map(|value| value * value).sum::<f32>().sqrt();
    if (length - 1.0).abs() < 1e-6 {
        rotation
    } else {
        rotation.map(|value| value / length)
    }
}

/// Takes `.` and `..` out, without asking the file system.
pub(crate) fn normalized(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}
