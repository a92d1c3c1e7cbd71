//! Single objects: their closure and nothing else, shared with whatever is live.

use bevy_asset::UntypedHandle;

use super::{build::asset_object, *};
use crate::{LoadPolicy, ObjectLoad, ObjectRequest};

/// A package of recipes: name, title, and the objects of it or of others (`file.pkg#Name`) that come before.
pub(crate) fn recipes(app: &App, package: &str, recipes: &[(&str, &[&str])]) -> Vec<u8> {
    recipe_writer(app, package, recipes).finish().unwrap()
}

pub(super) fn recipe_writer(app: &App, package: &str, recipes: &[(&str, &[&str])]) -> PackageWriter {
    let mut writer = new_package(app, package);
    let mut refs = bevy_platform::collections::HashMap::default();
    for (name, before) in recipes {
        let export = recipe_object(&mut writer, app, name, before, &refs);
        refs.insert((*name).to_owned(), export);
    }
    writer
}

/// Adds a recipe; `refs` are those of the package.
pub(super) fn recipe_object(
    writer: &mut PackageWriter,
    app: &App,
    name: &str,
    before: &[&str],
    refs: &bevy_platform::collections::HashMap<String, ObjectRef>,
) -> ObjectRef {
    use bevy_reflect::TypePath;
    let recipes = app.world().resource::<Assets<Recipe>>();
    let recipe = Recipe {
        title: format!("how to {name}"),
        before: before.iter().map(|_| recipes.reserve_handle()).collect(),
    };
    let refs = before.iter().map(|object| match object.split_once('#') {
        Some((package, object)) => writer.import(package, object, Recipe::type_path(), Role::ALL).unwrap(),
        None => refs[*object],
    });
    let refs = refs.collect();
    asset_object(writer, app, name, recipe, refs)
}

/// `dinner.pkg` has a soup of stock, and a salad; the stock needs water from `basics.pkg`, which has salt too.
pub(super) fn kitchen(dir: Dir, app: App) -> (Dir, App) {
    let dinner: [(&str, &[&str]); 3] = [("stock", &["basics.pkg#water"]), ("soup", &["stock"]), ("salad", &[])];
    put(&dir, "dinner.pkg", recipes(&app, "dinner.pkg", &dinner));
    put(
        &dir,
        "basics.pkg",
        recipes(&app, "basics.pkg", &[("water", &[]), ("salt", &[])]),
    );
    (dir, app)
}

fn plain_kitchen() -> (Dir, App) {
    let dir = Dir::default();
    let app = app(&dir);
    kitchen(dir, app)
}

pub(super) fn ask(app: &mut App, request: ObjectRequest) -> ObjectLoad {
    app.world_mut().resource_mut::<Streamer>().load_objects(request)
}

pub(super) fn finish(app: &mut App, load: &ObjectLoad) {
    run_until(app, |_| load.is_finished());
}

pub(super) fn titles(app: &App) -> Vec<String> {
    let recipes = app.world().resource::<Assets<Recipe>>();
    let mut titles: Vec<_> = recipes
        .iter()
        .map(|(_, recipe)| recipe.title.replace("how to ", ""))
        .collect();
    titles.sort();
    titles
}

fn handles(load: &ObjectLoad) -> Vec<UntypedHandle> {
    load.result().expect("it is finished").expect("it is good").to_vec()
}

pub(super) fn error(load: &ObjectLoad) -> String {
    load.result()
        .expect("it is finished")
        .expect_err("it failed")
        .to_string()
}

#[test]
fn an_object_comes_with_what_it_refers_to_and_nothing_else() {
    let (_dir, mut app) = plain_kitchen();
    let load = ask(&mut app, ObjectRequest::new(["dinner.pkg#soup"]));
    finish(&mut app, &load);
    assert_eq!(titles(&app), ["soup", "stock", "water"]);
    let ids: Vec<_> = handles(&load)
        .iter()
        .map(|handle| handle.id().typed::<Recipe>())
        .collect();
    let [soup] = ids[..] else { panic!("{load:?}") };
    let assets = app.world().resource::<Assets<Recipe>>();
    let recipe = |id| assets.get(id).expect("its value is there");
    let soup = recipe(soup);
    let stock = recipe(soup.before[0].id());
    let water = recipe(stock.before[0].id());
    assert_eq!(water.title, "how to water");
    drop(load);
    run_until(&mut app, |world| world.resource::<Assets<Recipe>>().is_empty());
}

#[test]
fn whole_packages_and_the_order_of_answers() {
    let (_dir, mut app) = plain_kitchen();
    let load = ask(
        &mut app,
        ObjectRequest::new(["dinner.pkg#salad", "basics.pkg", "dinner.pkg#stock"]),
    );
    finish(&mut app, &load);
    let assets = app.world().resource::<Assets<Recipe>>();
    let title = |handle: &UntypedHandle| assets.get(handle.id().typed::<Recipe>()).unwrap().title.clone();
    let answers: Vec<_> = handles(&load).iter().map(title).collect();
    assert_eq!(answers, ["how to salad", "how to water", "how to salt", "how to stock"]);
}

#[test]
fn what_is_live_is_given_without_a_look_at_the_disk() {
    let (dir, mut app) = plain_kitchen();
    let live_only = ObjectRequest {
        policy: LoadPolicy::LiveOnly,
        ..ObjectRequest::new(["dinner.pkg#soup"])
    };
    let early = ask(&mut app, live_only.clone());
    app.update();
    let message = error(&early);
    for part in ["dinner.pkg#soup", "not loaded", "LiveOnly", "load it first"] {
        assert!(message.contains(part), "{message}");
    }
    assert_eq!(app.world().resource::<StreamingStats>().bytes_read, 0);

    let load = ask(&mut app, ObjectRequest::new(["dinner.pkg#soup"]));
    finish(&mut app, &load);
    let read = app.world().resource::<StreamingStats>().bytes_read;
    dir.remove_asset(Path::new("dinner.pkg"));
    dir.remove_asset(Path::new("basics.pkg"));
    for request in [live_only, ObjectRequest::new(["dinner.pkg#soup"])] {
        let again = ask(&mut app, request);
        finish(&mut app, &again);
        assert_eq!(handles(&again), handles(&load));
    }
    assert_eq!(app.world().resource::<StreamingStats>().bytes_read, read);
    // The salad was never loaded, and its file is gone.
    let salad = ask(&mut app, ObjectRequest::new(["dinner.pkg#salad"]));
    finish(&mut app, &salad);
    assert!(error(&salad).contains("cannot be read"));
}

#[test]
fn an_object_of_a_live_level_is_the_same() {
    let dir = Dir::default();
    let mut app = app(&dir);
    put(&dir, "world/a.pkg", chain(&app, "a.pkg", 3, None));
    let level = load(&mut app, "world/a.pkg", &[]);
    run_until(&mut app, |world| state(world, level) == Some(LoadState::Live));
    // Partly qualified: the package is open.
    let object = ask(&mut app, ObjectRequest::new(["a#Mesh"]));
    finish(&mut app, &object);
    let mesh = app
        .world_mut()
        .query::<&Mesh3d>()
        .iter(app.world())
        .next()
        .cloned()
        .unwrap();
    assert_eq!(handles(&object), [mesh.0.clone().untyped()]);
    drop(mesh);
    app.world_mut().resource_mut::<Streamer>().unload(level);
    run_until(&mut app, |world| state(world, level).is_none());
    app.update();
    assert_eq!(
        app.world().resource::<Assets<Mesh>>().len(),
        1,
        "the request keeps it alive"
    );
    drop(object);
    run_until(&mut app, |world| world.resource::<Assets<Mesh>>().is_empty());
}

#[test]
fn what_nobody_waits_for_is_cancelled() {
    let (_dir, mut app) = plain_kitchen();
    drop(ask(&mut app, ObjectRequest::new(["dinner.pkg#soup"])));
    app.update();
    let other = ask(&mut app, ObjectRequest::new(["basics.pkg#salt"]));
    drop(ask(&mut app, ObjectRequest::new(["dinner.pkg#salad"])));
    finish(&mut app, &other);
    run_until(&mut app, |world| world.resource::<LiveObjectsResource>().0.len() == 1);
    assert_eq!(titles(&app), ["salt"]);
}

#[test]
fn wrong_requests_name_object_and_mend() {
    let (dir, mut app) = plain_kitchen();
    put(&dir, "a.pkg", chain(&app, "a.pkg", 3, None));
    let cases: [(&str, &[&str]); 4] = [
        (
            "dinner.pkg#cake",
            &["dinner.pkg#cake", "no such object", "correct its name"],
        ),
        ("a.pkg#0", &["a.pkg#0", "no such object", "load the level"]),
        ("a.pkg#Level", &["a.pkg#Level", "no such object", "load the level"]),
        ("lunch.pkg#cake", &["lunch.pkg", "cannot be read"]),
    ];
    for (path, parts) in cases {
        let load = ask(&mut app, ObjectRequest::new([path]));
        finish(&mut app, &load);
        for part in parts {
            assert!(error(&load).contains(part), "{}", error(&load));
        }
    }
    put(&dir, "x/a.pkg", chain(&app, "a.pkg", 1, None));
    let levels = [load(&mut app, "a.pkg", &[]), load(&mut app, "x/a.pkg", &[])];
    run_until(&mut app, |world| {
        levels.iter().all(|id| state(world, *id) == Some(LoadState::Live))
    });
    let exact = ask(&mut app, ObjectRequest::new(["a#Mesh"]));
    finish(&mut app, &exact);
    assert_eq!(handles(&exact).len(), 1, "one of them is called exactly so");
    put(&dir, "y/b.pkg", chain(&app, "b.pkg", 1, None));
    put(&dir, "z/b.pkg", chain(&app, "b.pkg", 1, None));
    let levels = [load(&mut app, "y/b.pkg", &[]), load(&mut app, "z/b.pkg", &[])];
    run_until(&mut app, |world| {
        levels.iter().all(|id| state(world, *id) == Some(LoadState::Live))
    });
    let either = ask(&mut app, ObjectRequest::new(["b#Mesh"]));
    finish(&mut app, &either);
    assert!(error(&either).contains("`y/b.pkg` or `z/b.pkg`"), "{}", error(&either));
}

/// The error is as precise, whenever imports are verified.
#[test]
fn an_import_that_is_not_there() {
    for verify in [Verify::Now, Verify::Deferred] {
        let (dir, mut app) = plain_kitchen();
        put(&dir, "basics.pkg", recipes(&app, "basics.pkg", &[("salt", &[])]));
        let load = ask(
            &mut app,
            ObjectRequest {
                verify,
                ..ObjectRequest::new(["dinner.pkg#soup"])
            },
        );
        finish(&mut app, &load);
        for part in [
            "dinner.pkg#water",
            "`water` of `basics.pkg`",
            "no such object",
            "cook the world again",
        ] {
            assert!(error(&load).contains(part), "{verify:?}: {}", error(&load));
        }
        drop(load);
        run_until(&mut app, |world| world.resource::<LiveObjectsResource>().0.is_empty());
    }
}

/// Whatever the order, the same objects are there in the end, each once.
#[test]
fn any_order_of_loads_gives_the_same_objects() {
    let paths = [
        "dinner.pkg#soup",
        "basics.pkg#water",
        "dinner.pkg#stock",
        "basics.pkg",
        "dinner.pkg#soup",
    ];
    for seed in 0..24 {
        let (_dir, mut app) = plain_kitchen();
        let mut settings = app.world_mut().resource_mut::<StreamingSettings>();
        settings.load_order_seed = Some(seed);
        settings.max_loads_in_flight = 1 + seed as usize % 3;
        let loads = paths.map(|path| ask(&mut app, ObjectRequest::new([path])));
        run_until(&mut app, |_| loads.iter().all(ObjectLoad::is_finished));
        assert_eq!(titles(&app), ["salt", "soup", "stock", "water"], "seed {seed}");
        assert_eq!(handles(&loads[0]), handles(&loads[4]));
        assert_eq!(handles(&loads[1])[0], handles(&loads[3])[0]);
    }
}
