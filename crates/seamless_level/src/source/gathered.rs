//! The sources of a frame, by the worlds that they ask. See [`GatheredSources`].

use bevy_ecs::entity::Entity;

use crate::select::SourceInput;

/// The sources that ask in a frame. Those that ask all worlds lie together, and are copied for none of them.
#[derive(Debug, Default)]
pub(crate) struct GatheredSources {
    /// Those that ask all worlds, and behind them what asks the world that was looked at last.
    inputs: Vec<SourceInput>,
    /// How many ask all worlds.
    shared: usize,
    /// Those that ask one world, and which.
    bound: Vec<(Entity, SourceInput)>,
}

impl GatheredSources {
    /// Begins anew.
    pub fn clear(&mut self) {
        self.inputs.clear();
        self.bound.clear();
        self.shared = 0;
    }

    /// Takes one in that asks this world, or all.
    pub fn push(&mut self, world: Option<Entity>, input: SourceInput) {
        match world {
            Some(world) => self.bound.push((world, input)),
            None => {
                self.inputs.truncate(self.shared);
                self.inputs.push(input);
                self.shared += 1;
            }
        }
    }

    /// All that ask a world, and `others` that do as well.
    pub fn of(&mut self, world: Entity, others: impl Iterator<Item = SourceInput>) -> &[SourceInput] {
        let bound = self.bound.iter().filter(|(meant, _)| *meant == world);
        self.inputs.truncate(self.shared);
        self.inputs.extend(bound.map(|(_, input)| *input));
        self.inputs.extend(others);
        &self.inputs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_world_has_its_own_and_those_of_all() {
        let [one, other] = [1, 2].map(|index| Entity::from_raw_u32(index).unwrap());
        let input = |key| SourceInput {
            key,
            ..SourceInput::default()
        };
        let mut sources = GatheredSources::default();
        let asked = |sources: &mut GatheredSources, world, others: &[u64]| -> Vec<u64> {
            let all = sources.of(world, others.iter().map(|key| input(*key)));
            all.iter().map(|source| source.key).collect()
        };
        for _ in 0..2 {
            sources.clear();
            for (world, key) in [(None, 1), (Some(one), 2), (None, 3), (Some(other), 4)] {
                sources.push(world, input(key));
            }
            assert_eq!(asked(&mut sources, one, &[9]), [1, 3, 2, 9]);
            assert_eq!(asked(&mut sources, other, &[]), [1, 3, 4]);
            assert_eq!(asked(&mut sources, Entity::PLACEHOLDER, &[7]), [1, 3, 7]);
        }
    }
}
