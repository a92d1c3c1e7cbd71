//! What a type looked like when objects of it were cooked.

use crate::cursor::{Cursor, CursorError};
use crate::error::{PackageError, Place};
use crate::limits::Limits;

#[cfg(feature = "write")]
use crate::cursor::ByteWriter;

/// A class: how objects of one type are encoded. It is the data of an export that has no class itself, and is stored
/// once per package, so that objects can still be decoded after their type has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schema {
    /// Full path of the type, as Bevy's `TypePath` gives it; never empty.
    pub type_path: String,
    /// Which codec wrote the objects. The number's meaning belongs to the codecs, not to the file format.
    pub encoding: u8,
    /// The type's cooked form is positional for good: its fields never change, so it is never migrated.
    pub immutable: bool,
    /// Version of the type, raised by whoever changes it.
    pub version: u32,
    /// Hash of the type's shape, to recognise a match quickly.
    pub hash: u64,
    /// The shape itself, for decoding objects of an older shape; its syntax belongs to the codecs.
    pub description: String,
}

/// What the names of classes start with.
const CLASS_PREFIX: &str = "class:";

/// The one flag that is defined.
const IMMUTABLE: u8 = 1;

fn read_flags(cursor: &mut Cursor<'_>) -> Result<bool, CursorError> {
    let offset = cursor.offset();
    let flags = cursor.u8()?;
    if flags & !IMMUTABLE == 0 {
        return Ok(flags == IMMUTABLE);
    }
    Err(CursorError::Value {
        what: "set of schema flags",
        offset,
        found: flags.into(),
    })
}

impl Schema {
    /// Name of the export that holds the schema of `type_path`.
    pub fn object_name(type_path: &str) -> String {
        format!("{CLASS_PREFIX}{type_path}")
    }

    /// The type whose schema an export with this name holds.
    pub(crate) fn type_of_name(name: &str) -> Option<&str> {
        name.strip_prefix(CLASS_PREFIX)
    }

    /// Reads a record that fills all of `bytes`.
    ///
    /// # Errors
    /// [`PackageError::Record`] or [`PackageError::Malformed`] if it is no such record, [`PackageError::Limit`] if it
    /// is longer than [`Limits::raw_bytes_per_object`].
    pub fn decode(bytes: &[u8], limits: &Limits) -> Result<Self, PackageError> {
        Self::decode_at(bytes, limits, || Place::Schema)
    }

    pub(crate) fn decode_at(bytes: &[u8], limits: &Limits, place: impl Fn() -> Place) -> Result<Self, PackageError> {
        let limit = limits.raw_bytes_per_object;
        let found = bytes.len() as u64;
        if found > limit {
            PackageError::check_limit(place(), "raw_bytes_per_object", limit, found)?;
        }
        let mut cursor = Cursor::new(bytes);
        let mut read = || {
            let schema = Self {
                type_path: cursor.str()?.to_owned(),
                encoding: cursor.u8()?,
                immutable: read_flags(&mut cursor)?,
                version: cursor.u32()?,
                hash: cursor.u64()?,
                description: cursor.str()?.to_owned(),
            };
            cursor.finish()?;
            Ok(schema)
        };
        let schema = read().map_err(|source| PackageError::Record { place: place(), source })?;
        if schema.type_path.is_empty() {
            let what = "the schema names no type";
            return Err(PackageError::malformed(place(), what));
        }
        Ok(schema)
    }

    /// The record that [`decode`](Self::decode) reads.
    #[cfg(feature = "write")]
    pub fn encode(&self) -> Vec<u8> {
        let mut writer = ByteWriter::new();
        writer.str(&self.type_path);
        writer.u8(self.encoding);
        writer.u8(if self.immutable { IMMUTABLE } else { 0 });
        writer.u32(self.version);
        writer.u64(self.hash);
        writer.str(&self.description);
        writer.into_bytes()
    }
}
