//! What tasks have brought: packages, levels, and what is wrong with them.

use core::time::Duration;
use std::sync::Arc;

use bevy_asset::AssetPath;
use bevy_ecs::prelude::*;
use bevy_platform::time::Instant;

use super::Pipeline;
use crate::{
    error::{LoadError, LoadErrorKind},
    load::{
        InstanceId, Progress,
        instance::Phase,
        link::{LoadedLevel, LoadedPackage},
        packages::PackageStatus,
        stage::Stage,
        task::{Read, Stop, Wanted},
        tasks::{Finished, FinishedPackage, JobOwner},
    },
    settings::StreamingStats,
};

/// One part in so many of a frame's budget.
const RESULTS: u32 = 4;

impl Pipeline {
    /// Takes what tasks have brought. Once that has taken its part of the budget, the rest waits for the next frame.
    pub(super) fn take_results(&mut self, world: &mut World, budget: Duration) {
        let start = Instant::now();
        while let Some(finished) = self.tasks.next_finished() {
            self.in_flight.end(&finished);
            self.take_finished(world, finished);
            if start.elapsed() >= budget / RESULTS {
                break;
            }
        }
    }

    pub(super) fn take_finished(&mut self, world: &mut World, finished: Finished) {
        match finished {
            Finished::Package(finished) => self.take_package(world, finished),
            Finished::Bulk(finished) => self.take_finished_bulk(world, finished),
            Finished::Open(finished) => self.take_finished_open(world, finished),
        }
    }

    fn take_package(&mut self, world: &mut World, mut finished: Box<FinishedPackage>) {
        let mut stats = world.resource_mut::<StreamingStats>();
        stats.bytes_read += finished.read.bytes;
        if finished.result.is_err() {
            stats.waste(finished.read.stage, finished.read.bytes);
        }
        let FinishedPackage {
            path,
            wanted,
            owner,
            progress,
            read,
            result,
        } = &mut *finished;
        let (owner, read) = (*owner, *read);
        match (owner, core::mem::replace(result, Err(Stop::Cancelled))) {
            (JobOwner::Reload(_), Err(Stop::Cancelled)) => self.settle_linker(path),
            (_, Err(Stop::Cancelled)) => {}
            // It was given up too late: others have loaded what it brings.
            (JobOwner::Instance(_), Err(_)) if progress.is_cancelled() => {}
            (JobOwner::Instance(_), Ok(loaded)) if progress.is_cancelled() => {
                stats.waste(Stage::Staged, read.bytes);
                *result = Ok(loaded);
            }
            (JobOwner::Objects(id) | JobOwner::MoreObjects(id), Ok(mut loaded)) => {
                let wanted = core::mem::replace(wanted, Wanted::Assets);
                self.take_loaded_objects(world, id, path, wanted, read, &mut loaded);
                *result = Ok(loaded);
            }
            (JobOwner::Objects(id) | JobOwner::MoreObjects(id), Err(Stop::Failed(error))) => {
                self.fail_objects(world, id, *error);
            }
            (JobOwner::Reload(id), Ok(loaded)) => self.take_reloaded(world, id, read, loaded),
            (JobOwner::Reload(id), Err(Stop::Failed(error))) => self.fail_reload(world, id, Arc::from(error)),
            (owner, Ok(mut loaded)) => {
                let level = loaded.level.take();
                // The bytes are on one account only.
                let bytes = if self.take_assets(path, progress, read, &mut loaded) {
                    0
                } else {
                    read.bytes
                };
                *result = Ok(loaded);
                match (owner, level) {
                    (JobOwner::Instance(id), Some(Ok(level))) => self.take_level(world, id, level, bytes),
                    (JobOwner::Instance(id), Some(Err(error))) => self.fail_loading(world, id, error),
                    _ => world.resource_mut::<StreamingStats>().waste(Stage::Staged, bytes),
                }
            }
            (owner, Err(Stop::Failed(error))) => {
                let instance = match owner {
                    JobOwner::Instance(id) => Some(id),
                    _ => None,
                };
                self.take_failed(world, path, instance, progress, *error);
            }
        }
        // A task has allocated what is left of it.
        self.tasks.drop_later(finished);
    }

    /// A package came, with its assets if it was the first load of it: whether these are wanted.
    fn take_assets(
        &mut self,
        path: &AssetPath<'static>,
        progress: &Arc<Progress>,
        read: Read,
        loaded: &mut LoadedPackage,
    ) -> bool {
        let Some(mut entry) = self.packages.get_mut(path) else {
            return false;
        };
        let is_first = entry.is_loaded_by(progress);
        if is_first {
            entry.bytes = read.bytes;
            self.sizes.note_assets(path, loaded.memory);
            entry.linker = self.keep_linkers.then(|| loaded.linker.clone());
        }
        let needs = entry.add(loaded, is_first, &mut self.held_memory);
        // The first load has told the others already what they need: they are many, maybe.
        if needs.is_empty() {
            return is_first;
        }
        let users: Vec<_> = entry.users.iter().copied().collect();
        drop(entry);
        for (user, need) in users.iter().flat_map(|user| needs.iter().map(move |need| (user, need))) {
            self.join(*user, need.clone());
        }
        is_first
    }

    fn take_level(&mut self, world: &mut World, id: InstanceId, mut level: Box<LoadedLevel>, bytes: u64) {
        level.bytes = bytes;
        if let Some(instance) = self.instances.get(&id) {
            self.sizes.note_level(&instance.request.package, level.memory);
        }
        let instance = self.instances.get_mut(&id);
        if let Some(mut instance) = instance.filter(|instance| matches!(instance.phase, Phase::Loading(_))) {
            instance.phase = Phase::Staged(level);
            return;
        }
        self.drop_level(world, level);
    }

    fn take_failed(
        &mut self,
        world: &mut World,
        path: &AssetPath<'static>,
        instance: Option<InstanceId>,
        progress: &Arc<Progress>,
        error: LoadError,
    ) {
        let error = Arc::new(error);
        for user in self.fail_package(path, progress) {
            if instance == Some(user) || self.does_without(world, user, path) {
                continue;
            }
            let package = self.instances.get(&user).map(|user| user.request.package.to_string());
            let kind = LoadErrorKind::dependency(path.to_string(), &error);
            let error = LoadError::package(package.unwrap_or_default(), kind);
            self.fail(world, user, Arc::new(error));
        }
        if let Some(id) = instance {
            self.fail_loading(world, id, error);
        }
    }

    /// Whoever is in the world has what it needs, and waits for nothing that has failed: so the package has no users, and is loaded anew for
    /// the next one.
    fn does_without(&mut self, world: &mut World, id: InstanceId, path: &AssetPath<'static>) -> bool {
        let instance = self.instances.get_mut(&id);
        let Some(mut instance) = instance.filter(|instance| !instance.is_coming()) else {
            return false;
        };
        instance.packages.retain(|package| package != path);
        drop(instance);
        self.release_package(world, id, path);
        true
    }

    /// Notes that the load of a package's assets failed, if it is this one. Gives the package's users.
    fn fail_package(&mut self, path: &AssetPath<'static>, progress: &Arc<Progress>) -> Vec<InstanceId> {
        let Some(mut entry) = self.packages.get_mut(path) else {
            return Vec::new();
        };
        if !entry.is_loaded_by(progress) {
            return Vec::new();
        }
        entry.status = PackageStatus::Failed;
        entry.users.iter().copied().collect()
    }

    /// The job of an instance failed, if it was not given up meanwhile.
    fn fail_loading(&mut self, world: &mut World, id: InstanceId, error: impl Into<Arc<LoadError>>) {
        let instance = self.instances.get(&id);
        if instance.is_some_and(|instance| matches!(instance.phase, Phase::Loading(_))) {
            self.fail(world, id, error.into());
        }
    }
}
