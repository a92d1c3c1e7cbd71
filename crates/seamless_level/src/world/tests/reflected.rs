//! What inspectors and remote tools see of a world, by reflection alone.

use bevy_ecs::reflect::{AppTypeRegistry, ReflectComponent};
use bevy_reflect::{GetPath, Reflect, serde::TypedReflectSerializer};

use super::*;

const TABLE: &str = "seamless_level::world::table::LevelTable";

/// With what the app's registry has of the table's type, found by its name.
fn with_type<R>(
    app: &mut App,
    look: impl FnOnce(&mut World, &ReflectComponent, &bevy_reflect::TypeRegistry) -> R,
) -> R {
    let registry = app.world().resource::<AppTypeRegistry>().clone();
    let registry = registry.read();
    let registration = registry.get_with_type_path(TABLE).expect("it is registered");
    let component = registration.data::<ReflectComponent>().expect("it is a component");
    look(app.world_mut(), component, &registry)
}

fn value<T: Reflect + Clone>(stage: &mut Stage, path: &str) -> T {
    let world = stage.world;
    with_type(&mut stage.app, |app, component, _| {
        let table = component.reflect(app.entity(world)).expect("it has a table");
        table.path::<T>(path).expect("there is such a field").clone()
    })
}

#[test]
fn the_state_of_a_level_is_found_by_its_path() {
    let mut stage = Stage::new();
    stage.go(WEST);
    assert_eq!(value::<String>(&mut stage, "levels.all[1].entry.name"), "west");
    assert_eq!(
        value::<LevelState>(&mut stage, "levels.all[1].state"),
        LevelState::Visible
    );
    assert_eq!(
        value::<LevelTarget>(&mut stage, "levels.all[1].target"),
        LevelTarget::Visible
    );
    let root = stage.level("west").root();
    assert!(root.is_some());
    assert_eq!(value::<Option<Entity>>(&mut stage, "levels.all[1].root"), root);
    assert_eq!(
        value::<LevelState>(&mut stage, "levels.all[2].state"),
        LevelState::Unloaded
    );
}

/// Remote tools get it as text.
#[test]
fn a_table_can_be_written() {
    let mut stage = Stage::new();
    stage.go(WEST);
    let world = stage.world;
    let text = with_type(&mut stage.app, |app, component, registry| {
        let table = component.reflect(app.entity(world)).expect("it has a table");
        let serializer = TypedReflectSerializer::new(table.as_partial_reflect(), registry);
        ron::to_string(&serializer).expect("all that is seen of it can be written")
    });
    assert!(text.contains("\"west\"") && text.contains("Visible"), "{text}");
}

/// What it says was so elsewhere.
#[test]
fn in_the_place_of_a_table_that_comes_by_reflection_the_world_is_built_anew() {
    let mut stage = Stage::new();
    stage.go(WEST);
    stage.told();
    let world = stage.world;
    with_type(&mut stage.app, |app, component, registry| {
        let table = component.reflect(app.entity(world)).expect("it has a table");
        let saved = table.to_dynamic();
        component.insert(&mut app.entity_mut(world), &*saved, registry);
    });
    assert!(stage.app.world().get::<LevelTable>(world).unwrap().is_empty());
    stage.frames(10);
    assert_eq!(stage.app.world().get::<LevelTable>(world).unwrap().len(), 3);
    assert_eq!(stage.level("west").state(), LevelState::Visible);
    assert_eq!(stage.tracked(), 2, "base and west, and nothing of before");
}

#[test]
fn a_clone_of_a_world_has_levels_of_its_own() {
    let mut stage = Stage::new();
    stage.go(WEST);
    let world = stage.app.world_mut();
    let copy = world.entity_mut(stage.world).clone_and_spawn();
    assert!(world.get::<LevelTable>(copy).is_none());
}
