use super::Allocated;

#[test]
fn what_is_allocated_is_in_the_books_but_for_what_is_rounded() {
    const MB: u64 = 1_000_000;
    let is_booked = |bytes, count, booked| Allocated { count, bytes }.is_booked(booked);
    assert!(is_booked(100 * MB, 1, 100 * MB) && is_booked(105 * MB, 1, 100 * MB));
    assert!(!is_booked(106 * MB, 1, 100 * MB));
    // Many small ones take whole pages.
    assert!(is_booked(409_600, 100, 200_000) && !is_booked(409_600, 10, 200_000));
    assert!(is_booked(0, 0, 0));
    assert!(!is_booked(0, 0, 100 * MB), "an empty list is none");
}
