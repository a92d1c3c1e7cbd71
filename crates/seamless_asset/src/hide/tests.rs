use bevy_ecs::query::Allow;

use super::*;
use crate::trees::CameAt;

#[derive(Component, Default)]
struct InTable(u32);

#[derive(Component, Default)]
#[component(storage = "SparseSet")]
struct InSet(u32);

/// As an app that has opted in.
fn world() -> World {
    let mut world = World::new();
    world.register_disabling_component::<InHiddenLevel>();
    world.init_resource::<LevelHiders>();
    world
}

/// Everybody has heard of everything.
fn hide_now(world: &mut World, root: Entity, members: &Members) -> Hiding {
    let heard = world.increment_change_tick();
    hide(world, root, members, heard)
}

/// A level of five entities in two archetypes, with what game code has hung below one of them.
fn level(world: &mut World) -> (Entity, Members, Entity) {
    let root = world.spawn_empty().id();
    let entities: Vec<Entity> = (0..5)
        .map(|index| {
            let mut entity = world.spawn((InTable(index), ChildOf(root)));
            if index % 2 == 0 {
                entity.insert(InSet(index));
            }
            entity.id()
        })
        .collect();
    let lamp = world.spawn(ChildOf(entities[3])).id();
    let bulb = world.spawn((InTable(9), ChildOf(lamp))).id();
    let members = Members {
        entities: entities.into(),
        ..Members::default()
    };
    (root, members, bulb)
}

/// Lists of children that nobody has changed since the level came are not gone through, and whoever was hung there by then is found.
#[test]
fn who_hangs_below_a_level_is_hidden_with_it_whenever_it_came() {
    let mut world = world();
    let (root, mut members, bulb) = level(&mut world);
    let entities = members.entities.clone();
    // Somebody else's list, older than the level's.
    let (cart, cargo) = (world.spawn_empty().id(), world.spawn(InTable(7)).id());
    world.entity_mut(cart).add_child(cargo);
    let hidden = |world: &mut World| count::<(), With<InHiddenLevel>>(world);
    members.hung_since = Some(world.increment_change_tick());
    let hiding = hide_now(&mut world, root, &members);
    assert_eq!(
        hidden(&mut world),
        6,
        "the lamp passes for the level's own: it was there by then"
    );
    show(&mut world, &mut members, hiding);
    world.entity_mut(entities[4]).add_child(cart);
    let hiding = hide_now(&mut world, root, &members);
    assert_eq!(hidden(&mut world), 8, "the cart, and what was on it before");
    show(&mut world, &mut members, hiding);
    world.entity_mut(cart).remove::<ChildOf>();
    let flag = world.spawn(ChildOf(root)).id();
    let hiding = hide_now(&mut world, root, &members);
    assert_eq!(hidden(&mut world), 7);
    assert!(world.get::<InHiddenLevel>(flag).is_some() && world.get::<InHiddenLevel>(bulb).is_none());
    show(&mut world, &mut members, hiding);
    // It is as hung as before, though it was hidden since.
    members.hung_since = None;
    hide_now(&mut world, root, &members);
    assert_eq!(hidden(&mut world), 9, "who does not know goes through all of them");
}

fn count<D: bevy_ecs::query::QueryData, F: bevy_ecs::query::QueryFilter>(world: &mut World) -> usize {
    world.query_filtered::<D, F>().query(world).count()
}

#[test]
fn who_sees_a_hidden_level() {
    let mut world = world();
    let mut made_before = world.query::<&InTable>();
    let (root, members, bulb) = level(&mut world);
    hide_now(&mut world, root, &members);
    assert_eq!(made_before.iter(&world).count(), 0);
    assert_eq!(count::<&InTable, ()>(&mut world), 0);
    assert_eq!(count::<bevy_ecs::world::EntityRef, With<InTable>>(&mut world), 0);
    assert_eq!(count::<Option<&InHiddenLevel>, With<InTable>>(&mut world), 0);
    assert_eq!(count::<Has<InHiddenLevel>, With<InTable>>(&mut world), 6);
    assert_eq!(count::<&InTable, Allow<InHiddenLevel>>(&mut world), 6);
    assert_eq!(count::<&InTable, With<InHiddenLevel>>(&mut world), 6);
    assert_eq!(world.get::<InTable>(bulb).map(|found| found.0), Some(9));
}

/// Why the plugin has to be there before those of the game.
#[test]
fn a_query_from_before_the_opt_in_sees_everything() {
    let mut world = World::new();
    let mut made_before = world.query::<&InTable>();
    world.register_disabling_component::<InHiddenLevel>();
    world.init_resource::<LevelHiders>();
    let (root, members, _) = level(&mut world);
    hide_now(&mut world, root, &members);
    assert_eq!(made_before.iter(&world).count(), 6);
}

/// Observers look for the first time when they are added: those of plugins before this one see everything.
#[test]
fn an_observer_from_before_the_opt_in_sees_everything() {
    #[derive(Event)]
    struct Look;
    #[derive(Resource, Default)]
    struct Seen([usize; 2]);
    fn look<const WHO: usize>(_: On<Look>, all: Query<&InTable>, mut seen: ResMut<Seen>) {
        seen.0[WHO] = all.iter().count();
    }
    let mut world = World::new();
    world.init_resource::<Seen>();
    world.add_observer(look::<0>);
    world.register_disabling_component::<InHiddenLevel>();
    world.init_resource::<LevelHiders>();
    world.add_observer(look::<1>);
    let (root, mut members, _) = level(&mut world);
    let hiding = hide_now(&mut world, root, &members);
    world.trigger(Look);
    assert_eq!(world.resource::<Seen>().0, [6, 0]);
    show(&mut world, &mut members, hiding);
    world.trigger(Look);
    assert_eq!(world.resource::<Seen>().0, [6, 6]);
}

#[test]
fn shown_again_only_what_was_changed_counts_as_changed() {
    let mut world = world();
    let (root, mut members, bulb) = level(&mut world);
    let hiding = hide_now(&mut world, root, &members);
    let entities = members.entities.clone();
    let of = |index: usize| entities[index];
    world.get_mut::<InTable>(of(1)).unwrap().0 = 11;
    world.get_mut::<InSet>(of(2)).unwrap().0 = 12;
    world.entity_mut(of(3)).insert(InSet(13));
    world.entity_mut(of(4)).despawn();
    // Much later, whoever asks for changes since the last frame sees these all the same.
    for _ in 0..1_000 {
        world.increment_change_tick();
    }
    world.clear_trackers();
    show(&mut world, &mut members, hiding);
    let changed = |world: &mut World| {
        let mut tables = world.query_filtered::<Entity, Changed<InTable>>();
        let mut sets = world.query_filtered::<Entity, Changed<InSet>>();
        let mut added = world.query_filtered::<Entity, Added<InSet>>();
        (
            tables.iter(world).collect::<Vec<_>>(),
            sets.iter(world).collect::<HashSet<_>>(),
            added.iter(world).collect::<Vec<_>>(),
        )
    };
    let expected = (vec![of(1)], HashSet::from_iter([of(2), of(3)]), vec![of(3)]);
    assert_eq!(changed(&mut world), expected);
    assert_eq!(count::<&InTable, ()>(&mut world), 5, "{bulb} is there, too");
    assert_eq!(count::<&InHiddenLevel, ()>(&mut world), 0);
}

/// Who looks before the pipeline in a frame has not heard of what was done in it.
#[test]
fn what_was_changed_right_before_the_hide_counts_as_changed_again() {
    let mut world = world();
    let (root, mut members, _) = level(&mut world);
    let entities = members.entities.clone();
    world.get_mut::<InTable>(entities[0]).unwrap().0 = 10;
    let heard = world.increment_change_tick();
    world.get_mut::<InTable>(entities[1]).unwrap().0 = 11;
    world.entity_mut(entities[3]).insert(InSet(13));
    let hiding = hide(&mut world, root, &members, heard);
    world.clear_trackers();
    show(&mut world, &mut members, hiding);
    let mut tables = world.query_filtered::<Entity, Changed<InTable>>();
    assert_eq!(tables.iter(&world).collect::<Vec<_>>(), [entities[1]]);
    let mut sets = world.query_filtered::<Entity, Changed<InSet>>();
    assert_eq!(sets.iter(&world).collect::<Vec<_>>(), [entities[3]]);
    assert_eq!(
        count::<(), Added<InSet>>(&mut world),
        0,
        "who ran after it has heard of that"
    );
}

#[test]
fn what_bevy_derives_from_starts_over() {
    let mut world = world();
    let (root, mut members, _) = level(&mut world);
    world.entity_mut(members.entities[0]).insert(Transform::default());
    let hiding = hide_now(&mut world, root, &members);
    world.clear_trackers();
    show(&mut world, &mut members, hiding);
    assert_eq!(count::<(), Changed<Transform>>(&mut world), 1);
    assert_eq!(count::<(), Added<Transform>>(&mut world), 0);
}

/// Whichever way the rows lie: hiding and showing turns them around.
#[test]
fn who_lies_last_goes_first() {
    let mut world = world();
    let entities: Vec<Entity> = (0..5).map(|index| world.spawn(InTable(index)).id()).collect();
    // In which order rows lie, as those are taken that are hidden or shown: in reverse unless they are turned.
    let rows = |world: &World| {
        let row = |entity: &Entity| world.entity(*entity).location().archetype_row.index();
        let mut rows: Vec<usize> = entities.iter().map(row).collect();
        if !are_turned(world, &entities) {
            rows.reverse();
        }
        rows
    };
    for round in 0..3 {
        assert_eq!(rows(&world), [4, 3, 2, 1, 0], "seen, round {round}");
        mark(&mut world, &entities);
        assert_eq!(rows(&world), [4, 3, 2, 1, 0], "hidden, round {round}");
        unmark(&mut world, &entities);
    }
}

#[test]
fn shown_first_everything_counts_as_added() {
    let mut world = world();
    let (root, members, _) = level(&mut world);
    let hiding = hide_now(&mut world, root, &members);
    world.clear_trackers();
    let untouched = Untouched::new(&mut world, false, 0, 0, CameAt::default());
    let shown = show_first(&mut world, &hiding.all.lists().concat(), untouched);
    assert_eq!((shown.settled_at, shown.hung_since), (None, None));
    assert_eq!(count::<(), Added<InTable>>(&mut world), 6);
    assert_eq!(count::<(), Added<InSet>>(&mut world), 3);
    assert_eq!(count::<(), (Added<ChildOf>, Changed<ChildOf>)>(&mut world), 7);
}

#[test]
fn what_was_hung_below_a_hidden_level_is_found() {
    let mut world = world();
    let (root, mut members, bulb) = level(&mut world);
    let mut hiding = hide_now(&mut world, root, &members);
    let late = world.spawn((InTable(0), ChildOf(bulb))).id();
    assert_eq!(count::<&InTable, ()>(&mut world), 1);
    hide_new(&mut world, root, &members, &mut hiding);
    assert_eq!(count::<&InTable, ()>(&mut world), 0);
    show(&mut world, &mut members, hiding);
    assert_eq!(count::<&InTable, ()>(&mut world), 7);
    assert!(world.get_entity(late).is_ok());
}

/// Whoever mirrors entities, as a physics engine does.
#[derive(Resource, Default)]
struct Mirror(HashSet<Entity>);

struct MirrorHider;

impl LevelHider for MirrorHider {
    fn hide(&self, world: &mut World, entities: &[Entity]) {
        let found: HashSet<Entity> = world.query::<Entity>().iter(world).collect();
        let mut alive = entities.iter().filter(|entity| world.get_entity(**entity).is_ok());
        assert!(alive.all(|entity| found.contains(entity)), "they can still be queried");
        let mut mirror = world.resource_mut::<Mirror>();
        mirror.0.retain(|entity| !entities.contains(entity));
    }

    fn show(&self, world: &mut World, entities: &[Entity]) {
        assert_eq!(count::<Entity, With<InTable>>(world), 5, "they can be queried again");
        world.resource_mut::<Mirror>().0.extend(entities);
    }

    fn always_changed(&self, world: &World) -> Vec<ComponentId> {
        world.component_id::<InTable>().into_iter().collect()
    }
}

#[test]
fn whoever_keeps_copies_is_told() {
    let mut world = world();
    let (root, mut members, _) = level(&mut world);
    world.despawn(members.entities[1]);
    let all: HashSet<Entity> = world.query::<Entity>().iter(&world).collect();
    world.insert_resource(Mirror(all.clone()));
    world.resource_mut::<LevelHiders>().0.push(Box::new(MirrorHider));
    let hiding = hide_now(&mut world, root, &members);
    assert!(
        members
            .entities
            .iter()
            .all(|entity| !world.resource::<Mirror>().0.contains(entity))
    );
    world.clear_trackers();
    show(&mut world, &mut members, hiding);
    let alive = members.entities.iter().copied();
    let alive: HashSet<Entity> = alive.filter(|entity| world.get_entity(*entity).is_ok()).collect();
    assert!(world.resource::<Mirror>().0.is_superset(&alive));
    assert_eq!(count::<(), Changed<InTable>>(&mut world), 5);
}
