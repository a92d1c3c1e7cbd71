//! Files of the older format versions, out of today's: see `docs/FORMAT.md`.

use super::forge::{EXPORT_BULK_USE, EXPORT_FIELDS, EXPORT_SIZE, bulk_at, export_field, header_sections, put};
use super::seal::{reseal_summary, reseal_tables};
use seamless_package::{Limits, Package, Summary};

/// Where the summary has these fields.
const FORMAT_VERSION: usize = 8;
const FILE_LEN: usize = 24;
const IMPORTS_SIZE: usize = 108;
const ORIGINS_OFFSET: usize = 124;
const EXPORTS_OFFSET: usize = 148;
const EXPORTS_SIZE: usize = 156;
const VERSIONS_OFFSET: usize = 172;
const DATA_OFFSET: usize = 196;
const BULK_OFFSET: usize = 220;

/// Where an export's entry says where its data is.
const EXPORT_DATA: usize = 24;

/// The file of today's version as an older one had it; before version 5, its classes are not compressed.
pub fn older(file: &[u8], version: u32) -> Vec<u8> {
    let package = Package::parse(file, &Limits::default()).expect("a file of today's version");
    let mut old = without_marks(file, package.summary());
    if version < 4 {
        old = in_rows(&old, package.summary());
    }
    if version == 2 {
        old = without_orders(old, &package);
    }
    put(&mut old, FORMAT_VERSION, &version.to_le_bytes());
    reseal_summary(&mut old);
    let summary = Summary::parse(&old, &Limits::default()).expect("as the older version had it");
    reseal_tables(&mut old, &summary);
    old
}

/// Before version 6, nothing was marked.
fn without_marks(file: &[u8], summary: &Summary) -> Vec<u8> {
    let mut plain = file.to_vec();
    for index in 0..summary.export_count as usize {
        plain[export_field(summary, index, EXPORT_BULK_USE)].fill(0);
    }
    plain
}

/// Versions 2 and 3 had the export table entry by entry.
fn in_rows(file: &[u8], summary: &Summary) -> Vec<u8> {
    let mut rows = file.to_vec();
    for index in 0..summary.export_count as usize {
        for field in EXPORT_FIELDS {
            let value = &file[export_field(summary, index, field)];
            put(&mut rows, row(summary, index) + field.0, value);
        }
    }
    rows
}

fn row(summary: &Summary, index: usize) -> usize {
    summary.exports_offset as usize + index * EXPORT_SIZE
}

/// Version 2 had no orders: what is behind them moves to the front.
fn without_orders(mut file: Vec<u8>, package: &Package) -> Vec<u8> {
    let summary = package.summary();
    let [_, _, _, import_order, _, _, _, _, export_order, ..] = header_sections(summary);
    let (imports, exports) = (import_order.len(), export_order.len());
    let moves = [
        (IMPORTS_SIZE, imports),
        (ORIGINS_OFFSET, imports),
        (EXPORTS_OFFSET, imports),
        (EXPORTS_SIZE, exports),
        (VERSIONS_OFFSET, imports + exports),
        (DATA_OFFSET, imports + exports),
        (BULK_OFFSET, imports + exports),
        (FILE_LEN, imports + exports),
    ];
    moves.into_iter().for_each(|(at, by)| lessen(&mut file, at, by));
    let mut payload = 0;
    for index in 0..package.exports().len() {
        lessen(&mut file, row(summary, index) + EXPORT_DATA, imports + exports);
        for bulk in package.bulk(index) {
            if bulk.origin == 0 {
                lessen(&mut file, bulk_at(summary, payload), imports + exports);
            }
            payload += 1;
        }
    }
    file.drain(export_order);
    file.drain(import_order);
    file
}

fn lessen(file: &mut [u8], at: usize, by: usize) {
    let number = u64::from_le_bytes(file[at..at + 8].try_into().expect("eight bytes"));
    put(file, at, &(number - by as u64).to_le_bytes());
}
