//! Levels into the world, out of sight and out of the world, within the frame's budget.

use core::time::Duration;
use std::sync::Arc;

use bevy_ecs::{entity::Entity, world::World};
use bevy_log::debug_span;
use bevy_platform::time::Instant;

use super::{Pipeline, sliced::SLICE};
use crate::{
    actors::{Afterwards, release_kept},
    error::LoadError,
    hide::{Hiding, hide, let_go, show},
    leave::Sweep,
    load::{
        InstanceEvent, InstanceId,
        budget::FrameBudget,
        cost::UnitKind,
        instance::{Instance, Phase, Turn},
        packages::PackageEntry,
    },
    reveal::{self, Members, Revealed},
    settings::StreamingStats,
};

/// Named with a unit that was too large for a frame, in an app that has not opted in.
const OPT_IN: &str = "; `SeamlessAssetPlugin::sliced_levels` spreads that over frames";

/// How a level that came or left in one frame would take less of it.
fn hint(is_sliced: bool, budget: &FrameBudget, took: Duration) -> &'static str {
    if !is_sliced && budget.is_large(took) {
        OPT_IN
    } else {
        ""
    }
}

impl Pipeline {
    /// Tells of the levels that are loaded and not to be shown.
    pub(super) fn announce_loaded(&mut self) {
        let waiting: Vec<_> = self.waiting(Turn::Announce);
        for id in waiting {
            if !self.is_ready(id) {
                continue;
            }
            let Some(mut instance) = self.instances.get_mut(&id) else {
                continue;
            };
            let entities = match &instance.phase {
                Phase::Staged(level) => level.level.entities.len() as u32,
                Phase::Spawning(spawn) => spawn.len() as u32,
                _ => continue,
            };
            instance.is_announced = true;
            self.events.push(InstanceEvent::Loaded { id, entities });
        }
    }

    pub(super) fn waiting(&self, turn: Turn) -> Vec<InstanceId> {
        let waiting = self.instances.index().waiting(turn).iter();
        waiting.map(|(_, id)| *id).collect()
    }

    /// Whether the packages of an instance are there.
    pub(super) fn has_packages(&self, id: InstanceId) -> bool {
        let packages = self.instances.get(&id).map(|instance| &instance.packages);
        let mut packages = packages.into_iter().flatten();
        packages.all(|path| self.packages.get(path).is_some_and(PackageEntry::is_ready))
    }

    /// Whether there was time for it.
    pub(super) fn show_level(&mut self, world: &mut World, id: InstanceId, budget: &mut FrameBudget) -> bool {
        match self.instances.get(&id).map(|instance| &instance.phase) {
            Some(Phase::Staged(level)) => {
                let count = level.level.entities.len() as u64;
                let slices = (UnitKind::HiddenSpawn, SLICE as u64);
                let cost = self
                    .costs
                    .whole_or_sliced(UnitKind::Reveal, slices, UnitKind::RevealSliced, count);
                if self.services.is_sliced && budget.is_large(cost) {
                    return self.begin_slices(world, id, budget) && self.continue_slices(world, id, budget);
                }
                if !budget.allows(self.costs.in_one(UnitKind::Reveal, count, cost)) {
                    return false;
                }
                self.reveal_level(world, id, budget);
                true
            }
            Some(Phase::Spawning(_)) => self.continue_slices(world, id, budget),
            Some(Phase::Hidden { members, .. }) => {
                let count = members.entities.len() as u64;
                if !budget.allows(self.costs.of(UnitKind::Show, count)) {
                    return false;
                }
                self.show_again(world, id, count, budget);
                true
            }
            _ => true,
        }
    }

    fn show_again(&mut self, world: &mut World, id: InstanceId, count: u64, budget: &mut FrameBudget) {
        let Some(Phase::Hidden {
            root,
            mut members,
            mut hiding,
        }) = self.instances.replace_phase(id, Phase::Failed)
        else {
            return;
        };
        let _span = debug_span!("show", level = self.instances.name_of(id), entities = count).entered();
        let start = Instant::now();
        self.leave_to_others(world, (root, &members), &mut hiding, false);
        show(world, &mut members, hiding);
        let took = start.elapsed();
        self.costs.learn(UnitKind::Show, count, took);
        budget.book(UnitKind::Show, took, || {
            format!("show {} ({count} entities)", self.instances.name_of(id))
        });
        self.instances.replace_phase(id, Phase::Live { root, members });
        self.events.push(InstanceEvent::Shown { id });
    }

    /// Who was hidden with a level that is shown now, or leaves, and goes with another that is hidden still, is shown with that.
    pub(super) fn leave_to_others(
        &mut self,
        world: &mut World,
        (root, members): (Entity, &Members),
        hiding: &mut Hiding,
        is_leaving: bool,
    ) {
        let hidden = |root: Entity| {
            let id = self.instances.index().of_root(root)?;
            let is_hidden = matches!(self.instances.get(&id)?.phase, Phase::Hidden { .. });
            is_hidden.then_some(id)
        };
        let shared = hiding.shared(world, root, members, is_leaving, hidden);
        hiding.give_away(world, &shared.iter().map(|(entity, _)| *entity).collect());
        for (entity, id) in shared {
            if let Some(mut other) = self.instances.get_mut(&id)
                && let Phase::Hidden { hiding, .. } = &mut other.phase
            {
                hiding.take_over(entity);
            }
        }
    }

    /// What stands in the way of the reveal of a staged level whose packages are there: it fails, or is read again.
    pub(super) fn is_held_up(&mut self, world: &mut World, id: InstanceId) -> bool {
        if self.fails_for_imports(world, id) {
            return true;
        }
        if self.is_of_another_file(id) {
            if let Some(Phase::Staged(level)) = self.instances.replace_phase(id, Phase::Failed) {
                self.drop_level(world, level);
            }
            self.start_level(id, true);
            return true;
        }
        false
    }

    /// Marks the packages of an instance as used.
    pub(super) fn use_packages(&mut self, id: InstanceId) {
        let packages = self.instances.get(&id).map(|instance| &instance.packages);
        for path in packages.into_iter().flatten() {
            if let Some(mut entry) = self.packages.get_mut(path) {
                entry.show();
            }
        }
    }

    /// Moves a staged level whose packages are there into the world, if its imports are there too.
    pub(super) fn reveal_level(&mut self, world: &mut World, id: InstanceId, budget: &mut FrameBudget) {
        if self.is_held_up(world, id) {
            return;
        }
        self.use_packages(id);
        let Some(mut instance) = self.instances.get_mut(&id) else {
            return;
        };
        let mut level = match core::mem::replace(&mut instance.phase, Phase::Failed) {
            Phase::Staged(level) => level,
            other => {
                instance.phase = other;
                return;
            }
        };
        self.room.make_booked(world, &level.level.groups, budget);
        let count = level.level.entities.len() as u64;
        let _span = debug_span!("reveal", level = %instance.request.name, entities = count).entered();
        let start = Instant::now();
        let revealed = reveal::reveal(world, &mut level, &instance.request, &self.services);
        let took = start.elapsed();
        self.costs.learn(UnitKind::Reveal, count, took);
        let hint = hint(self.services.is_sliced, budget, took);
        budget.book(UnitKind::Reveal, took, || {
            format!("reveal {} ({count} entities{hint})", instance.request.name)
        });
        drop(instance);
        self.tasks.drop_later(level);
        self.has_come(world, id, revealed);
    }

    /// The level can be seen from now on.
    pub(super) fn has_come(&mut self, world: &mut World, id: InstanceId, revealed: Revealed) {
        let Revealed { root, members, spent } = revealed;
        let entities = members.entities.len() as u32;
        self.events.push(InstanceEvent::Revealed { id, root, entities });
        self.instances.replace_phase(id, Phase::Live { root, members });
        self.tasks.drop_later(spent);
        world.resource_mut::<StreamingStats>().revealed += 1;
    }

    /// Takes levels out of sight, and out of the world, as long as there is time.
    pub(super) fn leave_levels(&mut self, world: &mut World, budget: &mut FrameBudget) {
        let going = self.going();
        let is_any = !going.is_empty() || !self.sweeps.is_empty();
        self.leaves_held = if is_any { self.leaves_held + 1 } else { 0 };
        for id in going {
            if budget.is_lifted() && !self.is_over_ceiling(world) {
                return;
            }
            if !self.hide_level(world, id, budget) || !self.leave_level(world, id, budget) {
                return;
            }
            self.leaves_held = 0;
        }
        self.sweep(world, budget);
    }

    /// Whether there was time for it, if it is to be hidden. That frees no memory, and waits where only that counts.
    fn hide_level(&mut self, world: &mut World, id: InstanceId, budget: &mut FrameBudget) -> bool {
        if budget.is_lifted() {
            return true;
        }
        let Some(Phase::Live { members, .. }) = self.instances.get(&id).map(|instance| &instance.phase) else {
            return true;
        };
        if !budget.allows(self.costs.of(UnitKind::Hide, members.entities.len() as u64)) {
            return false;
        }
        let Some((root, mut members)) = self.take_out(id) else {
            return true;
        };
        let hiding = self.hide_booked(world, id, (root, &mut members), budget);
        self.instances
            .replace_phase(id, Phase::Hidden { root, members, hiding });
        self.events.push(InstanceEvent::Hidden { id });
        true
    }

    /// Whether there was time for it, if it is to leave.
    fn leave_level(&mut self, world: &mut World, id: InstanceId, budget: &mut FrameBudget) -> bool {
        let leaving = self.instances.get(&id);
        let leaving = leaving.filter(|instance| instance.turn() == Some(Turn::Leave));
        let count = match leaving.map(|instance| &instance.phase) {
            Some(Phase::Hidden { members, .. }) => {
                let count = members.entities.len() as u64;
                return self.leave_unseen(world, id, count, budget);
            }
            Some(Phase::Leaving { members, .. }) => members.entities.len() as u64,
            _ => return true,
        };
        let slices = (UnitKind::Sweep, SLICE as u64);
        let whole = self
            .costs
            .whole_or_sliced(UnitKind::Leave, slices, UnitKind::Mark, count);
        let is_sliced = self.services.is_sliced && budget.is_large(whole);
        let cost = if is_sliced {
            self.costs.of(UnitKind::Mark, count)
        } else {
            self.costs.in_one(UnitKind::Leave, count, whole)
        };
        if !budget.allows(cost) {
            return false;
        }
        let Some((root, mut members)) = self.take_out(id) else {
            return true;
        };
        if is_sliced {
            self.mark_level(world, id, (root, &mut members), budget);
        } else {
            let _span = debug_span!("leave", level = self.instances.name_of(id), entities = count).entered();
            let start = Instant::now();
            release_kept(world, root, &mut members, Afterwards::Leaves);
            let_go(world, root, &members);
            let mut sweep = Sweep::of(root, &mut members);
            sweep.step(world, usize::MAX);
            self.events.push(InstanceEvent::Left { id });
            self.release(world, id);
            let took = start.elapsed();
            self.costs.learn(UnitKind::Leave, count, took);
            let removed = self.instances.remove(&id);
            let (why, hint) = (budget.why_without_limit(), hint(self.services.is_sliced, budget, took));
            budget.book(UnitKind::Leave, took, || {
                let name = removed.map(|gone| gone.request.name).unwrap_or_default();
                format!("leave {name} ({count} entities{hint}){why}")
            });
            world.resource_mut::<StreamingStats>().left += 1;
            self.tasks.drop_later(sweep);
        }
        self.tasks.drop_later(members);
        true
    }

    /// Nobody sees the level any more; its root goes, and what is left of it goes bit by bit.
    pub(super) fn has_left(&mut self, world: &mut World, id: InstanceId, mut sweep: Sweep, memory: u64) {
        self.events.push(InstanceEvent::Left { id });
        self.instances.replace_phase(id, Phase::Sweeping);
        // Who notes what has become of the level does so when its root goes, at the latest, and that is before it may come again.
        sweep.step(world, 1);
        self.sweep_later(sweep, Some(id), Vec::new(), memory);
        world.resource_mut::<StreamingStats>().left += 1;
    }

    fn hide_booked(
        &mut self,
        world: &mut World,
        id: InstanceId,
        (root, members): (Entity, &mut Members),
        budget: &mut FrameBudget,
    ) -> Hiding {
        let count = members.entities.len() as u64;
        let _span = debug_span!("hide", level = self.instances.name_of(id), entities = count).entered();
        let start = Instant::now();
        release_kept(world, root, members, Afterwards::Stays);
        let hiding = hide(world, root, members, self.heard);
        self.book_out_of_sight(UnitKind::Hide, id, count, start.elapsed(), budget);
        hiding
    }

    /// Takes a level out of sight for good. Its root goes at once, and whoever notes then what has become of it has time of this unit.
    fn mark_level(
        &mut self,
        world: &mut World,
        id: InstanceId,
        (root, members): (Entity, &mut Members),
        budget: &mut FrameBudget,
    ) {
        let count = members.entities.len() as u64;
        let name = self.instances.name_of(id).to_owned();
        let _span = debug_span!("mark", level = name.as_str(), entities = count).entered();
        let start = Instant::now();
        release_kept(world, root, members, Afterwards::Leaves);
        let mut hiding = hide(world, root, members, self.heard);
        hiding.let_go(world, root, members);
        let sweep = Sweep::of(root, members).and_hidden(&mut hiding);
        self.tasks.drop_later(hiding);
        self.has_left(world, id, sweep, members.memory);
        self.book_out_of_sight(UnitKind::Mark, id, count, start.elapsed(), budget);
    }

    fn book_out_of_sight(
        &mut self,
        kind: UnitKind,
        id: InstanceId,
        count: u64,
        took: Duration,
        budget: &mut FrameBudget,
    ) {
        self.costs.learn(kind, count, took);
        budget.book(kind, took, || {
            format!("{kind} {} ({count} entities)", self.instances.name_of(id))
        });
    }

    /// The level of an instance that is live or about to leave; the next phase is for the caller to say.
    pub(super) fn take_out(&mut self, id: InstanceId) -> Option<(Entity, Members)> {
        let mut instance = self.instances.get_mut(&id)?;
        match &mut instance.phase {
            Phase::Live { root, members } | Phase::Leaving { root, members } => Some((*root, core::mem::take(members))),
            _ => None,
        }
    }

    /// Whether the level was read from a file whose assets nobody has loaded: it was written over since the package came.
    fn is_of_another_file(&self, id: InstanceId) -> bool {
        let Some(instance) = self.instances.get(&id) else {
            return false;
        };
        let Phase::Staged(level) = &instance.phase else {
            return false;
        };
        let entry = self.packages.get(&instance.request.package);
        entry.is_some_and(|entry| !entry.hashes.contains(&level.content_hash))
    }

    /// Whether a level whose packages are there lacks an import; then it has failed.
    pub(super) fn fails_for_imports(&mut self, world: &mut World, id: InstanceId) -> bool {
        let Some(error) = self.unmet_import(id) else {
            return false;
        };
        self.forget_version(id);
        self.fail(world, id, Arc::new(error));
        true
    }

    /// The version of its package that an instance was read from is of no use: nobody else is to fail for what it imports. Those that were read
    /// from it as well have to.
    fn forget_version(&mut self, id: InstanceId) {
        let version = |instance: &Instance| Some((instance.request.package.clone(), instance.content_hash()?));
        let Some((path, content)) = self.instances.get(&id).and_then(version) else {
            return;
        };
        let is_same =
            |instance: &Instance| instance.request.package == path && instance.content_hash() == Some(content);
        let mut others = self.instances.iter().filter(|(other, _)| **other != id);
        if others.any(|(_, instance)| is_same(instance)) {
            return;
        }
        if let Some(mut entry) = self.packages.get_mut(&path) {
            entry.unverified.retain(|import| !import.is_of(content));
        }
    }

    /// Whether something that an instance imports is about to come with a reload.
    pub(super) fn waits_for_reload(&self, id: InstanceId) -> bool {
        !self.reloads.is_empty() && self.is_any_reload_to_bring(id) && self.unmet_import(id).is_some()
    }

    /// What is wrong with the imports that were not verified when they were linked; all packages are loaded by now.
    pub(super) fn unmet_import(&self, id: InstanceId) -> Option<LoadError> {
        let instance = self.instances.get(&id)?;
        // Of the instance's own package there may be several versions: other instances were read from files that were written over.
        let own = instance.content_hash();
        let unverified = instance.packages.iter().flat_map(|path| {
            let content = own.filter(|_| *path == instance.request.package);
            let of_package = self.packages.get(path).into_iter().flat_map(|entry| &entry.unverified);
            of_package.filter(move |import| content.is_none_or(|content| import.is_of(content)))
        });
        unverified.into_iter().find_map(|import| import.fault(&self.services))
    }
}
