//! Whether what a package takes from others is there: imports, originals of copies, payloads that stayed with them.

use std::collections::BTreeMap;

use seamless_package::{Export, Import, PackageError};

use super::super::folder::{CookedFolder, PackageFile, class_name, local_path};
use super::{FaultKind, VerifyReport};
use crate::report::counted;
use crate::write::LEFT_OUT;

/// Adds all that is wrong between the package and others.
pub(super) fn check(folder: &CookedFolder, file: &PackageFile, report: &mut VerifyReport) {
    let mut missing: BTreeMap<&str, Needs> = BTreeMap::new();
    let package = &file.package;
    for (index, import) in package.imports().iter().enumerate() {
        let source = package.import_package(index).unwrap_or_default();
        match folder.package(source) {
            // Its copy lies here: the other package is not opened for it.
            _ if package.forced_for_import(index).is_some() => {}
            Some(source) => report.faults.extend(
                import_fault(file, index, &import, source).map(|kind| super::Fault::new(&*file.file, "", kind)),
            ),
            // What the target does not need lies nowhere.
            None if source == LEFT_OUT => {}
            // It cannot be read, which is told already.
            None if folder.has_file(source) => {}
            None => missing.entry(source).or_default().imports += 1,
        }
    }
    check_origins(folder, file, report);
    for (index, export) in package
        .exports()
        .iter()
        .enumerate()
        .filter(|(_, export)| export.is_forced())
    {
        check_copy(folder, file, index, &export, &mut missing, report);
    }
    for (source, needs) in missing {
        let kind = FaultKind::MissingPackage {
            package: source.to_owned(),
            needs: needs.to_string(),
        };
        report.add(&*file.file, "", kind);
    }
}

/// What is needed of a package that is not there.
#[derive(Default)]
struct Needs {
    imports: usize,
    payloads: usize,
}

impl core::fmt::Display for Needs {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let imports = (self.imports > 0).then(|| counted(self.imports, "import"));
        let payloads = (self.payloads > 0).then(|| counted(self.payloads, "bulk payload"));
        let parts: Vec<String> = imports.into_iter().chain(payloads).collect();
        f.write_str(&parts.join(" and "))
    }
}

fn import_fault(file: &PackageFile, index: usize, import: &Import, source: &PackageFile) -> Option<FaultKind> {
    let package = source.file.clone();
    let object = file.package.import_name(index).unwrap_or_default().to_owned();
    let found = source.package.find(import.object_id);
    let Some((at, export)) = found.and_then(|at| Some((at, source.package.exports().get(at)?))) else {
        return Some(FaultKind::MissingObject { package, object });
    };
    let wanted = file.package.import_type(index).unwrap_or_default();
    let is = class_name(&source.package, at);
    if wanted != is {
        return Some(FaultKind::WrongType {
            package,
            object,
            wanted: wanted.to_owned(),
            found: is.to_owned(),
        });
    }
    (!export.role.contains(import.role)).then_some(FaultKind::WrongRole {
        package,
        object,
        wanted: import.role,
        found: export.role,
    })
}

fn check_origins(folder: &CookedFolder, file: &PackageFile, report: &mut VerifyReport) {
    for (number, origin) in (1..).zip(file.package.origins()) {
        let name = file.package.name_of(origin.package).unwrap_or_default();
        let Some(source) = folder.package(name) else { continue };
        let is = source.package.summary().content_hash;
        if is != origin.content_hash {
            let exports = file.package.exports();
            let kind = FaultKind::StaleOrigin {
                package: name.to_owned(),
                copies: exports.iter().filter(|export| export.origin == number).count() as u32,
                was: origin.content_hash,
                is,
            };
            report.add(&*file.file, "", kind);
        }
    }
}

/// Where the original of a copy is, and the payloads that stayed there.
fn check_copy<'f>(
    folder: &CookedFolder,
    file: &'f PackageFile,
    index: usize,
    export: &Export,
    missing: &mut BTreeMap<&'f str, Needs>,
    report: &mut VerifyReport,
) {
    let Some(origin) = file.package.origin_of(index) else {
        return;
    };
    let bulk = file.package.bulk(index);
    let external = (0..bulk.len()).filter(|payload| bulk.get(*payload).is_some_and(|bulk| bulk.origin != 0));
    let Some(source) = folder.package(origin.package) else {
        let payloads = external.count();
        if payloads > 0 && !folder.has_file(origin.package) {
            missing.entry(origin.package).or_default().payloads += payloads;
        }
        return;
    };
    let object = || local_path(&file.package, index);
    for payload in external {
        if let Err(error) = file.package.check_origin(index, payload, &source.package) {
            report.add(&*file.file, object(), stale(error));
        }
    }
    let is_current = source.package.summary().content_hash == origin.content_hash;
    if !is_current {
        return;
    }
    let package = origin.package.to_owned();
    if source.package.find(export.object_id) != Some(origin.index as usize) {
        let index = origin.index;
        report.add(&*file.file, object(), FaultKind::WrongPlace { package, index });
        return;
    }
    let original = source.package.exports().get(origin.index as usize);
    let is_marked = export.bulk_use.is_marked();
    if original.is_some_and(|original| original.bulk_use.is_marked() != is_marked) {
        report.add(&*file.file, object(), FaultKind::WrongMark { package, is_marked });
    }
}

fn stale(error: PackageError) -> FaultKind {
    FaultKind::Package(Box::new(error))
}
