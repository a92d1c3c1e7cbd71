//! What the log says when a cue does not play, plays late, or costs a hitch: once for each symptom and tag.

use core::{fmt, panic::Location, time::Duration};
use std::collections::VecDeque;
use std::sync::Arc;

use bevy_log::{error, info, warn};
use bevy_platform::collections::HashSet;

use crate::tag::GameplayTag;

/// Tags of which hints are remembered; of further ones nothing is said.
const MAX_TAGS: usize = 256;
/// Blocking loads that are kept.
const MAX_HITCHES: usize = 64;
/// A notify that has more read than this is heavy, in bytes.
const HEAVY: u64 = 1 << 20;
/// Cues that have waited longer are late.
const LATE: Duration = Duration::from_millis(250);

/// A load that the game has waited for.
#[derive(Clone, Debug, PartialEq)]
pub struct Hitch {
    /// The notify's tag.
    pub tag: GameplayTag,
    /// The notify.
    pub notify: Arc<str>,
    /// How long the game has waited.
    pub took: Duration,
    /// Bytes that are read for it, with all that it refers to, as far as its registry knows.
    pub bytes: u64,
    /// Who fired the cue; `None`: it had waited, and the config was changed meanwhile.
    pub caller: Option<&'static Location<'static>>,
}

impl fmt::Display for Hitch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let took = self.took.as_secs_f64() * 1e3;
        write!(f, "{took:.1} ms for `{}` of {}", self.notify, self.tag)?;
        if let Some(caller) = self.caller {
            write!(f, ", fired at {caller}")?;
        }
        f.write_str(&heavy(self.bytes))
    }
}

/// What helps if so many bytes are read for a notify; nothing if they are few.
fn heavy(bytes: u64) -> String {
    if bytes < HEAVY {
        return String::new();
    }
    format!(
        ". {:.1} MB are read for it, with all that it refers to: have it name by `SoftHandle` what is heavy and not needed at once",
        bytes as f64 / 1e6
    )
}

/// What was said already.
#[derive(Debug, Default)]
pub(crate) struct Hints {
    unknown: HashSet<GameplayTag>,
    late: HashSet<GameplayTag>,
    pub hitches: VecDeque<Hitch>,
    has_hinted: bool,
}

/// Whether something is to be said of a tag, which is once.
fn is_news(said: &mut HashSet<GameplayTag>, tag: GameplayTag) -> bool {
    said.len() < MAX_TAGS && said.insert(tag)
}

impl Hints {
    /// A cue leads to no notify.
    pub fn unknown(&mut self, tag: GameplayTag, caller: Option<&'static Location<'static>>) {
        if !is_news(&mut self.unknown, tag) {
            return;
        }
        let at = caller.map(|caller| format!(", fired at {caller},")).unwrap_or_default();
        warn!(
            "cue `{tag}`{at} is not played: no notify has its tag, or that of a parent. Look at `log_cue_report` for the tags that have one; is the \
             notify's folder among `CueConfig::known`, and its registry loaded? Is there an error \"late load failed\" above?"
        );
    }

    /// A cue has waited for so long, and is played now. `bytes` are those of the largest notify that may have been read for it.
    pub fn late(&mut self, tag: GameplayTag, waited: Duration, bytes: impl FnOnce() -> u64) {
        if waited < LATE || !is_news(&mut self.late, tag) {
            return;
        }
        info!(
            "cue `{tag}` is played {:.2} s late, because its notify had to be loaded. If that is too late: move it to a path of \
             `CueConfig::always_loaded`, preallocate instances if it is an actor, or make it static{}",
            waited.as_secs_f32(),
            heavy(bytes())
        );
    }

    /// The game has waited for a load.
    pub fn hitch(&mut self, hitch: Hitch) {
        warn!("a cue has held up the game: {hitch}");
        if !core::mem::replace(&mut self.has_hinted, true) {
            warn!(
                "with `CueConfig::sync_load_missing: false` such cues wait instead, and are played when their notify is there"
            );
        }
        if self.hitches.len() >= MAX_HITCHES {
            self.hitches.pop_front();
        }
        self.hitches.push_back(hitch);
    }

    /// A notify will not come.
    pub fn late_load_failed(&mut self, tag: GameplayTag, notify: &str, waiting: usize, message: &str) {
        error!(
            "late load failed: the notify `{notify}` of cue `{tag}`, for which {waiting} cues have waited: {message}"
        );
    }
}
