//! Who is not there for others: hidden, disabled, or without a mesh.

use bevy_ecs::entity_disabling::Disabled;

use super::*;

/// Who was changed while it was another's turn, and hidden before its own.
#[test]
fn who_is_hidden_is_followed() {
    let mut bed = Bed::new();
    let entity = bed.spawn(100.0, 0);
    bed.see(entity, true);
    assert_near(bed.turns()[0], [100.0, NOBODY]);
    let mesh_box = Aabb {
        center: Vec3A::X * -50.0,
        half_extents: Vec3A::splat(0.5),
    };
    MipHider.hide(bed.app.world_mut(), &[entity]);
    let mut entity = bed.app.world_mut().entity_mut(entity);
    entity.insert((mesh_box, InHiddenLevel));
    assert_near(bed.turns()[0], [NOBODY, 50.0]);
}

#[test]
fn who_goes_out_of_sight_without_a_mesh_comes_back_unseen() {
    let mut bed = Bed::new();
    let entity = bed.spawn(20.0, 0);
    bed.see(entity, true);
    assert_near(bed.turns()[0], [20.0, NOBODY]);
    bed.app.world_mut().entity_mut(entity).remove::<Mesh3d>();
    bed.see(entity, false);
    assert_eq!(bed.turns()[0], [NOBODY; 2]);
    let mesh = Mesh3d(bed.mesh.clone());
    bed.app.world_mut().entity_mut(entity).insert(mesh);
    assert_near(bed.turns()[0], [NOBODY, 20.0]);
}

/// Whatever was told of it meanwhile: it is as it was until then, as for all who ask by queries.
#[test]
fn who_is_disabled_is_left_alone() {
    let mut bed = Bed::new();
    let (entity, other) = (bed.spawn(20.0, 0), bed.spawn(50.0, 0));
    assert_near(bed.turns()[0], [NOBODY, 20.0]);
    bed.app.world_mut().entity_mut(entity).insert(Disabled);
    bed.see(entity, true);
    bed.app.world_mut().entity_mut(entity).insert(material(1));
    let found = bed.turns();
    assert_near(found[0], [NOBODY, 20.0]);
    assert_eq!(found[1], [NOBODY; 2]);
    let born = bed.spawn(5.0, 2);
    bed.app.world_mut().entity_mut(born).insert(Disabled);
    assert_eq!(bed.turns()[2], [NOBODY; 2], "nobody has seen it enabled");
    bed.app.world_mut().despawn(other);
    bed.app.world_mut().despawn(entity);
    assert_eq!(bed.turns()[0], [NOBODY; 2]);
}
