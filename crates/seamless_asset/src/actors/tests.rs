//! Who goes with a level, and who stays.

mod across;
mod both;
mod kept;
mod lost;

use core::time::Duration;
use std::collections::BTreeSet;

use bevy_app::App;
use bevy_asset::io::memory::Dir;
use bevy_ecs::world::DeferredWorld;
use seamless_package::ObjectId;

use super::*;
use crate::{
    InHiddenLevel, InstanceId, InstanceRequest, InstanceTarget, LoadState, StableId, Streamer, StreamingSettings,
    load::tests::{build::chain, put, run_until, sliced_app},
};

const ROWS: u32 = 300;

/// An app whose levels come and go in slices, if it has no time.
fn app(dir: &Dir, budget: Duration) -> App {
    let mut app = sliced_app(dir);
    app.world_mut().resource_mut::<StreamingSettings>().budget = budget;
    put(dir, "a.pkg", chain(&app, "a.pkg", ROWS, None));
    app
}

fn state(world: &World, id: InstanceId) -> Option<LoadState> {
    world.resource::<Streamer>().state(id)
}

/// A level that is there, at x, and its root.
fn level(app: &mut App, name: &str, x: f32) -> (InstanceId, Entity) {
    let request = InstanceRequest {
        name: name.to_owned(),
        package: "a.pkg".into(),
        placement: Transform::from_xyz(x, 0.0, 0.0),
        ..InstanceRequest::default()
    };
    let id = app.world_mut().resource_mut::<Streamer>().load(request);
    run_until(app, |world| state(world, id) == Some(LoadState::Live));
    let ids = app.world().resource::<StableIds>();
    (id, ids.root(&name.into()).unwrap())
}

fn set(app: &mut App, id: InstanceId, target: InstanceTarget) {
    app.world_mut().resource_mut::<Streamer>().set_target(id, target);
}

fn leave(app: &mut App, id: InstanceId) {
    set(app, id, InstanceTarget::Gone);
    run_until(app, |world| state(world, id).is_none());
    app.world_mut().resource_mut::<StreamingSettings>().budget = Duration::from_secs(10);
    // What nobody sees is despawned.
    app.update();
}

fn hide(app: &mut App, id: InstanceId) {
    set(app, id, InstanceTarget::Loaded);
    run_until(app, |world| state(world, id) == Some(LoadState::Hidden));
}

fn entity(app: &App, root: Entity, row: u32) -> Entity {
    let level = app.world().get::<LevelInstance>(root).unwrap();
    level.entity(ObjectId::new("a.pkg", &row.to_string())).unwrap()
}

fn stable(app: &App, root: Entity, entity: Entity) -> Option<StableId> {
    app.world().get::<LevelInstance>(root).unwrap().stable_id(entity)
}

fn is_seen(app: &mut App, entity: Entity) -> bool {
    let world = app.world_mut();
    world.query::<Entity>().iter(world).any(|seen| seen == entity)
}

const BUDGETS: [Duration; 2] = [Duration::ZERO, Duration::from_secs(10)];

#[test]
fn what_the_game_spawns_belongs_to_the_world_unless_it_says_so() {
    for budget in BUDGETS {
        let dir = Dir::default();
        let mut app = app(&dir, budget);
        let (id, root) = level(&mut app, "town", 0.0);
        let within = entity(&app, root, 7);
        let world = app.world_mut();
        let stranger = world.spawn(Transform::default()).id();
        let guard = world.spawn(OfLevel(root)).id();
        let sword = world.spawn(ChildOf(guard)).id();
        let cat = world.spawn(ChildOf(within)).id();
        let all = [stranger, guard, sword, cat];
        assert_eq!(all.map(|entity| is_seen(&mut app, entity)), [true; 4]);
        hide(&mut app, id);
        assert_eq!(all.map(|entity| is_seen(&mut app, entity)), [true, false, false, false]);
        set(&mut app, id, InstanceTarget::Shown);
        run_until(&mut app, |world| state(world, id) == Some(LoadState::Live));
        assert_eq!(all.map(|entity| is_seen(&mut app, entity)), [true; 4]);
        leave(&mut app, id);
        let is_alive = |entity| app.world().get_entity(entity).is_ok();
        assert_eq!(all.map(is_alive), [true, false, false, false]);
    }
}

/// With the level: in the frame in which nobody sees that any more, nobody sees them.
#[test]
fn who_goes_with_a_level_goes_in_its_frame() {
    let dir = Dir::default();
    let mut app = app(&dir, Duration::ZERO);
    let (id, root) = level(&mut app, "town", 0.0);
    let within = entity(&app, root, 7);
    let guard = app.world_mut().spawn(OfLevel(root)).id();
    set(&mut app, id, InstanceTarget::Gone);
    let mut seen = BTreeSet::new();
    run_until(&mut app, |world| {
        let mut all = world.query::<Entity>();
        let mut sees = |entity| all.query(world).contains(entity);
        seen.insert((sees(guard), sees(within)));
        state(world, id).is_none()
    });
    assert!(
        seen.iter().all(|(guard, level)| guard == level) && seen.contains(&(false, false)),
        "{seen:?}"
    );
}

#[test]
fn a_lamp_that_is_kept_stays_when_its_level_leaves() {
    for budget in BUDGETS {
        let dir = Dir::default();
        let mut app = app(&dir, budget);
        let (id, root) = level(&mut app, "town", 100.0);
        let [lamp, bulb, other] = [7, 8, 9].map(|row| entity(&app, root, row));
        let world = app.world_mut();
        world.entity_mut(bulb).insert(ChildOf(lamp));
        world.entity_mut(lamp).insert(KeepInWorld);
        world.get_mut::<Transform>(lamp).unwrap().translation.y = 50.0;
        let note = world.spawn(ChildOf(lamp)).id();
        let rider = world.spawn((KeepInWorld, OfLevel(root))).id();
        let moth = world.spawn((ChildOf(lamp), OfLevel(root))).id();
        leave(&mut app, id);
        let world = app.world();
        let is_alive = |entity| world.get_entity(entity).is_ok();
        assert_eq!(
            [lamp, bulb, note, rider, moth, other, root].map(is_alive),
            [true, true, true, true, true, false, false]
        );
        assert_eq!(world.get::<ChildOf>(lamp), None);
        assert_eq!(world.get::<OfLevel>(rider), None);
        assert_eq!(world.get::<ChildOf>(bulb).map(ChildOf::parent), Some(lamp));
        // Placed at 100, below row 0 at (0, 2, 3), at (7, 50, 3) of that.
        let at = world.get::<Transform>(lamp).unwrap().translation;
        assert_eq!(at.to_array(), [107.0, 52.0, 6.0]);
        let (_, root) = level(&mut app, "town", 100.0);
        assert_ne!(entity(&app, root, 7), lamp, "another comes in its place");
    }
}

/// Whoever saves what a game has changed finds all of the level there.
#[test]
fn the_last_look_at_a_level_finds_all_of_it_alive() {
    #[derive(Resource, Default)]
    struct Alive(usize);

    let look = |removed: On<Remove, LevelInstance>, mut world: DeferredWorld| {
        let level = world.get::<LevelInstance>(removed.entity).unwrap();
        let ids = (0..ROWS).map(|row| ObjectId::new("a.pkg", &row.to_string()));
        let alive = ids.filter(|id| level.entity(*id).is_some_and(|entity| world.get_entity(entity).is_ok()));
        let count = alive.count();
        world.resource_mut::<Alive>().0 += count;
    };
    for budget in BUDGETS {
        let dir = Dir::default();
        let mut app = app(&dir, budget);
        app.init_resource::<Alive>().add_observer(look);
        let (id, _) = level(&mut app, "town", 0.0);
        leave(&mut app, id);
        assert_eq!(app.world().resource::<Alive>().0, ROWS as usize);
    }
}

#[test]
fn a_hidden_level_forgets_who_stayed() {
    let dir = Dir::default();
    let mut app = app(&dir, BUDGETS[1]);
    let (id, root) = level(&mut app, "town", 100.0);
    let [lamp, other] = [7, 9].map(|row| entity(&app, root, row));
    let [lamp_id, other_id] = [lamp, other].map(|entity| stable(&app, root, entity).unwrap());
    app.world_mut().entity_mut(lamp).insert(KeepInWorld);
    let moth = app.world_mut().spawn((ChildOf(lamp), OfLevel(root))).id();
    hide(&mut app, id);
    assert!(is_seen(&mut app, lamp) && is_seen(&mut app, moth) && !is_seen(&mut app, other));
    set(&mut app, id, InstanceTarget::Shown);
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Live));
    let find = |app: &App, id| app.world().resource::<StableIds>().get(id);
    assert_eq!([lamp_id, other_id].map(|id| find(&app, id)), [None, Some(other)]);
    assert_eq!(stable(&app, root, lamp), None);
    let level = app.world().get::<LevelInstance>(root).unwrap();
    assert_eq!(level.entity(lamp_id.object), None);
    assert_eq!(level.objects.len(), ROWS as usize, "rows are what they were");
    leave(&mut app, id);
    assert!(is_seen(&mut app, lamp) && app.world().get_entity(other).is_err());
}

#[test]
fn whoever_moves_into_another_level_belongs_to_its_own() {
    let dir = Dir::default();
    let mut app = app(&dir, BUDGETS[1]);
    let (west, west_root) = level(&mut app, "west", 0.0);
    let (east, east_root) = level(&mut app, "east", 1_000.0);
    let cart = entity(&app, west_root, 7);
    let before = stable(&app, west_root, cart);
    app.world_mut().get_mut::<Transform>(cart).unwrap().translation.x = 1_000.0;
    (0..5).for_each(|_| app.update());
    assert_eq!(stable(&app, west_root, cart), before);
    assert_eq!(stable(&app, east_root, cart), None);
    assert_eq!(app.world().resource::<StableIds>().get(before.unwrap()), Some(cart));
    leave(&mut app, east);
    assert!(is_seen(&mut app, cart));
    leave(&mut app, west);
    assert!(app.world().get_entity(cart).is_err());
}

/// As what the level itself has.
#[test]
fn those_who_go_with_a_level_go_in_slices() {
    let dir = Dir::default();
    let mut app = app(&dir, Duration::from_nanos(1));
    let (id, root) = level(&mut app, "town", 0.0);
    let world = app.world_mut();
    let guards: Vec<Entity> = (0..200).map(|_| world.spawn(OfLevel(root)).id()).collect();
    let alive = |app: &App| {
        guards
            .iter()
            .filter(|guard| app.world().get_entity(**guard).is_ok())
            .count()
    };
    set(&mut app, id, InstanceTarget::Gone);
    run_until(&mut app, |world| state(world, id).is_none());
    assert_eq!(alive(&app), 200, "the root is gone first");
    let mut before = 200;
    while before > 0 {
        app.update();
        assert!(before - alive(&app) <= 32, "no more than a slice at once");
        before = alive(&app);
    }
}

/// Below what stays anyway it stays where it is, and what is kept below another that is kept stays with that.
#[test]
fn what_is_in_a_hand_stays_there() {
    for target in [InstanceTarget::Gone, InstanceTarget::Loaded] {
        let dir = Dir::default();
        let mut app = app(&dir, BUDGETS[1]);
        let (id, root) = level(&mut app, "town", 100.0);
        let [lamp, chest, coin, late] = [7, 8, 9, 10].map(|row| entity(&app, root, row));
        let world = app.world_mut();
        let hand = world.spawn(Transform::default()).id();
        // It was kept long ago, and is the game's own.
        let bag = world.spawn((Transform::default(), KeepInWorld)).id();
        world.entity_mut(lamp).insert((ChildOf(hand), KeepInWorld));
        world.entity_mut(chest).insert(KeepInWorld);
        world.entity_mut(coin).insert((ChildOf(chest), KeepInWorld));
        world.entity_mut(late).insert((ChildOf(bag), KeepInWorld));
        world.entity_mut(root).insert(KeepInWorld);
        let before = world.get::<Transform>(lamp).copied();
        match target {
            InstanceTarget::Gone => leave(&mut app, id),
            _ => hide(&mut app, id),
        }
        let seen = [lamp, chest, coin, late, root].map(|entity| is_seen(&mut app, entity));
        assert_eq!(seen, [true, true, true, true, false]);
        let world = app.world();
        let parent = |entity| world.get::<ChildOf>(entity).map(ChildOf::parent);
        assert_eq!(
            [lamp, chest, coin, late].map(parent),
            [Some(hand), None, Some(chest), Some(bag)]
        );
        assert_eq!(
            world.get::<Transform>(lamp).copied(),
            before,
            "it is not moved in the hand"
        );
    }
}
