//! What came of a change, to be told to observers afterwards.

use bevy_asset::Handle;
use bevy_ecs::entity::Entity;
use bevy_reflect::Reflect;
use smallvec::SmallVec;

use super::{ActiveEffect, AppliedModifier, Effect, EffectId, EffectRefused, EffectSpec};
use crate::{CueAct, CueOrigin, GameplayTag, ability::AbilityOutput};

/// Which effect an event is about.
#[derive(Reflect, Clone, Debug, PartialEq)]
#[reflect(Clone, Debug, PartialEq)]
pub struct EffectInfo {
    /// Names it on its entity; `None` of an instant one.
    pub id: Option<EffectId>,
    /// Its definition.
    pub effect: Handle<Effect>,
    /// As it was applied.
    pub level: f32,
    /// What it comes from.
    pub source: Option<Entity>,
    /// Who has brought it about.
    pub instigator: Option<Entity>,
    /// How often it is there.
    pub stacks: u32,
    /// What it does to attributes, with one stack; nothing where it was refused.
    pub modifiers: SmallVec<[AppliedModifier; 2]>,
}

/// What an execution has made of an attribute's base.
#[derive(Reflect, Clone, Copy, Debug, PartialEq)]
#[reflect(Clone, Debug, PartialEq)]
pub struct BaseChange {
    /// Which attribute.
    pub attribute: GameplayTag,
    /// What its base was.
    pub old: f32,
    /// What it is, within the bounds.
    pub new: f32,
}

impl EffectInfo {
    /// Of an effect that is to be applied.
    pub(crate) fn of(spec: &EffectSpec) -> Self {
        Self {
            id: None,
            effect: spec.effect.clone(),
            level: spec.level,
            source: spec.source,
            instigator: spec.instigator,
            stacks: 1,
            modifiers: SmallVec::new(),
        }
    }

    /// Of one that lasts.
    pub(crate) fn of_active(active: &ActiveEffect) -> Self {
        Self {
            id: Some(active.id),
            stacks: active.stacks,
            modifiers: active.modifiers.clone(),
            ..Self::of(&active.spec)
        }
    }
}

/// What cues of an effect say of it.
pub(crate) fn origin(spec: &EffectSpec, modifiers: &[AppliedModifier], stacks: u32) -> CueOrigin {
    CueOrigin {
        instigator: spec.instigator,
        source: spec.source,
        level: spec.level,
        magnitude: modifiers.first().map_or(0.0, |first| first.magnitude) * stacks as f32,
        location: spec.location,
        normal: spec.normal,
    }
}

/// Why an effect is not there any more.
#[derive(Reflect, Clone, Copy, Debug, PartialEq, Eq)]
#[reflect(Clone, Debug, PartialEq)]
pub enum Removal {
    /// Its time was over.
    Expired,
    /// It was taken away, by game code or by another effect.
    Removed,
    /// Its definition was taken out of `Assets`.
    Gone,
}

/// Something to tell.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Output {
    Applied(EffectInfo),
    Executed {
        info: EffectInfo,
        changes: SmallVec<[BaseChange; 2]>,
    },
    Periodic {
        info: EffectInfo,
        changes: SmallVec<[BaseChange; 2]>,
    },
    Stacked {
        info: EffectInfo,
        old: u32,
    },
    Removed {
        info: EffectInfo,
        why: Removal,
    },
    Inhibited {
        info: EffectInfo,
        is_inhibited: bool,
    },
    Cue {
        tag: GameplayTag,
        kind: CueAct,
        origin: CueOrigin,
    },
    /// What a command was to apply.
    Rejected {
        info: EffectInfo,
        refused: EffectRefused,
    },
    Ability(AbilityOutput),
}

impl Output {
    /// The event by which it is told.
    pub fn event(&self) -> &'static str {
        match self {
            Self::Applied(_) => "EffectApplied",
            Self::Executed { .. } => "EffectExecuted",
            Self::Periodic { .. } => "EffectPeriodic",
            Self::Stacked { .. } => "EffectStacked",
            Self::Removed { .. } => "EffectRemoved",
            Self::Inhibited { .. } => "EffectInhibited",
            Self::Cue { .. } => "AbilityCue",
            Self::Rejected { .. } => "EffectRejected",
            Self::Ability(output) => output.event(),
        }
    }
}

/// All that is to tell of one entity, in its order, and what is only counted.
#[derive(Default, Debug)]
pub(crate) struct Outputs {
    pub list: Vec<Output>,
    pub periods_dropped: u64,
    pub unsettled: u32,
    /// Tags of effects that inhibit each other in a circle.
    pub circle: Vec<GameplayTag>,
    /// Attributes are others, without anything to tell.
    pub has_new_values: bool,
}

impl Outputs {
    pub fn push(&mut self, output: Output) {
        self.list.push(output);
    }

    /// Fires cues.
    pub fn fire(&mut self, tags: &[GameplayTag], kind: CueAct, origin: CueOrigin) {
        for tag in tags {
            let tag = *tag;
            self.push(Output::Cue { tag, kind, origin });
        }
    }
}
