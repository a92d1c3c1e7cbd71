//! The game to look at: in a window, or as a picture that is drawn without one.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use bevy::{
    app::ScheduleRunnerPlugin,
    camera::RenderTarget,
    prelude::*,
    render::view::screenshot::{Screenshot, save_to_disk},
    window::{ExitCondition, PrimaryWindow},
    winit::WinitPlugin,
};
use bevy_seamless::{
    asset::{PreloadProgress, StreamingStats},
    cue::CueStats,
};
use seamless_examples::{
    arena::{ArenaOptions, BattleStep, Phase, Player, RATE, Roster, add_game},
    display::{canvas, window_plugins},
};

use crate::args::Args;

/// Ticks of the battle until the picture is taken.
const POSE: u64 = 420;
/// Frames from the picture to the end: it is written meanwhile.
const WRITING: u32 = 60;

#[derive(Resource)]
struct Picture {
    file: PathBuf,
    target: Handle<Image>,
    frames: Option<u32>,
}

#[derive(Resource)]
struct FramesLeft(Option<usize>);

/// Plays until the window is closed, the game is over, or the picture is taken. Gives whether all went well.
pub fn show(args: &Args, options: ArenaOptions, manifest: &str) -> bool {
    let mut app = App::new();
    match args.picture {
        Some(_) => app.add_plugins((
            window_plugins().disable::<WinitPlugin>().set(WindowPlugin {
                primary_window: None,
                exit_condition: ExitCondition::DontExit,
                ..default()
            }),
            ScheduleRunnerPlugin::run_loop(core::time::Duration::from_secs_f64(1.0 / RATE)),
        )),
        None => app.add_plugins(window_plugins()),
    };
    add_game(&mut app, options, manifest);
    app.insert_resource(ClearColor(Color::srgb(0.05, 0.06, 0.09)))
        .insert_resource(FramesLeft(args.frames))
        .add_systems(Startup, light)
        .add_systems(Update, (look, tell, end, pose))
        .add_systems(OnEnter(Phase::Over), |mut exit: MessageWriter<AppExit>| {
            exit.write(AppExit::Success);
        });
    let file = args.picture.clone();
    app.add_systems(
        Startup,
        move |mut commands: Commands, mut images: ResMut<Assets<Image>>| {
            let mut camera = commands.spawn((Eye, Camera3d::default(), Transform::default()));
            if let Some(file) = file.clone() {
                let target = images.add(canvas(1280, 720));
                camera.insert(RenderTarget::from(target.clone()));
                commands.insert_resource(Picture {
                    file,
                    target,
                    frames: None,
                });
            }
        },
    );
    let has_failed = Arc::new(AtomicBool::new(false));
    let failed = has_failed.clone();
    app.add_observer(move |_: On<bevy_seamless::level::LevelFailed>| failed.store(true, Ordering::Relaxed));
    app.run().is_success() && !has_failed.load(Ordering::Relaxed)
}

/// The camera.
#[derive(Component)]
struct Eye;

fn light(mut commands: Commands) {
    commands.spawn((
        DirectionalLight {
            illuminance: 9_000.0,
            ..default()
        },
        Transform::from_xyz(20.0, 40.0, 25.0).looking_at(Vec3::ZERO, Vec3::Y),
    ));
    commands.insert_resource(GlobalAmbientLight {
        brightness: 400.0,
        ..default()
    });
}

/// The camera looks at what the player is near.
fn look(player: Single<&Transform, (With<Player>, Without<Eye>)>, mut eye: Single<&mut Transform, With<Eye>>) {
    let at = player.translation;
    let wanted = Transform::from_translation(at + Vec3::new(0.0, 24.0, 36.0)).looking_at(at, Vec3::Y);
    **eye = wanted;
}

/// The window's title tells how it goes, twice a second.
fn tell(
    time: Res<Time>,
    phase: Res<State<Phase>>,
    progress: Res<PreloadProgress>,
    cues: Res<CueStats>,
    stats: Res<StreamingStats>,
    mut windows: Query<&mut Window, With<PrimaryWindow>>,
    mut shown: Local<f32>,
) {
    *shown += time.delta_secs();
    if *shown < 0.5 {
        return;
    }
    *shown = 0.0;
    for mut window in &mut windows {
        window.title = format!(
            "arena: {:?}, {:.0} % loaded, {} cues played, {} late, streaming {:.2} ms",
            **phase,
            progress.fraction() * 100.0,
            cues.played,
            cues.replayed,
            stats.last_frame.as_secs_f64() * 1e3
        );
    }
}

fn end(mut left: ResMut<FramesLeft>, mut exit: MessageWriter<AppExit>) {
    if let Some(left) = &mut left.0 {
        *left = left.saturating_sub(1);
        if *left == 0 {
            exit.write(AppExit::Success);
        }
    }
}

/// Takes the picture in the middle of the fight.
fn pose(
    picture: Option<ResMut<Picture>>,
    roster: Res<Roster>,
    step: Option<Res<State<BattleStep>>>,
    mut commands: Commands,
    mut exit: MessageWriter<AppExit>,
) {
    let Some(mut picture) = picture else { return };
    let is_time = step.is_some_and(|step| **step == BattleStep::Fighting) && roster.tick >= POSE;
    match &mut picture.frames {
        None if is_time => {
            commands
                .spawn(Screenshot::image(picture.target.clone()))
                .observe(save_to_disk(picture.file.clone()));
            picture.frames = Some(0);
        }
        None => {}
        Some(frames) => {
            *frames += 1;
            if *frames == WRITING {
                exit.write(AppExit::Success);
            }
        }
    }
}
