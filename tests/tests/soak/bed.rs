//! An app with the whole stack and little else, so that frames are cheap.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use bevy::{
    asset::{
        AssetMetaCheck,
        io::{
            AssetReader, AssetReaderError, AssetSourceBuilder, AssetSourceId, PathStream, Reader,
            memory::{Dir, MemoryAssetReader},
        },
    },
    ecs::schedule::{Schedules, SingleThreadedExecutor},
    mesh::MeshPlugin,
    pbr::PbrPlugin,
    prelude::*,
    render::sync_component::SyncComponentPlugin,
    time::TimeUpdateStrategy,
};
use bevy_seamless::{
    asset::{LiveObjectsResource, StreamingTime},
    prelude::*,
};
use seamless_tests::{
    atomicity::{Atomicity, AtomicityChecker},
    footprint::{entities, highest_index},
};

use crate::{MEMORY, content, content::Link};

/// A frame of the simulated time.
pub const FRAME: Duration = Duration::from_micros(16_667);
/// How long anything may take before it is stuck, by the clock on the wall.
const LIMIT: Duration = Duration::from_secs(120);
/// Every so many files that are opened, one cannot be.
const FAILS_EVERY: u64 = 211;

/// Files in memory, some of which cannot be opened now and then.
struct Flaky {
    inner: MemoryAssetReader,
    opened: Arc<AtomicU64>,
}

impl AssetReader for Flaky {
    async fn read<'a>(&'a self, path: &'a Path) -> Result<impl Reader + 'a, AssetReaderError> {
        let is_package = path.extension().is_some_and(|extension| extension == "pkg");
        let opened = if is_package {
            self.opened.fetch_add(1, Ordering::Relaxed)
        } else {
            0
        };
        if opened % FAILS_EVERY == FAILS_EVERY - 1 {
            return Err(AssetReaderError::Io(Arc::new(std::io::Error::other("now and then"))));
        }
        self.inner.read(path).await
    }

    async fn read_meta<'a>(&'a self, path: &'a Path) -> Result<impl Reader + 'a, AssetReaderError> {
        self.inner.read_meta(path).await
    }

    async fn read_directory<'a>(&'a self, path: &'a Path) -> Result<Box<PathStream>, AssetReaderError> {
        self.inner.read_directory(path).await
    }

    async fn is_directory<'a>(&'a self, path: &'a Path) -> Result<bool, AssetReaderError> {
        self.inner.is_directory(path).await
    }
}

/// What must be as before when all levels have left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Footprint {
    /// Entities of the main world.
    pub entities: usize,
    /// Entities that nobody sees.
    pub hidden: usize,
    pub meshes: usize,
    /// Entities of the other worlds, where lights have their twins.
    pub twins: usize,
    /// Objects that the pipeline knows as live.
    pub objects: bool,
    /// Instances in any state.
    pub instances: usize,
    pub packages: u64,
}

/// The app, and its world of levels.
pub struct Bed {
    pub app: App,
    pub world: Entity,
    pub levels: usize,
}

fn add_plugins(app: &mut App, dir: &Dir) {
    let (root, opened) = (dir.clone(), Arc::<AtomicU64>::default());
    let read = move || {
        let inner = MemoryAssetReader { root: root.clone() };
        let opened = opened.clone();
        Box::new(Flaky { inner, opened }) as Box<_>
    };
    app.register_asset_source(AssetSourceId::Default, AssetSourceBuilder::new(read))
        .add_plugins((
            TaskPoolPlugin::default(),
            bevy::time::TimePlugin,
            AssetPlugin {
                watch_for_changes_override: Some(false),
                use_asset_processor_override: Some(false),
                meta_check: AssetMetaCheck::Never,
                ..default()
            },
            TransformPlugin,
            MeshPlugin,
            bevy::diagnostic::DiagnosticsPlugin,
        ))
        .init_asset::<Image>()
        .init_asset::<StandardMaterial>()
        // As Bevy's renderer does, so that lights have twins.
        .add_plugins(SyncComponentPlugin::<PointLight, PbrPlugin>::default())
        .register_type::<Link>()
        .add_plugins(SeamlessPlugins.set(SeamlessAssetPlugin {
            sliced_levels: true,
            // Nothing else wants the cores.
            background: false,
            ..SeamlessAssetPlugin::default()
        }))
        // The fewer components are observed, the more comes in the first pass of a reveal.
        .add_plugins(AtomicityChecker { only: vec!["Link"] })
        .insert_resource(TimeUpdateStrategy::ManualDuration(FRAME))
        .insert_resource(StreamingTime::stopped());
    let mut settings = app.world_mut().resource_mut::<StreamingSettings>();
    // Large levels come in slices, and others wait for their turn.
    settings.budget = Duration::from_micros(500);
}

impl Bed {
    /// With so many levels, each with a volume or none.
    pub fn new(levels: usize, with_volumes: bool) -> Self {
        let dir = Dir::default();
        let mut app = App::new();
        add_plugins(&mut app, &dir);
        app.finish();
        app.cleanup();
        // Systems are short: to wake threads for them would take most of a frame.
        for (_, schedule) in app.world_mut().resource_mut::<Schedules>().iter_mut() {
            schedule.set_executor(SingleThreadedExecutor::new());
        }
        content::write_world(&app, &dir, levels, with_volumes);
        let handle = app.world().resource::<AssetServer>().load(content::MANIFEST);
        let world = app.world_mut().spawn(SeamlessWorld(handle)).id();
        let mut bed = Self { app, world, levels };
        bed.until("the manifest comes", |ecs| ecs.get::<LevelTable>(world).is_some());
        // What asks by name is an entity, too.
        bed.levels(|mut levels| levels.release(&content::name_of(0)).expect("the level is there"));
        bed.update();
        bed
    }

    /// One frame.
    pub fn update(&mut self) {
        self.app.world_mut().resource_mut::<StreamingTime>().advance(FRAME);
        self.app.update();
    }

    /// Frames until it holds.
    pub fn until(&mut self, what: &str, mut done: impl FnMut(&mut World) -> bool) {
        let start = Instant::now();
        while !done(self.app.world_mut()) {
            assert!(start.elapsed() < LIMIT, "{what}: {:?}", self.footprint());
            self.update();
            thread::sleep(Duration::from_micros(200));
        }
    }

    /// Speaks to [`Levels`].
    pub fn levels<T: 'static>(&mut self, act: impl FnOnce(Levels) -> T) -> T {
        let world = self.app.world_mut();
        let mut state = bevy::ecs::system::SystemState::<Levels>::new(world);
        act(state.get_mut(world).expect("the resources are there"))
    }

    pub fn stats(&self) -> &StreamingStats {
        self.app.world().resource()
    }

    pub fn assert_whole(&self) {
        self.app.world().resource::<Atomicity>().assert_whole();
    }

    pub fn footprint(&mut self) -> Footprint {
        let twins = self.app.sub_apps().sub_apps.values().map(|app| entities(app.world()));
        let twins = twins.sum();
        let ecs = self.app.world_mut();
        let hidden = ecs.query_filtered::<(), With<InHiddenLevel>>().iter(ecs).count();
        Footprint {
            entities: entities(ecs),
            hidden,
            meshes: ecs.resource::<Assets<Mesh>>().len(),
            twins,
            objects: !ecs.resource::<LiveObjectsResource>().0.is_empty(),
            instances: ecs.resource::<Streamer>().len(),
            packages: ecs.resource::<StreamingStats>().live_packages,
        }
    }

    /// The highest index of an entity when no free one is left over.
    pub fn highest_index(&mut self) -> usize {
        highest_index(self.app.world_mut())
    }

    /// Bytes that are allocated when nothing happens: tasks have dropped what they were given to drop.
    pub fn memory(&mut self) -> usize {
        let mut least = usize::MAX;
        let mut since = Instant::now();
        while since.elapsed() < Duration::from_millis(300) {
            self.update();
            thread::sleep(Duration::from_millis(1));
            let now = MEMORY.allocated();
            if now < least {
                least = now;
                since = Instant::now();
            }
        }
        least
    }
}
