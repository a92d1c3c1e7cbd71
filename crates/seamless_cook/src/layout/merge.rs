//! Sets of users whose assets lie in one package. See [`runs`].

use std::collections::{BTreeMap, BTreeSet};

use super::Group;
use crate::assets::ObjectSize;

/// Groups whose assets lie in one package.
pub(super) struct Run {
    /// Their indices.
    pub groups: Vec<usize>,
    /// The levels that use any of it.
    pub users: BTreeSet<usize>,
    pub size: ObjectSize,
}

impl Run {
    /// Bytes that levels would load without need if `next` lay in the same package, beyond those that they load anyway.
    fn cost(&self, next: &Self) -> u64 {
        let union = self.users.union(&next.users).count() as u64;
        let loaded = union * (self.size.read + next.size.read);
        loaded - self.users.len() as u64 * self.size.read - next.users.len() as u64 * next.size.read
    }

    fn absorb(&mut self, next: Self) {
        self.users.extend(next.users);
        self.groups.extend(next.groups);
        self.size = self.size + next.size;
    }
}

/// One run for each group with its size, and fewer where there would be more than `most`. References lead from a run to earlier ones, as
/// groups with more users come first: what an asset refers to has at least its users.
pub(super) fn runs(groups: &[Group], sizes: BTreeMap<usize, ObjectSize>, most: usize) -> Vec<Run> {
    let mut runs: Vec<Run> = sizes
        .into_iter()
        .filter_map(|(index, size)| {
            Some(Run {
                groups: vec![index],
                users: groups.get(index)?.users.clone(),
                size,
            })
        })
        .collect();
    runs.sort_by(|a, b| b.users.len().cmp(&a.users.len()).then_with(|| a.users.cmp(&b.users)));
    merge(runs, most.max(1))
}

/// Merges neighbours until there are no more than `most`, the cheapest pair first, the earliest of equals.
fn merge(mut runs: Vec<Run>, most: usize) -> Vec<Run> {
    let cost = |runs: &[Run], index: usize| runs.get(index)?.cost(runs.get(index + 1)?).into();
    let mut costs: Vec<Option<u64>> = (0..runs.len()).map(|index| cost(&runs, index)).collect();
    while runs.len() > most {
        let pairs = costs
            .iter()
            .enumerate()
            .filter_map(|(index, cost)| Some(((*cost)?, index)));
        let Some((_, index)) = pairs.min() else { break };
        let next = runs.remove(index + 1);
        runs[index].absorb(next);
        costs.remove(index);
        costs[index] = cost(&runs, index);
        if let Some(before) = index.checked_sub(1) {
            costs[before] = cost(&runs, before);
        }
    }
    runs
}
