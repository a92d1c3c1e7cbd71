//! What effects and abilities do, in numbers. See [`AbilityStats`].

use bevy_app::App;
use bevy_diagnostic::{Diagnostic, DiagnosticPath, Diagnostics, RegisterDiagnostic};
use bevy_ecs::{entity::Entity, reflect::ReflectResource, resource::Resource, system::ResMut};
use bevy_reflect::{Reflect, std_traits::ReflectDefault};

use super::AbilityOutput;
use crate::{
    GameplayTag, TagSet,
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

/// A number of [`AbilityStats`]: its field, its path, and where it is.
type Counter = (&'static str, DiagnosticPath, fn(&AbilityStats) -> f64);

const fn counter(field: &'static str, path: &'static str, value: fn(&AbilityStats) -> f64) -> Counter {
    (field, DiagnosticPath::const_new(path), value)
}

/// All of them; a test looks for the one that is missing.
pub(super) static COUNTERS: [Counter; 12] = [
    counter("active_effects", "seamless/abilities/active_effects", |stats| {
        stats.active_effects as f64
    }),
    counter("effects_applied", "seamless/abilities/effects_applied", |stats| {
        stats.effects_applied as f64
    }),
    counter("effects_refused", "seamless/abilities/effects_refused", |stats| {
        stats.effects_refused as f64
    }),
    counter("periods", "seamless/abilities/periods", |stats| stats.periods as f64),
    counter("periods_dropped", "seamless/abilities/periods_dropped", |stats| {
        stats.periods_dropped as f64
    }),
    counter("unsettled", "seamless/abilities/unsettled", |stats| {
        stats.unsettled as f64
    }),
    counter("granted_abilities", "seamless/abilities/granted_abilities", |stats| {
        stats.granted_abilities as f64
    }),
    counter("activations", "seamless/abilities/activations", |stats| {
        stats.activations as f64
    }),
    counter(
        "activations_refused",
        "seamless/abilities/activations_refused",
        |stats| stats.activations_refused as f64,
    ),
    counter("cues", "seamless/abilities/cues", |stats| stats.cues as f64),
    counter("pending_grants", "seamless/abilities/pending_grants", |stats| {
        stats.pending_grants as f64
    }),
    counter("put_off", "seamless/abilities/put_off", |stats| stats.put_off as f64),
];

pub(super) fn register(app: &mut App) {
    for (_, path, _) in &COUNTERS {
        app.register_diagnostic(Diagnostic::new(path.clone()));
    }
}

/// Writes the diagnostics, and begins to count anew.
pub(super) fn roll_stats(mut stats: ResMut<AbilityStats>, mut diagnostics: Diagnostics) {
    for (_, path, value) in &COUNTERS {
        diagnostics.add_measurement(path, || value(&stats));
    }
    *stats = AbilityStats {
        active_effects: stats.active_effects,
        granted_abilities: stats.granted_abilities,
        pending_grants: stats.pending_grants,
        ..AbilityStats::default()
    };
}
