//! Packages that stay for the life of the app. See [`Pipeline::pin`].

use bevy_asset::AssetPath;
use bevy_ecs::world::World;
use bevy_platform::collections::HashSet;

use super::Pipeline;
use crate::{
    gate::RevealGates,
    load::{
        link::LoadedPackage,
        packages::{PackageEntry, PackageStatus},
        task::LoadServices,
    },
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
        loaded: LoadedPackage,
        bytes: u64,
    ) {
        for mut asset in loaded.assets {
            if asset.slot.provide() {
                asset.value.insert(world, asset.asset);
            }
        }
        world.resource::<RevealGates>().watch(&loaded.rendered);
        world.resource_mut::<StreamingStats>().bytes_read += bytes;
        let entry = PackageEntry {
            users: HashSet::default(),
            status: PackageStatus::Gated { since: self.frame },
            linker: Some(loaded.linker),
            sources: Vec::new(),
            needs: Vec::new(),
            unverified: loaded.unverified,
            handles: loaded.handles,
            assets: loaded.rendered,
            bytes,
            is_shown: true,
            is_pinned: true,
        };
        self.packages.insert(path.clone(), entry);
    }
}
