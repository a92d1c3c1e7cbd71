//! A streamable that is under way. See [`Active`].

use core::{sync::atomic::Ordering, time::Duration};
use std::{
    collections::BTreeMap,
    sync::{Arc, Weak},
};

use bevy_asset::{AssetServer, LoadState, UntypedHandle};

use super::{
    Streamable, StreamableEnd, StreamableProgress, StreamableSettings, StreamableState, StreamableStats,
    loads::{Loads, Place},
    shared::{Held, Shared},
};
use crate::{
    load::Streamer,
    objects::LiveId,
    registry::{FoundObject, ObjectRegistries},
    soft::{SoftError, SoftPath, SoftTable},
};

/// A streamable from its request to its end.
pub(super) struct Active {
    pub shared: Weak<Shared>,
    /// The hashes of its paths.
    pub hashes: Box<[u64]>,
    /// Places of paths that are not known yet.
    unknown: Vec<u32>,
    /// Of the registries when these were looked up.
    generation: Option<u64>,
    items: Vec<Item>,
    errors: Vec<SoftError>,
    /// How long it was at work, pauses apart, and when that was counted.
    worked: Duration,
    counted: Option<Duration>,
}

/// One object to load.
struct Item {
    /// Which of the paths has led to it.
    path: u32,
    /// Of a level that is one of the paths.
    is_of_level: bool,
    object: Arc<str>,
    id: Option<LiveId>,
    bytes: u64,
    state: ItemState,
}

enum ItemState {
    /// To be asked for, `alone` if a load of several has failed.
    Wanted {
        alone: bool,
    },
    Loading(Place),
    /// Bevy loads its source.
    Source(UntypedHandle),
    There(UntypedHandle),
    Failed,
}

/// What a look at an active one needs.
pub(super) struct Around<'a> {
    pub registries: &'a ObjectRegistries,
    pub table: &'a SoftTable,
    pub settings: &'a StreamableSettings,
    pub server: &'a AssetServer,
}

impl Active {
    pub fn new(shared: &Arc<Shared>, most_paths: usize) -> Self {
        let found = shared.paths.len();
        let (count, errors) = match found > most_paths {
            true => (
                0,
                vec![too_many("paths of one streamable", found, most_paths, "max_paths")],
            ),
            false => (found, Vec::new()),
        };
        Self {
            shared: Arc::downgrade(shared),
            hashes: shared.paths.iter().map(SoftPath::hash).collect(),
            unknown: (0..count as u32).collect(),
            generation: None,
            items: Vec::with_capacity(count),
            errors,
            worked: Duration::ZERO,
            counted: None,
        }
    }

    /// Fails at once.
    pub fn refused(shared: &Arc<Shared>, error: SoftError) -> Self {
        Self {
            errors: vec![error],
            ..Self::new(shared, 0)
        }
    }

    /// Whether there is something to look up: paths that are not known, since registries have come.
    pub fn wants_look(&self, around: &Around) -> bool {
        let is_new = self.generation != Some(around.registries.generation()) || !around.registries.is_loading();
        is_new && !self.unknown.is_empty()
    }

    /// Looks up what its paths lead to, as far as that is not known.
    pub fn resolve(&mut self, shared: &Shared, around: &Around) {
        if !self.wants_look(around) {
            return;
        }
        self.generation = Some(around.registries.generation());
        let is_last = !around.registries.is_loading();
        for place in core::mem::take(&mut self.unknown) {
            let Some(path) = shared.paths.get(place as usize) else {
                continue;
            };
            match self.find(place, path, around) {
                Ok(()) => {}
                Err(SoftError::Unknown { .. }) if !is_last => self.unknown.push(place),
                Err(error) => self.errors.push(error),
            }
        }
    }

    fn find(&mut self, place: u32, path: &SoftPath, around: &Around) -> Result<(), SoftError> {
        if path.path().is_empty() {
            return Err(SoftError::Empty);
        }
        if let Some(found) = around.registries.resolve(path) {
            self.add_found(place, &found);
            return Ok(());
        }
        if SoftTable::is_object_path(path.path()) {
            let id = around.table.id_at(path.path());
            self.items.push(Item::new(place, path.shared().clone(), id, 0));
            return Ok(());
        }
        let other = around.registries.find(path.path(), None);
        match (other, path.of()) {
            (Some(other), Some(wanted)) => Err(SoftError::Type {
                path: path.path().to_owned(),
                wanted: wanted.path,
                found: other.object.type_path.to_string(),
            }),
            (_, Some(wanted)) if around.settings.sources => {
                let source = around
                    .server
                    .load_builder()
                    .load_erased(wanted.id, path.path().to_owned());
                let mut item = Item::new(place, path.shared().clone(), None, 0);
                item.state = ItemState::Source(source);
                self.items.push(item);
                Ok(())
            }
            _ => Err(SoftError::Unknown {
                path: path.path().to_owned(),
                registries: around.registries.len(),
            }),
        }
    }

    fn add_found(&mut self, place: u32, found: &FoundObject) {
        let Some(level) = &found.object.level else {
            let id = Some(found.live_id());
            let object = found.object_path().into();
            return self.items.push(Item::new(place, object, id, found.object.bytes));
        };
        // Nothing but its assets can be loaded ahead; its entities come with each instance.
        let each = found.object.bytes / level.assets.len().max(1) as u64;
        for asset in &level.assets {
            let id = asset
                .split_once('#')
                .map(|(package, name)| LiveId::new(found.registry.folder(), package, name));
            let object = format!("{}{asset}", found.registry.folder()).into();
            let mut item = Item::new(place, object, id, each);
            item.is_of_level = true;
            self.items.push(item);
        }
    }

    /// Asks for what is wanted; one request for each package.
    pub fn start(
        &mut self,
        shared: &Shared,
        table: &SoftTable,
        loads: &mut Loads,
        streamer: &mut Streamer,
        stats: &mut StreamableStats,
    ) {
        let mut by_package: BTreeMap<(&str, u32), Vec<usize>> = BTreeMap::new();
        let objects: Vec<Arc<str>> = self.items.iter().map(|item| item.object.clone()).collect();
        for (place, item) in self.items.iter_mut().enumerate() {
            let ItemState::Wanted { alone } = item.state else {
                continue;
            };
            let path = shared.paths.get(item.path as usize).filter(|_| !item.is_of_level);
            let live = item.id.and_then(|id| table.live(id));
            let is_it = |live: &UntypedHandle| path.is_none_or(|path| path.fits(live.type_id()));
            if let Some(live) = live.filter(is_it) {
                item.state = ItemState::There(live);
                stats.found_live += 1;
            } else if let Some(shared) = loads.find(&item.object).filter(|_| !alone) {
                item.state = ItemState::Loading(shared);
                stats.shared += 1;
            } else if let Some(object) = objects.get(place) {
                let package = object.split_once('#').map_or(&**object, |(package, _)| package);
                let group = if alone { place as u32 + 1 } else { 0 };
                by_package.entry((package, group)).or_default().push(place);
            }
        }
        for places in by_package.into_values() {
            let of_load = places.iter().filter_map(|place| objects.get(*place).cloned()).collect();
            let load = loads.start(of_load, shared.priority(), streamer, stats);
            for (of_load, place) in places.into_iter().enumerate() {
                if let Some(item) = self.items.get_mut(place) {
                    item.state = ItemState::Loading(load.place(of_load));
                }
            }
        }
    }

    /// What waits for its turn is given back, until it goes on.
    pub fn pause(&mut self) {
        for item in &mut self.items {
            if let ItemState::Loading(place) = &item.state
                && !place.load.has_started()
            {
                item.state = ItemState::Wanted { alone: false };
            }
        }
        self.counted = None;
    }

    /// Whether something is to be asked for.
    pub fn wants_more(&self) -> bool {
        let wanted = |item: &Item| matches!(item.state, ItemState::Wanted { .. });
        self.items.iter().any(wanted)
    }

    /// The loads that it waits for, some of them several times.
    pub fn loading(&self) -> impl Iterator<Item = &Place> {
        self.items.iter().filter_map(|item| match &item.state {
            ItemState::Loading(place) => Some(place),
            _ => None,
        })
    }

    /// Takes in what has come.
    pub fn settle(&mut self, shared: &Shared, around: &Around, now: Duration) {
        for item in &mut self.items {
            let error = match &item.state {
                ItemState::Loading(place) => match place.result() {
                    None => continue,
                    Some(Err(_)) if place.load.objects.len() > 1 => {
                        // One of them is at fault; the others are not to suffer.
                        item.state = ItemState::Wanted { alone: true };
                        continue;
                    }
                    Some(Ok(handle)) => item.take(handle, shared, around).err(),
                    Some(Err(error)) => Some(SoftError::Load {
                        path: shared
                            .paths
                            .get(item.path as usize)
                            .map_or("", SoftPath::path)
                            .to_owned(),
                        error,
                    }),
                },
                ItemState::Source(handle) => match source_end(handle, around.server) {
                    None => continue,
                    Some(Ok(())) => {
                        item.state = ItemState::There(handle.clone());
                        None
                    }
                    Some(Err(message)) => Some(SoftError::Source {
                        path: item.object.to_string(),
                        message,
                    }),
                },
                _ => continue,
            };
            if let Some(error) = error {
                item.state = ItemState::Failed;
                self.errors.push(error);
            }
        }
        if !shared.is_paused() {
            self.worked += self
                .counted
                .map_or(Duration::ZERO, |counted| now.saturating_sub(counted));
            self.counted = Some(now);
        }
    }

    /// How far it has come.
    pub fn progress(&self, shared: &Shared) -> StreamableProgress {
        let mut progress = StreamableProgress {
            total_objects: (self.items.len() + self.unknown.len()) as u32,
            ..StreamableProgress::default()
        };
        for item in &self.items {
            progress.total_bytes = progress.total_bytes.saturating_add(item.bytes);
            if item.is_over() {
                progress.bytes = progress.bytes.saturating_add(item.bytes);
                progress.objects += 1;
            }
        }
        let (done, all) = match progress.total_bytes {
            0 => (u64::from(progress.objects), u64::from(progress.total_objects)),
            bytes => (progress.bytes, bytes),
        };
        let left = all.saturating_sub(done) as f64 / done.max(1) as f64;
        // Whatever sizes a registry tells.
        let eta = Duration::try_from_secs_f64(self.worked.as_secs_f64() * left).unwrap_or(Duration::MAX);
        progress.eta = (done > 0).then_some(eta);
        for part in &shared.parts {
            progress.add(&part.progress());
        }
        progress
    }

    /// Where it is on its way.
    pub fn state(&self, shared: &Shared) -> StreamableState {
        let begun = |item: &Item| !matches!(item.state, ItemState::Wanted { .. });
        let has_begun =
            self.items.iter().any(begun) || shared.parts.iter().any(|part| part.state() != StreamableState::Waiting);
        match (shared.is_paused(), has_begun) {
            (true, _) => StreamableState::Paused,
            (false, true) => StreamableState::Loading,
            (false, false) => StreamableState::Waiting,
        }
    }

    /// Whether nothing is left to wait for.
    pub fn is_over(&self, shared: &Shared) -> bool {
        let has_all = self.unknown.is_empty() && self.items.iter().all(Item::is_over);
        shared.is_cancelled() || (has_all && shared.parts.iter().all(Streamable::is_finished))
    }

    /// How it has ended, and what it holds; it is [over](Self::is_over).
    pub fn end(&mut self, shared: &Shared) -> (StreamableEnd, Held) {
        if shared.is_cancelled() {
            return (StreamableEnd::Cancelled, Held::default());
        }
        let mut errors = core::mem::take(&mut self.errors);
        for end in shared.parts.iter().filter_map(Streamable::end) {
            errors.extend_from_slice(end.errors());
            if matches!(end, StreamableEnd::Cancelled) {
                errors.push(SoftError::Cancelled);
            }
        }
        let end = match errors.is_empty() {
            true => StreamableEnd::Loaded,
            false => StreamableEnd::Failed(errors.into()),
        };
        (end, self.held(shared.paths.len()))
    }

    fn held(&mut self, paths: usize) -> Held {
        let mut by_path = vec![None; paths];
        let mut more = Vec::new();
        for item in self.items.drain(..) {
            let ItemState::There(handle) = item.state else { continue };
            match by_path.get_mut(item.path as usize) {
                Some(of_path) if !item.is_of_level => *of_path = Some(handle),
                _ => more.push(handle),
            }
        }
        Held {
            by_path: by_path.into(),
            more,
        }
    }
}

impl Item {
    fn new(path: u32, object: Arc<str>, id: Option<LiveId>, bytes: u64) -> Self {
        Self {
            path,
            is_of_level: false,
            object,
            id,
            bytes,
            state: ItemState::Wanted { alone: false },
        }
    }

    fn is_over(&self) -> bool {
        matches!(self.state, ItemState::There(_) | ItemState::Failed)
    }

    /// The object has come, if it is what was wanted.
    fn take(&mut self, handle: UntypedHandle, shared: &Shared, around: &Around) -> Result<(), SoftError> {
        let path = shared.paths.get(self.path as usize);
        if let Some(path) = path.filter(|path| !self.is_of_level && !path.fits(handle.type_id())) {
            return Err(SoftError::Type {
                path: path.path().to_owned(),
                wanted: path.of().map_or("", |of| of.path),
                found: around.type_name(path, &handle),
            });
        }
        self.state = ItemState::There(handle);
        Ok(())
    }
}

impl Around<'_> {
    /// What an object is, for messages.
    fn type_name(&self, path: &SoftPath, handle: &UntypedHandle) -> String {
        let found = self.registries.find(path.path(), None);
        let name = found.map(|found| found.object.type_path.to_string());
        name.unwrap_or_else(|| format!("{:?}", handle.type_id()))
    }
}

/// What came of a source that Bevy loads.
fn source_end(handle: &UntypedHandle, server: &AssetServer) -> Option<Result<(), String>> {
    if server.is_loaded_with_dependencies(handle.id()) {
        return Some(Ok(()));
    }
    let failed = match server.get_load_states(handle.id())? {
        (LoadState::Failed(error), ..) => error.to_string(),
        (_, bevy_asset::DependencyLoadState::Failed(error), _) => error.to_string(),
        (_, _, bevy_asset::RecursiveDependencyLoadState::Failed(error)) => error.to_string(),
        _ => return None,
    };
    Some(Err(failed))
}

pub(super) fn too_many(what: &'static str, found: usize, most: usize, setting: &'static str) -> SoftError {
    SoftError::TooMany {
        what,
        found,
        most,
        setting,
    }
}

/// Whether the hub is to look at what user code has said, which is asked once.
pub(super) fn has_changed(shared: &Shared) -> bool {
    shared.is_changed.load(Ordering::Relaxed) && shared.is_changed.swap(false, Ordering::AcqRel)
}
