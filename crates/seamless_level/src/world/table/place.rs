//! Where a level is, as far as that is not told by its state alone.

use seamless_asset::LoadState;

use super::{super::LevelState, Level};

impl Level {
    /// Whether it is seen: in the world and not hidden, also while it is to leave.
    pub(crate) fn is_seen(&self) -> bool {
        self.root.is_some() && !self.is_out_of_sight
    }

    /// Whether all of it is in memory, whether it can be seen or not, or waits for that.
    pub(crate) fn is_all_loaded(&self) -> bool {
        match self.state {
            LevelState::Hidden | LevelState::Revealing | LevelState::Visible => true,
            LevelState::Loading(stage) => stage == LoadState::Staged && self.is_loaded,
            LevelState::Unloaded | LevelState::Leaving | LevelState::Failed => false,
        }
    }

    /// Where it is, by what the pipeline says of its instance.
    pub(in crate::world) fn state_by(&self, instance: LoadState) -> LevelState {
        match instance {
            LoadState::Staged if self.is_loaded && self.is_only_loaded() => LevelState::Hidden,
            LoadState::Hidden => LevelState::Hidden,
            LoadState::Revealing => LevelState::Revealing,
            LoadState::Live => LevelState::Visible,
            LoadState::Leaving => LevelState::Leaving,
            stage => LevelState::Loading(stage),
        }
    }
}
