//! Looks into a package. See [`inspect`].

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use seamless_asset::codec::{DecodeError, Encoding};
use seamless_asset::{LoadErrorKind, RegistryError, STARTUP_EXPORT, StartupReport, StartupTable};
use seamless_level::ManifestError;
use seamless_package::{Bulk, Limits, Package, PackageError, RefTarget, Role, Schema, StoredVersions};
use serde::Serialize;

use super::entities::LevelView;
use super::folder::{class_name, codec_name, import_path, level_of};

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
    /// The directory holds no cooked files.
    #[error("{}: no packages and no manifest in it; give the directory that `seamless cook --out` wrote", path.display())]
    NothingCooked {
        /// Which directory.
        path: PathBuf,
    },
    /// It is no sound registry.
    #[error("{}: {source}", path.display())]
    Registry {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        source: RegistryError,
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
    /// The packages that it holds copies from.
    pub origins: Vec<OriginInfo>,
    /// What its types looked like when it was written.
    pub schemas: Vec<SchemaInfo>,
    /// Its objects by type, the largest first.
    pub types: Vec<TypeInfo>,
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
    /// Where its data starts in the file.
    pub offset: u64,
    /// How its data is stored: `none`, `lz4` or `zstd`.
    pub codec: String,
    /// Whether it is marked: of use without its bulk payloads, which apps may leave for later.
    pub marked: bool,
    /// Its bulk payloads.
    pub bulk: Vec<BulkInfo>,
}

/// One bulk payload of an export.
#[derive(Debug, Serialize)]
pub struct BulkInfo {
    /// The package whose file it lies in; none if it is this one.
    pub package: Option<String>,
    /// Where it starts in that file.
    pub offset: u64,
    /// Its bytes in the file.
    pub stored_bytes: u64,
    /// Its bytes once decompressed.
    pub raw_bytes: u64,
    /// How it is stored: `none`, `lz4` or `zstd`.
    pub codec: String,
}

/// A package that objects are copied from.
#[derive(Debug, Serialize)]
pub struct OriginInfo {
    /// Its path.
    pub package: String,
    /// The hash of all its content when they were copied, as 16 hexadecimal digits.
    pub content_hash: String,
    /// How many objects are copied from it.
    pub objects: u32,
}

/// A type as it was when its objects were written.
#[derive(Debug, Serialize)]
pub struct SchemaInfo {
    /// Its path.
    pub type_path: String,
    /// Which codec wrote the objects.
    pub encoding: String,
    /// The version of its form.
    pub version: u32,
    /// Whether its form is never to change.
    pub immutable: bool,
    /// The hash of its layout, as 16 hexadecimal digits.
    pub hash: String,
}

/// All objects of one type.
#[derive(Debug, Default, Serialize)]
pub struct TypeInfo {
    /// The type's path; `class` for the classes.
    pub class: String,
    /// How many objects.
    pub objects: u32,
    /// Stored bytes of their data and of the payloads in this file.
    pub stored_bytes: u64,
    /// The same once decompressed.
    pub raw_bytes: u64,
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
    /// What the entities are called, as soft links and `seamless why` name them, in the order of the groups.
    pub names: Vec<String>,
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

impl InspectError {
    /// What the system said about a file.
    pub(super) fn io(path: &Path) -> impl Fn(std::io::Error) -> Self {
        |source| Self::Io {
            path: path.to_owned(),
            source,
        }
    }

    /// What is wrong with a package.
    pub(super) fn broken(path: &Path) -> impl Fn(PackageError) -> Self {
        |source| Self::Package {
            path: path.to_owned(),
            source: Box::new(source),
        }
    }
}

/// Reads a package wholly, checks every checksum, and tells what is in it.
///
/// # Errors
/// When the file cannot be read, or anything in it is not as it was written.
pub fn inspect(path: &Path) -> Result<PackageInfo, InspectError> {
    let bytes = fs::read(path).map_err(InspectError::io(path))?;
    let package = Package::verify_whole(&bytes, &Limits::default()).map_err(InspectError::broken(path))?;
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
        origins: origin_infos(&package),
        schemas: package.schemas().map(|(_, schema)| schema_info(schema)).collect(),
        types: type_infos(&package),
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
    let refs = package.refs(index).iter().map(|reference| match reference.target() {
        RefTarget::None => "nothing".to_owned(),
        RefTarget::Export(index) => package.export_name(index).unwrap_or_default().to_owned(),
        RefTarget::Import(index) => import_path(package, index),
    });
    ExportInfo {
        name: package.export_name(index).unwrap_or_default().to_owned(),
        copied_from: package.origin_of(index).map(|origin| origin.package.to_owned()),
        class: class_name(package, index).to_owned(),
        id: export.map(|export| export.object_id.to_string()).unwrap_or_default(),
        role: export.map(|export| export.role.to_string()).unwrap_or_default(),
        offset: export.map_or(0, |export| export.data_offset),
        codec: export
            .map(|export| codec_name(export.codec).to_owned())
            .unwrap_or_default(),
        stored_bytes: export.map_or(0, |export| export.stored_size),
        raw_bytes: export.map_or(0, |export| export.raw_size),
        refs: refs.collect(),
        marked: export.is_some_and(|export| export.bulk_use.is_marked()),
        bulk: package
            .bulk(index)
            .iter()
            .map(|bulk| bulk_info(package, &bulk))
            .collect(),
    }
}

fn bulk_info(package: &Package, bulk: &Bulk) -> BulkInfo {
    let origin = bulk
        .origin
        .checked_sub(1)
        .and_then(|origin| package.origins().get(origin as usize));
    BulkInfo {
        package: origin.and_then(|origin| package.name_of(origin.package).map(str::to_owned)),
        offset: bulk.offset,
        stored_bytes: bulk.stored_size,
        raw_bytes: bulk.raw_size,
        codec: codec_name(bulk.codec).to_owned(),
    }
}

fn origin_infos(package: &Package) -> Vec<OriginInfo> {
    let copied = |number: u32| {
        package
            .exports()
            .iter()
            .filter(|export| export.origin == number)
            .count() as u32
    };
    (1..)
        .zip(package.origins())
        .map(|(number, origin)| OriginInfo {
            package: package.name_of(origin.package).unwrap_or_default().to_owned(),
            content_hash: format!("{:016x}", origin.content_hash),
            objects: copied(number),
        })
        .collect()
}

fn schema_info(schema: &Schema) -> SchemaInfo {
    let encoding = Encoding::from_u8(schema.encoding);
    SchemaInfo {
        type_path: schema.type_path.clone(),
        encoding: encoding.map_or_else(|| schema.encoding.to_string(), |encoding| format!("{encoding:?}")),
        version: schema.version,
        immutable: schema.immutable,
        hash: format!("{:016x}", schema.hash),
    }
}

fn type_infos(package: &Package) -> Vec<TypeInfo> {
    let mut types: BTreeMap<&str, TypeInfo> = BTreeMap::new();
    for (index, export) in package.exports().iter().enumerate() {
        let info = types.entry(class_name(package, index)).or_default();
        info.objects += 1;
        info.stored_bytes += export.stored_size;
        info.raw_bytes += export.raw_size;
        for bulk in package.bulk(index).iter().filter(|bulk| bulk.origin == 0) {
            info.stored_bytes += bulk.stored_size;
            info.raw_bytes += bulk.raw_size;
        }
    }
    let named = types.into_iter().map(|(class, info)| TypeInfo {
        class: class.to_owned(),
        ..info
    });
    let mut types: Vec<TypeInfo> = named.collect();
    types.sort_by_key(|info| core::cmp::Reverse(info.stored_bytes));
    types
}

fn level_info(package: &Package, bytes: &[u8], path: &Path) -> Result<Option<LevelInfo>, InspectError> {
    let Some(index) = level_of(package) else {
        return Ok(None);
    };
    let data = package
        .export_data(index, bytes, 0)
        .map_err(|source| InspectError::Package {
            path: path.to_owned(),
            source: Box::new(source),
        })?;
    let view = LevelView::parse(package, index, &data).map_err(|source| InspectError::Level {
        path: path.to_owned(),
        object: package.export_name(index).unwrap_or_default().to_owned(),
        source: Box::new(source),
    })?;
    let table = &view.table;
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
        names: view.names(),
    }))
}
