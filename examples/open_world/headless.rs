//! The measured flight: every frame's main-thread work is timed apart from the monitor's, at 60 frames a second.

use std::time::{Duration, Instant};

use bevy::prelude::*;
use bevy_seamless::prelude::*;
use seamless_examples::report::{FlightLog, FrameSample, Percentiles, percentile};

use crate::{
    args::Args,
    flight::{Flyer, Path, RATE, bounds_of, headless_app, spawn_world},
    monitor::{Monitor, is_settled},
    prepare::PreparedWorld,
    textures,
};

/// How long loading may take before the flight, and how long everything may take to become resident.
const PATIENCE: Duration = Duration::from_secs(120);
/// The resident flight takes one of this many frames.
const RESIDENT_STRIDE: usize = 3;

/// What a flight gave.
pub struct Flown {
    pub log: FlightLog,
    pub monitor: Monitor,
    /// What streaming did in the flight alone.
    pub stats: StreamingStats,
    pub budget: Duration,
    pub entities_total: u64,
    pub levels: u64,
    pub failed: u64,
    /// Whether all of the generated world was flown: no other world's file, and not only `--frames` of it.
    pub is_whole: bool,
    /// Milliseconds of the frames with everything resident, sorted.
    pub resident: Vec<f64>,
}

/// Flies three times: streaming, then with everything resident for comparison, then for what textures need.
#[expect(clippy::print_stdout, reason = "the example shows what it does")]
pub fn fly(args: &Args, world: &PreparedWorld) -> Result<Flown, String> {
    let mut flown = fly_streaming(args, world)?;
    println!("Flying again with everything resident, for comparison ...");
    flown.resident = fly_resident(args, world)?;
    println!("Flying once more for what textures need ...");
    flown.log.mips = textures::fly(args, world)?;
    flown.log.resident_frame_ms = percentile(&flown.resident, 0.5) as f32;
    Ok(flown)
}

/// Builds the app and waits for the manifest.
pub fn start(
    args: &Args,
    world: &PreparedWorld,
    is_first: bool,
    configure: impl FnOnce(&mut App),
) -> Result<App, String> {
    let mut app = headless_app(is_first);
    configure(&mut app);
    spawn_world(app.world_mut(), &world.manifest);
    app.finish();
    app.cleanup();
    let since = Instant::now();
    let bounds = loop {
        app.update();
        let mut tables = app.world_mut().query::<&LevelTable>();
        if let Ok(table) = tables.single(app.world()) {
            break bounds_of(table);
        }
        let mut failures = app.world_mut().query::<&WorldFailure>();
        if let Some(failure) = failures.iter(app.world()).next() {
            return Err(failure.0.to_string());
        }
        if since.elapsed() > PATIENCE {
            return Err(format!(
                "the manifest {} does not load; see the log above",
                world.manifest
            ));
        }
    };
    app.insert_resource(Path::new(args.seed, world.generated.as_ref(), bounds));
    Ok(app)
}

fn fly_streaming(args: &Args, world: &PreparedWorld) -> Result<Flown, String> {
    let mut app = start(args, world, true, |_| {})?;
    let mut tables = app.world_mut().query::<&LevelTable>();
    let table = tables.single(app.world()).map_err(|error| error.to_string())?;
    let (levels, entities_total) = (
        table.len() as u64,
        table.iter().map(|level| u64::from(level.entry().entities)).sum(),
    );
    let start = app.world().resource::<Path>().pose(0).position;
    app.world_mut()
        .spawn((Flyer, StreamingSource::default(), Transform::from_translation(start)));
    // What the app is made of by itself is known once the levels are not there yet: take the manifest's always-loaded ones out.
    let table = tables.single(app.world()).map_err(|error| error.to_string())?;
    let mut monitor = Monitor::new(app.world(), table);
    wait_until_settled(&mut app)?;
    let before = stats_before_flight(&mut app);

    let frames = frames_to_fly(args, &app);
    let is_whole = world.generated.is_some() && frames == app.world().resource::<Path>().frames();
    let mut log = FlightLog {
        seconds_per_frame: 1.0 / RATE,
        ..default()
    };
    for frame in 0..frames {
        let began = Instant::now();
        app.world_mut().resource_mut::<Path>().frame = frame;
        let took = timed_frame(&mut app);
        let pose = app.world().resource::<Path>().pose(frame);
        monitor.look(app.world_mut(), frame, pose.teleported);
        let stats = app.world().resource::<StreamingStats>();
        log.frames.push(FrameSample {
            stream_ms: milliseconds(stats.last_frame) as f32,
            frame_ms: milliseconds(took) as f32,
            resident_levels: stats.live_instances as u32,
            resident_entities: stats.live_entities as u32,
            mesh_bytes: monitor.mesh_bytes,
            image_bytes: monitor.image_bytes,
            camera: [pose.position.x, pose.position.z],
            teleported: pose.teleported,
        });
        wait_for_next_frame(began);
    }
    monitor.finish(frames as u32);
    log.levels = core::mem::take(&mut monitor.tracks);
    let failed = tables.single(app.world()).map_or(0, |table| {
        table.iter().map(|level| u64::from(level.times_failed())).sum()
    });
    Ok(Flown {
        log,
        monitor,
        stats: stats_of_flight(&before, app.world().resource()),
        budget: app.world().resource::<StreamingSettings>().budget,
        entities_total,
        levels,
        failed,
        is_whole,
        resident: Vec::new(),
    })
}

/// What streaming did until now. Only so many overruns are kept by name: those of settling make room for the flight's.
fn stats_before_flight(app: &mut App) -> StreamingStats {
    let before = app.world().resource::<StreamingStats>().clone();
    app.world_mut().resource_mut::<StreamingStats>().overruns.clear();
    before
}

/// The counters without what was counted before the flight; overruns are numbered from the flight's first frame.
fn stats_of_flight(before: &StreamingStats, after: &StreamingStats) -> StreamingStats {
    let mut stats = after.clone();
    for (count, old) in [
        (&mut stats.frame, before.frame),
        (&mut stats.revealed, before.revealed),
        (&mut stats.left, before.left),
        (&mut stats.failed, before.failed),
        (&mut stats.cancelled, before.cancelled),
        (&mut stats.bytes_read, before.bytes_read),
        (&mut stats.bytes_wasted, before.bytes_wasted),
        (&mut stats.overrun_count, before.overrun_count),
        (&mut stats.boosted, before.boosted),
        (&mut stats.reduced, before.reduced),
        (&mut stats.gate_deadlines, before.gate_deadlines),
    ] {
        *count -= old;
    }
    for overrun in &mut stats.overruns {
        overrun.frame -= before.frame;
    }
    stats
}

/// The frames of the same flight with all levels in the world, at the same pace.
fn fly_resident(args: &Args, world: &PreparedWorld) -> Result<Vec<f64>, String> {
    let mut app = start(args, world, false, |_| {})?;
    app.world_mut().resource_mut::<StreamingSettings>().budget = Duration::from_millis(200);
    let pose = app.world().resource::<Path>().pose(0);
    app.world_mut().spawn((
        Flyer,
        StreamingSource::default(),
        Transform::from_translation(pose.position),
    ));
    app.world_mut()
        .run_system_cached(|tables: Query<&LevelTable>, mut levels: Levels| {
            for level in tables.iter().flat_map(LevelTable::iter) {
                if let Err(error) = levels.load(level.name()) {
                    warn!("{error}");
                }
            }
        })
        .map_err(|error| error.to_string())?;
    wait_until_settled(&mut app)?;
    let frames = frames_to_fly(args, &app);
    let mut times = Vec::new();
    for frame in (0..frames).step_by(RESIDENT_STRIDE) {
        let began = Instant::now();
        app.world_mut().resource_mut::<Path>().frame = frame;
        times.push(milliseconds(timed_frame(&mut app)));
        wait_for_next_frame(began);
    }
    times.sort_by(f64::total_cmp);
    Ok(times)
}

fn wait_for_next_frame(began: Instant) {
    std::thread::sleep(Duration::from_secs_f32(1.0 / RATE).saturating_sub(began.elapsed()));
}

pub fn frames_to_fly(args: &Args, app: &App) -> u64 {
    let all = app.world().resource::<Path>().frames();
    args.frames.unwrap_or(all).min(all).max(1)
}

/// Updates the app at least three times, and until all levels are there that are wanted.
pub fn wait_until_settled(app: &mut App) -> Result<(), String> {
    for _ in 0..3 {
        app.update();
    }
    update_until_settled(app)
}

/// Updates the app at least once, and until all levels are there that are wanted.
pub fn update_until_settled(app: &mut App) -> Result<(), String> {
    let since = Instant::now();
    let mut tables = app.world_mut().query::<&LevelTable>();
    loop {
        app.update();
        if tables.iter(app.world()).all(is_settled) {
            return Ok(());
        }
        if since.elapsed() > PATIENCE {
            let waiting = tables
                .iter(app.world())
                .flat_map(LevelTable::iter)
                .filter(|level| level.is_wanted() && level.root().is_none());
            return Err(format!("{} levels do not load within {PATIENCE:?}", waiting.count()));
        }
    }
}

/// One update of the app. Returns the time of the main schedule and of extraction; rendering itself would run beside it.
fn timed_frame(app: &mut App) -> Duration {
    let sub_apps = app.sub_apps_mut();
    let start = Instant::now();
    sub_apps.main.run_default_schedule();
    let mut took = start.elapsed();
    for sub_app in sub_apps.sub_apps.values_mut() {
        let start = Instant::now();
        sub_app.extract(sub_apps.main.world_mut());
        took += start.elapsed();
        sub_app.update();
    }
    sub_apps.main.world_mut().clear_trackers();
    took
}

pub fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Spread of one number over all frames.
pub fn spread(log: &FlightLog, value: impl Fn(&FrameSample) -> f64) -> Percentiles {
    Percentiles::of(log.frames.iter().map(value))
}
