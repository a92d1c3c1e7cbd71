//! Open packages: the tables of each, read at once and shared by all loads. See [`Linkers`].

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use async_channel::{Receiver, Sender, unbounded};
use bevy_asset::{AssetPath, io::AssetSourceId};
use bevy_platform::collections::HashMap;
use seamless_package::{ObjectId, Package};

use crate::{
    codec::Codecs,
    error::LoadErrorKind,
    load::{PendingEntries, pending_entries},
    objects::{CookFolder, LiveId},
};

/// The ending of package files, which names may leave away.
pub const PACKAGE_EXTENSION: &str = "pkg";

/// An open package: its tables and schemas, and where they were read from. It holds no object and keeps none alive, so it can
/// be dropped at any time after a load.
///
/// Unreal calls it `ULinkerLoad`.
#[derive(Debug)]
pub struct Linker {
    path: AssetPath<'static>,
    package: Package,
    cook: CookFolder,
    #[cfg_attr(not(feature = "migrations"), expect(dead_code, reason = "there is nothing to run"))]
    pending: PendingEntries,
}

impl Linker {
    /// Opens a package whose header was read, if this build may read the rest.
    pub(crate) fn open(path: AssetPath<'static>, package: Package, codecs: &Codecs) -> Result<Self, LoadErrorKind> {
        let pending = pending_entries(&package, codecs)?;
        let cook = CookFolder::of(&path, package.name());
        Ok(Self {
            path,
            package,
            cook,
            pending,
        })
    }

    /// The migrations that its objects have not seen.
    #[cfg(feature = "migrations")]
    pub(crate) fn pending(&self) -> &PendingEntries {
        &self.pending
    }

    /// Where the package was opened.
    #[must_use]
    pub fn path(&self) -> &AssetPath<'static> {
        &self.path
    }

    /// Its tables and schemas.
    #[must_use]
    pub fn package(&self) -> &Package {
        &self.package
    }

    /// Where another package of the same cook is, by the name that this one imports it under.
    ///
    /// Packages import each other by the names they were cooked under, which are relative to the folder of the cook. This
    /// package was opened somewhere below an asset source; what its path has in front of its own name, others have too.
    #[must_use]
    pub fn sibling(&self, name: &str) -> AssetPath<'static> {
        // A path as it stands: names come from files, and are not taken apart.
        let folder = folder_of(&self.path, self.package.name());
        let path = PathBuf::from(format!("{folder}{name}"));
        AssetPath::from(path).with_source(self.path.source().clone_owned())
    }

    /// A package of the same cook.
    fn name(&self, name: &str) -> PackageName {
        PackageName {
            name: name.into(),
            cook: self.cook,
        }
    }

    /// The folder that it was cooked into with others.
    #[must_use]
    pub fn cook(&self) -> CookFolder {
        self.cook
    }

    /// The type path, as it was cooked, of the export with this id; `None` when there is none, or it is a class.
    #[must_use]
    pub fn type_of(&self, id: ObjectId) -> Option<&str> {
        let class = self.package.class_of(self.package.find(id)?)?;
        Some(&class.type_path)
    }
}

/// What a package's path has in front of the name that it was cooked under, without its source.
pub(crate) fn folder_of(path: &AssetPath, name: &str) -> String {
    let own = path.path().to_string_lossy().replace('\\', "/");
    let is_folder = |folder: &&str| folder.is_empty() || folder.ends_with('/');
    let end = match own.strip_suffix(name).filter(is_folder) {
        Some(folder) => folder.len(),
        // Renamed on the way: its neighbours are in the same folder.
        None => own.rfind('/').map_or(0, |slash| slash + 1),
    };
    own.get(..end).unwrap_or_default().to_owned()
}

/// The linkers that are open: at most one for each package.
///
/// A linker is open as long as somebody holds it: a load that is under way, or a package that is in use
/// ([`SeamlessAssetPlugin::keep_linkers`](crate::SeamlessAssetPlugin::keep_linkers)). Usable from any thread; the lock is held
/// for a look-up only.
#[derive(Clone, Default)]
pub struct Linkers(Arc<Mutex<Tables>>);

#[derive(Default)]
struct Tables {
    open: HashMap<AssetPath<'static>, Weak<Linker>>,
    /// All packages that were ever opened, and those that these have copies from, for identities of live objects whose linker is
    /// closed.
    names: HashMap<AssetPath<'static>, PackageName>,
    watchers: Vec<Sender<Arc<Linker>>>,
    /// Somebody writes files over while the game runs.
    were_any_reset: bool,
}

/// What a package was cooked as.
#[derive(Clone)]
struct PackageName {
    name: Arc<str>,
    cook: CookFolder,
}

/// Why a name does not lead to one package.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// It is partly qualified, and fits several packages.
    #[error("`{name}` may be {}; write more of its path, or the whole with its ending", candidates.join(" or "))]
    Ambiguous {
        /// The name.
        name: String,
        /// All open packages that it may mean.
        candidates: Vec<String>,
    },
    /// It is no path.
    #[error("`{name}` names no package ({reason}); write `dir/file.pkg`, or `source://dir/file.pkg`")]
    Malformed {
        /// The name.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl Linkers {
    /// The open linker of a package.
    #[must_use]
    pub fn find(&self, path: &AssetPath) -> Option<Arc<Linker>> {
        self.lock().open.get(&path.clone_owned()).and_then(Weak::upgrade)
    }

    /// The path that a name means. With an ending it is the path itself. Without one it may be partly qualified: `meadow` is
    /// `world/meadow.pkg` if a package of that path is open, or `meadow.pkg` ([`PACKAGE_EXTENSION`]) if none is that fits.
    ///
    /// # Errors
    /// When several open packages fit and none of them exactly, and when the name is no path.
    pub fn resolve(&self, name: &str) -> Result<AssetPath<'static>, NameError> {
        let malformed = |reason: String| NameError::Malformed {
            name: name.to_owned(),
            reason,
        };
        let path = AssetPath::try_parse(name).map_err(|error| malformed(error.to_string()))?;
        let path = path.into_owned().without_label().into_owned();
        if path.path().file_name().is_none() {
            return Err(malformed("there is no file name in it".into()));
        }
        if path.path().extension().is_some() {
            return Ok(path);
        }
        let file = path.path().with_extension(PACKAGE_EXTENSION);
        let path = AssetPath::from(file).with_source(path.source().clone_owned());
        let open = &self.lock().open;
        let is_open = |linker: &Weak<Linker>| linker.strong_count() > 0;
        if open.get(&path).is_some_and(is_open) {
            return Ok(path);
        }
        let fits = |known: &AssetPath| {
            (*path.source() == AssetSourceId::Default || known.source() == path.source())
                && known.path().ends_with(path.path())
        };
        let fitting = open.iter().filter(|(known, linker)| fits(known) && is_open(linker));
        let mut found: Vec<_> = fitting.map(|(known, _)| known.clone()).collect();
        match found.len() {
            0 => Ok(path),
            1 => Ok(found.swap_remove(0)),
            _ => {
                let mut candidates: Vec<_> = found.iter().map(|path| format!("`{path}`")).collect();
                candidates.sort_unstable();
                let name = name.to_owned();
                Err(NameError::Ambiguous { name, candidates })
            }
        }
    }

    /// How many packages are open.
    #[must_use]
    pub fn len(&self) -> usize {
        let open = &self.lock().open;
        open.values().filter(|linker| linker.strong_count() > 0).count()
    }

    /// Whether no package is open.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Forgets the linker of a package, so that the next load opens the file anew: call it before the file is written over or
    /// renamed. What is live stays as it is.
    pub fn reset(&self, path: &AssetPath) {
        let mut tables = self.lock();
        tables.were_any_reset = true;
        tables.open.remove(&path.clone_owned());
    }

    /// Whether what is live of a package may be of an older file than its tables are.
    pub(crate) fn were_any_reset(&self) -> bool {
        self.lock().were_any_reset
    }

    /// Finds a linker again that was reset, in the place of whichever was opened since.
    pub(crate) fn restore(&self, linker: &Arc<Linker>) {
        let mut tables = self.lock();
        tables
            .names
            .insert(linker.path.clone(), linker.name(linker.package.name()));
        tables.open.insert(linker.path.clone(), Arc::downgrade(linker));
    }

    /// Whether the package at `path`, or one with copies from it, was ever opened.
    pub(crate) fn knows(&self, path: &AssetPath<'static>) -> bool {
        self.lock().names.contains_key(path)
    }

    /// Which live object the one is that is called `object` in the package at `path`, if that or a package with copies from it was ever
    /// opened.
    pub(crate) fn live_id(&self, path: &AssetPath<'static>, object: &str) -> Option<LiveId> {
        let package = self.lock().names.get(path).cloned()?;
        Some(package.cook.object(ObjectId::new(&package.name, object)))
    }

    /// Every linker that is opened from now on, once. Whoever watches takes them out in each frame: they stay open until then.
    pub(crate) fn watch(&self) -> Receiver<Arc<Linker>> {
        let (watcher, opened) = unbounded();
        self.lock().watchers.push(watcher);
        opened
    }

    /// All that are open.
    pub(crate) fn all(&self) -> Vec<Arc<Linker>> {
        self.lock().open.values().filter_map(Weak::upgrade).collect()
    }

    /// Adds a linker that was just opened. If another load was faster with the same file, gives that one.
    pub(crate) fn add(&self, linker: Linker) -> Arc<Linker> {
        let mut tables = self.lock();
        let Tables { open, names, .. } = &mut *tables;
        if let Some(known) = open.get(&linker.path).and_then(Weak::upgrade)
            && known.package.summary().content_hash == linker.package.summary().content_hash
        {
            return known;
        }
        if open.len() == open.capacity() {
            // Before the map grows it forgets what was closed, so it stays in proportion to what is open.
            open.retain(|_, linker| linker.strong_count() > 0);
        }
        let path = linker.path.clone();
        names.insert(path.clone(), linker.name(linker.package.name()));
        let origins = linker.package.origins().iter();
        for name in origins.filter_map(|origin| linker.package.name_of(origin.package)) {
            names.entry(linker.sibling(name)).or_insert_with(|| linker.name(name));
        }
        let linker = Arc::new(linker);
        open.insert(path, Arc::downgrade(&linker));
        tables
            .watchers
            .retain(|watcher| watcher.try_send(linker.clone()).is_ok());
        linker
    }

    fn lock(&self) -> MutexGuard<'_, Tables> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
