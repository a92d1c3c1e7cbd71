//! Imports are checked in all packages of a level, and as what they are wanted.

use bevy_mesh::skinning::SkinnedMeshInverseBindposes as Skin;
use bevy_reflect::TypePath;
use seamless_package::{Limits, Package, SUMMARY_SIZE, Summary};

use super::*;
use crate::load::{
    closure::{Need, Reach},
    task::Wanted,
};

/// Checksums made right again, as a forger would.
#[path = "../../../../seamless_package/tests/replay/bodies/seal.rs"]
mod seal;

use seal::reseal_tables;

/// A package with a mesh of its own that also imports `Mesh` of `from`, as an object of type `type_path`.
pub(super) fn importing(app: &App, name: &str, from: &str, type_path: &str) -> Vec<u8> {
    let mut writer = new_package(app, name);
    mesh_object(&mut writer, app, None);
    writer.import(from, "Mesh", type_path, Role::ALL).unwrap();
    writer.finish().unwrap()
}

/// Loads a level that shares `s.pkg`, which is `shared`, and gives the error: the same, whenever imports are verified.
fn fails(shared: impl Fn(&App) -> Vec<u8>) -> String {
    let [now, deferred] = [Verify::Now, Verify::Deferred].map(|verify| fails_with(&shared, verify));
    assert_eq!(now, deferred);
    now
}

fn fails_with(shared: impl Fn(&App) -> Vec<u8>, verify: Verify) -> String {
    let dir = Dir::default();
    let mut app = app(&dir);
    put(&dir, "a.pkg", chain(&app, "a.pkg", 3, Some("s.pkg")));
    put(&dir, "s.pkg", shared(&app));
    put(&dir, "t.pkg", shared_package(&app, "t.pkg"));
    put(&dir, "empty.pkg", new_package(&app, "empty.pkg").finish().unwrap());
    let spawned = app.world().entities().count_spawned();
    let request = InstanceRequest {
        verify,
        ..request("a.pkg", &["s.pkg"])
    };
    let id = app.world_mut().resource_mut::<Streamer>().load(request);
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Failed));
    let mut events = app.world_mut().resource_mut::<Messages<InstanceEvent>>();
    let error = events.drain().find_map(|event| match event {
        InstanceEvent::Failed { error, .. } => Some(root_cause(&error)),
        _ => None,
    });
    assert_eq!(app.world().entities().count_spawned(), spawned);
    error.expect("a failure was told")
}

/// A level says that the package it needs failed, and why.
fn root_cause(error: &crate::LoadError) -> String {
    match &error.kind {
        LoadErrorKind::Dependency { message, .. } => message.clone(),
        _ => error.to_string(),
    }
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
    let error = fails(|app| importing(app, "s.pkg", "empty.pkg", Mesh::type_path()));
    for part in ["s.pkg#Mesh", "`empty.pkg`", "no such object", "cook the world again"] {
        assert!(error.contains(part), "{error}");
    }
}

/// The tables of a package that was written over have what nobody has loaded, and never will if it is not loaded anew.
#[test]
fn an_import_that_only_the_newer_file_has() {
    for verify in [Verify::Now, Verify::Deferred] {
        let dir = Dir::default();
        let mut app = app(&dir);
        put(&dir, "s.pkg", new_package(&app, "s.pkg").finish().unwrap());
        put(&dir, "a.pkg", chain(&app, "a.pkg", 3, None));
        let user = load(&mut app, "a.pkg", &["s.pkg"]);
        run_until(&mut app, |world| state(world, user) == Some(LoadState::Live));
        app.world()
            .resource::<crate::LinkersResource>()
            .0
            .reset(&AssetPath::parse("s.pkg"));
        put(&dir, "s.pkg", shared_package(&app, "s.pkg"));
        put(&dir, "b.pkg", chain(&app, "b.pkg", 4, Some("s.pkg")));
        let request = InstanceRequest {
            verify,
            ..request("b.pkg", &["s.pkg"])
        };
        let newer = app.world_mut().resource_mut::<Streamer>().load(request);
        run_until(&mut app, |world| state(world, newer) == Some(LoadState::Failed));
        assert!(matches!(error_of(&mut app, newer), LoadErrorKind::MissingImport { .. }));
        assert_eq!(level_entities(app.world_mut()), 3);
    }
}

/// One bad version of a file is its own fault, and not that of the versions before and after it.
#[test]
fn a_file_that_was_mended_comes_beside_its_older_version() {
    for is_sliced in [false, true] {
        let dir = Dir::default();
        let mut app = if is_sliced { sliced_app(&dir) } else { app(&dir) };
        // So small that levels come in slices.
        app.world_mut().resource_mut::<StreamingSettings>().budget = Duration::ZERO;
        put(&dir, "s.pkg", new_package(&app, "s.pkg").finish().unwrap());
        let mut placed = |name, count, shared, end| {
            put(&dir, name, chain(&app, name, count, shared));
            let request = InstanceRequest {
                verify: Verify::Deferred,
                ..request(
                    name,
                    if name == "b.pkg" {
                        &["s.pkg", "a.pkg"]
                    } else {
                        &["s.pkg"]
                    },
                )
            };
            let id = app.world_mut().resource_mut::<Streamer>().load(request);
            run_until(&mut app, |world| state(world, id) == Some(end));
            level_entities(app.world_mut())
        };
        assert_eq!(placed("a.pkg", 300, None, LoadState::Live), 300);
        let after_bad = placed("a.pkg", 400, Some("s.pkg"), LoadState::Failed);
        assert_eq!(after_bad, 300, "it has no mesh");
        assert_eq!(placed("a.pkg", 500, None, LoadState::Live), 300 + 500);
        assert_eq!(placed("a.pkg", 300, None, LoadState::Live), 300 + 500 + 300);
        // Nor is it that of others who need the package.
        let with_user = placed("b.pkg", 200, Some("a.pkg"), LoadState::Live);
        assert_eq!(with_user, 300 + 500 + 300 + 200);
    }
}

/// What the request lists is known beforehand; the rest is found on the way.
#[test]
fn packages_that_are_not_listed_are_found() {
    for verify in [Verify::Now, Verify::Deferred] {
        let dir = Dir::default();
        let mut app = app(&dir);
        put(&dir, "a.pkg", chain(&app, "a.pkg", 3, Some("s.pkg")));
        put(&dir, "s.pkg", importing(&app, "s.pkg", "t.pkg", Mesh::type_path()));
        put(&dir, "t.pkg", shared_package(&app, "t.pkg"));
        let request = InstanceRequest {
            verify,
            ..request("a.pkg", &[])
        };
        let first = app.world_mut().resource_mut::<Streamer>().load(request.clone());
        run_until(&mut app, |world| state(world, first) == Some(LoadState::Live));
        assert_eq!(app.world().resource::<Assets<Mesh>>().len(), 2);
        // The second comes to packages that are there, and needs them as much.
        let second = app.world_mut().resource_mut::<Streamer>().load(request);
        run_until(&mut app, |world| state(world, second) == Some(LoadState::Live));
        app.world_mut().resource_mut::<Streamer>().unload(first);
        run_until(&mut app, |world| state(world, first).is_none());
        app.update();
        assert_eq!(app.world().resource::<Assets<Mesh>>().len(), 2);
        app.world_mut().resource_mut::<Streamer>().unload(second);
        run_until(&mut app, |world| world.resource::<Assets<Mesh>>().is_empty());
    }
}

#[test]
fn an_import_from_a_package_without_a_file() {
    for verify in [Verify::Now, Verify::Deferred] {
        let error = fails_with(|app| importing(app, "s.pkg", "gone.pkg", Mesh::type_path()), verify);
        for part in ["gone.pkg", "cannot be read", "is the world cooked"] {
            assert!(error.contains(part), "{error}");
        }
    }
}

/// A request that verifies now finds what one that does not has let pass.
#[test]
fn the_strictest_request_wins() {
    let dir = Dir::default();
    let mut app = app(&dir);
    put(&dir, "a.pkg", chain(&app, "a.pkg", 3, Some("s.pkg")));
    put(&dir, "s.pkg", importing(&app, "s.pkg", "empty.pkg", Mesh::type_path()));
    put(&dir, "empty.pkg", new_package(&app, "empty.pkg").finish().unwrap());
    let ids = [Verify::Deferred, Verify::Now].map(|verify| {
        let request = InstanceRequest {
            verify,
            ..request("a.pkg", &["s.pkg"])
        };
        app.world_mut().resource_mut::<Streamer>().load(request)
    });
    run_until(&mut app, |world| {
        ids.iter().all(|id| state(world, *id) == Some(LoadState::Failed))
    });
    assert_eq!(level_entities(app.world_mut()), 0);
}

#[test]
fn an_import_of_another_type() {
    let error = fails(|app| importing(app, "s.pkg", "t.pkg", Skin::type_path()));
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

/// What a load of a package's assets needs of others.
fn needs_of(file: Vec<u8>) -> Vec<Need> {
    let package = Package::parse(file, &Limits::default()).unwrap();
    let linker = crate::Linker::open("a.pkg".into(), package, &Codecs::default()).unwrap();
    let reach = Reach::of(linker.package(), &Wanted::Assets, Role::ALL, &Default::default());
    let Ok(reach) = reach else {
        panic!("everything is there")
    };
    reach.needs(&linker)
}

fn objects(need: &Need) -> Vec<&str> {
    need.objects.iter().map(|object| &**object).collect()
}

#[test]
fn imports_from_many_packages_are_gathered_by_package() {
    const PACKAGES: usize = 20_000;
    let mut writer = old_package("a.pkg");
    let name = |number| format!("kit/{number:06}.pkg");
    for number in 0..PACKAGES {
        let object = if number < PACKAGES / 2 { "Mesh" } else { "Stone" };
        writer.import(&name(number), object, "game::Stone", Role::ALL).unwrap();
    }
    writer.import(&name(7), "Tree", "game::Tree", Role::ALL).unwrap();
    let needs = needs_of(writer.finish().unwrap());
    assert_eq!(needs.len(), PACKAGES);
    assert_eq!(needs[7].path, AssetPath::parse(&name(7)).into_owned());
    assert_eq!(objects(&needs[7]), ["Mesh", "Tree"]);
    assert_eq!(objects(&needs[PACKAGES - 1]), ["Stone"]);
}

/// Another writer may have put a path into the name table twice.
#[test]
fn a_package_is_one_under_two_names_of_one_text() {
    const IMPORT_SIZE: usize = 24;
    let mut writer = old_package("a.pkg");
    for (package, object) in [("kit/a.pkg", "Mesh"), ("kit/b.pkg", "Tree")] {
        writer.import(package, object, "game::Tree", Role::ALL).unwrap();
    }
    let mut file = writer.finish().unwrap();
    assert_eq!(needs_of(file.clone()).len(), 2);
    let summary = Summary::parse(&file, &Limits::default()).unwrap();
    replace(&mut file, b"kit/b.pkg", b"kit/a.pkg");
    let [before, tree] = ["kit/b.pkg", "kit/a.pkg"].map(|package| ObjectId::new(package, "Tree"));
    replace(&mut file, &before.0.to_le_bytes(), &tree.0.to_le_bytes());
    // The imports' order by id.
    let order = match ObjectId::new("kit/a.pkg", "Mesh") < tree {
        true => [0, 1],
        false => [1, 0_u32],
    };
    let order_at = summary.imports_offset as usize + order.len() * IMPORT_SIZE;
    for (slot, index) in file[order_at..].chunks_exact_mut(4).zip(order) {
        slot.copy_from_slice(&index.to_le_bytes());
    }
    reseal_tables(&mut file, &summary);
    let needs = needs_of(file);
    let found: Vec<_> = needs
        .iter()
        .map(|need| (need.path.to_string(), objects(need)))
        .collect();
    assert_eq!(found, [("kit/a.pkg".to_owned(), vec!["Mesh", "Tree"])]);
}

/// Overwrites the one place where the file has these bytes.
fn replace(file: &mut [u8], old: &[u8], new: &[u8]) {
    let mut places = (0..file.len()).filter(|at| file[*at..].starts_with(old));
    let (at, None) = (places.next().unwrap(), places.next()) else {
        panic!("more than one place");
    };
    file[at..at + new.len()].copy_from_slice(new);
}
