//! The summary: the fixed-size start of a package, which says where everything else is.

use crate::cursor::Cursor;
use crate::error::{PackageError, Place};
use crate::id::ObjectRef;
use crate::limits::Limits;
use crate::names::NAME_ENTRY_SIZE;
use crate::table::ORDER_ENTRY_SIZE;
use crate::tables::{Bulk, Export, Import, NameIndex, Origin, Wire, record};
use crate::versions::VersionRecord;
use std::ops::Range;
use xxhash_rust::xxh3::xxh3_64;

/// The first bytes of every package. As in PNG: a byte that is no ASCII, the name, both kinds of line end and the
/// character that ends a text, so that whatever takes the file for text and mends it is noticed.
pub const MAGIC: [u8; 8] = *b"\x89SPK\r\n\x1a\n";

/// The version of the format that this crate writes. Every change of the format raises it.
pub const FORMAT_VERSION: u32 = 6;

/// The oldest version of the format that this crate reads, and will always read: version 1 was never released.
pub const OLDEST_FORMAT_VERSION: u32 = 2;

/// The first version that stores the orders of object ids.
const FIRST_WITH_ORDERS: u32 = 3;

/// The first version whose export table is stored in columns.
const FIRST_IN_COLUMNS: u32 = 4;

/// The first version whose classes may be compressed.
const FIRST_WITH_PACKED_CLASSES: u32 = 5;

/// The first version that marks objects whose payloads may be left for later.
const FIRST_WITH_MARKS: u32 = 6;

/// Size of the summary in bytes.
pub const SUMMARY_SIZE: usize = Summary::SIZE;

/// Where the summary's own checksum is; these bytes are not part of what it covers.
pub(crate) const CHECKSUM_RANGE: Range<usize> = 16..24;

record! {
    /// The summary of a package, see `docs/FORMAT.md`.
    pub struct Summary {
        pub(crate) magic: [u8; 8],
        /// Version of the file format.
        pub format_version: u32,
        /// Features of the format that the file uses; none are defined yet.
        pub flags: u32,
        pub(crate) summary_checksum: u64,
        /// Length in bytes of the whole file.
        pub file_len: u64,
        /// Hash over the checksums of all tables, and so over all content: where it is equal, indices are too.
        pub content_hash: u64,
        /// Path of the package.
        pub package_name: NameIndex,
        /// Entries of the name table.
        pub name_count: u32,
        /// Entries of the import table.
        pub import_count: u32,
        /// Entries of the origin table.
        pub origin_count: u32,
        /// Entries of the export table.
        pub export_count: u32,
        /// References of all exports together.
        pub ref_count: u32,
        /// Bulk payloads of all exports together.
        pub bulk_count: u32,
        /// Version lists.
        pub version_list_count: u32,
        /// Entries of all version lists together.
        pub version_entry_count: u32,
        /// Offset of the name table.
        pub names_offset: u64,
        /// Size in bytes of the name table.
        pub names_size: u64,
        /// xxh3-64 of the name table.
        pub names_checksum: u64,
        /// Offset of the import table.
        pub imports_offset: u64,
        /// Size in bytes of the import table, with the order of the ids behind it.
        pub imports_size: u64,
        /// xxh3-64 of the import table, with the order of the ids behind it.
        pub imports_checksum: u64,
        /// Offset of the origin table.
        pub origins_offset: u64,
        /// Size in bytes of the origin table.
        pub origins_size: u64,
        /// xxh3-64 of the origin table.
        pub origins_checksum: u64,
        /// Offset of the export table.
        pub exports_offset: u64,
        /// Size in bytes of the export table, with the references, the bulk table and the order of the ids behind it.
        pub exports_size: u64,
        /// xxh3-64 of the export table, with the references, the bulk table and the order of the ids behind it.
        pub exports_checksum: u64,
        /// Offset of the version table.
        pub versions_offset: u64,
        /// Size in bytes of the version table.
        pub versions_size: u64,
        /// xxh3-64 of the version table.
        pub versions_checksum: u64,
        /// Offset of the export data; the data of the classes comes first.
        pub data_offset: u64,
        /// Size in bytes of the data of the classes.
        pub class_data_size: u64,
        /// Size in bytes of all export data, that of the classes included.
        pub data_size: u64,
        /// Offset of the bulk data.
        pub bulk_offset: u64,
        /// Size in bytes of the bulk data.
        pub bulk_size: u64,
    }
}

impl Summary {
    /// Reads the summary from the first bytes of a file; what follows them is ignored.
    ///
    /// # Errors
    /// Every [`PackageError`] but those of objects: the bytes may be no package, of another version, damaged,
    /// contradict themselves, or claim more than `limits` allow.
    pub fn parse(bytes: &[u8], limits: &Limits) -> Result<Self, PackageError> {
        let bytes = check_start(bytes)?;
        let summary = Self::read(&mut Cursor::new(bytes)).map_err(|source| PackageError::Record {
            place: Place::Summary,
            source,
        })?;
        let found = checksum(bytes);
        if found != summary.summary_checksum {
            return Err(PackageError::Checksum {
                place: Place::Summary,
                expected: summary.summary_checksum,
                found,
            });
        }
        if summary.flags != 0 {
            let found = summary.flags;
            return Err(PackageError::UnsupportedFlags { found });
        }
        summary.check_limits(limits)?;
        summary.check_layout()?;
        Ok(summary)
    }

    /// Length in bytes of what [`Package::parse`](crate::Package::parse) needs: summary, tables and class data. Reading
    /// the first [`SUMMARY_SIZE`] bytes of a file is enough to know it.
    pub fn header_len(&self) -> u64 {
        self.data_offset.saturating_add(self.class_data_size)
    }

    /// Length in bytes of the whole file.
    pub fn file_len(&self) -> u64 {
        self.file_len
    }

    fn check_limits(&self, limits: &Limits) -> Result<(), PackageError> {
        let pairs = [
            ("file_bytes", limits.file_bytes, self.file_len),
            ("header_bytes", limits.header_bytes, self.header_len()),
            ("names", limits.names.into(), self.name_count.into()),
            ("imports", limits.imports.into(), self.import_count.into()),
            ("origins", limits.origins.into(), self.origin_count.into()),
            ("exports", limits.exports.into(), self.export_count.into()),
            ("refs", limits.refs.into(), self.ref_count.into()),
            ("bulk", limits.bulk.into(), self.bulk_count.into()),
            (
                "version_lists",
                limits.version_lists.into(),
                self.version_list_count.into(),
            ),
            (
                "version_entries",
                limits.version_entries.into(),
                self.version_entry_count.into(),
            ),
        ];
        for (field, limit, found) in pairs {
            PackageError::check_limit(Place::Summary, field, limit, found)?;
        }
        Ok(())
    }

    /// The sections follow each other without gaps and are as long as their counts say.
    fn check_layout(&self) -> Result<(), PackageError> {
        let broken = [
            self.broken_order(),
            self.broken_size(),
            (self.package_name.0 >= self.name_count).then_some("the package has no name"),
            (self.content_hash != self.expected_content_hash())
                .then_some("the content hash is not that of the checksums"),
        ];
        match broken.into_iter().flatten().next() {
            None => Ok(()),
            Some(what) => Err(PackageError::malformed(Place::Summary, what)),
        }
    }

    /// The first part that is not where it should be.
    fn broken_order(&self) -> Option<&'static str> {
        let parts = [
            (self.names_offset, "the names do not follow the summary"),
            (self.imports_offset, "the imports do not follow the names"),
            (self.origins_offset, "the origins do not follow the imports"),
            (self.exports_offset, "the exports do not follow the origins"),
            (self.versions_offset, "the versions do not follow the exports"),
            (self.data_offset, "the data does not follow the versions"),
            (self.bulk_offset, "the bulk data does not follow the data"),
            (self.file_len, "the file does not end with the bulk data"),
        ];
        let sizes = [
            SUMMARY_SIZE as u64,
            self.names_size,
            self.imports_size,
            self.origins_size,
            self.exports_size,
            self.versions_size,
            self.data_size,
            self.bulk_size,
        ];
        let mut end = Some(0_u64);
        for ((offset, what), size_before) in parts.into_iter().zip(sizes) {
            end = end.and_then(|end| end.checked_add(size_before));
            if end != Some(offset) {
                return Some(what);
            }
        }
        None
    }

    /// The first part that is not as long as its counts say.
    fn broken_size(&self) -> Option<&'static str> {
        let rules = [
            (
                self.class_data_size <= self.data_size,
                "the classes have more data than all exports",
            ),
            (
                self.names_size >= sized(self.name_count, NAME_ENTRY_SIZE),
                "the name table is too short for its names",
            ),
            (
                self.imports_size == self.expected_imports_size(),
                "the import table is not as long as its count says",
            ),
            (
                self.origins_size == sized(self.origin_count, Origin::SIZE),
                "the origin table is not as long as its count says",
            ),
            (
                self.exports_size == self.expected_exports_size(),
                "the export table is not as long as its counts say",
            ),
            (
                self.versions_size == self.expected_versions_size(),
                "the version table is not as long as its counts say",
            ),
        ];
        let broken = rules.into_iter().find(|(holds, _)| !holds);
        broken.map(|(_, what)| what)
    }

    /// Whether the file holds the orders of object ids; if not, who opens it makes them.
    pub(crate) fn has_orders(&self) -> bool {
        self.format_version >= FIRST_WITH_ORDERS
    }

    /// Whether the export table is in columns; if not, it is in rows.
    pub(crate) fn has_columns(&self) -> bool {
        self.format_version >= FIRST_IN_COLUMNS
    }

    /// Whether the classes may be compressed.
    pub(crate) fn may_pack_classes(&self) -> bool {
        self.format_version >= FIRST_WITH_PACKED_CLASSES
    }

    /// Whether objects may be marked: [`PayloadUse`](crate::PayloadUse).
    pub(crate) fn may_mark(&self) -> bool {
        self.format_version >= FIRST_WITH_MARKS
    }

    /// Size in bytes of the order of so many ids in the file.
    fn order_size(&self, count: u32) -> u64 {
        sized(count, if self.has_orders() { ORDER_ENTRY_SIZE } else { 0 })
    }

    fn expected_imports_size(&self) -> u64 {
        sized(self.import_count, Import::SIZE).saturating_add(self.order_size(self.import_count))
    }

    pub(crate) fn expected_exports_size(&self) -> u64 {
        sized(self.export_count, Export::SIZE)
            .saturating_add(sized(self.ref_count, ObjectRef::SIZE))
            .saturating_add(sized(self.bulk_count, Bulk::SIZE))
            .saturating_add(self.order_size(self.export_count))
    }

    /// Offset of the references.
    pub(crate) fn refs_offset(&self) -> u64 {
        self.exports_offset
            .saturating_add(sized(self.export_count, Export::SIZE))
    }

    /// Offset of the bulk table.
    pub(crate) fn bulk_table_offset(&self) -> u64 {
        self.refs_offset()
            .saturating_add(sized(self.ref_count, ObjectRef::SIZE))
    }

    /// Bytes from the start of the export table to an entry of the bulk table.
    pub(crate) fn bulk_entry_position(&self, entry: u32) -> usize {
        let table = self.bulk_table_offset().saturating_sub(self.exports_offset);
        table.saturating_add(sized(entry, Bulk::SIZE)) as usize
    }

    /// Offset of the order of the imports' ids: in the file, or behind its header if it has none.
    pub(crate) fn import_order_offset(&self) -> u64 {
        match self.has_orders() {
            true => self
                .imports_offset
                .saturating_add(sized(self.import_count, Import::SIZE)),
            false => self.header_len(),
        }
    }

    /// Offset of the order of the exports' ids: in the file, or behind that of the imports if it has none.
    pub(crate) fn export_order_offset(&self) -> u64 {
        match self.has_orders() {
            true => self
                .bulk_table_offset()
                .saturating_add(sized(self.bulk_count, Bulk::SIZE)),
            false => self
                .header_len()
                .saturating_add(sized(self.import_count, ORDER_ENTRY_SIZE)),
        }
    }

    /// Offset of the names of the version lists' entries.
    pub(crate) fn version_entries_offset(&self) -> u64 {
        self.versions_offset
            .saturating_add(sized(self.version_list_count, VersionRecord::SIZE))
    }

    fn expected_versions_size(&self) -> u64 {
        sized(self.version_list_count, VersionRecord::SIZE)
            .saturating_add(sized(self.version_entry_count, NameIndex::SIZE))
    }

    pub(crate) fn expected_content_hash(&self) -> u64 {
        let checksums = [
            self.names_checksum,
            self.imports_checksum,
            self.origins_checksum,
            self.exports_checksum,
            self.versions_checksum,
        ];
        xxh3_64(checksums.map(u64::to_le_bytes).as_flattened())
    }
}

/// Length, magic and version; gives the bytes of the summary.
fn check_start(bytes: &[u8]) -> Result<&[u8; SUMMARY_SIZE], PackageError> {
    let known = MAGIC.len().min(bytes.len());
    let found = bytes.get(..known).unwrap_or_default();
    if !MAGIC.starts_with(found) {
        let found = found.to_vec();
        return Err(PackageError::BadMagic { found });
    }
    // A file of another version may have a shorter summary, so the version is looked at first.
    if let Some(version) = bytes.get(8..).and_then(|rest| rest.first_chunk()) {
        let found = u32::from_le_bytes(*version);
        let supported = OLDEST_FORMAT_VERSION..=FORMAT_VERSION;
        if !supported.contains(&found) {
            return Err(PackageError::UnsupportedVersion { found, supported });
        }
    }
    bytes.first_chunk().ok_or(PackageError::Truncated {
        place: Place::Summary,
        need: SUMMARY_SIZE as u64,
        have: bytes.len() as u64,
    })
}

/// xxh3-64 of the summary with the bytes of its checksum set to zero.
pub(crate) fn checksum(summary: &[u8; SUMMARY_SIZE]) -> u64 {
    let mut summary = *summary;
    if let Some(field) = summary.get_mut(CHECKSUM_RANGE) {
        field.fill(0);
    }
    xxh3_64(&summary)
}

/// Size in bytes of `count` entries.
pub(crate) fn sized(count: u32, entry: usize) -> u64 {
    u64::from(count).saturating_mul(entry as u64)
}
