//! A kitchen in a folder, with a registry.

use std::path::Path;

use bevy_app::App;
use bevy_asset::{AssetServer, Assets, io::memory::Dir};
use bevy_ecs::prelude::World;
use bevy_reflect::TypePath;

pub(crate) use crate::load::tests::Recipe;
use crate::{
    ObjectRegistries, ObjectRegistry, SoftHandle, SoftObjects, Streamable, StreamableRequest,
    load::tests::{app, objects::recipes, put, run_until},
    registry::tests::object,
    write_registry,
};

/// A recipe by its author's path.
pub(crate) fn recipe(name: &str) -> SoftHandle<Recipe> {
    SoftHandle::new(format!("{name}.recipe"))
}

/// Packages without a registry.
pub(crate) fn plain_kitchen() -> (Dir, App) {
    let dir = Dir::default();
    let app = app(&dir);
    put_packages(&dir, &app);
    (dir, app)
}

fn put_packages(dir: &Dir, app: &App) {
    let basics = recipes(app, "basics.pkg", &[("water", &[]), ("salt", &[])]);
    let dinner: &[(&str, &[&str])] = &[
        ("stock", &["basics.pkg#water"]),
        ("soup", &["stock"]),
        ("salad", &["basics.pkg#salt"]),
    ];
    put(dir, "cooked/basics.pkg", basics);
    put(dir, "cooked/dinner.pkg", recipes(app, "dinner.pkg", dinner));
    put(dir, "cooked/lunch.pkg", recipes(app, "lunch.pkg", &[("toast", &[])]));
}

fn registry() -> ObjectRegistry {
    let rows = [
        ("salt", "basics.pkg#salt", 10),
        ("soup", "dinner.pkg#soup", 40),
        ("salad", "dinner.pkg#salad", 30),
        ("burnt", "dinner.pkg#burnt", 5),
    ];
    let rows = rows.map(|(name, at, bytes)| object(&format!("{name}.recipe"), at, Recipe::type_path(), bytes));
    ObjectRegistry::new("", rows.into()).unwrap()
}

/// Asks for the registry of the kitchen.
pub(crate) fn load_registry(dir: &Dir, app: &mut App) {
    let bytes = write_registry(&registry()).unwrap();
    dir.insert_asset(Path::new("cooked/kitchen.registry"), bytes);
    let handle = app.world().resource::<AssetServer>().load("cooked/kitchen.registry");
    app.world_mut().resource_mut::<ObjectRegistries>().add(handle);
}

/// Packages and registry in `dir`, which `app` reads.
pub(crate) fn fill(dir: &Dir, app: &mut App) {
    put_packages(dir, app);
    load_registry(dir, app);
}

/// A kitchen whose registry is loaded.
pub(crate) fn kitchen() -> (Dir, App) {
    let (dir, mut app) = plain_kitchen();
    load_registry(&dir, &mut app);
    run_until(&mut app, |world| !world.resource::<ObjectRegistries>().is_empty());
    (dir, app)
}

#[track_caller]
pub(crate) fn ask(app: &mut App, request: StreamableRequest) -> Streamable {
    let hub = app.world().resource::<crate::streamable::StreamableHub>();
    hub.request(request, core::panic::Location::caller())
}

/// What a system with soft handles finds.
pub(crate) fn with_soft<T: 'static>(world: &mut World, look: impl Fn(&SoftObjects) -> T + Send + Sync + 'static) -> T {
    use bevy_ecs::system::RunSystemOnce;
    world.run_system_once(move |soft: SoftObjects| look(&soft)).unwrap()
}

pub(crate) fn titles(app: &App) -> Vec<String> {
    let recipes = app.world().resource::<Assets<Recipe>>();
    let titles = recipes.iter().map(|(_, recipe)| recipe.title.replace("how to ", ""));
    let mut titles: Vec<_> = titles.collect();
    titles.sort();
    titles
}
