//! Imports are checked in all packages of a level, and as what they are wanted.

use bevy_mesh::skinning::SkinnedMeshInverseBindposes as Skin;
use bevy_reflect::TypePath;

use super::*;

/// A package with a mesh of its own that also imports `Mesh` of `from`, as an object of type `type_path`.
fn importing(app: &App, name: &str, from: &str, type_path: &str) -> Vec<u8> {
    let mut writer = PackageWriter::new(name);
    mesh_object(&mut writer, app, None);
    writer.import(from, "Mesh", type_path, Role::ALL).unwrap();
    writer.finish().unwrap()
}

/// Loads a level that shares `s.pkg`, which is `shared`, and depends on `others` besides.
fn fails(shared: impl FnOnce(&App) -> Vec<u8>, others: &[&str]) -> String {
    let dir = Dir::default();
    let mut app = app(&dir);
    put(&dir, "a.pkg", chain(&app, "a.pkg", 3, Some("s.pkg")));
    put(&dir, "s.pkg", shared(&app));
    put(&dir, "t.pkg", shared_package(&app, "t.pkg"));
    put(&dir, "empty.pkg", PackageWriter::new("empty.pkg").finish().unwrap());
    let spawned = app.world().entities().count_spawned();
    let id = load(&mut app, "a.pkg", &[&["s.pkg"], others].concat());
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Failed));
    let mut events = app.world_mut().resource_mut::<Messages<InstanceEvent>>();
    let error = events.drain().find_map(|event| match event {
        InstanceEvent::Failed { error, .. } => Some(error.to_string()),
        _ => None,
    });
    assert_eq!(app.world().entities().count_spawned(), spawned);
    error.expect("a failure was told")
}

#[test]
fn a_shared_package_may_import_from_another() {
    let dir = Dir::default();
    let mut app = app(&dir);
    put(&dir, "a.pkg", chain(&app, "a.pkg", 3, Some("s.pkg")));
    put(&dir, "s.pkg", importing(&app, "s.pkg", "t.pkg", Mesh::type_path()));
    put(&dir, "t.pkg", shared_package(&app, "t.pkg"));
    let id = load(&mut app, "a.pkg", &["t.pkg", "s.pkg"]);
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Live));
    assert_eq!(app.world().resource::<Assets<Mesh>>().len(), 2);
}

#[test]
fn an_import_of_a_shared_package_that_is_not_there() {
    let error = fails(
        |app| importing(app, "s.pkg", "empty.pkg", Mesh::type_path()),
        &["empty.pkg"],
    );
    for part in ["s.pkg#Mesh", "`empty.pkg`", "no such object", "cook the world again"] {
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn an_import_of_a_shared_package_from_one_that_is_not_listed() {
    let error = fails(|app| importing(app, "s.pkg", "t.pkg", Mesh::type_path()), &[]);
    for part in [
        "s.pkg#Mesh",
        "`t.pkg`",
        "not among the dependencies",
        "cook the world again",
    ] {
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn an_import_of_another_type() {
    let error = fails(|app| importing(app, "s.pkg", "t.pkg", Skin::type_path()), &["t.pkg"]);
    for part in [
        "s.pkg#Mesh",
        "`t.pkg`",
        Skin::type_path(),
        Mesh::type_path(),
        "cook the world again",
    ] {
        assert!(error.contains(part), "{error}");
    }
}

/// What was read and never shown was read for nothing.
#[test]
fn bytes_that_nobody_saw_are_wasted() {
    let dir = Dir::default();
    let mut app = app(&dir);
    let bytes = chain(&app, "a.pkg", 3, None);
    let size = bytes.len() as u64;
    put(&dir, "a.pkg", bytes);
    let id = load(&mut app, "a.pkg", &[]);
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Staged));
    app.world_mut().resource_mut::<Streamer>().unload(id);
    run_until(&mut app, |world| state(world, id).is_none());
    let stats = app.world().resource::<StreamingStats>();
    assert_eq!((stats.bytes_read, stats.bytes_wasted), (size, size));

    let id = load(&mut app, "a.pkg", &[]);
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Live));
    app.world_mut().resource_mut::<Streamer>().unload(id);
    run_until(&mut app, |world| state(world, id).is_none());
    let stats = app.world().resource::<StreamingStats>();
    assert_eq!((stats.bytes_read, stats.bytes_wasted), (2 * size, size));
}
