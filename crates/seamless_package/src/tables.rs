//! The fixed-size records of the tables.

use crate::codec::Codec;
use crate::cursor::{Cursor, CursorError};
use crate::id::{ObjectId, ObjectRef, Role};

#[cfg(feature = "write")]
use crate::cursor::ByteWriter;

/// A field of a record: a value with a fixed size in the file.
pub trait Wire: Sized {
    /// Size in bytes.
    const SIZE: usize;
    /// Reads the value.
    ///
    /// # Errors
    /// The bytes end too early, or mean nothing.
    fn read(cursor: &mut Cursor<'_>) -> Result<Self, CursorError>;
    /// Writes what [`read`](Self::read) reads.
    #[cfg(feature = "write")]
    fn write(&self, writer: &mut ByteWriter);
}

/// What a [`Table`](crate::Table) holds.
pub trait Record: Wire {
    /// Bytes from the first field of a record to that of the next.
    const STRIDE: usize;
    /// Reads the record with this index out of a table, which is at `offset` of what errors speak of.
    ///
    /// # Errors
    /// There are fewer records, or the bytes mean nothing.
    fn read_at(table: &[u8], offset: usize, index: usize) -> Result<Self, CursorError>;
}

/// Records that lie one behind the other.
pub trait Row: Wire {}

impl<T: Row> Record for T {
    const STRIDE: usize = T::SIZE;

    #[inline]
    fn read_at(table: &[u8], offset: usize, index: usize) -> Result<Self, CursorError> {
        let start = index.saturating_mul(T::SIZE);
        let row = table.get(start..).unwrap_or_default();
        T::read(&mut Cursor::at(row, offset.saturating_add(start)))
    }
}

impl Row for NameIndex {}
impl Row for ObjectRef {}
impl Row for Import {}
impl Row for Origin {}
impl Row for Bulk {}

/// The bytes of field `index` of a column, which starts `column` bytes behind the start of its table. Who asks has compared the
/// index with the length of the table, so they are there; the compiler, who does not know that, may leave out a field that nobody
/// looks at all the same.
#[inline(always)]
pub(crate) fn field_bytes<const N: usize>(table: &[u8], column: usize, index: usize) -> [u8; N] {
    let start = column.wrapping_add(index.wrapping_mul(N));
    let field = table.get(start..).and_then(|rest| rest.first_chunk());
    field.copied().unwrap_or([0; N])
}

/// The table in columns out of one in rows: all first fields, then all second ones.
pub(crate) fn to_columns(rows: &[u8], layout: &[(&str, usize)]) -> Vec<u8> {
    let size = layout.iter().map(|(_, size)| size).sum();
    let mut columns = Vec::with_capacity(rows.len());
    let mut start = 0_usize;
    for (_, field) in layout {
        let end = start.saturating_add(*field);
        columns.extend(rows.chunks_exact(size).filter_map(|row| row.get(start..end)).flatten());
        start = end;
    }
    columns
}

/// Declares a record once: the struct, its layout, its reading and its writing, which therefore cannot drift apart. Tables
/// hold it in rows, if it is a [`Row`], or `in columns`.
macro_rules! record {
    (
        $(#[$meta:meta])*
        pub struct $name:ident in columns {
            $($(#[$field_meta:meta])* $visibility:vis $field:ident: $type:ty,)+
        }
    ) => {
        $crate::tables::record! {
            @layout all()
            $(#[$meta])*
            pub struct $name {
                $($(#[$field_meta])* $visibility $field: $type,)+
            }
        }

        impl $crate::tables::Record for $name {
            const STRIDE: usize = match Self::LAYOUT {
                [(_, first), ..] => *first,
                [] => 0,
            };

            // What is not asked for is not read, but only where this is part of who asks.
            #[inline(always)]
            fn read_at(
                table: &[u8],
                offset: usize,
                index: usize,
            ) -> Result<Self, $crate::cursor::CursorError> {
                let count = table.len() / <$name as $crate::tables::Wire>::SIZE;
                if index >= count {
                    return Self::read(&mut $crate::cursor::Cursor::at(&[], offset.saturating_add(table.len())));
                }
                let mut next = 0_usize;
                let mut column = |size: usize| {
                    let start = next;
                    next = next.wrapping_add(count.wrapping_mul(size));
                    start
                };
                Ok(Self { $($field: {
                    const SIZE: usize = <$type as $crate::tables::Wire>::SIZE;
                    let column = column(SIZE);
                    let bytes = $crate::tables::field_bytes::<SIZE>(table, column, index);
                    let start = offset.wrapping_add(column).wrapping_add(index.wrapping_mul(SIZE));
                    <$type as $crate::tables::Wire>::read(&mut $crate::cursor::Cursor::at(&bytes, start))?
                },)+ })
            }
        }
    };
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $($(#[$field_meta:meta])* $visibility:vis $field:ident: $type:ty,)+
        }
    ) => {
        // Only tests ask where the fields of a row are.
        $crate::tables::record! {
            @layout test
            $(#[$meta])*
            pub struct $name {
                $($(#[$field_meta])* $visibility $field: $type,)+
            }
        }
    };
    (
        @layout $layout:meta
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
            /// Name and size of every field, in order.
            #[cfg($layout)]
            pub(crate) const LAYOUT: &[(&str, usize)] =
                &[$((stringify!($field), <$type as $crate::tables::Wire>::SIZE)),+];
        }

        impl $crate::tables::Wire for $name {
            const SIZE: usize = 0 $(+ <$type as $crate::tables::Wire>::SIZE)+;

            #[inline]
            fn read(
                cursor: &mut $crate::cursor::Cursor<'_>,
            ) -> Result<Self, $crate::cursor::CursorError> {
                // One length check for the whole record: the compiler then drops those of the fields.
                let offset = cursor.offset();
                let bytes = cursor.chunk::<{ <$name as $crate::tables::Wire>::SIZE }>()?;
                let mut fields = $crate::cursor::Cursor::at(bytes, offset);
                Ok(Self { $($field: <$type as $crate::tables::Wire>::read(&mut fields)?,)+ })
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

            #[inline]
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

impl<const N: usize> Wire for [u8; N] {
    const SIZE: usize = N;

    #[inline]
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

    #[inline]
    fn read(cursor: &mut Cursor<'_>) -> Result<Self, CursorError> {
        let offset = cursor.offset();
        let bytes: [u8; N] = cursor.array()?;
        if bytes == [0; N] {
            return Ok(Self);
        }
        let found = bytes.into_iter().find(|byte| *byte != 0).unwrap_or_default();
        Err(CursorError::Value {
            what: "reserved byte",
            offset,
            found: found.into(),
        })
    }

    #[cfg(feature = "write")]
    fn write(&self, writer: &mut ByteWriter) {
        writer.bytes(&[0; N]);
    }
}

impl Wire for ObjectId {
    const SIZE: usize = 8;

    #[inline]
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

    #[inline]
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

    #[inline]
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

/// When the bulk payloads of an object are wanted, as far as the package says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum PayloadUse {
    /// Nothing is said: with the object, or as the reader's code for the type has it.
    #[default]
    WithObject,
    /// The object is *marked*: a reader that can do without its payloads leaves them, and reads each when it is wanted.
    OnDemand,
}

impl PayloadUse {
    /// [`OnDemand`](Self::OnDemand) if an object is marked.
    pub const fn marked(is_marked: bool) -> Self {
        match is_marked {
            true => Self::OnDemand,
            false => Self::WithObject,
        }
    }

    /// Whether the object is marked.
    pub const fn is_marked(self) -> bool {
        matches!(self, Self::OnDemand)
    }
}

impl Wire for PayloadUse {
    const SIZE: usize = 1;

    #[inline]
    fn read(cursor: &mut Cursor<'_>) -> Result<Self, CursorError> {
        let offset = cursor.offset();
        match cursor.u8()? {
            0 => Ok(Self::WithObject),
            1 => Ok(Self::OnDemand),
            found => Err(CursorError::Value {
                what: "use of payloads",
                offset,
                found: found.into(),
            }),
        }
    }

    #[cfg(feature = "write")]
    fn write(&self, writer: &mut ByteWriter) {
        writer.u8(*self as u8);
    }
}

/// Index into the name table; [`Package::name_of`](crate::Package::name_of) gives the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NameIndex(pub u32);

impl Wire for NameIndex {
    const SIZE: usize = 4;

    #[inline]
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
    /// An entry of the origin table: a package whose objects are copied into this one.
    pub struct Origin {
        /// Path of the package.
        pub package: NameIndex,
        /// The [`content_hash`](crate::Summary::content_hash) that it had; its indices and offsets are valid with it.
        pub content_hash: u64,
    }
}

record! {
    /// An entry of the export table: an object stored in this package, its own or a copy of another package's.
    pub struct Export in columns {
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
        /// When its bulk payloads are wanted; [`PayloadUse::WithObject`] for one without any.
        pub bulk_use: PayloadUse,
        pub(crate) reserved: Zero<1>,
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
        /// Whose object it is: 0 for this package's own, `n` for origin `n - 1`; see [`Package::origins`].
        ///
        /// [`Package::origins`]: crate::Package::origins
        pub origin: u32,
        /// Index of the export in the package that it was copied from; 0 for an object of this package.
        pub origin_index: u32,
    }
}

impl Export {
    /// Offset of a field in the entry. It does not compile if there is no such field.
    pub(crate) const fn at(name: &str) -> usize {
        let (mut fields, mut offset) = (Self::LAYOUT, 0_usize);
        while let [(field, size), rest @ ..] = fields {
            if is_same(field.as_bytes(), name.as_bytes()) {
                return offset;
            }
            offset = offset.saturating_add(*size);
            fields = rest;
        }
        panic!("an export has no such field")
    }

    /// Whether this is a class: its data is a [`Schema`](crate::Schema).
    pub fn is_class(&self) -> bool {
        self.class.is_none()
    }

    /// Whether this is a forced export: a copy of another package's object, with its identity.
    pub fn is_forced(&self) -> bool {
        self.origin != 0
    }
}

/// `==` is not for constants yet.
const fn is_same(mut a: &[u8], mut b: &[u8]) -> bool {
    while let ([first, rest_of_a @ ..], [second, rest_of_b @ ..]) = (a, b) {
        if *first != *second {
            return false;
        }
        (a, b) = (rest_of_a, rest_of_b);
    }
    a.is_empty() && b.is_empty()
}

record! {
    /// An entry of the bulk table: a large payload, read on demand.
    pub struct Bulk {
        /// Offset of the payload in the file that it lies in.
        pub offset: u64,
        /// Size in bytes of the payload in the file.
        pub stored_size: u64,
        /// Size in bytes of the payload when decompressed.
        pub raw_size: u64,
        /// xxh3-64 of the stored bytes.
        pub checksum: u64,
        /// How the payload is stored.
        pub codec: Codec,
        pub(crate) reserved: Zero<3>,
        /// Which file it lies in: 0 for this one, `n` for that of origin `n - 1`.
        pub origin: u32,
    }
}

impl Bulk {
    /// Whether both are the same bytes at the same place of a file.
    pub(crate) fn is_at(&self, other: &Self) -> bool {
        let place = |bulk: &Self| (bulk.offset, bulk.stored_size, bulk.raw_size, bulk.checksum, bulk.codec);
        place(self) == place(other)
    }
}
