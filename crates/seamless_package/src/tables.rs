//! The fixed-size records of the tables, and the name table.

use crate::cursor::{Cursor, CursorError};
use crate::error::{PackageError, Place};
use crate::id::{ObjectId, ObjectRef, Role};

#[cfg(feature = "write")]
use crate::cursor::ByteWriter;

/// A field of a record: a value with a fixed size in the file.
pub(crate) trait Wire: Sized {
    /// Size in bytes.
    const SIZE: usize;
    fn read(cursor: &mut Cursor<'_>) -> Result<Self, CursorError>;
    #[cfg(feature = "write")]
    fn write(&self, writer: &mut ByteWriter);
}

/// Declares a record once: the struct, its layout, its reading and its writing, which therefore cannot drift apart.
macro_rules! record {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $($(#[$field_meta:meta])* $visibility:vis $field:ident: $type:ty,)+
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct $name {
            $($(#[$field_meta])* $visibility $field: $type,)+
        }

        impl $name {
            /// Size and name of every field, in order.
            #[cfg(test)]
            pub(crate) const LAYOUT: &[(&str, usize)] =
                &[$((stringify!($field), <$type as $crate::tables::Wire>::SIZE)),+];
        }

        impl $crate::tables::Wire for $name {
            const SIZE: usize = 0 $(+ <$type as $crate::tables::Wire>::SIZE)+;

            fn read(
                cursor: &mut $crate::cursor::Cursor<'_>,
            ) -> Result<Self, $crate::cursor::CursorError> {
                Ok(Self { $($field: <$type as $crate::tables::Wire>::read(cursor)?,)+ })
            }

            #[cfg(feature = "write")]
            fn write(&self, writer: &mut $crate::cursor::ByteWriter) {
                $($crate::tables::Wire::write(&self.$field, writer);)+
            }
        }
    };
}
pub(crate) use record;

macro_rules! wire_number {
    ($($name:ident)+) => {$(
        impl Wire for $name {
            const SIZE: usize = size_of::<$name>();

            fn read(cursor: &mut Cursor<'_>) -> Result<Self, CursorError> {
                cursor.$name()
            }

            #[cfg(feature = "write")]
            fn write(&self, writer: &mut ByteWriter) {
                writer.$name(*self);
            }
        }
    )+};
}
wire_number! { u32 u64 }

impl Wire for [u8; 8] {
    const SIZE: usize = 8;

    fn read(cursor: &mut Cursor<'_>) -> Result<Self, CursorError> {
        cursor.array()
    }

    #[cfg(feature = "write")]
    fn write(&self, writer: &mut ByteWriter) {
        writer.bytes(self);
    }
}

/// Bytes that a later format version may give a meaning; 0 until then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Zero<const N: usize>;

impl<const N: usize> Wire for Zero<N> {
    const SIZE: usize = N;

    fn read(cursor: &mut Cursor<'_>) -> Result<Self, CursorError> {
        let offset = cursor.offset();
        let bytes: [u8; N] = cursor.array()?;
        match bytes.iter().find(|&&byte| byte != 0) {
            None => Ok(Self),
            Some(&byte) => Err(CursorError::Value {
                what: "reserved byte",
                offset,
                found: byte.into(),
            }),
        }
    }

    #[cfg(feature = "write")]
    fn write(&self, writer: &mut ByteWriter) {
        writer.bytes(&[0; N]);
    }
}

impl Wire for ObjectId {
    const SIZE: usize = 8;

    fn read(cursor: &mut Cursor<'_>) -> Result<Self, CursorError> {
        Ok(Self(cursor.u64()?))
    }

    #[cfg(feature = "write")]
    fn write(&self, writer: &mut ByteWriter) {
        writer.u64(self.0);
    }
}

impl Wire for ObjectRef {
    const SIZE: usize = 4;

    fn read(cursor: &mut Cursor<'_>) -> Result<Self, CursorError> {
        Ok(Self::from_raw(cursor.i32()?))
    }

    #[cfg(feature = "write")]
    fn write(&self, writer: &mut ByteWriter) {
        writer.i32(self.raw());
    }
}

impl Wire for Role {
    const SIZE: usize = 1;

    fn read(cursor: &mut Cursor<'_>) -> Result<Self, CursorError> {
        let offset = cursor.offset();
        let bits = cursor.u8()?;
        match Self::from_bits(bits) {
            Some(role) if !role.is_empty() => Ok(role),
            _ => Err(CursorError::Value {
                what: "role",
                offset,
                found: bits.into(),
            }),
        }
    }

    #[cfg(feature = "write")]
    fn write(&self, writer: &mut ByteWriter) {
        writer.u8(self.bits());
    }
}

/// How bytes are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Codec {
    /// As they are.
    #[default]
    None,
    /// As one LZ4 block without a size in front.
    Lz4,
}

impl Wire for Codec {
    const SIZE: usize = 1;

    fn read(cursor: &mut Cursor<'_>) -> Result<Self, CursorError> {
        let offset = cursor.offset();
        match cursor.u8()? {
            0 => Ok(Self::None),
            1 => Ok(Self::Lz4),
            found => Err(CursorError::Value {
                what: "codec",
                offset,
                found: found.into(),
            }),
        }
    }

    #[cfg(feature = "write")]
    fn write(&self, writer: &mut ByteWriter) {
        writer.u8(match self {
            Self::None => 0,
            Self::Lz4 => 1,
        });
    }
}

/// Index into the name table; [`Package::name_of`](crate::Package::name_of) gives the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NameIndex(pub u32);

impl Wire for NameIndex {
    const SIZE: usize = 4;

    fn read(cursor: &mut Cursor<'_>) -> Result<Self, CursorError> {
        Ok(Self(cursor.u32()?))
    }

    #[cfg(feature = "write")]
    fn write(&self, writer: &mut ByteWriter) {
        writer.u32(self.0);
    }
}

record! {
    /// An entry of the import table: an object of another package.
    pub struct Import {
        /// Identity of the object.
        pub object_id: ObjectId,
        /// Path of the package that holds it.
        pub package: NameIndex,
        /// The object's name.
        pub object: NameIndex,
        /// Path of the type that it must have.
        pub type_path: NameIndex,
        /// Who needs it; never empty.
        pub role: Role,
        pub(crate) reserved: Zero<3>,
    }
}

record! {
    /// An entry of the export table: an object stored in this package.
    pub struct Export {
        /// Identity of the object.
        pub object_id: ObjectId,
        /// The object's name.
        pub name: NameIndex,
        /// The export, before this one, that holds the schema of the object's type; none for a schema itself.
        pub class: ObjectRef,
        /// The export, before this one, that this object is a part of, or none.
        pub outer: ObjectRef,
        /// Who needs it; never empty.
        pub role: Role,
        /// How the data is stored.
        pub codec: Codec,
        pub(crate) reserved: Zero<2>,
        /// Offset of the data in the file.
        pub data_offset: u64,
        /// Size in bytes of the data in the file.
        pub stored_size: u64,
        /// Size in bytes of the data when decompressed.
        pub raw_size: u64,
        /// xxh3-64 of the stored bytes.
        pub checksum: u64,
        /// First of the object's references in the shared list.
        pub first_ref: u32,
        /// How many references the object has.
        pub ref_count: u32,
        /// First of the object's payloads in the bulk table.
        pub first_bulk: u32,
        /// How many bulk payloads the object has.
        pub bulk_count: u32,
    }
}

impl Export {
    /// Whether this is a class: its data is a [`Schema`](crate::Schema).
    pub fn is_class(&self) -> bool {
        self.class.is_none()
    }
}

record! {
    /// An entry of the bulk table: a large payload, read on demand.
    pub struct Bulk {
        /// Offset of the payload in the file.
        pub offset: u64,
        /// Size in bytes of the payload in the file.
        pub stored_size: u64,
        /// Size in bytes of the payload when decompressed.
        pub raw_size: u64,
        /// xxh3-64 of the stored bytes.
        pub checksum: u64,
        /// How the payload is stored.
        pub codec: Codec,
        pub(crate) reserved: Zero<7>,
    }
}

/// Size in bytes of one entry of the name table, without its text.
pub(crate) const NAME_ENTRY_SIZE: usize = 4;

/// The name table: distinct texts in ascending byte order, in one allocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Names {
    text: Box<str>,
    /// Where each name ends; it starts where the one before ends.
    ends: Vec<u32>,
}

impl Names {
    /// Reads the whole section. The caller has compared `count` with the limits.
    pub(crate) fn parse(section: &[u8], count: u32) -> Result<Self, PackageError> {
        let fail = |what| PackageError::malformed(Place::Names, what);
        let record = |source| PackageError::Record {
            place: Place::Names,
            source,
        };
        let mut cursor = Cursor::new(section);
        let table_size = u64::from(count).saturating_mul(NAME_ENTRY_SIZE as u64);
        if table_size > section.len() as u64 {
            return Err(fail("the section is too short for its names"));
        }
        let mut ends = Vec::with_capacity(count as usize);
        for _ in 0..count {
            ends.push(cursor.u32().map_err(record)?);
        }
        let offset = cursor.offset();
        let bytes = cursor.bytes(cursor.remaining()).map_err(record)?;
        let text = std::str::from_utf8(bytes)
            .map_err(|_| record(CursorError::Utf8 { offset }))?
            .into();
        let names = Self { text, ends };
        names.check().map_err(fail)?;
        Ok(names)
    }

    fn check(&self) -> Result<(), &'static str> {
        let mut previous = "";
        for index in 0..self.ends.len() {
            let name = self.at(index).ok_or("a name lies outside of the text")?;
            // The first name is compared with the empty text, so an empty name is refused too.
            if name <= previous {
                return Err("the names are not in ascending order, or one is empty");
            }
            if name.contains('\0') {
                return Err("a name holds a NUL character");
            }
            previous = name;
        }
        let end = self.ends.last().copied().unwrap_or(0);
        if end as usize != self.text.len() {
            return Err("the text does not end with the last name");
        }
        Ok(())
    }

    fn at(&self, index: usize) -> Option<&str> {
        let end = *self.ends.get(index)?;
        let start = match index.checked_sub(1) {
            Some(previous) => *self.ends.get(previous)?,
            None => 0,
        };
        self.text.get(start as usize..end as usize)
    }

    pub(crate) fn get(&self, index: NameIndex) -> Option<&str> {
        self.at(index.0 as usize)
    }

    /// Name of an index that was checked when the package was parsed.
    pub(crate) fn known(&self, index: NameIndex) -> &str {
        self.get(index).unwrap_or_default()
    }
}

/// Reads `count` records that fill all of `section`. The caller has compared both.
pub(crate) fn read_records<T: Wire>(
    cursor: &mut Cursor<'_>,
    count: u32,
    place: &Place,
) -> Result<Vec<T>, PackageError> {
    // Records are as long in the file as in memory, within a factor of two, and the bytes are there.
    let mut records = Vec::with_capacity(count as usize);
    for _ in 0..count {
        let record = T::read(cursor).map_err(|source| PackageError::Record {
            place: place.clone(),
            source,
        })?;
        records.push(record);
    }
    Ok(records)
}
