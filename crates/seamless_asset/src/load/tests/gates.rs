//! Reveals wait for gates, but not for ever.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
};

use super::{gated::gated_app, targets::set_target, *};
use crate::{LevelScans, StreamingTime, doubles::Fate};

#[test]
fn a_gate_that_stays_closed_is_passed_at_its_deadline_and_counted() {
    const DEADLINE: u64 = 25;
    let dir = Dir::default();
    let mut app = app_with_time(&dir);
    app.insert_resource(StreamingTime::stopped());
    app.world_mut().resource_mut::<RevealGates>().0.push(Box::new(Closed));
    app.world_mut().resource_mut::<StreamingSettings>().gate_deadline_frames = DEADLINE as u32;
    put(&dir, "a.pkg", chain(&app, "a.pkg", 3, None));
    let id = load(&mut app, "a.pkg", &[]);
    run_until(&mut app, |world| !world.resource::<Assets<Mesh>>().is_empty());
    let inserted = app.world().resource::<StreamingStats>().frame;
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Live));
    let stats = app.world().resource::<StreamingStats>();
    assert_eq!((stats.gate_deadlines, stats.frame - inserted), (1, DEADLINE));
}

/// These frames are short: nothing gets ready faster for that.
#[test]
fn a_deadline_is_as_long_as_its_frames_take_at_60_hz() {
    let dir = Dir::default();
    let mut app = app_with_time(&dir);
    app.world_mut().resource_mut::<RevealGates>().0.push(Box::new(Closed));
    app.world_mut().resource_mut::<StreamingSettings>().gate_deadline_frames = 60;
    put(&dir, "a.pkg", chain(&app, "a.pkg", 3, None));
    let id = load(&mut app, "a.pkg", &[]);
    // When the frame began in which they were inserted: gates watch them from then on.
    let mut before = std::time::Instant::now();
    let mut begun = before;
    run_until(&mut app, |world| {
        begun = core::mem::replace(&mut before, std::time::Instant::now());
        !world.resource::<Assets<Mesh>>().is_empty()
    });
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Live));
    let waited = begun.elapsed();
    assert!(waited >= Duration::from_millis(999), "{waited:?}");
    assert_eq!(app.world().resource::<StreamingStats>().gate_deadlines, 1);
}

/// What it imports is still being read: the time of the renderer has not begun.
#[test]
fn a_package_waits_for_what_it_imports_before_its_deadline_begins() {
    const DEADLINE: u64 = 25;
    let dir = Dir::default();
    let (mut app, gate) = gated_app(&dir);
    gate.otherwise(Some(Fate::Pass));
    app.insert_resource(StreamingTime::stopped());
    app.world_mut().resource_mut::<RevealGates>().0.push(Box::new(Closed));
    app.world_mut().resource_mut::<StreamingSettings>().gate_deadline_frames = DEADLINE as u32;
    put(&dir, "s.pkg", shared_package(&app, "s.pkg"));
    put(&dir, "a.pkg", chain(&app, "a.pkg", 3, Some("s.pkg")));
    let reads = 0..10;
    reads.clone().for_each(|index| gate.script("s.pkg", index, Fate::Stall));
    // So its own task does not look into the other file.
    let id = app.world_mut().resource_mut::<Streamer>().load(InstanceRequest {
        verify: Verify::Deferred,
        ..request("a.pkg", &["s.pkg"])
    });
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Staged));
    for _ in 0..3 * DEADLINE {
        app.update();
    }
    assert_eq!(app.world().resource::<StreamingStats>().gate_deadlines, 0);
    reads.for_each(|index| gate.script("s.pkg", index, Fate::Pass));
    run_until(&mut app, |world| !world.resource::<Assets<Mesh>>().is_empty());
    let inserted = app.world().resource::<StreamingStats>().frame;
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Live));
    let stats = app.world().resource::<StreamingStats>();
    assert_eq!(stats.gate_deadlines, 2);
    assert!(stats.frame - inserted >= DEADLINE);
}

/// What a scan tells of a level: how many entities like another, and on which thread it looked.
struct Liked(usize, std::thread::ThreadId);

/// Holds levels back until it is told to open, one by one.
#[derive(Default, Clone)]
struct PerLevel(Arc<Mutex<Watched>>);

#[derive(Default)]
struct Watched {
    /// What was found in each that is watched.
    found: BTreeMap<InstanceId, usize>,
    open: BTreeSet<InstanceId>,
    asked: usize,
    /// How often each was forgotten.
    forgotten: BTreeMap<InstanceId, usize>,
}

impl RevealGate for PerLevel {
    fn watch(&self, _: &[UntypedAssetId]) {}

    fn is_open(&self, _: &[UntypedAssetId]) -> bool {
        true
    }

    fn forget(&self, _: &[UntypedAssetId]) {}

    fn watch_level(&self, _: &World, id: InstanceId, found: &Arc<LevelScans>) {
        let Liked(count, thread) = found.get().expect("the scan has run");
        assert_ne!(*thread, std::thread::current().id(), "on the main thread");
        assert!(found.get::<u32>().is_none());
        let before = self.0.lock().unwrap().found.insert(id, *count);
        assert_eq!(before, None, "it is watched once");
    }

    fn is_level_open(&self, id: InstanceId) -> bool {
        let mut watched = self.0.lock().unwrap();
        watched.asked += 1;
        assert!(watched.found.contains_key(&id));
        watched.open.contains(&id)
    }

    fn forget_level(&self, id: InstanceId) {
        let mut watched = self.0.lock().unwrap();
        watched.found.remove(&id);
        *watched.forgotten.entry(id).or_default() += 1;
    }
}

fn gated_by_level(dir: &Dir) -> (App, PerLevel) {
    gated_by_level_after(dir, SeamlessAssetPlugin::default())
}

fn gated_by_level_after(dir: &Dir, plugin: SeamlessAssetPlugin) -> (App, PerLevel) {
    let mut app = app_after(dir, plugin, |app| {
        app.add_level_scan(|level| {
            let likes = level.groups().map(|group| group.values::<Likes>().count());
            Liked(likes.sum(), std::thread::current().id())
        });
    });
    let gate = PerLevel::default();
    app.world_mut()
        .resource_mut::<RevealGates>()
        .0
        .push(Box::new(gate.clone()));
    app.world_mut().resource_mut::<StreamingSettings>().gate_deadline_frames = u32::MAX;
    (app, gate)
}

fn is_watched(gate: &PerLevel, id: InstanceId) -> bool {
    gate.0.lock().unwrap().found.contains_key(&id)
}

#[test]
fn a_gate_by_level_holds_one_level_and_lets_another_go() {
    let dir = Dir::default();
    let (mut app, gate) = gated_by_level(&dir);
    put(&dir, "a.pkg", chain(&app, "a.pkg", 3, None));
    let ids = [load(&mut app, "a.pkg", &[]), load(&mut app, "a.pkg", &[])];
    run_until(&mut app, |_| ids.iter().all(|id| is_watched(&gate, *id)));
    assert!(gate.0.lock().unwrap().found.values().all(|count| *count == 3));
    for _ in 0..10 {
        app.update();
        assert_eq!(ids.map(|id| state(app.world(), id)), [Some(LoadState::Staged); 2]);
    }
    gate.0.lock().unwrap().open.insert(ids[1]);
    run_until(&mut app, |world| state(world, ids[1]) == Some(LoadState::Live));
    app.update();
    assert_eq!(state(app.world(), ids[0]), Some(LoadState::Staged));
    assert_eq!(gate.0.lock().unwrap().forgotten.get(&ids[1]), Some(&1));
    assert_eq!(gate.0.lock().unwrap().forgotten.get(&ids[0]), None);
    // Cancelled while it waits.
    app.world_mut().resource_mut::<Streamer>().unload(ids[0]);
    app.update();
    assert_eq!(state(app.world(), ids[0]), None);
    let watched = gate.0.lock().unwrap();
    assert_eq!((watched.found.len(), watched.forgotten.get(&ids[0])), (0, Some(&1)));
    assert_eq!(app.world().resource::<StreamingStats>().gate_deadlines, 0);
}

#[test]
fn a_level_has_one_deadline_which_is_counted() {
    const DEADLINE: u64 = 25;
    let dir = Dir::default();
    let (mut app, gate) = gated_by_level(&dir);
    app.insert_resource(StreamingTime::stopped());
    app.world_mut().resource_mut::<StreamingSettings>().budget = Duration::from_secs(10);
    // Packages wait as long, at the same time.
    app.world_mut().resource_mut::<RevealGates>().0.push(Box::new(Closed));
    app.world_mut().resource_mut::<StreamingSettings>().gate_deadline_frames = DEADLINE as u32;
    put(&dir, "a.pkg", chain(&app, "a.pkg", 3, None));
    let id = load(&mut app, "a.pkg", &[]);
    run_until(&mut app, |_| is_watched(&gate, id));
    let since = app.world().resource::<StreamingStats>().frame;
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Live));
    let stats = app.world().resource::<StreamingStats>();
    assert_eq!((stats.gate_deadlines, stats.frame - since), (2, DEADLINE));
    let watched = gate.0.lock().unwrap();
    assert_eq!((watched.found.len(), watched.forgotten.get(&id)), (0, Some(&1)));
}

/// It is loaded for later: gates are asked then, and again when it is shown, since the views may be others by that time.
#[test]
fn a_level_that_is_not_to_be_shown_yet_waits_for_its_gate_too() {
    let dir = Dir::default();
    let (mut app, gate) = gated_by_level(&dir);
    put(&dir, "a.pkg", chain(&app, "a.pkg", 3, None));
    let id = app.world_mut().resource_mut::<Streamer>().load(InstanceRequest {
        target: InstanceTarget::Loaded,
        ..request("a.pkg", &[])
    });
    run_until(&mut app, |_| is_watched(&gate, id));
    let is_loaded = |world: &mut World| {
        let mut events = world.resource_mut::<Messages<InstanceEvent>>();
        events
            .drain()
            .any(|event| matches!(event, InstanceEvent::Loaded { .. }))
    };
    app.update();
    assert!(!is_loaded(app.world_mut()));
    gate.0.lock().unwrap().open.insert(id);
    run_until(&mut app, is_loaded);
    let asked = gate.0.lock().unwrap().asked;
    for _ in 0..5 {
        app.update();
    }
    assert_eq!(gate.0.lock().unwrap().asked, asked, "nobody waits for it");
    gate.0.lock().unwrap().open.clear();
    set_target(&mut app, id, InstanceTarget::Shown);
    waits_for_its_gate(&mut app, &gate, id, LoadState::Staged);
    assert_eq!(gate.0.lock().unwrap().forgotten.get(&id), Some(&2));
}

/// It does not come while the gate is closed, and does once that is open.
fn waits_for_its_gate(app: &mut App, gate: &PerLevel, id: InstanceId, meanwhile: LoadState) {
    for _ in 0..5 {
        app.update();
        assert_eq!(state(app.world(), id), Some(meanwhile));
        assert!(is_watched(gate, id));
    }
    gate.0.lock().unwrap().open.insert(id);
    run_until(app, |world| state(world, id) == Some(LoadState::Live));
    assert!(!is_watched(gate, id));
}

/// A level that is in the world, out of sight, asks as well; and one that is not to be seen after all is watched no more.
#[test]
fn a_hidden_level_waits_for_its_gate_before_it_is_shown_again() {
    let dir = Dir::default();
    let plugin = SeamlessAssetPlugin {
        sliced_levels: true,
        ..SeamlessAssetPlugin::default()
    };
    let (mut app, gate) = gated_by_level_after(&dir, plugin);
    put(&dir, "a.pkg", chain(&app, "a.pkg", 3, None));
    let id = load(&mut app, "a.pkg", &[]);
    run_until(&mut app, |_| is_watched(&gate, id));
    gate.0.lock().unwrap().open.insert(id);
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Live));
    for _ in 0..2 {
        set_target(&mut app, id, InstanceTarget::Loaded);
        run_until(&mut app, |world| state(world, id) == Some(LoadState::Hidden));
        gate.0.lock().unwrap().open.clear();
        set_target(&mut app, id, InstanceTarget::Shown);
        run_until(&mut app, |_| is_watched(&gate, id));
        set_target(&mut app, id, InstanceTarget::Loaded);
        run_until(&mut app, |_| !is_watched(&gate, id));
        set_target(&mut app, id, InstanceTarget::Shown);
        app.update();
        waits_for_its_gate(&mut app, &gate, id, LoadState::Hidden);
    }
    // It leaves while it is waited for.
    set_target(&mut app, id, InstanceTarget::Loaded);
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Hidden));
    gate.0.lock().unwrap().open.clear();
    set_target(&mut app, id, InstanceTarget::Shown);
    run_until(&mut app, |_| is_watched(&gate, id));
    set_target(&mut app, id, InstanceTarget::Gone);
    run_until(&mut app, |_| !is_watched(&gate, id));
}
