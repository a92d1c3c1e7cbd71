//! What textures are used for, and what became of them.

use std::collections::{BTreeMap, BTreeSet};

use bevy::prelude::*;
use bevy::reflect::TypePath;

use super::{Cook, MOST_ROUNDS, level_key};
use crate::assets::{AssetKey, ObjectRecord};
use crate::report::CookedTextureReport;
use crate::texture::TextureUse;

impl Cook<'_> {
    /// A texture is cooked for what all materials that are needed use it for, which is known at the end only: the few that turn out to
    /// be used for something else as well are cooked again.
    pub(super) fn settle_textures(&mut self) {
        for _ in 0..MOST_ROUNDS {
            let objects = &self.store.objects;
            let needed = self.needed();
            let uses = self.texture_uses(&needed);
            let usage = |key: &AssetKey| uses.get(key).copied().unwrap_or(TextureUse::Unknown);
            let is_other = |key: &AssetKey| {
                let cooked = objects.get(key).and_then(|object| object.texture.as_ref());
                cooked.is_some_and(|(cooked, _)| *cooked != usage(key))
            };
            let others: Vec<AssetKey> = needed.into_iter().filter(|key| is_other(key)).cloned().collect();
            if let Some(textures) = &mut self.store.textures {
                textures.uses = uses;
            }
            if others.is_empty() || !self.errors.is_empty() {
                return;
            }
            for key in &others {
                self.store.objects.remove(key);
            }
            self.encode_missing();
        }
    }

    /// What textures are used for. Whoever is no material whose textures are known may use them for anything.
    fn texture_uses(&self, needed: &BTreeSet<&AssetKey>) -> BTreeMap<AssetKey, TextureUse> {
        let mut uses: BTreeMap<AssetKey, TextureUse> = BTreeMap::new();
        let mut note = |key: &AssetKey, usage: TextureUse| {
            let known = uses.entry(key.clone()).or_insert(usage);
            *known = known.join(usage);
        };
        let is_image = |key: &&AssetKey| key.type_path() == Image::type_path();
        for key in needed.iter().filter(|key| !key.is_startup_index()) {
            let Some(object) = self.store.objects.get(*key) else {
                continue;
            };
            object.uses.iter().for_each(|(key, usage)| note(key, *usage));
            let is_used = |key: &&AssetKey| object.uses.iter().any(|(known, _)| known == *key);
            let others = object.references.iter().filter(is_image).filter(|key| !is_used(key));
            others.for_each(|key| note(key, TextureUse::Unknown));
        }
        for level in &self.plan.levels {
            let unit = self.new.levels.get(&level_key(self.plan, level));
            let images = unit.into_iter().flat_map(|unit| &unit.references).filter(is_image);
            images.for_each(|key| note(key, TextureUse::Unknown));
        }
        uses
    }
}

/// What became of the textures.
pub(super) fn textures(objects: &BTreeMap<AssetKey, ObjectRecord>) -> Vec<CookedTextureReport> {
    let textures = objects
        .iter()
        .filter_map(|(key, object)| Some((key, object.texture.as_ref()?)));
    textures
        .map(|(key, (_, texture))| CookedTextureReport {
            object: key.path(),
            texture: texture.clone(),
        })
        .collect()
}
