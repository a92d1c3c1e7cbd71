//! What observers hear. See [`PlayedCue`].

use core::ops::Deref;

use bevy_asset::AssetId;
use bevy_ecs::{entity::Entity, event::EntityEvent};

use crate::{cue::CueContext, notify::CueNotify, tag::GameplayTag};

/// A cue that is played by a notify: what [`CueExecuted`] and its kin tell.
#[derive(Clone, Debug)]
pub struct PlayedCue {
    /// The cue, as it was fired.
    pub tag: GameplayTag,
    /// The tag of the notify that plays it: the cue's own, one that it is a kind of, or what stands for it with this target.
    pub of: GameplayTag,
    /// The notify. It is loaded.
    pub notify: AssetId<CueNotify>,
    /// The root of the instance that plays, if the notify is an actor. It is shown, and where the cue is.
    pub instance: Option<Entity>,
    /// What is known of what happens.
    pub context: CueContext,
}

/// Makes an event of the target from its description.
macro_rules! cue_event {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        ///
        /// Observed on the target, or by an observer of all: `On<…>`. Its target is the cue's. One is triggered for each notify that plays.
        #[derive(EntityEvent, Clone, Debug)]
        pub struct $name {
            /// Whom it happens to.
            pub entity: Entity,
            /// The cue.
            pub cue: PlayedCue,
        }

        impl Deref for $name {
            type Target = PlayedCue;

            fn deref(&self) -> &PlayedCue {
                &self.cue
            }
        }
    };
}

cue_event! {
    /// A cue that is over as soon as it happens: play it.
    CueExecuted
}
cue_event! {
    /// A cue begins: play how it begins. [`CueWhileActive`] follows.
    CueOnActive
}
cue_event! {
    /// A cue lasts: begin what lasts. Those who join late hear of it without a [`CueOnActive`].
    CueWhileActive
}
cue_event! {
    /// A cue has ended: stop what lasts.
    CueRemoved
}

/// An actor's instance is taken out of its pool: the *reuse* hook. It is placed and shown; whatever it did for its last cue has to be reset. Observed
/// on the instance's root, or by an observer of all.
#[derive(EntityEvent, Clone, Debug)]
pub struct CueReused {
    /// The root of the instance.
    pub entity: Entity,
    /// Whom it plays for from now on.
    pub target: Entity,
    /// Its notify's tag.
    pub of: GameplayTag,
}

/// An actor's instance goes back into its pool: the *recycle* hook. It is hidden. Observed on the instance's root, or by an observer of all.
#[derive(EntityEvent, Clone, Debug)]
pub struct CueRecycled {
    /// The root of the instance.
    pub entity: Entity,
    /// Its notify's tag.
    pub of: GameplayTag,
}
