//! Rows and columns spawn the same world.

mod boxes;
mod groups;

use bevy_ecs::{observer::On, prelude::*, relationship::RelationshipHookMode, world::EntityRef};
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

/// Nothing but numbers, aligned to 16 bytes.
#[derive(Component, Reflect, Clone, Copy, Debug, PartialEq)]
#[reflect(Component)]
struct Wide {
    id: u128,
    speed: f64,
    place: [u32; 2],
}

fn wides(count: usize) -> Vec<Wide> {
    let wide = |row| Wide {
        id: u128::MAX - row as u128,
        speed: row as f64 / 2.0,
        place: [row as u32, 7],
    };
    (0..count).map(wide).collect()
}

fn wide_type() -> PlainType {
    let mut registry = bevy_reflect::TypeRegistry::default();
    registry.register::<Wide>();
    PlainType::of(registry.get(TypeId::of::<Wide>()).unwrap(), &registry).unwrap()
}

/// The memory of `values`, at an address that is not aligned.
fn memory(values: &[Wide], plain: &PlainType) -> (Vec<u8>, usize) {
    let mut data = vec![0; size_of_val(values) + 17];
    let start = 1 + data.as_ptr().addr().wrapping_neg() % 16;
    let rows = data[start..].chunks_exact_mut(size_of::<Wide>());
    for (value, row) in values.iter().zip(rows) {
        for leaf in plain.layout().leaves() {
            let bytes = match leaf.path.as_str() {
                "id" => value.id.to_le_bytes().to_vec(),
                "speed" => value.speed.to_le_bytes().to_vec(),
                _ => value.place.iter().flat_map(|number| number.to_le_bytes()).collect(),
            };
            row[leaf.offset..leaf.offset + bytes.len()].copy_from_slice(&bytes);
        }
    }
    (data, start)
}

fn wide_column(count: usize) -> Box<dyn Column> {
    let plain = wide_type();
    let (data, start) = memory(&wides(count), &plain);
    let data = &data[start..start + count * size_of::<Wide>()];
    assert_ne!(data.as_ptr().addr() % 16, 0);
    plain_column(&plain, data, count).unwrap()
}

/// With others or alone, in rows or in columns, in the first pass or the second.
#[test]
fn plain_columns_are_spawned_like_others() {
    let mut sets = RowSets::default();
    sets.add::<(Label, Wide)>();
    let late = [vec![], vec![TypeId::of::<Wide>()], vec![TypeId::of::<Label>()]];
    for (late, is_zipped) in late.into_iter().flat_map(|late| [(late.clone(), false), (late, true)]) {
        let (mut world, entities) = world();
        world.register_component::<Wide>();
        world.insert_resource(Seen(0));
        world.add_observer(|_: On<Add, Wide>, mut seen: ResMut<Seen>| seen.0 += 1);
        let columns = vec![wide_column(10), typed_column(labels(10))];
        let sets = if is_zipped { &sets } else { &RowSets::default() };
        let values = Values::new(columns, sets).unwrap();
        assert_eq!(matches!(values, Values::Rows(_)), is_zipped);
        let group = Group {
            entities: entities.clone(),
            values,
        };
        spawn(&mut world, vec![group], &Late(late));
        assert_eq!(world.resource::<Seen>().0, 10);
        for ((entity, wide), label) in entities.iter().zip(wides(10)).zip(labels(10)) {
            let entity = world.entity(*entity);
            assert_eq!(
                (entity.get::<Wide>(), entity.get::<Label>()),
                (Some(&wide), Some(&label))
            );
            assert!(entity.get_ref::<Wide>().unwrap().is_added());
            assert_eq!(core::ptr::from_ref(entity.get::<Wide>().unwrap()).addr() % 16, 0);
        }
    }
}

/// A typed row takes the memory of the column as it is.
#[test]
fn the_values_of_a_plain_column_are_not_copied_again() {
    let column = PlainColumn::new(&wide_type(), &[7; 640], 20).unwrap();
    let memory = column.memory.as_ptr().addr();
    let values = values::<Wide>(Box::new(column)).unwrap();
    assert_eq!(
        (values.as_ptr().addr(), values.len(), values.capacity()),
        (memory, 20, 20)
    );
    assert_eq!(memory % align_of::<Wide>(), 0);
    assert_eq!(values[19].id, u128::from_le_bytes([7; 16]));
    let mut column = wide_column(4);
    column.drop_next();
    assert_eq!(super::values::<Wide>(column).unwrap(), wides(4)[1..]);
    assert_eq!(super::values::<Wide>(wide_column(0)).unwrap(), []);
    assert!(super::values::<Weight>(wide_column(3)).is_none(), "they are no weights");
}

#[test]
fn a_plain_column_is_as_long_as_its_bytes() {
    let plain = wide_type();
    for (bytes, rows) in [(0, 1), (31, 1), (32, 0), (33, 1), (64, 1), (32, usize::MAX)] {
        assert!(plain_column(&plain, &vec![0; bytes], rows).is_none(), "{bytes} {rows}");
    }
    let mut column = plain_column(&plain, &[0; 64], 2).unwrap();
    assert_eq!((column.len(), (*column).type_id()), (2, TypeId::of::<Wide>()));
    (0..5).for_each(|_| column.drop_next());
    assert!(column.is_empty());
}

/// Rows of entities that are gone are left out, rows without an entity stay where they are.
#[test]
fn plain_rows_meet_their_own_entity() {
    let (mut world, entities) = world();
    world.register_component::<Wide>();
    world.spawn_empty_at(entities[4]).unwrap();
    let group = Group {
        entities: entities[..8].to_vec(),
        values: Values::Columns(vec![wide_column(10)]),
    };
    drop(spawn(&mut world, vec![group], &Late(Vec::new())));
    let spawned: Vec<_> = (0..8).map(|row| world.get::<Wide>(entities[row]).copied()).collect();
    let expected = wides(8)
        .into_iter()
        .enumerate()
        .map(|(row, wide)| (row != 4).then_some(wide));
    assert_eq!(spawned, expected.collect::<Vec<_>>());
}

/// Of whatever kind a column is, and with values that have moved out already.
#[test]
fn columns_are_parted_and_looked_into() {
    fn check<C: Component + Clone + PartialEq + core::fmt::Debug>(mut column: Box<dyn Column>, all: &[C]) {
        let picked = [true, false, true, true];
        column.drop_next();
        let left = &all[1..];
        for (row, value) in left.iter().enumerate() {
            assert_eq!(value_at::<C>(&*column, row), Some(value));
        }
        assert!(value_at::<C>(&*column, left.len()).is_none());
        assert!(value_at::<Marker>(&*column, 0).is_none(), "they are no markers");
        let is_picked = |row: &usize| picked.get(*row).copied().unwrap_or_default();
        let part = |wanted: bool| {
            let rows = (0..left.len()).filter(|row| is_picked(row) == wanted);
            rows.map(|row| left[row].clone()).collect::<Vec<_>>()
        };
        let parts = column.split(&picked).map(|part| values::<C>(part).unwrap());
        assert_eq!(parts, [part(true), part(false)]);
    }
    check(typed_column(labels(7)), &labels(7));
    let boxed = labels(7).into_iter().map(|label| Box::new(label) as Box<dyn Reflect>);
    check(
        reflected_column(boxed.collect(), TypeId::of::<Label>()).unwrap(),
        &labels(7),
    );
    check(wide_column(7), &wides(7));
}

#[test]
fn values_are_reflected_as_what_they_are() {
    let (mut world, entities) = world();
    world.spawn_at(entities[0], Label("label 1".into())).unwrap();
    let column = typed_column(labels(3));
    let from_ptr = <ReflectFromPtr as bevy_reflect::FromType<Label>>::from_type();
    let other = <ReflectFromPtr as bevy_reflect::FromType<Wide>>::from_type();
    let new = reflected_at(&*column, 1, &from_ptr).unwrap();
    assert_eq!(new.downcast_ref(), Some(&Label("label 1".into())));
    assert!(reflected_at(&*column, 3, &from_ptr).is_none());
    assert!(reflected_at(&*column, 1, &other).is_none());
    let id = world.component_id::<Label>().unwrap();
    let weight = world.component_id::<Weight>().unwrap();
    let entity = world.entity(entities[0]);
    let live = reflected(&world, entity, id, &from_ptr).unwrap();
    assert_eq!(live.reflect_partial_eq(new.as_partial_reflect()), Some(true));
    assert!(reflected(&world, entity, id, &other).is_none());
    assert!(reflected(&world, entity, weight, &from_ptr).is_none());
}

#[test]
fn single_values_move_into_entities_that_are_there() {
    let (mut world, entities) = world();
    for entity in &entities[..3] {
        world.spawn_at(*entity, Label("old".into())).unwrap();
    }
    let columns = vec![typed_column(labels(3)), typed_column(vec![Weight(1.0); 3])];
    let mut inserter = Inserter::new(&world, columns);
    let label = world.component_id::<Label>();
    let labels = inserter
        .columns()
        .iter()
        .position(|(id, _)| Some(*id) == label)
        .unwrap();
    inserter.insert_next(&mut world, entities[0], RelationshipHookMode::Skip, |column| {
        column == labels
    });
    inserter.insert_next(&mut World::new(), entities[1], RelationshipHookMode::Skip, |_| true);
    inserter.insert_next(&mut world, entities[1], RelationshipHookMode::Skip, |_| false);
    inserter.insert_next(&mut world, entities[2], RelationshipHookMode::Skip, |_| true);
    let look = |entity: Entity| {
        let entity = world.entity(entity);
        (entity.get::<Label>().unwrap().0.clone(), entity.contains::<Weight>())
    };
    let expected = [
        ("label 0".into(), false),
        ("old".into(), false),
        ("label 2".into(), true),
    ];
    assert_eq!([entities[0], entities[1], entities[2]].map(look), expected);
}

/// More than are rewritten at once, in runs of two archetypes that end anywhere, some of them dead.
#[test]
fn the_ticks_of_many_entities_are_rewritten() {
    #[derive(Component)]
    #[component(storage = "SparseSet")]
    struct Every(#[expect(dead_code, reason = "only its ticks are looked at")] usize);
    let mut world = World::new();
    let entities: Vec<Entity> = (0..2_500)
        .map(|index| {
            let mut entity = world.spawn(Weight(index as f32));
            if index / 300 % 2 == 0 {
                entity.insert(Every(index));
            }
            entity.id()
        })
        .collect();
    for dead in [0, 1_023, 1_024, 2_499] {
        world.despawn(entities[dead]);
    }
    let since = world.increment_change_tick();
    let now = world.change_tick();
    let to = ComponentTicks {
        added: since,
        changed: now,
    };
    let weights = world.register_component::<Weight>();
    let mut rewritten = 0;
    let all = |id| (id == weights).then_some(to);
    rewrite_ticks(&mut world, &entities, all, |_, id, before| {
        assert_ne!(id, weights);
        assert!(!before.changed.is_newer_than(since, now));
        rewritten += 1;
        to
    });
    let alive = world
        .query::<(Ref<Weight>, Option<Ref<Every>>)>()
        .iter(&world)
        .collect::<Vec<_>>();
    assert_eq!((alive.len(), rewritten), (2_496, 1_300 - 2));
    let is_rewritten = |[added, changed]: [Tick; 2]| (added, changed) == (since, now);
    for (weight, every) in alive {
        assert!(is_rewritten([weight.added(), weight.last_changed()]));
        assert!(every.is_none_or(|every| is_rewritten([every.added(), every.last_changed()])));
    }
}

/// When what lies in a table was changed.
#[test]
fn changed_ticks_are_those_of_rows() {
    let mut world = World::new();
    let entities = [0.0, 1.0, 2.0].map(|weight| world.spawn(Weight(weight)).id());
    let others = labels(9).into_iter().map(|label| world.spawn(label).id()).last();
    let before = world.increment_change_tick();
    world.get_mut::<Weight>(entities[1]).expect("it is alive").0 = 7.0;
    let [weights, markers] = [
        world.register_component::<Weight>(),
        world.register_component::<Marker>(),
    ];
    let table = world.entity(entities[0]).location().table_id;
    let ticks = ChangedTicks::of(&world, table, weights).expect("it lies in the table");
    let far = world.entity(others.expect("there are nine"));
    let now = world.read_change_tick();
    let is_changed = |entity: Entity| {
        let row = world.entity(entity).location().table_row;
        ticks.at(row).map(|tick| tick.is_newer_than(before, now))
    };
    assert_eq!(entities.map(is_changed), [Some(false), Some(true), Some(false)]);
    assert_eq!(ticks.at(far.location().table_row), None);
    let elsewhere = far.location().table_id;
    assert!(ChangedTicks::of(&world, elsewhere, markers).is_none());
}
