//! Which changes of code a package has seen: append-only lists of names, and what is left to do.
//!
//! A bare number cannot tell that two programmers gave it different meanings. So a package keeps the *names* of the
//! entries that it was saved with; a build whose list does not start with the same names is refused, with both names of
//! the first difference.

use crate::error::{PackageError, Place};
use crate::names::Names;
use crate::reader::Package;
use crate::table::Table;
use crate::tables::{NameIndex, Row, record};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use xxhash_rust::xxh3::Xxh3;

/// Which list of versions: a UUID. Whoever has data formats of their own makes one up, once, and keeps it for ever.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VersionId(pub [u8; 16]);

impl VersionId {
    /// The list of the engine itself. Only the engine's own code adds to it: a game that does, cannot tell its entries
    /// from later ones of the engine.
    pub const ENGINE: Self = Self(0x5ea3_1e55_0000_4000_8000_0000_0000_0001_u128.to_be_bytes());
    /// The list of the game.
    pub const GAME: Self = Self(0x5ea3_1e55_0000_4000_8000_0000_0000_0002_u128.to_be_bytes());
}

impl fmt::Display for VersionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, byte) in self.0.iter().enumerate() {
            let dash = if [4, 6, 8, 10].contains(&index) { "-" } else { "" };
            write!(f, "{dash}{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for VersionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VersionId({self})")
    }
}

/// Why a [`VersionList`] cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VersionListError {
    /// The label is empty or holds a NUL character.
    #[error("the label {label:?} of version list {id} is empty or holds a NUL character; give it another")]
    BadLabel {
        /// The list.
        id: VersionId,
        /// Its label.
        label: String,
    },
    /// A name is empty or holds a NUL character.
    #[error("entry {index} of version list `{label}`, {name:?}, is empty or holds a NUL character; give it a name")]
    BadEntry {
        /// The list's label.
        label: String,
        /// Position of the entry, from 0.
        index: usize,
        /// Its name.
        name: String,
    },
    /// Two entries have one name.
    #[error("entries {first} and {second} of version list `{label}` are both named `{name}`; rename the later one")]
    DuplicateEntry {
        /// The list's label.
        label: String,
        /// The name.
        name: String,
        /// Position of the earlier entry, from 0.
        first: usize,
        /// Position of the later entry.
        second: usize,
    },
}

/// The versions that a build knows: named entries in the order in which they came. Append-only: once a package was saved
/// with an entry, that entry is never moved, renamed or removed.
///
/// ```
/// use seamless_package::{VersionId, VersionList};
///
/// let list = VersionList::new(VersionId::GAME, "game", ["doors have keys", "keys have colors"])?;
/// assert_eq!(list.number(), 2);
/// # Ok::<(), seamless_package::VersionListError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionList {
    id: VersionId,
    label: String,
    entries: Vec<String>,
    /// Hash of the first `n` entries, for every `n`: any earlier state of the list is recognised in one comparison.
    hashes: Vec<u64>,
}

impl VersionList {
    /// A list with these entries, oldest first. `label` is what error messages call it.
    ///
    /// # Errors
    /// [`VersionListError`] if the label or a name is empty, holds a NUL character, or a name is there twice.
    pub fn new<S: Into<String>>(
        id: VersionId,
        label: impl Into<String>,
        entries: impl IntoIterator<Item = S>,
    ) -> Result<Self, VersionListError> {
        let label = label.into();
        if !is_name(&label) {
            return Err(VersionListError::BadLabel { id, label });
        }
        let entries: Vec<String> = entries.into_iter().map(Into::into).collect();
        check_entries(&label, &entries)?;
        let hashes = prefix_hashes(entries.iter().map(String::as_str));
        Ok(Self {
            id,
            label,
            entries,
            hashes,
        })
    }

    /// Which list this is.
    pub fn id(&self) -> VersionId {
        self.id
    }

    /// What error messages call it.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// The entries' names, oldest first.
    pub fn entries(&self) -> &[String] {
        &self.entries
    }

    /// How many entries there are: the version number.
    pub fn number(&self) -> usize {
        self.entries.len()
    }

    /// xxh3-64 of all names, each with a NUL byte behind it.
    pub fn hash(&self) -> u64 {
        self.hashes.last().copied().unwrap_or_default()
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.contains('\0')
}

fn check_entries(label: &str, entries: &[String]) -> Result<(), VersionListError> {
    let mut seen = BTreeMap::new();
    for (index, name) in entries.iter().enumerate() {
        let label = || label.to_owned();
        if !is_name(name) {
            return Err(VersionListError::BadEntry {
                label: label(),
                index,
                name: name.clone(),
            });
        }
        if let Some(first) = seen.insert(name, index) {
            return Err(VersionListError::DuplicateEntry {
                label: label(),
                name: name.clone(),
                first,
                second: index,
            });
        }
    }
    Ok(())
}

/// Hash of the first `n` names, for `n` from 0 to all.
fn prefix_hashes<'a>(names: impl Iterator<Item = &'a str>) -> Vec<u64> {
    let mut hash = Xxh3::new();
    let mut hashes = vec![hash.digest()];
    for name in names {
        hash.update(name.as_bytes());
        hash.update(&[0]);
        hashes.push(hash.digest());
    }
    hashes
}

record! {
    /// An entry of the version table, without the names of its entries.
    pub struct VersionRecord {
        pub(crate) id: [u8; 16],
        pub(crate) label: NameIndex,
        pub(crate) first_entry: u32,
        pub(crate) entry_count: u32,
        pub(crate) hash: u64,
    }
}

impl Row for VersionRecord {}

/// So many bytes at once take no longer to hash than more would.
const LONG_TEXT: usize = 1024;

/// The version table of a package.
#[derive(Clone, Copy)]
pub(crate) struct Versions<'a> {
    pub lists: Table<'a, VersionRecord>,
    /// Names of the entries of all lists.
    pub entries: Table<'a, NameIndex>,
}

impl<'a> Versions<'a> {
    /// Checks every rule of the table.
    pub(crate) fn check(&self, names: Names<'_>) -> Result<(), PackageError> {
        let mut next_entry = 0;
        let mut previous = None;
        self.lists.try_for_each(&Place::Versions, 0, |index, list| {
            let malformed = |what| PackageError::malformed(Place::VersionList { index }, what);
            if previous >= Some(list.id) {
                return Err(malformed("the lists are not in ascending order of their ids"));
            }
            if list.first_entry != next_entry {
                return Err(malformed("the entries do not follow those of the list before"));
            }
            self.check_list(&list, names).map_err(malformed)?;
            next_entry = list.first_entry.saturating_add(list.entry_count);
            previous = Some(list.id);
            Ok(())
        })?;
        if next_entry as usize == self.entries.len() {
            return Ok(());
        }
        Err(PackageError::malformed(Place::Versions, "entries are left over"))
    }

    fn check_list(&self, list: &VersionRecord, names: Names<'_>) -> Result<(), &'static str> {
        let missing = "a name is not in the name table";
        names.bytes(list.label).ok_or(missing)?;
        let entries = self.entries_of(list).ok_or("the entries end outside of their list")?;
        let mut hash = Xxh3::new();
        // To hash many short names one by one takes longer than to put them together.
        let mut text = Vec::with_capacity(LONG_TEXT);
        for entry in entries {
            text.extend_from_slice(names.bytes(entry).ok_or(missing)?);
            text.push(0);
            if text.len() >= LONG_TEXT {
                hash.update(&text);
                text.clear();
            }
        }
        hash.update(&text);
        if hash.digest() != list.hash {
            return Err("the hash is not that of the entries");
        }
        // The writer's names ascend, so what is there twice lies side by side: whether these do is looked at.
        let mut sorted = entries.to_vec();
        sorted.sort_unstable();
        let sorted = sorted.into_iter().map(|entry| names.bytes(entry));
        match sorted.is_sorted_by(|a, b| a < b) {
            true => Ok(()),
            false => Err("two entries have the same name, or the names are not in ascending order"),
        }
    }

    fn entries_of(&self, list: &VersionRecord) -> Option<Table<'a, NameIndex>> {
        self.entries.part(list.first_entry, list.entry_count)
    }
}

/// One version list of a package: the entries that the package was saved with.
#[derive(Clone)]
pub struct StoredVersions<'a> {
    names: Names<'a>,
    record: VersionRecord,
    entries: Table<'a, NameIndex>,
}

impl<'a> StoredVersions<'a> {
    pub(crate) fn new(versions: &Versions<'a>, names: Names<'a>, record: VersionRecord) -> Self {
        let none = Table::new(&[]);
        Self {
            names,
            entries: versions.entries_of(&record).unwrap_or(none),
            record,
        }
    }

    /// Which list this is.
    pub fn id(&self) -> VersionId {
        VersionId(self.record.id)
    }

    /// What error messages call it.
    pub fn label(&self) -> &'a str {
        self.names.known(self.record.label)
    }

    /// The entries' names, oldest first.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = &'a str> + use<'a> {
        let names = self.names;
        self.entries.iter().map(move |entry| names.known(entry))
    }

    /// How many entries there are: the version number.
    pub fn number(&self) -> usize {
        self.entries.len()
    }

    /// xxh3-64 of all names, each with a NUL byte behind it; checked when the package was opened.
    pub fn hash(&self) -> u64 {
        self.record.hash
    }
}

impl fmt::Debug for StoredVersions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredVersions")
            .field("id", &self.id())
            .field("label", &self.label())
            .field("entries", &self.entries().collect::<Vec<_>>())
            .finish()
    }
}

/// Why the versions of a package and of a build do not fit together. The package is as it should be; nothing of it may
/// be decoded, and it may not be saved over.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VersionMismatch {
    /// The package was saved by a newer build.
    #[error(
        "version list `{label}`: the package has {package} entries and this build {build}, it lacks `{first}`; run a newer \
         build"
    )]
    Newer {
        /// The list's label.
        label: String,
        /// How many entries the package has.
        package: usize,
        /// How many the build has.
        build: usize,
        /// The first entry that the build lacks.
        first: String,
    },
    /// The lists tell different stories.
    #[error(
        "version list `{label}`: entry {number} is `{package}` in the package and `{build}` in this build; a list is \
         append-only, so one was merged out of order, put in the middle, or renamed: put the build's entries back in the \
         package's order, or cook the package again",
        number = index.saturating_add(1)
    )]
    Diverged {
        /// The list's label.
        label: String,
        /// Position of the first entry that differs, from 0.
        index: usize,
        /// Its name in the package.
        package: String,
        /// Its name in the build.
        build: String,
    },
    /// The build does not have the list.
    #[error("version list `{label}` ({id}) is not known to this build; add the plugin that registers it")]
    UnknownList {
        /// The list's label.
        label: String,
        /// The list.
        id: VersionId,
    },
}

/// Which entries of the build's list a package has not seen yet, by position: what must be run on its objects, oldest first.
/// `stored` is the package's list of the same id; without one, that is all of them.
///
/// # Errors
/// [`VersionMismatch::Newer`] and [`VersionMismatch::Diverged`].
///
/// ```
/// use seamless_package::{Limits, Package, PackageWriter, VersionId, VersionList, pending};
///
/// let saved = VersionList::new(VersionId::GAME, "game", ["doors have keys"])?;
/// let mut writer = PackageWriter::new("levels/meadow.pkg");
/// writer.versions(&[saved])?;
/// let package = Package::parse(&writer.finish()?, &Limits::default())?;
///
/// let build = VersionList::new(VersionId::GAME, "game", ["doors have keys", "keys have colors"])?;
/// assert_eq!(pending(package.versions(VersionId::GAME), &build)?, 1..2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn pending(stored: Option<StoredVersions<'_>>, build: &VersionList) -> Result<Range<usize>, VersionMismatch> {
    let all = build.number();
    let Some(stored) = stored else {
        return Ok(0..all);
    };
    if build.hashes.get(stored.number()) == Some(&stored.hash()) {
        return Ok(stored.number()..all);
    }
    let label = || build.label.clone();
    let both = stored.entries().zip(&build.entries).enumerate();
    let different = both.map(|(index, (package, build))| (index, package, build));
    if let Some((index, package, build)) = different.into_iter().find(|(_, package, build)| package != build) {
        return Err(VersionMismatch::Diverged {
            label: label(),
            index,
            package: package.to_owned(),
            build: build.clone(),
        });
    }
    match stored.entries().nth(all) {
        None => Ok(stored.number()..all),
        Some(first) => Err(VersionMismatch::Newer {
            label: label(),
            package: stored.number(),
            build: all,
            first: first.to_owned(),
        }),
    }
}

/// For every list of the build, which entries the package has not seen yet; see [`pending`]. In the order of `builds`,
/// no two of which have one id.
///
/// # Errors
/// [`VersionMismatch::UnknownList`] if the package has a list that the build does not, and the errors of [`pending`].
pub fn check_all(package: &Package, builds: &[VersionList]) -> Result<Vec<(VersionId, Range<usize>)>, VersionMismatch> {
    let is_known = |stored: &StoredVersions<'_>| builds.iter().any(|build| build.id == stored.id());
    if let Some(unknown) = package.version_lists().find(|stored| !is_known(stored)) {
        return Err(VersionMismatch::UnknownList {
            label: unknown.label().to_owned(),
            id: unknown.id(),
        });
    }
    let pending = |build: &VersionList| Ok((build.id, pending(package.versions(build.id), build)?));
    builds.iter().map(pending).collect()
}
