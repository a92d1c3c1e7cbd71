//! Levels that are hidden, or about to leave.

use bevy_transform::components::GlobalTransform;

use super::*;
use crate::load::tests::targets::set_target;

/// What the game has given an entity.
#[derive(Component)]
struct Health(u32);

fn live_and_sliced(dir: &Dir, content: &Content) -> (App, InstanceId, Entity) {
    let mut app = sliced_app(dir);
    game(&mut app);
    put(dir, "a.pkg", content.package(&app, "a.pkg"));
    let id = load(&mut app, "a.pkg", &[]);
    let root = revealed(&mut app, id);
    (app, id, root)
}

fn hide_and_show(app: &mut App, id: InstanceId) {
    for (target, wanted) in [
        (InstanceTarget::Loaded, LoadState::Hidden),
        (InstanceTarget::Shown, LoadState::Live),
    ] {
        set_target(app, id, target);
        run_until(app, |world| state(world, id) == Some(wanted));
        app.update();
    }
}

/// Whether it was hidden meanwhile or not.
#[test]
fn what_the_game_has_added_is_none_of_the_files() {
    for cycles in 0..3 {
        let dir = Dir::default();
        let mut content = Content::labelled(2);
        let (mut app, id, root) = live_and_sliced(&dir, &content);
        let [zero, one] = [0, 1].map(|number| thing(&app, root, number));
        app.update();
        app.world_mut().entity_mut(zero).insert(Health(3));
        let guest = app.world_mut().spawn((Health(1), ChildOf(zero))).id();
        (0..cycles).for_each(|_| hide_and_show(&mut app, id));
        content.thing(0).label = Some("new".into());
        let report = reload(&mut app, &dir, &content, ReloadPolicy::Refuse);
        assert_eq!(
            (report.components_written, report.components_removed),
            (1, 0),
            "nobody has edited anything"
        );
        app.world_mut().get_mut::<Label>(one).unwrap().0 = "of the game".into();
        app.update();
        (0..cycles).for_each(|_| hide_and_show(&mut app, id));
        let report = reload(&mut app, &dir, &content, ReloadPolicy::KeepEdits);
        assert_eq!(
            (report.edits_kept, label(&app, one).as_deref()),
            (1, Some("of the game"))
        );
        let report = reload(&mut app, &dir, &content, ReloadPolicy::Overwrite);
        assert_eq!((report.edits_overwritten, report.components_removed), (1, 0));
        let world = app.world();
        assert_eq!(world.get::<Health>(zero).map(|health| health.0), Some(3));
        assert_eq!(world.get::<Health>(guest).map(|health| health.0), Some(1));
    }
}

/// It is wanted again, after the file has changed.
#[test]
fn a_level_that_does_not_leave_after_all_is_as_its_file_says() {
    let dir = Dir::default();
    let mut content = Content::labelled(2);
    let (mut app, id, root) = live_and_sliced(&dir, &content);
    put(&dir, "b.pkg", content.package(&app, "b.pkg"));
    // As long as others come, one a frame, it only waits for its leave.
    let others: Vec<_> = (0..25).map(|_| load(&mut app, "b.pkg", &[])).collect();
    let are_all = |world: &World, wanted| others.iter().all(|other| state(world, *other) == Some(wanted));
    run_until(&mut app, |world| are_all(world, LoadState::Live));
    app.world_mut().resource_mut::<StreamingSettings>().budget = Duration::ZERO;
    let zero = thing(&app, root, 0);
    let mut seen = 0;
    for round in 0..200 {
        let ask = |app: &mut App, target| others.iter().for_each(|other| set_target(app, *other, target));
        ask(&mut app, InstanceTarget::Loaded);
        run_until(&mut app, |world| are_all(world, LoadState::Hidden));
        ask(&mut app, InstanceTarget::Shown);
        content.thing(0).label = Some(format!("after {round}"));
        put(&dir, "a.pkg", content.package(&app, "a.pkg"));
        let reload = app.world_mut().resource_mut::<Streamer>().reload(ReloadRequest {
            policy: ReloadPolicy::Overwrite,
            priority: 1e9,
            ..ReloadRequest::new("a.pkg")
        });
        set_target(&mut app, id, InstanceTarget::Gone);
        for _ in 0..20 {
            app.update();
            std::thread::sleep(Duration::from_millis(1));
            let is_leaving = state(app.world(), id) == Some(LoadState::Leaving);
            assert!(is_leaving, "others come before it");
            seen += u32::from(reload.is_finished());
        }
        set_target(&mut app, id, InstanceTarget::Shown);
        end(&mut app, &reload);
        reload.result().expect("it is finished").expect("it is good");
        assert_eq!(state(app.world(), id), Some(LoadState::Live));
        assert_eq!(label(&app, zero), Some(format!("after {round}")));
        if seen > 0 {
            return;
        }
        run_until(&mut app, |world| are_all(world, LoadState::Live));
    }
    panic!("no reload came while it waited for its leave");
}

/// Nobody has seen where it would be by now.
#[test]
fn who_hangs_below_what_is_lost_unseen_stays_where_it_was_seen() {
    let dir = Dir::default();
    let mut content = Content::labelled(2);
    let (mut app, id, root) = live_and_sliced(&dir, &content);
    put(&dir, "b.pkg", Content::labelled(1).package(&app, "b.pkg"));
    let other = load(&mut app, "b.pkg", &[]);
    let other = revealed(&mut app, other);
    let guest = entity(app.world(), other, "b.pkg", 0).unwrap();
    let one = thing(&app, root, 1);
    let place = (
        Transform::from_xyz(5.0, 0.0, 0.0),
        GlobalTransform::from_xyz(1.0, 2.0, 3.0),
    );
    app.world_mut().entity_mut(guest).insert((ChildOf(one), place));
    set_target(&mut app, id, InstanceTarget::Loaded);
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Hidden));
    content.things.remove(&1);
    reload(&mut app, &dir, &content, ReloadPolicy::KeepEdits);
    let world = app.world();
    assert!(world.get_entity(one).is_err());
    assert_eq!(world.get::<ChildOf>(guest), None);
    let stands = world.get::<Transform>(guest).unwrap().translation;
    assert_eq!(stands.to_array(), [1.0, 2.0, 3.0]);
}
