//! Whether manifests say of packages what these are, and packages nobody refers to.

use std::collections::{BTreeMap, BTreeSet};

use seamless_asset::STARTUP_EXPORT;
use seamless_level::{LevelEntry, WorldManifest};

use super::super::folder::{CookedFolder, PackageFile};
use super::{FaultKind, VerifyReport};
use crate::layout::PERSISTENT_PACKAGE;
use crate::write::LEFT_OUT;

/// Entities of the level of each package; none where it cannot be read, which is told elsewhere.
type Entities<'f> = BTreeMap<&'f str, u32>;

/// Adds what manifests and packages do not agree in.
pub(super) fn check(folder: &CookedFolder, report: &mut VerifyReport) {
    let entities: Entities = folder.packages.iter().filter_map(entities).collect();
    for (file, manifest) in &folder.manifests {
        let mut checker = Checker {
            folder,
            file,
            manifest,
            entities: &entities,
            report,
        };
        checker.check_list();
        manifest.levels.iter().for_each(|level| checker.check_level(level));
        checker.check_startup();
    }
    if folder.manifests.is_empty() {
        let has_broken = folder
            .broken
            .iter()
            .any(|(file, _)| file.ends_with(crate::write::MANIFEST_EXTENSION));
        if !has_broken {
            report.add(folder.directory.display().to_string(), "", FaultKind::NoManifest);
        }
    } else {
        check_unused(folder, report);
    }
}

fn entities(file: &PackageFile) -> Option<(&str, u32)> {
    let Some(level) = file.level() else {
        return Some((&file.file, 0));
    };
    let data = file.data(level).ok()?;
    let count = data.first_chunk::<4>().copied().map(u32::from_le_bytes)?;
    Some((&file.file, count))
}

struct Checker<'f, 'r> {
    folder: &'f CookedFolder,
    file: &'f str,
    manifest: &'f WorldManifest,
    entities: &'r Entities<'f>,
    report: &'r mut VerifyReport,
}

impl<'f> Checker<'f, '_> {
    fn add(&mut self, object: impl Into<String>, kind: FaultKind) {
        self.report.add(self.file, object, kind);
    }

    /// The package, or a fault if it is not there.
    fn need(&mut self, object: &str, package: &str, needs: &str) -> Option<&'f PackageFile> {
        let found = self.folder.package(package);
        if found.is_none() && !self.folder.has_file(package) {
            let (package, needs) = (package.to_owned(), needs.to_owned());
            self.add(object, FaultKind::MissingPackage { package, needs });
        }
        found
    }

    fn compare<T: PartialEq + ToString>(
        &mut self,
        object: &str,
        package: &str,
        what: &'static str,
        listed: T,
        found: T,
    ) {
        if listed != found {
            let kind = FaultKind::Listed {
                package: package.to_owned(),
                what,
                listed: listed.to_string(),
                found: found.to_string(),
            };
            self.add(object, kind);
        }
    }

    fn check_list(&mut self) {
        for listed in &self.manifest.packages {
            let name = &listed.package;
            let Some(package) = self.need("", name, "it is listed") else {
                continue;
            };
            let summary = package.package.summary();
            let hash = |hash: u64| format!("{hash:016x}");
            self.compare(
                "",
                name,
                "content",
                hash(listed.content_hash),
                hash(summary.content_hash),
            );
            self.compare("", name, "exports:", listed.exports, summary.export_count);
            if let Some(entities) = self.entities.get(name.as_str()) {
                self.compare("", name, "entities:", listed.entities, *entities);
            }
        }
    }

    /// Only a manifest that no cooker wrote has no list.
    fn check_listed(&mut self, object: &str, package: &str) {
        let mut listed = self.manifest.packages.iter().map(|listed| listed.package.as_str());
        if !self.manifest.packages.is_empty() && !listed.any(|listed| listed == package) {
            let package = package.to_owned();
            self.add(object, FaultKind::NotListed { package });
        }
    }

    fn check_level(&mut self, level: &LevelEntry) {
        let object = format!("level {}", level.name);
        let is_new = |package: &&String| !self.manifest.packages.iter().any(|listed| listed.package == **package);
        let unlisted: Vec<&String> = core::iter::once(&level.package)
            .chain(&level.dependencies)
            .filter(is_new)
            .collect();
        for package in unlisted {
            self.check_listed(&object, package);
            self.need(&object, package, "the level needs it");
        }
        let Some(package) = self.folder.package(&level.package) else {
            return;
        };
        let name = &level.package;
        if package.level().is_none() {
            return self.add(&object, FaultKind::NoLevel { package: name.clone() });
        }
        self.compare(
            &object,
            name,
            "bytes:",
            level.bytes,
            package.package.summary().file_len(),
        );
        if let Some(entities) = self.entities.get(name.as_str()) {
            self.compare(&object, name, "entities:", level.entities, *entities);
        }
        let needed = closure(self.folder, package);
        let listed: BTreeSet<&str> = level.dependencies.iter().map(String::as_str).collect();
        // What is always loaded brings along what others need.
        let is_bringer = || {
            let package = self.folder.package(PERSISTENT_PACKAGE);
            package.filter(|_| level.always_loaded).is_some_and(|package| {
                let mut brought = closure(self.folder, package);
                brought.insert(PERSISTENT_PACKAGE);
                brought.extend(&needed);
                brought == listed
            })
        };
        if needed != listed && !is_bringer() {
            let text = |packages: BTreeSet<&str>| packages.into_iter().collect::<Vec<_>>().join(", ");
            let (needed, listed) = (text(needed), text(listed));
            self.add(&object, FaultKind::Dependencies { needed, listed });
        }
    }

    fn check_startup(&mut self) {
        let Some(startup) = &self.manifest.startup else { return };
        if !self.manifest.packages.iter().any(|listed| listed.package == *startup) {
            self.check_listed("", startup);
            self.need("", startup, "it is the startup content");
        }
        let package = self.folder.package(startup);
        if package.is_some_and(|package| package.package.find_name(STARTUP_EXPORT).is_none()) {
            let package = startup.clone();
            self.add("", FaultKind::NoStartup { package });
        }
    }
}

/// The packages that must be opened for what a package imports; what lies in it as a copy needs none.
fn closure<'f>(folder: &'f CookedFolder, package: &'f PackageFile) -> BTreeSet<&'f str> {
    let mut needed = BTreeSet::new();
    let mut open = vec![package];
    while let Some(file) = open.pop() {
        for other in imported(file) {
            if needed.insert(other) {
                open.extend(folder.package(other));
            }
        }
    }
    needed
}

fn imported(file: &PackageFile) -> impl Iterator<Item = &str> {
    let package = &file.package;
    let imports = (0..package.imports().len()).filter(|index| package.forced_for_import(*index).is_none());
    let packages = imports.filter_map(|index| package.import_package(index));
    // What the target does not need lies nowhere.
    packages.filter(|file| *file != LEFT_OUT)
}

fn check_unused(folder: &CookedFolder, report: &mut VerifyReport) {
    let manifests = folder.manifests.iter().map(|(_, manifest)| manifest);
    let mut used: BTreeSet<&str> = BTreeSet::new();
    for manifest in manifests {
        used.extend(manifest.packages.iter().map(|listed| listed.package.as_str()));
        used.extend(manifest.startup.as_deref());
        let levels = manifest.levels.iter();
        used.extend(levels.flat_map(|level| level.dependencies.iter().chain([&level.package]).map(String::as_str)));
    }
    for file in &folder.packages {
        used.extend(imported(file));
        let origins = file.package.origins();
        used.extend(origins.iter().filter_map(|origin| file.package.name_of(origin.package)));
    }
    let unused = folder.packages.iter().filter(|file| !used.contains(file.file.as_str()));
    for file in unused {
        report.add(&*file.file, "", FaultKind::Unused);
    }
}
