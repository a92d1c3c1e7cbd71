//! Levels come and go at random, one of them is broken: in every frame, the render world has the meshes of those levels that
//! are in the world, and all of them.

use std::{collections::BTreeMap, fs, path::Path, thread, time::Duration};

use bevy::{
    pbr::RenderMeshInstances,
    prelude::*,
    render::{Render, RenderApp, RenderSystems},
};
use bevy_seamless::{asset::LevelInstance, prelude::*};
use seamless_tests::{
    app::run_until,
    cooked::{Ask, Cooked, MANIFEST, STREAM_LIMIT, ask, reveal, spawn_world, state},
    fixtures::write_everything_gltf,
    picture::{has_driver, studio},
    random::Random,
};

/// Levels with the same source, side by side; they share a package, and so does the broken one.
const SOUND: [&str; 3] = ["a", "b", "c"];
const BROKEN: &str = "broken";
/// How far apart they stand, in metres.
const SPACING: f32 = 12.0;
/// How many frames are looked at, at least and at most.
const FRAMES: usize = 300;
const MOST_FRAMES: usize = 6000;
/// A level is asked for, or let go of, once in so many frames.
const PAUSE: usize = 3;

/// The entities of the main world whose meshes the render world has, in the last frame.
#[derive(Resource, Default)]
struct Drawn(Vec<Entity>);

fn note_drawn(instances: Res<RenderMeshInstances>, mut drawn: ResMut<Drawn>) {
    drawn.0 = match &*instances {
        RenderMeshInstances::CpuBuilding(instances) => instances.keys().map(|entity| entity.id()).collect(),
        RenderMeshInstances::GpuBuilding(instances) => instances.keys().map(|entity| entity.id()).collect(),
    };
}

fn cook() -> Cooked {
    let level = |(at, name): (usize, &&str)| {
        let x = (at as f32 - 1.5) * SPACING;
        format!("(name: \"{name}\", source: \"everything.gltf\", translation: ({x:?}, 0.0, 0.0))")
    };
    let levels: Vec<String> = SOUND.iter().chain([&BROKEN]).enumerate().map(level).collect();
    let write = |dir: &Path| {
        write_everything_gltf(dir);
    };
    let cooked = Cooked::new(write, &format!("(levels: [{}])", levels.join(", ")), |_| {});
    let file = cooked.file(&format!("{BROKEN}.pkg"));
    let mut bytes = fs::read(&file).expect("the package is there");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&file, bytes).expect("the package is written");
    cooked
}

/// An app in which the camera sees all levels.
fn start(cooked: &Cooked) -> (App, Entity) {
    let camera = Transform::from_xyz(0.0, 50.0, 50.0).looking_at(Vec3::ZERO, Vec3::Y);
    let mut app = studio(&cooked.out(), camera, |app| {
        app.add_plugins(SeamlessPlugins);
    });
    app.sub_app_mut(RenderApp)
        .init_resource::<Drawn>()
        .add_systems(Render, note_drawn.in_set(RenderSystems::Cleanup));
    let world = spawn_world(&mut app, MANIFEST);
    let there = run_until(&mut app, STREAM_LIMIT, |ecs| ecs.get::<LevelTable>(world).is_some());
    assert!(there, "the manifest loads");
    (app, world)
}

fn root_of(ecs: &World, entity: Entity) -> Entity {
    let mut at = entity;
    while let Some(parent) = ecs.get::<ChildOf>(at) {
        at = parent.parent();
    }
    at
}

/// How many meshes the render world had of each level that is in the main world, in the frame that is over.
///
/// # Panics
/// When it had one of something else.
fn drawn(app: &mut App) -> BTreeMap<Entity, usize> {
    let mut roots = app.world_mut().query_filtered::<Entity, With<LevelInstance>>();
    let mut found: BTreeMap<Entity, usize> = roots.iter(app.world()).map(|root| (root, 0)).collect();
    for entity in &app.sub_app(RenderApp).world().resource::<Drawn>().0 {
        let count = found.get_mut(&root_of(app.world(), *entity));
        *count.unwrap_or_else(|| panic!("{entity} is drawn, and in no level")) += 1;
    }
    found
}

/// How many meshes of a level are drawn when it alone is there, at rest; the same for all.
fn meshes_of_one(app: &mut App, world: Entity) -> usize {
    let counts = SOUND.map(|level| {
        let root = reveal(app, world, level);
        for _ in 0..3 {
            app.update();
        }
        let drawn = drawn(app);
        ask(app, level, Ask::Unload);
        let gone = run_until(app, STREAM_LIMIT, |ecs| {
            state(ecs, world, level) == LevelState::Unloaded
        });
        assert!(gone, "{level} leaves");
        drawn[&root]
    });
    assert!(counts[0] > 5, "{counts:?}");
    assert_eq!(counts, [counts[0]; 3], "the camera sees them all");
    counts[0]
}

#[test]
fn no_part_of_a_level_is_ever_drawn() {
    if !has_driver() {
        return;
    }
    let cooked = cook();
    let (mut app, world) = start(&cooked);
    let whole = meshes_of_one(&mut app, world);
    let before = app.world().resource::<StreamingStats>().clone();
    let mut random = Random(5);
    for frame in 0_usize.. {
        if frame.is_multiple_of(PAUSE) {
            let levels = [SOUND[0], SOUND[1], SOUND[2], BROKEN];
            let what = [Ask::Load, Ask::Unload][random.below(2) as usize];
            ask(&mut app, levels[random.below(4) as usize], what);
        }
        app.update();
        let drawn = drawn(&mut app);
        assert!(
            drawn.values().all(|count| *count == whole),
            "frame {frame}: {drawn:?}, each should have {whole}"
        );
        let broken = state(app.world(), world, BROKEN);
        assert_ne!(broken, LevelState::Visible, "the broken level never comes");
        let stats = app.world().resource::<StreamingStats>();
        let (revealed, left) = (stats.revealed - before.revealed, stats.left - before.left);
        if frame >= FRAMES && revealed > 20 && left > 20 && stats.failed > 2 {
            break;
        }
        assert!(frame < MOST_FRAMES, "too little happens: {stats:?}");
        // Loads run on other threads, and there are few of them.
        thread::sleep(Duration::from_millis(1));
    }
}
