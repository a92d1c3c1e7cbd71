//! What packages import from each other, and whether it is there. See [`first_unmet`].

use std::sync::Arc;

use bevy_platform::collections::HashMap;
use seamless_package::{ObjectId, Package, RefTarget, Role};

use super::{classes::ClassLinker, packages::PackageEntry};
use crate::error::LoadErrorKind;

/// An import, by name.
pub(super) struct ImportedObject {
    id: ObjectId,
    package: String,
    pub object: String,
    type_path: String,
}

/// The objects of a package by identity, each with the type path of its class.
pub(super) type Exports = HashMap<ObjectId, Arc<str>>;

/// What `package` imports, as far as this app's role needs it; types by the names of today.
pub(super) fn imports_of(package: &Package, role: Role, classes: &ClassLinker) -> Vec<ImportedObject> {
    let name = |index| package.name_of(index).unwrap_or_default().to_owned();
    let needed = package.imports().iter().filter(|import| import.role.intersects(role));
    needed
        .map(|import| ImportedObject {
            id: import.object_id,
            package: name(import.package),
            object: name(import.object),
            type_path: classes
                .today(package.name_of(import.type_path).unwrap_or_default())
                .unwrap_or_default()
                .into_owned(),
        })
        .collect()
}

/// What `package` exports; types by the names of today.
pub(super) fn exports_of(package: &Package, linker: &ClassLinker) -> Exports {
    let mut classes: HashMap<usize, Arc<str>> = HashMap::default();
    let mut exports = Exports::default();
    for export in package.exports() {
        let RefTarget::Export(class) = export.class.target() else {
            continue;
        };
        let type_path = classes.entry(class).or_insert_with(|| {
            let schema = package.schema(class);
            let today = schema.and_then(|schema| linker.today(&schema.type_path));
            today.map_or_else(Arc::default, |type_path| (*type_path).into())
        });
        exports.insert(export.object_id, type_path.clone());
    }
    exports
}

/// The first import of a package that none of `packages`, which are all that its level has, exports as what it is wanted.
pub(super) fn first_unmet<'p>(
    imports: &'p [ImportedObject],
    packages: impl Iterator<Item = &'p PackageEntry> + Clone,
) -> Option<(&'p ImportedObject, LoadErrorKind)> {
    imports.iter().find_map(|import| {
        let from = packages.clone().find(|entry| entry.name == import.package);
        let found = from.map(|entry| entry.exports.get(&import.id));
        if let Some(Some(found)) = found
            && **found == *import.type_path
        {
            return None;
        }
        let (package, object) = (import.package.clone(), import.object.clone());
        let kind = match found {
            Some(Some(found)) => LoadErrorKind::ImportType {
                package,
                object,
                wanted: import.type_path.clone(),
                found: found.to_string(),
            },
            Some(None) => LoadErrorKind::MissingImport { package, object },
            None => LoadErrorKind::UnlistedDependency { package },
        };
        Some((import, kind))
    })
}
