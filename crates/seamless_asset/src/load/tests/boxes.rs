//! The boxes of what is drawn, of levels that come at once and in slices.

use bevy_app::{Last, PostUpdate};
use bevy_camera::{
    primitives::{Aabb, MeshAabb},
    visibility::{VisibilityPlugin, VisibilitySystems},
};
use bevy_ecs::observer::On;
use bevy_math::Vec3;
use bevy_transform::TransformPlugin;

use super::{
    targets::{load_to, set_target},
    *,
};

const COUNT: usize = 1_000;

/// An app in which Bevy gives boxes to what is drawn, and a level all of whose entities are.
fn drawing(dir: &Dir, sliced_levels: bool) -> App {
    drawing_with(dir, sliced_levels, draw)
}

fn draw(app: &mut App) {
    app.add_plugins((TransformPlugin, VisibilityPlugin));
}

fn drawing_with(dir: &Dir, sliced_levels: bool, game: impl FnOnce(&mut App)) -> App {
    let plugin = SeamlessAssetPlugin {
        sliced_levels,
        ..SeamlessAssetPlugin::default()
    };
    let mut app = app_after(dir, plugin, game);
    // No unit of work fits: who can come in slices does.
    app.world_mut().resource_mut::<StreamingSettings>().budget = Duration::ZERO;
    put(dir, "a.pkg", chain(&app, "a.pkg", COUNT as u32, None));
    app
}

fn boxes(world: &mut World) -> Vec<Aabb> {
    world.query::<&Aabb>().iter(world).copied().collect()
}

fn load(app: &mut App) -> InstanceId {
    let id = load_to(app, "a.pkg", InstanceTarget::Shown);
    run_until(app, |world| state(world, id) == Some(LoadState::Live));
    id
}

/// What Bevy finds in the frame of a reveal, before it gives boxes.
#[derive(Resource, Default)]
struct Found {
    revealed: usize,
    without_box: usize,
    meshes_without_box: usize,
}

fn find(
    revealed: Query<(), Added<Mesh3d>>,
    without: Query<(), (With<Mesh3d>, Without<Aabb>)>,
    meshes: Res<Assets<Mesh>>,
    mut found: ResMut<Found>,
) {
    if !revealed.is_empty() {
        found.revealed += revealed.iter().count();
        found.without_box += without.iter().count();
        found.meshes_without_box += meshes.iter().filter(|(_, mesh)| mesh.final_aabb.is_none()).count();
    }
}

fn finding(app: &mut App) {
    let find = find
        .after(crate::reveal::lend_boxes)
        .before(VisibilitySystems::CalculateBounds);
    app.init_resource::<Found>().add_systems(PostUpdate, find);
}

/// Loads the level, and takes it away again.
fn comes_with_boxes(mut app: App, count: usize) {
    finding(&mut app);
    let id = load(&mut app);
    let found = app.world().resource::<Found>();
    assert_eq!(found.revealed, count);
    assert_eq!(found.without_box, 0);
    assert_eq!(found.meshes_without_box, 0);
    let world = app.world_mut();
    let meshes = world.resource::<Assets<Mesh>>();
    let mesh = meshes.iter().next().unwrap().1;
    assert_eq!(mesh.final_aabb, None, "it was lent");
    let expected = mesh.compute_aabb().unwrap();
    assert_eq!(boxes(world), vec![expected; count]);
    set_target(&mut app, id, InstanceTarget::Gone);
    run_until(&mut app, |world| world.resource::<LiveObjectsResource>().0.is_empty());
}

/// Or it computes one for each entity, and moves that into another table, in the frame in which most is done anyway.
#[test]
fn bevy_finds_nothing_without_a_box() {
    for sliced_levels in [false, true] {
        let dir = Dir::default();
        comes_with_boxes(drawing(&dir, sliced_levels), COUNT);
    }
}

/// A mesh that one entity shows has its box computed for that: it may as well lend it.
#[test]
fn a_box_is_computed_once() {
    let dir = Dir::default();
    let app = drawing(&dir, false);
    put(&dir, "a.pkg", chain(&app, "a.pkg", 1, None));
    comes_with_boxes(app, 1);
}

/// Bevy looks at their meshes all the same.
#[test]
fn meshes_of_entities_with_boxes_of_their_own_know_theirs() {
    for sliced_levels in [false, true] {
        let dir = Dir::default();
        let app = drawing_with(&dir, sliced_levels, |app| {
            draw(app);
            app.add_instance_hook(|level, _| {
                let own = Aabb::from_min_max(Vec3::ZERO, Vec3::ONE);
                level.insert(0..level.len(), vec![own; level.len()])
            });
        });
        comes_with_boxes(app, COUNT);
    }
}

/// A server draws nothing.
#[test]
fn where_bevy_gives_no_boxes_levels_bring_none() {
    for sliced_levels in [false, true] {
        let dir = Dir::default();
        let mut app = drawing_with(&dir, sliced_levels, |_| {});
        load(&mut app);
        assert_eq!(boxes(app.world_mut()), []);
    }
}

#[derive(Resource, Default)]
struct Heard {
    boxes: usize,
    fewest: Option<usize>,
}

/// Who wants to hear of boxes finds the whole level, as with everything that is observed.
#[test]
fn an_observer_of_boxes_finds_the_whole_level() {
    for sliced_levels in [false, true] {
        let dir = Dir::default();
        let mut app = drawing(&dir, sliced_levels);
        app.init_resource::<Heard>();
        app.add_observer(|_: On<Add, Aabb>, all: Query<&Mesh3d>, mut heard: ResMut<Heard>| {
            heard.boxes += 1;
            let found = all.iter().len();
            heard.fewest = Some(heard.fewest.map_or(found, |fewest| fewest.min(found)));
        });
        load(&mut app);
        let heard = app.world().resource::<Heard>();
        assert_eq!((heard.boxes, heard.fewest), (COUNT, Some(COUNT)));
    }
}

/// All that can be seen has the box of the one mesh, in each frame.
fn check(boxes: Query<&Aabb>, meshes: Res<Assets<Mesh>>) {
    for found in &boxes {
        let mesh = meshes.iter().next().unwrap().1;
        assert_eq!(Some(*found), mesh.compute_aabb(), "in the first frame, too");
    }
}

/// Some of its entities are there already, with the old one.
#[test]
fn a_mesh_that_is_changed_between_two_slices_has_its_new_box() {
    let dir = Dir::default();
    let mut app = drawing(&dir, true);
    app.add_systems(Last, check);
    let id = load_to(&mut app, "a.pkg", InstanceTarget::Shown);
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Revealing));
    app.update();
    let mut meshes = app.world_mut().resource_mut::<Assets<Mesh>>();
    let mesh = meshes.ids().next().unwrap();
    meshes.get_mut(mesh).unwrap().scale_by(Vec3::splat(3.0));
    // So long that nobody is told of the change any more.
    (0..3).for_each(|_| app.update());
    assert_eq!(state(app.world(), id), Some(LoadState::Revealing));
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Live));
    assert_eq!(boxes(app.world_mut()).len(), COUNT);
}

/// An observer may change a mesh while a level comes, after another has come that shows it, too.
#[test]
fn a_mesh_that_an_observer_changes_has_its_new_box() {
    let dir = Dir::default();
    let mut app = drawing(&dir, false);
    app.world_mut().resource_mut::<StreamingSettings>().budget = Duration::from_secs(10);
    app.init_resource::<Heard>();
    app.add_observer(
        |_: On<Add, Likes>, mut meshes: ResMut<Assets<Mesh>>, mut heard: ResMut<Heard>| {
            heard.boxes += 1;
            if heard.boxes == COUNT + COUNT / 2 {
                let id = meshes.ids().next().unwrap();
                meshes.get_mut(id).unwrap().scale_by(Vec3::splat(3.0));
            }
        },
    );
    app.add_systems(Last, check);
    let ids = [0, 1].map(|_| load_to(&mut app, "a.pkg", InstanceTarget::Shown));
    run_until(&mut app, |world| {
        ids.iter().all(|id| state(world, *id) == Some(LoadState::Live))
    });
    assert!(app.world().resource::<Heard>().boxes >= COUNT + COUNT / 2);
    assert_eq!(boxes(app.world_mut()).len(), 2 * COUNT);
}

/// A mesh so large that its box is worth keeping: what its load makes of it.
fn large(app: &mut App) {
    draw(app);
    app.add_post_load::<Mesh>(|mesh, _| {
        let places: Vec<_> = (0..1_000).map(|at| [at as f32, -1.0, 0.5]).collect();
        mesh.insert_attribute(Mesh::ATTRIBUTE_POSITION, places);
        Ok(())
    });
}

/// The one mesh, without anybody being told.
fn untracked(app: &mut App) -> &mut Mesh {
    let meshes = app.world_mut().resource_mut::<Assets<Mesh>>().into_inner();
    let mesh = meshes.ids().next().unwrap();
    meshes.get_mut_untracked(mesh).unwrap()
}

/// Nobody needs its vertices for that: they are taken away before the level comes again.
#[test]
fn a_large_mesh_has_its_box_from_its_load() {
    for sliced_levels in [false, true] {
        let dir = Dir::default();
        let mut app = drawing_with(&dir, sliced_levels, large);
        finding(&mut app);
        load(&mut app);
        let expected = untracked(&mut app).compute_aabb().unwrap();
        assert_eq!(expected.half_extents.x, 499.5, "after its post-load");
        untracked(&mut app).remove_attribute(Mesh::ATTRIBUTE_POSITION);
        load(&mut app);
        let found = app.world().resource::<Found>();
        assert_eq!(found.revealed, 2 * COUNT);
        assert_eq!((found.without_box, found.meshes_without_box), (0, 0));
        assert_eq!(boxes(app.world_mut()), vec![expected; 2 * COUNT]);
    }
}

#[test]
fn a_large_mesh_that_was_changed_since_its_load_has_its_new_box() {
    for sliced_levels in [false, true] {
        let dir = Dir::default();
        let mut app = drawing_with(&dir, sliced_levels, large);
        app.add_systems(Last, check);
        load(&mut app);
        let mut meshes = app.world_mut().resource_mut::<Assets<Mesh>>();
        let mesh = meshes.ids().next().unwrap();
        meshes.get_mut(mesh).unwrap().scale_by(Vec3::splat(3.0));
        load(&mut app);
        assert_eq!(boxes(app.world_mut()).len(), 2 * COUNT);
    }
}
