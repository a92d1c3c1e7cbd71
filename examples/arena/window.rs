//! The game to look at: in a window, or as a picture that is drawn without one.

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
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
    level::{LevelFailed, WorldFailed},
};
use seamless_examples::{
    arena::{
        ArenaOptions, BattleStep, Phase, Player, RATE, Roster, Unit, add_game, is_in_the_fray, middle_of_fight,
        world_error,
    },
    display::{canvas, window_plugins},
};

use crate::args::Args;

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

/// Plays until the window is closed, the game is over, or the picture is taken. Gives whether all went well, or why there is nothing to play.
pub fn show(args: &Args, options: ArenaOptions, manifest: &str) -> Result<bool, String> {
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
            let mut camera = commands.spawn((Eye(None), Camera3d::default(), Transform::default()));
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
    app.add_observer(move |_: On<LevelFailed>| failed.store(true, Ordering::Relaxed));
    let no_world = note_world_failure(&mut app);
    let is_success = app.run().is_success();
    match no_world.lock().unwrap_or_else(PoisonError::into_inner).take() {
        Some(error) => Err(error),
        None => Ok(is_success && !has_failed.load(Ordering::Relaxed)),
    }
}

/// Without its world there is no game: it ends, and this is why. Outlives the app, which `run` consumes.
fn note_world_failure(app: &mut App) -> Arc<Mutex<Option<String>>> {
    let reason = Arc::new(Mutex::new(None));
    let noted = reason.clone();
    app.add_observer(move |failed: On<WorldFailed>, mut exit: MessageWriter<AppExit>| {
        *noted.lock().unwrap_or_else(PoisonError::into_inner) = Some(world_error(&failed.error));
        exit.write(AppExit::error());
    });
    reason
}

/// The camera, and what it looks at.
#[derive(Component)]
struct Eye(Option<Vec3>);

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

/// Where the camera is from what it looks at.
const OFF: Vec3 = Vec3::new(0.0, 15.0, 24.0);
/// How fast it follows: the part of the way that it goes in a second is all but `exp` of minus this.
const FOLLOWS: f32 = 2.5;

/// The camera looks at those who fight in the zone that is nearest to the player.
fn look(
    time: Res<Time>,
    player: Single<&Transform, (With<Player>, Without<Eye>)>,
    units: Query<&Transform, (With<Unit>, Without<Eye>)>,
    mut eye: Single<(&mut Transform, &mut Eye)>,
) {
    let (place, eye) = &mut *eye;
    let wanted = middle_of_fight(player.translation, units.iter().map(|unit| unit.translation));
    let part = match eye.0 {
        Some(at) if at.distance(wanted) < OFF.length() => 1.0 - (-FOLLOWS * time.delta_secs()).exp(),
        _ => 1.0,
    };
    let at = eye.0.unwrap_or(wanted).lerp(wanted, part);
    eye.0 = Some(at);
    **place = Transform::from_translation(at + OFF).looking_at(at, Vec3::Y);
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
    options: Res<ArenaOptions>,
    step: Option<Res<State<BattleStep>>>,
    mut commands: Commands,
    mut exit: MessageWriter<AppExit>,
) {
    let Some(mut picture) = picture else { return };
    let is_time = step.is_some_and(|step| **step == BattleStep::Fighting) && is_in_the_fray(&roster, &options);
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
