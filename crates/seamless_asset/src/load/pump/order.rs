//! Whose turn it is in a frame: assets or levels, those that come or those that go.

#[cfg(test)]
mod tests;

use core::cmp::Reverse;

use bevy_ecs::world::World;

use super::{Pipeline, coming::Place, insert::AssetSource};
use crate::load::{
    InstanceId,
    budget::FrameBudget,
    instance::{Phase, Turn},
    memory::MemoryPressure,
    rank::by_rank,
};

/// Levels that may always wait for their leave while others are revealed. With more, and more than are to stay, leaves go
/// first in every other frame.
const MAX_LEAVING: usize = 64;

/// Entities that nobody sees and that may always wait for their despawn. With more, and more than there are in levels, they go first in
/// every other frame.
const MOST_SWEPT_LATER: u64 = 50_000;

/// Frames in a row in which reveals may leave no time for any of them.
pub(super) const MAX_LEAVES_HELD: u32 = 30;

/// Whether a frame is for assets, and not for levels. A frame in which any mesh or material is new is long already, since Bevy's
/// `AssetChanged` filters look at every entity: so no level comes with an asset, and while a level waits, no assets come in two frames in a
/// row. Of an asset and a level that could come, the one that ranks higher does.
fn is_for_assets(
    first_asset: Option<(f64, u64)>,
    first_level: Option<(f64, u64)>,
    had_last: bool,
    is_level_waiting: bool,
) -> bool {
    match (first_asset, first_level) {
        (None, _) => false,
        (Some(_), _) if had_last && is_level_waiting => false,
        (Some(asset), Some(level)) => by_rank(asset, level).is_le(),
        (Some(_), None) => true,
    }
}

impl Pipeline {
    pub(super) fn rank_of(&self, id: InstanceId) -> Option<f64> {
        Some(self.instances.get(&id)?.rank(&self.arrivals))
    }

    /// Whether this frame is that of assets.
    pub(super) fn is_turn_of_assets(&mut self, sources: &[AssetSource]) -> bool {
        let mut waiting = sources.iter();
        let first = waiting.find_map(|(place, source)| self.has_asset(source).then_some(*place));
        // Which levels could come matters only beside assets.
        if first.is_none() {
            return false;
        }
        // Frames in which there was no room for anything are nobody's.
        let idle = u64::from(self.frames.idle());
        let had_last = self.inserted_in.is_some_and(|frame| frame + 1 + idle >= self.frame);
        self.look_at_coming();
        // Who waits for what a reload is to bring cannot come before that.
        let level = self.coming.ready.iter().find(|place| !self.waits_for_reload(place.id));
        let levels = level.into_iter().chain(self.ready_reloads());
        let level = levels.min().map(|place| (place.rank, place.id.0));
        is_for_assets(first, level, had_last, level.is_some() || self.is_any_going())
    }

    /// What could be brought up to date now, in no order.
    fn ready_reloads(&self) -> impl Iterator<Item = Place> {
        let reloads = self.reloads.iter().filter(|(id, _)| self.is_reload_ready(**id));
        reloads.map(|(id, reload)| Place {
            rank: self.reload_rank(*id, reload),
            id: *id,
        })
    }

    fn is_any_going(&self) -> bool {
        let index = self.instances.index();
        let is_any = |turn| !index.waiting(turn).is_empty();
        is_any(Turn::Leave) || is_any(Turn::Hide) || !self.sweeps.is_empty()
    }

    /// What is wanted is more urgent than what is not, until too much of that piles up, or memory is short.
    pub(super) fn move_levels(&mut self, world: &mut World, budget: &mut FrameBudget) {
        let is_tight = self.pressure >= MemoryPressure::Tight;
        self.are_leaves_first = !self.are_leaves_first && (is_tight || self.leaves_pile_up());
        if self.are_leaves_first {
            self.leave_levels(world, budget);
            self.bring_levels(world, budget);
        } else {
            self.bring_levels(world, budget);
            self.leave_levels(world, budget);
        }
    }

    /// Brings levels into the world, and up to date, the most urgent first, as long as there is time.
    fn bring_levels(&mut self, world: &mut World, budget: &mut FrameBudget) {
        self.look_at_coming();
        let mut reloads: Vec<_> = self.ready_reloads().collect();
        // The most urgent is the last.
        reloads.sort_unstable_by(|a, b| b.cmp(a));
        let mut next = self.coming.ready.first();
        loop {
            let reload = reloads.pop_if(|reload| next.is_none_or(|level| *reload < level));
            let had_time = if let Some(Place { id, .. }) = reload {
                self.apply_in_turn(world, id, budget)
            } else if let Some(place) = next {
                next = self.coming.ready.after(place);
                self.waits_for_reload(place.id) || self.show_level(world, place.id, budget)
            } else {
                return;
            };
            if !had_time {
                return;
            }
        }
    }

    fn leaves_pile_up(&self) -> bool {
        let index = self.instances.index();
        let leaving = index.waiting(Turn::Leave).len();
        // Hidden ones that leave are not among those that are seen.
        let live = (index.live as usize).saturating_sub(leaving);
        leaving + self.sweeps.len() > live.max(MAX_LEAVING)
            || self.swept_later() > index.entities.max(MOST_SWEPT_LATER)
            || self.leaves_held > MAX_LEAVES_HELD
    }

    /// The levels that are to leave or to be hidden, those first that have waited longest; where memory is short, the largest.
    pub(super) fn going(&self) -> Vec<InstanceId> {
        let index = self.instances.index();
        let going = index.waiting(Turn::Hide).iter().chain(index.waiting(Turn::Leave));
        let mut going: Vec<_> = going.copied().collect();
        if self.pressure == MemoryPressure::Over {
            going.sort_by_cached_key(|(since, id)| (Reverse(self.leaving_memory(*id)), *since, *id));
        } else {
            going.sort_unstable();
        }
        going.into_iter().map(|(_, id)| id).collect()
    }

    fn leaving_memory(&self, id: InstanceId) -> u64 {
        match self.instances.get(&id).map(|instance| &instance.phase) {
            Some(Phase::Leaving { members, .. } | Phase::Hidden { members, .. }) => members.memory,
            _ => 0,
        }
    }
}
