//! A whole game, frame by frame, and what it cost. See [`Arena`].

use core::time::Duration;
use std::{collections::BTreeSet, time::Instant};

use bevy::prelude::*;
use bevy_seamless::{
    asset::PreloadSets,
    cue::{CueExecuted, CueOnActive, CuePlugin, CueReport, CueStats, GameplayTag},
    level::{WorldError, WorldFailure},
    prelude::*,
};

use super::{Approach, ArenaOptions, ArenaPlugin, Digest, Phase, Unit, phases::is_waiting, units::Roster};
use crate::memory::{content_bytes, process_peak};

/// In one of so many frames what content takes in memory is summed up.
const WEIGHED: usize = 15;
/// Frames after the end in which what nobody needs has to go.
const PARTING: usize = 600;
/// As many in any case: instances that nobody needs go one after the other.
const LINGER: usize = 120;

/// One frame of a game.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Frame {
    /// Where the game is.
    pub phase: Phase,
    /// Whether a player would see a loading screen.
    pub is_waiting: bool,
    /// Whether something was used for the first time: a notify played that never had, a cue waited or had waited, or a load or an instance was begun
    /// for one.
    pub is_first_use: bool,
    /// Main-thread time of the frame, in milliseconds.
    pub frame_ms: f32,
    /// Main-thread time of all that loads, reveals, and plays what has waited, in milliseconds.
    pub stream_ms: f32,
    /// Bytes of meshes and images in memory.
    pub content: u64,
    /// Units that stand.
    pub units: u32,
}

/// How long a player has waited.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Waits {
    /// From the first frame to the lobby.
    pub start: Duration,
    /// Before the battle.
    pub battle: Duration,
    /// Before the show after it.
    pub aftermath: Duration,
}

/// What came of a game.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// How content came into memory.
    pub approach: Approach,
    /// All frames to the end.
    pub frames: Vec<Frame>,
    /// How long a player has waited.
    pub waits: Waits,
    /// What became of cues.
    pub cues: CueStats,
    /// What the pipeline did.
    pub streaming: StreamingStats,
    /// A frame's budget for it.
    pub budget: Duration,
    /// What came of the battle: the same deeds give the same number.
    pub digest: u64,
    /// How often a unit has fallen.
    pub falls: u64,
    /// Units, cues, and instances that play, which are still there at the end.
    pub left_over: u64,
    /// Instances of levels and prefabs that are in the world at the end; the ground is one.
    pub instances: u64,
    /// The most memory that the process has had, where the system tells.
    pub process_peak: Option<u64>,
}

impl Outcome {
    /// Milliseconds of the slowest frame of those in which something was used for the first time and no loading screen is seen.
    #[must_use]
    pub fn worst_first_use(&self, of: impl Fn(&Frame) -> f32) -> f32 {
        let played = self
            .frames
            .iter()
            .filter(|frame| frame.is_first_use && !frame.is_waiting);
        played.map(of).fold(0.0, f32::max)
    }

    /// Of the frames without a loading screen, the middle one, in milliseconds.
    #[must_use]
    pub fn median(&self, of: impl Fn(&Frame) -> f32) -> f32 {
        let mut times: Vec<f32> = self.frames.iter().filter(|frame| !frame.is_waiting).map(of).collect();
        times.sort_by(f32::total_cmp);
        times.get(times.len() / 2).copied().unwrap_or_default()
    }

    /// The most that content took in memory, and its mean while the battle was fought.
    #[must_use]
    pub fn content(&self) -> (u64, u64) {
        let peak = self.frames.iter().map(|frame| frame.content).max().unwrap_or_default();
        let fought = self
            .frames
            .iter()
            .filter(|frame| frame.phase == Phase::Battle && !frame.is_waiting);
        let (sum, count) = fought.fold((0, 0), |(sum, count), frame| (sum + frame.content, count + 1));
        (peak, sum / u64::max(count, 1))
    }
}

/// Notifies that have played.
#[derive(Resource, Default)]
struct Played(BTreeSet<GameplayTag>);

/// What was so in the frame before.
#[derive(Default)]
struct Last {
    cues: CueStats,
    played: usize,
    content: u64,
}

/// An app with the game in it.
pub struct Arena {
    app: App,
    began: Instant,
}

impl Arena {
    /// Adds the game to an app that has Bevy's plugins, over the world of this manifest.
    #[must_use]
    pub fn new(mut app: App, options: ArenaOptions, manifest: &str) -> Self {
        let began = Instant::now();
        add_game(&mut app, options, manifest);
        app.finish();
        app.cleanup();
        Self { app, began }
    }

    /// The app.
    pub fn app(&mut self) -> &mut App {
        &mut self.app
    }

    /// Plays to the end, at this pace; without one as fast as it goes. `look` sees each frame when it is over, and says whether to go on.
    ///
    /// # Errors
    /// When its world cannot be loaded, or when it takes longer than `patience`.
    pub fn play(
        mut self,
        pace: Option<Duration>,
        patience: Duration,
        mut look: impl FnMut(&mut World, &Frame) -> bool,
    ) -> Result<Outcome, String> {
        let mut frames: Vec<Frame> = Vec::new();
        let mut waits = Waits::default();
        let mut last = Last::default();
        loop {
            let start = Instant::now();
            let frame = self.frame(frames.len(), &mut last);
            frames.push(frame);
            if !look(self.app.world_mut(), &frame) {
                break;
            }
            let mut failures = self.app.world_mut().query::<&WorldFailure>();
            if let Some(failure) = failures.iter(self.app.world()).next() {
                return Err(world_error(&failure.0));
            }
            if let Some(pace) = pace {
                std::thread::sleep(pace.saturating_sub(start.elapsed()));
            }
            match frame.phase {
                // With what came before the first frame.
                Phase::Start => waits.start = self.began.elapsed(),
                Phase::Battle if frame.is_waiting => waits.battle += start.elapsed(),
                Phase::Aftermath if frame.is_waiting => waits.aftermath += start.elapsed(),
                Phase::Over => break,
                _ => {}
            }
            if self.began.elapsed() > patience {
                return Err(format!(
                    "the game is in {:?} after {patience:?}; see the log above",
                    frame.phase
                ));
            }
        }
        Ok(self.end(frames, waits))
    }

    /// One frame.
    fn frame(&mut self, number: usize, last: &mut Last) -> Frame {
        let is_waiting = is_waiting(self.app.world());
        let phase = **self.app.world().resource::<State<Phase>>();
        let start = Instant::now();
        self.app.update();
        let took = start.elapsed();
        let world = self.app.world_mut();
        let played = world.resource::<Played>().0.len();
        let cues = world.resource::<CueStats>().clone();
        if number.is_multiple_of(WEIGHED) {
            let (meshes, images) = content_bytes(world);
            last.content = meshes + images;
        }
        let frame = Frame {
            phase,
            is_waiting,
            is_first_use: played > last.played || is_first_use(&last.cues, &cues),
            frame_ms: took.as_secs_f32() * 1e3,
            stream_ms: world.resource::<StreamingStats>().last_frame.as_secs_f32() * 1e3,
            content: last.content,
            units: world.query::<&Unit>().iter(world).len() as u32,
        };
        (last.cues, last.played) = (cues, played);
        frame
    }

    fn end(mut self, frames: Vec<Frame>, waits: Waits) -> Outcome {
        let world = self.app.world();
        let cues = world.resource::<CueStats>().clone();
        let streaming = world.resource::<StreamingStats>().clone();
        let digest = world.get_resource::<Digest>().copied().unwrap_or_default();
        let options = world.resource::<ArenaOptions>().clone();
        let falls = world
            .resource::<Roster>()
            .slots
            .iter()
            .map(|slot| u64::from(slot.falls))
            .sum();
        let budget = world.resource::<StreamingSettings>().budget;
        let left_over = self.part();
        let instances = self.app.world().resource::<StreamingStats>().live_instances;
        Outcome {
            approach: options.approach,
            frames,
            waits,
            cues,
            streaming,
            budget,
            digest: digest.0,
            falls,
            left_over,
            instances,
            process_peak: process_peak(),
        }
    }

    /// Lets everything go, and counts what stays all the same.
    fn part(&mut self) -> u64 {
        let mut sets = self.app.world_mut().resource_mut::<PreloadSets>();
        sets.want("the whole game", [] as [&str; 0]);
        sets.want("class selection", [] as [&str; 0]);
        let mut left = 0;
        for frame in 0..PARTING {
            self.app.update();
            let world = self.app.world_mut();
            let cues = world.resource::<CueStats>();
            let cues = cues.waiting + cues.active;
            let pools = CueReport::of(world).pools;
            let playing: u64 = pools.iter().map(|pool| u64::from(pool.stats.playing)).sum();
            left = cues + playing + world.query::<&Unit>().iter(world).len() as u64;
            if left == 0 && frame > LINGER {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        left
    }
}

/// Why there is no world to play in, and what mends it where a program cooks into one directory and reads from another.
#[must_use]
pub fn world_error(error: &WorldError) -> String {
    format!(
        "{error}\nassets are read from the directory `assets` under BEVY_ASSET_ROOT, else beside the program: run it by \
         `cargo run --example arena`, or set BEVY_ASSET_ROOT to the directory in which you run it"
    )
}

/// Adds the game, and what it streams, to an app that has Bevy's plugins.
pub fn add_game(app: &mut App, options: ArenaOptions, manifest: &str) {
    let config = options.approach.cue_config();
    let loading = SeamlessAssetPlugin {
        background: options.background,
        ..default()
    };
    let plugins = SeamlessPlugins.set(loading).set(CuePlugin { config, ..default() });
    app.add_plugins(plugins)
        .add_plugins(ArenaPlugin(options))
        .init_resource::<Played>()
        .add_observer(|cue: On<CueExecuted>, mut played: ResMut<Played>| {
            played.0.insert(cue.of);
        })
        .add_observer(|cue: On<CueOnActive>, mut played: ResMut<Played>| {
            played.0.insert(cue.of);
        });
    let manifest = app.world().resource::<AssetServer>().load(manifest.to_owned());
    app.world_mut().spawn(SeamlessWorld(manifest));
}

fn is_first_use(before: &CueStats, after: &CueStats) -> bool {
    let counts = |stats: &CueStats| [stats.deferred, stats.replayed, stats.loads, stats.instances_made];
    counts(before) != counts(after)
}
