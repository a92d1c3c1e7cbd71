//! Opening a package and taking objects out of it.

use crate::check::{Tables, sorted_ids};
use crate::cursor::Cursor;
use crate::error::{PackageError, Place};
use crate::id::{ObjectId, ObjectRef, RefTarget};
use crate::limits::Limits;
use crate::schema::Schema;
use crate::summary::Summary;
use crate::tables::{Bulk, Codec, Export, Import, NameIndex, Names, read_records};
use std::borrow::Cow;
use std::ops::Range;
use xxhash_rust::xxh3::xxh3_64;

/// The tables and schemas of a package, checked. It owns its memory and may be shared between threads.
///
/// Data is not part of it: [`export_data`](Self::export_data) and [`bulk_data`](Self::bulk_data) take the bytes of the
/// file, or a part of them, and check them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    summary: Summary,
    names: Names,
    imports: Vec<Import>,
    exports: Vec<Export>,
    refs: Vec<ObjectRef>,
    bulk: Vec<Bulk>,
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
        Tables {
            summary: &package.summary,
            names: &package.names,
            imports: &package.imports,
            exports: &package.exports,
            refs: &package.refs,
            bulk: &package.bulk,
            limits,
        }
        .check()?;
        package.index_ids()?;
        package.read_schemas(header_bytes, limits)?;
        Ok(package)
    }

    /// Opens a package from the bytes of its whole file and checks all that is in it.
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
        for (index, export) in package.exports.iter().enumerate() {
            package.export_data(index, file, 0)?;
            for payload in 0..export.bulk_count as usize {
                package.bulk_data(index, payload, file, 0)?;
            }
        }
        Ok(package)
    }

    fn read_tables(bytes: &[u8], summary: Summary) -> Result<Self, PackageError> {
        let section = |place: Place, offset, size, expected| {
            let bytes = slice(bytes, 0, offset, size, &place)?;
            verify(bytes, expected, place)
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
        let exports = section(
            Place::Exports,
            summary.exports_offset,
            summary.exports_size,
            summary.exports_checksum,
        )?;
        let mut imports = Cursor::new(imports);
        let mut exports = Cursor::new(exports);
        Ok(Self {
            names: Names::parse(names, summary.name_count)?,
            imports: read_records(&mut imports, summary.import_count, &Place::Imports)?,
            exports: read_records(&mut exports, summary.export_count, &Place::Exports)?,
            refs: read_records(&mut exports, summary.ref_count, &Place::Exports)?,
            bulk: read_records(&mut exports, summary.bulk_count, &Place::Exports)?,
            schemas: Vec::new(),
            export_ids: Vec::new(),
            import_ids: Vec::new(),
            summary,
        })
    }

    fn index_ids(&mut self) -> Result<(), PackageError> {
        let exports = self.exports.iter().map(|export| export.object_id);
        self.export_ids = sorted_ids(exports, |index| self.place(index))?;
        let imports = self.imports.iter().map(|import| import.object_id);
        self.import_ids = sorted_ids(imports, |index| Place::Import { index })?;
        // Both packages are known here, so an import with the id of an export is a collision of two paths.
        match self.import_ids.iter().find(|(id, _)| self.find(*id).is_some()) {
            None => Ok(()),
            Some(&(_, index)) => {
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
            let place = self.place(index);
            let data = self.export_data(index, bytes, 0)?;
            let schema = Schema::decode_at(&data, limits, &place)?;
            if self.export_name(index) != Some(&Schema::object_name(&schema.type_path)) {
                let what = "the class is not named after its type";
                return Err(PackageError::malformed(place, what));
            }
            schemas.push((index, schema));
        }
        self.schemas = schemas;
        Ok(())
    }

    /// Path of the package, as it was cooked.
    pub fn name(&self) -> &str {
        self.names.known(self.summary.package_name)
    }

    /// The summary.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// The import table.
    pub fn imports(&self) -> &[Import] {
        &self.imports
    }

    /// The export table. Whatever an export needs of this package stands before it.
    pub fn exports(&self) -> &[Export] {
        &self.exports
    }

    /// The name with this index; none if the name table has no such entry.
    pub fn name_of(&self, index: NameIndex) -> Option<&str> {
        self.names.get(index)
    }

    /// Name of the object that is import `index`; none if there is no such import.
    pub fn import_name(&self, index: usize) -> Option<&str> {
        Some(self.names.known(self.imports.get(index)?.object))
    }

    /// Path of the package that import `index` is from; none if there is no such import.
    pub fn import_package(&self, index: usize) -> Option<&str> {
        Some(self.names.known(self.imports.get(index)?.package))
    }

    /// Path of the type that import `index` must have; none if there is no such import.
    pub fn import_type(&self, index: usize) -> Option<&str> {
        Some(self.names.known(self.imports.get(index)?.type_path))
    }

    /// Name of the object that is export `index`; none if there is no such export.
    pub fn export_name(&self, index: usize) -> Option<&str> {
        Some(self.names.known(self.exports.get(index)?.name))
    }

    /// Index of the export with this id, in logarithmic time.
    pub fn find(&self, id: ObjectId) -> Option<usize> {
        find_id(&self.export_ids, id)
    }

    /// Index of the import with this id, in logarithmic time.
    pub fn find_import(&self, id: ObjectId) -> Option<usize> {
        find_id(&self.import_ids, id)
    }

    /// Index of the export with this name, in logarithmic time.
    pub fn find_name(&self, object: &str) -> Option<usize> {
        let index = self.find(ObjectId::new(self.name(), object))?;
        // A name that is not in the package may still have the id of one that is.
        (self.export_name(index)? == object).then_some(index)
    }

    /// Schema of the type of export `index`; none if that is a class itself, or not there.
    pub fn class_of(&self, index: usize) -> Option<&Schema> {
        match self.exports.get(index)?.class.target() {
            RefTarget::Export(class) => self.schema(class),
            RefTarget::None | RefTarget::Import(_) => None,
        }
    }

    /// The schema that export `index` is; none if it is no class, or not there.
    pub fn schema(&self, index: usize) -> Option<&Schema> {
        let found = self.schemas.binary_search_by_key(&index, |(class, _)| *class);
        Some(&self.schemas.get(found.ok()?)?.1)
    }

    /// The classes of the package: index of the export, and its schema.
    pub fn schemas(&self) -> impl ExactSizeIterator<Item = (usize, &Schema)> {
        self.schemas.iter().map(|(index, schema)| (*index, schema))
    }

    /// What export `index` refers to, in the order in which it was written; empty if there is no such export.
    pub fn refs(&self, index: usize) -> &[ObjectRef] {
        let range = |export: &Export| range(export.first_ref, export.ref_count);
        let refs = self.exports.get(index).map(range);
        refs.and_then(|refs| self.refs.get(refs)).unwrap_or_default()
    }

    /// The bulk payloads of export `index`, in the order in which they were written; empty if there is no such export.
    pub fn bulk(&self, index: usize) -> &[Bulk] {
        let range = |export: &Export| range(export.first_bulk, export.bulk_count);
        let bulk = self.exports.get(index).map(range);
        bulk.and_then(|bulk| self.bulk.get(bulk)).unwrap_or_default()
    }

    /// Where the data of export `index` is in the file; none if there is no such export.
    pub fn export_range(&self, index: usize) -> Option<Range<u64>> {
        let export = self.exports.get(index)?;
        Some(file_range(export.data_offset, export.stored_size))
    }

    /// Where a bulk payload is in the file; none if the export or the payload is not there.
    pub fn bulk_range(&self, index: usize, payload: usize) -> Option<Range<u64>> {
        let bulk = self.bulk(index).get(payload)?;
        Some(file_range(bulk.offset, bulk.stored_size))
    }

    /// Data of export `index`, checked and decompressed. `tail` is a part of the file that starts at its byte
    /// `tail_offset`. Data that is stored as it is, is borrowed, at whatever alignment it has there.
    ///
    /// # Errors
    /// [`PackageError::NoSuchEntry`] and [`PackageError::OutsideBytes`] if the caller is wrong,
    /// [`PackageError::Truncated`] if `tail` ends too early, [`PackageError::Checksum`] if it is damaged,
    /// [`PackageError::Decompress`] and [`PackageError::OutOfMemory`].
    pub fn export_data<'a>(
        &self,
        index: usize,
        tail: &'a [u8],
        tail_offset: u64,
    ) -> Result<Cow<'a, [u8]>, PackageError> {
        let place = self.place(index);
        let Some(export) = self.exports.get(index) else {
            let count = self.exports.len();
            return Err(PackageError::NoSuchEntry { place, count });
        };
        let (offset, size) = (export.data_offset, export.stored_size);
        let stored = slice(tail, tail_offset, offset, size, &place)?;
        let stored = verify(stored, export.checksum, place.clone())?;
        unpack(stored, export.codec, export.raw_size, place)
    }

    /// A bulk payload of export `index`, checked and decompressed; see [`export_data`](Self::export_data).
    ///
    /// # Errors
    /// As [`export_data`](Self::export_data).
    pub fn bulk_data<'a>(
        &self,
        index: usize,
        payload: usize,
        tail: &'a [u8],
        tail_offset: u64,
    ) -> Result<Cow<'a, [u8]>, PackageError> {
        let place = Place::Bulk {
            index,
            name: self.export_name(index).unwrap_or_default().into(),
            payload,
        };
        let Some(bulk) = self.bulk(index).get(payload) else {
            let count = self.bulk(index).len();
            return Err(PackageError::NoSuchEntry { place, count });
        };
        let stored = slice(tail, tail_offset, bulk.offset, bulk.stored_size, &place)?;
        let stored = verify(stored, bulk.checksum, place.clone())?;
        unpack(stored, bulk.codec, bulk.raw_size, place)
    }

    fn place(&self, index: usize) -> Place {
        Place::Export {
            index,
            name: self.export_name(index).unwrap_or_default().into(),
        }
    }
}

fn find_id(ids: &[(ObjectId, usize)], id: ObjectId) -> Option<usize> {
    let found = ids.binary_search_by_key(&id, |(id, _)| *id).ok()?;
    Some(ids.get(found)?.1)
}

fn range(first: u32, count: u32) -> Range<usize> {
    let first = first as usize;
    first..first.saturating_add(count as usize)
}

fn file_range(offset: u64, size: u64) -> Range<u64> {
    offset..offset.saturating_add(size)
}

/// The bytes of the file from `offset` on, out of `tail`, which starts at the file's byte `tail_offset`.
fn slice<'a>(
    tail: &'a [u8],
    tail_offset: u64,
    offset: u64,
    size: u64,
    place: &Place,
) -> Result<&'a [u8], PackageError> {
    let Some(start) = offset.checked_sub(tail_offset) else {
        return Err(PackageError::OutsideBytes {
            place: place.clone(),
            start: offset,
            have_start: tail_offset,
        });
    };
    let range = usize::try_from(start).ok().and_then(|start| {
        let end = start.checked_add(usize::try_from(size).ok()?)?;
        tail.get(start..end)
    });
    range.ok_or_else(|| PackageError::Truncated {
        place: place.clone(),
        need: offset.saturating_add(size),
        have: tail_offset.saturating_add(tail.len() as u64),
    })
}

fn verify(bytes: &[u8], expected: u64, place: Place) -> Result<&[u8], PackageError> {
    let found = xxh3_64(bytes);
    if found == expected {
        return Ok(bytes);
    }
    Err(PackageError::Checksum { place, expected, found })
}

/// Decompresses. The sizes were compared with the limits, and with what the stored bytes can hold, on opening.
fn unpack(stored: &[u8], codec: Codec, raw_size: u64, place: Place) -> Result<Cow<'_, [u8]>, PackageError> {
    if codec == Codec::None {
        return Ok(Cow::Borrowed(stored));
    }
    let mut raw = Vec::new();
    let size = usize::try_from(raw_size).unwrap_or(usize::MAX);
    if raw.try_reserve_exact(size).is_err() {
        let bytes = raw_size;
        return Err(PackageError::OutOfMemory { place, bytes });
    }
    raw.resize(size, 0);
    match lz4_flex::block::decompress_into(stored, &mut raw) {
        Ok(written) if written == size => Ok(Cow::Owned(raw)),
        _ => Err(PackageError::Decompress { place, raw_size }),
    }
}
