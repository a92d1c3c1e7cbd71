//! Levels that are not there although somebody is. See [`LateLevels`].

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashSet};

use bevy_diagnostic::Diagnostics;
use bevy_ecs::{
    entity::Entity,
    message::{Message, MessageWriter},
    reflect::ReflectResource,
    resource::Resource,
    system::{Local, Query, Res, ResMut},
};
use bevy_reflect::{Reflect, std_traits::ReflectDefault};
use seamless_asset::StreamingClock;

use crate::{
    diagnostics::{BEGUN_LATE, LATE},
    target::LevelTarget,
    world::{EvenHidden, Level, LevelSelection, LevelTable, Now},
};

/// A level is there at last that was late, or is not waited for any more: whoever was there has left, or nobody wants it now.
///
/// [`LateLevels`] knows of it from the first frame on.
#[derive(Message, Reflect, Clone, Debug, PartialEq)]
#[reflect(Clone, Debug, PartialEq)]
pub struct LevelLate {
    /// The seamless world it belongs to.
    pub world: Entity,
    /// The level's name.
    pub level: String,
    /// For how long it was late.
    pub seconds: f32,
    /// Whether it came.
    pub has_come: bool,
}

/// The levels that are late: somebody is within their bounds, along the axes that [count](crate::LevelSettings::arrival_axes), and they are to be visible and still on
/// their way. Players see a hole there.
///
/// Somebody is a [`StreamingSource`](crate::StreamingSource) that asks for levels to be [visible](crate::StreamingSource::target) on this machine: on a
/// client, no [player of another one](crate::StreamingSource::remote).
///
/// What failed, was left out by [`LevelSettings::max_levels`](crate::LevelSettings::max_levels), or is not wanted at all is not late; and
/// of a level without bounds nobody can tell. Brought up to date in [`LevelSystems::Report`](crate::LevelSystems::Report), at a cost that
/// grows with the number of levels on their way.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use seamless_level::LateLevels;
/// fn slow_down(late: Res<LateLevels>) {
///     let longest = late.iter().map(|level| level.seconds).fold(0.0, f32::max);
///     if longest > 0.5 { /* close a door, slow the car down */ }
/// }
/// ```
#[derive(Resource, Reflect, Clone, Debug, Default, PartialEq)]
#[reflect(Resource, Default, Clone, PartialEq)]
pub struct LateLevels {
    #[reflect(ignore)]
    late: BTreeMap<(Entity, u32), LateLevel>,
    begun: u64,
}

/// A level that is late just now.
#[derive(Clone, Debug, PartialEq)]
pub struct LateLevel {
    /// The seamless world it belongs to.
    pub world: Entity,
    /// The level's name.
    pub name: String,
    /// For how long it has been late; zero in the first frame.
    pub seconds: f32,
    since: f64,
}

impl LateLevels {
    /// Those that are late now.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &LateLevel> {
        self.late.values()
    }

    /// How many are late now.
    #[must_use]
    pub fn len(&self) -> usize {
        self.late.len()
    }

    /// Whether none is late now.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.late.is_empty()
    }

    /// How often a level began to be late, ever.
    #[must_use]
    pub fn begun(&self) -> u64 {
        self.begun
    }

    /// Brings the list up to date with what is late now.
    fn update(
        &mut self,
        now: f64,
        found: &mut Vec<(Entity, u32, String)>,
        mut told: impl FnMut((Entity, u32), LateLevel),
    ) {
        let keys: HashSet<(Entity, u32)> = found.iter().map(|(world, level, _)| (*world, *level)).collect();
        let ended: Vec<(Entity, u32)> = self.late.keys().copied().filter(|key| !keys.contains(key)).collect();
        for key in ended {
            if let Some(level) = self.late.remove(&key) {
                told(key, level);
            }
        }
        for (world, level, name) in found.drain(..) {
            let begun = &mut self.begun;
            let late = self.late.entry((world, level)).or_insert_with(|| {
                *begun += 1;
                LateLevel {
                    world,
                    name,
                    seconds: 0.0,
                    since: now,
                }
            });
            late.seconds = (now - late.since) as f32;
        }
    }
}

/// Whether the level is still to come into sight.
fn is_missing(level: &Level) -> bool {
    level.target() == LevelTarget::Visible && !level.is_visible()
}

/// Finds the levels that are late.
pub(crate) fn find_late(
    worlds: Query<(Entity, &LevelTable, &LevelSelection), EvenHidden>,
    mut late: ResMut<LateLevels>,
    mut messages: MessageWriter<LevelLate>,
    mut diagnostics: Diagnostics,
    mut now: Now,
    mut found: Local<Vec<(Entity, u32, String)>>,
    clock: Res<StreamingClock>,
) {
    let _time = clock.measure("a look for late levels");
    let now = now.seconds();
    for (world, table, selection) in &worlds {
        for (index, level) in table.coming().filter(|(_, level)| is_missing(level)) {
            let mut viewers = selection.selector.viewers();
            if viewers.any(|viewer| selection.selector.is_at(index, viewer.position)) {
                found.push((world, index, level.name().to_owned()));
            }
        }
    }
    diagnostics.add_measurement(&LATE, || found.len() as f64);
    if !(found.is_empty() && late.is_empty()) {
        tell_late(now, &worlds, &mut late, &mut found, &mut messages);
    }
    diagnostics.add_measurement(&BEGUN_LATE, || late.begun() as f64);
}

/// Takes over which levels are late, and tells of those that are so no more.
fn tell_late(
    now: f64,
    worlds: &Query<(Entity, &LevelTable, &LevelSelection), EvenHidden>,
    late: &mut LateLevels,
    found: &mut Vec<(Entity, u32, String)>,
    messages: &mut MessageWriter<LevelLate>,
) {
    let is_there = |(world, level): (Entity, u32)| {
        let table = worlds.get(world).ok();
        let level = table.and_then(|(_, table, _)| table.at(level));
        level.is_some_and(Level::is_visible)
    };
    late.update(now, found, |key, level| {
        messages.write(LevelLate {
            world: level.world,
            seconds: (now - level.since) as f32,
            has_come: is_there(key),
            level: level.name,
        });
    });
}
