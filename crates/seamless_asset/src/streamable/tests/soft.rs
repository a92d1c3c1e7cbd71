//! Soft handles: found where they are live, whoever has loaded them, and never kept alive.

use std::path::Path;

use bevy_asset::Handle;

use super::{
    build::{Recipe, with_soft},
    *,
};
use crate::{
    BlockingLoads, LoadSoftBlocking, ObjectRegistries, ObjectRequest, SoftHandle, SoftObjects, Streamer,
    doubles::logged, soft::SoftTable,
};

fn is_loaded(app: &mut App, name: &'static str) -> bool {
    with_soft(app.world_mut(), move |soft| found(soft, &recipe(name)).is_some())
}

/// The object, which is found by id if it is found at all.
fn found(soft: &SoftObjects, handle: &SoftHandle<Recipe>) -> Option<Handle<Recipe>> {
    let by_id = soft.id_if_loaded(handle);
    let loaded = soft.get_if_loaded(handle);
    assert_eq!(by_id, loaded.as_ref().map(Handle::id));
    assert_eq!(soft.id_if_loaded(handle), by_id, "and again, where it was found");
    loaded
}

fn is_loading(app: &mut App, name: &'static str) -> bool {
    with_soft(app.world_mut(), move |soft| soft.is_loading(&recipe(name)))
}

#[test]
fn a_soft_handle_finds_what_is_live_and_loads_nothing() {
    let (_dir, mut app) = kitchen();
    assert!(!is_loaded(&mut app, "soup") && !is_loading(&mut app, "soup"));
    app.update();
    assert!(!is_loaded(&mut app, "soup"), "noted, and still not there");
    assert_eq!(app.world().resource::<StreamingStats>().bytes_read, 0);
    let load = with_soft(app.world_mut(), |soft| soft.load(&recipe("soup")));
    assert!(is_loading(&mut app, "soup") && !is_loaded(&mut app, "soup"));
    finish(&mut app, &load);
    assert!(is_loaded(&mut app, "soup") && !is_loading(&mut app, "soup"));
    let strong = with_soft(app.world_mut(), |soft| soft.get_if_loaded(&recipe("soup")));
    drop(load);
    app.update();
    assert!(is_loaded(&mut app, "soup"), "the handle that was given keeps it alive");
    drop(strong);
    // And the soft one does not. What the load has dropped is freed by a task.
    run_until(&mut app, |world| world.resource::<Assets<Recipe>>().is_empty());
    assert!(!is_loaded(&mut app, "soup"));
    // The same handle finds what is loaded again.
    let again = with_soft(app.world_mut(), |soft| soft.load(&recipe("soup")));
    finish(&mut app, &again);
    assert!(is_loaded(&mut app, "soup"));
}

/// A handle remembers where it was found, and is never led astray by that: not when the object goes or comes again, and not in another app.
#[test]
fn a_handle_that_was_found_finds_what_is_there() {
    let (_dir, mut app) = kitchen();
    let (_other_dir, mut other) = kitchen();
    // Something else is in the first row there.
    let salt = ask(&mut other, StreamableRequest::new([recipe("salt")]));
    finish(&mut other, &salt);
    let soup = std::sync::Arc::new(recipe("soup"));
    let find = |app: &mut App| {
        let soup = soup.clone();
        with_soft(app.world_mut(), move |soft| found(soft, &soup))
    };
    for _ in 0..3 {
        let load = ask(&mut app, StreamableRequest::new([&*soup]));
        finish(&mut app, &load);
        let object = find(&mut app);
        assert!(object.is_some() && object == find(&mut app));
        assert_eq!(find(&mut other), None);
        let copy = (*soup).clone();
        assert_eq!(with_soft(app.world_mut(), move |soft| found(soft, &copy)), object);
        drop((load, object));
        run_until(&mut app, |world| world.resource::<Assets<Recipe>>().is_empty());
        assert_eq!(find(&mut app), None);
    }
}

/// Loaded by others, by an object path, or as a part of something else.
#[test]
fn it_does_not_matter_who_has_loaded_it() {
    let (_dir, mut app) = kitchen();
    assert!(!is_loaded(&mut app, "salt"));
    app.update();
    let mut streamer = app.world_mut().resource_mut::<Streamer>();
    let salad = streamer.load_objects(ObjectRequest::new(["cooked/dinner.pkg#salad"]));
    run_until(&mut app, |_| salad.is_finished());
    assert!(is_loaded(&mut app, "salad") && is_loaded(&mut app, "salt"));
    let by_object_path = SoftHandle::<Recipe>::new("cooked/dinner.pkg#salad");
    let found = with_soft(app.world_mut(), move |soft| soft.get_if_loaded(&by_object_path));
    assert_eq!(
        found,
        with_soft(app.world_mut(), |soft| soft.get_if_loaded(&recipe("salad")))
    );
    assert!(found.is_some());
}

#[test]
fn what_names_nothing_or_another_type_is_not_found() {
    let (_dir, mut app) = kitchen();
    let load = with_soft(app.world_mut(), |soft| soft.load(&recipe("soup")));
    finish(&mut app, &load);
    let mesh = SoftHandle::<bevy_mesh::Mesh>::new("soup.recipe");
    assert!(with_soft(app.world_mut(), move |soft| soft
        .get_if_loaded(&mesh)
        .is_none()
        && !soft.is_loading(&mesh)));
    let nothing = SoftHandle::<Recipe>::default();
    assert!(with_soft(app.world_mut(), move |soft| soft
        .get_if_loaded(&nothing)
        .is_none()));
    // Each type finds its own, in any order.
    for _ in 0..3 {
        let mesh = SoftHandle::<bevy_mesh::Mesh>::new("soup.recipe");
        assert!(with_soft(app.world_mut(), move |soft| soft
            .get_if_loaded(&mesh)
            .is_none()));
        assert!(is_loaded(&mut app, "soup"));
        app.update();
    }
    let empty = with_soft(app.world_mut(), |soft| soft.load(&SoftHandle::<Recipe>::default()));
    finish(&mut app, &empty);
    assert!(empty.end().unwrap().errors()[0].to_string().contains("names nothing"));
}

/// The registries decide where a path leads, from the frame on in which they come.
#[test]
fn other_registries_lead_elsewhere() {
    let (_dir, mut app) = kitchen();
    let load = with_soft(app.world_mut(), |soft| soft.load(&recipe("soup")));
    finish(&mut app, &load);
    let before = with_soft(app.world_mut(), |soft| soft.get_if_loaded(&recipe("soup")));
    let toast = crate::registry::tests::object("soup.recipe", "lunch.pkg#toast", "Recipe", 1);
    let patch = crate::ObjectRegistry::new("cooked/", vec![toast]).unwrap();
    app.world_mut().resource_mut::<ObjectRegistries>().insert(patch);
    app.update();
    assert!(!is_loaded(&mut app, "soup"));
    let load = with_soft(app.world_mut(), |soft| soft.load(&recipe("soup")));
    finish(&mut app, &load);
    let after = with_soft(app.world_mut(), |soft| soft.get_if_loaded(&recipe("soup")));
    assert!(before.is_some() && after.is_some() && before != after);
    assert!(titles(&app).contains(&"toast".to_owned()));
}

#[test]
fn blocking_loads_come_back_with_the_object_and_are_counted() {
    let (dir, mut app) = kitchen();
    let world = app.world_mut();
    let mut soup = None;
    let first = line!();
    let said = logged(|| soup = world.load_soft_blocking(&recipe("soup")).ok());
    let soup = soup.expect("it is there");
    let [warning] = &said[..] else {
        panic!("a hitch is told once: {said:?}");
    };
    for part in [
        "WARN blocking load",
        "cooked/dinner.pkg#soup",
        &format!("soft.rs:{}:", first + 1),
    ] {
        assert!(warning.contains(part), "{part}: {warning}");
    }
    assert_eq!(world.resource::<StreamingStats>().blocking_loads, 1);
    assert_eq!(
        world.resource::<Assets<Recipe>>().get(&soup).unwrap().title,
        "how to soup"
    );
    // It is there already: no hitch.
    let said = logged(|| assert_eq!(world.load_soft_blocking(&recipe("soup")).unwrap(), soup));
    assert!(said.is_empty(), "{said:?}");
    assert_eq!(world.resource::<StreamingStats>().blocking_loads, 1);
    dir.remove_asset(Path::new("cooked/dinner.pkg"));
    for (handle, part) in [
        (recipe("salad"), "cooked/dinner.pkg"),
        (recipe("unknown"), "`assets` of the world file"),
        (SoftHandle::default(), "names nothing"),
    ] {
        let error = world.load_soft_blocking(&handle).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
    let mesh = SoftHandle::<bevy_mesh::Mesh>::new("soup.recipe");
    let error = world.load_soft_blocking(&mesh).unwrap_err().to_string();
    assert!(error.contains("Recipe") && error.contains("Mesh"), "{error}");
    let by_path = SoftHandle::<Recipe>::new("cooked/basics.pkg#water");
    assert!(world.load_soft_blocking(&by_path).is_ok());
    assert!(
        world
            .load_objects_blocking(ObjectRequest::new(["cooked/basics.pkg#salt"]))
            .is_ok()
    );
}

/// A level is no asset: what its entities refer to is loaded ahead, and it is placed like any other.
#[test]
fn levels_are_loaded_ahead_and_placed() {
    use crate::{LevelAsset, RegistryLevel, level_data::LEVEL_CLASS};
    let (_dir, mut app) = kitchen();
    let mut prefab = crate::registry::tests::object("smoke.scn.ron", "smoke.pkg", LEVEL_CLASS, 90);
    prefab.level = Some(Box::new(RegistryLevel {
        dependencies: vec!["basics.pkg".into()],
        assets: vec!["dinner.pkg#salad".into(), "basics.pkg#water".into()],
        entities: 3,
    }));
    let registry = crate::ObjectRegistry::new("cooked/", vec![prefab]).unwrap();
    app.world_mut().resource_mut::<ObjectRegistries>().insert(registry);
    let smoke = SoftHandle::<LevelAsset>::new("smoke.scn.ron");
    let handle = smoke.clone();
    let request = with_soft(app.world_mut(), move |soft| soft.level(&handle)).unwrap();
    assert_eq!(request.package.to_string(), "cooked/smoke.pkg");
    assert_eq!(request.dependencies[0].to_string(), "cooked/basics.pkg");
    assert!(with_soft(app.world_mut(), |soft| soft.level(&SoftHandle::new("soup.recipe"))).is_none());
    let ahead = ask(&mut app, StreamableRequest::new([&smoke]));
    finish(&mut app, &ahead);
    assert!(ahead.is_loaded(), "{:?}", ahead.end());
    assert_eq!((ahead.progress().total_bytes, ahead.progress().total_objects), (90, 2));
    assert_eq!(titles(&app), ["salad", "salt", "water"]);
    assert!(ahead.get(&smoke).is_none());
    drop(ahead);
    run_until(&mut app, |world| world.resource::<Assets<Recipe>>().is_empty());
}

/// The table forgets who is gone, and what has no room is found all the same.
#[test]
fn the_table_is_capped() {
    let (_dir, mut app) = kitchen();
    app.world_mut().resource_mut::<StreamableSettings>().max_resolved = 1;
    let set = ask(
        &mut app,
        StreamableRequest::new([recipe("soup"), recipe("salad"), recipe("salt")]),
    );
    finish(&mut app, &set);
    for _ in 0..3 {
        for name in ["soup", "salad", "salt"] {
            assert!(is_loaded(&mut app, name));
        }
        app.update();
        assert_eq!(app.world().resource::<SoftTable>().len(), 1);
    }
}

/// Systems that only look run side by side.
#[test]
fn soft_objects_only_read() {
    let (_dir, mut app) = kitchen();
    let mut system = bevy_ecs::system::IntoSystem::into_system(|_: SoftObjects, _: Streamables| {});
    let access = bevy_ecs::system::System::initialize(&mut system, app.world_mut());
    let access = access.combined_access();
    assert!(!access.has_any_write());
}
