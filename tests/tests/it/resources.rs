//! Resources of a level: cooked on request, brought once.

use bevy::prelude::*;
use bevy_seamless::prelude::*;
use seamless_tests::{
    app::run_until,
    cooked::{Ask, Cooked, STREAM_LIMIT, ask, reveal, state},
    fixtures::{Weather, register_types, write_scn_with_resource},
};

const WORLD: &str = r#"(resources: Persistent, levels: [(name: "stormy", source: "resource.scn.ron")])"#;

fn leave(app: &mut App, world: Entity) {
    ask(app, "stormy", Ask::Unload);
    let gone = |ecs: &World| state(ecs, world, "stormy") == LevelState::Unloaded;
    assert!(run_until(app, STREAM_LIMIT, gone), "the level leaves");
}

fn wind(app: &App) -> Option<f32> {
    app.world().get_resource::<Weather>().map(|weather| weather.wind)
}

#[test]
fn a_persistent_resource_comes_with_its_level_once_and_stays() {
    let write = |dir: &std::path::Path| {
        write_scn_with_resource(dir);
    };
    let cooked = Cooked::new(write, WORLD, register_types);
    let (mut app, world) = cooked.start(register_types);
    assert_eq!(wind(&app), None);
    reveal(&mut app, world, "stormy");
    assert_eq!(wind(&app), Some(7.5));
    leave(&mut app, world);
    assert_eq!(wind(&app), Some(7.5));
    app.insert_resource(Weather { wind: 1.0 });
    reveal(&mut app, world, "stormy");
    assert_eq!(wind(&app), Some(1.0), "what the game changed stays");
}
