//! Which sets there are, who wants them, and what is held for them. See [`PreloadSets`].

use core::{panic::Location, time::Duration};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use bevy_ecs::resource::Resource;

use super::{PreloadError, PreloadSet, PreloadState};
use crate::streamable::Streamable;

/// Preload sets by name, and who wants which.
///
/// A game declares sets, and says for what reasons they are wanted: a *phase* (a value of Bevy's `States`, by
/// [`PreloadAppExt::preload_in_state`](super::PreloadAppExt::preload_in_state)), a *zone* ([`PreloadZone`](super::PreloadZone)), a *selection* or anything
/// else by [`want`](Self::want). What is wanted is the union of all reasons. When it changes, the difference is loaded, and what is not wanted any
/// more is released when the new is there; what two sets have is neither read again nor let go in between.
/// [`PreloadProgress`](super::PreloadProgress) tells how far it has come, [`PreloadEvent`](super::PreloadEvent) what became of each set.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use seamless_asset::{PreloadProgress, PreloadSet, PreloadSets};
/// fn declare(mut sets: ResMut<PreloadSets>) {
///     for class in ["knight", "mage", "archer"] {
///         sets.declare(class, PreloadSet::of_folder(format!("classes/{class}")).folder(format!("cues/{class}")));
///     }
/// }
///
/// // The player chooses: what only the last choice needed is released.
/// fn choose(mut sets: ResMut<PreloadSets>) {
///     sets.want("class selection", ["mage"]);
/// }
///
/// fn show(progress: Res<PreloadProgress>) {
///     println!("{:.0} %", progress.fraction() * 100.0);
/// }
/// ```
#[derive(Resource, Default, Debug)]
pub struct PreloadSets {
    pub(super) declared: BTreeMap<Arc<str>, PreloadSet>,
    /// By reason, who wants which sets.
    wants: BTreeMap<Arc<str>, BTreeMap<Arc<str>, &'static Location<'static>>>,
    /// What is done for sets that are wanted.
    pub(super) held: BTreeMap<Arc<str>, Held>,
    pub(super) leaving: Vec<Leaving>,
    /// What is declared or wanted is something else than what `held` follows.
    pub(super) is_changed: bool,
    /// Folders are to be looked through when no registry is on its way.
    pub(super) is_waiting: bool,
    /// When that was first so without any registry, and whether it was said.
    pub(super) waiting_since: Option<Duration>,
    pub(super) has_warned: bool,
    /// Of the registries when folders were looked through.
    pub(super) generation: Option<u64>,
}

/// What is held for a set that is wanted.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// None as long as its folders cannot be looked through, and without a declaration.
    pub streamable: Option<Streamable>,
    /// What is wrong besides what the streamable says.
    pub errors: Vec<PreloadError>,
    /// Whether its end was told.
    pub is_told: bool,
}

/// What a set had that is not wanted any more, or is another one now.
#[derive(Debug)]
pub(super) struct Leaving {
    pub set: Arc<str>,
    pub streamable: Streamable,
    /// The sets that it waits for.
    pub until: BTreeSet<Arc<str>>,
    /// Whether the set itself goes, and not only what it was.
    pub is_told: bool,
}

impl Held {
    pub fn state(&self) -> PreloadState {
        match &self.streamable {
            Some(streamable) if !streamable.is_finished() => PreloadState::Loading,
            Some(streamable) if streamable.is_loaded() && self.errors.is_empty() => PreloadState::Loaded,
            None if self.errors.is_empty() => PreloadState::Loading,
            _ => PreloadState::Failed,
        }
    }
}

impl PreloadSets {
    /// Says what a set is. If it is wanted, the difference to what it was is loaded.
    pub fn declare(&mut self, name: impl Into<Arc<str>>, set: PreloadSet) {
        let name = name.into();
        if self.declared.get(&name) != Some(&set) {
            self.declared.insert(name, set);
            self.is_changed = true;
        }
    }

    /// Takes a declaration back. Gives whether there was one.
    pub fn forget(&mut self, name: &str) -> bool {
        let was = self.declared.remove(name).is_some();
        self.is_changed |= was;
        was
    }

    /// The sets that are declared, by name.
    pub fn declared(&self) -> impl Iterator<Item = (&Arc<str>, &PreloadSet)> {
        self.declared.iter()
    }

    /// From now on there is this reason for these sets, and for no others. Without any the reason is gone.
    #[track_caller]
    pub fn want<N: Into<Arc<str>>>(&mut self, reason: impl AsRef<str>, sets: impl IntoIterator<Item = N>) {
        let caller = Location::caller();
        self.want_at(reason.as_ref(), sets.into_iter().map(|set| (set.into(), caller)));
    }

    /// There is this reason for one set more.
    #[track_caller]
    pub fn add(&mut self, reason: impl Into<Arc<str>>, set: impl Into<Arc<str>>) {
        let of_reason = self.wants.entry(reason.into()).or_default();
        self.is_changed |= of_reason.insert(set.into(), Location::caller()).is_none();
    }

    /// This is no reason for the set any more. Gives whether it was.
    pub fn remove(&mut self, reason: &str, set: &str) -> bool {
        let Some(of_reason) = self.wants.get_mut(reason) else {
            return false;
        };
        let was = of_reason.remove(set).is_some();
        if of_reason.is_empty() {
            self.wants.remove(reason);
        }
        self.is_changed |= was;
        was
    }

    pub(super) fn want_at(
        &mut self,
        reason: &str,
        sets: impl IntoIterator<Item = (Arc<str>, &'static Location<'static>)>,
    ) {
        let sets: BTreeMap<_, _> = sets.into_iter().collect();
        let is_same = |was: &BTreeMap<Arc<str>, _>| was.keys().eq(sets.keys());
        if self.wants.get(reason).map_or(sets.is_empty(), is_same) {
            return;
        }
        match sets.is_empty() {
            true => drop(self.wants.remove(reason)),
            false => drop(self.wants.insert(reason.into(), sets)),
        }
        self.is_changed = true;
    }

    /// Tries again to load what has failed of a set. Gives whether it had failed.
    pub fn retry(&mut self, set: &str) -> bool {
        let has_failed = self.state(set) == PreloadState::Failed;
        if has_failed && let Some(held) = self.held.remove(set) {
            if let Some(streamable) = held.streamable {
                self.leave(set.into(), streamable, false);
            }
            self.is_changed = true;
        }
        has_failed
    }

    /// Whether there is a reason for a set.
    #[must_use]
    pub fn is_wanted(&self, set: &str) -> bool {
        self.wants.values().any(|sets| sets.contains_key(set))
    }

    /// The sets that are wanted, each with a reason for it.
    pub fn wanted(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<str>)> {
        self.union().into_iter().map(|(set, (reason, _))| (set, reason))
    }

    /// All that is wanted, with one reason for each and who has given it.
    pub(super) fn union(&self) -> BTreeMap<&Arc<str>, (&Arc<str>, &'static Location<'static>)> {
        let all = self.wants.iter();
        all.flat_map(|(reason, sets)| sets.iter().map(move |(set, caller)| (set, (reason, *caller))))
            .collect()
    }

    /// Where a set stands.
    #[must_use]
    pub fn state(&self, set: &str) -> PreloadState {
        match self.held.get(set) {
            Some(held) => held.state(),
            None if self.is_wanted(set) => PreloadState::Loading,
            None => PreloadState::Unwanted,
        }
    }

    /// What a set that is wanted has, or loads; none while registries are on their way that tell what is in its folders.
    #[must_use]
    pub fn streamable(&self, set: &str) -> Option<&Streamable> {
        self.held.get(set)?.streamable.as_ref()
    }

    /// The sets of which something is held: those that are wanted, and those that wait for them to come.
    pub fn held(&self) -> impl Iterator<Item = &Arc<str>> {
        self.held.keys().chain(self.leaving.iter().map(|leaving| &leaving.set))
    }

    /// Lets a set's content go when all that is on its way has come.
    pub(super) fn leave(&mut self, set: Arc<str>, streamable: Streamable, is_told: bool) {
        self.leaving.push(Leaving {
            set,
            streamable,
            until: BTreeSet::new(),
            is_told,
        });
    }
}
