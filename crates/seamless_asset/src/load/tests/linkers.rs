//! Open packages: one linker each, found by name, dropped when nobody needs it.

use super::*;
use crate::{Linkers, LinkersResource, NameError, Verify, load::Pipeline};

fn linkers(app: &App) -> Linkers {
    app.world().resource::<LinkersResource>().0.clone()
}

fn path(path: &str) -> AssetPath<'static> {
    AssetPath::parse(path).into_owned()
}

#[test]
fn a_package_in_use_has_one_linker() {
    let dir = Dir::default();
    let mut app = app(&dir);
    put(&dir, "world/a.pkg", chain(&app, "a.pkg", 3, None));
    let ids = [load(&mut app, "world/a.pkg", &[]), load(&mut app, "world/a.pkg", &[])];
    run_until(&mut app, |world| {
        ids.iter().all(|id| state(world, *id) == Some(LoadState::Live))
    });
    let linkers = linkers(&app);
    assert_eq!(linkers.len(), 1);
    let linker = linkers.find(&path("world/a.pkg")).unwrap();
    assert_eq!(linker.path(), &path("world/a.pkg"));
    assert_eq!(linker.package().name(), "a.pkg");
    assert_eq!(
        linker.type_of(ObjectId::new("a.pkg", "Mesh")),
        Some(<Mesh as bevy_reflect::TypePath>::type_path())
    );
    drop(linker);
    for id in ids {
        app.world_mut().resource_mut::<Streamer>().unload(id);
    }
    run_until(&mut app, |_| linkers.is_empty());
}

#[test]
fn partly_qualified_names() {
    let dir = Dir::default();
    let mut app = app(&dir);
    for name in ["world/a.pkg", "old/a.pkg", "world/b.pkg"] {
        put(&dir, name, chain(&app, name, 1, None));
        load(&mut app, name, &[]);
    }
    let linkers = linkers(&app);
    run_until(&mut app, |_| linkers.len() == 3);
    assert_eq!(linkers.resolve("world/a.pkg"), Ok(path("world/a.pkg")));
    assert_eq!(linkers.resolve("old/a"), Ok(path("old/a.pkg")));
    assert_eq!(linkers.resolve("b"), Ok(path("world/b.pkg")));
    assert_eq!(linkers.resolve("b#Mesh"), Ok(path("world/b.pkg")));
    // With its ending it is the whole path, whatever is open.
    assert_eq!(linkers.resolve("b.pkg#Mesh"), Ok(path("b.pkg")));
    assert_eq!(linkers.resolve("a.pkg"), Ok(path("a.pkg")));
    assert_eq!(linkers.resolve("new/c"), Ok(path("new/c.pkg")));
    let error = linkers.resolve("a").unwrap_err().to_string();
    for part in ["`a`", "`world/a.pkg`", "`old/a.pkg`", "write more of its path"] {
        assert!(error.contains(part), "{error}");
    }
    for name in ["", "#Mesh", "://x#Mesh", "world/.."] {
        let error = linkers.resolve(name).unwrap_err();
        assert!(matches!(error, NameError::Malformed { .. }), "{error}");
        assert!(error.to_string().contains("dir/file.pkg"), "{error}");
    }
}

/// Names come from files: whatever they are, they lead somewhere.
#[test]
fn names_of_siblings_are_paths_as_they_stand() {
    let dir = Dir::default();
    let mut app = app(&dir);
    put(&dir, "world/a.pkg", chain(&app, "a.pkg", 1, None));
    let id = load(&mut app, "world/a.pkg", &[]);
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Live));
    let linker = linkers(&app).find(&path("world/a.pkg")).unwrap();
    for name in ["s#1.pkg", "://x", "a://b.pkg"] {
        let sibling = linker.sibling(name);
        assert_eq!(sibling.path(), Path::new("world").join(name));
        assert_eq!(sibling.label(), None);
    }
}

/// Whoever imports from another package of the cook finds it beside itself, wherever the cook was put.
#[test]
fn imports_are_found_beside_their_importer() {
    let dir = Dir::default();
    let mut app = app(&dir);
    put(
        &dir,
        "deep/world/levels/a.pkg",
        chain(&app, "levels/a.pkg", 2, Some("kit/s.pkg")),
    );
    put(&dir, "deep/world/kit/s.pkg", shared_package(&app, "kit/s.pkg"));
    let id = load(&mut app, "deep/world/levels/a.pkg", &[]);
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Live));
    assert!(linkers(&app).find(&path("deep/world/kit/s.pkg")).is_some());
}

/// As consoles do it: nothing that is live needs its linker.
#[test]
fn linkers_can_be_dropped_after_the_load() {
    let dir = Dir::default();
    let plugin = SeamlessAssetPlugin {
        keep_linkers: false,
        ..SeamlessAssetPlugin::default()
    };
    let mut app = app_after(&dir, plugin, |_| {});
    put(&dir, "s.pkg", shared_package(&app, "s.pkg"));
    put(&dir, "a.pkg", chain(&app, "a.pkg", 3, Some("s.pkg")));
    let id = load(&mut app, "a.pkg", &["s.pkg"]);
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Live));
    let linkers = linkers(&app);
    run_until(&mut app, |_| linkers.is_empty());
    let second = load(&mut app, "a.pkg", &["s.pkg"]);
    run_until(&mut app, |world| state(world, second) == Some(LoadState::Live));
    run_until(&mut app, |_| linkers.is_empty());
    assert_eq!(app.world().resource::<Assets<Mesh>>().len(), 1);
    assert_eq!(level_entities(app.world_mut()), 6);
    for id in [id, second] {
        app.world_mut().resource_mut::<Streamer>().unload(id);
    }
    run_until(&mut app, |world| world.resource::<Assets<Mesh>>().is_empty());
}

/// Tables alone: nothing of the package is decoded.
#[test]
fn a_package_can_be_opened_without_its_objects() {
    let dir = Dir::default();
    let mut app = app(&dir);
    put(&dir, "a.pkg", chain(&app, "a.pkg", 3, None));
    let open = |app: &mut App, name: &str| {
        app.world_mut().resource_mut::<Streamer>().open(crate::OpenRequest {
            package: path(name),
            priority: 1.0,
        })
    };
    let opens = [open(&mut app, "a.pkg"), open(&mut app, "none.pkg")];
    drop(open(&mut app, "a.pkg"));
    run_until(&mut app, |_| opens.iter().all(|open| open.result().is_some()));
    let linker = opens[0].result().unwrap().unwrap();
    assert!(linker.package().find_name("Mesh").is_some());
    assert!(app.world().resource::<LiveObjectsResource>().0.is_empty());
    let error = opens[1].result().unwrap().unwrap_err();
    assert!(
        matches!(error.kind, LoadErrorKind::Io(_)) && error.package == "none.pkg",
        "{error}"
    );
    assert_eq!(app.world().resource::<StreamingStats>().failed, 1);
    drop(opens);
    run_until(&mut app, |world| world.resource::<LinkersResource>().0.is_empty());
}

/// The file was written over: what is live stays, the next load reads the new one.
#[test]
fn a_reset_linker_is_opened_anew() {
    let dir = Dir::default();
    let mut app = app(&dir);
    put(&dir, "a.pkg", chain(&app, "a.pkg", 3, None));
    let first = load(&mut app, "a.pkg", &[]);
    run_until(&mut app, |world| state(world, first) == Some(LoadState::Live));
    let linkers = linkers(&app);
    linkers.reset(&path("a.pkg"));
    assert!(linkers.find(&path("a.pkg")).is_none());
    assert_eq!(level_entities(app.world_mut()), 3);
    put(&dir, "a.pkg", chain(&app, "a.pkg", 5, None));
    let second = load(&mut app, "a.pkg", &[]);
    run_until(&mut app, |world| state(world, second) == Some(LoadState::Live));
    assert_eq!(level_entities(app.world_mut()), 3 + 5);
}

/// A house that stands in a hundred places over the hours, beside one that is always there.
#[test]
fn a_package_holds_no_more_for_each_of_its_instances() {
    for verify in [Verify::Now, Verify::Deferred] {
        let dir = Dir::default();
        let mut app = app(&dir);
        put(&dir, "s.pkg", shared_package(&app, "s.pkg"));
        put(&dir, "a.pkg", chain(&app, "a.pkg", 3, Some("s.pkg")));
        let place = |app: &mut App| {
            let request = InstanceRequest {
                verify,
                ..request("a.pkg", &["s.pkg"])
            };
            let id = app.world_mut().resource_mut::<Streamer>().load(request);
            run_until(app, |world| state(world, id) == Some(LoadState::Live));
            id
        };
        let held = |app: &App| app.world().resource::<Pipeline>().held_by(&path("a.pkg"));
        place(&mut app);
        let first = place(&mut app);
        let before = held(&app);
        app.world_mut().resource_mut::<Streamer>().unload(first);
        for _ in 0..20 {
            let id = place(&mut app);
            app.world_mut().resource_mut::<Streamer>().unload(id);
            run_until(&mut app, |world| state(world, id).is_none());
        }
        assert_eq!(held(&app), before);
    }
}
