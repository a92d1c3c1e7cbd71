//! What becomes of an entity's abilities: pure, of what it has, what is asked, and the time that has passed.

use core::time::Duration;

use bevy_asset::Assets;
use bevy_ecs::entity::Entity;
use smallvec::SmallVec;

use super::{
    Abilities, Ability, AbilityDuration, AbilityEnd, AbilityId, AbilityInfo, AbilityOutput, AbilityRefused,
    AbilitySpec, ActivationPolicy, Aim, CommitPolicy, GrantId, GrantedAbility, RunningCooldown, WhileActive,
    abilities::Activity,
};
use crate::{
    Attributes, CueAct, CueOrigin, Effect, EffectRefused, EffectSpec, GameplayTag, Operation,
    effect::{Bearer, EffectLimits, Given, Output, Outputs, magnitudes_of},
};

/// Where definitions are looked up.
#[derive(Clone, Copy)]
pub(crate) struct Books<'a> {
    pub effects: &'a Assets<Effect>,
    pub abilities: &'a Assets<Ability>,
}

/// What an entity may have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ActorLimits {
    pub effects: EffectLimits,
    pub abilities: usize,
}

/// An entity that can do something.
pub(crate) struct Actor<'a> {
    pub entity: Entity,
    pub bearer: Bearer<'a>,
    pub abilities: &'a mut Abilities,
}

type Costs = SmallVec<[(GameplayTag, f32); 2]>;

impl Actor<'_> {
    /// Adds an ability; `None` when there is no room.
    pub fn grant(
        &mut self,
        spec: AbilitySpec,
        grant: Option<GrantId>,
        limits: ActorLimits,
        out: &mut Outputs,
    ) -> Option<AbilityId> {
        if self.abilities.len() >= limits.abilities {
            return None;
        }
        let id = AbilityId(self.abilities.next);
        self.abilities.next += 1;
        let granted = GrantedAbility {
            id,
            spec,
            grant,
            activity: None,
        };
        push(out, AbilityOutput::Granted(AbilityInfo::of(&granted)));
        self.abilities.granted.push(granted);
        Some(id)
    }

    /// Takes an ability away. Gives whether it was there. A cooldown that others may share goes on.
    pub fn revoke(&mut self, id: AbilityId, out: &mut Outputs) -> bool {
        self.end(id, AbilityEnd::Revoked, out);
        let Some(at) = self.abilities.position(id) else {
            return false;
        };
        let granted = self.abilities.granted.remove(at);
        self.abilities
            .cooldowns
            .retain(|running| running.ability != id || !running.tags.is_empty());
        push(out, AbilityOutput::Revoked(AbilityInfo::of(&granted)));
        true
    }

    /// Takes away what came with a set. Gives how many.
    pub fn revoke_grant(&mut self, grant: GrantId, out: &mut Outputs) -> usize {
        let of_it = self
            .abilities
            .granted
            .iter()
            .filter(|granted| granted.grant == Some(grant));
        let ids: Vec<AbilityId> = of_it.map(|granted| granted.id).collect();
        ids.iter().filter(|id| self.revoke(**id, out)).count()
    }

    fn find<'b>(&self, books: Books<'b>, id: AbilityId) -> Result<(&GrantedAbility, &'b Ability), AbilityRefused> {
        let granted = self.abilities.get(id).ok_or(AbilityRefused::NotGranted)?;
        let ability = books.abilities.get(granted.spec.ability.id());
        Ok((granted, ability.ok_or(AbilityRefused::NotLoaded)?))
    }

    /// Whether an ability could be activated now.
    pub fn check(&self, books: Books, id: AbilityId) -> Result<(), AbilityRefused> {
        let (granted, ability) = self.find(books, id)?;
        if granted.is_active() && ability.while_active == WhileActive::Refuse {
            return Err(AbilityRefused::Active);
        }
        if let Some(tag) = self.bearer.tags.first_missing(&ability.activate_if.require) {
            return Err(AbilityRefused::MissingTag(tag));
        }
        if let Some(tag) = self.bearer.tags.first_of(&ability.activate_if.forbid) {
            return Err(AbilityRefused::ForbiddenTag(tag));
        }
        if let Some(tag) = self.bearer.tags.first_of(&ability.interrupted_by) {
            return Err(AbilityRefused::ForbiddenTag(tag));
        }
        let blocks = |other: &&GrantedAbility| {
            let other_ability = books.abilities.get(other.spec.ability.id());
            other.id != id
                && other.is_active()
                && other_ability.is_some_and(|other| ability.tags.has_any(&other.blocks))
        };
        if let Some(other) = self.abilities.granted.iter().find(blocks) {
            return Err(AbilityRefused::Blocked(other.id));
        }
        self.check_payment(granted, ability).map(drop)
    }

    /// Whether an ability could be paid for now; what it costs.
    fn check_payment(&self, granted: &GrantedAbility, ability: &Ability) -> Result<Costs, AbilityRefused> {
        if let Some(running) = self.abilities.cooldown_of(granted.id, ability) {
            let remaining = running.remaining;
            return Err(AbilityRefused::Cooldown { remaining });
        }
        let attributes = self.bearer.attributes.as_deref();
        let spec = EffectSpec::default().level(granted.spec.level);
        let cost = |cost: &super::Cost| {
            let attribute = cost.attribute;
            let amount = cost.amount.evaluate(&spec, attributes, attributes)?.max(0.0);
            let available = attributes.and_then(|attributes| spendable(attributes, attribute));
            match available.unwrap_or_default() {
                available if amount > available => Err(AbilityRefused::Cost {
                    attribute,
                    amount,
                    available,
                }),
                _ => Ok((attribute, amount)),
            }
        };
        ability.costs.iter().map(cost).collect()
    }

    /// Activates an ability, or says why not; then nothing has changed.
    pub fn activate(
        &mut self,
        books: Books,
        id: AbilityId,
        aim: Aim,
        limits: ActorLimits,
        out: &mut Outputs,
    ) -> Result<(), AbilityRefused> {
        self.check(books, id)?;
        let (_, ability) = self.find(books, id)?;
        if ability.commit == CommitPolicy::AtOnce {
            self.pay(books, id, limits, out)?;
        }
        self.end(id, AbilityEnd::Cancelled, out);
        self.cancel_with(books, id, ability, out);
        self.begin(id, ability, aim, out);
        if ability.duration == AbilityDuration::Instant {
            self.end(id, AbilityEnd::Finished, out);
        }
        Ok(())
    }

    fn cancel_with(&mut self, books: Books, id: AbilityId, ability: &Ability, out: &mut Outputs) {
        let is_cancelled = |other: &&GrantedAbility| {
            let other_ability = books.abilities.get(other.spec.ability.id());
            other.id != id
                && other.is_active()
                && other_ability.is_some_and(|other| other.tags.has_any(&ability.cancels))
        };
        let cancelled = self.abilities.granted.iter().filter(is_cancelled);
        let cancelled: SmallVec<[AbilityId; 4]> = cancelled.map(|other| other.id).collect();
        for other in cancelled {
            self.end(other, AbilityEnd::Cancelled, out);
        }
    }

    fn begin(&mut self, id: AbilityId, ability: &Ability, aim: Aim, out: &mut Outputs) {
        let Some(at) = self.abilities.position(id) else { return };
        self.bearer.tags.add_all(&ability.grants);
        let granted = &mut self.abilities.granted[at];
        let origin = origin(self.entity, granted, aim);
        out.fire(&ability.cues.executed, CueAct::Execute, origin);
        out.fire(&ability.cues.active, CueAct::Add, origin);
        granted.activity = Some(Activity {
            remaining: match ability.duration {
                AbilityDuration::For(time) => Some(time),
                AbilityDuration::Instant | AbilityDuration::Held => None,
            },
            aim,
            is_committed: ability.commit == CommitPolicy::AtOnce,
            given: Given {
                tags: ability.grants.clone(),
                cues: ability.cues.active.iter().copied().collect(),
                origin,
            },
        });
        let info = AbilityInfo::of(granted);
        push(out, AbilityOutput::Activated { info, aim });
    }

    /// Ends an ability. Gives whether it was active.
    pub fn end(&mut self, id: AbilityId, why: AbilityEnd, out: &mut Outputs) -> bool {
        let Some(at) = self.abilities.position(id) else {
            return false;
        };
        let granted = &mut self.abilities.granted[at];
        let Some(activity) = granted.activity.take() else {
            return false;
        };
        self.bearer.tags.remove_all(&activity.given.tags);
        out.fire(&activity.given.cues, CueAct::Remove, activity.given.origin);
        let info = AbilityInfo::of(granted);
        push(out, AbilityOutput::Ended { info, why });
        true
    }

    /// Pays for an active ability, or says why not; then nothing has changed.
    pub fn commit(
        &mut self,
        books: Books,
        id: AbilityId,
        limits: ActorLimits,
        out: &mut Outputs,
    ) -> Result<(), AbilityRefused> {
        let (granted, _) = self.find(books, id)?;
        match &granted.activity {
            None => return Err(AbilityRefused::NotActive),
            Some(activity) if activity.is_committed => return Err(AbilityRefused::Committed),
            Some(_) => self.pay(books, id, limits, out)?,
        }
        let at = self.abilities.position(id);
        if let Some(activity) = at.and_then(|at| self.abilities.granted[at].activity.as_mut()) {
            activity.is_committed = true;
        }
        Ok(())
    }

    fn pay(
        &mut self,
        books: Books,
        id: AbilityId,
        limits: ActorLimits,
        out: &mut Outputs,
    ) -> Result<(), AbilityRefused> {
        let (granted, ability) = self.find(books, id)?;
        let costs = self.check_payment(granted, ability)?;
        let info = AbilityInfo::of(granted);
        if let Some(effect) = &ability.cost_effect {
            let spec = EffectSpec::new(effect.clone()).level(info.level).from(self.entity);
            self.apply_to_self(books, &spec, limits, out)
                .map_err(AbilityRefused::CostEffect)?;
        }
        if let Some(attributes) = self.bearer.attributes.as_deref_mut() {
            for (attribute, amount) in costs {
                attributes.change_base(attribute, Operation::Add, -amount, 1);
            }
        }
        if let Some(cooldown) = &ability.cooldown {
            self.bearer.tags.add_all(&cooldown.tags);
            self.abilities.cooldowns.push(RunningCooldown {
                ability: id,
                tags: cooldown.tags.clone(),
                remaining: cooldown.time,
                total: cooldown.time,
            });
        }
        push(out, AbilityOutput::Committed(info));
        Ok(())
    }

    fn apply_to_self(
        &mut self,
        books: Books,
        spec: &EffectSpec,
        limits: ActorLimits,
        out: &mut Outputs,
    ) -> Result<(), EffectRefused> {
        let own = self.bearer.attributes.as_deref();
        let magnitudes = magnitudes_of(books.effects, spec, own, own)?;
        let applied = self.bearer.apply(books.effects, spec, magnitudes, limits.effects, out);
        applied.map(drop)
    }

    /// Ends the cooldowns that hold an ability back. Gives whether there were any.
    pub fn reset_cooldown(&mut self, books: Books, id: AbilityId, out: &mut Outputs) -> bool {
        let Ok((_, ability)) = self.find(books, id) else {
            return false;
        };
        let mut found = false;
        while let Some(running) = self.abilities.cooldown_of(id, ability) {
            let (of, tags) = (running.ability, running.tags.clone());
            self.end_cooldowns(|running| running.ability == of && running.tags == tags, out);
            found = true;
        }
        found
    }

    fn end_cooldowns(&mut self, is_over: impl Fn(&RunningCooldown) -> bool, out: &mut Outputs) {
        let tags = &mut *self.bearer.tags;
        self.abilities.cooldowns.retain(|running| {
            let stays = !is_over(running);
            if !stays {
                tags.remove_all(&running.tags);
                push(out, AbilityOutput::CooldownOver(running.ability));
            }
            stays
        });
    }

    /// Time passes: cooldowns, then what ends, then what begins by itself.
    pub fn tick(&mut self, books: Books, passed: Duration, limits: ActorLimits, out: &mut Outputs) {
        for running in &mut self.abilities.cooldowns {
            running.remaining = running.remaining.saturating_sub(passed);
        }
        self.end_cooldowns(|running| running.remaining.is_zero(), out);
        for at in 0..self.abilities.granted.len() {
            let granted = &mut self.abilities.granted[at];
            let (id, ability) = (granted.id, books.abilities.get(granted.spec.ability.id()));
            let Some(activity) = &mut granted.activity else {
                if ability.is_some_and(|ability| ability.activation == ActivationPolicy::Always) {
                    // Where something stands against it, it tries again.
                    let _ = self.activate(books, id, Aim::default(), limits, out);
                }
                continue;
            };
            let interrupts = ability.and_then(|ability| self.bearer.tags.first_of(&ability.interrupted_by));
            activity.remaining = activity.remaining.map(|time| time.saturating_sub(passed));
            if let Some(tag) = interrupts {
                self.end(id, AbilityEnd::Interrupted(tag), out);
            } else if activity.remaining == Some(Duration::ZERO) {
                self.end(id, AbilityEnd::Finished, out);
            }
        }
    }
}

/// What can be spent of an attribute without falling below its least value; passing modifiers cannot be spent.
fn spendable(attributes: &Attributes, name: GameplayTag) -> Option<f32> {
    let attribute = attributes.get(name)?;
    let least = attributes.least(name).unwrap_or_default();
    Some((attribute.base().min(attribute.current()) - least).max(0.0))
}

fn push(out: &mut Outputs, output: AbilityOutput) {
    out.push(Output::Ability(output));
}

fn origin(entity: Entity, granted: &GrantedAbility, aim: Aim) -> CueOrigin {
    CueOrigin {
        instigator: Some(entity),
        source: granted.spec.source.or(Some(entity)),
        level: granted.spec.level,
        location: aim.location,
        ..CueOrigin::default()
    }
}
