//! Packages with changed bytes, and the checksums to match.

pub use super::seal::reseal_tables;

use arbitrary::{Result, Unstructured};
use seamless_package::{Package, SUMMARY_SIZE, Summary};
use std::ops::Range;
use xxhash_rust::xxh3::xxh3_64;

/// Sizes of the records, and where the checksums in them are: see `docs/FORMAT.md`.
pub const EXPORT_SIZE: usize = 80;
/// The first format version that has the export table in columns.
const FIRST_IN_COLUMNS: u32 = 4;
/// Where the fields of an export are in its entry, and how long they are.
pub const EXPORT_FIELDS: [(usize, usize); 18] = [
    (0, 8),
    (8, 4),
    (12, 4),
    (16, 4),
    (20, 1),
    (21, 1),
    EXPORT_BULK_USE,
    (23, 1),
    (24, 8),
    (32, 8),
    (40, 8),
    EXPORT_CHECKSUM,
    (56, 4),
    (60, 4),
    (64, 4),
    (68, 4),
    (72, 4),
    (76, 4),
];
pub const EXPORT_BULK_USE: (usize, usize) = (22, 1);
const EXPORT_CHECKSUM: (usize, usize) = (48, 8);
const REF_SIZE: usize = 4;
const BULK_SIZE: usize = 40;
const IMPORT_SIZE: usize = 24;
pub const BULK_CHECKSUM: usize = 24;

/// Where a field of export `index` is.
pub fn export_field(summary: &Summary, index: usize, (offset, size): (usize, usize)) -> Range<usize> {
    let within = match summary.format_version >= FIRST_IN_COLUMNS {
        true => summary.export_count as usize * offset + index * size,
        false => index * EXPORT_SIZE + offset,
    };
    let start = summary.exports_offset as usize + within;
    start..start + size
}

/// Offset of the references.
fn refs_at(summary: &Summary) -> usize {
    summary.exports_offset as usize + summary.export_count as usize * EXPORT_SIZE
}

/// Offset of the entry of bulk payload `index`.
pub fn bulk_at(summary: &Summary, index: usize) -> usize {
    let refs = summary.ref_count as usize * REF_SIZE;
    refs_at(summary) + refs + index * BULK_SIZE
}

pub fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

/// The summary, the tables, and the schemas: all that is read on opening.
pub fn header_sections(summary: &Summary) -> [Range<usize>; 11] {
    let section = |offset: u64, size: u64| offset as usize..(offset + size) as usize;
    let exports = exports_section(summary);
    let refs = refs_at(summary);
    let bulk = bulk_at(summary, 0);
    let order = bulk_at(summary, summary.bulk_count as usize);
    let imports = section(summary.imports_offset, summary.imports_size);
    let import_order = imports.start + summary.import_count as usize * IMPORT_SIZE;
    [
        0..SUMMARY_SIZE,
        section(summary.names_offset, summary.names_size),
        imports.start..import_order,
        import_order..imports.end,
        section(summary.origins_offset, summary.origins_size),
        exports.start..refs,
        refs..bulk,
        bulk..order,
        order..exports.end,
        section(summary.versions_offset, summary.versions_size),
        section(summary.data_offset, summary.class_data_size),
    ]
}

/// Entries of the export table, references, entries of the bulk table, and the order of the ids.
pub fn exports_section(summary: &Summary) -> Range<usize> {
    summary.exports_offset as usize..(summary.exports_offset + summary.exports_size) as usize
}

/// Changes a few numbers or bytes of a section, most likely whole fields: all start at a multiple of four in their record.
pub fn change(u: &mut Unstructured<'_>, bytes: &mut [u8], section: Range<usize>) -> Result<()> {
    if section.is_empty() {
        return Ok(());
    }
    let fields = (section.len() - 1) / 4;
    for _ in 0..u.int_in_range(0..=2)? {
        let at = section.start + u.int_in_range(0..=fields)? * 4;
        let end = |len| section.end.min(at + len);
        let value = number(u)?.to_le_bytes();
        match u.int_in_range(0..=4)? {
            0 => {
                let at = at + u.int_in_range(0..=3)?;
                bytes[at.min(section.end - 1)] = value[0];
            }
            1 => put(bytes, at, &value[..end(8) - at]),
            2 => {
                // Such as one object's identity, which becomes another's too.
                let from = section.start + u.int_in_range(0..=fields)? * 4;
                let source = from..section.end.min(from + end(12) - at);
                bytes.copy_within(source, at);
            }
            _ => put(bytes, at, &value[..end(4) - at]),
        }
    }
    Ok(())
}

/// Small numbers of either sign, powers of two and their neighbours, and any others.
pub fn number(u: &mut Unstructured<'_>) -> Result<u64> {
    let small = |u: &mut Unstructured<'_>| Ok(u.int_in_range(-4_i64..=15)? as u64);
    Ok(match u.int_in_range(0..=4)? {
        0 | 1 => small(u)?,
        2 => u.arbitrary::<u16>()?.into(),
        3 => 1_u64.rotate_left(u.arbitrary::<u8>()?.into()).wrapping_add(small(u)?),
        _ => u.arbitrary()?,
    })
}

/// Makes the checksums of all data right again, and those of the tables. `package` says where the data is.
pub fn reseal_data(bytes: &mut [u8], package: &Package) {
    let summary = package.summary();
    let mut payload = 0;
    for (index, export) in package.exports().iter().enumerate() {
        let checksum = export_field(summary, index, EXPORT_CHECKSUM).start;
        reseal(bytes, checksum, export.data_offset, export.stored_size);
        for bulk in package.bulk(index) {
            if bulk.origin == 0 {
                let entry = bulk_at(summary, payload);
                reseal(bytes, entry + BULK_CHECKSUM, bulk.offset, bulk.stored_size);
            }
            payload += 1;
        }
    }
    reseal_tables(bytes, summary);
}

fn reseal(bytes: &mut [u8], checksum: usize, offset: u64, size: u64) {
    let sum = xxh3_64(&bytes[offset as usize..(offset + size) as usize]);
    put(bytes, checksum, &sum.to_le_bytes());
}
