//! Everything that can be wrong with a package, sorted by whose fault it is; each text says how to mend it.

use crate::cursor::CursorError;
use std::fmt;
use std::ops::RangeInclusive;

/// The part of a package that an error speaks of.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// The file as a whole.
    File,
    /// The summary at its start.
    Summary,
    /// The name table.
    Names,
    /// The import table.
    Imports,
    /// The origin table.
    Origins,
    /// The export table, with the references and bulk entries behind it.
    Exports,
    /// The version table.
    Versions,
    /// The data of all classes.
    Classes,
    /// One entry of the import table.
    Import {
        /// Position in the import table.
        index: usize,
    },
    /// One entry of the origin table.
    Origin {
        /// Position in the origin table.
        index: usize,
    },
    /// One version list.
    VersionList {
        /// Position in the version table.
        index: usize,
    },
    /// One export: its table entry or its data.
    Export {
        /// Position in the export table.
        index: usize,
        /// The object's name, empty if it could not be read.
        name: String,
    },
    /// One bulk payload of an export.
    Bulk {
        /// Position of the export in the export table.
        index: usize,
        /// The object's name.
        name: String,
        /// Position among the export's payloads.
        payload: usize,
    },
    /// A schema record outside of a package.
    Schema,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File => f.write_str("file"),
            Self::Summary => f.write_str("summary"),
            Self::Names => f.write_str("name table"),
            Self::Imports => f.write_str("import table"),
            Self::Origins => f.write_str("origin table"),
            Self::Exports => f.write_str("export table"),
            Self::Versions => f.write_str("version table"),
            Self::Classes => f.write_str("class data"),
            Self::Import { index } => write!(f, "import {index}"),
            Self::Origin { index } => write!(f, "origin {index}"),
            Self::VersionList { index } => write!(f, "version list {index}"),
            Self::Export { index, name } => write!(f, "export {index} `{name}`"),
            Self::Bulk { index, name, payload } => write!(f, "bulk payload {payload} of export {index} `{name}`"),
            Self::Schema => f.write_str("schema record"),
        }
    }
}

/// Whose fault an error is, and so who can mend it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The bytes are not those that were written: damaged, cut off, or no package at all. Copy or cook the file again.
    File,
    /// The file was written for another version of the format. Cook it with this version, or update the game.
    Version,
    /// The file refers into another package, which has changed since. Cook both again, together.
    Stale,
    /// The bytes are as they were written, but break the format's rules: the tool that wrote them is wrong.
    Writer,
    /// The file may be well, but is larger than the reader's [`Limits`](crate::Limits) or memory allow.
    Limits,
    /// The reader was asked for something that makes no sense.
    Caller,
}

/// The mend for what a newer version wrote: an older cooker is nobody's wish.
const NEWER_BUILD: &str = "run a newer build of the game, or cook it again with the cooker of this one";

/// Why a package, or a part of one, could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PackageError {
    // The file.
    /// The bytes do not start like a package.
    #[error("not a package: the file starts with {found:02x?}; give the path of a cooked package, or cook it again")]
    BadMagic {
        /// The first bytes, at most eight.
        found: Vec<u8>,
    },
    /// The file ends before the place does, or the bytes given do.
    #[error("{place}: ends at byte {need}, but only {have} bytes are there; copy the whole file, or cook it again")]
    Truncated {
        /// What is cut off.
        place: Place,
        /// Length in bytes that the file must at least have.
        need: u64,
        /// Length in bytes that it has.
        have: u64,
    },
    /// There are bytes after the end of the package.
    #[error("file: {extra} bytes follow the package's end at byte {file_len}; copy it again, or cook it again")]
    TrailingData {
        /// Length in bytes that the package says it has.
        file_len: u64,
        /// Bytes that follow.
        extra: u64,
    },
    /// The bytes are not those that were written.
    #[error("{place}: damaged (checksum {found:016x}, written as {expected:016x}); copy it again, or cook it again")]
    Checksum {
        /// What is damaged.
        place: Place,
        /// The checksum stored in the file.
        expected: u64,
        /// The checksum of the bytes.
        found: u64,
    },

    // The version.
    /// The file has another format version: a newer one than this build reads, or one that was never released.
    #[error(
        "format version {found} is {} than those read here, {} to {}; {}",
        if found > supported.end() { "newer" } else { "older" },
        supported.start(),
        supported.end(),
        if found > supported.end() { NEWER_BUILD } else { "cook it again with this version of the cooker" }
    )]
    UnsupportedVersion {
        /// The file's format version.
        found: u32,
        /// The versions that this reader knows.
        supported: RangeInclusive<u32>,
    },
    /// The file uses features that this reader does not know: its writer was newer.
    #[error("format flags {found:#x} are not known here, the file is newer; {NEWER_BUILD}")]
    UnsupportedFlags {
        /// The unknown flags.
        found: u32,
    },

    // Another package.
    /// A payload that lies in another package's file is not there any more as it was when it was referred to.
    #[error("{place}: `{package}` refers into `{origin}`, {what}; cook both again, together")]
    StaleBulk {
        /// The payload.
        place: Place,
        /// Path of the package that refers to it.
        package: String,
        /// Path of the package that it lies in.
        origin: String,
        /// What has changed there.
        what: &'static str,
    },

    // The writer.
    /// The bytes break a rule of the format.
    #[error("{place}: {what}; cook it again, and report the tool that wrote it")]
    Malformed {
        /// Where.
        place: Place,
        /// The broken rule.
        what: &'static str,
    },
    /// A record cannot be decoded.
    #[error("{place}: {source}; cook it again, and report the tool that wrote it")]
    Record {
        /// Where; the offsets in `source` count from its start.
        place: Place,
        /// What is wrong.
        source: CursorError,
    },
    /// Compressed bytes do not decompress to the size that was written.
    #[error("{place}: does not decompress to {raw_size} bytes; cook it again, and report the tool that wrote it")]
    Decompress {
        /// Where.
        place: Place,
        /// The decompressed size in bytes that the table promises.
        raw_size: u64,
    },

    // The limits.
    /// The package is larger than the reader accepts.
    #[error(
        "{place}: {found} is more than Limits::{field} = {limit}; raise Limits::{field}, or cook a smaller package"
    )]
    Limit {
        /// Where.
        place: Place,
        /// Name of the field of [`Limits`](crate::Limits).
        field: &'static str,
        /// Its value.
        limit: u64,
        /// What the file has.
        found: u64,
    },
    /// There is not enough memory, or the address space is too small.
    #[error(
        "{place}: no memory for {bytes} bytes; free some, or lower Limits::raw_bytes_per_object to refuse it earlier"
    )]
    OutOfMemory {
        /// What needed it.
        place: Place,
        /// Bytes asked for.
        bytes: u64,
    },

    // The caller.
    /// An index is outside of the table.
    #[error("{place}: there is no such entry, the table has {count}; use an index of this package")]
    NoSuchEntry {
        /// What was asked for.
        place: Place,
        /// Entries that there are.
        count: usize,
    },
    /// The bytes given start behind the data asked for.
    #[error("{place}: starts at byte {start} of the file, but the bytes given start at {have_start}; read from there")]
    OutsideBytes {
        /// What was asked for.
        place: Place,
        /// Offset in the file at which it starts.
        start: u64,
        /// Offset in the file of the first byte given.
        have_start: u64,
    },
    /// The payload lies in another file than this package's.
    #[error("{place}: lies in `{origin}`; read it from there, where `Package::bulk_location` says")]
    ExternalBulk {
        /// What was asked for.
        place: Place,
        /// Path of the package that it lies in.
        origin: String,
    },
    /// The other package is not the one that a payload lies in.
    #[error("{place}: lies in `{origin}`, not in `{found}`; give that package")]
    WrongOrigin {
        /// What was asked for.
        place: Place,
        /// Path of the package that it lies in.
        origin: String,
        /// Path of the package that was given.
        found: String,
    },
}

impl PackageError {
    /// Whose fault this is.
    pub fn fault(&self) -> Fault {
        match self {
            Self::BadMagic { .. } | Self::Truncated { .. } => Fault::File,
            Self::TrailingData { .. } | Self::Checksum { .. } => Fault::File,
            Self::UnsupportedVersion { .. } | Self::UnsupportedFlags { .. } => Fault::Version,
            Self::StaleBulk { .. } => Fault::Stale,
            Self::Malformed { .. } | Self::Record { .. } | Self::Decompress { .. } => Fault::Writer,
            Self::Limit { .. } | Self::OutOfMemory { .. } => Fault::Limits,
            Self::NoSuchEntry { .. } | Self::OutsideBytes { .. } => Fault::Caller,
            Self::ExternalBulk { .. } | Self::WrongOrigin { .. } => Fault::Caller,
        }
    }

    pub(crate) fn malformed(place: Place, what: &'static str) -> Self {
        Self::Malformed { place, what }
    }

    /// Refuses `found` when it is more than `limit`.
    pub(crate) fn check_limit(place: Place, field: &'static str, limit: u64, found: u64) -> Result<(), Self> {
        if found > limit {
            return Err(Self::Limit {
                place,
                field,
                limit,
                found,
            });
        }
        Ok(())
    }
}
