//! Textures in parts, which threads share. See [`rows`].

use core::ops::Range;

/// Rows of texels that are worked on in one go: whole blocks, and a few of them, so that threads end together. They do not depend on how
/// many threads there are, because sums of numbers do depend on their order.
const ROWS: u32 = 64;

/// The parts of so many rows.
pub(super) fn rows(height: u32) -> impl Iterator<Item = Range<u32>> {
    let starts = (0..height).step_by(ROWS as usize);
    starts.map(move |start| start..height.min(start.saturating_add(ROWS)))
}
