//! What textures and meshes are used for, and what became of textures.

use bevy::prelude::*;
use bevy::reflect::TypePath;

use super::{Cook, MOST_ROUNDS};
use crate::assets::{AssetKey, ByKey, Closure, ObjectRecord, Objects};
use crate::mesh_step::{self, MeshUse};
use crate::report::CookedTextureReport;
use crate::texture::TextureUse;

impl Cook<'_> {
    /// Textures and meshes are cooked for what all that is needed uses them for, which is known at the end only: the few that turn out
    /// to be used for something else as well are cooked again.
    pub(super) fn settle_uses(&mut self) {
        for _ in 0..MOST_ROUNDS {
            let needed = self.needed();
            let (textures, meshes) = (self.texture_uses(&needed), self.mesh_uses(&needed));
            let is_other = |key: &AssetKey, object: &ObjectRecord| {
                let of_texture = || textures.get(key).copied().unwrap_or(TextureUse::Unknown);
                let of_mesh = || meshes.get(key).copied().unwrap_or(MeshUse::Any);
                object
                    .texture
                    .as_deref()
                    .is_some_and(|(cooked, _)| *cooked != of_texture())
                    || object.ordered.is_some_and(|ordered| ordered != of_mesh())
            };
            let others = needed.known().filter(|(key, object)| is_other(key, object));
            let others: Vec<AssetKey> = others.map(|(key, _)| key.clone()).collect();
            if let Some(step) = &mut self.store.textures {
                step.uses = textures;
            }
            if let Some(known) = &mut self.store.meshes {
                *known = meshes;
            }
            if others.is_empty() || !self.errors.is_empty() {
                return;
            }
            for key in &others {
                self.store.objects.swap_remove(key);
            }
            self.encode_missing();
        }
    }

    fn mesh_uses(&self, needed: &Closure) -> ByKey<MeshUse> {
        if self.store.meshes.is_none() {
            return ByKey::default();
        }
        let uses = mesh_step::uses(self.units(), needed, &self.store.objects);
        uses.into_iter().map(|(key, usage)| (key.clone(), usage)).collect()
    }

    /// What textures are used for. Whoever is no material whose textures are known may use them for anything.
    fn texture_uses(&self, needed: &Closure) -> ByKey<TextureUse> {
        let mut uses: ByKey<TextureUse> = ByKey::default();
        let mut note = |key: &AssetKey, usage: TextureUse| {
            let known = uses.entry(key.clone()).or_insert(usage);
            *known = known.join(usage);
        };
        let is_image = |key: &&AssetKey| key.type_path() == Image::type_path();
        for (_, object) in needed.known().filter(|(key, _)| !key.is_startup_index()) {
            object.uses.iter().for_each(|(key, usage)| note(key, *usage));
            let is_used = |key: &&AssetKey| object.uses.iter().any(|(known, _)| known == *key);
            let others = object.references.iter().filter(is_image).filter(|key| !is_used(key));
            others.for_each(|key| note(key, TextureUse::Unknown));
        }
        for unit in self.units() {
            let images = unit.references.iter().filter(is_image);
            images.for_each(|key| note(key, TextureUse::Unknown));
        }
        uses
    }
}

/// What became of the textures.
pub(super) fn textures(objects: &Objects) -> Vec<CookedTextureReport> {
    let textures = objects
        .iter()
        .filter_map(|(key, object)| Some((key, object.texture.as_deref()?)));
    textures
        .map(|(key, (_, texture))| CookedTextureReport {
            object: key.path(),
            texture: texture.clone(),
        })
        .collect()
}
