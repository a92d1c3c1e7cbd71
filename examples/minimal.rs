//! Two levels and one volume: the smallest streamed world.
//!
//! ```text
//! cargo run --example minimal
//! ```
//!
//! The village is always loaded; the forest comes while the walker is inside its volume. The walker's lantern is startup content:
//! code refers to it, so it is cooked into a package of its own and there before the first frame. With a display you see it, without
//! one the same app tells it on the terminal: `-- --headless` forces that, `-- --frames N` ends it.

use std::{fs, path::Path, time::Duration};

use bevy::{
    app::ScheduleRunnerPlugin,
    image::{CompressedImageFormatSupport, CompressedImageFormats},
    prelude::*,
};
use bevy_seamless::prelude::*;
use clap::Parser;
use seamless_cook::{CookApp, CookOptions};
use seamless_examples::{
    cubes::write_cubes,
    display::{has_display, headless_plugins, window_plugins},
};

/// Two levels and one volume.
#[derive(Parser)]
struct Args {
    /// Run without a window, even where there is a display.
    #[arg(long)]
    headless: bool,
    /// End after this many frames. Without a window the default is one walk there and back.
    #[arg(long, value_name = "N")]
    frames: Option<u32>,
}

const WORLD: &str = r#"(
    levels: [
        (source: "village.gltf", always_loaded: true),
        (source: "forest.gltf", translation: (20.0, 0.0, 0.0)),
    ],
    volumes: [
        (shape: Box(min: (10.0, -5.0, -10.0), max: (30.0, 5.0, 10.0)), unload_margin: 1.0, levels: ["forest"]),
    ],
)"#;

/// What code refers to, and where the code is: one plugin of the game and of its cook program.
struct LanternPlugin;

const LANTERN: &str = "lantern.gltf#Mesh0/Primitive0";
const LANTERN_LIGHT: &str = "lantern.gltf#Material0/std";

impl Plugin for LanternPlugin {
    fn build(&self, app: &mut App) {
        app.add_startup_content::<Self, Mesh>([LANTERN])
            .add_startup_content::<Self, StandardMaterial>([LANTERN_LIGHT])
            .add_systems(Startup, light_lantern);
    }
}

/// The walker is seen by its lantern.
fn light_lantern(mut commands: Commands, startup: Res<StartupContent>) -> Result<()> {
    let lantern = (
        Mesh3d(startup.get(LANTERN)?),
        MeshMaterial3d::<StandardMaterial>(startup.get(LANTERN_LIGHT)?),
    );
    commands.spawn((Walker, StreamingSource::default(), Transform::default(), lantern));
    Ok(())
}

fn main() -> Result<()> {
    let args = Args::parse();
    make_world(Path::new("assets/minimal"))?;

    let mut app = App::new();
    let is_headless = args.headless || !has_display();
    if is_headless {
        app.insert_resource(CompressedImageFormatSupport(CompressedImageFormats::NONE));
        app.add_plugins(headless_plugins());
        app.add_plugins(ScheduleRunnerPlugin::run_loop(Duration::from_secs_f32(1.0 / 60.0)));
        // Only now: the plugins set up the log.
        let why = if args.headless { "" } else { " (no display found)" };
        info!("running headless{why}");
    } else {
        app.add_plugins(window_plugins());
    }
    let headless_frames = is_headless.then_some(20 * 60);
    let startup = SeamlessStartupPlugin::new("minimal/cooked/startup.pkg");
    app.add_plugins((SeamlessPlugins, startup, LanternPlugin))
        .insert_resource(FramesLeft(args.frames.or(headless_frames)))
        .add_systems(Startup, set_up)
        .add_systems(Update, (walk, end))
        .add_observer(|on: On<LevelRevealed>| info!("{} is here, {} entities at once", on.level, on.entities))
        .add_observer(|on: On<LevelLeft>| info!("{} is gone", on.level))
        .add_observer(|on: On<LevelFailed>| error!("{} failed: {}", on.level, on.error))
        .run();
    Ok(())
}

/// Makes the sources and cooks them; a game does this once, with `seamless cook`.
fn make_world(directory: &Path) -> Result<()> {
    let row = |count: i32, gap: f32| -> Vec<[f32; 3]> {
        (0..count)
            .map(|i| [i as f32 * gap - 4.0, 0.0, (i % 3) as f32 * gap - gap])
            .collect()
    };
    write_cubes(directory, "village", &row(5, 2.0), [0.8, 0.3, 0.2])?;
    write_cubes(directory, "forest", &row(9, 1.3), [0.1, 0.5, 0.2])?;
    write_cubes(directory, "lantern", &[[0.0, 2.0, 0.0]], [1.0, 0.8, 0.3])?;
    fs::write(directory.join("minimal.world.ron"), WORLD)?;
    let world = directory.join("minimal.world.ron");
    let cook = CookApp::new().with(|app| {
        app.add_plugins(LanternPlugin);
    });
    cook.cook(&world, &directory.join("cooked"), &CookOptions::default(), &())?;
    Ok(())
}

#[derive(Component)]
struct Walker;

fn set_up(mut commands: Commands, assets: Res<AssetServer>) {
    commands.spawn(SeamlessWorld(assets.load("minimal/cooked/minimal.seamless")));
    commands.spawn((
        Camera3d::default(),
        Transform::from_xyz(10.0, 16.0, 26.0).looking_at(Vec3::new(10.0, 0.0, 0.0), Vec3::Y),
    ));
    commands.spawn((
        DirectionalLight::default(),
        Transform::from_xyz(3.0, 8.0, 5.0).looking_at(Vec3::ZERO, Vec3::Y),
    ));
}

/// There and back again, 30 m in ten seconds.
fn walk(time: Res<Time>, mut walkers: Query<&mut Transform, With<Walker>>) {
    let phase = (time.elapsed_secs() / 10.0) % 2.0;
    for mut walker in &mut walkers {
        walker.translation.x = 30.0 * (1.0 - (phase - 1.0).abs());
    }
}

#[derive(Resource)]
struct FramesLeft(Option<u32>);

fn end(mut left: ResMut<FramesLeft>, mut exit: MessageWriter<AppExit>) {
    if let Some(left) = &mut left.0 {
        *left = left.saturating_sub(1);
        if *left == 0 {
            exit.write(AppExit::Success);
        }
    }
}
