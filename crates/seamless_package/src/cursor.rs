//! Typed little-endian reading with checked lengths, and the writing that matches it.

/// Why a record could not be decoded. Offsets count from the start of the bytes given to the [`Cursor`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CursorError {
    /// The bytes end too early.
    #[error("{need} bytes are needed at byte {offset}, {have} are left")]
    End {
        /// Where.
        offset: usize,
        /// Bytes needed.
        need: u64,
        /// Bytes left.
        have: u64,
    },
    /// A text is not UTF-8.
    #[error("the text at byte {offset} is not UTF-8")]
    Utf8 {
        /// Where the text starts.
        offset: usize,
    },
    /// A field has a value that means nothing.
    #[error("{found} at byte {offset} is no {what}")]
    Value {
        /// What it should have been.
        what: &'static str,
        /// Where.
        offset: usize,
        /// The value.
        found: u64,
    },
    /// A count is larger than the decoder accepts.
    #[error("{found} {what} at byte {offset}, at most {limit} are accepted")]
    Count {
        /// What is counted.
        what: &'static str,
        /// Where.
        offset: usize,
        /// The largest count accepted.
        limit: u64,
        /// The count.
        found: u64,
    },
    /// There are bytes after the end of the record.
    #[error("{left} bytes are left over at byte {offset}")]
    Trailing {
        /// Where.
        offset: usize,
        /// How many.
        left: usize,
    },
}

/// Reads typed little-endian values from bytes, front to back. It never reads past the end and never allocates.
///
/// ```
/// use seamless_package::Cursor;
///
/// let mut cursor = Cursor::new(&[2, 0, 0, 0, b'h', b'i', 7]);
/// assert_eq!(cursor.str()?, "hi");
/// assert_eq!(cursor.u8()?, 7);
/// cursor.finish()?;
/// # Ok::<(), seamless_package::CursorError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    offset: usize,
}

macro_rules! read_number {
    ($($(#[$meta:meta])* $name:ident)+) => {$(
        $(#[$meta])*
        ///
        /// # Errors
        /// [`CursorError::End`] if too few bytes are left.
        #[inline]
        pub fn $name(&mut self) -> Result<$name, CursorError> {
            Ok($name::from_le_bytes(self.array()?))
        }
    )+};
}

impl<'a> Cursor<'a> {
    /// Starts at the first of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, offset: 0 }
    }

    /// Starts at the first of `bytes`, which is byte `offset` of what errors speak of.
    #[inline]
    pub(crate) fn at(bytes: &'a [u8], offset: usize) -> Self {
        Self { bytes, offset }
    }

    /// Bytes read so far.
    #[inline]
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Bytes not read yet.
    pub fn remaining(&self) -> usize {
        self.bytes.len()
    }

    /// The next `len` bytes.
    ///
    /// # Errors
    /// [`CursorError::End`] if fewer are left.
    #[inline]
    pub fn bytes(&mut self, len: usize) -> Result<&'a [u8], CursorError> {
        let Some((head, tail)) = self.bytes.split_at_checked(len) else {
            return Err(self.end(len as u64));
        };
        self.bytes = tail;
        // Cannot saturate: both parts lie in one slice.
        self.offset = self.offset.saturating_add(len);
        Ok(head)
    }

    /// The next `N` bytes.
    ///
    /// # Errors
    /// [`CursorError::End`] if fewer are left.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], CursorError> {
        self.chunk().copied()
    }

    /// The next `N` bytes where they are: to copy a record before its fields are read costs more than the reading.
    #[inline]
    pub(crate) fn chunk<const N: usize>(&mut self) -> Result<&'a [u8; N], CursorError> {
        let Some((head, tail)) = self.bytes.split_first_chunk::<N>() else {
            return Err(self.end(N as u64));
        };
        self.bytes = tail;
        self.offset = self.offset.saturating_add(N);
        Ok(head)
    }

    read_number! {
        /// One byte.
        u8
        /// Two bytes.
        u16
        /// Four bytes.
        u32
        /// Eight bytes.
        u64
        /// Four bytes, two's complement.
        i32
        /// Eight bytes, two's complement.
        i64
        /// Four bytes, IEEE 754; every bit pattern is kept.
        f32
        /// Eight bytes, IEEE 754; every bit pattern is kept.
        f64
    }

    /// One byte that is 0 or 1.
    ///
    /// # Errors
    /// [`CursorError::End`] if none is left, [`CursorError::Value`] if it is something else.
    pub fn bool(&mut self) -> Result<bool, CursorError> {
        let offset = self.offset;
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            found => Err(CursorError::Value {
                what: "truth value",
                offset,
                found: found.into(),
            }),
        }
    }

    /// A `u32` length and as many bytes.
    ///
    /// # Errors
    /// [`CursorError::End`] if fewer are left.
    pub fn byte_slice(&mut self) -> Result<&'a [u8], CursorError> {
        let len = self.u32()?;
        let Ok(fits) = usize::try_from(len) else {
            return Err(self.end(len.into()));
        };
        self.bytes(fits)
    }

    /// A `u32` length in bytes and as many bytes of UTF-8.
    ///
    /// # Errors
    /// [`CursorError::End`] if fewer are left, [`CursorError::Utf8`] if they are no text.
    pub fn str(&mut self) -> Result<&'a str, CursorError> {
        let offset = self.offset;
        let bytes = self.byte_slice()?;
        std::str::from_utf8(bytes).map_err(|_| CursorError::Utf8 { offset })
    }

    /// A `u32` count of elements that follow, each of at least `min_size` bytes, so that memory may be reserved for them.
    ///
    /// # Errors
    /// [`CursorError::Count`] if it is more than `limit`, [`CursorError::End`] if so many elements cannot be there.
    pub fn count(&mut self, what: &'static str, limit: u32, min_size: usize) -> Result<usize, CursorError> {
        let offset = self.offset;
        let count = self.u32()?;
        if count > limit {
            return Err(CursorError::Count {
                what,
                offset,
                limit: limit.into(),
                found: count.into(),
            });
        }
        let need = u64::from(count).saturating_mul(min_size as u64);
        if need > self.bytes.len() as u64 {
            return Err(self.end(need));
        }
        // Cannot fail where `usize` has 32 bits; a smaller one would have failed above unless `min_size` is 0.
        usize::try_from(count).map_err(|_| self.end(need))
    }

    /// Ends the reading.
    ///
    /// # Errors
    /// [`CursorError::Trailing`] if bytes are left.
    pub fn finish(&self) -> Result<(), CursorError> {
        if self.bytes.is_empty() {
            return Ok(());
        }
        Err(CursorError::Trailing {
            offset: self.offset,
            left: self.bytes.len(),
        })
    }

    fn end(&self, need: u64) -> CursorError {
        CursorError::End {
            offset: self.offset,
            need,
            have: self.bytes.len() as u64,
        }
    }
}

/// Writes what a [`Cursor`] reads.
///
/// ```
/// use seamless_package::ByteWriter;
///
/// let mut writer = ByteWriter::new();
/// writer.str("hi");
/// writer.u8(7);
/// assert_eq!(writer.into_bytes(), [2, 0, 0, 0, b'h', b'i', 7]);
/// ```
#[cfg(feature = "write")]
#[derive(Debug, Clone, Default)]
pub struct ByteWriter {
    bytes: Vec<u8>,
}

#[cfg(feature = "write")]
macro_rules! write_number {
    ($($(#[$meta:meta])* $name:ident)+) => {$(
        $(#[$meta])*
        #[inline]
        pub fn $name(&mut self, value: $name) {
            self.bytes.extend_from_slice(&value.to_le_bytes());
        }
    )+};
}

#[cfg(feature = "write")]
impl ByteWriter {
    /// Starts empty.
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts empty, with memory for `capacity` bytes.
    pub fn with_capacity(capacity: usize) -> Self {
        Self {
            bytes: Vec::with_capacity(capacity),
        }
    }

    write_number! {
        /// One byte.
        u8
        /// Two bytes.
        u16
        /// Four bytes.
        u32
        /// Eight bytes.
        u64
        /// Four bytes, two's complement.
        i32
        /// Eight bytes, two's complement.
        i64
        /// Four bytes, IEEE 754.
        f32
        /// Eight bytes, IEEE 754.
        f64
    }

    /// One byte, 0 or 1.
    pub fn bool(&mut self, value: bool) {
        self.u8(value.into());
    }

    /// Bytes as they are, without a length.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// A count, as [`Cursor::count`] reads it. A count of more than `u32::MAX` is written as `u32::MAX`: no reader
    /// accepts it, so nothing is lost in silence.
    pub fn count(&mut self, count: usize) {
        self.u32(u32::try_from(count).unwrap_or(u32::MAX));
    }

    /// A length and as many bytes; see [`count`](Self::count) for lengths beyond 4 GiB.
    pub fn byte_slice(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.bytes(bytes);
    }

    /// A length in bytes and a text; see [`count`](Self::count) for lengths beyond 4 GiB.
    pub fn str(&mut self, text: &str) {
        self.byte_slice(text.as_bytes());
    }

    /// Bytes written so far.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether nothing was written yet.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The bytes written so far.
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes written.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}
