//! What was read in vain, by how far it came.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use bevy_mesh::PrimitiveTopology;

use super::{
    build::{asset_object, new_package},
    gated::{gated_app, gated_app_with, mesh_is_gone, run_until_pending},
    objects::recipes,
    *,
};
use crate::{
    InHiddenLevel, ObjectRequest, SeamlessAssetApp, WastedBytes,
    doubles::{Fate, ReadGate},
};

/// Lets so many reads of a new load of `a.pkg` pass.
fn load_up_to(app: &mut App, gate: &ReadGate, passed: usize) -> InstanceId {
    let id = load(app, "a.pkg", &[]);
    for _ in 0..passed {
        run_until_pending(app, gate, "a.pkg");
        gate.release("a.pkg", Fate::Pass);
    }
    id
}

fn unload(app: &mut App, gate: &ReadGate, id: InstanceId) {
    app.world_mut().resource_mut::<Streamer>().unload(id);
    run_until(app, |world| {
        let is_counted = world.resource::<StreamingStats>().bytes_read == gate.bytes();
        state(world, id).is_none() && mesh_is_gone(world) && is_counted
    });
}

#[test]
fn wasted_bytes_are_told_by_how_far_loads_came() {
    let dir = Dir::default();
    let (mut app, gate) = gated_app(&dir);
    let bytes = chain(&app, "a.pkg", 5, None);
    let header = seamless_package::Summary::parse(&bytes, &seamless_package::Limits::default())
        .unwrap()
        .header_len();
    let (summary, whole) = (seamless_package::SUMMARY_SIZE as u64, bytes.len() as u64);
    put(&dir, "a.pkg", bytes);
    let mut expected = WastedBytes::default();
    let mut check = |app: &App, change: fn(&mut WastedBytes) -> &mut u64, bytes: u64| {
        *change(&mut expected) += bytes;
        let stats = app.world().resource::<StreamingStats>();
        assert_eq!(stats.wasted_by_stage, expected);
        assert_eq!(stats.bytes_wasted, expected.total());
    };
    let id = load_up_to(&mut app, &gate, 2);
    run_until_pending(&mut app, &gate, "a.pkg");
    unload(&mut app, &gate, id);
    check(&app, |wasted| &mut wasted.opening, summary);
    let id = load_up_to(&mut app, &gate, 3);
    run_until_pending(&mut app, &gate, "a.pkg");
    unload(&mut app, &gate, id);
    check(&app, |wasted| &mut wasted.reading, header);
    let id = load_up_to(&mut app, &gate, 3);
    run_until_pending(&mut app, &gate, "a.pkg");
    gate.release("a.pkg", Fate::Short(10));
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Failed));
    unload(&mut app, &gate, id);
    check(&app, |wasted| &mut wasted.decoding, header + 10);
    app.world_mut().resource_mut::<RevealGates>().0.push(Box::new(Closed));
    let id = load_up_to(&mut app, &gate, 4);
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Staged));
    unload(&mut app, &gate, id);
    check(&app, |wasted| &mut wasted.staged, whole);
}

/// All that was read is decoded, and a part of it is in its `Assets`.
#[test]
fn what_is_let_go_of_while_its_assets_come_is_wasted_whole() {
    const RECIPES: usize = 16;
    let dir = Dir::default();
    let (mut app, gate) = gated_app(&dir);
    // One asset a frame.
    app.world_mut().resource_mut::<StreamingSettings>().budget = Duration::ZERO;
    put(&dir, "a.pkg", chain(&app, "a.pkg", 5, None));
    let titles: Vec<_> = (0..RECIPES).map(|index| format!("soup {index}")).collect();
    let all: Vec<(&str, &[&str])> = titles.iter().map(|title| (title.as_str(), &[][..])).collect();
    put(&dir, "soups.pkg", recipes(&app, "soups.pkg", &all));
    let id = load(&mut app, "a.pkg", &["soups.pkg"]);
    // The level is there before anything of the other package is read.
    run_until(&mut app, |world| {
        gate.release("a.pkg", Fate::Pass);
        state(world, id) == Some(LoadState::Staged)
    });
    gate.otherwise(Some(Fate::Pass));
    let there = |world: &World| world.resource::<Assets<Recipe>>().len();
    run_until(&mut app, |world| there(world) >= RECIPES / 2);
    assert!(there(app.world()) < RECIPES, "only a part has come");
    unload(&mut app, &gate, id);
    let wasted = WastedBytes {
        staged: gate.bytes(),
        ..WastedBytes::default()
    };
    let stats = app.world().resource::<StreamingStats>();
    assert_eq!((stats.wasted_by_stage, stats.cancelled), (wasted, 1));
}

/// What the first instance has read is its package's, of which assets are used; what is read for another one is for that alone.
#[test]
fn a_level_that_comes_once_more_has_wasted_its_first_read() {
    let dir = Dir::default();
    let mut app = sliced_app(&dir);
    app.world_mut().resource_mut::<StreamingSettings>().budget = Duration::ZERO;
    put(&dir, "a.pkg", chain(&app, "a.pkg", 1_000, None));
    let first = load(&mut app, "a.pkg", &[]);
    run_until(&mut app, |world| state(world, first) == Some(LoadState::Live));
    let read = |app: &App| app.world().resource::<StreamingStats>().bytes_read;
    let before = read(&app);
    let other = load(&mut app, "a.pkg", &[]);
    run_until(&mut app, |world| {
        let mut come = world.query_filtered::<(), (With<Likes>, With<InHiddenLevel>)>();
        come.iter(world).next().is_some()
    });
    let once = read(&app) - before;
    app.add_observer(|_: On<Add, Likes>| {});
    run_until(&mut app, |world| state(world, other) == Some(LoadState::Live));
    assert_eq!(read(&app), before + 2 * once, "it was read again");
    let wasted = WastedBytes {
        staged: once,
        ..WastedBytes::default()
    };
    let stats = app.world().resource::<StreamingStats>();
    assert_eq!(stats.wasted_by_stage, wasted);
}

/// What looks at each value that is decoded, and waits at the first one.
#[derive(Default)]
struct Halt {
    seen: AtomicUsize,
    held: Mutex<()>,
}

impl Halt {
    fn look(&self) {
        self.seen.fetch_add(1, Ordering::SeqCst);
        drop(self.held.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn seen(&self) -> usize {
        self.seen.load(Ordering::SeqCst)
    }
}

/// An app that halts, and what of it was decoded in vain when `load` is let go of at the first value.
fn decoded_after_cancel(
    app: &mut App,
    halt: &Halt,
    load: impl FnOnce(&mut App),
    cancel: impl FnOnce(&mut App),
) -> usize {
    let held = halt.held.lock().unwrap();
    load(app);
    run_until(app, |_| halt.seen() > 0);
    cancel(app);
    app.update();
    drop(held);
    run_until(app, |world| {
        let stats = world.resource::<StreamingStats>();
        stats.tasks == 0 && stats.bytes_read > 0 && stats.bytes_read == stats.wasted_by_stage.decoding
    });
    halt.seen()
}

#[test]
fn a_level_that_is_let_go_of_while_it_is_decoded_is_decoded_no_further() {
    let (dir, halt) = (Dir::default(), Arc::new(Halt::default()));
    let [places, likes] = [(); 2].map(|()| halt.clone());
    let (mut app, gate) = gated_app_with(&dir, |app| {
        app.add_component_post_load(move |_: &mut [Transform], _| {
            places.look();
            Ok(())
        });
        app.add_component_post_load(move |_: &mut [Likes], _| {
            likes.look();
            Ok(())
        });
    });
    gate.otherwise(Some(Fate::Pass));
    put(&dir, "a.pkg", chain(&app, "a.pkg", 5, None));
    let id = std::cell::Cell::new(None);
    let unload = |app: &mut App| app.world_mut().resource_mut::<Streamer>().unload(id.get().unwrap());
    let seen = decoded_after_cancel(&mut app, &halt, |app| id.set(Some(load(app, "a.pkg", &[]))), unload);
    assert_eq!(seen, 1, "two columns in each of two groups");
}

#[test]
fn objects_that_are_let_go_of_while_they_are_decoded_are_decoded_no_further() {
    let (dir, halt) = (Dir::default(), Arc::new(Halt::default()));
    let looks = halt.clone();
    let (mut app, gate) = gated_app_with(&dir, |app| {
        app.add_post_load(move |_: &mut Mesh, _| {
            looks.look();
            Ok(())
        });
    });
    gate.otherwise(Some(Fate::Pass));
    let mut writer = new_package(&app, "a.pkg");
    for name in ["One", "Two", "Three"] {
        let mesh = Mesh::new(PrimitiveTopology::PointList, RenderAssetUsages::default())
            .with_inserted_attribute(Mesh::ATTRIBUTE_POSITION, vec![[0.0, 1.0, 2.0]]);
        asset_object(&mut writer, &app, name, mesh, vec![]);
    }
    put(&dir, "a.pkg", writer.finish().unwrap());
    let request = ObjectRequest::new(["a.pkg#One", "a.pkg#Two", "a.pkg#Three"]);
    let asked = std::cell::Cell::new(None);
    let seen = decoded_after_cancel(
        &mut app,
        &halt,
        |app| asked.set(Some(app.world_mut().resource_mut::<Streamer>().load_objects(request))),
        |_| drop(asked.take()),
    );
    assert_eq!(seen, 1, "three meshes");
}
