//! One order for all that comes.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
    mpsc,
};

use super::{
    build::asset_object,
    gatekeeper::DATA,
    objects::recipes,
    targets::{load_to, set_target},
    *,
};
use crate::{
    ObjectRequest, StreamingTime,
    doubles::{Fate, GatedReader, ReadGate},
    load::Pipeline,
};

const URGENT: usize = 24;

pub(super) fn with_priority(app: &mut App, package: &str, priority: f32, target: InstanceTarget) -> InstanceId {
    app.world_mut().resource_mut::<Streamer>().load(InstanceRequest {
        priority,
        target,
        ..request(package, &[])
    })
}

/// One unit of work fits a frame.
#[test]
fn no_asset_goes_before_a_level_that_is_ready_and_more_urgent() {
    let dir = Dir::default();
    let mut app = app(&dir);
    let mut settings = app.world_mut().resource_mut::<StreamingSettings>();
    (settings.budget, settings.aging) = (Duration::ZERO, Duration::MAX);
    let names: Vec<_> = (0..URGENT).map(|index| format!("{index}.pkg")).collect();
    for name in names.iter().map(String::as_str).chain(["late.pkg", "later.pkg"]) {
        put(&dir, name, chain(&app, name, 5, None));
    }
    let load = |name: &String| with_priority(&mut app, name, 100.0, InstanceTarget::Loaded);
    let urgent: Vec<_> = names.iter().map(load).collect();
    let mut told = 0;
    run_until(&mut app, |world| {
        for event in world.resource_mut::<Messages<InstanceEvent>>().drain() {
            told += usize::from(matches!(event, InstanceEvent::Loaded { .. }));
        }
        told == URGENT
    });
    let _late = ["late.pkg", "later.pkg"].map(|name| with_priority(&mut app, name, 1.0, InstanceTarget::Loaded));
    let meshes = app.world().resource::<Assets<Mesh>>().len();
    for id in &urgent {
        set_target(&mut app, *id, InstanceTarget::Shown);
    }
    for shown in 1..=URGENT {
        app.update();
        let revealed = app.world().resource::<StreamingStats>().revealed;
        assert_eq!(revealed, shown as u64, "one a frame");
        assert_eq!(
            app.world().resource::<Assets<Mesh>>().len(),
            meshes,
            "an asset went first"
        );
        // Tasks decode the others meanwhile.
        std::thread::sleep(Duration::from_millis(4));
    }
    run_until(&mut app, |world| world.resource::<Assets<Mesh>>().len() == meshes + 2);
}

/// What it is to be drawn with is looked at again whenever it is wanted, and that must not cost it the frame.
#[test]
fn a_level_that_is_wanted_in_every_second_frame_comes_between_assets() {
    const RECIPES: usize = 64;
    let dir = Dir::default();
    let mut app = app(&dir);
    let mut settings = app.world_mut().resource_mut::<StreamingSettings>();
    (settings.budget, settings.aging) = (Duration::ZERO, Duration::MAX);
    put(&dir, "a.pkg", chain(&app, "a.pkg", 5, None));
    put(&dir, "many.pkg", chain(&app, "many.pkg", 5, None));
    let mut recipes = new_package(&app, "recipes.pkg");
    for index in 0..RECIPES {
        let (title, before) = (index.to_string(), vec![]);
        asset_object(&mut recipes, &app, &title.clone(), Recipe { title, before }, vec![]);
    }
    put(&dir, "recipes.pkg", recipes.finish().unwrap());
    let level = with_priority(&mut app, "a.pkg", 1.0, InstanceTarget::Loaded);
    run_until(&mut app, |world| {
        let mut events = world.resource_mut::<Messages<InstanceEvent>>();
        events
            .drain()
            .any(|event| matches!(event, InstanceEvent::Loaded { .. }))
    });
    app.world_mut().resource_mut::<Streamer>().load(InstanceRequest {
        priority: 100.0,
        target: InstanceTarget::Loaded,
        ..request("many.pkg", &["recipes.pkg"])
    });
    run_until(&mut app, |world| !world.resource::<Assets<Recipe>>().is_empty());
    let targets = [InstanceTarget::Shown, InstanceTarget::Loaded];
    for target in targets.into_iter().cycle().take(RECIPES / 2) {
        set_target(&mut app, level, target);
        app.update();
        let recipes = app.world().resource::<Assets<Recipe>>().len();
        assert!(recipes < RECIPES, "assets are to come in all of these frames");
        if state(app.world(), level) == Some(LoadState::Live) {
            return;
        }
    }
    panic!("assets had all frames");
}

/// A level that was loaded ahead has waited for nothing: what is more urgent now comes before it.
#[test]
fn time_in_which_nothing_was_waited_for_does_not_count() {
    let dir = Dir::default();
    let mut app = app(&dir);
    app.insert_resource(StreamingTime::stopped());
    app.world_mut().resource_mut::<StreamingSettings>().budget = Duration::ZERO;
    for name in ["early.pkg", "urgent.pkg"] {
        put(&dir, name, chain(&app, name, 5, None));
    }
    let loaded = |app: &mut App, name, priority| {
        let id = with_priority(app, name, priority, InstanceTarget::Loaded);
        run_until(app, |world| {
            let mut events = world.resource_mut::<Messages<InstanceEvent>>();
            let is_it = |event| matches!(event, InstanceEvent::Loaded { id: loaded, .. } if loaded == id);
            events.drain().any(is_it)
        });
        id
    };
    let early = loaded(&mut app, "early.pkg", 1.0);
    app.world_mut()
        .resource_mut::<StreamingTime>()
        .advance(Duration::from_secs(600));
    let urgent = loaded(&mut app, "urgent.pkg", 4.0);
    set_target(&mut app, early, InstanceTarget::Shown);
    set_target(&mut app, urgent, InstanceTarget::Shown);
    app.update();
    let states = [early, urgent].map(|id| state(app.world(), id));
    assert_eq!(
        states,
        [Some(LoadState::Staged), Some(LoadState::Live)],
        "one fits a frame"
    );
    run_until(&mut app, |world| state(world, early) == Some(LoadState::Live));
}

/// Nor does the time in which it was seen, when it is shown again.
#[test]
fn time_in_which_it_was_seen_does_not_count() {
    let dir = Dir::default();
    let mut app = sliced_app(&dir);
    app.insert_resource(StreamingTime::stopped());
    app.world_mut().resource_mut::<StreamingSettings>().budget = Duration::ZERO;
    for name in ["old.pkg", "urgent.pkg"] {
        put(&dir, name, chain(&app, name, 5, None));
    }
    let shown = |app: &mut App, name, priority| {
        let id = with_priority(app, name, priority, InstanceTarget::Shown);
        run_until(app, |world| state(world, id) == Some(LoadState::Live));
        id
    };
    let old = shown(&mut app, "old.pkg", 1.0);
    let mut time = app.world_mut().resource_mut::<StreamingTime>();
    time.advance(Duration::from_secs(600));
    let urgent = shown(&mut app, "urgent.pkg", 4.0);
    for _ in 0..2 {
        for id in [old, urgent] {
            set_target(&mut app, id, InstanceTarget::Loaded);
            run_until(&mut app, |world| state(world, id) == Some(LoadState::Hidden));
        }
        for id in [old, urgent] {
            set_target(&mut app, id, InstanceTarget::Shown);
        }
        app.update();
        let states = [old, urgent].map(|id| state(app.world(), id));
        assert_eq!(
            states,
            [Some(LoadState::Hidden), Some(LoadState::Live)],
            "one fits a frame"
        );
        run_until(&mut app, |world| state(world, old) == Some(LoadState::Live));
    }
}

/// Opens when it is told to.
struct Latch(Arc<AtomicBool>);

impl RevealGate for Latch {
    fn watch(&self, _: &[UntypedAssetId]) {}

    fn is_open(&self, _: &[UntypedAssetId]) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    fn forget(&self, _: &[UntypedAssetId]) {}
}

/// Requests of a few thousand frames are remembered, and levels may wait for longer.
#[test]
fn who_waits_for_its_turn_is_as_old_as_its_request() {
    let dir = Dir::default();
    let mut app = app(&dir);
    app.insert_resource(StreamingTime::stopped());
    let is_open = Arc::new(AtomicBool::new(false));
    let latch = Box::new(Latch(is_open.clone()));
    app.world_mut().resource_mut::<RevealGates>().0.push(latch);
    let mut settings = app.world_mut().resource_mut::<StreamingSettings>();
    (settings.budget, settings.aging) = (Duration::ZERO, Duration::from_secs(1));
    settings.gate_deadline_frames = u32::MAX;
    put(&dir, "a.pkg", chain(&app, "a.pkg", 5, None));
    // Ten seconds are worth more than four times the priority.
    let early = with_priority(&mut app, "a.pkg", 1.0, InstanceTarget::Shown);
    app.update();
    let seconds = Duration::from_secs(10);
    app.world_mut().resource_mut::<StreamingTime>().advance(seconds);
    let urgent = with_priority(&mut app, "a.pkg", 4.0, InstanceTarget::Shown);
    run_until(&mut app, |world| {
        [early, urgent].map(|id| state(world, id)) == [Some(LoadState::Staged); 2]
    });
    app.world_mut().resource_mut::<Pipeline>().forget_arrivals();
    is_open.store(true, Ordering::Relaxed);
    run_until(&mut app, |world| world.resource::<StreamingStats>().revealed == 1);
    assert_eq!(state(app.world(), early), Some(LoadState::Live));
}

/// However many wait, a frame looks at those of which something has changed.
#[test]
fn no_frame_looks_at_all_that_wait() {
    const WAITING: usize = 200;
    const FRAMES: u64 = 60;
    let dir = Dir::default();
    let mut app = app(&dir);
    app.world_mut().resource_mut::<StreamingSettings>().budget = Duration::ZERO;
    put(&dir, "a.pkg", chain(&app, "a.pkg", 5, None));
    let load = |_| with_priority(&mut app, "a.pkg", 1.0, InstanceTarget::Loaded);
    let ids: Vec<_> = (0..WAITING).map(load).collect();
    run_until(&mut app, |world| {
        ids.iter().all(|id| state(world, *id) == Some(LoadState::Staged))
    });
    for id in &ids {
        set_target(&mut app, *id, InstanceTarget::Shown);
    }
    app.update();
    let counts = |app: &App| {
        let revealed = app.world().resource::<StreamingStats>().revealed;
        (app.world().resource::<Pipeline>().looks(), revealed)
    };
    let (looks, revealed) = counts(&app);
    for _ in 0..FRAMES {
        app.update();
    }
    let (looks, revealed) = (counts(&app).0 - looks, counts(&app).1 - revealed);
    assert_eq!(revealed, FRAMES, "one a frame");
    assert!((1..=3 * FRAMES).contains(&looks), "{looks}");
    // One that has become more urgent is looked at, and goes first.
    let last = ids[WAITING - 1];
    app.world_mut().resource_mut::<Streamer>().set_priority(last, 1e6);
    app.update();
    assert_eq!(state(app.world(), last), Some(LoadState::Live));
}

/// However many wait to be loaded, a frame looks at those that start, and at one more.
#[test]
fn no_frame_ranks_all_that_wait_to_start() {
    const WAITING: usize = 200;
    let dir = Dir::default();
    let mut app = app(&dir);
    app.world_mut().resource_mut::<StreamingSettings>().max_loads_in_flight = 1;
    put(&dir, "a.pkg", chain(&app, "a.pkg", 5, None));
    let load = |index| with_priority(&mut app, "a.pkg", index as f32, InstanceTarget::Loaded);
    let ids: Vec<_> = (0..WAITING).map(load).collect();
    app.update();
    let waiting = |world: &World| {
        let waits = |id: &&InstanceId| state(world, **id) == Some(LoadState::Requested);
        ids.iter().filter(waits).count()
    };
    let looks = |app: &App| app.world().resource::<Pipeline>().looks();
    let (before, first_looks, mut frames) = (waiting(app.world()), looks(&app), 0_u32);
    run_until(&mut app, |world| {
        frames += 1;
        waiting(world) < before - 50
    });
    // Each one that starts is looked at when it is queued no more, and when it is staged; all that wait are 150 and more. Full frames look at none.
    let (started, looks) = (before - waiting(app.world()), looks(&app) - first_looks);
    assert!(
        looks <= 16 * started as u64,
        "{looks} in {frames} frames, {started} started"
    );
    let last = ids
        .iter()
        .filter(|id| state(app.world(), **id) == Some(LoadState::Requested));
    assert!(last.eq(&ids[..waiting(app.world())]), "the most urgent start first");
}

/// The same for what is for no level.
#[test]
fn no_frame_ranks_all_objects_that_wait() {
    const WAITING: usize = 1200;
    let dir = Dir::default();
    let mut app = app(&dir);
    app.world_mut().resource_mut::<StreamingSettings>().max_loads_in_flight = 1;
    let names: Vec<_> = (0..WAITING).map(|index| format!("soup {index}")).collect();
    let all: Vec<(&str, &[&str])> = names.iter().map(|name| (name.as_str(), &[][..])).collect();
    put(&dir, "soups.pkg", recipes(&app, "soups.pkg", &all));
    let ask = |(index, name): (usize, &String)| {
        let request = ObjectRequest {
            priority: index as f32,
            ..ObjectRequest::new([format!("soups.pkg#{name}")])
        };
        app.world_mut().resource_mut::<Streamer>().load_objects(request)
    };
    let loads: Vec<_> = names.iter().enumerate().map(ask).collect();
    // Each third is not wanted any more.
    let wanted: Vec<_> = (0..)
        .zip(loads)
        .filter(|(index, _)| index % 3 > 0)
        .map(|(_, load)| load)
        .collect();
    app.update();
    let looks = |app: &App| app.world().resource::<Pipeline>().looks();
    let (first, mut frames) = (looks(&app), 0_u64);
    let finished = || wanted.iter().filter(|load| load.is_finished()).count();
    run_until(&mut app, |_| {
        frames += 1;
        finished() > 100
    });
    // All that wait are 700 and more.
    let (done, looks) = (finished(), looks(&app) - first);
    assert!(
        looks <= 8 * (done as u64 + frames),
        "{looks} in {frames} frames, {done} done"
    );
    let (left, last) = wanted.split_at(wanted.len() - done);
    let strays = left.iter().filter(|load| load.is_finished()).count();
    assert!(
        strays <= 1 && last.len() == done,
        "the most urgent start first: {strays}"
    );
    run_until(&mut app, |_| finished() == wanted.len());
    assert!(wanted.iter().all(|load| load.result().unwrap().is_ok()));
    run_until(&mut app, |world| {
        world.resource::<StreamingStats>().pending_requests == 0
    });
}

/// What is read waits for the thread, and the most urgent has it next, whoever was read first.
#[test]
fn who_is_most_urgent_is_decoded_next() {
    let dir = Dir::default();
    let (decoded, names) = mpsc::channel();
    let (go, may_go) = mpsc::channel::<()>();
    let may_go = Mutex::new(may_go);
    let gate = ReadGate::default();
    let (root, reads) = (dir.clone(), gate.clone());
    let plugin = SeamlessAssetPlugin {
        threads: 1,
        background: false,
        ..SeamlessAssetPlugin::default()
    };
    let reader = move || GatedReader::of(&root, &reads);
    let mut app = app_reading(reader, plugin, move |app| {
        app.add_instance_hook(move |_, instance| {
            decoded
                .send(instance.name.to_string())
                .map_err(|error| error.to_string())?;
            if &*instance.name == "first.pkg" {
                may_go.lock().unwrap().recv().map_err(|error| error.to_string())?;
            }
            Ok(())
        });
    });
    let packages = [
        ("first.pkg", 1.0),
        ("low.pkg", 1.0),
        ("middle.pkg", 10.0),
        ("high.pkg", 100.0),
    ];
    for (name, priority) in packages {
        put(&dir, name, chain(&app, name, 5, None));
        (0..DATA).for_each(|index| gate.script(name, index, Fate::Pass));
        with_priority(&mut app, name, priority, InstanceTarget::Shown);
    }
    run_until(&mut app, |_| gate.pending().len() == packages.len());
    gate.release("first.pkg", Fate::Pass);
    let next = || names.recv_timeout(Duration::from_secs(240)).expect("it is decoded");
    assert_eq!(next(), "first.pkg");
    // The thread is busy, so all of these are read before it looks for more.
    for (name, _) in &packages[1..] {
        gate.release(name, Fate::Pass);
    }
    go.send(()).unwrap();
    assert_eq!([next(), next(), next()], ["high.pkg", "middle.pkg", "low.pkg"]);
}

#[test]
fn who_has_waited_longest_leaves_first() {
    let dir = Dir::default();
    let mut app = app(&dir);
    put(&dir, "a.pkg", chain(&app, "a.pkg", 5, None));
    let ids: Vec<_> = (0..6)
        .map(|_| load_to(&mut app, "a.pkg", InstanceTarget::Shown))
        .collect();
    run_until(&mut app, |world| {
        ids.iter().all(|id| state(world, *id) == Some(LoadState::Live))
    });
    app.world_mut().resource_mut::<StreamingSettings>().budget = Duration::ZERO;
    let order = [3, 0, 5, 1, 4, 2];
    let mut left = Vec::new();
    let mut update = |app: &mut App| {
        app.update();
        for event in app.world_mut().resource_mut::<Messages<InstanceEvent>>().drain() {
            if let InstanceEvent::Left { id } = event {
                left.extend(ids.iter().position(|other| *other == id));
            }
        }
    };
    // Two a frame are asked to leave, and one does.
    for two in order.chunks(2) {
        for index in two {
            set_target(&mut app, ids[*index], InstanceTarget::Gone);
        }
        update(&mut app);
    }
    for _ in 0..6 {
        update(&mut app);
    }
    // Of those that were asked in one frame, the older goes first.
    assert_eq!(left, [0, 3, 1, 5, 2, 4]);
}

/// A game may say in each frame how far a level is to come.
#[test]
fn who_is_told_the_same_again_keeps_its_turn() {
    let dir = Dir::default();
    let mut app = sliced_app(&dir);
    put(&dir, "a.pkg", chain(&app, "a.pkg", 5, None));
    let [others @ .., told] = [(); 8].map(|()| load_to(&mut app, "a.pkg", InstanceTarget::Shown));
    run_until(&mut app, |world| {
        others
            .iter()
            .chain([&told])
            .all(|id| state(world, *id) == Some(LoadState::Live))
    });
    app.world_mut().resource_mut::<StreamingSettings>().budget = Duration::ZERO;
    // Two a frame come before it, and one has its turn.
    let mut frames = 0;
    for two in others.chunks(2) {
        two.iter()
            .for_each(|id| set_target(&mut app, *id, InstanceTarget::Gone));
        set_target(&mut app, told, InstanceTarget::Loaded);
        app.update();
        frames += 1;
        if state(app.world(), told) == Some(LoadState::Hidden) {
            break;
        }
    }
    assert_eq!(
        frames, 3,
        "those of the first frame go first, the older before the younger"
    );
}
