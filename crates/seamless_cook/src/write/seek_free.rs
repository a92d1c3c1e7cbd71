//! Levels that are read without a seek: copies of the shared assets that they need lie in their own package. See [`Copies`].

use std::collections::{BTreeMap, BTreeSet};

use seamless_asset::codec::BulkUse;
use seamless_package::{ForcedOrigin, Limits, NewBulk, NewExport, ObjectRef, Package, Schema, WriteError};

use super::Writer;
use crate::assets::{AssetKey, AssetStore, EncodedObject};
use crate::level::EncodedLevel;
use crate::share::{PackageKind, PackagePlan};

/// The shared assets, kept for the levels that take copies of them, each after those that it refers to.
#[derive(Default)]
pub(super) struct Copies {
    objects: BTreeMap<AssetKey, Shared>,
    order: Vec<AssetKey>,
}

/// A shared asset and where it is at home.
struct Shared {
    object: EncodedObject,
    /// Its payloads, which the object has no more.
    bulk: Vec<NewBulk>,
    package: String,
    content_hash: u64,
    index: u32,
}

impl Copies {
    /// Keeps the assets of a shared package that is about to be written.
    pub fn of(package: &PackagePlan, store: &AssetStore) -> Vec<(AssetKey, EncodedObject)> {
        let object = |key: &AssetKey| Some((key.clone(), store.objects.get(key)?.clone()));
        package.assets.iter().filter_map(object).collect()
    }

    /// The package was written: its assets have their places now. Payloads that are read on demand stay there, copies refer to them.
    pub fn add(
        &mut self,
        kept: Vec<(AssetKey, EncodedObject)>,
        bytes: &[u8],
        names: &super::Names,
    ) -> Result<(), WriteError> {
        let package = Package::parse(bytes, &Limits::default())?;
        for (key, mut object) in kept {
            let Some(index) = names.get(&key).and_then(|(_, name)| package.find_name(name)) else {
                continue;
            };
            let payloads = core::mem::take(&mut object.bulk);
            let bulk = match object.bulk_use {
                BulkUse::Load => payloads.into_iter().map(NewBulk::Inline).collect(),
                BulkUse::OnDemand => package.bulk(index).iter().map(NewBulk::External).collect(),
            };
            let shared = Shared {
                object,
                bulk,
                package: package.name().to_owned(),
                content_hash: package.summary().content_hash,
                index: index as u32,
            };
            self.order.push(key.clone());
            self.objects.insert(key, shared);
        }
        Ok(())
    }

    /// All shared assets that a level and its own assets lead to, in order.
    pub fn needed<'a>(&'a self, level: &EncodedLevel, own: &[(&AssetKey, EncodedObject)]) -> Vec<&'a AssetKey> {
        let resources = level.resources.iter().flat_map(|resource| &resource.references);
        let own = own.iter().flat_map(|(_, object)| &object.references);
        let mut open: Vec<&AssetKey> = level.references.iter().chain(resources).chain(own).collect();
        let mut needed = BTreeSet::new();
        while let Some(key) = open.pop() {
            if let Some(shared) = self.objects.get(key)
                && needed.insert(key.clone())
            {
                open.extend(&shared.object.references);
            }
        }
        self.order.iter().filter(|key| needed.contains(*key)).collect()
    }

    pub fn schema(&self, key: &AssetKey) -> Option<&Schema> {
        Some(&self.objects.get(key)?.object.schema)
    }
}

impl Writer<'_> {
    /// Copies the assets into the package, behind everything that is its own.
    pub(super) fn copy(&mut self, copies: &Copies, keys: &[&AssetKey]) -> Result<(), WriteError> {
        let mut copied: BTreeMap<&AssetKey, ObjectRef> = BTreeMap::new();
        for key in keys {
            let (Some(shared), Some((_, name))) = (copies.objects.get(*key), self.layout.names.get(*key)) else {
                continue;
            };
            let object = &shared.object;
            // What is no copy is startup content: always live, and never copied.
            let refs = object.references.iter().map(|key| match copied.get(key) {
                Some(copy) => Ok(*copy),
                None => self.reference(key),
            });
            let refs = refs.collect::<Result<_, _>>()?;
            let export = NewExport {
                name,
                class: self.class(&object.schema.type_path)?,
                outer: ObjectRef::NONE,
                role: object.role,
                data: object.data.clone(),
                refs,
                bulk: shared.bulk.clone(),
                codec: super::CODEC,
            };
            let origin = ForcedOrigin {
                package: &shared.package,
                content_hash: shared.content_hash,
                index: shared.index,
            };
            copied.insert(key, self.writer.forced(origin, export)?);
        }
        // All else that it imports lies in it.
        let packages = self.layout.packages;
        let is_startup = |index: &usize| {
            packages
                .get(*index)
                .is_some_and(|used| used.kind == PackageKind::Startup)
        };
        self.used.retain(is_startup);
        Ok(())
    }
}
