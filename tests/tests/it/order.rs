//! What sources and requests say of urgency decides which level is read next, also of those that wait already.

use bevy::{ecs::system::RunSystemOnce, prelude::*};
use bevy_seamless::prelude::*;
use seamless_asset::doubles::{Fate, ReadGate};
use seamless_tests::{
    app::run_until,
    cooked::{Ask, Cooked, MANIFEST, STREAM_LIMIT, ask, level_of, spawn_world, state},
    fixtures::register_types,
};

use super::{bad_input::write_shared_sources, faults::gated_app};

/// One that is asked for by name and holds up the others, which sources ask for.
const LEVELS: [&str; 3] = ["first", "west", "east"];
/// Frames in which what sources see reaches the pipeline.
const FRAMES: usize = 4;

/// A world whose first level is being read, and nobody else may be meanwhile.
struct Queue {
    app: App,
    world: Entity,
    gate: ReadGate,
    source: Entity,
}

fn cook() -> Cooked {
    let levels = [(LEVELS[0], -5_000.0), (LEVELS[1], -300.0), (LEVELS[2], 300.0)];
    let level = |(name, x): (&str, f32)| {
        format!("(name: \"{name}\", source: \"animated.gltf\", translation: ({x:?}, 0.0, 0.0))")
    };
    let world = format!("(levels: [{}], volumes: [])", levels.map(level).join(", "));
    Cooked::new(write_shared_sources, &world, register_types)
}

impl Queue {
    fn new(cooked: &Cooked, source: (StreamingSource, Transform)) -> Self {
        let mut queue = Self::before_anybody_asks(cooked);
        queue.source = queue.app.world_mut().spawn(source).id();
        queue.wait();
        queue
    }

    /// Nobody wants the others yet, and there is no source.
    fn before_anybody_asks(cooked: &Cooked) -> Self {
        let gate = ReadGate::default();
        gate.otherwise(Some(Fate::Pass));
        let mut app = gated_app(cooked, &gate);
        app.world_mut().resource_mut::<StreamingSettings>().max_loads_in_flight = 1;
        let world = spawn_world(&mut app, MANIFEST);
        let range = 1_000.0;
        app.world_mut().entity_mut(world).insert(DistanceStreaming {
            load: range,
            show: range,
            unload: range,
            ..DistanceStreaming::default()
        });
        let there = run_until(&mut app, STREAM_LIMIT, |ecs| ecs.get::<LevelTable>(world).is_some());
        assert!(there, "the manifest loads");
        gate.otherwise(None);
        ask(&mut app, LEVELS[0], Ask::Load);
        assert!(run_until(&mut app, STREAM_LIMIT, |_| !gate.pending().is_empty()));
        Self {
            app,
            world,
            gate,
            source: Entity::PLACEHOLDER,
        }
    }

    fn wait(&mut self) {
        (0..FRAMES).for_each(|_| self.app.update());
        for level in &LEVELS[1..] {
            let level = level_of(self.app.world(), self.world, level);
            assert!(level.is_wanted() && !level.is_visible(), "{} waits", level.name());
        }
        let begun = self.gate.begun();
        assert!(!begun.iter().any(|read| is_of(&read.path, &LEVELS[1..])), "{begun:?}");
    }

    fn set<C: Component<Mutability = bevy::ecs::component::Mutable>>(&mut self, change: impl FnOnce(&mut C)) {
        let mut of_source = self.app.world_mut().get_mut::<C>(self.source).expect("it is there");
        change(&mut of_source);
        self.wait();
    }

    /// Lets all be read; the two that waited, in the order in which they were.
    fn read(mut self) -> Vec<String> {
        self.gate.otherwise(Some(Fate::Pass));
        while self.gate.release_next(Fate::Pass).is_some() {}
        let world = self.world;
        let all = |ecs: &World| {
            LEVELS
                .iter()
                .all(|level| state(ecs, world, level) == LevelState::Visible)
        };
        assert!(run_until(&mut self.app, STREAM_LIMIT, all));
        let mut order: Vec<String> = Vec::new();
        for read in self.gate.begun() {
            if is_of(&read.path, &LEVELS[1..]) && !order.contains(&read.path) {
                order.push(read.path);
            }
        }
        order
    }
}

fn is_of(path: &str, levels: &[&str]) -> bool {
    levels.iter().any(|level| path == format!("{level}.pkg"))
}

fn still() -> StreamingSource {
    StreamingSource {
        ahead: 0.0,
        ..StreamingSource::default()
    }
}

fn at(x: f32) -> Transform {
    Transform::from_xyz(x, 0.0, 0.0)
}

const WEST_FIRST: [&str; 2] = ["west.pkg", "east.pkg"];
const EAST_FIRST: [&str; 2] = ["east.pkg", "west.pkg"];

#[test]
fn what_is_nearest_when_there_is_room_is_read_next() {
    let cooked = cook();
    assert_eq!(Queue::new(&cooked, (still(), at(-100.0))).read(), WEST_FIRST);
    assert_eq!(Queue::new(&cooked, (still(), at(100.0))).read(), EAST_FIRST);
    let mut moved = Queue::new(&cooked, (still(), at(-100.0)));
    moved.set::<Transform>(|place| *place = at(100.0));
    assert_eq!(moved.read(), EAST_FIRST);
    moved = Queue::new(&cooked, (still(), at(100.0)));
    moved.set::<Transform>(|place| *place = at(-100.0));
    assert_eq!(moved.read(), WEST_FIRST);
}

#[test]
fn what_a_source_looks_at_is_read_before_what_is_behind_it() {
    let cooked = cook();
    let looks = |x: f32| Transform::default().looking_to(Vec3::X * x, Vec3::Y);
    let mut turned = Queue::new(&cooked, (still(), looks(-1.0)));
    turned.set::<Transform>(|place| *place = looks(1.0));
    assert_eq!(turned.read(), EAST_FIRST);
    turned = Queue::new(&cooked, (still(), looks(1.0)));
    turned.set::<Transform>(|place| *place = looks(-1.0));
    assert_eq!(turned.read(), WEST_FIRST);
}

#[test]
fn what_a_source_of_more_priority_is_near_to_is_read_first() {
    let cooked = cook();
    for (others, expected) in [(0.1, WEST_FIRST), (10.0, EAST_FIRST)] {
        let mut two = Queue::new(&cooked, (still(), at(-100.0)));
        two.app.world_mut().spawn((still(), at(100.0)));
        two.wait();
        let priority = |source: &mut StreamingSource| source.priority = 1.0 / others;
        two.set(priority);
        assert_eq!(two.read(), expected);
    }
}

/// Whichever was asked for first, and with nobody there.
#[test]
fn of_two_places_that_are_prepared_the_one_of_more_priority_is_read_first() {
    let cooked = cook();
    for (priorities, expected) in [([10.0, 1.0], WEST_FIRST), ([1.0, 10.0], EAST_FIRST)] {
        for is_west_asked_first in [true, false] {
            let mut queue = Queue::before_anybody_asks(&cooked);
            let [west, east] = priorities;
            let mut places = [place(-100.0, west), place(100.0, east)];
            if !is_west_asked_first {
                places.reverse();
            }
            let _held = places.map(|place| prepare(&mut queue.app, place));
            queue.wait();
            assert_eq!(queue.read(), expected);
        }
    }
}

fn place(x: f32, priority: f32) -> ArrivalPoint {
    ArrivalPoint {
        priority,
        ..ArrivalPoint::at(Vec3::X * x)
    }
}

fn prepare(app: &mut App, place: ArrivalPoint) -> Arrival {
    let prepare = move |mut levels: Levels| levels.prepare(place);
    app.world_mut().run_system_once(prepare).expect("the system runs")
}

/// However near the others are.
#[test]
fn what_is_asked_for_by_name_is_read_first() {
    let cooked = cook();
    let mut named = Queue::new(&cooked, (still(), at(-299.0)));
    ask(&mut named.app, LEVELS[2], Ask::Load);
    named.wait();
    assert_eq!(named.read(), EAST_FIRST);
}
