//! What is in the output directory already, and may not be overwritten.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use seamless_level::{ManifestLimits, WorldManifest};
use seamless_package::{Limits, Package, PackageError, VersionList, VersionMismatch, check_all};

use crate::graph::output::{is_plain_name, write_error};
use crate::graph::state::Written;
use crate::layout::PackagePlan;
use crate::plan::WorldPlan;
use crate::report::CookError;
use crate::write::MANIFEST_EXTENSION;

/// Reads a manifest that is already there; one that cannot be read is as good as none.
fn read_manifest(path: &Path) -> Option<WorldManifest> {
    WorldManifest::from_ron(&fs::read(path).ok()?, &ManifestLimits::default()).ok()
}

fn files_of(manifest: &WorldManifest) -> BTreeSet<&str> {
    let levels = manifest.levels.iter();
    let packages = manifest.packages.iter().map(|listed| &listed.package);
    levels
        .flat_map(|level| level.dependencies.iter().chain([&level.package]))
        .chain(packages)
        .chain(&manifest.startup)
        .map(String::as_str)
        .collect()
}

/// Packages of an earlier cook of this world that the new one does not have: those that are remembered, or else the manifest's.
pub(crate) fn stale_packages(
    manifest: &Path,
    remembered: &BTreeMap<String, Written>,
    packages: &[PackagePlan],
) -> Vec<String> {
    let old = remembered.is_empty().then(|| read_manifest(manifest)).flatten();
    let listed = old.iter().flat_map(files_of);
    let known: BTreeSet<&str> = listed.chain(remembered.keys().map(String::as_str)).collect();
    let kept: BTreeSet<&str> = packages.iter().map(|package| package.file.as_str()).collect();
    let others: Vec<WorldManifest> = (manifests(manifest.parent().unwrap_or(Path::new("")))
        .unwrap_or_default()
        .iter())
    .filter(|path| *path != manifest)
    .filter_map(|path| read_manifest(path))
    .collect();
    let others: BTreeSet<&str> = others.iter().flat_map(files_of).collect();
    let ours = |file: &&&str| file.ends_with(".pkg") && is_plain_name(file) && !others.contains(**file);
    known
        .iter()
        .filter(ours)
        .filter(|file| !kept.contains(**file))
        .map(|file| (*file).to_owned())
        .collect()
}

/// The manifests in a folder.
fn manifests(out: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut manifests: Vec<PathBuf> = fs::read_dir(out)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == MANIFEST_EXTENSION)
        })
        .collect();
    manifests.sort();
    Ok(manifests)
}

/// Refuses to overwrite the packages of another world.
pub(crate) fn refuse_foreign(plan: &WorldPlan, packages: &[PackagePlan], out: &Path) -> Result<(), CookError> {
    let manifests = manifests(out).map_err(|source| write_error(out, source))?;
    for path in manifests {
        if path.file_stem().is_some_and(|stem| stem == plan.name.as_str()) {
            continue;
        }
        let Some(other) = read_manifest(&path) else { continue };
        let files = files_of(&other);
        if let Some(package) = packages.iter().find(|package| files.contains(package.file.as_str())) {
            return Err(CookError::ForeignPackage {
                file: package.file.clone(),
                world: other.name,
            });
        }
    }
    Ok(())
}

/// Refuses to overwrite a package that a newer build saved, or one with more plugins: what it added would be lost.
pub(crate) fn refuse_newer(path: &Path, versions: &[VersionList]) -> Result<(), CookError> {
    let Ok(bytes) = fs::read(path) else { return Ok(()) };
    let why = match Package::parse(&bytes, &Limits::default()) {
        Err(ref error @ PackageError::UnsupportedVersion { found, ref supported }) if found > *supported.end() => {
            error.to_string()
        }
        Ok(old) => match check_all(&old, versions) {
            Err(error @ (VersionMismatch::Newer { .. } | VersionMismatch::UnknownList { .. })) => error.to_string(),
            _ => return Ok(()),
        },
        Err(_) => return Ok(()),
    };
    let path = path.to_owned();
    Err(CookError::NewerPackage { path, why })
}
