//! Groups are parted when it is their turn.

use bevy_ecs::{observer::On, prelude::*, relationship::RelationshipTarget};

use super::*;
use crate::hide::InHiddenLevel;

#[derive(Component)]
struct Bell(usize);

#[derive(Component)]
struct Rope;

/// Entities with a bell each, and of each second group a rope, in groups of this size.
fn groups(world: &mut World, count: usize, size: usize) -> (Vec<Entity>, Vec<Group>) {
    world.register_component::<Bell>();
    world.register_component::<Rope>();
    let all: Vec<Entity> = (0..count * size).map(|_| world.entity_allocator().alloc()).collect();
    let group = |(group, entities): (usize, &[Entity])| {
        let mut columns = vec![typed_column((0..size).map(|row| Bell(group * size + row)).collect())];
        if group % 2 == 1 {
            columns.push(typed_column((0..size).map(|_| Rope).collect()));
        }
        Group {
            entities: entities.to_vec(),
            values: Values::Columns(columns),
        }
    };
    let groups = all.chunks(size).enumerate().map(group).collect();
    (all, groups)
}

/// In steps of any size, which may end within a group or behind several.
#[test]
fn steps_of_any_size_bring_the_same() {
    for most in [1, 2, 3, 5, 8, 100] {
        let mut world = World::new();
        let (all, groups) = groups(&mut world, 7, 3);
        let mut spawner = Spawner::new(groups, true);
        let mut there = 0;
        while !spawner.is_done() {
            assert_eq!(
                spawner.waiting().collect::<Vec<_>>(),
                all[there..],
                "in steps of {most}"
            );
            assert_eq!(spawner.has_begun(), there > 0);
            let done = spawner.step(&mut world, most, &Late(Vec::new()), None);
            assert_eq!(done, most.min(all.len() - there));
            there += done;
        }
        assert_eq!(
            (there, spawner.late_rows(), spawner.waiting().count()),
            (all.len(), 0, 0)
        );
        spawner.insert_late(&mut world);
        for (row, entity) in all.iter().enumerate() {
            let entity = world.entity(*entity);
            assert_eq!(entity.get::<Bell>().map(|bell| bell.0), Some(row));
            assert_eq!(entity.contains::<Rope>(), row / 3 % 2 == 1);
            assert!(entity.contains::<InHiddenLevel>());
        }
    }
}

/// Whoever begins to observe what has not come yet hears of it at the end, and nothing is spoilt; of what has come, it is.
#[test]
fn who_begins_to_observe_in_between_hears_of_what_is_still_to_come() {
    let observed = |observed: TypeId| {
        let mut world = World::new();
        let (all, groups) = groups(&mut world, 4, 2);
        let mut spawner = Spawner::new(groups, true);
        // All of the first group, without ropes.
        spawner.step(&mut world, 2, &Late(Vec::new()), None);
        let late = Late(vec![observed]);
        let is_spoilt = spawner.is_overheard(&world, &late);
        spawner.step(&mut world, 100, &late, None);
        let ropes = |world: &World| {
            all.iter()
                .filter(|entity| world.entity(**entity).contains::<Rope>())
                .count()
        };
        let (before, late_rows) = (ropes(&world), spawner.late_rows());
        spawner.insert_late(&mut world);
        (is_spoilt, before, late_rows, ropes(&world))
    };
    assert_eq!(observed(TypeId::of::<Rope>()), (false, 0, 4, 4));
    assert_eq!(observed(TypeId::of::<Bell>()), (true, 4, 6, 4));
}

/// Each component is asked for once in a step, however many groups have it.
#[test]
fn passes_are_asked_once_for_each_component() {
    struct Counted(core::sync::atomic::AtomicUsize);
    impl Passes for Counted {
        fn is_late(&self, _: &World, _: ComponentId) -> bool {
            self.0.fetch_add(1, core::sync::atomic::Ordering::Relaxed);
            false
        }
    }
    let mut world = World::new();
    let (all, groups) = groups(&mut world, 300, 1);
    let counted = Counted(0.into());
    let mut spawner = Spawner::new(groups, true);
    assert_eq!(spawner.step(&mut world, usize::MAX, &counted, None), all.len());
    assert_eq!(counted.0.into_inner(), 2);
}

/// Ties come before all else that is observed, whoever's row it is.
#[test]
fn who_parts_and_ties_in_an_observer_is_not_written_over() {
    const COUNT: usize = 4;
    let mut world = World::new();
    world.register_component::<Bell>();
    world.register_component::<ChildOf>();
    world.register_component::<Children>();
    let hand = world.spawn_empty().id();
    let all: Vec<Entity> = (0..=COUNT).map(|_| world.entity_allocator().alloc()).collect();
    let (last, doomed) = (all[COUNT], all[COUNT - 1]);
    // The first that is heard of takes the last in its hand, and does away with the one before.
    world.add_observer(
        move |bell: On<Add, Bell>, bells: Query<&Bell>, mut commands: Commands| {
            if bells.get(bell.entity).is_ok_and(|bell| bell.0 == 0) {
                commands.entity(last).insert(ChildOf(hand));
                commands.entity(doomed).despawn();
                commands.spawn((Rope, ChildOf(last)));
            }
        },
    );
    let (parent, children) = (all[0], &all[1..]);
    let list = Children::from_collection_risky(children.to_vec());
    let bells = |from: usize, to: usize| typed_column((from..to).map(Bell).collect());
    let groups = vec![
        Group {
            entities: vec![parent],
            values: Values::Columns(vec![bells(0, 1), typed_column(vec![list])]),
        },
        Group {
            entities: children.to_vec(),
            values: Values::Columns(vec![
                bells(1, COUNT + 1),
                typed_column(children.iter().map(|_| ChildOf(parent)).collect()),
            ]),
        },
    ];
    let late = [TypeId::of::<Bell>(), TypeId::of::<ChildOf>(), TypeId::of::<Children>()];
    spawn(&mut world, groups, &Late(late.to_vec()));
    let of = |entity: Entity| world.get::<Children>(entity).map(|of| of.to_vec()).unwrap_or_default();
    assert_eq!(world.get::<ChildOf>(last).map(ChildOf::parent), Some(hand));
    assert_eq!(of(hand), [last]);
    assert_eq!(of(parent), all[1..COUNT - 1]);
    assert_eq!(of(last).len(), 1, "what was hung there hangs there");
    assert!(world.get_entity(doomed).is_err());
}
