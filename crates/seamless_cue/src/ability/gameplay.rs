//! Doing things with effects and abilities. See [`Gameplay`].

use core::time::Duration;

use bevy_asset::Assets;
use bevy_ecs::{
    entity::Entity,
    query::AnyOf,
    system::{Commands, In, Query, Res, ResMut, SystemParam},
    world::World,
};
use bevy_time::Time;

use super::{
    Abilities, Ability, AbilityEnd, AbilityId, AbilityRefused, AbilitySettings, AbilitySpec, AbilityStats, Aim,
    GrantError, GrantId, SetGranted,
    actor::{Actor, Books},
    check::ActorView,
    grant::Callback,
    telling::{StepClock, Telling},
    tick::Parts,
};
use crate::{
    Attributes, Effect, EffectId, EffectOutcome, EffectRefused, EffectSpec, Effects, GameplayTag, OwnedTags, TagSet,
    effect::{Output, Outputs, View, modifiers_of},
};

type Components = AnyOf<(
    &'static mut Effects,
    &'static mut OwnedTags,
    &'static mut Attributes,
    &'static mut Abilities,
)>;

/// Does things with effects and abilities at once, and says what came of it: a system parameter. Observers are told when the system's commands
/// are applied, in the order in which things happened: what an observer does is told after all that had happened before.
///
/// A system that has it cannot also ask for [`Effects`], [`OwnedTags`], [`Attributes`] or [`Abilities`]; what it needs of them is here. Where that is in the way,
/// [`EffectCommands`](crate::EffectCommands) and [`AbilityCommands`](crate::AbilityCommands) do the same a little later. Nor can it have
/// [`IfLoaded`](crate::IfLoaded), which asks the same components; it asks what is loaded, and then here:
///
/// ```no_run
/// # use bevy_ecs::prelude::*; use seamless_asset::{SoftHandle, SoftObjects};
/// # use seamless_cue::{Effect, Gameplay};
/// # #[derive(Component)] struct Player;
/// fn burns(player: Single<Entity, With<Player>>, soft: SoftObjects, gameplay: Gameplay) {
///     let burn = soft.get_if_loaded(&SoftHandle::<Effect>::new("spells/burn.effect.ron"));
///     let flames = gameplay.effects(*player).zip(burn).map_or(0, |(effects, burn)| effects.count(burn.id(), None, true));
/// }
/// ```
///
/// ```no_run
/// # use bevy_ecs::prelude::*;
/// # use seamless_cue::{Aim, Gameplay, GameplayTag};
/// # #[derive(Component)] struct Player;
/// fn attack(player: Single<Entity, With<Player>>, mut gameplay: Gameplay) {
///     let slot = GameplayTag::new("Slot.Primary").expect("a tag");
///     if let Some(ability) = gameplay.abilities(*player).and_then(|abilities| abilities.in_slot(slot)) {
///         let id = ability.id();
///         if let Err(refused) = gameplay.try_activate(*player, id, Aim::default()) {
///             // "it can be used again in 0.4 s"
///             println!("{refused}");
///         }
///     }
/// }
/// ```
#[derive(SystemParam)]
pub struct Gameplay<'w, 's> {
    actors: Query<'w, 's, Components>,
    effects: Res<'w, Assets<Effect>>,
    definitions: Res<'w, Assets<Ability>>,
    settings: Res<'w, AbilitySettings>,
    stats: ResMut<'w, AbilityStats>,
    telling: ResMut<'w, Telling>,
    clock: Res<'w, StepClock>,
    time: Option<Res<'w, Time>>,
    commands: Commands<'w, 's>,
}

impl Gameplay<'_, '_> {
    /// Applies an effect to an entity.
    ///
    /// # Errors
    /// When that is not possible; then nothing has changed.
    pub fn apply_effect(&mut self, target: Entity, spec: &EffectSpec) -> Result<EffectOutcome, EffectRefused> {
        let result = self.try_apply(target, spec);
        self.stats.effects_refused += u64::from(result.is_err());
        result
    }

    fn try_apply(&mut self, target: Entity, spec: &EffectSpec) -> Result<EffectOutcome, EffectRefused> {
        if self.effects(target).is_none() {
            return Err(EffectRefused::NoTarget);
        }
        if let Some(untold) = self.telling.too_much() {
            return Err(EffectRefused::Untold { untold });
        }
        let source = spec.source.and_then(|source| self.attributes(source));
        let modifiers = modifiers_of(&self.effects, spec, source, self.attributes(target))?;
        let limits = self.settings.limits().effects;
        let applied = self.change(target, |actor, books, out| {
            actor.bearer.apply(books.effects, spec, modifiers, limits, out)
        });
        applied.unwrap_or(Err(EffectRefused::NoTarget))
    }

    /// Keeps in `spec` what the source's attributes are now, as far as the effect asks for them. For what hits later: an arrow in the air is as strong as
    /// whoever has shot it was then, even if that one is dead when it hits. Nothing is kept of an effect that is not loaded.
    #[must_use]
    pub fn capture(&self, mut spec: EffectSpec) -> EffectSpec {
        let source = spec.source.and_then(|source| self.attributes(source));
        if let Some((effect, source)) = self.effects.get(spec.effect.id()).zip(source) {
            spec.capture(effect, source);
        }
        spec
    }

    /// Takes everything away that an entity has of effects, abilities and cooldowns, with all that these have given; observers hear that they are over. Loose tags
    /// and the bases of attributes stay as they are. Gives whether there was anything.
    pub fn clear(&mut self, entity: Entity) -> bool {
        let cleared = self.change(entity, |actor, _, out| {
            actor.clear(out);
            !out.list.is_empty()
        });
        cleared.unwrap_or_default()
    }

    /// Removes an effect, or only so many stacks of it. Gives whether it was there.
    pub fn remove_effect(&mut self, target: Entity, id: EffectId, stacks: Option<u32>) -> bool {
        let removed = self.change(target, |actor, books, out| {
            actor.bearer.remove(books.effects, id, stacks, out)
        });
        removed.unwrap_or_default()
    }

    /// Removes the effects that are, or give, a kind of one of these tags. Gives how many.
    pub fn remove_effects_with(&mut self, target: Entity, tags: &TagSet) -> usize {
        let removed = self.change(target, |actor, books, out| {
            actor.bearer.remove_with(books.effects, tags, out)
        });
        removed.unwrap_or_default()
    }

    /// Adds a loose tag. Effects that depend on it, and abilities that it interrupts, are looked at in the next step. Gives whether the entity has tags.
    pub fn add_tag(&mut self, entity: Entity, tag: GameplayTag) -> bool {
        self.actors
            .get_mut(entity)
            .is_ok_and(|(_, tags, ..)| tags.map(|mut tags| tags.add(tag)).is_some())
    }

    /// Takes a loose tag away again. Gives whether the entity has tags.
    pub fn remove_tag(&mut self, entity: Entity, tag: GameplayTag) -> bool {
        self.actors
            .get_mut(entity)
            .is_ok_and(|(_, tags, ..)| tags.map(|mut tags| tags.remove(tag)).is_some())
    }

    /// Gives an entity an ability.
    ///
    /// # Errors
    /// When the entity cannot have it.
    pub fn grant(&mut self, entity: Entity, spec: AbilitySpec) -> Result<AbilityId, GrantError> {
        self.grant_with(entity, spec, None)
    }

    pub(super) fn grant_with(
        &mut self,
        entity: Entity,
        spec: AbilitySpec,
        grant: Option<GrantId>,
    ) -> Result<AbilityId, GrantError> {
        if let Some(untold) = self.telling.too_much() {
            return Err(GrantError::Untold { untold });
        }
        let limits = self.settings.limits();
        let limit = limits.abilities;
        let granted = self.act(entity, |actor, _, out| actor.grant(spec, grant, limits, out));
        granted.ok_or(GrantError::NoOwner)?.ok_or(GrantError::TooMany { limit })
    }

    /// Takes an ability away, which ends it if it is active. Gives whether it was there.
    pub fn revoke(&mut self, entity: Entity, id: AbilityId) -> bool {
        let revoked = self.act(entity, |actor, _, out| actor.revoke(id, out));
        revoked.unwrap_or_default()
    }

    /// Whether an entity can have so many more abilities.
    pub(super) fn has_room(&self, entity: Entity, more: usize) -> Result<(), GrantError> {
        let abilities = self.abilities(entity).ok_or(GrantError::NoOwner)?;
        let limit = self.settings.max_abilities;
        match abilities.len().saturating_add(more) > limit {
            true => Err(GrantError::TooMany { limit }),
            false => Ok(()),
        }
    }

    pub(super) fn revoke_grant(&mut self, grant: GrantId) -> usize {
        let revoked = self.act(grant.entity(), |actor, _, out| actor.revoke_grant(grant, out));
        revoked.unwrap_or_default()
    }

    /// Whether an ability could be activated now.
    ///
    /// # Errors
    /// Why it could not.
    pub fn can_activate(&self, entity: Entity, id: AbilityId) -> Result<(), AbilityRefused> {
        let view = self.view(entity).ok_or(AbilityRefused::NoOwner)?;
        view.check(self.books(), id, self.settings.limits())
    }

    /// The cooldown that holds an ability back, its own or a shared one: how long it still goes on, and how long it is in all.
    #[must_use]
    pub fn cooldown(&self, entity: Entity, id: AbilityId) -> Option<(Duration, Duration)> {
        let view = self.view(entity)?;
        let (_, ability) = view.find(self.books(), id).ok()?;
        let running = view.abilities.cooldown_of(id, ability)?;
        Some((running.remaining, running.total))
    }

    /// Activates an ability: observers of [`AbilityActivated`](crate::AbilityActivated) do what it does.
    ///
    /// # Errors
    /// When something stands against it; then nothing has changed.
    pub fn try_activate(&mut self, entity: Entity, id: AbilityId, aim: Aim) -> Result<(), AbilityRefused> {
        let limits = self.settings.limits();
        let result = match self.telling.too_much() {
            Some(untold) => Err(AbilityRefused::Untold { untold }),
            None => self
                .act(entity, |actor, books, out| actor.activate(books, id, aim, limits, out))
                .unwrap_or(Err(AbilityRefused::NoOwner)),
        };
        self.stats.activations_refused += u64::from(result.is_err());
        result
    }

    /// Pays for an active ability whose [`CommitPolicy`](crate::CommitPolicy) is `Asked`.
    ///
    /// # Errors
    /// When it cannot be paid for, was already, or its owner has a tag that interrupts it; then nothing has changed. To end it is for the caller.
    pub fn commit(&mut self, entity: Entity, id: AbilityId) -> Result<(), AbilityRefused> {
        let limits = self.settings.limits();
        let committed = self.act(entity, |actor, books, out| actor.commit(books, id, limits, out));
        committed.unwrap_or(Err(AbilityRefused::NoOwner))
    }

    /// Ends an active ability: it is done. Gives whether it was active.
    pub fn end(&mut self, entity: Entity, id: AbilityId) -> bool {
        let ended = self.act(entity, |actor, _, out| actor.end(id, AbilityEnd::Finished, out));
        ended.unwrap_or_default()
    }

    /// Cancels an active ability: it is not done. Gives whether it was active.
    pub fn cancel(&mut self, entity: Entity, id: AbilityId) -> bool {
        let ended = self.act(entity, |actor, _, out| actor.end(id, AbilityEnd::Cancelled, out));
        ended.unwrap_or_default()
    }

    /// Ends the cooldowns that hold an ability back, shared ones too. Gives whether there were any.
    pub fn reset_cooldown(&mut self, entity: Entity, id: AbilityId) -> bool {
        let reset = self.act(entity, |actor, books, out| actor.reset_cooldown(books, id, out));
        reset.unwrap_or_default()
    }

    /// The attributes of an entity.
    #[must_use]
    pub fn attributes(&self, entity: Entity) -> Option<&Attributes> {
        let (_, _, attributes, _) = self.actors.get(entity).ok()?;
        attributes
    }

    /// Sets the base of an attribute. Gives whether the entity has it.
    pub fn set_base(&mut self, entity: Entity, attribute: GameplayTag, base: f32) -> bool {
        let parts = self.actors.get_mut(entity);
        let attributes = parts.ok().and_then(|(_, _, attributes, _)| attributes);
        attributes.is_some_and(|mut attributes| attributes.set_base(attribute, base))
    }

    /// The tags of an entity.
    #[must_use]
    pub fn tags(&self, entity: Entity) -> Option<&OwnedTags> {
        let (_, tags, ..) = self.actors.get(entity).ok()?;
        tags
    }

    /// The effects of an entity.
    #[must_use]
    pub fn effects(&self, entity: Entity) -> Option<&Effects> {
        let (effects, ..) = self.actors.get(entity).ok()?;
        effects
    }

    /// The abilities of an entity.
    #[must_use]
    pub fn abilities(&self, entity: Entity) -> Option<&Abilities> {
        let (_, _, _, abilities) = self.actors.get(entity).ok()?;
        abilities
    }

    /// Has something told.
    pub(super) fn tell(&mut self, entity: Entity, output: Output) {
        self.telling.tell(entity, [output], &mut self.commands);
    }

    pub(super) fn tell_set(&mut self, granted: SetGranted, callback: Option<Callback>) {
        self.telling.tell_set(granted, callback, &mut self.commands);
    }

    fn books(&self) -> Books<'_> {
        Books {
            effects: &self.effects,
            abilities: &self.definitions,
        }
    }

    fn view(&self, entity: Entity) -> Option<ActorView<'_>> {
        let (effects, tags, attributes, abilities) = self.actors.get(entity).ok()?;
        let (effects, tags, abilities) = (effects?, tags?, abilities?);
        let body = View {
            effects,
            tags,
            attributes,
        };
        Some(ActorView {
            entity,
            body,
            abilities,
        })
    }

    /// How much of what the next step passes has passed already: all of this frame's time, until that step.
    fn ahead(&self) -> Duration {
        let time = self.time.as_ref();
        time.map_or(Duration::ZERO, |time| {
            time.elapsed().saturating_sub(self.clock.passed).min(time.delta())
        })
    }

    /// Does something to whoever can be affected.
    fn change<R>(&mut self, entity: Entity, deed: impl FnOnce(&mut Actor, Books, &mut Outputs) -> R) -> Option<R> {
        let ahead = self.ahead();
        let (effects, tags, attributes, abilities) = self.actors.get_mut(entity).ok()?;
        let mut parts = Parts {
            effects: effects?,
            tags: tags?,
            attributes,
            abilities,
        };
        let books = Books {
            effects: &self.effects,
            abilities: &self.definitions,
        };
        let mut out = Outputs::default();
        let result = parts.act(entity, ahead, &mut out, |actor, out| {
            let result = deed(actor, books, out);
            // A refusal changes nothing.
            if !out.list.is_empty() {
                actor.settle(books, out);
            }
            result
        });
        self.stats.count(entity, &out);
        self.telling.tell(entity, out.list, &mut self.commands);
        Some(result)
    }

    /// Does something with abilities.
    fn act<R>(&mut self, entity: Entity, deed: impl FnOnce(&mut Actor, Books, &mut Outputs) -> R) -> Option<R> {
        self.abilities(entity)?;
        self.change(entity, deed)
    }
}

type Deed = Box<dyn for<'w, 's, 'a> FnOnce(&'a mut Gameplay<'w, 's>) + Send>;

fn perform(In(deed): In<Deed>, mut gameplay: Gameplay) {
    deed(&mut gameplay);
}

/// [`Gameplay`] for who has the whole world.
pub trait WorldGameplay {
    /// Does something, and tells observers of it before it comes back; but where an observer has called it, or what such a one has queued, they are told behind
    /// what they are being told. Gives what the closure gives; `None` without an [`AbilityPlugin`](crate::AbilityPlugin).
    fn gameplay<R: Send + 'static>(
        &mut self,
        deed: impl for<'w, 's, 'a> FnOnce(&'a mut Gameplay<'w, 's>) -> R + Send + 'static,
    ) -> Option<R>;
}

impl WorldGameplay for World {
    fn gameplay<R: Send + 'static>(
        &mut self,
        deed: impl for<'w, 's, 'a> FnOnce(&'a mut Gameplay<'w, 's>) -> R + Send + 'static,
    ) -> Option<R> {
        let (sender, receiver) = std::sync::mpsc::sync_channel(1);
        let deed: Deed = Box::new(move |gameplay| {
            // Its other end is below.
            let _ = sender.send(deed(gameplay));
        });
        if let Err(error) = self.run_system_cached_with(perform, deed) {
            bevy_log::error!("effects and abilities do nothing: {error}; add the `AbilityPlugin`");
        }
        receiver.try_recv().ok()
    }
}
