//! Gates that hold back one level each, besides those of its packages. See [`LevelGates`].

use bevy_ecs::world::World;
use bevy_log::{debug_span, warn};
use bevy_platform::collections::HashMap;

use super::Pipeline;
use crate::{
    gate::RevealGates,
    load::{InstanceId, gate_clock::Moment, instance::Phase, packages::PackageStatus},
    settings::{StreamingSettings, StreamingStats},
};

/// What gates say of levels that are staged.
#[derive(Default)]
pub(super) struct LevelGates {
    gates: HashMap<InstanceId, LevelGate>,
    /// Of these something else is said by now.
    stirred: Vec<InstanceId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LevelGate {
    /// It is in the world, out of sight, and gates are to be asked before it is seen: views may be others by now.
    Asked,
    /// Gates watch it, since then.
    Watched { since: Moment },
    /// It need not wait any more.
    Open,
}

impl LevelGates {
    /// Those of which something else is said by now. Who takes them leaves none.
    pub fn stirred(&mut self) -> &mut Vec<InstanceId> {
        &mut self.stirred
    }

    fn set(&mut self, id: InstanceId, gate: LevelGate) {
        if self.gates.insert(id, gate) != Some(gate) {
            self.stirred.push(id);
        }
    }

    fn remove(&mut self, id: InstanceId) -> Option<LevelGate> {
        let gate = self.gates.remove(&id)?;
        self.stirred.push(id);
        Some(gate)
    }

    /// Whether a level has to wait.
    pub fn holds(&self, id: InstanceId, phase: &Phase) -> bool {
        match self.gates.get(&id) {
            Some(gate) => *gate != LevelGate::Open,
            None => matches!(phase, Phase::Staged(_)),
        }
    }

    /// A level that was not to be shown is to be shown: what was ready for the views of then may not be for those of now.
    pub fn ask_again(&mut self, id: InstanceId, phase: &Phase) {
        match (self.gates.get(&id), phase) {
            (Some(LevelGate::Watched { .. }), _) => {}
            // As if it had just been staged.
            (_, Phase::Staged(_)) => drop(self.remove(id)),
            _ => self.set(id, LevelGate::Asked),
        }
    }

    /// Nobody need watch the level: it is seen, or not to be seen.
    pub fn forget(&mut self, id: InstanceId, gates: &RevealGates) {
        if let Some(LevelGate::Watched { .. }) = self.remove(id) {
            gates.forget_level(id);
        }
    }
}

impl Pipeline {
    /// Asks gates about each level that is staged and would come next. They watch it as soon as all values of its packages are in, so it
    /// waits for the packages' gates and for its own at the same time.
    pub(super) fn check_level_gates(&mut self, world: &mut World, settings: &StreamingSettings) {
        self.look_at_coming();
        let (held, mut deadlines) = (self.coming.held().iter().copied().collect::<Vec<_>>(), 0);
        let gates = world.resource::<RevealGates>();
        for id in held {
            let gate = self.level_gates.gates.get(&id).copied();
            let Some(instance) = self.instances.get(&id) else {
                continue;
            };
            let Some(scans) = instance.phase.scans() else {
                continue;
            };
            let since = match gate {
                Some(LevelGate::Watched { since }) => since,
                _ if self.has_values(id) => {
                    gates.watch_level(world, id, scans);
                    self.gate_clock.now()
                }
                _ => continue,
            };
            // In each frame that it waits, so that a trace shows for how long.
            let _span = debug_span!("gate of level", level = %instance.request.name).entered();
            let is_open = gates.is_level_open(id);
            let is_late = self.gate_clock.is_late(since, settings.gate_deadline_frames);
            let gate = if is_open || is_late {
                gates.forget_level(id);
                LevelGate::Open
            } else {
                LevelGate::Watched { since }
            };
            if is_late && !is_open {
                deadlines += 1;
                warn!(
                    "level `{}`: not all that it is drawn with was ready within {} frames; it is revealed without",
                    instance.request.name, settings.gate_deadline_frames
                );
            }
            self.level_gates.set(id, gate);
        }
        world.resource_mut::<StreamingStats>().gate_deadlines += deadlines;
    }

    /// Whether all values of an instance's packages are in their `Assets`.
    fn has_values(&self, id: InstanceId) -> bool {
        let packages = self.instances.get(&id).map(|instance| &instance.packages);
        let mut statuses = packages.into_iter().flatten().map(|path| self.packages.get(path));
        statuses.all(|entry| {
            entry.is_some_and(|entry| matches!(entry.status, PackageStatus::Gated { .. } | PackageStatus::Ready))
        })
    }

    /// Whether an instance may come: its packages are there, and the gates are open for it.
    pub(super) fn is_ready(&self, id: InstanceId) -> bool {
        let instance = self.instances.get(&id);
        let is_held = instance.is_some_and(|instance| self.level_gates.holds(id, &instance.phase));
        !is_held && self.has_packages(id)
    }

    /// Forgets what gates said of a level that need not wait for them any more.
    pub(super) fn forget_gates(&mut self, id: InstanceId, gates: &RevealGates) {
        let phase = self.instances.get(&id).map(|instance| &instance.phase);
        let is_needed = match phase {
            Some(Phase::Staged(_)) => true,
            Some(phase @ (Phase::Spawning(_) | Phase::Hidden { .. })) => self.level_gates.holds(id, phase),
            _ => false,
        };
        if !is_needed {
            self.level_gates.forget(id, gates);
        }
    }
}
