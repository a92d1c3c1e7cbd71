//! What moves: things by their bones, and somebody who walks.

use std::{thread, time::Duration};

use bevy::{
    camera::visibility::DynamicSkinnedMeshBounds,
    mesh::{
        VertexAttributeValues,
        skinning::{SkinnedMesh, SkinnedMeshInverseBindposes},
    },
    prelude::*,
};
use bevy_seamless::render::mip::MipWork;
use seamless_tests::picture::{SIDE, has_driver};

use super::{
    hall::{FLOOR, Hall, PAINTINGS, colour},
    plan::{assert_shows, settings},
};

/// A painting on one bone, whose box Bevy moves; then the bone is its only place.
fn hang_on_a_bone(hall: &mut Hall, painting: usize) -> Entity {
    let world = hall.app.world_mut();
    let mut mesh = Mesh::from(Rectangle::new(1.0, 1.0));
    let corners = mesh.count_vertices();
    let bones = VertexAttributeValues::Uint16x4(vec![[0; 4]; corners]);
    mesh.insert_attribute(Mesh::ATTRIBUTE_JOINT_INDEX, bones);
    mesh.insert_attribute(Mesh::ATTRIBUTE_JOINT_WEIGHT, vec![[1.0, 0.0, 0.0, 0.0]; corners]);
    mesh.generate_skinned_mesh_bounds().expect("it has bones");
    let mesh = world.resource_mut::<Assets<Mesh>>().add(mesh);
    let poses = SkinnedMeshInverseBindposes::from(vec![Mat4::IDENTITY]);
    let inverse_bindposes = world.resource_mut::<Assets<SkinnedMeshInverseBindposes>>().add(poses);
    let bone = world.spawn(Transform::from_xyz(10.0 * painting as f32, 0.0, 0.0)).id();
    let skin = SkinnedMesh {
        inverse_bindposes,
        joints: vec![bone],
    };
    world
        .entity_mut(hall.paintings[painting])
        .insert((Mesh3d(mesh), skin, DynamicSkinnedMeshBounds));
    bone
}

#[test]
fn a_skinned_mesh_is_where_its_bones_are() {
    if !has_driver() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut hall = Hall::new(dir.path(), settings(64 << 20));
    let bone = hang_on_a_bone(&mut hall, 0);
    let hang = |hall: &mut Hall, x: f32| {
        let at = Transform::from_xyz(x, 0.0, 0.0);
        hall.app.world_mut().entity_mut(bone).insert(at);
    };
    // Nobody is where its entity is, then the bone is not.
    hall.look(0, 0.25);
    assert_shows(&hall.settle(), 0);
    hang(&mut hall, 500.0);
    hall.settle();
    assert_eq!(hall.tops(), [FLOOR; PAINTINGS], "it has gone");
    // Where the camera is, half a kilometre from its entity; then two metres from that.
    hall.look(50, 0.25);
    assert_shows(&hall.settle(), 0);
    hall.look(50, 2.0);
    let expected = hall.settle().picture.pixel(SIDE / 2, SIDE / 2);
    assert_eq!(hall.tops(), [2, FLOOR, FLOOR, FLOOR]);
    // It comes step by step, and is as fine as if it had been there.
    for step in (0..200).rev() {
        hang(&mut hall, 500.0 + 0.1 * step as f32);
        hall.frame();
    }
    assert_eq!(hall.settle().picture.pixel(SIDE / 2, SIDE / 2), expected);
    assert_eq!(hall.tops(), [2, FLOOR, FLOOR, FLOOR]);
}

/// A mip is swapped in before its absence is seen: whatever is sampled in a frame is there in that frame. On a machine that halts for a while, a few frames may
/// come too late by next to nothing.
#[test]
fn who_walks_sees_no_mip_come() {
    if !has_driver() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut hall = Hall::new(dir.path(), settings(64 << 20));
    let mut away = 8.0_f32;
    hall.look(2, away);
    hall.settle();
    let (mut seen, mut late) = (Vec::new(), 0);
    while away > 0.25 {
        away *= 0.995;
        hall.look(2, away);
        // On a busy machine, the threads that read would get nothing while frames come without a pause.
        if !hall.app.world().resource::<MipWork>().is_idle() {
            thread::sleep(Duration::from_millis(10));
        }
        let frame = hall.frame();
        // A painting has 1024 texels a metre, and the camera 309 pixels where it is one metre away.
        let sampled = (1024.0 * away / 309.0).log2().clamp(0.0, FLOOR.into());
        let top = hall.tops()[2];
        let lacking = f32::from(top) - sampled;
        assert!(
            lacking <= 1.0 / 16.0,
            "{away} m away: mip {sampled} is sampled, and {top} is the finest"
        );
        late += usize::from(lacking > 0.0);
        seen.push(frame.picture.pixel(SIDE / 2, SIDE / 2));
    }
    assert!(late <= seen.len() / 50, "{late} of {} frames", seen.len());
    // Colours go over from one mip's to the next one's, and never jump.
    let jump = |pair: &[[u8; 4]]| pair[0].iter().zip(pair[1]).map(|(a, b)| a.abs_diff(b)).max();
    let worst = seen.windows(2).filter_map(jump).max().expect("there are frames");
    assert!(worst <= 6, "a channel changes by {worst} from one frame to the next");
    let last = seen.last().expect("there are frames");
    assert!(last.iter().zip(colour(0)).all(|(a, b)| a.abs_diff(b) <= 8), "{last:?}");
}
