//! Names that become file names. See [`check_name`].

use crate::layout::is_kept_name;
use crate::startup::STARTUP_PACKAGE;
use crate::write::LEFT_OUT;

/// A level's name becomes a file name, and the cooker keeps a few for itself.
pub(crate) fn check_name(name: &str) -> Result<(), String> {
    check_file_name(name)?;
    let lower = name.to_lowercase();
    if is_kept_name(&lower) {
        return Err("its name is kept for packages of shared assets; give it another `name`".into());
    }
    if is_package(STARTUP_PACKAGE, &lower) {
        return Err("its name is kept for the package of startup content; give it another `name`".into());
    }
    if is_package(LEFT_OUT, &lower) {
        return Err("its name is kept for what a target leaves out; give it another `name`".into());
    }
    Ok(())
}

fn is_package(file: &str, name: &str) -> bool {
    file.strip_suffix(".pkg") == Some(name)
}

/// Names become file names, on every system.
pub(super) fn check_file_name(name: &str) -> Result<(), String> {
    let bad = |c: char| c.is_control() || "/\\:*?\"<>|#".contains(c);
    if name.is_empty() || name.starts_with('.') || name.ends_with(['.', ' ']) || name.contains(bad) {
        return Err("its name cannot be a file name; use letters, digits, `_` and `-`".into());
    }
    if name.len() > 200 {
        return Err(format!("its name is {} bytes long; 200 are enough", name.len()));
    }
    if is_device(name) {
        return Err("its name is a device's on Windows, with any ending; give it another name".into());
    }
    Ok(())
}

/// Whether Windows takes the name for one of its devices, whatever follows the first dot.
fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().trim_end().to_uppercase();
    let port = ["COM", "LPT"].iter().find_map(|device| stem.strip_prefix(device));
    let is_port = port.is_some_and(|port| {
        port.chars().count() == 1 && port.contains(|c: char| c.is_ascii_digit() || "¹²³".contains(c))
    });
    is_port || ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"].contains(&stem.as_str())
}

/// The name of a level that has none of its own.
pub(super) fn default_name(file: &str, label: Option<&str>) -> String {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let lower = name.to_ascii_lowercase();
    let ending = [".scn.ron", ".gltf", ".glb"]
        .into_iter()
        .find(|ending| lower.ends_with(ending));
    let stem = ending
        .and_then(|ending| name.get(..name.len() - ending.len()))
        .unwrap_or(name);
    match label {
        Some(label) => format!("{stem}_{label}"),
        None => stem.to_owned(),
    }
}
