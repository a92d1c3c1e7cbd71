//! What Bevy passes on to children, as its UI does, and whom that leaves alone.

use bevy_app::{HierarchyPropagatePlugin, PostUpdate, Propagate, PropagateSet};
use bevy_ecs::lifecycle::Insert;

use super::*;

#[derive(Component, Clone, Copy, PartialEq, Debug)]
struct Layer(u32);

#[derive(Component, Clone, PartialEq)]
struct Theme;

/// As [`sliced`], after these plugins of Bevy.
fn sliced_after(dir: &Dir, bevys: impl FnOnce(&mut App)) -> App {
    let plugin = SeamlessAssetPlugin {
        sliced_levels: true,
        ..SeamlessAssetPlugin::default()
    };
    let mut app = app_after(dir, plugin, bevys);
    app.world_mut().resource_mut::<StreamingSettings>().budget = Duration::ZERO;
    put(dir, "a.pkg", chain(&app, "a.pkg", COUNT as u32, None));
    app
}

/// An app that passes two components on to children, as Bevy's UI does.
fn passing_on(dir: &Dir) -> App {
    sliced_after(dir, |app| {
        app.add_plugins((
            HierarchyPropagatePlugin::<Layer>::new(PostUpdate),
            HierarchyPropagatePlugin::<Theme>::new(bevy_app::Update),
        ));
    })
}

/// Of what is hidden on its way into the world, how many are no children yet, at most.
fn most_without_parent(app: &mut App, id: InstanceId) -> usize {
    let mut most = 0;
    run_until(app, |world| {
        let mut orphans = world.query_filtered::<(), (With<InHiddenLevel>, With<Likes>, Without<ChildOf>)>();
        most = most.max(orphans.iter(world).count());
        state(world, id) == Some(LoadState::Live)
    });
    most
}

/// Each child that comes by itself in the reveal's one frame is moved in that frame, which slices are there to spare.
#[test]
fn who_passes_on_to_children_needs_no_whole_level() {
    let dir = Dir::default();
    let mut app = passing_on(&dir);
    let id = load_to(&mut app, "a.pkg", InstanceTarget::Shown);
    assert_eq!(most_without_parent(&mut app, id), 0);
}

#[test]
fn who_else_observes_parents_finds_the_whole_level() {
    let dir = Dir::default();
    let mut app = passing_on(&dir);
    app.init_resource::<Observed>().add_observer(
        |_: On<Insert, ChildOf>, all: Query<(), With<Likes>>, mut observed: ResMut<Observed>| {
            observed.count += 1;
            observed.largest = observed.largest.max(all.iter().len());
        },
    );
    let id = load_to(&mut app, "a.pkg", InstanceTarget::Shown);
    assert!(most_without_parent(&mut app, id) > COUNT / 2);
    let observed = app.world().resource::<Observed>();
    assert_eq!((observed.count, observed.largest), (COUNT, COUNT));
    // And who asks where the frame went is told.
    let overruns = &app.world().resource::<StreamingStats>().overruns;
    let reveal = overruns.iter().rev().map(|over| over.what.to_string());
    let reveal: Vec<_> = reveal.filter(|what| what.contains("spawned before")).collect();
    assert!(
        reveal
            .first()
            .is_some_and(|what| what.contains(&format!("what observers of components hear of {COUNT})"))),
        "{reveal:?}"
    );
}

/// Somebody orders after what the app does not have, and passes on by another relationship: that makes nobody Bevy's.
#[test]
fn who_is_not_bevys_is_not_taken_for_it() {
    let dir = Dir::default();
    let mut app = sliced_after(&dir, |app| {
        app.add_plugins(HierarchyPropagatePlugin::<Layer, (), crate::OfLevel>::new(PostUpdate))
            .add_systems(bevy_app::Update, (|| {}).after(PropagateSet::<Theme>::default()));
    });
    app.init_resource::<Observed>()
        .add_observer(|_: On<Insert, ChildOf>, mut observed: ResMut<Observed>| observed.count += 1);
    let id = load_to(&mut app, "a.pkg", InstanceTarget::Shown);
    assert!(most_without_parent(&mut app, id) > COUNT / 2);
    assert_eq!(app.world().resource::<Observed>().count, COUNT);
}

/// Whatever comes with an id of its own cannot be known to who observes one that is there.
#[test]
fn who_observes_one_entity_needs_no_whole_level() {
    let dir = Dir::default();
    let mut app = sliced(&dir);
    let id = load_until(&mut app, LoadState::Revealing);
    run_until(&mut app, |world| hidden(world) > 0);
    let world = app.world_mut();
    let mut hidden = world.query_filtered::<Entity, (With<InHiddenLevel>, With<Likes>)>();
    let before: Vec<Entity> = hidden.iter(world).collect();
    assert!(!before.is_empty());
    world.spawn_empty().observe(|_: On<Insert, Likes>| {});
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Live));
    let world = app.world();
    let is_seen = |entity: &Entity| {
        world
            .get_entity(*entity)
            .is_ok_and(|entity| !entity.contains::<InHiddenLevel>())
    };
    assert!(before.iter().all(is_seen), "it did not begin anew");
}

/// The root is there when it is given something to pass on, or hung below somebody who has that; or all is shown once more.
#[test]
fn a_level_inherits_what_its_root_has() {
    for budget in [Duration::ZERO, Duration::from_secs(100)] {
        let dir = Dir::default();
        let mut app = passing_on(&dir);
        app.world_mut().resource_mut::<StreamingSettings>().budget = budget;
        let carrier = app.world_mut().spawn(Propagate(Layer(1))).id();
        app.add_observer(
            move |root: On<bevy_ecs::lifecycle::Add, LevelInstance>, mut commands: Commands| {
                commands.entity(root.entity).insert(ChildOf(carrier));
            },
        );
        app.update();
        let id = load_until(&mut app, LoadState::Live);
        assert_eq!(
            layers(&mut app),
            [Layer(1); COUNT],
            "from the first frame on, {budget:?}"
        );
        hide_and_show(&mut app, id, |world| {
            world.entity_mut(carrier).insert(Propagate(Layer(2)));
        });
        app.update();
        assert_eq!(layers(&mut app), [Layer(2); COUNT]);
        let root = root_of(app.world_mut()).unwrap();
        hide_and_show(&mut app, id, |world| {
            world.entity_mut(root).insert(Propagate(Layer(3)));
        });
        app.update();
        assert_eq!(layers(&mut app), [Layer(3); COUNT]);
    }
}

fn layers(app: &mut App) -> Vec<Layer> {
    let world = app.world_mut();
    let mut layers = world.query_filtered::<&Layer, With<Likes>>();
    layers.iter(world).copied().collect()
}
