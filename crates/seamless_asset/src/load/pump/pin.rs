//! Packages that stay for the life of the app. See [`Pipeline::pin`].

use std::sync::Arc;

use bevy_asset::AssetPath;
use bevy_ecs::world::World;
use bevy_log::debug_span;

use super::{Pipeline, insert::upload_of};
use crate::{
    gate::RevealGates,
    load::{link::LoadedPackage, packages::PackageEntry, task::LoadServices},
    settings::StreamingStats,
};

impl Pipeline {
    /// What loads share.
    pub(in crate::load) fn services(&self) -> &LoadServices {
        &self.services
    }

    /// Moves all values of a package into their `Assets` and keeps it for ever. Levels and objects that refer to it find it live, and
    /// its tables open to compare their imports with: they never open its file.
    pub(in crate::load) fn pin(
        &mut self,
        world: &mut World,
        path: &AssetPath<'static>,
        mut loaded: LoadedPackage,
        bytes: u64,
    ) {
        let mut uploaded = 0;
        for mut asset in core::mem::take(&mut loaded.assets) {
            let _span = debug_span!("insert", asset = asset.name, bytes = asset.bytes).entered();
            if asset.slot.provide(asset.fingerprint, asset.value.is_rendered()) {
                uploaded += upload_of(&asset);
                self.held_memory.note(&asset.slot, asset.bytes);
                asset.value.insert(world, asset.asset);
            }
        }
        let mut stats = world.resource_mut::<StreamingStats>();
        stats.bytes_read += bytes;
        // In no frame.
        stats.uploaded_bytes += uploaded;
        let mut entry = PackageEntry::loading(Arc::default(), 0);
        entry.is_pinned = true;
        entry.bytes = bytes;
        entry.linker = Some(loaded.linker.clone());
        // All that it needs is its own.
        entry.add(&mut loaded, true, &mut self.held_memory);
        entry.needs.clear();
        let queue = entry.gate(world.resource::<RevealGates>(), self.gate_clock.now());
        entry.show();
        self.packages.insert(path.clone(), entry);
        self.tasks.drop_later((loaded, queue));
    }
}
