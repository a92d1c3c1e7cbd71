//! The pipeline: from a request to a live level, and away again.
//!
//! ```text
//!                                                       target Shown                  target Loaded
//! Requested → Opening → Reading → Linking → Decoding → Staged ─────→ (Revealing →) Live ←────────────→ Hidden
//!                                                                                   │↑                   │
//!                                                                      target Gone  ↓│ asked for again    │ target Gone
//!                                                                                 Leaving ───→ gone ←─────┘
//!                any stage before Live → Failed(error) | Cancelled
//! ```
//!
//! A level that the frame's budget has no room for is spawned in slices, hidden, while it is *Revealing*, where the app
//! [opted in](crate::SeamlessAssetPlugin::sliced_levels). [`InstanceTarget`] says how far an instance is to come.
//!
//! [`Streamer`] takes requests. The work between *Opening* and *Decoding* runs in one task per package
//! ([`task`]); the main thread only moves what is ready ([`pump`](self::pump)): results in, assets into
//! their `Assets`, whole levels into and out of the world, all within the frame's budget.

#[cfg(feature = "bench")]
#[path = "../bench_support.rs"]
pub mod bench_support;
mod budget;
mod bulk;
mod classes;
mod closure;
mod cost;
mod file;
mod frame;
mod gate_clock;
mod gatekeeper;
mod held;
mod help;
mod instance;
mod intake;
mod link;
mod memory;
mod objects;
mod open;
mod packages;
mod post_load;
mod pump;
mod rank;
mod reload;
mod room;
mod settle;
mod stage;
mod staged;
mod stall;
mod startup;
mod streamer;
mod task;
mod tasks;
#[cfg(test)]
pub(crate) mod tests;
mod tracked;
mod type_names;
mod verify;

use core::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::Arc;

use bevy_asset::AssetPath;
use bevy_ecs::{entity::Entity, message::Message};
use bevy_reflect::Reflect;
use bevy_transform::components::Transform;

use crate::{error::LoadError, stable::InstancePath};

pub use bulk::{BulkLoad, BulkRequest};
pub use cost::UnitKind;
pub use file::FilePartRequest;
pub(crate) use frame::multiplied;
pub use instance::LevelInstance;
use intake::Signal;
pub(crate) use link::{KeptGroup, LoadedLevel, ReloadedLevel};
pub use memory::{MemoryAccount, MemoryPressure};
pub use objects::{LoadPolicy, ObjectLoad, ObjectRequest};
pub use open::{OpenRequest, PackageOpen};
pub use post_load::PostLoad;
pub(crate) use post_load::{PostLoads, RegisteredPostLoads};
pub use pump::BlockingLoads;
pub(crate) use pump::{LostRoots, Pipeline, keep_ticks_valid, note_lost_root, pump, roll_frame};
use rank::Rank;
pub(crate) use rank::by_rank;
pub use reload::{ReloadLoad, ReloadPolicy, ReloadReport, ReloadRequest, Reloaded};
pub use stage::WastedBytes;
pub use staged::{InstanceData, InstanceInfo, LevelScans, StagedGroup, StagedLevel};
pub(crate) use startup::{LoadedStartup, StartupWindows, load_startup};
pub use streamer::Streamer;
pub(crate) use task::LoadServices;
use task::Stop;
pub(crate) use type_names::{PendingEntries, pending_entries};

/// Names one placement of a level from request to leave; never reused in an app's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Reflect)]
pub struct InstanceId(pub(crate) u64);

/// How far an instance is to come; the order of the variants is that of *further*. See [`Streamer::set_target`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Reflect)]
pub enum InstanceTarget {
    /// Not at all: its load is cancelled, or it leaves.
    Gone,
    /// Loaded and decoded, with all that it refers to, and not in the world; or hidden, if it was in the world already.
    Loaded,
    /// In the world.
    #[default]
    Shown,
}

/// A level to load, and where to place it.
#[derive(Debug, Clone, Default)]
pub struct InstanceRequest {
    /// What to call it in logs and reports.
    pub name: String,
    /// What it is called on all machines, for [`StableId`](crate::StableId)s. Default: its name.
    pub path: InstancePath,
    /// The level's package.
    pub package: AssetPath<'static>,
    /// The packages that it is known to import from, directly and indirectly: they are opened together with the level's own.
    /// Those that are not listed are opened as soon as an import names them.
    pub dependencies: Vec<AssetPath<'static>>,
    /// The transform of the instance's root entity.
    pub placement: Transform,
    /// When imports are compared with the packages they are from.
    pub verify: Verify,
    /// Larger goes first, among all that is loaded: twice as large counts as much as [`aging`](crate::StreamingSettings::aging) of waiting. Default 0, which
    /// comes last. What `seamless_level` asks for has a million at most for volumes and distances (about a hundredth where somebody is a hundred metres
    /// away), 10⁷ for what code wants to be shown, 2·10⁷ where a frame would wait for it, and 10⁸ for what is always loaded.
    pub priority: f32,
    /// How far it is to come at first. Default: into the world.
    pub target: InstanceTarget,
    /// What the game's [hooks](crate::SeamlessAssetApp::add_instance_hook) get for this instance. Default: nothing.
    pub data: Option<InstanceData>,
}

impl InstanceRequest {
    /// What it is called on all machines.
    #[must_use]
    pub fn path(&self) -> InstancePath {
        if self.path.is_empty() {
            return InstancePath::from(self.name.as_str());
        }
        self.path.clone()
    }
}

/// When the imports of a package are compared with the exports of the packages they are from. Of several requests for a package that
/// is on its way the strictest wins; what was linked before a stricter one came is compared before that one's reveal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Reflect)]
pub enum Verify {
    /// When the package is linked: the tables of all packages that it imports from are opened, and nothing is decoded in
    /// vain.
    #[default]
    Now,
    /// When all packages are loaded, right before the first use, by whether the objects are there.
    Deferred,
}

/// Where a level instance is on its way, in the order of the variants; `Failed` and `Cancelled` end any stage before the reveal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Reflect)]
#[repr(u8)]
pub enum LoadState {
    /// In the queue.
    Requested = 0,
    /// Its package's summary and tables are being read.
    Opening = 1,
    /// The exports' data is being read.
    Reading = 2,
    /// Imports and exports get their handles.
    Linking = 3,
    /// Values are being decoded, off the main thread.
    Decoding = 4,
    /// Decoded; waits for its packages, their gates, and its turn. Imports that were not verified before are now, the last thing
    /// that can fail.
    Staged = 5,
    /// It comes into the world in slices; nobody sees it yet.
    Revealing = 6,
    /// In the world, whole.
    Live = 7,
    /// In the world, and nobody sees it: its entities keep their ids and what was done to them.
    Hidden = 8,
    /// Asked to leave; still whole until its turn comes.
    Leaving = 9,
    /// Could not be loaded. Nothing of it is in the world.
    Failed = 10,
    /// Was not wanted any more before the reveal. Nothing of it is in the world.
    Cancelled = 11,
}

impl LoadState {
    fn from_u8(value: u8) -> Self {
        match value {
            0 => Self::Requested,
            1 => Self::Opening,
            2 => Self::Reading,
            3 => Self::Linking,
            _ => Self::Decoding,
        }
    }
}

/// What happened to a level instance. Written in [`StreamingSystems::Reveal`](crate::StreamingSystems). Exactly one of `Left`, `Cancelled`
/// and `Failed` ends an instance.
#[derive(Message, Debug, Clone)]
pub enum InstanceEvent {
    /// All of it is loaded, and it is not to be shown yet.
    Loaded {
        /// Which one.
        id: InstanceId,
        /// How many entities it will have, the root not counted.
        entities: u32,
    },
    /// It is in the world, whole, since this frame.
    Revealed {
        /// Which one.
        id: InstanceId,
        /// Its root entity.
        root: Entity,
        /// How many entities it has, the root not counted.
        entities: u32,
    },
    /// Nobody sees it any more since this frame. Its entities keep their ids and what was done to them.
    Hidden {
        /// Which one.
        id: InstanceId,
    },
    /// It can be seen again since this frame. Nothing of it counts as added.
    Shown {
        /// Which one.
        id: InstanceId,
    },
    /// It left the world, whole, in this frame.
    Left {
        /// Which one.
        id: InstanceId,
    },
    /// It was cancelled; nobody has seen it in the world.
    Cancelled {
        /// Which one.
        id: InstanceId,
    },
    /// It could not be loaded; it was never in the world. [`Streamer::unload`] forgets it.
    Failed {
        /// Which one.
        id: InstanceId,
        /// File, object, reason and mend.
        error: Arc<LoadError>,
    },
}

impl InstanceEvent {
    /// Which instance it is about.
    #[must_use]
    pub fn id(&self) -> InstanceId {
        match self {
            Self::Loaded { id, .. }
            | Self::Revealed { id, .. }
            | Self::Hidden { id }
            | Self::Shown { id }
            | Self::Left { id }
            | Self::Cancelled { id }
            | Self::Failed { id, .. } => *id,
        }
    }
}

/// What a task tells the main thread while it runs, and the other way round.
#[derive(Default)]
pub(crate) struct Progress {
    state: AtomicU8,
    cancelled: Signal,
    /// A request that wants [`Verify::Now`] has joined.
    is_strict: AtomicBool,
    rank: Rank,
}

impl Progress {
    pub fn set(&self, state: LoadState) {
        self.state.store(state as u8, Ordering::Relaxed);
    }

    pub fn state(&self) -> LoadState {
        LoadState::from_u8(self.state.load(Ordering::Relaxed))
    }

    /// Another request has joined the load.
    pub fn join(&self, verify: Verify) {
        self.is_strict.fetch_or(verify == Verify::Now, Ordering::Relaxed);
    }

    /// The strictest of the load's own request and those that have joined.
    pub fn strictest(&self, verify: Verify) -> Verify {
        if self.is_strict.load(Ordering::Relaxed) {
            Verify::Now
        } else {
            verify
        }
    }

    /// How urgent it is, the most urgent of those that have joined; see [`rank`](self::rank).
    pub fn rank(&self) -> f64 {
        self.rank.get()
    }

    pub fn set_rank(&self, rank: f64) {
        self.rank.set(rank);
    }

    /// Another request has joined the load.
    pub fn raise_rank(&self, rank: f64) {
        self.set_rank(self.rank().max(rank));
    }

    pub fn cancel(&self) {
        self.cancelled.give();
    }

    pub fn is_cancelled(&self) -> bool {
        self.cancelled.is_given()
    }

    /// Stops a load that nobody wants any more.
    fn check(&self) -> Result<(), Stop> {
        if self.is_cancelled() {
            Err(Stop::Cancelled)
        } else {
            Ok(())
        }
    }
}
