//! `cook.ron`, the settings of a project's cooks. See [`CookSettings`].

mod pattern;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub(crate) use self::pattern::fits;
use crate::graph::recorder::file_and_label;
use crate::report::ContentError;
use crate::world_file::parse_ron;

/// The file that settings are in, beside the world file.
pub(crate) const SETTINGS_FILE: &str = "cook.ron";
/// The most bytes that it may have.
pub(crate) const MOST_SETTINGS_BYTES: u64 = 1 << 20;
/// The most rules that it may have: each is compared with each object.
const MOST_RULES: usize = 1024;

/// How the worlds of a folder are cooked: the text of `cook.ron`, beside their world files. Everything in it has a default, and so has
/// the file. A change of it is seen by the next cook as that of any source.
///
/// ```text
/// (
///     layout: (
///         rules: [
///             (objects: "ui/*", place: Persistent),
///             (objects: "kits/*.glb", place: Share),
///             (objects: "kits/*.glb#Material*", place: Duplicate), // of several rules that fit, the last one counts
///         ],
///         open_bytes: 131072,
///     ),
/// )
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CookSettings {
    /// What lies where.
    pub layout: LayoutSettings,
}

/// Where objects lie that several levels use: the rules that force it, and the prices by which it is decided otherwise.
///
/// Everything is priced in bytes read. The workload is that every level is loaded once, in any order, and that two levels are there
/// together of which one is wanted in the middle of the other's volume. What is there already is not read again, but a copy in a level's own
/// package is. Sizes are those of the encoded objects, as they are stored.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LayoutSettings {
    /// What is forced; of those that fit an object, the last one counts.
    pub rules: Vec<LayoutRule>,
    /// What it costs to open one more package, as bytes that would be read in that time: two reads that wait for each other, of the tables
    /// and of the data, and a task. Default: 131 072. On a solid state disk such a read was measured to take 50 µs, in which 43 KiB
    /// are read otherwise. A hard disk, with 10 ms and 150 MB/s, is 3 000 000.
    pub open_bytes: u64,
    /// What a byte on the disk costs, in hundredths of a byte read. Default: 200, because it is also downloaded and installed.
    pub disk_percent: u32,
    /// What a byte costs that is in memory in a place where no level uses it, in hundredths of a byte read for each level of the world.
    /// Default: 100, as if it were read once more with each level that comes meanwhile.
    pub resident_percent: u32,
    /// What is used in at least that many of a hundred places of the world may move to the persistent level. Default: 90.
    pub persistent_percent: u32,
}

impl Default for LayoutSettings {
    fn default() -> Self {
        Self {
            rules: Vec::new(),
            open_bytes: 128 << 10,
            disk_percent: 200,
            resident_percent: 100,
            persistent_percent: 90,
        }
    }
}

/// One rule of [`LayoutSettings`].
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LayoutRule {
    /// Which objects: paths as `seamless why` and the report have them, relative to the asset root, with a label for a part of a file. `*`
    /// stands for any letters, `?` for any one. Without `#`, a file stands for all that is in it.
    pub objects: String,
    /// Where they lie.
    pub place: Placement,
}

/// What a [`LayoutRule`] asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Placement {
    /// What costs least.
    Auto,
    /// A copy in each level that uses it. The original lies in a package that is read only for what asks for it by name, or for payloads
    /// that are read on demand. What refers to it is copied, too.
    Duplicate,
    /// One package for all levels that use it, and what it refers to likewise.
    Share,
    /// The package that comes with the levels that are always loaded, and what it refers to likewise. Sets of dialogue variants that are
    /// limited for a level stay with it, and so does what leads to them there.
    Persistent,
}

/// Why `cook.ron` cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}; see `CookSettings` in the documentation of `seamless_cook`")]
pub struct CookSettingsError {
    /// Line in the file, from 1.
    pub line: usize,
    /// Column in the line, from 1.
    pub column: usize,
    /// What is wrong there.
    pub message: String,
}

impl CookSettings {
    /// Parses the text of a `cook.ron`.
    ///
    /// # Errors
    /// With line and column, when it is no such text.
    pub fn parse(text: &str) -> Result<Self, CookSettingsError> {
        parse_ron(text).map_err(|(line, column, message)| CookSettingsError { line, column, message })
    }

    /// The settings beside a world file; the default where there are none.
    ///
    /// # Errors
    /// Everything that is wrong with them.
    pub(crate) fn beside(world_file: &Path) -> Result<Self, Vec<ContentError>> {
        let file = settings_file(world_file);
        let error = |object: String, message: String| ContentError::new(file.display().to_string(), object, message);
        let one = |message: String| vec![error(String::new(), message)];
        let metadata = match std::fs::metadata(&file) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => {
                return Err(one(format!(
                    "cannot be read: {error}; give it back its rights, or remove it"
                )));
            }
            Ok(metadata) => metadata,
        };
        if metadata.len() > MOST_SETTINGS_BYTES {
            let message = format!(
                "has {} bytes; {MOST_SETTINGS_BYTES} are enough, use patterns",
                metadata.len()
            );
            return Err(one(message));
        }
        let text = std::fs::read_to_string(&file)
            .map_err(|error| one(format!("cannot be read: {error}; write it as text, or remove it")))?;
        let settings = Self::parse(&text).map_err(|error| one(error.to_string()))?;
        let faults: Vec<ContentError> = (settings.layout.faults().into_iter())
            .map(|(object, message)| error(object, message))
            .collect();
        if faults.is_empty() { Ok(settings) } else { Err(faults) }
    }
}

/// Where the settings of a world's cooks are.
pub(crate) fn settings_file(world_file: &Path) -> PathBuf {
    world_file.with_file_name(SETTINGS_FILE)
}

impl LayoutSettings {
    /// What the types do not say: object, and what is wrong with it.
    fn faults(&self) -> Vec<(String, String)> {
        let mut faults = Vec::new();
        if self.persistent_percent > 100 {
            let message = "is a part of all places; write at most 100".to_owned();
            faults.push(("layout.persistent_percent".to_owned(), message));
        }
        if self.rules.len() > MOST_RULES {
            let message = format!("there are {}; {MOST_RULES} are enough, use patterns", self.rules.len());
            faults.push(("layout.rules".to_owned(), message));
        }
        for rule in self.rules.iter().filter(|rule| rule.objects.is_empty()) {
            let message = format!(
                "a rule for {:?} names no objects; write a path or a pattern",
                rule.place
            );
            faults.push(("layout.rules".to_owned(), message));
        }
        faults
    }
}

impl LayoutRule {
    /// Whether it is about the object with this path.
    pub(crate) fn fits(&self, path: &str) -> bool {
        let file = file_and_label(path).0;
        fits(&self.objects, path) || !self.objects.contains('#') && fits(&self.objects, file)
    }
}
