use super::*;

const NOW: Duration = Duration::from_secs(7);

/// Who is let in beside so much.
fn admitted(waiting: &mut Waiting<u32, ()>, mut total: u64, each: u64) -> Vec<u32> {
    let mut admitted = vec![];
    while let Some((key, ())) = waiting.next(total) {
        admitted.push(key);
        total += each;
    }
    admitted
}

fn of(usable: u64) -> Waiting<u32, ()> {
    let mut waiting = Waiting::default();
    waiting.set_usable(usable);
    waiting
}

#[test]
fn they_are_let_in_as_there_is_room_and_in_their_order() {
    let mut waiting = of(100);
    assert!(waiting.may_pass(10, 90) && !waiting.may_pass(10, 91));
    (0..4).for_each(|key| waiting.push(key, (), 10));
    assert!(!waiting.may_pass(1, 0), "nobody is overtaken");
    assert_eq!((waiting.bytes(), waiting.len()), (40, 4));
    assert!(!waiting.begin(true, false, NOW));
    assert_eq!(admitted(&mut waiting, 80, 10), [0, 1]);
    assert!(waiting.remove(2) && !waiting.remove(2));
    // It has come again, behind all others.
    waiting.push(3, (), 20);
    waiting.push(2, (), 10);
    assert_eq!(waiting.bytes(), 30);
    assert_eq!(admitted(&mut waiting, 90, 10), [0; 0], "the first needs more");
    assert_eq!(admitted(&mut waiting, 0, 10), [3, 2]);
    assert!(waiting.is_empty() && waiting.bytes() == 0 && waiting.may_pass(10, 0));
}

#[test]
fn all_are_let_in_when_nothing_makes_room_any_more() {
    let mut waiting = of(100);
    (0..3).for_each(|key| waiting.push(key, (), 60));
    assert!(!waiting.begin(true, false, NOW));
    assert_eq!(admitted(&mut waiting, 50, 60), [0; 0]);
    assert!(waiting.begin(true, true, NOW));
    assert_eq!(admitted(&mut waiting, 50, 60), [0, 1, 2]);
    waiting.end();
    assert!(!waiting.may_pass(60, 50), "who comes later waits");
    waiting.push(3, (), 60);
    assert!(!waiting.begin(false, true, NOW), "nobody waits");
}

/// Frames in which somebody waits and nobody is let in, so many a second, until all are: how long that takes.
fn wait(waiting: &mut Waiting<u32, ()>, now: &mut Duration, frames_per_second: u32) -> Duration {
    let begin = *now;
    while !waiting.begin(true, false, *now) {
        assert_eq!(admitted(waiting, 50, 60), [0; 0]);
        waiting.end();
        *now += Duration::from_secs(1) / frames_per_second;
    }
    *now - begin
}

/// However many frames that are.
#[test]
fn nobody_waits_for_ever() {
    for frames_per_second in [20, 144] {
        let mut waiting = of(100);
        (0..3).for_each(|key| waiting.push(key, (), 60));
        let waited = wait(&mut waiting, &mut NOW.clone(), frames_per_second);
        assert!((PATIENCE..PATIENCE + LONGEST_FRAME).contains(&waited), "{waited:?}");
        assert_eq!(admitted(&mut waiting, 50, 60), [0, 1, 2]);
    }
    // A frame that takes long is one frame.
    let mut waiting = of(100);
    waiting.push(0, (), 60);
    assert!(!waiting.begin(true, false, NOW) && !waiting.begin(true, false, NOW * 2));
}

#[test]
fn whoever_is_let_in_gives_the_others_their_time_again() {
    let mut waiting = of(100);
    (0..3).for_each(|key| waiting.push(key, (), 60));
    let mut now = NOW;
    let almost = |waiting: &mut Waiting<u32, ()>, now: &mut Duration| {
        for _ in 0..14 {
            assert!(!waiting.begin(true, false, *now));
            *now += LONGEST_FRAME;
        }
    };
    almost(&mut waiting, &mut now);
    assert_eq!(admitted(&mut waiting, 40, 60), [0]);
    almost(&mut waiting, &mut now);
    waiting.admitted();
    almost(&mut waiting, &mut now);
}
