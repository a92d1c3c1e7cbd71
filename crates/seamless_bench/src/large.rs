//! `reveal_100k` and `leave_100k`: the worst frame while one level of 100 000 renderable entities comes, and while it goes.
//!
//! Both roads run in apps of the same plugins, without a renderer. Ours has opted in to levels in slices, reads the level from disk and
//! keeps to the default budget; the peer has it in memory, as a `WorldAsset` that a `WorldAssetRoot` spawns. A frame is the wall time of the
//! app's update. What is compared is what the worst one takes beyond the median frame of the same app with the level in the world: Bevy
//! looks at all entities in every frame, and at new ones more closely.

use std::{path::Path, thread::sleep, time::Duration, time::Instant};

use bevy_app::App;
use bevy_asset::{AssetPath, Assets, Handle};
use bevy_ecs::prelude::*;
use bevy_transform::components::Transform;
use bevy_world_serialization::{WorldAsset, WorldAssetRoot};
use seamless_asset::{InstanceId, InstanceRequest, Streamer, StreamingStats};

use crate::{
    app::{KIT, Kit, Plugins, app},
    flight::write_kit,
    row::{Row, Samples, Targets, quantile},
    scene::{Scene, SourceWorld, package},
};

const ENTITIES: usize = 100_000;
const LEVEL: &str = "large.pkg";
/// Frames that are watched after the last change.
const REST: usize = 12;
/// How long a road may take.
const MOST: Duration = Duration::from_secs(60);

/// The worst frame while the level comes.
pub fn reveal(samples: Option<usize>) -> Row {
    run("reveal_100k", samples, |coming, _| coming)
}

/// The worst frame while it goes.
pub fn leave(samples: Option<usize>) -> Row {
    run("leave_100k", samples, |_, going| going)
}

fn run(name: &'static str, samples: Option<usize>, pick: fn(f64, f64) -> f64) -> Row {
    let dir = tempfile::tempdir().expect("a temporary directory");
    {
        let mut app = app(Plugins::Game, dir.path());
        let kit = Kit::live(&mut app);
        write_kit(&app, &kit, dir.path()).expect("a package can be written");
        let level = package(app.world(), &Scene::Renderable(ENTITIES), &kit, LEVEL);
        std::fs::write(dir.path().join(LEVEL), level).expect("a package can be written");
    }
    let (mut ours, mut peer) = (Site::ours(dir.path()), Site::peer(dir.path()));
    let (mut result, mut whole) = (Samples::default(), Samples::default());
    for round in 0..samples.unwrap_or(7) + 1 {
        let our = ours.come_and_go();
        let theirs = peer.come_and_go();
        // The first round makes room.
        if round > 0 {
            let [our, their] = [pick(our.0, our.1), pick(theirs.0, theirs.1)];
            result.ours.push(our);
            result.peer.push(their);
            whole.ours.push(our + ours.resident);
            whole.peer.push(their + peer.resident);
        }
    }
    let targets = Targets {
        first: 15.0,
        aim: 15.0,
        of_limit: None,
    };
    let peer_name = match name {
        "reveal_100k" => "WorldAssetRoot, level in memory",
        _ => "despawn of the root",
    };
    let mut row = result.row(name, "ms", Some(peer_name), None, targets);
    let stats = ours.app.world().resource::<StreamingStats>();
    let [our, their] = [&mut whole.ours, &mut whole.peer].map(|frames| quantile(frames, 0.5));
    row.note = format!(
        "the worst frames as they are, what Bevy does in any frame included: ours {our:.2} ms, peer {their:.2} ms, {:.1}×; median frame with the level in the world: ours {:.2} ms, peer {:.2} ms; frames until it was there: {}; until it was despawned: {}; overruns {}; the pipeline's own part of a frame, at most: {:.2} ms",
        their / our,
        ours.resident,
        peer.resident,
        ours.frames.0,
        ours.frames.1,
        stats.overrun_count,
        ours.streaming
    );
    row
}

enum Road {
    Ours(Option<InstanceId>),
    Peer(Handle<WorldAsset>, Option<Entity>),
}

/// An app in which the level comes and goes.
struct Site {
    app: App,
    road: Road,
    /// The shared assets, where the road does not load them by itself.
    _kit: Option<Kit>,
    /// The median frame with the level in the world, in milliseconds.
    resident: f64,
    /// How many frames the level took to come and to go.
    frames: (usize, usize),
    /// The worst frame's part that is the pipeline's own, in milliseconds.
    streaming: f64,
}

impl Site {
    fn new(app: App, road: Road, kit: Option<Kit>) -> Self {
        Self {
            app,
            road,
            _kit: kit,
            resident: 0.0,
            frames: (0, 0),
            streaming: 0.0,
        }
    }

    fn ours(dir: &Path) -> Self {
        Self::new(app(Plugins::Sliced, dir), Road::Ours(None), None)
    }

    fn peer(dir: &Path) -> Self {
        let mut app = app(Plugins::Game, dir);
        let kit = Kit::live(&mut app);
        let mut source = SourceWorld::new(&Scene::Renderable(ENTITIES), &kit);
        // The entity with the `WorldAssetRoot` is the root.
        source.world.entity_mut(source.root).remove::<Children>();
        source.world.despawn(source.root);
        let mut assets = app.world_mut().resource_mut::<Assets<WorldAsset>>();
        let level = assets.add(WorldAsset::new(source.world));
        Self::new(app, Road::Peer(level, None), Some(kit))
    }

    /// The worst frame while the level comes, and while it goes, beyond what a frame takes with it.
    fn come_and_go(&mut self) -> (f64, f64) {
        let (coming, frames) = self.watch(Self::ask, |site| site.seen() > ENTITIES);
        self.frames.0 = frames;
        let mut resident = Vec::new();
        for _ in 0..REST * 3 {
            resident.push(self.frame());
        }
        self.resident = quantile(&mut resident, 0.5);
        let gone = |site: &mut Self| {
            let hidden = site.app.world().resource::<StreamingStats>().hidden_entities;
            site.seen() == 0 && hidden == 0
        };
        let (going, frames) = self.watch(Self::let_go, gone);
        self.frames.1 = frames;
        (coming - self.resident, going - self.resident)
    }

    /// The worst frame from `act` on until a while after it is `done`, and how many it took.
    fn watch(&mut self, act: impl FnOnce(&mut Self), done: impl Fn(&mut Self) -> bool) -> (f64, usize) {
        // A despawn is done by whoever asks for it.
        let start = Instant::now();
        act(self);
        let asked = start.elapsed().as_secs_f64() * 1e3;
        let mut worst = asked + self.frame();
        let mut frames = 1;
        while !done(self) {
            worst = worst.max(self.frame());
            frames += 1;
            let stats = self.app.world().resource::<StreamingStats>();
            let [revealed, hidden] = [stats.revealed, stats.hidden_entities];
            assert_eq!(stats.failed, 0, "the level can be loaded");
            assert!(
                start.elapsed() < MOST,
                "it does not end: {revealed} revealed, {hidden} hidden"
            );
            sleep(Duration::from_millis(1));
        }
        for _ in 0..REST {
            worst = worst.max(self.frame());
        }
        (worst, frames)
    }

    fn frame(&mut self) -> f64 {
        let start = Instant::now();
        self.app.update();
        let took = start.elapsed().as_secs_f64() * 1e3;
        let streaming = self.app.world().resource::<StreamingStats>().last_frame;
        self.streaming = self.streaming.max(streaming.as_secs_f64() * 1e3);
        took
    }

    fn ask(&mut self) {
        let world = self.app.world_mut();
        match &mut self.road {
            Road::Ours(id) => {
                *id = Some(world.resource_mut::<Streamer>().load(InstanceRequest {
                    name: LEVEL.to_owned(),
                    package: AssetPath::from(LEVEL),
                    dependencies: vec![AssetPath::from(KIT)],
                    ..InstanceRequest::default()
                }));
            }
            Road::Peer(level, root) => {
                *root = Some(world.spawn((WorldAssetRoot(level.clone()), Transform::default())).id());
            }
        }
    }

    fn let_go(&mut self) {
        let world = self.app.world_mut();
        match &mut self.road {
            Road::Ours(id) => {
                if let Some(id) = id.take() {
                    world.resource_mut::<Streamer>().unload(id);
                }
            }
            Road::Peer(_, root) => {
                if let Some(root) = root.take() {
                    world.entity_mut(root).despawn();
                }
            }
        }
    }

    /// Entities that systems see.
    fn seen(&mut self) -> usize {
        let world = self.app.world_mut();
        world.query_filtered::<(), With<Transform>>().iter(world).count()
    }
}
