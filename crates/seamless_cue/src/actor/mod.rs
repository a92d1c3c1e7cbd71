//! Actors: instances of prefabs that play cues. Who gets which is decided by [`Pool`]; this does it.

use core::time::Duration;

use bevy_camera::visibility::Visibility;
use bevy_ecs::{entity::Entity, world::World};
use bevy_platform::collections::HashMap;
use bevy_transform::components::{GlobalTransform, Transform};
use seamless_asset::{InstanceEvent, InstanceId, Streamer};

use crate::{
    cue::{CueContext, CueEvent},
    loads,
    manager::{Backstage, CueRecycled, CueReused},
    notify::{CueKind, CueNotify},
    pool::{Give, PlaysFor, Pool, PoolStats},
    route::NotifyId,
    tag::GameplayTag,
};

/// An instance of a prefab that is in the world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Instance {
    pub id: InstanceId,
    pub root: Entity,
}

/// The instances of one notify, and what it says of them.
#[derive(Debug)]
pub(crate) struct ActorPool {
    pub pool: Pool<Instance>,
    pub notify: CueNotify,
    /// Its notify was let go of: what plays does so to its end, and goes.
    is_closing: bool,
}

/// All actors.
#[derive(Default)]
pub(crate) struct Actors {
    pools: HashMap<NotifyId, ActorPool>,
    /// Instances that were asked for and are not gone.
    asked: HashMap<InstanceId, NotifyId>,
    /// How many were asked for.
    pub made: u64,
}

impl Actors {
    /// A notify is loaded.
    pub fn open(&mut self, id: NotifyId, notify: CueNotify) {
        let pool = self.pools.entry(id).or_insert_with(|| ActorPool {
            pool: Pool::new(notify.cap, notify.preallocated, notify.when_full),
            notify: notify.clone(),
            is_closing: false,
        });
        pool.pool.set_limits(notify.cap, notify.preallocated, notify.when_full);
        (pool.notify, pool.is_closing) = (notify, false);
    }

    /// A notify cannot be played: none of its instances is made ahead any more.
    pub fn give_up(&mut self, id: NotifyId) {
        if let Some(pool) = self.pools.get_mut(&id) {
            pool.pool.preallocated = 0;
        }
    }

    /// A notify is let go of.
    pub fn close(&mut self, world: &mut World, id: NotifyId) {
        let Some(pool) = self.pools.get_mut(&id) else {
            return;
        };
        pool.is_closing = true;
        for free in pool.pool.free.drain(..) {
            world.resource_mut::<Streamer>().unload(free.id);
        }
    }

    /// Whether a cue can be played at once. If not, an instance is on its way.
    pub fn has(&mut self, world: &mut World, id: NotifyId, context: &CueContext, is_new: bool) -> Result<bool, String> {
        let Some(pool) = self.pools.get_mut(&id) else {
            return Ok(false);
        };
        let plays_for = plays_for(&pool.notify, context);
        if pool.pool.look(plays_for) != Give::NotYet {
            return Ok(true);
        }
        if pool.pool.should_make(is_new) {
            self.make(world, id, true)?;
        }
        Ok(false)
    }

    fn make(&mut self, world: &mut World, id: NotifyId, is_waited_for: bool) -> Result<(), String> {
        let Some(pool) = self.pools.get_mut(&id) else {
            return Ok(());
        };
        let CueKind::Actor { prefab } = &pool.notify.kind else {
            return Ok(());
        };
        let name = format!("cue {} {}", pool.notify.tag, self.made + 1);
        let instance = loads::instance(world, prefab, name, is_waited_for)?;
        self.made += 1;
        pool.pool.making += 1;
        self.asked.insert(instance, id);
        Ok(())
    }

    /// Plays an event with an instance, if there is one for it: gives its root.
    pub fn play(
        &mut self,
        world: &mut World,
        id: NotifyId,
        event: CueEvent,
        tag: GameplayTag,
        context: &CueContext,
        now: Duration,
    ) -> Option<Entity> {
        let ActorPool { pool, notify, .. } = self.pools.get_mut(&id)?;
        let key = context.key(tag);
        // A delay of a file is a number that is not negative, and may be larger than any time.
        let delay = Duration::try_from_secs_f32(notify.auto_destroy_delay).unwrap_or(Duration::MAX);
        let until = now.saturating_add(delay);
        if event == CueEvent::Removed {
            let playing = pool.playing.iter_mut().find(|playing| playing.users.contains(&key))?;
            playing.users.retain(|user| *user != key);
            playing.until = playing.users.is_empty().then_some(until);
            return Some(playing.instance.root);
        }
        let plays_for = plays_for(notify, context);
        let (instance, is_new) = match pool.take(plays_for) {
            Give::Same(instance) => (instance, false),
            Give::Free(instance) | Give::Oldest(instance) => (instance, true),
            Give::Full | Give::NotYet => return None,
        };
        let playing = pool.playing_mut(instance)?;
        match event {
            CueEvent::WhileActive if !playing.users.contains(&key) => playing.users.push(key),
            CueEvent::Executed if is_new => playing.until = Some(until),
            _ => {}
        }
        let root = instance.root;
        if is_new {
            playing.follows = notify.attached && context.location.is_none();
            let of = notify.tag;
            place(world, root, context);
            let target = context.target;
            world.trigger(CueReused {
                entity: root,
                target,
                of,
            });
        }
        Some(root)
    }

    /// Whether an instance of a notify plays, or is on its way for a cue.
    pub fn is_busy(&self, id: NotifyId) -> bool {
        let pool = self.pools.get(&id).map(|pool| &pool.pool);
        pool.is_some_and(|pool| pool.making > 0 || !pool.playing.is_empty())
    }

    /// Whether an instance is one of these.
    pub fn has_asked_for(&self, id: InstanceId) -> bool {
        self.asked.contains_key(&id)
    }

    /// What became of an instance. Gives the notify that cannot be played any more, and why.
    pub fn take(&mut self, world: &mut World, event: &InstanceEvent) -> Option<(NotifyId, String)> {
        let instance = event.id();
        let id = *self.asked.get(&instance)?;
        if matches!(
            event,
            InstanceEvent::Failed { .. } | InstanceEvent::Cancelled { .. } | InstanceEvent::Left { .. }
        ) {
            self.asked.remove(&instance);
        }
        // Its pool may have gone before it.
        let pool = self.pools.get_mut(&id)?;
        match event {
            InstanceEvent::Revealed { root, .. } => {
                pool.pool.making = pool.pool.making.saturating_sub(1);
                if pool.is_closing {
                    world.resource_mut::<Streamer>().unload(instance);
                    return None;
                }
                hide(world, *root);
                pool.pool.give_back(Instance {
                    id: instance,
                    root: *root,
                });
            }
            InstanceEvent::Failed { error, .. } => {
                pool.pool.making = pool.pool.making.saturating_sub(1);
                world.resource_mut::<Streamer>().unload(instance);
                return Some((id, format!("its prefab: {error}")));
            }
            InstanceEvent::Cancelled { .. } => {
                pool.pool.making = pool.pool.making.saturating_sub(1);
            }
            InstanceEvent::Left { .. } => pool.pool.lose(|lost| lost.id == instance),
            InstanceEvent::Loaded { .. } | InstanceEvent::Hidden { .. } | InstanceEvent::Shown { .. } => {}
        }
        None
    }

    /// How often a pool was full.
    pub fn full(&self) -> u64 {
        self.pools.values().map(|pool| pool.pool.stats.full).sum()
    }

    /// How all pools are used.
    pub fn stats(&self) -> impl Iterator<Item = (&CueNotify, PoolStats)> {
        self.pools.values().map(|pool| (&pool.notify, pool.pool.stats()))
    }

    /// One instance a frame is made ahead.
    fn preallocate(&mut self, world: &mut World) -> Option<(NotifyId, String)> {
        let wants = |(_, pool): &(&NotifyId, &ActorPool)| !pool.is_closing && pool.pool.wants_more();
        let id = *self.pools.iter().filter(wants).map(|(id, _)| id).min()?;
        self.make(world, id, false).err().map(|message| (id, message))
    }

    /// Instances that have played to their end go back, or go.
    fn recycle(&mut self, world: &mut World, now: Duration) {
        for pool in self.pools.values_mut() {
            let entities = world.entities();
            for instance in pool.pool.ended(now, |target| entities.contains_spawned(target)) {
                let of = pool.notify.tag;
                hide(world, instance.root);
                let entity = instance.root;
                world.trigger(CueRecycled { entity, of });
                match pool.is_closing {
                    true => world.resource_mut::<Streamer>().unload(instance.id),
                    false => pool.pool.give_back(instance),
                }
            }
        }
        let is_empty = |pool: &ActorPool| pool.is_closing && pool.pool.total() == 0;
        self.pools.retain(|_, pool| !is_empty(pool));
    }

    /// Instances go where their targets are.
    fn follow(&self, world: &mut World) {
        for pool in self.pools.values() {
            for playing in pool.pool.playing.iter().filter(|playing| playing.follows) {
                let Some(target) = world.get::<GlobalTransform>(playing.plays_for.target) else {
                    continue;
                };
                let (_, rotation, translation) = target.to_scale_rotation_translation();
                if let Some(mut transform) = world.get_mut::<Transform>(playing.instance.root)
                    && (transform.translation, transform.rotation) != (translation, rotation)
                {
                    (transform.translation, transform.rotation) = (translation, rotation);
                }
            }
        }
    }
}

impl Backstage {
    /// A frame of all actors.
    pub fn tick_actors(&mut self, world: &mut World) {
        let now = self.game_now;
        self.actors.recycle(world, now);
        self.actors.follow(world);
        let failure = self.actors.preallocate(world);
        self.failures.extend(failure);
        world.flush();
    }
}

fn plays_for(notify: &CueNotify, context: &CueContext) -> PlaysFor {
    PlaysFor {
        target: context.target,
        instigator: context.instigator.filter(|_| notify.unique_per_instigator),
        source: context.source.filter(|_| notify.unique_per_source),
    }
}

/// Visibility is all that an instance loses while it is free: to hide it from queries as well takes a turn of the pipeline, there and back, and a cue
/// that found an instance would have to wait all the same.
fn hide(world: &mut World, root: Entity) {
    if let Ok(mut root) = world.get_entity_mut(root) {
        root.insert(Visibility::Hidden);
    }
}

/// Shows an instance where a cue is.
fn place(world: &mut World, root: Entity, context: &CueContext) {
    let target = world.get::<GlobalTransform>(context.target);
    let mut at = target.map(GlobalTransform::compute_transform).unwrap_or_default();
    at.scale = bevy_math::Vec3::ONE;
    at.translation = context.location.unwrap_or(at.translation);
    if let Some(normal) = context.normal.and_then(bevy_math::Vec3::try_normalize) {
        at.rotation = bevy_math::Quat::from_rotation_arc(bevy_math::Vec3::Y, normal);
    }
    if let Ok(mut root) = world.get_entity_mut(root) {
        root.insert((at, Visibility::Inherited));
    }
}
