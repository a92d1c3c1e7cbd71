//! A server loads the same packages without a renderer: what only draws is not there, all else is.

use std::path::Path;

use bevy::{app::TaskPoolPlugin, asset::AssetPlugin, prelude::*, transform::TransformPlugin};
use bevy_seamless::SeamlessMinimalPlugins;
use bevy_seamless::prelude::*;
use seamless_cook::{CookOptions, Target};
use seamless_tests::{
    app::{bevy_spawn, headless_with, run_until},
    cooked::{Cooked, MANIFEST, STREAM_LIMIT, reveal, spawn_world},
    fixtures::{register_types, write_everything_scn},
    snapshot::{Snapshot, SnapshotOptions, entity_at},
};

/// Only a client has components from these crates.
const CLIENT_ONLY: [&str; 4] = ["bevy_light::", "bevy_pbr::", "bevy_render::", "bevy_core_pipeline::"];

fn server(out: &Path) -> App {
    let mut app = App::new();
    app.add_plugins((
        TaskPoolPlugin::default(),
        AssetPlugin {
            file_path: out.to_string_lossy().into_owned(),
            ..default()
        },
        TransformPlugin,
        SeamlessMinimalPlugins,
    ));
    register_types(&mut app);
    while app.plugins_state() == bevy::app::PluginsState::Adding {
        bevy::tasks::tick_global_task_pools_on_main_thread();
    }
    app.finish();
    app.cleanup();
    app
}

/// A path, and what a server needs of the entity there.
type Placed = (String, Option<Name>, Option<Transform>, Option<GlobalTransform>);

fn placed(ecs: &World, root: Entity, snapshot: &Snapshot) -> Vec<Placed> {
    let entity = |path: &str| {
        let entity = entity_at(ecs, root, path).expect("the snapshot has it");
        let (name, local, global) = (
            ecs.get(entity).cloned(),
            ecs.get(entity).copied(),
            ecs.get(entity).copied(),
        );
        (path.to_owned(), name, local, global)
    };
    snapshot.paths().filter(|path| *path != "/").map(entity).collect()
}

fn compare(source: &str, bevy_path: &str, target: &str) -> Snapshot {
    let sources = |dir: &Path| {
        write_everything_scn(dir);
    };
    let mut cooked = Cooked::new(
        sources,
        &format!("(levels: [(name: \"level\", source: \"{source}\")])"),
        register_types,
    );
    let options = CookOptions {
        target: Target::named(target).expect("a target"),
        ..CookOptions::default()
    };
    cooked.cook_again(&options, register_types);
    let mut app = server(&cooked.out());
    let world = spawn_world(&mut app, MANIFEST);
    let there = run_until(&mut app, STREAM_LIMIT, |ecs| ecs.get::<LevelTable>(world).is_some());
    assert!(there, "the manifest does not load");
    let root = reveal(&mut app, world, "level");
    app.update();

    let mut bevy = headless_with(cooked.sources(), register_types);
    let bevy_root = bevy_spawn(&mut bevy, bevy_path);
    let options = SnapshotOptions::default().without_root_components();
    let expected = Snapshot::with(bevy.world(), bevy_root, &options);
    let found = Snapshot::with(app.world(), root, &options);
    assert_eq!(
        placed(app.world(), root, &found),
        placed(bevy.world(), bevy_root, &expected)
    );
    let client_only = |snapshot: &Snapshot| -> Vec<String> {
        let paths = snapshot.paths().flat_map(|path| snapshot.components(path));
        let drawn = paths.filter(|name| CLIENT_ONLY.iter().any(|prefix| name.starts_with(prefix)));
        drawn.map(str::to_owned).collect()
    };
    assert_eq!(client_only(&found), Vec::<String>::new());
    assert_ne!(
        client_only(&expected),
        Vec::<String>::new(),
        "the source has what a server skips"
    );
    found
}

/// Packages for everybody, and those for servers alone.
const TARGETS: [&str; 2] = ["all", "server"];

#[test]
fn a_server_has_the_gltf_without_what_draws() {
    for target in TARGETS {
        let found = compare("everything.gltf", "everything.gltf#Scene0", target);
        let text = found.to_text();
        assert!(text.contains("Mesh3d"), "a server may want meshes, for collisions");
    }
}

#[test]
fn a_server_has_the_game_s_own_components() {
    for target in TARGETS {
        let text = compare("everything.scn.ron", "everything.scn.ron", target).to_text();
        for part in ["Inventory", "CrewOf", "EscortedBy"] {
            assert!(text.contains(part), "{part} is there");
        }
    }
}
