//! From the pipeline's events to a world's levels and their events: [`report_levels`].

use core::time::Duration;
use std::sync::Arc;

use bevy_diagnostic::Diagnostics;
use bevy_ecs::{
    change_detection::DetectChangesMut,
    entity::Entity,
    message::MessageReader,
    system::{Query, Res},
};
use bevy_log::{debug_span, error, warn};
use seamless_asset::{InstanceEvent, InstanceId, LoadError, Streamer, StreamingClock, StreamingStats};

use super::{
    EvenHidden, Level, LevelSelection, LevelState, LevelTable, caps::tell_held, index::Owner, select::Pipeline,
    slots::StateCounts,
};
use crate::{
    diagnostics::{DROPPED, WANTED},
    events::{LevelEvents, LevelFailed, LevelHidden, LevelLeft, LevelLoaded, LevelRevealed, LevelShown},
    retry::RetryPolicy,
    select::Presence,
    settings::LevelSettings,
    target::LevelTarget,
};

type Worlds<'w, 's> = Query<'w, 's, (&'static mut LevelTable, &'static mut LevelSelection), EvenHidden>;

/// Brings tables up to date with what the pipeline did in this frame, and tells everybody.
pub(crate) fn report_levels(
    mut instances: MessageReader<InstanceEvent>,
    mut worlds: Worlds,
    mut pipeline: Pipeline,
    mut events: LevelEvents,
    settings: Res<LevelSettings>,
    stats: Option<Res<StreamingStats>>,
    clock: Res<StreamingClock>,
) {
    let _time = clock.measure("telling what became of levels");
    let _span = debug_span!("report").entered();
    let retry = &settings.retry;
    for event in instances.read() {
        match event {
            InstanceEvent::Revealed { id, root, entities } => {
                revealed(*id, *root, *entities, &mut worlds, &pipeline, &mut events);
            }
            InstanceEvent::Left { id } => gone(*id, true, &mut worlds, &mut pipeline, &mut events),
            InstanceEvent::Loaded { id, entities } => {
                let entities = *entities;
                if let Some((world, level, _)) = changed(*id, LevelState::Hidden, &mut worlds, &pipeline) {
                    events.loaded(LevelLoaded { world, level, entities });
                }
            }
            InstanceEvent::Hidden { id } => {
                if let Some((world, level, Some(root))) = changed(*id, LevelState::Hidden, &mut worlds, &pipeline) {
                    events.hidden(LevelHidden { world, level, root });
                }
            }
            InstanceEvent::Shown { id } => {
                if let Some((world, level, Some(root))) = changed(*id, LevelState::Visible, &mut worlds, &pipeline) {
                    events.shown(LevelShown { world, level, root });
                }
            }
            InstanceEvent::Cancelled { id } => gone(*id, false, &mut worlds, &mut pipeline, &mut events),
            InstanceEvent::Failed { id, error } => failed(*id, error, retry, &mut worlds, &mut pipeline, &mut events),
        }
    }
    let now = pipeline.time.now();
    let is_any_leaving = worlds.iter().any(|(table, _)| table.counts().leaving > 0);
    let is_held = stats.is_some_and(|stats| stats.memory_held > 0 && stats.memory_short == 0) && !is_any_leaving;
    for (mut table, mut selection) in &mut worlds {
        if refresh(table.bypass_change_detection(), &pipeline.streamer, now) {
            table.set_changed();
        }
        tell_held(&table, &mut selection, is_held);
    }
}

/// Takes over how far loads have come; whether anything changed.
fn refresh(table: &mut LevelTable, streamer: &Streamer, now: Duration) -> bool {
    let mut changed = false;
    let LevelTable {
        levels,
        counts,
        followed,
        ..
    } = table;
    followed.retain(|level| {
        let Some(level) = levels.get_mut(*level) else {
            return false;
        };
        let is_coming = matches!(
            level.state(),
            LevelState::Loading(_) | LevelState::Hidden | LevelState::Revealing
        );
        let Some(state) = level.instance.and_then(|id| streamer.state(id)).filter(|_| is_coming) else {
            return false;
        };
        let state = level.state_by(state);
        level.pass(now);
        changed |= level.state() != state;
        level.set_state(state, counts);
        // What is hidden stays so until somebody wants something else.
        !(state == LevelState::Hidden && level.target == LevelTarget::Loaded)
    });
    changed
}

/// A level is loaded and not shown, hidden, or shown again: its world, its name, and its root if it has one.
fn changed(
    id: InstanceId,
    state: LevelState,
    worlds: &mut Worlds,
    pipeline: &Pipeline,
) -> Option<(Entity, String, Option<Entity>)> {
    let &Owner::Level { world, level } = pipeline.index.get(id)? else {
        return None;
    };
    let (mut table, mut selection) = worlds.get_mut(world).ok()?;
    let LevelTable { levels, counts, .. } = &mut *table;
    let slot = levels.get_mut(level)?;
    slot.is_loaded = true;
    slot.pass(pipeline.time.now());
    slot.is_out_of_sight = state == LevelState::Hidden;
    slot.forget_failures();
    if slot.state() != LevelState::Leaving {
        slot.set_state(state, counts);
        selection.selector.set_presence(level, Presence::There);
    }
    Some((world, slot.entry.name.clone(), slot.root))
}

fn revealed(
    id: InstanceId,
    root: Entity,
    entities: u32,
    worlds: &mut Worlds,
    pipeline: &Pipeline,
    events: &mut LevelEvents,
) {
    // A stranger's instance, or one whose world is gone: neither that it comes nor that it leaves at once is told.
    let Some(&Owner::Level { world, level }) = pipeline.index.get(id) else {
        return;
    };
    let Ok((mut table, mut selection)) = worlds.get_mut(world) else {
        return;
    };
    let LevelTable { levels, counts, .. } = &mut *table;
    let Some(slot) = levels.get_mut(level) else {
        return;
    };
    slot.pass(pipeline.time.now());
    if slot.state() != LevelState::Leaving {
        slot.set_state(LevelState::Visible, counts);
        selection.selector.set_presence(level, Presence::There);
    }
    slot.root = Some(root);
    slot.is_out_of_sight = false;
    slot.entities = entities;
    slot.revealed += 1;
    slot.error = None;
    slot.forget_failures();
    let level = slot.entry.name.clone();
    events.revealed(LevelRevealed {
        world,
        level,
        root,
        entities,
    });
}

/// An instance has left, or was cancelled before it came.
fn gone(id: InstanceId, was_live: bool, worlds: &mut Worlds, pipeline: &mut Pipeline, events: &mut LevelEvents) {
    let (world, level) = match pipeline.index.remove(id) {
        Some(Owner::Level { world, level }) => (world, level),
        Some(Owner::Orphan { left: Some(left) }) if was_live => {
            events.left(left);
            return;
        }
        _ => return,
    };
    let Ok((mut table, mut selection)) = worlds.get_mut(world) else {
        return;
    };
    let LevelTable { levels, counts, .. } = &mut *table;
    let Some(slot) = levels.get_mut(level) else {
        return;
    };
    let root = slot.root.filter(|_| was_live);
    slot.gone(LevelState::Unloaded, counts);
    slot.forget_failures();
    slot.left += u32::from(root.is_some());
    selection.selector.set_presence(level, Presence::Away);
    let is_wanted = slot.is_wanted();
    if let Some(root) = root {
        if is_wanted {
            lost(slot);
        }
        let level = slot.entry.name.clone();
        events.left(LevelLeft { world, level, root });
    }
    if is_wanted {
        // Somebody else despawned it, or it was wanted again while it was on its way out.
        pipeline.load(world, &mut table, &mut selection, level);
    }
}

/// A level has left that nobody has let go of. It is told once: who does so in each frame need not read it in each frame.
fn lost(slot: &mut Level) {
    slot.was_lost = true;
    if !core::mem::replace(&mut slot.is_loss_told, true) {
        warn!(
            "the root of level `{}` was despawned by somebody else while it is wanted, so it is loaded again; to unload it use `Levels::unload`, or \
             let go of what asks for it",
            slot.name()
        );
    }
}

fn failed(
    id: InstanceId,
    error: &Arc<LoadError>,
    retry: &RetryPolicy,
    worlds: &mut Worlds,
    pipeline: &mut Pipeline,
    events: &mut LevelEvents,
) {
    let Some(owner) = pipeline.index.remove(id) else { return };
    // The pipeline keeps the state of a failed instance until it is let go of.
    pipeline.streamer.unload(id);
    let Owner::Level { world, level } = owner else { return };
    let Ok((mut table, mut selection)) = worlds.get_mut(world) else {
        return;
    };
    let LevelTable { levels, counts, .. } = &mut *table;
    let Some(slot) = levels.get_mut(level) else {
        return;
    };
    // One that is not wanted any more may be tried again as soon as it is.
    let state = if slot.is_wanted() {
        LevelState::Failed
    } else {
        LevelState::Unloaded
    };
    slot.pass(pipeline.time.now());
    slot.gone(state, counts);
    slot.failures += 1;
    slot.error = Some(error.clone());
    slot.failures_in_row += 1;
    let number = slot.failures_in_row;
    let may_pass = state == LevelState::Failed && error.kind.is_transient();
    slot.retry_in = retry.wait(number, level).filter(|_| may_pass);
    if let Some(wait) = slot.retry_in {
        warn!("level `{}` is tried again in {:.1} s", slot.name(), wait.as_secs_f32());
        selection.retry_after(level, wait);
    } else if may_pass {
        error!("level `{}` is not tried again: {error}", slot.name());
    }
    let presence = match (state, slot.retry_in) {
        (LevelState::Failed, Some(_)) => Presence::Waiting,
        (LevelState::Failed, None) => Presence::Failed,
        _ => Presence::Away,
    };
    selection.selector.set_presence(level, presence);
    if state != LevelState::Failed {
        slot.failures_in_row = 0;
    }
    // The first is told, and that no other one follows.
    if number == 1 || slot.retry_in.is_none() {
        let (level, error, retry_in) = (slot.entry.name.clone(), error.clone(), slot.retry_in);
        let failed = LevelFailed {
            world,
            level,
            error,
            retry_in,
        };
        events.failed(failed);
    }
}

/// Measures how many levels there are of each kind, over all worlds. What is counted is counted where it changes.
pub(crate) fn write_diagnostics(
    worlds: Query<(&LevelTable, &LevelSelection), EvenHidden>,
    mut diagnostics: Diagnostics,
    clock: Res<StreamingClock>,
) {
    let _time = clock.measure("diagnostics of levels");
    let mut states = StateCounts::default().measurements();
    let (mut wanted, mut dropped) = (0, 0);
    for (table, selection) in &worlds {
        let here = table.counts().measurements();
        states
            .iter_mut()
            .zip(here)
            .for_each(|((_, sum), (_, count))| *sum += count);
        wanted += selection.selector.wanted();
        dropped += table.dropped();
    }
    for (path, count) in states {
        diagnostics.add_measurement(&path, || count.into());
    }
    diagnostics.add_measurement(&WANTED, || wanted as f64);
    diagnostics.add_measurement(&DROPPED, || dropped as f64);
}
