//! Reloads: what is live becomes what the new file says, where it is; or nothing happens.

mod assets;
mod build;
mod edits;
mod hidden;
mod packages;
mod random;
mod refused;

use bevy_ecs::hierarchy::ChildOf;

use super::*;
use crate::{ReloadLoad, ReloadPolicy, ReloadReport, ReloadRequest, Reloaded};
use build::{Content, FollowedBy, Follows, Label, Serves, Thing, Weight, entity, name_of, picture};

fn game(app: &mut App) {
    app.register_type::<Label>()
        .register_type::<Weight>()
        .register_type::<Serves>()
        .register_type::<Follows>()
        .register_type::<FollowedBy>();
}

/// An app in which `content` is live as `a.pkg`; its instance and its root.
fn live(dir: &Dir, content: &Content) -> (App, InstanceId, Entity) {
    let mut app = app_with(dir, game);
    put(dir, "a.pkg", content.package(&app, "a.pkg"));
    let id = load(&mut app, "a.pkg", &[]);
    let root = revealed(&mut app, id);
    (app, id, root)
}

fn revealed(app: &mut App, id: InstanceId) -> Entity {
    run_until(app, |world| state(world, id) == Some(LoadState::Live));
    let root = app
        .world_mut()
        .resource_mut::<Messages<InstanceEvent>>()
        .drain()
        .find_map(|event| match event {
            InstanceEvent::Revealed { id: revealed, root, .. } if revealed == id => Some(root),
            _ => None,
        });
    root.expect("it was revealed")
}

fn start(app: &mut App, policy: ReloadPolicy) -> ReloadLoad {
    let request = ReloadRequest {
        policy,
        ..ReloadRequest::new("a.pkg")
    };
    app.world_mut().resource_mut::<Streamer>().reload(request)
}

fn end(app: &mut App, reload: &ReloadLoad) {
    run_until(app, |_| reload.is_finished());
}

/// Cooks `content` over what is there, and reloads it.
fn reload(app: &mut App, dir: &Dir, content: &Content, policy: ReloadPolicy) -> ReloadReport {
    put(dir, "a.pkg", content.package(app, "a.pkg"));
    let reload = start(app, policy);
    end(app, &reload);
    reload.result().expect("it is finished").expect("it is good").clone()
}

fn error(reload: &ReloadLoad) -> LoadErrorKind {
    assert!(reload.is_finished());
    let error = reload
        .0
        .result
        .get()
        .expect("it is finished")
        .as_ref()
        .expect_err("it failed");
    assert_eq!(error.package, "a.pkg");
    match &error.kind {
        LoadErrorKind::Edited { first, count } => LoadErrorKind::Edited {
            first: first.clone(),
            count: *count,
        },
        LoadErrorKind::Loading => LoadErrorKind::Loading,
        LoadErrorKind::NotLoaded => LoadErrorKind::NotLoaded,
        LoadErrorKind::Restless { tries } => LoadErrorKind::Restless { tries: *tries },
        LoadErrorKind::NoLevel => LoadErrorKind::NoLevel,
        other => LoadErrorKind::Io(other.to_string()),
    }
}

fn thing(app: &App, root: Entity, number: u8) -> Entity {
    entity(app.world(), root, "a.pkg", number).expect("it has that object")
}

fn label(app: &App, entity: Entity) -> Option<String> {
    app.world().get::<Label>(entity).map(|label| label.0.clone())
}

/// The world of an app that has only ever seen this content.
fn fresh(content: &Content) -> std::collections::BTreeMap<u8, Vec<String>> {
    let (mut app, _, root) = live(&Dir::default(), content);
    picture(app.world_mut(), root, "a.pkg")
}

/// What game code hears of labels.
#[derive(Resource, Default, Debug, PartialEq)]
struct Heard {
    adds: Vec<Entity>,
    inserts: Vec<Entity>,
    removes: Vec<Entity>,
    changes: Vec<Entity>,
}

fn listen(app: &mut App) {
    app.init_resource::<Heard>();
    app.add_observer(|add: On<Add, Label>, mut heard: ResMut<Heard>| heard.adds.push(add.entity));
    app.add_observer(|insert: On<Insert, Label>, mut heard: ResMut<Heard>| heard.inserts.push(insert.entity));
    app.add_observer(|remove: On<Remove, Label>, mut heard: ResMut<Heard>| heard.removes.push(remove.entity));
    app.add_systems(
        bevy_app::Last,
        |changed: Query<(Entity, Ref<Label>), Changed<Label>>, mut heard: ResMut<Heard>| {
            let kept = changed.iter().filter(|(_, label)| !label.is_added());
            heard.changes.extend(kept.map(|(entity, _)| entity));
        },
    );
    app.update();
    *app.world_mut().resource_mut::<Heard>() = Heard::default();
}

#[test]
fn kept_objects_change_in_place_lost_ones_go_and_new_ones_come() {
    #[derive(Component)]
    struct OfTheGame;
    let dir = Dir::default();
    let mut content = Content::labelled(5);
    let (mut app, id, root) = live(&dir, &content);
    let old: Vec<Entity> = (0..5).map(|number| thing(&app, root, number)).collect();
    app.world_mut().entity_mut(old[1]).insert(OfTheGame);
    listen(&mut app);
    content.thing(1).label = Some("another".into());
    content.thing(2).label = None;
    content.thing(2).weight = Some(7);
    content.things.remove(&3);
    content.thing(9).label = Some("new".into());
    let report = reload(&mut app, &dir, &content, ReloadPolicy::KeepEdits);
    app.update();
    for number in [0, 1, 2, 4] {
        assert_eq!(
            thing(&app, root, number),
            old[usize::from(number)],
            "kept ones keep their ids"
        );
    }
    let new = thing(&app, root, 9);
    assert_eq!(label(&app, old[1]).as_deref(), Some("another"));
    assert!(app.world().get::<OfTheGame>(old[1]).is_some());
    assert_eq!(label(&app, old[2]), None);
    assert_eq!(app.world().get::<Weight>(old[2]), Some(&Weight(7.0)));
    assert!(app.world().get_entity(old[3]).is_err());
    let heard = Heard {
        adds: vec![new],
        inserts: vec![new, old[1]],
        removes: vec![old[2], old[3]],
        changes: vec![old[1]],
    };
    assert_eq!(*app.world().resource::<Heard>(), heard);
    let expected = ReloadReport {
        instances: vec![id],
        entities_kept: 4,
        entities_changed: 2,
        entities_spawned: 1,
        entities_despawned: 1,
        components_written: 2,
        components_removed: 1,
        ..ReloadReport::default()
    };
    assert_eq!(report, expected);
    let told: Vec<_> = app.world_mut().resource_mut::<Messages<Reloaded>>().drain().collect();
    let [told] = &told[..] else { panic!("{told:?}") };
    assert_eq!((told.package.to_string().as_str(), &told.report), ("a.pkg", &expected));
    assert_eq!(app.world().resource::<StreamingStats>().reloaded, 1);
    app.world_mut().resource_mut::<Streamer>().unload(id);
    run_until(&mut app, |world| state(world, id).is_none());
    assert_eq!(app.world_mut().query::<&Transform>().iter(app.world()).count(), 0);
}

/// What hangs below an entity: first what the file says, in its order, then what game code hung there.
#[test]
fn children_are_in_the_order_of_the_file() {
    let dir = Dir::default();
    let mut content = Content::labelled(6);
    for number in 3..6 {
        content.thing(number).parent = Some(0);
    }
    let (mut app, _, root) = live(&dir, &content);
    let [zero, one, three, four] = [0, 1, 3, 4].map(|number| thing(&app, root, number));
    let sword = app.world_mut().spawn(ChildOf(zero)).id();
    let [shield, on_root] = [one, root].map(|parent| app.world_mut().spawn(ChildOf(parent)).id());
    // Two below the first and one below the second change places, one goes and takes along what hangs there, one comes.
    content.thing(3).rank = 200;
    content.thing(5).parent = Some(2);
    content.things.remove(&1);
    *content.thing(7) = Thing {
        parent: Some(0),
        rank: 100,
        ..Thing::default()
    };
    reload(&mut app, &dir, &content, ReloadPolicy::KeepEdits);
    let seven = thing(&app, root, 7);
    let children = |entity| app.world().get::<Children>(entity).map(|children| children.to_vec());
    assert_eq!(children(zero), Some(vec![four, seven, three, sword]));
    assert_eq!(children(thing(&app, root, 2)), Some(vec![thing(&app, root, 5)]));
    assert_eq!(children(root), Some(vec![zero, thing(&app, root, 2), on_root]));
    assert!(app.world().get_entity(shield).is_err());
    // The last child goes, and the list with it.
    content.thing(5).parent = None;
    reload(&mut app, &dir, &content, ReloadPolicy::KeepEdits);
    assert_eq!(children_of(&app, thing(&app, root, 2)), None);
}

fn children_of(app: &App, entity: Entity) -> Option<Vec<Entity>> {
    app.world().get::<Children>(entity).map(|children| children.to_vec())
}

/// Bevy keeps both ends of a relationship of the game's own, whoever of the two is new, and with them what game code linked.
#[test]
fn relationships_of_the_game_have_both_ends() {
    let dir = Dir::default();
    let mut content = Content::labelled(4);
    content.thing(1).follows = Some(0);
    content.thing(2).follows = Some(0);
    let (mut app, _, root) = live(&dir, &content);
    let zero = thing(&app, root, 0);
    let stray = app.world_mut().spawn(Follows(zero)).id();
    content.thing(1).follows = Some(3);
    content.thing(2).follows = None;
    content.thing(8).follows = Some(0);
    reload(&mut app, &dir, &content, ReloadPolicy::KeepEdits);
    let followers = |number| {
        use bevy_ecs::relationship::RelationshipTarget;
        let list = app.world().get::<FollowedBy>(thing(&app, root, number));
        list.map(|list| list.iter().collect::<Vec<_>>())
    };
    assert_eq!(followers(0), Some(vec![stray, thing(&app, root, 8)]));
    assert_eq!(followers(3), Some(vec![thing(&app, root, 1)]));
    assert_eq!(app.world().get::<Follows>(stray), Some(&Follows(zero)));
}

/// What Bevy requires of a mesh goes with it; what it requires although the file does not give it any more is Bevy's default.
#[test]
fn required_components_are_as_in_a_level_that_comes_anew() {
    let dir = Dir::default();
    let mut content = Content::labelled(2);
    for number in 0..2 {
        content.thing(number).is_shown = true;
        content.thing(number).is_hidden = Some(true);
    }
    let (mut app, _, root) = live(&dir, &content);
    content.thing(0).is_hidden = None;
    content.thing(1).is_shown = false;
    content.thing(1).is_hidden = None;
    reload(&mut app, &dir, &content, ReloadPolicy::KeepEdits);
    assert_eq!(picture(app.world_mut(), root, "a.pkg"), fresh(&content));
}

#[test]
fn nothing_changed_and_nothing_happens() {
    let dir = Dir::default();
    let mut content = Content::labelled(3);
    content.titles = vec!["soup".into()];
    content.thing(0).serves = Some(0);
    content.thing(1).likes = Some(2);
    content.thing(2).is_shown = true;
    let (mut app, id, _) = live(&dir, &content);
    let report = reload(&mut app, &dir, &content, ReloadPolicy::Refuse);
    let expected = ReloadReport {
        instances: vec![id],
        entities_kept: 3,
        ..ReloadReport::default()
    };
    assert_eq!(report, expected);
}
