//! Each row once: both sides do the same work, or they panic.

use super::*;

#[test]
fn the_rows_are_made() {
    for row in [dispatch(Some(1)), resolve(Some(1))] {
        assert!(row.ours > 0.0 && row.peer.is_some_and(|peer| peer > 0.0), "{row:?}");
    }
}
