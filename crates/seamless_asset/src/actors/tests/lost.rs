//! What was hidden with a level and hangs elsewhere, or nowhere, when that leaves for good.

use super::*;

/// A lamp below one of its entities, with a bulb, and a guard who goes with it.
fn guests(app: &mut App, root: Entity) -> [Entity; 3] {
    let within = entity(app, root, 7);
    let world = app.world_mut();
    let lamp = world.spawn(ChildOf(within)).id();
    let bulb = world.spawn(ChildOf(lamp)).id();
    [lamp, bulb, world.spawn(OfLevel(root)).id()]
}

/// Takes them out of the level, by id.
fn take_out(app: &mut App, [lamp, bulb, guard]: [Entity; 3]) {
    let world = app.world_mut();
    let hand = world.spawn_empty().id();
    world.entity_mut(lamp).remove::<ChildOf>();
    world.entity_mut(bulb).insert(ChildOf(hand));
    world.entity_mut(guard).remove::<OfLevel>();
}

fn assert_gone(app: &mut App, guests: [Entity; 3]) {
    let is_alive = |entity| app.world().get_entity(entity).is_ok();
    assert_eq!(guests.map(is_alive), [false; 3]);
    let world = app.world_mut();
    let mut hidden = world.query_filtered::<(), With<InHiddenLevel>>();
    assert_eq!(hidden.iter(world).count(), 0);
}

/// Nobody could ever see it again.
#[test]
fn it_goes_with_the_level_that_it_was_hidden_with() {
    let dir = Dir::default();
    let mut app = app(&dir, BUDGETS[1]);
    let (id, root) = level(&mut app, "town", 0.0);
    let guests = guests(&mut app, root);
    hide(&mut app, id);
    take_out(&mut app, guests);
    leave(&mut app, id);
    assert_gone(&mut app, guests);
}

#[test]
fn it_goes_with_the_level_that_is_being_swept() {
    let dir = Dir::default();
    let mut app = app(&dir, Duration::from_nanos(1));
    let (id, root) = level(&mut app, "town", 0.0);
    let guests = guests(&mut app, root);
    set(&mut app, id, InstanceTarget::Gone);
    run_until(&mut app, |world| state(world, id).is_none());
    assert!(app.world().get::<InHiddenLevel>(guests[0]).is_some());
    take_out(&mut app, guests);
    app.world_mut().resource_mut::<StreamingSettings>().budget = BUDGETS[1];
    app.update();
    assert_gone(&mut app, guests);
}

/// It is where it belongs, and shown with its level: nothing of it is lost.
#[test]
fn it_is_shown_with_the_level_that_it_was_hidden_with() {
    let dir = Dir::default();
    let mut app = app(&dir, BUDGETS[1]);
    let (id, root) = level(&mut app, "town", 0.0);
    let guests = guests(&mut app, root);
    hide(&mut app, id);
    take_out(&mut app, guests);
    set(&mut app, id, InstanceTarget::Shown);
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Live));
    assert_eq!(guests.map(|entity| is_seen(&mut app, entity)), [true; 3]);
    leave(&mut app, id);
    assert_eq!(
        guests.map(|entity| is_seen(&mut app, entity)),
        [true; 3],
        "they are the world's own now"
    );
}

/// What is to be done for one lamp is no more in a level of many.
#[test]
fn letting_go_of_one_copies_no_list() {
    let dir = Dir::default();
    let mut app = app(&dir, BUDGETS[1]);
    let (_, root) = level(&mut app, "town", 0.0);
    let [lamp, other] = [7, 9].map(|row| entity(&app, root, row));
    let world = app.world_mut();
    world.entity_mut(lamp).insert(KeepInWorld);
    let objects = world.get::<LevelInstance>(root).unwrap().objects.clone();
    let mut members = Members {
        entities: objects.entities().collect(),
        objects,
        ..Members::default()
    };
    let list = members.entities.as_ptr();
    for afterwards in [Afterwards::Stays, Afterwards::Leaves] {
        release_kept(world, root, &mut members, afterwards);
        assert_eq!(members.entities.as_ptr(), list, "it is the same memory");
        assert!(!members.entities.contains(&lamp) && members.entities.contains(&other));
        assert_eq!(members.objects.object(lamp), None);
        let mut kept = world.query_filtered::<(), With<KeepInWorld>>();
        assert_eq!(kept.iter(world).count(), 0, "no level that goes later looks at it");
    }
}
