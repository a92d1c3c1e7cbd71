//! Dialogue: levels get few of the variants of a set each, and others than other levels. See [`limit`].
//!
//! A set whose variants are limited is another object in each level, which refers to that level's sounds only. So is whatever leads to it there:
//! the level's own component, or an asset between the two, is to find this one. All of these lie in the level's package. The sounds are
//! what they are, and shared like other objects; those that no level got are not cooked into any package. What a level has, its entities'
//! bytes, stays what it is: its references become others when its package is written ([`OwnKeys`]).

mod deal;
mod sets;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeSet;

use seamless_asset::dialogue::{StoredVariant, read_variants, stores_variants, write_variants};
use seamless_package::{Codec, Packed, Role};
use serde::{Deserialize, Serialize};

use self::sets::{Sets, Step};
use crate::assets::{AssetKey, AssetName, ByKey, EncodedObject, ObjectRecord, ObjectSize, Objects};
use crate::graph::blob::Stored;
use crate::graph::cache::Cache;
use crate::graph::digest::Parts;
use crate::graph::state::LevelUnit;
use crate::plan::WorldPlan;
use crate::report::{ContentError, DialogueReport};
use crate::settings::fits;
use crate::write::{Stop, load};

/// How many variants come with a level, for some sets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DialogueLimit {
    /// Which sets: paths relative to the asset root. `*` stands for any letters, `?` for any one.
    pub sets: String,
    /// How many variants of each come with the level at most; at least one.
    pub max_variants: u32,
}

/// The most limits for some sets that a level may have.
pub(crate) const MOST_LIMITS: usize = 1024;

/// How many variants of sets come with one level.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct DialogueLimits {
    pub of_all: Option<u32>,
    pub of_some: Vec<DialogueLimit>,
}

impl DialogueLimits {
    /// What the types do not say: object, and what is wrong with it.
    pub fn faults(&self) -> Vec<String> {
        let some = self.of_some.iter();
        let zero = some.clone().any(|limit| limit.max_variants == 0) || self.of_all == Some(0);
        let mut faults = Vec::new();
        if some.len() > MOST_LIMITS {
            faults.push(format!(
                "its `dialogue` has {} entries; {MOST_LIMITS} are possible, use patterns with `*`",
                some.len()
            ));
        }
        if zero {
            faults
                .push("its `max_variants` of 0 leaves nothing to say; write at least 1, or remove the set".to_owned());
        }
        if some.clone().any(|limit| limit.sets.is_empty()) {
            faults.push("its `dialogue` has an entry for no `sets`; write a path or a pattern".to_owned());
        }
        faults
    }

    fn is_none(&self) -> bool {
        self.of_all.is_none() && self.of_some.is_empty()
    }

    /// How many variants of the set with this path come with the level at most. Of several limits that fit, the last one counts.
    fn of(&self, set: &str) -> Option<usize> {
        let own = self.of_some.iter().rfind(|limit| fits(&limit.sets, set));
        let max = own.map(|limit| limit.max_variants).or(self.of_all)?;
        usize::try_from(max).ok()
    }
}

/// Levels as they are written, and the objects that exist for one level only.
pub(crate) struct Limited<'a> {
    pub units: Vec<Cow<'a, LevelUnit>>,
    /// In the order of the plan: what stands for objects in each level.
    pub own: Vec<OwnKeys>,
    pub objects: Objects,
    /// The sets among them. They are in no cache: each is made from the whole one whenever it is needed.
    pub sets: ByKey<EncodedObject>,
    pub report: Vec<DialogueReport>,
    pub warnings: Vec<ContentError>,
}

/// What is cooked, before variants are limited.
pub(crate) struct Input<'a> {
    pub plan: &'a WorldPlan,
    /// In the order of the plan.
    pub units: &'a [&'a LevelUnit],
    pub objects: &'a Objects,
    /// The index of the startup content, which has its sets whole: all of them are in memory anyway.
    pub startup: Option<&'a AssetKey>,
    /// Whom the packages are for: a set that none of them needs is not limited.
    pub roles: Role,
    pub cache: &'a Cache<'a>,
    /// How packages store data.
    pub codec: Codec,
}

/// What stands for objects in one level, because they lead to a set that is limited there.
#[derive(Default)]
pub(crate) struct OwnKeys(ByKey<AssetKey>);

impl OwnKeys {
    /// Puts what is the level's own in the place of the others.
    pub fn put_into(&self, keys: &mut [AssetKey]) {
        for key in keys {
            if let Some(own) = self.0.get(key) {
                *key = own.clone();
            }
        }
    }
}

/// Limits variants as the world file says. What comes of it follows from the objects, and from the names and limits of the levels that
/// are cooked.
pub(crate) fn limit<'a>(input: &Input<'a>) -> Result<Limited<'a>, Stop> {
    let mut limited = Limited {
        units: input.units.iter().map(|unit| Cow::Borrowed(*unit)).collect(),
        own: Vec::new(),
        objects: Objects::default(),
        sets: ByKey::default(),
        report: Vec::new(),
        warnings: Vec::new(),
    };
    if input.plan.levels.iter().all(|level| level.dialogue.is_none()) {
        return Ok(limited);
    }
    let sets = Sets::of(input)?;
    let steps = sets.deal();
    limited.warnings = sets.unused_limits();
    if input.plan.other_levels.is_empty() {
        // What a part of the world has says nothing of the rest.
        limited.warnings.extend(steps.iter().filter_map(Step::unheard));
    }
    limited.own.resize_with(input.units.len(), OwnKeys::default);
    let mut told = Vec::new();
    // What an object refers to comes before it.
    for step in steps.iter().rev() {
        limited.settle(input, step, &mut told)?;
    }
    told.sort_by(|a, b| (a.0, &a.1.set).cmp(&(b.0, &b.1.set)));
    limited.report = told.into_iter().map(|(_, told)| told).collect();
    for (unit, own) in limited.units.iter_mut().zip(&limited.own) {
        if !own.0.is_empty() {
            let unit = unit.to_mut();
            own.put_into(&mut unit.references);
            own.put_into(&mut unit.labelled);
        }
    }
    Ok(limited)
}

impl Limited<'_> {
    /// Makes what stands for an object in each level that has one of its own.
    fn settle(&mut self, input: &Input, step: &Step, told: &mut Vec<(usize, DialogueReport)>) -> Result<(), Stop> {
        let whole = match step.chosen.is_empty() {
            true => None,
            false => Some(Whole::of(input, step)?),
        };
        for index in &step.levels {
            let (Some(own), Some(level)) = (self.own.get_mut(*index), input.plan.levels.get(*index)) else {
                continue;
            };
            let chosen = step.chosen.get(index).zip(whole.as_ref());
            let leads = || step.record.references.iter().any(|key| own.0.contains_key(key));
            if chosen.is_none() && (own.0.is_empty() || !leads()) {
                continue;
            }
            let key = AssetKey::new(AssetName::OfLevel {
                level: level.name.clone(),
                key: step.key.clone(),
            });
            let mut record = step.record.clone();
            if let Some((chosen, whole)) = chosen {
                told.push((*index, step.told(&level.name, chosen)));
                let set = whole.with(input, chosen, &mut record);
                self.sets.insert(key.clone(), set);
            }
            own.put_into(&mut record.references);
            own.0.insert(step.key.clone(), key.clone());
            self.objects.insert(key, record);
        }
        Ok(())
    }
}

/// A set with all its variants.
struct Whole {
    object: EncodedObject,
    variants: Vec<StoredVariant>,
}

impl Whole {
    fn of(input: &Input, step: &Step) -> Result<Self, Stop> {
        let object: EncodedObject = load(input.cache, &step.record.blob)?;
        let data = object.data.0.unpack().ok_or(Stop::Lost)?;
        let stored = stores_variants(&object.schema).then(|| read_variants(&data).ok());
        let Some(variants) = stored.flatten() else {
            let message = "is encoded by a codec of the game's own, so its variants cannot be limited; remove the codec, or \
                `max_variants` from the levels that use it";
            return Err(Stop::Content(vec![ContentError::new(step.key.path(), "", message)]));
        };
        Ok(Self { object, variants })
    }

    /// The set with these variants alone; `record` becomes its own.
    fn with(&self, input: &Input, chosen: &BTreeSet<usize>, record: &mut ObjectRecord) -> EncodedObject {
        let (mut variants, mut references) = (Vec::new(), Vec::new());
        for index in chosen {
            let Some(sound) = record.references.get(*index) else {
                continue;
            };
            let weight = self
                .variants
                .iter()
                .find(|variant| variant.reference as usize == *index);
            variants.push(StoredVariant {
                reference: references.len() as u32,
                weight: weight.map_or(1.0, |variant| variant.weight),
            });
            references.push(sound.clone());
        }
        let object = EncodedObject {
            data: Stored(Packed::new(write_variants(&variants), input.codec)),
            ..self.object.clone()
        };
        // Of what its bytes follow from: nobody looks for them in the cache.
        record.blob = Parts::default().digest(&record.blob).value(chosen).finish();
        record.size = ObjectSize::of(&object, record.is_on_demand);
        record.references = references;
        object
    }
}
