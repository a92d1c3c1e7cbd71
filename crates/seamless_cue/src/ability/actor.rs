//! What becomes of an entity's abilities: pure, of what it has, what is asked, and the time that has passed.

use bevy_asset::Assets;
use bevy_ecs::entity::Entity;
use smallvec::SmallVec;

use super::{
    Abilities, Ability, AbilityDuration, AbilityEnd, AbilityId, AbilityInfo, AbilityOutput, AbilityRefused,
    AbilitySpec, Aim, CommitPolicy, GrantId, GrantedAbility, RunningCooldown, abilities::Activity, check::ActorView,
};
use crate::{
    CueAct, CueOrigin, Effect, EffectRefused, EffectSpec, Operation,
    effect::{Bearer, EffectLimits, Given, Output, Outputs, Timer, modifiers_of},
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

impl Actor<'_> {
    /// To look at.
    pub fn view(&self) -> ActorView<'_> {
        ActorView {
            entity: self.entity,
            body: self.bearer.view(),
            abilities: self.abilities,
        }
    }

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
        self.end_cooldowns(|running| running.ability == id && running.tags.is_empty(), out);
        push(out, AbilityOutput::Revoked(AbilityInfo::of(&granted)));
        true
    }

    /// Takes away everything: abilities, cooldowns, effects.
    pub fn clear(&mut self, out: &mut Outputs) {
        self.clear_abilities(out);
        self.bearer.clear(out);
    }

    pub fn clear_abilities(&mut self, out: &mut Outputs) {
        while let Some(granted) = self.abilities.granted.first() {
            self.revoke(granted.id, out);
        }
        self.end_cooldowns(|_| true, out);
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

    /// Activates an ability, or says why not; then nothing has changed.
    pub fn activate(
        &mut self,
        books: Books,
        id: AbilityId,
        aim: Aim,
        limits: ActorLimits,
        out: &mut Outputs,
    ) -> Result<(), AbilityRefused> {
        self.view().check(books, id, limits)?;
        let (_, ability) = self.view().find(books, id)?;
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
                AbilityDuration::For(time) => Some(Timer::new(time, self.bearer.ahead)),
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
        let (granted, ability) = self.view().find(books, id)?;
        match &granted.activity {
            None => return Err(AbilityRefused::NotActive),
            Some(activity) if activity.is_committed => return Err(AbilityRefused::Committed),
            Some(_) => {}
        }
        // A loose tag interrupts it in the next step only.
        if let Some(tag) = self.bearer.tags.first_of(&ability.interrupted_by) {
            return Err(AbilityRefused::ForbiddenTag(tag));
        }
        self.pay(books, id, limits, out)?;
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
        let view = self.view();
        let (granted, ability) = view.find(books, id)?;
        let costs = view.check_payment(books, granted, ability, limits)?;
        let info = AbilityInfo::of(granted);
        if let Some(spec) = view.cost_effect(granted, ability) {
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
                wait: self.bearer.ahead,
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
        let modifiers = modifiers_of(books.effects, spec, own, own)?;
        let applied = self.bearer.apply(books.effects, spec, modifiers, limits.effects, out);
        applied.map(drop)
    }

    /// Ends the cooldowns that hold an ability back. Gives whether there were any.
    pub fn reset_cooldown(&mut self, books: Books, id: AbilityId, out: &mut Outputs) -> bool {
        let Ok((_, ability)) = self.view().find(books, id) else {
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

    pub(super) fn end_cooldowns(&mut self, is_over: impl Fn(&RunningCooldown) -> bool, out: &mut Outputs) {
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
