//! What streamed content takes in memory, and what follows. See [`Pipeline::relieve`].

use bevy_ecs::world::World;

use super::{Pipeline, coming::Queued, sliced::Sweeping};
use crate::{
    load::{
        InstanceId,
        budget::FrameBudget,
        instance::{Phase, Turn},
        memory::{Expected, MayStart, MemoryAccount, MemoryPressure, StartInputs, may_start},
    },
    settings::{StreamingSettings, StreamingStats},
};

/// What there is under the ceiling when loads are about to start.
pub(super) struct UnderCeiling {
    ceiling: u64,
    used: u64,
    /// Of that, what levels take that are on their way out.
    going: u64,
    /// Whether there is any level that could leave, where one waits for that.
    is_any_to_go: bool,
}

impl UnderCeiling {
    /// What was there.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// Whether there is plenty.
    pub fn is_calm(&self) -> bool {
        MemoryPressure::of(self.used, Some(self.ceiling)) == MemoryPressure::Calm
    }
}

impl Pipeline {
    /// What everything takes.
    pub(super) fn memory(&self) -> MemoryAccount {
        let (instances, packages) = (self.instances.index(), self.packages.index());
        let objects = self.objects.begun().map(|(_, objects)| objects.staged);
        let reloads = self.reloads.values().flat_map(|reload| reload.waiting());
        let waiting = objects.chain(reloads.map(|asset| asset.bytes)).sum::<u64>();
        let swept = self.sweeps.iter().map(|sweeping| sweeping.memory()).sum::<u64>();
        MemoryAccount {
            packages: self.held_memory.bytes(),
            levels: instances.live_memory() + swept,
            staged: instances.staged_memory() + packages.staged + waiting,
            in_flight: self.stalls.gates.bytes.in_flight(),
        }
    }

    /// How many tasks wait until fewer bytes are in flight.
    #[cfg(test)]
    pub fn waiting_for_bytes(&self) -> usize {
        self.stalls.gates.bytes.waiting()
    }

    /// Whether there is less memory than there must be.
    pub(super) fn is_over_ceiling(&self, world: &World) -> bool {
        let ceiling = world.resource::<StreamingSettings>().memory_ceiling;
        MemoryPressure::of(self.memory().total(), ceiling) == MemoryPressure::Over
    }

    /// Looks how much memory there is left. Above the ceiling, levels leave and are despawned at once, whatever time it takes, until there is enough.
    pub(super) fn relieve(&mut self, world: &mut World, budget: &mut FrameBudget) {
        let ceiling = world.resource::<StreamingSettings>().memory_ceiling;
        self.pressure = MemoryPressure::of(self.memory().total(), ceiling);
        if self.pressure != MemoryPressure::Over {
            return;
        }
        let left = world.resource::<StreamingStats>().left;
        budget.lift(true);
        self.leave_levels(world, budget);
        budget.lift(false);
        let mut stats = world.resource_mut::<StreamingStats>();
        stats.pressure_frames += 1;
        stats.unthrottled_leaves += stats.left - left;
    }

    /// Tells what there is at the end of a frame.
    pub(super) fn tell_memory(&self, world: &mut World) {
        let ceiling = world.resource::<StreamingSettings>().memory_ceiling;
        let mut stats = world.resource_mut::<StreamingStats>();
        stats.memory = self.memory();
        stats.memory_pressure = MemoryPressure::of(stats.memory.total(), ceiling);
        stats.memory_short = self.short;
        stats.memory_short_for = self.short_for.filter(|_| self.short > 0);
        stats.memory_held = self.held;
    }

    /// What there is under the ceiling, if there is one: the same for all loads that could start in a frame.
    pub(super) fn under_ceiling(&self, settings: &StreamingSettings) -> Option<UnderCeiling> {
        let is_any_waiting = !self.instances.index().waiting(Turn::Start).is_empty();
        Some(UnderCeiling {
            ceiling: settings.memory_ceiling?,
            used: self.memory().total(),
            going: self.going_memory(),
            is_any_to_go: is_any_waiting && self.is_any_to_go(settings),
        })
    }

    /// Whether the load of an instance may start, the most urgent one that waits; what it will bring is expected from then on.
    pub(super) fn may_start(&self, known: Option<&UnderCeiling>, id: InstanceId) -> MayStart {
        let Some(known) = known else {
            return MayStart::Yes;
        };
        let (instances, packages) = (self.instances.index(), self.packages.index());
        may_start(&StartInputs {
            ceiling: Some(known.ceiling),
            used: known.used,
            coming: instances.expected_memory() + packages.expected,
            is_any_coming: instances.loading > 0 || packages.loading > 0,
            going: known.going,
            is_any_there: known.is_any_to_go,
            brings: self.brings(id),
            is_essential: self.coming.queued(Queued::Essential).contains(id),
        })
    }

    /// What levels take that are on their way out.
    fn going_memory(&self) -> u64 {
        let leaving = self.instances.index().waiting(Turn::Leave).iter();
        let leaving = leaving.filter_map(|(_, id)| match &self.instances.get(id)?.phase {
            Phase::Leaving { members, .. } | Phase::Hidden { members, .. } => Some(members.memory),
            _ => None,
        });
        leaving.chain(self.sweeps.iter().map(Sweeping::memory)).sum()
    }

    /// Whether any level is there that is not essential. What is stays: nobody may wait for that to go.
    fn is_any_to_go(&self, settings: &StreamingSettings) -> bool {
        let mut there = self.instances.index().with_memory.iter();
        there.any(|id| self.priority_of(*id) < settings.essential_priority)
    }

    /// What the load of an instance will bring: its level, and those packages that are not there.
    fn brings(&self, id: InstanceId) -> Expected {
        let Some(instance) = self.instances.get(&id) else {
            return Expected::Known(0);
        };
        let own = &instance.request.package;
        let packages = core::iter::once(own).chain(&instance.request.dependencies);
        let missing = packages.filter(|path| !self.packages.contains_key(path));
        let assets = missing.map(|path| self.sizes.assets(path));
        assets.chain([self.sizes.level(own)]).sum()
    }
}
