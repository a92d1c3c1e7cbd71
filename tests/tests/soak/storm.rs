//! Every level of two hundred is to be elsewhere in every frame: each request comes to one end.

use std::collections::{BTreeMap, BTreeSet};

use bevy::{asset::AssetPath, prelude::*};
use bevy_seamless::{
    asset::{InstanceEvent, InstanceId, InstanceRequest},
    prelude::*,
};
use seamless_tests::{atomicity::Atomicity, random::Random};

use crate::{apart, bed::Bed, content::name_of, frames};

const LEVELS: usize = 200;
const FRAMES: u64 = 100_000;
/// How long a level goes to and fro between the same two targets, in frames.
const SAME_PAIR: u64 = 50;
/// Two of three.
const PAIRS: [[usize; 2]; 3] = [[0, 1], [0, 2], [1, 2]];

/// Which of three targets each level has in each frame.
struct Flips {
    random: Random,
    pairs: Vec<[usize; 2]>,
}

impl Flips {
    fn new() -> Self {
        Self {
            random: Random(5),
            pairs: vec![PAIRS[0]; LEVELS],
        }
    }

    fn next(&mut self, level: usize, frame: u64) -> usize {
        // Not all at the same time.
        if (frame + level as u64).is_multiple_of(SAME_PAIR) {
            self.pairs[level] = PAIRS[self.random.below(3) as usize];
        }
        self.pairs[level][frame as usize % 2]
    }
}

/// By name, through all that decides about levels.
#[test]
fn levels_that_flip_in_every_frame() {
    apart("storm::levels_that_flip_in_every_frame", levels);
}

fn levels() {
    let all = frames(FRAMES);
    let mut bed = Bed::new(LEVELS, false);
    let before = bed.footprint();
    let mut flips = Flips::new();
    let names: Vec<String> = (0..LEVELS).map(name_of).collect();
    for frame in 0..all {
        bed.levels(|mut levels| {
            for (level, name) in names.iter().enumerate() {
                let asked = match flips.next(level, frame) {
                    0 => levels.unload(name),
                    1 => levels.preload(name),
                    _ => levels.load(name),
                };
                asked.expect("the request is taken");
            }
        });
        bed.update();
    }
    names
        .iter()
        .for_each(|name| bed.levels(|mut levels| levels.release(name).expect("it is there")));
    bed.update();
    bed.until("all levels leave", |ecs| {
        ecs.resource::<Streamer>().is_empty() && ecs.resource::<StreamingStats>().hidden_entities == 0
    });
    (0..4).for_each(|_| bed.update());
    let counts = bed.app.world().resource::<Atomicity>().counts();
    bed.assert_whole();
    assert_eq!((counts.open, counts.revealed), (0, counts.left), "{counts:?}");
    assert!(counts.revealed > all / 100 && counts.cancelled > all / 10, "{counts:?}");
    assert!(counts.hidden > all / 100, "{counts:?}");
    let world = bed.world;
    let levels = bed.app.world().get::<LevelTable>(world).expect("it stays");
    for level in levels {
        assert_eq!(
            (level.target(), level.state()),
            (LevelTarget::Unloaded, LevelState::Unloaded),
            "{}",
            level.name()
        );
        assert_eq!((level.entities(), level.root(), level.instance()), (0, None, None));
    }
    settle(&mut bed, |bed| bed.footprint() == before);
    assert_eq!(bed.footprint(), before);
}

/// Frames until it holds, or for a while.
fn settle(bed: &mut Bed, mut done: impl FnMut(&mut Bed) -> bool) {
    for _ in 0..2_000 {
        if done(bed) {
            return;
        }
        bed.update();
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

/// The ends of the instances that were asked for.
#[derive(Default)]
struct Ends {
    open: BTreeSet<InstanceId>,
    /// They are known until somebody lets go of them.
    failed: Vec<InstanceId>,
    counts: BTreeMap<&'static str, u64>,
}

impl Ends {
    fn read(&mut self, bed: &Bed, from: &mut bevy::ecs::message::MessageCursor<InstanceEvent>) {
        let events = bed.app.world().resource::<Messages<InstanceEvent>>();
        for event in from.read(events) {
            let (id, end) = match event {
                InstanceEvent::Left { id } => (id, "left"),
                InstanceEvent::Cancelled { id } => (id, "cancelled"),
                InstanceEvent::Failed { id, .. } => (id, "failed"),
                InstanceEvent::Loaded { .. } => {
                    *self.counts.entry("loaded").or_default() += 1;
                    continue;
                }
                InstanceEvent::Revealed { .. } | InstanceEvent::Hidden { .. } | InstanceEvent::Shown { .. } => continue,
            };
            assert!(
                self.open.remove(id),
                "{id:?} ends a second time, or was never asked for: {end}"
            );
            if end == "failed" {
                self.failed.push(*id);
            }
            *self.counts.entry(end).or_default() += 1;
        }
    }
}

/// By instance: each id that was given out comes back once.
#[test]
fn instances_that_flip_in_every_frame() {
    apart("storm::instances_that_flip_in_every_frame", instances);
}

fn instances() {
    const TARGETS: [InstanceTarget; 3] = [InstanceTarget::Gone, InstanceTarget::Loaded, InstanceTarget::Shown];
    let all = frames(FRAMES);
    let mut bed = Bed::new(LEVELS, false);
    let before = bed.footprint();
    let world = bed.world;
    let table = bed.app.world().get::<LevelTable>(world).expect("it is there");
    let packages: Vec<String> = table.iter().map(|level| level.entry().package.clone()).collect();
    let (mut flips, mut ends, mut asked) = (Flips::new(), Ends::default(), 0_u64);
    let mut cursor = bevy::ecs::message::MessageCursor::default();
    let mut instances: Vec<Option<InstanceId>> = vec![None; LEVELS];
    for frame in 0..all {
        let mut streamer = bed.app.world_mut().resource_mut::<Streamer>();
        ends.failed.drain(..).for_each(|id| streamer.unload(id));
        for (level, id) in instances.iter_mut().enumerate() {
            let target = TARGETS[flips.next(level, frame)];
            let known = id.filter(|id| ends.open.contains(id));
            match known {
                Some(id) => streamer.set_target(id, target),
                None if target == InstanceTarget::Gone => {}
                None => {
                    let new = streamer.load(InstanceRequest {
                        name: name_of(level),
                        package: AssetPath::parse(&packages[level]).into_owned(),
                        target,
                        ..InstanceRequest::default()
                    });
                    ends.open.insert(new);
                    *id = Some(new);
                    asked += 1;
                }
            }
        }
        bed.update();
        ends.read(&bed, &mut cursor);
    }
    let mut streamer = bed.app.world_mut().resource_mut::<Streamer>();
    instances.iter().flatten().for_each(|id| streamer.unload(*id));
    settle(&mut bed, |bed| {
        ends.read(bed, &mut cursor);
        let mut streamer = bed.app.world_mut().resource_mut::<Streamer>();
        ends.failed.drain(..).for_each(|id| streamer.unload(id));
        ends.open.is_empty() && bed.footprint() == before
    });
    assert_eq!((bed.footprint(), ends.open.len()), (before, 0));
    let ended: u64 = ["left", "cancelled", "failed"]
        .iter()
        .filter_map(|end| ends.counts.get(end))
        .sum();
    assert_eq!(ended, asked, "{:?}", ends.counts);
    for what in ["left", "cancelled", "failed", "loaded"] {
        assert!(
            ends.counts.get(what).is_some_and(|count| *count > 50),
            "{what} happens often: {:?}",
            ends.counts
        );
    }
}
