use core::time::Duration;
use std::borrow::Cow;

use bevy_app::{Last, PostUpdate};
use seamless_asset::{OVERRUNS_KEPT, StreamingSettings};

use super::*;

/// The row itself, with fewer frames.
#[test]
fn frames_with_nothing_to_do_allocate_nothing() {
    let row = run(Some(300));
    assert_eq!((row.ours, row.peer), (0.0, Some(0.0)), "{}", row.note);
    assert!(row.note.starts_with("mean 0.000 a frame"), "{}", row.note);
}

/// Neither does one that the machine has halted, which is over its budget; there are more of them than are kept by name.
#[test]
fn frames_over_their_budget_with_nothing_to_do_allocate_nothing() {
    let mut app = app(true);
    let mut settings = app.world_mut().resource_mut::<StreamingSettings>();
    (settings.budget, settings.least) = (Duration::ZERO, 0.0);
    let frames = 2 * OVERRUNS_KEPT;
    let allocated: f64 = (0..frames).map(|_| frame(&mut app)).sum();
    let stats = app.world().resource::<StreamingStats>();
    assert_eq!((allocated, stats.overruns.len()), (0.0, OVERRUNS_KEPT));
    let last = stats.overruns.last().expect("all of them are over it");
    assert!(last.kind.is_none() && matches!(last.what, Cow::Borrowed(_)), "{last:?}");
}

/// The measure itself: it sees systems that allocate, and those of ours that run beside Bevy's.
#[test]
fn the_measure_sees_an_allocation() {
    fn allocate() {
        drop(core::hint::black_box(vec![1_u8; 10]));
    }
    let mut app = app(true);
    assert_eq!(frame(&mut app), 0.0);
    let names = |app: &mut App| {
        app.world_mut().schedule_scope(PostUpdate, |_, schedule| {
            let systems = schedule.systems().expect("it has run");
            systems.map(|(_, system)| system.name().to_string()).collect::<Vec<_>>()
        })
    };
    let ours = names(&mut app);
    assert!(
        ours.len() >= 2 && ours.iter().all(|name| name.contains(OURS)),
        "{ours:?}"
    );
    app.add_systems(Last, allocate).add_systems(PostUpdate, allocate);
    frame(&mut app);
    assert_eq!(frame(&mut app), 2.0);
}
