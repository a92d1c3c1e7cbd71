//! Opening a package: checking its tables, where they lie.

mod access;
mod payload;

pub use access::OriginOf;
pub use payload::BulkLocation;

use crate::check::Tables;
use crate::cursor::Cursor;
use crate::error::{PackageError, Place};
use crate::id::PackageSeed;
use crate::limits::Limits;
use crate::schema::Schema;
use crate::summary::{Summary, sized};
use crate::table::order_of;
use crate::tables::{Export, NameIndex, Wire, to_columns};
use payload::{slice, verify};
use std::borrow::Cow;
use std::fmt;

/// The tables and schemas of a package, checked. It owns its memory and may be shared between threads.
///
/// Data is not part of it: [`export_data`](Self::export_data) and [`bulk_data`](Self::bulk_data) take the bytes of the
/// file, or a part of them, and check them.
#[derive(Clone, PartialEq, Eq)]
pub struct Package {
    summary: Summary,
    /// The bytes of the file up to the data: tables are read where they lie. What an older file has in another form is brought
    /// into today's here, and what it lacks is behind the header.
    header: Vec<u8>,
    /// Index of each class among the exports, ascending, and its schema.
    schemas: Vec<(usize, Schema)>,
    /// What the ids of its own objects have in common.
    seed: PackageSeed,
}

impl Package {
    /// Opens a package from the first [`Summary::header_len`] bytes of its file; more may be given and are ignored. They
    /// are kept: a `Vec` as it is, of a slice a copy is made.
    ///
    /// # Errors
    /// Any [`PackageError`] whose [`fault`](PackageError::fault) is not the caller's.
    pub fn parse<'a>(header: impl Into<Cow<'a, [u8]>>, limits: &Limits) -> Result<Self, PackageError> {
        let header = header.into();
        let summary = Summary::parse(&header, limits)?;
        let have = header.len() as u64;
        let need = summary.header_len();
        if have < need {
            let place = Place::File;
            return Err(PackageError::Truncated { place, need, have });
        }
        let mut package = Self {
            header: take(header, need as usize),
            summary,
            schemas: Vec::new(),
            seed: PackageSeed::default(),
        };
        package.check_sums()?;
        package.renew()?;
        let classes = package.check_tables(limits)?;
        package.seed = PackageSeed::new(package.name().as_bytes());
        package.schemas = package.read_schemas(&classes, limits)?;
        package.check_imported()?;
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
        for index in 0..package.exports().len() {
            // Classes were read on opening. They may be packed together: each one's data would cost all of them.
            if package.schema(index).is_none() {
                package.export_data(index, file, 0)?;
            }
            for (payload, bulk) in package.bulk(index).iter().enumerate() {
                if bulk.origin == 0 {
                    package.bulk_data(index, payload, file, 0)?;
                }
            }
        }
        Ok(package)
    }

    fn check_sums(&self) -> Result<(), PackageError> {
        let summary = &self.summary;
        let section = |place: Place, offset, size, expected| {
            let place = || place.clone();
            verify(slice(&self.header, 0, offset, size, place)?, expected, place)
        };
        section(
            Place::Names,
            summary.names_offset,
            summary.names_size,
            summary.names_checksum,
        )?;
        section(
            Place::Imports,
            summary.imports_offset,
            summary.imports_size,
            summary.imports_checksum,
        )?;
        section(
            Place::Origins,
            summary.origins_offset,
            summary.origins_size,
            summary.origins_checksum,
        )?;
        section(
            Place::Exports,
            summary.exports_offset,
            summary.exports_size,
            summary.exports_checksum,
        )?;
        section(
            Place::Versions,
            summary.versions_offset,
            summary.versions_size,
            summary.versions_checksum,
        )?;
        Ok(())
    }

    /// Gives the tables of an older file the form that they have in a new one.
    fn renew(&mut self) -> Result<(), PackageError> {
        if !self.summary.has_columns() {
            self.turn_exports()?;
        }
        if !self.summary.has_orders() {
            let imports = order_of(self.imports().iter().map(|import| import.object_id));
            let exports = order_of(self.exports().iter().map(|export| export.object_id));
            self.header.reserve_exact(imports.len().saturating_add(exports.len()));
            self.header.extend_from_slice(&imports);
            self.header.extend_from_slice(&exports);
        }
        Ok(())
    }

    /// Puts an export table that is in rows into columns.
    fn turn_exports(&mut self) -> Result<(), PackageError> {
        let place = || Place::Exports;
        let offset = self.summary.exports_offset;
        let size = sized(self.summary.export_count, Export::SIZE);
        let rows = slice(&self.header, 0, offset, size, place)?;
        // Errors name bytes as they are in the file.
        for (index, row) in rows.chunks_exact(Export::SIZE).enumerate() {
            let mut cursor = Cursor::at(row, index.saturating_mul(Export::SIZE));
            let read = Export::read(&mut cursor);
            read.map_err(|source| PackageError::Record { place: place(), source })?;
        }
        let columns = to_columns(rows, Export::LAYOUT);
        let start = offset as usize;
        if let Some(table) = self.header.get_mut(start..start.saturating_add(columns.len())) {
            table.copy_from_slice(&columns);
        }
        Ok(())
    }

    /// Checks every rule between the tables; gives the indices of the classes.
    fn check_tables(&self, limits: &Limits) -> Result<Vec<usize>, PackageError> {
        let names = self.names();
        names.check(limits.name_bytes)?;
        let tables = Tables {
            summary: &self.summary,
            names,
            imports: self.imports(),
            import_order: self.import_order(),
            origins: self.origins(),
            exports: self.exports(),
            export_order: self.export_order(),
            refs: self.ref_table(),
            bulk: self.bulk_table(),
            limits,
        };
        let classes = tables.check()?;
        self.version_table().check(names)?;
        Ok(classes)
    }

    fn read_schemas(&self, classes: &[usize], limits: &Limits) -> Result<Vec<(usize, Schema)>, PackageError> {
        let mut schemas = Vec::with_capacity(classes.len());
        let all = self.class_data(classes, &self.header, 0)?;
        let mut rest = &*all;
        for &index in classes {
            let data = self.next_class(index, &mut rest);
            let schema = Schema::decode_at(data, limits, || self.place(index))?;
            let name = self.export_name(index).unwrap_or_default();
            if Schema::type_of_name(name) != Some(&schema.type_path) {
                let what = "the class is not named after its type";
                return Err(PackageError::malformed(self.place(index), what));
            }
            schemas.push((index, schema));
        }
        Ok(schemas)
    }

    /// An import with the id of an export is the same object, or a collision of two; both paths are known here. An object has
    /// one type: what an import asks for, a forced export of the same object has.
    fn check_imported(&self) -> Result<(), PackageError> {
        let order = self.export_order();
        for (index, import) in self.imports().iter().enumerate() {
            let malformed = |what| Err(PackageError::malformed(Place::Import { index }, what));
            let Some(found) = order.find(import.object_id) else {
                continue;
            };
            let exports = self.exports();
            let origin = exports.field::<{ Export::at("origin") }, u32>(found);
            let origin = origin.and_then(|origin| self.origin(origin));
            let name = exports.field::<{ Export::at("name") }, NameIndex>(found);
            // A text may be in the name table twice.
            let is_text = |index: Option<NameIndex>, other: NameIndex| {
                index.is_some_and(|index| index == other || self.names().bytes(index) == self.names().bytes(other))
            };
            let is_same = is_text(origin.map(|origin| origin.package), import.package) && is_text(name, import.object);
            if !is_same {
                return malformed("an export has the same object id");
            }
            let class = self.class_of(found);
            let type_path = self.names().bytes(import.type_path);
            if class.is_some_and(|class| type_path != Some(class.type_path.as_bytes())) {
                return malformed("the forced export of the same object has another type");
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

impl fmt::Debug for Package {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Package")
            .field("name", &self.name())
            .field("summary", &self.summary)
            .finish_non_exhaustive()
    }
}

/// The first `len` bytes, and no memory for more.
fn take(bytes: Cow<'_, [u8]>, len: usize) -> Vec<u8> {
    match bytes {
        Cow::Borrowed(bytes) => bytes.get(..len).unwrap_or(bytes).to_vec(),
        Cow::Owned(mut bytes) => {
            bytes.truncate(len);
            bytes.shrink_to_fit();
            bytes
        }
    }
}
