//! What a reader is willing to accept before it believes a file.

/// Upper bounds that a package must keep to be read.
///
/// A package is content, and content may be damaged or hostile. Every count and every size that a file *claims* is
/// compared with these bounds, and with the bytes that are really there, before memory is taken for it. The
/// defaults let every reasonable package pass and stop a forged one from taking the machine's memory; a game that
/// knows its content may set them lower, a tool may raise them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Length of the whole file in bytes, and where an external payload may end in its own. Default: 8 GiB.
    pub file_bytes: u64,
    /// Length in bytes of what is read when a package is opened: summary, tables and schemas, these as stored and unpacked.
    /// Default: 256 MiB.
    pub header_bytes: u64,
    /// Entries of the name table. Default: 4 194 304.
    pub names: u32,
    /// Length of one name in bytes. Default: 65 536. Whatever has a name hashes it, and many may have the same.
    pub name_bytes: u32,
    /// Entries of the import table. Default: 1 048 576.
    pub imports: u32,
    /// Entries of the origin table. Default: 65 536.
    pub origins: u32,
    /// Entries of the export table, classes and forced exports included. Default: 1 048 576.
    pub exports: u32,
    /// References of all exports together. Default: 16 777 216.
    pub refs: u32,
    /// Bulk payloads of all exports together. Default: 1 048 576.
    pub bulk: u32,
    /// Version lists. Default: 1024.
    pub version_lists: u32,
    /// Entries of all version lists together. Default: 1 048 576.
    pub version_entries: u32,
    /// Decompressed size in bytes of one export's data, or of one bulk payload. Default: 1 GiB.
    pub raw_bytes_per_object: u64,
    /// Decompressed size in bytes of all data and bulk payloads of the package together, external ones
    /// included. Default: 16 GiB.
    pub total_raw_bytes: u64,
    /// Length of the longest chain of outers, counting the object itself. Default: 256.
    pub depth: u32,
}

impl Default for Limits {
    fn default() -> Self {
        const MIB: u64 = 1 << 20;
        const GIB: u64 = 1 << 30;
        Self {
            file_bytes: 8 * GIB,
            header_bytes: 256 * MIB,
            names: 1 << 22,
            name_bytes: 1 << 16,
            imports: 1 << 20,
            origins: 1 << 16,
            exports: 1 << 20,
            refs: 1 << 24,
            bulk: 1 << 20,
            version_lists: 1 << 10,
            version_entries: 1 << 20,
            raw_bytes_per_object: GIB,
            total_raw_bytes: 16 * GIB,
            depth: 256,
        }
    }
}
