//! The order in which requests start.

use super::{gated::gated_app, *};
use crate::{StreamingTime, doubles::Fate};

/// Asks for `old`, lets it wait for `seconds`, and asks for two new ones of other priorities. The order in which they are opened.
fn order(seconds: u64, settings: impl FnOnce(&mut StreamingSettings)) -> Vec<String> {
    let dir = Dir::default();
    let (mut app, gate) = gated_app(&dir);
    app.insert_resource(StreamingTime::stopped());
    let mut limits = app.world_mut().resource_mut::<StreamingSettings>();
    limits.max_loads_in_flight = 1;
    limits.read_timeout = Duration::ZERO;
    settings(&mut limits);
    let ask = |app: &mut App, package: &str, priority: f32| {
        put(&dir, package, chain(app, package, 2, None));
        let request = InstanceRequest {
            priority,
            ..request(package, &[])
        };
        app.world_mut().resource_mut::<Streamer>().load(request)
    };
    // The only one that starts, for now.
    let first = ask(&mut app, "first.pkg", 1.0);
    run_until(&mut app, |_| !gate.pending().is_empty());
    let mut ids = vec![first, ask(&mut app, "old.pkg", 1.0)];
    app.update();
    app.world_mut()
        .resource_mut::<StreamingTime>()
        .advance(Duration::from_secs(seconds));
    ids.extend([ask(&mut app, "low.pkg", 4.0), ask(&mut app, "high.pkg", 16.0)]);
    app.update();
    gate.otherwise(Some(Fate::Pass));
    run_until(&mut app, |world| {
        ids.iter().all(|id| state(world, *id) == Some(LoadState::Live))
    });
    let opened = gate.begun().into_iter().filter(|read| read.index == 0);
    opened.map(|read| read.path).skip(1).collect()
}

#[test]
fn who_has_waited_goes_before_those_that_are_more_urgent() {
    assert_eq!(order(1, |_| ()), ["high.pkg", "low.pkg", "old.pkg"]);
    // As urgent as a priority of eight.
    assert_eq!(order(3, |_| ()), ["high.pkg", "old.pkg", "low.pkg"]);
    assert_eq!(order(5, |_| ()), ["old.pkg", "high.pkg", "low.pkg"]);
    let slow = |settings: &mut StreamingSettings| settings.aging = Duration::from_secs(10);
    assert_eq!(order(5, slow), ["high.pkg", "low.pkg", "old.pkg"]);
}

#[test]
fn a_seed_alone_decides_about_the_order() {
    for seed in 0..6 {
        let orders = [0, 1000].map(|seconds| order(seconds, |settings| settings.load_order_seed = Some(seed)));
        assert_eq!(orders[0], orders[1], "seed {seed}");
    }
}
