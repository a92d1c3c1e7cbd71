//! Where a soft handle was found. See [`Hint`].

use core::sync::atomic::{AtomicU64, Ordering};

/// How many bits of a [`Mark`] tell the row.
const ROW_BITS: u32 = 24;
/// How many rows there can be.
pub(super) const MOST_ROWS: usize = 1 << ROW_BITS;

/// Counts the rows of all tables of the process, so that a handle which an app has from another one never takes a row for its own.
static MADE: AtomicU64 = AtomicU64::new(0);

/// Tells a row from all others that were ever made, and where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark(u64);

impl Mark {
    /// That of a new row. Of 10¹² rows no two have the same.
    pub fn new(row: usize) -> Self {
        debug_assert!(row < MOST_ROWS, "the table has a limit");
        let number = MADE.fetch_add(1, Ordering::Relaxed) + 1;
        Self(number << ROW_BITS | row as u64)
    }

    #[inline]
    pub fn row(self) -> usize {
        self.0 as usize & (MOST_ROWS - 1)
    }
}

/// The row that a soft handle was found in last, after its path and type had been compared: as long as the row is there, nothing needs to be compared
/// again. It says nothing of what the handle is: equal handles may differ in it.
#[derive(Debug, Default)]
pub(crate) struct Hint(AtomicU64);

impl Hint {
    #[inline]
    pub fn get(&self) -> Mark {
        Mark(self.0.load(Ordering::Relaxed))
    }

    #[inline]
    pub fn set(&self, mark: Mark) {
        self.0.store(mark.0, Ordering::Relaxed);
    }
}

impl Clone for Hint {
    #[inline]
    fn clone(&self) -> Self {
        Self(AtomicU64::new(self.get().0))
    }
}
