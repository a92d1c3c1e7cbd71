//! Decoded assets into `Assets`, within the frame's budget, and what is told at the end of a frame.

use core::time::Duration;
use std::collections::VecDeque;

use bevy_asset::AssetPath;
use bevy_ecs::{message::Messages, prelude::*};
use bevy_log::warn;
use bevy_platform::time::Instant;

use super::Pipeline;
use crate::{
    gate::RevealGates,
    load::{
        InstanceEvent, InstanceId, Streamer,
        budget::{Estimates, FrameBudget, Work},
        instance::{Instance, by_priority},
        link::LoadedAsset,
        packages::PackageStatus,
    },
    settings::{StreamingSettings, StreamingStats},
};

/// Where decoded assets wait.
pub(super) enum AssetsOf {
    Package(AssetPath<'static>),
    Objects(u64),
    Reload(InstanceId),
}

/// A frame's account of assets.
#[derive(Default)]
struct Inserting {
    bytes: u64,
    most_bytes: u64,
    has_inserted: bool,
}

impl Inserting {
    fn fits(&self, size: u64, estimates: &Estimates, budget: &FrameBudget) -> bool {
        let is_small = self.bytes == 0 || self.bytes + size <= self.most_bytes;
        is_small && budget.allows(estimates.of(Work::Insert, size))
    }
}

impl Pipeline {
    /// Moves decoded assets into their `Assets`, as many as time and bytes allow, the most urgent first. Whether there were any.
    pub(super) fn insert_assets(
        &mut self,
        world: &mut World,
        settings: &StreamingSettings,
        budget: &mut FrameBudget,
    ) -> bool {
        let mut inserting = Inserting {
            bytes: 0,
            most_bytes: settings.upload_bytes_per_frame,
            has_inserted: false,
        };
        for source in self.asset_sources() {
            while let Some(asset) = self.next_asset(&source) {
                if !inserting.fits(asset, &self.estimates, budget) {
                    return inserting.has_inserted;
                }
                self.insert_next(world, &source, &mut inserting, budget);
            }
            let AssetsOf::Package(path) = source else { continue };
            if let Some(mut entry) = self.packages.get_mut(&path) {
                entry.gate(world.resource::<RevealGates>(), self.frame);
            }
        }
        inserting.has_inserted
    }

    /// All that wait there, whatever it takes.
    pub(super) fn insert_all(&mut self, world: &mut World, source: &AssetsOf) {
        let mut inserting = Inserting::default();
        let mut budget = FrameBudget::new(Duration::MAX, Duration::ZERO);
        while self.next_asset(source).is_some() {
            self.insert_next(world, source, &mut inserting, &mut budget);
        }
    }

    /// Whose decoded assets wait, the most urgent first.
    fn asset_sources(&self) -> Vec<AssetsOf> {
        let inserting = self.packages.index().inserting.iter();
        let packages = inserting.filter_map(|path| {
            let users = self.packages.get(path)?.users.iter();
            let users = users.filter_map(|user| Some((self.instances.get(user)?.request.priority, user.0)));
            let first = users.min_by(|a, b| by_priority(*a, *b));
            Some((first.unwrap_or_default(), AssetsOf::Package(path.clone())))
        });
        let waiting = self.objects.iter().filter(|(_, objects)| !objects.queue.is_empty());
        let objects = waiting.map(|(id, objects)| ((objects.priority, *id), AssetsOf::Objects(*id)));
        let reloads = self.reloads.iter().filter(|(_, reload)| reload.has_queue());
        let reloads = reloads.map(|(id, _)| ((self.priority_of(*id), id.0), AssetsOf::Reload(*id)));
        let mut sources: Vec<_> = packages.chain(objects).chain(reloads).collect();
        sources.sort_by(|(a, _), (b, _)| by_priority(*a, *b));
        sources.into_iter().map(|(_, source)| source).collect()
    }

    /// The size of the next asset, in bytes.
    fn next_asset(&mut self, source: &AssetsOf) -> Option<u64> {
        self.with_queue(source, |queue| queue.front().map(|asset| asset.bytes))
    }

    fn take_asset(&mut self, source: &AssetsOf) -> Option<LoadedAsset> {
        self.with_queue(source, VecDeque::pop_front)
    }

    fn with_queue<T>(
        &mut self,
        source: &AssetsOf,
        act: impl FnOnce(&mut VecDeque<LoadedAsset>) -> Option<T>,
    ) -> Option<T> {
        match source {
            AssetsOf::Objects(id) => act(&mut self.objects.get_mut(id)?.queue),
            AssetsOf::Reload(id) => act(self.reloads.get_mut(id)?.queue()?),
            AssetsOf::Package(path) => match &mut self.packages.get_mut(path)?.status {
                PackageStatus::Inserting(queue) => act(queue),
                _ => None,
            },
        }
    }

    fn insert_next(
        &mut self,
        world: &mut World,
        source: &AssetsOf,
        inserting: &mut Inserting,
        budget: &mut FrameBudget,
    ) {
        let Some(mut asset) = self.take_asset(source) else {
            return;
        };
        let start = Instant::now();
        let size = asset.bytes;
        if asset.slot.provide(asset.fingerprint, asset.value.is_rendered()) {
            inserting.has_inserted = true;
            asset.value.insert(world, asset.asset);
        }
        let took = start.elapsed();
        inserting.bytes += size;
        self.estimates.learn(Work::Insert, size, took);
        budget.book(took, || format!("insert {} ({size} bytes)", asset.name));
        self.tasks.drop_later(asset);
    }

    pub(super) fn check_gates(&mut self, world: &mut World, settings: &StreamingSettings) {
        let mut deadlines = 0;
        let gates = world.resource::<RevealGates>();
        let gated: Vec<_> = self.packages.index().gated.iter().cloned().collect();
        for path in gated {
            let Some(mut entry) = self.packages.get_mut(&path) else {
                continue;
            };
            let PackageStatus::Gated { since } = entry.status else {
                continue;
            };
            let (open, watched) = entry.is_open(gates);
            let late = self.frame.saturating_sub(since) >= u64::from(settings.gate_deadline_frames);
            if !open && late {
                deadlines += 1;
                warn!(
                    "{path}: not all of its {watched} assets were ready within {} frames; its levels are revealed without them",
                    settings.gate_deadline_frames
                );
            }
            if open || late {
                self.tasks.drop_later(entry.make_ready(gates));
            }
        }
        world.resource_mut::<StreamingStats>().gate_deadlines += deadlines;
    }

    /// Writes states, messages and counters for everybody else.
    pub(super) fn publish(&mut self, world: &mut World) {
        #[cfg(test)]
        assert!(self.instances.is_counted() && self.packages.is_counted());
        let mut streamer = world.resource_mut::<Streamer>();
        let mut changed = core::mem::take(&mut self.instances.index_mut().changed);
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
        let events = core::mem::take(&mut self.events);
        world.resource_mut::<Messages<InstanceEvent>>().write_batch(events);
    }
}
