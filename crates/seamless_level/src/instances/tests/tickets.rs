//! Whose tickets are, and what is told of what was added.

use super::*;
use crate::StreamingResult;

/// Whoever holds the ticket of a house that was torn down says nothing about the next one of its name.
#[test]
fn a_ticket_is_for_its_own_instance() {
    let mut stage = stage();
    let old = add(&mut stage, house(1)).unwrap();
    let ban = NewInstance {
        target: LevelTarget::Unloaded,
        ..house(2)
    };
    let ban = add(&mut stage, ban).unwrap();
    stage.frames(2);
    assert_eq!(stage.told(), ["+house_1"]);
    assert_eq!(old.result(), Some(StreamingResult::Ready));
    let held = add(&mut stage, house(3)).unwrap();
    stage.hold("house_3");
    stage.frames(2);
    for name in ["house_1", "house_2", "house_3"] {
        remove(&mut stage, name).unwrap();
    }
    let new = [1, 2].map(|number| add(&mut stage, house(number)).unwrap());
    stage.frames(3);
    assert_eq!(
        find(&stage, "house_2"),
        Some(LevelState::Visible),
        "the old one was kept away"
    );
    assert_eq!(held.result(), Some(StreamingResult::Gone));
    assert_eq!(
        new.each_ref().map(LevelTicket::result),
        [Some(StreamingResult::Ready); 2]
    );
    drop(new);
    stage.frames(3);
    assert_eq!(
        find(&stage, "house_1"),
        Some(LevelState::Unloaded),
        "the old one was asked for"
    );
    drop((old, ban));
}

/// A saved game keeps what was built.
#[test]
fn what_was_added_is_told() {
    let mut stage = stage();
    for number in [2, 1, 3] {
        drop(add(&mut stage, house(number)).unwrap());
    }
    remove(&mut stage, "house_3").unwrap();
    let world = Some(stage.world);
    let added = stage.ask(|levels| levels.added_instances().cloned().collect::<Vec<_>>());
    assert_eq!(added, [1, 2].map(|number| NewInstance { world, ..house(number) }));
    // What is of another instance does not need that to come again.
    let annex = NewInstance::new("annex", "house_2", Transform::from_xyz(7.0, 0.0, 0.0));
    drop(add(&mut stage, annex.clone()).unwrap());
    remove(&mut stage, "house_2").unwrap();
    let added = stage.ask(|levels| levels.added_instances().cloned().collect::<Vec<_>>());
    let of = "west".to_owned();
    assert_eq!(
        added,
        [NewInstance { world, of, ..annex }, NewInstance { world, ..house(1) }]
    );
}
