//! What game code changed since the reveal.

use super::*;

fn relabel(app: &mut App, entity: Entity, label: &str) {
    app.world_mut().get_mut::<Label>(entity).unwrap().0 = label.into();
    app.update();
}

#[test]
fn components_that_were_written_to() {
    let dir = Dir::default();
    let mut content = Content::labelled(3);
    let (mut app, _, root) = live(&dir, &content);
    let [zero, one, two] = [0, 1, 2].map(|number| thing(&app, root, number));
    app.update();
    relabel(&mut app, zero, "of the game");
    relabel(&mut app, two, "new 2");
    for number in 0..3 {
        content.thing(number).label = Some(format!("new {number}"));
    }
    let before = picture(app.world_mut(), root, "a.pkg");
    put(&dir, "a.pkg", content.package(&app, "a.pkg"));
    let refused = start(&mut app, ReloadPolicy::Refuse);
    end(&mut app, &refused);
    let LoadErrorKind::Edited { first, count } = error(&refused) else {
        panic!("{refused:?}")
    };
    assert_eq!((first, count), (vec![format!("Label of entity {zero}")], 1));
    let message = refused.result().unwrap().unwrap_err().to_string();
    for part in ["a.pkg", "Refuse", "KeepEdits", "Overwrite"] {
        assert!(message.contains(part), "{message}");
    }
    assert_eq!(picture(app.world_mut(), root, "a.pkg"), before);
    // More than once: what was kept is still a change.
    for round in 0..3 {
        content.thing(1).label = Some(format!("round {round}"));
        let report = reload(&mut app, &dir, &content, ReloadPolicy::KeepEdits);
        assert_eq!((report.edits_kept, report.components_written), (1, 1));
        assert_eq!(label(&app, zero).as_deref(), Some("of the game"));
        assert_eq!(label(&app, one), Some(format!("round {round}")));
    }
    let report = reload(&mut app, &dir, &content, ReloadPolicy::Overwrite);
    assert_eq!((report.edits_overwritten, report.components_written), (1, 1));
    assert_eq!(picture(app.world_mut(), root, "a.pkg"), fresh(&content));
    reload(&mut app, &dir, &content, ReloadPolicy::Refuse);
}

#[test]
fn components_that_were_taken_away() {
    let dir = Dir::default();
    let mut content = Content::labelled(2);
    let (mut app, _, root) = live(&dir, &content);
    let zero = thing(&app, root, 0);
    app.world_mut().entity_mut(zero).remove::<Label>();
    let report = reload(&mut app, &dir, &content, ReloadPolicy::KeepEdits);
    assert_eq!((report.edits_kept, label(&app, zero)), (1, None));
    reload(&mut app, &dir, &content, ReloadPolicy::Overwrite);
    assert_eq!(label(&app, zero).as_deref(), Some("0"));
    // One that the file loses, and that was written to.
    relabel(&mut app, zero, "of the game");
    content.thing(0).label = None;
    content.thing(1).label = None;
    for removed in [1, 0] {
        let report = reload(&mut app, &dir, &content, ReloadPolicy::KeepEdits);
        assert_eq!((report.edits_kept, report.components_removed), (1, removed));
        assert_eq!(label(&app, zero).as_deref(), Some("of the game"));
    }
    let report = reload(&mut app, &dir, &content, ReloadPolicy::Overwrite);
    assert_eq!((report.edits_overwritten, report.components_removed), (1, 1));
    assert_eq!(label(&app, zero), None);
}

/// With what the new file hangs below.
#[test]
fn entities_that_were_despawned() {
    let dir = Dir::default();
    let mut content = Content::labelled(3);
    let (mut app, _, root) = live(&dir, &content);
    let zero = thing(&app, root, 0);
    app.world_mut().entity_mut(zero).despawn();
    content.thing(5).parent = Some(0);
    content.thing(6).parent = Some(5);
    content.thing(1).likes = Some(6);
    put(&dir, "a.pkg", content.package(&app, "a.pkg"));
    let refused = start(&mut app, ReloadPolicy::Refuse);
    end(&mut app, &refused);
    let LoadErrorKind::Edited { first, .. } = error(&refused) else {
        panic!("{refused:?}")
    };
    assert_eq!(first, [format!("entity {zero} was despawned")]);
    // From then on what did not come is gone as well.
    for gone in [1, 3] {
        let report = reload(&mut app, &dir, &content, ReloadPolicy::KeepEdits);
        assert_eq!((report.edits_kept, report.entities_spawned), (gone, 0));
        for number in [0, 5, 6] {
            assert!(app.world().get_entity(thing(&app, root, number)).is_err());
        }
        assert!(app.world().get::<Likes>(thing(&app, root, 1)).is_some());
    }
    let report = reload(&mut app, &dir, &content, ReloadPolicy::Overwrite);
    assert_eq!(report.entities_spawned, 3);
    assert_eq!(picture(app.world_mut(), root, "a.pkg"), fresh(&content));
}

#[test]
fn entities_that_were_hung_elsewhere() {
    let dir = Dir::default();
    let mut content = Content::labelled(4);
    let (mut app, _, root) = live(&dir, &content);
    let [zero, one, two] = [0, 1, 2].map(|number| thing(&app, root, number));
    let stranger = app.world_mut().spawn_empty().id();
    app.world_mut().entity_mut(zero).insert(ChildOf(stranger));
    app.world_mut().entity_mut(one).insert(ChildOf(two));
    reload(&mut app, &dir, &content, ReloadPolicy::KeepEdits);
    assert_eq!(children_of(&app, stranger), Some(vec![zero]));
    assert_eq!(children_of(&app, two), Some(vec![one]));
    // The second's new parent goes; it must not go along.
    content.things.remove(&2);
    reload(&mut app, &dir, &content, ReloadPolicy::KeepEdits);
    assert_eq!(children_of(&app, root), Some(vec![one, thing(&app, root, 3)]));
    reload(&mut app, &dir, &content, ReloadPolicy::Overwrite);
    assert_eq!(children_of(&app, stranger), None);
    assert_eq!(picture(app.world_mut(), root, "a.pkg"), fresh(&content));
}

/// What game code has hung below it goes with it, and what came with the level does not, wherever it hangs.
#[test]
fn what_hangs_below_something_below_what_is_lost() {
    let dir = Dir::default();
    let mut content = Content::labelled(3);
    let (mut app, _, root) = live(&dir, &content);
    let [one, two] = [1, 2].map(|number| thing(&app, root, number));
    let stranger = app.world_mut().spawn(ChildOf(two)).id();
    app.world_mut().entity_mut(one).insert(ChildOf(stranger));
    content.things.remove(&2);
    let report = reload(&mut app, &dir, &content, ReloadPolicy::KeepEdits);
    assert_eq!((report.entities_despawned, report.edits_kept), (1, 0));
    assert!(app.world().get_entity(stranger).is_err());
    assert_eq!(children_of(&app, root), Some(vec![thing(&app, root, 0), one]));
}

/// As it stays when all of the level leaves that it hangs in.
#[test]
fn what_came_with_another_level_hangs_below_what_is_lost() {
    let dir = Dir::default();
    let mut content = Content::labelled(3);
    let (mut app, _, root) = live(&dir, &content);
    let other = Content::labelled(2);
    put(&dir, "b.pkg", other.package(&app, "b.pkg"));
    let id = load(&mut app, "b.pkg", &[]);
    let other_root = revealed(&mut app, id);
    let [one, two] = [1, 2].map(|number| thing(&app, root, number));
    let its = entity(app.world(), other_root, "b.pkg", 0).unwrap();
    let world = app.world_mut();
    let stranger = world.spawn(ChildOf(one)).id();
    world.entity_mut(its).insert(ChildOf(stranger));
    world.entity_mut(other_root).insert(ChildOf(two));
    // With another level's, the level's own stays where game code has hung it.
    let zero = thing(&app, root, 0);
    app.world_mut().entity_mut(zero).insert(ChildOf(its));
    content.things.remove(&1);
    content.things.remove(&2);
    let report = reload(&mut app, &dir, &content, ReloadPolicy::KeepEdits);
    assert_eq!((report.entities_despawned, report.edits_kept), (2, 1));
    let world = app.world();
    assert!(world.get_entity(stranger).is_err());
    for stays in [its, other_root, zero] {
        assert!(world.get_entity(stays).is_ok());
    }
    assert_eq!(world.get::<ChildOf>(its), None);
    assert_eq!(world.get::<ChildOf>(other_root), None);
    assert_eq!(children_of(&app, its), Some(vec![zero]));
}

/// An entity that the file has no more goes, with its changes; a reload that is to refuse tells of them.
#[test]
fn changes_of_what_is_lost() {
    let dir = Dir::default();
    let mut content = Content::labelled(2);
    let (mut app, _, root) = live(&dir, &content);
    let zero = thing(&app, root, 0);
    app.update();
    relabel(&mut app, zero, "of the game");
    content.things.remove(&0);
    put(&dir, "a.pkg", content.package(&app, "a.pkg"));
    let refused = start(&mut app, ReloadPolicy::Refuse);
    end(&mut app, &refused);
    assert!(matches!(error(&refused), LoadErrorKind::Edited { count: 1, .. }));
    let report = reload(&mut app, &dir, &content, ReloadPolicy::KeepEdits);
    assert_eq!((report.entities_despawned, report.edits_overwritten), (1, 1));
}

/// What Bevy works out is nobody's change, and stays.
#[test]
fn computed_components_are_bevys() {
    use bevy_transform::components::GlobalTransform;
    let dir = Dir::default();
    let mut content = Content::labelled(2);
    content.thing(0).is_placed = true;
    let (mut app, _, root) = live(&dir, &content);
    let zero = thing(&app, root, 0);
    let worked_out = GlobalTransform::from_xyz(3.0, 2.0, 1.0);
    *app.world_mut().get_mut::<GlobalTransform>(zero).unwrap() = worked_out;
    app.update();
    reload(&mut app, &dir, &content, ReloadPolicy::Refuse);
    assert_eq!(app.world().get::<GlobalTransform>(zero), Some(&worked_out));
    // Nor does it go when the file does not give it any more: it belongs to the transform.
    content.thing(0).is_placed = false;
    reload(&mut app, &dir, &content, ReloadPolicy::Overwrite);
    assert_eq!(app.world().get::<GlobalTransform>(zero), Some(&worked_out));
}
