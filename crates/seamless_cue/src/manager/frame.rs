//! What cues do in each frame: look for notifies, take in what was loaded, play what has waited.

use core::mem;

use bevy_ecs::world::World;
use bevy_platform::time::Instant;
use bevy_time::Time;
use seamless_asset::{InstanceEvent, ObjectRegistries, StreamingClock, StreamingSettings, StreamingTime};

use bevy_ecs::message::Messages;

use super::{State, WorldStage, pace::Pace, with_state};
use crate::{
    config::Load,
    engine::{Known, NotifyState},
    library::{CueLibraries, LibraryCue},
    loads,
    manager::Record,
    route::NotifyId,
};

/// Places that are looked at for who is dead or has waited too long, a frame.
const SWEPT: usize = 512;

/// The first look for notifies, before the first frame.
pub(crate) fn start(world: &mut World) {
    with_state(world, |state, world| {
        state.look_at_config(world);
        let paths = state.config.always_loaded.clone();
        let mut libraries = world.resource_mut::<CueLibraries>();
        for path in paths {
            libraries.add_path(path);
        }
        state.look_for_notifies(world, true);
        state.publish(world);
    });
}

/// A frame's work.
pub(crate) fn advance(world: &mut World) {
    let start = Instant::now();
    with_state(world, |state, world| {
        state.look_at_config(world);
        state.back.now = world.resource::<StreamingTime>().now();
        state.back.game_now = world.get_resource::<Time>().map_or(state.back.now, Time::elapsed);
        state.look_for_notifies(world, false);
        state.take_loads(world);
        state.take_instances(world);
        state.find_listeners(world);
        state.replay(world, start);
        state.flush(world);
        state.back.tick_actors(world);
        state.take_failures();
        let stage = WorldStage::new(world, &mut state.back);
        state.engine.sweep(&stage, &state.config, stage.back.now, SWEPT);
        state.let_idle_go(world);
        state.publish(world);
    });
    world.resource::<StreamingClock>().add("cues", start.elapsed());
}

impl State {
    fn look_for_notifies(&mut self, world: &mut World, is_start: bool) {
        world.resource_scope::<CueLibraries, ()>(|world, mut libraries| {
            use bevy_ecs::change_detection::DetectChangesMut;
            let libraries = libraries.bypass_change_detection();
            let registries = world.resource::<ObjectRegistries>();
            libraries.scan(registries, &self.config, is_start);
            if mem::take(&mut libraries.is_changed) {
                self.follow(world, libraries);
            }
        });
    }

    /// What the libraries know becomes what cues find.
    fn follow(&mut self, world: &mut World, libraries: &CueLibraries) {
        for record in &mut self.back.records {
            record.is_known = false;
        }
        for cue in libraries.known() {
            let id = self.learn(cue);
            self.set_always(world, id, cue.is_always_loaded);
        }
        for at in 0..self.back.records.len() {
            if !self.back.records[at].is_known {
                let id = NotifyId(at as u32);
                self.engine.cast.remove(id);
                self.let_go(world, id);
            }
        }
    }

    /// The notify of a library's entry; it is made if there is none.
    pub(crate) fn learn(&mut self, cue: &LibraryCue) -> NotifyId {
        let next = NotifyId(self.back.records.len() as u32);
        let id = *self.back.by_path.entry(cue.path.clone()).or_insert(next);
        if id == next {
            self.back.records.push(Record {
                soft: cue.path.clone().into(),
                tag: cue.tag,
                handle: None,
                id: Default::default(),
                load: None,
                is_actor: false,
                used: self.back.now,
                bytes: 0,
                is_always_loaded: false,
                is_known: false,
            });
        }
        let record = &mut self.back.records[id.index()];
        (record.tag, record.bytes, record.is_known) = (cue.tag, cue.bytes, true);
        let known = self.engine.cast.notifies.get(id.index());
        let is_same = known.is_some_and(|known| {
            (known.tag, known.overrides, known.cull_distance) == (cue.tag, cue.overrides, cue.cull_distance)
        });
        if !is_same || !self.engine.cast.routes.has(cue.tag) {
            let (tag, overrides, cull_distance) = (cue.tag, cue.overrides, cue.cull_distance);
            // One that has failed may be mended.
            let state = match self.engine.cast.state(id) {
                NotifyState::Failed => NotifyState::Unloaded,
                state => state,
            };
            self.engine.cast.insert(
                id,
                Known {
                    tag,
                    overrides,
                    cull_distance,
                    state,
                },
            );
        }
        id
    }

    /// A notify comes into the runtime library, or leaves it.
    fn set_always(&mut self, world: &mut World, id: NotifyId, is_always: bool) {
        let was = mem::replace(&mut self.back.records[id.index()].is_always_loaded, is_always);
        if was && !is_always {
            self.let_go(world, id);
        }
        if !is_always || self.engine.cast.state(id) != NotifyState::Unloaded {
            return;
        }
        let soft = self.back.records[id.index()].soft.clone();
        match self.config.load() {
            Load::WhenNeeded => {}
            Load::InBackground => {
                self.back.counts.loads += 1;
                self.back.records[id.index()].load = Some(loads::begin(world, &soft, loads::AHEAD));
                self.loading.push(id);
                self.engine.cast.set_state(id, NotifyState::Loading);
            }
            Load::Now => {
                self.back.counts.loads += 1;
                self.back.counts.blocking += 1;
                match loads::now(world, &soft) {
                    Ok(there) => {
                        let state = self.back.loaded(id, there);
                        self.engine.cast.set_state(id, state);
                    }
                    Err(message) => self.fail(id, &message),
                }
            }
        }
    }

    /// Nobody needs a notify any more. Cues that wait for it load it again.
    pub(super) fn let_go(&mut self, world: &mut World, id: NotifyId) {
        let record = &mut self.back.records[id.index()];
        record.handle = None;
        record.load = None;
        self.loading.retain(|loading| *loading != id);
        self.back.actors.close(world, id);
        self.engine.cast.set_state(id, NotifyState::Unloaded);
    }

    fn take_loads(&mut self, world: &World) {
        self.loading.append(&mut self.back.begun);
        let mut loading = mem::take(&mut self.loading);
        loading.retain(|id| {
            let record = &self.back.records[id.index()];
            let Some(load) = &record.load else {
                return false;
            };
            match loads::result(world, load, &record.soft) {
                None => return true,
                Some(Ok(there)) => {
                    let state = self.back.loaded(*id, there);
                    self.back.records[id.index()].load = None;
                    self.engine.cast.set_state(*id, state);
                }
                Some(Err(message)) => self.fail(*id, &message),
            }
            false
        });
        self.loading = loading;
    }

    /// One error for all cues that wait for it.
    fn fail(&mut self, id: NotifyId, message: &str) {
        let waiting = self.engine.waiting_for(id);
        let record = &self.back.records[id.index()];
        self.back
            .hints
            .late_load_failed(record.tag, record.soft.path(), waiting, message);
        let state = self.back.failed(id);
        self.engine.cast.set_state(id, state);
    }

    fn take_failures(&mut self) {
        for (id, message) in mem::take(&mut self.back.failures) {
            if self.engine.cast.state(id) != NotifyState::Failed {
                self.fail(id, &message);
            }
        }
    }

    fn take_instances(&mut self, world: &mut World) {
        let Some(messages) = world.get_resource::<Messages<InstanceEvent>>() else {
            return;
        };
        let actors = &self.back.actors;
        let ours = self
            .instances
            .read(messages)
            .filter(|event| actors.has_asked_for(event.id()));
        let ours: Vec<InstanceEvent> = ours.cloned().collect();
        for event in ours {
            if let Some(failure) = self.back.actors.take(world, &event) {
                self.back.failures.push(failure);
            }
        }
        self.take_failures();
    }

    fn find_listeners(&mut self, world: &mut World) {
        let query = self.listeners.get_or_insert_with(|| world.query_filtered());
        self.back.listeners.clear();
        let places = query.iter(world).map(|place| place.translation());
        self.back.listeners.extend(places);
    }

    /// Plays what has waited, within the part of the frame's budget that is left for it.
    fn replay(&mut self, world: &mut World, start: Instant) {
        if self.engine.pending.len() == 0 {
            return;
        }
        let settings = world.resource::<StreamingSettings>();
        let spent = world.resource::<StreamingClock>().spent();
        let most = settings.budget_part(self.config.replay_share);
        let room = most.min(settings.budget.saturating_sub(spent));
        self.back.look_at_components(world);
        let now = self.back.now;
        let mut stage = WorldStage::new(world, &mut self.back);
        let mut pace = Pace::new(room, start.elapsed());
        let has_time = || pace.has_time(|| start.elapsed());
        self.engine.replay(&mut stage, &self.config, now, has_time);
    }
}
