//! A level that was asked for before is brought into the world at once. See [`Pipeline::finish_now`].

use std::sync::Arc;

#[cfg(test)]
use bevy_asset::AssetPath;
use bevy_ecs::world::World;

use super::Pipeline;
use crate::{
    error::{LoadError, LoadErrorKind},
    load::{
        InstanceId, InstanceTarget, Progress,
        budget::FrameBudget,
        instance::{Instance, Phase},
        packages::PackageStatus,
        tasks::Finished,
    },
};

impl Pipeline {
    /// What an instance is called and which package it is from, after all that was asked for is taken in.
    pub(super) fn find(&mut self, world: &mut World, id: InstanceId) -> Result<(String, String), Arc<LoadError>> {
        self.take_commands(world, &mut FrameBudget::unlimited());
        // Whose root was despawned is about to be found, and gone.
        let has_root = |instance: &&Instance| match &instance.phase {
            Phase::Live { root, .. } | Phase::Leaving { root, .. } | Phase::Hidden { root, .. } => {
                world.entities().contains_spawned(*root)
            }
            phase => !matches!(phase, Phase::Failed),
        };
        let is_known = |instance: &&Instance| instance.known().is_some() && has_root(instance);
        let known = self.instances.get(&id).filter(is_known);
        let gone = || Arc::new(LoadError::package(format!("{id:?}"), LoadErrorKind::NoSuchInstance));
        let request = &known.ok_or_else(gone)?.request;
        Ok((request.name.clone(), request.package.to_string()))
    }

    /// Whether an instance is in the world, and is to stay.
    pub(super) fn is_shown(&self, id: InstanceId) -> bool {
        let instance = self.instances.get(&id);
        instance.is_some_and(|instance| {
            matches!(instance.phase, Phase::Live { .. }) && instance.request.target == InstanceTarget::Shown
        })
    }

    /// Brings an instance into the world, wherever it is on its way.
    pub(super) fn finish_now(&mut self, world: &mut World, id: InstanceId) -> Result<(), Arc<LoadError>> {
        self.set_target(world, id, InstanceTarget::Shown);
        self.take_brought(world, Some(id));
        let loading = match self.instances.get(&id).map(|instance| &instance.phase) {
            Some(Phase::Loading(progress)) => Some(progress.clone()),
            _ => None,
        };
        match loading {
            Some(progress) => self.load_again(id, &progress),
            None => self.start(id),
        }
        self.drive(world, id)
    }

    /// Takes what tasks have brought since the last frame: it need not be loaded again. What it turns out that the instance with this `id` needs is loaded
    /// here, and what others need by tasks, as ever.
    pub(super) fn take_brought(&mut self, world: &mut World, id: Option<InstanceId>) {
        while let Some(finished) = self.tasks.next_finished() {
            self.in_flight.end(&finished);
            let is_own = match (&finished, id) {
                (Finished::Package(of), Some(id)) => {
                    let entry = self.packages.get(&of.path);
                    entry.is_some_and(|entry| entry.users.contains(&id))
                }
                _ => false,
            };
            // What is kept here meanwhile gets no jobs of others.
            let kept = (!is_own).then(|| self.blocking.take());
            self.take_finished(world, finished);
            if let Some(kept) = kept {
                self.blocking = kept;
            }
        }
    }

    /// The task of an instance is given up, for all is loaded here: what it still finds is dropped.
    fn load_again(&mut self, id: InstanceId, progress: &Arc<Progress>) {
        let Some(own) = self.instances.get(&id).map(|instance| instance.request.package.clone()) else {
            return;
        };
        let entry = self.packages.get(&own);
        let loads_assets = entry.is_some_and(|entry| entry.is_loaded_by(progress));
        progress.cancel();
        let anew = self.start_level(id, loads_assets);
        if let (true, Some(anew), Some(mut entry)) = (loads_assets, anew, self.packages.get_mut(&own)) {
            entry.status = PackageStatus::Loading(anew);
        }
    }
}

#[cfg(test)]
impl Pipeline {
    /// How many tasks have not come back.
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.tasks()
    }

    /// How many of these are done, and nobody has looked yet.
    pub(crate) fn brought(&self) -> usize {
        self.tasks.brought()
    }

    /// How much a package holds: handles, tables of others, and imports that are not verified.
    pub(crate) fn held_by(&self, path: &AssetPath<'static>) -> Option<[usize; 3]> {
        let entry = self.packages.get(path)?;
        Some([entry.handles.len(), entry.sources.len(), entry.unverified.len()])
    }
}
