//! Asking about what may not be loaded. See [`IfLoaded`].

use bevy_asset::Handle;
use bevy_ecs::{
    entity::Entity,
    query::AnyOf,
    system::{Query, SystemParam},
};
use seamless_asset::{SoftHandle, SoftObjects};

use super::{Abilities, Ability, AbilityId};
use crate::{Effect, Effects};

/// Asks by soft handles, and never loads anything: a system parameter, for interfaces and AI. What is not loaded is nowhere, since whoever has an
/// effect or an ability keeps it loaded. It reads [`Effects`] and [`Abilities`], so it goes into no system with [`Gameplay`](crate::Gameplay), whose
/// documentation says how to ask there.
///
/// ```no_run
/// # use bevy_ecs::prelude::*; use seamless_asset::SoftHandle;
/// # use seamless_cue::{Effect, IfLoaded};
/// # #[derive(Component)] struct Player;
/// fn draw(player: Single<Entity, With<Player>>, if_loaded: IfLoaded) {
///     let burn = SoftHandle::<Effect>::new("spells/burn.effect.ron");
///     let flames = if_loaded.effect_count_if_loaded(*player, &burn, None, true);
/// }
/// ```
#[derive(SystemParam)]
pub struct IfLoaded<'w, 's> {
    soft: SoftObjects<'w>,
    owners: Query<'w, 's, AnyOf<(&'static Effects, &'static Abilities)>>,
}

impl IfLoaded<'_, '_> {
    /// How often an entity has an effect, its stacks counted. With an `instigator`, only what that one has brought about; with `ongoing_check`,
    /// only what is not inhibited.
    #[must_use]
    pub fn effect_count_if_loaded(
        &self,
        entity: Entity,
        effect: &SoftHandle<Effect>,
        instigator: Option<Entity>,
        ongoing_check: bool,
    ) -> u32 {
        let effects = self.owners.get(entity).ok().and_then(|(effects, _)| effects);
        let effects = effects.filter(|effects| !effects.is_empty());
        let count = effects.zip(self.soft.get_if_loaded(effect));
        count.map_or(0, |(effects, effect)| {
            effects.count(effect.id(), instigator, ongoing_check)
        })
    }

    /// Whether an entity has an effect that is not inhibited.
    #[must_use]
    pub fn has_effect_if_loaded(&self, entity: Entity, effect: &SoftHandle<Effect>) -> bool {
        self.effect_count_if_loaded(entity, effect, None, true) > 0
    }

    /// The effect, if it is loaded.
    #[must_use]
    pub fn effect_if_loaded(&self, effect: &SoftHandle<Effect>) -> Option<Handle<Effect>> {
        self.soft.get_if_loaded(effect)
    }

    /// The ability, if it is loaded.
    #[must_use]
    pub fn ability_if_loaded(&self, ability: &SoftHandle<Ability>) -> Option<Handle<Ability>> {
        self.soft.get_if_loaded(ability)
    }

    /// The first ability of this definition that an entity has.
    #[must_use]
    pub fn granted_if_loaded(&self, entity: Entity, ability: &SoftHandle<Ability>) -> Option<AbilityId> {
        let (_, abilities) = self.owners.get(entity).ok()?;
        let abilities = abilities.filter(|abilities| !abilities.is_empty())?;
        let ability = self.soft.get_if_loaded(ability)?;
        abilities.of(ability.id()).map(|granted| granted.id())
    }
}
