//! Which levels lead to which sets, and what comes with them. See [`Sets`].

use std::collections::{BTreeMap, BTreeSet};

use seamless_asset::dialogue::is_variants;

use super::Input;
use super::deal::{Hand, deal};
use crate::assets::{AssetKey, ByKeyRef, Closure, KeySet, ObjectRecord, Objects, closure, referrers};
use crate::graph::state::LevelUnit;
use crate::layout::dependency_order;
use crate::report::{ContentError, DialogueReport};
use crate::settings::fits;
use crate::write::Stop;

/// The most variants that a warning names.
const MOST_NAMED: usize = 8;

/// The sets of a cook, and what leads to them.
pub(super) struct Sets<'a, 'i> {
    input: &'i Input<'a>,
    /// Everything that leads to a set, and the sets, each after what it refers to.
    leading: Vec<(&'a AssetKey, &'a ObjectRecord)>,
    /// The same.
    is_leading: KeySet<'a>,
    /// Startup content, and all that it leads to. What is pinned refers to what is pinned only.
    pinned: Closure<'a>,
}

/// Something that leads to a set, or is one, and the levels that have it.
pub(super) struct Step<'a> {
    pub key: &'a AssetKey,
    pub record: &'a ObjectRecord,
    pub levels: BTreeSet<usize>,
    /// Of a set: the places of the variants that come with each level that is limited.
    pub chosen: BTreeMap<usize, BTreeSet<usize>>,
}

impl<'a, 'i> Sets<'a, 'i> {
    /// # Errors
    /// When what leads to sets refers to itself.
    pub fn of(input: &'i Input<'a>) -> Result<Self, Stop> {
        let objects = input.objects;
        // Others may be known from earlier cooks: what they lead to is nobody's business.
        let roots = input.units.iter().flat_map(|unit| unit.roots());
        let needed = closure(objects, roots.chain(input.startup));
        let is_set = |key: &&AssetKey| is_variants(key.type_path()) && needed.contains(key);
        let sets = objects.keys().filter(is_set);
        let leading = referrers(objects, &sets.cloned().collect());
        let leading = leading.iter().filter(|key| needed.contains(key));
        let part = leading.filter_map(|key| Some((key.clone(), objects.get(key)?.clone())));
        let part: Objects = part.collect();
        let order = dependency_order(&part).map_err(Stop::Content)?.into_iter();
        let order = order.filter_map(|index| part.get_index(index));
        let leading: Vec<_> = order.filter_map(|(key, _)| objects.get_key_value(key)).collect();
        Ok(Self {
            input,
            is_leading: leading.iter().map(|(key, _)| *key).collect(),
            leading,
            pinned: closure(objects, input.startup),
        })
    }

    /// Gives each level what it may have of each set that it leads to. Sets may lie behind the variants of others: these are dealt before, so
    /// a level takes no share of what it does not lead to any more. Whoever leads to something comes before it.
    pub fn deal(&self) -> Vec<Step<'a>> {
        let mut levels: ByKeyRef<BTreeSet<usize>> = ByKeyRef::default();
        for (index, unit) in self.input.units.iter().enumerate() {
            for key in unit.roots().filter(|key| self.is_leading.contains(*key)) {
                levels.entry(key).or_default().insert(index);
            }
        }
        let mut steps = Vec::new();
        for (key, record) in self.leading.iter().rev() {
            let Some(here) = levels.remove(*key) else { continue };
            let step = self.step(key, record, here);
            for index in &step.levels {
                for key in step.references(*index).filter(|key| self.is_leading.contains(*key)) {
                    levels.entry(key).or_default().insert(*index);
                }
            }
            steps.push(step);
        }
        steps
    }

    fn step(&self, key: &'a AssetKey, record: &'a ObjectRecord, levels: BTreeSet<usize>) -> Step<'a> {
        let mut step = Step {
            key,
            record,
            levels,
            chosen: BTreeMap::new(),
        };
        let is_needed = record.role.intersects(self.input.roles);
        if !is_variants(key.type_path()) || !is_needed || self.pinned.contains(key) {
            return step;
        }
        let (path, count) = (key.path(), record.references.len());
        let hand = |index: &usize| {
            let level = self.input.plan.levels.get(*index)?;
            let max = level.dialogue.of(&path).filter(|max| *max < count)?;
            let level = level.name.as_str();
            Some((*index, Hand { level, max }))
        };
        let (places, hands): (Vec<usize>, Vec<Hand>) = step.levels.iter().filter_map(hand).unzip();
        if hands.is_empty() {
            return step;
        }
        let sounds: Vec<String> = record.references.iter().map(AssetKey::path).collect();
        let sounds: Vec<&str> = sounds.iter().map(String::as_str).collect();
        step.chosen = places.into_iter().zip(deal(&path, &sounds, &hands)).collect();
        step
    }

    /// Limits of the world file that change nothing, whatever the target: about no set of their level, or about startup content.
    pub fn unused_limits(&self) -> Vec<ContentError> {
        let mut warnings = Vec::new();
        let plan = self.input.plan;
        for (level, unit) in plan.levels.iter().zip(self.input.units) {
            if level.dialogue.of_some.is_empty() {
                continue;
            }
            let sets = self.led_to(unit);
            for limit in &level.dialogue.of_some {
                let fit = |set: &&(String, bool)| fits(&limit.sets, &set.0);
                let fitting: Vec<&(String, bool)> = sets.iter().filter(fit).collect();
                let message = match (fitting.first(), fitting.iter().all(|(_, is_pinned)| *is_pinned)) {
                    (None, _) => {
                        "fits no set of variants that the level leads to; correct the path, or remove the limit"
                            .to_owned()
                    }
                    (Some((set, _)), true) => format!(
                        "has no effect: `{set}` is startup content, which has it whole; remove the limit, or the set from what \
                         `startup` leads to"
                    ),
                    (Some(_), false) => continue,
                };
                let object = format!("level `{}`, dialogue `{}`", level.name, limit.sets);
                warnings.push(ContentError::new(plan.file_name.as_str(), object, message));
            }
        }
        warnings
    }

    /// The sets that a level leads to before any are dealt: path, and whether it is pinned.
    fn led_to(&self, unit: &LevelUnit) -> Vec<(String, bool)> {
        let (objects, mut found) = (self.input.objects, KeySet::default());
        let mut open: Vec<&AssetKey> = unit.roots().collect();
        while let Some(key) = open.pop() {
            if self.is_leading.contains(key) && found.insert(key) {
                open.extend(objects.get(key).into_iter().flat_map(|object| &object.references));
            }
        }
        let sets = found.into_iter().filter(|key| is_variants(key.type_path()));
        let mut sets: Vec<_> = sets.map(|key| (key.path(), self.pinned.contains(key))).collect();
        sets.sort();
        sets
    }
}

impl<'a> Step<'a> {
    /// What it refers to in a level.
    fn references(&self, level: usize) -> impl Iterator<Item = &'a AssetKey> {
        let chosen = self.chosen.get(&level);
        let references = self.record.references.iter().enumerate();
        let here = references.filter(move |(index, _)| chosen.is_none_or(|chosen| chosen.contains(index)));
        here.map(|(_, key)| key)
    }

    /// What a report says of a level's variants.
    pub fn told(&self, level: &str, chosen: &BTreeSet<usize>) -> DialogueReport {
        let sounds = chosen.iter().filter_map(|index| self.record.references.get(*index));
        DialogueReport {
            level: level.to_owned(),
            set: self.key.path(),
            sounds: sounds.map(AssetKey::path).collect(),
            variants: self.record.references.len() as u32,
        }
    }

    /// That some of a set's variants come with no level.
    pub fn unheard(&self) -> Option<ContentError> {
        if self.chosen.len() < self.levels.len() {
            // Somebody has them all, or it is no set.
            return None;
        }
        let heard: BTreeSet<usize> = self.chosen.values().flatten().copied().collect();
        let sounds = self.record.references.iter().enumerate();
        let unheard = sounds.filter(|(index, _)| !heard.contains(index));
        let unheard: Vec<String> = unheard.map(|(_, sound)| format!("`{}`", sound.path())).collect();
        let (count, all) = (unheard.len(), self.record.references.len());
        let others = match count.saturating_sub(MOST_NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let named = unheard.get(..MOST_NAMED).unwrap_or(&unheard).join(", ");
        let message = format!(
            "{count} of {all} variants come with no level: {named}{others}; raise `max_variants` of the levels that use it"
        );
        (count > 0).then(|| ContentError::new(self.key.path(), "", message))
    }
}
