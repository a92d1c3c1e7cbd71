//! What came with one level and hangs below another.

use super::*;

/// Two levels: a crate of the first hangs on what game code has hung below a cart of the second.
struct Crate {
    app: App,
    west: (InstanceId, Entity),
    east: (InstanceId, Entity),
    hook: Entity,
    entity: Entity,
}

impl Crate {
    fn new(budget: Duration) -> Self {
        let dir = Dir::default();
        let mut app = app(&dir, budget);
        let west = level(&mut app, "west", 0.0);
        let east = level(&mut app, "east", 1_000.0);
        let entity_of = |root, row| entity(&app, root, row);
        let (entity, cart) = (entity_of(west.1, 7), entity_of(east.1, 9));
        let world = app.world_mut();
        let hook = world.spawn((Transform::from_xyz(0.0, 5.0, 0.0), ChildOf(cart))).id();
        world.entity_mut(entity).insert(ChildOf(hook));
        Self {
            app,
            west,
            east,
            hook,
            entity,
        }
    }

    fn show(&mut self, id: InstanceId) {
        set(&mut self.app, id, InstanceTarget::Shown);
        run_until(&mut self.app, |world| state(world, id) == Some(LoadState::Live));
    }

    fn hide(&mut self, id: InstanceId) {
        hide(&mut self.app, id);
    }

    fn is_seen(&mut self) -> bool {
        is_seen(&mut self.app, self.entity)
    }

    /// It hangs nowhere, and stands where it hung.
    fn assert_stands(&mut self, at: [f32; 3]) {
        let world = self.app.world();
        assert!(world.get_entity(self.hook).is_err(), "that went with its level");
        assert_eq!(world.get::<ChildOf>(self.entity), None);
        let place = world.get::<Transform>(self.entity).unwrap().translation;
        assert_eq!(place.to_array(), at);
        assert_eq!(hidden(&mut self.app), 0);
    }
}

fn hidden(app: &mut App) -> usize {
    let world = app.world_mut();
    world.query_filtered::<(), With<InHiddenLevel>>().iter(world).count()
}

/// The cart stands at (9, 2, 3) in row 0 of its level, which is at (0, 2, 3) of (1000, 0, 0); the crate at (7, 2, 3) of the hook.
const HANGS_AT: [f32; 3] = [1016.0, 11.0, 9.0];

#[test]
fn it_is_hidden_with_the_level_that_it_came_with_and_no_other() {
    for budget in BUDGETS {
        let mut it = Crate::new(budget);
        let (west, east) = (it.west.0, it.east.0);
        it.hide(east);
        assert!(it.is_seen(), "its own level is there");
        it.hide(west);
        assert!(!it.is_seen());
        it.show(east);
        assert!(!it.is_seen(), "its own level is hidden");
        it.hide(east);
        it.show(west);
        assert!(it.is_seen());
        it.show(east);
        it.hide(west);
        it.hide(east);
        it.show(east);
        it.show(west);
        assert!(it.is_seen());
        assert_eq!(hidden(&mut it.app), 0);
    }
}

#[test]
fn it_stays_when_what_it_hangs_below_leaves() {
    for budget in BUDGETS {
        let mut it = Crate::new(budget);
        let stable_id = stable(&it.app, it.west.1, it.entity).unwrap();
        leave(&mut it.app, it.east.0);
        assert!(it.is_seen());
        it.assert_stands(HANGS_AT);
        let ids = it.app.world().resource::<StableIds>();
        assert_eq!(ids.get(stable_id), Some(it.entity));
        leave(&mut it.app, it.west.0);
        assert!(it.app.world().get_entity(it.entity).is_err());
    }
}

/// Where it was seen last: nobody sees where it would be by now.
#[test]
fn it_stays_when_what_it_hangs_below_leaves_unseen() {
    for is_hidden in [false, true] {
        let mut it = Crate::new(BUDGETS[1]);
        let (west, east) = (it.west.0, it.east.0);
        it.app
            .world_mut()
            .entity_mut(it.entity)
            .insert(GlobalTransform::from_xyz(1.0, 2.0, 3.0));
        it.hide(east);
        if is_hidden {
            it.hide(west);
        }
        leave(&mut it.app, east);
        assert_eq!(it.is_seen(), !is_hidden);
        it.show(west);
        assert!(it.is_seen());
        it.assert_stands([1.0, 2.0, 3.0]);
    }
}

/// It takes many frames until all of a level is despawned, and game code looks for what is above an entity in each.
#[test]
fn nobody_hangs_below_what_has_left_unseen() {
    for moves in [false, true] {
        let mut it = Crate::new(Duration::from_nanos(1));
        let east = it.east;
        it.hide(east.0);
        let hand = it.app.world_mut().spawn(Transform::default()).id();
        if moves {
            it.app.world_mut().entity_mut(it.entity).insert(ChildOf(hand));
        }
        set(&mut it.app, east.0, InstanceTarget::Gone);
        run_until(&mut it.app, |world| state(world, east.0).is_none());
        assert!(hidden(&mut it.app) > 0, "it is still to be despawned");
        let above = it.app.world().get::<ChildOf>(it.entity).map(ChildOf::parent);
        assert_eq!(above, moves.then_some(hand));
        assert!(it.is_seen());
    }
}

/// By id, what is on its way out can still be reached.
#[test]
fn whoever_is_hung_below_what_is_swept_stays_if_it_is_of_another_level() {
    let mut it = Crate::new(Duration::from_nanos(1));
    let east = it.east;
    let last = entity(&it.app, east.1, 0);
    it.app.world_mut().entity_mut(it.entity).remove::<ChildOf>();
    set(&mut it.app, east.0, InstanceTarget::Gone);
    run_until(&mut it.app, |world| state(world, east.0).is_none());
    let world = it.app.world_mut();
    assert!(world.get_entity(last).is_ok(), "it is still to be despawned");
    world.entity_mut(it.entity).insert(ChildOf(last));
    world.resource_mut::<StreamingSettings>().budget = BUDGETS[1];
    it.app.update();
    assert!(it.app.world().get_entity(last).is_err());
    assert!(it.is_seen());
    assert_eq!(it.app.world().get::<ChildOf>(it.entity), None);
}

/// It says that it goes with one level, and came with another.
#[test]
fn it_goes_with_no_other_level_whatever_it_says() {
    for budget in BUDGETS {
        let mut it = Crate::new(budget);
        let (east, root) = it.east;
        it.app.world_mut().entity_mut(it.entity).insert(OfLevel(root));
        it.hide(east);
        assert!(it.is_seen());
        it.show(east);
        leave(&mut it.app, east);
        assert!(it.is_seen());
        assert_eq!(it.app.world().get::<OfLevel>(it.entity), None);
    }
}

/// It only says that it goes with the level, and so does a level itself; both are on a ship that stays.
#[test]
fn it_stays_on_the_ship_whatever_it_says() {
    for budget in BUDGETS {
        for is_hidden in [false, true] {
            let mut it = Crate::new(budget);
            let (east, root) = it.east;
            let all = [it.entity, it.west.1];
            let world = it.app.world_mut();
            let ship = world.spawn(Transform::from_xyz(0.0, 0.0, 50.0)).id();
            for entity in all {
                world.entity_mut(entity).insert((ChildOf(ship), OfLevel(root)));
            }
            let place = |it: &Crate, entity| it.app.world().get::<Transform>(entity).copied();
            let places = all.map(|entity| place(&it, entity));
            if is_hidden {
                it.hide(east);
            }
            leave(&mut it.app, east);
            assert!(it.is_seen() && is_seen(&mut it.app, all[1]));
            let world = it.app.world();
            let parents = all.map(|entity| world.get::<ChildOf>(entity).map(ChildOf::parent));
            assert_eq!(parents, [Some(ship); 2]);
            assert_eq!(all.map(|entity| world.get::<OfLevel>(entity)), [None; 2]);
            assert_eq!(all.map(|entity| place(&it, entity)), places);
        }
    }
}

/// Whether it is to be kept is between it and its own level.
#[test]
fn it_is_kept_out_of_no_other_level() {
    let mut it = Crate::new(BUDGETS[1]);
    let (west, east) = (it.west.0, it.east.0);
    it.app.world_mut().entity_mut(it.entity).insert(KeepInWorld);
    it.hide(east);
    let parent = |it: &Crate| it.app.world().get::<ChildOf>(it.entity).map(ChildOf::parent);
    assert_eq!(parent(&it), Some(it.hook), "it is not torn out of what comes again");
    it.show(east);
    it.hide(west);
    assert!(it.is_seen());
    assert_eq!(stable(&it.app, it.west.1, it.entity), None, "that has let go of it");
    assert_eq!(it.app.world().get::<KeepInWorld>(it.entity), None);
}

/// Another level, placed on what moves.
#[test]
fn a_level_on_a_cart_stays_when_the_cart_leaves() {
    for budget in BUDGETS {
        let mut it = Crate::new(budget);
        let (west, root) = it.west;
        it.app.world_mut().entity_mut(root).insert(ChildOf(it.hook));
        it.hide(it.east.0);
        assert!(it.is_seen());
        it.show(it.east.0);
        leave(&mut it.app, it.east.0);
        assert_eq!(state(it.app.world(), west), Some(LoadState::Live));
        let row = entity(&it.app, root, 200);
        assert!(is_seen(&mut it.app, row));
        assert_eq!(it.app.world().get::<ChildOf>(root), None);
    }
}

/// It says itself that it is to be taken out when its own level leaves, and not when another does that this is placed on.
#[test]
fn what_is_kept_of_a_level_on_a_cart_is_that_levels_to_keep() {
    for budget in BUDGETS {
        let mut it = Crate::new(budget);
        let (west, root) = it.west;
        let cart = entity(&it.app, it.east.1, 9);
        let row = entity(&it.app, root, 200);
        let world = it.app.world_mut();
        world.entity_mut(cart).insert(KeepInWorld);
        world.entity_mut(root).insert(ChildOf(it.hook));
        let lamp = world.spawn((Transform::default(), KeepInWorld, ChildOf(row))).id();
        leave(&mut it.app, it.east.0);
        assert!(
            it.app.world().get_entity(cart).is_ok(),
            "it is kept, with the level on it"
        );
        assert!(it.app.world().get::<KeepInWorld>(cart).is_none());
        assert!(it.app.world().get::<KeepInWorld>(lamp).is_some());
        leave(&mut it.app, west);
        assert!(it.app.world().get_entity(lamp).is_ok());
    }
}
