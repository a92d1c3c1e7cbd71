//! Effects as authors write them. See [`Effect`].

use core::time::Duration;

use bevy_asset::Asset;
use bevy_reflect::{Reflect, std_traits::ReflectDefault};
use serde::{Deserialize, Serialize};

use super::{
    magnitude::{Magnitude, Modifier},
    seconds,
};
use crate::{GameplayTag, Operation, OwnedTags, TagSet, ron_file::Checked};

/// How many modifiers an effect may have.
pub const MAX_MODIFIERS: usize = 64;
/// How many cues an effect or an ability may fire of each kind.
pub const MAX_CUES: usize = 16;
/// How many stacks any effect may have; a plugin's own limit is
/// [`AbilityPlugin::max_stacks`](crate::AbilityPlugin::max_stacks).
pub const MAX_STACKS: u32 = 65_535;

/// How long an effect lasts.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[reflect(Default, Clone, Debug, PartialEq)]
pub enum EffectDuration {
    /// It changes the bases of attributes for good, and is over.
    #[default]
    Instant,
    /// So long; in RON seconds: `For(2.5)`.
    For(#[serde(with = "seconds")] Duration),
    /// Until it is removed.
    Infinite,
}

/// When an effect that lasts is executed anew: each time its modifiers change bases as those of an instant effect.
#[derive(Reflect, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[reflect(Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Period {
    /// The time between two executions; in RON seconds. An effect that is over in the moment of one is executed once more.
    #[serde(with = "seconds")]
    pub every: Duration,
    /// Whether it is executed when it is applied, too. Default: no.
    #[serde(default)]
    pub at_once: bool,
}

/// Whose effects are put together.
#[derive(Reflect, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[reflect(Clone, Debug, PartialEq)]
pub enum StackBy {
    /// Those from one source; each source has a stack of its own on the target.
    Source,
    /// All on one target.
    Target,
}

/// What becomes of the time when a stack is added.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[reflect(Default, Clone, Debug, PartialEq)]
pub enum Restart {
    /// It begins anew.
    #[default]
    Restart,
    /// It goes on.
    Keep,
}

/// What is over when the time of a stack is.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[reflect(Default, Clone, Debug, PartialEq)]
pub enum Expiry {
    /// All of it.
    #[default]
    All,
    /// One stack; the others begin anew.
    OneStack,
}

/// What becomes of an effect that is applied again while it lasts. Without stacking there are two effects then.
#[derive(Reflect, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[reflect(Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Stacking {
    /// Whose are put together.
    pub by: StackBy,
    /// The most stacks. Applied once more, the effect stays at it, and its times are treated as with a new stack.
    pub limit: u32,
    /// What becomes of the duration. Default: it begins anew.
    #[serde(default)]
    pub duration: Restart,
    /// What becomes of the time to the next execution. Default: it begins anew.
    #[serde(default)]
    pub period: Restart,
    /// What is over when the duration is. Default: all stacks.
    #[serde(default)]
    pub expires: Expiry,
}

/// What tags an entity must have, and must not have.
#[derive(Reflect, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[reflect(Default, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct TagRequirements {
    /// All of these, or kinds of them.
    pub require: TagSet,
    /// None of these, nor kinds of them.
    pub forbid: TagSet,
}

impl TagRequirements {
    /// Whether an entity with these tags is fine.
    #[must_use]
    pub fn are_met_by(&self, tags: &OwnedTags) -> bool {
        tags.first_missing(&self.require).is_none() && tags.first_of(&self.forbid).is_none()
    }
}

/// The cues of an effect or an ability.
#[derive(Reflect, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[reflect(Default, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct FiredCues {
    /// Added when it begins to work, removed when it ends or is inhibited.
    pub active: Vec<GameplayTag>,
    /// Executed at once: for an instant effect, at each period, or at the activation of an ability.
    pub executed: Vec<GameplayTag>,
}

/// What is done to an entity, at once or for a time: damage, a poison, a blessing, a stun.
///
/// Registries tell its tags under the key `effect`, what it grants under `effect.grants`, and the cues that it fires under `effect.cue`.
///
/// Authors write one as `*.effect.ron`; everything may be left out:
///
/// ```text
/// // spells/burn.effect.ron
/// (
///     tags: ["Effect.Fire"],
///     duration: For(3.0),
///     period: (every: 0.5, at_once: true),
///     modifiers: [(
///         attribute: "Attribute.Health",
///         operation: Add,
///         magnitude: Attribute(of: Source, attribute: "Attribute.Fire", factor: -2.0),
///     )],
///     stacking: (by: Target, limit: 5, expires: OneStack),
///     grants: ["State.Burning"],
///     apply_if: (forbid: ["State.Wet"]),
///     works_if: (forbid: ["State.Immune"]),
///     removes: ["Effect.Frost"],
///     cues: (active: ["Cue.Burning"], executed: ["Cue.Hit.Fire"]),
/// )
/// ```
///
/// Without a period, the modifiers of an effect that lasts are at work as long as it is, and leave no trace; with one, and of an instant effect, they
/// change bases for good.
#[derive(Asset, Reflect, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[reflect(Default, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct Effect {
    /// What it is, for others to remove it, to block it, and to ask for it.
    pub tags: TagSet,
    /// How long it lasts.
    pub duration: EffectDuration,
    /// When it is executed anew. Not for an instant one.
    pub period: Option<Period>,
    /// What it does to attributes.
    pub modifiers: Vec<Modifier>,
    /// What becomes of it when it is applied again. Not for an instant one.
    pub stacking: Option<Stacking>,
    /// Tags that the target has while it works. Not for an instant one.
    pub grants: TagSet,
    /// What it takes to be applied.
    pub apply_if: TagRequirements,
    /// While this is not so, it is there and does nothing: its time goes on, and what of it falls into that time is lost. Not for an instant one. Effects
    /// that keep each other from working in a circle, each by a tag that it gives, come to no rest: then some of them do nothing though they could, always
    /// the same ones, and the log says so.
    pub works_if: TagRequirements,
    /// Effects with one of these among their [`tags`](Self::tags) or [`grants`](Self::grants) are removed when this one is applied.
    pub removes: TagSet,
    /// While it works, effects with one of these [`tags`](Self::tags) cannot be applied.
    pub blocks: TagSet,
    /// The cues that it fires.
    pub cues: FiredCues,
}

impl Effect {
    /// Whether it is over at once.
    #[must_use]
    pub fn is_instant(&self) -> bool {
        self.duration == EffectDuration::Instant
    }

    /// Whether it is, or gives, a kind of one of these.
    pub(crate) fn is_any_of(&self, tags: &TagSet) -> bool {
        self.tags.has_any(tags) || self.grants.has_any(tags)
    }

    fn timing_fault(&self) -> Option<String> {
        let is_time = |time: Duration| seconds::is_time(time);
        if self.is_instant() && (self.period.is_some() || self.stacking.is_some()) {
            return Some("an instant effect has no period and no stacking; give it a duration".to_owned());
        }
        if self.is_instant() && !(self.grants.is_empty() && self.cues.active.is_empty() && self.blocks.is_empty()) {
            return Some("an instant effect grants and blocks nothing, and has no active cues".to_owned());
        }
        if self.is_instant() && self.works_if != TagRequirements::default() {
            return Some("an instant effect has no `works_if`; write `apply_if`, or give it a duration".to_owned());
        }
        if matches!(self.duration, EffectDuration::For(time) if !is_time(time))
            || self.period.is_some_and(|period| !is_time(period.every))
        {
            return Some("a time is not from 0.001 to 40000000 seconds".to_owned());
        }
        let stacking = self.stacking?;
        let is_fine = (1..=MAX_STACKS).contains(&stacking.limit);
        (!is_fine).then(|| format!("a limit of {} stacks; 1 to {MAX_STACKS} are possible", stacking.limit))
    }
}

impl FiredCues {
    /// What is wrong with them, if anything is.
    pub(crate) fn fault(&self) -> Option<String> {
        let most = self.active.len().max(self.executed.len());
        (most > MAX_CUES).then(|| format!("{most} cues of one kind; {MAX_CUES} are possible"))
    }
}

impl Checked for Effect {
    fn fault(&self) -> Option<String> {
        if self.modifiers.len() > MAX_MODIFIERS {
            let count = self.modifiers.len();
            return Some(format!("{count} modifiers; {MAX_MODIFIERS} are possible"));
        }
        if let Some(own) = self.grants.iter().find(|own| self.forbids_itself(*own)) {
            return Some(format!("it grants `{own}`, with which it does not work"));
        }
        let mut modifiers = (1..).zip(&self.modifiers);
        self.timing_fault()
            .or_else(|| self.cues.fault())
            .or_else(|| modifiers.find_map(|(nth, modifier)| modifier_fault(nth, modifier)))
    }
}

/// What is wrong with the modifier that is the nth from 1, if anything is.
fn modifier_fault(nth: usize, modifier: &Modifier) -> Option<String> {
    let divides_by_zero = modifier.operation == Operation::Divide && modifier.magnitude == Magnitude::Constant(0.0);
    let fault = match divides_by_zero {
        true => Some("it divides by zero".to_owned()),
        false => modifier.magnitude.fault(),
    };
    fault.map(|fault| format!("modifier {nth}, of `{}`: {fault}", modifier.attribute))
}

impl Effect {
    fn forbids_itself(&self, own: GameplayTag) -> bool {
        self.works_if.forbid.iter().any(|tag| own.is_a(tag))
    }
}
