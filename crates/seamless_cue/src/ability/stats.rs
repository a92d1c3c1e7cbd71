//! What effects and abilities do, in numbers. See [`AbilityStats`].

use bevy_app::App;
use bevy_diagnostic::Diagnostics;
use bevy_ecs::{entity::Entity, reflect::ReflectResource, resource::Resource, system::ResMut};
use bevy_reflect::{Reflect, std_traits::ReflectDefault};

use super::AbilityOutput;
use crate::{
    GameplayTag, TagSet,
    counters::{self, Counter, counts},
    effect::{Output, Outputs},
};

/// What effects and abilities do, since the last run of [`AbilitySystems::Tell`](crate::AbilitySystems::Tell) where nothing else is said. Each number is a diagnostic,
/// `seamless/abilities/` and its name.
#[derive(Resource, Reflect, Clone, Debug, Default, PartialEq, Eq)]
#[reflect(Resource, Default, Clone, Debug, PartialEq)]
pub struct AbilityStats {
    /// Effects that entities have at the moment.
    pub active_effects: usize,
    /// Effects that were applied.
    pub effects_applied: u64,
    /// Effects that were refused.
    pub effects_refused: u64,
    /// Executions of effects with a period.
    pub periods: u64,
    /// Executions that were left out, because an entity had too many at once.
    pub periods_dropped: u64,
    /// How often tags that inhibit each other came to no end, so that it was left where it was.
    pub unsettled: u64,
    /// Abilities that entities have at the moment.
    pub granted_abilities: usize,
    /// Abilities that were activated.
    pub activations: u64,
    /// Abilities that were not activated, because something stood against it.
    pub activations_refused: u64,
    /// Cues that were fired.
    pub cues: u64,
    /// Sets whose abilities are under way.
    pub pending_grants: usize,
    /// How often observers answered each other without end, so that the rest was told in the next step.
    pub put_off: u64,
}

impl AbilityStats {
    pub(super) fn count(&mut self, entity: Entity, out: &Outputs) {
        self.periods_dropped += out.periods_dropped;
        self.unsettled += u64::from(out.unsettled);
        if out.unsettled > 0 {
            let tags: TagSet = out.circle.iter().copied().collect();
            let names: Vec<&str> = tags.iter().map(GameplayTag::name).collect();
            bevy_log::warn_once!(
                "effects of {entity} keep each other from working in a circle, by the tags they give ({}); some of them do nothing now; \
                 let one of them not depend on these tags by its `works_if`",
                names.join(", ")
            );
        }
        for output in &out.list {
            match output {
                Output::Applied(_) | Output::Executed { .. } => self.effects_applied += 1,
                Output::Stacked { info, old } if info.stacks >= *old => self.effects_applied += 1,
                Output::Ability(AbilityOutput::Activated { .. }) => self.activations += 1,
                Output::Periodic { .. } => self.periods += 1,
                Output::Cue { .. } => self.cues += 1,
                _ => {}
            }
        }
    }
}

/// All of them; a test looks for the one that is missing.
pub(super) static COUNTERS: [Counter<AbilityStats>; 12] = counts! {
    "seamless/abilities/":
    active_effects effects_applied effects_refused periods periods_dropped unsettled
    granted_abilities activations activations_refused cues pending_grants put_off
};

pub(super) fn register(app: &mut App) {
    counters::register(app, COUNTERS.iter());
}

/// Writes the diagnostics, and begins to count anew.
pub(super) fn roll_stats(mut stats: ResMut<AbilityStats>, mut diagnostics: Diagnostics) {
    counters::write(&*stats, COUNTERS.iter(), &mut diagnostics);
    *stats = AbilityStats {
        active_effects: stats.active_effects,
        granted_abilities: stats.granted_abilities,
        pending_grants: stats.pending_grants,
        ..AbilityStats::default()
    };
}
