//! `flight_hitch`: the worst frame of a flight over levels that come and go.
//!
//! Both roads fly the same path at 60 Hz in apps of the same plugins, without a renderer, and are asked for the same levels
//! in the same frames. Ours reads packages from disk; the peer has every level in memory already, as a `WorldAsset` that a
//! `WorldAssetRoot` spawns. A frame is the wall time of the app's update. Its excess is what it takes beyond the median
//! frame of the same flight in the same app with every level live. A sample is the worst excess of one flight.

pub mod budget;
mod calm;
mod content;
mod levels;
mod path;

use std::{
    path::Path,
    thread::sleep,
    time::{Duration, Instant},
};

use bevy_app::App;
use bevy_asset::{AssetPath, Handle};
use bevy_camera::{Camera, Projection};
use bevy_ecs::prelude::*;
use bevy_math::Vec3;
use bevy_transform::components::Transform;
use bevy_world_serialization::{WorldAsset, WorldAssetRoot};
use seamless_asset::{InstanceId, InstanceRequest, Streamer, StreamingStats};
use seamless_level::{LevelState, LevelTable, LevelTarget};
use tempfile::TempDir;

use crate::{
    app::{KIT, Kit, Plugins, app},
    row::{Row, Samples, Targets, quantile},
};
use calm::interruptions;
pub use content::write_kit;
use content::{ENTITIES, corner, file, world_assets, write_packages};
use levels::LevelRoad;
use path::{GRID, RATE, distance, frames, is_wanted, position};

/// Frames that a road gets to come to rest before and after a flight: with half a millisecond each, and sixty levels still on their way out, a slow
/// machine takes hundreds.
const REST: usize = 6_000;

/// What of the world is to be there.
#[derive(Clone, Copy, PartialEq)]
enum Wish {
    All,
    Nothing,
    /// What is [near](is_wanted) this place.
    Around(Vec3),
}

impl Wish {
    fn is_for(self, cell: usize, was_wanted: bool) -> bool {
        match self {
            Self::All => true,
            Self::Nothing => false,
            Self::Around(place) => is_wanted(cell, place, was_wanted),
        }
    }

    /// Where levels are most urgent.
    fn place(self) -> Vec3 {
        match self {
            Self::Around(place) => place,
            _ => position(0),
        }
    }
}

/// How a level is asked for, and let go.
enum Road {
    Ours(Vec<Option<InstanceId>>),
    /// By volumes, and a source on the camera.
    Levels(LevelRoad),
    Peer(Vec<Handle<WorldAsset>>, Vec<Option<Entity>>),
}

/// An app that flies.
struct Plane {
    app: App,
    camera: Entity,
    road: Road,
    /// The shared assets, where the road does not load them by itself.
    _kit: Option<Kit>,
    /// Times of the frames flown so far, in milliseconds.
    frames: Vec<f64>,
    /// What of them was the pipeline's own.
    streaming: Vec<f64>,
    /// Whether this thread had its core all the time, as far as the system tells.
    calm: Vec<bool>,
}

/// Measures the flight.
pub fn run(samples: Option<usize>) -> Row {
    let dir = written();
    let (mut ours, mut peer) = (Plane::ours(dir.path(), Plugins::Game), Plane::peer(dir.path()));
    let (ours_median, peer_median) = (ours.resident_median(), peer.resident_median());
    let mut result = Samples::default();
    let mut note = format!("median frame with everything resident: ours {ours_median:.2} ms, peer {peer_median:.2} ms");
    for _ in 0..samples.unwrap_or(5) {
        let (worst, p99) = ours.fly_and_rest();
        result.ours.push(worst - ours_median);
        note += &format!("\n  ours: worst {worst:.2} ms, p99 {p99:.2} ms");
        let (worst, p99) = peer.fly_and_rest();
        result.peer.push(worst - peer_median);
        note += &format!("; peer: worst {worst:.2} ms, p99 {p99:.2} ms");
    }
    let stats = ours.app.world().resource::<StreamingStats>();
    assert_eq!(stats.failed, 0, "every level can be loaded");
    note += &format!(
        "\n  ours: {} levels revealed, {} left, {} cancelled",
        stats.revealed, stats.left, stats.cancelled
    );
    note += &format!(", {} frames over the budget", stats.overrun_count);
    let targets = Targets {
        first: 5.0,
        aim: 15.0,
        of_limit: None,
    };
    let mut row = result.row(
        "flight_hitch",
        "ms",
        Some("WorldAssetRoot, levels in memory"),
        None,
        targets,
    );
    row.note = note;
    row
}

/// All packages of the flight, in a folder of their own.
fn written() -> TempDir {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut app = app(Plugins::Game, dir.path());
    let kit = Kit::live(&mut app);
    write_packages(&mut app, &kit, dir.path()).expect("packages can be written");
    dir
}

impl Plane {
    fn new(mut app: App, road: Road, kit: Option<Kit>) -> Self {
        let place = Transform::from_translation(position(0)).looking_to(Vec3::new(1.0, -0.4, 0.0), Vec3::Y);
        let camera = app
            .world_mut()
            .spawn((Camera::default(), Projection::default(), place))
            .id();
        Self {
            app,
            camera,
            road,
            _kit: kit,
            frames: Vec::new(),
            streaming: Vec::new(),
            calm: Vec::new(),
        }
    }

    fn ours(dir: &Path, plugins: Plugins) -> Self {
        Self::new(app(plugins, dir), Road::Ours(vec![None; GRID * GRID]), None)
    }

    /// With all that a game has: levels of a world, asked for by volumes.
    fn levels(dir: &Path) -> Self {
        let mut plane = Self::new(app(Plugins::Levels, dir), Road::Ours(Vec::new()), None);
        plane.road = Road::Levels(LevelRoad::new(&mut plane.app, plane.camera));
        plane
    }

    fn peer(dir: &Path) -> Self {
        let mut app = app(Plugins::Game, dir);
        let kit = Kit::live(&mut app);
        let levels = world_assets(&mut app, &kit);
        Self::new(app, Road::Peer(levels, vec![None; GRID * GRID]), Some(kit))
    }

    /// The median frame of the flight with every level live.
    fn resident_median(&mut self) -> f64 {
        quantile(&mut self.resident(1), 0.5)
    }

    /// The frames of so many flights with every level live: nothing is streamed.
    fn resident(&mut self, flights: usize) -> Vec<f64> {
        self.ask(Wish::All);
        self.rest(GRID * GRID);
        let mut frames = Vec::new();
        for _ in 0..flights {
            self.fly(|_| Wish::All);
            frames.append(&mut self.frames);
        }
        self.ask(Wish::Nothing);
        self.rest(0);
        frames
    }

    /// Flies with streaming; the worst frame and the 99th percentile.
    fn fly_and_rest(&mut self) -> (f64, f64) {
        let start = Wish::Around(position(0));
        self.move_to(position(0));
        self.ask(start);
        self.rest((0..GRID * GRID).filter(|cell| start.is_for(*cell, false)).count());
        self.fly(Wish::Around);
        let worst = quantile(&mut self.frames, 1.0);
        let p99 = quantile(&mut self.frames, 0.99);
        self.ask(Wish::Nothing);
        self.rest(0);
        (worst, p99)
    }

    /// Flies all of the path, with this wish at each place.
    fn fly(&mut self, wish: fn(Vec3) -> Wish) {
        self.frames.clear();
        self.streaming.clear();
        self.calm.clear();
        let mut due = Instant::now();
        for frame in 0..frames() {
            let place = position(frame);
            self.frame(place, wish(place), &mut due);
        }
    }

    fn move_to(&mut self, place: Vec3) {
        if let Some(mut camera) = self.app.world_mut().get_mut::<Transform>(self.camera) {
            camera.translation = place;
        }
    }

    /// One frame, in its time slot.
    fn frame(&mut self, place: Vec3, wish: Wish, due: &mut Instant) {
        let interrupted = interruptions();
        let start = Instant::now();
        self.move_to(place);
        self.ask(wish);
        self.app.update();
        self.frames.push(start.elapsed().as_secs_f64() * 1e3);
        let streaming = self.app.world().resource::<StreamingStats>().last_frame;
        self.streaming.push(streaming.as_secs_f64() * 1e3);
        self.calm.push(interruptions() == interrupted);
        *due += Duration::from_secs_f32(1.0 / RATE);
        match due.checked_duration_since(Instant::now()) {
            Some(time) => sleep(time),
            // A frame that came late does not hurry the next ones.
            None => *due = Instant::now(),
        }
    }

    /// Asks for the levels that are wanted, and lets the others go.
    fn ask(&mut self, wish: Wish) {
        let world = self.app.world_mut();
        if let Road::Levels(road) = &mut self.road {
            return road.ask(world, wish);
        }
        for cell in 0..GRID * GRID {
            match &mut self.road {
                Road::Levels(_) => {}
                Road::Ours(ids) => match (wish.is_for(cell, ids[cell].is_some()), ids[cell]) {
                    (true, None) => {
                        ids[cell] = Some(world.resource_mut::<Streamer>().load(request(cell, wish.place())))
                    }
                    (false, Some(id)) => {
                        world.resource_mut::<Streamer>().unload(id);
                        ids[cell] = None;
                    }
                    _ => {}
                },
                Road::Peer(levels, roots) => match (wish.is_for(cell, roots[cell].is_some()), roots[cell]) {
                    (true, None) => {
                        let root = WorldAssetRoot(levels[cell].clone());
                        roots[cell] = Some(world.spawn((root, Transform::from_translation(corner(cell)))).id());
                    }
                    (false, Some(root)) => {
                        world.entity_mut(root).despawn();
                        roots[cell] = None;
                    }
                    _ => {}
                },
            }
        }
    }

    /// Waits until as many levels are live, and nothing is left of others, and a little longer.
    fn rest(&mut self, levels: usize) {
        let mut quiet = 0;
        for _ in 0..REST {
            self.app.update();
            let hidden = self.app.world().resource::<StreamingStats>().hidden_entities;
            quiet += usize::from(hidden == 0 && self.live_entities() == levels * (ENTITIES + 1));
            if quiet > 10 {
                return;
            }
            sleep(Duration::from_millis(2));
        }
        let live = self.live_entities();
        panic!(
            "{levels} levels are asked for, and {live} entities are live{}",
            self.unsettled()
        );
    }

    /// What is on its way, and what the pipeline did last.
    fn unsettled(&mut self) -> String {
        let world = self.app.world_mut();
        let mut tables = world.query::<&LevelTable>();
        let levels = tables.iter(world).flat_map(LevelTable::iter);
        let moving =
            levels.filter(|level| (level.state(), level.target()) != (LevelState::Unloaded, LevelTarget::Unloaded));
        let moving =
            moving.map(|level| format!("\n  {}: {:?}, to be {:?}", level.name(), level.state(), level.target()));
        let moving: String = moving.collect();
        let mut stats = world.resource::<StreamingStats>().clone();
        stats.overruns = stats.overruns.split_off(stats.overruns.len().saturating_sub(3));
        format!("{moving}\n{stats:#?}")
    }

    fn live_entities(&mut self) -> usize {
        let world = self.app.world_mut();
        world
            .query_filtered::<(), (With<Transform>, Without<Camera>)>()
            .iter(world)
            .count()
    }
}

fn request(cell: usize, place: Vec3) -> InstanceRequest {
    InstanceRequest {
        name: file(cell),
        package: AssetPath::from(file(cell)),
        dependencies: vec![AssetPath::from(KIT)],
        placement: Transform::from_translation(corner(cell)),
        priority: -distance(cell, place),
        ..InstanceRequest::default()
    }
}
