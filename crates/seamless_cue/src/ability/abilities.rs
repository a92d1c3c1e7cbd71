//! Abilities that an entity has. See [`Abilities`].

use core::time::Duration;

use bevy_asset::{AssetId, Handle};
use bevy_ecs::{
    component::Component,
    entity::{Entity, MapEntities},
    reflect::ReflectComponent,
};
use bevy_math::Vec3;
use bevy_reflect::{Reflect, std_traits::ReflectDefault};

use super::{Ability, GrantId, leave};
use crate::{
    Effects, GameplayTag, TagSet,
    effect::{Given, Timer},
};

/// An ability as it is granted.
#[derive(Reflect, MapEntities, Clone, Debug, PartialEq)]
#[reflect(Default, Clone, Debug, PartialEq)]
pub struct AbilitySpec {
    /// Which one. The handle keeps it loaded as long as it is granted.
    pub ability: Handle<Ability>,
    /// From 1; need not be whole.
    pub level: f32,
    /// Where it goes: a key, a button of the bar, a name for the AI.
    pub slot: Option<GameplayTag>,
    /// What it comes from: a sword, a mount.
    #[entities]
    pub source: Option<Entity>,
}

impl Default for AbilitySpec {
    /// No ability, of level 1, without a slot.
    fn default() -> Self {
        Self {
            ability: Handle::default(),
            level: 1.0,
            slot: None,
            source: None,
        }
    }
}

impl AbilitySpec {
    /// An ability of level 1, without a slot.
    #[must_use]
    pub fn new(ability: Handle<Ability>) -> Self {
        Self {
            ability,
            ..Self::default()
        }
    }

    /// Of this level.
    #[must_use]
    pub fn level(self, level: f32) -> Self {
        Self { level, ..self }
    }

    /// In this slot.
    #[must_use]
    pub fn slot(self, slot: GameplayTag) -> Self {
        let slot = Some(slot);
        Self { slot, ..self }
    }

    /// With this as its source.
    #[must_use]
    pub fn source(self, source: Entity) -> Self {
        let source = Some(source);
        Self { source, ..self }
    }
}

/// Names an ability of an entity. Never used again for another one of that entity.
#[derive(Reflect, Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[reflect(Clone, Debug, PartialEq, Hash)]
pub struct AbilityId(pub(crate) u64);

/// At what an ability is aimed.
#[derive(Reflect, MapEntities, Clone, Copy, Debug, Default, PartialEq)]
#[reflect(Default, Clone, Debug, PartialEq)]
pub struct Aim {
    /// At whom.
    #[entities]
    pub target: Option<Entity>,
    /// At which place.
    pub location: Option<Vec3>,
}

impl Aim {
    /// At this entity.
    #[must_use]
    pub fn at(target: Entity) -> Self {
        let target = Some(target);
        Self {
            target,
            ..Self::default()
        }
    }
}

/// What is so of an ability while it is active.
#[derive(Reflect, MapEntities, Clone, Debug, Default, PartialEq)]
#[reflect(Default, Clone, Debug, PartialEq)]
pub(crate) struct Activity {
    /// Until it ends by itself.
    pub remaining: Option<Timer>,
    #[entities]
    pub aim: Aim,
    pub is_committed: bool,
    #[entities]
    pub given: Given,
}

/// An ability that an entity has.
#[derive(Reflect, MapEntities, Clone, Debug, PartialEq)]
#[reflect(Clone, Debug, PartialEq)]
pub struct GrantedAbility {
    pub(crate) id: AbilityId,
    #[entities]
    pub(crate) spec: AbilitySpec,
    #[entities]
    pub(crate) grant: Option<GrantId>,
    #[entities]
    pub(crate) activity: Option<Activity>,
}

impl GrantedAbility {
    /// Names it.
    #[must_use]
    pub fn id(&self) -> AbilityId {
        self.id
    }

    /// How it was granted.
    #[must_use]
    pub fn spec(&self) -> &AbilitySpec {
        &self.spec
    }

    /// With which set it came.
    #[must_use]
    pub fn grant(&self) -> Option<GrantId> {
        self.grant
    }

    /// Whether it is active.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.activity.is_some()
    }

    /// At what it is aimed while it is active.
    #[must_use]
    pub fn aim(&self) -> Option<Aim> {
        self.activity.as_ref().map(|activity| activity.aim)
    }

    /// How long it is still active, if it ends by itself.
    #[must_use]
    pub fn remaining(&self) -> Option<Duration> {
        self.activity.as_ref()?.remaining.map(Timer::left)
    }
}

/// A cooldown that runs.
#[derive(Reflect, Clone, Debug, PartialEq)]
#[reflect(Clone, Debug, PartialEq)]
pub struct RunningCooldown {
    /// Whose it is. That ability may have been revoked since.
    pub ability: AbilityId,
    /// The tags that the entity has for it.
    pub tags: TagSet,
    /// How long it goes on.
    pub remaining: Duration,
    /// How long it is in all.
    pub total: Duration,
    /// How much of the next step had passed when it began.
    pub(crate) wait: Duration,
}

impl RunningCooldown {
    /// What has to pass until it is over.
    pub(crate) fn until_over(&self) -> Duration {
        Timer::new(self.remaining, self.wait).until_over()
    }

    pub(crate) fn pass(&mut self, time: Duration) {
        let mut timer = Timer::new(self.remaining, self.wait);
        timer.pass(time);
        (self.remaining, self.wait) = (timer.left(), timer.until_over() - timer.left());
    }
}

/// The abilities that an entity has. It brings [`Effects`] and their tags.
///
/// They change through [`AbilityCommands`](crate::AbilityCommands) and [`Gameplay`](crate::Gameplay). It counts as changed when an ability is granted,
/// activated, committed, over or revoked, and when a cooldown is over; that time goes on is no change.
///
/// Who removes this component, or inserts another one in its place, takes the abilities away: those that are active end, cooldowns are over, and observers
/// hear of it. Only where the entity itself is despawned, nothing is told.
#[derive(Component, Reflect, Clone, Debug, Default, PartialEq)]
#[reflect(Component, Default, Clone, Debug, PartialEq)]
#[require(Effects)]
#[component(on_insert = leave::number_abilities, on_despawn = leave::despawned, on_discard = leave::discard_abilities)]
pub struct Abilities {
    /// In the order in which they were granted.
    #[entities]
    pub(crate) granted: Vec<GrantedAbility>,
    pub(crate) cooldowns: Vec<RunningCooldown>,
    pub(crate) next: u64,
}

impl Abilities {
    /// All of them, in the order in which they were granted.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &GrantedAbility> {
        self.granted.iter()
    }

    /// The one of this id.
    #[must_use]
    pub fn get(&self, id: AbilityId) -> Option<&GrantedAbility> {
        self.position(id).map(|at| &self.granted[at])
    }

    /// The first one in this slot, or in a kind of it.
    #[must_use]
    pub fn in_slot(&self, slot: GameplayTag) -> Option<&GrantedAbility> {
        let mut granted = self.granted.iter();
        granted.find(|granted| granted.spec.slot.is_some_and(|own| own.is_a(slot)))
    }

    /// The first one of this definition.
    #[must_use]
    pub fn of(&self, ability: AssetId<Ability>) -> Option<&GrantedAbility> {
        self.granted.iter().find(|granted| granted.spec.ability.id() == ability)
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.granted.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.granted.is_empty()
    }

    /// The cooldowns that run.
    pub fn cooldowns(&self) -> impl ExactSizeIterator<Item = &RunningCooldown> {
        self.cooldowns.iter()
    }

    /// The cooldown for which an ability has to wait longest: its own, or one that it shares tags with.
    pub(crate) fn cooldown_of(&self, id: AbilityId, ability: &Ability) -> Option<&RunningCooldown> {
        let tags = ability.cooldown.as_ref().map(|cooldown| &cooldown.tags);
        let is_it =
            |running: &&RunningCooldown| running.ability == id || tags.is_some_and(|tags| running.tags.has_any(tags));
        let running = self.cooldowns.iter().filter(is_it);
        running.max_by_key(|running| running.remaining)
    }

    /// Whether nothing becomes of them as time passes.
    pub(crate) fn is_idle(&self) -> bool {
        self.granted.is_empty() && self.cooldowns.is_empty()
    }

    pub(crate) fn position(&self, id: AbilityId) -> Option<usize> {
        self.granted.binary_search_by_key(&id, |granted| granted.id).ok()
    }
}
