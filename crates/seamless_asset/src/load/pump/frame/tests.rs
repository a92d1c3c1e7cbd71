use super::*;

const BUDGET: Duration = Duration::from_millis(1);

/// A frame in which so much is gone when something that takes a quarter of the budget asks; whether it may start.
fn ask(frames: &mut Frames, gone: Duration) -> bool {
    let mut frame = FrameBudget::new(BUDGET);
    frame.begin_units(gone, Duration::ZERO, &mut frames.patience);
    let may = frame.allows(BUDGET / 4);
    if may {
        frame.book(UnitKind::Reveal, BUDGET / 4, String::new);
    }
    frames.patience.learn(&frame);
    may
}

#[test]
fn the_frame_after_one_without_room_is_for_units() {
    let mut frames = Frames::default();
    assert!(ask(&mut frames, Duration::ZERO));
    assert!(!frames.gives_way());
    assert!(!ask(&mut frames, BUDGET), "there was room in the frame before");
    assert!(frames.gives_way());
    // Who was put off may have gone, and what waits is not to wait for ever.
    assert!(!frames.gives_way());
    assert!(!frames.gives_way());
    assert!(ask(&mut frames, BUDGET), "it has waited for long enough");
    assert!(!frames.gives_way());
    assert!(ask(&mut frames, Duration::ZERO));
    assert!(!frames.gives_way());
    assert!(!ask(&mut frames, BUDGET));
    assert!(frames.gives_way());
}
