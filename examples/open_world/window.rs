//! The flight in a window: the same world and path, drawn; the window's title tells how streaming does, F1 shows it, and F2
//! which textures are coarser than they should be.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use bevy::{prelude::*, window::PrimaryWindow};
use bevy_seamless::prelude::*;
use seamless_examples::display::window_plugins;

use crate::{
    args::Args,
    flight::{Flyer, Path, RATE, bounds_of, follow_path, seamless_plugins, spawn_world},
    prepare::PreparedWorld,
};

#[derive(Resource)]
struct FramesLeft(Option<u64>);

/// Flies until the window is closed, or for `--frames`. Returns whether nothing failed.
pub fn fly(args: &Args, world: &PreparedWorld) -> bool {
    let mut app = App::new();
    app.add_plugins(window_plugins())
        .add_plugins((seamless_plugins(), MipPlugin::default()))
        .insert_resource(FramesLeft(args.frames))
        .insert_resource(ClearColor(Color::srgb(0.53, 0.68, 0.85)))
        .add_systems(
            Update,
            (follow_path.run_if(resource_exists::<Path>), show, count_frames),
        );
    #[cfg(feature = "overlay")]
    app.add_plugins((SeamlessOverlayPlugin::default(), MipOverlayPlugin::default()));
    spawn_world(app.world_mut(), &world.manifest);
    app.world_mut().spawn((
        Flyer,
        StreamingSource::default(),
        Camera3d::default(),
        Transform::default(),
    ));
    let (generated, seed) = (world.generated.clone(), args.seed);
    let find_path = move |mut commands: Commands, tables: Query<&LevelTable>| {
        if let Ok(table) = tables.single() {
            commands.insert_resource(Path::new(seed, generated.as_ref(), bounds_of(table)));
        }
    };
    app.add_systems(Update, find_path.run_if(not(resource_exists::<Path>)));
    let has_failed = note_failures(&mut app);
    app.run().is_success() && !has_failed.load(Ordering::Relaxed)
}

/// Becomes true when a level or the world cannot be loaded; the log says why. Outlives the app, which `run` consumes.
fn note_failures(app: &mut App) -> Arc<AtomicBool> {
    let has_failed = Arc::new(AtomicBool::new(false));
    let (of_levels, of_worlds) = (has_failed.clone(), has_failed.clone());
    app.add_observer(move |_: On<LevelFailed>| of_levels.store(true, Ordering::Relaxed))
        .add_observer(move |_: On<WorldFailed>| of_worlds.store(true, Ordering::Relaxed));
    has_failed
}

/// Advances the path, in real time from 30 frames a second on, and writes the counters into the window's title twice a second.
fn show(
    time: Res<Time>,
    path: Option<ResMut<Path>>,
    stats: Res<StreamingStats>,
    mut windows: Query<&mut Window, With<PrimaryWindow>>,
    mut shown: Local<f32>,
    mut flown: Local<f32>,
) {
    let Some(mut path) = path else { return };
    // Where frames take longer the flight is slower: levels are to be seen, not left behind.
    *flown += time.delta_secs().min(2.0 / RATE);
    path.frame = (*flown * RATE) as u64 % path.frames().max(1);
    *shown += time.delta_secs();
    if *shown < 0.5 {
        return;
    }
    *shown = 0.0;
    for mut window in &mut windows {
        window.title = format!(
            "bevy_seamless: {} levels, {} entities, streaming {:.2} of {:.1} ms, {} revealed, {} left, {} overruns",
            stats.live_instances,
            stats.live_entities,
            stats.last_frame.as_secs_f64() * 1e3,
            stats.budget_last.as_secs_f64() * 1e3,
            stats.revealed,
            stats.left,
            stats.overrun_count
        );
    }
}

fn count_frames(mut left: ResMut<FramesLeft>, mut exit: MessageWriter<AppExit>) {
    if let Some(left) = &mut left.0 {
        *left = left.saturating_sub(1);
        if *left == 0 {
            exit.write(AppExit::Success);
        }
    }
}
