//! Everything that can be wrong with a package, sorted by whose fault it is; each text says how to mend it.

use crate::cursor::CursorError;
#[cfg(feature = "write")]
use crate::id::{ObjectId, ObjectRef};
use std::fmt;

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
    /// The export table, with the references and bulk entries behind it.
    Exports,
    /// One entry of the import table.
    Import {
        /// Position in the import table.
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
            Self::Exports => f.write_str("export table"),
            Self::Import { index } => write!(f, "import {index}"),
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
    /// The bytes are as they were written, but break the format's rules: the tool that wrote them is wrong.
    Writer,
    /// The file may be well, but is larger than the reader's [`Limits`](crate::Limits) or memory allow.
    Limits,
    /// The reader was asked for something that makes no sense.
    Caller,
}

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
    /// The file has another format version.
    #[error(
        "format version {found} is not {supported}, the one read here; cook it again with this version of the cooker"
    )]
    UnsupportedVersion {
        /// The file's format version.
        found: u32,
        /// The version that this reader knows.
        supported: u32,
    },
    /// The file uses features that this reader does not know.
    #[error("format flags {found:#x} are not known here; cook it again with this version of the cooker")]
    UnsupportedFlags {
        /// The unknown flags.
        found: u32,
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
}

impl PackageError {
    /// Whose fault this is.
    pub fn fault(&self) -> Fault {
        match self {
            Self::BadMagic { .. } | Self::Truncated { .. } => Fault::File,
            Self::TrailingData { .. } | Self::Checksum { .. } => Fault::File,
            Self::UnsupportedVersion { .. } | Self::UnsupportedFlags { .. } => Fault::Version,
            Self::Malformed { .. } | Self::Record { .. } | Self::Decompress { .. } => Fault::Writer,
            Self::Limit { .. } | Self::OutOfMemory { .. } => Fault::Limits,
            Self::NoSuchEntry { .. } | Self::OutsideBytes { .. } => Fault::Caller,
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

/// Why a package could not be written.
#[cfg(feature = "write")]
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// A name is empty or holds a NUL character, which separates package and object in an id.
    #[error("{what} {name:?} is empty or holds a NUL character; give it another name")]
    BadName {
        /// What is named.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// Two objects of the package have the same name.
    #[error("two objects are named `{name}`; give each its own name")]
    DuplicateObject {
        /// The name.
        name: String,
    },
    /// Two different objects have the same id.
    #[error("`{first}` and `{second}` have the same object id {id}; rename one of them")]
    IdCollision {
        /// The id.
        id: ObjectId,
        /// Path of the object that had it first.
        first: String,
        /// Path of the other one.
        second: String,
    },
    /// One type was registered with two schemas.
    #[error("type `{type_path}` has two different schemas in one package; register each type once")]
    SchemaConflict {
        /// The type.
        type_path: String,
    },
    /// One object was imported with two types.
    #[error("`{path}` is imported as `{first}` and as `{second}`; an object has one type")]
    ImportConflict {
        /// Path of the object.
        path: String,
        /// The type given first.
        first: String,
        /// The other type.
        second: String,
    },
    /// The package imports one of its own objects.
    #[error("`{path}` is imported from its own package; refer to the export instead")]
    SelfImport {
        /// Path of the object.
        path: String,
    },
    /// An object has no class of this package.
    #[error("`{object}` has a class that is not of this writer; call `PackageWriter::class` first")]
    BadClass {
        /// The object.
        object: String,
    },
    /// A reference or an outer does not name an object that was added before.
    #[error("`{object}` refers to {reference}, {what}; add objects in dependency order")]
    BadReference {
        /// The object.
        object: String,
        /// What it refers to.
        reference: ObjectRef,
        /// What is wrong with that.
        what: &'static str,
    },
    /// Nobody needs the object.
    #[error("`{object}` has no role; give it one, or leave it out")]
    EmptyRole {
        /// The object.
        object: String,
    },
    /// The package would not be readable, usually because it is larger than the limits.
    #[error("the package would not be readable: {0}")]
    Unreadable(#[from] PackageError),
}
