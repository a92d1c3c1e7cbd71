//! What takes turns within the frame's budget: assets into `Assets`, levels into the world and out of it.

use std::sync::Arc;

use bevy_ecs::{message::Messages, prelude::*};
use bevy_log::warn;
use bevy_platform::time::Instant;

use super::Pipeline;
use crate::{
    error::LoadError,
    gate::RevealGates,
    load::{
        InstanceEvent, InstanceId, LoadState, Streamer,
        budget::{FrameBudget, Work},
        imports::first_unmet,
        instance::{Phase, by_priority},
        packages::PackageStatus,
    },
    reveal,
    settings::{StreamingSettings, StreamingStats},
};

impl Pipeline {
    /// Moves decoded assets into their `Assets`, as many as time and bytes allow. Whether there were any.
    pub(super) fn insert_assets(
        &mut self,
        world: &mut World,
        settings: &StreamingSettings,
        budget: &mut FrameBudget,
    ) -> bool {
        let (mut bytes, mut has_inserted) = (0_u64, false);
        let mut paths: Vec<_> = self
            .packages
            .iter()
            .filter(|(_, entry)| matches!(entry.status, PackageStatus::Inserting(_)))
            .map(|(path, entry)| (entry.users.iter().min().copied(), path.clone()))
            .collect();
        paths.sort_unstable_by_key(|(user, _)| *user);
        for (_, path) in paths {
            let Some(entry) = self.packages.get_mut(&path) else {
                continue;
            };
            let PackageStatus::Inserting(queue) = &mut entry.status else {
                continue;
            };
            while let Some(asset) = queue.front() {
                let estimate = self.estimates.of(Work::Insert, asset.bytes);
                let fits = bytes == 0 || bytes + asset.bytes <= settings.upload_bytes_per_frame;
                if !fits || !budget.allows(estimate) {
                    return has_inserted;
                }
                let Some(mut asset) = queue.pop_front() else { break };
                let start = Instant::now();
                let size = asset.bytes;
                if asset.slot.provide() {
                    has_inserted = true;
                    asset.value.insert(world, asset.asset);
                }
                let took = start.elapsed();
                bytes += size;
                self.estimates.learn(Work::Insert, size, took);
                budget.book(took, || format!("insert {} of {path} ({size} bytes)", asset.name));
                self.tasks.drop_later(asset);
            }
            world.resource::<RevealGates>().watch(&entry.assets);
            entry.status = PackageStatus::Gated { since: self.frame };
        }
        has_inserted
    }

    pub(super) fn check_gates(&mut self, world: &mut World, settings: &StreamingSettings) {
        let mut deadlines = 0;
        let gates = world.resource::<RevealGates>();
        for (path, entry) in &mut self.packages {
            let PackageStatus::Gated { since } = entry.status else {
                continue;
            };
            let open = gates.is_open(&entry.assets);
            let late = self.frame.saturating_sub(since) >= u64::from(settings.gate_deadline_frames);
            if !open && late {
                deadlines += 1;
                warn!(
                    "{path}: not all of its {} assets were ready within {} frames; its levels are revealed without them",
                    entry.assets.len(),
                    settings.gate_deadline_frames
                );
            }
            if open || late {
                gates.forget(&entry.assets);
                entry.status = PackageStatus::Ready;
            }
        }
        world.resource_mut::<StreamingStats>().gate_deadlines += deadlines;
    }

    /// A live level whose root was despawned by somebody else has left, too.
    pub(super) fn find_lost_roots(&mut self, world: &World) {
        for instance in self.instances.values_mut() {
            let Phase::Live { root, members } = &mut instance.phase else {
                continue;
            };
            if !world.entities().contains_spawned(*root) {
                let (root, members) = (*root, core::mem::take(members));
                instance.phase = Phase::Leaving { root, members };
            }
        }
    }

    pub(super) fn leave_levels(&mut self, world: &mut World, budget: &mut FrameBudget) {
        let leaving: Vec<_> = self
            .instances
            .iter()
            .filter(|(_, instance)| matches!(instance.phase, Phase::Leaving { .. }))
            .map(|(id, _)| *id)
            .collect();
        self.leaves_held = if leaving.is_empty() { 0 } else { self.leaves_held + 1 };
        for id in leaving {
            let Some(instance) = self.instances.get_mut(&id) else {
                continue;
            };
            let Phase::Leaving { root, members } = &mut instance.phase else {
                continue;
            };
            let count = members.entities.len() as u64;
            if !budget.allows(self.estimates.of(Work::Leave, count)) {
                return;
            }
            self.leaves_held = 0;
            let (root, members) = (*root, core::mem::take(members));
            let start = Instant::now();
            reveal::leave(world, root, &members);
            self.events.push(InstanceEvent::Left { id });
            self.release(world, id);
            let took = start.elapsed();
            self.estimates.learn(Work::Leave, count, took);
            let removed = self.instances.remove(&id);
            budget.book(took, || {
                format!(
                    "leave {} ({count} entities)",
                    removed.map(|gone| gone.request.name).unwrap_or_default()
                )
            });
            let mut stats = world.resource_mut::<StreamingStats>();
            stats.left += 1;
            self.tasks.drop_later(members);
        }
    }

    pub(super) fn reveal_levels(&mut self, world: &mut World, budget: &mut FrameBudget) {
        let mut staged: Vec<_> = self
            .instances
            .iter()
            .filter(|(_, instance)| matches!(instance.phase, Phase::Staged(..)) && self.is_ready(instance))
            .map(|(id, instance)| (instance.request.priority, *id))
            .collect();
        staged.sort_unstable_by(|a, b| by_priority(*a, *b));
        for (_, id) in staged {
            let Some(Phase::Staged(level)) = self.instances.get(&id).map(|instance| &instance.phase) else {
                continue;
            };
            let count = level.level.entities.len() as u64;
            if !budget.allows(self.estimates.of(Work::Reveal, count)) {
                return;
            }
            if let Err(error) = self.check_imports(id) {
                self.fail(world, id, Arc::from(error));
                continue;
            }
            let Some(instance) = self.instances.get_mut(&id) else {
                continue;
            };
            for path in instance.packages() {
                if let Some(entry) = self.packages.get_mut(path) {
                    entry.is_shown = true;
                }
            }
            let Phase::Staged(mut level) = core::mem::replace(&mut instance.phase, Phase::Failed) else {
                continue;
            };
            let start = Instant::now();
            if self.room.make(world, &level.level.groups) {
                budget.book(start.elapsed(), || {
                    "make room for components met for the first time".into()
                });
            }
            let start = Instant::now();
            let revealed = reveal::reveal(world, &mut level, &instance.request, &self.services);
            let took = start.elapsed();
            self.estimates.learn(Work::Reveal, count, took);
            budget.book(took, || format!("reveal {} ({count} entities)", instance.request.name));
            self.events.push(InstanceEvent::Revealed {
                id,
                root: revealed.root,
                entities: count as u32,
            });
            instance.phase = Phase::Live {
                root: revealed.root,
                members: revealed.members,
            };
            self.tasks.drop_later((revealed.spent, level));
            world.resource_mut::<StreamingStats>().revealed += 1;
        }
    }

    /// Every import of the instance's packages must be an export of one of them; they are all loaded by now.
    fn check_imports(&self, id: InstanceId) -> Result<(), Box<LoadError>> {
        let Some(instance) = self.instances.get(&id) else {
            return Ok(());
        };
        let found = instance.packages().filter_map(|path| self.packages.get_key_value(path));
        let packages: Vec<_> = found.collect();
        for (path, entry) in &packages {
            if let Some((import, kind)) = first_unmet(&entry.imports, packages.iter().map(|(_, entry)| *entry)) {
                return Err(Box::new(LoadError::object(
                    path.to_string(),
                    import.object.clone(),
                    kind,
                )));
            }
        }
        Ok(())
    }

    /// Writes states, messages and counters for everybody else.
    pub(super) fn publish(&mut self, world: &mut World) {
        let mut streamer = world.resource_mut::<Streamer>();
        let pending = streamer.commands.len();
        streamer
            .states
            .retain(|id, state| pending > 0 && *state == LoadState::Requested || self.instances.contains_key(id));
        for (id, instance) in &self.instances {
            let state = match &instance.phase {
                Phase::Queued => LoadState::Requested,
                Phase::Loading(progress) => progress.state(),
                Phase::Staged(..) => LoadState::Staged,
                Phase::Live { .. } => LoadState::Live,
                Phase::Leaving { .. } => LoadState::Leaving,
                Phase::Failed => LoadState::Failed,
            };
            streamer.states.insert(*id, state);
        }
        let mut stats = world.resource_mut::<StreamingStats>();
        stats.live_instances = 0;
        stats.live_entities = 0;
        for instance in self.instances.values() {
            if let Phase::Live { members, .. } | Phase::Leaving { members, .. } = &instance.phase {
                stats.live_instances += 1;
                stats.live_entities += members.entities.len() as u64;
            }
        }
        stats.live_packages = self.packages.values().filter(|entry| entry.is_ready()).count() as u64;
        stats.live_bytes = self
            .packages
            .values()
            .filter(|entry| entry.is_ready())
            .map(|entry| entry.bytes)
            .sum();
        let events = core::mem::take(&mut self.events);
        world.resource_mut::<Messages<InstanceEvent>>().write_batch(events);
    }
}
