//! What is no level table, and what is no forest of entities.

use bevy_ecs::{
    entity::Entity,
    hierarchy::{ChildOf, Children},
    relationship::RelationshipTarget,
};
use seamless_package::{ObjectId, Role};

use std::sync::Arc;

use super::{Hierarchy, HierarchyError, LevelBuilder, LevelObjects, LevelTable, Lister};
use crate::{
    codec::DecodeError,
    spawn::{Column, typed_column, values},
};

fn table(entities: u64, groups: &[(u32, &[u32])]) -> Vec<u8> {
    let mut level = LevelBuilder::new((0..entities).map(ObjectId).collect(), vec![]);
    for (rows, classes) in groups {
        let columns: Vec<_> = classes.iter().map(|class| (*class, Role::ALL, &[][..])).collect();
        level.group(*rows, columns.into_iter());
    }
    level.finish()
}

fn malformed(data: &[u8]) -> String {
    match LevelTable::parse(data, 100).map(|table| table.groups.len()) {
        Err(DecodeError::Malformed(message)) => message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn groups_have_entities_and_no_column_twice() {
    let good = table(3, &[(1, &[7, 8]), (2, &[8, 7])]);
    assert_eq!(LevelTable::parse(&good, 3).unwrap().groups.len(), 2);
    let message = malformed(&table(3, &[(1, &[7]), (2, &[8, 7, 8])]));
    assert_eq!(message, "group 1 has two columns of class 8");
    assert_eq!(malformed(&table(1, &[(1, &[]), (0, &[])])), "group 1 has no entities");
    assert_eq!(malformed(&table(3, &[(1, &[])])), "its groups hold 1 of 3 entities");
    assert_eq!(
        malformed(&table(1, &[(1, &[]), (1, &[])])),
        "its groups hold 2 of 1 entities"
    );
    assert!(malformed(&table(101, &[(101, &[])])).contains("max_entities_per_level"));
}

/// Zeros are the cheapest bytes of all: 32 MiB of them are one KiB of a file.
#[test]
fn a_table_of_zeros_is_refused_at_its_first_group() {
    let mut zeros = table(0, &[]);
    let count = zeros.len() - 4;
    zeros[count..].copy_from_slice(&u32::MAX.to_le_bytes());
    zeros.resize(1 << 20, 0);
    assert_eq!(malformed(&zeros), "group 0 has no entities");
}

/// Ids that were reserved together, and ids that come from everywhere.
fn ids(scattered: bool) -> (Entity, Vec<Entity>) {
    let id = |index: u32| Entity::from_raw_u32(index).unwrap();
    let ids = (0..4).map(|row| {
        id(if scattered {
            [40, 10, 30, 12][row]
        } else {
            10 + row as u32
        })
    });
    (id(5), ids.collect())
}

/// Checks entities, each a group of its own, by row: parent and children.
fn check(scattered: bool, roots: &[u32], rows: [(Option<u32>, &[u32]); 4]) -> Result<(), HierarchyError> {
    let (root, ids) = ids(scattered);
    let mut hierarchy = Hierarchy::new(root, &ids);
    for (parent, children) in rows {
        let parent = parent.map_or(root, |row| ids[row as usize]);
        let list: Vec<Entity> = children.iter().map(|row| ids[*row as usize]).collect();
        let mut columns = vec![
            typed_column(vec![ChildOf(parent)]),
            typed_column(vec![Children::from_collection_risky(list.clone())]),
        ];
        match hierarchy.note(1, &mut columns) {
            Ok(()) => assert_eq!(kept(columns), (ChildOf(parent), list)),
            Err(DecodeError::Hierarchy(error)) => return Err(error),
            Err(error) => panic!("{error}"),
        }
    }
    hierarchy.finish(roots)
}

fn kept(columns: Vec<Box<dyn Column>>) -> (ChildOf, Vec<Entity>) {
    let mut columns = columns.into_iter();
    let parent = values::<ChildOf>(columns.next().unwrap()).unwrap().remove(0);
    let list = values::<Children>(columns.next().unwrap()).unwrap().remove(0);
    (parent, list.iter().collect())
}

#[test]
fn a_forest_is_one_in_any_order() {
    for scattered in [false, true] {
        let forest = [(None, &[2, 1][..]), (Some(0), &[]), (Some(0), &[]), (None, &[])];
        assert_eq!(check(scattered, &[0, 3], forest), Ok(()));
        let children_first = [(Some(1), &[][..]), (Some(3), &[0]), (Some(3), &[]), (None, &[1, 2])];
        assert_eq!(check(scattered, &[3], children_first), Ok(()));
    }
}

#[test]
fn an_entity_is_listed_once() {
    let flat = [(None, &[][..]); 4];
    let twice = Err(HierarchyError::ListedTwice { row: 1 });
    assert_eq!(check(false, &[0, 1, 2, 3, 1], flat), twice, "by the roots");
    let mut rows = [(None, &[1, 1][..]), (Some(0), &[]), (None, &[]), (None, &[])];
    assert_eq!(check(false, &[0, 2, 3], rows), twice, "by one parent");
    rows[0].1 = &[1];
    rows[2].1 = &[1];
    assert_eq!(check(false, &[0, 2, 3], rows), twice, "by two");
    rows[2].1 = &[];
    assert_eq!(check(false, &[0, 1, 2, 3], rows), twice, "by a parent and the roots");
    assert_eq!(check(false, &[0, 2, 3], rows), Ok(()));
}

#[test]
fn an_entity_is_listed_by_its_parent() {
    let wrong = |row, parent, listed_by| Err(HierarchyError::WrongParent { row, parent, listed_by });
    let flat = [(None, &[][..]); 4];
    assert_eq!(check(false, &[0, 1, 3], flat), wrong(2, None, None));
    let by_another = [(None, &[1][..]), (Some(2), &[]), (None, &[]), (None, &[])];
    let found = check(false, &[0, 2, 3], by_another);
    assert_eq!(found, wrong(1, Some(2), Some(Lister::Row(0))));
    let text = found.unwrap_err().to_string();
    assert!(
        text.contains("entity 1 is a child of entity 2, but is listed by entity 0"),
        "{text}"
    );
    let by_roots = [(None, &[][..]), (Some(0), &[]), (None, &[]), (None, &[])];
    assert_eq!(
        check(false, &[0, 1, 2, 3], by_roots),
        wrong(1, Some(0), Some(Lister::Root))
    );
    let no_child = [(None, &[1][..]), (None, &[]), (None, &[]), (None, &[])];
    assert_eq!(check(false, &[0, 2, 3], no_child), wrong(1, None, Some(Lister::Row(0))));
}

#[test]
fn a_circle_is_found_wherever_it_is() {
    let circle = |row| Err(HierarchyError::Circle { row });
    let own = [(None, &[][..]), (Some(1), &[1]), (None, &[]), (None, &[])];
    assert_eq!(check(true, &[0, 2, 3], own), circle(1));
    let three = [(None, &[][..]), (Some(3), &[2]), (Some(1), &[3]), (Some(2), &[1])];
    assert_eq!(check(true, &[0], three), circle(1));
}

#[test]
fn parents_and_children_are_of_the_level() {
    let (root, ids) = ids(true);
    let stranger = Entity::from_raw_u32(11).unwrap();
    let outside = |mut column| {
        let error = Hierarchy::new(root, &ids).note(1, core::slice::from_mut(&mut column));
        let expected = HierarchyError::Outside { entity: stranger };
        assert!(
            matches!(&error, Err(DecodeError::Hierarchy(error)) if *error == expected),
            "{error:?}"
        );
    };
    outside(typed_column(vec![ChildOf(stranger)]));
    outside(typed_column(vec![Children::from_collection_risky(vec![stranger])]));
}

/// A level that lets go of one entity shares all the rest with what it was.
#[test]
fn forgotten_rows_have_no_entity_and_are_rows_still() {
    let ids = [3, 1, 2].map(ObjectId);
    let entities = [12, 10, 11].map(|index| Entity::from_raw_u32(index).unwrap());
    let before = LevelObjects::new(&ids, &entities);
    assert_eq!(before.indices(), (10, 12));
    let after = before.without([1].into_iter());
    assert!(Arc::ptr_eq(&before.table, &after.table));
    assert_ne!(before, after);
    let [left, forgotten, _] = entities;
    assert_eq!((after.row(left), after.row(forgotten)), (Some(0), None));
    assert_eq!((after.object(left), after.object(forgotten)), (Some(ids[0]), None));
    assert_eq!(after.entity(ids[1]), Some(Entity::PLACEHOLDER));
    assert_eq!(after.entities().nth(1), Some(Entity::PLACEHOLDER));
    assert_eq!((after.len(), before.object(forgotten)), (3, Some(ids[1])));
    let both = after.without([0].into_iter());
    assert_eq!([left, forgotten].map(|entity| both.object(entity)), [None; 2]);
}
