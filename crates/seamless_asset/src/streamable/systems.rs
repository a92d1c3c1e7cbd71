//! What is done for streamables in a frame. See [`drive`] and [`settle`].

use core::cmp::Reverse;
use std::sync::Arc;

use bevy_asset::AssetServer;
use bevy_ecs::{prelude::*, system::SystemParam};
use bevy_math::FloatOrd;

use super::{
    StreamableEnd, StreamableFinished, StreamableHub, StreamableSettings, StreamableStats,
    active::{Active, Around, has_changed, too_many},
    share::{LEAST, Share},
    shared::{Callback, Shared, lock},
};
use crate::{
    load::{Streamer, by_rank},
    registry::ObjectRegistries,
    settings::{StreamingClock, StreamingSettings},
    soft::SoftTable,
    time::StreamingTime,
};

/// What both systems look at and change.
#[derive(SystemParam)]
pub(crate) struct Hub<'w> {
    hub: ResMut<'w, StreamableHub>,
    table: ResMut<'w, SoftTable>,
    stats: ResMut<'w, StreamableStats>,
    registries: Res<'w, ObjectRegistries>,
    settings: Res<'w, StreamableSettings>,
    streaming: Res<'w, StreamingSettings>,
    server: Res<'w, AssetServer>,
    clock: Res<'w, StreamingClock>,
}

/// Asks the pipeline for what is wanted.
pub(crate) fn drive(mut around: Hub, mut streamer: ResMut<Streamer>) {
    let Hub {
        hub,
        table,
        stats,
        registries,
        settings,
        streaming,
        server,
        clock,
    } = &mut around;
    let _time = clock.measure("what streamables want");
    let mut share = Share::new(streaming, settings.share);
    table.take_misses(registries, settings.max_resolved);
    take_incoming(hub, settings, stats);
    let looked = Around {
        registries,
        table,
        settings,
        server,
    };
    let StreamableHub { active, loads, .. } = &mut **hub;
    let (turns, mut has_new_priorities) = look_through(active, &looked);
    for (_, place, shared) in turns {
        if !share.take() {
            continue;
        }
        let active = &mut active[place];
        active.resolve(&shared, &looked);
        if !shared.is_paused() && active.wants_more() {
            active.start(&shared, looked.table, loads, &mut streamer, stats);
            // Somebody may wait for the same, and be less urgent.
            has_new_priorities = true;
        }
    }
    if has_new_priorities {
        settle_priorities(&hub.active, &mut streamer);
    }
    hub.loads.sweep();
    stats.postponed += share.postponed;
}

/// Its priority, its place, and itself.
type Turn = (f64, usize, Arc<Shared>);

/// Who has something to look up or to ask for, the most urgent first, then who has asked first; and whether anybody's priority has changed.
fn look_through(active: &mut [Active], around: &Around) -> (Vec<Turn>, bool) {
    let mut turns = Vec::new();
    let mut has_new_priorities = false;
    for (place, active) in active.iter_mut().enumerate() {
        let Some(shared) = active.shared.upgrade() else {
            continue;
        };
        let is_changed = has_changed(&shared);
        has_new_priorities |= is_changed;
        let is_paused = shared.is_paused();
        if is_changed && is_paused {
            active.pause();
        }
        let wants = active.wants_look(around) || (!is_paused && active.wants_more());
        if wants && !shared.is_cancelled() {
            turns.push((f64::from(shared.priority()), place, shared));
        }
    }
    turns.sort_by(|a, b| by_rank((a.0, a.1), (b.0, b.1)));
    (turns, has_new_priorities)
}

fn take_incoming(hub: &mut StreamableHub, settings: &StreamableSettings, stats: &mut StreamableStats) {
    for shared in hub.take_incoming() {
        stats.requested += 1;
        let most = settings.max_streamables;
        if hub.active.len() + hub.held.len() >= most {
            hub.held.retain(|held| held.strong_count() > 0);
        }
        let found = hub.active.len() + hub.held.len() + 1;
        let active = match found > most {
            true => Active::refused(&shared, too_many("streamables", found, most, "max_streamables")),
            false => Active::new(&shared, settings.max_paths),
        };
        for hash in &active.hashes {
            *hub.wanted.entry(*hash).or_default() += 1;
        }
        hub.active.push(active);
    }
}

/// Each load is as urgent as the most urgent of those that wait for it.
fn settle_priorities(active: &[Active], streamer: &mut Streamer) {
    for active in active {
        if let Some(shared) = active.shared.upgrade() {
            active.loading().for_each(|place| place.load.want(shared.priority()));
        }
    }
    for place in active.iter().flat_map(Active::loading) {
        place.load.settle_priority(streamer);
    }
}

/// Takes in what has come, and tells who has ended.
pub(crate) fn settle(mut around: Hub, time: Res<StreamingTime>, mut commands: Commands) {
    let Hub {
        hub,
        table,
        stats,
        registries,
        settings,
        streaming,
        server,
        clock,
    } = &mut around;
    let _time = clock.measure("what came for streamables");
    let mut share = Share::new(streaming, settings.share);
    let now = time.now();
    let mut over = Vec::new();
    for mut active in urgent_first(core::mem::take(&mut hub.active)) {
        let Some(shared) = active.shared.upgrade() else {
            stats.cancelled += 1;
            hub.let_go(&active);
            continue;
        };
        let looked = Around {
            registries,
            table,
            settings,
            server,
        };
        active.settle(&shared, &looked, now);
        shared.tell(active.progress(&shared));
        if !active.is_over(&shared) || !share.take() {
            shared.set_state(active.state(&shared));
            hub.active.push(active);
            continue;
        }
        let (end, held) = active.end(&shared);
        hub.let_go(&active);
        count(&end, stats);
        for path in shared.paths.iter().filter(|_| !matches!(end, StreamableEnd::Cancelled)) {
            table.learn(path, registries, settings.max_resolved);
        }
        let callbacks = shared.finish(end, held);
        hub.held.push(Arc::downgrade(&shared));
        over.push((shared, callbacks));
    }
    for (shared, callbacks) in over {
        tell(&shared, callbacks, true, &mut commands);
    }
    let late = core::mem::take(&mut *lock(&hub.late));
    for streamable in late {
        tell(&streamable.0, streamable.take_late_callbacks(), false, &mut commands);
    }
    hub.sweep();
    stats.postponed += share.postponed;
    (stats.active, stats.held) = (hub.active.len() as u64, hub.held.len() as u64);
}

/// Where not all may have their turn, the most urgent have theirs first.
fn urgent_first(mut active: Vec<Active>) -> Vec<Active> {
    if active.len() > LEAST {
        active.sort_by_cached_key(|active| {
            let shared = active.shared.upgrade();
            shared.map(|shared| (Reverse(FloatOrd(shared.priority())), shared.id))
        });
    }
    active
}

fn count(end: &StreamableEnd, stats: &mut StreamableStats) {
    let counted = match end {
        StreamableEnd::Loaded => &mut stats.loaded,
        StreamableEnd::Failed(_) => &mut stats.failed,
        StreamableEnd::Cancelled => &mut stats.cancelled,
    };
    *counted += 1;
}

/// Tells everybody who waits for one that has ended.
fn tell(shared: &Shared, callbacks: Vec<Callback>, is_new: bool, commands: &mut Commands) {
    let Some(end) = shared.end() else { return };
    for error in end.errors().iter().filter(|_| is_new) {
        bevy_log::error!("streamable `{}`, asked for at {}: {error}", shared.name, shared.caller);
    }
    if !callbacks.is_empty() {
        let end = end.clone();
        commands.queue(move |world: &mut World| {
            for callback in callbacks {
                callback(world, &end);
            }
        });
    }
    if is_new {
        commands.trigger(StreamableFinished {
            id: shared.id,
            name: shared.name.clone(),
            end: end.clone(),
        });
    }
}
