use bevy_ecs::{
    component::Component,
    entity::Entity,
    entity_disabling::Disabled,
    query::{Allow, Changed},
    system::{IntoSystem, Query, System},
    world::World,
};
use seamless_asset::InHiddenLevel;

use super::Changes;
use crate::random::Random;

#[derive(Component, Default)]
struct Dense(u32);

#[derive(Component, Default)]
#[component(storage = "SparseSet")]
struct Sparse(u32);

type Filtered<'w, 's, T> = Query<'w, 's, Entity, (Changed<T>, Allow<InHiddenLevel>, Allow<Disabled>)>;

/// What is found here, and what Bevy's own filter finds.
fn both<T: Component>(filtered: Filtered<T>, changes: Changes<T>) -> [Vec<Entity>; 2] {
    // Whatever was in the list is not in it any more.
    let mut found = vec![Entity::PLACEHOLDER];
    changes.find(&mut found);
    [found, filtered.iter().collect()].map(|mut list| {
        list.sort_unstable();
        list
    })
}

/// Changes an entity in one of the ways that there are.
fn change(world: &mut World, entity: Entity, way: usize) {
    let mut entity = world.entity_mut(entity);
    match way {
        0 => drop(entity.insert(Disabled)),
        1 => drop(entity.insert(InHiddenLevel)),
        2 => drop(entity.insert((Dense(1), Sparse(1)))),
        3 => drop(entity.remove::<(Dense, Sparse)>()),
        _ => {
            if let Some(mut dense) = entity.get_mut::<Dense>() {
                dense.0 += 1;
            }
            if let Some(mut sparse) = entity.get_mut::<Sparse>() {
                sparse.0 += 1;
            }
        }
    }
}

/// However many there are, and whichever change: in several tables, of hidden levels, disabled, and where they lie one by one.
#[test]
fn it_is_what_changed_finds() {
    let mut random = Random(7);
    let mut later = 0;
    for count in [1, 2, 7, 64, 1000] {
        let mut world = World::new();
        world.register_disabling_component::<InHiddenLevel>();
        let entities: Vec<_> = (0..count)
            .map(|_| world.spawn((Dense::default(), Sparse::default())).id())
            .collect();
        let mut systems: [Box<dyn System<In = (), Out = [Vec<Entity>; 2]>>; 2] = [
            Box::new(IntoSystem::into_system(both::<Dense>)),
            Box::new(IntoSystem::into_system(both::<Sparse>)),
        ];
        for system in &mut systems {
            system.initialize(&mut world);
        }
        for step in 0..20 {
            for system in &mut systems {
                let [found, expected] = system.run((), &mut world).expect("it runs");
                assert_eq!(found, expected, "step {step} of {count}");
                if step == 0 {
                    assert_eq!(found.len(), count, "all are new");
                } else {
                    later += found.len();
                }
            }
            for _ in 0..random.below(4) {
                let entity = entities[random.below(count)];
                change(&mut world, entity, random.below(8));
            }
        }
    }
    assert!(later > 50, "{later} were changed later");
}
