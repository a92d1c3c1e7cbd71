use super::*;

const MILLISECOND: Duration = Duration::from_millis(1);

/// Frames of this length until it is late; how many.
fn late_after(clock: &mut GateClock, time: &mut StreamingTime, frame: Duration, deadline: u32) -> u32 {
    let since = clock.now();
    for frames in 1..10_000 {
        time.advance(frame);
        clock.tick(time);
        if clock.is_late(since, deadline) {
            return frames;
        }
    }
    panic!("it is never late");
}

#[test]
fn a_fast_machine_waits_as_long_as_a_slow_one() {
    let (mut clock, mut time) = (GateClock::default(), StreamingTime::default());
    clock.tick(&time);
    let fast = late_after(&mut clock, &mut time, MILLISECOND, 120);
    // What the test takes itself counts, too.
    assert!((120..=2000).contains(&fast), "{fast}");
    time.advance(Duration::from_secs(5));
    clock.tick(&time);
    let since = clock.now();
    for _ in 0..120 {
        clock.tick(&time);
    }
    let ran = clock.now().time.saturating_sub(since.time);
    let is_long = ran >= FRAME * 120;
    assert_eq!(clock.is_late(since, 120), is_long, "frames alone are not enough");
    let slow = late_after(&mut clock, &mut time, 100 * MILLISECOND, 120);
    assert_eq!(slow, 120, "nor is time alone");
}

#[test]
fn a_frame_that_takes_minutes_counts_for_a_second() {
    let (mut clock, mut time) = (GateClock::default(), StreamingTime::default());
    clock.tick(&time);
    let since = clock.now();
    time.advance(Duration::from_secs(600));
    clock.tick(&time);
    assert_eq!(clock.now().time.saturating_sub(since.time), MOST_PER_FRAME);
}

#[test]
fn where_time_stands_still_frames_count() {
    let (mut clock, mut time) = (GateClock::default(), StreamingTime::stopped());
    for deadline in [0, 1, 25, 120] {
        let frames = late_after(&mut clock, &mut time, Duration::ZERO, deadline);
        assert_eq!(frames, deadline.max(1));
    }
}

#[test]
fn frames_that_are_put_off_do_not_count() {
    let (mut clock, mut time) = (GateClock::default(), StreamingTime::stopped());
    let mut since = clock.now();
    for _ in 0..100 {
        clock.tick(&time);
        since = clock.put_off(since);
        assert_eq!(since, clock.now());
    }
    let since = clock.now();
    assert_eq!(clock.put_off(since), since, "it began in this frame");
    assert_eq!(late_after(&mut clock, &mut time, Duration::ZERO, 10), 10);
    assert!(clock.is_late(since, 10));
    assert!(!clock.is_late(clock.put_off(since), 10), "one frame less");
}
