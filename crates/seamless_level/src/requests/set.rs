//! Who wants what of which level, counted: pure. See [`RequestSet`].

#[cfg(test)]
mod tests;

use bevy_reflect::{Reflect, std_traits::ReflectDefault};

use crate::target::LevelTarget;

/// What one requester wants of a level.
///
/// Requests are counted, and the highest wins, in whatever order they come and go. Only to hide and to ban are no wishes but ceilings.
#[derive(Reflect, Copy, Clone, Debug, Default, PartialEq, Eq, Hash)]
#[reflect(Default, Clone, PartialEq, Hash)]
pub enum RequestKind {
    /// Have it ready to be shown.
    Load,
    /// Have it in the world.
    #[default]
    Show,
    /// Show it if somebody else has it loaded; ask for nothing otherwise.
    ShowIfLoaded,
    /// Keep it out of sight, whoever wants to see it: who does has it loaded meanwhile, to be shown in one frame. In the world already, it is hidden, in apps that
    /// [opted in](seamless_asset::SeamlessAssetPlugin::sliced_levels) to that.
    Hide,
    /// Keep it away, whoever wants it.
    Ban,
}

/// How many kinds there are.
const KINDS: usize = 5;

/// The counts of live requests for each level of a world. Whoever adds a request is the one who removes it.
#[derive(Clone, Debug, Default)]
pub struct RequestSet {
    counts: Vec<[u32; KINDS]>,
    live: usize,
    dirty: Vec<u32>,
    is_dirty: Vec<bool>,
}

impl RequestSet {
    /// No requests for `levels` levels.
    #[must_use]
    pub fn new(levels: usize) -> Self {
        Self {
            counts: vec![[0; KINDS]; levels],
            live: 0,
            dirty: Vec::with_capacity(levels),
            is_dirty: vec![false; levels],
        }
    }

    /// There is a level more.
    pub fn grow(&mut self) {
        self.counts.push([0; KINDS]);
        self.is_dirty.push(false);
    }

    /// Adds a request; one for a level that there is not is ignored.
    pub fn add(&mut self, level: u32, kind: RequestKind) {
        if let Some(count) = self.count_mut(level, kind) {
            *count += 1;
            self.live += 1;
            self.mark(level);
        }
    }

    /// Takes back a request that was added; one for a level that there is not is ignored.
    pub fn remove(&mut self, level: u32, kind: RequestKind) {
        let Some(count) = self.count_mut(level, kind) else {
            return;
        };
        debug_assert!(
            *count > 0,
            "a request for level {level} is taken back that was not made"
        );
        if *count > 0 {
            *count -= 1;
            self.live -= 1;
            self.mark(level);
        }
    }

    /// How many requests of a kind there are for a level.
    #[must_use]
    pub fn count(&self, level: u32, kind: RequestKind) -> u32 {
        let counts = self.counts.get(level as usize);
        counts.map_or(0, |counts| counts[kind as usize])
    }

    /// How far a level is to come: nowhere under a ban; else as far as the highest request says, and into sight only if nobody hides it. To be shown if
    /// loaded counts only beside a request that loads.
    #[must_use]
    pub fn target(&self, level: u32) -> LevelTarget {
        let has = |kind| self.count(level, kind) > 0;
        let wanted = if has(RequestKind::Show) {
            LevelTarget::Visible
        } else if !has(RequestKind::Load) {
            LevelTarget::Unloaded
        } else if has(RequestKind::ShowIfLoaded) {
            LevelTarget::Visible
        } else {
            LevelTarget::Loaded
        };
        let most = if has(RequestKind::Ban) {
            LevelTarget::Unloaded
        } else if has(RequestKind::Hide) {
            LevelTarget::Loaded
        } else {
            LevelTarget::Visible
        };
        wanted.min(most)
    }

    /// The levels whose counts changed since [`clear_dirty`](Self::clear_dirty), each once.
    #[must_use]
    pub fn dirty(&self) -> &[u32] {
        &self.dirty
    }

    /// Begins to note changes anew.
    pub fn clear_dirty(&mut self) {
        for level in self.dirty.drain(..) {
            if let Some(is_dirty) = self.is_dirty.get_mut(level as usize) {
                *is_dirty = false;
            }
        }
    }

    /// Whether there are no requests.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.live == 0
    }

    fn count_mut(&mut self, level: u32, kind: RequestKind) -> Option<&mut u32> {
        self.counts.get_mut(level as usize)?.get_mut(kind as usize)
    }

    /// Lists a level as if its counts had changed.
    pub(crate) fn mark(&mut self, level: u32) {
        if let Some(is_dirty) = self.is_dirty.get_mut(level as usize)
            && !core::mem::replace(is_dirty, true)
        {
            self.dirty.push(level);
        }
    }
}
