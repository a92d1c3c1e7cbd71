//! Whether everything in a cooked folder is sound and fits together. See [`verify`].

mod fault;
mod imports;
mod manifest;
mod package;
mod soft;
mod versions;

pub use fault::{Fault, FaultKind};

use std::path::Path;

use seamless_package::VersionList;
use serde::Serialize;

use super::folder::CookedFolder;
use super::inspect::InspectError;

/// What [`verify`] found.
#[derive(Debug, Default, Serialize)]
pub struct VerifyReport {
    /// How many packages there are.
    pub packages: usize,
    /// How many manifests there are.
    pub manifests: usize,
    /// How many objects the packages hold, classes and copies included.
    pub objects: usize,
    /// How many of them are marked: of use without their bulk payloads, which apps may leave for later.
    pub marked: usize,
    /// Bytes of all packages that were read.
    pub bytes: u64,
    /// Everything that is wrong, by file.
    pub faults: Vec<Fault>,
}

impl VerifyReport {
    fn add(&mut self, file: impl Into<String>, object: impl Into<String>, kind: FaultKind) {
        self.faults.push(Fault::new(file, object, kind));
    }
}

/// Reads all packages and manifests in `directory` and below, every byte of them, and compares each with all others: checksums,
/// imports and exports, copies and their originals, marks, bulk data that lies elsewhere, versions, level tables, what manifests and registries list,
/// and where soft references lead. All faults are found in one run.
///
/// `versions` are the version lists of a game's build, which packages must not be ahead of; without them only those of the engine
/// are known, and others are compared among the packages.
///
/// # Errors
/// When the directory itself cannot be read, or holds nothing cooked.
pub fn verify(directory: &Path, versions: Option<&[VersionList]>) -> Result<VerifyReport, InspectError> {
    let mut folder = CookedFolder::open(directory)?;
    let mut report = VerifyReport {
        packages: folder.packages.len(),
        manifests: folder.manifests.len(),
        ..VerifyReport::default()
    };
    for (file, error) in core::mem::take(&mut folder.broken) {
        report.add(file.clone(), "", broken(&error));
        // It is there all the same.
        folder.broken.push((file, error));
    }
    for package in &folder.packages {
        package::check(package, &mut report);
        imports::check(&folder, package, &mut report);
    }
    versions::check(&folder, versions, &mut report);
    manifest::check(&folder, &mut report);
    soft::check(&folder, &mut report);
    report
        .faults
        .sort_by(|a, b| (&a.file, &a.object).cmp(&(&b.file, &b.object)));
    Ok(report)
}

fn broken(error: &InspectError) -> FaultKind {
    match error {
        InspectError::Package { source, .. } => FaultKind::Package(source.clone()),
        InspectError::Manifest { source, .. } => FaultKind::Manifest(source.clone()),
        InspectError::Io { source, .. } => FaultKind::Unreadable(source.to_string()),
        other => FaultKind::Unreadable(other.to_string()),
    }
}
