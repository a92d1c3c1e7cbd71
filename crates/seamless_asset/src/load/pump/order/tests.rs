use super::*;

/// Ranks rise with what is urgent; numbers with what came later.
const URGENT: (f64, u64) = (5.0, 7);
const LATER: (f64, u64) = (1.0, 3);

#[test]
fn who_ranks_higher_has_the_frame() {
    assert!(is_for_assets(Some(URGENT), Some(LATER), false, true));
    assert!(!is_for_assets(Some(LATER), Some(URGENT), false, true));
    assert!(
        is_for_assets(Some((5.0, 7)), Some(URGENT), false, true),
        "the same level needs its assets first"
    );
    assert!(
        is_for_assets(Some((5.0, 6)), Some(URGENT), false, true),
        "the older goes first"
    );
    assert!(!is_for_assets(Some((5.0, 8)), Some(URGENT), false, true));
}

#[test]
fn no_assets_come_in_two_frames_in_a_row_while_a_level_waits() {
    assert!(!is_for_assets(Some(URGENT), Some(LATER), true, true));
    assert!(
        !is_for_assets(Some(URGENT), None, true, true),
        "one that is to leave waits, too"
    );
    assert!(is_for_assets(Some(URGENT), None, true, false));
}

#[test]
fn without_assets_it_is_for_levels() {
    assert!(!is_for_assets(None, None, false, false));
    assert!(!is_for_assets(None, Some(LATER), false, true));
}
