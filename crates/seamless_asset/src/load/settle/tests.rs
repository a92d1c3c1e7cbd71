use bevy_app::{App, TaskPoolPlugin};
use bevy_ecs::{relationship::RelationshipTarget, world::World};
use bevy_math::{Quat, Vec3};
use bevy_transform::TransformPlugin;
use seamless_package::ObjectId;

use super::*;
use crate::{load::link::RowGroup, spawn::typed_column};

const PLACEMENT: Transform = Transform::from_xyz(3.3, -7.1, 0.9);

/// A transform that no two rows share.
fn place(row: usize) -> Transform {
    let row = row as f32;
    Transform::from_xyz(row * 0.37, row.sin(), -row)
        .with_rotation(Quat::from_rotation_y(row * 1.1) * Quat::from_rotation_x(row))
        .with_scale(Vec3::new(1.0 + row * 0.1, 0.7, 1.3))
}

/// The parent of each row: an earlier one, or the root.
const PARENTS: [Option<usize>; 7] = [None, None, Some(0), Some(2), Some(2), Some(1), Some(4)];

struct Level {
    root: Entity,
    entities: Vec<Entity>,
    groups: Vec<RowGroup>,
}

impl Level {
    /// Rows in the order of `rows`, each a group of its own.
    fn new(world: &mut World, rows: &[usize]) -> Self {
        let root = world.spawn_empty().id();
        let ids: Vec<Entity> = PARENTS.iter().map(|_| world.spawn_empty().id()).collect();
        let group = |row: usize| {
            let below = (0..PARENTS.len()).filter(|child| PARENTS[*child] == Some(row));
            let below: Vec<Entity> = below.map(|child| ids[child]).collect();
            let parent = PARENTS[row].map_or(root, |parent| ids[parent]);
            let mut columns = vec![
                typed_column(vec![place(row)]),
                typed_column(vec![GlobalTransform::IDENTITY]),
                typed_column(vec![TransformTreeChanged]),
                typed_column(vec![ChildOf(parent)]),
            ];
            if !below.is_empty() {
                columns.push(typed_column(vec![Children::from_collection_risky(below)]));
            }
            RowGroup {
                entities: vec![ids[row]],
                columns,
            }
        };
        let groups = rows.iter().map(|row| group(*row)).collect();
        let entities = rows.iter().map(|row| ids[*row]).collect();
        Self { root, entities, groups }
    }

    fn staged(&mut self) -> StagedLevel<'_> {
        StagedLevel::new("a.pkg", &[] as &[ObjectId], &self.entities, &mut self.groups)
    }
}

#[test]
fn everything_stands_where_bevy_would_put_it_to_the_last_bit() {
    let mut app = App::new();
    app.add_plugins((TaskPoolPlugin::default(), TransformPlugin));
    let mut level = Level::new(app.world_mut(), &[0, 1, 2, 3, 4, 5, 6]);
    let root = level.root;
    assert!(settle(&mut level.staged(), root, &PLACEMENT));
    let world = app.world_mut();
    world.entity_mut(root).insert(PLACEMENT);
    for (row, parent) in PARENTS.iter().enumerate() {
        let parent = parent.map_or(root, |parent| level.entities[parent]);
        world
            .entity_mut(level.entities[row])
            .insert((place(row), ChildOf(parent)));
    }
    app.update();
    let staged = level.staged();
    for row in 0..PARENTS.len() {
        let bevys = app.world().get::<GlobalTransform>(staged.entities()[row]);
        assert_eq!(staged.get::<GlobalTransform>(row), bevys, "row {row}");
    }
}

#[test]
fn children_before_their_parents_are_left_as_they_are() {
    let mut level = Level::new(&mut World::new(), &[0, 3, 2, 1, 4, 5, 6]);
    let root = level.root;
    assert!(!settle(&mut level.staged(), root, &PLACEMENT));
    assert_eq!(level.staged().get(0), Some(&GlobalTransform::IDENTITY));
}

#[test]
fn a_level_in_which_somebody_stands_nowhere_is_left_as_it_is() {
    for missing in 0..4 {
        let mut level = Level::new(&mut World::new(), &[0, 1, 2, 3, 4, 5, 6]);
        level.groups[5].columns.remove(missing);
        let root = level.root;
        assert!(!settle(&mut level.staged(), root, &PLACEMENT), "column {missing}");
    }
}
