use bevy_asset::{AssetApp, AssetPlugin, Handle, RenderAssetUsages};
use bevy_camera::primitives::{Aabb, MeshAabb};
use bevy_math::Vec3A;
use bevy_mesh::{Mesh3d, PrimitiveTopology};

use super::*;
use crate::codec::created;

fn mesh(far: f32) -> Mesh {
    let corners = vec![[-1.0, 0.1, 0.0], [far, 2.0, 0.3], [0.0, -0.7, 5.0]];
    Mesh::new(PrimitiveTopology::TriangleList, RenderAssetUsages::default())
        .with_inserted_attribute(Mesh::ATTRIBUTE_POSITION, corners)
}

/// The boxes that Bevy would find, if it looked for boxes, and what it would make of them.
#[derive(Resource, Default)]
struct Found(Vec<(Option<Aabb3d>, Option<Aabb>)>);

fn look(meshes: Res<Assets<Mesh>>, mut found: ResMut<Found>) {
    found.0 = meshes
        .iter()
        .map(|(_, mesh)| (mesh.final_aabb, mesh.compute_aabb()))
        .collect();
}

/// An app with a mesh.
fn app_with(mesh: Mesh) -> (App, Handle<Mesh>) {
    let mut app = App::new();
    app.add_plugins((bevy_app::TaskPoolPlugin::default(), AssetPlugin::default()))
        .init_asset::<Mesh>()
        .init_resource::<StreamingClock>()
        .init_resource::<Found>()
        .add_systems(PostUpdate, look.in_set(VisibilitySystems::CalculateBounds));
    add_systems(&mut app);
    let handle = app.world_mut().resource_mut::<Assets<Mesh>>().add(mesh);
    // What is new is not modified.
    app.update();
    app.update();
    (app, handle)
}

/// A level comes of which so many entities show the mesh.
fn come(app: &mut App, entities: usize, handle: &Handle<Mesh>) {
    let mut bounds = Bounds::default();
    (0..entities).for_each(|_| bounds.note(&Mesh3d(handle.clone())));
    app.world_mut().resource_mut::<MeshBoxes>().want(&bounds);
}

/// What Bevy finds in the next frame.
fn found(app: &mut App) -> (Option<Aabb3d>, Option<Aabb>) {
    app.update();
    app.world().resource::<Found>().0[0]
}

fn known(app: &App, handle: &Handle<Mesh>) -> Option<Aabb3d> {
    app.world().resource::<Assets<Mesh>>().get(handle).unwrap().final_aabb
}

/// Whether somebody is told that the mesh was modified, in this frame.
fn is_modified(app: &App, handle: &Handle<Mesh>) -> bool {
    let events = app.world().resource::<Messages<AssetEvent<Mesh>>>();
    let mut events = events.iter_current_update_messages();
    events.any(|event| event.is_modified(handle))
}

#[test]
fn what_is_lent_is_what_bevy_computes() {
    let computed = mesh(3.3).compute_aabb();
    let (mut app, handle) = app_with(mesh(3.3));
    come(&mut app, least_shared(), &handle);
    assert_eq!(known(&app, &handle), None, "not before Bevy looks");
    let (lent, found_box) = found(&mut app);
    assert_eq!(lent.map(Aabb::from), computed);
    assert_eq!(found_box, computed, "to the last bit");
    assert_eq!(known(&app, &handle), None, "nor after it has");
    app.update();
    assert!(!is_modified(&app, &handle));
    assert_eq!(found(&mut app).0, None, "once");
}

#[test]
fn a_box_of_the_meshs_own_is_left_alone() {
    let own = Aabb3d::new(Vec3A::ZERO, Vec3A::ONE);
    let mut mesh = mesh(1.0);
    mesh.final_aabb = Some(own);
    let (mut app, handle) = app_with(mesh);
    come(&mut app, least_shared(), &handle);
    assert_eq!(found(&mut app).0, Some(own));
    assert_eq!(known(&app, &handle), Some(own));
}

#[test]
fn a_mesh_that_few_show_and_one_without_vertices_lend_nothing() {
    let (mut app, handle) = app_with(mesh(1.0));
    come(&mut app, least_shared() - 1, &handle);
    assert_eq!(found(&mut app).0, None);
    let bare = Mesh::new(PrimitiveTopology::TriangleList, RenderAssetUsages::default());
    let (mut app, handle) = app_with(bare);
    come(&mut app, least_shared(), &handle);
    assert_eq!(found(&mut app), (None, None));
}

/// Between the reveal and the moment in which Bevy looks.
#[test]
fn of_a_mesh_that_was_changed_meanwhile_the_new_box_is_lent() {
    let (mut app, handle) = app_with(mesh(1.0));
    let old = box_of(&mesh(1.0));
    app.world_mut()
        .resource_mut::<MeshBoxes>()
        .wanted
        .insert(handle.id(), old);
    let mut meshes = app.world_mut().resource_mut::<Assets<Mesh>>();
    let mut changed = meshes.get_mut(&handle).unwrap();
    changed.insert_attribute(Mesh::ATTRIBUTE_POSITION, vec![[9.0; 3], [0.0; 3]]);
    drop(changed);
    let lent = found(&mut app).0;
    assert_eq!(lent, Some(Aabb3d::from_min_max([0.0; 3], [9.0; 3])));
    assert_ne!(lent, old);
    assert!(is_modified(&app, &handle), "by who has changed it");
    app.update();
    assert!(!is_modified(&app, &handle), "once");
}

/// What is known is not computed.
#[test]
fn a_known_box_is_lent_whoever_else_does_not_know_it() {
    let (mut app, handle) = app_with(mesh(1.0));
    let told = Some(Aabb3d::new(Vec3A::ZERO, Vec3A::ONE));
    app.world_mut()
        .resource_mut::<MeshBoxes>()
        .wanted
        .insert(handle.id(), told);
    come(&mut app, least_shared(), &handle);
    assert_eq!(found(&mut app).0, told);
}

/// A decoded mesh of so many vertices, and its box.
fn decoded(vertices: usize) -> (Box<dyn DecodedAsset>, Option<Aabb3d>) {
    let places: Vec<_> = (0..vertices).map(|at| [at as f32, 0.5, -1.0]).collect();
    let mesh = mesh(1.0).with_inserted_attribute(Mesh::ATTRIBUTE_POSITION, places);
    let of = box_of(&mesh);
    (created(mesh), of)
}

/// What is known of the box of a mesh since its load has put it in the place of another.
fn known_from_load(vertices: usize) -> Option<Aabb3d> {
    let (mut app, handle) = app_with(mesh(1.0));
    let (mut value, of) = decoded(vertices);
    keep_box(&mut *value);
    assert!(value.insert(app.world_mut(), handle.id().untyped()));
    (0..3).for_each(|_| app.update());
    let known = app.world().resource::<MeshBoxes>().known(handle.id());
    assert!(known.is_none() || known == of);
    known
}

#[test]
fn boxes_of_large_meshes_are_known_from_their_loads() {
    assert!(known_from_load(WORTH_KEEPING).is_some());
    assert!(known_from_load(WORTH_KEEPING - 1).is_none());
}

/// With new meshes under its id, too.
#[test]
fn a_box_is_forgotten_when_its_mesh_is_changed_and_when_it_is_gone() {
    let known = |app: &App| app.world().resource::<MeshBoxes>().known.len();
    let changes: [fn(&mut App, Handle<Mesh>); 5] = [
        |app, handle| {
            let mut meshes = app.world_mut().resource_mut::<Assets<Mesh>>();
            meshes.get_mut(&handle).unwrap().scale_by(bevy_math::Vec3::splat(2.0));
        },
        |app, handle| {
            let mut meshes = app.world_mut().resource_mut::<Assets<Mesh>>();
            meshes.remove(&handle);
            meshes.insert(&handle, mesh(2.0)).unwrap();
        },
        |app, handle| {
            let mut meshes = app.world_mut().resource_mut::<Assets<Mesh>>();
            meshes.remove_untracked(&handle);
            meshes.insert(&handle, mesh(2.0)).unwrap();
        },
        |app, handle| {
            let mut meshes = app.world_mut().resource_mut::<Assets<Mesh>>();
            meshes.remove_untracked(&handle);
        },
        |_, handle| drop(handle),
    ];
    for change in changes {
        let (mut app, handle) = app_with(mesh(1.0));
        // It comes under an id that nothing had before, as with loads.
        let new = app.world().resource::<Assets<Mesh>>().reserve_handle();
        drop(handle);
        let mut value = decoded(WORTH_KEEPING).0;
        keep_box(&mut *value);
        value.insert(app.world_mut(), new.id().untyped());
        (0..3).for_each(|_| app.update());
        assert_eq!(known(&app), 1);
        change(&mut app, new);
        (0..3).for_each(|_| app.update());
        assert_eq!(known(&app), 0);
    }
}
