//! The packages that are loading or live, each with its users. See [`PackageEntry`].

use core::hash::Hash;
use std::{collections::VecDeque, sync::Arc};

use bevy_asset::{UntypedAssetId, UntypedHandle};
use bevy_platform::collections::HashSet;

use bevy_asset::AssetPath;

use super::{
    InstanceId, Progress,
    gate_clock::Moment,
    held::HeldMemory,
    link::{LoadedAsset, LoadedPackage},
    tracked::{Index, Marked, Tracked},
    verify::Unverified,
};
use crate::{gate::RevealGates, linker::Linker, objects::Slot};

/// Where a package is.
pub(super) enum PackageStatus {
    /// A task reads and decodes it.
    Loading(Arc<Progress>),
    /// Its values move into `Assets`, some each frame.
    Inserting(VecDeque<LoadedAsset>),
    /// All values are in; a gate may hold it, since then.
    Gated { since: Moment },
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
    /// What gates are to wait for: its assets, and the copies of others' that it has.
    pub assets: Vec<UntypedAssetId>,
    /// What they are watching for it at the moment.
    watched: Vec<UntypedAssetId>,
    /// What is complete as soon as all packages of a user are there.
    pub slots: Vec<Slot>,
    /// Values that came from another load of the package than the first, which is not there yet.
    early: VecDeque<LoadedAsset>,
    /// The content hashes of the files whose assets are here: more than one when the file was written over meanwhile.
    pub hashes: Vec<u64>,
    /// Bytes read from its file.
    pub bytes: u64,
    /// The objects that it keeps in memory, whoever brought them.
    pub held: Vec<Slot>,
    /// What those of its assets take in memory that wait.
    staged: u64,
    /// What it is thought to bring, while it is loading.
    expected: u64,
    /// A level that uses it was revealed.
    pub is_shown: bool,
    /// It stays without users, too.
    pub is_pinned: bool,
}

/// All packages that are loading or live.
pub(super) type Packages = Tracked<AssetPath<'static>, PackageEntry, PackageIndex>;

/// The status of a package, as far as it is listed.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Listed {
    Inserting,
    Gated,
    /// Its bytes.
    Ready(u64),
    Other,
}

/// A package, as far as it is counted and listed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PackageMark {
    listed: Listed,
    is_loading: bool,
    staged: u64,
    expected: u64,
}

impl Marked for PackageEntry {
    type Mark = PackageMark;

    fn mark(&self) -> PackageMark {
        let is_loading = matches!(self.status, PackageStatus::Loading(_));
        PackageMark {
            listed: match self.status {
                PackageStatus::Inserting(_) => Listed::Inserting,
                PackageStatus::Gated { .. } => Listed::Gated,
                PackageStatus::Ready => Listed::Ready(self.bytes),
                PackageStatus::Loading(_) | PackageStatus::Failed => Listed::Other,
            },
            is_loading,
            staged: self.staged,
            expected: if is_loading { self.expected } else { 0 },
        }
    }
}

/// What each frame asks of packages.
#[derive(Default)]
pub(super) struct PackageIndex {
    pub inserting: HashSet<AssetPath<'static>>,
    pub gated: HashSet<AssetPath<'static>>,
    /// How many are ready, and their bytes.
    pub ready: u64,
    pub ready_bytes: u64,
    /// What the assets of all packages take in memory that wait, and those that are expected.
    pub staged: u64,
    pub expected: u64,
    /// How many are loading.
    pub loading: u64,
    /// These have become ready, or are not ready any more.
    pub turned: Vec<AssetPath<'static>>,
}

impl Index<AssetPath<'static>, PackageMark> for PackageIndex {
    fn add(&mut self, path: &AssetPath<'static>, mark: PackageMark) {
        self.staged += mark.staged;
        self.expected += mark.expected;
        self.loading += u64::from(mark.is_loading);
        match mark.listed {
            Listed::Inserting => drop(self.inserting.insert(path.clone())),
            Listed::Gated => drop(self.gated.insert(path.clone())),
            Listed::Ready(bytes) => {
                self.turned.push(path.clone());
                self.ready += 1;
                self.ready_bytes += bytes;
            }
            Listed::Other => {}
        }
    }

    fn remove(&mut self, path: &AssetPath<'static>, mark: PackageMark) {
        self.staged -= mark.staged;
        self.expected -= mark.expected;
        self.loading -= u64::from(mark.is_loading);
        match mark.listed {
            Listed::Inserting => drop(self.inserting.remove(path)),
            Listed::Gated => drop(self.gated.remove(path)),
            Listed::Ready(bytes) => {
                self.turned.push(path.clone());
                self.ready -= 1;
                self.ready_bytes -= bytes;
            }
            Listed::Other => {}
        }
    }

    #[cfg(test)]
    fn is_same(&self, other: &Self) -> bool {
        let sums = |index: &Self| {
            let memory = [index.staged, index.expected, index.loading];
            (index.ready, index.ready_bytes, memory)
        };
        self.inserting == other.inserting && self.gated == other.gated && sums(self) == sums(other)
    }
}

/// Adds what is not there yet, by its key. How many that were; what is left of `more` was there.
fn add_new<T, K: Hash + Eq>(list: &mut Vec<T>, more: &mut Vec<T>, key: impl Fn(&T) -> K) -> usize {
    // Each instance of a level brings all that its package has once more, in the same order.
    let pairs = list.iter().zip(&*more);
    let same = pairs.take_while(|(one, other)| key(one) == key(other)).count();
    if same == more.len() {
        return 0;
    }
    let mut known: HashSet<K> = list.iter().map(&key).collect();
    let before = list.len();
    list.extend(more.drain(same..).filter(|new| known.insert(key(new))));
    list.len() - before
}

impl PackageEntry {
    pub fn loading(progress: Arc<Progress>, expected: u64) -> Self {
        Self {
            users: HashSet::default(),
            status: PackageStatus::Loading(progress),
            linker: None,
            sources: Vec::new(),
            needs: Vec::new(),
            unverified: Vec::new(),
            handles: Vec::new(),
            assets: Vec::new(),
            watched: Vec::new(),
            slots: Vec::new(),
            early: VecDeque::new(),
            hashes: Vec::new(),
            bytes: 0,
            held: Vec::new(),
            staged: 0,
            expected,
            is_shown: false,
            is_pinned: false,
        }
    }

    /// Whether the task with this progress is the one that loads the package's assets.
    pub fn is_loaded_by(&self, progress: &Arc<Progress>) -> bool {
        matches!(&self.status, PackageStatus::Loading(own) if Arc::ptr_eq(own, progress))
    }

    /// Takes in what a load has found, the first one (`is_first`) or one that was for another instance of its level: as there may be any number
    /// of those, only what is not known yet. What it keeps is `held_memory` from now on. Gives the packages that its users need and did not know of;
    /// what is left in `loaded` is to be dropped where it costs no frame time.
    pub fn add(
        &mut self,
        loaded: &mut LoadedPackage,
        is_first: bool,
        held_memory: &mut HeldMemory,
    ) -> Vec<AssetPath<'static>> {
        if loaded.has_assets {
            self.hashes.push(loaded.linker.package().summary().content_hash);
        }
        let has_more = add_new(&mut self.assets, &mut loaded.rendered, |asset| *asset) > 0;
        self.insert(&mut loaded.assets, has_more, is_first);
        let mut needs = loaded.needs.iter().map(|need| need.path.clone()).collect();
        let new = add_new(&mut self.needs, &mut needs, AssetPath::clone);
        add_new(&mut self.unverified, &mut loaded.unverified, Unverified::key);
        add_new(&mut self.handles, &mut loaded.handles, UntypedHandle::id);
        add_new(&mut self.slots, &mut loaded.slots.clone(), Slot::address);
        let kept = add_new(&mut self.held, &mut loaded.slots, Slot::address);
        held_memory.hold(self.held.iter().rev().take(kept));
        match self.status {
            PackageStatus::Ready | PackageStatus::Failed => loaded.sources.append(&mut self.sources),
            _ => self.sources.append(&mut loaded.sources),
        }
        self.needs.get(self.needs.len() - new..).unwrap_or_default().to_vec()
    }

    /// The values that wait, as long as it is the turn of any.
    pub fn queue(&mut self) -> Option<&mut VecDeque<LoadedAsset>> {
        match &mut self.status {
            PackageStatus::Inserting(queue) => Some(queue),
            _ => None,
        }
    }

    pub fn has_queue(&self) -> bool {
        matches!(&self.status, PackageStatus::Inserting(queue) if !queue.is_empty())
    }

    /// Some of those that wait have had their turn, of so many bytes.
    pub fn inserted(&mut self, bytes: u64) {
        self.staged = self.staged.saturating_sub(bytes);
    }

    fn insert(&mut self, assets: &mut VecDeque<LoadedAsset>, has_more_to_watch: bool, is_first: bool) {
        if !matches!(self.status, PackageStatus::Failed) {
            self.staged += assets.iter().map(|asset| asset.bytes).sum::<u64>();
        }
        match &mut self.status {
            PackageStatus::Loading(_) if is_first => {
                let mut queue = core::mem::take(&mut self.early);
                if queue.is_empty() {
                    core::mem::swap(&mut queue, assets);
                }
                queue.append(assets);
                self.status = PackageStatus::Inserting(queue);
            }
            PackageStatus::Loading(_) => self.early.append(assets),
            PackageStatus::Inserting(queue) => queue.append(assets),
            PackageStatus::Gated { .. } | PackageStatus::Ready if !assets.is_empty() || has_more_to_watch => {
                self.status = PackageStatus::Inserting(core::mem::take(assets));
            }
            PackageStatus::Gated { .. } | PackageStatus::Ready | PackageStatus::Failed => {}
        }
    }

    /// All values are in: gates watch them from now on. Gives where these waited, to be dropped where it costs no frame time.
    pub fn gate(&mut self, gates: &RevealGates, since: Moment) -> VecDeque<LoadedAsset> {
        self.unwatch(gates);
        gates.watch(&self.assets);
        self.watched.clone_from(&self.assets);
        match core::mem::replace(&mut self.status, PackageStatus::Gated { since }) {
            PackageStatus::Inserting(queue) => queue,
            _ => VecDeque::new(),
        }
    }

    /// Gates need not watch anything for it any more.
    pub fn unwatch(&mut self, gates: &RevealGates) {
        gates.forget(&core::mem::take(&mut self.watched));
    }

    /// Whether the gates are open, and how many assets they watch.
    pub fn is_open(&self, gates: &RevealGates) -> (bool, usize) {
        (gates.is_open(&self.watched), self.watched.len())
    }

    /// Levels that need it may be revealed. Gives what is to be dropped where it costs no frame time.
    pub fn make_ready(&mut self, gates: &RevealGates) -> Vec<Arc<Linker>> {
        self.unwatch(gates);
        self.status = PackageStatus::Ready;
        core::mem::take(&mut self.sources)
    }

    /// A level that needs it is revealed, with all packages that it refers to.
    pub fn show(&mut self) {
        self.is_shown = true;
        self.slots.drain(..).for_each(|slot| slot.complete());
    }

    pub fn is_ready(&self) -> bool {
        matches!(self.status, PackageStatus::Ready)
    }
}
