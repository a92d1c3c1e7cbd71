//! What reflection knows of, for editors, scripts and remote tools.

use bevy_app::App;

use super::{
    Abilities, AbilityActivated, AbilityCommitted, AbilityCue, AbilityEnded, AbilityGranted, AbilityRefused,
    AbilityRejected, AbilityRevoked, CooldownOver,
};
use crate::{
    AttributeChanged, Attributes, EffectApplied, EffectExecuted, EffectInhibited, EffectOutcome, EffectPeriodic,
    EffectRefused, EffectRejected, EffectRemoved, EffectStacked, Effects, OwnedTags,
};

pub(super) fn components(app: &mut App) {
    app.register_type::<Attributes>()
        .register_type::<OwnedTags>()
        .register_type::<Effects>()
        .register_type::<Abilities>();
}

pub(super) fn events(app: &mut App) {
    app.register_type::<AttributeChanged>()
        .register_type::<EffectApplied>()
        .register_type::<EffectExecuted>()
        .register_type::<EffectPeriodic>()
        .register_type::<EffectStacked>()
        .register_type::<EffectInhibited>()
        .register_type::<EffectRemoved>()
        .register_type::<EffectRejected>()
        .register_type::<EffectRefused>()
        .register_type::<EffectOutcome>()
        .register_type::<AbilityGranted>()
        .register_type::<AbilityRevoked>()
        .register_type::<AbilityActivated>()
        .register_type::<AbilityCommitted>()
        .register_type::<AbilityEnded>()
        .register_type::<CooldownOver>()
        .register_type::<AbilityRejected>()
        .register_type::<AbilityRefused>()
        .register_type::<AbilityCue>();
}
