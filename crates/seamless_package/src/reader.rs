//! Opening a package: reading its tables, and checking them.

mod access;
mod payload;

pub use access::OriginOf;
pub use payload::BulkLocation;

use crate::check::{Tables, sorted_ids};
use crate::cursor::Cursor;
use crate::error::{PackageError, Place};
use crate::id::{ObjectId, ObjectRef};
use crate::limits::Limits;
use crate::names::Names;
use crate::schema::Schema;
use crate::summary::Summary;
use crate::tables::{Bulk, Export, Import, Origin, read_records};
use crate::versions::Versions;
use payload::{slice, verify};

/// The tables and schemas of a package, checked. It owns its memory and may be shared between threads.
///
/// Data is not part of it: [`export_data`](Self::export_data) and [`bulk_data`](Self::bulk_data) take the bytes of the
/// file, or a part of them, and check them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    summary: Summary,
    names: Names,
    imports: Vec<Import>,
    origins: Vec<Origin>,
    exports: Vec<Export>,
    refs: Vec<ObjectRef>,
    bulk: Vec<Bulk>,
    versions: Versions,
    /// Index of each class among the exports, ascending, and its schema.
    schemas: Vec<(usize, Schema)>,
    export_ids: Vec<(ObjectId, usize)>,
    import_ids: Vec<(ObjectId, usize)>,
}

impl Package {
    /// Opens a package from the first [`Summary::header_len`] bytes of its file; more may be given and are ignored.
    ///
    /// # Errors
    /// Any [`PackageError`] whose [`fault`](PackageError::fault) is not the caller's.
    pub fn parse(header_bytes: &[u8], limits: &Limits) -> Result<Self, PackageError> {
        let summary = Summary::parse(header_bytes, limits)?;
        let have = header_bytes.len() as u64;
        let need = summary.header_len();
        if have < need {
            let place = Place::File;
            return Err(PackageError::Truncated { place, need, have });
        }
        let mut package = Self::read_tables(header_bytes, summary)?;
        package.tables(limits).check()?;
        package.versions.check(&package.names)?;
        package.index_ids()?;
        package.read_schemas(header_bytes, limits)?;
        package.check_imported_types()?;
        Ok(package)
    }

    /// Opens a package from the bytes of its whole file and checks all that is in it. Payloads that lie in other
    /// packages' files are not.
    ///
    /// # Errors
    /// Any [`PackageError`] whose [`fault`](PackageError::fault) is not the caller's.
    pub fn verify_whole(file: &[u8], limits: &Limits) -> Result<Self, PackageError> {
        let package = Self::parse(file, limits)?;
        let file_len = package.summary.file_len;
        let have = file.len() as u64;
        if have < file_len {
            let (place, need) = (Place::File, file_len);
            return Err(PackageError::Truncated { place, need, have });
        }
        if have > file_len {
            let extra = have.saturating_sub(file_len);
            return Err(PackageError::TrailingData { file_len, extra });
        }
        for index in 0..package.exports.len() {
            package.export_data(index, file, 0)?;
            for (payload, bulk) in package.bulk(index).iter().enumerate() {
                if bulk.origin == 0 {
                    package.bulk_data(index, payload, file, 0)?;
                }
            }
        }
        Ok(package)
    }

    fn read_tables(bytes: &[u8], summary: Summary) -> Result<Self, PackageError> {
        let section = |place: Place, offset, size, expected| {
            let place = || place.clone();
            verify(slice(bytes, 0, offset, size, place)?, expected, place)
        };
        let names = section(
            Place::Names,
            summary.names_offset,
            summary.names_size,
            summary.names_checksum,
        )?;
        let imports = section(
            Place::Imports,
            summary.imports_offset,
            summary.imports_size,
            summary.imports_checksum,
        )?;
        let origins = section(
            Place::Origins,
            summary.origins_offset,
            summary.origins_size,
            summary.origins_checksum,
        )?;
        let exports = section(
            Place::Exports,
            summary.exports_offset,
            summary.exports_size,
            summary.exports_checksum,
        )?;
        let versions = section(
            Place::Versions,
            summary.versions_offset,
            summary.versions_size,
            summary.versions_checksum,
        )?;
        let (mut exports, mut versions) = (Cursor::new(exports), Cursor::new(versions));
        Ok(Self {
            names: Names::parse(names, summary.name_count)?,
            imports: read_records(&mut Cursor::new(imports), summary.import_count, &Place::Imports)?,
            origins: read_records(&mut Cursor::new(origins), summary.origin_count, &Place::Origins)?,
            exports: read_records(&mut exports, summary.export_count, &Place::Exports)?,
            refs: read_records(&mut exports, summary.ref_count, &Place::Exports)?,
            bulk: read_records(&mut exports, summary.bulk_count, &Place::Exports)?,
            versions: Versions {
                lists: read_records(&mut versions, summary.version_list_count, &Place::Versions)?,
                entries: read_records(&mut versions, summary.version_entry_count, &Place::Versions)?,
            },
            schemas: Vec::new(),
            export_ids: Vec::new(),
            import_ids: Vec::new(),
            summary,
        })
    }

    fn tables<'a>(&'a self, limits: &'a Limits) -> Tables<'a> {
        Tables {
            summary: &self.summary,
            names: &self.names,
            imports: &self.imports,
            origins: &self.origins,
            exports: &self.exports,
            refs: &self.refs,
            bulk: &self.bulk,
            limits,
        }
    }

    fn index_ids(&mut self) -> Result<(), PackageError> {
        let exports = self.exports.iter().map(|export| export.object_id);
        self.export_ids = sorted_ids(exports, |index| self.place(index))?;
        let imports = self.imports.iter().map(|import| import.object_id);
        self.import_ids = sorted_ids(imports, |index| Place::Import { index })?;
        // Both paths are known here, so an import with the id of an export is the same object, or a collision of two.
        let collides = |import: &Import| {
            let export = self.find(import.object_id).and_then(|export| self.exports.get(export));
            export
                .is_some_and(|export| self.origin_name(export) != Some(import.package) || export.name != import.object)
        };
        match self.imports.iter().position(collides) {
            None => Ok(()),
            Some(index) => {
                let what = "an export has the same object id";
                Err(PackageError::malformed(Place::Import { index }, what))
            }
        }
    }

    fn read_schemas(&mut self, bytes: &[u8], limits: &Limits) -> Result<(), PackageError> {
        let mut schemas = Vec::new();
        for (index, export) in self.exports.iter().enumerate() {
            if !export.is_class() {
                continue;
            }
            let data = self.export_data(index, bytes, 0)?;
            let schema = Schema::decode_at(&data, limits, || self.place(index))?;
            if Schema::type_of_name(self.names.known(export.name)) != Some(&schema.type_path) {
                let what = "the class is not named after its type";
                return Err(PackageError::malformed(self.place(index), what));
            }
            schemas.push((index, schema));
        }
        self.schemas = schemas;
        Ok(())
    }

    /// An object has one type: what an import asks for, a forced export of the same object has.
    fn check_imported_types(&self) -> Result<(), PackageError> {
        for index in 0..self.imports.len() {
            let class = self.forced_for_import(index).and_then(|forced| self.class_of(forced));
            if class.is_some_and(|class| self.import_type(index) != Some(&class.type_path)) {
                let what = "the forced export of the same object has another type";
                return Err(PackageError::malformed(Place::Import { index }, what));
            }
        }
        Ok(())
    }

    fn place(&self, index: usize) -> Place {
        Place::Export {
            index,
            name: self.export_name(index).unwrap_or_default().into(),
        }
    }
}
