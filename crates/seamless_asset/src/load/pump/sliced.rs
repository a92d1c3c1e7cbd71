//! Levels that come and go in slices. See [`Pipeline::continue_slices`].

use core::time::Duration;
use std::collections::VecDeque;

use bevy_ecs::{entity::Entity, world::World};
use bevy_log::debug_span;
use bevy_platform::time::Instant;

use super::Pipeline;
use crate::{
    actors::LazyOwners,
    hide::hide_hung,
    leave::Sweep,
    load::{InstanceId, budget::FrameBudget, cost::UnitKind, instance::Phase, stage::Stage},
    reveal::HiddenSpawn,
    settings::StreamingStats,
};

/// Entities between two looks at the clock.
pub(super) const SLICE: usize = 32;

/// Frames in which most of what nobody sees is despawned, if there is time for it.
const SWEPT_WITHIN: u64 = 16;

/// What is left of a level that nobody sees any more.
pub(super) struct Sweeping {
    sweep: Sweep,
    /// Its packages are kept until the end: a level that is asked for again meanwhile finds its assets.
    of: Option<InstanceId>,
    /// Ids of it that were not spawned. They are somebody else's only when nothing of it refers to them any more.
    unspawned: Vec<Entity>,
    /// What an entity of it takes in memory.
    entity_memory: u64,
}

impl Sweeping {
    /// What is left of it takes so much memory.
    pub fn memory(&self) -> u64 {
        self.left() * self.entity_memory
    }

    /// Entities that are left, about.
    fn left(&self) -> u64 {
        self.sweep.left() as u64
    }
}

pub(super) type Sweeps = VecDeque<Sweeping>;

impl Pipeline {
    /// Takes a staged level that is too large for a frame. Whether there was time for it.
    pub(super) fn begin_slices(&mut self, world: &mut World, id: InstanceId, budget: &mut FrameBudget) -> bool {
        let Some(Phase::Staged(level)) = self.instances.get(&id).map(|instance| &instance.phase) else {
            return true;
        };
        let count = level.level.entities.len() as u64;
        if !budget.allows(self.costs.of(UnitKind::Begin, count)) {
            return false;
        }
        if self.is_held_up(world, id) {
            return true;
        }
        let Some(mut instance) = self.instances.get_mut(&id) else {
            return true;
        };
        match core::mem::replace(&mut instance.phase, Phase::Failed) {
            Phase::Staged(level) => {
                self.room.make_booked(world, &level.level.groups, budget);
                let _span = debug_span!("begin", level = %instance.request.name).entered();
                let start = Instant::now();
                let spawn = HiddenSpawn::new(world, level, &instance.request, &self.services);
                let took = start.elapsed();
                self.costs.learn(UnitKind::Begin, count, took);
                budget.book(UnitKind::Begin, took, || {
                    format!("begin {} ({count} entities)", instance.request.name)
                });
                instance.phase = Phase::Spawning(Box::new(spawn));
            }
            other => instance.phase = other,
        }
        true
    }

    /// Spawns on while there is time, hidden; when all of a level is there, one frame shows it. Whether there was time for all of it.
    pub(super) fn continue_slices(&mut self, world: &mut World, id: InstanceId, budget: &mut FrameBudget) -> bool {
        let mut is_first = true;
        loop {
            let Some(mut entry) = self.instances.get_mut(&id) else {
                return true;
            };
            let instance = &mut *entry;
            let Phase::Spawning(spawn) = &mut instance.phase else {
                return true;
            };
            // Nobody else runs between two slices of a frame.
            if is_first && spawn.is_spoilt(world) {
                drop(entry);
                self.spawn_again(world, id);
                return true;
            }
            is_first = false;
            if spawn.is_done() {
                break;
            }
            if !budget.allows(self.costs.of(UnitKind::HiddenSpawn, SLICE as u64)) {
                return false;
            }
            let _span = debug_span!("spawn", level = %instance.request.name).entered();
            let start = Instant::now();
            let done = spawn.step(world, SLICE) as u64;
            let took = start.elapsed();
            self.costs.learn(UnitKind::HiddenSpawn, done, took);
            budget.book(UnitKind::HiddenSpawn, took, || {
                format!("spawn {done} entities of {}, hidden", instance.request.name)
            });
        }
        self.show_spawned(world, id, budget)
    }

    fn show_spawned(&mut self, world: &mut World, id: InstanceId, budget: &mut FrameBudget) -> bool {
        let Some(Phase::Spawning(spawn)) = self.instances.get(&id).map(|instance| &instance.phase) else {
            return true;
        };
        let (count, late) = (spawn.len() as u64, spawn.late_rows() as u64);
        let observed = match late {
            0 => Duration::ZERO,
            late => self.costs.of(UnitKind::Observed, late),
        };
        if !budget.allows(self.costs.of(UnitKind::RevealSliced, count) + observed) {
            return false;
        }
        if self.fails_for_imports(world, id) {
            return true;
        }
        let Some(Phase::Spawning(spawn)) = self.instances.replace_phase(id, Phase::Failed) else {
            return true;
        };
        self.use_packages(id);
        let start = Instant::now();
        let Some(instance) = self.instances.get(&id) else {
            return true;
        };
        let _span = debug_span!("reveal", level = %instance.request.name, entities = count).entered();
        let (revealed, observed) = spawn.show(world, &instance.request, &self.services);
        let took = start.elapsed();
        self.costs
            .learn(UnitKind::RevealSliced, count, took.saturating_sub(observed));
        if late > 0 {
            self.costs.learn(UnitKind::Observed, late, observed);
        }
        budget.book(UnitKind::RevealSliced, took, || {
            let name = &instance.request.name;
            match late {
                0 => format!("reveal {name} ({count} entities, spawned before)"),
                _ => format!(
                    "reveal {name} ({count} entities, spawned before; {observed:.1?} of it for what observers of components hear of {late})"
                ),
            }
        });
        self.has_come(world, id, revealed);
        true
    }

    /// Somebody observes by now what the level has brought already, and would never hear of it; or its root is gone. So it is read again.
    fn spawn_again(&mut self, world: &mut World, id: InstanceId) {
        if let Some(Phase::Spawning(spawn)) = self.instances.replace_phase(id, Phase::Failed) {
            self.abandon(world, spawn);
            self.start_level(id, false);
        }
    }

    /// Takes back what was spawned of a level that nobody has seen.
    pub(super) fn abandon(&mut self, world: &mut World, spawn: Box<HiddenSpawn>) {
        let _span = debug_span!("abandon", entities = spawn.len() as u64).entered();
        let spawned = spawn.len().saturating_sub(spawn.left()) as f64 / spawn.len().max(1) as f64;
        let memory = (spawn.memory() as f64 * spawned) as u64;
        let (sweep, unspawned, rest) = spawn.abandon(world);
        world
            .resource_mut::<StreamingStats>()
            .waste(Stage::Staged, rest.bytes());
        self.tasks.drop_later(rest);
        self.sweep_later(sweep, None, unspawned, memory);
    }

    /// A level leaves that is hidden. Whether there was time for it.
    pub(super) fn leave_unseen(
        &mut self,
        world: &mut World,
        id: InstanceId,
        count: u64,
        budget: &mut FrameBudget,
    ) -> bool {
        if !budget.allows(self.costs.of(UnitKind::LeaveUnseen, count)) {
            return false;
        }
        let Some(Phase::Hidden {
            root,
            mut members,
            mut hiding,
        }) = self.instances.replace_phase(id, Phase::Sweeping)
        else {
            return true;
        };
        let name = self.instances.name_of(id).to_owned();
        let _span = debug_span!("leave unseen", level = name.as_str(), entities = count).entered();
        let start = Instant::now();
        // What was hung there meanwhile is not seen any longer than what it hangs below would be.
        hide_hung(world, root, &members, &mut hiding);
        self.leave_to_others(world, (root, &members), &mut hiding, true);
        hiding.let_go_unseen(world, root, &members);
        let sweep = Sweep::of(root, &mut members).and_hidden(&mut hiding);
        self.has_left(world, id, sweep, members.memory);
        let took = start.elapsed();
        self.costs.learn(UnitKind::LeaveUnseen, count, took);
        let why = budget.why_without_limit();
        budget.book(UnitKind::LeaveUnseen, took, || {
            format!("leave {name} ({count} entities, hidden before){why}")
        });
        self.tasks.drop_later((members, hiding));
        true
    }

    /// Entities that nobody sees and that are to be despawned, about.
    pub(super) fn swept_later(&self) -> u64 {
        self.sweeps.iter().map(Sweeping::left).sum()
    }

    pub(super) fn sweep_later(&mut self, sweep: Sweep, of: Option<InstanceId>, unspawned: Vec<Entity>, memory: u64) {
        let entity_memory = memory / (sweep.left() as u64).max(1);
        self.sweeps.push_back(Sweeping {
            sweep,
            of,
            unspawned,
            entity_memory,
        });
    }

    /// Despawns what nobody sees any more, while there is time to spare; the more of it there is, the more of the frame it gets.
    pub(super) fn sweep(&mut self, world: &mut World, budget: &mut FrameBudget) {
        let steps = self.sweeps.iter().map(|sweeping| sweeping.sweep.steps_left() as u64);
        let due = (steps.sum::<u64>() / SWEPT_WITHIN).max(1);
        let mut done = 0;
        let owners = LazyOwners::all();
        loop {
            if budget.is_lifted() && !self.is_over_ceiling(world) {
                return;
            }
            let Some(sweeping) = self.sweeps.front_mut() else {
                return;
            };
            let cost = self.costs.of(UnitKind::Sweep, SLICE as u64);
            let is_due = done < due && budget.allows(cost);
            if !is_due && !budget.has_spare(cost) {
                return;
            }
            done += SLICE as u64;
            if done >= due {
                self.leaves_held = 0;
            }
            // What was abandoned before anybody saw it is no level any more.
            let name = sweeping.of.map_or("what never came", |id| self.instances.name_of(id));
            let _span = debug_span!("sweep", level = name).entered();
            let start = Instant::now();
            let despawned = sweeping.sweep.step_among(world, SLICE, &owners);
            let took = start.elapsed();
            let is_done = sweeping.sweep.is_over();
            if despawned > 0 {
                self.costs.learn(UnitKind::Sweep, despawned, took);
            }
            let why = budget.why_without_limit();
            budget.book(UnitKind::Sweep, took, || {
                format!("despawn {despawned} entities of {name}{why}")
            });
            if is_done && let Some(swept) = self.sweeps.pop_front() {
                world.entity_allocator_mut().free_many(&swept.unspawned);
                self.tasks.drop_later((swept.sweep, swept.unspawned));
                if let Some(id) = swept.of {
                    self.release(world, id);
                    self.instances.remove(&id);
                }
            }
        }
    }
}
