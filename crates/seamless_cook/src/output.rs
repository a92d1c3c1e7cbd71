//! The output directory: files are written aside and renamed together, and other worlds' files stay. See [`Pending`].

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use seamless_level::{ManifestLimits, WorldManifest};
use seamless_package::{Limits, Package, PackageError, VersionList, VersionMismatch, check_all};

use crate::plan::WorldPlan;
use crate::report::CookError;
use crate::share::PackagePlan;
use crate::write::{MANIFEST_EXTENSION, Stop};

/// Files that were written beside their final names.
#[derive(Default)]
pub(crate) struct Pending(Vec<(PathBuf, PathBuf)>);

impl Pending {
    pub(crate) fn write(&mut self, path: PathBuf, bytes: &[u8]) -> Result<(), Stop> {
        let mut aside = path.clone().into_os_string();
        aside.push(".tmp");
        let aside = PathBuf::from(aside);
        let result = fs::write(&aside, bytes);
        self.0.push((aside.clone(), path));
        result.map_err(|source| failed(&aside, source))
    }

    pub(crate) fn commit(mut self) -> Result<(), Stop> {
        for (aside, path) in &self.0 {
            fs::rename(aside, path).map_err(|source| failed(path, source))?;
        }
        self.0.clear();
        Ok(())
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        for (aside, _) in &self.0 {
            // Best effort: the cook failed already, and says why.
            let _ = fs::remove_file(aside);
        }
    }
}

pub(crate) fn failed(path: &Path, source: std::io::Error) -> Stop {
    Stop::Cook(CookError::Write {
        path: path.to_owned(),
        source,
    })
}

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

/// Packages of an earlier cook of this world that the new one does not have.
pub(crate) fn stale_packages(manifest: &Path, packages: &[PackagePlan]) -> Vec<String> {
    let Some(old) = read_manifest(manifest) else {
        return Vec::new();
    };
    let kept: BTreeSet<&str> = packages.iter().map(|package| package.file.as_str()).collect();
    let ours = |file: &&&str| file.ends_with(".pkg") && !file.contains(['/', '\\']);
    files_of(&old)
        .iter()
        .filter(ours)
        .filter(|file| !kept.contains(**file))
        .map(|file| (*file).to_owned())
        .collect()
}

/// Refuses to overwrite the packages of another world.
pub(crate) fn refuse_foreign(plan: &WorldPlan, packages: &[PackagePlan], out: &Path) -> Result<(), Stop> {
    let mut manifests: Vec<PathBuf> = fs::read_dir(out)
        .map_err(|source| failed(out, source))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == MANIFEST_EXTENSION)
        })
        .collect();
    manifests.sort();
    for path in manifests {
        if path.file_stem().is_some_and(|stem| stem == plan.name.as_str()) {
            continue;
        }
        let Some(other) = read_manifest(&path) else { continue };
        let files = files_of(&other);
        if let Some(package) = packages.iter().find(|package| files.contains(package.file.as_str())) {
            return Err(Stop::Cook(CookError::ForeignPackage {
                file: package.file.clone(),
                world: other.name,
            }));
        }
    }
    Ok(())
}

/// Refuses to overwrite packages that a newer build saved, or one with more plugins: what it added to them would be lost.
pub(crate) fn refuse_newer(packages: &[PackagePlan], versions: &[VersionList], out: &Path) -> Result<(), Stop> {
    for package in packages {
        let path = out.join(&package.file);
        let Ok(bytes) = fs::read(&path) else { continue };
        let why = match Package::parse(&bytes, &Limits::default()) {
            Err(ref error @ PackageError::UnsupportedVersion { found, ref supported }) if found > *supported.end() => {
                error.to_string()
            }
            Ok(old) => match check_all(&old, versions) {
                Err(error @ (VersionMismatch::Newer { .. } | VersionMismatch::UnknownList { .. })) => error.to_string(),
                _ => continue,
            },
            Err(_) => continue,
        };
        return Err(Stop::Cook(CookError::NewerPackage { path, why }));
    }
    Ok(())
}
