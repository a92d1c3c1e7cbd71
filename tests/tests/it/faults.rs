//! Every read of a world fails, is cut short, hangs or is cancelled: the levels that need it fail and could be tried again, the
//! others come, and nothing is left behind. A world whose manifest is concerned comes later.

mod retries;
mod sliced;

use std::{
    collections::BTreeMap,
    fs,
    io::ErrorKind,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use bevy::{
    asset::io::{AssetSourceBuilder, AssetSourceId, memory::Dir},
    prelude::*,
};
use bevy_seamless::{
    asset::{LiveObjectsResource, SeamlessAssetPlugin, StreamingTime},
    prelude::*,
};
use seamless_asset::doubles::{Fate, GatedReader, ReadGate};
use seamless_tests::{
    app::headless_after,
    cooked::{Ask, Cooked, MANIFEST, STREAM_LIMIT, ask, level_of, spawn_world, state},
    fixtures::register_types,
};

use super::bad_input::{
    leaks::{assert_ids_are_back, assets, entities, taken_ids},
    write_shared_sources,
};

/// The first two share a package, the third shares nothing.
const LEVELS: [&str; 3] = ["west", "east", "far"];

/// What happens to one read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    Error,
    Short,
    Stall,
    Cancel,
}

impl Fault {
    /// A read that is to be cancelled waits for that, as one that stalls.
    fn fate(self) -> Fate {
        match self {
            Self::Error => Fate::Fail(ErrorKind::BrokenPipe),
            Self::Short => Fate::Short(3),
            Self::Stall | Self::Cancel => Fate::Stall,
        }
    }

    /// The tables of a shared package may come from another load of it meanwhile, and are not missed then.
    fn may_fail_nobody(self, concerned: &[&str]) -> bool {
        self == Self::Cancel || self == Self::Short && concerned.len() > 1
    }
}

/// What an app has of levels, and of all that came with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Held {
    instances: usize,
    packages: u64,
    objects: usize,
    entities: usize,
    assets: [usize; 4],
}

impl Held {
    fn by(world: &World) -> Self {
        Self {
            instances: world.resource::<Streamer>().len(),
            packages: world.resource::<StreamingStats>().live_packages,
            objects: world.resource::<LiveObjectsResource>().0.len(),
            entities: entities(world),
            assets: assets(world),
        }
    }
}

/// A world behind a gate, and what is there between two cases.
struct Stage {
    app: App,
    world: Entity,
    gate: ReadGate,
    held: Held,
    /// What came through the gate, and was no package.
    other_bytes: u64,
}

fn cook() -> Cooked {
    let level = |name: &str, source: &str| format!("(name: \"{name}\", source: \"{source}\")");
    let levels = [
        level(LEVELS[0], "everything.gltf"),
        level(LEVELS[1], "everything.gltf"),
        level(LEVELS[2], "animated.gltf"),
    ];
    let world = format!("(levels: [{}])", levels.join(", "));
    Cooked::new(write_shared_sources, &world, register_types)
}

/// The files of a directory, in memory.
fn in_memory(directory: &Path) -> Dir {
    let dir = Dir::default();
    let entries = fs::read_dir(directory).expect("the directory is there");
    for path in entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.is_file())
    {
        let name = path.file_name().expect("it is a file");
        dir.insert_asset(Path::new(name), fs::read(&path).expect("it is read"));
    }
    dir
}

pub(super) fn gated_app(cooked: &Cooked, gate: &ReadGate) -> App {
    gated_app_with(cooked, gate, SeamlessAssetPlugin::default())
}

fn gated_app_with(cooked: &Cooked, gate: &ReadGate, plugin: SeamlessAssetPlugin) -> App {
    let (dir, gate) = (in_memory(&cooked.out()), gate.clone());
    let read = move || Box::new(GatedReader::of(&dir, &gate)) as Box<_>;
    let source = |app: &mut App| {
        app.register_asset_source(AssetSourceId::Default, AssetSourceBuilder::new(read));
    };
    headless_after(source, &cooked.out(), |app| {
        // Nothing else wants the cores.
        app.add_plugins(SeamlessPlugins.build().set(SeamlessAssetPlugin {
            background: false,
            ..plugin
        }));
        app.insert_resource(StreamingTime::stopped());
        app.world_mut().resource_mut::<StreamingSettings>().budget = Duration::from_millis(50);
        // A level that failed would come after all while the others are slow to.
        app.world_mut().resource_mut::<LevelSettings>().retry = RetryPolicy::OFF;
        register_types(app);
    })
}

/// The levels that need a package, and the others.
fn users_of(package: &str) -> (Vec<&'static str>, Vec<&'static str>) {
    let own = package.strip_suffix(".pkg").unwrap_or_default();
    let is_shared = !LEVELS.contains(&own);
    let needs = |level: &&str| *level == own || is_shared && *level != LEVELS[2];
    LEVELS.into_iter().partition(needs)
}

impl Stage {
    fn new(cooked: &Cooked) -> Self {
        Self::with(cooked, SeamlessAssetPlugin::default())
    }

    fn with(cooked: &Cooked, plugin: SeamlessAssetPlugin) -> Self {
        let gate = ReadGate::default();
        gate.otherwise(Some(Fate::Pass));
        let mut app = gated_app_with(cooked, &gate, plugin);
        let world = spawn_world(&mut app, MANIFEST);
        let held = Held::by(app.world());
        let mut stage = Self {
            app,
            world,
            gate,
            held,
            other_bytes: 0,
        };
        stage.until("the manifest comes, and what is read with it", |stage| {
            let registries = stage.app.world().resource::<ObjectRegistries>();
            let is_there = stage.app.world().get::<LevelTable>(world).is_some();
            is_there && !registries.is_empty() && !registries.is_loading()
        });
        // What asks is an entity, too.
        ask(&mut stage.app, LEVELS[0], Ask::Release);
        stage.settle();
        let Held {
            instances,
            packages,
            objects,
            ..
        } = stage.held;
        assert_eq!((instances, packages, objects), (0, 0, 0), "no level has come");
        stage.other_bytes = stage.gate.bytes() - stage.stats().bytes_read;
        stage
    }

    /// What is there as soon as nothing changes any more is what is to be there between two cases from now on.
    fn settle(&mut self) {
        let start = Instant::now();
        let mut calm = 0;
        while calm < 5 {
            assert!(start.elapsed() < STREAM_LIMIT, "{:?}", self.held);
            self.app.update();
            thread::sleep(Duration::from_millis(1));
            let held = Held::by(self.app.world());
            let is_calm = held == self.held && self.stats().tasks == 0;
            calm = if is_calm { calm + 1 } else { 0 };
            self.held = held;
        }
    }

    fn stats(&self) -> &StreamingStats {
        self.app.world().resource()
    }

    fn state(&self, level: &str) -> LevelState {
        state(self.app.world(), self.world, level)
    }

    /// Updates until it holds. Time goes on only while a read hangs.
    fn until(&mut self, what: &str, done: impl Fn(&Self) -> bool) {
        let start = Instant::now();
        while !done(self) {
            let held = (Held::by(self.app.world()), self.held);
            assert!(start.elapsed() < STREAM_LIMIT, "{what}: {held:?}, {:?}", self.stats());
            if !self.gate.stalled().is_empty() {
                let mut time = self.app.world_mut().resource_mut::<StreamingTime>();
                time.advance(Duration::from_secs(1));
                // Others that are read get on meanwhile, however busy the machine is.
                thread::sleep(Duration::from_millis(2));
            }
            self.app.update();
            thread::sleep(Duration::from_micros(200));
        }
    }

    /// How often each package was read so far.
    fn reads(&self) -> BTreeMap<String, usize> {
        let mut reads = BTreeMap::new();
        for read in self.gate.begun() {
            *reads.entry(read.path).or_default() += 1;
        }
        reads
    }

    fn load_all(&mut self) {
        LEVELS.iter().for_each(|level| ask(&mut self.app, level, Ask::Load));
    }

    /// How often each package is read for all levels when nothing is wrong.
    fn reads_of_all(&mut self) -> BTreeMap<String, usize> {
        let before = self.reads();
        self.load_all();
        self.until("all come", |stage| stage.are_live(&LEVELS));
        let mut reads = self.reads();
        reads.retain(|path, count| {
            *count -= before.get(path).copied().unwrap_or_default();
            *count > 0
        });
        self.clear(&LEVELS, "without a fault");
        assert!(reads.len() > LEVELS.len(), "there is a shared package: {reads:?}");
        assert!(reads.values().all(|count| *count >= 4), "{reads:?}");
        reads
    }

    /// Lets go of levels, and looks for what is left of them.
    fn clear(&mut self, levels: &[&str], case: &str) {
        levels.iter().for_each(|level| ask(&mut self.app, level, Ask::Unload));
        self.until(case, |stage| {
            let stats = stage.stats();
            // A task that was cancelled before it began may still begin, and its read would be taken for one of the next case.
            let is_idle = stats.tasks == 0 && stats.pending_requests == 0;
            let hangs = !(stage.gate.pending().is_empty() && stage.gate.stalled().is_empty());
            let is_counted = stats.bytes_read + stage.other_bytes == stage.gate.bytes();
            is_idle && is_counted && !hangs && Held::by(stage.app.world()) == stage.held
        });
        let stats = self.stats();
        assert_eq!(stats.wasted_by_stage.total(), stats.bytes_wasted, "{case}");
        self.gate.clear_script();
    }

    /// The next read but `index` of a package fares like this. Gives its number.
    fn script(&self, package: &str, index: usize, fault: Fault) -> usize {
        let hit = self.reads().get(package).copied().unwrap_or_default() + index;
        self.gate.script(package, hit, fault.fate());
        hit
    }

    /// Whether it came to this read.
    fn was_hit(&self, package: &str, hit: usize) -> bool {
        self.reads().get(package).is_some_and(|count| *count > hit)
    }

    fn are_live(&self, levels: &[&str]) -> bool {
        levels.iter().all(|level| self.state(level) == LevelState::Visible)
    }

    /// Loads all levels with a fault in one read of a package. Whether it came to that read.
    fn suffer(&mut self, package: &str, index: usize, fault: Fault) -> bool {
        let case = format!("{fault:?} in read {index} of {package}");
        let hit = self.script(package, index, fault);
        let (concerned, others) = users_of(package);
        self.load_all();
        if fault == Fault::Cancel {
            self.cancel(&concerned, &case);
        }
        self.until(&case, |stage| {
            let is_over = |level: &&str| match stage.state(level) {
                LevelState::Visible | LevelState::Failed => true,
                state => fault == Fault::Cancel && state == LevelState::Unloaded,
            };
            concerned.iter().all(is_over) && stage.are_live(&others)
        });
        let was_hit = self.was_hit(package, hit);
        let failed = concerned.iter().filter(|level| self.has_failed(level, &case)).count();
        assert!(
            failed > 0 || !was_hit || fault.may_fail_nobody(&concerned),
            "{case} fails nobody"
        );
        assert!(failed == 0 || was_hit, "{case} was not, and {failed} levels failed");
        self.clear(&LEVELS, &case);
        was_hit
    }

    /// Every read has each of these faults.
    fn suffer_all(&mut self, reads: &BTreeMap<String, usize>, faults: &[Fault]) {
        let mut hits = 0;
        for (package, count) in reads {
            for index in 0..*count {
                let hit = faults.iter().filter(|fault| self.suffer(package, index, **fault));
                hits += hit.count();
            }
        }
        // One task at least reads all that a level has in a package: it opens it; then come summary, tables and data.
        assert!(hits >= reads.len() * 4 * faults.len(), "only {hits} faults");
    }

    /// Loads the manifest anew with a fault in one of its reads. Whether it came to that read.
    fn suffer_in_manifest(&mut self, index: usize, fault: Fault) -> bool {
        let case = format!("{fault:?} in read {index} of the manifest");
        let hit = self.reads().get(MANIFEST).copied().unwrap_or_default() + index;
        self.gate.script(MANIFEST, hit, fault.fate());
        self.world = spawn_world(&mut self.app, MANIFEST);
        if fault == Fault::Stall {
            self.until(&case, |stage| stage.has_failed_as_world() || stage.has_table());
            // It is told, and comes when the read ends after all.
            self.gate.script(MANIFEST, hit, Fate::Pass);
        }
        let is_cancelled = |stage: &Self| fault == Fault::Cancel && !stage.gate.stalled().is_empty();
        self.until(&case, |stage| stage.has_table() || is_cancelled(stage));
        assert!(!self.has_failed_as_world(), "{case}");
        let reads = self.reads().get(MANIFEST).copied().unwrap_or_default();
        if fault == Fault::Error && reads > hit {
            assert!(reads > hit + 1, "{case}: it is read again");
        }
        self.app.world_mut().despawn(self.world);
        self.app.update();
        // Bevy opens a file to the end, also for those who have let go of it.
        self.gate.script(MANIFEST, hit, Fate::Pass);
        self.until_no_manifest(&case);
        self.gate.clear_script();
        reads > hit
    }

    fn has_table(&self) -> bool {
        self.app.world().get::<LevelTable>(self.world).is_some()
    }

    fn has_failed_as_world(&self) -> bool {
        self.app.world().get::<WorldFailure>(self.world).is_some()
    }

    /// Nothing is left of a world that was despawned.
    fn until_no_manifest(&mut self, case: &str) {
        self.until(case, |stage| {
            let hangs = !(stage.gate.pending().is_empty() && stage.gate.stalled().is_empty());
            stage.app.world().resource::<Assets<WorldManifest>>().is_empty() && !hangs
        });
    }

    /// Lets go of these levels as soon as the read is under way that is to be cancelled, if it comes to that.
    fn cancel(&mut self, levels: &[&str], case: &str) {
        self.until(case, |stage| {
            !stage.gate.stalled().is_empty() || stage.are_live(&LEVELS)
        });
        if !self.gate.stalled().is_empty() {
            levels.iter().for_each(|level| ask(&mut self.app, level, Ask::Unload));
        }
    }

    /// Whether the level has failed, with an error that may be gone when it is tried again.
    fn has_failed(&self, level: &str, case: &str) -> bool {
        if self.state(level) != LevelState::Failed {
            return false;
        }
        let level = level_of(self.app.world(), self.world, level);
        let error = level.error().expect("a failed level has an error");
        assert!(error.kind.is_transient(), "{case}: {error}");
        assert!(error.package.contains(level.name()), "{case}: {error}");
        true
    }
}

/// Every read, and all that can become of it.
#[test]
fn any_fault_in_any_read() {
    let cooked = cook();
    let mut stage = Stage::new(&cooked);
    let peak = taken_ids(stage.app.world_mut());
    let reads = stage.reads_of_all();
    stage.suffer_all(&reads, &[Fault::Error, Fault::Short, Fault::Stall, Fault::Cancel]);
    let largest = cooked.report.levels.iter().map(|level| level.entities as usize).max();
    assert_ids_are_back(&mut stage.app, peak, LEVELS.len() * (largest.unwrap_or_default() + 1));
    // And all still works.
    stage.load_all();
    stage.until("all come in the end", |stage| stage.are_live(&LEVELS));
}

/// The world comes all the same, once its manifest can be read; one that is let go of meanwhile leaves nothing.
#[test]
fn any_fault_in_any_read_of_the_manifest() {
    let cooked = cook();
    let mut stage = Stage::new(&cooked);
    // What waits to be read again waits for time to go by.
    stage.app.insert_resource(StreamingTime::default());
    stage.app.world_mut().resource_mut::<LevelSettings>().retry = RetryPolicy {
        first: Duration::from_millis(5),
        ..RetryPolicy::default()
    };
    let count = stage.reads()[MANIFEST];
    assert!(count > 2, "it is opened and read: {count}");
    stage.app.world_mut().despawn(stage.world);
    stage.until_no_manifest("without a fault");
    let before = entities(stage.app.world());
    let mut hits = 0;
    for index in 0..count {
        for fault in [Fault::Error, Fault::Short, Fault::Stall, Fault::Cancel] {
            hits += usize::from(stage.suffer_in_manifest(index, fault));
            assert_eq!(entities(stage.app.world()), before, "{fault:?} in read {index}");
        }
    }
    // A load that nobody waits for any more may still read on, and meet a fault in place of the next one.
    assert!(hits > count * 3, "only {hits} faults in {count} reads");
    stage.world = spawn_world(&mut stage.app, MANIFEST);
    stage.until("the world comes in the end", Stage::has_table);
    stage.load_all();
    stage.until("all its levels come", |stage| stage.are_live(&LEVELS));
}
