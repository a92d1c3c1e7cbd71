//! Levels in place of others: a village by day and by night.

use std::path::Path;

use bevy::{ecs::system::RunSystemOnce, prelude::*};
use bevy_seamless::prelude::*;
use seamless_tests::{
    app::run_until,
    cooked::{Cooked, MANIFEST, STREAM_LIMIT, spawn_world, state, streaming_app_with},
    fixtures::{register_types, write_everything_scn},
};

const WORLD: &str = r#"(
    levels: [(name: "day", source: "everything.scn.ron"), (name: "night", source: "everything.scn.ron")],
    volumes: [(shape: Sphere(center: (0.0, 0.0, 0.0), radius: 10.0), levels: ["day", "night"])],
)"#;

fn wish(app: &mut App, level: &str, kind: RequestKind) -> Entity {
    let wish = LevelWanted {
        kind,
        ..LevelWanted::new([level])
    };
    app.world_mut().spawn(wish).id()
}

/// As the README says it: banned by day, hidden where it would be seen, and then shown, with levels in slices and without.
#[test]
fn a_variant_is_got_ready_out_of_sight_and_takes_the_place_of_the_other() {
    let write = |dir: &Path| {
        write_everything_scn(dir);
    };
    let cooked = Cooked::new(write, WORLD, register_types);
    for sliced_levels in [false, true] {
        let plugins = SeamlessPlugins.set(SeamlessAssetPlugin {
            sliced_levels,
            ..default()
        });
        let mut app = streaming_app_with(&cooked.out(), plugins, register_types);
        let world = spawn_world(&mut app, MANIFEST);
        let source = app.world_mut().spawn(StreamingSource::default()).id();
        let ban = wish(&mut app, "night", RequestKind::Ban);
        let until = |app: &mut App, expected: [LevelState; 2]| {
            let mut seen = Vec::new();
            let came = run_until(app, STREAM_LIMIT, |ecs| {
                if ecs.get::<LevelTable>(world).is_none() {
                    return false;
                }
                let states = ["day", "night"].map(|level| state(ecs, world, level));
                seen.push(states);
                states == expected
            });
            assert!(came, "{expected:?}: {:?}", seen.last());
            seen
        };
        until(&mut app, [LevelState::Visible, LevelState::Unloaded]);
        let hide = wish(&mut app, "night", RequestKind::Hide);
        app.world_mut().despawn(ban);
        let seen = until(&mut app, [LevelState::Visible, LevelState::Hidden]);
        let is_day = |states: &[LevelState; 2]| states[0] == LevelState::Visible && states[1] != LevelState::Visible;
        assert!(seen.iter().all(is_day), "{seen:?}");
        let is_complete = move |status: StreamingStatus| status.is_streaming_complete(source);
        let is_complete = app.world_mut().run_system_once(is_complete);
        assert!(is_complete.expect("the system runs"), "it is as far as it is to come");
        wish(&mut app, "day", RequestKind::Ban);
        app.world_mut().despawn(hide);
        until(&mut app, [LevelState::Unloaded, LevelState::Visible]);
    }
}
