//! An app with the whole stack and little else, so that frames are cheap.

use std::{
    thread,
    time::{Duration, Instant},
};

use bevy::{
    asset::{
        AssetMetaCheck,
        io::{AssetSourceBuilder, AssetSourceId, memory::Dir},
    },
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
    app::on_one_thread,
    atomicity::{Atomicity, AtomicityChecker},
    footprint::{assets, entities, spare_rows, taken_ids},
};

use crate::{
    MEMORY, content,
    content::Link,
    faults::{Faults, Flaky},
};

/// A frame of the simulated time.
pub const FRAME: Duration = Duration::from_micros(16_667);
/// How long anything may take before it is stuck, by the clock on the wall.
const LIMIT: Duration = Duration::from_secs(120);

/// What must be as before when all levels have left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Footprint {
    /// Entities of the main world.
    pub entities: usize,
    /// Entities that nobody sees.
    pub hidden: usize,
    /// Assets of all types that the packages have, and whose handles the pipeline gives out.
    pub assets: [usize; 4],
    /// Entities of the other worlds, where lights have their twins.
    pub twins: usize,
    /// Objects that the pipeline knows as live.
    pub objects: bool,
    /// Instances in any state.
    pub instances: usize,
    pub packages: u64,
    /// Tasks that read or decode; one that hangs in a stalled read, too.
    pub tasks: u64,
    /// Requests for anything but levels.
    pub requests: u64,
    /// Reads that wait for a file.
    pub stalled: usize,
}

/// The app, and its world of levels.
pub struct Bed {
    pub app: App,
    pub world: Entity,
    pub levels: usize,
    pub faults: Faults,
}

fn add_plugins(app: &mut App, dir: &Dir, faults: &Faults) {
    let (root, faults) = (dir.clone(), faults.clone());
    let read = move || Box::new(Flaky::new(&root, &faults)) as Box<_>;
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
    // A file that never comes keeps others waiting for a while.
    settings.read_timeout = Duration::from_secs(1);
}

impl Bed {
    /// With so many levels, each with a volume or none.
    pub fn new(levels: usize, with_volumes: bool) -> Self {
        let dir = Dir::default();
        let mut app = App::new();
        let faults = Faults::default();
        add_plugins(&mut app, &dir, &faults);
        app.finish();
        app.cleanup();
        // Systems are short: to wake threads for them would take most of a frame.
        on_one_thread(app.world_mut());
        content::write_world(&app, &dir, levels, with_volumes);
        let handle = app.world().resource::<AssetServer>().load(content::MANIFEST);
        let world = app.world_mut().spawn(SeamlessWorld(handle)).id();
        let mut bed = Self {
            app,
            world,
            levels,
            faults,
        };
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

    /// What streaming may take of a frame from now on; what it might take before.
    pub fn set_budget(&mut self, budget: Duration) -> Duration {
        let mut settings = self.app.world_mut().resource_mut::<StreamingSettings>();
        core::mem::replace(&mut settings.budget, budget)
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
            assets: assets(ecs),
            twins,
            objects: !ecs.resource::<LiveObjectsResource>().0.is_empty(),
            instances: ecs.resource::<Streamer>().len(),
            packages: ecs.resource::<StreamingStats>().live_packages,
            tasks: ecs.resource::<StreamingStats>().tasks,
            requests: ecs.resource::<StreamingStats>().pending_requests,
            stalled: self.faults.stalled(),
        }
    }

    /// How many ids nobody else can have.
    pub fn taken_ids(&mut self) -> usize {
        taken_ids(self.app.world_mut())
    }

    /// Bytes that are allocated when nothing happens, rows of tables that nobody has apart: tasks have dropped what they were given to drop.
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
        let others = self.app.sub_apps().sub_apps.values().map(|app| spare_rows(app.world()));
        least - others.sum::<usize>() - spare_rows(self.app.world())
    }
}
