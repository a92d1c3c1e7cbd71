//! Whether registries say of packages what these are, and whether soft references lead anywhere.

use std::collections::BTreeSet;
use std::sync::Arc;

use seamless_asset::level_data::LEVEL_EXPORT;
use seamless_asset::{ObjectRegistry, RegistryObject, SoftPath};
use seamless_level::WorldManifest;

use super::super::folder::{CookedFolder, CookedRegistry, class_name, directory_of};
use super::{FaultKind, VerifyReport};

/// Adds what registries and packages do not agree in, and soft references that lead nowhere.
pub(super) fn check(folder: &CookedFolder, report: &mut VerifyReport) {
    let mut registries: Vec<(String, String, ObjectRegistry)> = Vec::new();
    for CookedRegistry { file, directory, read } in folder.registries() {
        match read {
            Ok(registry) => registries.push((file, directory, registry)),
            Err(error) => report.add(file, "", FaultKind::Registry(error)),
        }
    }
    let listed = listed(&folder.manifests);
    for (file, directory, registry) in &registries {
        for object in registry.objects() {
            if let Some(what) = wrong(folder, &listed, directory, object) {
                report.add(file, &*object.path, FaultKind::RegistryRow { what });
            }
            let others = object.bundles.iter().flat_map(|(_, paths)| paths);
            let paths: BTreeSet<&Arc<str>> = object.soft.iter().chain(others).collect();
            for path in paths {
                let is_known = registries.iter().any(|(_, _, registry)| !registry.at(path).is_empty());
                if !is_known && !is_in_package(folder, path) {
                    let path = path.to_string();
                    report.add(file, &*object.path, FaultKind::SoftNowhere { path });
                }
            }
        }
    }
}

/// The packages that manifests list: it is told once, and elsewhere, where one of these is not there.
fn listed(manifests: &[(String, WorldManifest)]) -> BTreeSet<String> {
    let of_manifest = |(file, manifest): &(String, WorldManifest)| {
        let directory = directory_of(file).to_owned();
        let packages = manifest.packages.iter();
        let packages: Vec<_> = packages.map(|entry| format!("{directory}{}", entry.package)).collect();
        packages
    };
    manifests.iter().flat_map(of_manifest).collect()
}

/// What is not as a row says. That a package is broken is told elsewhere.
fn wrong(folder: &CookedFolder, listed: &BTreeSet<String>, directory: &str, object: &RegistryObject) -> Option<String> {
    let file = format!("{directory}{}", object.package);
    if !folder.has_file(&file) {
        if listed.contains(&file) {
            return None;
        }
        return Some(format!("lies in `{file}`, which is not there"));
    }
    let package = &folder.package(&file)?.package;
    let name = if object.is_level() {
        LEVEL_EXPORT
    } else {
        &object.object
    };
    let Some(index) = package.find_name(name) else {
        return Some(format!("lies in `{file}` as `{name}`, which has no such object"));
    };
    let found = class_name(package, index);
    (*found != *object.type_path).then(|| format!("is a `{}`, and in `{file}` it is a `{found}`", object.type_path))
}

/// Whether it is the path of an object of a package that is here.
fn is_in_package(folder: &CookedFolder, path: &str) -> bool {
    if !SoftPath::any(path).is_object_path() {
        return false;
    }
    let found = path.split_once('#').and_then(|(file, object)| {
        // What is in front of the folder's own name is the game's choice.
        let mut packages = folder.packages.iter();
        let package = packages.find(|package| file == package.file || file.ends_with(&format!("/{}", package.file)))?;
        package.package.find_name(object)
    });
    found.is_some()
}
