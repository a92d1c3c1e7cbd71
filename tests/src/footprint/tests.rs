use bevy::prelude::*;

use super::{Allocated, spare_rows};

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

#[derive(Component)]
struct Number(#[expect(dead_code, reason = "only its size plays a part")] u64);

#[test]
fn rows_that_nobody_has_any_more_are_spare() {
    let mut world = World::new();
    let all: Vec<Entity> = (0..100).map(|number| world.spawn(Number(number)).id()).collect();
    let before = spare_rows(&world);
    all[..60].iter().for_each(|entity| _ = world.despawn(*entity));
    // A number, an entity and two ticks.
    assert_eq!(spare_rows(&world), before + 60 * 24);
    (0..60).for_each(|number| _ = world.spawn(Number(number)));
    assert_eq!(spare_rows(&world), before);
}
