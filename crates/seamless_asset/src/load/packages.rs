//! The packages that are loading or live, each with its users. See [`PackageEntry`].

use std::{collections::VecDeque, sync::Arc};

use bevy_asset::{UntypedAssetId, UntypedHandle};
use bevy_platform::collections::HashSet;

use bevy_asset::AssetPath;

use super::{InstanceId, Progress, link::LoadedAsset, verify::Unverified};
use crate::linker::Linker;

/// Where a package is.
pub(super) enum PackageStatus {
    /// A task reads and decodes it.
    Loading(Arc<Progress>),
    /// Its values move into `Assets`, some each frame.
    Inserting(VecDeque<LoadedAsset>),
    /// All values are in; a gate may hold it, since the frame that is named.
    Gated { since: u64 },
    /// Levels that need it may be revealed.
    Ready,
    /// It could not be loaded; its users fail with it.
    Failed,
}

/// One package, for as long as a level instance uses it.
pub(super) struct PackageEntry {
    /// Instances that need it.
    pub users: HashSet<InstanceId>,
    pub status: PackageStatus,
    /// Its tables, once they are read and as long as they are kept.
    pub linker: Option<Arc<Linker>>,
    /// Packages that it imports from, open until its own values are in.
    pub sources: Vec<Arc<Linker>>,
    /// The packages that it imports from.
    pub needs: Vec<AssetPath<'static>>,
    /// The imports that still are to be compared with the exports of their packages.
    pub unverified: Vec<Unverified>,
    /// Keep the package's own objects alive.
    pub handles: Vec<UntypedHandle>,
    /// The assets whose values came from here: what gates watch.
    pub assets: Vec<UntypedAssetId>,
    /// Bytes read from its file.
    pub bytes: u64,
    /// A level that uses it was revealed.
    pub is_shown: bool,
    /// It stays without users, too.
    pub is_pinned: bool,
}

impl PackageEntry {
    pub fn loading(progress: Arc<Progress>) -> Self {
        Self {
            users: HashSet::default(),
            status: PackageStatus::Loading(progress),
            linker: None,
            sources: Vec::new(),
            needs: Vec::new(),
            unverified: Vec::new(),
            handles: Vec::new(),
            assets: Vec::new(),
            bytes: 0,
            is_shown: false,
            is_pinned: false,
        }
    }

    /// Whether the task with this progress is the one that loads the package's assets.
    pub fn is_loaded_by(&self, progress: &Arc<Progress>) -> bool {
        matches!(&self.status, PackageStatus::Loading(own) if Arc::ptr_eq(own, progress))
    }

    /// Values that came after the first load. While that goes on there is nothing to do: it provides the same.
    pub fn insert_more(&mut self, assets: VecDeque<LoadedAsset>) {
        match &mut self.status {
            _ if assets.is_empty() => {}
            PackageStatus::Inserting(queue) => queue.extend(assets),
            PackageStatus::Gated { .. } | PackageStatus::Ready => self.status = PackageStatus::Inserting(assets),
            PackageStatus::Loading(_) | PackageStatus::Failed => {}
        }
    }

    /// Levels that need it may be revealed.
    pub fn make_ready(&mut self) {
        self.status = PackageStatus::Ready;
        self.sources.clear();
    }

    pub fn is_ready(&self) -> bool {
        matches!(self.status, PackageStatus::Ready)
    }
}
