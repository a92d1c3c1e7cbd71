//! Manifests and packages that are missing or broken: typed errors, told once, and the rest goes on.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use bevy_asset::{
    AssetApp, AssetPath, AssetServer,
    io::{AssetSourceBuilder, AssetSourceId, memory::Dir},
};
use seamless_asset::{
    SeamlessAssetPlugin,
    doubles::{Fate, GatedReader, ReadGate},
};

use super::*;

#[test]
fn a_manifest_that_makes_no_sense_fails_once() {
    let mut stage = Stage::with(level_app(SeamlessLevelPlugin::default()));
    let empty = WorldManifest {
        format: MANIFEST_FORMAT,
        name: "void".into(),
        ..Default::default()
    };
    let handle = add_manifest(&mut stage.app, empty);
    stage
        .app
        .world_mut()
        .entity_mut(stage.world)
        .insert(SeamlessWorld(handle));
    stage.frames(10);
    let told = stage.told();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("`void` has no levels"), "{told:?}");
    assert!(stage.app.world().get::<WorldFailure>(stage.world).is_some());
    let good = add_manifest(&mut stage.app, manifest());
    stage.app.world_mut().get_mut::<SeamlessWorld>(stage.world).unwrap().0 = good;
    stage.frames(4);
    assert_eq!(stage.told(), ["+base"]);
    assert!(stage.app.world().get::<WorldFailure>(stage.world).is_none());
}

/// An app with the real pipeline, whose files are in memory.
fn real_app(files: &[(&str, &[u8])]) -> App {
    let gate = ReadGate::default();
    gate.otherwise(Some(Fate::Pass));
    gated_app(files, &gate)
}

/// The same, where a gate decides about each read.
pub(super) fn gated_app(files: &[(&str, &[u8])], gate: &ReadGate) -> App {
    let root = Dir::default();
    for (path, bytes) in files {
        root.insert_asset(Path::new(path), bytes.to_vec());
    }
    let mut app = App::new();
    let gate = gate.clone();
    let reader = move || Box::new(GatedReader::of(&root, &gate)) as Box<_>;
    app.register_asset_source(AssetSourceId::Default, AssetSourceBuilder::new(reader))
        .add_plugins((
            TaskPoolPlugin::default(),
            AssetPlugin::default(),
            SeamlessAssetPlugin::default(),
            SeamlessLevelPlugin::default(),
        ))
        .init_resource::<Told>()
        .add_systems(SpawnScene, hear_messages.after(LevelSystems::Report));
    app.finish();
    app.cleanup();
    app
}

/// Updates until `count` things were told; fails after four minutes.
fn hear(app: &mut App, count: usize) -> Vec<String> {
    let start = Instant::now();
    while app.world().resource::<Told>().messages.len() < count {
        assert!(start.elapsed() < Duration::from_secs(240), "nothing is told");
        app.update();
        // Threads of the lowest priority read.
        std::thread::sleep(Duration::from_micros(100));
    }
    // Nothing is told twice.
    (0..20).for_each(|_| app.update());
    let mut told = std::mem::take(&mut app.world_mut().resource_mut::<Told>().messages);
    told.sort();
    told
}

#[test]
fn packages_that_are_missing_or_broken_fail_once_each() {
    let text = manifest().to_ron().unwrap();
    let files: [(&str, &[u8]); 2] = [
        ("dir/test.seamless", text.as_bytes()),
        ("dir/west.pkg", b"no package at all"),
    ];
    let mut app = real_app(&files);
    app.world_mut().resource_mut::<LevelSettings>().retry = RetryPolicy::OFF;
    let handle = app.world().resource::<AssetServer>().load("dir/test.seamless");
    let world = app.world_mut().spawn(SeamlessWorld(handle)).id();
    app.world_mut()
        .run_system_once(|mut levels: Levels| levels.load("west"))
        .unwrap()
        .unwrap();
    assert_eq!(hear(&mut app, 2), ["!base", "!west"]);
    let table = app.world().get::<LevelTable>(world).unwrap();
    for name in ["base", "west"] {
        assert_eq!(table.get(name).unwrap().state(), LevelState::Failed);
        let text = table.get(name).unwrap().error().unwrap().to_string();
        assert!(text.contains(&format!("dir/{name}.pkg")), "{text}");
    }
    assert_eq!(table.get("east").unwrap().state(), LevelState::Unloaded);
    assert_eq!(app.world().resource::<InstanceIndex>().len(), 0);
    assert!(
        app.world().resource::<Streamer>().is_empty(),
        "the pipeline was told to forget failed instances"
    );
}

#[test]
fn manifests_that_are_missing_or_broken_fail_once_each() {
    let mut broken = manifest();
    broken.volumes[0].levels = vec!["nowhere".into()];
    let text = ron::to_string(&broken).unwrap();
    let files: [(&str, &[u8]); 2] = [
        ("broken.seamless", text.as_bytes()),
        ("cut.seamless", &text.as_bytes()[..99]),
    ];
    let mut app = real_app(&files);
    app.world_mut().resource_mut::<LevelSettings>().retry = RetryPolicy::OFF;
    for path in ["broken.seamless", "cut.seamless", "missing.seamless"] {
        let handle = app.world().resource::<AssetServer>().load(path);
        app.world_mut().spawn(SeamlessWorld(handle));
    }
    let told = hear(&mut app, 3);
    assert_eq!(told.len(), 3);
    let expected = [
        ("nowhere", "add the level to the world file"),
        ("cut.seamless", "cook the world again"),
        ("missing.seamless", "is the world cooked"),
    ];
    for (text, (culprit, mend)) in told.iter().zip(expected) {
        assert!(text.contains(culprit) && text.contains(mend), "{culprit}: {text}");
    }
}

#[test]
fn packages_are_beside_their_manifest() {
    let path = |manifest: &str| AssetPath::parse(manifest).into_owned();
    let package = |manifest: Option<AssetPath<'static>>| {
        let table = LevelTable::new(
            bevy_asset::AssetId::default(),
            super::manifest(),
            &[],
            manifest.as_ref(),
        );
        table.at(0).unwrap().package.to_string()
    };
    assert_eq!(package(Some(path("a/b/w.seamless"))), "a/b/base.pkg");
    assert_eq!(package(Some(path("w.seamless"))), "base.pkg");
    assert_eq!(package(Some(path("remote://a/w.seamless"))), "remote://a/base.pkg");
    assert_eq!(package(None), "base.pkg");
}
