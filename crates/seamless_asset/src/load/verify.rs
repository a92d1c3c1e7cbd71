//! Whether what a package imports is there. See [`verify`].

use std::{borrow::Cow, sync::Arc};

use bevy_platform::collections::{HashMap, hash_map::Entry};
use seamless_package::{NameIndex, ObjectId};

use super::{
    closure::Reach,
    intake::Intake,
    open::open,
    task::{LoadServices, Stop},
    type_names::TypeNames,
};
use crate::{
    error::{LoadError, LoadErrorKind},
    linker::Linker,
    objects::{LiveId, Slot},
};

/// An import that was not compared with its package when it was linked.
pub(super) struct Unverified {
    slot: Slot,
    id: LiveId,
    /// The package that imports, and its content.
    file: String,
    content: u64,
    package: String,
    object: String,
    type_path: String,
}

impl Unverified {
    pub fn new(slot: Slot, linker: &Linker, index: usize, type_path: &str) -> Self {
        let package = linker.package();
        let [from, object] = [package.import_package(index), package.import_name(index)].map(Option::unwrap_or_default);
        Self::requested(slot, linker, from, object, type_path)
    }

    /// An object that a post-load of the linker's package asked for.
    pub fn requested(slot: Slot, linker: &Linker, package: &str, object: &str, type_path: &str) -> Self {
        Self {
            slot,
            id: linker.cook().object(ObjectId::new(package, object)),
            file: linker.path().to_string(),
            content: linker.package().summary().content_hash,
            package: package.to_owned(),
            object: object.to_owned(),
            type_path: type_path.to_owned(),
        }
    }

    /// Tells it from imports of other objects, of other types, and of other versions of the file.
    pub fn key(&self) -> (usize, u64) {
        (self.slot.address(), self.content)
    }

    /// Whether this version of the file imports it.
    pub fn is_of(&self, content: u64) -> bool {
        self.content == content
    }

    /// What is wrong with the import, now that its package is loaded: it has no value.
    ///
    /// An object of that identity and of another type is what the import means, cooked differently.
    pub fn fault(&self, services: &LoadServices) -> Option<LoadError> {
        if self.slot.is_live() {
            return None;
        }
        let live = services.objects.provided(self.id);
        let codec = live.and_then(|live| services.codecs.read().asset(live.type_id()));
        let Some(codec) = codec else {
            return self.missing(self.id);
        };
        if codec.type_path == self.type_path {
            // Nobody here refers to it; it came with others.
            return None;
        }
        let kind = LoadErrorKind::ImportType {
            package: self.package.clone(),
            object: self.object.clone(),
            wanted: self.type_path.clone(),
            found: codec.type_path.to_owned(),
        };
        Some(LoadError::object(self.file.clone(), self.object.clone(), kind))
    }

    /// The error of an object that is not there, if that is what this imports.
    pub fn missing(&self, id: LiveId) -> Option<LoadError> {
        (self.id == id).then(|| {
            let kind = LoadErrorKind::MissingImport {
                package: self.package.clone(),
                object: self.object.clone(),
            };
            LoadError::object(self.file.clone(), self.object.clone(), kind)
        })
    }
}

/// Compares every import that is needed with the exports of its package, whose tables are opened for it if they are not
/// open. Gives the linkers of these packages: whoever holds them spares the load of each that it reads its tables again.
///
/// # Errors
/// The first import that is not there, or is something else.
pub(super) async fn verify(
    services: &LoadServices,
    linker: &Linker,
    reach: &Reach,
    intake: &mut Intake<'_>,
) -> Result<Vec<Arc<Linker>>, Stop> {
    let package = linker.package();
    let file = linker.path().to_string();
    let names = TypeNames::of(linker, &services.codecs);
    let mut opened: HashMap<NameIndex, (Arc<Linker>, TypeNames)> = HashMap::default();
    let mut types: HashMap<NameIndex, Option<Cow<str>>> = HashMap::default();
    for import in reach.foreign(package).filter_map(|index| package.imports().get(index)) {
        let name = |index| package.name_of(index).unwrap_or_default();
        // Types are compared by their names of today: both packages may be old, and not equally.
        let wanted = types.entry(import.type_path);
        let Some(wanted) = wanted.or_insert_with(|| names.today(name(import.type_path))) else {
            continue;
        };
        let (source, source_names) = match opened.entry(import.package) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(entry) => {
                let source = source_of(services, linker, name(import.package), intake).await?;
                let names = TypeNames::of(&source, &services.codecs);
                entry.insert((source, names))
            }
        };
        let object = || name(import.object).to_owned();
        let kind = match source.type_of(import.object_id) {
            Some(found) if source_names.today(found).is_none_or(|found| found == *wanted) => continue,
            Some(found) => LoadErrorKind::ImportType {
                package: name(import.package).to_owned(),
                object: object(),
                wanted: wanted.to_string(),
                found: found.to_owned(),
            },
            None => LoadErrorKind::MissingImport {
                package: name(import.package).to_owned(),
                object: object(),
            },
        };
        return Err(LoadError::object(file, object(), kind).into());
    }
    Ok(opened.into_values().map(|(source, _)| source).collect())
}

/// The linker of a package that `linker` imports from.
async fn source_of(
    services: &LoadServices,
    linker: &Linker,
    name: &str,
    intake: &mut Intake<'_>,
) -> Result<Arc<Linker>, Stop> {
    let path = linker.sibling(name);
    if let Some(known) = services.linkers.find(&path) {
        return Ok(known);
    }
    let opened = open(services, &path, intake).await.map_err(|stop| {
        stop.map(|error| {
            let kind = LoadErrorKind::dependency(path.to_string(), error);
            LoadError::package(linker.path().to_string(), kind)
        })
    });
    Ok(opened?.linker)
}
