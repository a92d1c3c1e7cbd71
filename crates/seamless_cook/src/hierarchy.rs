//! The order and the names of a level's entities. See [`Hierarchy`].

use std::collections::{BTreeSet, HashMap, HashSet};

use bevy::ecs::relationship::RelationshipTarget;
use bevy::prelude::*;

use crate::source::SourceEntity;

/// The entities of a scene as a forest, depth first.
pub(crate) struct Hierarchy {
    /// Indices into the scene's entities, parents before children, siblings in their order.
    pub order: Vec<usize>,
    /// By scene index: the parent's scene index.
    pub parents: Vec<Option<usize>>,
    /// Scene indices of entities whose ancestors form a circle.
    pub circles: Vec<usize>,
    /// What `Children` list and `ChildOf` does not say: scene index of the one that lists, and of the one listed.
    pub misplaced: Vec<(usize, usize)>,
    /// Whole lists of children, for the entities that do not list them all, by scene index. A scene written by hand may leave them
    /// out; Bevy finds nobody whom they do not name.
    pub completed: Vec<(usize, Children)>,
}

fn get<'a, T: Reflect + TypePath>(entity: &SourceEntity<'a>) -> Option<&'a T> {
    entity.components.get(T::type_path())?.downcast_ref::<T>()
}

impl Hierarchy {
    /// Follows `ChildOf`; siblings lie as in their parent's `Children`, and those that it does not list come last.
    pub(crate) fn of(entities: &[SourceEntity]) -> Self {
        let index: HashMap<Entity, usize> = entities
            .iter()
            .enumerate()
            .map(|(index, entity)| (entity.entity, index))
            .collect();
        let parents: Vec<Option<usize>> = entities
            .iter()
            .map(|entity| get::<ChildOf>(entity).and_then(|parent| index.get(&parent.parent()).copied()))
            .collect();
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); entities.len()];
        let mut placed = vec![false; entities.len()];
        let mut misplaced = Vec::new();
        for (parent, entity) in entities.iter().enumerate() {
            for child in get::<Children>(entity).into_iter().flat_map(|children| children.iter()) {
                let Some(&child) = index.get(&child) else { continue };
                if parents.get(child) == Some(&Some(parent)) && !core::mem::replace(&mut placed[child], true) {
                    children[parent].push(child);
                } else {
                    misplaced.push((parent, child));
                }
            }
        }
        let mut incomplete = BTreeSet::new();
        for (child, parent) in parents.iter().enumerate() {
            if let Some(parent) = *parent
                && !placed[child]
            {
                children[parent].push(child);
                incomplete.insert(parent);
            }
        }
        let list = |parent: &usize| children[*parent].iter().map(|child| entities[*child].entity);
        let completed = incomplete.iter().map(|parent| {
            let list = list(parent).collect();
            (*parent, Children::from_collection_risky(list))
        });
        let completed = completed.collect();
        let mut order = Vec::with_capacity(entities.len());
        let mut reached = vec![false; entities.len()];
        for root in (0..entities.len()).filter(|index| parents[*index].is_none()) {
            let mut open = vec![root];
            while let Some(index) = open.pop() {
                reached[index] = true;
                order.push(index);
                open.extend(children[index].iter().rev());
            }
        }
        let circles = (0..entities.len()).filter(|index| !reached[*index]).collect();
        Self {
            order,
            parents,
            circles,
            misplaced,
            completed,
        }
    }

    /// Each entity's path of names, by scene index: `Body/Wheel`, `Body/Wheel~1` for the second of that name, `Body/~0`
    /// for the first without one, if `unnamed` gives it none. `taken` are names that other objects of the package have.
    pub(crate) fn names(
        &self,
        entities: &[SourceEntity],
        taken: &[&str],
        unnamed: impl Fn(&SourceEntity) -> Option<String>,
    ) -> Vec<String> {
        let mut used: HashSet<String> = taken.iter().map(|name| (*name).to_owned()).collect();
        let mut counts: HashMap<String, u32> = HashMap::new();
        let mut names = vec![String::new(); entities.len()];
        for &index in &self.order {
            let name = get::<Name>(&entities[index]).map_or("", |name| name.as_str());
            // A slash separates entities, and a NUL ends a package's path in an object id.
            let name = name.replace(['/', '\0'], "_");
            let parent = self.parents[index].map(|parent| names[parent].as_str());
            let given = Some(&entities[index]).filter(|_| name.is_empty()).and_then(&unnamed);
            let is_named = !name.is_empty() || given.is_some();
            let path = match (given, parent) {
                (Some(given), _) => given,
                (None, Some(parent)) => format!("{parent}/{name}"),
                (None, None) => name,
            };
            // The next number to try; a name without a number stands for zero.
            let number = counts.entry(path.clone()).or_default();
            loop {
                let candidate = match *number {
                    0 if is_named => path.clone(),
                    number => format!("{path}~{number}"),
                };
                *number += 1;
                if used.insert(candidate.clone()) {
                    names[index] = candidate;
                    break;
                }
            }
        }
        names
    }
}

/// The entities in runs that share one set of components and lie equally deep, parents before their children; else in
/// order of first appearance, and within a run the order stays.
///
/// Parents first, because Bevy looks at the parent when a child gets its `GlobalTransform`.
pub(crate) fn grouped(hierarchy: &Hierarchy, entities: &[SourceEntity]) -> Vec<Vec<usize>> {
    let mut depths = vec![0_u32; entities.len()];
    let mut groups: Vec<(u32, Vec<usize>)> = Vec::new();
    let mut by_set: HashMap<(u32, BTreeSet<&str>), usize> = HashMap::new();
    for &index in &hierarchy.order {
        // The order has parents before children, so the parent's depth is known.
        let depth = hierarchy.parents[index].map_or(0, |parent| depths[parent] + 1);
        depths[index] = depth;
        let set: BTreeSet<&str> = entities[index].components.keys().copied().collect();
        let group = *by_set.entry((depth, set)).or_insert_with(|| {
            groups.push((depth, Vec::new()));
            groups.len() - 1
        });
        groups[group].1.push(index);
    }
    groups.sort_by_key(|(depth, _)| *depth);
    groups.into_iter().map(|(_, group)| group).collect()
}
