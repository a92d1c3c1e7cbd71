//! Loads sources through Bevy's `AssetServer`, a few ahead, and never waits for ever. See [`Loader`].

use core::time::Duration;
use std::collections::BTreeMap;
use std::time::Instant;

use bevy::asset::{AssetPath, LoadState, RecursiveDependencyLoadState, UntypedAssetLoadFailedEvent, UntypedHandle};
use bevy::ecs::message::MessageCursor;
use bevy::gltf::Gltf;
use bevy::prelude::*;
use bevy::world_serialization::WorldAsset;
use seamless_asset::codec::Codecs;

use crate::app::CookOptions;
use crate::audio::with_mend;
use crate::graph::recorder::{slashed, text};
use crate::plan::{PlannedLevel, SourceKind};
use crate::report::ContentError;

/// How long the other loads of a level may go on after one of them failed, while nothing changes.
const SETTLE: Duration = Duration::from_millis(250);
/// Pause between updates in which nothing happened: the loaders need the processor.
const PAUSE: Duration = Duration::from_millis(1);

/// How a load ended.
pub(crate) enum LoadOutcome {
    /// All is there.
    Ready(UntypedHandle),
    /// The source itself is there, but something that it refers to failed.
    Broken(UntypedHandle),
    /// The source itself is there, but something that it refers to makes no progress.
    Stalled(UntypedHandle, ContentError),
    /// The source itself is not there.
    Stopped(ContentError),
}

impl LoadOutcome {
    /// Whether all is there.
    pub(crate) fn is_ready(&self) -> bool {
        matches!(self, Self::Ready(_))
    }

    /// Encodes what is there; what is not is an error.
    pub(crate) fn encode(
        self,
        errors: &mut Vec<ContentError>,
        encode: impl FnOnce(&UntypedHandle, &mut Vec<ContentError>),
    ) {
        match self {
            Self::Stopped(error) => errors.push(error),
            // The walk finds which objects need what is missing; what none of them needs is not missed.
            Self::Ready(root) | Self::Broken(root) => encode(&root, errors),
            Self::Stalled(root, error) => {
                errors.push(error);
                encode(&root, errors);
            }
        }
    }
}

/// What a [`Loader`] loads.
pub(crate) trait Loadable {
    /// Asks Bevy's `AssetServer` for it.
    fn load(&self, world: &World) -> UntypedHandle;

    /// Its file.
    fn file(&self) -> String;

    /// An error about it.
    fn error(&self, message: String) -> ContentError;
}

impl Loadable for PlannedLevel {
    fn load(&self, world: &World) -> UntypedHandle {
        let server = world.resource::<AssetServer>();
        let path = AssetPath::from_path(&self.asset_path);
        match self.kind {
            SourceKind::Asset => load_asset(self, world),
            SourceKind::Gltf(_) => server.load::<Gltf>(path).untyped(),
            SourceKind::DynamicWorld => server.load::<DynamicWorld>(path).untyped(),
        }
    }

    fn file(&self) -> String {
        text(&self.asset_path)
    }

    fn error(&self, message: String) -> ContentError {
        let Some(asked) = &self.asked else {
            return ContentError::new(self.source.as_str(), format!("level `{}`", self.name), message);
        };
        ContentError::at(&self.source, format!("{message} ({})", asked.reason(&self.source)))
    }
}

/// An asset as the type that is expected, where that is known.
fn load_asset(asset: &PlannedLevel, world: &World) -> UntypedHandle {
    let loads = world.resource::<AssetServer>().load_builder();
    let type_path = asset.asked.as_ref().and_then(|asked| asked.type_path.as_deref());
    let codecs = world.resource::<Codecs>().read();
    match type_path.and_then(|type_path| codecs.asset_by_path(type_path)) {
        Some(codec) => loads.load_erased(codec.type_id, asset.source.clone()),
        None => loads.load_untyped(asset.source.clone()).untyped(),
    }
}

struct Active {
    handle: UntypedHandle,
    state: (u8, u8),
    changed: Instant,
}

/// The loads of all sources, of which a window is under way.
pub(crate) struct Loader<'a, L> {
    sources: &'a [L],
    active: Vec<Option<Active>>,
    timeout: Duration,
    ahead: usize,
    /// A number that changes whenever any asset arrives, and when it did.
    mark: (usize, Instant),
    /// Files of which Bevy could not load something, and why. Where a part of a file was asked for before the file was, Bevy tells that of
    /// the part alone, and leaves the file loading for ever.
    failed: BTreeMap<String, String>,
    failures: MessageCursor<UntypedAssetLoadFailedEvent>,
}

impl<'a, L: Loadable> Loader<'a, L> {
    pub(crate) fn new(sources: &'a [L], options: &CookOptions) -> Self {
        Self {
            sources,
            active: Vec::new(),
            timeout: options.load_timeout,
            ahead: options.levels_ahead.max(1),
            mark: (0, Instant::now()),
            failed: BTreeMap::new(),
            failures: MessageCursor::default(),
        }
    }

    /// Updates the app until the source `index` is loaded, failed, or made no progress for too long.
    pub(crate) fn wait_for(&mut self, app: &mut App, index: usize) -> LoadOutcome {
        self.start_until(app, index + self.ahead);
        loop {
            self.observe(app.world());
            if let Some(outcome) = self.outcome(app.world(), index) {
                return outcome;
            }
            app.update();
            if !self.observe(app.world()) {
                std::thread::sleep(PAUSE);
            }
        }
    }

    /// Lets the source's assets go; those that no other holds are freed.
    pub(crate) fn release(&mut self, index: usize) {
        if let Some(active) = self.active.get_mut(index) {
            *active = None;
        }
    }

    fn start_until(&mut self, app: &App, end: usize) {
        while let Some(source) = self.sources.get(self.active.len()).filter(|_| self.active.len() < end) {
            self.active.push(Some(Active {
                handle: source.load(app.world()),
                state: (0, 0),
                changed: Instant::now(),
            }));
        }
    }

    /// Notes what changed; `false` when nothing did.
    fn observe(&mut self, world: &World) -> bool {
        let now = Instant::now();
        let mark = arrived(world);
        let mut changed = mark != self.mark.0;
        if changed {
            self.mark = (mark, now);
        }
        if let Some(failures) = world.get_resource::<Messages<UntypedAssetLoadFailedEvent>>() {
            for failure in self.failures.read(failures) {
                let file = slashed(failure.path.without_label());
                self.failed.insert(file, without_trace(&failure.error));
            }
        }
        let server = world.resource::<AssetServer>();
        for active in self.active.iter_mut().flatten() {
            let state = state_numbers(server, &active.handle);
            if state != active.state {
                active.state = state;
                active.changed = now;
                changed = true;
            }
        }
        changed
    }

    fn outcome(&self, world: &World, index: usize) -> Option<LoadOutcome> {
        let (active, source) = (self.active.get(index)?.as_ref()?, self.sources.get(index)?);
        let server = world.resource::<AssetServer>();
        let quiet = active.changed.max(self.mark.1).elapsed();
        let loaded = match server.load_state(active.handle.id()) {
            LoadState::Failed(cause) => return Some(stopped(source, &without_trace(&cause))),
            state => state.is_loaded(),
        };
        if let Some(cause) = self
            .failed
            .get(&source.file())
            .filter(|_| !loaded && quiet >= SETTLE.min(self.timeout))
        {
            return Some(stopped(source, cause));
        }
        if loaded {
            match server.recursive_dependency_load_state(active.handle.id()) {
                RecursiveDependencyLoadState::Loaded => return Some(LoadOutcome::Ready(active.handle.clone())),
                RecursiveDependencyLoadState::Failed(_) if quiet >= SETTLE.min(self.timeout) => {
                    return Some(LoadOutcome::Broken(active.handle.clone()));
                }
                _ => {}
            }
        }
        if quiet < self.timeout {
            return None;
        }
        let error = source.error(format!(
            "made no progress for {:.1} s while {} loaded; check the file, and that the cooker has a loader for \
             everything in it (`--load-timeout` waits longer)",
            self.timeout.as_secs_f32(),
            if loaded { "what it refers to" } else { "it" },
        ));
        Some(if loaded {
            LoadOutcome::Stalled(active.handle.clone(), error)
        } else {
            LoadOutcome::Stopped(error)
        })
    }
}

fn stopped(source: &impl Loadable, cause: &str) -> LoadOutcome {
    let message = format!(
        "failed to load: {cause}; correct the file, or add the plugin that loads or registers it to the cooker (`CookApp::with`, see `examples/cook_own_types.rs`)"
    );
    LoadOutcome::Stopped(source.error(with_mend(&source.file(), message)))
}

/// What an error says, without the trace that Bevy adds where it is asked for traces: that one differs from run to run.
pub(crate) fn without_trace(error: &dyn core::fmt::Display) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

fn state_numbers(server: &AssetServer, handle: &UntypedHandle) -> (u8, u8) {
    let own = match server.load_state(handle.id()) {
        LoadState::NotLoaded => 0,
        LoadState::Loading => 1,
        LoadState::Loaded => 2,
        LoadState::Failed(_) => 3,
    };
    let recursive = match server.recursive_dependency_load_state(handle.id()) {
        RecursiveDependencyLoadState::NotLoaded => 0,
        RecursiveDependencyLoadState::Loading => 1,
        RecursiveDependencyLoadState::Loaded => 2,
        RecursiveDependencyLoadState::Failed(_) => 3,
    };
    (own, recursive)
}

/// How many assets there are of the types that scenes are made of.
fn arrived(world: &World) -> usize {
    fn count<A: Asset>(world: &World) -> usize {
        world.get_resource::<Assets<A>>().map_or(0, Assets::len)
    }
    count::<Image>(world)
        + count::<Mesh>(world)
        + count::<StandardMaterial>(world)
        + count::<WorldAsset>(world)
        + count::<DynamicWorld>(world)
        + count::<Gltf>(world)
}
