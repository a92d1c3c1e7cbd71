//! Who has time, and who waits.

use super::*;

#[test]
fn a_few_always_have_their_turn_and_the_others_as_long_as_there_is_time() {
    let room = Duration::from_micros(300);
    let later = Duration::from_secs(1);
    assert!((0..LEAST).all(|done| has_time(done, Duration::ZERO, || later)));
    assert!(!has_time(LEAST, Duration::ZERO, || Duration::ZERO));
    assert!(has_time(LEAST, room, || room / 2) && has_time(1000, room, || room / 2));
    assert!(!has_time(LEAST, room, || room));
}

fn with_budget(seconds: u64) -> StreamingSettings {
    StreamingSettings {
        budget: Duration::from_secs(seconds),
        ..StreamingSettings::default()
    }
}

#[test]
fn who_waits_is_counted() {
    for part in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        let mut share = Share::new(&with_budget(100), part);
        let taken = (0..LEAST + 3).filter(|_| share.take()).count();
        assert_eq!((taken, share.postponed), (LEAST, 3), "{part}");
    }
    let mut share = Share::new(&with_budget(100_000), 1.0);
    assert!((0..100).all(|_| share.take()));
}
