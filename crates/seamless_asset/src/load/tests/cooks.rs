//! Two cooks, in two folders, whose packages and objects have the same names: neither is taken for the other.

use bevy_asset::UntypedHandle;

use super::{
    build::{asset_object, new_package},
    objects::{ask, finish, recipe_object},
    *,
};

use crate::{LoadPolicy, ObjectRequest};

/// `basics.pkg` with water, and `dinner.pkg` with a soup of it; the title of the water says where it was cooked.
fn kitchen(app: &App, dir: &Dir, folder: &str) {
    let mut basics = new_package(app, "basics.pkg");
    let water = Recipe {
        title: format!("{folder} water"),
        before: Vec::new(),
    };
    asset_object(&mut basics, app, "water", water, Vec::new());
    put(dir, &format!("{folder}/basics.pkg"), basics.finish().unwrap());
    let mut dinner = new_package(app, "dinner.pkg");
    let none = bevy_platform::collections::HashMap::default();
    recipe_object(&mut dinner, app, "soup", &["basics.pkg#water"], &none);
    put(dir, &format!("{folder}/dinner.pkg"), dinner.finish().unwrap());
}

/// The title of what the soup in this handle is made of.
fn water(app: &App, soup: &UntypedHandle) -> String {
    let recipes = app.world().resource::<Assets<Recipe>>();
    let soup = recipes.get(&soup.clone().typed::<Recipe>()).unwrap();
    recipes.get(&soup.before[0]).unwrap().title.clone()
}

fn two_kitchens() -> (Dir, App, Vec<UntypedHandle>) {
    let dir = Dir::default();
    let mut app = app(&dir);
    let mut soups = Vec::new();
    for folder in ["east", "west"] {
        kitchen(&app, &dir, folder);
        let soup = ask(&mut app, ObjectRequest::new([format!("{folder}/dinner.pkg#soup")]));
        finish(&mut app, &soup);
        soups.push(soup.result().unwrap().as_ref().unwrap()[0].clone());
    }
    (dir, app, soups)
}

#[test]
fn equal_names_in_two_folders_are_two_objects() {
    let (_dir, mut app, soups) = two_kitchens();
    assert_ne!(soups[0], soups[1]);
    assert_eq!(water(&app, &soups[0]), "east water");
    assert_eq!(water(&app, &soups[1]), "west water");
    // What is live is found by its own path only.
    for (folder, title) in [("east", "east water"), ("west", "west water")] {
        let request = ObjectRequest {
            policy: LoadPolicy::LiveOnly,
            ..ObjectRequest::new([format!("{folder}/basics.pkg#water")])
        };
        let live = ask(&mut app, request);
        finish(&mut app, &live);
        let handle = live.result().unwrap().as_ref().unwrap()[0].clone();
        let recipes = app.world().resource::<Assets<Recipe>>();
        assert_eq!(recipes.get(&handle.typed::<Recipe>()).unwrap().title, title);
    }
}

#[test]
fn a_missing_import_of_one_is_not_found_in_the_other() {
    let (dir, mut app, _soups) = two_kitchens();
    let mut dinner = new_package(&app, "dinner.pkg");
    let none = bevy_platform::collections::HashMap::default();
    recipe_object(&mut dinner, &app, "soup", &["basics.pkg#water"], &none);
    put(&dir, "north/dinner.pkg", dinner.finish().unwrap());
    put(
        &dir,
        "north/basics.pkg",
        new_package(&app, "basics.pkg").finish().unwrap(),
    );
    for verify in [crate::Verify::Deferred, crate::Verify::Now] {
        let request = ObjectRequest {
            verify,
            ..ObjectRequest::new(["north/dinner.pkg#soup"])
        };
        let soup = ask(&mut app, request);
        finish(&mut app, &soup);
        let error = soup.result().unwrap().as_ref().unwrap_err().to_string();
        assert!(error.contains("basics.pkg") && error.contains("water"), "{error}");
    }
}

#[test]
fn levels_of_two_cooks_have_their_own_meshes() {
    let dir = Dir::default();
    let mut app = app(&dir);
    for folder in ["east", "west"] {
        put(&dir, &format!("{folder}/start.pkg"), chain(&app, "start.pkg", 2, None));
    }
    let ids = ["east/start.pkg", "west/start.pkg"].map(|package| load(&mut app, package, &[]));
    run_until(&mut app, |world| {
        ids.iter().all(|id| state(world, *id) == Some(LoadState::Live))
    });
    let world = app.world_mut();
    let meshes: std::collections::HashSet<_> = world.query::<&Mesh3d>().iter(world).map(|mesh| mesh.id()).collect();
    assert_eq!(meshes.len(), 2, "each level has its own");
    let mut cooks: Vec<_> = world
        .query::<&crate::LevelInstance>()
        .iter(world)
        .map(|level| level.cook)
        .collect();
    cooks.dedup();
    assert_eq!(cooks.len(), 2);
}
