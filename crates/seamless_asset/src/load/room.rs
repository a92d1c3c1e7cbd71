//! Room in Bevy's tables, made before it is needed. See [`Room`].

use core::any::TypeId;

use bevy_ecs::{entity::Entity, world::World};
use bevy_log::debug_span;
use bevy_platform::{collections::HashMap, time::Instant};

use super::{budget::FrameBudget, cost::UnitKind};
use crate::spawn::{Group, TypedRows, Values};

/// Levels with fewer entities do not tell what the others consist of.
const TELLING: usize = 64;

/// A set of components gets at least this part of the room.
const LEAST_SHARE: usize = 4;

/// Ids for each entity that room is made for: levels that are loaded have some before they are in any table, and those of rows that are
/// despawned bit by bit come back late. Bevy's list of ids takes a few tens of bytes for each, and grows by as much as it has, in one step.
const IDS: usize = 2;

/// Entities that room is made for in tables, at most, whatever a manifest says.
const MOST: usize = 1 << 20;

/// Bytes of components that room is made for, at most, in all tables together.
const MOST_BYTES: usize = 512 << 20;

/// Keeps Bevy's tables from growing while the player moves.
///
/// A table that is full gets twice the room, and all its columns are copied: many milliseconds when a hundred
/// thousand entities are in it. Bevy has no call to reserve room for a set of components, but a batch of rows does it,
/// so it can be done for announced sets ([`SpawnRow`](crate::spawn::SpawnRow)): once, for as many entities as are
/// expected, when the first level with such entities comes.
#[derive(Default)]
pub(super) struct Room {
    expected: usize,
    bytes: usize,
    made: HashMap<TypeId, Made>,
}

/// Room that was made for a set of components.
#[derive(Default)]
struct Made {
    /// For its share of so many entities.
    expected: usize,
    bytes: usize,
}

impl Room {
    /// From now on, at least so many entities are expected to be live at the same time. Whether that is news.
    pub fn expect(&mut self, world: &mut World, entities: usize) -> bool {
        let entities = entities.min(MOST);
        if entities <= self.expected {
            return false;
        }
        let _span = debug_span!("room", entities).entered();
        // Sets that were met before have too little now.
        self.expected = entities;
        make_room_for_ids(world, self.expected * IDS);
        true
    }

    /// As [`make`](Self::make), within a frame.
    pub fn make_booked(&mut self, world: &mut World, groups: &[Group], budget: &mut FrameBudget) {
        let _span = debug_span!("room").entered();
        let start = Instant::now();
        if self.make(world, groups) {
            budget.book(UnitKind::Room, start.elapsed(), || {
                "make room for components met for the first time".into()
            });
        }
    }

    /// Makes room for the sets in `groups` that are met for the first time, for their share of what is expected. Whether
    /// there were any.
    fn make(&mut self, world: &mut World, groups: &[Group]) -> bool {
        let entities: usize = groups.iter().map(|group| group.entities.len()).sum();
        if self.expected == 0 || entities < TELLING {
            return false;
        }
        let mut met: HashMap<TypeId, (&dyn TypedRows, usize)> = HashMap::default();
        for group in groups {
            if let Values::Rows(rows) = &group.values {
                met.entry(rows.row_type()).or_insert((&**rows, 0)).1 += rows.len();
            }
        }
        let mut made = false;
        for (kind, (rows, count)) in met {
            let before = self.made.entry(kind).or_default();
            if before.expected >= self.expected {
                continue;
            }
            // No level is like the average: a quarter more, and not too little of what the first one has little of.
            let share = self.expected as u64 * count as u64 / entities as u64 * 5 / 4;
            let wanted = (share as usize).max(self.expected / LEAST_SHARE);
            // What it has is part of what it gets.
            let left = MOST_BYTES - (self.bytes - before.bytes);
            let room = wanted.min(left / rows.row_bytes().max(1));
            let bytes = before.bytes.max(room * rows.row_bytes());
            self.bytes += bytes - before.bytes;
            *before = Made {
                expected: self.expected,
                bytes,
            };
            rows.reserve(world, room);
            made = true;
        }
        made
    }
}

/// Bevy's list of where each entity is grows with the largest index in use.
fn make_room_for_ids(world: &mut World, count: usize) {
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    let mut ids: Vec<Entity> = world.entity_allocator().alloc_many(count).collect();
    let Some(last) = (0..ids.len()).max_by_key(|at| ids[*at].index()) else {
        return;
    };
    let last = ids.swap_remove(last);
    if let Ok(entity) = world.spawn_empty_at(last) {
        entity.despawn();
    }
    world.entity_allocator_mut().free_many(&ids);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spawn::{Column, Sight};

    /// Rows of a megabyte each.
    struct Large(usize);

    impl TypedRows for Large {
        fn row_type(&self) -> TypeId {
            TypeId::of::<Self>()
        }

        fn row_bytes(&self) -> usize {
            1 << 20
        }

        fn types(&self) -> Vec<TypeId> {
            Vec::new()
        }

        fn len(&self) -> usize {
            self.0
        }

        fn register(&self, _: &mut World) {}

        fn reserve(&self, world: &mut World, count: usize) {
            world.insert_resource(Reserved(count));
        }

        fn spawn(&mut self, _: &mut World, _: &[Entity], _: &mut Sight) {}

        fn into_columns(self: Box<Self>) -> Vec<Box<dyn Column>> {
            Vec::new()
        }
    }

    #[derive(bevy_ecs::resource::Resource)]
    struct Reserved(usize);

    #[test]
    fn who_is_met_again_is_not_counted_twice() {
        let (mut world, mut room) = (World::new(), Room::default());
        let entities = vec![Entity::PLACEHOLDER; TELLING];
        let groups = [Group {
            values: Values::Rows(Box::new(Large(entities.len()))),
            entities,
        }];
        for expected in [100, 200, 300, 400] {
            room.expect(&mut world, expected);
            assert!(room.make(&mut world, &groups) && !room.make(&mut world, &groups));
            let Reserved(reserved) = world.remove_resource().expect("there is room");
            assert_eq!(reserved, (expected * 5 / 4).min(512), "for {expected}");
            assert_eq!(room.bytes, reserved << 20);
        }
    }
}
