//! What happens to levels and worlds, told twice: as buffered [`Message`]s for systems, and as [`EntityEvent`]s for
//! observers, whose target is the [`SeamlessWorld`](crate::SeamlessWorld) entity.
//!
//! Both are sent in the frame in which it happens: messages in [`LevelSystems::Report`](crate::LevelSystems), events
//! when that set's commands are applied, right after it.
//!
//! ```
//! # use bevy_ecs::prelude::*;
//! # use seamless_level::{LevelFailed, LevelRevealed};
//! fn greet(mut revealed: MessageReader<LevelRevealed>) {
//!     for LevelRevealed { level, entities, .. } in revealed.read() {
//!         // `level` is in the world since this frame, with all its entities.
//! #       let _ = (level, entities);
//!     }
//! }
//!
//! fn watch(world: Entity, mut commands: Commands) {
//!     commands.entity(world).observe(|failed: On<LevelFailed>| {
//!         let _says_what_mends_it = failed.error.to_string();
//!     });
//! }
//! ```

use core::time::Duration;
use std::sync::Arc;

use bevy_ecs::{
    entity::Entity,
    event::EntityEvent,
    message::{Message, MessageWriter},
    system::{Commands, SystemParam},
};
use bevy_reflect::Reflect;
use seamless_asset::LoadError;

use crate::world::WorldError;

/// A level is in the world, whole, since this frame.
#[derive(Message, EntityEvent, Reflect, Clone, Debug)]
#[reflect(Clone, Debug)]
pub struct LevelRevealed {
    /// The seamless world it belongs to.
    #[event_target]
    pub world: Entity,
    /// The level's name.
    pub level: String,
    /// The root of its entities.
    pub root: Entity,
    /// How many entities it has, the root not counted.
    pub entities: u32,
}

/// All of a level is loaded, and it is not to be shown yet: from now on that takes next to no time.
#[derive(Message, EntityEvent, Reflect, Clone, Debug)]
#[reflect(Clone, Debug)]
pub struct LevelLoaded {
    /// The seamless world it belongs to.
    #[event_target]
    pub world: Entity,
    /// The level's name.
    pub level: String,
    /// How many entities it will have, the root not counted.
    pub entities: u32,
}

/// Nobody sees a level any more since this frame. Its entities keep their ids and what was done to them.
#[derive(Message, EntityEvent, Reflect, Clone, Debug)]
#[reflect(Clone, Debug)]
pub struct LevelHidden {
    /// The seamless world it belongs to.
    #[event_target]
    pub world: Entity,
    /// The level's name.
    pub level: String,
    /// The root of its entities, which queries skip now.
    pub root: Entity,
}

/// A level that was hidden can be seen again since this frame; nothing of it counts as added.
#[derive(Message, EntityEvent, Reflect, Clone, Debug)]
#[reflect(Clone, Debug)]
pub struct LevelShown {
    /// The seamless world it belongs to.
    #[event_target]
    pub world: Entity,
    /// The level's name.
    pub level: String,
    /// The root of its entities.
    pub root: Entity,
}

/// A level has left the world, whole, in this frame. There is one for each [`LevelRevealed`], and none for a level that was gone before anybody was
/// told of it.
///
/// Also sent when the seamless world itself was despawned; its entity is gone then.
///
/// Levels leave within the frame's budget. So where another level of the same name comes meanwhile, this may be sent after the [`LevelRevealed`] of that
/// one: where a world is made anew on its entity, because its manifest was modified or it names another one, and where an instance that game code
/// removed is added again. Who keeps levels by their names looks at the [`root`](Self::root), which tells the two apart.
#[derive(Message, EntityEvent, Reflect, Clone, Debug)]
#[reflect(Clone, Debug)]
pub struct LevelLeft {
    /// The seamless world it belonged to.
    #[event_target]
    pub world: Entity,
    /// The level's name.
    pub level: String,
    /// The root that its entities had, the one of its [`LevelRevealed`]. It is gone by now.
    pub root: Entity,
}

/// A level could not be loaded; nothing of it is in the world.
///
/// What may pass is [tried again](crate::LevelSettings::retry) a few times; [`Level::retry_in`](crate::Level::retry_in) tells when. It is sent at
/// the first failure of such a run, and once more, without [`retry_in`](Self::retry_in), if the level is given up after it. Then, and at once if
/// it cannot pass, the level stays failed while it is wanted; it is tried again when it is wanted anew, or by
/// [`Levels::retry`](crate::Levels::retry).
#[derive(Message, EntityEvent, Clone, Debug)]
pub struct LevelFailed {
    /// The seamless world it belongs to.
    #[event_target]
    pub world: Entity,
    /// The level's name.
    pub level: String,
    /// File, object, reason and mend.
    pub error: Arc<LoadError>,
    /// After which time it is tried again; none if it is not.
    pub retry_in: Option<Duration>,
}

/// A seamless world's manifest could not be loaded or makes no sense: the world has no levels.
///
/// A manifest that could not be read for a reason that [may pass](crate::WorldError::is_transient) is [read again](crate::LevelSettings::retry) a few
/// times before that. From then on it is tried again when the entity's [`SeamlessWorld`](crate::SeamlessWorld) names another manifest, or when
/// the manifest is reloaded.
#[derive(Message, EntityEvent, Clone, Debug)]
pub struct WorldFailed {
    /// The seamless world.
    #[event_target]
    pub world: Entity,
    /// Reason and mend.
    pub error: Arc<WorldError>,
}

/// Sends the events of levels, both ways.
#[derive(SystemParam)]
pub(crate) struct LevelEvents<'w, 's> {
    revealed: MessageWriter<'w, LevelRevealed>,
    loaded: MessageWriter<'w, LevelLoaded>,
    hidden: MessageWriter<'w, LevelHidden>,
    shown: MessageWriter<'w, LevelShown>,
    left: MessageWriter<'w, LevelLeft>,
    failed: MessageWriter<'w, LevelFailed>,
    commands: Commands<'w, 's>,
}

impl LevelEvents<'_, '_> {
    pub fn revealed(&mut self, event: LevelRevealed) {
        self.revealed.write(event.clone());
        self.commands.trigger(event);
    }

    pub fn loaded(&mut self, event: LevelLoaded) {
        self.loaded.write(event.clone());
        self.commands.trigger(event);
    }

    pub fn hidden(&mut self, event: LevelHidden) {
        self.hidden.write(event.clone());
        self.commands.trigger(event);
    }

    pub fn shown(&mut self, event: LevelShown) {
        self.shown.write(event.clone());
        self.commands.trigger(event);
    }

    pub fn left(&mut self, event: LevelLeft) {
        self.left.write(event.clone());
        self.commands.trigger(event);
    }

    pub fn failed(&mut self, event: LevelFailed) {
        self.failed.write(event.clone());
        self.commands.trigger(event);
    }
}
