//! What Bevy does by itself, and must find right, while a level is hidden, comes and goes.

use bevy_camera::{
    primitives::{Aabb, MeshAabb},
    visibility::{InheritedVisibility, Visibility, VisibilityPlugin},
};
use bevy_ecs::lifecycle::{Discard, Insert, Remove};
use bevy_math::Vec3;
use bevy_transform::{TransformPlugin, components::GlobalTransform};

use super::*;

/// With what Bevy derives of where entities stand and whether they are seen.
fn deriving(dir: &Dir) -> App {
    let plugin = SeamlessAssetPlugin {
        sliced_levels: true,
        ..SeamlessAssetPlugin::default()
    };
    let mut app = app_after(dir, plugin, |app| {
        app.add_plugins((TransformPlugin, VisibilityPlugin));
    });
    app.world_mut().resource_mut::<StreamingSettings>().budget = Duration::ZERO;
    put(dir, "a.pkg", chain(&app, "a.pkg", COUNT as u32, None));
    app
}

/// What its own entities have of this component.
fn of_all<C: Component + Copy>(app: &mut App) -> Vec<C> {
    let world = app.world_mut();
    let mut all = world.query_filtered::<&C, With<Likes>>();
    all.iter(world).copied().collect()
}

/// Bevy tells those below of a change, and did not hear of it: they must not be seen for a frame.
#[test]
fn what_was_made_invisible_while_it_was_hidden_is_so_when_it_is_shown() {
    let dir = Dir::default();
    let mut app = deriving(&dir);
    let id = load_until(&mut app, LoadState::Live);
    let root = root_of(app.world_mut()).unwrap();
    let ship = app.world_mut().spawn((Transform::default(), Visibility::Visible)).id();
    app.world_mut().entity_mut(root).insert(ChildOf(ship));
    let first = app.world().get::<Children>(root).unwrap()[0];
    let is_seen = |app: &mut App| {
        let all: Vec<InheritedVisibility> = of_all(app);
        assert_eq!(all.len(), COUNT);
        assert!(all.iter().all(|seen| seen.get() == all[0].get()), "all of them or none");
        all[0].get()
    };
    app.update();
    assert!(is_seen(&mut app));
    for parent in [first, root, ship] {
        for seen in [Visibility::Hidden, Visibility::Visible] {
            hide_and_show(&mut app, id, |world| {
                *world.get_mut::<Visibility>(parent).unwrap() = seen
            });
            // In the very frame in which it is shown.
            assert_eq!(
                is_seen(&mut app),
                seen == Visibility::Visible,
                "{parent} became {seen:?}"
            );
        }
        // As before; who is above decides again.
        *app.world_mut().get_mut::<Visibility>(parent).unwrap() = Visibility::Inherited;
        app.update();
    }
}

#[test]
fn what_was_moved_while_it_was_hidden_is_there_when_it_is_shown() {
    let dir = Dir::default();
    let mut app = deriving(&dir);
    let id = load_until(&mut app, LoadState::Live);
    let root = root_of(app.world_mut()).unwrap();
    let x = |app: &mut App| {
        let all: Vec<GlobalTransform> = of_all(app);
        all.iter().map(|place| place.translation().x).fold(f32::MAX, f32::min)
    };
    app.update();
    let before = x(&mut app);
    hide_and_show(&mut app, id, |world| {
        world.get_mut::<Transform>(root).unwrap().translation.x += 500.0;
    });
    assert_eq!(x(&mut app), before + 500.0);
}

#[derive(Resource, Default)]
struct Heard {
    removed: usize,
    /// How many entities of the level who heard of it found.
    found: usize,
    /// How many children Bevy had to look through.
    looked_through: usize,
    orphans: usize,
}

/// Slice by slice: what is left of the level is nobody's to find.
#[test]
fn who_hears_of_a_removal_finds_nothing_of_the_level() {
    let dir = Dir::default();
    let mut app = sliced(&dir);
    app.init_resource::<Heard>().add_observer(
        |_: On<Remove, Likes>, all: Query<(), With<Likes>>, mut heard: ResMut<Heard>| {
            heard.removed += 1;
            heard.found += all.iter().count();
        },
    );
    let id = load_until(&mut app, LoadState::Live);
    set_target(&mut app, id, InstanceTarget::Gone);
    run_until(&mut app, |world| hidden(world) == 0 && state(world, id).is_none());
    let heard = app.world().resource::<Heard>();
    assert_eq!((heard.removed, heard.found), (COUNT, 0));
}

/// Bevy takes each child out of its parent's list, which it goes through for it: with so many in one list, that is what a leave would take.
#[test]
fn nobody_goes_through_the_list_of_many_children() {
    for budget in [Duration::ZERO, Duration::from_secs(100)] {
        let dir = Dir::default();
        let mut app = sliced(&dir);
        app.world_mut().resource_mut::<StreamingSettings>().budget = budget;
        app.init_resource::<Heard>();
        let id = load_until(&mut app, LoadState::Live);
        app.add_observer(
            |gone: On<Discard, ChildOf>,
             parents: Query<&ChildOf, bevy_ecs::query::Allow<InHiddenLevel>>,
             lists: Query<&Children, bevy_ecs::query::Allow<InHiddenLevel>>,
             mut heard: ResMut<Heard>| {
                heard.removed += 1;
                let parent = parents.get(gone.entity).unwrap().parent();
                heard.looked_through += lists.get(parent).map_or(0, |list| list.len());
            },
        );
        set_target(&mut app, id, InstanceTarget::Gone);
        run_until(&mut app, |world| hidden(world) == 0 && state(world, id).is_none());
        app.update();
        let heard = app.world().resource::<Heard>();
        assert_eq!((heard.removed, heard.looked_through), (COUNT, 0));
    }
}

/// Indices that are used again in the frame in which they were freed are passed over by Bevy when it looks for what has moved.
#[test]
fn what_comes_in_the_frame_of_a_sweep_stands_where_it_is_to() {
    let dir = Dir::default();
    let mut app = deriving(&dir);
    let away = load_until(&mut app, LoadState::Live);
    set_target(&mut app, away, InstanceTarget::Gone);
    run_until(&mut app, |world| state(world, away).is_none());
    let left: Vec<Entity> = {
        let world = app.world_mut();
        let mut left = world.query_filtered::<Entity, With<InHiddenLevel>>();
        left.iter(world).collect()
    };
    assert!(!left.is_empty(), "it is still to be swept");
    // Nothing is spawned before there is time; then all is done in one frame.
    let id = load_to(&mut app, "a.pkg", InstanceTarget::Loaded);
    app.world_mut().resource_mut::<StreamingSettings>().budget = Duration::from_secs(100);
    let placed = |app: &mut App| {
        let all: Vec<GlobalTransform> = of_all(app);
        assert_eq!(all.len(), COUNT);
        all.iter()
            .map(|place| place.translation().to_array())
            .collect::<Vec<_>>()
    };
    set_target(&mut app, id, InstanceTarget::Shown);
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Live));
    let found = placed(&mut app);
    // Placed at 10; row 0 is at (0, 2, 3) of that, and the others below row 0 at (row, 2, 3).
    assert!(found.contains(&[10.0, 2.0, 3.0]) && found.contains(&[10.0 + 999.0, 4.0, 6.0]));
    let right = found.iter().filter(|place| place[1..] == [4.0, 6.0]).count();
    assert_eq!(right, COUNT - 1);
    assert!(left.iter().all(|entity| app.world().get_entity(*entity).is_err()));
    for _ in 0..3 {
        app.update();
        assert_eq!(placed(&mut app), found);
    }
}

/// As Bevy's `ValidateParentHasComponentPlugin` does, which then warns of each: who was there before the opt-in sees what is hidden.
#[test]
fn parents_have_what_their_children_have_whenever_these_get_it() {
    let dir = Dir::default();
    let plugin = SeamlessAssetPlugin {
        sliced_levels: true,
        ..SeamlessAssetPlugin::default()
    };
    let mut app = app_after(&dir, plugin, |app| {
        app.add_plugins((TransformPlugin, VisibilityPlugin))
            .init_resource::<Heard>();
        app.add_observer(check_parent::<GlobalTransform>);
        app.add_observer(check_parent::<InheritedVisibility>);
    });
    app.world_mut().resource_mut::<StreamingSettings>().budget = Duration::ZERO;
    put(&dir, "a.pkg", chain(&app, "a.pkg", COUNT as u32, None));
    let id = load_until(&mut app, LoadState::Live);
    hide_and_show(&mut app, id, |_| {});
    let heard = app.world().resource::<Heard>();
    assert!(heard.found >= 2 * (COUNT - 1), "{} were looked at", heard.found);
    assert_eq!(heard.orphans, 0);
    // The measure itself.
    let world = app.world_mut();
    let parent = world.spawn_empty().id();
    world.spawn((Transform::default(), ChildOf(parent)));
    assert_eq!(world.resource::<Heard>().orphans, 1);
}

fn check_parent<C: Component>(
    inserted: On<Insert, C>,
    children: Query<&ChildOf, bevy_ecs::query::Allow<InHiddenLevel>>,
    all: Query<(), (With<C>, bevy_ecs::query::Allow<InHiddenLevel>)>,
    mut heard: ResMut<Heard>,
) {
    if let Ok(child_of) = children.get(inserted.entity) {
        heard.found += 1;
        heard.orphans += usize::from(!all.contains(child_of.parent()));
    }
}

/// Bevy makes the boxes of those anew that queries find in the frame of the change.
#[test]
fn a_mesh_that_was_changed_while_its_level_was_hidden_has_its_new_box() {
    let dir = Dir::default();
    let mut app = deriving(&dir);
    let id = load_until(&mut app, LoadState::Live);
    app.update();
    let grow = |app: &mut App| {
        let mut meshes = app.world_mut().resource_mut::<Assets<Mesh>>();
        let id = meshes.ids().next().unwrap();
        let mut mesh = meshes.get_mut(id).unwrap();
        mesh.scale_by(Vec3::splat(3.0));
        mesh.compute_aabb().unwrap()
    };
    let has_all = |app: &mut App, expected: Aabb| {
        let world = app.world_mut();
        let mut boxes = world.query::<&Aabb>();
        boxes.iter(world).count() == COUNT && boxes.iter(world).all(|found| *found == expected)
    };
    let mut told = Vec::new();
    for hidden_for in [0, 1, 5] {
        set_target(&mut app, id, InstanceTarget::Loaded);
        run_until(&mut app, |world| state(world, id) == Some(LoadState::Hidden));
        (0..hidden_for).for_each(|_| app.update());
        let expected = grow(&mut app);
        app.update();
        set_target(&mut app, id, InstanceTarget::Shown);
        run_until(&mut app, |world| state(world, id) == Some(LoadState::Live));
        assert!(
            has_all(&mut app, expected),
            "after {hidden_for} frames: in the frame in which it is shown"
        );
        told.push(expected);
    }
    told.dedup();
    assert_eq!(told.len(), 3);
}
