//! What a new target calls for. See [`next`].

#[cfg(test)]
mod tests;

use bevy_ecs::{entity::Entity, world::World};
use bevy_log::warn_once;

use super::Pipeline;
use crate::{
    gate::RevealGates,
    load::{InstanceId, InstanceTarget, instance::Phase},
    reveal::Members,
    settings::StreamingStats,
};

/// Where an instance is, as far as targets matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Queued, loading or staged: nothing of it is in the world.
    Coming,
    /// In the world in part, and nobody has seen it.
    Spawning,
    Live,
    Hidden,
    Leaving,
    Failed,
    /// It has left, or is no level.
    Spent,
}

impl From<&Phase> for Place {
    fn from(phase: &Phase) -> Self {
        match phase {
            Phase::Queued | Phase::Loading(_) | Phase::Staged(_) => Self::Coming,
            Phase::Spawning(_) => Self::Spawning,
            Phase::Live { .. } => Self::Live,
            Phase::Hidden { .. } => Self::Hidden,
            Phase::Leaving { .. } => Self::Leaving,
            Phase::Failed => Self::Failed,
            Phase::Sweeping | Phase::Reloading => Self::Spent,
        }
    }
}

/// What is done at once when a target is set. What takes the main thread's time waits for its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// The target is noted; turns follow from it.
    Note,
    /// It is cancelled.
    Cancel,
    /// It waits for its turn to leave.
    Leave,
    /// It does not leave after all.
    Stay,
    /// It stays, since this app cannot hide it.
    StayShown,
    /// It is forgotten.
    Forget,
    /// Nothing can be done.
    Ignore,
}

/// The rule, pure.
fn next(place: Place, target: InstanceTarget, can_hide: bool) -> Step {
    use InstanceTarget::{Gone, Loaded, Shown};
    match (place, target) {
        (Place::Coming | Place::Spawning, Gone) => Step::Cancel,
        (Place::Coming | Place::Spawning, Loaded | Shown) | (Place::Live, Shown) | (Place::Hidden, _) => Step::Note,
        (Place::Live, Gone) => Step::Leave,
        (Place::Live | Place::Leaving, Loaded) if !can_hide => Step::StayShown,
        (Place::Live, Loaded) => Step::Note,
        (Place::Leaving, Loaded | Shown) => Step::Stay,
        (Place::Failed, Gone) => Step::Forget,
        (Place::Leaving, Gone) | (Place::Failed, Loaded | Shown) | (Place::Spent, _) => Step::Ignore,
    }
}

/// Whether somebody has despawned a level that is hidden or about to leave.
fn has_lost_root(world: &World, phase: &Phase) -> bool {
    match phase {
        Phase::Leaving { root, .. } | Phase::Hidden { root, .. } => !world.entities().contains_spawned(*root),
        _ => false,
    }
}

impl Pipeline {
    /// An instance is to come this far.
    pub(super) fn set_target(&mut self, world: &mut World, id: InstanceId, target: InstanceTarget) {
        let Some(instance) = self.instances.get(&id) else {
            return;
        };
        let step = next(Place::from(&instance.phase), target, self.services.is_sliced);
        // Who is asked for again on the way out, and was despawned, goes on.
        if target != InstanceTarget::Gone && has_lost_root(world, &instance.phase) {
            return;
        }
        match step {
            Step::Ignore => {}
            Step::Note => self.note_target(world, id, target),
            Step::Cancel => self.cancel_load(world, id),
            Step::Forget => drop(self.instances.remove(&id)),
            Step::Leave => {
                self.note_target(world, id, target);
                self.change_live(id, |root, members| Phase::Leaving { root, members });
            }
            Step::Stay => self.stay(world, id, target),
            Step::StayShown => {
                world.resource_mut::<StreamingStats>().refused_hides += 1;
                warn_once!(
                    "a level that is in the world cannot be hidden in this app, so it stays: set `SeamlessAssetPlugin::sliced_levels`"
                );
                self.stay(world, id, InstanceTarget::Shown);
            }
        }
    }

    fn note_target(&mut self, world: &World, id: InstanceId, target: InstanceTarget) {
        let Some(mut instance) = self.instances.get_mut(&id) else {
            return;
        };
        if instance.aim(target, self.frame, &self.arrivals) {
            self.level_gates.ask_again(id, &instance.phase);
        } else if target != InstanceTarget::Shown && !matches!(instance.phase, Phase::Staged(_)) {
            self.level_gates.forget(id, world.resource::<RevealGates>());
        }
    }

    /// A level that was about to leave stays.
    fn stay(&mut self, world: &World, id: InstanceId, target: InstanceTarget) {
        self.note_target(world, id, target);
        self.change_live(id, |root, members| Phase::Live { root, members });
    }

    fn change_live(&mut self, id: InstanceId, phase: impl FnOnce(Entity, Members) -> Phase) {
        if let Some((root, members)) = self.take_out(id) {
            self.instances.replace_phase(id, phase(root, members));
        }
    }

    fn cancel_load(&mut self, world: &mut World, id: InstanceId) {
        match self.instances.replace_phase(id, Phase::Failed) {
            Some(Phase::Loading(progress)) => self.stop_task(id, &progress),
            Some(Phase::Staged(level)) => self.drop_level(world, level),
            Some(Phase::Spawning(spawn)) => self.abandon(world, spawn),
            _ => {}
        }
        self.cancel(world, id);
    }
}
