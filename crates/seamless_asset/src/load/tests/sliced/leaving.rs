//! Levels that leave behind others that leave.

use super::*;

/// Two levels; the first is live, the other hidden. Each with its root.
fn live_and_hidden(app: &mut App, dir: &Dir) -> [(InstanceId, Entity); 2] {
    put(dir, "b.pkg", chain(app, "b.pkg", COUNT as u32, None));
    let levels = ["a.pkg", "b.pkg"].map(|package| {
        let id = load_to(app, package, InstanceTarget::Shown);
        run_until(app, |world| state(world, id) == Some(LoadState::Live));
        let root = events(app).into_iter().find_map(|event| match event {
            InstanceEvent::Revealed { root, .. } => Some(root),
            _ => None,
        });
        (id, root.unwrap())
    });
    let [_, (second, _)] = levels;
    set_target(app, second, InstanceTarget::Loaded);
    run_until(app, |world| state(world, second) == Some(LoadState::Hidden));
    levels
}

fn left(world: &World) -> u64 {
    world.resource::<StreamingStats>().left
}

/// Who notes what has become of a level, when its root goes, has it noted before the level may come again.
#[test]
fn the_root_of_a_level_goes_when_it_leaves_whatever_leaves_before_it() {
    let dir = Dir::default();
    let mut app = sliced(&dir);
    let levels = live_and_hidden(&mut app, &dir);
    for (gone, (id, root)) in levels.into_iter().enumerate() {
        set_target(&mut app, id, InstanceTarget::Gone);
        assert!(app.world().get_entity(root).is_ok());
        run_until(&mut app, |world| left(world) == 1 + gone as u64);
        assert!(app.world().get_entity(root).is_err());
        assert!(hidden(app.world_mut()) > COUNT, "all else is there still");
    }
    run_until(&mut app, |world| hidden(world) == 0);
    assert_eq!(level_entities(app.world_mut()), 0);
}

#[test]
fn a_hidden_level_that_is_asked_for_again_before_it_leaves_stays() {
    let dir = Dir::default();
    let mut app = sliced(&dir);
    let [(first, _), (second, root)] = live_and_hidden(&mut app, &dir);
    for target in [InstanceTarget::Loaded, InstanceTarget::Shown] {
        set_target(&mut app, second, InstanceTarget::Gone);
        set_target(&mut app, second, target);
        (0..10).for_each(|_| app.update());
        let expected = match target {
            InstanceTarget::Shown => LoadState::Live,
            _ => LoadState::Hidden,
        };
        assert_eq!(state(app.world(), second), Some(expected));
    }
    set_target(&mut app, second, InstanceTarget::Loaded);
    run_until(&mut app, |world| state(world, second) == Some(LoadState::Hidden));
    // The frame has no time for more than the first one.
    set_target(&mut app, first, InstanceTarget::Gone);
    set_target(&mut app, second, InstanceTarget::Gone);
    app.update();
    assert_eq!(state(app.world(), second), Some(LoadState::Leaving));
    set_target(&mut app, second, InstanceTarget::Shown);
    run_until(&mut app, |world| state(world, second) == Some(LoadState::Live));
    assert!(app.world().get_entity(root).is_ok());
    run_until(&mut app, |world| hidden(world) == 0);
    assert_eq!((left(app.world()), level_entities(app.world_mut())), (1, COUNT));
}

/// Its root is in no list any more: nobody would ever hear that it is not there.
#[test]
fn a_hidden_level_that_was_despawned_goes_whatever_is_asked_of_it() {
    for target in [InstanceTarget::Loaded, InstanceTarget::Shown] {
        let dir = Dir::default();
        let mut app = sliced(&dir);
        let [(first, _), (second, root)] = live_and_hidden(&mut app, &dir);
        // The frame has no time for more than the first one.
        set_target(&mut app, first, InstanceTarget::Gone);
        app.world_mut().despawn(root);
        app.update();
        assert_eq!(state(app.world(), second), Some(LoadState::Leaving));
        set_target(&mut app, second, target);
        run_until(&mut app, |world| left(world) == 2 && hidden(world) == 0);
        assert_eq!(level_entities(app.world_mut()), 0);
    }
}
