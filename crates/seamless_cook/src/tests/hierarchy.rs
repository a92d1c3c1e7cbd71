//! Order and names of entities.

use bevy::prelude::*;
use bevy::reflect::TypeRegistry;

use super::{Fixture, assert_error, number, scene};
use crate::hierarchy::{Hierarchy, grouped};
use crate::inspect;
use crate::source::{Scene, SourceEntity};

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
    let names = hierarchy.names(&scene.entities, &["Level"], |_| None);
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
    // As in a scene that somebody has written.
    let number = |entity: &SourceEntity| Some(entity.entity.to_bits().to_string());
    let numbered = hierarchy.names(&scene.entities, &["Level"], number);
    for (place, index) in hierarchy.order.iter().enumerate() {
        let expected = match place {
            5..8 => number(&scene.entities[*index]).unwrap(),
            _ => expected[place].to_owned(),
        };
        assert_eq!(numbered[*index], expected);
    }
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

const CHILD_OF: &str = "bevy_ecs::hierarchy::ChildOf";
const CHILDREN: &str = "bevy_ecs::hierarchy::Children";

/// Bevy looks at `Children` alone when it moves what is below an entity, and a level with one of the two is refused.
#[test]
fn children_that_a_scene_leaves_out_are_written() {
    let parent = format!("({})", number(1));
    let fixture = Fixture::new();
    fixture.write(
        "a.scn.ron",
        scene(&[("bevy_ecs::name::Name", "\"Ship\""), (CHILD_OF, &parent)]),
    );
    fixture.cook(r#"(levels: [(source: "a.scn.ron")])"#).unwrap();
    let package = inspect(&fixture.out().join("a.pkg")).unwrap();
    let groups = package.level.unwrap().groups;
    let groups: Vec<Vec<&str>> = groups
        .iter()
        .map(|group| group.columns.iter().map(|column| column.class.as_str()).collect())
        .collect();
    assert_eq!(groups, [vec![CHILDREN, "bevy_ecs::name::Name"], vec![CHILD_OF]]);
}

#[test]
fn children_that_are_no_children_are_errors() {
    let list = format!("([{}])", number(2));
    let twice = format!("([{0}, {0}])", number(2));
    let parent = format!("({})", number(1));
    for (children, second) in [
        (list, ("bevy_ecs::name::Name", "\"Hull\"")),
        (twice, (CHILD_OF, parent.as_str())),
    ] {
        let fixture = Fixture::new();
        fixture.write("a.scn.ron", scene(&[(CHILDREN, &children), second]));
        let errors = fixture.errors(r#"(levels: [(source: "a.scn.ron")])"#);
        assert_eq!(errors.len(), 1, "{errors:#?}");
        assert_error(&errors, "a.scn.ron", "entity 1v0", "correct one of the two");
    }
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

/// Whoever links to an entity is told its name by `seamless inspect`.
#[test]
fn entities_are_listed_as_links_name_them() {
    let name = Name::type_path();
    let fixture = Fixture::new();
    let scene = format!(
        r#"(resources: {{}}, entities: {{
            1: (components: {{"{name}": "Gate"}}),
            2: (components: {{"{name}": "Lever", "{CHILD_OF}": (1)}}),
            3: (components: {{"{name}": "Lever", "{CHILD_OF}": (1)}}),
            4: (components: {{"{CHILD_OF}": (1)}}),
            5: (components: {{"{name}": "Knob", "{CHILD_OF}": (4)}}),
            {}: (components: {{}}),
        }})"#,
        number(9)
    );
    fixture.write("a.scn.ron", scene);
    fixture.cook(r#"(levels: [(source: "a.scn.ron")])"#).unwrap();
    let mut names = inspect(&fixture.out().join("a.pkg")).unwrap().level.unwrap().names;
    names.sort();
    let unnamed = number(9).to_string();
    let mut expected = ["Gate", "Gate/Lever", "Gate/Lever~1", "4", "4/Knob", unnamed.as_str()];
    expected.sort_unstable();
    assert_eq!(names, expected);
}
