//! How cues are loaded and played, and their limits. See [`CueConfig`].

#[cfg(test)]
pub(crate) mod tests;

use core::time::Duration;

use bevy_ecs::{reflect::ReflectResource, resource::Resource};
use bevy_reflect::{Reflect, std_traits::ReflectDefault};

use crate::route::{
    filter::{CueFilter, SuppressWhile},
    translate::CueTranslation,
};

/// How cues are found, loaded and played. Change it at any time: what it says of the start counts when the plugin starts, the rest from the next
/// cue on.
///
/// | what for | controls | default |
/// |---|---|---|
/// | when notifies are looked for | [`sync_scan_libraries`](Self::sync_scan_libraries), [`defer_scan`](Self::defer_scan) | at the start, at once |
/// | when those of [`always_loaded`](Self::always_loaded) are loaded | [`sync_load_libraries`](Self::sync_load_libraries), [`async_load_libraries`](Self::async_load_libraries) | from the start, in the background |
/// | what becomes of a cue whose notify is not loaded | [`sync_load_missing`](Self::sync_load_missing), [`async_load_missing`](Self::async_load_missing) | it waits, and is played when its notify is there |
#[derive(Resource, Reflect, Clone, Debug)]
#[reflect(Resource, Default, Clone)]
pub struct CueConfig {
    /// Whether the start looks for notifies in all registries that are there, at once. It reads no notify. Default: true.
    pub sync_scan_libraries: bool,
    /// Whether the start **blocks** until all notifies of the always loaded paths are loaded. Default: false.
    pub sync_load_libraries: bool,
    /// Whether the notifies of the always loaded paths are loaded in the background from the start on. Default: true.
    pub async_load_libraries: bool,
    /// Whether the look for notifies waits until the registries that are on their way are there, rather than to see those that are there and
    /// each other when it comes. Default: false.
    pub defer_scan: bool,
    /// Whether a cue **blocks** until its missing notify is loaded. Each time is a hitch, which is logged with the name of the cue. Default: false.
    pub sync_load_missing: bool,
    /// Whether a cue whose notify is missing waits while that is loaded. If neither this nor `sync_load_missing` is set, it is dropped, and
    /// counted. Default: true.
    pub async_load_missing: bool,
    /// Where the notifies are that are always loaded: what the paths of their files start with, `cues/core/`. Default: none, so all are loaded when
    /// they are needed.
    pub always_loaded: Vec<String>,
    /// Where notifies are looked for at all. Default: everywhere.
    pub known: Vec<String>,
    /// Cues that nobody plays. Default: none.
    pub suppressed: CueFilter,
    /// Cues that nobody plays while their target, or whoever brought them about, has certain tags. Default: none.
    pub suppressed_while: Vec<SuppressWhile>,
    /// Cues that are others for all targets; see [`TranslateCues`](crate::TranslateCues). Default: none.
    pub translations: Vec<CueTranslation>,
    /// How long an executed cue may wait for its notify, before it is dropped and counted: nobody wants to see an impact of seconds ago. Default:
    /// 0.5 s.
    pub expire_after: Duration,
    /// How many cues may wait. Further ones are dropped, and counted; a removal never is. Default: 131 072.
    pub max_waiting: usize,
    /// How many cues may last at the same time. Further ones are dropped, and counted. Default: 65 536.
    pub max_active: usize,
    /// How many notifies may be known. Further ones are left out, with an error. Default: 65 536.
    pub max_notifies: usize,
    /// How many notifies stay loaded after a cue has needed them, although none needs them now. Of more, those go whose last cue is longest ago, with
    /// their free instances; the next cue loads them again. What is always loaded, and what a preload set wants, stays. Default: no limit, as in Unreal.
    pub max_idle: usize,
    /// How long ago the last cue of such a one has to be. Default: 30 s.
    pub idle_after: Duration,
    /// How often cues that observers of cues fire may do so again, before the rest waits for the next cue or frame, with an error. Default: 32.
    pub max_rounds: usize,
    /// The part of a frame's streaming budget ([`StreamingSettings`](seamless_asset::StreamingSettings)) that cues take which have waited. One at
    /// least is played in each frame. Default: 0.5.
    pub replay_share: f32,
}

impl Default for CueConfig {
    fn default() -> Self {
        Self {
            sync_scan_libraries: true,
            sync_load_libraries: false,
            async_load_libraries: true,
            defer_scan: false,
            sync_load_missing: false,
            async_load_missing: true,
            always_loaded: Vec::new(),
            known: vec![String::new()],
            suppressed: CueFilter::None,
            suppressed_while: Vec::new(),
            translations: Vec::new(),
            expire_after: Duration::from_millis(500),
            max_waiting: 1 << 17,
            max_active: 1 << 16,
            max_notifies: 1 << 16,
            max_idle: usize::MAX,
            idle_after: Duration::from_secs(30),
            max_rounds: 32,
            replay_share: 0.5,
        }
    }
}

/// When notifies are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scan {
    /// At the start, in the registries that are there; later ones when they come.
    AtStart,
    /// From the first frame on, in each registry when it comes.
    InBackground,
    /// Once no registry is on its way.
    WhenComplete,
}

/// When those of the always loaded paths are loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Load {
    /// Where they are found, at once.
    Now,
    /// In the background, from then on.
    InBackground,
    /// When a cue needs them.
    WhenNeeded,
}

/// What becomes of a cue whose notify is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    /// It is loaded now.
    LoadNow,
    /// The cue waits.
    Wait,
    /// The cue is dropped.
    Drop,
}

impl CueConfig {
    pub(crate) fn scan(&self) -> Scan {
        match (self.defer_scan, self.sync_scan_libraries) {
            (true, _) => Scan::WhenComplete,
            (false, true) => Scan::AtStart,
            (false, false) => Scan::InBackground,
        }
    }

    pub(crate) fn load(&self) -> Load {
        match (self.sync_load_libraries, self.async_load_libraries) {
            (true, _) => Load::Now,
            (false, true) => Load::InBackground,
            (false, false) => Load::WhenNeeded,
        }
    }

    pub(crate) fn missing(&self) -> Missing {
        match (self.sync_load_missing, self.async_load_missing) {
            (true, _) => Missing::LoadNow,
            (false, true) => Missing::Wait,
            (false, false) => Missing::Drop,
        }
    }
}
