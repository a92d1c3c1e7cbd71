use bevy_ecs::{
    entity_disabling::Disabled,
    schedule::Schedule,
    system::{ParamBuilder, SystemChangeTick, SystemParamBuilder},
};

use super::*;
use crate::InHiddenLevel;

#[derive(Component)]
struct Place(u32);

#[derive(Component)]
struct Marked;

/// Whom a scan has found in this run.
#[derive(Resource, Default)]
struct Found(Vec<(Entity, u32)>);

fn bed() -> (World, Schedule) {
    let mut world = World::new();
    world.init_resource::<Found>();
    world.register_disabling_component::<InHiddenLevel>();
    let look = |places: Scan<Place, With<Marked>>, ticks: SystemChangeTick, mut found: ResMut<Found>| {
        found.0.clear();
        changed(&places, ticks.last_run(), |entity, place| {
            found.0.push((entity, place.0))
        });
    };
    let places = scan(&mut world);
    let look = (places, ParamBuilder, ParamBuilder)
        .build_state(&mut world)
        .build_system(look);
    let mut schedule = Schedule::default();
    schedule.add_systems(look);
    (world, schedule)
}

fn found(world: &mut World, schedule: &mut Schedule) -> Vec<(Entity, u32)> {
    schedule.run(world);
    world.resource::<Found>().0.clone()
}

/// Whatever a query with `Changed` finds, in tables of all sizes, is found.
#[test]
fn who_has_changed_is_found_once() {
    let (mut world, mut schedule) = bed();
    let entities: Vec<Entity> = (0..1000)
        .map(|number| match number % 3 {
            0 => world.spawn((Place(number), Marked)).id(),
            1 => world.spawn((Place(number), Marked, Name::new("in another table"))).id(),
            _ => world.spawn(Place(number)).id(),
        })
        .collect();
    let count = |found: Vec<(Entity, u32)>| found.len();
    assert_eq!(count(found(&mut world, &mut schedule)), 667);
    assert_eq!(count(found(&mut world, &mut schedule)), 0);
    for changed in [
        vec![0],
        vec![63 * 3],
        vec![64 * 3, 65 * 3, 999],
        vec![1, 4, 997],
        vec![2, 5],
    ] {
        for index in &changed {
            world.get_mut::<Place>(entities[*index]).expect("it has one").0 += 1000;
        }
        let expected: Vec<(Entity, u32)> = changed
            .iter()
            .filter(|index| *index % 3 != 2)
            .map(|index| {
                (
                    entities[*index],
                    world.get::<Place>(entities[*index]).expect("it has one").0,
                )
            })
            .collect();
        let mut of = found(&mut world, &mut schedule);
        of.sort_by_key(|(_, place)| *place);
        assert_eq!(of, expected);
    }
}

#[test]
fn who_is_hidden_or_disabled_is_found_and_nobody_elses_queries_are_others() {
    let (mut world, mut schedule) = bed();
    let hidden = world.spawn((Place(1), Marked, InHiddenLevel)).id();
    let disabled = world.spawn((Place(2), Marked, Disabled)).id();
    assert_eq!(found(&mut world, &mut schedule), [(hidden, 1), (disabled, 2)]);
    let mut others = world.query::<&Place>();
    assert_eq!(others.iter(&world).count(), 0, "queries leave them out as before");
    world.entity_mut(hidden).remove::<InHiddenLevel>();
    assert_eq!(found(&mut world, &mut schedule), [], "it is the same as before");
    assert_eq!(others.iter(&world).count(), 1);
}
