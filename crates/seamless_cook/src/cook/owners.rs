//! Who decides how files are loaded: whoever is the first to refer to them. See [`Cook::forget_misowned`].
//!
//! In a cook of everything, startup content comes first, then scenes, then listed assets, then what these refer to softly, step by step. Assets are
//! loaded as they are; scenes may have other settings for what they refer to.

use std::collections::{BTreeMap, BTreeSet};

use super::{Cook, level_key};
use crate::assets::{AssetKey, Text};
use crate::graph::state::{FileUnit, LevelUnit, Loading, Settings};
use crate::plan::{PlannedLevel, SourceKind};
use crate::startup::STARTUP_UNIT;

/// When something is encoded in a cook of everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Turn {
    Startup,
    /// After so many steps; assets after scenes.
    Planned(usize, Kind),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Scene,
    Asset,
}

impl Cook<'_> {
    /// What the levels follow from that the world file has, whether this cook is asked for them or not.
    pub(super) fn planned_keys(&self) -> BTreeSet<String> {
        let levels = self.plan.levels.iter().chain(&self.plan.other_levels);
        levels.map(|level| level_key(&self.plan, level)).collect()
    }

    /// Files whose settings were those of a level that is no more: who refers to them first now decides.
    pub(super) fn forget_ownerless(&mut self) {
        let mut owners = self.planned_keys();
        // Whether these will be planned again is not known yet.
        let soft = self.old.levels.iter().filter(|(_, level)| level.is_soft);
        owners.extend(soft.map(|(key, _)| key.clone()));
        // Neighbours mostly have the same one.
        let mut last: Option<(Text, bool)> = None;
        let mut is_there = |owner: &Text| match &last {
            Some((known, is_there)) if known == owner => *is_there,
            _ => last.insert((owner.clone(), owners.contains(&**owner))).1,
        };
        let gone = self.forget_files(|_, FileUnit { loading, .. }| {
            loading.settings != Settings::Own && *loading.owner != *STARTUP_UNIT && !is_there(&loading.owner)
        });
        for (file, _) in self.gone.files.get(gone..).unwrap_or_default() {
            self.sources.forget_loading(file);
        }
    }

    /// Forgets what was made of files that somebody else would be the first to refer to in a cook of everything, and with other settings; whether
    /// there are any.
    pub(super) fn forget_misowned(&mut self) -> bool {
        let is_as_it_was = self.old.files.is_empty() || self.leads_as_before();
        if is_as_it_was || !self.errors.is_empty() || !self.has_turns() {
            return false;
        }
        let turns = self.turns();
        let mut owners: BTreeMap<&str, Turn> = BTreeMap::from([(STARTUP_UNIT, Turn::Startup)]);
        for (key, turn) in &turns {
            owners.entry(key).or_insert(*turn);
        }
        let is_misowned = |file: &str, turn: Turn| {
            let is_new = || !self.sources.is_disowned(file);
            let is_wrong = |loading: &Loading| {
                let is_same = owners.get(&*loading.owner) == Some(&turn);
                let is_loaded_as_it_is =
                    matches!(turn, Turn::Planned(_, Kind::Asset)) && loading.settings == Settings::Own;
                // Who loaded it by itself says nothing of who came first.
                !is_same && !is_loaded_as_it_is && !loading.owner.is_empty()
            };
            self.store.loading(file).is_some_and(is_wrong) && is_new()
        };
        let firsts = self.firsts(&turns);
        let misowned = firsts.iter().filter(|(file, turn)| is_misowned(file, **turn));
        let misowned: BTreeSet<String> = misowned.map(|(file, _)| (*file).to_owned()).collect();
        for file in &misowned {
            self.sources.disown(file);
        }
        self.store.forget_files(&misowned);
        let is_any = !misowned.is_empty();
        self.is_otherwise |= is_any;
        is_any
    }

    /// Whether there is more than one turn, or was.
    fn has_turns(&self) -> bool {
        let mut levels = self.plan.levels.iter();
        let mut old = self.old.levels.values();
        self.new.startup.root.is_some()
            || levels.any(|level| level.kind == SourceKind::Asset || level.asked.is_some())
            || old.any(|level| level.is_asset || level.is_soft)
    }

    /// When a level is encoded.
    pub(super) fn turn(&self, key: &str, level: &PlannedLevel) -> Turn {
        let step = self.steps.get(key).copied().unwrap_or_default();
        let kind = match level.kind {
            SourceKind::Asset => Kind::Asset,
            SourceKind::Gltf(_) | SourceKind::DynamicWorld => Kind::Scene,
        };
        Turn::Planned(step, kind)
    }

    /// What the levels follow from, in the order in which a cook of everything encodes them; those that this cook is not asked for, too.
    fn turns(&self) -> Vec<(String, Turn)> {
        let turn = |level: &PlannedLevel| {
            let key = level_key(&self.plan, level);
            let turn = self.turn(&key, level);
            (key, turn)
        };
        let levels = self.plan.levels.iter().chain(&self.plan.other_levels);
        let mut turns: Vec<_> = levels.map(turn).collect();
        turns.sort_by_key(|(_, turn)| *turn);
        turns
    }

    /// When each file is referred to first.
    fn firsts(&self, turns: &[(String, Turn)]) -> BTreeMap<&str, Turn> {
        let objects = &self.store.objects;
        let (mut firsts, mut is_known) = (BTreeMap::new(), vec![false; objects.len()]);
        let startup = self.new.startup.root.iter().collect();
        let levels = turns.iter().map(|(key, turn)| {
            let unit = self.new.levels.get(key).into_iter();
            (unit.flat_map(LevelUnit::roots).collect(), *turn)
        });
        for (roots, turn) in core::iter::once((startup, Turn::Startup)).chain(levels) {
            let mut open: Vec<&AssetKey> = roots;
            while let Some(key) = open.pop() {
                let Some((place, key, object)) = objects.get_full(key) else {
                    continue;
                };
                if let Some(is_known) = is_known.get_mut(place).filter(|is_known| !**is_known) {
                    *is_known = true;
                    if let Some(file) = key.file() {
                        firsts.entry(file).or_insert(turn);
                    }
                    open.extend(&object.references);
                }
            }
        }
        firsts
    }
}
