//! What can be wrong with a cooked folder. See [`FaultKind`].

use seamless_asset::{LoadErrorKind, RegistryError, codec::DecodeError};
use seamless_level::ManifestError;
use seamless_package::{PackageError, Role, VersionMismatch};
use serde::{Serialize, Serializer, ser::SerializeStruct};

use crate::plan::in_words;

/// Something that is wrong: in which file, with which object, what, and how to mend it.
///
/// As JSON it has `file`, `object`, `kind` and `message`.
#[derive(Debug)]
pub struct Fault {
    /// The file, as a path in the folder.
    pub file: String,
    /// The object in it, or the level of a manifest; empty when it is about the whole file.
    pub object: String,
    /// What is wrong.
    pub kind: FaultKind,
}

impl Fault {
    pub(super) fn new(file: impl Into<String>, object: impl Into<String>, kind: FaultKind) -> Self {
        Self {
            file: file.into(),
            object: object.into(),
            kind,
        }
    }
}

impl core::fmt::Display for Fault {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.object.is_empty() {
            true => write!(f, "{}: {}", self.file, self.kind),
            false => write!(f, "{}#{}: {}", self.file, self.object, self.kind),
        }
    }
}

impl Serialize for Fault {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fault = serializer.serialize_struct("Fault", 4)?;
        fault.serialize_field("file", &self.file)?;
        fault.serialize_field("object", &self.object)?;
        fault.serialize_field("kind", self.kind.name())?;
        fault.serialize_field("message", &self.kind.to_string())?;
        fault.end()
    }
}

/// The kinds of faults of a cooked folder; each text says how to mend it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FaultKind {
    /// The file cannot be read.
    #[error("cannot be read: {0}; check the disk and who may read the file")]
    Unreadable(String),
    /// A package's bytes are not sound, or of another version of the format.
    #[error(transparent)]
    Package(Box<PackageError>),
    /// A manifest is not sound.
    #[error(transparent)]
    Manifest(ManifestError),
    /// There is no manifest.
    #[error("no manifest (`*.seamless`) is here, so no world can be loaded; cook the world again")]
    NoManifest,
    /// A package does not lie where it was cooked for.
    #[error(
        "was cooked as `{name}`; packages cannot be renamed, moved or swapped: give it its name back, or cook the world again"
    )]
    WrongName {
        /// The name that it was cooked under.
        name: String,
    },
    /// A level table is not sound.
    #[error(transparent)]
    LevelTable(DecodeError),
    /// A column of a level names a class that is not there.
    #[error("a column's class is export {class}, which is none; cook it again, and report the tool that wrote it")]
    ColumnClass {
        /// The export index that the column names.
        class: u32,
    },
    /// A column of a level does not hold what it must.
    #[error("its column of `{component}` is not sound: {source}")]
    Column {
        /// The component's type path.
        component: String,
        /// What is wrong with it.
        source: DecodeError,
    },
    /// A component refers to something that is not in the level's lists.
    #[error(
        "its column of `{component}` refers to {what} {index} of {count}; cook it again, and report the tool that wrote it"
    )]
    ColumnReference {
        /// The component's type path.
        component: String,
        /// `reference` or `entity`.
        what: &'static str,
        /// Which one.
        index: u32,
        /// How many there are.
        count: usize,
    },
    /// The index of startup content is not sound.
    #[error("the index of startup content is not sound: {0}")]
    Startup(Box<LoadErrorKind>),
    /// A package that others need is not there.
    #[error("needs `{package}`, which is not here ({needs}); copy it here, or cook the world again")]
    MissingPackage {
        /// The package that is not there.
        package: String,
        /// What is needed of it.
        needs: String,
    },
    /// An import's package does not have the object.
    #[error("imports `{package}#{object}`, and that package has no such object; cook both again, together")]
    MissingObject {
        /// The other package.
        package: String,
        /// The object.
        object: String,
    },
    /// An import's object is of another type.
    #[error("imports `{package}#{object}` as a `{wanted}`, and it is a `{found}` there; cook both again, together")]
    WrongType {
        /// The other package.
        package: String,
        /// The object.
        object: String,
        /// The type that is imported.
        wanted: String,
        /// The type that it has.
        found: String,
    },
    /// An import's object is left out by apps that need the import.
    #[error(
        "imports `{package}#{object}` for {wanted}, and it is for {found} there, so some would not find it; cook both again, together"
    )]
    WrongRole {
        /// The other package.
        package: String,
        /// The object.
        object: String,
        /// Who needs the import.
        wanted: Role,
        /// Who has the object.
        found: Role,
    },
    /// Copies were made from another cook of a package.
    #[error(
        "copies {} of `{package}` as it was at content {was:016x}, and it is at {is:016x} now; cook both again, together",
        crate::report::counted(*copies as usize, "object")
    )]
    StaleOrigin {
        /// The package that they were copied from.
        package: String,
        /// How many copies there are.
        copies: u32,
        /// Its content hash then.
        was: u64,
        /// Its content hash now.
        is: u64,
    },
    /// A copy does not say rightly where the original is.
    #[error("is a copy of export {index} of `{package}`, which is another object; cook both again, together")]
    WrongPlace {
        /// The package that it was copied from.
        package: String,
        /// The place that it has for the original.
        index: u32,
    },
    /// A copy and its original do not agree on whether payloads may be left for later.
    #[error(
        "is {} in `{package}`, of which it is a copy; cook both again, together, and report the tool that wrote them",
        if *is_marked { "marked, but not" } else { "not marked, but is" }
    )]
    WrongMark {
        /// The package that it was copied from.
        package: String,
        /// Whether the copy is marked.
        is_marked: bool,
    },
    /// The versions of code that a package was saved with are not those of this build.
    #[error(transparent)]
    Version(VersionMismatch),
    /// A package was saved with fewer versions than others.
    #[error(
        "was saved at version {here} of `{label}`, and `{other}` at {there}: one of both is left over from another cook; cook the world again"
    )]
    MixedVersions {
        /// What the list is called.
        label: String,
        /// Entries of the list here.
        here: usize,
        /// Entries of the list there.
        there: usize,
        /// The other package.
        other: String,
    },
    /// Packages were saved with different lists of versions.
    #[error(
        "entry {number} of the version list `{label}` is `{here}`, and `{there}` in `{other}`; cook the world again with one build",
        number = index + 1
    )]
    DivergedVersions {
        /// What the list is called.
        label: String,
        /// The first entry that differs.
        index: usize,
        /// What it is here.
        here: String,
        /// What it is there.
        there: String,
        /// The other package.
        other: String,
    },
    /// Packages have different versions of the format.
    #[error(
        "has format {here}, and `{other}` has format {there}: one of both is left over from another cook; cook the world again"
    )]
    MixedFormats {
        /// The format here.
        here: u32,
        /// The format there.
        there: u32,
        /// The other package.
        other: String,
    },
    /// A manifest and a package do not agree.
    #[error("says that `{package}` has {what} {listed}, and it has {found}; cook the world again")]
    Listed {
        /// The package.
        package: String,
        /// What they differ in.
        what: &'static str,
        /// What the manifest says.
        listed: String,
        /// What the package says.
        found: String,
    },
    /// A manifest's list of packages lacks one that it uses.
    #[error("uses `{package}`, and its list of packages does not have it; cook the world again")]
    NotListed {
        /// The package.
        package: String,
    },
    /// The package of a manifest's level holds no level.
    #[error("names `{package}` as its package, which holds no level; cook the world again")]
    NoLevel {
        /// The package.
        package: String,
    },
    /// The startup package of a manifest has no index of startup content.
    #[error("names `{package}` as its startup content, which is none; cook the world again")]
    NoStartup {
        /// The package.
        package: String,
    },
    /// The dependencies of a level are not what its package imports.
    #[error("needs the packages [{needed}], and lists [{listed}]; cook the world again")]
    Dependencies {
        /// What its package leads to.
        needed: String,
        /// What the manifest lists.
        listed: String,
    },
    /// A registry of objects is not sound, or not there.
    #[error(transparent)]
    Registry(RegistryError),
    /// A registry and a package do not agree.
    #[error("{what}; cook the world again")]
    RegistryRow {
        /// What the registry says, and what is so.
        what: String,
    },
    /// A soft reference leads nowhere.
    #[error(
        "refers softly to `{path}`{}, which no registry here has; cook the world again, or correct the path",
        in_words(*line)
    )]
    SoftNowhere {
        /// The path.
        path: String,
        /// The line of the author's file on which it stands; none where that file is not where the cook found it, or is no text.
        line: Option<usize>,
    },
    /// Nobody refers to a package.
    #[error("no manifest and no package refers to it, it is left over; delete it, or cook the world again")]
    Unused,
}

impl FaultKind {
    /// The kind as one word, for programs.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Unreadable(_) => "unreadable",
            Self::Package(_) => "package",
            Self::Manifest(_) => "manifest",
            Self::NoManifest => "no_manifest",
            Self::WrongName { .. } => "wrong_name",
            Self::LevelTable(_) => "level_table",
            Self::ColumnClass { .. } => "column_class",
            Self::Column { .. } => "column",
            Self::ColumnReference { .. } => "column_reference",
            Self::Startup(_) => "startup",
            Self::MissingPackage { .. } => "missing_package",
            Self::MissingObject { .. } => "missing_object",
            Self::WrongType { .. } => "wrong_type",
            Self::WrongRole { .. } => "wrong_role",
            Self::StaleOrigin { .. } => "stale_origin",
            Self::WrongPlace { .. } => "wrong_place",
            Self::WrongMark { .. } => "wrong_mark",
            Self::Version(_) => "version",
            Self::MixedVersions { .. } => "mixed_versions",
            Self::DivergedVersions { .. } => "diverged_versions",
            Self::MixedFormats { .. } => "mixed_formats",
            Self::Listed { .. } => "listed",
            Self::NotListed { .. } => "not_listed",
            Self::NoLevel { .. } => "no_level",
            Self::NoStartup { .. } => "no_startup",
            Self::Dependencies { .. } => "dependencies",
            Self::Registry(_) => "registry",
            Self::RegistryRow { .. } => "registry_row",
            Self::SoftNowhere { .. } => "soft_nowhere",
            Self::Unused => "unused",
        }
    }
}
