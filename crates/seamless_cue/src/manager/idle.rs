//! Notifies that cues have loaded and no cue needs any more. See [`State::let_idle_go`].

#[cfg(test)]
mod tests;

use core::time::Duration;

use bevy_ecs::world::World;

use super::State;
use crate::{engine::NotifyState, route::NotifyId};

/// Who waits to be let go of is looked at so often in the time after which it may go.
const LOOKS: u32 = 8;
/// And so often at least.
const LOOK: Duration = Duration::from_secs(1);

/// A notify that is not in use, and when it last was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Idle {
    id: NotifyId,
    used: Duration,
}

/// Of those that are not in use, who goes: as many as there are too many of, those first whose last use is longest ago.
fn leaving(mut idle: Vec<Idle>, most: usize, now: Duration, after: Duration) -> Vec<NotifyId> {
    let too_many = idle.len().saturating_sub(most);
    idle.sort_unstable_by_key(|idle| (idle.used, idle.id));
    let oldest = idle.into_iter().take(too_many);
    let old = oldest.take_while(|idle| now.saturating_sub(idle.used) >= after);
    old.map(|idle| idle.id).collect()
}

impl State {
    /// Lets notifies go that cues have loaded, where more of them are idle than may be.
    pub(super) fn let_idle_go(&mut self, world: &mut World) {
        let (now, after, most) = (self.back.now, self.config.idle_after, self.config.max_idle);
        if self.back.kept.len() <= most || now < self.next_look {
            return;
        }
        self.next_look = now + LOOK.min(after / LOOKS);
        for id in leaving(self.idle(), most, now, after) {
            self.let_go(world, id);
            self.back.counts.unloaded += 1;
        }
    }

    fn idle(&mut self) -> Vec<Idle> {
        let records = &self.back.records;
        self.back.kept.retain(|id| {
            let record = &records[id.index()];
            record.handle.is_some() && !record.is_always_loaded
        });
        let mut idle: Vec<Idle> = self.back.kept.iter().filter_map(|id| self.if_idle(*id)).collect();
        for active in self.engine.active.iter() {
            idle.retain(|idle| !active.played.contains(&idle.id));
        }
        idle.retain(|idle| self.engine.waiting_for(idle.id) == 0);
        idle
    }

    fn if_idle(&self, id: NotifyId) -> Option<Idle> {
        let is_loaded = matches!(self.engine.cast.state(id), NotifyState::Loaded { .. });
        let used = self.back.records[id.index()].used;
        (is_loaded && !self.back.actors.is_busy(id)).then_some(Idle { id, used })
    }
}
