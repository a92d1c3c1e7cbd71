//! Assets get new values under their handles.

use bevy_asset::{AssetEvent, AssetId};
use bevy_ecs::system::RunSystemOnce;

use super::*;
use crate::{
    AssetTouches, ObjectRequest,
    load::tests::{build as build_package, objects},
};

fn kitchen() -> Content {
    let mut content = Content::labelled(2);
    content.titles = vec!["soup".into(), "salad".into()];
    content.thing(0).serves = Some(0);
    content.thing(1).serves = Some(1);
    content
}

fn dish(app: &App, root: Entity, number: u8) -> AssetId<Recipe> {
    app.world().get::<Serves>(thing(app, root, number)).unwrap().0.id()
}

fn title(app: &App, id: AssetId<Recipe>) -> String {
    app.world().resource::<Assets<Recipe>>().get(id).unwrap().title.clone()
}

fn modified(app: &mut App) -> Vec<AssetId<Recipe>> {
    let mut events = app.world_mut().resource_mut::<Messages<AssetEvent<Recipe>>>();
    let modified = events.drain().filter_map(|event| match event {
        AssetEvent::Modified { id } => Some(id),
        _ => None,
    });
    modified.collect()
}

#[test]
fn what_differs_is_replaced_and_what_is_new_is_added() {
    let dir = Dir::default();
    let mut content = kitchen();
    let (mut app, _, root) = live(&dir, &content);
    let [soup, salad] = [0, 1].map(|number| dish(&app, root, number));
    app.update();
    modified(&mut app);
    content.titles = vec!["soup".into(), "salad with cheese".into(), "cake".into()];
    content.thing(5).serves = Some(2);
    let report = reload(&mut app, &dir, &content, ReloadPolicy::KeepEdits);
    assert_eq!((report.assets_replaced, report.assets_added), (1, 1));
    assert_eq!(report.components_written, 0, "handles are the same");
    app.update();
    assert_eq!(modified(&mut app), [salad]);
    assert_eq!(
        (title(&app, soup), title(&app, salad)),
        ("soup".into(), "salad with cheese".into())
    );
    assert_eq!(title(&app, dish(&app, root, 5)), "cake");
    assert_eq!(memory(&app), fresh_memory(&content));
    // One that nobody serves any more goes.
    content.titles.pop();
    content.things.remove(&5);
    reload(&mut app, &dir, &content, ReloadPolicy::KeepEdits);
    run_until(&mut app, |world| world.resource::<Assets<Recipe>>().len() == 2);
    assert_eq!(memory(&app), fresh_memory(&content));
}

/// What a reload hands over counts in its frame, as all else does.
#[test]
fn what_is_replaced_is_counted_in_its_frame() {
    let dir = Dir::default();
    let mut content = kitchen();
    let (mut app, ..) = live(&dir, &content);
    let before = app.world().resource::<StreamingStats>().uploaded_bytes;
    content.titles = vec!["soup".into(), "salad with cheese".into()];
    put(&dir, "a.pkg", content.package(&app, "a.pkg"));
    let reload = start(&mut app, ReloadPolicy::KeepEdits);
    let mut uploaded = 0;
    run_until(&mut app, |world| {
        uploaded += world.resource::<StreamingStats>().uploaded_last;
        reload.is_finished()
    });
    assert!(uploaded > 0);
    let after = app.world().resource::<StreamingStats>().uploaded_bytes;
    assert_eq!(after, before + uploaded);
}

/// What assets take of the account.
fn memory(app: &App) -> u64 {
    app.world().resource::<StreamingStats>().memory.packages
}

/// The same where it was never reloaded.
fn fresh_memory(content: &Content) -> u64 {
    let (mut app, ..) = live(&Dir::default(), content);
    app.update();
    memory(&app)
}

fn edit(app: &mut App, id: AssetId<Recipe>) {
    let mut recipes = app.world_mut().resource_mut::<Assets<Recipe>>();
    recipes.get_mut(id).unwrap().title = "of the game".into();
    app.update();
    app.update();
}

#[test]
fn what_was_changed_follows_the_policy() {
    let dir = Dir::default();
    let mut content = kitchen();
    let (mut app, _, root) = live(&dir, &content);
    let [soup, salad] = [0, 1].map(|number| dish(&app, root, number));
    edit(&mut app, soup);
    content.titles[1] = "salad with cheese".into();
    put(&dir, "a.pkg", content.package(&app, "a.pkg"));
    let refused = start(&mut app, ReloadPolicy::Refuse);
    end(&mut app, &refused);
    let LoadErrorKind::Edited { first, count } = super::error(&refused) else {
        panic!("{refused:?}")
    };
    assert_eq!((first, count), (vec!["`dish0`".to_owned()], 1));
    assert_eq!(title(&app, salad), "salad");
    let report = reload(&mut app, &dir, &content, ReloadPolicy::KeepEdits);
    assert_eq!((report.assets_replaced, report.edits_kept), (1, 1));
    assert_eq!(
        (title(&app, soup), title(&app, salad)),
        ("of the game".into(), "salad with cheese".into())
    );
    // Though the file has not changed; and what the reload replaced itself is nobody's change.
    let report = reload(&mut app, &dir, &content, ReloadPolicy::Overwrite);
    assert_eq!((report.assets_replaced, report.edits_overwritten), (1, 1));
    assert_eq!(title(&app, soup), "soup");
    app.update();
    let report = reload(&mut app, &dir, &content, ReloadPolicy::Refuse);
    assert_eq!(report.assets_replaced, 0);
}

/// As a renderer does that has materials looked at again.
fn touch(app: &mut App, ids: Vec<AssetId<Recipe>>) {
    let system = move |mut recipes: ResMut<Assets<Recipe>>, mut touches: AssetTouches| {
        for id in &ids {
            let mut recipe = recipes.get_mut(*id).unwrap();
            let _touched: &mut Recipe = &mut recipe;
            touches.touched(*id);
        }
    };
    app.world_mut().run_system_once(system).unwrap();
}

/// More than once a frame, too: Bevy tells of each time.
#[test]
fn what_was_touched_was_not_edited() {
    let dir = Dir::default();
    let mut content = kitchen();
    let (mut app, _, root) = live(&dir, &content);
    let [soup, salad] = [0, 1].map(|number| dish(&app, root, number));
    app.update();
    modified(&mut app);
    for swap in 0..100 {
        touch(&mut app, vec![soup; 1 + swap % 3]);
        app.update();
        assert_eq!(modified(&mut app).len(), 1 + swap % 3);
    }
    let report = reload(&mut app, &dir, &content, ReloadPolicy::Refuse);
    assert_eq!(report.assets_replaced, 0);
    content.titles[0] = "soup with salt".into();
    let report = reload(&mut app, &dir, &content, ReloadPolicy::Refuse);
    assert_eq!(
        (report.assets_replaced, title(&app, soup)),
        (1, "soup with salt".into())
    );
    // What the game does in such a frame is an edit.
    touch(&mut app, vec![soup, soup, salad]);
    edit(&mut app, soup);
    put(&dir, "a.pkg", content.package(&app, "a.pkg"));
    let refused = start(&mut app, ReloadPolicy::Refuse);
    end(&mut app, &refused);
    let LoadErrorKind::Edited { first, count } = super::error(&refused) else {
        panic!("{refused:?}")
    };
    assert_eq!((first, count), (vec!["`dish0`".to_owned()], 1));
}

/// It comes while the new file is read.
#[test]
fn a_change_during_the_reload_is_a_change() {
    let dir = Dir::default();
    let content = kitchen();
    let (mut app, _, root) = live(&dir, &content);
    let soup = dish(&app, root, 0);
    let reload = start(&mut app, ReloadPolicy::Overwrite);
    app.update();
    edit(&mut app, soup);
    end(&mut app, &reload);
    app.update();
    // It came before the reload changed anything, or after.
    let overwritten = reload.result().unwrap().unwrap().edits_overwritten;
    let expected = if overwritten == 1 { "soup" } else { "of the game" };
    assert_eq!(title(&app, soup), expected);
}

/// No level uses the package: what is live of it is replaced, and nothing else is loaded.
#[test]
fn objects_that_were_loaded_alone() {
    let dir = Dir::default();
    let mut app = app(&dir);
    let dinner: [(&str, &[&str]); 3] = [("stock", &[]), ("soup", &["stock"]), ("salad", &[])];
    put(&dir, "a.pkg", objects::recipes(&app, "a.pkg", &dinner));
    let soup = objects::ask(&mut app, ObjectRequest::new(["a.pkg#soup"]));
    objects::finish(&mut app, &soup);
    let supper: [(&str, &[&str]); 4] = [
        ("bread", &[]),
        ("stock", &["bread"]),
        ("soup", &["stock"]),
        ("salad", &[]),
    ];
    put(&dir, "a.pkg", objects::recipes(&app, "a.pkg", &supper));
    let reload = start(&mut app, ReloadPolicy::KeepEdits);
    end(&mut app, &reload);
    let report = reload.result().unwrap().unwrap();
    // The soup is as it was, but made of a stock that is not.
    assert_eq!((report.assets_replaced, report.assets_added), (2, 1));
    assert_eq!(objects::titles(&app), ["bread", "soup", "stock"]);
    drop((soup, reload));
    run_until(&mut app, |world| world.resource::<Assets<Recipe>>().is_empty());
    let again = start(&mut app, ReloadPolicy::KeepEdits);
    end(&mut app, &again);
    assert!(matches!(super::error(&again), LoadErrorKind::NotLoaded));
}

/// A package with a copy of a recipe of `basics.pkg`, and that one.
fn copied(app: &App, title: &str) -> (Vec<u8>, Vec<u8>) {
    use bevy_reflect::TypePath;
    let mut basics = Content::default();
    basics.titles.push(title.into());
    let original = basics.package(app, "basics.pkg");
    let mut writer = new_package(app, "a.pkg");
    writer
        .import("basics.pkg", "dish0", Recipe::type_path(), Role::ALL)
        .unwrap();
    build_package::copy_object(&mut writer, &original, "dish0", false);
    (original, writer.finish().unwrap())
}

#[test]
fn copies_follow_their_own_package_where_that_is_in_use() {
    let dir = Dir::default();
    let mut app = app_with(&dir, game);
    put(&dir, "a.pkg", copied(&app, "soup").1);
    let copy = objects::ask(&mut app, ObjectRequest::new(["a.pkg"]));
    objects::finish(&mut app, &copy);
    assert_eq!(objects::titles(&app), ["soup"]);
    let (original, newer) = copied(&app, "stew");
    put(&dir, "a.pkg", newer);
    let reload = start(&mut app, ReloadPolicy::KeepEdits);
    end(&mut app, &reload);
    assert_eq!(reload.result().unwrap().unwrap().assets_replaced, 1);
    assert_eq!(objects::titles(&app), ["stew"]);
    put(&dir, "basics.pkg", original);
    let level = load(&mut app, "basics.pkg", &[]);
    run_until(&mut app, |world| state(world, level) == Some(LoadState::Live));
    put(&dir, "a.pkg", copied(&app, "pie").1);
    let reload = start(&mut app, ReloadPolicy::KeepEdits);
    end(&mut app, &reload);
    assert_eq!(objects::titles(&app), ["stew"]);
}

/// What refers to a replaced asset from another package is told of it, and that is nobody's change.
#[test]
fn users_in_other_packages_hear_of_it() {
    let dir = Dir::default();
    let mut app = app_with(&dir, game);
    let mut basics = Content::default();
    basics.titles.push("salt".into());
    put(&dir, "a.pkg", basics.package(&app, "a.pkg"));
    let dinner: [(&str, &[&str]); 2] = [("soup", &["a.pkg#dish0"]), ("cake", &[])];
    put(&dir, "dinner.pkg", meal(&app, &dinner));
    let id = load(&mut app, "dinner.pkg", &[]);
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Live));
    app.update();
    modified(&mut app);
    basics.titles[0] = "sugar".into();
    let report = reload(&mut app, &dir, &basics, ReloadPolicy::Refuse);
    assert_eq!(report.assets_replaced, 1);
    app.update();
    let recipes = app.world().resource::<Assets<Recipe>>();
    let find = |title: &str| recipes.iter().find(|(_, recipe)| recipe.title == title).unwrap().0;
    let mut expected = [find("sugar"), find("how to soup")];
    expected.sort_unstable();
    let mut told = modified(&mut app);
    told.sort_unstable();
    assert_eq!(told, expected);
    assert!(app.world().resource::<crate::edits::AssetEdits>().all().is_empty());
}

/// A level without entities, and recipes.
fn meal(app: &App, recipes: &[(&str, &[&str])]) -> Vec<u8> {
    let mut writer = objects::recipe_writer(app, "dinner.pkg", recipes);
    let level = crate::level_data::LevelBuilder::new(vec![], vec![]);
    level.export(&mut writer, vec![], Codec::None).unwrap();
    writer.finish().unwrap()
}

/// Values that a post-load makes are made anew.
#[test]
fn created_objects_are_replaced() {
    let dir = Dir::default();
    let mut content = kitchen();
    let mut app = app_with(&dir, |app| {
        game(app);
        app.add_component_post_load(|labels: &mut [Label], context| {
            let title = labels.iter().map(|label| label.0.as_str()).collect::<String>();
            let made = context.create("made", Recipe { title, before: vec![] })?;
            context.create(
                "again",
                Recipe {
                    title: "again".into(),
                    before: vec![made],
                },
            )?;
            Ok(())
        });
    });
    put(&dir, "a.pkg", content.package(&app, "a.pkg"));
    let id = load(&mut app, "a.pkg", &[]);
    revealed(&mut app, id);
    assert_eq!(objects::titles(&app), ["01", "again", "salad", "soup"]);
    content.thing(1).label = Some("!".into());
    reload(&mut app, &dir, &content, ReloadPolicy::KeepEdits);
    assert_eq!(objects::titles(&app), ["0!", "again", "salad", "soup"]);
}
