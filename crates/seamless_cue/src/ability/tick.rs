//! Time passes for everybody.

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
};
use crate::{
    Attributes, Effect, Effects, OwnedTags,
    effect::{Bearer, Outputs, tell},
};

/// Each entity by itself, its effects in the order in which they were applied, then its abilities.
pub(super) fn tick(
    time: Res<Time>,
    effects: Res<Assets<Effect>>,
    definitions: Res<Assets<Ability>>,
    settings: Res<AbilitySettings>,
    mut owners: Query<(
        Entity,
        Mut<Effects>,
        Mut<OwnedTags>,
        Option<Mut<Attributes>>,
        Option<Mut<Abilities>>,
    )>,
    mut stats: ResMut<AbilityStats>,
    mut commands: Commands,
) {
    let books = Books {
        effects: &effects,
        abilities: &definitions,
    };
    let (limits, passed) = (settings.limits(), time.delta());
    (stats.active_effects, stats.granted_abilities) = (0, 0);
    let mut out = Outputs::default();
    for (entity, mut effects, mut tags, mut attributes, abilities) in &mut owners {
        let has_abilities = abilities.as_ref().is_some_and(|abilities| !abilities.is_idle());
        if effects.is_empty() && !has_abilities {
            stats.granted_abilities += abilities.map_or(0, |abilities| abilities.len());
            continue;
        }
        // Only what has changed is to count as changed.
        let mut bearer = Bearer {
            effects: effects.bypass_change_detection(),
            tags: tags.bypass_change_detection(),
            attributes: attributes
                .as_mut()
                .map(|attributes| attributes.bypass_change_detection()),
        };
        if !bearer.effects.is_empty() {
            bearer.tick(books.effects, passed, limits.effects, &mut out);
        }
        if let Some(mut abilities) = abilities {
            if has_abilities {
                let mut actor = Actor {
                    entity,
                    bearer,
                    abilities: abilities.bypass_change_detection(),
                };
                actor.tick(books, passed, limits, &mut out);
                abilities.set_changed();
            }
            stats.granted_abilities += abilities.len();
        }
        stats.active_effects += effects.len();
        effects.set_changed();
        if out.list.is_empty() {
            continue;
        }
        tags.set_changed();
        if let Some(mut attributes) = attributes {
            attributes.set_changed();
        }
        stats.count(&out);
        tell(entity, out.list.drain(..), &mut commands);
        out = Outputs {
            list: out.list,
            ..Outputs::default()
        };
    }
}
