//! Writing packages: objects go in one after the other, in dependency order, and come out as the same bytes every time.

mod checks;

use crate::assemble::{Parts, WrittenBulk, WrittenExport, WrittenImport, WrittenOrigin};
use crate::codec::{Codec, Packed};
use crate::error::{PackageError, Place};
use crate::id::{ObjectId, ObjectRef, Role};
use crate::limits::Limits;
use crate::reader::Package;
use crate::schema::Schema;
use crate::tables::{Bulk, PayloadUse};
use crate::versions::VersionList;
use crate::write_error::WriteError;
use checks::check_name;
use std::collections::BTreeMap;

/// A class that was added to a [`PackageWriter`]: the index of its export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClassIndex(usize);

/// An object for [`PackageWriter::export`].
#[derive(Debug, Clone)]
pub struct NewExport<'a> {
    /// Its name, unique in the package.
    pub name: &'a str,
    /// Its class.
    pub class: ClassIndex,
    /// The export that it is a part of, or none.
    pub outer: ObjectRef,
    /// Who needs it; not empty.
    pub role: Role,
    /// Its encoded state.
    pub data: NewData,
    /// The exports and imports that must be there before it is decoded. Order and repetitions are kept.
    pub refs: Vec<ObjectRef>,
    /// Its bulk payloads.
    pub bulk: Vec<NewBulk>,
    /// When its payloads are wanted; [`PayloadUse::WithObject`] if it has none.
    pub bulk_use: PayloadUse,
    /// How data and payloads that are not packed may be stored; each is compressed only if that saves more than a tenth.
    pub codec: Codec,
}

/// The data of a [`NewExport`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NewData {
    /// These bytes.
    Raw(Vec<u8>),
    /// These, as they are stored.
    Packed(Packed),
}

impl NewData {
    fn pack(self, codec: Codec) -> Packed {
        match self {
            Self::Raw(raw) => Packed::new(raw, codec),
            Self::Packed(packed) => packed,
        }
    }
}

impl From<Vec<u8>> for NewData {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Raw(bytes)
    }
}

/// A payload of a [`NewExport`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NewBulk {
    /// Stored in the package.
    Inline(NewData),
    /// A payload that stays in the file of the package that the object is copied from: its entry there, see
    /// [`Package::bulk`]. Only for forced exports, and at the same position as there.
    External(Bulk),
}

impl From<Vec<u8>> for NewBulk {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Inline(bytes.into())
    }
}

/// Where an object for [`PackageWriter::forced`] is copied from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForcedOrigin<'a> {
    /// Path of the package.
    pub package: &'a str,
    /// Its content hash.
    pub content_hash: u64,
    /// Index of the export there.
    pub index: u32,
}

/// Writes one package.
///
/// The bytes depend on what is added and in which order, and on nothing else.
#[derive(Debug, Clone)]
pub struct PackageWriter {
    parts: Parts,
    limits: Limits,
    hash: fn(&str, &str) -> ObjectId,
    /// Index of the export of each class, with its schema, by type path.
    classes: BTreeMap<String, (ClassIndex, Schema)>,
    /// Which import an id is.
    import_ids: BTreeMap<ObjectId, usize>,
    /// Which export an id is; a forced export may be an import as well.
    export_ids: BTreeMap<ObjectId, usize>,
    /// Which origin a path is.
    origins: BTreeMap<String, usize>,
    /// Which export was copied from an origin's index.
    origin_indices: BTreeMap<(usize, u32), usize>,
}

impl PackageWriter {
    /// Starts an empty package with this path, which must be the path that others import it by. The result keeps the
    /// default [`Limits`].
    pub fn new(package: &str) -> Self {
        Self::with_limits(package, Limits::default())
    }

    /// As [`new`](Self::new), for readers with other limits.
    pub fn with_limits(package: &str, limits: Limits) -> Self {
        Self {
            parts: Parts::new(package),
            limits,
            hash: ObjectId::new,
            classes: BTreeMap::new(),
            import_ids: BTreeMap::new(),
            export_ids: BTreeMap::new(),
            origins: BTreeMap::new(),
            origin_indices: BTreeMap::new(),
        }
    }

    /// As [`new`](Self::new), with another hash in place of [`ObjectId::new`].
    #[cfg(test)]
    pub(crate) fn with_hash(package: &str, hash: fn(&str, &str) -> ObjectId) -> Self {
        let mut writer = Self::new(package);
        writer.hash = hash;
        writer
    }

    /// Other limits for what was written so far.
    #[cfg(test)]
    pub(crate) fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// How the classes may be stored: all together are compressed, if that saves more than a tenth. [`Codec::None`] if this is not
    /// called.
    pub fn class_codec(&mut self, codec: Codec) {
        self.parts.class_codec = codec;
    }

    /// Adds a class, or gives the one that was added with the same schema.
    ///
    /// # Errors
    /// [`WriteError::SchemaConflict`] if the type has another schema, [`WriteError::BadName`] if its path is empty,
    /// [`WriteError::AfterForced`] if a forced export was added before, [`WriteError::DuplicateObject`] and
    /// [`WriteError::IdCollision`] if an object stands in the way.
    pub fn class(&mut self, schema: &Schema) -> Result<ClassIndex, WriteError> {
        let type_path = &schema.type_path;
        if let Some((class, known)) = self.classes.get(type_path) {
            if known == schema {
                return Ok(*class);
            }
            let type_path = type_path.clone();
            return Err(WriteError::SchemaConflict { type_path });
        }
        check_name("type path", type_path)?;
        let name = Schema::object_name(type_path);
        let class = ClassIndex(self.parts.exports.len());
        self.push_own(WrittenExport {
            object_id: (self.hash)(&self.parts.package, &name),
            name,
            class: ObjectRef::NONE,
            outer: ObjectRef::NONE,
            role: Role::ALL,
            data: Packed::new(schema.encode(), Codec::None),
            refs: Vec::new(),
            bulk: Vec::new(),
            bulk_use: PayloadUse::WithObject,
            forced: None,
        })?;
        self.classes.insert(type_path.clone(), (class, schema.clone()));
        Ok(class)
    }

    /// Adds an import, or gives the one that was added for the same object; roles are united.
    ///
    /// # Errors
    /// [`WriteError::ImportConflict`] if the object was imported or copied with another type, [`WriteError::SelfImport`],
    /// [`WriteError::EmptyRole`], [`WriteError::BadName`] and [`WriteError::IdCollision`].
    pub fn import(
        &mut self,
        package: &str,
        object: &str,
        type_path: &str,
        role: Role,
    ) -> Result<ObjectRef, WriteError> {
        check_name("package", package)?;
        check_name("object", object)?;
        check_name("type path", type_path)?;
        let path = object_path(package, object);
        if package == self.parts.package {
            return Err(WriteError::SelfImport { path });
        }
        if role.is_empty() {
            return Err(WriteError::EmptyRole { object: path });
        }
        let object_id = (self.hash)(package, object);
        self.check_owner(object_id, &path)?;
        self.check_type(object_id, type_path, &path)?;
        let index = match self.import_ids.get(&object_id) {
            Some(index) => *index,
            None => self.parts.imports.len(),
        };
        let reference = numbered(ObjectRef::import(index), Place::Imports, "imports", index)?;
        if let Some(known) = self.parts.imports.get_mut(index) {
            known.role = known.role | role;
            return Ok(reference);
        }
        self.import_ids.insert(object_id, index);
        self.parts.imports.push(WrittenImport {
            package: package.to_owned(),
            object: object.to_owned(),
            type_path: type_path.to_owned(),
            object_id,
            role,
        });
        Ok(reference)
    }

    /// Adds an object. Its class, its outer and what it refers to were added before.
    ///
    /// # Errors
    /// [`WriteError::BadName`], [`WriteError::DuplicateObject`], [`WriteError::IdCollision`], [`WriteError::BadClass`],
    /// [`WriteError::BadReference`], [`WriteError::BadBulk`], [`WriteError::NoPayloads`], [`WriteError::EmptyRole`] and
    /// [`WriteError::AfterForced`]; the writer is as before.
    pub fn export(&mut self, object: NewExport<'_>) -> Result<ObjectRef, WriteError> {
        check_name("object", object.name)?;
        self.check_object(&object, None)?;
        let object_id = (self.hash)(&self.parts.package, object.name);
        self.push_own(written(object, object_id, None))
    }

    /// Adds a copy of an object of another package, with its identity. All classes and the package's own objects were
    /// added before. They refer to it by an [`import`](Self::import), which may come before or after. Its class is a class of
    /// this package; its outer is a forced export from the same package, or none; it refers to forced exports, to
    /// imports, and to classes.
    ///
    /// # Errors
    /// As [`export`](Self::export), and [`WriteError::SelfOrigin`], [`WriteError::OriginConflict`],
    /// [`WriteError::OriginIndexTwice`], and [`WriteError::ImportConflict`] if the object was imported with another type;
    /// the writer is as before.
    pub fn forced(&mut self, from: ForcedOrigin<'_>, object: NewExport<'_>) -> Result<ObjectRef, WriteError> {
        check_name("package", from.package)?;
        check_name("object", object.name)?;
        let path = object_path(from.package, object.name);
        if from.package == self.parts.package {
            return Err(WriteError::SelfOrigin { path });
        }
        let origin = self.origin(from)?;
        self.check_object(&object, Some(origin))?;
        let object_id = (self.hash)(from.package, object.name);
        self.check_new(object_id, object.name, &path)?;
        let type_path = self.class_path(object.class).unwrap_or_default();
        self.check_type(object_id, type_path, &path)?;
        let forced = (origin, from.index);
        if let Some(first) = self.origin_indices.get(&forced) {
            return Err(WriteError::OriginIndexTwice {
                package: from.package.to_owned(),
                index: from.index,
                first: self.export_name(*first),
                second: object.name.to_owned(),
            });
        }
        let index = self.parts.exports.len();
        let pushed = self.push(written(object, object_id, Some(forced)))?;
        if origin == self.parts.origins.len() {
            self.origins.insert(from.package.to_owned(), origin);
            self.parts.origins.push(WrittenOrigin {
                package: from.package.to_owned(),
                content_hash: from.content_hash,
            });
        }
        self.origin_indices.insert(forced, index);
        Ok(pushed)
    }

    /// Adds version lists: what the package has seen, usually all that the build knows.
    ///
    /// # Errors
    /// [`WriteError::DuplicateVersions`] if a list with the same id was added before; the writer is as before.
    pub fn versions(&mut self, lists: &[VersionList]) -> Result<(), WriteError> {
        let before = self.parts.versions.len();
        for list in lists {
            let known = self.parts.versions.iter().find(|known| known.id() == list.id());
            if let Some(known) = known {
                let (id, first, second) = (list.id(), known.label().to_owned(), list.label().to_owned());
                self.parts.versions.truncate(before);
                return Err(WriteError::DuplicateVersions { id, first, second });
            }
            self.parts.versions.push(list.clone());
        }
        Ok(())
    }

    /// The bytes of the package.
    ///
    /// # Errors
    /// [`WriteError::BadName`] if the package has no path, [`WriteError::Unreadable`] if a reader would refuse the
    /// package, because it is larger than the limits or nested deeper.
    pub fn finish(self) -> Result<Vec<u8>, WriteError> {
        check_name("package", &self.parts.package)?;
        let bytes = self.parts.assemble();
        // Opening costs little next to cooking, and nothing is written that cannot be read.
        Package::parse(&bytes, &self.limits)?;
        Ok(bytes)
    }

    /// Adds an object of this package; its name and id are new.
    fn push_own(&mut self, export: WrittenExport) -> Result<ObjectRef, WriteError> {
        let path = object_path(&self.parts.package, &export.name);
        self.check_new(export.object_id, &export.name, &path)?;
        if self.parts.exports.last().is_some_and(|last| last.forced.is_some()) {
            let object = export.name;
            return Err(WriteError::AfterForced { object });
        }
        self.push(export)
    }

    fn push(&mut self, export: WrittenExport) -> Result<ObjectRef, WriteError> {
        let index = self.parts.exports.len();
        let new = numbered(ObjectRef::export(index), Place::Exports, "exports", index)?;
        self.export_ids.insert(export.object_id, index);
        self.parts.exports.push(export);
        Ok(new)
    }
}

impl ClassIndex {
    /// Index of the export that holds the schema.
    pub fn index(self) -> usize {
        self.0
    }
}

fn written(object: NewExport<'_>, object_id: ObjectId, forced: Option<(usize, u32)>) -> WrittenExport {
    let codec = object.codec;
    let bulk = object.bulk.into_iter().map(|bulk| match bulk {
        NewBulk::Inline(data) => WrittenBulk::Inline(data.pack(codec)),
        NewBulk::External(bulk) => WrittenBulk::External(bulk),
    });
    WrittenExport {
        object_id,
        name: object.name.to_owned(),
        // The writer made the index from a reference, so it always has one.
        class: ObjectRef::export(object.class.0).unwrap_or(ObjectRef::NONE),
        outer: object.outer,
        role: object.role,
        data: object.data.pack(codec),
        refs: object.refs,
        bulk: bulk.collect(),
        bulk_use: object.bulk_use,
        forced,
    }
}

fn object_path(package: &str, object: &str) -> String {
    format!("{package}#{object}")
}

/// A reference has 31 bits for the index.
fn numbered(
    reference: Option<ObjectRef>,
    place: Place,
    field: &'static str,
    index: usize,
) -> Result<ObjectRef, WriteError> {
    reference.ok_or(WriteError::Unreadable(PackageError::Limit {
        place,
        field,
        limit: i32::MAX as u64,
        found: index as u64,
    }))
}
