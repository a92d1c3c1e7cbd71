//! Which notifies there are, and which of them are always loaded. See [`CueLibraries`].

#[cfg(test)]
pub(crate) mod tests;

use std::{collections::BTreeMap, sync::Arc};

use bevy_ecs::resource::Resource;
use bevy_log::{error, warn};
use seamless_asset::{FoundObject, ObjectRegistries, ObjectScan};

use crate::{
    config::{CueConfig, Scan},
    notify::{
        CueNotify,
        codec::{CULL_DISTANCE, OVERRIDES, TAG},
    },
    tag::GameplayTag,
};

/// The two libraries of notifies: the *runtime* library, of those that are always loaded, and that of all that are known. Both hold what the
/// registries of the app say of notifies; neither keeps one in memory that nobody needs.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use seamless_cue::CueLibraries;
/// fn enter_volcano(mut libraries: ResMut<CueLibraries>) {
///     libraries.add_path("cues/zones/volcano");
/// }
///
/// fn leave_volcano(mut libraries: ResMut<CueLibraries>) {
///     libraries.remove_path("cues/zones/volcano");
/// }
/// ```
#[derive(Resource, Default, Debug)]
pub struct CueLibraries {
    paths: Vec<String>,
    known: BTreeMap<Arc<str>, LibraryCue>,
    /// Those that no registry knows.
    inserted: Vec<LibraryCue>,
    /// Of the registries when they were looked at.
    seen: Option<u64>,
    /// The paths, or what is known, are others than those that were applied.
    pub(crate) is_changed: bool,
}

/// What is known of a notify without loading it.
#[derive(Clone, Debug, PartialEq)]
pub struct LibraryCue {
    /// The path that its author knows it by.
    pub path: Arc<str>,
    /// The cues that it plays.
    pub tag: GameplayTag,
    /// Whether it overrides those of the tag's parents.
    pub overrides: bool,
    /// How far its cues carry.
    pub cull_distance: Option<f32>,
    /// Bytes that are read when it is loaded.
    pub bytes: u64,
    /// Whether it is in the runtime library.
    pub is_always_loaded: bool,
}

impl CueLibraries {
    /// Has the notifies always loaded whose paths lie below this one, from now on.
    pub fn add_path(&mut self, path: impl Into<String>) {
        let path = path.into();
        if !self.paths.contains(&path) {
            self.paths.push(path);
            self.mark();
            // It may be none of those that were looked through.
            self.seen = None;
        }
    }

    /// The notifies below this path need not be loaded any more. Cues still load those that they need.
    pub fn remove_path(&mut self, path: &str) {
        let before = self.paths.len();
        self.paths.retain(|known| known != path);
        if self.paths.len() != before {
            self.mark();
        }
    }

    /// The paths below which notifies are always loaded.
    #[must_use]
    pub fn paths(&self) -> &[String] {
        &self.paths
    }

    /// All notifies that are known, by path.
    pub fn known(&self) -> impl Iterator<Item = &LibraryCue> {
        self.known.values()
    }

    /// The runtime library: those that are always loaded.
    pub fn runtime(&self) -> impl Iterator<Item = &LibraryCue> {
        self.known.values().filter(|cue| cue.is_always_loaded)
    }

    /// Adds a notify that no registry knows, at a path of an object in a package; for tools and tests.
    pub fn insert(&mut self, cue: LibraryCue) {
        self.inserted.retain(|known| known.path != cue.path);
        self.known.insert(cue.path.clone(), cue.clone());
        self.inserted.push(cue);
        self.mark();
    }

    fn mark(&mut self) {
        for cue in self.known.values_mut() {
            cue.is_always_loaded = is_below_any(&cue.path, &self.paths);
        }
        self.is_changed = true;
    }

    /// Looks at the registries, if the config says that it is time for it; whether it did.
    pub(crate) fn scan(&mut self, registries: &ObjectRegistries, config: &CueConfig, is_start: bool) -> bool {
        let is_time = match config.scan() {
            Scan::AtStart => true,
            Scan::InBackground => !is_start,
            Scan::WhenComplete => !registries.is_loading(),
        };
        if !is_time || self.seen == Some(registries.generation()) {
            return false;
        }
        self.seen = Some(registries.generation());
        let scan = config.known.iter().chain(&self.paths);
        let scan = scan.fold(ObjectScan::new().of::<CueNotify>(), |scan, path| {
            match path.is_empty() {
                true => scan,
                false => scan.under(path.as_str()),
            }
        });
        // With an empty path all are meant, whatever the others are.
        let scan = match config.known.iter().any(String::is_empty) {
            true => ObjectScan::new().of::<CueNotify>(),
            false => scan,
        };
        self.take(registries.scan(&scan), config.max_notifies);
        true
    }

    fn take(&mut self, found: Vec<FoundObject>, most: usize) {
        let inserted = self.inserted.iter();
        self.known = inserted.map(|cue| (cue.path.clone(), cue.clone())).collect();
        for object in found {
            if self.known.len() >= most && !self.known.contains_key(&object.object.path) {
                error!("more than {most} cue notifies, the others are left out; raise `CueConfig::max_notifies`");
                break;
            }
            match LibraryCue::of(&object) {
                Ok(cue) => drop(self.known.insert(cue.path.clone(), cue)),
                Err(message) => warn!("cue `{}`: {message}; cook it again", object.object.path),
            }
        }
        self.mark();
    }
}

impl LibraryCue {
    /// What a registry tells of a notify.
    fn of(found: &FoundObject) -> Result<Self, String> {
        let object = found.object;
        let name = object.tag(TAG).next().ok_or("its registry does not tell its tag")?;
        let tag = GameplayTag::new(name).map_err(|error| error.to_string())?;
        let distance = object.tag(CULL_DISTANCE).next();
        let cull_distance = distance.map(str::parse).transpose();
        Ok(Self {
            path: object.path.clone(),
            tag,
            overrides: object.tag(OVERRIDES).next().is_some(),
            cull_distance: cull_distance.map_err(|_| "its registry tells no number as its distance")?,
            bytes: object.bytes,
            is_always_loaded: false,
        })
    }
}

/// Whether a path is that of a file, or lies in a folder, of these.
fn is_below_any(path: &str, folders: &[String]) -> bool {
    folders.iter().any(|folder| {
        let folder = folder.trim_end_matches('/');
        let rest = path.strip_prefix(folder);
        rest.is_some_and(|rest| folder.is_empty() || rest.is_empty() || rest.starts_with(['/', '#']))
    })
}
