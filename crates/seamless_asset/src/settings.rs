//! How much the pipeline may do, and what it did: [`StreamingSettings`], [`StreamingClock`], [`StreamingStats`].

#[cfg(test)]
mod tests;

use core::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};
use std::{
    borrow::Cow,
    sync::{Mutex, PoisonError},
};

use bevy_ecs::{reflect::ReflectResource, resource::Resource};
use bevy_platform::time::Instant;
use bevy_reflect::{Reflect, std_traits::ReflectDefault};

use crate::load::{InstanceId, MemoryAccount, MemoryPressure, UnitKind, WastedBytes, multiplied};

/// Limits of one frame's streaming work. Change it at any time; it is read every frame.
#[derive(Resource, Reflect, Clone, Debug)]
#[reflect(Resource, Default, Clone)]
pub struct StreamingSettings {
    /// Main-thread time that all streaming work together may take in a frame. Default 2 ms.
    ///
    /// A unit of work (one level's reveal, one asset's insertion) is not cut: it starts only when its estimated time
    /// fits, and one that fits no frame gets a frame of its own. What exceeds the budget all the same is counted and
    /// named in [`StreamingStats::overruns`].
    ///
    /// This is the base: a frame may have more or less of it, see [`boost`](Self::boost) and [`least`](Self::least).
    pub budget: Duration,
    /// How many times the budget a frame may have, at most, while the player is about to arrive at something that is not there
    /// ([`StreamingUrgency`](crate::StreamingUrgency)): as much as it takes to be in time. Default 2. With 1, or less, it does not grow. Frames
    /// that needed more than the budget are counted in [`StreamingStats::boosted`].
    pub boost: f32,
    /// How soon an arrival is for the budget to grow. Default 0.75 s.
    pub boost_horizon: Duration,
    /// The part of the budget that is left to a frame, at least, while frames are slow: the game has no time to give away. Default 0.5. With
    /// 1, it does not shrink. Such frames are counted in [`StreamingStats::reduced`].
    pub least: f32,
    /// What a frame takes in this game if nothing is wrong, the wait for the display included: frames are slow when the last few took
    /// more than a quarter longer, streaming apart. Default 1/60 s.
    pub slow_frame: Duration,
    /// Nothing begins to load: levels, objects, mips and reloads wait in the queue, and so does whoever waits for them, as in a cutscene that may not be disturbed. What has begun
    /// goes on, what is loaded comes and goes, and what a frame waits for is loaded all the same. Default: no.
    pub suspended: bool,
    /// Bytes of meshes, images and other assets for the GPU that are handed to Bevy in a frame, at most; a single larger one goes alone.
    /// Default 16 MiB. Assets and levels take turns: while levels wait to come or go, assets are handed over in every
    /// second frame only. Counted in [`StreamingStats::uploaded_bytes`] and [`upload_waits`](StreamingStats::upload_waits). What a
    /// [reload](crate::Streamer::reload) replaces is counted, and comes in one frame whatever it is: what is live changes as a whole.
    ///
    /// Leave Bevy's own `RenderAssetBytesPerFrame` unlimited: it holds back what its materials need already.
    pub upload_bytes_per_frame: u64,
    /// Packages that are read and decoded at the same time, up to 64. Default 8. Those that a level shares with others count, too. And
    /// so many requests are under way: whoever ranks highest of them has the next turn.
    /// What is read by itself, such as a mip of a texture, counts a quarter of a package; of everything together, 64 are under way
    /// at most.
    pub max_loads_in_flight: usize,
    /// Bytes of packages that are read and not decoded yet, at most; a single larger package goes alone. The most urgent goes first.
    /// Default 256 MiB. Blocking loads are not counted.
    pub max_bytes_in_flight: u64,
    /// Frames that a reveal waits for its [`RevealGate`](crate::RevealGate)s before it goes ahead without them; counted in
    /// [`StreamingStats::gate_deadlines`]. Default 120. Where frames are shorter than at 60 Hz, as long as these take there: what gates wait for is no faster.
    pub gate_deadline_frames: u32,
    /// How long a read of a package may go without a byte, before it is given up and its load fails with
    /// [`LoadErrorKind::Stalled`](crate::LoadErrorKind::Stalled). Default 10 s. Zero: for ever. To wait in the queue, or for a
    /// thread that decodes, is no read. Blocking loads are given up likewise.
    ///
    /// A reader that fetches the whole file before it is open, as Bevy's over HTTP does, does all of it in one read: give it the
    /// time of the largest file.
    pub read_timeout: Duration,
    /// How long a request waits in the queue until it is as urgent as a new one of twice its priority, or of half a negative one, so
    /// that none waits for ever.
    /// Default 1 s. Zero: the order is that of the requests; [`Duration::MAX`]: only priorities decide.
    pub aging: Duration,
    /// Bytes of memory that streamed content is to take, at most; see [`MemoryAccount`] for what is counted. Default: no limit.
    ///
    /// A load starts only when there is room for what it brings, as far as that is known from the last time: then what is there exceeds the
    /// ceiling by one level at most. When it does, levels that leave are despawned at once, whatever time it takes
    /// ([`StreamingStats::unthrottled_leaves`]). Who decides what is wanted finds in [`StreamingStats::memory_short`] how much has to go for
    /// the next load. A level that is larger than the ceiling comes when no other is there.
    pub memory_ceiling: Option<u64>,
    /// Loads of levels of at least this priority start whatever memory there is. Default 10⁷, which `seamless_level` gives to levels that code
    /// wants to be shown (`Levels::load`), and exceeds for those that somebody stands in who may not be without, and for those that are always loaded.
    pub essential_priority: f32,
    /// For tests: requests start in an order that only this number decides, whatever their priorities. Default: none.
    pub load_order_seed: Option<u64>,
}

impl Default for StreamingSettings {
    fn default() -> Self {
        Self {
            budget: Duration::from_millis(2),
            boost: 2.0,
            boost_horizon: Duration::from_millis(750),
            least: 0.5,
            slow_frame: Duration::from_secs(1) / 60,
            suspended: false,
            upload_bytes_per_frame: 16 << 20,
            max_loads_in_flight: 8,
            max_bytes_in_flight: 256 << 20,
            gate_deadline_frames: 120,
            read_timeout: Duration::from_secs(10),
            aging: Duration::from_secs(1),
            memory_ceiling: None,
            essential_priority: 1e7,
            load_order_seed: None,
        }
    }
}

impl StreamingSettings {
    /// This part of the budget, from zero to one, whatever both are: what is no number is none.
    #[must_use]
    pub fn budget_part(&self, part: f32) -> Duration {
        let part = if part.is_nan() { 0.0 } else { part.clamp(0.0, 1.0) };
        // Rounded, all of the longest one is more than there is.
        multiplied(self.budget, part).min(self.budget)
    }
}

/// Adds up the main-thread time of all streaming systems of a frame.
///
/// Plugins on top of the pipeline measure their own systems with it: `let _time = clock.measure("footprints in the snow");`.
#[derive(Resource, Default)]
pub struct StreamingClock {
    nanoseconds: AtomicU64,
    /// What the longest piece of work took; most are shorter, and need not ask for more.
    longest: AtomicU64,
    /// The same, and what it was.
    longest_piece: Mutex<Piece>,
}

/// A piece of work that is no unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Piece {
    pub took: Duration,
    pub what: &'static str,
}

impl Default for Piece {
    /// None.
    fn default() -> Self {
        Self {
            took: Duration::ZERO,
            what: "nothing that was measured by itself",
        }
    }
}

impl StreamingClock {
    /// Counts the time until the guard is dropped. `what` is how the work is called in an [`Overrun`], if nothing else took longer in that
    /// frame.
    pub fn measure(&self, what: &'static str) -> ClockGuard<'_> {
        ClockGuard {
            clock: self,
            what,
            start: Instant::now(),
        }
    }

    /// Counts `time` that was spent on `what`.
    pub fn add(&self, what: &'static str, time: Duration) {
        self.add_with_units(what, time, Duration::ZERO);
    }

    /// The same, when so much of the time was that of units, which have names of their own.
    pub(crate) fn add_with_units(&self, what: &'static str, time: Duration, units: Duration) {
        self.nanoseconds.fetch_add(time.as_nanos() as u64, Ordering::Relaxed);
        let took = time.saturating_sub(units);
        let nanoseconds = took.as_nanos() as u64;
        if self.longest.fetch_max(nanoseconds, Ordering::Relaxed) >= nanoseconds {
            return;
        }
        let mut longest = self.longest_piece.lock().unwrap_or_else(PoisonError::into_inner);
        // Somebody else may have taken longer meanwhile, or the frame has ended.
        if self.longest.load(Ordering::Relaxed) == nanoseconds {
            *longest = Piece { took, what };
        }
    }

    /// What was counted in this frame so far.
    #[must_use]
    pub fn spent(&self) -> Duration {
        Duration::from_nanos(self.nanoseconds.load(Ordering::Relaxed))
    }

    /// What was counted in the frame that ends, and the longest piece of it that was no unit.
    pub(crate) fn restart(&self) -> (Duration, Piece) {
        let mut longest = self.longest_piece.lock().unwrap_or_else(PoisonError::into_inner);
        self.longest.store(0, Ordering::Relaxed);
        let spent = self.nanoseconds.swap(0, Ordering::Relaxed);
        (Duration::from_nanos(spent), core::mem::take(&mut *longest))
    }
}

/// Counts time while it lives; see [`StreamingClock::measure`].
pub struct ClockGuard<'a> {
    clock: &'a StreamingClock,
    what: &'static str,
    start: Instant,
}

impl Drop for ClockGuard<'_> {
    fn drop(&mut self) {
        self.clock.add(self.what, self.start.elapsed());
    }
}

/// A frame whose streaming work took longer than the budget.
#[derive(Reflect, Clone, Debug, PartialEq)]
pub struct Overrun {
    /// Number of the frame, counted from the plugin's first.
    pub frame: u64,
    /// The frame's streaming work.
    pub took: Duration,
    /// What it might have taken: the budget, raised or lowered.
    pub budget: Duration,
    /// What kind of work its largest unit was; none if there was none in it.
    pub kind: Option<UnitKind>,
    /// What it was spent on: its largest unit of work, with the time of that; and before it, or without one, what else the [`StreamingClock`] has measured
    /// that took longer than all units.
    pub what: Cow<'static, str>,
}

/// How many [`Overrun`]s are kept; earlier ones are counted only.
pub const OVERRUNS_KEPT: usize = 256;

/// What the pipeline did since the app started.
#[derive(Resource, Reflect, Clone, Debug, Default)]
#[reflect(Resource)]
pub struct StreamingStats {
    /// Frames so far.
    pub frame: u64,
    /// Main-thread time of the last complete frame's streaming work.
    pub last_frame: Duration,
    /// The budget that it had: [`StreamingSettings::budget`], raised or lowered.
    pub budget_last: Duration,
    /// Frames that took more than [`StreamingSettings::budget`], and were allowed to, because the player was about to arrive at something
    /// that was not there.
    pub boosted: u64,
    /// Frames with a lower budget, because frames were slow.
    pub reduced: u64,
    /// Level instances revealed.
    pub revealed: u64,
    /// Packages that were reloaded.
    pub reloaded: u64,
    /// Level instances that left.
    pub left: u64,
    /// Loads that failed. A request that is refused when it is taken in is not counted, as it never was a load: its path makes no sense, what is to be there
    /// is not live, or what is to be reloaded is not loaded, or on its way.
    pub failed: u64,
    /// Loads that were cancelled before the reveal.
    pub cancelled: u64,
    /// Entities of live level instances.
    pub live_entities: u64,
    /// Entities, about, that are in the world and [hidden](crate::InHiddenLevel): of levels that are hidden, that come in slices, or that are
    /// despawned in slices.
    pub hidden_entities: u64,
    /// Levels that stayed visible although they were to be hidden, because the app has not opted in to
    /// [`sliced_levels`](crate::SeamlessAssetPlugin::sliced_levels).
    pub refused_hides: u64,
    /// Level instances that are live.
    pub live_instances: u64,
    /// Packages whose objects are live.
    pub live_packages: u64,
    /// Stored bytes of the live packages.
    pub live_bytes: u64,
    /// Tasks that read and decode just now, or whose results nobody has taken yet; those of blocking loads apart.
    pub tasks: u64,
    /// How often threads of normal priority began to help those that read and decode, which got no time: all cores were busy. See
    /// [`SeamlessAssetPlugin::background`](crate::SeamlessAssetPlugin::background).
    pub starved: u64,
    /// Requests for objects, bulk payloads, tables and reloads that have not come to their end.
    pub pending_requests: u64,
    /// Bytes read from packages.
    pub bytes_read: u64,
    /// Bytes read for loads that were then cancelled or failed.
    pub bytes_wasted: u64,
    /// The same by how far these loads had come.
    pub wasted_by_stage: WastedBytes,
    /// What streamed content takes in memory at the end of the last frame.
    pub memory: MemoryAccount,
    /// How near that is to [`StreamingSettings::memory_ceiling`].
    pub memory_pressure: MemoryPressure,
    /// Bytes that have to go so that the most urgent load that waits for memory may start; 0: none waits.
    pub memory_short: u64,
    /// The level that waits for that.
    pub memory_short_for: Option<InstanceId>,
    /// Loads that are not to be shown yet, and wait until there is plenty of memory.
    pub memory_held: u64,
    /// Frames in which memory was over its ceiling.
    pub pressure_frames: u64,
    /// Levels that left in such frames, whatever time it took.
    pub unthrottled_leaves: u64,
    /// Bytes of assets for the GPU that were handed to Bevy.
    pub uploaded_bytes: u64,
    /// The same of the last frame, what reloads replaced included; blocking loads and [startup content](crate::SeamlessStartupPlugin) apart.
    pub uploaded_last: u64,
    /// Frames in which assets waited because of [`StreamingSettings::upload_bytes_per_frame`].
    pub upload_waits: u64,
    /// Frames that took longer than their budget.
    pub overrun_count: u64,
    /// The last [`OVERRUNS_KEPT`] of them, by name; the oldest comes first.
    pub overruns: Vec<Overrun>,
    /// Loads that held up the calling thread; see [`BlockingLoads`](crate::BlockingLoads).
    pub blocking_loads: u64,
    /// Reveals that went ahead although a gate was closed.
    pub gate_deadlines: u64,
}

impl StreamingStats {
    /// How many bytes of files fit below a memory ceiling, if further ones grow in memory as those do that are live: for whoever decides what is
    /// wanted, and knows levels by their files. No limit without a ceiling, or as long as nothing is live.
    ///
    /// `counted` is what it counts for all that is decoded or there. That is more than the [bytes that were read](Self::live_bytes) where a
    /// package is there many times, and is counted each time, or where nobody has read all of a file yet; it is less where packages are
    /// there that are nobody's own.
    ///
    /// ```
    /// # use seamless_asset::{StreamingSettings, StreamingStats};
    /// fn most_bytes(settings: &StreamingSettings, stats: &StreamingStats, counted: u64) -> u64 {
    ///     stats.bytes_that_fit(settings.memory_ceiling, counted)
    /// }
    /// # assert_eq!(most_bytes(&StreamingSettings::default(), &StreamingStats::default(), 1), u64::MAX);
    /// ```
    #[must_use]
    pub fn bytes_that_fit(&self, ceiling: Option<u64>, counted: u64) -> u64 {
        match (ceiling, self.bytes_per_memory(counted)) {
            (Some(ceiling), Some(bytes)) => (ceiling as f64 * bytes) as u64,
            _ => u64::MAX,
        }
    }

    /// How many bytes of files, as in [`bytes_that_fit`](Self::bytes_that_fit), make out a byte in memory; `None` while nothing is live.
    #[must_use]
    pub fn bytes_per_memory(&self, counted: u64) -> Option<f64> {
        let live = self.memory.packages + self.memory.levels;
        let decoded = live + self.memory.staged;
        let per = |bytes: u64, memory: u64| (bytes > 0 && memory > 0).then(|| bytes as f64 / memory as f64);
        let (read, counted) = (per(self.live_bytes, live), per(counted, decoded));
        read.into_iter().chain(counted).max_by(f64::total_cmp)
    }
}
