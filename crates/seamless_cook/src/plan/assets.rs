//! Sources that are cooked although no level refers to them: those of the world file's `assets`, and what soft references lead to. See [`Asked`].

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use bevy::asset::AssetPath;
use seamless_asset::level_data::LEVEL_CLASS;
use seamless_asset::{PACKAGE_EXTENSION, REGISTRY_EXTENSION};
use xxhash_rust::xxh3::xxh3_64;

use super::{Checker, PlannedLevel, SourceKind, WORLD_EXTENSION, normalized};
use crate::dialogue::DialogueLimits;
use crate::graph::recorder::{file_and_label, text};
use crate::settings::settings_file;
use crate::world_file::WorldFile;
use crate::write::MANIFEST_EXTENSION;

/// How many files a listed folder may hold, with those below it.
const MOST_FILES: usize = 1 << 16;
/// How much of a path a package's name has.
const MOST_OF_NAME: usize = 64;

/// Why something is cooked that is no level of the world.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Asked {
    /// The type that whoever refers to it expects; none if any will do.
    pub type_path: Option<String>,
    /// It was found in a listed folder: what nothing loads is left out.
    pub is_found: bool,
    /// File and object that refer to it softly; none for what the world file lists.
    pub by: Option<(String, String)>,
    /// Where that file is.
    pub file: PathBuf,
}

impl Asked {
    /// What an error about it, which is asked for by this path, adds.
    pub fn reason(&self, path: &str) -> String {
        let line = self.line(path);
        match &self.by {
            Some((file, object)) if object.is_empty() => format!("`{file}` refers to it softly{line}"),
            Some((file, object)) => format!("{object} of `{file}` refers to it softly{line}"),
            None => "listed in `assets` of the world file".to_owned(),
        }
    }

    /// The line of the file on which a path stands, in words; empty where it cannot be told.
    pub fn line(&self, path: &str) -> String {
        in_words(line_of(&self.file, path))
    }
}

/// A line, behind what is on it; nothing where it cannot be told.
pub(crate) fn in_words(line: Option<usize>) -> String {
    line.map_or_else(String::new, |line| format!(", line {line}"))
}

/// How large a file may be that is looked through for an error's line.
const MOST_LOOKED_THROUGH: u64 = 4 << 20;

/// The first line of a text on which a path is written: as it is, or relative to the text's own file.
pub(crate) fn line_of(file: &Path, path: &str) -> Option<usize> {
    let found = std::fs::metadata(file).ok()?;
    let text = (found.len() <= MOST_LOOKED_THROUGH).then(|| std::fs::read_to_string(file).ok())??;
    let name = path.rsplit('/').next().filter(|name| !name.is_empty())?;
    let has = |what: &str| text.lines().position(|line| line.contains(what));
    has(path).or_else(|| has(name)).map(|line| line + 1)
}

/// A listed source, before the asset root is known.
pub(super) struct Listed {
    pub file: PathBuf,
    label: Option<String>,
    is_found: bool,
}

/// What a path, relative to the asset root, is planned as: a scene as a level that nobody places, anything else as the content of a package.
pub(crate) fn planned(path: &str, asked: Asked) -> Result<PlannedLevel, String> {
    let wants_level = asked.type_path.as_deref() == Some(LEVEL_CLASS);
    let (file, label) = file_and_label(path);
    AssetPath::try_parse(path).map_err(|error| format!("is no path of an asset: {error}"))?;
    let is_any = asked.type_path.is_none();
    let kind = match scene_kind(file, label).filter(|_| wants_level || is_any) {
        Some(kind) => kind,
        None if wants_level => return Err("is no scene; name a `.gltf`, `.glb` or `.scn.ron` file".into()),
        None => SourceKind::Asset,
    };
    let of_type = asked.type_path.as_deref().filter(|_| kind == SourceKind::Asset);
    Ok(PlannedLevel {
        name: package_name(path, of_type),
        source: path.to_owned(),
        asset_path: PathBuf::from(file),
        kind,
        translation: [0.0; 3],
        rotation: [0.0, 0.0, 0.0, 1.0],
        scale: [1.0; 3],
        bounds: None,
        always_loaded: false,
        on_request: false,
        seek_free: false,
        dialogue: DialogueLimits::default(),
        data: None,
        asked: Some(asked),
    })
}

/// The scene that a path names, if it names one.
fn scene_kind(file: &str, label: Option<&str>) -> Option<SourceKind> {
    let lower = file.to_ascii_lowercase();
    if lower.ends_with(".scn.ron") {
        return label.is_none().then_some(SourceKind::DynamicWorld);
    }
    if !lower.ends_with(".gltf") && !lower.ends_with(".glb") {
        return None;
    }
    match label {
        None => Some(SourceKind::Gltf(None)),
        Some(label) => Some(SourceKind::Gltf(Some(label.strip_prefix("Scene")?.parse().ok()?))),
    }
}

/// A file name that no other path has.
fn package_name(path: &str, type_path: Option<&str>) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_lowercase()
        } else {
            '_'
        }
    };
    let readable: String = path.chars().map(plain).take(MOST_OF_NAME).collect();
    let all = format!("{path}\n{}", type_path.unwrap_or_default());
    format!("asset_{readable}_{:016x}", xxh3_64(all.as_bytes()))
}

/// Where a level's scene, or an asset, comes from, as paths name it: relative to the asset root, with its label.
pub(crate) fn path_of(level: &PlannedLevel) -> String {
    let file = text(&level.asset_path);
    match level.kind {
        SourceKind::Gltf(Some(index)) => format!("{file}#Scene{index}"),
        SourceKind::Gltf(None) | SourceKind::DynamicWorld => file,
        SourceKind::Asset => level.source.clone(),
    }
}

impl Checker<'_> {
    /// The files that the world file lists, those of folders one by one.
    pub(super) fn listed(&mut self, directory: &Path, paths: &[String]) -> Vec<Listed> {
        let mut listed = Vec::new();
        for path in paths {
            let object = format!("assets `{path}`");
            let (file, label) = file_and_label(path);
            if Path::new(file).is_absolute() {
                self.error(object, "is an absolute path; write it relative to the world file");
                continue;
            }
            let absolute = normalized(&directory.join(file));
            if absolute.is_file() {
                listed.push(Listed {
                    file: absolute,
                    label: label.map(str::to_owned),
                    is_found: false,
                });
            } else if absolute.is_dir() && label.is_none() {
                match sources_below(&absolute, self.world_file) {
                    Ok(files) => listed.extend(files.into_iter().map(found)),
                    Err(message) => self.error(object, message),
                }
            } else {
                self.error(object, "is not there; correct the path, or make the file");
            }
        }
        listed
    }

    /// Plans what is listed, each path once, and nothing that a level is.
    pub(super) fn planned_assets(
        &mut self,
        root: &Path,
        listed: Vec<Listed>,
        levels: &[PlannedLevel],
    ) -> Vec<PlannedLevel> {
        let mut known: BTreeSet<String> = levels.iter().map(path_of).collect();
        let mut planned_assets = Vec::new();
        for Listed { file, label, is_found } in listed {
            let Ok(path) = file.strip_prefix(root) else {
                let object = format!("assets `{}`", file.display());
                self.error(object, "is outside the world's `root`; move it, or widen `root`");
                continue;
            };
            let path = text(path);
            let path = label.map_or_else(|| path.clone(), |label| format!("{path}#{label}"));
            let asked = Asked {
                is_found,
                ..Asked::default()
            };
            if !known.insert(path.clone()) {
                continue;
            }
            match planned(&path, asked) {
                Ok(planned) => planned_assets.push(planned),
                Err(message) => self.error(format!("assets `{path}`"), message),
            }
        }
        planned_assets
    }
}

fn found(file: PathBuf) -> Listed {
    Listed {
        file,
        label: None,
        is_found: true,
    }
}

/// Whether a file of a folder may be a source: no world, and nothing of the cooker's, nor made by one.
fn is_source(file: &Path, world_file: &Path) -> bool {
    let name = file.to_string_lossy();
    let extension = file.extension().and_then(|extension| extension.to_str());
    let is_cooked = [PACKAGE_EXTENSION, MANIFEST_EXTENSION, REGISTRY_EXTENSION]
        .map(Some)
        .contains(&extension);
    file != world_file && file != settings_file(world_file) && !name.ends_with(WORLD_EXTENSION) && !is_cooked
}

/// The files in a folder and below that may be sources, sorted.
fn sources_below(folder: &Path, world_file: &Path) -> Result<Vec<PathBuf>, String> {
    let mut files = files_below(folder)?;
    files.retain(|file| is_source(file, world_file));
    Ok(files)
}

/// The files in a folder and below, sorted. Hidden ones, metadata of others, and what is behind links is none of them.
fn files_below(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let (mut files, mut open) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(next) = open.pop() {
        let unreadable = |error: std::io::Error| format!("cannot be read: {error}; check the folder");
        for entry in std::fs::read_dir(&next).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let kind = entry.file_type().map_err(unreadable)?;
            if name.starts_with('.') || name.ends_with(".meta") {
                continue;
            }
            if kind.is_dir() {
                open.push(entry.path());
            } else if kind.is_file() {
                files.push(entry.path());
            }
        }
        if files.len() > MOST_FILES {
            return Err(format!("holds more than {MOST_FILES} files; list parts of it"));
        }
    }
    files.sort();
    Ok(files)
}

/// What listed folders hold: a cook follows from it, beside the world file. `None` where it cannot be told.
pub(crate) fn listing(world_file: &Path) -> Option<Vec<String>> {
    let world = WorldFile::parse(&std::fs::read_to_string(world_file).ok()?).ok()?;
    let world_file = normalized(&std::path::absolute(world_file).ok()?);
    let directory = world_file.parent()?;
    let folders = world.assets.iter().map(|path| normalized(&directory.join(path)));
    let mut all = Vec::new();
    for folder in folders.filter(|path| path.is_dir()) {
        let files = sources_below(&folder, &world_file).ok()?;
        all.extend(files.iter().map(|file| file.display().to_string()));
    }
    Some(all)
}
