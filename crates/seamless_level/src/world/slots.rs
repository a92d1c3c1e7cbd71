//! The levels of a table, and how many of them are in each state. See [`Slots`].

#[cfg(test)]
use core::sync::atomic::{AtomicU64, Ordering};

use bevy_diagnostic::DiagnosticPath;
use bevy_reflect::Reflect;
use seamless_asset::LoadState;

use super::{Level, LevelState};
use crate::diagnostics::{FAILED, HIDDEN, LEAVING, LOADING, REVEALING, VISIBLE};

/// The levels of a table by their indices.
#[derive(Reflect, Debug, Default)]
pub(crate) struct Slots {
    all: Vec<Level>,
    /// How many levels were handed out, ever: a frame at rest hands out none.
    #[cfg(test)]
    #[reflect(ignore)]
    touched: AtomicU64,
}

impl Slots {
    pub fn get(&self, level: u32) -> Option<&Level> {
        self.touch(1);
        self.all.get(level as usize)
    }

    pub fn get_mut(&mut self, level: u32) -> Option<&mut Level> {
        self.touch(1);
        self.all.get_mut(level as usize)
    }

    /// All of them: what does so in each frame costs what there is, not what has changed.
    pub fn iter(&self) -> core::slice::Iter<'_, Level> {
        self.touch(self.all.len());
        self.all.iter()
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub fn push(&mut self, level: Level) {
        self.all.push(level);
    }

    #[cfg(test)]
    fn touch(&self, count: usize) {
        self.touched.fetch_add(count as u64, Ordering::Relaxed);
    }

    #[cfg(not(test))]
    fn touch(&self, _count: usize) {}

    /// How many levels were handed out, ever.
    #[cfg(test)]
    pub fn touched(&self) -> u64 {
        self.touched.load(Ordering::Relaxed)
    }
}

impl FromIterator<Level> for Slots {
    fn from_iter<I: IntoIterator<Item = Level>>(levels: I) -> Self {
        let mut slots = Self::default();
        slots.all.extend(levels);
        slots
    }
}

/// How many levels are in each state; those that are unloaded are not counted. Kept by [`Level::set_state`].
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(test, derive(Reflect))]
pub(crate) struct StateCounts {
    pub visible: u32,
    pub hidden: u32,
    pub loading: u32,
    pub revealing: u32,
    pub leaving: u32,
    pub failed: u32,
    /// Of the files of those that are decoded, or there: as many times as there are levels of them, and whatever part of them was read.
    #[cfg_attr(test, reflect(ignore))]
    pub in_memory: u64,
    /// The same of these and of those that are being read.
    #[cfg_attr(test, reflect(ignore))]
    pub begun: u64,
}

impl StateCounts {
    /// A level with a file of so many bytes goes from one state to another.
    pub(super) fn change(&mut self, from: LevelState, to: LevelState, bytes: u64) {
        if let Some(count) = self.of(from) {
            // Whoever edits states by reflection has counted nothing.
            *count = count.saturating_sub(1);
        }
        if let Some(count) = self.of(to) {
            *count += 1;
        }
        // What a manifest says of sizes is no more than a word: the sum of all may be more than there are numbers.
        for (sum, is_in) in [
            (&mut self.in_memory, is_in_memory as fn(LevelState) -> bool),
            (&mut self.begun, has_begun),
        ] {
            let less = if is_in(from) { bytes } else { 0 };
            let more = if is_in(to) { bytes } else { 0 };
            *sum = sum.wrapping_sub(less).wrapping_add(more);
        }
    }

    fn of(&mut self, state: LevelState) -> Option<&mut u32> {
        match state {
            LevelState::Visible => Some(&mut self.visible),
            LevelState::Hidden => Some(&mut self.hidden),
            LevelState::Loading(_) => Some(&mut self.loading),
            LevelState::Revealing => Some(&mut self.revealing),
            LevelState::Leaving => Some(&mut self.leaving),
            LevelState::Failed => Some(&mut self.failed),
            LevelState::Unloaded => None,
        }
    }

    /// Each count, with its diagnostic.
    pub(super) fn measurements(self) -> [(DiagnosticPath, u32); 6] {
        let Self {
            visible,
            hidden,
            loading,
            revealing,
            leaving,
            failed,
            in_memory: _,
            begun: _,
        } = self;
        [
            (VISIBLE, visible),
            (HIDDEN, hidden),
            (LOADING, loading),
            (REVEALING, revealing),
            (LEAVING, leaving),
            (FAILED, failed),
        ]
    }

    /// The same, counted anew.
    #[cfg(test)]
    pub fn recount<'a>(levels: impl IntoIterator<Item = &'a Level>) -> Self {
        let mut counts = Self::default();
        for level in levels {
            counts.change(LevelState::Unloaded, level.state(), level.entry.bytes);
        }
        counts
    }
}

fn is_in_memory(state: LevelState) -> bool {
    match state {
        LevelState::Hidden | LevelState::Revealing | LevelState::Visible | LevelState::Leaving => true,
        LevelState::Loading(stage) => stage == LoadState::Staged,
        LevelState::Unloaded | LevelState::Failed => false,
    }
}

fn has_begun(state: LevelState) -> bool {
    let waits = matches!(
        state,
        LevelState::Unloaded | LevelState::Failed | LevelState::Loading(LoadState::Requested)
    );
    !waits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_that_nobody_counted_may_end() {
        let mut counts = StateCounts::default();
        counts.change(LevelState::Visible, LevelState::Hidden, 0);
        assert_eq!((counts.visible, counts.hidden), (0, 1));
    }
}
