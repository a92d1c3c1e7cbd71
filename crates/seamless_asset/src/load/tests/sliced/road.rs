//! Which levels come and go in slices: those that take more than a small part of the budget, and no others.

use super::*;

/// In a quarter of this, any machine reveals a handful of entities, and none reveals tens of thousands.
const BUDGET: Duration = Duration::from_millis(8);
const FEW: u32 = 5;
const MANY: u32 = 30_000;

/// How many entities of a level were hidden at most, on their way into the world and out of it.
fn most_hidden(app: &mut App, package: &str) -> [usize; 2] {
    let id = load_to(app, package, InstanceTarget::Shown);
    let mut most = [0; 2];
    run_until(app, |world| {
        most[0] = most[0].max(hidden(world));
        state(world, id) == Some(LoadState::Live)
    });
    set_target(app, id, InstanceTarget::Gone);
    run_until(app, |world| {
        most[1] = most[1].max(hidden(world));
        state(world, id).is_none() && hidden(world) == 0
    });
    most
}

#[test]
fn small_levels_come_and_go_whole_and_large_ones_in_slices() {
    let dir = Dir::default();
    let mut app = sliced_app(&dir);
    let mut settings = app.world_mut().resource_mut::<StreamingSettings>();
    (settings.budget, settings.boost, settings.least) = (BUDGET, 1.0, 1.0);
    put(&dir, "few.pkg", chain(&app, "few.pkg", FEW, None));
    put(&dir, "many.pkg", chain(&app, "many.pkg", MANY, None));
    // Also when it is known what either takes.
    for round in 0..3 {
        assert_eq!(most_hidden(&mut app, "few.pkg"), [0, 0], "round {round}");
        let [come, go] = most_hidden(&mut app, "many.pkg");
        assert!(come > 0 && go > 0, "round {round}: {come} and {go}");
    }
}
