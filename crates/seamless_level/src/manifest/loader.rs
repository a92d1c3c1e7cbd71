//! Reading and writing the manifest's text. See [`WorldManifestLoader`].

use bevy_asset::{AssetLoader, LoadContext, io::Reader};
use bevy_reflect::TypePath;
use ron::error::SpannedError;
use serde::{Deserialize, Serialize};

use super::{ManifestError, WorldManifest};

/// A manifest nests five deep; more is somebody's bomb.
const RECURSION_LIMIT: usize = 32;

/// The most that a manifest may hold: what is larger is refused before it is worked on.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(default)]
pub struct ManifestLimits {
    /// Bytes of the file.
    pub bytes: u64,
    /// Levels of the world.
    pub levels: u64,
    /// Streaming volumes of the world.
    pub volumes: u64,
    /// Packages of the world.
    pub packages: u64,
}

impl Default for ManifestLimits {
    /// 64 MiB, 65 536 levels, 65 536 volumes, 131 072 packages.
    fn default() -> Self {
        Self {
            bytes: 64 << 20,
            levels: 1 << 16,
            volumes: 1 << 16,
            packages: 1 << 17,
        }
    }
}

/// Loads `*.seamless` files as [`WorldManifest`]s. Its settings are the [`ManifestLimits`].
#[derive(TypePath, Default)]
pub struct WorldManifestLoader;

impl AssetLoader for WorldManifestLoader {
    type Asset = WorldManifest;
    type Settings = ManifestLimits;
    type Error = ManifestError;

    async fn load(
        &self,
        reader: &mut dyn Reader,
        settings: &ManifestLimits,
        _: &mut LoadContext<'_>,
    ) -> Result<WorldManifest, ManifestError> {
        let mut bytes = Vec::new();
        reader
            .read_to_end(&mut bytes)
            .await
            .map_err(|error| ManifestError::Io(error.to_string()))?;
        let mut manifest = parse(&bytes, settings)?;
        if manifest.peak_entities == 0 {
            manifest.peak_entities = manifest.estimate_peak_entities();
        }
        Ok(manifest)
    }

    fn extensions(&self) -> &[&str] {
        &["seamless"]
    }
}

/// Only the format's number, read first: a later format may differ in all else.
#[derive(Deserialize)]
#[serde(rename = "WorldManifest")]
struct FormatOnly {
    format: u32,
}

pub(super) fn parse(bytes: &[u8], limits: &ManifestLimits) -> Result<WorldManifest, ManifestError> {
    within("bytes", bytes.len(), limits.bytes)?;
    let options = ron::Options::default().with_recursion_limit(RECURSION_LIMIT);
    let syntax = |error| not_understood(bytes, &error);
    let FormatOnly { format } = options.from_bytes(bytes).map_err(syntax)?;
    super::validate::format(format)?;
    let manifest: WorldManifest = options.from_bytes(bytes).map_err(syntax)?;
    within("levels", manifest.levels.len(), limits.levels)?;
    within("volumes", manifest.volumes.len(), limits.volumes)?;
    within("packages", manifest.packages.len(), limits.packages)?;
    manifest.validate()?;
    Ok(manifest)
}

fn not_understood(bytes: &[u8], error: &SpannedError) -> ManifestError {
    let is_bomb = error.code == ron::Error::ExceededRecursionLimit;
    if !is_bomb && is_anything_open(bytes) {
        return ManifestError::CutOff;
    }
    ManifestError::Syntax(error.to_string())
}

/// Whether the text ends before all is closed that it opens; a text of nothing, too.
fn is_anything_open(bytes: &[u8]) -> bool {
    let (mut depth, mut is_quoted) = (0_usize, false);
    let mut rest = bytes.iter();
    while let Some(byte) = rest.next() {
        match byte {
            b'\\' if is_quoted => drop(rest.next()),
            b'"' => is_quoted = !is_quoted,
            b'(' | b'[' | b'{' if !is_quoted => depth += 1,
            b')' | b']' | b'}' if !is_quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    bytes.is_empty() || is_quoted || depth > 0
}

fn within(what: &'static str, found: usize, limit: u64) -> Result<(), ManifestError> {
    let found = found as u64;
    if found > limit {
        return Err(ManifestError::TooLarge { what, found, limit });
    }
    Ok(())
}

pub(super) fn print(manifest: &WorldManifest) -> Result<String, ManifestError> {
    // One line for each level, volume and package: they are found and compared by lines, and a line for each field would make the file
    // half as long again.
    let pretty = ron::ser::PrettyConfig::new()
        .new_line("\n")
        .indentor("  ")
        .compact_arrays(false)
        .depth_limit(2);
    let mut text =
        ron::ser::to_string_pretty(manifest, pretty).map_err(|error| ManifestError::Syntax(error.to_string()))?;
    text.push('\n');
    Ok(text)
}
