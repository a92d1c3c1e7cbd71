//! Levels with copies of all that they import: one file, front to back, and nothing twice in memory.

use bevy_asset::AssetId;

use super::{
    build::{chain_with_lone_copy, seek_free_chain},
    counting::{FileRead, counting_app},
    objects::{ask, finish},
    *,
};
use crate::ObjectRequest;

fn is_live(app: &mut App, id: InstanceId) {
    run_until(app, |world| state(world, id) == Some(LoadState::Live));
}

fn leave(app: &mut App, id: InstanceId) {
    app.world_mut().resource_mut::<Streamer>().unload(id);
    run_until(app, |world| state(world, id).is_none());
}

fn meshes(app: &App) -> usize {
    app.world().resource::<Assets<Mesh>>().len()
}

/// The meshes that entities show, each once; all have a value.
fn shown(app: &mut App) -> Vec<UntypedAssetId> {
    let world = app.world_mut();
    let mut query = world.query::<&Mesh3d>();
    let mut ids: Vec<_> = query.iter(world).map(|mesh| mesh.0.id()).collect();
    ids.sort_unstable();
    ids.dedup();
    let assets = world.resource::<Assets<Mesh>>();
    assert!(ids.iter().all(|id| assets.contains(*id)));
    ids.into_iter().map(AssetId::untyped).collect()
}

#[test]
fn a_level_is_read_from_one_file_front_to_back() {
    for can_seek in [true, false] {
        for verify in [Verify::Now, Verify::Deferred] {
            let dir = Dir::default();
            let (mut app, log) = counting_app(&dir, can_seek, |_| {});
            let original = shared_package(&app, "s.pkg");
            let level = seek_free_chain(&app, "a.pkg", 5, &original);
            let length = level.len() as u64;
            put(&dir, "s.pkg", original);
            put(&dir, "a.pkg", level);
            let request = InstanceRequest {
                verify,
                ..request("a.pkg", &[])
            };
            let id = app.world_mut().resource_mut::<Streamer>().load(request);
            is_live(&mut app, id);
            assert_eq!(log.opened(), ["a.pkg"], "no other file is opened");
            let whole = FileRead {
                path: "a.pkg".into(),
                offset: 0,
                length,
            };
            assert_eq!(log.reads(), [whole], "each byte once, in order");
            assert_eq!(log.seeks(), 0);
            assert_eq!(app.world().resource::<StreamingStats>().bytes_read, length);
            assert_eq!((level_entities(app.world_mut()), meshes(&app)), (5, 1));
            assert_eq!(shown(&mut app).len(), 1);
            leave(&mut app, id);
            run_until(&mut app, |world| world.resource::<Assets<Mesh>>().is_empty());
            run_until(&mut app, |world| world.resource::<LiveObjectsResource>().0.is_empty());
        }
    }
}

/// The objects of the original package and their copies are the same, whoever comes first.
#[test]
fn copies_are_shared_with_their_originals() {
    for original_first in [true, false] {
        let dir = Dir::default();
        let mut app = app(&dir);
        let original = shared_package(&app, "s.pkg");
        put(&dir, "a.pkg", seek_free_chain(&app, "a.pkg", 3, &original));
        put(&dir, "b.pkg", seek_free_chain(&app, "b.pkg", 4, &original));
        put(&dir, "c.pkg", chain(&app, "c.pkg", 2, Some("s.pkg")));
        put(&dir, "s.pkg", original);
        let object = ObjectRequest::new(["s.pkg#Mesh"]);
        let before = original_first.then(|| ask(&mut app, object.clone()));
        if let Some(before) = &before {
            finish(&mut app, before);
        }
        let a = load(&mut app, "a.pkg", &[]);
        is_live(&mut app, a);
        let others = ["b.pkg", "c.pkg"].map(|package| load(&mut app, package, &[]));
        let object = before.unwrap_or_else(|| ask(&mut app, object));
        finish(&mut app, &object);
        for id in others {
            is_live(&mut app, id);
        }
        assert_eq!(meshes(&app), 1, "it is in memory once");
        let [mesh] = object.result().unwrap().unwrap() else {
            panic!("{object:?}")
        };
        assert_eq!(shown(&mut app), [mesh.id()]);
        // The last user takes it along, whoever read it.
        drop(object);
        leave(&mut app, a);
        assert_eq!(shown(&mut app).len(), 1);
        for id in others {
            leave(&mut app, id);
        }
        run_until(&mut app, |world| world.resource::<Assets<Mesh>>().is_empty());
    }
}

/// Whoever asks for it by its name finds it, as long as the package is in use.
#[test]
fn a_copy_that_nothing_refers_to_is_kept() {
    let dir = Dir::default();
    let (mut app, log) = counting_app(&dir, true, |_| {});
    let original = shared_package(&app, "s.pkg");
    put(&dir, "a.pkg", chain_with_lone_copy(&app, "a.pkg", 3, &original));
    put(&dir, "s.pkg", original);
    let id = load(&mut app, "a.pkg", &[]);
    is_live(&mut app, id);
    for _ in 0..10 {
        app.update();
    }
    assert_eq!((shown(&mut app).len(), meshes(&app)), (1, 2));
    let object = ask(&mut app, ObjectRequest::new(["s.pkg#Mesh"]));
    finish(&mut app, &object);
    assert_eq!(log.opened(), ["a.pkg"]);
    drop(object);
    leave(&mut app, id);
    run_until(&mut app, |world| world.resource::<Assets<Mesh>>().is_empty());
}

/// Nothing but its users keeps a copy alive, so a later instance may have to bring it again.
#[test]
fn a_later_instance_brings_the_copies_again() {
    for first_stays in [true, false] {
        let dir = Dir::default();
        let (mut app, log) = counting_app(&dir, true, |_| {});
        let original = shared_package(&app, "s.pkg");
        put(&dir, "a.pkg", seek_free_chain(&app, "a.pkg", 3, &original));
        let first = load(&mut app, "a.pkg", &[]);
        is_live(&mut app, first);
        if first_stays {
            let world = app.world_mut();
            let entities: Vec<_> = world.query_filtered::<Entity, With<Mesh3d>>().iter(world).collect();
            for entity in entities {
                world.entity_mut(entity).remove::<Mesh3d>();
            }
        } else {
            leave(&mut app, first);
        }
        run_until(&mut app, |world| world.resource::<Assets<Mesh>>().is_empty());
        log.clear();
        let second = load(&mut app, "a.pkg", &[]);
        is_live(&mut app, second);
        assert_eq!((shown(&mut app).len(), meshes(&app)), (1, 1));
        assert_eq!(log.opened(), ["a.pkg"]);
        assert_eq!(log.seeks_back(), []);
        // A third shares what the second brought.
        let third = load(&mut app, "a.pkg", &[]);
        is_live(&mut app, third);
        assert_eq!((shown(&mut app).len(), meshes(&app)), (1, 1));
    }
}
