//! What of a live instance is not as its new file says, and what becomes of it. Changes nothing; see [`Differ::diff`].

use bevy_ecs::{
    change_detection::Tick,
    component::ComponentId,
    entity::Entity,
    hierarchy::ChildOf,
    name::Name,
    world::{EntityRef, World},
};
use bevy_platform::collections::{HashMap, HashSet};
use bevy_reflect::{ReflectFromPtr, TypeRegistry};

use super::{KeptRows, Kind, Prepared};
use crate::{
    actors::{Owners, above},
    load::{ReloadPolicy, ReloadReport},
    reveal::Members,
    spawn::{IdentifiedColumn, reflected, reflected_at, value_at},
};

/// What is to be done to the kept entities of an instance.
#[derive(Default)]
pub(crate) struct LevelDiff {
    /// For each kept group, row by row, whether the value of each column is written.
    pub(super) writes: Vec<Vec<bool>>,
    /// What is taken from entities.
    pub(super) removed: Vec<(Entity, Vec<ComponentId>)>,
    /// The parents that entities leave.
    pub(super) left: Vec<Entity>,
    /// Components that somebody else changed, and that stay so.
    pub(super) kept_edits: HashMap<Entity, Vec<ComponentId>>,
    /// All that somebody else changed.
    pub edits: Vec<Edit>,
}

/// What somebody else did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Edit {
    /// Wrote to a component, or took it away.
    Component(Entity, ComponentId),
    /// Despawned an entity.
    Despawned(Entity),
}

impl Edit {
    /// In words.
    pub fn describe(self, world: &World, registry: &TypeRegistry) -> String {
        let name = |entity| match world.get::<Name>(entity) {
            Some(name) => format!("`{name}` ({entity})"),
            None => format!("entity {entity}"),
        };
        match self {
            Self::Despawned(entity) => format!("{} was despawned", name(entity)),
            Self::Component(entity, id) => {
                let type_id = world.components().get_info(id).and_then(|info| info.type_id());
                let info = type_id.and_then(|type_id| registry.get_type_info(type_id));
                let component = info.map_or("a component", |info| info.type_path_table().short_path());
                format!("{component} of {}", name(entity))
            }
        }
    }
}

/// Compares the world with a staged level.
pub(crate) struct Differ<'w> {
    world: &'w World,
    registry: &'w TypeRegistry,
    policy: ReloadPolicy,
    members: &'w Members,
    now: Tick,
}

/// A column of the new file.
struct Look<'w> {
    id: ComponentId,
    kind: Kind,
    from_ptr: Option<&'w ReflectFromPtr>,
}

/// What the old file gave to entities that are now in one group.
struct Before {
    /// For each column of the group, whether it was there.
    had: Vec<bool>,
    /// Components that go, if they are there, unless something else requires them.
    lost: Vec<(ComponentId, Kind)>,
}

/// A kept entity, and its row in its group.
struct Row<'w> {
    index: usize,
    entity: EntityRef<'w>,
    is_changed: bool,
}

impl<'w> Differ<'w> {
    pub fn new(world: &'w World, registry: &'w TypeRegistry, policy: ReloadPolicy, members: &'w Members) -> Self {
        Self {
            world,
            registry,
            policy,
            members,
            now: world.read_change_tick(),
        }
    }

    /// What is to be done, counted in `report`.
    pub fn diff(&self, level: &Prepared, report: &mut ReloadReport) -> LevelDiff {
        let mut diff = LevelDiff::default();
        let lost: HashSet<Entity> = level.staged.lost.iter().map(|(entity, _)| *entity).collect();
        for group in &level.kept {
            self.group(group, level, &lost, &mut diff, report);
        }
        for (entity, run) in &level.staged.lost {
            self.lost_entity(*entity, *run, level, &mut diff, report);
        }
        for entity in &level.staged.gone {
            self.edited(Edit::Despawned(*entity), &mut diff, report);
        }
        diff
    }

    /// Counts a change that somebody else made; whether it gives way.
    fn edited(&self, edit: Edit, diff: &mut LevelDiff, report: &mut ReloadReport) -> bool {
        diff.edits.push(edit);
        if self.policy == ReloadPolicy::Overwrite {
            report.edits_overwritten += 1;
            return true;
        }
        report.edits_kept += 1;
        if let Edit::Component(entity, id) = edit {
            diff.kept_edits.entry(entity).or_default().push(id);
        }
        false
    }

    /// What an earlier reload left as somebody else had changed it.
    fn kept_edits(&self, entity: Entity) -> &[ComponentId] {
        self.members.edits.get(&entity).map_or(&[], Vec::as_slice)
    }

    fn is_edited(&self, entity: EntityRef, id: ComponentId) -> bool {
        let ticks = entity.get_change_ticks_by_id(id);
        let is_newer = ticks.is_some_and(|ticks| ticks.changed.is_newer_than(self.members.since, self.now));
        is_newer || self.kept_edits(entity.id()).contains(&id)
    }

    fn group(
        &self,
        group: &KeptRows,
        level: &Prepared,
        lost: &HashSet<Entity>,
        diff: &mut LevelDiff,
        report: &mut ReloadReport,
    ) {
        let looks: Vec<Look> = group.columns().map(|column| self.look(column)).collect();
        let columns: Vec<&IdentifiedColumn> = group.columns().collect();
        let mut befores: HashMap<usize, Before> = HashMap::new();
        let mut writes = vec![false; group.entities.len() * looks.len()];
        for (index, (entity, run)) in group.entities.iter().zip(&group.runs).enumerate() {
            let Ok(entity) = self.world.get_entity(*entity) else {
                continue;
            };
            let before = befores.entry(*run).or_insert_with(|| self.before(*run, level, &looks));
            let is_changed = false;
            let mut row = Row {
                index,
                entity,
                is_changed,
            };
            let end = (index + 1) * looks.len();
            let wanted = writes.get_mut(index * looks.len()..end).unwrap_or_default();
            for (at, (look, column)) in looks.iter().zip(&columns).enumerate() {
                let had = before.had.get(at).copied().unwrap_or_default();
                wanted[at] = self.is_written(&mut row, look, column, had, lost, diff, report);
            }
            self.lost_components(&mut row, before, &looks, wanted, diff, report);
            report.components_written += wanted.iter().filter(|wanted| **wanted).count();
            report.entities_changed += usize::from(row.is_changed);
        }
        report.entities_kept += group.entities.len();
        diff.writes.push(writes);
    }

    fn look(&self, (id, column): &IdentifiedColumn) -> Look<'w> {
        Look {
            id: *id,
            kind: Kind::of(self.world, *id),
            from_ptr: self.registry.get_type_data((**column).type_id()),
        }
    }

    /// Whether the value of the file is written over the one that is there.
    fn is_written(
        &self,
        row: &mut Row,
        look: &Look,
        column: &IdentifiedColumn,
        had: bool,
        lost: &HashSet<Entity>,
        diff: &mut LevelDiff,
        report: &mut ReloadReport,
    ) -> bool {
        let entity = row.entity;
        let is_there = entity.contains_id(look.id);
        if is_there && (look.kind == Kind::Computed || self.is_same(row, look, column)) {
            return false;
        }
        let is_edit = match (is_there, look.kind) {
            (_, Kind::Computed | Kind::Measured) => false,
            (true, Kind::Parent) => self.is_edited(entity, look.id) && !self.goes_with(entity, lost),
            (true, _) => self.is_edited(entity, look.id),
            (false, _) => had,
        };
        if is_edit && !self.edited(Edit::Component(entity.id(), look.id), diff, report) {
            return false;
        }
        if look.kind == Kind::Parent {
            diff.left.extend(entity.get::<ChildOf>().map(ChildOf::parent));
            let parent = value_at::<ChildOf>(&*column.1, row.index);
            diff.left.extend(parent.map(ChildOf::parent));
        }
        row.is_changed = true;
        true
    }

    /// Whether the entity has the value of the file. What reflection cannot tell is taken as another value.
    fn is_same(&self, row: &Row, look: &Look, (_, column): &IdentifiedColumn) -> bool {
        let same = || {
            let from_ptr = look.from_ptr?;
            let new = reflected_at(&**column, row.index, from_ptr)?;
            let live = reflected(self.world, row.entity, look.id, from_ptr)?;
            live.reflect_partial_eq(new.as_partial_reflect())
        };
        same() == Some(true)
    }

    /// What entities that were of this run lose when they are of the group.
    fn before(&self, run: usize, level: &Prepared, looks: &[Look]) -> Before {
        let types = level
            .staged
            .old_runs
            .get(run)
            .map_or(&[][..], |run| run.types.as_slice());
        let components = self.world.components();
        let old: Vec<ComponentId> = types.iter().filter_map(|type_id| components.get_id(*type_id)).collect();
        // With what the file gave came what that requires.
        let brought = old.iter().filter_map(|id| components.get_info(*id));
        let brought = brought.flat_map(|info| info.required_components().iter_ids());
        let mut met: HashSet<ComponentId> = looks.iter().map(|look| look.id).collect();
        let by_file = |id: ComponentId| looks.iter().any(|look| self.requires(look.id, id));
        let is_lost = |id: &ComponentId| met.insert(*id) && (old.contains(id) || !by_file(*id));
        let lost = old.iter().copied().chain(brought).filter(is_lost);
        let lost: Vec<_> = lost.collect();
        let with_kind = lost.into_iter().map(|id| (id, Kind::of(self.world, id)));
        Before {
            had: looks.iter().map(|look| old.contains(&look.id)).collect(),
            lost: with_kind
                .filter(|(_, kind)| !matches!(kind, Kind::Children | Kind::Parent | Kind::LinkTarget))
                .collect(),
        }
    }

    fn requires(&self, id: ComponentId, required: ComponentId) -> bool {
        let info = self.world.components().get_info(id);
        info.is_some_and(|info| info.required_components().iter_ids().any(|id| id == required))
    }

    /// Takes components that the file does not give any more. One that the file's components still require goes as well, and the one
    /// that requires it is written, so that Bevy gives its default, as in a level that comes anew.
    fn lost_components(
        &self,
        row: &mut Row,
        before: &Before,
        looks: &[Look],
        wanted: &mut [bool],
        diff: &mut LevelDiff,
        report: &mut ReloadReport,
    ) {
        let entity = row.entity;
        let is_files = |id: ComponentId| looks.iter().any(|look| look.id == id);
        let kept = self.kept_edits(entity.id()).iter().copied().filter(|id| !is_files(*id));
        let kept = kept.filter(|id| before.lost.iter().all(|(lost, _)| lost != id));
        let kept = kept.map(|id| (id, Kind::of(self.world, id)));
        let mut going: Vec<ComponentId> = Vec::new();
        for (id, kind) in before.lost.iter().copied().chain(kept) {
            if entity.contains_id(id) && self.goes(entity, id, kind, looks, diff, report) {
                going.push(id);
            }
        }
        if going.is_empty() {
            return;
        }
        let others = entity.archetype().components().iter().copied();
        let others: Vec<_> = others.filter(|id| !going.contains(id) && !is_files(*id)).collect();
        going.retain(|going| !others.iter().any(|other| self.requires(*other, *going)));
        let kept = diff.kept_edits.get(&entity.id()).map_or(&[][..], Vec::as_slice);
        going.retain(|going| {
            let by = looks.iter().enumerate();
            let mut by = by.filter(|(_, look)| self.requires(look.id, *going)).peekable();
            let is_free = by.peek().is_none();
            // What somebody else changed is not written.
            let by = by.find(|(_, look)| !kept.contains(&look.id));
            if let Some(wanted) = by.and_then(|(by, _)| wanted.get_mut(by)) {
                *wanted = true;
            }
            is_free || by.is_some()
        });
        if !going.is_empty() {
            row.is_changed = true;
            report.components_removed += going.len();
            diff.removed.push((entity.id(), going));
        }
    }

    /// Whether a component that the file does not give goes, as far as it is up to itself.
    fn goes(
        &self,
        entity: EntityRef,
        id: ComponentId,
        kind: Kind,
        looks: &[Look],
        diff: &mut LevelDiff,
        report: &mut ReloadReport,
    ) -> bool {
        if matches!(kind, Kind::Computed | Kind::Measured) {
            return !looks.iter().any(|look| self.requires(look.id, id));
        }
        !self.is_edited(entity, id) || self.edited(Edit::Component(entity.id(), id), diff, report)
    }

    /// Whether an entity would go with one of the lost, below which game code has hung it, or what it hangs below. What came with another level
    /// stays, with all that is below, and each of the level's own is looked at by itself.
    fn goes_with(&self, entity: EntityRef, lost: &HashSet<Entity>) -> bool {
        let mut guests = Vec::new();
        for at in above(self.world, entity.id()) {
            if lost.contains(&at) {
                return guests.is_empty() || !Owners::but(self.world, Entity::PLACEHOLDER).has_any(&guests);
            }
            if self.members.objects.object(at).is_some() {
                return false;
            }
            guests.push(at);
        }
        false
    }

    /// An entity that goes is changed when one of its components is; there is no new value to compare with.
    fn lost_entity(
        &self,
        entity: Entity,
        run: usize,
        level: &Prepared,
        diff: &mut LevelDiff,
        report: &mut ReloadReport,
    ) {
        let Ok(entity) = self.world.get_entity(entity) else {
            return;
        };
        let types = level
            .staged
            .old_runs
            .get(run)
            .map_or(&[][..], |run| run.types.as_slice());
        let ids = types
            .iter()
            .filter_map(|type_id| self.world.components().get_id(*type_id));
        let own = ids.filter(|id| matches!(Kind::of(self.world, *id), Kind::Plain | Kind::Parent | Kind::Link));
        let edited = own.filter(|id| self.is_edited(entity, *id));
        for id in edited {
            // It goes, whatever the policy.
            diff.edits.push(Edit::Component(entity.id(), id));
            report.edits_overwritten += 1;
        }
    }
}
