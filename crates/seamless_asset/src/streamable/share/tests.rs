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

#[test]
fn who_waits_is_counted() {
    for part in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        let mut share = Share::new(Duration::from_secs(100), part);
        let taken = (0..LEAST + 3).filter(|_| share.take()).count();
        assert_eq!((taken, share.postponed), (LEAST, 3), "{part}");
    }
    let mut share = Share::new(Duration::from_secs(100_000), 1.0);
    assert!((0..100).all(|_| share.take()));
}

#[test]
fn a_part_of_any_budget_is_no_more_than_that() {
    let budget = Duration::from_millis(2);
    assert_eq!(part_of(budget, 0.5), budget / 2);
    assert_eq!([1.0, 7.0].map(|part| part_of(budget, part)), [budget; 2]);
    assert_eq!(part_of(Duration::MAX, 1.0), Duration::MAX);
    assert!(part_of(Duration::MAX, 0.5) > Duration::MAX / 3);
    for part in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        assert_eq!(part_of(Duration::MAX, part), Duration::ZERO, "{part}");
    }
}
