//! Reveals wait for gates, but not for ever.

use super::*;

#[test]
fn a_gate_that_stays_closed_is_passed_at_its_deadline_and_counted() {
    const DEADLINE: u64 = 25;
    let dir = Dir::default();
    let mut app = app(&dir);
    app.world_mut().resource_mut::<RevealGates>().0.push(Box::new(Closed));
    app.world_mut().resource_mut::<StreamingSettings>().gate_deadline_frames = DEADLINE as u32;
    put(&dir, "a.pkg", chain(&app, "a.pkg", 3, None));
    let id = load(&mut app, "a.pkg", &[]);
    run_until(&mut app, |world| !world.resource::<Assets<Mesh>>().is_empty());
    let inserted = app.world().resource::<StreamingStats>().frame;
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Live));
    let stats = app.world().resource::<StreamingStats>();
    assert_eq!((stats.gate_deadlines, stats.frame - inserted), (1, DEADLINE));
}
