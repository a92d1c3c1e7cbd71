//! Very many cues in one frame.

use super::*;
use crate::bench_support::{set_loaded, set_loading};

/// A cue of each target of ten thousand, twice, all missing.
#[test]
fn a_storm_of_what_is_missing_is_played_whole_and_in_order() {
    const TARGETS: usize = 10_000;
    #[derive(Resource, Default)]
    struct Order(Vec<(u32, Entity)>);
    let mut test = TestApp::new(CuePlugin::default());
    test.app.update();
    let world = test.app.world_mut();
    world.init_resource::<Order>();
    world.add_observer(|cue: On<CueExecuted>, mut order: ResMut<Order>| {
        order.0.push((cue.context.magnitude as u32, cue.entity));
    });
    let storm = tag("Cue.Storm");
    set_loading(world, storm);
    let targets: Vec<Entity> = (0..TARGETS).map(|_| world.spawn_empty().id()).collect();
    let fired = targets.clone();
    let fire = move |mut cues: Cues| {
        for round in 0..2 {
            for target in &fired {
                cues.execute(storm, CueContext::new(*target).magnitude(round as f32));
            }
        }
    };
    world.run_system_once(fire).expect("it runs");
    assert_eq!(test.stats().waiting, 2 * TARGETS as u64);
    set_loaded(test.app.world_mut(), storm);
    test.run_until(|test| test.stats().waiting == 0);
    let expected: Vec<(u32, Entity)> = (0..2)
        .flat_map(|round| targets.iter().map(move |target| (round, *target)))
        .collect();
    assert!(
        test.app.world().resource::<Order>().0 == expected,
        "each once, as it was fired"
    );
    let stats = test.stats();
    assert_eq!(
        (stats.replayed, stats.expired, stats.waiting_peak),
        (2 * TARGETS as u64, 0, 2 * TARGETS as u64)
    );
}
