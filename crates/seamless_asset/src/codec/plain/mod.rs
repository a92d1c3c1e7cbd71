//! Components that are nothing but numbers: a column of them is read by one copy. See [`PlainType`] and [`PlainLayout`].
//!
//! Whether a type is plain is found by reflection, nobody has to say so: [`ReflectCodec`](super::ReflectCodec) asks. What
//! the memory of a row looks like is stored with the column ([`Encoding::Plain`](super::Encoding::Plain)), so that a
//! compiler which orders fields otherwise finds each by its name.

mod column;
mod detect;
mod number;
#[cfg(test)]
mod tests;
mod text;

pub(super) use column::{Plan, decode_plain, plan_for};
pub use detect::PlainType;
pub(super) use detect::PlainTypes;
pub use number::{Number, NumberKind};
pub(super) use text::{description, parts_of};

#[cfg(feature = "migrations")]
use super::DecodeError;

/// The largest row, in bytes.
pub const MAX_ROW: usize = 1 << 16;
/// The most leaves of a row.
pub const MAX_LEAVES: usize = 4096;
/// The strictest alignment of a row.
pub const MAX_ALIGN: usize = 4096;
/// The longest description, in bytes.
pub const MAX_DESCRIPTION: usize = 1 << 20;
/// How deep fields may be nested.
const MAX_DEPTH: usize = 64;

/// A number of a row, or an array of numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaf {
    /// Field names and indices from the row to the leaf, with dots between them: `place.x`, `0.velocity`.
    pub path: String,
    /// What the numbers are.
    pub kind: NumberKind,
    /// How many there are, one after the other.
    pub count: usize,
    /// Where they begin, in bytes from the start of the row.
    pub offset: usize,
}

impl Leaf {
    /// Bytes that it takes.
    #[must_use]
    pub fn size(&self) -> usize {
        self.kind.size() * self.count
    }
}

/// What is wrong with a layout.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LayoutError {
    /// The text is too long to be looked at.
    #[error("its description has {0} bytes, {MAX_DESCRIPTION} are allowed")]
    TooLong(usize),
    /// The text does not follow the syntax.
    #[error("its description lacks {expected} at byte {at}")]
    Syntax {
        /// Where, in bytes.
        at: usize,
        /// What should be there.
        expected: &'static str,
    },
    /// A kind of number that this version does not know.
    #[error("`{path}` is a `{kind}`, which is no kind of number")]
    UnknownKind {
        /// Which leaf.
        path: String,
        /// What it says.
        kind: String,
    },
    /// More leaves than are allowed.
    #[error("a row has more than {MAX_LEAVES} leaves")]
    TooManyLeaves,
    /// Size and alignment that no row has.
    #[error(
        "a row has {size} bytes, aligned to {align}; 1 to {MAX_ROW} are allowed, a multiple of the alignment, \
         which is a power of two and at most {MAX_ALIGN}"
    )]
    Row {
        /// In bytes.
        size: usize,
        /// In bytes.
        align: usize,
    },
    /// Two leaves have one path.
    #[error("`{0}` is there twice")]
    Twice(String),
    /// A leaf begins in another one.
    #[error("`{0}` lies on the leaf before it")]
    Overlap(String),
    /// Bytes that are part of no leaf.
    #[error("byte {0} of a row is part of no leaf")]
    Hole(usize),
    /// A leaf ends behind the row.
    #[error("`{0}` reaches beyond the row")]
    Outside(String),
}

/// The memory of a row: numbers, by path, kind and offset. They cover it wholly, and none lies on another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlainLayout {
    size: usize,
    align: usize,
    leaves: Vec<Leaf>,
}

impl PlainLayout {
    /// A layout of these leaves, which are in the order of their declaration.
    ///
    /// # Errors
    /// When the leaves do not cover the row exactly.
    pub fn new(size: usize, align: usize, leaves: Vec<Leaf>) -> Result<Self, LayoutError> {
        let is_row = (1..=MAX_ROW).contains(&size) && align.is_power_of_two() && align <= MAX_ALIGN;
        if !is_row || !size.is_multiple_of(align) {
            return Err(LayoutError::Row { size, align });
        }
        if leaves.len() > MAX_LEAVES {
            return Err(LayoutError::TooManyLeaves);
        }
        check_cover(&leaves, size)?;
        Ok(Self { size, align, leaves })
    }

    /// Bytes of a row.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }

    /// The alignment of a row, in bytes.
    #[must_use]
    pub fn align(&self) -> usize {
        self.align
    }

    /// The leaves, in the order of their declaration.
    #[must_use]
    pub fn leaves(&self) -> &[Leaf] {
        &self.leaves
    }

    /// The leaves of a row and their numbers; none when `row` has not the size of a row.
    ///
    /// ```
    /// # use seamless_asset::codec::{Number, PlainLayout};
    /// let layout = PlainLayout::parse("size 4 align 2; ammo u16@2; slots u8x2@0")?;
    /// let row: Vec<_> = layout.values(&[7, 8, 1, 0]).map(|(leaf, numbers)| (leaf.path.as_str(), numbers)).collect();
    /// assert_eq!(row[0], ("ammo", vec![Number::U16(1)]));
    /// assert_eq!(row[1], ("slots", vec![Number::U8(7), Number::U8(8)]));
    /// # Ok::<(), seamless_asset::codec::LayoutError>(())
    /// ```
    pub fn values<'l>(&'l self, row: &'l [u8]) -> impl Iterator<Item = (&'l Leaf, Vec<Number>)> {
        let leaves = if row.len() == self.size { &*self.leaves } else { &[] };
        leaves.iter().map(|leaf| {
            let bytes = &row[leaf.offset..leaf.offset + leaf.size()];
            let numbers = bytes.chunks_exact(leaf.kind.size());
            (
                leaf,
                numbers.filter_map(|bytes| Number::from_le(leaf.kind, bytes)).collect(),
            )
        })
    }

    /// Rows as postcard writes the numbers of a value: in the order of declaration, without gaps.
    ///
    /// # Errors
    /// When `data` is not so many rows.
    #[cfg(feature = "migrations")]
    pub(super) fn to_postcard(&self, data: &[u8], rows: usize) -> Result<Vec<u8>, DecodeError> {
        if rows.checked_mul(self.size) != Some(data.len()) {
            return Err(DecodeError::ColumnSize {
                rows,
                row: self.size,
                bytes: data.len(),
            });
        }
        let mut out = Vec::with_capacity(data.len());
        for row in data.chunks_exact(self.size) {
            let numbers = self.values(row).flat_map(|(_, numbers)| numbers);
            numbers.for_each(|number| number.write_postcard(&mut out));
        }
        Ok(out)
    }
}

/// Whether the leaves have paths of their own, and cover `size` bytes, each byte once.
fn check_cover(leaves: &[Leaf], size: usize) -> Result<(), LayoutError> {
    let mut sorted: Vec<&Leaf> = leaves.iter().collect();
    sorted.sort_by(|a, b| a.path.cmp(&b.path));
    if let Some(pair) = sorted.windows(2).find(|pair| pair[0].path == pair[1].path) {
        return Err(LayoutError::Twice(pair[0].path.clone()));
    }
    sorted.sort_by_key(|leaf| leaf.offset);
    let mut covered = 0;
    for leaf in sorted {
        if leaf.offset < covered {
            return Err(LayoutError::Overlap(leaf.path.clone()));
        }
        if leaf.offset > covered {
            return Err(LayoutError::Hole(covered));
        }
        let end = leaf.count.checked_mul(leaf.kind.size());
        let end = end.and_then(|length| length.checked_add(leaf.offset));
        covered = end
            .filter(|end| *end <= size)
            .ok_or_else(|| LayoutError::Outside(leaf.path.clone()))?;
    }
    if covered < size {
        Err(LayoutError::Hole(covered))
    } else {
        Ok(())
    }
}

/// Whether a field's name can be part of a path, and of a description.
fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c.is_control() || ".;@".contains(c))
}
