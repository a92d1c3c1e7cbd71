//! What streamed content takes in memory, and the ceiling.

use std::collections::BTreeSet;

use super::{
    build::seek_free_chain,
    targets::{load_to, set_target},
    *,
};
use crate::{InHiddenLevel, MemoryAccount, MemoryPressure, Pipeline, StreamingTime, UnitKind};

const LEVELS: usize = 12;

fn name(index: usize) -> String {
    format!("{index}.pkg")
}

/// An app and its levels, each larger than the one before.
fn levels(dir: &Dir) -> App {
    levels_for(dir, app(dir))
}

fn levels_for(dir: &Dir, app: App) -> App {
    for index in 0..LEVELS {
        put(
            dir,
            &name(index),
            chain(&app, &name(index), 100 + 10 * index as u32, None),
        );
    }
    app
}

fn stats(app: &App) -> &StreamingStats {
    app.world().resource::<StreamingStats>()
}

fn memory(app: &App) -> MemoryAccount {
    stats(app).memory
}

fn set_ceiling(app: &mut App, ceiling: Option<u64>) {
    app.world_mut().resource_mut::<StreamingSettings>().memory_ceiling = ceiling;
}

fn is_live(app: &App, id: InstanceId) -> bool {
    state(app.world(), id) == Some(LoadState::Live)
}

fn load_with(app: &mut App, name: &str, priority: f32) -> InstanceId {
    let request = InstanceRequest {
        priority,
        ..request(name, &[])
    };
    app.world_mut().resource_mut::<Streamer>().load(request)
}

fn unload(app: &mut App, id: InstanceId) {
    app.world_mut().resource_mut::<Streamer>().unload(id);
}

/// What each level takes when it is there alone.
fn sizes(app: &mut App) -> Vec<u64> {
    let size = |index| {
        let id = load(app, &name(index), &[]);
        run_until(app, |world| state(world, id) == Some(LoadState::Live));
        let found = memory(app);
        assert!(found.levels > 0 && found.packages > 0, "{found:?}");
        assert_eq!((found.staged, found.in_flight), (0, 0));
        unload(app, id);
        run_until(app, |world| {
            world.resource::<StreamingStats>().memory == MemoryAccount::default()
        });
        found.total()
    };
    (0..LEVELS).map(size).collect()
}

#[test]
fn all_that_comes_is_counted_until_it_is_gone() {
    let dir = Dir::default();
    let sizes = sizes(&mut levels(&dir));
    assert!(sizes.is_sorted() && sizes[0] > 100 * 12, "{sizes:?}");
}

#[test]
fn what_is_staged_is_counted_and_moves_into_the_world() {
    let dir = Dir::default();
    let mut app = levels(&dir);
    app.world_mut().resource_mut::<StreamingSettings>().budget = Duration::from_secs(10);
    let id = load_to(&mut app, &name(3), InstanceTarget::Loaded);
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Staged));
    run_until(&mut app, |world| world.resource::<StreamingStats>().memory.packages > 0);
    let before = memory(&app);
    assert!(before.staged > 0 && before.levels == 0, "{before:?}");
    set_target(&mut app, id, InstanceTarget::Shown);
    app.update();
    assert!(is_live(&app, id));
    let after = memory(&app);
    assert_eq!(
        (after.levels, after.staged, after.packages),
        (before.staged, 0, before.packages)
    );
    // Files of twice the size fit into twice the memory, and so do twice as many as are counted.
    let live = stats(&app).live_bytes;
    assert!(live > 0);
    for counted in [0, live / 2, live * 10] {
        let found = stats(&app).bytes_that_fit(Some(2 * after.total()), counted);
        let expected = 2 * live.max(counted);
        assert!(found.abs_diff(expected) <= 1, "{found} for {live}, {counted} counted");
    }
    assert_eq!(stats(&app).bytes_that_fit(None, 0), u64::MAX);
}

/// Whoever flies lets go of the oldest level when the next has no room.
#[test]
fn a_flight_with_a_ceiling_never_exceeds_it_by_more_than_one_level() {
    let dir = Dir::default();
    let mut app = levels(&dir);
    let sizes = sizes(&mut app);
    let (all, largest) = (sizes.iter().sum::<u64>(), sizes[LEVELS - 1]);
    // This app has never seen any of them.
    let mut app = levels(&dir);
    let ceiling = all / 3;
    set_ceiling(&mut app, Some(ceiling));
    let (mut wanted, mut seen, mut most, mut waited) = (Vec::new(), BTreeSet::new(), 0, 0);
    for round in 0..3 {
        for index in 0..LEVELS {
            wanted.push((index, load(&mut app, &name((index * 5 + round) % LEVELS), &[])));
        }
        run_until_flown(&mut app, &mut wanted, &mut seen, |stats| {
            most = most.max(stats.memory.total());
            waited += u64::from(stats.memory_short > 0);
        });
    }
    assert_eq!(seen.len(), 3 * LEVELS, "all came in their time");
    assert!(most <= ceiling + largest, "{most} with a ceiling of {ceiling}");
    assert!(
        most > ceiling / 2 && waited > 0,
        "{most} at most: there was no need of it"
    );
    for (_, id) in wanted {
        unload(&mut app, id);
    }
    run_until(&mut app, |world| {
        world.resource::<StreamingStats>().memory == MemoryAccount::default()
    });
}

/// Until all have been seen.
fn run_until_flown(
    app: &mut App,
    wanted: &mut Vec<(usize, InstanceId)>,
    seen: &mut BTreeSet<InstanceId>,
    mut look: impl FnMut(&StreamingStats),
) {
    let start = Instant::now();
    while !wanted.iter().all(|(_, id)| seen.contains(id)) {
        assert!(start.elapsed() < Duration::from_secs(240), "it took too long");
        app.update();
        look(stats(app));
        seen.extend(wanted.iter().map(|(_, id)| *id).filter(|id| is_live(app, *id)));
        let oldest = wanted.iter().position(|(_, id)| is_live(app, *id));
        if stats(app).memory_short > 0
            && let Some(oldest) = oldest
        {
            let (_, id) = wanted.remove(oldest);
            unload(app, id);
        }
    }
}

#[test]
fn over_the_ceiling_all_that_leaves_is_gone_in_one_frame() {
    const COUNT: usize = 200;
    let dir = Dir::default();
    let mut app = levels(&dir);
    let ids: Vec<_> = (0..COUNT).map(|_| load(&mut app, &name(0), &[])).collect();
    run_until(&mut app, |world| {
        world.resource::<StreamingStats>().live_instances == COUNT as u64
    });
    app.world_mut().resource_mut::<StreamingSettings>().budget = Duration::from_nanos(1);
    for id in &ids[1..] {
        unload(&mut app, *id);
    }
    app.update();
    app.update();
    assert!(stats(&app).left <= 2, "one unit a frame");
    set_ceiling(&mut app, Some(1));
    app.world_mut().resource_mut::<StreamingStats>().overruns.clear();
    app.update();
    let stats = stats(&app);
    assert_eq!((stats.left, stats.live_instances), (COUNT as u64 - 1, 1));
    assert_eq!(stats.pressure_frames, 1);
    assert!(stats.unthrottled_leaves >= COUNT as u64 - 3);
    let overrun = stats.overruns.first().expect("it took longer than a nanosecond");
    assert_eq!(overrun.kind, Some(UnitKind::Leave));
    assert!(overrun.what.contains("memory is over its ceiling"), "{overrun:?}");
    assert!(is_live(&app, ids[0]), "nobody has let go of it");
}

/// In an app whose levels leave bit by bit: what has left in one frame and is still to be despawned, what was hidden before, and what is to leave by then.
#[test]
fn over_the_ceiling_nothing_is_despawned_bit_by_bit() {
    const COUNT: usize = 30;
    let dir = Dir::default();
    let mut app = levels_for(&dir, sliced_app(&dir));
    let ids: Vec<_> = (0..COUNT).map(|_| load(&mut app, &name(0), &[])).collect();
    run_until(&mut app, |world| {
        world.resource::<StreamingStats>().live_instances == COUNT as u64
    });
    let one = stats(&app).memory.levels / COUNT as u64;
    app.world_mut().resource_mut::<StreamingSettings>().budget = Duration::from_nanos(1);
    let thirds: Vec<_> = ids.chunks(COUNT / 3).collect();
    for id in thirds[0] {
        set_target(&mut app, *id, InstanceTarget::Loaded);
    }
    run_until(&mut app, |world| {
        thirds[0].iter().all(|id| state(world, *id) == Some(LoadState::Hidden))
    });
    for id in &thirds[1][1..] {
        unload(&mut app, *id);
    }
    run_until(&mut app, |world| {
        thirds[1][1..].iter().all(|id| state(world, *id).is_none())
    });
    for id in thirds[0].iter().chain(thirds[2]) {
        unload(&mut app, *id);
    }
    let before = stats(&app);
    assert!(before.hidden_entities > 12 * 100, "{before:?}");
    assert!(before.memory.levels > (COUNT as u64 - 8) * one, "most are there still");
    set_ceiling(&mut app, Some(1));
    app.update();
    let after = stats(&app);
    assert_eq!((after.hidden_entities, after.live_instances), (0, 1));
    assert_eq!(after.memory.levels, one);
    assert_eq!(after.left, COUNT as u64 - 1);
    let world = app.world_mut();
    let mut all = world.query_filtered::<(), (With<Likes>, bevy_ecs::query::Allow<InHiddenLevel>)>();
    assert_eq!(
        all.iter(world).count(),
        100,
        "that of the one that nobody has let go of"
    );
}

/// What is below the ceiling again takes no more of the frame.
#[test]
fn no_more_goes_at_once_than_has_to() {
    const COUNT: u64 = 200;
    let dir = Dir::default();
    let mut app = levels(&dir);
    let ids: Vec<_> = (0..COUNT).map(|_| load(&mut app, &name(0), &[])).collect();
    run_until(&mut app, |world| {
        world.resource::<StreamingStats>().live_instances == COUNT
    });
    app.world_mut().resource_mut::<StreamingSettings>().budget = Duration::from_nanos(1);
    ids.iter().for_each(|id| unload(&mut app, *id));
    let ceiling = memory(&app).total() - memory(&app).levels / 10;
    set_ceiling(&mut app, Some(ceiling));
    app.update();
    // A tenth, and one that would have gone anyway.
    let left = stats(&app).left;
    assert!((COUNT / 10..=COUNT / 10 + 2).contains(&left), "{left}");
    assert!(memory(&app).total() < ceiling);
}

/// Whoever waits before it, in whatever order loads start.
#[test]
fn over_the_ceiling_only_what_is_essential_comes() {
    [None, Some(1), Some(2), Some(3)]
        .into_iter()
        .for_each(what_is_essential_comes);
}

fn what_is_essential_comes(seed: Option<u64>) {
    let dir = Dir::default();
    let mut app = levels(&dir);
    app.insert_resource(StreamingTime::stopped());
    app.world_mut().resource_mut::<StreamingSettings>().load_order_seed = seed;
    let first = load(&mut app, &name(0), &[]);
    run_until(&mut app, |world| state(world, first) == Some(LoadState::Live));
    let used = memory(&app).total();
    set_ceiling(&mut app, Some(used));
    // It has waited for so long that it ranks higher.
    let other = load_with(&mut app, &name(1), 9e6);
    app.update();
    let minute = Duration::from_secs(60);
    app.world_mut().resource_mut::<StreamingTime>().advance(minute);
    let essential = load_with(&mut app, &name(2), 1e7);
    run_until(&mut app, |world| state(world, essential) == Some(LoadState::Live));
    assert_eq!(state(app.world(), other), Some(LoadState::Requested));
    let found = stats(&app);
    assert_eq!(found.memory_pressure, MemoryPressure::Over);
    assert!(found.memory_short > 0);
    set_ceiling(&mut app, None);
    run_until(&mut app, |world| state(world, other) == Some(LoadState::Live));
    assert_eq!(
        (stats(&app).memory_short, stats(&app).memory_pressure),
        (0, MemoryPressure::Calm)
    );
}

#[test]
fn where_memory_is_tight_what_is_not_to_be_shown_waits() {
    let dir = Dir::default();
    let mut app = levels(&dir);
    let ids = [0, LEVELS - 1].map(|index| load(&mut app, &name(index), &[]));
    run_until(&mut app, |world| {
        ids.iter().all(|id| state(world, *id) == Some(LoadState::Live))
    });
    // 90 % are in use.
    let used = memory(&app).total();
    set_ceiling(&mut app, Some(used * 10 / 9));
    let ahead = load_to(&mut app, &name(1), InstanceTarget::Loaded);
    for _ in 0..30 {
        app.update();
    }
    assert_eq!(stats(&app).memory_pressure, MemoryPressure::Tight);
    assert_eq!(state(app.world(), ahead), Some(LoadState::Requested));
    assert_eq!(stats(&app).memory_short, 0, "nobody has to go for it");
    assert_eq!(stats(&app).memory_held, 1, "but it is told");
    // Not before all others have begun: who begins may leave no room, and then somebody may have to go.
    app.world_mut().resource_mut::<StreamingSettings>().max_loads_in_flight = 1;
    let others = [2, 3].map(|index| load_with(&mut app, &name(index), 1e7));
    app.update();
    assert_eq!(stats(&app).memory_held, 0);
    run_until(&mut app, |world| {
        others.iter().all(|id| state(world, *id) == Some(LoadState::Live))
    });
    others.iter().for_each(|id| unload(&mut app, *id));
    unload(&mut app, ids[1]);
    run_until(&mut app, |world| state(world, ahead) == Some(LoadState::Staged));
    assert_eq!(stats(&app).memory_held, 0);
}

/// However many wait for memory, a frame looks at the most urgent one. What is essential, and what is to be shown, may be said while they wait.
#[test]
fn no_frame_looks_at_all_that_wait_for_memory() {
    const WAITING: usize = 200;
    const FRAMES: u64 = 30;
    let dir = Dir::default();
    let mut app = levels(&dir);
    let first = load(&mut app, &name(0), &[]);
    run_until(&mut app, |world| state(world, first) == Some(LoadState::Live));
    let used = memory(&app).total();
    set_ceiling(&mut app, Some(used));
    let mut load = |index: usize, target| {
        let request = InstanceRequest {
            priority: index as f32,
            target,
            ..request(&name(1), &[])
        };
        app.world_mut().resource_mut::<Streamer>().load(request)
    };
    let shown: Vec<_> = (0..WAITING).map(|index| load(index, InstanceTarget::Shown)).collect();
    let ahead: Vec<_> = (0..WAITING).map(|index| load(index, InstanceTarget::Loaded)).collect();
    app.update();
    let looks = |app: &App| app.world().resource::<Pipeline>().looks();
    let before = looks(&app);
    for _ in 0..FRAMES {
        app.update();
    }
    let looks = looks(&app) - before;
    assert!((1..=3 * FRAMES).contains(&looks), "{looks}");
    let waits = |app: &App, ids: &[InstanceId]| {
        let waits = |id: &InstanceId| state(app.world(), *id) == Some(LoadState::Requested);
        ids.iter().all(waits)
    };
    assert!(waits(&app, &shown) && waits(&app, &ahead));
    assert_eq!(stats(&app).memory_held, WAITING as u64);
    set_target(&mut app, ahead[0], InstanceTarget::Shown);
    app.update();
    assert_eq!(stats(&app).memory_held, WAITING as u64 - 1);
    app.world_mut().resource_mut::<StreamingSettings>().essential_priority = (WAITING - 10) as f32;
    let (rest, essential) = shown.split_at(WAITING - 10);
    run_until(&mut app, |world| {
        essential.iter().all(|id| state(world, *id) == Some(LoadState::Live))
    });
    let (held, come) = ahead.split_at(WAITING - 10);
    run_until(&mut app, |world| {
        come.iter().all(|id| state(world, *id) == Some(LoadState::Staged))
    });
    assert!(waits(&app, rest) && waits(&app, held));
}

/// What is always there can never go for it.
#[test]
fn what_is_larger_than_the_ceiling_comes_beside_what_is_essential() {
    let dir = Dir::default();
    let mut app = levels(&dir);
    let sizes = sizes(&mut app);
    let essential = app.world_mut().resource_mut::<Streamer>().load(InstanceRequest {
        priority: 1e8,
        ..request(&name(0), &[])
    });
    run_until(&mut app, |world| state(world, essential) == Some(LoadState::Live));
    // Room for the small one, but not for the large one.
    set_ceiling(&mut app, Some(sizes[0] + sizes[1] + 100));
    let large = load(&mut app, &name(LEVELS - 1), &[]);
    run_until(&mut app, |world| state(world, large) == Some(LoadState::Live));
    let small = load(&mut app, &name(1), &[]);
    unload(&mut app, large);
    run_until(&mut app, |world| state(world, small) == Some(LoadState::Live));
}

/// Whoever brought an object, it is on the account as long as a package keeps it.
#[test]
fn what_others_have_brought_is_counted_while_a_package_keeps_it() {
    let dir = Dir::default();
    let mut app = app(&dir);
    let shared = shared_package(&app, "s.pkg");
    put(&dir, "s.pkg", shared.clone());
    put(&dir, "a.pkg", chain(&app, "a.pkg", 3, Some("s.pkg")));
    for name in ["b.pkg", "c.pkg"] {
        put(&dir, name, seek_free_chain(&app, name, 3, &shared));
    }
    let packages = |app: &App| memory(app).packages;
    let alone = |app: &mut App, name: &str, before: Option<InstanceId>| {
        let id = load(app, name, &[]);
        run_until(app, |world| state(world, id) == Some(LoadState::Live));
        if let Some(before) = before {
            unload(app, before);
            run_until(app, |world| state(world, before).is_none());
        }
        app.update();
        (id, packages(app))
    };
    let clear = |app: &mut App, id: InstanceId| {
        unload(app, id);
        run_until(app, |world| {
            world.resource::<Assets<Mesh>>().is_empty()
                && world.resource::<StreamingStats>().memory == MemoryAccount::default()
        });
    };
    let (id, by_itself) = alone(&mut app, "a.pkg", None);
    assert!(by_itself > 0);
    clear(&mut app, id);
    // Game code has asked for it before.
    let preload = app
        .world_mut()
        .resource_mut::<Streamer>()
        .load_objects(crate::ObjectRequest::new(["s.pkg"]));
    run_until(&mut app, |_| preload.is_finished());
    assert_eq!(packages(&app), 0, "no level uses it");
    let (id, found) = alone(&mut app, "a.pkg", None);
    drop(preload);
    assert_eq!(found, by_itself);
    clear(&mut app, id);
    // Copies that the one has from the other.
    let (first, found) = alone(&mut app, "b.pkg", None);
    let (second, after) = alone(&mut app, "c.pkg", Some(first));
    assert!(found > 0 && found == after, "{found} and {after}");
    let (third, after) = alone(&mut app, "b.pkg", Some(second));
    assert_eq!(found, after);
    clear(&mut app, third);
}
