//! Where entities are whose boxes move, or that have none.

use super::*;

/// As skinned meshes that are not culled.
#[test]
fn what_is_never_culled_is_where_its_mesh_is() {
    let mut bed = Bed::new();
    let entity = bed.spawn(800.0, 0);
    bed.app
        .world_mut()
        .entity_mut(entity)
        .remove::<Aabb>()
        .insert(NoFrustumCulling);
    assert!(bed.turns()[0][1] < 2.1, "a mesh without positions may be anywhere");
    let mesh = bed.app.world_mut().resource_mut::<Assets<Mesh>>().add(triangle(1.0));
    bed.app.world_mut().entity_mut(entity).insert(Mesh3d(mesh));
    assert_near(bed.turns()[0], [NOBODY, 800.0]);
    let there = GlobalTransform::from_xyz(80.0, 0.0, 0.0);
    bed.app.world_mut().entity_mut(entity).insert(there);
    // The tests' distance is that to a box of a metre around the entity; the triangle begins there.
    assert_near(bed.turns()[0], [NOBODY, 80.5]);
    // A box of its own counts first.
    bed.app.world_mut().entity_mut(entity).insert(Aabb {
        center: Vec3A::X * -20.0,
        half_extents: Vec3A::splat(0.5),
    });
    assert_near(bed.turns()[0], [NOBODY, 60.0]);
    // A mesh that is not there is nowhere.
    let entity = bed.app.world_mut().entity_mut(entity).remove::<Aabb>().id();
    bed.app
        .world_mut()
        .entity_mut(entity)
        .insert(Mesh3d(Handle::Uuid(Uuid::from_u128(404), core::marker::PhantomData)));
    assert_eq!(bed.turns()[0], [NOBODY; 2]);
}

/// Nothing else tells that it has come.
#[test]
fn what_is_never_culled_is_found_when_its_mesh_comes() {
    let mut bed = Bed::new();
    let entity = bed.spawn(800.0, 0);
    let mesh = bed.app.world().resource::<Assets<Mesh>>().reserve_handle();
    bed.app
        .world_mut()
        .entity_mut(entity)
        .remove::<Aabb>()
        .insert((NoFrustumCulling, Mesh3d(mesh.clone())));
    assert_eq!(bed.turns()[0], [NOBODY; 2]);
    let mut meshes = bed.app.world_mut().resource_mut::<Assets<Mesh>>();
    meshes.insert(mesh.id(), triangle(1.0)).expect("it is reserved");
    bed.app.world_mut().write_message(AssetEvent::Added { id: mesh.id() });
    assert_near(bed.frame()[0], [NOBODY, 800.0]);
}

/// As Bevy has the boxes of skinned meshes follow their bones.
#[test]
fn an_animated_box_is_followed() {
    let mut bed = Bed::new();
    let entity = bed.spawn(100.0, 0);
    bed.see(entity, true);
    assert_near(bed.turns()[0], [100.0, NOBODY]);
    for step in 1..10 {
        let reach = 10.0 * step as f32;
        bed.app.world_mut().entity_mut(entity).insert(Aabb {
            center: Vec3A::X * -reach,
            half_extents: Vec3A::splat(0.5),
        });
        assert_near(bed.turns()[0], [100.0 - reach, NOBODY]);
    }
}
