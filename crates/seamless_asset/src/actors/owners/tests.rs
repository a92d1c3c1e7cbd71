use bevy_ecs::entity::{EntityGeneration, EntityIndex};
use proptest::prelude::*;
use seamless_package::ObjectId;

use super::*;

/// Ids are few here: most indices lie in several ranges.
const INDICES: u32 = 60;
const GENERATIONS: u32 = 3;

fn entity(index: u32, generation: u32) -> Entity {
    let generation = EntityGeneration::from_bits(generation);
    Entity::from_index_and_generation(EntityIndex::from_raw_u32(index).unwrap(), generation)
}

/// A level of entities with these indices, some of which it has forgotten.
fn level(indices: &[u32], generation: u32, forgets: usize) -> Arc<LevelObjects> {
    let mut known = EntityHashSet::default();
    let entities = indices.iter().map(|index| entity(*index, generation));
    let entities: Vec<Entity> = entities.filter(|entity| known.insert(*entity)).collect();
    let ids: Vec<ObjectId> = (0..entities.len() as u64).map(ObjectId).collect();
    let forgotten = (0..entities.len() as u32).filter(|row| (*row as usize + 1).is_multiple_of(forgets));
    Arc::new(LevelObjects::new(&ids, &entities).without(forgotten))
}

/// What a level is made of, with the index of its root.
fn levels() -> impl Strategy<Value = Vec<(u32, Vec<u32>, u32, usize)>> {
    let run = (0..INDICES, 0..12_u32);
    let run = run.prop_map(|(first, count)| (first..(first + count).min(INDICES)).collect::<Vec<_>>());
    let anywhere = prop::collection::vec(0..INDICES, 0..8);
    let indices = prop_oneof![run, anywhere];
    let level = (0..INDICES, indices, 0..GENERATIONS - 1, 1..5_usize);
    prop::collection::vec(level, 0..12)
}

proptest! {
    /// Wherever their ids lie, and whosoever they were before.
    #[test]
    fn whoever_came_with_a_level_is_found_as_if_all_were_looked_at(levels in levels()) {
        let levels = levels.into_iter().map(|(root, indices, generation, forgets)| {
            // Roots are in a generation of their own.
            (entity(root, GENERATIONS - 1), level(&indices, generation, forgets))
        });
        let levels: Vec<_> = levels.collect();
        let owners = Owners::of(levels.iter().cloned());
        for index in 0..INDICES + 1 {
            for generation in 0..GENERATIONS {
                let entity = entity(index, generation);
                let is_of = |(root, objects): &&(Entity, Arc<LevelObjects>)| {
                    *root == entity || objects.object(entity).is_some()
                };
                let expected = levels.iter().any(|level| is_of(&level));
                prop_assert_eq!(owners.has(entity), expected, "{}", entity);
                prop_assert_eq!(owners.has_any(&[Entity::PLACEHOLDER, entity]), expected);
                if let Some(root) = owners.root_of(entity) {
                    let found = levels.iter().filter(is_of).any(|level| level.0 == root);
                    prop_assert!(found, "{} is of {}", entity, root);
                }
            }
        }
    }
}
