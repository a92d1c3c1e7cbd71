//! Order and names of entities.

use bevy::prelude::*;
use bevy::reflect::TypeRegistry;

use crate::hierarchy::{Hierarchy, grouped};
use crate::source::Scene;

fn registry() -> TypeRegistry {
    let mut registry = TypeRegistry::new();
    registry.register::<Name>();
    registry.register::<ChildOf>();
    registry.register::<Children>();
    registry.register::<Transform>();
    registry
}

#[test]
fn names_are_paths_with_numbers_where_they_must_be() {
    let mut world = World::new();
    let body = world.spawn(Name::new("Body")).id();
    for name in ["Wheel", "Wheel", "Wheel~1", "a/b"] {
        world.spawn((Name::new(name), ChildOf(body)));
    }
    world.spawn(ChildOf(body));
    world.spawn(ChildOf(body));
    world.spawn_empty();
    world.spawn(Name::new("Level"));
    let registry = registry();
    let scene = Scene::of_world(&world, &registry);
    let hierarchy = Hierarchy::of(&scene.entities);
    let names = hierarchy.names(&scene.entities, &["Level"]);
    let ordered: Vec<&str> = hierarchy.order.iter().map(|index| names[*index].as_str()).collect();
    let expected = [
        "Body",
        "Body/Wheel",
        "Body/Wheel~1",
        "Body/Wheel~1~1",
        "Body/a_b",
        "Body/~0",
        "Body/~1",
        "~0",
        "Level~1",
    ];
    assert_eq!(ordered, expected);
}

#[test]
fn siblings_lie_as_their_parent_lists_them_and_circles_are_found() {
    let mut world = World::new();
    let parent = world.spawn_empty().id();
    let [a, b] = [(), ()].map(|()| world.spawn(ChildOf(parent)).id());
    world.entity_mut(parent).replace_children(&[b, a]);
    let registry = registry();
    let scene = Scene::of_world(&world, &registry);
    let hierarchy = Hierarchy::of(&scene.entities);
    let order: Vec<Entity> = hierarchy
        .order
        .iter()
        .map(|index| scene.entities[*index].entity)
        .collect();
    assert_eq!(order, [parent, b, a]);
    assert!(hierarchy.circles.is_empty());

    let mut scene = scene;
    let looped = ChildOf(a);
    scene.entities[0].components.insert(ChildOf::type_path(), &looped);
    assert_eq!(Hierarchy::of(&scene.entities).circles.len(), 3);
}

#[test]
fn groups_come_in_order_of_appearance() {
    let mut world = World::new();
    world.spawn(Name::new("a"));
    world.spawn((Name::new("b"), Transform::IDENTITY));
    world.spawn(Name::new("c"));
    let registry = registry();
    let mut scene = Scene::of_world(&world, &registry);
    // Only these two types are registered here; what they require is not the matter.
    scene.entities.iter_mut().for_each(|entity| {
        entity
            .components
            .retain(|path, _| *path == Name::type_path() || *path == Transform::type_path());
    });
    assert_eq!(
        grouped(&Hierarchy::of(&scene.entities), &scene.entities),
        [vec![0, 2], vec![1]]
    );
}
