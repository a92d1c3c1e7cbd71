//! How far instances are to come, and that each ends once.

use super::*;

pub(super) fn events(app: &mut App) -> Vec<InstanceEvent> {
    app.world_mut()
        .resource_mut::<Messages<InstanceEvent>>()
        .drain()
        .collect()
}

pub(super) fn set_target(app: &mut App, id: InstanceId, target: InstanceTarget) {
    app.world_mut().resource_mut::<Streamer>().set_target(id, target);
}

pub(super) fn load_to(app: &mut App, package: &str, target: InstanceTarget) -> InstanceId {
    let mut request = request(package, &[]);
    request.target = target;
    app.world_mut().resource_mut::<Streamer>().load(request)
}

fn root_of(app: &mut App) -> Entity {
    let world = app.world_mut();
    world
        .query_filtered::<Entity, With<crate::LevelInstance>>()
        .single(world)
        .unwrap()
}

#[test]
fn a_level_can_be_loaded_without_being_shown() {
    let dir = Dir::default();
    let mut app = app_with_time(&dir);
    put(&dir, "a.pkg", chain(&app, "a.pkg", 50, None));
    let id = load_to(&mut app, "a.pkg", InstanceTarget::Loaded);
    let mut told = Vec::new();
    run_until(&mut app, |world| {
        told.extend(world.resource_mut::<Messages<InstanceEvent>>().drain());
        !told.is_empty()
    });
    assert!(
        matches!(told[..], [InstanceEvent::Loaded { entities: 50, .. }]),
        "{told:?}"
    );
    for _ in 0..10 {
        app.update();
        assert_eq!(level_entities(app.world_mut()), 0);
    }
    assert_eq!(state(app.world(), id), Some(LoadState::Staged));
    assert!(events(&mut app).is_empty(), "it is told once");
    set_target(&mut app, id, InstanceTarget::Shown);
    app.update();
    assert_eq!(level_entities(app.world_mut()), 50, "it comes in the next frame");
    assert!(matches!(
        events(&mut app)[..],
        [InstanceEvent::Revealed { entities: 50, .. }]
    ));
}

#[test]
fn a_level_that_is_only_loaded_is_let_go_like_any_other() {
    let dir = Dir::default();
    let mut app = app(&dir);
    put(&dir, "a.pkg", chain(&app, "a.pkg", 50, None));
    let before = app.world().entities().count_spawned();
    let id = load_to(&mut app, "a.pkg", InstanceTarget::Loaded);
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Staged));
    set_target(&mut app, id, InstanceTarget::Gone);
    // Objects are dropped by tasks: what was told is forgotten by then.
    app.update();
    let told = events(&mut app);
    run_until(&mut app, |world| world.resource::<LiveObjectsResource>().0.is_empty());
    assert!(app.world().resource::<Streamer>().is_empty());
    assert_eq!(app.world().entities().count_spawned(), before);
    assert!(matches!(told.last(), Some(InstanceEvent::Cancelled { .. })), "{told:?}");
}

#[test]
fn a_level_that_is_asked_for_again_before_it_leaves_stays() {
    let dir = Dir::default();
    let mut app = app(&dir);
    put(&dir, "a.pkg", chain(&app, "a.pkg", 50, None));
    let id = load_to(&mut app, "a.pkg", InstanceTarget::Shown);
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Live));
    let root = root_of(&mut app);
    events(&mut app);
    set_target(&mut app, id, InstanceTarget::Gone);
    set_target(&mut app, id, InstanceTarget::Shown);
    app.world_mut().clear_trackers();
    app.update();
    assert_eq!(state(app.world(), id), Some(LoadState::Live));
    assert_eq!(root_of(&mut app), root);
    assert!(events(&mut app).is_empty());
    let world = app.world_mut();
    assert_eq!(world.query_filtered::<(), Added<Likes>>().iter(world).count(), 0);
}

#[test]
fn without_the_opt_in_a_level_cannot_be_hidden() {
    let dir = Dir::default();
    let mut app = app(&dir);
    put(&dir, "a.pkg", chain(&app, "a.pkg", 5, None));
    let id = load_to(&mut app, "a.pkg", InstanceTarget::Shown);
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Live));
    set_target(&mut app, id, InstanceTarget::Loaded);
    app.update();
    assert_eq!(state(app.world(), id), Some(LoadState::Live));
    assert_eq!(level_entities(app.world_mut()), 5);
    assert_eq!(app.world().resource::<StreamingStats>().refused_hides, 1);
    set_target(&mut app, id, InstanceTarget::Gone);
    run_until(&mut app, |world| state(world, id).is_none());
}

/// Game code clones what it likes; only the level's own root is one.
#[test]
fn a_clone_of_a_root_is_no_root() {
    let dir = Dir::default();
    let mut app = app(&dir);
    put(&dir, "a.pkg", chain(&app, "a.pkg", 5, None));
    let id = load_to(&mut app, "a.pkg", InstanceTarget::Shown);
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Live));
    let root = root_of(&mut app);
    let copy = app.world_mut().entity_mut(root).clone_and_spawn();
    assert!(app.world().get::<Transform>(copy).is_some(), "the rest is cloned");
    assert_eq!(root_of(&mut app), root);
    app.world_mut().despawn(copy);
    app.update();
    assert_eq!(state(app.world(), id), Some(LoadState::Live));
    assert_eq!(level_entities(app.world_mut()), 5);
}
