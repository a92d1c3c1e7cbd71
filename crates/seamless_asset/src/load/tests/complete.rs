//! Nobody gets half of a closure: neither from a load that is under way, nor from one that was given up, nor by a file that was
//! written over.

use std::sync::{Arc, Mutex};

use super::{
    build::seek_free_chain,
    counting::counting_app,
    gated::gated_app_with,
    objects::{ask, error, finish, kitchen, recipes, titles},
    targets::set_target,
    *,
};
use crate::{
    BlockingLoads, LoadPolicy, ObjectRequest,
    doubles::{Fate, ReadGate},
};

/// A kitchen in which whoever asks for the basics first never gets them.
fn kitchen_without_water(game: impl FnOnce(&mut App)) -> (Dir, App, ReadGate) {
    let dir = Dir::default();
    let (app, gate) = gated_app_with(&dir, game);
    gate.otherwise(Some(Fate::Pass));
    gate.script("basics.pkg", 0, Fate::Stall);
    let (dir, app) = kitchen(dir, app);
    (dir, app, gate)
}

/// Loads the soup without its water, up to the moment at which the soup is in its `Assets`.
fn soup_without_water(app: &mut App, gate: &ReadGate) -> crate::ObjectLoad {
    let load = ask(
        app,
        ObjectRequest {
            verify: Verify::Deferred,
            ..ObjectRequest::new(["dinner.pkg#soup"])
        },
    );
    // What its post-loads ask for may be there, too.
    run_until(app, |world| {
        let mut there = world.resource::<Assets<Recipe>>().iter();
        there.any(|(_, recipe)| recipe.title == "how to soup") && !gate.stalled().is_empty()
    });
    load
}

#[test]
fn an_object_that_is_there_without_its_closure_is_not_given_away() {
    let (_dir, mut app, gate) = kitchen_without_water(|_| {});
    let early = soup_without_water(&mut app, &gate);
    let live_only = ask(
        &mut app,
        ObjectRequest {
            policy: LoadPolicy::LiveOnly,
            ..ObjectRequest::new(["dinner.pkg#soup"])
        },
    );
    let other = ask(&mut app, ObjectRequest::new(["dinner.pkg#soup"]));
    drop(early);
    finish(&mut app, &live_only);
    assert!(error(&live_only).contains("is not loaded"), "{}", error(&live_only));
    finish(&mut app, &other);
    assert!(other.result().unwrap().is_ok());
    assert_eq!(titles(&app), ["soup", "stock", "water"]);
}

#[test]
fn a_blocking_load_completes_what_others_have_begun() {
    let (_dir, mut app, gate) = kitchen_without_water(|_| {});
    let early = soup_without_water(&mut app, &gate);
    let now = app
        .world_mut()
        .load_objects_blocking(ObjectRequest::new(["dinner.pkg#soup"]));
    assert!(now.is_ok());
    assert_eq!(titles(&app), ["soup", "stock", "water"]);
    drop(early);
}

/// What a post-load asked for stands in no table, and is found all the same.
#[test]
fn what_the_post_loads_of_others_asked_for_is_found_too() {
    let (dir, mut app, gate) = kitchen_without_water(|app| {
        app.add_post_load::<Recipe>(|recipe, context| {
            if recipe.title == "how to soup" {
                recipe.before.push(context.request("salt.pkg#salt")?);
            }
            Ok(())
        });
    });
    put(&dir, "salt.pkg", recipes(&app, "salt.pkg", &[("salt", &[])]));
    let early = soup_without_water(&mut app, &gate);
    let other = ask(&mut app, ObjectRequest::new(["dinner.pkg#soup"]));
    drop(early);
    finish(&mut app, &other);
    assert_eq!(titles(&app), ["salt", "soup", "stock", "water"]);
}

/// An object is live under its id, wherever its value came from.
#[test]
fn a_live_copy_is_found_under_its_original_path() {
    let dir = Dir::default();
    let (mut app, log) = counting_app(&dir, true, |_| {});
    let original = shared_package(&app, "s.pkg");
    put(&dir, "world/a.pkg", seek_free_chain(&app, "a.pkg", 3, &original));
    let id = load(&mut app, "world/a.pkg", &[]);
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Live));
    for policy in [LoadPolicy::LiveOnly, LoadPolicy::Load] {
        let load = ask(
            &mut app,
            ObjectRequest {
                policy,
                ..ObjectRequest::new(["world/s.pkg#Mesh"])
            },
        );
        finish(&mut app, &load);
        assert!(load.result().unwrap().is_ok(), "{load:?}");
    }
    assert_eq!(log.opened(), ["world/a.pkg"]);
}

/// The second instance comes from another file than the first, and brings what that one did not have.
#[test]
fn a_file_that_was_written_over_brings_all_that_its_level_needs() {
    for is_blocking in [false, true] {
        let dir = Dir::default();
        let mut app = app(&dir);
        put(&dir, "s.pkg", shared_package(&app, "s.pkg"));
        // The first file has no mesh of its own, the second one has.
        put(&dir, "a.pkg", chain(&app, "a.pkg", 3, Some("s.pkg")));
        let first = load(&mut app, "a.pkg", &[]);
        run_until(&mut app, |world| state(world, first) == Some(LoadState::Live));
        put(&dir, "a.pkg", chain(&app, "a.pkg", 4, None));
        if is_blocking {
            app.world_mut().load_level_blocking(request("a.pkg", &[])).unwrap();
        } else {
            let second = load(&mut app, "a.pkg", &[]);
            run_until(&mut app, |world| state(world, second) == Some(LoadState::Live));
        }
        assert_eq!(level_entities(app.world_mut()), 3 + 4);
        all_meshes_are_there(&mut app);
        // What was read before it turned out to be of another file is of no use.
        assert!(app.world().resource::<StreamingStats>().bytes_wasted > 0);
    }
}

fn all_meshes_are_there(app: &mut App) {
    let world = app.world_mut();
    let mut shown = world.query::<&Mesh3d>();
    let meshes = world.resource::<Assets<Mesh>>();
    assert!(shown.iter(world).all(|mesh| meshes.contains(&mesh.0)));
}

/// The package is in use for its assets when its level is asked for: what the level's post-loads need comes too.
#[test]
fn a_level_of_a_package_in_use_is_revealed_with_what_its_post_loads_need() {
    let dir = Dir::default();
    let mut app = app_with(&dir, |app| {
        app.add_component_post_load::<Likes>(|_, context| {
            let before = vec![context.request("basics.pkg#salt")?];
            if context.package() == "s.pkg" {
                let title = "how to read".into();
                context.create("menu", Recipe { title, before })?;
            }
            Ok(())
        });
    });
    put(&dir, "basics.pkg", recipes(&app, "basics.pkg", &[("salt", &[])]));
    put(&dir, "s.pkg", chain(&app, "s.pkg", 2, None));
    put(&dir, "a.pkg", chain(&app, "a.pkg", 3, Some("s.pkg")));
    let user = load(&mut app, "a.pkg", &["s.pkg"]);
    run_until(&mut app, |world| state(world, user) == Some(LoadState::Live));
    assert_eq!(titles(&app), ["salt"]);
    let own = load(&mut app, "s.pkg", &[]);
    run_until(&mut app, |world| state(world, own) == Some(LoadState::Live));
    assert_eq!(titles(&app), ["read", "salt"]);
    app.update();
    assert_eq!(titles(&app), ["read", "salt"], "it lives as long as the package");
}

/// What could not be read is read anew for the next one, although a level in the world was to have it, too.
#[test]
fn what_failed_beside_a_level_in_use_is_loaded_again() {
    let dir = Dir::default();
    let sliced = SeamlessAssetPlugin {
        sliced_levels: true,
        ..SeamlessAssetPlugin::default()
    };
    let mut app = app_after(&dir, sliced, |app| {
        app.add_component_post_load::<Likes>(|_, context| {
            if context.package() == "s.pkg" {
                context.request::<Recipe>("basics.pkg#salt")?;
            }
            Ok(())
        });
    });
    put(&dir, "s.pkg", chain(&app, "s.pkg", 2, None));
    put(&dir, "a.pkg", chain(&app, "a.pkg", 3, Some("s.pkg")));
    let user = load(&mut app, "a.pkg", &["s.pkg"]);
    run_until(&mut app, |world| state(world, user) == Some(LoadState::Live));
    for target in [InstanceTarget::Shown, InstanceTarget::Loaded] {
        set_target(&mut app, user, target);
        let own = load(&mut app, "s.pkg", &[]);
        run_until(&mut app, |world| state(world, own) == Some(LoadState::Failed));
        set_target(&mut app, own, InstanceTarget::Gone);
    }
    run_until(&mut app, |world| state(world, user) == Some(LoadState::Hidden));
    set_target(&mut app, user, InstanceTarget::Shown);
    run_until(&mut app, |world| state(world, user) == Some(LoadState::Live));
    put(&dir, "basics.pkg", recipes(&app, "basics.pkg", &[("salt", &[])]));
    let own = load(&mut app, "s.pkg", &[]);
    run_until(&mut app, |world| state(world, own) == Some(LoadState::Live));
    assert_eq!(titles(&app), ["salt"]);
    for id in [user, own] {
        set_target(&mut app, id, InstanceTarget::Gone);
    }
    run_until(&mut app, |world| world.resource::<Streamer>().is_empty());
    assert_eq!(app.world().resource::<StreamingStats>().live_packages, 0);
}

/// Whoever wants only the assets of a package does not care for its level.
#[test]
fn a_level_that_is_none_harms_nobody_else() {
    for wrong_first in [true, false] {
        let dir = Dir::default();
        let mut app = app(&dir);
        put(&dir, "s.pkg", shared_package(&app, "s.pkg"));
        put(&dir, "a.pkg", chain(&app, "a.pkg", 3, Some("s.pkg")));
        let first = wrong_first.then(|| load(&mut app, "s.pkg", &[]));
        let good = load(&mut app, "a.pkg", &["s.pkg"]);
        let wrong = first.unwrap_or_else(|| load(&mut app, "s.pkg", &[]));
        run_until(&mut app, |world| state(world, wrong) == Some(LoadState::Failed));
        assert!(matches!(error_of(&mut app, wrong), LoadErrorKind::NoLevel));
        run_until(&mut app, |world| state(world, good) == Some(LoadState::Live));
    }
}

/// Which assets are watched, and by how many packages.
#[derive(Clone, Default)]
pub(super) struct Counted {
    watched: Arc<Mutex<Vec<UntypedAssetId>>>,
    pub is_open: Arc<Mutex<bool>>,
}

impl RevealGate for Counted {
    fn watch(&self, assets: &[UntypedAssetId]) {
        self.watched.lock().unwrap().extend(assets);
    }

    fn is_open(&self, assets: &[UntypedAssetId]) -> bool {
        let watched = self.watched.lock().unwrap();
        assert!(
            assets.iter().all(|asset| watched.contains(asset)),
            "it is asked for what it watches"
        );
        *self.is_open.lock().unwrap()
    }

    fn forget(&self, assets: &[UntypedAssetId]) {
        let mut watched = self.watched.lock().unwrap();
        for asset in assets {
            let at = watched.iter().position(|watched| watched == asset);
            watched.remove(at.expect("it is forgotten as often as it is watched"));
        }
    }
}

/// Each level waits for what it shows, whoever provided that, and takes the gate away from nobody.
#[test]
fn gates_watch_for_every_package_that_needs_an_asset() {
    let dir = Dir::default();
    let mut app = app(&dir);
    let gate = Counted::default();
    app.world_mut()
        .resource_mut::<RevealGates>()
        .0
        .push(Box::new(gate.clone()));
    // However long the other takes on a busy machine.
    app.world_mut().resource_mut::<StreamingSettings>().gate_deadline_frames = u32::MAX;
    let original = shared_package(&app, "s.pkg");
    for (name, count) in [("a.pkg", 3), ("b.pkg", 4), ("c.pkg", 5)] {
        put(&dir, name, seek_free_chain(&app, name, count, &original));
    }
    let watched = || gate.watched.lock().unwrap().len();
    let [a, b] = ["a.pkg", "b.pkg"].map(|package| load(&mut app, package, &[]));
    run_until(&mut app, |_| watched() == 2);
    // One leaves before the gate opens; the other still waits.
    app.world_mut().resource_mut::<Streamer>().unload(a);
    run_until(&mut app, |world| state(world, a).is_none());
    assert_eq!((watched(), level_entities(app.world_mut())), (1, 0));
    // A blocking load waits for no gate, and opens none for others.
    app.world_mut().load_level_blocking(request("c.pkg", &[])).unwrap();
    app.update();
    assert_eq!(level_entities(app.world_mut()), 5);
    assert_eq!(state(app.world(), b), Some(LoadState::Staged));
    *gate.is_open.lock().unwrap() = true;
    run_until(&mut app, |world| state(world, b) == Some(LoadState::Live));
    assert_eq!(watched(), 0);
}

/// A request that is wrong from the start does not come to life, and leaves nothing.
#[test]
fn a_blocking_load_that_fails_leaves_nothing() {
    let dir = Dir::default();
    let mut app = app(&dir);
    put(&dir, "a.pkg", chain(&app, "a.pkg", 3, None));
    let error = app.world_mut().load_level_blocking(request("a.pkg", &["a.pkg"]));
    assert!(matches!(error.unwrap_err().kind, LoadErrorKind::SelfDependency));
    let error = app.world_mut().load_level_blocking(request("gone.pkg", &[]));
    assert!(error.is_err());
    app.update();
    assert_eq!(level_entities(app.world_mut()), 0);
    assert!(app.world().resource::<Streamer>().is_empty());
}

#[test]
fn an_overrun_names_the_blocking_load() {
    let dir = Dir::default();
    let mut app = app(&dir);
    put(&dir, "a.pkg", chain(&app, "a.pkg", 3, None));
    app.world_mut().resource_mut::<StreamingSettings>().budget = Duration::ZERO;
    app.world_mut().load_level_blocking(request("a.pkg", &[])).unwrap();
    app.update();
    let overruns = &app.world().resource::<StreamingStats>().overruns;
    assert!(
        overruns
            .iter()
            .any(|overrun| overrun.what.contains("blocking load of a.pkg"))
    );
}

/// Whoever joins a load that has not been linked yet makes it as strict as he is.
#[test]
fn the_strictest_of_those_who_join() {
    let progress = crate::load::Progress::default();
    assert_eq!(progress.strictest(Verify::Deferred), Verify::Deferred);
    progress.join(Verify::Deferred);
    assert_eq!(progress.strictest(Verify::Deferred), Verify::Deferred);
    progress.join(Verify::Now);
    progress.join(Verify::Deferred);
    assert_eq!(progress.strictest(Verify::Deferred), Verify::Now);
    assert_eq!(crate::load::Progress::default().strictest(Verify::Now), Verify::Now);
}

/// Code that runs inside of a reveal may do what it likes: the reveal holds no lock that it could wait for.
#[test]
fn observers_of_a_reveal_may_register_types() {
    #[derive(Reflect)]
    #[reflect(no_auto_register)]
    struct Late;
    let dir = Dir::default();
    let mut app = app(&dir);
    app.add_observer(|_: On<Add, Likes>, registry: Res<AppTypeRegistry>| {
        // Whoever waits here waits for ever.
        let mut registry = registry
            .internal
            .try_write()
            .expect("no task reads any more, and nobody else does");
        registry.register::<Late>();
    });
    put(&dir, "a.pkg", chain(&app, "a.pkg", 3, None));
    let id = load(&mut app, "a.pkg", &[]);
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Live));
    let registry = app.world().resource::<AppTypeRegistry>().read();
    assert!(registry.contains(core::any::TypeId::of::<Late>()));
}
