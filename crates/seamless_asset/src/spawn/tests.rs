//! Rows and columns spawn the same world.

use bevy_ecs::{observer::On, prelude::*, world::EntityRef};
use bevy_reflect::Reflect;

use super::*;
use crate::placed_row;

#[derive(Component, Reflect, Clone, Debug, PartialEq)]
struct Label(String);

#[derive(Component, Clone, Debug, PartialEq)]
struct Weight(f32);

#[derive(Component, Clone, Debug, Default, PartialEq)]
struct Marker;

/// Brings [`Marker`] along.
#[derive(Component, Clone, Debug, PartialEq)]
#[require(Marker)]
struct Marked(u8);

type Row = (Label, Weight, Marked);

struct Late(Vec<TypeId>);

impl Passes for Late {
    fn is_late(&self, world: &World, id: ComponentId) -> bool {
        let type_id = world.components().get_info(id).and_then(|info| info.type_id());
        type_id.is_some_and(|type_id| self.0.contains(&type_id))
    }
}

fn labels(count: usize) -> Vec<Label> {
    (0..count).map(|row| Label(format!("label {row}"))).collect()
}

fn columns(count: usize, reflected: bool) -> Vec<Box<dyn Column>> {
    let boxed = |label| Box::new(label) as Box<dyn Reflect>;
    vec![
        typed_column((0..count).map(|row| Marked(row as u8)).collect()),
        if reflected {
            reflected_column(labels(count).into_iter().map(boxed).collect(), TypeId::of::<Label>()).unwrap()
        } else {
            typed_column(labels(count))
        },
        typed_column((0..count).map(|row| Weight(row as f32)).collect()),
    ]
}

fn sets() -> RowSets {
    let mut sets = RowSets::default();
    sets.add::<Row>();
    sets
}

fn world() -> (World, Vec<Entity>) {
    let mut world = World::new();
    Row::register(&mut world);
    let entities = (0..10).map(|_| world.entity_allocator().alloc()).collect();
    (world, entities)
}

fn look(entity: EntityRef) -> (Option<Label>, Option<Weight>, Option<Marked>, bool) {
    let marked = entity.contains::<Marker>();
    (
        entity.get().cloned(),
        entity.get().cloned(),
        entity.get().cloned(),
        marked,
    )
}

fn spawned(values: Values, late: Vec<TypeId>) -> Vec<(Option<Label>, Option<Weight>, Option<Marked>, bool)> {
    let (mut world, entities) = world();
    let group = Group {
        entities: entities.clone(),
        values,
    };
    spawn(&mut world, vec![group], &Late(late));
    entities.iter().map(|entity| look(world.entity(*entity))).collect()
}

#[test]
fn rows_and_columns_spawn_the_same() {
    let plain = spawned(Values::Columns(columns(10, false)), Vec::new());
    assert_eq!(plain[3].0, Some(Label("label 3".into())));
    assert!(plain.iter().all(|entity| entity.3), "required components come along");
    for reflected in [false, true] {
        for late in [Vec::new(), vec![TypeId::of::<Weight>()]] {
            let values = Values::new(columns(10, reflected), &sets()).unwrap();
            assert!(matches!(values, Values::Rows(_)));
            assert_eq!(spawned(values, late), plain);
        }
    }
}

#[test]
fn other_sets_stay_columns() {
    let mut fewer = columns(4, true);
    fewer.pop();
    assert!(matches!(Values::new(fewer, &sets()), Ok(Values::Columns(_))));
    let mut more = columns(4, true);
    more.push(typed_column(vec![Marker; 4]));
    assert!(matches!(Values::new(more, &sets()), Ok(Values::Columns(_))));
}

#[test]
fn columns_of_different_lengths_are_refused() {
    let mut uneven = columns(4, false);
    uneven[2] = typed_column(vec![Weight(0.0); 3]);
    assert!(Values::new(uneven, &sets()).is_err());
}

#[test]
fn values_that_are_not_spawned_are_dropped() {
    #[derive(Component)]
    struct Counted(#[expect(dead_code, reason = "only counted")] std::sync::Arc<()>);
    let count = std::sync::Arc::new(());
    let mut sets = RowSets::default();
    sets.add::<(Counted,)>();
    let column = || vec![typed_column((0..5).map(|_| Counted(count.clone())).collect())];
    let rows = Values::new(column(), &sets).unwrap();
    let plain = Values::new(column(), &RowSets::default()).unwrap();
    assert_eq!(std::sync::Arc::strong_count(&count), 11);
    drop((rows, plain));
    assert_eq!(std::sync::Arc::strong_count(&count), 1);
    // Three ids for five values: two are left over.
    let mut world = World::new();
    let entities = (0..3).map(|_| world.entity_allocator().alloc()).collect();
    let values = Values::new(column(), &sets).unwrap();
    spawn(&mut world, vec![Group { entities, values }], &Late(Vec::new()));
    assert_eq!(std::sync::Arc::strong_count(&count), 4);
}

/// What a reservation is for: afterwards, the table grows no more.
#[test]
fn reserved_room_is_used() {
    let (mut world, entities) = world();
    let Ok(Values::Rows(rows)) = Values::new(columns(10, false), &sets()) else {
        panic!("the set is known");
    };
    rows.reserve(&mut world, 5000);
    let capacity = |world: &World| {
        let tables = world.storages().tables.iter();
        tables.map(bevy_ecs::storage::Table::capacity).max()
    };
    let reserved = capacity(&world);
    assert!(reserved.is_some_and(|room| room >= 5000), "{reserved:?}");
    assert_eq!(world.query::<&Label>().iter(&world).count(), 0, "nothing is spawned");
    let next = world.entity_allocator().alloc();
    assert_eq!(next.index_u32(), entities[9].index_u32() + 1, "no id is used up");
    spawn(
        &mut world,
        vec![Group {
            entities,
            values: Values::Rows(rows),
        }],
        &Late(Vec::new()),
    );
    assert_eq!(capacity(&world), reserved, "they are in the table that has the room");
    assert_eq!(world.query::<&Label>().iter(&world).count(), 10);
}

#[test]
fn insertion_is_observed() {
    let (mut world, entities) = world();
    world.insert_resource(Seen(0));
    world.add_observer(|_: On<Add, Weight>, mut seen: ResMut<Seen>| seen.0 += 1);
    let values = Values::new(columns(10, true), &sets()).unwrap();
    spawn(&mut world, vec![Group { entities, values }], &Late(Vec::new()));
    assert_eq!(world.resource::<Seen>().0, 10);
}

#[derive(Resource)]
struct Seen(usize);

#[test]
fn a_placed_row_begins_with_seven() {
    assert_eq!(<placed_row!()>::types().len(), 7);
    assert_eq!(<placed_row!(Label, Weight)>::types().len(), 9);
}

/// Both roads leave an entity alone whose id is not free, and drop its row.
#[test]
fn a_taken_id_is_left_alone() {
    let rows = || Values::new(columns(10, false), &sets()).unwrap();
    let plain = || Values::Columns(columns(10, true));
    for (values, late) in [
        (rows(), vec![]),
        (plain(), vec![]),
        (plain(), vec![TypeId::of::<Weight>()]),
    ] {
        let (mut world, entities) = world();
        world.spawn_empty_at(entities[4]).unwrap().insert(Weight(-1.0));
        let group = Group {
            entities: entities.clone(),
            values,
        };
        spawn(&mut world, vec![group], &Late(late));
        let stranger = look(world.entity(entities[4]));
        assert_eq!(stranger, (None, Some(Weight(-1.0)), None, false));
        let next = look(world.entity(entities[5]));
        assert_eq!((next.0, next.1), (Some(Label("label 5".into())), Some(Weight(5.0))));
    }
}
