//! What plays cues. See [`CueNotify`].

pub(crate) mod codec;
mod loader;
mod source;
mod tags;
#[cfg(test)]
mod tests;

pub use codec::CueNotifyCodec;
pub use loader::{CUE_EXTENSION, CueLoadError, CueNotifyLoader, MAX_PARENTS};
pub use source::{CueError, MAX_CUE_BYTES};
pub use tags::{MAX_DECLARED_TAGS, MAX_TAGS_BYTES, TAGS_EXTENSION, TagsError, TagsFile, TagsLoader};
pub(crate) use tags::{TAGS_FILE, declared, line_at, read_limited};

use bevy_asset::Asset;
use bevy_reflect::{Reflect, std_traits::ReflectDefault};
use seamless_asset::{LevelAsset, SoftHandle};

use crate::{pool::WhenFull, tag::GameplayTag};

/// What plays the cues of a tag, and how. What is seen and heard is the game's: it observes [`CueExecuted`](crate::CueExecuted) and its kin, of the
/// target or of all, and finds there which notify plays what.
///
/// Authors write a `*.cue.ron` file:
///
/// ```text
/// // hit_fire.cue.ron
/// (
///     tag: "Cue.Hit.Fire",
///     kind: Actor(prefab: "effects/flames.scn.ron"), // below the asset root; default: Static
///     overrides: true,                               // the notify of Cue.Hit does not hear of it
///     preallocated: 4,
///     cull_distance: 60.0,
/// )
/// ```
///
/// Only the tag is needed. A file may name another one as its `parent`, which says what it does not say itself.
#[derive(Asset, Reflect, Clone, Debug, PartialEq)]
#[reflect(Clone, Debug, PartialEq)]
pub struct CueNotify {
    /// The cues that it plays: of this tag, and of kinds of it, unless a more special notify overrides it.
    pub tag: GameplayTag,
    /// Whether something is spawned for each cue.
    pub kind: CueKind,
    /// Whether the notifies of the tag's parents do not hear of its cues. Default: false.
    pub overrides: bool,
    /// Whether each instigator has an actor of its own on one target, or all share it. Default: false.
    pub unique_per_instigator: bool,
    /// The same of sources. Default: false.
    pub unique_per_source: bool,
    /// Whether an add of what is active already is played again. Default: false.
    pub allow_multiple: bool,
    /// Whether an actor goes where its target goes. Default: true. It stays where the cue's location is, where one was given.
    pub attached: bool,
    /// Seconds that an actor plays on after its cue was executed or removed. Default: 1.
    pub auto_destroy_delay: f32,
    /// Actors that are made as soon as the notify is loaded, one a frame. Default: 0.
    pub preallocated: u32,
    /// Actors that there may be at the same time. Default: 64.
    pub cap: u32,
    /// What becomes of a cue beyond that.
    pub when_full: WhenFull,
    /// How far from all [`CueListener`](crate::CueListener)s a cue is not played, nor its notify loaded. Default: it is, however far.
    pub cull_distance: Option<f32>,
}

/// Whether something is spawned for a cue.
#[derive(Reflect, Clone, Debug, Default, PartialEq, Eq)]
#[reflect(Default, Clone, Debug, PartialEq)]
pub enum CueKind {
    /// Nothing is: observers do it all.
    #[default]
    Static,
    /// A prefab is: a level, which is cooked because it is named here.
    Actor {
        /// The level: the path of its source (`effects/flames.scn.ron`, `fire.glb#Scene0`), which is cooked with the notify, or that of a package.
        prefab: SoftHandle<LevelAsset>,
    },
}

impl CueNotify {
    /// A static notify of this tag, with the defaults for the rest.
    #[must_use]
    pub fn new(tag: GameplayTag) -> Self {
        Self {
            tag,
            kind: CueKind::Static,
            overrides: false,
            unique_per_instigator: false,
            unique_per_source: false,
            allow_multiple: false,
            attached: true,
            auto_destroy_delay: 1.0,
            preallocated: 0,
            cap: 64,
            when_full: WhenFull::default(),
            cull_distance: None,
        }
    }
}
