//! What is drawn.

use bevy_asset::{AssetId, Handle, uuid::Uuid};
use bevy_camera::{
    primitives::Aabb,
    visibility::{NoAutoAabb, NoFrustumCulling},
};
use bevy_ecs::storage::Table;
use bevy_math::Vec3;
use bevy_mesh::{Mesh, Mesh3d};

use super::*;
use crate::InHiddenLevel;

/// Knows the box of all meshes but one.
struct AllBut(Mesh3d);

impl Boxes for AllBut {
    fn of(&mut self, _: &World, mesh: AssetId<Mesh>) -> Option<Aabb> {
        (mesh != self.0.id()).then(Aabb::default)
    }
}

fn mesh_numbered(number: u128) -> Mesh3d {
    Mesh3d(Handle::from(Uuid::from_u128(number)))
}

/// Of each mesh one entity: as columns, if `sets` does not know the set.
fn drawn(meshes: &[Mesh3d], with: Vec<Box<dyn Column>>, sets: &RowSets) -> Values {
    let mut columns = vec![typed_column(meshes.to_vec())];
    columns.extend(with);
    Values::new(columns, sets).unwrap()
}

/// How many tables with entities, or with room for them, have the one column and not the other.
fn tables_with(world: &World, with: ComponentId, without: ComponentId) -> usize {
    let tables = world.storages().tables.iter();
    let wanted = tables.filter(|table| table.has_column(with) && !table.has_column(without));
    wanted.filter(|table| table.capacity() > 0).count()
}

/// Each is in the table in which it stays from its first moment on.
#[test]
fn what_is_drawn_comes_with_its_box() {
    let mut sets = RowSets::default();
    sets.gives_boxes = true;
    sets.add::<(Mesh3d, Label)>();
    sets.add::<(Mesh3d, NoFrustumCulling)>();
    sets.add::<(Mesh3d, Aabb)>();
    for is_hidden in [false, true] {
        comes_with_its_box(&sets, true, is_hidden);
        comes_with_its_box(&RowSets::default(), false, is_hidden);
    }
}

fn comes_with_its_box(sets: &RowSets, as_rows: bool, is_hidden: bool) {
    let meshes: Vec<Mesh3d> = (1..5).map(mesh_numbered).collect();
    let labels = || typed_column((0..4).map(|n| Label(n.to_string())).collect());
    let own = Aabb::from_min_max(Vec3::ZERO, Vec3::ONE);
    let all = || AllBut(mesh_numbered(0));
    for (with, mut boxes, expected) in [
        (labels(), all(), [Some(Aabb::default()); 4]),
        (
            labels(),
            AllBut(meshes[1].clone()),
            [0, 1, 2, 3].map(|n| (n != 1).then(Aabb::default)),
        ),
        (typed_column(vec![NoFrustumCulling; 4]), all(), [None; 4]),
        (typed_column(vec![own; 4]), all(), [Some(own); 4]),
    ] {
        let mut world = World::new();
        let [mesh, aabb] = [world.register_component::<Mesh3d>(), world.register_component::<Aabb>()];
        world.register_component::<Label>();
        world.register_component::<NoFrustumCulling>();
        let entities: Vec<_> = (0..4).map(|_| world.entity_allocator().alloc()).collect();
        let values = drawn(&meshes, vec![with], sets);
        assert_eq!(matches!(values, Values::Rows(_)), as_rows);
        let group = Group {
            entities: entities.clone(),
            values,
        };
        let mut spawner = Spawner::new(vec![group], is_hidden);
        assert_eq!(spawner.step(&mut world, 4, &Late(Vec::new()), Some(&mut boxes)), 4);
        for ((entity, expected), own_mesh) in entities.iter().zip(expected).zip(&meshes) {
            assert_eq!(world.get::<Aabb>(*entity), expected.as_ref());
            assert_eq!(world.get::<Mesh3d>(*entity), Some(own_mesh));
            assert_eq!(world.get::<InHiddenLevel>(*entity).is_some(), is_hidden);
        }
        let has_all = expected.iter().all(Option::is_some);
        assert_eq!(tables_with(&world, mesh, aabb), usize::from(!has_all));
    }
}

/// In the table in which they are from their first moment on.
#[test]
fn there_is_room_for_rows_with_their_boxes() {
    for boxed in [false, true] {
        there_is_room_for_rows(boxed);
    }
}

fn there_is_room_for_rows(boxed: bool) {
    let meshes = [mesh_numbered(0)];
    let mut sets = RowSets::default();
    sets.gives_boxes = boxed;
    sets.add::<(Mesh3d, Label)>();
    let mut world = World::new();
    let [mesh, aabb] = [world.register_component::<Mesh3d>(), world.register_component::<Aabb>()];
    let Values::Rows(rows) = drawn(&meshes, vec![typed_column(vec![Label(String::new())])], &sets) else {
        panic!("the set is known");
    };
    rows.reserve(&mut world, 5000);
    let has_room = |table: &&Table| table.has_column(mesh) && table.capacity() > 0;
    let [table] = *world.storages().tables.iter().filter(has_room).collect::<Vec<_>>() else {
        panic!("there is one table");
    };
    assert_eq!(table.has_column(aabb), boxed);
    assert!(table.capacity() >= 5000, "{}", table.capacity());
    let bytes = if boxed {
        size_of::<((Mesh3d, Label), Aabb)>()
    } else {
        size_of::<(Mesh3d, Label)>()
    };
    assert_eq!(rows.row_bytes(), bytes);
}

#[derive(Component)]
#[require(NoAutoAabb)]
struct Waves;

#[derive(Component)]
#[require(Aabb = Aabb::from_min_max(Vec3::ZERO, Vec3::ONE))]
struct Large;

/// Bevy looks at all that an entity has, wherever it has it from.
#[test]
fn what_is_required_counts() {
    let mut sets = RowSets::default();
    sets.gives_boxes = true;
    sets.add::<(Mesh3d, Waves)>();
    sets.add::<(Mesh3d, Large)>();
    let waves = || typed_column((0..2).map(|_| Waves).collect());
    let large = || typed_column((0..2).map(|_| Large).collect());
    let own = Some(Aabb::from_min_max(Vec3::ZERO, Vec3::ONE));
    for sets in [&sets, &RowSets::default()] {
        for (with, expected) in [(waves(), None), (large(), own)] {
            let mut world = World::new();
            world.register_component::<Mesh3d>();
            world.register_component::<Waves>();
            world.register_component::<Large>();
            let entities: Vec<_> = (0..2).map(|_| world.entity_allocator().alloc()).collect();
            let group = Group {
                entities: entities.clone(),
                values: drawn(&[mesh_numbered(1), mesh_numbered(2)], vec![with], sets),
            };
            let mut spawner = Spawner::new(vec![group], false);
            assert_eq!(
                spawner.step(&mut world, 2, &Late(Vec::new()), Some(&mut AllBut(mesh_numbered(0)))),
                2
            );
            for entity in entities {
                assert_eq!(world.get::<Aabb>(entity), expected.as_ref());
            }
        }
    }
}
