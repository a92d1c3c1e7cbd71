//! The caps of a selection, from settings and from the memory that there is. See [`Caps`].

use bevy_ecs::{
    entity::Entity,
    system::{Local, Query, Res, SystemParam},
};
use seamless_asset::{InstanceId, LoadState, MemoryPressure, StreamingSettings, StreamingStats};

use super::{
    EvenHidden, LevelSelection, LevelState, LevelTable,
    share::fair_share,
    slots::StateCounts,
    squeeze::{Listed, Shortage, Squeeze, Stage},
    table::Level,
};
use crate::{
    select::{Presence, SelectionLimits},
    settings::LevelSettings,
};

/// The caps on what is wanted.
#[derive(SystemParam)]
pub(crate) struct Caps<'w, 's> {
    settings: Res<'w, LevelSettings>,
    streaming: Option<Res<'w, StreamingSettings>>,
    stats: Option<Res<'w, StreamingStats>>,
    asked: Local<'s, Vec<u64>>,
    squeeze: Local<'s, Squeeze<(Entity, u32)>>,
}

/// All worlds that are there.
pub(super) type Worlds<'w, 's> =
    Query<'w, 's, (Entity, &'static mut LevelTable, &'static mut LevelSelection), EvenHidden>;

impl Caps<'_, '_> {
    /// Those of the settings, and what fits into memory, for each of the worlds by what it asked for when it was last selected. Levels are
    /// left out for which the pipeline finds no memory.
    pub fn limits(&mut self, worlds: &mut Worlds, now: f64) -> SelectionLimits {
        self.leave_out(worlds, now);
        let own = self.settings.max_bytes;
        let asked = worlds.iter().map(|(.., selection)| selection.selector.asked_bytes());
        self.asked.clear();
        self.asked.extend(asked.map(|asked| asked.min(own)));
        let fit = self.stats.as_ref().map_or(u64::MAX, |stats| {
            let fit = stats.bytes_that_fit(self.ceiling(), sum(worlds, |counts| counts.in_memory));
            // What has begun had room, as far as the pipeline knows, which knows more: it goes on until there is no more than there may be.
            match MemoryPressure::of(stats.memory.total(), self.ceiling()) {
                MemoryPressure::Over => fit,
                _ => fit.max(sum(worlds, |counts| counts.begun)),
            }
        });
        SelectionLimits {
            max_levels: self.settings.max_levels,
            max_bytes: own,
            room: fair_share(fit, &mut self.asked),
        }
    }

    fn ceiling(&self) -> Option<u64> {
        self.streaming.as_ref()?.memory_ceiling
    }

    fn leave_out(&mut self, worlds: &mut Worlds, now: f64) {
        let ceiling = self.ceiling();
        let told = match self.stats.as_ref().filter(|_| ceiling.is_some()) {
            Some(stats) if stats.memory_short > 0 || !self.squeeze.is_at_rest() => {
                let seen = shortage(stats, worlds, now);
                self.squeeze.step(&seen, || list(worlds, stats.memory_short_for))
            }
            Some(_) => return,
            None if self.squeeze.is_any_out() => self.squeeze.end(),
            None => return,
        };
        for ((world, level), is_out) in told {
            if let Ok((.., mut selection)) = worlds.get_mut(world) {
                selection.selector.set_out(level, is_out);
            }
        }
    }
}

/// Of the files of all levels that are counted so.
fn sum(worlds: &Worlds, bytes: impl Fn(StateCounts) -> u64) -> u64 {
    let bytes = worlds.iter().map(|(_, table, _)| bytes(table.counts()));
    bytes.fold(0, u64::saturating_add)
}

/// What is short, and whether anything is on its way.
fn shortage(stats: &StreamingStats, worlds: &Worlds, now: f64) -> Shortage {
    let mut seen = Shortage {
        short: stats.memory_short,
        used: stats.memory.total(),
        per_memory: stats
            .bytes_per_memory(sum(worlds, |counts| counts.in_memory))
            .unwrap_or(0.0),
        is_calm: stats.memory_pressure == MemoryPressure::Calm,
        now,
        ..Shortage::default()
    };
    for (_, table, selection) in worlds {
        seen.is_any_leaving |= table.counts().leaving > 0;
        seen.is_any_coming |= selection.selector.is_any_coming();
    }
    seen
}

/// All levels that are wanted and that may be there, as far as their loads are not held or have not failed. There is no memory for the load of one of them.
fn list(worlds: &Worlds, short: Option<InstanceId>) -> Vec<Listed<(Entity, u32)>> {
    let mut listed = Vec::new();
    for (world, table, selection) in worlds {
        for (level, rank, bytes, is_out) in selection.selector.listed() {
            let waits = |level: &Level| level.state() == LevelState::Loading(LoadState::Requested);
            let is_short = |level: &Level| short.is_some() && level.instance() == short;
            let stage = match selection.selector.presence(level) {
                _ if is_out => Stage::Out,
                Presence::There => Stage::There,
                Presence::Coming if table.at(level).is_some_and(is_short) => Stage::Short,
                Presence::Coming if table.at(level).is_some_and(waits) => Stage::Waiting,
                Presence::Coming => Stage::Loading,
                Presence::Away | Presence::Held | Presence::Waiting | Presence::Failed => continue,
            };
            listed.push(Listed {
                key: (world, level),
                rank,
                bytes,
                stage,
            });
        }
    }
    listed
}

/// Tells of the levels that are to be loaded and not shown whether they wait until there is plenty of memory, and nothing is done about
/// that: who waits for them would wait for ever.
pub(super) fn tell_held(table: &LevelTable, selection: &mut LevelSelection, is_held: bool) {
    for (index, level) in table.coming() {
        let waits = level.state() == LevelState::Loading(LoadState::Requested) && level.is_only_loaded();
        let presence = match selection.selector.presence(index) {
            Presence::Coming if is_held && waits => Presence::Held,
            Presence::Held if !(is_held && waits) => Presence::Coming,
            _ => continue,
        };
        selection.selector.set_presence(index, presence);
    }
}
