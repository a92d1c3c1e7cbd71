//! Gameplay cues, abilities and effects of bevy_seamless: content that is referred to softly, loads in the background, and whose events are
//! played when it arrives, in order.
//!
//! * [`GameplayTag`] names what happens: `Cue.Hit.Fire` is a kind of `Cue.Hit`.
//! * [`Cues`] fires cues; [`CueContext`] is what is known of one.
//! * [`CueNotify`] is what plays the cues of a tag: an asset, loaded when it is needed.
//! * [`CueExecuted`], [`CueOnActive`], [`CueWhileActive`] and [`CueRemoved`] tell observers what to show.
//! * [`CueConfig`] says when notifies are loaded, [`CueLibraries`] which there are.
//! * [`CueStats`] counts what became of cues, [`CueReport`] tells why one is not played, late, or costs a hitch.
//! * [`Attributes`], [`Effect`]s and [`Ability`]s: what an entity is, what is done to it, and what it can do. [`AbilityPlugin`] brings them.

mod tag;

pub use tag::{GameplayTag, MAX_TAG_BYTES, MAX_TAG_DEPTH, MAX_TAG_SET, MAX_TAGS, TagError, TagSet};

// Cues.
mod active;
mod actor;
#[cfg(any(test, feature = "bench"))]
#[doc(hidden)]
pub mod bench_support;
mod config;
mod counters;
mod cue;
mod debug;
mod engine;
mod library;
mod loads;
mod manager;
mod notify;
mod pending;
mod plugin;
mod pool;
mod preload;
#[cfg(feature = "remote")]
pub mod remote;
mod route;
mod stats;

pub use config::CueConfig;
pub use cue::{CueAct, CueContext, CueEvent};
pub use debug::{CueReport, CueState, Hitch, NotifyReport, PoolReport, WaitingReport, log_cue_report};
pub use library::{CueLibraries, LibraryCue};
pub use manager::{
    CueExecuted, CueOnActive, CueRecycled, CueRemoved, CueReused, CueWhileActive, Cues, FireCues, PlayedCue,
};
pub use notify::{
    CUE_EXTENSION, CueError, CueKind, CueLoadError, CueNotify, CueNotifyCodec, CueNotifyLoader, MAX_CUE_BYTES,
    MAX_DECLARED_TAGS, MAX_PARENTS, MAX_TAGS_BYTES, TAGS_EXTENSION, TagsError, TagsFile, TagsLoader,
};
pub use plugin::{CueListener, CuePlugin, CueSystems, PlayCues, StartCues, add_cue_assets};
pub use pool::{PoolStats, WhenFull};
pub use route::{
    filter::{CueFilter, SuppressCues, SuppressWhile},
    translate::{CueTranslation, TranslateCues},
};
pub use stats::CueStats;

// Attributes, effects and abilities.
mod ability;
mod attribute;
mod effect;
mod ron_file;

pub use ability::{
    ABILITY_EXTENSION, ABILITY_SET_EXTENSION, Abilities, Ability, AbilityActivated, AbilityAssetsPlugin,
    AbilityCommands, AbilityCommitted, AbilityCue, AbilityDuration, AbilityEnd, AbilityEnded, AbilityGranted,
    AbilityId, AbilityInfo, AbilityPlugin, AbilityRefused, AbilityRejected, AbilityRevoked, AbilitySet,
    AbilitySettings, AbilitySpec, AbilityStats, AbilitySystems, ActivationPolicy, ActorCommands, Aim, CommitPolicy,
    Cooldown, CooldownOver, Cost, CueOrigin, EffectCommands, Gameplay, GrantError, GrantId, GrantSets, GrantedAbility,
    IfLoaded, MAX_COSTS, MAX_NAMED_EFFECTS, MAX_SET, NamedEffect, RunningCooldown, SetEntry, SetGranted, SetGrants,
    WhileActive, WorldGameplay,
};
pub use attribute::{
    Aggregate, Attribute, AttributeChanged, AttributeDef, AttributeError, Attributes, Bound, MAX_ATTRIBUTES, Operation,
    operate,
};
pub use effect::{
    ActiveEffect, AppliedModifier, BaseChange, EFFECT_EXTENSION, Effect, EffectApplied, EffectDuration, EffectExecuted,
    EffectId, EffectInfo, EffectInhibited, EffectOutcome, EffectPeriodic, EffectRefused, EffectRejected, EffectRemoved,
    EffectSpec, EffectStacked, Effects, Expiry, FiredCues, MAX_CUES, MAX_GIVEN, MAX_LEVELS, MAX_MODIFIERS, MAX_STACKS,
    Magnitude, MagnitudeError, Modifier, OwnedTags, Period, Removal, Restart, StackBy, Stacking, TagRequirements,
    Whose,
};
pub use ron_file::{DefinitionError, MAX_DEFINITION_BYTES};
