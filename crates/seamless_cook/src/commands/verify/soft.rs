//! Whether registries say of packages what these are, and whether soft references lead anywhere.

use core::cell::OnceCell;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use seamless_asset::level_data::LEVEL_EXPORT;
use seamless_asset::{ObjectRegistry, RegistryObject, SoftPath};
use seamless_level::WorldManifest;

use super::super::folder::{CookedFolder, class_name, directory_of};
use super::{FaultKind, VerifyReport};
use crate::graph::recorder::file_and_label;
use crate::plan::line_of;

/// Adds what registries and packages do not agree in, and soft references that lead nowhere.
pub(super) fn check(folder: &CookedFolder, report: &mut VerifyReport) {
    let mut registries: Vec<(ObjectRegistry, String, Place)> = Vec::new();
    for cooked in folder.registries() {
        let place = Place {
            folder,
            manifest: cooked.manifest,
            directory: cooked.directory,
            root: OnceCell::new(),
        };
        match cooked.read {
            Ok(registry) => registries.push((registry, cooked.file, place)),
            Err(error) => report.add(cooked.file, "", FaultKind::Registry(error)),
        }
    }
    let listed = listed(&folder.manifests);
    for (registry, file, place) in &registries {
        for object in registry.objects() {
            if let Some(what) = wrong(folder, &listed, &place.directory, object) {
                report.add(file, &*object.path, FaultKind::RegistryRow { what });
            }
            let others = object.bundles.iter().flat_map(|(_, paths)| paths);
            let paths: BTreeSet<&Arc<str>> = object.soft.iter().chain(others).collect();
            for path in paths {
                let is_known = registries.iter().any(|(registry, ..)| !registry.at(path).is_empty());
                if !is_known && !is_in_package(folder, path) {
                    let (line, path) = (place.line(&object.path, path), path.to_string());
                    report.add(file, &*object.path, FaultKind::SoftNowhere { path, line });
                }
            }
        }
    }
}

/// Where what a registry tells of is, and was.
struct Place<'f> {
    folder: &'f CookedFolder,
    manifest: String,
    directory: String,
    /// The asset root of the cook, as far as it is remembered. Only whoever finds a fault looks for it.
    root: OnceCell<Option<PathBuf>>,
}

impl Place<'_> {
    /// The line on which an author's file mentions a path, as the cook would tell it.
    fn line(&self, author: &str, path: &str) -> Option<usize> {
        let root = || Some(self.folder.memory(&self.manifest)?.seen()?.root);
        let root = self.root.get_or_init(root).as_ref()?;
        line_of(&root.join(file_and_label(author).0), path)
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
    let (file, object) = file_and_label(path);
    let found = object.and_then(|object| {
        // What is in front of the folder's own name is the game's choice.
        let mut packages = folder.packages.iter();
        let package = packages.find(|package| file == package.file || file.ends_with(&format!("/{}", package.file)))?;
        package.package.find_name(object)
    });
    found.is_some()
}
