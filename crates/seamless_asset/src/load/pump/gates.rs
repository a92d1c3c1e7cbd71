//! Gates that hold back one level each, besides those of its packages. See [`LevelGates`].

use bevy_ecs::world::World;
use bevy_log::warn;
use bevy_platform::collections::HashMap;

use super::Pipeline;
use crate::{
    gate::RevealGates,
    load::{
        InstanceId,
        instance::{Phase, Turn},
        packages::PackageStatus,
    },
    settings::{StreamingSettings, StreamingStats},
};

/// What gates say of levels that are staged.
#[derive(Default)]
pub(super) struct LevelGates(HashMap<InstanceId, LevelGate>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LevelGate {
    /// Gates watch it, since this frame.
    Watched { since: u64 },
    /// It need not wait any more.
    Open,
}

impl LevelGates {
    /// Whether the level need not wait any more.
    fn is_open(&self, id: InstanceId) -> bool {
        self.0.get(&id) == Some(&LevelGate::Open)
    }

    /// The level is staged no more: nobody need watch it.
    pub fn forget(&mut self, id: InstanceId, gates: &RevealGates) {
        if let Some(LevelGate::Watched { .. }) = self.0.remove(&id) {
            gates.forget_level(id);
        }
    }
}

impl Pipeline {
    /// Asks gates about each level that is staged and would come next. They watch it as soon as all values of its packages are in, so it
    /// waits for the packages' gates and for its own at the same time.
    pub(super) fn check_level_gates(&mut self, world: &mut World, settings: &StreamingSettings) {
        let (mut watch, mut deadlines) = (self.waiting(Turn::Reveal), 0);
        watch.extend(self.waiting(Turn::Announce));
        let gates = world.resource::<RevealGates>();
        for id in watch {
            let gate = self.level_gates.0.get(&id).copied();
            let Some(instance) = self.instances.get(&id).filter(|_| gate != Some(LevelGate::Open)) else {
                continue;
            };
            let Phase::Staged(level) = &instance.phase else {
                continue;
            };
            let since = match gate {
                Some(LevelGate::Watched { since }) => since,
                _ if self.has_values(id) => {
                    gates.watch_level(id, &level.scans);
                    self.frame
                }
                _ => continue,
            };
            let is_open = gates.is_level_open(id);
            let is_late = self.frame.saturating_sub(since) >= u64::from(settings.gate_deadline_frames);
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
            self.level_gates.0.insert(id, gate);
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
        let phase = self.instances.get(&id).map(|instance| &instance.phase);
        let is_held = matches!(phase, Some(Phase::Staged(_))) && !self.level_gates.is_open(id);
        !is_held && self.has_packages(id)
    }

    /// Forgets what gates said of a level that is staged no more.
    pub(super) fn forget_gates(&mut self, id: InstanceId, gates: &RevealGates) {
        let phase = self.instances.get(&id).map(|instance| &instance.phase);
        if !matches!(phase, Some(Phase::Staged(_))) {
            self.level_gates.forget(id, gates);
        }
    }
}
