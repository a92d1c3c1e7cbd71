//! Who is kept whatever else is said of it, and where it stands then.

use bevy_ecs::entity_disabling::Disabled;
use bevy_math::{Quat, Vec3};

use super::*;

/// The game disables what is in a bag, with Bevy's marker or its own.
#[test]
fn who_is_kept_may_be_disabled() {
    #[derive(Component)]
    struct InBag;

    for budget in BUDGETS {
        let dir = Dir::default();
        let mut app = app(&dir, budget);
        app.world_mut().register_disabling_component::<InBag>();
        let (id, root) = level(&mut app, "town", 0.0);
        let [lamp, rope] = [7, 8].map(|row| entity(&app, root, row));
        let world = app.world_mut();
        world.entity_mut(lamp).insert((KeepInWorld, Disabled));
        world.entity_mut(rope).insert((KeepInWorld, InBag));
        hide(&mut app, id);
        let world = app.world();
        assert!(
            [lamp, rope]
                .iter()
                .all(|kept| world.get::<InHiddenLevel>(*kept).is_none())
        );
        leave(&mut app, id);
        let world = app.world();
        assert!([lamp, rope].iter().all(|kept| world.get_entity(*kept).is_ok()));
    }
}

/// A coin of the west lies on a chest of the east, and both are to be kept.
#[test]
fn whoever_lies_on_what_is_kept_is_kept_out_of_its_own_level() {
    for budget in BUDGETS {
        let dir = Dir::default();
        let mut app = app(&dir, budget);
        let (west, east) = (level(&mut app, "west", 0.0), level(&mut app, "east", 50.0));
        let (coin, chest) = (entity(&app, west.1, 7), entity(&app, east.1, 9));
        let world = app.world_mut();
        world.entity_mut(chest).insert(KeepInWorld);
        world.entity_mut(coin).insert((KeepInWorld, ChildOf(chest)));
        leave(&mut app, east.0);
        leave(&mut app, west.0);
        let world = app.world();
        assert!(world.get_entity(chest).is_ok());
        assert_eq!(world.get::<ChildOf>(coin).map(ChildOf::parent), Some(chest));
    }
}

/// What the game takes in its hand after the level has left, and before it is swept, is the hand's.
#[test]
fn who_is_taken_in_time_is_not_swept() {
    let dir = Dir::default();
    let mut app = app(&dir, Duration::ZERO);
    let hand = app.world_mut().spawn(Transform::default()).id();
    let (id, root) = level(&mut app, "town", 0.0);
    hide(&mut app, id);
    let parent = entity(&app, root, 7);
    let world = app.world_mut();
    let [taken, left] = [(); 2].map(|()| world.spawn((Transform::default(), ChildOf(parent))).id());
    set(&mut app, id, InstanceTarget::Gone);
    run_until(&mut app, |world| state(world, id).is_none());
    assert!(!is_seen(&mut app, left), "what it hangs below is not seen either");
    app.world_mut()
        .entity_mut(taken)
        .insert(ChildOf(hand))
        .remove::<InHiddenLevel>();
    run_until(&mut app, |world| world.get_entity(left).is_err());
    run_until(&mut app, |world| world.resource::<Streamer>().is_empty());
    (0..400).for_each(|_| app.update());
    assert!(app.world().get_entity(taken).is_ok());
}

/// Transforms that only a matrix could tell.
#[test]
fn who_is_kept_of_what_is_flat_or_sheared_has_a_place() {
    for (scale, turn) in [
        (Vec3::new(1.0, 0.0, 1.0), 0.0),
        (Vec3::new(10.0, 1.0, 1.0), core::f32::consts::FRAC_PI_4),
        (Vec3::new(-2.0, 3.0, 1.0), 0.0),
    ] {
        let dir = Dir::default();
        let mut app = app(&dir, Duration::ZERO);
        let (id, root) = level(&mut app, "town", 10.0);
        let lamp = entity(&app, root, 7);
        let world = app.world_mut();
        world.get_mut::<Transform>(root).unwrap().scale = scale;
        world.get_mut::<Transform>(lamp).unwrap().rotation = Quat::from_rotation_z(turn);
        world.entity_mut(lamp).insert(KeepInWorld);
        let expected = place(world, lamp, global(world, lamp)).translation;
        leave(&mut app, id);
        let place = app.world().get::<Transform>(lamp).unwrap();
        assert!(place.is_finite() && place.rotation.is_normalized(), "{place:?}");
        assert_eq!(place.translation, expected);
        // Row 7 stands at (7, 2, 3) in row 0, which is at (0, 2, 3).
        assert!(
            place
                .translation
                .abs_diff_eq(Vec3::X * 10.0 + scale * Vec3::new(7.0, 4.0, 6.0), 1e-3)
        );
    }
}

/// Who has walked over a border goes with the level that it is in now, and stays if that has gone before.
#[test]
fn who_is_handed_over_goes_with_the_other_level() {
    for (budget, is_hidden) in BUDGETS.into_iter().flat_map(|budget| [(budget, false), (budget, true)]) {
        let dir = Dir::default();
        let mut app = app(&dir, budget);
        let (town, root) = level(&mut app, "town", 0.0);
        let (forest, wood) = level(&mut app, "forest", 100.0);
        let walkers = [7, 8].map(|row| entity(&app, root, row));
        for walker in walkers {
            app.world_mut().entity_mut(walker).insert((KeepInWorld, OfLevel(wood)));
        }
        // One of them has changed its mind.
        app.world_mut().entity_mut(walkers[1]).insert(OfLevel(root));
        let let_go = |app: &mut App, id| if is_hidden { hide(app, id) } else { leave(app, id) };
        let_go(&mut app, town);
        assert!(walkers.map(|walker| is_seen(&mut app, walker)) == [true, true]);
        let named = |app: &App| walkers.map(|walker| app.world().get::<OfLevel>(walker).map(|of| of.0));
        assert_eq!(named(&app), [Some(wood), None]);
        let_go(&mut app, forest);
        assert_eq!(walkers.map(|walker| is_seen(&mut app, walker)), [false, true]);
        if is_hidden {
            leave(&mut app, forest);
        }
        let is_alive = |entity| app.world().get_entity(entity).is_ok();
        assert_eq!(walkers.map(is_alive), [false, true]);
    }
}
