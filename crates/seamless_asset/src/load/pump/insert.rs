//! Decoded assets into `Assets`, within the frame's budget of time and of bytes.

use std::collections::VecDeque;

use bevy_asset::AssetPath;
use bevy_ecs::world::World;
use bevy_log::debug_span;
use bevy_platform::time::Instant;

use super::Pipeline;
use crate::{
    gate::RevealGates,
    load::{
        InstanceId,
        budget::FrameBudget,
        cost::{CostKey, CostModel, UnitKind},
        link::LoadedAsset,
        rank::by_rank,
    },
    settings::{StreamingSettings, StreamingStats},
};

/// Where decoded assets wait.
pub(super) enum AssetsOf {
    Package(AssetPath<'static>),
    Objects(u64),
    Reload(InstanceId),
}

/// Whoever waits for assets, its rank, and the number of its request.
pub(super) type AssetSource = ((f64, u64), AssetsOf);

/// An asset whose turn is next.
struct Next {
    key: CostKey,
    size: u64,
    /// What of it a renderer takes to the GPU.
    upload: u64,
}

impl Next {
    fn of(asset: &LoadedAsset) -> Self {
        Self {
            key: asset.cost_key(),
            size: asset.bytes,
            upload: if asset.value.is_rendered() { asset.bytes } else { 0 },
        }
    }
}

/// A frame's account of assets.
#[derive(Default)]
struct Inserting {
    uploaded: u64,
    most: u64,
    has_inserted: bool,
    is_full: bool,
}

impl Inserting {
    fn fits(&mut self, next: &Next, costs: &CostModel, budget: &mut FrameBudget) -> bool {
        // What is larger than all that a frame may upload goes alone.
        let has_room = next.upload == 0 || self.uploaded == 0 || self.uploaded + next.upload <= self.most;
        self.is_full |= !has_room;
        has_room && budget.allows(costs.of(next.key, next.size))
    }

    fn tell(&self, world: &mut World) {
        let mut stats = world.resource_mut::<StreamingStats>();
        stats.uploaded_bytes += self.uploaded;
        stats.uploaded_last = self.uploaded;
        stats.upload_waits += u64::from(self.is_full);
    }
}

impl Pipeline {
    /// Moves decoded assets into their `Assets`, as many as time and bytes allow, the most urgent first, if it is their turn. Whether
    /// there were any.
    pub(super) fn insert_assets(
        &mut self,
        world: &mut World,
        settings: &StreamingSettings,
        budget: &mut FrameBudget,
    ) -> bool {
        let sources = self.asset_sources();
        let mut inserting = Inserting {
            most: settings.upload_bytes_per_frame,
            ..Inserting::default()
        };
        let is_turn = self.is_turn_of_assets(&sources);
        for (_, source) in sources {
            // Where nothing waits, the package has come all the same.
            let has_turn = is_turn || !self.has_asset(&source);
            if has_turn && !self.insert_from(world, &source, &mut inserting, budget) {
                break;
            }
        }
        inserting.tell(world);
        inserting.has_inserted
    }

    /// All that wait there, as far as there is time and room: whether it was all.
    fn insert_from(
        &mut self,
        world: &mut World,
        source: &AssetsOf,
        inserting: &mut Inserting,
        budget: &mut FrameBudget,
    ) -> bool {
        while let Some(next) = self.next_asset(source) {
            if !inserting.fits(&next, &self.costs, budget) {
                return false;
            }
            self.insert_next(world, source, inserting, budget);
        }
        if let AssetsOf::Package(path) = source
            && let Some(mut entry) = self.packages.get_mut(path)
        {
            entry.gate(world.resource::<RevealGates>(), self.frame);
        }
        true
    }

    /// All that wait there, whatever it takes.
    pub(super) fn insert_all(&mut self, world: &mut World, source: &AssetsOf) {
        let mut inserting = Inserting::default();
        let mut budget = FrameBudget::unlimited();
        while self.next_asset(source).is_some() {
            self.insert_next(world, source, &mut inserting, &mut budget);
        }
        world.resource_mut::<StreamingStats>().uploaded_bytes += inserting.uploaded;
    }

    /// Whose decoded assets wait, the most urgent first.
    fn asset_sources(&self) -> Vec<AssetSource> {
        let inserting = self.packages.index().inserting.iter();
        let packages = inserting.filter_map(|path| {
            let users = self.packages.get(path)?.users.iter();
            let users = users.filter_map(|user| Some((self.rank_of(*user)?, user.0)));
            let first = users.min_by(|a, b| by_rank(*a, *b));
            let nobody = (f64::NEG_INFINITY, u64::MAX);
            Some((first.unwrap_or(nobody), AssetsOf::Package(path.clone())))
        });
        let waiting = self.objects.iter().filter(|(_, objects)| !objects.queue.is_empty());
        let objects = waiting.map(|(id, objects)| {
            let rank = self.arrivals.rank(*id, objects.priority);
            ((rank, *id), AssetsOf::Objects(*id))
        });
        let reloads = self.reloads.iter().filter(|(_, reload)| reload.has_queue());
        let reloads = reloads.filter_map(|(id, _)| Some(((self.rank_of(*id)?, id.0), AssetsOf::Reload(*id))));
        let mut sources: Vec<_> = packages.chain(objects).chain(reloads).collect();
        sources.sort_by(|(a, _), (b, _)| by_rank(*a, *b));
        sources
    }

    fn next_asset(&mut self, source: &AssetsOf) -> Option<Next> {
        self.with_queue(source, |queue| queue.front().map(Next::of))
    }

    pub(super) fn has_asset(&mut self, source: &AssetsOf) -> bool {
        self.next_asset(source).is_some()
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
            AssetsOf::Package(path) => act(self.packages.get_mut(path)?.queue()?),
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
        let Next { key, size, upload } = Next::of(&asset);
        let _span = debug_span!("insert", asset = asset.name, bytes = size).entered();
        let start = Instant::now();
        let is_new = asset.slot.provide(asset.fingerprint, asset.value.is_rendered());
        if is_new {
            inserting.has_inserted = true;
            inserting.uploaded += upload;
            asset.value.insert(world, asset.asset);
        }
        let took = start.elapsed();
        if is_new {
            self.costs.learn(key, size, took);
        }
        budget.book(UnitKind::Insert, took, || {
            format!("insert {} ({size} bytes)", asset.name)
        });
        if let AssetsOf::Package(path) = source
            && let Some(mut entry) = self.packages.get_mut(path)
        {
            entry.inserted(size, is_new);
        }
        self.tasks.drop_later(asset);
    }
}
