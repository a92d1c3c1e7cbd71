//! What a writer refuses.

use super::{ClassIndex, ForcedOrigin, NewBulk, NewExport, PackageWriter, object_path};
use crate::assemble::WrittenExport;
use crate::codec::check_sizes;
use crate::id::{ObjectId, ObjectRef, RefTarget};
use crate::schema::Schema;
use crate::write_error::WriteError;

impl PackageWriter {
    /// Position of an origin, one past the end for a new one.
    pub(super) fn origin(&self, from: ForcedOrigin<'_>) -> Result<usize, WriteError> {
        let origins = &self.parts.origins;
        let known = self.origins.get(from.package).copied();
        let Some((position, origin)) = known.and_then(|at| Some((at, origins.get(at)?))) else {
            return Ok(origins.len());
        };
        if origin.content_hash == from.content_hash {
            return Ok(position);
        }
        Err(WriteError::OriginConflict {
            package: from.package.to_owned(),
            first: origin.content_hash,
            second: from.content_hash,
        })
    }

    /// Nobody but the same object has the id.
    pub(super) fn check_owner(&self, id: ObjectId, path: &str) -> Result<(), WriteError> {
        let import = self.import_ids.get(&id).map(|index| self.import_path(*index));
        let export = self.export_ids.get(&id).map(|index| self.export_path(*index));
        let other = [import, export].into_iter().flatten().find(|first| first != path);
        let Some(first) = other else {
            return Ok(());
        };
        let second = path.to_owned();
        Err(WriteError::IdCollision { id, first, second })
    }

    /// No export and no other object has the id.
    pub(super) fn check_new(&self, id: ObjectId, name: &str, path: &str) -> Result<(), WriteError> {
        self.check_owner(id, path)?;
        if self.export_ids.contains_key(&id) {
            let name = name.to_owned();
            return Err(WriteError::DuplicateObject { name });
        }
        Ok(())
    }

    /// An object has one type, whether it is imported, copied, or both.
    pub(super) fn check_type(&self, id: ObjectId, type_path: &str, path: &str) -> Result<(), WriteError> {
        let import = self
            .import_ids
            .get(&id)
            .and_then(|index| self.parts.imports.get(*index));
        let export = self
            .export_ids
            .get(&id)
            .and_then(|index| self.parts.exports.get(*index));
        let class = export.and_then(|export| match export.class.target() {
            RefTarget::Export(class) => self.class_path(ClassIndex(class)),
            RefTarget::None | RefTarget::Import(_) => None,
        });
        let known = import.map(|import| import.type_path.as_str()).or(class);
        let Some(first) = known.filter(|known| *known != type_path) else {
            return Ok(());
        };
        Err(WriteError::ImportConflict {
            path: path.to_owned(),
            first: first.to_owned(),
            second: type_path.to_owned(),
        })
    }

    /// The type path of a class.
    pub(super) fn class_path(&self, class: ClassIndex) -> Option<&str> {
        Schema::type_of_name(&self.parts.exports.get(class.0)?.name)
    }

    /// `origin` is the position of the origin of a forced export.
    pub(super) fn check_object(&self, object: &NewExport<'_>, origin: Option<usize>) -> Result<(), WriteError> {
        let name = || object.name.to_owned();
        if object.role.is_empty() {
            return Err(WriteError::EmptyRole { object: name() });
        }
        if object.bulk_use.is_marked() && object.bulk.is_empty() {
            return Err(WriteError::NoPayloads { object: name() });
        }
        let class = self.parts.exports.get(object.class.0);
        if !class.is_some_and(|class| class.class.is_none()) {
            return Err(WriteError::BadClass { object: name() });
        }
        let bad = |(reference, what)| WriteError::BadReference {
            object: name(),
            reference,
            what,
        };
        self.check_outer(object.outer, origin)
            .map_err(|what| bad((object.outer, what)))?;
        for &reference in &object.refs {
            self.check_reference(reference, origin)
                .map_err(|what| bad((reference, what)))?;
        }
        for (payload, bulk) in object.bulk.iter().enumerate() {
            check_bulk(bulk, origin).map_err(|what| WriteError::BadBulk {
                object: name(),
                payload,
                what,
            })?;
        }
        Ok(())
    }

    fn check_outer(&self, outer: ObjectRef, origin: Option<usize>) -> Result<(), &'static str> {
        let outer = match outer.target() {
            RefTarget::None => return Ok(()),
            RefTarget::Import(_) => return Err("but an outer is an export"),
            RefTarget::Export(outer) => self.parts.exports.get(outer),
        };
        match outer {
            None => Err("which was not added before"),
            Some(outer) if outer.class.is_none() => Err("but a class has no parts"),
            Some(outer) if outer.forced.map(|(origin, _)| origin) != origin => {
                Err("but an outer is an object of the same package")
            }
            Some(_) => Ok(()),
        }
    }

    fn check_reference(&self, reference: ObjectRef, origin: Option<usize>) -> Result<(), &'static str> {
        let missing = "which was not added before";
        match reference.target() {
            RefTarget::Import(index) if index < self.parts.imports.len() => Ok(()),
            RefTarget::None | RefTarget::Import(_) => Err(missing),
            RefTarget::Export(index) => match self.parts.exports.get(index) {
                None => Err(missing),
                Some(target) if origin.is_some() && target.forced.is_none() && !target.class.is_none() => {
                    Err("but a copy cannot know the objects of the package that it is copied into")
                }
                Some(_) => Ok(()),
            },
        }
    }

    fn import_path(&self, index: usize) -> String {
        let import = self.parts.imports.get(index);
        let path = import.map(|import| object_path(&import.package, &import.object));
        path.unwrap_or_default()
    }

    fn export_path(&self, index: usize) -> String {
        let export = self.parts.exports.get(index);
        let path = export.map(|export| object_path(self.package_of(export), &export.name));
        path.unwrap_or_default()
    }

    pub(super) fn export_name(&self, index: usize) -> String {
        let export = self.parts.exports.get(index);
        export.map(|export| export.name.clone()).unwrap_or_default()
    }

    /// Path of the package whose object an export is.
    pub(super) fn package_of(&self, export: &WrittenExport) -> &str {
        let origin = export.forced.and_then(|(origin, _)| self.parts.origins.get(origin));
        origin.map_or(&self.parts.package, |origin| &origin.package)
    }
}

fn check_bulk(bulk: &NewBulk, origin: Option<usize>) -> Result<(), &'static str> {
    let NewBulk::External(bulk) = bulk else {
        return Ok(());
    };
    if origin.is_none() {
        return Err("lies in another file, but the object is the package's own; give the bytes");
    }
    if bulk.origin != 0 {
        return Err("lies in another file even there; copy the object from the package that has the payload");
    }
    let fits = bulk.offset.checked_add(bulk.stored_size).is_some();
    if !fits || check_sizes(bulk.codec, bulk.stored_size, bulk.raw_size).is_err() {
        return Err("has sizes that cannot be; give the entry of the package's bulk table");
    }
    Ok(())
}

pub(super) fn check_name(what: &'static str, name: &str) -> Result<(), WriteError> {
    if name.is_empty() || name.contains('\0') {
        let name = name.to_owned();
        return Err(WriteError::BadName { what, name });
    }
    Ok(())
}
