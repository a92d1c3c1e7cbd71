//! What is in an open package.

use super::Package;
use crate::id::{ObjectId, ObjectRef, RefTarget};
use crate::names::Names;
use crate::schema::Schema;
use crate::summary::{Summary, sized};
use crate::table::{ORDER_ENTRY_SIZE, Order, Table};
use crate::tables::{Bulk, Export, Import, NameIndex, Origin, Record};
use crate::versions::{StoredVersions, VersionId, Versions};

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
        self.names().known(self.summary.package_name)
    }

    /// The summary.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// The import table.
    pub fn imports(&self) -> Table<'_, Import> {
        self.table(self.summary.imports_offset, self.summary.import_count)
    }

    /// The origin table: the packages whose objects are copied into this one.
    pub fn origins(&self) -> Table<'_, Origin> {
        self.table(self.summary.origins_offset, self.summary.origin_count)
    }

    /// The export table: first the package's own objects, then the forced exports. Whatever an export needs of this package
    /// stands before it; what an own object needs of a forced export, it refers to by an import.
    pub fn exports(&self) -> Table<'_, Export> {
        self.table(self.summary.exports_offset, self.summary.export_count)
    }

    /// The name with this index; none if the name table has no such entry.
    pub fn name_of(&self, index: NameIndex) -> Option<&str> {
        self.names().get(index)
    }

    /// Name of the object that is import `index`; none if there is no such import.
    pub fn import_name(&self, index: usize) -> Option<&str> {
        Some(self.names().known(self.imports().get(index)?.object))
    }

    /// Path of the package that import `index` is from; none if there is no such import.
    pub fn import_package(&self, index: usize) -> Option<&str> {
        Some(self.names().known(self.imports().get(index)?.package))
    }

    /// Path of the type that import `index` must have; none if there is no such import.
    pub fn import_type(&self, index: usize) -> Option<&str> {
        Some(self.names().known(self.imports().get(index)?.type_path))
    }

    /// Where export `index` was copied from; none if it is the package's own, or not there.
    pub fn origin_of(&self, index: usize) -> Option<OriginOf<'_>> {
        let export = self.exports().get(index)?;
        let origin = self.origin(export.origin)?;
        Some(OriginOf {
            package: self.names().known(origin.package),
            content_hash: origin.content_hash,
            index: export.origin_index,
        })
    }

    /// The forced export that is the same object as import `index`; none if this file holds no copy of it.
    pub fn forced_for_import(&self, index: usize) -> Option<usize> {
        // An export with the id of an import is the same object; that was checked on opening.
        self.find(self.imports().get(index)?.object_id)
    }

    /// Whether a forced export of this file satisfies every import, so that loading opens no other package. Bulk payloads
    /// may still lie in other files: they are read on demand.
    pub fn is_seek_free(&self) -> bool {
        (0..self.imports().len()).all(|index| self.forced_for_import(index).is_some())
    }

    /// The version lists that the package was saved with, ascending by id.
    pub fn version_lists(&self) -> impl ExactSizeIterator<Item = StoredVersions<'_>> {
        let (versions, names) = (self.version_table(), self.names());
        versions
            .lists
            .iter()
            .map(move |list| StoredVersions::new(&versions, names, list))
    }

    /// The version list with this id; none if the package was saved without.
    pub fn versions(&self, id: VersionId) -> Option<StoredVersions<'_>> {
        let versions = self.version_table();
        let list = versions.lists.iter().find(|list| list.id == id.0)?;
        Some(StoredVersions::new(&versions, self.names(), list))
    }

    /// Name of the object that is export `index`; none if there is no such export.
    pub fn export_name(&self, index: usize) -> Option<&str> {
        let name = self.exports().field::<{ Export::at("name") }, _>(index)?;
        Some(self.names().known(name))
    }

    /// Index of the export with this id, forced or not, in logarithmic time.
    pub fn find(&self, id: ObjectId) -> Option<usize> {
        self.export_order().find(id)
    }

    /// Index of the import with this id, in logarithmic time.
    pub fn find_import(&self, id: ObjectId) -> Option<usize> {
        self.import_order().find(id)
    }

    /// Index of the package's own export with this name, in logarithmic time.
    pub fn find_name(&self, object: &str) -> Option<usize> {
        let index = self.find(self.seed.id(object.as_bytes()))?;
        // A name that is not in the package may still have the id of one that is.
        let name = self.exports().field::<{ Export::at("name") }, _>(index)?;
        (self.names().bytes(name) == Some(object.as_bytes())).then_some(index)
    }

    /// Schema of the type of export `index`; none if that is a class itself, or not there.
    pub fn class_of(&self, index: usize) -> Option<&Schema> {
        let class: ObjectRef = self.exports().field::<{ Export::at("class") }, _>(index)?;
        match class.target() {
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
    pub fn refs(&self, index: usize) -> Table<'_, ObjectRef> {
        let refs = || {
            let exports = self.exports();
            let first = exports.field::<{ Export::at("first_ref") }, _>(index)?;
            self.ref_table()
                .part(first, exports.field::<{ Export::at("ref_count") }, _>(index)?)
        };
        refs().unwrap_or(Table::new(&[]))
    }

    /// The bulk payloads of export `index`, in the order in which they were written; empty if there is no such export.
    pub fn bulk(&self, index: usize) -> Table<'_, Bulk> {
        let bulk = || {
            let exports = self.exports();
            let first = exports.field::<{ Export::at("first_bulk") }, _>(index)?;
            self.bulk_table()
                .part(first, exports.field::<{ Export::at("bulk_count") }, _>(index)?)
        };
        bulk().unwrap_or(Table::new(&[]))
    }

    /// The origin with this number, counted from 1.
    pub(super) fn origin(&self, number: u32) -> Option<Origin> {
        self.origins().get(number.checked_sub(1)? as usize)
    }

    pub(super) fn names(&self) -> Names<'_> {
        let summary = &self.summary;
        let section = self.bytes_at(summary.names_offset, summary.names_size);
        Names::new(section, summary.name_count)
    }

    /// The references of all exports.
    pub(super) fn ref_table(&self) -> Table<'_, ObjectRef> {
        self.table(self.summary.refs_offset(), self.summary.ref_count)
    }

    /// The bulk payloads of all exports.
    pub(super) fn bulk_table(&self) -> Table<'_, Bulk> {
        self.table(self.summary.bulk_table_offset(), self.summary.bulk_count)
    }

    pub(super) fn version_table(&self) -> Versions<'_> {
        let summary = &self.summary;
        Versions {
            lists: self.table(summary.versions_offset, summary.version_list_count),
            entries: self.table(summary.version_entries_offset(), summary.version_entry_count),
        }
    }

    pub(super) fn import_order(&self) -> Order<'_, Import> {
        let (offset, count) = (self.summary.import_order_offset(), self.summary.import_count);
        Order::new(self.imports(), self.bytes_at(offset, sized(count, ORDER_ENTRY_SIZE)))
    }

    pub(super) fn export_order(&self) -> Order<'_, Export> {
        let (offset, count) = (self.summary.export_order_offset(), self.summary.export_count);
        Order::new(self.exports(), self.bytes_at(offset, sized(count, ORDER_ENTRY_SIZE)))
    }

    fn table<T: Record>(&self, offset: u64, count: u32) -> Table<'_, T> {
        Table::new(self.bytes_at(offset, sized(count, T::SIZE)))
    }

    /// Bytes of the header. The summary was compared with them on opening, so all that it speaks of is there.
    fn bytes_at(&self, offset: u64, size: u64) -> &[u8] {
        let range = offset as usize..offset.saturating_add(size) as usize;
        self.header.get(range).unwrap_or_default()
    }
}
