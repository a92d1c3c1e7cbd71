//! One package, many instances: what hooks make of each, and what goes wrong with one alone.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::{sync::Mutex, thread::ThreadId};

use bevy_ecs::{bundle::Bundle, hierarchy::ChildOf};

use super::*;
use crate::{
    InstanceData, InstanceInfo, LevelInstance, ReloadPolicy, ReloadRequest, StagedLevel,
    spawn::{Column, SpawnRow},
};

#[derive(Component, Reflect, Clone, Debug, PartialEq)]
#[reflect(Component)]
struct Paint(String);

/// Paints all of a level as its data says, and raises it by the length of the word.
fn paint(level: &mut StagedLevel, instance: &InstanceInfo) -> Result<(), String> {
    let Some(colour) = instance.data.as_ref().and_then(InstanceData::as_text) else {
        return Ok(());
    };
    level.for_each(|_, transform: &mut Transform| transform.translation.y += colour.len() as f32);
    level.insert(0..level.len(), vec![Paint(colour.into()); level.len()])
}

fn load_painted(app: &mut App, package: &str, name: &str, colour: &str) -> InstanceId {
    let request = InstanceRequest {
        name: name.to_owned(),
        data: Some(InstanceData::text(colour)),
        ..request(package, &[])
    };
    app.world_mut().resource_mut::<Streamer>().load(request)
}

fn both_live(app: &mut App, ids: [InstanceId; 2]) {
    run_until(app, |world| {
        ids.iter().all(|id| state(world, *id) == Some(LoadState::Live))
    });
}

/// The root of an instance, by what its request calls it.
fn root(app: &mut App, name: &str) -> Entity {
    let world = app.world_mut();
    let mut roots = world.query::<(Entity, &LevelInstance)>();
    let mut roots = roots.iter(world).filter(|(_, level)| level.name == name);
    roots.next().expect("it is live").0
}

/// The colours of an instance's entities, by row.
fn colours(app: &mut App, name: &str) -> Vec<Option<String>> {
    let root = root(app, name);
    let world = app.world();
    let objects = &world.get::<LevelInstance>(root).unwrap().objects;
    let colour = |entity| world.get::<Paint>(entity).map(|paint| paint.0.clone());
    objects.entities().map(colour).collect()
}

fn all(colour: &str, count: usize) -> Vec<Option<String>> {
    vec![Some(colour.to_owned()); count]
}

#[test]
fn two_instances_are_painted_off_the_main_thread() {
    static THREADS: Mutex<Vec<ThreadId>> = Mutex::new(Vec::new());
    let dir = Dir::default();
    let mut app = app_with(&dir, |app| {
        app.add_instance_hook(|level, instance| {
            THREADS.lock().unwrap().push(std::thread::current().id());
            assert_eq!((level.package(), level.len(), level.objects().len()), ("a.pkg", 40, 40));
            // Nobody has registered what it inserts.
            assert_eq!(level.row_of("7"), Some(7));
            assert_eq!(level.row_of("70"), None);
            assert_eq!(instance.placement, Transform::from_xyz(10.0, 0.0, 0.0));
            // It is like the next entity, which has its final id.
            assert_eq!(level.get::<Likes>(3), Some(&Likes(level.entities()[4])));
            paint(level, instance)
        });
    });
    put(&dir, "a.pkg", chain(&app, "a.pkg", 40, None));
    let ids = [
        load_painted(&mut app, "a.pkg", "one", "red"),
        load_painted(&mut app, "a.pkg", "two", "green"),
    ];
    both_live(&mut app, ids);
    assert_eq!(colours(&mut app, "one"), all("red", 40));
    assert_eq!(colours(&mut app, "two"), all("green", 40));
    for (name, height) in [("one", 5.0), ("two", 7.0)] {
        let root = root(&mut app, name);
        let objects = app.world().get::<LevelInstance>(root).unwrap().objects.clone();
        for (row, entity) in objects.entities().enumerate() {
            let at = app.world().get::<Transform>(entity).unwrap().translation;
            assert_eq!((at.x, at.y), (row as f32, height));
        }
    }
    let threads = THREADS.lock().unwrap();
    assert_eq!(threads.len(), 2);
    let here = std::thread::current().id();
    assert!(!threads.contains(&here), "{threads:?}, and {here:?} is the main thread");
}

/// Entities that were painted are still spawned as rows of an announced set.
#[test]
fn what_a_hook_has_left_is_zipped_into_rows() {
    static ZIPPED: AtomicUsize = AtomicUsize::new(0);

    #[derive(Bundle)]
    struct Painted {
        transform: Transform,
        mesh: Mesh3d,
        likes: Likes,
        parent: ChildOf,
        paint: Paint,
    }

    type Row = (Transform, Mesh3d, Likes, ChildOf, Paint);

    impl SpawnRow for Painted {
        fn types() -> Vec<core::any::TypeId> {
            Row::types()
        }

        fn register(world: &mut World) {
            Row::register(world);
        }

        fn zip(columns: Vec<Box<dyn Column>>) -> Option<Vec<Self>> {
            let rows = Row::zip(columns)?;
            ZIPPED.fetch_add(rows.len(), Ordering::Relaxed);
            let painted = |(transform, mesh, likes, parent, paint)| Self {
                transform,
                mesh,
                likes,
                parent,
                paint,
            };
            Some(rows.into_iter().map(painted).collect())
        }

        fn unzip(rows: Vec<Self>) -> Vec<Box<dyn Column>> {
            let row = |row: Self| (row.transform, row.mesh, row.likes, row.parent, row.paint);
            Row::unzip(rows.into_iter().map(row).collect())
        }
    }

    let dir = Dir::default();
    let mut app = app_with(&dir, |app| {
        app.add_instance_hook(paint).add_spawn_row::<Painted>();
    });
    put(&dir, "a.pkg", chain(&app, "a.pkg", 40, None));
    let id = load_painted(&mut app, "a.pkg", "one", "red");
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Live));
    assert_eq!(colours(&mut app, "one"), all("red", 40));
    // The first one has children besides.
    assert_eq!(ZIPPED.load(Ordering::Relaxed), 39);
}

/// Rows from the middle of two groups, twice over.
#[test]
fn some_rows_get_a_component_and_others_do_not() {
    let dir = Dir::default();
    let mut app = app_with(&dir, |app| {
        app.add_instance_hook(|level, _| {
            let word = |row: usize| Paint(row.to_string());
            level.insert(0..3, (0..3).map(word).collect())?;
            level.insert(7..9, (7..9).map(word).collect())?;
            level.insert(1..8, vec![Paint("over".into()); 7])?;
            level.insert(4..4, Vec::<Paint>::new())?;
            let groups: Vec<_> = level
                .groups()
                .map(|group| (group.rows.clone(), group.has::<Paint>()))
                .collect();
            let rows = groups.iter().flat_map(|(rows, _)| rows.clone());
            assert!(rows.eq(0..10), "{groups:?}");
            for group in level.groups() {
                assert_eq!(
                    group.values::<Paint>().count(),
                    if group.has::<Paint>() { group.rows.len() } else { 0 }
                );
                assert_eq!(group.values::<Likes>().count(), group.rows.len());
            }
            Ok(())
        });
    });
    put(&dir, "a.pkg", chain(&app, "a.pkg", 10, None));
    let id = load(&mut app, "a.pkg", &[]);
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Live));
    let expected: Vec<_> = (0..10)
        .map(|row| match row {
            0 | 8 => Some(row.to_string()),
            1..8 => Some("over".to_owned()),
            _ => None,
        })
        .collect();
    assert_eq!(colours(&mut app, "a.pkg"), expected);
    assert_eq!(level_entities(app.world_mut()), 10);
    let root = root(&mut app, "a.pkg");
    let objects = app.world().get::<LevelInstance>(root).unwrap().objects.clone();
    let entities: Vec<_> = objects.entities().collect();
    for (row, entity) in entities.iter().enumerate() {
        assert_eq!(
            app.world().get::<Likes>(*entity),
            Some(&Likes(entities[(row + 1) % 10]))
        );
        assert_eq!(app.world().get::<Transform>(*entity).unwrap().translation.x, row as f32);
    }
}

#[derive(Component)]
#[relationship(relationship_target = Owns)]
struct OwnedBy(Entity);

#[derive(Component)]
#[relationship_target(relationship = OwnedBy)]
struct Owns(Vec<Entity>);

#[test]
fn what_goes_wrong_with_one_instance_is_nothing_to_the_others() {
    type Hook = fn(&mut StagedLevel) -> Result<(), String>;
    let cases: [(Hook, &[&str]); 6] = [
        (|_| Err("no such colour".into()), &["no such colour"]),
        (|_| panic!("out of paint"), &["it panicked", "out of paint"]),
        (
            |level| level.insert(0..7, vec![Paint("red".into()); 7]),
            &["7 values", "rows 0..7", "with 6 rows"],
        ),
        (
            |level| level.insert(0..2, vec![Paint("red".into())]),
            &["1 values", "rows 0..2"],
        ),
        (
            |level| level.insert(1..2, vec![ChildOf(level.entities()[0])]),
            &["who is whose child", "cook it"],
        ),
        (
            |level| level.insert(1..2, vec![OwnedBy(level.entities()[0])]),
            &["OwnedBy", "ties entities", "once the level is revealed"],
        ),
    ];
    for (hook, parts) in cases {
        let dir = Dir::default();
        let mut app = app_with(&dir, |app| {
            app.add_instance_hook(move |level, instance| {
                if &*instance.name == "bad" {
                    return hook(level);
                }
                paint(level, instance)
            });
        });
        put(&dir, "a.pkg", chain(&app, "a.pkg", 6, None));
        // It comes first, and so loads the assets that both need.
        let bad = load_painted(&mut app, "a.pkg", "bad", "red");
        let good = load_painted(&mut app, "a.pkg", "good", "green");
        let mut error = None;
        run_until(&mut app, |world| {
            for event in world.resource_mut::<Messages<InstanceEvent>>().drain() {
                if let InstanceEvent::Failed { id, error: why } = event {
                    assert_eq!(id, bad);
                    error = Some(why.to_string());
                }
            }
            error.is_some() && state(world, good) == Some(LoadState::Live)
        });
        let error = error.unwrap();
        for part in parts.iter().chain(&["a.pkg#Level", "instance `bad`"]) {
            assert!(error.contains(part), "{part} is in: {error}");
        }
        assert_eq!(colours(&mut app, "good"), all("green", 6));
        assert_eq!(level_entities(app.world_mut()), 6);
    }
}

/// Each live instance is reloaded with its own data.
#[test]
fn a_reload_paints_as_before() {
    let dir = Dir::default();
    let mut app = app_with(&dir, |app| {
        app.register_type::<Paint>().add_instance_hook(paint);
    });
    put(&dir, "a.pkg", chain(&app, "a.pkg", 5, None));
    let ids = [
        load_painted(&mut app, "a.pkg", "one", "red"),
        load_painted(&mut app, "a.pkg", "two", "green"),
    ];
    both_live(&mut app, ids);
    let first = root(&mut app, "one");
    let kept = app
        .world()
        .get::<LevelInstance>(first)
        .unwrap()
        .objects
        .entities()
        .next();
    put(&dir, "a.pkg", chain(&app, "a.pkg", 8, None));
    let reload = app.world_mut().resource_mut::<Streamer>().reload(ReloadRequest {
        policy: ReloadPolicy::KeepEdits,
        ..ReloadRequest::new("a.pkg")
    });
    run_until(&mut app, |_| reload.is_finished());
    let report = reload.result().unwrap().unwrap();
    assert_eq!((report.instances.len(), report.entities_spawned), (2, 6));
    // Nobody has changed a colour, and none was written again.
    assert_eq!((report.edits_kept, report.components_removed), (0, 0));
    assert_eq!(colours(&mut app, "one"), all("red", 8));
    assert_eq!(colours(&mut app, "two"), all("green", 8));
    assert_eq!(
        app.world()
            .get::<LevelInstance>(first)
            .unwrap()
            .objects
            .entities()
            .next(),
        kept
    );
}

#[test]
fn data_is_of_any_type() {
    let data = InstanceData::new(7_u32);
    assert_eq!(
        (data.get::<u32>(), data.get::<i32>(), data.as_text()),
        (Some(&7), None, None)
    );
    assert_eq!(
        format!("{:?}", InstanceData::text("red")),
        "InstanceData(Some(\"red\"))"
    );
}
