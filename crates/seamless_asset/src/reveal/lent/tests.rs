use bevy_asset::{AssetApp, AssetPlugin, RenderAssetUsages};
use bevy_camera::primitives::{Aabb, MeshAabb};
use bevy_math::Vec3A;
use bevy_mesh::PrimitiveTopology;

use super::*;

fn mesh(far: f32) -> Mesh {
    let corners = vec![[-1.0, 0.1, 0.0], [far, 2.0, 0.3], [0.0, -0.7, 5.0]];
    Mesh::new(PrimitiveTopology::TriangleList, RenderAssetUsages::default())
        .with_inserted_attribute(Mesh::ATTRIBUTE_POSITION, corners)
}

/// An app in which a mesh has lent its box.
fn lent(mesh: Mesh) -> (bevy_app::App, bevy_asset::Handle<Mesh>) {
    let mut app = bevy_app::App::new();
    app.add_plugins((bevy_app::TaskPoolPlugin::default(), AssetPlugin::default()))
        .init_asset::<Mesh>()
        .init_resource::<LentBoxes>()
        .init_resource::<StreamingClock>()
        .add_systems(bevy_app::Last, take_back_boxes.run_if(LentBoxes::are_any));
    let handle = app.world_mut().resource_mut::<Assets<Mesh>>().add(mesh);
    // What is new is not modified.
    app.update();
    app.update();
    lend_to(&mut app, &handle);
    (app, handle)
}

/// So many entities of a level show the mesh, and all have boxes.
fn shown_by(entities: usize, handle: &bevy_asset::Handle<Mesh>) -> ShownMeshes {
    let mut shown = ShownMeshes::default();
    (0..entities).for_each(|_| shown.note(&bevy_mesh::Mesh3d(handle.clone())));
    shown
}

/// Just enough entities.
fn lend_to(app: &mut bevy_app::App, handle: &bevy_asset::Handle<Mesh>) {
    LentBoxes::lend(app.world_mut(), &shown_by(least_shared(), handle));
}

fn known(app: &bevy_app::App, handle: &bevy_asset::Handle<Mesh>) -> Option<Aabb3d> {
    app.world().resource::<Assets<Mesh>>().get(handle).unwrap().final_aabb
}

/// Whether the mesh is told to be modified, in the frame after this one.
fn is_modified_again(app: &mut bevy_app::App, handle: &bevy_asset::Handle<Mesh>) -> bool {
    app.update();
    app.update();
    let events = app.world().resource::<Messages<AssetEvent<Mesh>>>();
    events
        .iter_current_update_messages()
        .any(|event| event.is_modified(handle))
}

#[test]
fn what_is_lent_is_what_bevy_computes() {
    let computed = mesh(3.3).compute_aabb().unwrap();
    let (mut app, handle) = lent(mesh(3.3));
    assert_eq!(known(&app, &handle).map(Aabb::from), Some(computed));
    let lent = app
        .world()
        .resource::<Assets<Mesh>>()
        .get(&handle)
        .unwrap()
        .compute_aabb();
    assert_eq!(lent, Some(computed), "to the last bit");
    app.update();
    assert_eq!(known(&app, &handle), None, "for one frame");
    assert!(!is_modified_again(&mut app, &handle));
}

#[test]
fn a_box_of_the_meshs_own_is_left_alone() {
    let own = Aabb3d::new(Vec3A::ZERO, Vec3A::ONE);
    let mut mesh = mesh(1.0);
    mesh.final_aabb = Some(own);
    let (mut app, handle) = lent(mesh);
    app.update();
    assert_eq!(known(&app, &handle), Some(own));
}

#[test]
fn a_mesh_that_few_show_and_one_without_vertices_lend_nothing() {
    let (mut app, handle) = lent(mesh(1.0));
    app.update();
    LentBoxes::lend(app.world_mut(), &shown_by(least_shared() - 1, &handle));
    assert_eq!(known(&app, &handle), None);
    let bare = Mesh::new(PrimitiveTopology::TriangleList, RenderAssetUsages::default());
    let bare = app.world_mut().resource_mut::<Assets<Mesh>>().add(bare);
    lend_to(&mut app, &bare);
    assert_eq!(known(&app, &bare), None);
}

/// Between the reveal and the end of the frame: the entities got the box from before.
#[test]
fn vertices_that_are_changed_in_that_frame_are_looked_at_again() {
    let (mut app, handle) = lent(mesh(1.0));
    let mut meshes = app.world_mut().resource_mut::<Assets<Mesh>>();
    let mut changed = meshes.get_mut(&handle).unwrap();
    changed.insert_attribute(Mesh::ATTRIBUTE_POSITION, vec![[9.0; 3], [0.0; 3]]);
    drop(changed);
    assert!(is_modified_again(&mut app, &handle));
    assert_eq!(known(&app, &handle), None);
}

#[test]
fn what_is_changed_and_stays_as_large_is_not_told_twice() {
    let (mut app, handle) = lent(mesh(1.0));
    let mut meshes = app.world_mut().resource_mut::<Assets<Mesh>>();
    meshes.get_mut(&handle).as_deref_mut().unwrap().enable_raytracing = false;
    assert!(!is_modified_again(&mut app, &handle));
}
