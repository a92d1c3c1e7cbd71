//! Post-loads: they change what was decoded, create objects and ask for more, and all of it is there at the reveal.

use super::{
    objects::{ask, error, finish, kitchen, recipes, titles},
    *,
};
use crate::{BlockingLoads, LiveId, ObjectRequest};

fn kitchen_with(hooks: impl FnOnce(&mut App)) -> (Dir, App) {
    let dir = Dir::default();
    let app = app_with(&dir, hooks);
    kitchen(dir, app)
}

#[derive(Component)]
struct Menu(Handle<Recipe>);

#[test]
fn a_value_is_changed_before_anybody_sees_it() {
    let (_dir, mut app) = kitchen_with(|app| {
        app.add_post_load::<Recipe>(|recipe, context| {
            assert_eq!(context.package(), "basics.pkg");
            recipe.title.make_ascii_uppercase();
            Ok(())
        });
        app.add_post_load::<Recipe>(|recipe, _| {
            recipe.title.push('!');
            Ok(())
        });
    });
    let load = ask(&mut app, ObjectRequest::new(["basics.pkg#salt"]));
    finish(&mut app, &load);
    assert_eq!(titles(&app), ["HOW TO SALT!"]);
}

/// The soup asks for salt, which asks for nothing; and a created garnish asks for the salad, from another package again.
#[test]
fn what_a_post_load_asks_for_joins_the_closure() {
    let (_dir, mut app) = kitchen_with(garnished);
    let load = ask(&mut app, ObjectRequest::new(["dinner.pkg#soup"]));
    finish(&mut app, &load);
    assert_eq!(titles(&app), ["garnish", "salad", "salt", "soup", "stock", "water"]);
    drop(load);
    run_until(&mut app, |world| world.resource::<Assets<Recipe>>().is_empty());
    let load = app
        .world_mut()
        .load_objects_blocking(ObjectRequest::new(["dinner.pkg#soup"]));
    assert_eq!(titles(&app), ["garnish", "salad", "salt", "soup", "stock", "water"]);
    drop(load);
}

fn garnished(app: &mut App) {
    app.add_post_load::<Recipe>(|recipe, context| {
        match recipe.title.as_str() {
            "how to soup" => {
                recipe.before.push(context.request("basics.pkg#salt")?);
                let garnish = Recipe {
                    title: "how to garnish".into(),
                    before: Vec::new(),
                };
                recipe.before.push(context.create("garnish", garnish)?);
            }
            "how to garnish" => recipe.before.push(context.request("dinner.pkg#salad")?),
            _ => {}
        }
        Ok(())
    });
}

#[test]
fn a_level_is_revealed_with_what_its_post_loads_made() {
    let dir = Dir::default();
    let mut app = app_with(&dir, |app| {
        app.add_component_post_load::<Likes>(|likes, context| {
            assert!(!likes.is_empty());
            let menu = Recipe {
                title: format!("how to read {}", context.package()),
                before: vec![context.request("basics.pkg#salt")?],
            };
            context.create("menu", menu)?;
            Ok(())
        });
    });
    put(&dir, "a.pkg", chain(&app, "a.pkg", 6, None));
    put(
        &dir,
        "basics.pkg",
        recipes(&app, "basics.pkg", &[("water", &[]), ("salt", &[])]),
    );
    let ids = [load(&mut app, "a.pkg", &[]), load(&mut app, "a.pkg", &[])];
    run_until(&mut app, |world| {
        let is_live = ids.map(|id| state(world, id) == Some(LoadState::Live));
        let recipes = world.resource::<Assets<Recipe>>().len();
        assert!(!is_live[0] || recipes == 3, "a level came before what it needs");
        is_live == [true, true]
    });
    assert_eq!(titles(&app), ["read a.pkg", "salt", "water"]);
    let menu = app
        .world()
        .resource::<LiveObjectsResource>()
        .0
        .get(LiveId::new("", "a.pkg", "menu"));
    app.world_mut().spawn(Menu(menu.unwrap().typed()));
    for id in ids {
        app.world_mut().resource_mut::<Streamer>().unload(id);
    }
    run_until(&mut app, |world| world.resource::<Assets<Recipe>>().len() == 2);
    assert_eq!(
        titles(&app),
        ["read a.pkg", "salt"],
        "what is held stays, with what it holds"
    );
    let kept = app.world_mut().query::<&Menu>().iter(app.world()).next().unwrap();
    assert!(app.world().resource::<Assets<Recipe>>().contains(&kept.0));
}

#[test]
fn what_is_wrong_with_a_post_load() {
    type Hook = fn(&mut Recipe, &mut crate::PostLoad) -> Result<(), String>;
    let cases: [(Hook, &[&str]); 6] = [
        (
            |_, _| Err("too salty".into()),
            &["basics.pkg#salt", "post-load failed", "too salty"],
        ),
        (
            |recipe, context| {
                recipe.before.push(context.request("basics.pkg#pepper")?);
                Ok(())
            },
            &["basics.pkg", "pepper", "no such object"],
        ),
        (
            |_, context| context.request::<Mesh>("basics.pkg#water").map(|_| ()),
            &["basics.pkg#water", "as a `bevy_mesh::mesh::Mesh`", "Recipe"],
        ),
        (
            |_, context| context.request::<Recipe>("water").map(|_| ()),
            &["`water` is no object path", "file.pkg#Object"],
        ),
        (
            |recipe, context| context.create("water", recipe.clone()).map(|_| ()),
            &["`basics.pkg#water` is an export", "another name"],
        ),
        (
            // Each creates the next.
            |recipe, context| {
                let number: u32 = recipe.title.parse().unwrap_or(0);
                let next = Recipe {
                    title: (number + 1).to_string(),
                    before: Vec::new(),
                };
                context.create(&number.to_string(), next).map(|_| ())
            },
            &["more than 65536 objects", "create fewer"],
        ),
    ];
    for (hook, parts) in cases {
        let (_dir, mut app) = kitchen_with(|app| {
            app.add_post_load(hook);
        });
        let load = ask(&mut app, ObjectRequest::new(["basics.pkg#salt"]));
        finish(&mut app, &load);
        for part in parts {
            assert!(error(&load).contains(part), "{}", error(&load));
        }
        drop(load);
        run_until(&mut app, |world| world.resource::<LiveObjectsResource>().0.is_empty());
    }
}
