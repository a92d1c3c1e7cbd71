//! Assets that others hang on, with named bundles. See [`PrimaryAssets`].

#[cfg(test)]
mod tests;

use core::panic::Location;
use std::{collections::BTreeMap, sync::Arc};

use bevy_ecs::{prelude::*, system::SystemParam};

use crate::{
    registry::{ObjectRegistries, RegistryObject},
    soft::SoftPath,
    streamable::{Streamable, StreamableEnd, StreamableHub, StreamableRequest},
};

/// Loads primary assets with bundles, and lets go of them. A primary asset is one that says, in a registry, what is loaded with it for which purpose:
/// of a hero's class the `"ui"` bundle is its portrait, and the `"match"` bundle its meshes and sounds. A codec tells them, `EncodeContext::bundle`.
///
/// What is set here is held here, whoever asked, until it is set otherwise or [released](Self::release).
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use seamless_asset::{PrimaryAssets, PrimaryError};
/// fn enter_lobby(mut primary: PrimaryAssets) -> Result<(), PrimaryError> {
///     primary.set_bundles("classes/mage.class.ron", &["ui"])?;
///     Ok(())
/// }
///
/// fn start_match(mut primary: PrimaryAssets) -> Result<(), PrimaryError> {
///     // The portrait stays, the meshes come.
///     let loading = primary.set_bundles("classes/mage.class.ron", &["ui", "match"])?;
///     loading.on_finish(|_, end| println!("{}", if end.is_loaded() { "begin" } else { "something is missing" }));
///     Ok(())
/// }
/// ```
#[derive(SystemParam)]
pub struct PrimaryAssets<'w> {
    held: ResMut<'w, HeldPrimaries>,
    registries: Res<'w, ObjectRegistries>,
    hub: Res<'w, StreamableHub>,
}

/// Why bundles cannot be set. Nothing has changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PrimaryError {
    /// No registry knows the asset.
    #[error("`{path}` is in none of {registries} registries; cook it, or correct the path")]
    Unknown {
        /// As it was asked for.
        path: String,
        /// How many registries there are.
        registries: usize,
    },
    /// No registry that is loaded knows the asset, and others are on their way.
    #[error(
        "`{path}` is in no registry that is loaded; ask again when none is on its way, `ObjectRegistries::is_loading`"
    )]
    NotYet {
        /// As it was asked for.
        path: String,
    },
    /// The asset has no such bundle.
    #[error("`{path}` has no bundle `{bundle}`; it has {has:?}")]
    NoBundle {
        /// The asset.
        path: String,
        /// The bundle.
        bundle: String,
        /// Those that it has.
        has: Vec<String>,
    },
}

/// What is held, by the assets' paths.
#[derive(Resource, Default, Debug)]
pub(crate) struct HeldPrimaries(BTreeMap<Arc<str>, Held>);

/// A primary asset with the bundles that are wanted of it.
#[derive(Debug)]
struct Held {
    bundles: Vec<Arc<str>>,
    newest: Streamable,
    /// What was wanted before. It goes when the newest is there, so that nothing is let go of only to be read again.
    before: Vec<Before>,
}

#[derive(Debug)]
struct Before {
    bundles: Vec<Arc<str>>,
    streamable: Streamable,
}

impl PrimaryAssets<'_> {
    /// Has just these bundles of an asset loaded, and the asset itself: what is missing of them is read, and what no other bundle of them has is let go
    /// of as soon as that is there. Without a bundle only the asset is. If the streamable is cancelled, all stays as it was before.
    ///
    /// # Errors
    /// When no registry has the asset, or it has no such bundle.
    #[track_caller]
    pub fn set_bundles(&mut self, path: &str, bundles: &[&str]) -> Result<Streamable, PrimaryError> {
        let caller = Location::caller();
        let found = self.registries.find(path, None).ok_or_else(|| self.unknown(path))?;
        let (bundles, paths) = wanted(found.object, bundles)?;
        if let Some(held) = self.held.0.get(path)
            && held.bundles == bundles
            && !matches!(
                held.newest.end(),
                Some(StreamableEnd::Failed(_) | StreamableEnd::Cancelled)
            )
        {
            return Ok(held.newest.clone());
        }
        let name = format!("{path} {bundles:?}");
        let newest = self.hub.request(StreamableRequest::new(paths).named(name), caller);
        self.held.set(found.object.path.clone(), bundles, newest.clone());
        Ok(newest)
    }

    fn unknown(&self, path: &str) -> PrimaryError {
        let (path, registries) = (path.to_owned(), self.registries.len());
        match self.registries.is_loading() {
            true => PrimaryError::NotYet { path },
            false => PrimaryError::Unknown { path, registries },
        }
    }

    /// Lets go of an asset and of its bundles. Gives whether it was held.
    pub fn release(&mut self, path: &str) -> bool {
        self.held.0.remove(path).is_some()
    }

    /// The bundles that are wanted of an asset, in the order of their names; none if it is not held.
    #[must_use]
    pub fn bundles(&self, path: &str) -> Option<&[Arc<str>]> {
        self.held.0.get(path).map(|held| &*held.bundles)
    }

    /// What was asked for last of an asset, under way or there; none if it is not held.
    #[must_use]
    pub fn streamable(&self, path: &str) -> Option<&Streamable> {
        self.held.0.get(path).map(|held| &held.newest)
    }

    /// The assets that are held, in the order of their paths.
    pub fn held(&self) -> impl Iterator<Item = &Arc<str>> {
        self.held.0.keys()
    }

    /// All primary assets of the registries that are loaded: those with bundles.
    pub fn known(&self) -> impl Iterator<Item = &RegistryObject> {
        let objects = self.registries.loaded().flat_map(|registry| registry.objects());
        objects.filter(|object| !object.bundles.is_empty())
    }
}

/// The bundles, each once and in order, and all that is to be loaded for them.
fn wanted(object: &RegistryObject, bundles: &[&str]) -> Result<(Vec<Arc<str>>, Vec<SoftPath>), PrimaryError> {
    let mut names = Vec::new();
    let mut paths = vec![SoftPath::any(object.path.clone())];
    for wanted in bundles {
        let known = object.bundles.iter().find(|(name, _)| **name == **wanted);
        let (name, of_bundle) = known.ok_or_else(|| PrimaryError::NoBundle {
            path: object.path.to_string(),
            bundle: (*wanted).to_owned(),
            has: object.bundles.iter().map(|(name, _)| name.to_string()).collect(),
        })?;
        names.push(name.clone());
        paths.extend(of_bundle.iter().cloned().map(SoftPath::any));
    }
    names.sort_unstable();
    names.dedup();
    Ok((names, paths))
}

impl HeldPrimaries {
    fn set(&mut self, path: Arc<str>, bundles: Vec<Arc<str>>, newest: Streamable) {
        match self.0.get_mut(&path) {
            Some(held) => {
                let streamable = core::mem::replace(&mut held.newest, newest);
                let bundles = core::mem::replace(&mut held.bundles, bundles);
                held.before.push(Before { bundles, streamable });
            }
            None => {
                let before = Vec::new();
                let held = Held {
                    bundles,
                    newest,
                    before,
                };
                self.0.insert(path, held);
            }
        }
    }
}

/// Lets go of what was wanted before, once what is wanted now is there.
pub(crate) fn settle(mut primaries: ResMut<HeldPrimaries>) {
    let is_over = |held: &Held| held.newest.is_finished() && !held.before.is_empty();
    let is_cancelled = |held: &Held| matches!(held.newest.end(), Some(StreamableEnd::Cancelled));
    let looked = primaries.bypass_change_detection();
    if !looked.0.values().any(|held| is_over(held) || is_cancelled(held)) {
        return;
    }
    looked.0.retain(|_, held| {
        while is_cancelled(held) {
            let Some(Before { bundles, streamable }) = held.before.pop() else {
                // There was nothing before it.
                return false;
            };
            (held.bundles, held.newest) = (bundles, streamable);
        }
        if held.newest.is_finished() {
            held.before.clear();
        }
        true
    });
}
