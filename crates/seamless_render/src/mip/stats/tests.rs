use std::collections::BTreeSet;

use bevy_diagnostic::DiagnosticsStore;
use bevy_ecs::system::RunSystemOnce;
use bevy_reflect::structs::Struct;

use super::*;
use crate::mip::plan::tests::{come, plan_for_nobody, world};

#[test]
fn each_number_is_a_diagnostic() {
    let numbers = MipStats::default();
    let names =
        (0..numbers.field_len()).map(|at| format!("seamless/mips/{}", numbers.name_at(at).expect("it has a name")));
    let paths = COUNTERS.iter().map(|counter| counter.path.to_string());
    assert_eq!(paths.collect::<BTreeSet<_>>(), names.collect::<BTreeSet<_>>());
    // Each tells its own.
    let mut numbers = MipStats::default();
    for at in 0..numbers.field_len() {
        *numbers
            .field_at_mut(at)
            .expect("it is there")
            .try_downcast_mut::<u64>()
            .expect("a number") = at as u64;
    }
    for (at, counter) in (0..).zip(COUNTERS) {
        assert_eq!((counter.value)(&numbers), at, "{}", counter.path);
    }
}

#[test]
fn they_tell_what_there_is() {
    let mut app = App::new();
    add_stats(&mut app);
    let mut world = world();
    world.insert_resource(
        app.world_mut()
            .remove_resource::<DiagnosticsStore>()
            .expect("it is there"),
    );
    world.init_resource::<MipStats>();
    come(&mut world, 3);
    come(&mut world, 4);
    plan_for_nobody(&mut world);
    world.run_system_once(write_stats).expect("it runs");
    let stats = world.resource::<MipStats>();
    let pool = world.resource::<MipPool>().ledger.sums();
    assert_eq!(
        (stats.resident, stats.reserved, stats.staging),
        (pool.resident, pool.reserved, 0)
    );
    assert!(stats.reserved > 0, "nothing has come of what is read");
    assert!(stats.perfect == stats.planned && stats.planned > stats.resident);
    let counts = (
        stats.textures,
        stats.under_resolved,
        stats.changing,
        stats.reads,
        stats.swaps,
    );
    assert_eq!(counts, (2, 2, 2, 2, 0));
    assert!(stats.read_bytes > 0 && stats.sent_bytes == 0);
    let told = world
        .resource::<DiagnosticsStore>()
        .get(&DiagnosticPath::const_new("seamless/mips/textures"));
    assert_eq!(told.and_then(|told| told.value()), Some(2.0));
}

#[test]
fn a_rate_is_that_of_the_last_second() {
    let mut rate = Rate::default();
    assert_eq!(rate.note(1000, 0.0), 0, "what was before is not counted");
    assert_eq!(rate.note(1600, 0.5), 600);
    assert_eq!(rate.note(1700, 0.5), 700, "frames of one time are one");
    assert_eq!(rate.note(1700, 1.0), 700);
    assert_eq!(rate.note(1800, 1.5), 100);
    assert_eq!(rate.note(1800, 9.0), 0);
    for frame in 0..10_000_u32 {
        let now = 10.0 + f64::from(frame) / 1000.0;
        assert!(rate.note(1800 + u64::from(frame), now) <= 1001);
    }
}
