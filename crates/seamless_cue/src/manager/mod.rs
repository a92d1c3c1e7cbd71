//! The engine in Bevy's world.

mod cues;
mod events;
mod frame;
mod idle;
mod pace;
mod stage;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use cues::{CueInbox, Fired};
pub use cues::{Cues, FireCues};
pub use events::{CueExecuted, CueOnActive, CueRecycled, CueRemoved, CueReused, CueWhileActive, PlayedCue};
pub(crate) use frame::{advance, start};
pub(crate) use stage::{Backstage, Record, WorldStage};

use core::{mem, time::Duration};

use bevy_ecs::{
    change_detection::Tick,
    message::MessageCursor,
    query::{QueryState, With},
    resource::Resource,
    world::World,
};
use bevy_log::error;
use bevy_transform::components::GlobalTransform;
use seamless_asset::{InstanceEvent, StreamingTime};

use crate::{CueListener, config::CueConfig, engine::Engine, route::NotifyId, stats::CueStats};

/// The engine, unless it is at work.
#[derive(Resource, Default)]
pub(crate) struct Manager(pub Option<Box<State>>);

/// All that cues need from frame to frame.
#[derive(Default)]
pub(crate) struct State {
    pub engine: Engine,
    pub back: Backstage,
    config: CueConfig,
    /// When the config was last looked at.
    seen: Option<Tick>,
    /// Kept for its memory.
    fired: Vec<Fired>,
    /// When idle notifies are looked at again.
    next_look: Duration,
    /// Notifies that are on their way.
    loading: Vec<NotifyId>,
    instances: MessageCursor<InstanceEvent>,
    listeners: Option<QueryState<&'static GlobalTransform, With<CueListener>>>,
    /// It was said once that cues fire each other.
    has_warned: bool,
}

/// Does something with the engine, unless it is at work: then who works does the rest.
pub(crate) fn with_state(world: &mut World, work: impl FnOnce(&mut State, &mut World)) {
    let Some(mut state) = world
        .get_resource_mut::<Manager>()
        .and_then(|mut manager| manager.0.take())
    else {
        return;
    };
    work(&mut state, world);
    if let Some(mut manager) = world.get_resource_mut::<Manager>() {
        manager.0 = Some(state);
    }
}

/// Plays what was fired, and what observers fire meanwhile.
pub(crate) fn flush(world: &mut World) {
    with_state(world, State::flush);
}

impl State {
    fn flush(&mut self, world: &mut World) {
        self.look_at_config(world);
        self.back.now = world.resource::<StreamingTime>().now();
        for round in 0.. {
            let mut inbox = world.resource_mut::<CueInbox>();
            self.engine.stats.merged += mem::take(&mut inbox.merged);
            if inbox.fired.is_empty() {
                break;
            }
            if round >= self.config.max_rounds.max(1) {
                self.postpone(inbox.fired.len());
                break;
            }
            mem::swap(&mut inbox.fired, &mut self.fired);
            self.play_fired(world);
        }
        self.back.caller = None;
        self.publish(world);
    }

    fn play_fired(&mut self, world: &mut World) {
        self.back.look_at_components(world);
        let now = self.back.now;
        let mut stage = WorldStage::new(world, &mut self.back);
        // Cues are not moved: who plays or keeps one takes what it needs out of it.
        for fired in &mut self.fired {
            stage.back.caller = Some(fired.caller);
            let (act, tag, context) = (fired.act, fired.tag, &mut fired.context);
            self.engine.fire(&mut stage, &self.config, now, act, tag, context);
        }
        self.fired.clear();
    }

    fn postpone(&mut self, count: usize) {
        self.engine.stats.postponed += count as u64;
        if !mem::replace(&mut self.has_warned, true) {
            error!(
                "observers of cues have fired cues {} times over, {count} wait for the next frame; do cues fire each other in a circle? \
                 `CueConfig::max_rounds` is how often they may",
                self.config.max_rounds
            );
        }
    }

    fn look_at_config(&mut self, world: &World) {
        use bevy_ecs::change_detection::DetectChanges;
        let config = world.resource_ref::<CueConfig>();
        let changed = config.last_changed();
        if self.seen != Some(changed) {
            self.seen = Some(changed);
            self.config = CueConfig::clone(&config);
            self.back.suppressed = config.suppressed.clone();
            self.back.suppressed_while = config.suppressed_while.clone();
            self.back.translations = config.translations.clone();
        }
    }

    fn publish(&self, world: &mut World) {
        let stats = &self.engine.stats;
        let counts = &self.back.counts;
        *world.resource_mut::<CueStats>() = CueStats {
            waiting: self.engine.pending.len() as u64,
            waiting_peak: stats.waiting_peak.max(self.engine.pending.len() as u64),
            active: self.engine.active.len() as u64,
            loads: counts.loads,
            blocking_loads: counts.blocking,
            failed_loads: counts.failed,
            unloaded: counts.unloaded,
            full_pools: self.back.actors.full(),
            instances_made: self.back.actors.made,
            ..stats.clone()
        };
    }
}
