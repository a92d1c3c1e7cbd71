//! Cooked files as they lie in a folder. See [`CookedFolder`].

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

use seamless_asset::level_data::LEVEL_CLASS;
use seamless_asset::{ObjectRegistry, PACKAGE_EXTENSION, RegistryError, RegistryLimits};
use seamless_level::{ManifestLimits, WorldManifest};
use seamless_package::{Codec, Limits, ObjectId, Package, RefTarget, SUMMARY_SIZE, Summary};

use super::inspect::InspectError;
use crate::cook::state_file;
use crate::graph::output::COOK_FOLDER;
use crate::graph::state::Memory;
use crate::write::MANIFEST_EXTENSION;

/// A package's file, with its tables. Data is read when somebody asks.
pub(super) struct PackageFile {
    pub path: PathBuf,
    /// Its path in the folder, with slashes: the name that it must have been cooked under.
    pub file: String,
    pub package: Package,
}

impl PackageFile {
    /// Reads the tables of a package, and nothing behind them.
    pub fn open(path: &Path, file: String) -> Result<Self, InspectError> {
        let (io, broken) = (InspectError::io(path), InspectError::broken(path));
        let limits = Limits::default();
        let mut handle = File::open(path).map_err(&io)?;
        let mut header = Vec::new();
        (&mut handle)
            .take(SUMMARY_SIZE as u64)
            .read_to_end(&mut header)
            .map_err(&io)?;
        let summary = Summary::parse(&header, &limits).map_err(&broken)?;
        let rest = summary.header_len().saturating_sub(header.len() as u64);
        // Grows with what is really there.
        handle.take(rest).read_to_end(&mut header).map_err(&io)?;
        Ok(Self {
            path: path.to_owned(),
            file,
            package: Package::parse(header, &limits).map_err(&broken)?,
        })
    }

    /// A package given by its path alone: it has the name that it was cooked under.
    pub fn alone(path: &Path) -> Result<Self, InspectError> {
        let mut opened = Self::open(path, String::new())?;
        opened.file = opened.package.name().to_owned();
        Ok(opened)
    }

    /// All bytes of the file, from the start.
    pub fn bytes(&self) -> Result<BufReader<File>, InspectError> {
        let handle = File::open(&self.path).map_err(|source| self.io(source))?;
        Ok(BufReader::new(handle))
    }

    /// The bytes in a range of the file; fewer where the file ends before.
    pub fn read(&self, range: Range<u64>) -> Result<Vec<u8>, InspectError> {
        let read = || {
            let mut bytes = Vec::new();
            let mut handle = File::open(&self.path)?;
            handle.seek(SeekFrom::Start(range.start))?;
            handle
                .take(range.end.saturating_sub(range.start))
                .read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        read().map_err(|source| self.io(source))
    }

    /// The data of an export, checked.
    pub fn data(&self, index: usize) -> Result<Vec<u8>, InspectError> {
        let range = self.package.export_range(index).unwrap_or_default();
        let stored = self.read(range.clone())?;
        let data = self.package.export_data(index, &stored, range.start);
        data.map(|data| data.into_owned())
            .map_err(|source| InspectError::Package {
                path: self.path.clone(),
                source: Box::new(source),
            })
    }

    /// The index of the level table, if it is a level's package.
    pub fn level(&self) -> Option<usize> {
        level_of(&self.package)
    }

    pub fn io(&self, source: std::io::Error) -> InspectError {
        InspectError::io(&self.path)(source)
    }
}

/// The index of the level table of a package, if it has one.
pub(super) fn level_of(package: &Package) -> Option<usize> {
    let is_level = |index: &usize| {
        package
            .class_of(*index)
            .is_some_and(|schema| schema.type_path == LEVEL_CLASS)
    };
    (0..package.exports().len()).find(is_level)
}

/// The type of an export; `class` if it is a class itself.
pub(super) fn class_name(package: &Package, index: usize) -> &str {
    package
        .class_of(index)
        .map_or("class", |schema| schema.type_path.as_str())
}

/// What an export is called where several packages are spoken of: `file.pkg#Name`, with the package that it is at home in.
pub(super) fn object_path(package: &Package, index: usize) -> String {
    let home = package.origin_of(index).map_or(package.name(), |origin| origin.package);
    format!("{home}#{}", package.export_name(index).unwrap_or_default())
}

/// As [`object_path`], of what an import refers to.
pub(super) fn import_path(package: &Package, index: usize) -> String {
    let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
    format!(
        "{}#{}",
        text(package.import_package(index)),
        text(package.import_name(index))
    )
}

/// As [`object_path`], of what a reference leads to; none if it leads nowhere.
pub(super) fn target_path(package: &Package, target: RefTarget) -> Option<String> {
    match target {
        RefTarget::None => None,
        RefTarget::Export(index) => Some(object_path(package, index)),
        RefTarget::Import(index) => Some(import_path(package, index)),
    }
}

/// What an export is called in its own package; a copy from another one as [`object_path`] has it.
pub(super) fn local_path(package: &Package, index: usize) -> String {
    match package.origin_of(index) {
        Some(_) => object_path(package, index),
        None => package.export_name(index).unwrap_or_default().to_owned(),
    }
}

/// The packages and manifests of a folder.
pub(super) struct CookedFolder {
    pub directory: PathBuf,
    /// By file.
    pub packages: Vec<PackageFile>,
    /// File names and manifests, by file name.
    pub manifests: Vec<(String, WorldManifest)>,
    /// What could not be read, by file.
    pub broken: Vec<(String, InspectError)>,
    by_file: BTreeMap<String, usize>,
}

impl CookedFolder {
    /// Opens all that is in `directory` and below. Folders below it with a manifest of their own are other worlds'.
    ///
    /// # Errors
    /// When the directory cannot be read, or holds nothing cooked. What cannot be read of the files is in
    /// [`broken`](Self::broken).
    pub fn open(directory: &Path) -> Result<Self, InspectError> {
        let mut folder = Self {
            directory: directory.to_owned(),
            packages: Vec::new(),
            manifests: Vec::new(),
            broken: Vec::new(),
            by_file: BTreeMap::new(),
        };
        for path in cooked_files(directory)? {
            let file = relative(directory, &path);
            let opened = if has_extension(&path, MANIFEST_EXTENSION) {
                read_manifest(&path).map(|manifest| folder.manifests.push((file.clone(), manifest)))
            } else {
                PackageFile::open(&path, file.clone()).map(|package| folder.packages.push(package))
            };
            folder.broken.extend(opened.err().map(|error| (file, error)));
        }
        if folder.packages.is_empty() && folder.manifests.is_empty() && folder.broken.is_empty() {
            return Err(InspectError::NothingCooked {
                path: directory.to_owned(),
            });
        }
        let files = folder.packages.iter().map(|package| package.file.clone());
        folder.by_file = files.zip(0..).collect();
        Ok(folder)
    }

    /// As [`open`](Self::open), where nothing may be broken.
    ///
    /// # Errors
    /// The first file that cannot be read.
    pub fn open_sound(directory: &Path) -> Result<Self, InspectError> {
        let mut folder = Self::open(directory)?;
        match folder.broken.is_empty() {
            true => Ok(folder),
            false => Err(folder.broken.swap_remove(0).1),
        }
    }

    /// The index of the package in this file.
    pub fn find(&self, file: &str) -> Option<usize> {
        self.by_file.get(file).copied()
    }

    /// The package in this file.
    pub fn package(&self, file: &str) -> Option<&PackageFile> {
        self.packages.get(self.find(file)?)
    }

    /// The registries that manifests name, by file.
    pub fn registries(&self) -> Vec<CookedRegistry> {
        let named = self.manifests.iter().filter_map(|(manifest, content)| {
            let directory = directory_of(manifest).to_owned();
            let file = format!("{directory}{}", content.registry.as_ref()?);
            let read = read_registry(&self.directory.join(&file));
            Some(CookedRegistry {
                manifest: manifest.clone(),
                file,
                directory,
                read,
            })
        });
        named.collect()
    }

    /// What the cook of the world with this manifest left for the next, if it is still there.
    pub fn memory(&self, manifest: &str) -> Option<Memory> {
        let world = Path::new(manifest).file_stem()?.to_str()?;
        let folder = self.directory.join(directory_of(manifest)).join(COOK_FOLDER);
        let bytes = fs::read(folder.join(state_file(world))).ok()?;
        Some(Memory::of(bytes))
    }

    /// Whether there is such a file, sound or not.
    pub fn has_file(&self, file: &str) -> bool {
        self.find(file).is_some() || self.broken.iter().any(|(broken, _)| broken == file)
    }

    /// The names of the levels of a package, as manifests have them; the package itself where none does.
    pub fn level_names(&self, file: &str) -> Vec<&str> {
        let levels = self.manifests.iter().flat_map(|(_, manifest)| &manifest.levels);
        let named = levels.filter(|level| level.package == file);
        named.map(|level| level.name.as_str()).collect()
    }

    /// The export with this id at home in the package of this name.
    pub fn object(&self, package: &str, id: ObjectId) -> Option<(usize, usize)> {
        let at = self.find(package)?;
        Some((at, self.packages.get(at)?.package.find(id)?))
    }
}

/// A registry that a manifest names.
pub(super) struct CookedRegistry {
    pub manifest: String,
    pub file: String,
    /// Where it lies, with the slash.
    pub directory: String,
    pub read: Result<ObjectRegistry, RegistryError>,
}

/// Where a file lies, with the slash.
pub(super) fn directory_of(file: &str) -> &str {
    file.rfind('/').and_then(|slash| file.get(..=slash)).unwrap_or_default()
}

/// Reads a registry; one that is too large is refused before it is read.
pub(super) fn read_registry(path: &Path) -> Result<ObjectRegistry, RegistryError> {
    let limits = RegistryLimits::default();
    let mut bytes = Vec::new();
    let mut read = || {
        File::open(path)?
            .take(limits.bytes.saturating_add(1))
            .read_to_end(&mut bytes)
    };
    read().map_err(|error| RegistryError::Io(error.to_string()))?;
    ObjectRegistry::from_bytes(&bytes, "", &limits)
}

/// Reads a manifest; one that is too large is refused before it is read.
pub(super) fn read_manifest(path: &Path) -> Result<WorldManifest, InspectError> {
    let limits = ManifestLimits::default();
    let mut bytes = Vec::new();
    let mut read = || {
        File::open(path)?
            .take(limits.bytes.saturating_add(1))
            .read_to_end(&mut bytes)
    };
    read().map_err(InspectError::io(path))?;
    WorldManifest::from_ron(&bytes, &limits).map_err(|source| InspectError::Manifest {
        path: path.to_owned(),
        source,
    })
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found == extension)
}

/// Manifests of a directory itself, by name.
pub(super) fn manifests_in(directory: &Path) -> Result<Vec<PathBuf>, InspectError> {
    let (files, _) = entries(directory)?;
    Ok(files
        .into_iter()
        .filter(|path| has_extension(path, MANIFEST_EXTENSION))
        .collect())
}

/// All packages of a directory and below, and its manifests, sorted.
fn cooked_files(directory: &Path) -> Result<Vec<PathBuf>, InspectError> {
    let mut found = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(next) = open.pop() {
        let (files, directories) = entries(&next)?;
        let is_other_world = next != directory && files.iter().any(|file| has_extension(file, MANIFEST_EXTENSION));
        if is_other_world {
            continue;
        }
        let is_cooked =
            |file: &PathBuf| has_extension(file, MANIFEST_EXTENSION) || has_extension(file, PACKAGE_EXTENSION);
        found.extend(files.into_iter().filter(is_cooked));
        open.extend(directories);
    }
    found.sort();
    Ok(found)
}

/// Files and directories in a directory, sorted. Hidden directories are a cache's; links to directories are not followed.
fn entries(directory: &Path) -> Result<(Vec<PathBuf>, Vec<PathBuf>), InspectError> {
    let io = InspectError::io(directory);
    let (mut files, mut directories) = (Vec::new(), Vec::new());
    for entry in fs::read_dir(directory).map_err(&io)? {
        let entry = entry.map_err(&io)?;
        let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
        match entry.file_type().map_err(&io)?.is_dir() {
            true if !is_hidden => directories.push(entry.path()),
            true => {}
            false => files.push(entry.path()),
        }
    }
    files.sort();
    directories.sort();
    Ok((files, directories))
}

fn relative(directory: &Path, path: &Path) -> String {
    let parts = path.strip_prefix(directory).unwrap_or(path).components();
    let parts: Vec<_> = parts.map(|part| part.as_os_str().to_string_lossy()).collect();
    parts.join("/")
}

/// How bytes are stored, as the format names it.
pub(super) fn codec_name(codec: Codec) -> &'static str {
    match codec {
        Codec::None => "none",
        Codec::Lz4 => "lz4",
        Codec::Zstd => "zstd",
    }
}
