//! What is in an open package.

use super::Package;
use crate::id::{ObjectId, ObjectRef, RefTarget};
use crate::schema::Schema;
use crate::summary::Summary;
use crate::tables::{Bulk, Export, Import, NameIndex, Origin};
use crate::versions::{StoredVersions, VersionId};
use std::ops::Range;

/// Where a forced export was copied from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OriginOf<'a> {
    /// Path of the package.
    pub package: &'a str,
    /// The content hash that the package had; [`index`](Self::index) is valid with it.
    pub content_hash: u64,
    /// Index of the export in that package.
    pub index: u32,
}

impl Package {
    /// Path of the package, as it was cooked.
    pub fn name(&self) -> &str {
        self.names.known(self.summary.package_name)
    }

    /// The summary.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// The import table.
    pub fn imports(&self) -> &[Import] {
        &self.imports
    }

    /// The origin table: the packages whose objects are copied into this one.
    pub fn origins(&self) -> &[Origin] {
        &self.origins
    }

    /// The export table: first the package's own objects, then the forced exports. Whatever an export needs of this package
    /// stands before it; what an own object needs of a forced export, it refers to by an import.
    pub fn exports(&self) -> &[Export] {
        &self.exports
    }

    /// The name with this index; none if the name table has no such entry.
    pub fn name_of(&self, index: NameIndex) -> Option<&str> {
        self.names.get(index)
    }

    /// Name of the object that is import `index`; none if there is no such import.
    pub fn import_name(&self, index: usize) -> Option<&str> {
        Some(self.names.known(self.imports.get(index)?.object))
    }

    /// Path of the package that import `index` is from; none if there is no such import.
    pub fn import_package(&self, index: usize) -> Option<&str> {
        Some(self.names.known(self.imports.get(index)?.package))
    }

    /// Path of the type that import `index` must have; none if there is no such import.
    pub fn import_type(&self, index: usize) -> Option<&str> {
        Some(self.names.known(self.imports.get(index)?.type_path))
    }

    /// Where export `index` was copied from; none if it is the package's own, or not there.
    pub fn origin_of(&self, index: usize) -> Option<OriginOf<'_>> {
        let export = self.exports.get(index)?;
        let origin = self.origin(export.origin)?;
        Some(OriginOf {
            package: self.names.known(origin.package),
            content_hash: origin.content_hash,
            index: export.origin_index,
        })
    }

    /// The forced export that is the same object as import `index`; none if this file holds no copy of it.
    pub fn forced_for_import(&self, index: usize) -> Option<usize> {
        // An export with the id of an import is the same object; that was checked on opening.
        self.find(self.imports.get(index)?.object_id)
    }

    /// Whether a forced export of this file satisfies every import, so that loading opens no other package. Bulk payloads
    /// may still lie in other files: they are read on demand.
    pub fn is_seek_free(&self) -> bool {
        (0..self.imports.len()).all(|index| self.forced_for_import(index).is_some())
    }

    /// The version lists that the package was saved with, ascending by id.
    pub fn version_lists(&self) -> impl ExactSizeIterator<Item = StoredVersions<'_>> {
        let lists = self.versions.lists.iter();
        lists.map(|list| StoredVersions::new(&self.versions, &self.names, list))
    }

    /// The version list with this id; none if the package was saved without.
    pub fn versions(&self, id: VersionId) -> Option<StoredVersions<'_>> {
        let lists = &self.versions.lists;
        let found = lists.binary_search_by_key(&id.0, |list| list.id).ok()?;
        Some(StoredVersions::new(&self.versions, &self.names, lists.get(found)?))
    }

    /// Name of the object that is export `index`; none if there is no such export.
    pub fn export_name(&self, index: usize) -> Option<&str> {
        Some(self.names.known(self.exports.get(index)?.name))
    }

    /// Index of the export with this id, forced or not, in logarithmic time.
    pub fn find(&self, id: ObjectId) -> Option<usize> {
        find_id(&self.export_ids, id)
    }

    /// Index of the import with this id, in logarithmic time.
    pub fn find_import(&self, id: ObjectId) -> Option<usize> {
        find_id(&self.import_ids, id)
    }

    /// Index of the package's own export with this name, in logarithmic time.
    pub fn find_name(&self, object: &str) -> Option<usize> {
        let index = self.find(ObjectId::new(self.name(), object))?;
        // A name that is not in the package may still have the id of one that is.
        (self.export_name(index)? == object).then_some(index)
    }

    /// Schema of the type of export `index`; none if that is a class itself, or not there.
    pub fn class_of(&self, index: usize) -> Option<&Schema> {
        match self.exports.get(index)?.class.target() {
            RefTarget::Export(class) => self.schema(class),
            RefTarget::None | RefTarget::Import(_) => None,
        }
    }

    /// The schema that export `index` is; none if it is no class, or not there.
    pub fn schema(&self, index: usize) -> Option<&Schema> {
        let found = self.schemas.binary_search_by_key(&index, |(class, _)| *class);
        Some(&self.schemas.get(found.ok()?)?.1)
    }

    /// The classes of the package: index of the export, and its schema.
    pub fn schemas(&self) -> impl ExactSizeIterator<Item = (usize, &Schema)> {
        self.schemas.iter().map(|(index, schema)| (*index, schema))
    }

    /// What export `index` refers to, in the order in which it was written; empty if there is no such export.
    pub fn refs(&self, index: usize) -> &[ObjectRef] {
        let range = |export: &Export| range(export.first_ref, export.ref_count);
        let refs = self.exports.get(index).map(range);
        refs.and_then(|refs| self.refs.get(refs)).unwrap_or_default()
    }

    /// The bulk payloads of export `index`, in the order in which they were written; empty if there is no such export.
    pub fn bulk(&self, index: usize) -> &[Bulk] {
        let range = |export: &Export| range(export.first_bulk, export.bulk_count);
        let bulk = self.exports.get(index).map(range);
        bulk.and_then(|bulk| self.bulk.get(bulk)).unwrap_or_default()
    }

    /// The origin with this number, counted from 1.
    pub(super) fn origin(&self, number: u32) -> Option<&Origin> {
        self.origins.get(number.checked_sub(1)? as usize)
    }

    /// Name of the package that an export was copied from.
    pub(super) fn origin_name(&self, export: &Export) -> Option<NameIndex> {
        Some(self.origin(export.origin)?.package)
    }
}

fn find_id(ids: &[(ObjectId, usize)], id: ObjectId) -> Option<usize> {
    let found = ids.binary_search_by_key(&id, |(id, _)| *id).ok()?;
    Some(ids.get(found)?.1)
}

fn range(first: u32, count: u32) -> Range<usize> {
    let first = first as usize;
    first..first.saturating_add(count as usize)
}
