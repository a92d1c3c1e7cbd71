//! Dialogue: levels get few of the variants of a set each, and others than other levels. See [`limit`].
//!
//! A set whose variants are limited is another object in each level, which refers to that level's sounds only. So is whatever leads to it there:
//! the level's own component, or an asset between the two, is to find this one. All of these lie in the level's package. The sounds are
//! what they are, and shared like other objects; those that no level got are not cooked into any package.

mod deal;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use seamless_asset::dialogue::{StoredVariant, is_variants, read_variants, stores_variants, write_variants};
use seamless_package::{Codec, Role};
use serde::{Deserialize, Serialize};

use self::deal::{Hand, deal};
use crate::assets::{
    AssetKey, AssetName, EncodedObject, KeySet, ObjectRecord, ObjectSize, Objects, closure, referrers,
};
use crate::graph::cache::Cache;
use crate::graph::digest::Digest;
use crate::graph::output::write_error;
use crate::graph::state::LevelUnit;
use crate::level::EncodedLevel;
use crate::plan::{PlannedLevel, WorldPlan};
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
    pub objects: Objects,
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
    /// Nobody of these may need sets at all.
    pub roles: Role,
    pub cache: &'a Cache<'a>,
    /// How packages store data.
    pub codec: Codec,
}

/// Limits variants as the world file says. What comes of it follows from the objects, and from the names and limits of the levels that
/// are cooked.
pub(crate) fn limit<'a>(input: &Input<'a>) -> Result<Limited<'a>, Stop> {
    let mut limited = Limited {
        units: input.units.iter().map(|unit| Cow::Borrowed(*unit)).collect(),
        objects: Objects::default(),
        report: Vec::new(),
        warnings: Vec::new(),
    };
    if input.plan.levels.iter().all(|level| level.dialogue.is_none()) {
        return Ok(limited);
    }
    let sets = Sets::of(input);
    limited.warnings = sets.unused_limits(input.plan);
    let dealt = sets.deal(input.plan);
    let levels = input.plan.levels.iter().enumerate();
    for ((index, level), unit) in levels.zip(&mut limited.units) {
        let Some(chosen) = dealt.get(&index) else { continue };
        let special = Special::of(level, &sets, unit, chosen);
        for (key, own) in &special.keys {
            let Some(record) = input.objects.get(key) else { continue };
            let record = match chosen.get(key) {
                Some(chosen) => {
                    limited.report.push(told(level, key, record, chosen));
                    smaller_set(input, key, record, chosen)?
                }
                None => ObjectRecord {
                    references: special.all(&record.references),
                    ..record.clone()
                },
            };
            limited.objects.insert(own.clone(), record);
        }
        *unit = Cow::Owned(special.unit(input.cache, unit)?);
    }
    Ok(limited)
}

/// The sets of a cook, and what leads to them.
struct Sets<'a> {
    input: &'a Input<'a>,
    /// Everything that leads to a set, and the sets.
    leading: BTreeSet<AssetKey>,
    /// By level with limits: the sets that it leads to.
    of_levels: BTreeMap<usize, Vec<&'a AssetKey>>,
}

/// The places of a level's variants, by set.
type Chosen<'a> = BTreeMap<&'a AssetKey, BTreeSet<usize>>;

impl<'a> Sets<'a> {
    fn of(input: &'a Input<'a>) -> Self {
        let pinned = closure(input.objects, input.startup);
        let is_set = |key: &AssetKey, object: &ObjectRecord| {
            is_variants(key.type_path()) && object.role.intersects(input.roles) && !pinned.contains(key)
        };
        let sets = input.objects.iter().filter(|(key, object)| is_set(key, object));
        let sets: BTreeSet<AssetKey> = sets.map(|(key, _)| key.clone()).collect();
        // What is pinned refers to what is pinned only.
        let leading = referrers(input.objects, &sets);
        let mut of_levels = BTreeMap::new();
        for (index, (level, unit)) in input.plan.levels.iter().zip(input.units).enumerate() {
            if !level.dialogue.is_none() {
                let led = led_to(input.objects, &leading, unit);
                let known = input
                    .objects
                    .keys()
                    .filter(|key| sets.contains(*key) && led.contains(*key));
                of_levels.insert(index, known.collect());
            }
        }
        Self {
            input,
            leading,
            of_levels,
        }
    }

    /// What each level gets of the sets that are limited there.
    fn deal(&self, plan: &WorldPlan) -> BTreeMap<usize, Chosen<'a>> {
        let mut users: BTreeMap<&AssetKey, Vec<(usize, Hand)>> = BTreeMap::new();
        for (index, sets) in &self.of_levels {
            let Some(level) = plan.levels.get(*index) else { continue };
            for set in sets {
                let count = self.input.objects.get(*set).map_or(0, |set| set.references.len());
                if let Some(max) = level.dialogue.of(&set.path()).filter(|max| *max < count) {
                    let level = level.name.as_str();
                    users.entry(*set).or_default().push((*index, Hand { level, max }));
                }
            }
        }
        let mut dealt: BTreeMap<usize, Chosen> = BTreeMap::new();
        for (set, users) in users {
            let sounds = self.input.objects.get(set).map_or(&[][..], |set| &set.references);
            let paths: Vec<String> = sounds.iter().map(AssetKey::path).collect();
            let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
            let (levels, hands): (Vec<usize>, Vec<Hand>) = users.into_iter().unzip();
            for (level, chosen) in levels.into_iter().zip(deal(&set.path(), &paths, &hands)) {
                dealt.entry(level).or_default().insert(set, chosen);
            }
        }
        dealt
    }

    /// Limits of the world file that are about no set of their level.
    fn unused_limits(&self, plan: &WorldPlan) -> Vec<ContentError> {
        let mut warnings = Vec::new();
        for (index, sets) in &self.of_levels {
            let Some(level) = plan.levels.get(*index) else { continue };
            for limit in &level.dialogue.of_some {
                if !sets.iter().any(|set| fits(&limit.sets, &set.path())) {
                    let object = format!("level `{}`, dialogue `{}`", level.name, limit.sets);
                    let message =
                        "fits no set of variants that the level leads to; correct the path, or remove the limit";
                    warnings.push(ContentError::new(plan.file_name.as_str(), object, message));
                }
            }
        }
        warnings
    }
}

/// What of `leading` a level leads to.
fn led_to<'a>(objects: &'a Objects, leading: &BTreeSet<AssetKey>, unit: &'a LevelUnit) -> KeySet<'a> {
    let mut found = KeySet::default();
    let mut open: Vec<&AssetKey> = unit.roots().collect();
    while let Some(key) = open.pop() {
        if leading.contains(key) && found.insert(key) {
            open.extend(objects.get(key).into_iter().flat_map(|object| &object.references));
        }
    }
    found
}

/// The objects that are a level's own, because they lead to a set that is limited there.
struct Special {
    /// Those of all levels, and what stands for them in this one.
    keys: BTreeMap<AssetKey, AssetKey>,
}

impl Special {
    fn of(level: &PlannedLevel, sets: &Sets, unit: &LevelUnit, chosen: &Chosen) -> Self {
        let limited: BTreeSet<AssetKey> = chosen.keys().map(|key| (*key).clone()).collect();
        let objects = sets.input.objects;
        let leading = referrers(objects, &limited);
        let led = led_to(objects, &sets.leading, unit);
        let own = |key: &AssetKey| {
            AssetKey::new(AssetName::OfLevel {
                level: level.name.clone(),
                key: key.clone(),
            })
        };
        let keys = led.into_iter().filter(|key| leading.contains(*key));
        Self {
            keys: keys.map(|key| (key.clone(), own(key))).collect(),
        }
    }

    fn all(&self, keys: &[AssetKey]) -> Vec<AssetKey> {
        let own = |key: &AssetKey| self.keys.get(key).unwrap_or(key).clone();
        keys.iter().map(own).collect()
    }

    /// The level, referring to its own objects.
    fn unit(&self, cache: &Cache, unit: &LevelUnit) -> Result<LevelUnit, Stop> {
        let mut level: EncodedLevel = load(cache, &unit.blob)?;
        level.references = self.all(&level.references);
        for resource in &mut level.resources {
            resource.references = self.all(&resource.references);
        }
        Ok(LevelUnit {
            blob: keep(cache, &level)?,
            references: self.all(&unit.references),
            labelled: self.all(&unit.labelled),
            ..unit.clone()
        })
    }
}

/// The set with these variants alone.
fn smaller_set(
    input: &Input,
    key: &AssetKey,
    record: &ObjectRecord,
    chosen: &BTreeSet<usize>,
) -> Result<ObjectRecord, Stop> {
    let mut object: EncodedObject = load(input.cache, &record.blob)?;
    if !stores_variants(&object.schema) {
        let message = "is encoded by a codec of the game's own, so its variants cannot be limited; remove the codec, or `max_variants` \
            from the levels that use it";
        return Err(Stop::Content(vec![ContentError::new(key.path(), "", message)]));
    }
    let stored = read_variants(&object.data).map_err(|_| Stop::Lost)?;
    let (mut variants, mut references) = (Vec::new(), Vec::new());
    for index in chosen {
        let Some(sound) = record.references.get(*index) else {
            continue;
        };
        let weight = stored.iter().find(|variant| variant.reference as usize == *index);
        variants.push(StoredVariant {
            reference: references.len() as u32,
            weight: weight.map_or(1.0, |variant| variant.weight),
        });
        references.push(sound.clone());
    }
    object.data = write_variants(&variants);
    Ok(ObjectRecord {
        blob: keep(input.cache, &object)?,
        size: ObjectSize::of(&object, input.codec, record.is_on_demand),
        references,
        ..record.clone()
    })
}

fn keep(cache: &Cache, value: &impl Serialize) -> Result<Digest, Stop> {
    // Plain data into memory: nothing that could fail.
    let bytes = postcard::to_allocvec(value).unwrap_or_default();
    cache
        .put(&bytes)
        .map_err(|source| Stop::Cook(write_error(cache.folder(), source)))
}

fn told(level: &PlannedLevel, key: &AssetKey, record: &ObjectRecord, chosen: &BTreeSet<usize>) -> DialogueReport {
    let sounds = chosen.iter().filter_map(|index| record.references.get(*index));
    DialogueReport {
        level: level.name.clone(),
        set: key.path(),
        sounds: sounds.map(AssetKey::path).collect(),
        variants: record.references.len() as u32,
    }
}
