//! What was read in vain, by how far it came.

use super::{
    gated::{gated_app, mesh_is_gone, run_until_pending},
    *,
};
use crate::{
    WastedBytes,
    doubles::{Fate, ReadGate},
};

/// Lets so many reads of a new load of `a.pkg` pass.
fn load_up_to(app: &mut App, gate: &ReadGate, passed: usize) -> InstanceId {
    let id = load(app, "a.pkg", &[]);
    for _ in 0..passed {
        run_until_pending(app, gate, "a.pkg");
        gate.release("a.pkg", Fate::Pass);
    }
    id
}

fn unload(app: &mut App, gate: &ReadGate, id: InstanceId) {
    app.world_mut().resource_mut::<Streamer>().unload(id);
    run_until(app, |world| {
        let is_counted = world.resource::<StreamingStats>().bytes_read == gate.bytes();
        state(world, id).is_none() && mesh_is_gone(world) && is_counted
    });
}

#[test]
fn wasted_bytes_are_told_by_how_far_loads_came() {
    let dir = Dir::default();
    let (mut app, gate) = gated_app(&dir);
    let bytes = chain(&app, "a.pkg", 5, None);
    let header = seamless_package::Summary::parse(&bytes, &seamless_package::Limits::default())
        .unwrap()
        .header_len();
    let (summary, whole) = (seamless_package::SUMMARY_SIZE as u64, bytes.len() as u64);
    put(&dir, "a.pkg", bytes);
    let mut expected = WastedBytes::default();
    let mut check = |app: &App, change: fn(&mut WastedBytes) -> &mut u64, bytes: u64| {
        *change(&mut expected) += bytes;
        let stats = app.world().resource::<StreamingStats>();
        assert_eq!(stats.wasted_by_stage, expected);
        assert_eq!(stats.bytes_wasted, expected.total());
    };
    let id = load_up_to(&mut app, &gate, 2);
    run_until_pending(&mut app, &gate, "a.pkg");
    unload(&mut app, &gate, id);
    check(&app, |wasted| &mut wasted.opening, summary);
    let id = load_up_to(&mut app, &gate, 3);
    run_until_pending(&mut app, &gate, "a.pkg");
    unload(&mut app, &gate, id);
    check(&app, |wasted| &mut wasted.reading, header);
    let id = load_up_to(&mut app, &gate, 3);
    run_until_pending(&mut app, &gate, "a.pkg");
    gate.release("a.pkg", Fate::Short(10));
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Failed));
    unload(&mut app, &gate, id);
    check(&app, |wasted| &mut wasted.decoding, header + 10);
    app.world_mut().resource_mut::<RevealGates>().0.push(Box::new(Closed));
    let id = load_up_to(&mut app, &gate, 4);
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Staged));
    unload(&mut app, &gate, id);
    check(&app, |wasted| &mut wasted.staged, whole);
}
