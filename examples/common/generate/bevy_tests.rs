//! Bevy's own loaders accept what the generator writes: every handle resolves, and the entities are as many as counted.

use std::path::Path;

use bevy::{
    asset::{LoadState, RecursiveDependencyLoadState},
    prelude::*,
    render::{
        RenderPlugin,
        settings::{RenderCreation, WgpuSettings},
    },
    window::ExitCondition,
    world_serialization::DynamicWorld,
};

use super::{WorldOptions, generate, town};

/// An app that loads assets below a folder, without a window or a GPU.
fn app(root: &Path) -> App {
    let mut app = App::new();
    let plugins = DefaultPlugins
        .build()
        .disable::<bevy::winit::WinitPlugin>()
        .disable::<bevy::log::LogPlugin>()
        .set(AssetPlugin {
            file_path: root.to_string_lossy().into_owned(),
            ..default()
        })
        .set(WindowPlugin {
            primary_window: None,
            exit_condition: ExitCondition::DontExit,
            ..default()
        })
        .set(RenderPlugin {
            render_creation: RenderCreation::Automatic(Box::new(WgpuSettings {
                backends: None,
                ..default()
            })),
            ..default()
        });
    app.add_plugins(plugins);
    app.finish();
    app.cleanup();
    app
}

/// Runs the app until an asset and all that it refers to is there.
fn load<A: Asset>(app: &mut App, path: String) -> Handle<A> {
    let server = app.world().resource::<AssetServer>().clone();
    let handle: Handle<A> = server.load(path.clone());
    for _ in 0..6000 {
        app.update();
        if let LoadState::Failed(error) = server.load_state(&handle) {
            panic!("{path}: {error}");
        }
        match server.recursive_dependency_load_state(&handle) {
            RecursiveDependencyLoadState::Loaded => return handle,
            RecursiveDependencyLoadState::Failed(error) => panic!("{path}: {error}"),
            _ => std::thread::sleep(std::time::Duration::from_millis(5)),
        }
    }
    panic!("{path} does not load");
}

#[test]
fn bevy_loads_cells_towns_and_the_sky() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("world");
    let options = WorldOptions {
        grid: 3,
        towns: 2,
        items_per_cell: 60,
        texture_divisor: 64,
        ..default()
    };
    let summary = generate(&root, 5, &options, &mut |_, _, _| {}).unwrap();
    let mut app = app(&root);
    let mut entities = 0;
    for (x, z) in (0..3).flat_map(|z| (0..3).map(move |x| (x, z))) {
        let handle: Handle<WorldAsset> = load(&mut app, format!("cells/cell_{x}_{z}.glb#Scene0"));
        let mut scenes = app.world_mut().resource_mut::<Assets<WorldAsset>>();
        let world = &mut scenes.get_mut(&handle).unwrap().into_inner().world;
        entities += world.query::<&Transform>().iter(world).count() as u64;
    }
    let scenes = (0..summary.towns)
        .map(|i| format!("towns/town_{i}.scn.ron"))
        .chain(["sky.scn.ron".to_string()]);
    for path in scenes {
        let handle: Handle<DynamicWorld> = load(&mut app, path);
        let scene = app.world().resource::<Assets<DynamicWorld>>().get(&handle).unwrap();
        assert!(scene.resources.is_empty());
        entities += scene.entities.len() as u64;
    }
    assert_eq!(entities, summary.entities);
}

#[test]
fn a_town_spawns_with_its_meshes_materials_and_hierarchy() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("world");
    let options = WorldOptions {
        grid: 3,
        towns: 1,
        items_per_cell: 5,
        texture_divisor: 64,
        ..default()
    };
    generate(&root, 5, &options, &mut |_, _, _| {}).unwrap();
    let mut app = app(&root);
    let handle: Handle<DynamicWorld> = load(&mut app, "towns/town_0.scn.ron".into());
    app.world_mut().spawn(DynamicWorldRoot(handle));
    (0..5).for_each(|_| app.update());
    let world = app.world_mut();
    let mut parts = world.query::<(&Mesh3d, &MeshMaterial3d<StandardMaterial>, &ChildOf, &GlobalTransform)>();
    let (meshes, materials) = (
        world.resource::<Assets<Mesh>>(),
        world.resource::<Assets<StandardMaterial>>(),
    );
    let shown: Vec<_> = parts.iter(world).collect();
    assert!(shown.len() > 100);
    for (mesh, material, ..) in &shown {
        assert!(meshes.contains(&mesh.0) && materials.contains(&material.0));
    }
    // The house, its walls and what is in them: three levels below the town.
    let far = |(_, _, _, at): &(&Mesh3d, &MeshMaterial3d<StandardMaterial>, &ChildOf, &GlobalTransform)| {
        at.translation().xz().length()
    };
    assert!(shown.iter().map(far).fold(0.0, f32::max) > 18.0);
    let named = world
        .query::<(&Name, &Children)>()
        .iter(world)
        .filter(|(name, _)| name.starts_with("house_"))
        .count();
    assert!((8..=10).contains(&named) && town::build(0, 5).1 > 100);
}
