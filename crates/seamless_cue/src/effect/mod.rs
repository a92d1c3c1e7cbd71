//! Effects: what is done to an entity, at once or for a time. See [`Effect`].

mod active;
mod bearer;
mod definition;
mod events;
mod magnitude;
mod output;
mod owned_tags;
pub(crate) mod seconds;
mod settle;
mod spec;
#[cfg(test)]
mod tests;
mod timer;
mod turns;
mod view;

pub(crate) use active::Given;
pub use active::{ActiveEffect, EffectId, Effects};
pub use bearer::EffectOutcome;
pub(crate) use bearer::{Bearer, EffectLimits};
pub use definition::{
    Effect, EffectDuration, Expiry, FiredCues, MAX_CUES, MAX_MODIFIERS, MAX_STACKS, Period, Restart, StackBy, Stacking,
    TagRequirements,
};
pub(crate) use events::trigger;
pub use events::{
    EffectApplied, EffectExecuted, EffectInhibited, EffectPeriodic, EffectRefused, EffectRejected, EffectRemoved,
    EffectStacked,
};
pub use magnitude::{AppliedModifier, MAX_LEVELS, Magnitude, MagnitudeError, Modifier, Whose};
pub use output::{BaseChange, EffectInfo, Removal};
pub(crate) use output::{Output, Outputs};
pub use owned_tags::OwnedTags;
pub use spec::{EffectSpec, MAX_GIVEN};
pub(crate) use timer::Timer;
pub(crate) use turns::Step;
pub(crate) use view::{View, modifiers_of};

use bevy_asset::LoadContext;

use crate::ron_file::{DefinitionError, FromRon};

/// The ending of sources of [`Effect`]s, without the first dot.
pub const EFFECT_EXTENSION: &str = "effect.ron";

impl FromRon for Effect {
    type Source = Self;
    const EXTENSION: &'static str = EFFECT_EXTENSION;

    fn from_source(source: Self, _: &mut LoadContext) -> Result<Self, DefinitionError> {
        Ok(source)
    }
}
