//! Turning collected objects into the bytes of a package.

use crate::codec::{Codec, Packed};
use crate::cursor::ByteWriter;
use crate::id::{ObjectId, ObjectRef, Role};
use crate::summary::{CHECKSUM_RANGE, FORMAT_VERSION, MAGIC, SUMMARY_SIZE, Summary, checksum};
use crate::table::{ORDER_ENTRY_SIZE, order_of};
use crate::tables::{Bulk, Export, Import, NameIndex, Origin, PayloadUse, Wire, Zero, to_columns};
use crate::versions::{VersionList, VersionRecord};
use std::collections::BTreeSet;
use xxhash_rust::xxh3::xxh3_64;

/// An export that was added to the writer.
#[derive(Debug, Clone)]
pub(crate) struct WrittenExport {
    pub name: String,
    pub object_id: ObjectId,
    pub class: ObjectRef,
    pub outer: ObjectRef,
    pub role: Role,
    pub data: Packed,
    pub refs: Vec<ObjectRef>,
    pub bulk: Vec<WrittenBulk>,
    pub bulk_use: PayloadUse,
    /// Which of the origins it was copied from, and its index there; none for an own object.
    pub forced: Option<(usize, u32)>,
}

/// A payload that was added to the writer.
#[derive(Debug, Clone)]
pub(crate) enum WrittenBulk {
    Inline(Packed),
    /// Lies in the file of its object's origin.
    External(Bulk),
}

impl WrittenBulk {
    /// The bytes that it adds to this file.
    fn stored(&self) -> &[u8] {
        match self {
            Self::Inline(packed) => &packed.stored,
            Self::External(_) => &[],
        }
    }
}

/// A package whose objects were added to the writer.
#[derive(Debug, Clone)]
pub(crate) struct WrittenOrigin {
    pub package: String,
    pub content_hash: u64,
}

/// An import that was added to the writer.
#[derive(Debug, Clone)]
pub(crate) struct WrittenImport {
    pub package: String,
    pub object: String,
    pub type_path: String,
    pub object_id: ObjectId,
    pub role: Role,
}

/// All that goes into a package.
///
/// Numbers that do not fit their field are written as the largest value; the package is then larger than any limits,
/// and the writer's last step, opening what it wrote, refuses it.
#[derive(Debug, Clone)]
pub(crate) struct Parts {
    pub package: String,
    pub imports: Vec<WrittenImport>,
    pub origins: Vec<WrittenOrigin>,
    pub exports: Vec<WrittenExport>,
    pub versions: Vec<VersionList>,
    /// How the classes may be stored.
    pub class_codec: Codec,
}

/// A section under its checksum.
struct Section {
    bytes: Vec<u8>,
    offset: u64,
    checksum: u64,
}

impl Section {
    fn new(bytes: Vec<u8>, offset: u64) -> Self {
        let checksum = xxh3_64(&bytes);
        Self {
            bytes,
            offset,
            checksum,
        }
    }

    fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn end(&self) -> u64 {
        self.offset.saturating_add(self.size())
    }
}

/// Sizes of the regions behind the tables.
#[derive(Clone, Copy)]
struct Regions {
    class_data: u64,
    data: u64,
    bulk: u64,
}

impl Parts {
    pub(crate) fn new(package: &str) -> Self {
        Self {
            package: package.to_owned(),
            imports: Vec::new(),
            origins: Vec::new(),
            exports: Vec::new(),
            versions: Vec::new(),
            class_codec: Codec::None,
        }
    }

    /// The bytes of the package.
    pub(crate) fn assemble(mut self) -> Vec<u8> {
        self.sort();
        self.pack_classes();
        let name_set = self.names();
        let name_list: Vec<&str> = name_set.into_iter().collect();
        let regions = self.regions();
        let names = Section::new(write_names(&name_list), SUMMARY_SIZE as u64);
        let imports = Section::new(self.write_imports(&name_list), names.end());
        let origins = Section::new(self.write_origins(&name_list), imports.end());
        let versions = self.write_versions(&name_list);
        let versions_offset = origins.end().saturating_add(self.exports_size());
        let versions = Section::new(versions, versions_offset);
        let exports = self.write_exports(&name_list, versions.end(), regions);
        let exports = Section::new(exports, origins.end());
        let sections = [names, imports, origins, exports, versions];
        let summary = self.summary(&name_list, &sections, regions);
        let mut file = write_summary(&summary);
        file.reserve_exact(usize::try_from(summary.file_len).unwrap_or(0));
        for section in sections {
            file.extend_from_slice(&section.bytes);
        }
        self.write_data(&mut file);
        file
    }

    /// Puts origins and version lists into the order that the format asks for.
    fn sort(&mut self) {
        let mut order: Vec<usize> = (0..self.origins.len()).collect();
        let path = |origin: &usize| self.origins.get(*origin).map(|origin| &origin.package);
        order.sort_by(|a, b| path(a).cmp(&path(b)));
        let mut positions = order.clone();
        for (new, old) in order.into_iter().enumerate() {
            if let Some(position) = positions.get_mut(old) {
                *position = new;
            }
        }
        for (origin, _) in self.exports.iter_mut().filter_map(|export| export.forced.as_mut()) {
            *origin = positions.get(*origin).copied().unwrap_or(*origin);
        }
        self.origins.sort_by(|a, b| a.package.cmp(&b.package));
        self.versions.sort_by_key(VersionList::id);
    }

    /// Compresses the classes, all together: they have much in common. The first one gets the bytes.
    fn pack_classes(&mut self) {
        let classes = || self.exports.iter().filter(|export| export.class.is_none());
        let all: Vec<u8> = classes().flat_map(|class| &class.data.stored).copied().collect();
        let packed = Packed::new(all, self.class_codec);
        if packed.codec == Codec::None {
            return;
        }
        let mut stored = packed.stored;
        for class in self.exports.iter_mut().filter(|export| export.class.is_none()) {
            class.data.codec = packed.codec;
            class.data.stored = std::mem::take(&mut stored);
        }
    }

    /// First the classes, then the other objects, then the payloads.
    fn write_data(&self, file: &mut Vec<u8>) {
        for export in self.exports.iter().filter(|export| export.class.is_none()) {
            file.extend_from_slice(&export.data.stored);
        }
        for export in self.exports.iter().filter(|export| !export.class.is_none()) {
            file.extend_from_slice(&export.data.stored);
        }
        for bulk in self.exports.iter().flat_map(|export| &export.bulk) {
            file.extend_from_slice(bulk.stored());
        }
    }

    fn names(&self) -> BTreeSet<&str> {
        let mut names = BTreeSet::from([self.package.as_str()]);
        names.extend(self.exports.iter().map(|export| export.name.as_str()));
        for import in &self.imports {
            names.extend([&import.package, &import.object, &import.type_path].map(String::as_str));
        }
        names.extend(self.origins.iter().map(|origin| origin.package.as_str()));
        for list in &self.versions {
            names.insert(list.label());
            names.extend(list.entries().iter().map(String::as_str));
        }
        names
    }

    fn regions(&self) -> Regions {
        let size = |packed: &Packed| packed.stored.len() as u64;
        let classes = self.exports.iter().filter(|export| export.class.is_none());
        let bulk = self.exports.iter().flat_map(|export| &export.bulk);
        Regions {
            class_data: classes.map(|export| size(&export.data)).sum(),
            data: self.exports.iter().map(|export| size(&export.data)).sum(),
            bulk: bulk.map(|bulk| bulk.stored().len() as u64).sum(),
        }
    }

    fn ref_count(&self) -> usize {
        self.exports.iter().map(|export| export.refs.len()).sum()
    }

    fn bulk_count(&self) -> usize {
        self.exports.iter().map(|export| export.bulk.len()).sum()
    }

    fn exports_size(&self) -> u64 {
        let size = |count: usize, entry: usize| count.saturating_mul(entry) as u64;
        size(self.exports.len(), Export::SIZE)
            .saturating_add(size(self.ref_count(), ObjectRef::SIZE))
            .saturating_add(size(self.bulk_count(), Bulk::SIZE))
            .saturating_add(size(self.exports.len(), ORDER_ENTRY_SIZE))
    }

    fn write_imports(&self, names: &[&str]) -> Vec<u8> {
        let mut writer = ByteWriter::new();
        for import in &self.imports {
            Import {
                object_id: import.object_id,
                package: name_index(names, &import.package),
                object: name_index(names, &import.object),
                type_path: name_index(names, &import.type_path),
                role: import.role,
                reserved: Zero,
            }
            .write(&mut writer);
        }
        writer.bytes(&order_of(self.imports.iter().map(|import| import.object_id)));
        writer.into_bytes()
    }

    fn write_origins(&self, names: &[&str]) -> Vec<u8> {
        let mut writer = ByteWriter::new();
        for origin in &self.origins {
            Origin {
                package: name_index(names, &origin.package),
                content_hash: origin.content_hash,
            }
            .write(&mut writer);
        }
        writer.into_bytes()
    }

    fn write_versions(&self, names: &[&str]) -> Vec<u8> {
        let mut lists = ByteWriter::new();
        let mut entries = ByteWriter::new();
        let mut first_entry = 0_u32;
        for list in &self.versions {
            let record = VersionRecord {
                id: list.id().0,
                label: name_index(names, list.label()),
                first_entry,
                entry_count: fit(list.number()),
                hash: list.hash(),
            };
            first_entry = first_entry.saturating_add(record.entry_count);
            record.write(&mut lists);
            for entry in list.entries() {
                name_index(names, entry).write(&mut entries);
            }
        }
        lists.bytes(entries.as_slice());
        lists.into_bytes()
    }

    fn write_exports(&self, names: &[&str], data_offset: u64, regions: Regions) -> Vec<u8> {
        let mut exports = ByteWriter::new();
        let mut refs = ByteWriter::new();
        let mut bulk = ByteWriter::new();
        let mut class_end = data_offset;
        let mut data_end = data_offset.saturating_add(regions.class_data);
        let mut bulk_end = data_offset.saturating_add(regions.data);
        let (mut first_ref, mut first_bulk) = (0_u32, 0_u32);
        for export in &self.exports {
            let end = if export.class.is_none() {
                &mut class_end
            } else {
                &mut data_end
            };
            let (origin, origin_index) = match export.forced {
                None => (0, 0),
                Some((origin, index)) => (fit(origin.saturating_add(1)), index),
            };
            let record = Export {
                object_id: export.object_id,
                name: name_index(names, &export.name),
                class: export.class,
                outer: export.outer,
                role: export.role,
                codec: export.data.codec,
                bulk_use: export.bulk_use,
                reserved: Zero,
                data_offset: *end,
                stored_size: export.data.stored.len() as u64,
                raw_size: export.data.raw_size,
                checksum: xxh3_64(&export.data.stored),
                first_ref,
                ref_count: fit(export.refs.len()),
                first_bulk,
                bulk_count: fit(export.bulk.len()),
                origin,
                origin_index,
            };
            *end = end.saturating_add(record.stored_size);
            first_ref = first_ref.saturating_add(record.ref_count);
            first_bulk = first_bulk.saturating_add(record.bulk_count);
            record.write(&mut exports);
            for reference in &export.refs {
                reference.write(&mut refs);
            }
            for payload in &export.bulk {
                bulk_record(payload, bulk_end, origin).write(&mut bulk);
                bulk_end = bulk_end.saturating_add(payload.stored().len() as u64);
            }
        }
        let mut section = to_columns(exports.as_slice(), Export::LAYOUT);
        section.extend_from_slice(refs.as_slice());
        section.extend_from_slice(bulk.as_slice());
        section.extend(order_of(self.exports.iter().map(|export| export.object_id)));
        section
    }

    fn summary(&self, names: &[&str], sections: &[Section; 5], regions: Regions) -> Summary {
        let [name_table, imports, origins, exports, versions] = sections;
        let data_offset = versions.end();
        let bulk_offset = data_offset.saturating_add(regions.data);
        let mut summary = Summary {
            magic: MAGIC,
            format_version: FORMAT_VERSION,
            flags: 0,
            summary_checksum: 0,
            file_len: bulk_offset.saturating_add(regions.bulk),
            content_hash: 0,
            package_name: name_index(names, &self.package),
            name_count: fit(names.len()),
            import_count: fit(self.imports.len()),
            origin_count: fit(self.origins.len()),
            export_count: fit(self.exports.len()),
            ref_count: fit(self.ref_count()),
            bulk_count: fit(self.bulk_count()),
            version_list_count: fit(self.versions.len()),
            version_entry_count: fit(self.versions.iter().map(VersionList::number).sum()),
            names_offset: name_table.offset,
            names_size: name_table.size(),
            names_checksum: name_table.checksum,
            imports_offset: imports.offset,
            imports_size: imports.size(),
            imports_checksum: imports.checksum,
            origins_offset: origins.offset,
            origins_size: origins.size(),
            origins_checksum: origins.checksum,
            exports_offset: exports.offset,
            exports_size: exports.size(),
            exports_checksum: exports.checksum,
            versions_offset: versions.offset,
            versions_size: versions.size(),
            versions_checksum: versions.checksum,
            data_offset,
            class_data_size: regions.class_data,
            data_size: regions.data,
            bulk_offset,
            bulk_size: regions.bulk,
        };
        summary.content_hash = summary.expected_content_hash();
        summary
    }
}

fn fit(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Every name was collected before, so it is always found.
fn name_index(names: &[&str], name: &str) -> NameIndex {
    NameIndex(names.binary_search(&name).map_or(u32::MAX, fit))
}

fn write_names(names: &[&str]) -> Vec<u8> {
    let mut writer = ByteWriter::new();
    let mut end = 0_usize;
    for name in names {
        end = end.saturating_add(name.len());
        writer.count(end);
    }
    for name in names {
        writer.bytes(name.as_bytes());
    }
    writer.into_bytes()
}

fn bulk_record(payload: &WrittenBulk, offset: u64, origin: u32) -> Bulk {
    match payload {
        WrittenBulk::Inline(packed) => Bulk {
            offset,
            stored_size: packed.stored.len() as u64,
            raw_size: packed.raw_size,
            checksum: xxh3_64(&packed.stored),
            codec: packed.codec,
            reserved: Zero,
            origin: 0,
        },
        WrittenBulk::External(bulk) => Bulk { origin, ..bulk.clone() },
    }
}

/// The summary with its checksum in place.
fn write_summary(summary: &Summary) -> Vec<u8> {
    let mut writer = ByteWriter::new();
    summary.write(&mut writer);
    let mut bytes = writer.into_bytes();
    let sum = bytes.first_chunk().map(checksum).unwrap_or_default();
    if let Some(field) = bytes.get_mut(CHECKSUM_RANGE) {
        field.copy_from_slice(&sum.to_le_bytes());
    }
    bytes
}
