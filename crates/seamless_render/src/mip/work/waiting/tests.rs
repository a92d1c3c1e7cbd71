use super::*;

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
    assert!(!waiting.begin(true, false));
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
    assert!(!waiting.begin(true, false));
    assert_eq!(admitted(&mut waiting, 50, 60), [0; 0]);
    assert!(waiting.begin(true, true));
    assert_eq!(admitted(&mut waiting, 50, 60), [0, 1, 2]);
    waiting.end();
    assert!(!waiting.may_pass(60, 50), "who comes later waits");
    waiting.push(3, (), 60);
    assert!(!waiting.begin(false, true), "nobody waits");
}

#[test]
fn nobody_waits_for_ever() {
    let mut waiting = of(100);
    (0..3).for_each(|key| waiting.push(key, (), 60));
    for frame in 0..PATIENCE {
        assert!(!waiting.begin(true, false), "{frame}");
        assert_eq!(admitted(&mut waiting, 50, 60), [0; 0]);
        waiting.end();
    }
    assert!(waiting.begin(true, false));
    assert_eq!(admitted(&mut waiting, 50, 60), [0, 1, 2]);
}

#[test]
fn whoever_is_let_in_gives_the_others_their_time_again() {
    let mut waiting = of(100);
    (0..3).for_each(|key| waiting.push(key, (), 60));
    (0..PATIENCE).for_each(|_| assert!(!waiting.begin(true, false)));
    assert_eq!(admitted(&mut waiting, 40, 60), [0]);
    (0..PATIENCE).for_each(|_| assert!(!waiting.begin(true, false)));
    waiting.admitted();
    assert!(!waiting.begin(true, false));
}
