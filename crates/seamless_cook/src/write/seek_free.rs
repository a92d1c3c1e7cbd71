//! Copies of shared assets in the packages of levels, which need not open another one for them. See [`Originals`].

use std::cell::OnceCell;
use std::collections::BTreeMap;

use seamless_package::{
    ForcedOrigin, Limits, NewBulk, NewData, NewExport, ObjectRef, Package, PayloadUse, Summary, WriteError,
};

use super::package::Writer;
use super::{Layout, Stop, World, package_error};
use crate::assets::{AssetKey, ByKeyRef, EncodedObject, ObjectRecord};
use crate::graph::blob::Stored;
use crate::graph::cache::Cache;
use crate::graph::output::{Output, write_error};
use crate::layout::PackagePlan;

/// The packages that copies are made from, by index.
#[derive(Default)]
pub(super) struct Originals(BTreeMap<usize, Original>);

struct Original {
    content_hash: u64,
    /// Its tables, as soon as somebody asks.
    package: OnceCell<Package>,
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

impl Originals {
    /// A package is done: what is in it may be copied.
    pub fn add(&mut self, index: usize, content_hash: u64) {
        let package = OnceCell::new();
        self.0.insert(index, Original { content_hash, package });
    }

    /// The package that an asset is at home in, and its content hash.
    pub fn home(&self, layout: &Layout, key: &AssetKey) -> Option<(usize, u64)> {
        let index = layout.home(key)?.package;
        Some((index, self.0.get(&index)?.content_hash))
    }

    /// Copies of these. Payloads that are read on demand by an app like the cooker stay where they are, copies refer to them; those of a marked
    /// object come along where the codec reads them.
    pub fn load<'a>(
        &self,
        layout: &Layout<'a>,
        cache: &Cache,
        keys: &'a [AssetKey],
        output: &Output,
    ) -> Result<Vec<Copied<'a>>, Stop> {
        let world = layout.world;
        let mut copied = Vec::new();
        for key in keys {
            let (Some((home, content_hash)), Some((record, object))) =
                (self.home(layout, key), world.object(cache, key))
            else {
                continue;
            };
            let Some(plan) = world.packages.get(home) else {
                continue;
            };
            let Some(package) = self.package(home, world, plan, output)? else {
                continue;
            };
            let Some(index) = package.find_name(&layout.name(key)) else {
                continue;
            };
            let mut object = object?;
            let payloads = core::mem::take(&mut object.bulk);
            let bulk = if record.is_on_demand {
                package.bulk(index).iter().map(NewBulk::External).collect()
            } else {
                payloads.into_iter().map(Stored::into).collect()
            };
            copied.push(Copied {
                key,
                record,
                object,
                bulk,
                package: &plan.file,
                content_hash,
                index: index as u32,
            });
        }
        Ok(copied)
    }

    /// The tables of a package that is done, which are read once.
    fn package(
        &self,
        index: usize,
        world: &World,
        plan: &PackagePlan,
        output: &Output,
    ) -> Result<Option<&Package>, Stop> {
        let Some(original) = self.0.get(&index) else {
            return Ok(None);
        };
        if original.package.get().is_none() {
            let bytes = output.read(&plan.file);
            let mut bytes = bytes.map_err(|source| write_error(&output.path(&plan.file), source))?;
            let broken = |error| package_error(world, plan, &error);
            let header = Summary::parse(&bytes, &Limits::default()).map_err(broken)?.header_len();
            bytes.truncate(usize::try_from(header).unwrap_or(usize::MAX));
            bytes.shrink_to_fit();
            let package = Package::parse(bytes, &Limits::default()).map_err(broken)?;
            // Nobody else has looked meanwhile.
            let _ = original.package.set(package);
        }
        Ok(original.package.get())
    }
}

impl Writer<'_> {
    /// Copies the assets into the package, behind everything that is its own.
    pub fn copy(&mut self, copies: Vec<Copied>) -> Result<(), WriteError> {
        let mut copied: ByKeyRef<ObjectRef> = ByKeyRef::default();
        for copy in copies {
            // What is no copy lies in another package, or is startup content.
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
                data: NewData::Packed(copy.object.data.0),
                refs,
                bulk: copy.bulk,
                bulk_use: PayloadUse::marked(copy.record.is_marked),
                codec: self.layout.world.codec,
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
