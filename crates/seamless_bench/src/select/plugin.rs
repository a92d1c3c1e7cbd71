//! `select_10k/plugin/…`: the same in a game, with all that the plugin does to know what to ask for.
//!
//! * Ours: the systems up to [`LevelSystems::Select`], which see to 10 000 entities with a volume each, to sources with transforms, to requests and
//!   distances, and ask for what is wanted. By the clock that the budget is kept by; what Bevy takes to run these systems is in the note.
//! * Peer: a system that goes through the same entities in the same frames, and tests each volume.
//!
//! All levels are of one small package, which is loaded and shown wherever it is wanted; what that takes is not selecting, and not in here. Everything
//! runs on one thread.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use bevy_app::{App, SpawnScene};
use bevy_asset::Assets;
use bevy_ecs::prelude::*;
use bevy_transform::components::Transform;
use seamless_asset::{StreamingClock, StreamingStats, StreamingSystems};
use seamless_level::{
    LevelSystems, LevelTable, LevelTarget, SeamlessWorld, SourceMotion, StreamingSource, StreamingVolume,
    WorldManifest, select::SourceInput,
};
use seamless_tests::app::on_one_thread;

use super::{BruteForce, FRAMES, MARGIN, Variant, sources};
use crate::{
    app::{Plugins, app},
    level::places,
    row::{Row, Samples, quantile},
    worlds,
};

const PACKAGE: &str = "level.pkg";
/// Entities of each level.
const ENTITIES: usize = 10;

/// Measures selecting.
pub fn run(variant: Variant, samples: Option<usize>) -> Row {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut game = Game::new(dir.path());
    let mut result = Samples::default();
    let (mut all, mut with_bevy) = (Vec::new(), Vec::new());
    for round in 0..samples.unwrap_or(51) as u32 + 1 {
        *game.app.world_mut().resource_mut::<Spent>() = Spent::default();
        for frame in round * FRAMES..(round + 1) * FRAMES {
            game.frame(variant, frame);
            all.push(game.app.world().resource::<StreamingStats>().last_frame.as_secs_f64() * 1e9);
        }
        // The first round brings the levels of the start.
        if round > 0 {
            let spent = game.app.world().resource::<Spent>();
            result.ours.push(spent.ours.as_nanos() as f64 / f64::from(FRAMES));
            with_bevy.push(spent.all.as_nanos() as f64 / f64::from(FRAMES));
            result.peer.push(spent.peer.as_nanos() as f64 / f64::from(FRAMES));
        }
        game.check();
    }
    let name = match variant {
        Variant::Rest => "select_10k/plugin/rest",
        // There are four sources here, the first of a crowd.
        Variant::Moving | Variant::Crowd => "select_10k/plugin/moving",
    };
    let peer = Some("a system tests each volume");
    let mut row = result.row(name, "ns/frame", peer, None, variant.targets());
    let all = quantile(&mut all, 0.5) / 1e3;
    let with_bevy = quantile(&mut with_bevy, 0.5) / 1e3;
    row.note = format!(
        "{with_bevy:.1} µs with what Bevy takes to run the systems; all that the pipeline does in the median frame takes {all:.1} µs"
    );
    row
}

/// The game, and who goes around in it.
struct Game {
    app: App,
    world: Entity,
    sources: [Entity; 4],
}

impl Game {
    fn new(dir: &Path) -> Self {
        let mut app = app(Plugins::Levels, dir);
        let bytes = places(&app, PACKAGE, ENTITIES);
        std::fs::write(dir.join(PACKAGE), &bytes).expect("the package can be written");
        let manifest = manifest(bytes.len());
        let volumes = manifest.volumes.len();
        let manifest = app.world_mut().resource_mut::<Assets<WorldManifest>>().add(manifest);
        let world = app.world_mut().spawn(SeamlessWorld(manifest)).id();
        worlds::settle(&mut app, volumes);
        measure(&mut app);
        on_one_thread(app.world_mut());
        let source = || (StreamingSource::default(), Transform::default());
        let sources = [(); 4].map(|()| app.world_mut().spawn(source()).id());
        Self { app, world, sources }
    }

    /// Moves the sources to where they are in this frame.
    fn frame(&mut self, variant: Variant, frame: u32) {
        for (entity, source) in self.sources.into_iter().zip(sources(variant, frame)) {
            if let Some(mut place) = self.app.world_mut().get_mut::<Transform>(entity) {
                place.set_if_neq(Transform::from_translation(source.position));
            }
        }
        self.app.update();
    }

    /// Whoever wants something else measures something else.
    fn check(&self) {
        let world = self.app.world();
        let table = world.get::<LevelTable>(self.world).expect("the world is there");
        let targets = table.iter().map(|level| level.target() == LevelTarget::Visible);
        assert!(
            targets.eq(world.resource::<Peer>().0.wanted.iter().copied()),
            "both want the same levels"
        );
        assert_eq!(
            world.resource::<StreamingStats>().failed,
            0,
            "every level can be loaded"
        );
    }
}

fn manifest(bytes: usize) -> WorldManifest {
    let mut manifest = worlds::manifest("select");
    for level in &mut manifest.levels {
        level.package = PACKAGE.into();
        level.dependencies.clear();
        level.entities = ENTITIES as u32;
        level.bytes = bytes as u64;
    }
    for volume in &mut manifest.volumes {
        // The peer has no delay, and no way to look at time.
        (volume.unload_margin, volume.unload_delay) = (MARGIN, 0.0);
    }
    manifest
}

/// What was spent since it was reset.
#[derive(Resource, Default)]
struct Spent {
    before: Duration,
    start: Option<Instant>,
    ours: Duration,
    /// The same with all that lies between the first of our systems and the last.
    all: Duration,
    peer: Duration,
}

/// What the peer wants.
#[derive(Resource)]
struct Peer(BruteForce);

/// Measures both in each frame from now on.
fn measure(app: &mut App) {
    let volumes = app.world_mut().query::<&StreamingVolume>().iter(app.world()).count();
    app.init_resource::<Spent>()
        .insert_resource(Peer(BruteForce::new(volumes)))
        .add_systems(
            SpawnScene,
            (
                begin.before(LevelSystems::Manifest),
                (end, test_each)
                    .chain()
                    .after(LevelSystems::Select)
                    .before(StreamingSystems::Objects),
            ),
        );
}

fn begin(mut spent: ResMut<Spent>, clock: Res<StreamingClock>) {
    spent.before = clock.spent();
    spent.start = Some(Instant::now());
}

fn end(mut spent: ResMut<Spent>, clock: Res<StreamingClock>) {
    let took = clock.spent() - spent.before;
    let all = spent.start.map_or(Duration::ZERO, |start| start.elapsed());
    spent.ours += took;
    spent.all += all;
}

fn test_each(
    volumes: Query<&StreamingVolume>,
    sources: Query<(&Transform, &SourceMotion), With<StreamingSource>>,
    mut peer: ResMut<Peer>,
    mut spent: ResMut<Spent>,
) {
    let start = Instant::now();
    peer.0.update(
        volumes
            .iter()
            .map(|volume| (&volume.shape, volume.unload_margin.unwrap_or(MARGIN))),
        sources.iter().map(|(place, motion)| SourceInput {
            position: place.translation,
            velocity: motion.velocity(),
            ..SourceInput::default()
        }),
    );
    spent.peer += start.elapsed();
}
