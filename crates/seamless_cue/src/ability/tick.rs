//! Time passes for everybody.

use core::time::Duration;

use bevy_asset::Assets;
use bevy_ecs::{
    change_detection::DetectChangesMut,
    entity::Entity,
    system::{Commands, Query, Res, ResMut},
    world::Mut,
};
use bevy_time::Time;

use super::{
    Abilities, Ability, AbilitySettings, AbilityStats,
    actor::{Actor, Books},
    telling::{StepClock, Telling},
};
use crate::{
    Attributes, Effect, Effects, OwnedTags,
    effect::{Bearer, Output, Outputs},
};

/// The components of one who can be affected, and maybe do something.
pub(super) struct Parts<'a> {
    pub effects: Mut<'a, Effects>,
    pub tags: Mut<'a, OwnedTags>,
    pub attributes: Option<Mut<'a, Attributes>>,
    pub abilities: Option<Mut<'a, Abilities>>,
}

impl Parts<'_> {
    /// Does something with them. Only what has changed then counts as changed.
    pub fn act<R>(
        &mut self,
        entity: Entity,
        ahead: Duration,
        out: &mut Outputs,
        deed: impl FnOnce(&mut Actor, &mut Outputs) -> R,
    ) -> R {
        let mut none = Abilities::default();
        let attributes = self.attributes.as_mut();
        let mut actor = Actor {
            entity,
            bearer: Bearer {
                effects: self.effects.bypass_change_detection(),
                tags: self.tags.bypass_change_detection(),
                attributes: attributes.map(|attributes| attributes.bypass_change_detection()),
                ahead,
            },
            abilities: match &mut self.abilities {
                Some(abilities) => abilities.bypass_change_detection(),
                None => &mut none,
            },
        };
        let result = deed(&mut actor, out);
        self.mark(out);
        result
    }

    /// Nothing changes that is not told, but for attributes whose component is new, and time.
    fn mark(&mut self, out: &Outputs) {
        let of_ability = |output: &Output| matches!(output, Output::Ability(_));
        let of_effect = |output: &Output| !of_ability(output) && !matches!(output, Output::Cue { .. });
        if out.list.iter().any(of_effect) {
            self.effects.set_changed();
        }
        if let Some(abilities) = &mut self.abilities
            && out.list.iter().any(of_ability)
        {
            abilities.set_changed();
        }
        if !out.list.is_empty() {
            self.tags.set_changed();
        }
        if let Some(attributes) = &mut self.attributes
            && (out.has_new_values || !out.list.is_empty())
        {
            attributes.set_changed();
        }
    }
}

/// Each entity by itself.
pub(super) fn tick(
    time: Res<Time>,
    effects: Res<Assets<Effect>>,
    definitions: Res<Assets<Ability>>,
    settings: Res<AbilitySettings>,
    mut clock: ResMut<StepClock>,
    mut owners: Query<(
        Entity,
        Mut<Effects>,
        Mut<OwnedTags>,
        Option<Mut<Attributes>>,
        Option<Mut<Abilities>>,
    )>,
    mut stats: ResMut<AbilityStats>,
    mut telling: ResMut<Telling>,
    mut commands: Commands,
) {
    let books = Books {
        effects: &effects,
        abilities: &definitions,
    };
    let (limits, passed) = (settings.limits(), time.delta());
    clock.passed = time.elapsed();
    (stats.active_effects, stats.granted_abilities) = (0, 0);
    let mut out = Outputs::default();
    for (entity, effects, tags, attributes, abilities) in &mut owners {
        let mut parts = Parts {
            effects,
            tags,
            attributes,
            abilities,
        };
        let is_idle = parts.abilities.as_ref().is_none_or(|abilities| abilities.is_idle());
        if !(is_idle && parts.effects.is_empty()) {
            parts.act(entity, Duration::ZERO, &mut out, |actor, out| {
                actor.tick(books, passed, limits, out);
            });
            stats.count(entity, &out);
            telling.tell(entity, out.list.drain(..), &mut commands);
            out = Outputs {
                list: out.list,
                ..Outputs::default()
            };
        }
        stats.active_effects += parts.effects.len();
        stats.granted_abilities += parts.abilities.map_or(0, |abilities| abilities.len());
    }
}
