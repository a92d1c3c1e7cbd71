//! How game code fires cues. See [`Cues`].

use core::panic::Location;

use bevy_ecs::{
    resource::Resource,
    system::{Deferred, SystemBuffer, SystemMeta, SystemParam},
    world::{DeferredWorld, World},
};

use crate::{
    cue::{CueAct, CueContext},
    manager::flush,
    tag::GameplayTag,
};

/// A cue that game code has fired.
pub(crate) struct Fired {
    pub act: CueAct,
    pub tag: GameplayTag,
    pub context: CueContext,
    pub caller: &'static Location<'static>,
}

/// Fires cues. They are played where the commands of the system, or observer, are applied, in the order in which they were fired; systems that fire
/// cues run side by side.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// use seamless_cue::{CueContext, Cues, GameplayTag};
///
/// # #[derive(Component)] struct Burning;
/// fn burn(mut cues: Cues, burning: Query<Entity, Added<Burning>>, tags: Local<Option<GameplayTag>>) {
///     let Some(fire) = *tags else { return };
///     for entity in &burning {
///         cues.add(fire, CueContext::new(entity));
///     }
/// }
/// ```
#[derive(SystemParam)]
pub struct Cues<'s> {
    buffer: Deferred<'s, CueBuffer>,
}

/// What a system has fired and not yet handed over.
#[derive(Default)]
pub(crate) struct CueBuffer {
    fired: Vec<Fired>,
    depth: u32,
    /// Where the outermost batch begins.
    batch: usize,
    merged: u64,
}

/// What was fired and not yet played.
#[derive(Resource, Default)]
pub(crate) struct CueInbox {
    pub fired: Vec<Fired>,
    pub merged: u64,
}

impl SystemBuffer for CueBuffer {
    fn queue(&mut self, _: &SystemMeta, mut world: DeferredWorld) {
        if self.fired.is_empty() {
            return;
        }
        let Some(mut inbox) = world.get_resource_mut::<CueInbox>() else {
            // Without the plugin, as on a server that has no use for cues.
            self.fired.clear();
            return;
        };
        self.hand_over(&mut inbox);
        world.commands().queue(flush);
    }

    fn apply(&mut self, _: &SystemMeta, world: &mut World) {
        if self.fired.is_empty() {
            return;
        }
        let Some(mut inbox) = world.get_resource_mut::<CueInbox>() else {
            self.fired.clear();
            return;
        };
        self.hand_over(&mut inbox);
        flush(world);
    }
}

impl Cues<'_> {
    /// Something happens that is over at once: `Executed`.
    #[track_caller]
    #[inline]
    pub fn execute(&mut self, tag: GameplayTag, context: CueContext) {
        self.fire(CueAct::Execute, tag, context);
    }

    /// Something begins that lasts until it is [removed](Self::remove): `OnActive`, then `WhileActive`. Adds are counted: as many removals end it.
    #[track_caller]
    #[inline]
    pub fn add(&mut self, tag: GameplayTag, context: CueContext) {
        self.fire(CueAct::Add, tag, context);
    }

    /// Something lasts that has begun before this app has heard of it: `WhileActive` only. Else as [`add`](Self::add).
    #[track_caller]
    #[inline]
    pub fn join(&mut self, tag: GameplayTag, context: CueContext) {
        self.fire(CueAct::Join, tag, context);
    }

    /// Something ends that lasted: `Removed`. Target, instigator and source have to be those of the add.
    #[track_caller]
    #[inline]
    pub fn remove(&mut self, tag: GameplayTag, context: CueContext) {
        self.fire(CueAct::Remove, tag, context);
    }

    /// Any of these.
    #[track_caller]
    #[inline]
    pub fn fire(&mut self, act: CueAct, tag: GameplayTag, context: CueContext) {
        let caller = Location::caller();
        let fired = Fired {
            act,
            tag,
            context,
            caller,
        };
        match self.buffer.depth {
            0 => self.buffer.fired.push(fired),
            _ => self.buffer.merge(fired),
        }
    }

    /// Fires cues as a batch: executed ones of the same tag, target, instigator and source are one, whose magnitude is that of all together. Batches
    /// within batches are a part of the outermost.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use seamless_cue::{CueContext, Cues, GameplayTag};
    /// fn shotgun(mut cues: Cues, hit: GameplayTag, pellets: &[Entity]) {
    ///     cues.batch(|cues| {
    ///         for target in pellets {
    ///             cues.execute(hit, CueContext::new(*target));
    ///         }
    ///     });
    /// }
    /// ```
    pub fn batch<T>(&mut self, fire: impl FnOnce(&mut Self) -> T) -> T {
        if self.buffer.depth == 0 {
            self.buffer.batch = self.buffer.fired.len();
        }
        self.buffer.depth += 1;
        let result = fire(self);
        self.buffer.depth -= 1;
        result
    }
}

/// How far back a batch is looked through for an equal cue.
const LOOK_BACK: usize = 64;

impl CueBuffer {
    /// Mostly the inbox is empty: then nothing is copied.
    fn hand_over(&mut self, inbox: &mut CueInbox) {
        if inbox.fired.is_empty() {
            core::mem::swap(&mut inbox.fired, &mut self.fired);
        } else {
            inbox.fired.append(&mut self.fired);
        }
        inbox.merged += core::mem::take(&mut self.merged);
    }

    fn merge(&mut self, fired: Fired) {
        let start = self.batch.max(self.fired.len().saturating_sub(LOOK_BACK));
        let key = fired.context.key(fired.tag);
        // What comes after an add or removal of the same key stays behind it.
        let of_key = |other: &&mut Fired| other.context.key(other.tag) == key;
        let last = self.fired[start..].iter_mut().rev().find(of_key);
        match last.filter(|last| last.act == CueAct::Execute && fired.act == CueAct::Execute) {
            Some(equal) => {
                equal.context.magnitude += fired.context.magnitude;
                self.merged += 1;
            }
            None => self.fired.push(fired),
        }
    }
}

/// Fires cues right away, for whoever has the world: observers have run when it returns, unless the cue has to wait for its notify, or is fired by what
/// plays one.
pub trait FireCues {
    /// As [`Cues::fire`].
    #[track_caller]
    fn fire_cue(&mut self, act: CueAct, tag: GameplayTag, context: CueContext);
}

impl FireCues for World {
    #[track_caller]
    fn fire_cue(&mut self, act: CueAct, tag: GameplayTag, context: CueContext) {
        let caller = Location::caller();
        let Some(mut inbox) = self.get_resource_mut::<CueInbox>() else {
            return;
        };
        inbox.fired.push(Fired {
            act,
            tag,
            context,
            caller,
        });
        flush(self);
    }
}
