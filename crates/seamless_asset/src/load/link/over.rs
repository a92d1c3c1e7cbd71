//! Assets of a package that is renewed: which of them get a new value. See [`Reloading`].

use core::hash::Hasher;
use std::sync::Arc;

use bevy_asset::{AssetPath, UntypedAssetId, UntypedHandle};
use bevy_platform::collections::HashSet;
use seamless_package::{Export, ObjectRef, RefTarget};
use xxhash_rust::xxh3::Xxh3;

use super::{
    Decoder,
    merge::{LiveLevel, ReloadedLevel},
};
use crate::{linker::Linker, load::ReloadPolicy, objects::Slot};

/// What a reload is to bring up to date, as it was when the reload began.
#[derive(Debug)]
pub(crate) struct Reloading {
    pub policy: ReloadPolicy,
    /// The live instances of the package's level.
    pub levels: Vec<LiveLevel>,
    /// Whether levels use the package: then all of its assets are live, or come now. Else those are renewed that are live.
    pub is_used: bool,
    /// Assets that were changed at run time.
    pub edited: HashSet<UntypedAssetId>,
    /// The packages that levels use: copies of their objects are theirs.
    pub packages: HashSet<AssetPath<'static>>,
}

/// What a reload found in the new file.
#[derive(Default)]
pub(crate) struct Renewed {
    pub levels: Vec<ReloadedLevel>,
    /// The assets that it answers for.
    pub own: Vec<UntypedAssetId>,
    /// Those of them that were changed at run time and have another value in the file: their names.
    pub edited: Vec<String>,
}

/// An object that is to get a value.
pub(in crate::load) struct Claim {
    pub slot: Slot,
    /// Whether there is a value that it replaces.
    pub replaces: bool,
}

impl Decoder<'_> {
    /// What the value of an asset that this package holds is needed for, if it is.
    pub(super) fn wanting(&mut self, index: usize, handle: &UntypedHandle, slot: Slot) -> Option<Claim> {
        let is_wanted = self.reloading().is_none() && !self.services.is_settled(&slot);
        if is_wanted || !slot.is_live() {
            return Some(Claim { slot, replaces: false });
        }
        let reloading = self.reloading()?.clone();
        if self.is_copy_of(index, &reloading) {
            return None;
        }
        self.renewed.own.push(handle.id());
        let is_wanted = if reloading.edited.contains(&handle.id()) {
            let name = self.package.export_name(index).unwrap_or_default();
            self.renewed.edited.push(name.to_owned());
            reloading.policy == ReloadPolicy::Overwrite
        } else {
            self.changed.get(index).copied().unwrap_or_default()
        };
        is_wanted.then_some(Claim { slot, replaces: true })
    }

    /// Which exports are other versions of their objects than those that are live, when this is a reload. One that refers to such an
    /// object counts as one: a renderer that has put an image into a material does not look at the image again.
    pub(super) fn changed(&self) -> Vec<bool> {
        if self.reloading().is_none() {
            return Vec::new();
        }
        let exports = self.package.exports().iter().enumerate();
        let is_changed = |(index, export): (usize, Export)| {
            !export.is_class()
                && !self.services.objects.has(
                    self.linker.cook().object(export.object_id),
                    self.fingerprint(index, &export),
                )
        };
        let mut changed: Vec<bool> = exports.map(is_changed).collect();
        // Copies lie behind those that refer to them, so one round is not always enough.
        loop {
            let is_new = |index: &usize| !changed[*index] && self.targets(*index).any(|target| changed[target]);
            let new: Vec<usize> = (0..changed.len()).filter(is_new).collect();
            if new.is_empty() {
                return changed;
            }
            new.into_iter().for_each(|index| changed[index] = true);
        }
    }

    /// The exports that an export refers to, copies of others' objects among them.
    pub(super) fn targets(&self, index: usize) -> impl Iterator<Item = usize> {
        let target = |reference: ObjectRef| match reference.target() {
            RefTarget::None => None,
            RefTarget::Export(index) => Some(index),
            RefTarget::Import(index) => self.package.forced_for_import(index),
        };
        self.package.refs(index).iter().filter_map(target)
    }

    fn reloading(&self) -> Option<&Arc<Reloading>> {
        match &self.job.wanted {
            super::Wanted::Reload(reloading) => Some(reloading),
            _ => None,
        }
    }

    /// Whether it is a copy of an object whose own package is in use.
    fn is_copy_of(&self, index: usize, reloading: &Reloading) -> bool {
        let origin = self.package.origin_of(index);
        origin.is_some_and(|origin| reloading.packages.contains(&self.linker.sibling(origin.package)))
    }

    /// Tells one version of an object from another, by what is stored: its bytes and payloads, its mark, its class, and what it refers to.
    /// 0 where a migration has a say in it.
    pub(super) fn fingerprint(&self, index: usize, export: &Export) -> u64 {
        if is_old(self.linker) {
            return 0;
        }
        let mut hash = Xxh3::new();
        let mut number = |number: u64| hash.write_u64(number);
        number(export.checksum);
        number(export.raw_size);
        number(export.codec as u64);
        number(export.bulk_use as u64);
        for bulk in self.package.bulk(index) {
            number(bulk.checksum);
            number(bulk.raw_size);
        }
        if let Some(class) = self.package.class_of(index) {
            number(u64::from(class.version));
            number(class.hash);
        }
        for reference in self.package.refs(index) {
            let id = match reference.target() {
                RefTarget::None => None,
                RefTarget::Export(index) => self.package.exports().get(index).map(|export| export.object_id),
                RefTarget::Import(index) => self.package.imports().get(index).map(|import| import.object_id),
            };
            number(id.map_or(0, |id| id.0));
        }
        hash.finish().max(1)
    }
}

#[cfg(feature = "migrations")]
fn is_old(linker: &Linker) -> bool {
    linker.pending().iter().any(|(_, entries)| !entries.is_empty())
}

/// Without migrations an older package was refused.
#[cfg(not(feature = "migrations"))]
fn is_old(_: &Linker) -> bool {
    false
}
