//! The walk through the hall: along it, then at once at its other end, and back. See [`walk`].

use core::time::Duration;
use std::{
    f32::consts::PI,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use bevy::{
    app::ScheduleRunnerPlugin,
    camera::RenderTarget,
    core_pipeline::tonemapping::Tonemapping,
    prelude::*,
    render::view::screenshot::{Screenshot, save_to_disk},
    time::TimeUpdateStrategy,
    window::{ExitCondition, PrimaryWindow},
    winit::WinitPlugin,
};
use bevy_seamless::{
    prelude::*,
    render::mip::{
        MipFailed, MipFeedbackPlugin, MipPlugin, MipSettings, MipStats, MipTextures, MipTruth, Mips, TruthAccuracy,
        TruthPicture,
    },
};
use seamless_examples::{
    display::{canvas, window_plugins},
    hall::length,
    report::MipLog,
};

use crate::args::Args;

/// Frames of a second.
const RATE: f32 = 60.0;
/// Metres of a second.
const SPEED: f32 = 4.0;
/// Frames that the visitor stands still at most, until all is as fine as is wanted.
const PATIENCE: u32 = 1200;
/// Frames until the hall must be there.
const COMING: u32 = 6000;
/// Textures of a frame whose names are noted, if they are coarser than wanted.
const WORST: usize = 32;
/// Frames from the picture to the end: it is written meanwhile.
const WRITING: u32 = 60;

/// What a walk has shown.
#[derive(Clone, Debug, Default)]
pub struct Walked {
    pub frames: u32,
    /// What all textures that stream would take whole, in bytes.
    pub full: u64,
    /// What they took at most, copies and buffers included, in bytes.
    pub peak: u64,
    /// The same, with the room that was kept for what was on its way.
    pub booked: u64,
    /// Frames of the walk in which some texture was coarser than was wanted.
    pub coarse_frames: u32,
    /// Of so many that were walked.
    pub walking: u32,
    /// Textures that were so at once, at most.
    pub coarse_most: u64,
    /// Frames from the jump to the other end until all was as fine as is wanted; none if that never was.
    pub settled_after: Option<u32>,
    /// The same, at the end.
    pub settled_at_end: Option<u32>,
    pub stats: MipStats,
    /// Pixels of the end that lack the mip that they sample, by the GPU's own answer.
    pub accuracy: Option<TruthAccuracy>,
    /// What could not be read.
    pub failed: u32,
    /// What is wrong with the hall itself.
    pub fault: Option<String>,
    pub log: MipLog,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    /// The hall is on its way, for so many frames.
    Coming(u32),
    /// So many frames have been walked.
    Walking(u32),
    /// At the other end, for so many frames.
    Arrived(u32),
    /// At the end, for so many frames.
    Standing(u32),
    /// The picture is written, for so many frames.
    Writing(u32),
}

#[derive(Resource)]
struct Walk {
    step: Step,
    frames: Option<u32>,
    length: f32,
    walked: Walked,
    picture: Option<(PathBuf, Handle<Image>)>,
    mips: Option<PathBuf>,
    has_window: bool,
    result: Shown,
}

/// What the walk has shown, where it is found when the app is gone.
type Shown = Arc<Mutex<Option<Walked>>>;

#[derive(Component)]
struct Visitor;

/// Walks until the window is closed, or for as many frames as were asked for.
pub fn walk(args: &Args, manifest: &str) -> Result<Walked, String> {
    let mut app = App::new();
    if args.has_window() {
        app.add_plugins(window_plugins());
    } else {
        app.add_plugins((
            window_plugins().disable::<WinitPlugin>().set(WindowPlugin {
                primary_window: None,
                exit_condition: ExitCondition::DontExit,
                ..default()
            }),
            ScheduleRunnerPlugin::run_loop(Duration::ZERO),
        ))
        .insert_resource(TimeUpdateStrategy::ManualDuration(Duration::from_secs_f32(1.0 / RATE)));
    }
    let settings = MipSettings {
        pool: args.pool << 20,
        ..MipSettings::default()
    };
    app.add_plugins((
        SeamlessPlugins,
        MipPlugin {
            settings,
            ..MipPlugin::default()
        },
        MipFeedbackPlugin::default(),
    ));
    #[cfg(feature = "overlay")]
    app.add_plugins(MipOverlayPlugin {
        settings: MipOverlaySettings {
            is_on: args.boxes,
            surfaces: args.surfaces,
            ..MipOverlaySettings::default()
        },
    });
    let shown = Shown::default();
    let manifest = manifest.to_owned();
    app.insert_resource(walk_of(args, shown.clone()))
        .insert_resource(ClearColor(Color::BLACK))
        .insert_resource(GlobalAmbientLight {
            brightness: 900.0,
            ..default()
        })
        .add_systems(Startup, move |mut commands: Commands, server: Res<AssetServer>| {
            commands.spawn(SeamlessWorld(server.load(manifest.clone())));
        })
        .add_systems(Startup, enter)
        .add_systems(Update, (look_closely, go, tell).chain())
        .add_observer(|failed: On<LevelFailed>, mut walk: ResMut<Walk>| {
            walk.walked.fault = Some(failed.error.to_string());
        })
        .add_observer(|failed: On<WorldFailed>, mut walk: ResMut<Walk>| {
            walk.walked.fault = Some(failed.error.to_string());
        });
    let is_well = app.run().is_success();
    let last = shown.lock().unwrap_or_else(PoisonError::into_inner).take();
    last.filter(|_| is_well)
        .ok_or_else(|| "the app has ended early; see the log above".to_owned())
}

fn walk_of(args: &Args, result: Shown) -> Walk {
    Walk {
        step: Step::Coming(0),
        frames: args.frames(),
        length: length(args.paintings),
        walked: Walked {
            log: MipLog::new(f64::from(RATE), args.pool << 20),
            ..Walked::default()
        },
        picture: args
            .picture
            .clone()
            .filter(|_| !args.has_window())
            .map(|file| (file, Handle::default())),
        mips: args.mips.clone(),
        has_window: args.has_window(),
        result,
    }
}

fn enter(mut commands: Commands, mut images: ResMut<Assets<Image>>, mut walk: ResMut<Walk>, windows: Query<&Window>) {
    let mut camera = commands.spawn((Visitor, Camera3d::default(), Tonemapping::None, pose(0.0, walk.length)));
    if windows.is_empty() {
        let target = images.add(canvas(960, 540));
        camera.insert(RenderTarget::from(target.clone()));
        if let Some((_, picture)) = &mut walk.picture {
            *picture = target;
        }
    }
}

/// Where the visitor is after so many metres, there and back, looking at one wall and the other.
fn pose(metres: f32, length: f32) -> Transform {
    let way = length - 6.0;
    let along = metres.rem_euclid(2.0 * way);
    let is_back = along > way;
    let z = if is_back { 2.0 * way - along } else { along } + 3.0;
    let ahead = if is_back { PI } else { 0.0 };
    let yaw = ahead + 0.9 * (metres * 0.35).sin();
    Transform::from_xyz(0.0, 1.7, -z).with_rotation(Quat::from_rotation_y(yaw) * Quat::from_rotation_x(0.06))
}

/// Walks, looks how it goes, and ends.
fn go(
    mut walk: ResMut<Walk>,
    mut visitor: Single<&mut Transform, With<Visitor>>,
    mips: Mips,
    textures: Res<MipTextures>,
    stats: Res<MipStats>,
    mut failed: MessageReader<MipFailed>,
    streaming: Res<StreamingStats>,
    mut commands: Commands,
    mut exit: MessageWriter<AppExit>,
) {
    let walk = &mut *walk;
    walk.note(&mips, &textures, &stats);
    walk.walked.failed += failed.read().count() as u32;
    let is_settled = mips.is_settled();
    if let Some(metres) = walk.next(is_settled, streaming.revealed > 0) {
        **visitor = pose(metres, walk.length);
    }
    if walk.step == Step::Writing(0)
        && let Some((file, target)) = &walk.picture
    {
        commands
            .spawn(Screenshot::image(target.clone()))
            .observe(save_to_disk(file.clone()));
    }
    let is_over = matches!(walk.step, Step::Writing(frames) if walk.has_window || frames > WRITING);
    if is_over || walk.walked.fault.is_some() {
        exit.write(AppExit::Success);
    }
    // Whoever closes the window ends the walk, too; of a walk without one, the whole log is there at its end.
    if is_over || walk.has_window || walk.walked.fault.is_some() {
        *walk.result.lock().unwrap_or_else(PoisonError::into_inner) = Some(walk.walked.clone());
    }
}

/// At the end, the GPU tells which mips it samples.
fn look_closely(mut walk: ResMut<Walk>, truth: Option<Res<MipTruth>>, visitor: Single<Entity, With<Visitor>>) {
    let Some(truth) = truth.filter(|_| !walk.has_window) else {
        return;
    };
    if walk.step == Step::Writing(0) {
        truth.request(*visitor, 1);
    }
    if let Some(picture) = truth.take() {
        walk.walked.accuracy = Some(picture.accuracy());
        let written = walk.mips.as_ref().map_or(Ok(()), |file| write_mips(file, &picture));
        if let Err(error) = written {
            walk.walked.fault = Some(error);
        }
    }
}

fn write_mips(file: &Path, picture: &TruthPicture) -> Result<(), String> {
    let pixels = picture.colours();
    image::save_buffer(file, &pixels, picture.width, picture.height, image::ColorType::Rgba8)
        .map_err(|error| format!("{}: {error}", file.display()))
}

impl Walk {
    fn note(&mut self, mips: &Mips, textures: &MipTextures, stats: &MipStats) {
        let walked = &mut self.walked;
        walked.frames += 1;
        walked.peak = walked.peak.max(mips.sums().held());
        walked.booked = walked.booked.max(mips.sums().total());
        walked.full = textures.iter().map(|(.., record)| record.chain().bytes(0)).sum();
        walked.stats = stats.clone();
        walked.log.full = walked.full;
        // A window may be open for hours.
        if !self.has_window && !matches!(self.step, Step::Coming(_) | Step::Writing(_)) {
            let path = |image| Some(textures.get(textures.number(image)?)?.path().to_owned());
            let worst = mips.worst(WORST).into_iter();
            let coarse = worst.filter_map(|of| Some((path(of.image)?, of.top - of.wanted)));
            walked.log.note(stats, coarse);
        }
        if matches!(self.step, Step::Walking(_)) {
            walked.walking += 1;
            walked.coarse_frames += u32::from(stats.under_resolved > 0);
            walked.coarse_most = walked.coarse_most.max(stats.under_resolved);
        }
    }

    /// The next step. Gives how far the visitor has come, in metres, where that has changed.
    fn next(&mut self, is_settled: bool, is_there: bool) -> Option<f32> {
        let half = self.frames.map(|frames| frames / 2);
        let metres = |frame: u32| frame as f32 * SPEED / RATE;
        // From the far end, back.
        let far = |frame: u32| metres(frame) + self.length - 6.0 - metres(half.unwrap_or(0));
        let (step, at) = match self.step {
            Step::Coming(_) if is_there => (Step::Walking(0), None),
            Step::Coming(frame) => {
                if frame == COMING {
                    self.walked.fault = Some("it does not come; see the log above".to_owned());
                }
                (Step::Coming(frame + 1), None)
            }
            Step::Walking(frame) if half == Some(frame + 1) => {
                self.walked.log.jump();
                (Step::Arrived(0), Some(far(frame + 1)))
            }
            Step::Arrived(frame) if is_settled || frame == PATIENCE => {
                self.walked.settled_after = is_settled.then_some(frame);
                (Step::Walking(half.unwrap_or(0) + 1), None)
            }
            Step::Arrived(frame) => (Step::Arrived(frame + 1), None),
            Step::Walking(frame) if self.frames.is_some_and(|frames| frame >= frames) => (Step::Standing(0), None),
            Step::Walking(frame) => {
                let is_back = half.is_some_and(|half| frame + 1 > half);
                (
                    Step::Walking(frame + 1),
                    Some(if is_back { far(frame + 1) } else { metres(frame + 1) }),
                )
            }
            Step::Standing(frame) if is_settled || frame == PATIENCE => {
                self.walked.settled_at_end = is_settled.then_some(frame);
                (Step::Writing(0), None)
            }
            Step::Standing(frame) => (Step::Standing(frame + 1), None),
            Step::Writing(frame) => (Step::Writing(frame + 1), None),
        };
        self.step = step;
        at
    }
}

/// The window's title tells how it goes, twice a second.
fn tell(
    time: Res<Time<Real>>,
    walk: Res<Walk>,
    mips: Mips,
    mut windows: Query<&mut Window, With<PrimaryWindow>>,
    mut next: Local<f32>,
) {
    if time.elapsed_secs() < *next {
        return;
    }
    *next = time.elapsed_secs() + 0.5;
    let mib = |bytes: u64| bytes as f64 / (1 << 20) as f64;
    for mut window in &mut windows {
        window.title = format!(
            "gallery: {:.1} MiB of {:.1} MiB on the GPU, {} textures coarser than wanted",
            mib(mips.sums().held()),
            mib(walk.walked.full),
            mips.under_resolved()
        );
    }
}
