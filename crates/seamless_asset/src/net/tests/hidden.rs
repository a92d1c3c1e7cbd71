//! Levels that are hidden: they are away, until they are shown.

use super::*;
use crate::{SeamlessAssetPlugin, load::InstanceTarget};

fn set_target(side: &mut Side, id: InstanceId, target: InstanceTarget, state: LoadState) {
    side.app.world_mut().resource_mut::<Streamer>().set_target(id, target);
    let start = std::time::Instant::now();
    while side.app.world().resource::<Streamer>().state(id) != Some(state) {
        assert!(start.elapsed() < Duration::from_secs(240), "it took too long");
        side.update();
    }
}

#[test]
fn a_message_about_a_hidden_entity_waits_until_it_is_shown() {
    let sliced = SeamlessAssetPlugin {
        sliced_levels: true,
        ..SeamlessAssetPlugin::default()
    };
    let mut pair = Pair::new();
    pair.client = Side::of(sliced, PackageMapPlugin::default());
    pair.chain("a.pkg", 5);
    pair.with_level_on_server("a.pkg");
    let id = pair.client.reveal("a.pkg");
    pair.run_until(|pair| pair.client.is_live(id));
    let door = pair.client.entity(row("a.pkg", 2)).unwrap();
    set_target(&mut pair.client, id, InstanceTarget::Loaded, LoadState::Hidden);
    pair.server.send(0, &[Some(row("a.pkg", 2))], b"open").unwrap();
    for _ in 0..50 {
        pair.update();
    }
    assert_eq!((pair.client.got.len(), pair.client.peer().waiting()), (0, 1));
    set_target(&mut pair.client, id, InstanceTarget::Shown, LoadState::Live);
    pair.run_until(|pair| !pair.client.got.is_empty());
    let message = pair.client.got.remove(0);
    assert!(message.waited > 40 * FRAME);
    assert_eq!(message.refs.unwrap()[0].as_ref().unwrap().entity(), Some(door));
    // Live when it arrives, it is delivered at once.
    pair.server.send(0, &[Some(row("a.pkg", 2))], b"close").unwrap();
    pair.run_until(|pair| !pair.client.got.is_empty());
    assert_eq!(pair.client.got[0].waited, Duration::ZERO);
}
