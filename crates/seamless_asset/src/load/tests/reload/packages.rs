//! Several instances, other packages, and what comes or goes while a reload is under way.

use bevy_ecs::query::Allow;

use super::*;
use crate::{
    InHiddenLevel, LevelInstance, LinkersResource, LoadPolicy, ObjectRequest, StreamingTime, UnitKind,
    doubles::Fate,
    load::tests::{
        gated::gated_app_with,
        targets::{load_to, set_target},
    },
};

#[test]
fn all_instances_change_in_one_frame() {
    let dir = Dir::default();
    let mut content = Content::labelled(3);
    let (mut app, first, root) = live(&dir, &content);
    let second = load(&mut app, "a.pkg", &[]);
    let roots = [root, revealed(&mut app, second)];
    for number in 0..3 {
        content.thing(number).label = Some("new".into());
        content.thing(number).likes = Some(0);
    }
    put(&dir, "a.pkg", content.package(&app, "a.pkg"));
    let reload = start(&mut app, ReloadPolicy::KeepEdits);
    let mut seen = Vec::new();
    run_until(&mut app, |world| {
        let mut labels = world.query::<&Label>();
        seen.push(labels.iter(world).filter(|label| label.0 == "new").count());
        reload.is_finished()
    });
    assert!(seen.iter().all(|seen| [0, 6].contains(seen)), "{seen:?}");
    assert_eq!(reload.result().unwrap().unwrap().instances, [first, second]);
    for root in roots {
        assert_eq!(picture(app.world_mut(), root, "a.pkg"), fresh(&content));
    }
}

/// It takes its place before the reload, or comes with the new file; it is never half of each.
#[test]
fn a_load_that_comes_meanwhile_waits() {
    let dir = Dir::default();
    let mut content = Content::labelled(3);
    let (mut app, ..) = live(&dir, &content);
    content.thing(1).label = Some("new".into());
    put(&dir, "a.pkg", content.package(&app, "a.pkg"));
    let reload = start(&mut app, ReloadPolicy::KeepEdits);
    let id = load(&mut app, "a.pkg", &[]);
    run_until(&mut app, |world| {
        assert!(reload.is_finished() || state(world, id) == Some(LoadState::Requested));
        reload.is_finished()
    });
    let root = revealed(&mut app, id);
    assert_eq!(picture(app.world_mut(), root, "a.pkg"), fresh(&content));
}

/// It was read from the old file, and may rest for ever: neither is a reload refused for it, nor does it come as it was.
#[test]
fn a_level_that_rests_is_read_again() {
    for is_sliced in [false, true] {
        let dir = Dir::default();
        let mut content = Content::labelled(3);
        let mut app = if is_sliced {
            sliced_app(&dir)
        } else {
            app_with(&dir, |_| {})
        };
        game(&mut app);
        put(&dir, "a.pkg", content.package(&app, "a.pkg"));
        let live = load(&mut app, "a.pkg", &[]);
        let root = revealed(&mut app, live);
        let rests = load_to(&mut app, "a.pkg", InstanceTarget::Loaded);
        run_until(&mut app, |world| state(world, rests) == Some(LoadState::Staged));
        if is_sliced {
            // It rests half spawned.
            app.world_mut().resource_mut::<StreamingSettings>().budget = Duration::ZERO;
            set_target(&mut app, rests, InstanceTarget::Shown);
            run_until(&mut app, |world| state(world, rests) == Some(LoadState::Revealing));
            set_target(&mut app, rests, InstanceTarget::Loaded);
        }
        content.thing(1).label = Some("new".into());
        let report = reload(&mut app, &dir, &content, ReloadPolicy::KeepEdits);
        assert_eq!((report.instances, report.components_written), (vec![live], 1));
        run_until(&mut app, |world| state(world, rests) == Some(LoadState::Staged));
        set_target(&mut app, rests, InstanceTarget::Shown);
        let rested = revealed(&mut app, rests);
        for root in [root, rested] {
            assert_eq!(picture(app.world_mut(), root, "a.pkg"), fresh(&content));
        }
        run_until(&mut app, |world| {
            world.resource::<StreamingStats>().hidden_entities == 0
        });
        // Of one that is to be shown after all while the new file is read, too.
        set_target(&mut app, rests, InstanceTarget::Gone);
        run_until(&mut app, |world| state(world, rests).is_none());
        let rests = load_to(&mut app, "a.pkg", InstanceTarget::Loaded);
        run_until(&mut app, |world| state(world, rests) == Some(LoadState::Staged));
        content.thing(0).label = Some("newer".into());
        put(&dir, "a.pkg", content.package(&app, "a.pkg"));
        let reload = start(&mut app, ReloadPolicy::KeepEdits);
        set_target(&mut app, rests, InstanceTarget::Shown);
        end(&mut app, &reload);
        assert!(reload.result().unwrap().is_ok());
        run_until(&mut app, |world| state(world, rests) == Some(LoadState::Live));
        let world = app.world_mut();
        let mut roots = world.query_filtered::<Entity, With<LevelInstance>>();
        let roots: Vec<_> = roots.iter(world).collect();
        assert_eq!(roots.len(), 2);
        for root in roots {
            assert_eq!(picture(app.world_mut(), root, "a.pkg"), fresh(&content));
        }
    }
}

#[test]
fn a_level_that_leaves_meanwhile() {
    let dir = Dir::default();
    let content = Content::labelled(3);
    let (mut app, first, _) = live(&dir, &content);
    let second = load(&mut app, "a.pkg", &[]);
    let root = revealed(&mut app, second);
    let reload = start(&mut app, ReloadPolicy::KeepEdits);
    app.world_mut().resource_mut::<Streamer>().unload(first);
    end(&mut app, &reload);
    assert!(reload.result().unwrap().is_ok());
    assert_eq!(picture(app.world_mut(), root, "a.pkg"), fresh(&content));
    // The last one.
    let reload = start(&mut app, ReloadPolicy::KeepEdits);
    app.world_mut().resource_mut::<Streamer>().unload(second);
    end(&mut app, &reload);
    assert!(matches!(error(&reload), LoadErrorKind::NotLoaded), "{reload:?}");
    run_until(&mut app, |world| world.resource::<Streamer>().is_empty());
    assert_eq!(app.world_mut().query::<&Label>().iter(app.world()).count(), 0);
    run_until(&mut app, |world| world.resource::<LiveObjectsResource>().0.is_empty());
}

/// What died while the new file was read was despawned at run time all the same.
#[test]
fn an_entity_that_dies_meanwhile() {
    for policy in [ReloadPolicy::KeepEdits, ReloadPolicy::Overwrite] {
        let dir = Dir::default();
        let content = Content::labelled(3);
        let (mut app, _, root) = live(&dir, &content);
        let zero = thing(&app, root, 0);
        let reload = start(&mut app, policy);
        app.update();
        app.world_mut().despawn(zero);
        end(&mut app, &reload);
        let report = reload.result().unwrap().unwrap();
        let is_back = app.world().get_entity(thing(&app, root, 0)).is_ok();
        assert_eq!(is_back, report.entities_spawned == 1);
        assert_eq!(report.entities_spawned, usize::from(report.edits_overwritten == 1));
    }
}

/// Who waits for the reload waits for an end.
#[test]
fn a_reload_of_what_never_stays_the_same_is_given_up() {
    let dir = Dir::default();
    let (mut app, _, root) = live(&dir, &Content::labelled(20));
    let reload = start(&mut app, ReloadPolicy::KeepEdits);
    let wasted = |world: &World| world.resource::<StreamingStats>().bytes_wasted;
    for next in 0..16 {
        let before = wasted(app.world());
        assert!(!reload.is_finished());
        // The file is being read.
        app.update();
        let dies = thing(&app, root, next);
        app.world_mut().despawn(dies);
        run_until(&mut app, |world| wasted(world) > before);
    }
    assert!(
        matches!(error(&reload), LoadErrorKind::Restless { tries: 16 }),
        "{reload:?}"
    );
    // The next one meets nobody who dies.
    let reload = start(&mut app, ReloadPolicy::KeepEdits);
    end(&mut app, &reload);
    assert!(reload.result().unwrap().is_ok());
}

/// The new file imports from another package than the old one.
#[test]
fn imported_packages_are_held_as_the_new_file_needs_them() {
    let dir = Dir::default();
    held_as_needed(&dir, app_with(&dir, game), false);
    let dir = Dir::default();
    let mut app = sliced_app(&dir);
    game(&mut app);
    held_as_needed(&dir, app, true);
}

/// A level that is always there may hold packages for others, of which it uses nothing itself.
#[test]
fn what_a_level_was_asked_for_with_is_held_for_as_long_as_it_is_there() {
    let dir = Dir::default();
    let mut app = app_with(&dir, game);
    for name in ["s.pkg", "t.pkg"] {
        put(&dir, name, shared_package(&app, name));
    }
    // It needs one itself, which the level needs no more in the end.
    put(&dir, "p.pkg", chain(&app, "p.pkg", 3, Some("s.pkg")));
    put(&dir, "a.pkg", chain(&app, "a.pkg", 3, Some("s.pkg")));
    let id = load(&mut app, "a.pkg", &["s.pkg", "p.pkg"]);
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Live));
    let open = |world: &World| {
        let linkers = &world.resource::<LinkersResource>().0;
        ["s.pkg", "t.pkg", "p.pkg"].map(|name| linkers.find(&AssetPath::parse(name)).is_some())
    };
    put(&dir, "a.pkg", chain(&app, "a.pkg", 3, Some("t.pkg")));
    for package in ["a.pkg", "p.pkg", "t.pkg"] {
        let reload = app
            .world_mut()
            .resource_mut::<Streamer>()
            .reload(ReloadRequest::new(package));
        end(&mut app, &reload);
        assert!(reload.result().unwrap().is_ok(), "{package}");
        (0..5).for_each(|_| app.update());
        assert_eq!(open(app.world()), [true; 3], "after {package}");
    }
    // And what that needs by now, and no more.
    put(&dir, "t.pkg", shared_package(&app, "t.pkg"));
    put(&dir, "u.pkg", shared_package(&app, "u.pkg"));
    put(&dir, "p.pkg", chain(&app, "p.pkg", 3, Some("u.pkg")));
    let reload = app
        .world_mut()
        .resource_mut::<Streamer>()
        .reload(ReloadRequest::new("p.pkg"));
    end(&mut app, &reload);
    run_until(&mut app, |world| open(world) == [false, true, true]);
    let linkers = &app.world().resource::<LinkersResource>().0;
    assert!(linkers.find(&AssetPath::parse("u.pkg")).is_some());
    assert_eq!(app.world().resource::<StreamingStats>().live_packages, 4);
}

/// It holds what the new file needs, as if it had never seen the old one; and nobody is told that it is loaded a second time.
#[test]
fn a_level_that_is_read_again_holds_what_the_new_file_needs() {
    let dir = Dir::default();
    let mut app = app_with(&dir, game);
    for name in ["s.pkg", "t.pkg"] {
        put(&dir, name, shared_package(&app, name));
    }
    put(&dir, "a.pkg", chain(&app, "a.pkg", 3, Some("s.pkg")));
    let request = InstanceRequest {
        target: InstanceTarget::Loaded,
        ..request("a.pkg", &["s.pkg"])
    };
    let id = app.world_mut().resource_mut::<Streamer>().load(request);
    let mut loaded = 0;
    let mut run = |app: &mut App, done: &dyn Fn(&World) -> bool| {
        let mut frames = 0;
        run_until(app, |world| {
            let mut events = world.resource_mut::<Messages<InstanceEvent>>();
            let events = events.drain();
            loaded += events
                .filter(|event| matches!(event, InstanceEvent::Loaded { .. }))
                .count();
            // And for some frames more.
            frames += usize::from(done(world));
            frames > 3
        });
    };
    let is_staged = |world: &World| state(world, id) == Some(LoadState::Staged);
    run(&mut app, &is_staged);
    put(&dir, "a.pkg", chain(&app, "a.pkg", 3, Some("t.pkg")));
    let reload = start(&mut app, ReloadPolicy::KeepEdits);
    run(&mut app, &|_| reload.is_finished());
    assert!(reload.result().unwrap().is_ok());
    run(&mut app, &|world| {
        is_staged(world) && world.resource::<StreamingStats>().live_packages == 2
    });
    assert_eq!(loaded, 1);
    let linkers = &app.world().resource::<LinkersResource>().0;
    assert!(linkers.find(&AssetPath::parse("s.pkg")).is_none());
}

fn held_as_needed(dir: &Dir, mut app: App, is_hidden: bool) {
    for name in ["s.pkg", "t.pkg"] {
        put(dir, name, shared_package(&app, name));
    }
    put(dir, "a.pkg", chain(&app, "a.pkg", 3, Some("s.pkg")));
    let id = load(&mut app, "a.pkg", &["s.pkg"]);
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Live));
    let open = |world: &World, name: &str| {
        let linkers = &world.resource::<LinkersResource>().0;
        linkers.find(&AssetPath::parse(name)).is_some()
    };
    let mesh = |app: &mut App| {
        app.world_mut()
            .query_filtered::<&Mesh3d, Allow<InHiddenLevel>>()
            .iter(app.world())
            .next()
            .unwrap()
            .id()
    };
    let old = mesh(&mut app);
    if is_hidden {
        set_target(&mut app, id, InstanceTarget::Loaded);
        run_until(&mut app, |world| state(world, id) == Some(LoadState::Hidden));
    }
    put(dir, "a.pkg", chain(&app, "a.pkg", 3, Some("t.pkg")));
    let reload = start(&mut app, ReloadPolicy::KeepEdits);
    end(&mut app, &reload);
    let report = reload.result().unwrap().unwrap();
    assert_eq!((report.entities_kept, report.components_written), (3, 3));
    assert_ne!(mesh(&mut app), old);
    run_until(&mut app, |world| world.resource::<Assets<Mesh>>().len() == 1);
    let used = mesh(&mut app);
    assert!(app.world().resource::<Assets<Mesh>>().contains(used));
    run_until(&mut app, |world| world.resource::<StreamingStats>().live_packages == 2);
    assert!(open(app.world(), "t.pkg"));
    run_until(&mut app, |world| !open(world, "s.pkg"));
    // What the level has since then is as complete as what it came with, and counts as used.
    let request = ObjectRequest {
        policy: LoadPolicy::LiveOnly,
        ..ObjectRequest::new(["t.pkg#Mesh"])
    };
    let live = app.world_mut().resource_mut::<Streamer>().load_objects(request);
    run_until(&mut app, |_| live.is_finished());
    assert!(live.result().unwrap().is_ok());
    drop(live);
    let wasted = app.world().resource::<StreamingStats>().bytes_wasted;
    app.world_mut().resource_mut::<Streamer>().unload(id);
    run_until(&mut app, |world| world.resource::<StreamingStats>().live_packages == 0);
    assert_eq!(app.world().resource::<StreamingStats>().bytes_wasted, wasted);
    run_until(&mut app, |world| world.resource::<Assets<Mesh>>().is_empty());
    run_until(&mut app, |world| world.resource::<LiveObjectsResource>().0.is_empty());
}

/// Another package imports from one whose file is newer than what is live of it: the live objects stay as they are.
#[test]
fn an_indirect_load_replaces_nothing() {
    let dir = Dir::default();
    let mut app = app_with(&dir, game);
    let basics: [(&str, &[&str]); 1] = [("water", &[])];
    put(&dir, "basics.pkg", objects::recipes(&app, "basics.pkg", &basics));
    let water = objects::ask(&mut app, crate::ObjectRequest::new(["basics.pkg#water"]));
    objects::finish(&mut app, &water);
    let id = water.result().unwrap().unwrap()[0].id().typed::<Recipe>();
    let mut recipes = app.world_mut().resource_mut::<Assets<Recipe>>();
    recipes.get_mut(id).unwrap().title = "how to water, unsaved".into();
    let newer: [(&str, &[&str]); 2] = [("salt", &[]), ("water", &["salt"])];
    put(&dir, "basics.pkg", objects::recipes(&app, "basics.pkg", &newer));
    let dinner: [(&str, &[&str]); 1] = [("soup", &["basics.pkg#water"])];
    put(&dir, "a.pkg", objects::recipes(&app, "a.pkg", &dinner));
    let soup = objects::ask(&mut app, crate::ObjectRequest::new(["a.pkg", "basics.pkg"]));
    objects::finish(&mut app, &soup);
    assert!(soup.result().unwrap().is_ok());
    let titles = objects::titles(&app);
    assert!(titles.contains(&"water, unsaved".to_owned()), "{titles:?}");
}

/// New assets are with the renderer before anything changes, or their deadline has passed.
#[test]
fn new_assets_wait_for_gates() {
    const DEADLINE: u64 = 25;
    let dir = Dir::default();
    let mut content = Content::labelled(2);
    let (mut app, _, root) = live(&dir, &content);
    app.insert_resource(StreamingTime::stopped());
    app.world_mut().resource_mut::<RevealGates>().0.push(Box::new(Closed));
    app.world_mut().resource_mut::<StreamingSettings>().gate_deadline_frames = DEADLINE as u32;
    content.thing(0).is_shown = true;
    put(&dir, "a.pkg", content.package(&app, "a.pkg"));
    let reload = start(&mut app, ReloadPolicy::KeepEdits);
    run_until(&mut app, |world| !world.resource::<Assets<Mesh>>().is_empty());
    let inserted = app.world().resource::<StreamingStats>().frame;
    end(&mut app, &reload);
    let stats = app.world().resource::<StreamingStats>();
    assert_eq!((stats.gate_deadlines, stats.frame - inserted), (1, DEADLINE));
    assert!(app.world().get::<Mesh3d>(thing(&app, root, 0)).is_some());
}

#[test]
fn its_time_is_on_the_frames_account() {
    let dir = Dir::default();
    let content = Content::labelled(3);
    let (mut app, ..) = live(&dir, &content);
    app.world_mut().resource_mut::<StreamingSettings>().budget = Duration::ZERO;
    reload(&mut app, &dir, &content, ReloadPolicy::KeepEdits);
    app.update();
    let overruns = &app.world().resource::<StreamingStats>().overruns;
    // What is no unit comes first where it took longer, as it does on a machine that halts threads.
    let named = overruns
        .iter()
        .any(|overrun| overrun.kind == Some(UnitKind::Reload) && overrun.what.contains("reload a.pkg (3 entities)"));
    assert!(named, "{overruns:?}");
}

/// What a reload is about to bring is not missing.
#[test]
fn who_imports_what_a_reload_brings_waits_for_it_however_urgent_it_is() {
    let cases = [Verify::Now, Verify::Deferred].map(|verify| [0.0, 1.0, 1e9].map(|priority| (verify, priority)));
    for (verify, priority) in cases.concat() {
        let dir = Dir::default();
        let (mut app, gate) = gated_app_with(&dir, |_| {});
        gate.otherwise(Some(Fate::Pass));
        put(&dir, "s.pkg", new_package(&app, "s.pkg").finish().unwrap());
        put(&dir, "a.pkg", chain(&app, "a.pkg", 3, None));
        let user = load(&mut app, "a.pkg", &["s.pkg"]);
        run_until(&mut app, |world| state(world, user) == Some(LoadState::Live));
        // The file is opened, and then it takes a while.
        let opened = gate.begun().iter().filter(|read| read.path == "s.pkg").count();
        gate.script("s.pkg", opened, Fate::Stall);
        put(&dir, "s.pkg", shared_package(&app, "s.pkg"));
        put(&dir, "b.pkg", chain(&app, "b.pkg", 4, Some("s.pkg")));
        let reload = app
            .world_mut()
            .resource_mut::<Streamer>()
            .reload(ReloadRequest::new("s.pkg"));
        run_until(&mut app, |_| !gate.stalled().is_empty());
        let request = InstanceRequest {
            verify,
            priority,
            ..request("b.pkg", &["s.pkg"])
        };
        let newer = app.world_mut().resource_mut::<Streamer>().load(request);
        run_until(&mut app, |world| state(world, newer) == Some(LoadState::Staged));
        for _ in 0..20 {
            app.update();
        }
        assert_eq!(state(app.world(), newer), Some(LoadState::Staged), "{verify:?}");
        gate.script("s.pkg", opened, Fate::Pass);
        run_until(&mut app, |world| state(world, newer) == Some(LoadState::Live));
        end(&mut app, &reload);
        assert!(reload.result().unwrap().is_ok());
        assert_eq!(app.world().resource::<Assets<Mesh>>().len(), 2);
    }
}
