//! Loads on the calling thread: the same worlds, and nobody else's work.

use super::{gated::gated_app, *};
use crate::{BlockingLoads, LevelInstance, ObjectRequest, doubles::Fate};

/// All of a world's levels that can be compared: each entity's object id, its values, the content of its mesh, and the object ids of
/// those that it refers to. In the order of the ids.
fn picture(app: &mut App) -> Vec<(Option<ObjectId>, Transform, usize, Option<ObjectId>, Option<ObjectId>)> {
    let world = app.world_mut();
    let instances: Vec<_> = world.query::<&LevelInstance>().iter(world).cloned().collect();
    let id_of = |entity| instances.iter().find_map(|instance| instance.objects.object(entity));
    let mut query = world.query::<(Entity, &Transform, &Mesh3d, &Likes, &ChildOf)>();
    let meshes = world.resource::<Assets<Mesh>>();
    let rows = query.iter(world).map(|(entity, transform, mesh, likes, child_of)| {
        let vertices = meshes.get(&mesh.0).map_or(0, Mesh::count_vertices);
        // The first of each level hangs below the instance's root, which is no object.
        let parent = id_of(child_of.parent());
        (id_of(entity), *transform, vertices, id_of(likes.0), parent)
    });
    let mut rows: Vec<_> = rows.collect();
    rows.sort_unstable_by_key(|row| row.0);
    rows
}

fn shared_level(dir: &Dir) -> App {
    let app = app(dir);
    put_shared_level(&app, dir);
    app
}

fn put_shared_level(app: &App, dir: &Dir) {
    put(dir, "s.pkg", shared_package(app, "s.pkg"));
    put(dir, "a.pkg", chain(app, "a.pkg", 7, Some("s.pkg")));
}

/// A reader that never answers does not stop the game for ever.
#[test]
fn a_blocking_load_whose_reader_never_answers_fails() {
    let dir = Dir::default();
    let (mut app, gate) = gated_app(&dir);
    put(&dir, "a.pkg", chain(&app, "a.pkg", 7, None));
    app.world_mut().resource_mut::<StreamingSettings>().read_timeout = Duration::from_millis(200);
    app.update();
    // It is opened, and then come three reads.
    for stalled in 0..4 {
        let begun = gate.begun().len();
        gate.otherwise(Some(Fate::Pass));
        gate.script("a.pkg", begun + stalled, Fate::Stall);
        let result = app.world_mut().load_level_blocking(request("a.pkg", &[]));
        let error = result.expect_err("its read stalls");
        assert!(matches!(error.kind, LoadErrorKind::Stalled { .. }), "{error}");
        assert_eq!((gate.stalled().len(), level_entities(app.world_mut())), (0, 0));
    }
    let loaded = app.world_mut().load_level_blocking(request("a.pkg", &[]));
    assert!(loaded.is_ok() && level_entities(app.world_mut()) == 7);
}

#[test]
fn blocking_and_asynchronous_loads_give_equal_worlds() {
    let dir = Dir::default();
    let mut now = shared_level(&dir);
    let id = now
        .world_mut()
        .load_level_blocking(request("a.pkg", &["s.pkg"]))
        .unwrap();
    assert_eq!(level_entities(now.world_mut()), 7, "it is there at once");
    now.update();
    assert_eq!(state(now.world(), id), Some(LoadState::Live));
    let mut later = shared_level(&dir);
    let other = load(&mut later, "a.pkg", &["s.pkg"]);
    run_until(&mut later, |world| state(world, other) == Some(LoadState::Live));
    assert_eq!(picture(&mut now), picture(&mut later));
    let [now_counts, later_counts] = [&now, &later].map(|app| {
        let ecs = app.world();
        (
            ecs.entities().count_spawned(),
            ecs.resource::<LiveObjectsResource>().0.len(),
        )
    });
    assert_eq!(now_counts, later_counts);
    for (app, id) in [(&mut now, id), (&mut later, other)] {
        app.world_mut().resource_mut::<Streamer>().unload(id);
        run_until(app, |world| world.resource::<Assets<Mesh>>().is_empty());
        assert_eq!(level_entities(app.world_mut()), 0);
    }
}

/// What others have asked for stays where it is, even when both need the same package.
#[test]
fn a_blocking_load_drives_its_own_closure_only() {
    let dir = Dir::default();
    let (mut app, gate) = gated_app(&dir);
    put_shared_level(&app, &dir);
    // Those of the others wait.
    gate.otherwise(Some(Fate::Pass));
    for path in ["b.pkg", "c.pkg"] {
        gate.script(path, 0, Fate::Stall);
    }
    put(&dir, "b.pkg", chain(&app, "b.pkg", 4, Some("s.pkg")));
    put(&dir, "c.pkg", chain(&app, "c.pkg", 5, None));
    let others = [load(&mut app, "b.pkg", &["s.pkg"]), load(&mut app, "c.pkg", &[])];
    run_until(&mut app, |_| gate.stalled().len() == 2);
    let before = others.map(|id| state(app.world(), id));
    app.world_mut()
        .load_level_blocking(request("a.pkg", &["s.pkg"]))
        .unwrap();
    assert_eq!(level_entities(app.world_mut()), 7);
    assert_eq!(others.map(|id| state(app.world(), id)), before);
    assert_eq!(app.world().resource::<StreamingStats>().blocking_loads, 1);
    for path in ["b.pkg", "c.pkg"] {
        gate.script(path, 0, Fate::Pass);
    }
    run_until(&mut app, |world| {
        others.iter().all(|id| state(world, *id) == Some(LoadState::Live))
    });
    assert_eq!(level_entities(app.world_mut()), 7 + 4 + 5);
    assert_eq!(app.world().resource::<Assets<Mesh>>().len(), 2);
}

#[test]
fn objects_at_once() {
    let dir = Dir::default();
    let mut app = shared_level(&dir);
    let mesh = app
        .world_mut()
        .load_objects_blocking(ObjectRequest::new(["s.pkg#Mesh"]))
        .unwrap();
    let handles = mesh.result().unwrap().unwrap();
    assert!(
        app.world()
            .resource::<Assets<Mesh>>()
            .contains(handles[0].id().typed::<Mesh>())
    );
    let error = app
        .world_mut()
        .load_objects_blocking(ObjectRequest::new(["s.pkg#Nobody"]));
    assert!(error.unwrap_err().to_string().contains("s.pkg#Nobody"));
}

#[test]
fn errors_come_back_and_are_told() {
    let dir = Dir::default();
    let mut app = app(&dir);
    let error = app
        .world_mut()
        .load_level_blocking(request("gone.pkg", &[]))
        .unwrap_err();
    assert!(error.to_string().contains("gone.pkg"), "{error}");
    app.update();
    let mut events = app.world_mut().resource_mut::<Messages<InstanceEvent>>();
    assert!(
        events
            .drain()
            .any(|event| matches!(event, InstanceEvent::Failed { .. }))
    );
    assert_eq!(level_entities(app.world_mut()), 0);
}

/// An observer of a reveal is inside of the pipeline.
#[test]
fn not_inside_of_a_reveal() {
    #[derive(Resource, Default)]
    struct Told(Option<String>);
    let dir = Dir::default();
    let mut app = shared_level(&dir);
    app.init_resource::<Told>();
    app.add_observer(|_: On<Add, Likes>, mut commands: Commands| {
        commands.queue(|world: &mut World| {
            let error = world
                .load_objects_blocking(ObjectRequest::new(["s.pkg#Mesh"]))
                .unwrap_err();
            world.resource_mut::<Told>().0 = Some(error.to_string());
        });
    });
    let id = load(&mut app, "a.pkg", &["s.pkg"]);
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Live));
    let told = app.world().resource::<Told>().0.clone().expect("it was refused");
    assert!(told.contains("in a system of your own"), "{told}");
}

/// Whatever starts first: the same entities, and each shared object once.
#[test]
fn any_order_of_levels_gives_the_same_world() {
    let sizes = [3, 5, 8];
    let world_of = |seed| {
        let dir = Dir::default();
        let mut app = shared_level(&dir);
        let mut settings = app.world_mut().resource_mut::<StreamingSettings>();
        settings.load_order_seed = seed;
        settings.max_loads_in_flight = 1;
        let ids = sizes.map(|size| {
            let name = format!("{size}.pkg");
            put(&dir, &name, chain(&app, &name, size, Some("s.pkg")));
            load(&mut app, &name, &[])
        });
        run_until(&mut app, |world| {
            ids.iter().all(|id| state(world, *id) == Some(LoadState::Live))
        });
        assert_eq!(app.world().resource::<Assets<Mesh>>().len(), 1);
        (picture(&mut app), app.world().entities().count_spawned())
    };
    let expected = world_of(None);
    assert_eq!(expected.0.len(), sizes.iter().sum::<u32>() as usize);
    for seed in 0..12 {
        assert_eq!(world_of(Some(seed)), expected, "seed {seed}");
    }
}
