//! Decoded assets into `Assets`, within the frame's budget of time and of bytes.

use std::collections::VecDeque;

use bevy_asset::AssetPath;
use bevy_ecs::world::World;
use bevy_log::debug_span;
use bevy_platform::time::Instant;

use super::{Pipeline, reload::Reload};
use crate::{
    gate::RevealGates,
    load::{
        InstanceId,
        budget::FrameBudget,
        cost::{CostModel, UnitKind},
        held::HeldMemory,
        link::LoadedAsset,
        packages::PackageEntry,
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

/// A frame's account of assets.
struct Inserting<'a> {
    costs: CostModel,
    held: &'a mut HeldMemory,
    budget: &'a mut FrameBudget,
    /// Bytes that a renderer takes to the GPU, and how many a frame may have of those.
    uploaded: u64,
    most: u64,
    has_inserted: bool,
    is_full: bool,
    /// What is left of those that had their turn, and where they waited.
    spent: Vec<LoadedAsset>,
    emptied: Vec<VecDeque<LoadedAsset>>,
}

/// What came of assets that wait together.
#[derive(Default)]
struct Inserted {
    /// Bytes that wait no more.
    bytes: u64,
    is_all: bool,
}

impl<'a> Inserting<'a> {
    fn new(costs: CostModel, held: &'a mut HeldMemory, budget: &'a mut FrameBudget, most: u64) -> Self {
        Self {
            costs,
            held,
            budget,
            uploaded: 0,
            most,
            has_inserted: false,
            is_full: false,
            spent: Vec::new(),
            emptied: Vec::new(),
        }
    }

    /// As many as there is time and room for.
    fn insert(&mut self, world: &mut World, queue: &mut VecDeque<LoadedAsset>) -> Inserted {
        let mut inserted = Inserted::default();
        while let Some(mut asset) = queue.pop_front_if(|next| self.fits(next)) {
            self.insert_one(world, &mut asset);
            inserted.bytes += asset.bytes;
            self.spent.push(asset);
        }
        inserted.is_all = queue.is_empty();
        inserted
    }

    fn fits(&mut self, next: &LoadedAsset) -> bool {
        // What is larger than all that a frame may upload goes alone.
        let upload = upload_of(next);
        let has_room = upload == 0 || self.uploaded == 0 || self.uploaded + upload <= self.most;
        self.is_full |= !has_room;
        has_room && self.budget.allows(self.costs.of(next.cost_key(), next.bytes))
    }

    /// If it is not there yet.
    fn insert_one(&mut self, world: &mut World, asset: &mut LoadedAsset) {
        let size = asset.bytes;
        let _span = debug_span!("insert", asset = asset.name, bytes = size).entered();
        let start = Instant::now();
        let is_new = asset.slot.provide(asset.fingerprint, asset.value.is_rendered());
        if is_new {
            self.has_inserted = true;
            self.uploaded += upload_of(asset);
            self.held.note(&asset.slot, size);
            asset.value.insert(world, asset.asset);
        }
        let took = start.elapsed();
        if is_new {
            self.costs.learn(asset.cost_key(), size, took);
        }
        self.budget.book(UnitKind::Insert, took, || {
            format!("insert {} ({size} bytes)", asset.name)
        });
    }

    fn tell(&self, world: &mut World) {
        let mut stats = world.resource_mut::<StreamingStats>();
        stats.uploaded_bytes += self.uploaded;
        stats.uploaded_last = self.uploaded;
        stats.upload_waits += u64::from(self.is_full);
    }
}

/// What a renderer takes of it to the GPU.
pub(super) fn upload_of(asset: &LoadedAsset) -> u64 {
    if asset.value.is_rendered() { asset.bytes } else { 0 }
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
        let is_turn = self.is_turn_of_assets(&sources);
        let mut held = core::mem::take(&mut self.held_memory);
        let mut inserting = Inserting::new(
            core::mem::take(&mut self.costs),
            &mut held,
            budget,
            settings.upload_bytes_per_frame,
        );
        for (_, source) in sources {
            // Where nothing waits, the package has come all the same.
            let has_turn = is_turn || !self.has_asset(&source);
            if has_turn && !self.insert_from(world, &source, &mut inserting) {
                break;
            }
        }
        inserting.tell(world);
        let has_inserted = inserting.has_inserted;
        self.take_back(inserting);
        self.held_memory = held;
        has_inserted
    }

    /// All that wait there, whatever it takes.
    pub(super) fn insert_all(&mut self, world: &mut World, source: &AssetsOf) {
        let mut budget = FrameBudget::unlimited();
        let mut held = core::mem::take(&mut self.held_memory);
        let mut inserting = Inserting::new(core::mem::take(&mut self.costs), &mut held, &mut budget, u64::MAX);
        self.insert_from(world, source, &mut inserting);
        world.resource_mut::<StreamingStats>().uploaded_bytes += inserting.uploaded;
        self.take_back(inserting);
        self.held_memory = held;
    }

    fn take_back(&mut self, inserting: Inserting) {
        self.costs = inserting.costs;
        if !inserting.spent.is_empty() || !inserting.emptied.is_empty() {
            self.tasks.drop_later((inserting.spent, inserting.emptied));
        }
    }

    /// All that wait there, as far as there is time and room: whether it was all.
    fn insert_from(&mut self, world: &mut World, source: &AssetsOf, inserting: &mut Inserting) -> bool {
        match source {
            AssetsOf::Package(path) => {
                let Some(mut entry) = self.packages.get_mut(path) else {
                    return true;
                };
                let Some(queue) = entry.queue() else {
                    return true;
                };
                let inserted = inserting.insert(world, queue);
                entry.inserted(inserted.bytes);
                if inserted.is_all {
                    let queue = entry.gate(world.resource::<RevealGates>(), self.gate_clock.now());
                    inserting.emptied.extend((queue.capacity() > 0).then_some(queue));
                }
                inserted.is_all
            }
            AssetsOf::Objects(id) => {
                let Some(objects) = self.objects.get_mut(*id) else {
                    return true;
                };
                let inserted = inserting.insert(world, &mut objects.queue);
                objects.staged = objects.staged.saturating_sub(inserted.bytes);
                inserted.is_all
            }
            AssetsOf::Reload(id) => {
                let queue = self.reloads.get_mut(id).and_then(Reload::queue);
                queue.is_none_or(|queue| inserting.insert(world, queue).is_all)
            }
        }
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
        let waiting = self.objects.begun().filter(|(_, objects)| !objects.queue.is_empty());
        let objects = waiting.map(|(id, objects)| {
            let rank = self.arrivals.rank(id, objects.priority);
            ((rank, id), AssetsOf::Objects(id))
        });
        let reloads = self.reloads.iter().filter(|(_, reload)| reload.has_queue());
        let reloads = reloads.map(|(id, reload)| {
            let rank = self.reload_rank(*id, reload);
            ((rank, id.0), AssetsOf::Reload(*id))
        });
        let mut sources: Vec<_> = packages.chain(objects).chain(reloads).collect();
        sources.sort_by(|(a, _), (b, _)| by_rank(*a, *b));
        sources
    }

    pub(super) fn has_asset(&self, source: &AssetsOf) -> bool {
        match source {
            AssetsOf::Objects(id) => self.objects.get(*id).is_some_and(|objects| !objects.queue.is_empty()),
            AssetsOf::Reload(id) => self.reloads.get(id).is_some_and(Reload::has_queue),
            AssetsOf::Package(path) => self.packages.get(path).is_some_and(PackageEntry::has_queue),
        }
    }
}
