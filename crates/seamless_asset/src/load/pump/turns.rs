//! Gates, and what is told at the end of a frame.

use bevy_asset::AssetPath;
use bevy_ecs::{message::Messages, prelude::*};
use bevy_log::{debug_span, warn};

use super::Pipeline;
use crate::{
    gate::RevealGates,
    load::{
        InstanceEvent, Streamer,
        instance::{Instance, Phase},
        packages::PackageStatus,
    },
    settings::{StreamingSettings, StreamingStats},
    stable::StableIds,
};

impl Pipeline {
    pub(super) fn check_gates(&mut self, world: &mut World, settings: &StreamingSettings) {
        let mut deadlines = 0;
        let gates = world.resource::<RevealGates>();
        let gated: Vec<_> = self.packages.index().gated.iter().cloned().collect();
        for path in gated {
            let has_imports = !self.needs_values(&path);
            let Some(mut entry) = self.packages.get_mut(&path) else {
                continue;
            };
            let PackageStatus::Gated { since } = entry.status else {
                continue;
            };
            let _span = debug_span!("gate of package", package = %path).entered();
            let (open, watched) = entry.is_open(gates);
            let late = has_imports && self.gate_clock.is_late(since, settings.gate_deadline_frames);
            if !open && late {
                deadlines += 1;
                warn!(
                    "{path}: not all of its {watched} assets were ready within {} frames; its levels are revealed without them",
                    settings.gate_deadline_frames
                );
            }
            if open || late {
                self.tasks.drop_later(entry.make_ready(gates));
            } else if !has_imports {
                let since = self.gate_clock.put_off(since);
                entry.status = PackageStatus::Gated { since };
            }
        }
        world.resource_mut::<StreamingStats>().gate_deadlines += deadlines;
    }

    /// Whether values that a package imports are not in their `Assets` yet: its own cannot be ready before, and the time for that has not begun.
    fn needs_values(&self, path: &AssetPath<'static>) -> bool {
        let needs = self.packages.get(path).into_iter().flat_map(|entry| &entry.needs);
        let mut statuses = needs.filter_map(|need| Some(&self.packages.get(need)?.status));
        statuses.any(|status| matches!(status, PackageStatus::Loading(_) | PackageStatus::Inserting(_)))
    }

    /// Levels that are seen have stable ids, and others not.
    fn follow_ids(&self, ids: &mut StableIds, events: &[InstanceEvent]) {
        for event in events {
            let id = event.id();
            let Some(instance) = self.instances.get(&id) else {
                ids.hide(id);
                continue;
            };
            match &instance.phase {
                Phase::Live { root, members } | Phase::Leaving { root, members } => {
                    let is_leaving = |id| {
                        let phase = self.instances.get(&id).map(|instance| &instance.phase);
                        matches!(phase, Some(Phase::Leaving { .. }))
                    };
                    ids.show(id, &instance.request.path(), (*root, &members.objects), is_leaving);
                }
                _ => ids.hide(id),
            }
        }
    }

    /// Writes states, messages and counters for everybody else.
    pub(super) fn publish(&mut self, world: &mut World) {
        #[cfg(test)]
        assert!(self.instances.is_counted() && self.packages.is_counted() && self.is_coming_known());
        let mut changed = core::mem::take(&mut self.instances.index_mut().changed);
        let gates = world.resource::<RevealGates>();
        changed.iter().for_each(|id| self.forget_gates(*id, gates));
        let mut streamer = world.resource_mut::<Streamer>();
        for id in changed.drain(..) {
            match self.instances.get(&id).and_then(Instance::known) {
                Some(known) => drop(streamer.states.insert(id, known)),
                None => drop(streamer.states.remove(&id)),
            }
        }
        // The list keeps its memory.
        self.instances.index_mut().changed = changed;
        let (instances, packages) = (self.instances.index(), self.packages.index());
        let mut stats = world.resource_mut::<StreamingStats>();
        stats.live_instances = instances.live;
        stats.live_entities = instances.entities;
        stats.hidden_entities = instances.hidden + self.swept_later();
        stats.live_packages = packages.ready;
        stats.live_bytes = packages.ready_bytes;
        stats.tasks = self.in_flight.tasks() as u64;
        let singles = self.bulk.len() + self.opens.len();
        stats.pending_requests = (self.objects.len() + self.reloads.len() + singles) as u64;
        let events = core::mem::take(&mut self.events);
        if !events.is_empty() {
            self.follow_ids(&mut world.resource_mut::<StableIds>(), &events);
        }
        world.resource_mut::<Messages<InstanceEvent>>().write_batch(events);
    }
}
