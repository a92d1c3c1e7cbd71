use std::collections::{BTreeMap, BTreeSet};

use bevy_app::App;
use bevy_asset::io::memory::Dir;
use bevy_ecs::prelude::*;
use bevy_transform::components::Transform;

use super::*;
use crate::{
    InstanceRequest, InstanceTarget, LevelInstance, LoadState, Streamer,
    load::tests::{app_with, build::chain, put, run_until, sliced_app},
};

const ROWS: u32 = 20;

fn houses(dir: &Dir) -> App {
    let app = app_with(dir, |_| {});
    put(dir, "house.pkg", chain(&app, "house.pkg", ROWS, None));
    app
}

fn load(app: &mut App, name: &str, path: &str) -> InstanceId {
    let request = InstanceRequest {
        name: name.to_owned(),
        path: path.into(),
        package: "house.pkg".into(),
        ..InstanceRequest::default()
    };
    app.world_mut().resource_mut::<Streamer>().load(request)
}

fn state(world: &World, id: InstanceId) -> Option<LoadState> {
    world.resource::<Streamer>().state(id)
}

fn live(app: &mut App, ids: &[InstanceId]) {
    run_until(app, |world| {
        ids.iter().all(|id| state(world, *id) == Some(LoadState::Live))
    });
}

/// All ids of the levels that are there, and where their entities are.
fn places(app: &mut App) -> BTreeMap<StableId, String> {
    let world = app.world_mut();
    let mut levels = world.query::<&LevelInstance>();
    let mut found = BTreeMap::new();
    for level in levels.iter(world) {
        for entity in level.objects.entities() {
            let id = level.stable_id(entity).unwrap();
            let at = world.get::<Transform>(entity).unwrap().translation.x;
            assert_eq!(world.resource::<StableIds>().get(id), Some(entity));
            found.insert(id, format!("{} {at}", level.path));
        }
    }
    found
}

#[test]
fn ids_are_the_same_in_whatever_order_levels_come() {
    let mut found = Vec::new();
    for order in [["a", "b", "c"], ["c", "a", "b"]] {
        let dir = Dir::default();
        let mut app = houses(&dir);
        // So that entities differ, too.
        app.world_mut().spawn_batch(vec![(); order[0].len() * 5]);
        for name in order {
            let id = load(&mut app, "", &format!("town/{name}"));
            live(&mut app, &[id]);
        }
        found.push(places(&mut app));
    }
    assert_eq!(found[0].len(), 3 * ROWS as usize);
    assert_eq!(found[0], found[1]);
    let instances: BTreeSet<u64> = found[0].keys().map(|id| id.instance).collect();
    let paths = ["a", "b", "c"].map(|name| InstancePath::new("town", name).id());
    assert_eq!(instances, BTreeSet::from(paths));
}

/// Saves hold these numbers.
#[test]
fn an_id_is_a_hash_of_path_and_of_object_for_ever() {
    let id = StableId {
        instance: InstancePath::new("town", "house_1").id(),
        object: ObjectId::new("house.pkg", "Door"),
    };
    assert_eq!(InstancePath::from("town/house_1").id(), id.instance);
    let text = ron::to_string(&id).unwrap();
    assert_eq!(text, format!("({},{})", xxh3_64(b"town/house_1"), id.object.0));
    assert_eq!(ron::from_str::<StableId>(&text).unwrap(), id);
    // As another program's xxh3-64 has them: of the path, and of `Door` with the hash of `house.pkg` as its seed.
    let (instance, object): (u64, u64) = (15_271_113_499_311_718_885, 18_288_768_352_301_806_350);
    assert_eq!(<(u64, u64)>::from(id), (instance, object));
}

#[test]
fn without_a_path_the_name_counts() {
    let dir = Dir::default();
    let mut app = houses(&dir);
    let id = load(&mut app, "mill", "");
    let nameless = load(&mut app, "", "");
    live(&mut app, &[id, nameless]);
    let ids = app.world().resource::<StableIds>();
    let root = ids.root(&"mill".into()).unwrap();
    assert_eq!(app.world().get::<LevelInstance>(root).unwrap().path.as_str(), "mill");
    assert_eq!((ids.levels.len(), ids.root(&"".into())), (1, None));
    let world = app.world_mut();
    let mut levels = world.query::<&LevelInstance>();
    let nameless = levels.iter(world).find(|level| level.path.is_empty()).unwrap();
    let inside = nameless.objects.entities().next().unwrap();
    assert_eq!(nameless.stable_id(inside), None);
    app.update();
    app.world_mut().clear_trackers();
    app.update();
    assert!(
        !app.world().resource_ref::<StableIds>().is_changed(),
        "at rest nothing changes"
    );
}

#[test]
fn ids_of_levels_that_are_gone_or_hidden_lead_nowhere() {
    let dir = Dir::default();
    let mut app = sliced_app(&dir);
    put(&dir, "house.pkg", chain(&app, "house.pkg", ROWS, None));
    let id = load(&mut app, "", "town/house");
    live(&mut app, &[id]);
    let (&door, _) = places(&mut app).first_key_value().unwrap();
    let find = |app: &App| app.world().resource::<StableIds>().get(door);
    let set = |app: &mut App, target| app.world_mut().resource_mut::<Streamer>().set_target(id, target);
    let entity = find(&app);
    assert!(entity.is_some());
    set(&mut app, InstanceTarget::Loaded);
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Hidden));
    assert_eq!(find(&app), None);
    set(&mut app, InstanceTarget::Shown);
    live(&mut app, &[id]);
    assert_eq!(find(&app), entity, "shown again, it is the same");
    set(&mut app, InstanceTarget::Gone);
    run_until(&mut app, |world| state(world, id).is_none());
    assert_eq!(find(&app), None);
    let ids = app.world().resource::<StableIds>();
    assert!(ids.levels.is_empty() && ids.paths.is_empty());
    let other = load(&mut app, "", "town/house");
    live(&mut app, &[other]);
    assert!(find(&app).is_some(), "come again, it has the same ids");
    assert_eq!(app.world().resource::<StableIds>().refused(), 0);
}

#[test]
fn of_two_levels_with_one_path_the_first_has_the_ids() {
    let dir = Dir::default();
    let mut app = houses(&dir);
    let first = load(&mut app, "", "town/house");
    live(&mut app, &[first]);
    let (&door, _) = places(&mut app).first_key_value().unwrap();
    let find = |app: &App| app.world().resource::<StableIds>().get(door);
    let entity = find(&app);
    let second = load(&mut app, "", "town/house");
    live(&mut app, &[second]);
    assert_eq!(find(&app), entity);
    assert_eq!(app.world().resource::<StableIds>().refused(), 1);
    app.world_mut().resource_mut::<Streamer>().unload(first);
    run_until(&mut app, |world| state(world, first).is_none());
    let after = find(&app);
    assert!(after.is_some() && after != entity, "the other has them now");
}

/// A world is spawned anew while the levels of the one before have not left yet.
#[test]
fn who_is_to_leave_gives_its_ids_up() {
    let mut ids = StableIds::default();
    let path = InstancePath::new("town", "house");
    let object = ObjectId(5);
    let door = StableId {
        instance: path.id(),
        object,
    };
    let entity = |index| Entity::from_raw_u32(index).unwrap();
    let objects = |index| Arc::new(LevelObjects::new(&[object], &[entity(index)]));
    let [leaves, comes, third] = [90, 91, 92].map(InstanceId);
    let is_leaving = |id| id == leaves;
    ids.show(leaves, &path, (entity(1), &objects(11)), |_| false);
    ids.show(comes, &path, (entity(2), &objects(12)), is_leaving);
    assert_eq!((ids.get(door), ids.refused()), (Some(entity(12)), 0));
    assert_eq!(ids.root(&path), Some(entity(2)));
    ids.show(third, &path, (entity(3), &objects(13)), is_leaving);
    assert_eq!((ids.get(door), ids.refused()), (Some(entity(12)), 1));
    ids.hide(leaves);
    assert_eq!(ids.get(door), Some(entity(12)));
    ids.hide(comes);
    assert_eq!(ids.get(door), Some(entity(13)));
}

#[test]
fn entities_lead_to_their_levels_wherever_they_hang() {
    let dir = Dir::default();
    let mut app = houses(&dir);
    let ids = [load(&mut app, "", "town/a"), load(&mut app, "", "town/b")];
    live(&mut app, &ids);
    let world = app.world_mut();
    let mut levels = world.query::<(Entity, &LevelInstance)>();
    let found: Vec<_> = levels.iter(world).map(|(root, level)| (root, level.clone())).collect();
    let [(a, of_a), (b, _)] = &found[..] else {
        panic!("{found:?}")
    };
    let door = of_a.objects.entities().nth(3).unwrap();
    let own = world.spawn(ChildOf(door)).id();
    let ask = |entity: Entity, world: &mut World| {
        let ask = |In(entity): In<Entity>, levels: LevelEntities| {
            let root = levels.level_of(entity).map(|(root, _)| root);
            (root, levels.stable_id(entity))
        };
        world.run_system_cached_with(ask, entity).unwrap()
    };
    let known = (Some(*a), of_a.stable_id(door));
    assert!(known.1.is_some());
    assert_eq!(ask(door, world), known);
    assert_eq!(ask(own, world), (None, None), "no level has brought it");
    assert_eq!(ask(*a, world), (None, None));
    // Elsewhere it is who it was.
    world.entity_mut(door).insert(ChildOf(*b));
    assert_eq!(ask(door, world), known);
    world.entity_mut(door).remove::<ChildOf>();
    assert_eq!(ask(door, world), known);
}
