//! What the game builds by itself: levels once more, links between them, and volumes that travel.

use std::collections::VecDeque;

use bevy::prelude::*;
use bevy_seamless::{
    level::{LinkedEntity, NewInstance, SoftEntity, SoftLink},
    prelude::*,
};
use seamless_tests::random::Random;

use crate::{
    bed::{Bed, FRAME},
    content::{SPACING, name_of, side_of},
};

/// Instances that stand at a time, at most.
const MOST_BUILT: usize = 16;
/// Names that they have in turns.
const NAMES: u64 = 40;
const LINKS: usize = 32;
const SHIPS: usize = 2;
/// Metres in a second.
const KNOTS: f32 = 90.0;
/// Far from everybody.
const HARBOUR: Vec3 = Vec3::new(0.0, -1.0e6, 0.0);

/// Everything that the game has built.
pub struct Town {
    built: VecDeque<(String, Option<LevelTicket>)>,
    count: u64,
    links: Vec<Entity>,
    ships: Vec<(Entity, Vec3)>,
    pub seen: Seen,
}

/// What has happened at all.
#[derive(Debug, Default)]
pub struct Seen {
    pub instances: u64,
    /// Frames in which an instance was visible, and a link led somewhere.
    pub visible: u64,
    pub linked: u64,
}

impl Town {
    pub fn new(bed: &mut Bed) -> Self {
        let ecs = bed.app.world_mut();
        let link = || SoftLink::new(SoftEntity::new(name_of(0), "0"));
        let volume = |number: usize| StreamingVolume {
            unload_delay: 0.5,
            ..StreamingVolume::new(
                VolumeShape::Sphere {
                    center: Vec3::Z * 10.0,
                    radius: 4.0 * SPACING,
                },
                [name_of(number), name_of(number + 1)],
            )
        };
        Self {
            built: VecDeque::new(),
            count: 0,
            links: (0..LINKS).map(|_| ecs.spawn(link()).id()).collect(),
            ships: (0..SHIPS)
                .map(|number| {
                    let ship = (volume(number), Transform::from_translation(HARBOUR));
                    (ecs.spawn(ship).id(), Vec3::ZERO)
                })
                .collect(),
            seen: Seen::default(),
        }
    }

    /// What happens in one frame.
    pub fn frame(&mut self, bed: &mut Bed, random: &mut Random) {
        match random.below(120) {
            0 => self.build(bed, random),
            1 => self.pull_down(bed, random.below(MOST_BUILT as u64) as usize),
            2..14 => self.link(bed, random),
            14 => self.set_sail(bed, random),
            _ => {}
        }
        for (ship, velocity) in &self.ships {
            let place = bed.app.world_mut().get_mut::<Transform>(*ship);
            place.expect("ships stay").translation += *velocity * FRAME.as_secs_f32();
        }
        self.look(bed);
    }

    /// Everything is as it was at the beginning.
    pub fn rest(&mut self, bed: &mut Bed) {
        while !self.built.is_empty() {
            self.pull_down(bed, 0);
        }
        let ecs = bed.app.world_mut();
        for link in &self.links {
            ecs.entity_mut(*link)
                .insert(SoftLink::new(SoftEntity::new(name_of(0), "0")));
        }
        for (ship, velocity) in &mut self.ships {
            *velocity = Vec3::ZERO;
            ecs.entity_mut(*ship).insert(Transform::from_translation(HARBOUR));
        }
    }

    /// Another placement of a level, turned and larger; its ticket is kept, or dropped at once.
    fn build(&mut self, bed: &mut Bed, random: &mut Random) {
        if self.built.len() >= MOST_BUILT {
            self.pull_down(bed, 0);
        }
        let name = self.free_name();
        let of = name_of(random.below(bed.levels as u64) as usize);
        let place = Transform::from_translation(point(bed, random))
            .with_rotation(Quat::from_rotation_y(random.below(6) as f32))
            .with_scale(Vec3::splat(1.0 + random.below(3) as f32));
        let ticket = bed.levels(|mut levels| levels.add_instance(NewInstance::new(&*name, of, place)));
        let ticket = ticket.expect("its name is free");
        self.seen.instances += 1;
        let is_kept = random.below(4) > 0;
        self.built.push_back((name, is_kept.then_some(ticket)));
    }

    fn free_name(&mut self) -> String {
        loop {
            self.count += 1;
            let name = format!("house_{}", self.count % NAMES);
            if self.built.iter().all(|(other, _)| *other != name) {
                return name;
            }
        }
    }

    fn pull_down(&mut self, bed: &mut Bed, which: usize) {
        let Some((name, ticket)) = self.built.remove(which) else {
            return;
        };
        // Whichever is first.
        if self.count.is_multiple_of(2) {
            drop(ticket);
            bed.levels(|mut levels| levels.remove_instance(&name))
        } else {
            bed.levels(|mut levels| levels.remove_instance(&name))
        }
        .expect("it was added");
    }

    /// A link leads elsewhere from now on.
    fn link(&mut self, bed: &mut Bed, random: &mut Random) {
        let link = self.links[random.below(LINKS as u64) as usize];
        let level = match self.built.front() {
            Some((name, _)) if random.below(2) == 0 => name.clone(),
            _ => name_of(random.below(bed.levels as u64) as usize),
        };
        let to = SoftEntity::new(level, random.below(6).to_string());
        bed.app.world_mut().entity_mut(link).insert(SoftLink::new(to));
    }

    fn set_sail(&mut self, bed: &mut Bed, random: &mut Random) {
        let (from, to) = (point(bed, random), point(bed, random));
        let which = random.below(SHIPS as u64) as usize;
        let (ship, velocity) = &mut self.ships[which];
        *velocity = (to - from).normalize_or_zero() * KNOTS;
        let place = Transform::from_translation(from).with_rotation(Quat::from_rotation_y(1.0));
        bed.app.world_mut().entity_mut(*ship).insert(place);
    }

    /// A link leads to who can be seen, or nowhere.
    fn look(&mut self, bed: &Bed) {
        let ecs = bed.app.world();
        for link in &self.links {
            let to = ecs.get::<LinkedEntity>(*link).and_then(LinkedEntity::get);
            if let Some(to) = to {
                assert!(ecs.get_entity(to).is_ok(), "a link leads to nobody");
                assert!(ecs.get::<InHiddenLevel>(to).is_none(), "a link leads to who is hidden");
                self.seen.linked += 1;
            }
        }
        let table = ecs.get::<LevelTable>(bed.world).expect("it stays");
        let built = self.built.iter().filter_map(|(name, _)| table.get(name));
        self.seen.visible += built.filter(|level| level.is_visible()).count() as u64;
    }
}

fn point(bed: &Bed, random: &mut Random) -> Vec3 {
    let side = side_of(bed.levels) as u64 * SPACING as u64;
    Vec3::new(random.below(side) as f32, 0.0, random.below(side) as f32)
}
