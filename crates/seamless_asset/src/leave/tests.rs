use bevy_ecs::hierarchy::ChildOf;

use super::*;

/// Two parents below a root, with so many children each, and the sweep of them.
fn level(world: &mut World, children: usize) -> (Vec<Entity>, Sweep) {
    let root = world.spawn_empty().id();
    let parents: Vec<Entity> = (0..2).map(|_| world.spawn(ChildOf(root)).id()).collect();
    let below = parents.iter().flat_map(|parent| [*parent].repeat(children));
    let children: Vec<Entity> = below.collect();
    let children = children.into_iter().map(|parent| world.spawn(ChildOf(parent)).id());
    let entities: Vec<Entity> = parents.iter().copied().chain(children).collect();
    let sweep = Sweep::new(root, entities.clone().into(), parents);
    (entities, sweep)
}

/// What a step takes is learnt by how many it despawned: most of the list's end is gone by then.
#[test]
fn a_step_tells_how_many_it_despawned() {
    let mut world = World::new();
    let (entities, mut sweep) = level(&mut world, 10);
    let all = sweep.left();
    let mut steps = Vec::new();
    while !sweep.is_over() {
        let left = sweep.left();
        steps.push(sweep.step(&mut world, 4));
        assert!(sweep.left() <= left, "it only falls");
    }
    assert_eq!(steps.iter().sum::<u64>(), entities.len() as u64 + 1, "and the root");
    assert_eq!((all, sweep.left()), (entities.len() + 1 + 2, 0), "parents count twice");
    assert_eq!(steps.last(), Some(&0), "the children had gone");
    assert!(entities.iter().all(|entity| world.get_entity(*entity).is_err()));
}

#[test]
fn what_the_game_hung_below_goes_too() {
    let mut world = World::new();
    let (entities, mut sweep) = level(&mut world, 3);
    let guest = world.spawn(ChildOf(entities[0])).id();
    let below: Vec<Entity> = (0..100).map(|_| world.spawn(ChildOf(guest)).id()).collect();
    assert_eq!(
        sweep.step(&mut world, usize::MAX),
        entities.len() as u64 + 1,
        "none of these count"
    );
    assert!(sweep.is_over() && below.iter().all(|entity| world.get_entity(*entity).is_err()));
}
