//! What players do: they walk, dive and teleport, some to places that are got ready before, and the game asks for levels by itself.

use std::collections::VecDeque;

use bevy::prelude::*;
use bevy_seamless::{
    level::{Arrival, ArrivalPoint, RequestKind, SourceMotion, StreamingResult},
    prelude::*,
};
use seamless_tests::random::Random;

use crate::{
    bed::{Bed, FRAME},
    content::{DAMAGED, PACKAGES, SPACING, name_of, place_of, side_of},
    town::Town,
};

/// Moving points of view.
const SOURCES: usize = 4;
/// Metres in a second: on foot, and in a dive.
const WALK: f32 = 30.0;
const DIVE: f32 = 530.0;
/// Tickets and wishes that are held at a time, at most.
const MOST_HELD: usize = 24;
/// Places that are got ready at a time, at most: the oldest is given up.
const MOST_PREPARED: usize = 6;
/// Far from every volume.
const NOWHERE: Vec3 = Vec3::new(0.0, 1.0e6, 0.0);

struct Player {
    source: Entity,
    /// Metres in a second.
    velocity: Vec3,
}

/// A player who is going to be elsewhere.
struct Journey {
    player: usize,
    to: Vec3,
    arrival: Arrival,
}

/// What became of journeys.
#[derive(Debug, Default)]
pub struct Journeys {
    /// All that the place asks for was there.
    pub ready: u64,
    /// All but what could not be loaded.
    pub with_failures: u64,
    pub given_up: u64,
}

/// Everything that asks for levels.
pub struct Drive {
    random: Random,
    players: Vec<Player>,
    tickets: VecDeque<LevelTicket>,
    wishes: VecDeque<Entity>,
    /// Names with standing requests.
    standing: VecDeque<String>,
    journeys: VecDeque<Journey>,
    pub ended: Journeys,
    pub town: Town,
}

impl Drive {
    pub fn new(bed: &mut Bed) -> Self {
        let source = |_| Player {
            source: bed
                .app
                .world_mut()
                .spawn((StreamingSource::default(), at(NOWHERE)))
                .id(),
            velocity: Vec3::ZERO,
        };
        Self {
            players: (0..SOURCES).map(source).collect(),
            random: Random(11),
            tickets: VecDeque::new(),
            wishes: VecDeque::new(),
            standing: VecDeque::new(),
            journeys: VecDeque::new(),
            ended: Journeys::default(),
            town: Town::new(bed),
        }
    }

    /// What happens in one frame.
    pub fn frame(&mut self, bed: &mut Bed) {
        for number in 0..self.players.len() {
            self.steer(bed, number);
        }
        self.arrive(bed);
        self.town.frame(bed, &mut self.random);
        match self.random.below(24) {
            0 | 1 => self.hold(bed),
            2 => self.wish(bed),
            3 | 5 => self.stand(bed),
            4 => self.tickets.truncate(self.tickets.len() / 2),
            6 => self.prepare(bed),
            _ => {}
        }
    }

    /// Nobody wants anything any more.
    pub fn rest(&mut self, bed: &mut Bed) {
        self.tickets.clear();
        self.journeys.clear();
        self.town.rest(bed);
        for wish in self.wishes.drain(..) {
            bed.app.world_mut().despawn(wish);
        }
        for name in self.standing.drain(..) {
            bed.levels(|mut levels| levels.release(&name).expect("the level is there"));
        }
        self.players.iter_mut().for_each(|player| {
            player.velocity = Vec3::ZERO;
            put(bed, player.source, NOWHERE);
        });
    }

    /// All players stand where they stood at every other time.
    pub fn camp(&mut self, bed: &mut Bed) {
        let side = side_of(bed.levels) as f32 * SPACING;
        for (number, player) in self.players.iter().enumerate() {
            let along = side * (number as f32 + 0.5) / SOURCES as f32;
            put(bed, player.source, Vec3::new(along, 0.0, side / 2.0));
        }
    }

    fn level(&mut self, bed: &Bed) -> String {
        name_of(self.random.below(bed.levels as u64) as usize)
    }

    /// A level whose file is damaged.
    fn damaged(&mut self, bed: &Bed) -> usize {
        DAMAGED[0] + PACKAGES * self.random.below((bed.levels / PACKAGES) as u64) as usize
    }

    /// A point of the world, with an edge of nothing around it.
    fn point(&mut self, bed: &Bed) -> Vec3 {
        let side = side_of(bed.levels) as u64 * SPACING as u64;
        let mut along = || self.random.below(side + 400) as f32 - 200.0;
        Vec3::new(along(), 0.0, along())
    }

    /// Players turn now and then; one in a while dives, or is somewhere else.
    fn steer(&mut self, bed: &mut Bed, number: usize) {
        let now = place(bed, self.players[number].source);
        match self.random.below(400) {
            0 => {
                let to = self.point(bed);
                return put(bed, self.players[number].source, to);
            }
            1 | 2 => self.head(bed, number, now, DIVE),
            3..12 => self.head(bed, number, now, WALK),
            _ => {}
        }
        let next = now + self.players[number].velocity * FRAME.as_secs_f32();
        put(bed, self.players[number].source, next);
    }

    fn head(&mut self, bed: &Bed, number: usize, from: Vec3, speed: f32) {
        let way = self.point(bed) - from;
        self.players[number].velocity = way.normalize_or_zero() * speed;
    }

    /// One in a while, a place is got ready for a player.
    fn prepare(&mut self, bed: &mut Bed) {
        let player = self.random.below(SOURCES as u64) as usize;
        // One in four leads to where not all can be read.
        let to = match self.random.below(4) {
            0 => place_of(self.damaged(bed), bed.levels),
            _ => self.point(bed),
        };
        let arrival = bed.levels(|mut levels| levels.prepare(ArrivalPoint::at(to)));
        self.journeys.push_back(Journey { player, to, arrival });
        // Or somebody has changed their mind: where all is ready at once, nobody waits for so many.
        if self.journeys.len() > MOST_PREPARED || self.random.below(20) == 0 {
            self.journeys.pop_front();
            self.ended.given_up += 1;
        }
    }

    /// Whose place is ready is there at once.
    fn arrive(&mut self, bed: &mut Bed) {
        let Self {
            journeys,
            players,
            ended,
            ..
        } = self;
        journeys.retain(|journey| {
            let Some(result) = journey.arrival.result() else {
                return true;
            };
            let progress = journey.arrival.progress();
            match result {
                StreamingResult::Ready => ended.ready += 1,
                StreamingResult::WithFailures(_) => ended.with_failures += 1,
                StreamingResult::Gone => panic!("the world stays: {progress:?}"),
            }
            assert_eq!(progress.wanted, progress.there + progress.failed, "{result:?}");
            let player = &mut players[journey.player];
            player.velocity = Vec3::ZERO;
            put(bed, player.source, journey.to);
            let mut motion = bed.app.world_mut().get_mut::<SourceMotion>(player.source);
            motion.as_mut().expect("a source has it").teleported();
            false
        });
    }

    /// A ticket, often for a level that is there: to hide it, ban it, or keep it.
    fn hold(&mut self, bed: &mut Bed) {
        let level = self.level(bed);
        let target = [
            LevelTarget::Visible,
            LevelTarget::Loaded,
            LevelTarget::Visible,
            LevelTarget::Unloaded,
        ];
        let target = target[self.random.below(4) as usize];
        let ticket = bed.levels(|mut levels| levels.request(&level, target));
        self.tickets.push_back(ticket.expect("the request is taken"));
        if self.tickets.len() > MOST_HELD {
            self.tickets.pop_front();
        }
    }

    /// An entity of the game that wants levels.
    fn wish(&mut self, bed: &mut Bed) {
        let kinds = [
            RequestKind::Load,
            RequestKind::Show,
            RequestKind::ShowIfLoaded,
            RequestKind::Ban,
        ];
        let wanted = LevelWanted {
            levels: vec![self.level(bed), self.level(bed)],
            kind: kinds[self.random.below(4) as usize],
            ..LevelWanted::default()
        };
        let ecs = bed.app.world_mut();
        self.wishes.push_back(ecs.spawn(wanted).id());
        if self.wishes.len() > MOST_HELD
            && let Some(oldest) = self.wishes.pop_front()
        {
            ecs.despawn(oldest);
        }
    }

    fn stand(&mut self, bed: &mut Bed) {
        let what = self.random.below(3);
        // Often one that was spoken of: it is hidden, shown again, or sent away.
        let known = self.random.below(2) == 0 && !self.standing.is_empty();
        let level = if known {
            let which = self.random.below(self.standing.len() as u64) as usize;
            self.standing.remove(which).expect("it is there")
        } else {
            self.level(bed)
        };
        let asked = bed.levels(|mut levels| match what {
            0 => levels.load(&level),
            1 => levels.preload(&level),
            _ => levels.unload(&level),
        });
        asked.expect("the request is taken");
        self.standing.push_back(level);
        if self.standing.len() > MOST_HELD
            && let Some(oldest) = self.standing.pop_front()
        {
            bed.levels(|mut levels| levels.release(&oldest).expect("the level is there"));
        }
    }
}

fn at(place: Vec3) -> Transform {
    Transform::from_translation(place)
}

fn place(bed: &Bed, source: Entity) -> Vec3 {
    let transform = bed.app.world().get::<Transform>(source);
    transform.expect("the source stays").translation
}

fn put(bed: &mut Bed, source: Entity, place: Vec3) {
    bed.app.world_mut().entity_mut(source).insert(at(place));
}
