//! A level's new rows and the instance that is live: what is kept, what is new and what is lost. Pure; see [`merge`].

use core::any::TypeId;
use std::sync::Arc;

use bevy_ecs::{
    entity::Entity,
    hierarchy::{ChildOf, Children},
};
use bevy_platform::collections::{HashMap, HashSet};
use seamless_package::ObjectId;

use super::level::{LoadedLevel, RowGroup, Rows};
use crate::{
    codec::DecodeError,
    level_data::{LevelObjects, Run},
    load::{InstanceId, InstanceInfo},
    spawn::{Column, RowSets, value_at},
};

/// A level instance as it was when its reload began.
#[derive(Debug)]
pub(crate) struct LiveLevel {
    pub instance: InstanceId,
    /// What hooks are told of it.
    pub info: Arc<InstanceInfo>,
    pub root: Entity,
    /// Its entities by object id.
    pub objects: Arc<LevelObjects>,
    /// Its entities, in the order of `runs`.
    pub entities: Arc<[Entity]>,
    /// The components that its file gave them.
    pub runs: Arc<[Run]>,
    /// Objects whose entities were despawned at run time.
    pub gone: HashSet<u64>,
    /// Whether they stay so; else they come again.
    pub stay_gone: bool,
}

impl LiveLevel {
    /// Its entities, and of which of its runs each is.
    fn rows(&self) -> impl Iterator<Item = (Entity, usize)> {
        let runs = self.runs.iter().enumerate();
        let runs = runs.flat_map(|(number, run)| core::iter::repeat_n(number, run.rows as usize));
        self.entities.iter().copied().zip(runs)
    }

    /// The entity that the object has, and keeps.
    pub fn entity(&self, id: ObjectId) -> Option<Entity> {
        let is_there = self.stay_gone || !self.gone.contains(&id.0);
        self.objects.entity(id).filter(|_| is_there)
    }
}

/// What the new file makes of a live instance. Nothing of it is in the world yet.
pub(crate) struct ReloadedLevel {
    pub instance: InstanceId,
    /// The level as it will be; its groups are the new entities only.
    pub loaded: Box<LoadedLevel>,
    pub kept: Vec<KeptGroup>,
    /// The children that the file gives to kept entities, in order.
    pub children: HashMap<Entity, Vec<Entity>>,
    /// Entities whose object the file has no more, and of which of the old runs each was.
    pub lost: Vec<(Entity, usize)>,
    /// Entities that were despawned at run time, and whose object the file still has.
    pub gone: Vec<Entity>,
    /// New entities below one that was despawned at run time: they do not come.
    pub unwanted: Vec<Entity>,
    /// The components that the old file gave, by the numbers in [`KeptGroup::runs`].
    pub old_runs: Arc<[Run]>,
}

/// Kept entities with one set of components in the new file, and the values there.
pub(crate) struct KeptGroup {
    pub entities: Vec<Entity>,
    pub columns: Vec<Box<dyn Column>>,
    /// Of which of the old runs each was.
    pub runs: Vec<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    New,
    Kept,
    /// Despawned at run time, or below such an entity; stays away.
    Gone,
}

/// Sorts the new rows into what is kept and what is new.
///
/// # Errors
/// When the columns of a group are not of one length.
pub(super) fn merge(rows: Rows, live: &LiveLevel, sets: &RowSets) -> Result<ReloadedLevel, DecodeError> {
    let fates = fates(&rows, live);
    let unwanted = rows.entities.iter().zip(&fates).zip(&rows.is_known);
    let unwanted = unwanted.filter(|((_, fate), is_known)| **fate == Fate::Gone && !**is_known);
    let unwanted = unwanted.map(|((entity, _), _)| *entity).collect();
    let dead = |id: &ObjectId| live.objects.entity(*id).filter(|_| live.gone.contains(&id.0));
    let gone: Vec<Entity> = rows.ids.iter().filter_map(dead).collect();
    let stay: HashSet<Entity> = rows.entities.iter().chain(&gone).copied().collect();
    let lost = live.rows().filter(|(entity, _)| !stay.contains(entity)).collect();
    let runs = rows.groups.iter().map(Run::of).collect();
    let mut parts = Parts::new(live);
    let loaded = rows.into_level(runs, |groups| {
        let mut first = 0;
        for group in groups {
            let count = group.entities.len();
            parts.add(group, fates.get(first..first + count).unwrap_or_default());
            first += count;
        }
        let new = core::mem::take(&mut parts.new).into_iter();
        new.map(|group| group.into_group(sets)).collect()
    })?;
    Ok(ReloadedLevel {
        instance: live.instance,
        loaded,
        kept: parts.kept,
        children: parts.children,
        lost,
        gone,
        unwanted,
        old_runs: live.runs.clone(),
    })
}

fn fates(rows: &Rows, live: &LiveLevel) -> Vec<Fate> {
    let fate = |(id, is_known): (&ObjectId, &bool)| match is_known {
        false => Fate::New,
        true if live.gone.contains(&id.0) => Fate::Gone,
        true => Fate::Kept,
    };
    let mut fates: Vec<Fate> = rows.ids.iter().zip(&rows.is_known).map(fate).collect();
    let gone = rows
        .entities
        .iter()
        .zip(&fates)
        .filter(|(_, fate)| **fate == Fate::Gone);
    let mut gone: HashSet<Entity> = gone.map(|(entity, _)| *entity).collect();
    if gone.is_empty() {
        return fates;
    }
    let parents = parents(&rows.groups);
    // Parents mostly come before their children, so one round finds nearly all.
    loop {
        let before = gone.len();
        for (row, entity) in rows.entities.iter().enumerate() {
            let parent = parents.get(row).copied().flatten();
            if fates[row] == Fate::New && parent.is_some_and(|parent| gone.contains(&parent)) {
                fates[row] = Fate::Gone;
                gone.insert(*entity);
            }
        }
        if gone.len() == before {
            return fates;
        }
    }
}

/// The parent of each row.
fn parents(groups: &[RowGroup]) -> Vec<Option<Entity>> {
    let of_group = |group: &RowGroup| {
        let parent = |row| {
            let mut columns = group.columns.iter();
            columns.find_map(|column| value_at::<ChildOf>(&**column, row).map(ChildOf::parent))
        };
        (0..group.entities.len()).map(parent).collect::<Vec<_>>()
    };
    groups.iter().flat_map(of_group).collect()
}

/// Groups, taken apart.
struct Parts {
    new: Vec<RowGroup>,
    kept: Vec<KeptGroup>,
    children: HashMap<Entity, Vec<Entity>>,
    /// The old run of each entity.
    runs: HashMap<Entity, usize>,
}

impl Parts {
    fn new(live: &LiveLevel) -> Self {
        Self {
            new: Vec::new(),
            kept: Vec::new(),
            children: HashMap::new(),
            runs: live.rows().collect(),
        }
    }

    fn add(&mut self, group: RowGroup, fates: &[Fate]) {
        let (new, rest, fates) = part(group, fates, Fate::New);
        let (kept, ..) = part(rest, &fates, Fate::Kept);
        if !new.entities.is_empty() {
            self.new.push(new);
        }
        if !kept.entities.is_empty() {
            self.keep(kept);
        }
    }

    fn keep(&mut self, group: RowGroup) {
        let RowGroup { entities, mut columns } = group;
        let mut types = columns.iter().map(|column| (**column).type_id());
        if let Some(at) = types.position(|type_id| type_id == TypeId::of::<Children>()) {
            let column = columns.remove(at);
            let list = |row| value_at::<Children>(&*column, row).map(|children| children.to_vec());
            let lists = entities.iter().enumerate();
            self.children
                .extend(lists.map(|(row, entity)| (*entity, list(row).unwrap_or_default())));
        }
        let run = |entity| self.runs.get(entity).copied().unwrap_or(usize::MAX);
        self.kept.push(KeptGroup {
            runs: entities.iter().map(run).collect(),
            entities,
            columns,
        });
    }
}

/// The rows of that fate, the others, and the fates of these.
fn part(group: RowGroup, fates: &[Fate], wanted: Fate) -> (RowGroup, RowGroup, Vec<Fate>) {
    let picked: Vec<bool> = fates.iter().map(|fate| *fate == wanted).collect();
    let [picked, rest] = group.split(&picked);
    let left = fates.iter().copied().filter(|fate| *fate != wanted).collect();
    (picked, rest, left)
}
