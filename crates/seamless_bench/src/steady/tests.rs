use super::*;

/// The row itself, with fewer frames.
#[test]
fn frames_with_nothing_to_do_allocate_nothing() {
    let row = run(Some(300));
    assert_eq!((row.ours, row.peer), (0.0, Some(0.0)), "{}", row.note);
    assert!(row.note.starts_with("mean 0.000 a frame"), "{}", row.note);
}

/// The measure itself: it sees a system that allocates.
#[test]
fn the_measure_sees_an_allocation() {
    let mut app = app(false);
    assert_eq!(frame(&mut app), 0.0);
    app.add_systems(Last, || drop(core::hint::black_box(vec![1_u8; 10])));
    frame(&mut app);
    assert_eq!(frame(&mut app), 1.0);
}
