//! Entities that others despawn, of levels that are on their way or in the world.

use super::{super::hierarchy::level, *};

/// Who is spawned after its parent was despawned could not go with it.
#[test]
fn nobody_comes_whose_parent_was_despawned_meanwhile() {
    const CHILDREN: u32 = 600;
    let dir = Dir::default();
    let mut app = sliced(&dir);
    let children: Vec<u32> = (1..=CHILDREN).collect();
    let mut rows = vec![(None, children.as_slice())];
    rows.resize(1 + CHILDREN as usize, (Some(0), &[]));
    put(&dir, "a.pkg", level(&app, "a.pkg", &[0], &rows));
    let before = app.world().entities().count_spawned();
    let id = load_to(&mut app, "a.pkg", InstanceTarget::Shown);
    let mut parents = app
        .world_mut()
        .query_filtered::<Entity, (With<Children>, With<ChildOf>, With<InHiddenLevel>)>();
    let mut parent = None;
    run_until(&mut app, |world| {
        parent = parents.iter(world).next();
        parent.is_some() && hidden(world) > 10
    });
    assert!(hidden(app.world_mut()) < CHILDREN as usize, "some are still to come");
    app.world_mut().despawn(parent.unwrap());
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Live));
    let root = root_of(app.world_mut()).unwrap();
    assert_eq!(app.world().entities().count_spawned(), before + 1, "the root alone");
    set_target(&mut app, id, InstanceTarget::Gone);
    run_until(&mut app, |world| state(world, id).is_none());
    run_until(&mut app, |world| world.resource::<LiveObjectsResource>().0.is_empty());
    assert!(!app.world().entities().contains_spawned(root));
    assert_eq!(app.world().entities().count_spawned(), before);
}

#[test]
fn a_root_that_is_none_any_more_is_missed_when_it_is_despawned() {
    let dir = Dir::default();
    let mut app = sliced(&dir);
    let id = load_until(&mut app, LoadState::Live);
    let root = root_of(app.world_mut()).unwrap();
    app.world_mut().entity_mut(root).remove::<LevelInstance>();
    app.update();
    app.update();
    assert_eq!(state(app.world(), id), Some(LoadState::Live));
    app.world_mut().despawn(root);
    run_until(&mut app, |world| state(world, id).is_none());
    assert!(matches!(events(&mut app).last(), Some(InstanceEvent::Left { .. })));
}
