//! Levels whose entities are no forest, with right checksums: Bevy would panic on them in its first frame.

use seamless_package::Schema;

use super::{build::old_package, *};
use crate::{
    codec::{ComponentCodec, RelationshipCodec, RelationshipTargetCodec},
    level_data::HierarchyError,
};

/// A parent, or none, and children.
type Row<'a> = (Option<u32>, &'a [u32]);

/// A level of these entities, each a group of its own.
pub(super) fn level(app: &App, name: &str, roots: &[u32], rows: &[Row]) -> Vec<u8> {
    let registry = app.world().resource::<AppTypeRegistry>().read();
    let mut writer = old_package(name);
    let mut class = |schema: Schema| writer.class(&schema).unwrap().index() as u32;
    let child_of = class(RelationshipCodec::<ChildOf>::default().schema(&registry));
    let children = class(RelationshipTargetCodec::<Children>::default().schema(&registry));
    let ids = (0..rows.len()).map(|row| ObjectId::new(name, &row.to_string()));
    let mut level = LevelBuilder::new(ids.collect(), roots.to_vec());
    for (parent, list) in rows {
        let parent = parent.map(u32::to_le_bytes);
        let mut data = (list.len() as u32).to_le_bytes().to_vec();
        data.extend(list.iter().flat_map(|row| row.to_le_bytes()));
        let mut columns = vec![(children, Role::ALL, data.as_slice())];
        columns.extend(parent.iter().map(|parent| (child_of, Role::ALL, parent.as_slice())));
        level.group(1, columns.into_iter());
    }
    level.export(&mut writer, vec![], Codec::None).unwrap();
    writer.finish().unwrap()
}

fn refused(app: &mut App, package: &str) -> HierarchyError {
    let id = load(app, package, &[]);
    run_until(app, |world| state(world, id) == Some(LoadState::Failed));
    let kind = error_of(app, id);
    app.world_mut().resource_mut::<Streamer>().unload(id);
    match kind {
        LoadErrorKind::Decode(DecodeError::Hierarchy(error)) => error,
        kind => panic!("{package}: {kind:?}"),
    }
}

#[test]
fn only_a_forest_is_revealed() {
    let dir = Dir::default();
    let mut app = app_with(&dir, |app| {
        app.add_plugins(bevy_transform::TransformPlugin);
    });
    let forged: [(&str, &[u32], &[Row]); 4] = [
        ("child_as_root.pkg", &[0, 1], &[(None, &[]), (Some(0), &[])]),
        ("root_twice.pkg", &[0, 0], &[(None, &[1]), (Some(0), &[])]),
        (
            "child_of_another.pkg",
            &[0, 2],
            &[(None, &[1]), (Some(2), &[]), (None, &[])],
        ),
        ("circle.pkg", &[], &[(Some(1), &[1]), (Some(0), &[0])]),
    ];
    for (name, roots, rows) in forged {
        put(&dir, name, level(&app, name, roots, rows));
    }
    let good = level(
        &app,
        "good.pkg",
        &[0],
        &[(None, &[2, 1]), (Some(0), &[]), (Some(0), &[])],
    );
    put(&dir, "good.pkg", good);
    app.update();
    let taken = taken_ids(app.world_mut());
    let found = refused(&mut app, "child_as_root.pkg");
    assert!(matches!(found, HierarchyError::WrongParent { row: 1, .. }), "{found}");
    assert_eq!(
        refused(&mut app, "root_twice.pkg"),
        HierarchyError::ListedTwice { row: 0 }
    );
    let found = refused(&mut app, "child_of_another.pkg");
    assert!(matches!(found, HierarchyError::WrongParent { row: 1, .. }), "{found}");
    assert_eq!(refused(&mut app, "circle.pkg"), HierarchyError::Circle { row: 0 });
    assert_ids_are_back(&mut app, taken);
    let id = load(&mut app, "good.pkg", &[]);
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Live));
    app.update();
}

/// What a post-load makes of it is checked as well.
#[test]
fn a_post_load_keeps_the_forest() {
    let dir = Dir::default();
    let mut app = app_with(&dir, |app| {
        app.add_component_post_load(|parents: &mut [ChildOf], _: &mut crate::PostLoad| {
            parents.fill(ChildOf(Entity::PLACEHOLDER));
            Ok(())
        });
    });
    put(
        &dir,
        "a.pkg",
        level(&app, "a.pkg", &[0], &[(None, &[1]), (Some(0), &[])]),
    );
    let entity = Entity::PLACEHOLDER;
    assert_eq!(refused(&mut app, "a.pkg"), HierarchyError::Outside { entity });
}
