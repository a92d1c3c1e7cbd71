//! Levels that are read without a seek: copies of the shared assets that they need lie in their own package. See [`Copies`].

use std::collections::BTreeMap;

use seamless_package::{ForcedOrigin, Limits, NewBulk, NewExport, ObjectRef, Package, WriteError};

use super::package::Writer;
use super::{CODEC, Layout, Stop, World, load, package_error};
use crate::assets::{AssetKey, EncodedObject, ObjectRecord, closure};
use crate::graph::output::{Output, write_error};
use crate::graph::state::LevelUnit;
use crate::share::PackagePlan;

/// The shared assets, for the levels that take copies of them, each after those that it refers to.
#[derive(Default)]
pub(super) struct Copies {
    /// Index of the package, and its content hash.
    homes: BTreeMap<AssetKey, (usize, u64)>,
    order: Vec<AssetKey>,
}

/// A copy that only needs to be written.
pub(super) struct Copied<'a> {
    pub key: &'a AssetKey,
    pub record: &'a ObjectRecord,
    pub object: EncodedObject,
    bulk: Vec<NewBulk>,
    package: &'a str,
    content_hash: u64,
    /// Of the original.
    index: u32,
}

impl Copies {
    /// A shared package is done: what is in it may be copied.
    pub fn add(&mut self, index: usize, package: &PackagePlan, content_hash: u64) {
        for key in &package.assets {
            self.order.push(key.clone());
            self.homes.insert(key.clone(), (index, content_hash));
        }
    }

    /// The content hash of the package that a shared asset is at home in.
    pub fn content_hash(&self, key: &AssetKey) -> Option<u64> {
        self.homes.get(key).map(|(_, hash)| *hash)
    }

    /// All shared assets that a level and its own assets lead to, in order.
    pub fn needed(&self, world: &World, level: &LevelUnit, package: &PackagePlan) -> Vec<AssetKey> {
        let needed = closure(world.objects, level.references.iter().chain(&package.assets));
        self.order.iter().filter(|key| needed.contains(key)).cloned().collect()
    }

    /// Copies of these. Payloads that are read on demand stay where they are, copies refer to them.
    pub fn load<'a>(
        &self,
        layout: &Layout<'a>,
        keys: &'a [AssetKey],
        output: &Output,
    ) -> Result<Vec<Copied<'a>>, Stop> {
        let world = layout.world;
        let mut originals = BTreeMap::new();
        let mut copied = Vec::new();
        for key in keys {
            let (Some((home, content_hash)), Some(record)) = (self.homes.get(key), world.objects.get(key)) else {
                continue;
            };
            let Some(plan) = world.packages.get(*home) else {
                continue;
            };
            if !originals.contains_key(home) {
                originals.insert(*home, original(world, plan, output)?);
            }
            let Some(package) = originals.get(home) else { continue };
            let Some(index) = package.find_name(&layout.name(key)) else {
                continue;
            };
            let mut object: EncodedObject = load(world.cache, &record.blob)?;
            let payloads = core::mem::take(&mut object.bulk);
            let bulk = if record.is_on_demand {
                package.bulk(index).iter().map(NewBulk::External).collect()
            } else {
                payloads.into_iter().map(|payload| NewBulk::Inline(payload.0)).collect()
            };
            copied.push(Copied {
                key,
                record,
                object,
                bulk,
                package: &plan.file,
                content_hash: *content_hash,
                index: index as u32,
            });
        }
        Ok(copied)
    }
}

/// The tables of a package that is done.
fn original(world: &World, plan: &PackagePlan, output: &Output) -> Result<Package, Stop> {
    let bytes = output.read(&plan.file);
    let bytes = bytes.map_err(|source| write_error(&output.path(&plan.file), source))?;
    Package::parse(bytes, &Limits::default()).map_err(|error| package_error(world, plan, &error))
}

impl Writer<'_> {
    /// Copies the assets into the package, behind everything that is its own.
    pub fn copy(&mut self, copies: &[Copied]) -> Result<(), WriteError> {
        let mut copied: BTreeMap<&AssetKey, ObjectRef> = BTreeMap::new();
        for copy in copies {
            // What is no copy is startup content: always live, and never copied.
            let refs = copy.record.references.iter().map(|key| match copied.get(key) {
                Some(copy) => Ok(*copy),
                None => self.reference(key),
            });
            let refs = refs.collect::<Result<_, _>>()?;
            let export = NewExport {
                name: &self.layout.name(copy.key),
                class: self.class(&copy.object.schema.type_path)?,
                outer: ObjectRef::NONE,
                role: copy.record.role,
                data: copy.object.data.clone(),
                refs,
                bulk: copy.bulk.clone(),
                codec: CODEC,
            };
            let origin = ForcedOrigin {
                package: copy.package,
                content_hash: copy.content_hash,
                index: copy.index,
            };
            copied.insert(copy.key, self.writer.forced(origin, export)?);
        }
        Ok(())
    }
}
