//! Checksums made right again, as a forger would. The offsets are those of `docs/FORMAT.md`.

use super::{SUMMARY_SIZE, Summary};
use std::ops::Range;
use xxhash_rust::xxh3::xxh3_64;

/// Where the summary has its own checksum.
const SUMMARY_CHECKSUM: Range<usize> = 16..24;
const CONTENT_HASH: Range<usize> = 32..40;
/// Where the summary has the first table's checksum, and how far on the next table's is.
const TABLE_CHECKSUM: Range<usize> = 92..100;
const NEXT_TABLE: usize = 24;

/// Makes the summary's own checksum right again.
pub fn reseal_summary(bytes: &mut [u8]) {
    bytes[SUMMARY_CHECKSUM].fill(0);
    let sum = xxh3_64(&bytes[..SUMMARY_SIZE]);
    bytes[SUMMARY_CHECKSUM].copy_from_slice(&sum.to_le_bytes());
}

/// Makes the checksums of all tables right again; `summary` says where they are.
pub fn reseal_tables(bytes: &mut [u8], summary: &Summary) {
    let sections = [
        (summary.names_offset, summary.names_size),
        (summary.imports_offset, summary.imports_size),
        (summary.origins_offset, summary.origins_size),
        (summary.exports_offset, summary.exports_size),
        (summary.versions_offset, summary.versions_size),
    ];
    let mut all = Vec::new();
    for (table, (offset, size)) in sections.into_iter().enumerate() {
        let sum = xxh3_64(&bytes[offset as usize..(offset + size) as usize]).to_le_bytes();
        all.extend(sum);
        let Range { start, end } = TABLE_CHECKSUM;
        let skipped = table * NEXT_TABLE;
        bytes[start + skipped..end + skipped].copy_from_slice(&sum);
    }
    bytes[CONTENT_HASH].copy_from_slice(&xxh3_64(&all).to_le_bytes());
    reseal_summary(bytes);
}
