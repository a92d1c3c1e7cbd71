//! Watches the flight from outside: levels whole or absent, none late, what is in memory. Its own time is not counted.

use std::collections::BTreeSet;

use bevy::{ecs::archetype::Archetype, prelude::*};
use bevy_seamless::{
    asset::{LevelInstance, LoadState},
    prelude::*,
};
use seamless_examples::{
    memory::content_bytes,
    report::{Footprint, LevelTrack},
};

/// A level that the camera reaches in this many frames after a teleport is late because of the teleport.
const TELEPORT_FRAMES: u64 = 60;

/// What was seen so far.
#[derive(Default)]
pub struct Monitor {
    pub tracks: Vec<LevelTrack>,
    pub violations: u64,
    pub late: u64,
    pub late_after_teleport: u64,
    pub teleports: u64,
    pub entities_peak: u64,
    pub mesh_bytes: u64,
    pub image_bytes: u64,
    states: Vec<LevelTrackState>,
    last_teleport: Option<u64>,
    late_now: BTreeSet<String>,
    /// Entities that no level owns.
    base: usize,
}

#[derive(Default, Clone)]
struct LevelTrackState {
    requested: Option<u32>,
    live: Option<u32>,
}

impl Monitor {
    /// Starts to watch a world whose levels are in `table`; `world` holds no level yet.
    pub fn new(world: &World, table: &LevelTable) -> Self {
        let tracks = table.iter().map(|level| LevelTrack {
            name: level.name().to_owned(),
            footprint: level
                .entry()
                .bounds
                .filter(|_| !level.entry().always_loaded)
                .map(|(min, max)| Footprint {
                    min: [min[0], min[2]],
                    max: [max[0], max[2]],
                }),
            ..LevelTrack::default()
        });
        Self {
            tracks: tracks.collect(),
            states: vec![LevelTrackState::default(); table.len()],
            base: count_entities(world)[0],
            ..Self::default()
        }
    }

    /// Looks at one frame that is over.
    pub fn look(&mut self, world: &mut World, frame: u64, teleported: bool) {
        if teleported {
            self.teleports += 1;
            self.last_teleport = Some(frame);
        }
        let mut tables = world.query::<&LevelTable>();
        let Ok(table) = tables.single(world) else { return };
        let mut expected = self.base;
        for (index, level) in table.iter().enumerate() {
            if let Some(root) = level.root() {
                expected += 1 + level.entities() as usize;
                let changed = self.states[index].live.is_none();
                // Levels that just came are counted entity by entity, and one other in turn.
                if changed || frame as usize % table.len() == index {
                    self.check_level(world, root, level);
                }
            }
            self.follow(index, level, frame as u32);
        }
        self.note_late(world, table, frame);
        let [found, all] = count_entities(world);
        if found != expected {
            self.violations += 1;
            warn!("frame {frame}: {found} entities are in the world, its levels have {expected}");
        }
        self.entities_peak = self.entities_peak.max((all - self.base.min(all)) as u64);
        if frame.is_multiple_of(30) {
            self.measure_memory(world);
        }
    }

    fn check_level(&mut self, world: &World, root: Entity, level: &Level) {
        let alive = descendants(world, root);
        let known = world.get::<LevelInstance>(root).map(|instance| instance.objects.len());
        if alive != level.entities() as usize || known != Some(alive) {
            self.violations += 1;
            warn!("{}: {alive} of {} entities are there", level.name(), level.entities());
        }
    }

    fn follow(&mut self, index: usize, level: &Level, frame: u32) {
        let (state, track) = (&mut self.states[index], &mut self.tracks[index]);
        let asked = !matches!(level.state(), LevelState::Unloaded | LevelState::Failed);
        if asked && state.requested.is_none() {
            state.requested = Some(frame);
        } else if !asked && let Some(from) = state.requested.take() {
            track.requested.push((from, frame));
        }
        let live = level.root().is_some();
        if live && state.live.is_none() {
            state.live = Some(frame);
        } else if !live && let Some(from) = state.live.take() {
            track.live.push((from, frame));
        }
    }

    /// Counts the levels that the ledger calls late since the last frame. What is always loaded is no matter of the path.
    fn note_late(&mut self, world: &World, table: &LevelTable, frame: u64) {
        let ledger = world.resource::<LateLevels>().iter();
        let late: BTreeSet<String> = ledger.map(|level| level.name.clone()).collect();
        for name in late.difference(&self.late_now) {
            let Some(level) = table.get(name).filter(|level| !level.entry().always_loaded) else {
                continue;
            };
            if self
                .last_teleport
                .is_some_and(|teleport| frame < teleport + TELEPORT_FRAMES)
            {
                self.late_after_teleport += 1;
            } else {
                self.late += 1;
                warn!("frame {frame}: {name} is late ({:?})", level.state());
            }
        }
        self.late_now = late;
    }

    fn measure_memory(&mut self, world: &World) {
        (self.mesh_bytes, self.image_bytes) = content_bytes(world);
    }

    /// Closes what is still open at the end of the flight.
    pub fn finish(&mut self, frames: u32) {
        for (state, track) in self.states.iter_mut().zip(&mut self.tracks) {
            track
                .requested
                .extend(state.requested.take().map(|from| (from, frames)));
            track.live.extend(state.live.take().map(|from| (from, frames)));
        }
    }
}

/// Whether all levels that are wanted are there.
pub fn is_settled(table: &LevelTable) -> bool {
    table.iter().all(|level| {
        let waits = matches!(level.state(), LevelState::Loading(state) if state != LoadState::Failed);
        !waits && (!level.is_wanted() || level.root().is_some() || level.state() == LevelState::Failed)
    })
}

/// Entities of all archetypes, those of resources, observers and systems included: how many can be seen, and how many there are.
fn count_entities(world: &World) -> [usize; 2] {
    let hidden = world.component_id::<InHiddenLevel>();
    let is_seen = |archetype: &&Archetype| !hidden.is_some_and(|id| archetype.contains(id));
    let archetypes = || world.archetypes().iter();
    let seen = archetypes().filter(is_seen).map(|archetype| archetype.len() as usize);
    let all = archetypes().map(|archetype| archetype.len() as usize);
    [seen.sum(), all.sum()]
}

fn descendants(world: &World, root: Entity) -> usize {
    let mut count = 0;
    let mut stack = vec![root];
    while let Some(entity) = stack.pop() {
        if let Some(children) = world.get::<Children>(entity) {
            count += children.len();
            stack.extend(children.iter());
        }
    }
    count
}
