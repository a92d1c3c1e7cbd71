//! Abilities as authors write them. See [`Ability`].

use core::time::Duration;

use bevy_asset::{Asset, Handle, LoadContext, VisitAssetDependencies};
use bevy_reflect::{Reflect, std_traits::ReflectDefault};
use serde::Deserialize;

use crate::{
    Effect, FiredCues, GameplayTag, Magnitude, TagRequirements, TagSet,
    effect::seconds,
    ron_file::{Checked, DefinitionError, FromRon},
};

/// The ending of sources of [`Ability`]s, without the first dot.
pub const ABILITY_EXTENSION: &str = "ability.ron";
/// How many costs an ability may have.
pub const MAX_COSTS: usize = 16;
/// How many effects an ability may name.
pub const MAX_NAMED_EFFECTS: usize = 64;

/// How long an ability is active.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[reflect(Default, Clone, Debug, PartialEq)]
pub enum AbilityDuration {
    /// It is over at once: it is not active any more when observers hear of its activation, and of its end right after that. So it grants and blocks nothing,
    /// and has no active cues.
    #[default]
    Instant,
    /// So long, unless it is ended before; in RON seconds: `For(2.5)`.
    For(#[serde(with = "seconds")] Duration),
    /// Until game code ends it.
    Held,
}

/// Who activates an ability.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[reflect(Default, Clone, Debug, PartialEq)]
pub enum ActivationPolicy {
    /// Game code.
    #[default]
    Asked,
    /// It activates itself as soon as nothing stands against it, again and again: an aura.
    Always,
}

/// When costs are paid, and the cooldown begins.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[reflect(Default, Clone, Debug, PartialEq)]
pub enum CommitPolicy {
    /// With the activation.
    #[default]
    AtOnce,
    /// When game code says so: when the arrow leaves the bow.
    Asked,
}

/// What becomes of an ability that is activated while it is active.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[reflect(Default, Clone, Debug, PartialEq)]
pub enum WhileActive {
    /// That is refused.
    #[default]
    Refuse,
    /// It is cancelled and begins anew.
    Restart,
}

/// What an ability takes of an attribute of its owner. It is refused where that would fall below its least value, or below zero if it has none.
#[derive(Reflect, Clone, Debug, PartialEq, Deserialize)]
#[reflect(Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Cost {
    /// Which attribute.
    pub attribute: GameplayTag,
    /// How much of its base; what is below zero costs nothing. [`Magnitude::Given`] says nothing here.
    pub amount: Magnitude,
}

/// How long an ability cannot be used after it was.
#[derive(Reflect, Clone, Debug, PartialEq, Eq, Deserialize)]
#[reflect(Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Cooldown {
    /// How long; in RON seconds.
    #[serde(with = "seconds")]
    pub time: Duration,
    /// Tags that the owner has meanwhile. Abilities that share one of them share the cooldown.
    #[serde(default)]
    pub tags: TagSet,
}

/// An effect that an ability applies; when and to whom is for the game's code to say.
#[derive(Reflect, VisitAssetDependencies, Clone, Debug, PartialEq)]
#[reflect(Clone, Debug, PartialEq)]
pub struct NamedEffect {
    /// What the code calls it.
    pub name: String,
    /// The effect. It is loaded with the ability.
    #[dependency]
    pub effect: Handle<Effect>,
}

/// Something that an entity can do. What it does is said by observers of [`AbilityActivated`](crate::AbilityActivated); when it can be done, what it
/// costs and what it stands in the way of is said here.
///
/// Registries tell its tags under the key `ability`, and the cues that it fires under `ability.cue`: what an
/// [`ObjectScan`](seamless_asset::ObjectScan) finds it by without loading it.
///
/// Authors write one as `*.ability.ron`; everything may be left out, and paths are relative to the file:
///
/// ```text
/// // spells/fireball.ability.ron
/// (
///     tags: ["Ability.Spell.Fireball"],
///     activate_if: (forbid: ["State.Silenced"]),
///     cancels: ["Ability.Stealth"],
///     blocks: ["Ability.Spell"],          // while it is active
///     grants: ["State.Casting"],          // the same
///     interrupted_by: ["State.Stunned"],
///     costs: [(attribute: "Attribute.Mana", amount: Scaled(base: 20.0, per_level: 5.0))],
///     cooldown: (time: 4.0, tags: ["Cooldown.Fireball"]),
///     duration: For(0.8),
///     effects: [(name: "burn", effect: "burn.effect.ron")],
///     cues: (active: ["Cue.Casting"], executed: ["Cue.Cast.Fire"]),
/// )
/// ```
#[derive(Asset, Reflect, Clone, Debug, Default, PartialEq)]
#[reflect(Default, Clone, Debug, PartialEq)]
pub struct Ability {
    /// What it is, for others to cancel and to block it, and to ask for it.
    pub tags: TagSet,
    /// What it takes to activate it.
    pub activate_if: TagRequirements,
    /// Active abilities of the owner with one of these tags are cancelled when it is activated.
    pub cancels: TagSet,
    /// While it is active, abilities of the owner with one of these tags cannot be activated. Not for an instant one.
    pub blocks: TagSet,
    /// Tags that the owner has while it is active. Not for an instant one.
    pub grants: TagSet,
    /// It ends when the owner has one of these, and can be neither activated nor committed while it has.
    pub interrupted_by: TagSet,
    /// What it takes.
    pub costs: Vec<Cost>,
    /// An effect on the owner that comes with the costs. Where it cannot be applied, the ability is refused.
    #[dependency]
    pub cost_effect: Option<Handle<Effect>>,
    /// How long it cannot be used again.
    pub cooldown: Option<Cooldown>,
    /// How long it is active.
    pub duration: AbilityDuration,
    /// Who activates it.
    pub activation: ActivationPolicy,
    /// When it costs.
    pub commit: CommitPolicy,
    /// What becomes of it when it is activated while it is active.
    pub while_active: WhileActive,
    /// What it applies.
    #[dependency]
    pub effects: Vec<NamedEffect>,
    /// The cues that it fires.
    pub cues: FiredCues,
}

impl Ability {
    /// The effect of this name.
    #[must_use]
    pub fn effect(&self, name: &str) -> Option<&Handle<Effect>> {
        let mut effects = self.effects.iter();
        effects.find(|effect| effect.name == name).map(|effect| &effect.effect)
    }
}

/// An ability as its file has it.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct AbilitySource {
    tags: TagSet,
    activate_if: TagRequirements,
    cancels: TagSet,
    blocks: TagSet,
    grants: TagSet,
    interrupted_by: TagSet,
    costs: Vec<Cost>,
    cost_effect: Option<String>,
    cooldown: Option<Cooldown>,
    duration: AbilityDuration,
    activation: ActivationPolicy,
    commit: CommitPolicy,
    while_active: WhileActive,
    effects: Vec<NamedSource>,
    cues: FiredCues,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NamedSource {
    name: String,
    effect: String,
}

impl Checked for AbilitySource {
    fn fault(&self) -> Option<String> {
        let names = self.effects.iter().map(|effect| effect.name.as_str());
        let policy = policy_fault(self.duration, self.commit, self.activation, self.cooldown.is_some());
        policy
            .or_else(|| interrupts_itself(&self.grants, &self.interrupted_by))
            .or_else(|| instant_fault(self.duration, &self.grants, &self.blocks, &self.cues))
            .or_else(|| fault(&self.costs, names, &self.cues))
    }
}

impl Checked for Ability {
    fn fault(&self) -> Option<String> {
        let is_time = |time: Duration| seconds::is_time(time);
        let has_bad_time = matches!(self.duration, AbilityDuration::For(time) if !is_time(time))
            || self.cooldown.as_ref().is_some_and(|cooldown| !is_time(cooldown.time));
        if has_bad_time {
            return Some("a time is not from 0.001 to 40000000 seconds".to_owned());
        }
        let names = self.effects.iter().map(|effect| effect.name.as_str());
        let policy = policy_fault(self.duration, self.commit, self.activation, self.cooldown.is_some());
        policy
            .or_else(|| interrupts_itself(&self.grants, &self.interrupted_by))
            .or_else(|| instant_fault(self.duration, &self.grants, &self.blocks, &self.cues))
            .or_else(|| fault(&self.costs, names, &self.cues))
    }
}

fn policy_fault(
    duration: AbilityDuration,
    commit: CommitPolicy,
    activation: ActivationPolicy,
    has_cooldown: bool,
) -> Option<String> {
    let is_instant = duration == AbilityDuration::Instant;
    if is_instant && commit == CommitPolicy::Asked {
        return Some("an instant ability commits at once; give it a duration".to_owned());
    }
    let is_endless = is_instant && activation == ActivationPolicy::Always && !has_cooldown;
    is_endless.then(|| "an instant ability that activates itself needs a cooldown".to_owned())
}

/// What is over at once has nothing meanwhile.
fn instant_fault(duration: AbilityDuration, grants: &TagSet, blocks: &TagSet, cues: &FiredCues) -> Option<String> {
    let has_nothing = grants.is_empty() && blocks.is_empty() && cues.active.is_empty();
    let is_fine = duration != AbilityDuration::Instant || has_nothing;
    let fault = "an instant ability grants and blocks nothing, and has no active cues; give it a duration";
    (!is_fine).then(|| fault.to_owned())
}

fn interrupts_itself(grants: &TagSet, interrupted_by: &TagSet) -> Option<String> {
    let own = grants
        .iter()
        .find(|own| interrupted_by.iter().any(|tag| own.is_a(tag)))?;
    Some(format!("it grants `{own}`, and so interrupts itself"))
}

fn fault<'a>(costs: &[Cost], names: impl ExactSizeIterator<Item = &'a str>, cues: &FiredCues) -> Option<String> {
    if costs.len() > MAX_COSTS {
        return Some(format!("{} costs; {MAX_COSTS} are possible", costs.len()));
    }
    if names.len() > MAX_NAMED_EFFECTS {
        return Some(format!("{} effects; {MAX_NAMED_EFFECTS} are possible", names.len()));
    }
    for (index, cost) in costs.iter().enumerate() {
        let attribute = cost.attribute;
        if costs[..index].iter().any(|other| other.attribute == attribute) {
            return Some(format!("it costs `{attribute}` twice; add that up"));
        }
        if let Magnitude::Given(name) = cost.amount {
            return Some(format!("a cost cannot be `Given(\"{name}\")`: nobody gives it"));
        }
        if let Some(fault) = cost.amount.fault() {
            return Some(format!("the cost of `{attribute}`: {fault}"));
        }
    }
    let mut seen = Vec::new();
    for name in names {
        if seen.contains(&name) {
            return Some(format!("two effects are called \"{name}\""));
        }
        seen.push(name);
    }
    cues.fault()
}

/// Loads what a file refers to, by a path relative to it.
fn refer<A: Asset>(path: &str, context: &mut LoadContext) -> Result<Handle<A>, DefinitionError> {
    let full = context.path().resolve_embed_str(path);
    let full = full.map_err(|cause| DefinitionError::Path {
        path: path.to_owned(),
        cause,
    })?;
    Ok(context.load(full))
}

impl FromRon for Ability {
    type Source = AbilitySource;
    const EXTENSION: &'static str = ABILITY_EXTENSION;

    fn from_source(source: AbilitySource, context: &mut LoadContext) -> Result<Self, DefinitionError> {
        let cost_effect = source.cost_effect.map(|path| refer(&path, context));
        let effects = source.effects.into_iter().map(|NamedSource { name, effect }| {
            let effect = refer(&effect, context)?;
            Ok(NamedEffect { name, effect })
        });
        let effects = effects.collect::<Result<_, DefinitionError>>()?;
        Ok(Self {
            tags: source.tags,
            activate_if: source.activate_if,
            cancels: source.cancels,
            blocks: source.blocks,
            grants: source.grants,
            interrupted_by: source.interrupted_by,
            costs: source.costs,
            cost_effect: cost_effect.transpose()?,
            cooldown: source.cooldown,
            duration: source.duration,
            activation: source.activation,
            commit: source.commit,
            while_active: source.while_active,
            effects,
            cues: source.cues,
        })
    }
}
