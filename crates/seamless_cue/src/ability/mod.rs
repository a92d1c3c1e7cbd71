//! Abilities: what an entity can do, when it can, and what that costs. See [`Ability`] and [`AbilityPlugin`].

mod abilities;
pub(crate) mod actor;
mod check;
mod codec;
mod commands;
mod cues;
mod definition;
mod events;
mod gameplay;
mod grant;
mod if_loaded;
pub(crate) mod leave;
mod load;
mod register;
mod set;
mod stats;
mod telling;
#[cfg(test)]
mod tests;
mod tick;
mod turns;

pub use abilities::{Abilities, AbilityId, AbilitySpec, Aim, GrantedAbility, RunningCooldown};
pub use commands::{AbilityCommands, ActorCommands, EffectCommands};
pub use cues::{AbilityCue, CueOrigin};
pub use definition::{
    ABILITY_EXTENSION, Ability, AbilityDuration, ActivationPolicy, CommitPolicy, Cooldown, Cost, MAX_COSTS,
    MAX_NAMED_EFFECTS, NamedEffect, WhileActive,
};
pub use events::{
    AbilityActivated, AbilityCommitted, AbilityEnd, AbilityEnded, AbilityGranted, AbilityInfo, AbilityRefused,
    AbilityRejected, AbilityRevoked, CooldownOver,
};
pub(crate) use events::{AbilityOutput, trigger_ability};
pub use gameplay::{Gameplay, WorldGameplay};
pub use grant::{GrantError, GrantId, GrantSets, SetGranted, SetGrants};
pub use if_loaded::IfLoaded;
pub use set::{ABILITY_SET_EXTENSION, AbilitySet, MAX_SET, SetEntry};
pub use stats::AbilityStats;

use bevy_app::{App, Plugin, Update};
use bevy_asset::AssetApp;
use bevy_ecs::{
    reflect::ReflectResource,
    resource::Resource,
    schedule::common_conditions::resource_exists,
    schedule::{InternedScheduleLabel, IntoScheduleConfigs, ScheduleLabel, SystemSet},
};
use bevy_reflect::{FromReflect, GetTypeRegistration, Reflect, std_traits::ReflectDefault};
use seamless_asset::{SeamlessAssetApp, StreamableSettings};

use crate::{
    Effect, MAX_STACKS,
    attribute::tell_changes,
    effect::EffectLimits,
    ron_file::{Checked, FromRon, RonLoader},
};
use actor::ActorLimits;
use codec::{DefinitionCodec, Searchable};

/// Attributes, effects and abilities. Add it after Bevy's `AssetPlugin` and the
/// [`SeamlessAssetPlugin`](seamless_asset::SeamlessAssetPlugin), in the game and, by [`AbilityAssetsPlugin`], in its cooker.
#[derive(Clone, Debug)]
pub struct AbilityPlugin {
    /// In which schedule time passes for effects and abilities. In `FixedUpdate` the same deeds come to the same end on every machine and at
    /// every frame rate. Default: `Update`.
    pub schedule: InternedScheduleLabel,
    /// Effects that an entity may have at once; more are refused. Default: 256.
    pub max_effects: usize,
    /// Abilities that an entity may have at once; more are refused. Default: 256.
    pub max_abilities: usize,
    /// Stacks of any effect, whatever its own limit is. Default: 999.
    pub max_stacks: u32,
    /// Executions of one entity's effects in one step; more are left out, and counted. Ends of single stacks, and abilities that activate themselves, count
    /// too: stacks beyond it end together, and such abilities wait for the next step. Default: 256.
    pub max_periods_per_step: u32,
    /// Sets whose abilities are under way at once; more are refused. Default: 4096.
    pub max_pending_grants: usize,
    /// How often observers may answer what observers have brought about before the rest is told in the next step, with an error in the log. Default: 64.
    pub max_told_rounds: u32,
}

impl Default for AbilityPlugin {
    fn default() -> Self {
        Self::new(Update)
    }
}

impl AbilityPlugin {
    /// With time that passes in this schedule.
    #[must_use]
    pub fn new(schedule: impl ScheduleLabel) -> Self {
        Self {
            schedule: schedule.intern(),
            max_effects: 256,
            max_abilities: 256,
            max_stacks: 999,
            max_periods_per_step: 256,
            max_pending_grants: 4096,
            max_told_rounds: 64,
        }
    }
}

/// The limits of [`AbilityPlugin`], at run time.
#[derive(Resource, Reflect, Clone, Debug, PartialEq, Eq)]
#[reflect(Resource, Default, Clone, Debug, PartialEq)]
pub struct AbilitySettings {
    /// As [`AbilityPlugin::max_effects`].
    pub max_effects: usize,
    /// As [`AbilityPlugin::max_abilities`].
    pub max_abilities: usize,
    /// As [`AbilityPlugin::max_stacks`].
    pub max_stacks: u32,
    /// As [`AbilityPlugin::max_periods_per_step`].
    pub max_periods_per_step: u32,
    /// As [`AbilityPlugin::max_pending_grants`]. What is under way already goes on.
    pub max_pending_grants: usize,
    /// As [`AbilityPlugin::max_told_rounds`].
    pub max_told_rounds: u32,
}

impl Default for AbilitySettings {
    fn default() -> Self {
        Self::of(&AbilityPlugin::default())
    }
}

impl AbilitySettings {
    fn of(plugin: &AbilityPlugin) -> Self {
        Self {
            max_effects: plugin.max_effects,
            max_abilities: plugin.max_abilities,
            max_stacks: plugin.max_stacks.min(MAX_STACKS),
            max_periods_per_step: plugin.max_periods_per_step,
            max_pending_grants: plugin.max_pending_grants,
            max_told_rounds: plugin.max_told_rounds,
        }
    }

    fn limits(&self) -> ActorLimits {
        ActorLimits {
            effects: EffectLimits {
                effects: self.max_effects,
                stacks: self.max_stacks,
                periods: self.max_periods_per_step,
            },
            abilities: self.max_abilities,
        }
    }
}

/// When effects and abilities have their turn, one after the other, in [`AbilityPlugin::schedule`]. Systems that apply and activate may run before or after them:
/// what begins in a frame begins at the end of that frame's time, and nothing of its own is taken off.
#[derive(SystemSet, Debug, Clone, PartialEq, Eq, Hash)]
pub enum AbilitySystems {
    /// Sets whose abilities have come are granted.
    Grant,
    /// Time passes.
    Tick,
    /// Observers hear what attributes have become.
    Tell,
}

/// The definitions alone: asset types, their loaders, and how they are cooked. A cooker needs no more.
#[derive(Clone, Copy, Debug, Default)]
pub struct AbilityAssetsPlugin;

impl Plugin for AbilityAssetsPlugin {
    fn build(&self, app: &mut App) {
        add_definition::<Effect>(app);
        add_definition::<Ability>(app);
        add_definition::<AbilitySet>(app);
        register::components(app);
    }
}

/// A kind of definition. What comes out of a package is checked as what comes out of a text.
fn add_definition<A: FromRon + Checked + Searchable + FromReflect + GetTypeRegistration>(app: &mut App) {
    app.init_asset::<A>()
        .register_type::<A>()
        .register_asset_reflect::<A>()
        .register_asset_loader(RonLoader::<A>::default())
        .add_asset_codec::<DefinitionCodec<A>>()
        .add_post_load(|asset: &mut A, _| asset.fault().map_or(Ok(()), Err));
}

impl Plugin for AbilityPlugin {
    fn build(&self, app: &mut App) {
        if !app.is_plugin_added::<AbilityAssetsPlugin>() {
            app.add_plugins(AbilityAssetsPlugin);
        }
        app.insert_resource(AbilitySettings::of(self))
            .insert_resource(SetGrants::new(self.max_pending_grants))
            .init_resource::<AbilityStats>()
            .init_resource::<telling::Telling>()
            .init_resource::<telling::StepClock>()
            .register_type::<AbilitySettings>()
            .register_type::<AbilityStats>()
            .configure_sets(
                self.schedule,
                (AbilitySystems::Grant, AbilitySystems::Tick, AbilitySystems::Tell).chain(),
            )
            .add_systems(
                self.schedule,
                (
                    // Without the pipeline there is nothing to grant.
                    (
                        telling::tell_rest,
                        grant::run_grants.run_if(resource_exists::<StreamableSettings>),
                        grant::count_grants,
                    )
                        .chain()
                        .in_set(AbilitySystems::Grant),
                    tick::tick.in_set(AbilitySystems::Tick),
                    (tell_changes, stats::roll_stats).chain().in_set(AbilitySystems::Tell),
                ),
            );
        app.add_observer(cues::play);
        register::events(app);
        stats::register(app);
    }
}
