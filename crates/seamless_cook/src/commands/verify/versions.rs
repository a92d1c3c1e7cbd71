//! Whether packages were saved with the same versions, and none with newer ones than this build has.

use std::collections::BTreeMap;

use seamless_asset::codec::Codecs;
use seamless_package::{StoredVersions, VersionId, VersionList, VersionMismatch, check_all};

use super::super::folder::{CookedFolder, PackageFile};
use super::{FaultKind, VerifyReport};

/// Adds what is newer than `known`, and what differs between the packages.
pub(super) fn check(folder: &CookedFolder, known: Option<&[VersionList]>, report: &mut VerifyReport) {
    let engine = Codecs::default();
    let engine = engine.read();
    let lists = known.unwrap_or_else(|| engine.migrations().versions());
    for file in &folder.packages {
        match check_all(&file.package, lists) {
            Ok(_) => {}
            // A game's, and this is not its program: the known lists are compared one by one.
            Err(VersionMismatch::UnknownList { .. }) if known.is_none() => {
                let faults = lists
                    .iter()
                    .filter_map(|list| seamless_package::pending(file.package.versions(list.id()), list).err());
                faults.for_each(|fault| report.add(&*file.file, "", FaultKind::Version(fault)));
            }
            Err(fault) => report.add(&*file.file, "", FaultKind::Version(fault)),
        }
    }
    check_formats(folder, report);
    let mut longest: BTreeMap<VersionId, (&PackageFile, StoredVersions)> = BTreeMap::new();
    for file in &folder.packages {
        for list in file.package.version_lists() {
            let known = longest.entry(list.id()).or_insert_with(|| (file, list.clone()));
            if list.number() > known.1.number() {
                *known = (file, list);
            }
        }
    }
    for file in &folder.packages {
        for (id, (other, there)) in &longest {
            if let Some(fault) = difference(file.package.versions(*id), there, &other.file) {
                report.add(&*file.file, "", fault);
            }
        }
    }
}

fn check_formats(folder: &CookedFolder, report: &mut VerifyReport) {
    let format = |file: &PackageFile| file.package.summary().format_version;
    let Some(newest) = folder.packages.iter().max_by_key(|file| format(file)) else {
        return;
    };
    for file in folder.packages.iter().filter(|file| format(file) < format(newest)) {
        let kind = FaultKind::MixedFormats {
            here: format(file),
            there: format(newest),
            other: newest.file.clone(),
        };
        report.add(&*file.file, "", kind);
    }
}

/// How a package's list differs from the longest one of all packages.
fn difference(here: Option<StoredVersions>, there: &StoredVersions, other: &str) -> Option<FaultKind> {
    let label = there.label().to_owned();
    let pairs = here.iter().flat_map(StoredVersions::entries).zip(there.entries());
    if let Some((index, (here, there))) = pairs.enumerate().find(|(_, (here, there))| here != there) {
        return Some(FaultKind::DivergedVersions {
            label,
            index,
            here: here.to_owned(),
            there: there.to_owned(),
            other: other.to_owned(),
        });
    }
    let here = here.map_or(0, |here| here.number());
    (here < there.number()).then(|| FaultKind::MixedVersions {
        label,
        here,
        there: there.number(),
        other: other.to_owned(),
    })
}
