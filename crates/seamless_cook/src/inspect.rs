//! Looks into cooked files. See [`inspect`] and [`list`].

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use seamless_asset::codec::DecodeError;
use seamless_asset::level_data::{LEVEL_CLASS, LevelTable};
use seamless_asset::{LoadErrorKind, STARTUP_EXPORT, StartupReport, StartupTable};
use seamless_level::{ManifestError, ManifestLimits, WorldManifest};
use seamless_package::{Limits, Package, PackageError, RefTarget, Role, StoredVersions};
use serde::Serialize;

use crate::write::MANIFEST_EXTENSION;

/// Why a cooked file cannot be looked into.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InspectError {
    /// It cannot be read from the disk.
    #[error("{}: {source}; check the path", path.display())]
    Io {
        /// Which file or directory.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// It is no sound package.
    #[error("{}: {source}", path.display())]
    Package {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        source: Box<PackageError>,
    },
    /// Its level table is not sound.
    #[error("{}#{object}: {source}", path.display())]
    Level {
        /// Which file.
        path: PathBuf,
        /// Which export.
        object: String,
        /// What is wrong with it.
        source: Box<DecodeError>,
    },
    /// Its index of startup content is not sound.
    #[error("{}#{STARTUP_EXPORT}: {source}", path.display())]
    Startup {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        source: Box<LoadErrorKind>,
    },
    /// It is no sound manifest.
    #[error("{}: {source}", path.display())]
    Manifest {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        source: ManifestError,
    },
}

/// What is in a package.
#[derive(Debug, Serialize)]
pub struct PackageInfo {
    /// Its path, as imports name it.
    pub name: String,
    /// The file format's version.
    pub format_version: u32,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// Hash of all content, as 16 hexadecimal digits.
    pub content_hash: String,
    /// Entries of the name table.
    pub names: u32,
    /// Bytes of the summary and the tables, which are read to open it.
    pub header_bytes: u64,
    /// The versions that it was saved with, by list.
    pub versions: Vec<VersionInfo>,
    /// The objects of other packages that it refers to.
    pub imports: Vec<ImportInfo>,
    /// Its objects, classes included.
    pub exports: Vec<ExportInfo>,
    /// Its level table, if it is a level's package.
    pub level: Option<LevelInfo>,
    /// What it pins, and for whom, if it is a package of startup content.
    pub startup: Option<StartupReport>,
}

/// A list of versions.
#[derive(Debug, Serialize)]
pub struct VersionInfo {
    /// Whose list it is.
    pub label: String,
    /// The list's UUID.
    pub id: String,
    /// The names of its entries when the package was saved, oldest first.
    pub entries: Vec<String>,
}

/// One entry of the import table.
#[derive(Debug, Serialize)]
pub struct ImportInfo {
    /// The other package.
    pub package: String,
    /// The object in it.
    pub object: String,
    /// The object's type.
    pub class: String,
    /// The object's id.
    pub id: String,
}

/// One entry of the export table.
#[derive(Debug, Serialize)]
pub struct ExportInfo {
    /// The object's name.
    pub name: String,
    /// The package that it is a copy from, if it is one.
    pub copied_from: Option<String>,
    /// Its type; `class` if it is a class itself.
    pub class: String,
    /// Its id.
    pub id: String,
    /// Who needs it.
    pub role: String,
    /// Stored bytes of its data.
    pub stored_bytes: u64,
    /// Bytes of its data once decompressed.
    pub raw_bytes: u64,
    /// What it refers to, by name.
    pub refs: Vec<String>,
    /// Bytes of each bulk payload once decompressed.
    pub bulk_bytes: Vec<u64>,
    /// How many of them stayed in the package that it is a copy from.
    pub external_bulk: usize,
}

/// A level table.
#[derive(Debug, Serialize)]
pub struct LevelInfo {
    /// Number of entities.
    pub entities: u32,
    /// Entities without a parent inside the level.
    pub roots: u32,
    /// Runs of entities with one set of components.
    pub groups: Vec<GroupInfo>,
}

/// A run of entities with one set of components.
#[derive(Debug, Serialize)]
pub struct GroupInfo {
    /// Number of entities.
    pub rows: u32,
    /// Their components.
    pub columns: Vec<ColumnInfo>,
}

/// One component of a run of entities.
#[derive(Debug, Serialize)]
pub struct ColumnInfo {
    /// The component's type.
    pub class: String,
    /// Who needs it.
    pub role: String,
    /// Encoded bytes.
    pub bytes: u64,
}

/// Reads a package wholly, checks every checksum, and tells what is in it.
///
/// # Errors
/// When the file cannot be read, or anything in it is not as it was written.
pub fn inspect(path: &Path) -> Result<PackageInfo, InspectError> {
    let io = |source| InspectError::Io {
        path: path.to_owned(),
        source,
    };
    let broken = |source| InspectError::Package {
        path: path.to_owned(),
        source: Box::new(source),
    };
    let bytes = fs::read(path).map_err(io)?;
    let package = Package::verify_whole(&bytes, &Limits::default()).map_err(broken)?;
    let summary = package.summary();
    Ok(PackageInfo {
        name: package.name().to_owned(),
        format_version: summary.format_version,
        bytes: summary.file_len(),
        content_hash: format!("{:016x}", summary.content_hash),
        names: summary.name_count,
        header_bytes: summary.header_len(),
        versions: package.version_lists().map(|list| version_info(&list)).collect(),
        imports: (0..package.imports().len())
            .map(|index| import_info(&package, index))
            .collect(),
        exports: (0..package.exports().len())
            .map(|index| export_info(&package, index))
            .collect(),
        level: level_info(&package, &bytes, path)?,
        startup: startup_info(&package, &bytes, path)?,
    })
}

fn startup_info(package: &Package, bytes: &[u8], path: &Path) -> Result<Option<StartupReport>, InspectError> {
    match StartupTable::of(package, bytes, 0) {
        Ok(table) => Ok(Some(StartupReport::of(package, &table, Role::ALL))),
        Err(LoadErrorKind::NoStartupIndex) => Ok(None),
        Err(source) => Err(InspectError::Startup {
            path: path.to_owned(),
            source: Box::new(source),
        }),
    }
}

fn version_info(list: &StoredVersions) -> VersionInfo {
    VersionInfo {
        label: list.label().to_owned(),
        id: list.id().to_string(),
        entries: list.entries().map(str::to_owned).collect(),
    }
}

fn import_info(package: &Package, index: usize) -> ImportInfo {
    let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
    ImportInfo {
        package: text(package.import_package(index)),
        object: text(package.import_name(index)),
        class: text(package.import_type(index)),
        id: package
            .imports()
            .get(index)
            .map(|import| import.object_id.to_string())
            .unwrap_or_default(),
    }
}

fn export_info(package: &Package, index: usize) -> ExportInfo {
    let export = package.exports().get(index);
    let export = export.as_ref();
    let class = package
        .class_of(index)
        .map_or("class", |schema| schema.type_path.as_str());
    let refs = package.refs(index).iter().map(|reference| match reference.target() {
        RefTarget::None => "nothing".to_owned(),
        RefTarget::Export(index) => package.export_name(index).unwrap_or_default().to_owned(),
        RefTarget::Import(index) => {
            let (from, name) = (package.import_package(index), package.import_name(index));
            format!("{}#{}", from.unwrap_or_default(), name.unwrap_or_default())
        }
    });
    ExportInfo {
        name: package.export_name(index).unwrap_or_default().to_owned(),
        copied_from: package.origin_of(index).map(|origin| origin.package.to_owned()),
        class: class.to_owned(),
        id: export.map(|export| export.object_id.to_string()).unwrap_or_default(),
        role: export.map(|export| export.role.to_string()).unwrap_or_default(),
        stored_bytes: export.map_or(0, |export| export.stored_size),
        raw_bytes: export.map_or(0, |export| export.raw_size),
        refs: refs.collect(),
        bulk_bytes: package.bulk(index).iter().map(|bulk| bulk.raw_size).collect(),
        external_bulk: package.bulk(index).iter().filter(|bulk| bulk.origin != 0).count(),
    }
}

fn level_info(package: &Package, bytes: &[u8], path: &Path) -> Result<Option<LevelInfo>, InspectError> {
    let is_level = |index: &usize| {
        package
            .class_of(*index)
            .is_some_and(|schema| schema.type_path == LEVEL_CLASS)
    };
    let Some(index) = (0..package.exports().len()).find(is_level) else {
        return Ok(None);
    };
    let data = package
        .export_data(index, bytes, 0)
        .map_err(|source| InspectError::Package {
            path: path.to_owned(),
            source: Box::new(source),
        })?;
    let table = LevelTable::parse(&data, u32::MAX).map_err(|source| InspectError::Level {
        path: path.to_owned(),
        object: package.export_name(index).unwrap_or_default().to_owned(),
        source: Box::new(source),
    })?;
    let class_name = |class: u32| {
        package
            .schema(class as usize)
            .map_or("unknown", |schema| schema.type_path.as_str())
    };
    let groups = table.groups.iter().map(|group| GroupInfo {
        rows: group.rows,
        columns: group
            .columns
            .iter()
            .map(|column| ColumnInfo {
                class: class_name(column.class).to_owned(),
                role: column.role.to_string(),
                bytes: column.data.len() as u64,
            })
            .collect(),
    });
    Ok(Some(LevelInfo {
        entities: table.ids.len() as u32,
        roots: table.roots.len() as u32,
        groups: groups.collect(),
    }))
}

/// A cooked world in a directory.
#[derive(Debug, Serialize)]
pub struct WorldInfo {
    /// Its name.
    pub name: String,
    /// File name of its manifest.
    pub manifest: String,
    /// Its levels: name, package, entities and bytes.
    pub levels: Vec<ListedLevel>,
    /// Its package of startup content, if it has one: file name, and bytes; none if the file is not there.
    pub startup: Option<(String, Option<u64>)>,
    /// Its shared packages: file name, and bytes; none if the file is not there.
    pub shared: Vec<(String, Option<u64>)>,
    /// Number of streaming volumes.
    pub volumes: u32,
    /// Packages that the manifest names and that are not there.
    pub missing: Vec<String>,
}

/// One level of a [`WorldInfo`].
#[derive(Debug, Serialize)]
pub struct ListedLevel {
    /// Its name.
    pub name: String,
    /// Its package.
    pub package: String,
    /// Its entities.
    pub entities: u32,
    /// Bytes of its package.
    pub bytes: u64,
    /// How many shared packages it needs.
    pub dependencies: u32,
}

/// The cooked worlds in `directory`, by name.
///
/// # Errors
/// When the directory or a manifest in it cannot be read.
pub fn list(directory: &Path) -> Result<Vec<WorldInfo>, InspectError> {
    let io = |source| InspectError::Io {
        path: directory.to_owned(),
        source,
    };
    let mut manifests = Vec::new();
    for entry in fs::read_dir(directory).map_err(io)? {
        let path = entry.map_err(io)?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == MANIFEST_EXTENSION)
        {
            manifests.push(path);
        }
    }
    manifests.sort();
    manifests.iter().map(|path| world_info(directory, path)).collect()
}

fn world_info(directory: &Path, path: &Path) -> Result<WorldInfo, InspectError> {
    let bytes = fs::read(path).map_err(|source| InspectError::Io {
        path: path.to_owned(),
        source,
    })?;
    let manifest =
        WorldManifest::from_ron(&bytes, &ManifestLimits::default()).map_err(|source| InspectError::Manifest {
            path: path.to_owned(),
            source,
        })?;
    let size = |file: &str| fs::metadata(directory.join(file)).ok().map(|metadata| metadata.len());
    let levels: BTreeSet<&str> = manifest.levels.iter().map(|level| level.package.as_str()).collect();
    let dependencies = manifest.levels.iter().flat_map(|level| &level.dependencies);
    let shared: BTreeSet<&str> = dependencies
        .chain(manifest.packages.iter().map(|listed| &listed.package))
        .map(String::as_str)
        .filter(|file| !levels.contains(file) && manifest.startup.as_deref() != Some(file))
        .collect();
    let packages = shared
        .iter()
        .copied()
        .chain(manifest.startup.as_deref())
        .chain(manifest.levels.iter().map(|level| level.package.as_str()));
    let missing = packages
        .filter(|file| size(file).is_none())
        .map(str::to_owned)
        .collect();
    Ok(WorldInfo {
        name: manifest.name.clone(),
        manifest: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        levels: manifest
            .levels
            .iter()
            .map(|level| ListedLevel {
                name: level.name.clone(),
                package: level.package.clone(),
                entities: level.entities,
                bytes: level.bytes,
                dependencies: (level.dependencies.iter())
                    .filter(|file| Some(*file) != manifest.startup.as_ref())
                    .count() as u32,
            })
            .collect(),
        startup: manifest.startup.as_deref().map(|file| (file.to_owned(), size(file))),
        shared: shared.iter().map(|file| ((*file).to_owned(), size(file))).collect(),
        volumes: manifest.volumes.len() as u32,
        missing,
    })
}
