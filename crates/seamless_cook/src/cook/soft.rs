//! What soft references lead to is cooked, too. See [`Cook::encode_all`].

use std::collections::{BTreeMap, BTreeSet};

use bevy::prelude::*;
use bevy::tasks::block_on;
use seamless_asset::SoftHandle;
use seamless_asset::codec::Codecs;
use seamless_asset::level_data::LEVEL_CLASS;

use super::{Cook, level_key};
use crate::assets::{AssetKey, AssetName, SoftTarget};
use crate::graph::recorder::file_and_label;
use crate::plan::{Asked, PlannedLevel, SourceKind, path_of, planned};
use crate::report::ContentError;

/// File and object.
type Referrer = (String, String);

impl Cook<'_> {
    /// Encodes all that is planned, and what that refers to softly, until nothing is left that is not planned.
    pub(super) fn encode_all(&mut self) {
        self.drop_unloadable();
        let listed = self.plan.levels.len();
        for step in 1.. {
            self.encode_levels();
            self.encode_missing();
            let wanted = self.wanted();
            if wanted.is_empty() && !self.forget_misowned() {
                break;
            }
            for ((path, type_path), by) in wanted {
                self.plan_soft(path, type_path, by, step);
            }
        }
        // In an order that says nothing of who was found first.
        if let Some(added) = self.plan.levels.get_mut(listed..) {
            added.sort_by(|a, b| (&a.source, &a.name).cmp(&(&b.source, &b.name)));
        }
    }

    /// Files of listed folders that nothing loads, or whose type nobody can cook, are none that were meant.
    fn drop_unloadable(&mut self) {
        let world = self.app.world();
        let server = world.resource::<AssetServer>();
        let codecs = world.resource::<Codecs>().read();
        self.plan.levels.retain(|level| {
            let is_found = level.asked.as_ref().is_some_and(|asked| asked.is_found);
            if !is_found || level.kind != SourceKind::Asset {
                return true;
            }
            let loader = block_on(server.get_path_asset_loader(level.source.clone()));
            loader.is_ok_and(|loader| codecs.asset(loader.asset_type_id()).is_some())
        });
    }

    /// Whether anything is referred to softly: to look for it takes a walk over all that is needed.
    fn is_anything_soft(&self) -> bool {
        let mut told = self.store.objects.values().filter_map(|object| object.told.as_ref());
        self.units().any(|unit| !unit.soft.is_empty()) || told.any(|told| !told.soft.is_empty())
    }

    /// What is referred to softly, and neither planned nor a part of what is; with the first that does so.
    fn wanted(&self) -> BTreeMap<SoftTarget, Referrer> {
        if !self.is_anything_soft() {
            return BTreeMap::new();
        }
        let mut all: BTreeMap<&SoftTarget, Referrer> = BTreeMap::new();
        let mut note = |target, by: Referrer| {
            let first = all.entry(target).or_insert_with(|| by.clone());
            if by < *first {
                *first = by;
            }
        };
        for (level, unit) in self.planned_units() {
            for target in &unit.soft {
                note(target, (level.source.clone(), format!("level `{}`", level.name)));
            }
        }
        let needed = self.needed();
        for (key, object) in needed.known() {
            for target in object.told.iter().flat_map(|told| &told.soft) {
                let path = key.path();
                let (file, label) = file_and_label(&path);
                note(target, (file.to_owned(), label.unwrap_or_default().to_owned()));
            }
        }
        let planned: BTreeSet<SoftTarget> = self.plan.levels.iter().map(target_of).collect();
        let is_there = |(path, type_path): &SoftTarget| {
            let (path, type_path) = (path.clone(), type_path.as_str().into());
            let key = AssetKey::new(AssetName::Path { path, type_path });
            self.store.objects.contains_key(&key) && needed.contains(&key)
        };
        let is_new = |target: &SoftTarget| {
            let is_source = !SoftHandle::<Image>::new(target.0.as_str()).is_object_path();
            is_source && !planned.contains(target) && !is_there(target)
        };
        let new = all.into_iter().filter(|(target, _)| is_new(target));
        new.map(|(target, by)| (target.clone(), by)).collect()
    }

    /// Adds something to the plan; what cannot be planned is an error, told once.
    fn plan_soft(&mut self, path: String, type_path: String, by: Referrer, step: usize) {
        let asked = Asked {
            type_path: Some(type_path),
            is_found: false,
            by: Some(by.clone()),
            file: self.plan.root.join(&by.0),
        };
        let level = match planned(&path, asked.clone()) {
            Ok(level) => level,
            Err(message) => {
                let message = format!("refers softly to `{path}`, which {message}{}", asked.line(&path));
                self.errors.push(ContentError::new(by.0, by.1, message));
                // It is planned, so that it is not met again, and broken.
                let level = PlannedLevel {
                    kind: SourceKind::Asset,
                    ..unplannable(&path, asked)
                };
                self.broken.insert(level_key(&self.plan, &level));
                level
            }
        };
        self.steps.entry(level_key(&self.plan, &level)).or_insert(step);
        self.plan.levels.push(level);
    }
}

/// What stands for a path that cannot be cooked.
fn unplannable(path: &str, asked: Asked) -> PlannedLevel {
    PlannedLevel {
        name: path.to_owned(),
        source: path.to_owned(),
        asset_path: path.into(),
        kind: SourceKind::Asset,
        translation: [0.0; 3],
        rotation: [0.0, 0.0, 0.0, 1.0],
        scale: [1.0; 3],
        bounds: None,
        always_loaded: false,
        on_request: false,
        seek_free: false,
        dialogue: Default::default(),
        data: None,
        asked: Some(asked),
    }
}

/// What a soft reference to something that is planned says.
fn target_of(level: &PlannedLevel) -> SoftTarget {
    let path = path_of(level);
    let asked = level.asked.as_ref().and_then(|asked| asked.type_path.clone());
    match level.kind {
        SourceKind::Asset => (path, asked.unwrap_or_default()),
        _ => (path, LEVEL_CLASS.to_owned()),
    }
}
