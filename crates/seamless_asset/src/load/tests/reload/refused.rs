//! Reloads that come to nothing, and what they leave as it was.

use bevy_reflect::TypePath;

use super::*;
use crate::{
    Linkers, LinkersResource, ObjectRequest,
    doubles::Fate,
    load::tests::{complete::Counted, gated::gated_app_with, imports::importing},
};

fn linkers(app: &App) -> Linkers {
    app.world().resource::<LinkersResource>().0.clone()
}

#[test]
fn a_package_that_is_being_loaded() {
    let dir = Dir::default();
    let mut app = app_with(&dir, game);
    put(&dir, "a.pkg", Content::labelled(3).package(&app, "a.pkg"));
    app.world_mut().resource_mut::<RevealGates>().0.push(Box::new(Closed));
    app.world_mut().resource_mut::<StreamingSettings>().gate_deadline_frames = u32::MAX;
    let id = load(&mut app, "a.pkg", &[]);
    for _ in 0..3 {
        let refused = start(&mut app, ReloadPolicy::KeepEdits);
        app.update();
        assert!(matches!(error(&refused), LoadErrorKind::Loading), "{refused:?}");
    }
    app.world_mut().resource_mut::<Streamer>().unload(id);
    run_until(&mut app, |world| state(world, id).is_none());
    // Objects, too.
    let objects = ObjectRequest::new(["a.pkg#nothing"]);
    let objects = app.world_mut().resource_mut::<Streamer>().load_objects(objects);
    let refused = start(&mut app, ReloadPolicy::KeepEdits);
    app.update();
    assert!(matches!(error(&refused), LoadErrorKind::Loading));
    run_until(&mut app, |_| objects.is_finished());
}

#[test]
fn a_package_that_is_being_reloaded() {
    let dir = Dir::default();
    let (mut app, ..) = live(&dir, &Content::labelled(3));
    let first = start(&mut app, ReloadPolicy::KeepEdits);
    let second = start(&mut app, ReloadPolicy::KeepEdits);
    end(&mut app, &first);
    assert!(matches!(error(&second), LoadErrorKind::Loading));
    assert!(first.result().unwrap().is_ok());
}

#[test]
fn a_package_that_is_not_loaded() {
    let dir = Dir::default();
    let (mut app, id, _) = live(&dir, &Content::labelled(3));
    app.world_mut().resource_mut::<Streamer>().unload(id);
    run_until(&mut app, |world| state(world, id).is_none());
    let gone = start(&mut app, ReloadPolicy::KeepEdits);
    end(&mut app, &gone);
    assert!(matches!(error(&gone), LoadErrorKind::NotLoaded));
    let never = app
        .world_mut()
        .resource_mut::<Streamer>()
        .reload(ReloadRequest::new("never.pkg"));
    app.update();
    let message = never.result().unwrap().unwrap_err().to_string();
    assert_eq!(
        message,
        "never.pkg: is not loaded, so there is nothing to reload; load it"
    );
    let read = app.world().resource::<StreamingStats>().bytes_read;
    app.update();
    assert_eq!(
        app.world().resource::<StreamingStats>().bytes_read,
        read,
        "the disk was not touched"
    );
}

/// Whatever is wrong with the new file, the world stays as it is, and so do the tables.
#[test]
fn a_file_that_cannot_be_loaded() {
    let dir = Dir::default();
    let content = Content::labelled(4);
    let (mut app, _, root) = live(&dir, &content);
    let before = picture(app.world_mut(), root, "a.pkg");
    let linker = linkers(&app).find(&AssetPath::parse("a.pkg"));
    let mut other = content.clone();
    other.thing(1).label = Some("another".into());
    let good = other.package(&app, "a.pkg");
    let mut damaged = good.clone();
    let last = damaged.len() - 3;
    damaged[last] ^= 1;
    let no_level = shared_package(&app, "a.pkg");
    let dangling = chain(&app, "a.pkg", 3, Some("nowhere.pkg"));
    for bad in [good[..40].to_vec(), damaged, no_level, dangling] {
        put(&dir, "a.pkg", bad);
        for verify in [Verify::Now, Verify::Deferred] {
            let request = ReloadRequest {
                verify,
                ..ReloadRequest::new("a.pkg")
            };
            let reload = app.world_mut().resource_mut::<Streamer>().reload(request);
            end(&mut app, &reload);
            assert!(reload.result().unwrap().is_err());
            assert_eq!(picture(app.world_mut(), root, "a.pkg"), before);
            let found = linkers(&app).find(&AssetPath::parse("a.pkg"));
            assert!(
                found
                    .zip(linker.clone())
                    .is_some_and(|(a, b)| std::sync::Arc::ptr_eq(&a, &b))
            );
        }
    }
    put(&dir, "a.pkg", good);
    let reload = start(&mut app, ReloadPolicy::KeepEdits);
    end(&mut app, &reload);
    assert_eq!(label(&app, thing(&app, root, 1)).as_deref(), Some("another"));
    assert_eq!(app.world().resource::<StreamingStats>().failed, 8);
}

#[test]
fn what_nobody_waits_for_is_cancelled() {
    let dir = Dir::default();
    let mut content = Content::labelled(30);
    let (mut app, _, root) = live(&dir, &content);
    app.update();
    let before = taken_ids(app.world_mut());
    app.world_mut().resource_mut::<RevealGates>().0.push(Box::new(Closed));
    app.world_mut().resource_mut::<StreamingSettings>().gate_deadline_frames = u32::MAX;
    for number in 0..200 {
        content.thing(number).label = Some("new".into());
    }
    put(&dir, "a.pkg", content.package(&app, "a.pkg"));
    for round in 0..50 {
        // Each stage is hit.
        let reload = start(&mut app, ReloadPolicy::KeepEdits);
        for _ in 0..=round % 4 {
            app.update();
            std::thread::sleep(Duration::from_micros(round % 5 * 200));
        }
        drop(reload);
        app.update();
    }
    let stats = app.world().resource::<StreamingStats>();
    assert_eq!((stats.reloaded, stats.cancelled), (0, 50));
    assert_eq!(label(&app, thing(&app, root, 0)).as_deref(), Some("0"));
    let linkers = linkers(&app);
    run_until(&mut app, |_| linkers.find(&AssetPath::parse("a.pkg")).is_some());
    assert_ids_are_back(&mut app, before);
}

/// Gates have let go of what it brings when they opened, and others may wait for the same.
#[test]
fn a_reload_that_waits_behind_open_gates_takes_them_from_nobody() {
    let dir = Dir::default();
    let (mut app, gate) = gated_app_with(&dir, |_| {});
    gate.otherwise(Some(Fate::Pass));
    put(&dir, "a.pkg", new_package(&app, "a.pkg").finish().unwrap());
    put(&dir, "b.pkg", chain(&app, "b.pkg", 3, None));
    let user = load(&mut app, "b.pkg", &["a.pkg"]);
    run_until(&mut app, |world| state(world, user) == Some(LoadState::Live));
    let counted = Counted::default();
    *counted.is_open.lock().unwrap() = true;
    app.world_mut().resource_mut::<RevealGates>().0.push(Box::new(counted));
    // It comes with a mesh, and waits for a package that never comes.
    put(&dir, "a.pkg", importing(&app, "a.pkg", "t.pkg", Mesh::type_path()));
    put(&dir, "t.pkg", shared_package(&app, "t.pkg"));
    gate.script("t.pkg", 0, Fate::Stall);
    let request = ReloadRequest {
        verify: Verify::Deferred,
        ..ReloadRequest::new("a.pkg")
    };
    let reload = app.world_mut().resource_mut::<Streamer>().reload(request);
    run_until(&mut app, |world| {
        world.resource::<Assets<Mesh>>().len() == 2 && !gate.stalled().is_empty()
    });
    for _ in 0..3 {
        app.update();
    }
    assert!(!reload.is_finished());
    drop(reload);
    // The gate panics where it is to forget what it does not watch.
    app.update();
    run_until(&mut app, |world| world.resource::<Assets<Mesh>>().len() == 1);
}
