//! What inspectors see of a world, by reflection alone.

use bevy_ecs::reflect::{AppTypeRegistry, ReflectComponent};
use bevy_reflect::{GetPath, Reflect, ReflectFromPtr, serde::TypedReflectSerializer};

use super::*;

const TABLE: &str = "seamless_level::world::table::LevelTable";

/// With the table of the stage's world, found by the name of its type as an inspector finds it.
fn with_table<R>(stage: &Stage, look: impl FnOnce(&dyn Reflect, &bevy_reflect::TypeRegistry) -> R) -> R {
    let world = stage.app.world();
    let registry = world.resource::<AppTypeRegistry>().read();
    let registration = registry.get_with_type_path(TABLE).expect("it is registered");
    assert!(registration.data::<ReflectFromPtr>().is_some());
    let component = world
        .components()
        .get_id(registration.type_id())
        .expect("it is a component");
    assert!(world.entity(stage.world).contains_id(component));
    look(world.get::<LevelTable>(stage.world).unwrap(), &registry)
}

fn value<T: Reflect + Clone>(stage: &Stage, path: &str) -> T {
    with_table(stage, |table, _| {
        table.path::<T>(path).expect("there is such a field").clone()
    })
}

#[test]
fn the_state_of_a_level_is_found_by_its_path() {
    let mut stage = Stage::new();
    stage.go(WEST);
    assert_eq!(value::<String>(&stage, "levels.all[1].entry.name"), "west");
    assert_eq!(value::<LevelState>(&stage, "levels.all[1].state"), LevelState::Visible);
    assert_eq!(
        value::<LevelTarget>(&stage, "levels.all[1].target"),
        LevelTarget::Visible
    );
    let root = stage.level("west").root();
    assert!(root.is_some());
    assert_eq!(value::<Option<Entity>>(&stage, "levels.all[1].root"), root);
    assert_eq!(value::<LevelState>(&stage, "levels.all[2].state"), LevelState::Unloaded);
}

#[test]
fn a_table_can_be_written() {
    let mut stage = Stage::new();
    stage.go(WEST);
    let text = with_table(&stage, |table, registry| {
        let serializer = TypedReflectSerializer::new(table.as_partial_reflect(), registry);
        ron::to_string(&serializer).expect("all that is seen of it can be written")
    });
    assert!(text.contains("\"west\"") && text.contains("Visible"), "{text}");
}

/// A saved game that has the world's entity in it has none of what this crate keeps there: that follows from the manifest.
#[test]
fn no_scene_takes_a_table_along() {
    let stage = Stage::new();
    let registry = stage.app.world().resource::<AppTypeRegistry>().read();
    let is_saved = |path: &str| {
        let registration = registry.get_with_type_path(path).expect("it is registered");
        registration.data::<ReflectComponent>().is_some()
    };
    assert!(is_saved("seamless_level::world::SeamlessWorld"));
    assert!(!is_saved(TABLE) && !is_saved("seamless_level::world::WorldFailure"));
}

#[test]
fn a_clone_of_a_world_has_levels_of_its_own() {
    let mut stage = Stage::new();
    stage.go(WEST);
    let world = stage.app.world_mut();
    let copy = world.entity_mut(stage.world).clone_and_spawn();
    assert!(world.get::<LevelTable>(copy).is_none());
}
