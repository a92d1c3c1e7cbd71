//! Writing packages: objects go in one after the other, in dependency order, and come out as the same bytes every time.

use crate::assemble::{Packed, Parts, WrittenExport, WrittenImport, pack};
use crate::error::{PackageError, Place, WriteError};
use crate::id::{ObjectId, ObjectRef, RefTarget, Role};
use crate::limits::Limits;
use crate::reader::Package;
use crate::schema::Schema;
use crate::tables::Codec;
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
    pub data: Vec<u8>,
    /// The exports and imports that must be there before it is decoded. Order and repetitions are kept.
    pub refs: Vec<ObjectRef>,
    /// Its bulk payloads.
    pub bulk: Vec<Vec<u8>>,
    /// How data and payloads may be stored; each is compressed only if that saves more than a tenth.
    pub codec: Codec,
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
    /// Whose an id is.
    owners: BTreeMap<ObjectId, ObjectRef>,
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
            owners: BTreeMap::new(),
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

    /// Adds a class, or gives the one that was added with the same schema.
    ///
    /// # Errors
    /// [`WriteError::SchemaConflict`] if the type has another schema, [`WriteError::BadName`] if its path is empty,
    /// [`WriteError::DuplicateObject`] and [`WriteError::IdCollision`] if an object stands in the way.
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
        self.push(WrittenExport {
            object_id: (self.hash)(&self.parts.package, &name),
            name,
            class: ObjectRef::NONE,
            outer: ObjectRef::NONE,
            role: Role::ALL,
            data: pack(schema.encode(), Codec::None),
            refs: Vec::new(),
            bulk: Vec::new(),
        })?;
        self.classes.insert(type_path.clone(), (class, schema.clone()));
        Ok(class)
    }

    /// Adds an import, or gives the one that was added for the same object; roles are united.
    ///
    /// # Errors
    /// [`WriteError::ImportConflict`] if the object was imported with another type, [`WriteError::SelfImport`],
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
        let Some(&owner) = self.owners.get(&object_id) else {
            let index = self.parts.imports.len();
            let new = numbered(ObjectRef::import(index), Place::Imports, "imports", index)?;
            self.owners.insert(object_id, new);
            self.parts.imports.push(WrittenImport {
                package: package.to_owned(),
                object: object.to_owned(),
                type_path: type_path.to_owned(),
                object_id,
                role,
            });
            return Ok(new);
        };
        let first = self.path_of(owner);
        let known = match owner.target() {
            RefTarget::Import(index) => self.parts.imports.get_mut(index),
            RefTarget::Export(_) | RefTarget::None => None,
        };
        let same = known.filter(|known| known.package == package && known.object == object);
        let Some(known) = same else {
            return Err(WriteError::IdCollision {
                id: object_id,
                first,
                second: path,
            });
        };
        if known.type_path != type_path {
            return Err(WriteError::ImportConflict {
                path,
                first: known.type_path.clone(),
                second: type_path.to_owned(),
            });
        }
        known.role = known.role | role;
        Ok(owner)
    }

    /// Adds an object. Its class, its outer and what it refers to were added before.
    ///
    /// # Errors
    /// [`WriteError::BadName`], [`WriteError::DuplicateObject`], [`WriteError::IdCollision`],
    /// [`WriteError::BadClass`], [`WriteError::BadReference`] and [`WriteError::EmptyRole`]; the writer is as before.
    pub fn export(&mut self, object: NewExport<'_>) -> Result<ObjectRef, WriteError> {
        check_name("object", object.name)?;
        self.check_object(&object)?;
        let codec = object.codec;
        let bulk = object.bulk.into_iter().map(|raw| pack(raw, codec));
        self.push(WrittenExport {
            object_id: (self.hash)(&self.parts.package, object.name),
            name: object.name.to_owned(),
            class: class_ref(object.class),
            outer: object.outer,
            role: object.role,
            data: pack(object.data, codec),
            refs: object.refs,
            bulk: bulk.collect::<Vec<Packed>>(),
        })
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

    fn check_object(&self, object: &NewExport<'_>) -> Result<(), WriteError> {
        let name = || object.name.to_owned();
        if object.role.is_empty() {
            return Err(WriteError::EmptyRole { object: name() });
        }
        let class = self.parts.exports.get(object.class.0);
        if !class.is_some_and(|class| class.class.is_none()) {
            return Err(WriteError::BadClass { object: name() });
        }
        let bad = |reference: ObjectRef, what| WriteError::BadReference {
            object: name(),
            reference,
            what,
        };
        match object.outer.target() {
            RefTarget::None => {}
            RefTarget::Import(_) => {
                let what = "but an outer is an export";
                return Err(bad(object.outer, what));
            }
            RefTarget::Export(outer) => match self.parts.exports.get(outer) {
                None => return Err(bad(object.outer, "which was not added before")),
                Some(outer) if outer.class.is_none() => {
                    return Err(bad(object.outer, "but a class has no parts"));
                }
                Some(_) => {}
            },
        }
        for &reference in &object.refs {
            let known = match reference.target() {
                RefTarget::None => false,
                RefTarget::Export(index) => index < self.parts.exports.len(),
                RefTarget::Import(index) => index < self.parts.imports.len(),
            };
            if !known {
                return Err(bad(reference, "which was not added before"));
            }
        }
        Ok(())
    }

    /// Adds an export whose name and id nobody has yet.
    fn push(&mut self, export: WrittenExport) -> Result<ObjectRef, WriteError> {
        if let Some(&owner) = self.owners.get(&export.object_id) {
            let first = self.path_of(owner);
            let second = object_path(&self.parts.package, &export.name);
            if first == second {
                let name = export.name;
                return Err(WriteError::DuplicateObject { name });
            }
            return Err(WriteError::IdCollision {
                id: export.object_id,
                first,
                second,
            });
        }
        let index = self.parts.exports.len();
        let new = numbered(ObjectRef::export(index), Place::Exports, "exports", index)?;
        self.owners.insert(export.object_id, new);
        self.parts.exports.push(export);
        Ok(new)
    }

    fn path_of(&self, owner: ObjectRef) -> String {
        let parts = &self.parts;
        let path = match owner.target() {
            RefTarget::Export(index) => parts
                .exports
                .get(index)
                .map(|export| object_path(&parts.package, &export.name)),
            RefTarget::Import(index) => parts
                .imports
                .get(index)
                .map(|import| object_path(&import.package, &import.object)),
            RefTarget::None => None,
        };
        path.unwrap_or_default()
    }
}

impl ClassIndex {
    /// Index of the export that holds the schema.
    pub fn index(self) -> usize {
        self.0
    }
}

/// The writer made the index from a reference, so it always has one.
fn class_ref(class: ClassIndex) -> ObjectRef {
    ObjectRef::export(class.0).unwrap_or(ObjectRef::NONE)
}

fn object_path(package: &str, object: &str) -> String {
    format!("{package}#{object}")
}

fn check_name(what: &'static str, name: &str) -> Result<(), WriteError> {
    if name.is_empty() || name.contains('\0') {
        let name = name.to_owned();
        return Err(WriteError::BadName { what, name });
    }
    Ok(())
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
