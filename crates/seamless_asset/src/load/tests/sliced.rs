//! Levels that come and go in slices, and levels that are hidden.

mod inherited;
mod leaving;
mod lost;
mod road;
mod traps;

use std::collections::BTreeMap;

use bevy_ecs::observer::On;

use super::{
    targets::{events, load_to, set_target},
    *,
};
use crate::{InHiddenLevel, LevelInstance, ReloadPolicy, ReloadRequest};

const COUNT: usize = 1_000;

/// An app that has opted in, with a budget that no unit of work fits, so that each frame does one.
fn sliced(dir: &Dir) -> App {
    let mut app = sliced_app(dir);
    app.world_mut().resource_mut::<StreamingSettings>().budget = Duration::ZERO;
    put(dir, "a.pkg", chain(&app, "a.pkg", COUNT as u32, None));
    app
}

fn load_until(app: &mut App, wanted: LoadState) -> InstanceId {
    let id = load_to(app, "a.pkg", InstanceTarget::Shown);
    run_until(app, |world| state(world, id) == Some(wanted));
    id
}

fn hidden(world: &mut World) -> usize {
    world.query_filtered::<(), With<InHiddenLevel>>().iter(world).count()
}

fn root_of(world: &mut World) -> Option<Entity> {
    world.query_filtered::<Entity, With<LevelInstance>>().single(world).ok()
}

/// What each frame finds of a level.
#[derive(Resource, Default)]
struct Found(Vec<[usize; 3]>);

fn look(
    likes: Query<&Likes>,
    added: Query<(), Added<Likes>>,
    changed: Query<(), Changed<Likes>>,
    mut found: ResMut<Found>,
) {
    found
        .0
        .push([likes.iter().len(), added.iter().count(), changed.iter().count()]);
}

fn watched(mut app: App) -> App {
    app.init_resource::<Found>().add_systems(bevy_app::Last, look);
    app
}

#[test]
fn a_level_that_comes_in_slices_is_seen_whole_in_one_frame() {
    let dir = Dir::default();
    let mut app = watched(sliced(&dir));
    let mut most_hidden = 0;
    let id = load_until(&mut app, LoadState::Revealing);
    run_until(&mut app, |world| {
        most_hidden = most_hidden.max(hidden(world));
        state(world, id) == Some(LoadState::Live)
    });
    assert_eq!(hidden(app.world_mut()), 0);
    assert!(most_hidden > COUNT / 2, "{most_hidden} were hidden at most: no slices");
    app.update();
    let mut found = app.world_mut().resource_mut::<Found>();
    let found = core::mem::take(&mut found.0);
    let come: Vec<_> = found.iter().filter(|found| **found != [0; 3]).collect();
    assert_eq!(
        come,
        [&[COUNT; 3], &[COUNT, 0, 0]],
        "whole in one frame, added in that, and then just there"
    );
}

#[derive(Resource, Default)]
struct Observed {
    count: usize,
    largest: usize,
    smallest: Option<usize>,
}

#[test]
fn an_observer_finds_the_whole_level() {
    let dir = Dir::default();
    let mut app = sliced(&dir);
    app.init_resource::<Observed>();
    app.add_observer(
        |_: On<Add, Likes>, transforms: Query<&Transform>, mut observed: ResMut<Observed>| {
            observed.count += 1;
            let found = transforms.iter().len();
            observed.largest = observed.largest.max(found);
            observed.smallest = Some(observed.smallest.unwrap_or(found).min(found));
        },
    );
    load_until(&mut app, LoadState::Live);
    let observed = app.world().resource::<Observed>();
    // With the root.
    let whole = COUNT + 1;
    assert_eq!(
        (observed.count, observed.smallest, observed.largest),
        (COUNT, Some(whole), whole)
    );
}

/// Its `On<Add>` for what has come already would never be.
#[test]
fn a_level_that_somebody_begins_to_observe_comes_once_more() {
    let dir = Dir::default();
    let mut app = sliced(&dir);
    app.init_resource::<Observed>();
    let id = load_until(&mut app, LoadState::Revealing);
    app.add_observer(|_: On<Add, Likes>, mut observed: ResMut<Observed>| observed.count += 1);
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Live));
    assert_eq!(app.world().resource::<Observed>().count, COUNT);
    run_until(&mut app, |world| hidden(world) == 0);
    assert_eq!(level_entities(app.world_mut()), COUNT);
    let ends: Vec<_> = events(&mut app);
    assert!(matches!(ends.last(), Some(InstanceEvent::Revealed { .. })), "{ends:?}");
    let stats = app.world().resource::<StreamingStats>();
    // What it has read first is its package's, whose mesh is used; see `waste.rs`.
    assert_eq!((stats.cancelled, stats.bytes_wasted), (0, 0));
}

#[test]
fn a_level_leaves_in_one_frame_and_is_despawned_in_many() {
    let dir = Dir::default();
    let mut app = watched(sliced(&dir));
    let before = app.world().entities().count_spawned();
    let id = load_until(&mut app, LoadState::Live);
    app.world_mut().resource_mut::<Found>().0.clear();
    set_target(&mut app, id, InstanceTarget::Gone);
    run_until(&mut app, |world| state(world, id).is_none());
    let told = events(&mut app);
    assert!(matches!(told.last(), Some(InstanceEvent::Left { .. })), "{told:?}");
    assert!(hidden(app.world_mut()) > COUNT / 2);
    assert_eq!(app.world().resource::<Assets<Mesh>>().len(), 1, "until the end");
    // The same level again finds what the old one has.
    let again = load_to(&mut app, "a.pkg", InstanceTarget::Loaded);
    run_until(&mut app, |world| state(world, again) == Some(LoadState::Staged));
    run_until(&mut app, |world| hidden(world) == 0);
    assert_eq!(app.world().entities().count_spawned(), before);
    assert_eq!(app.world().resource::<Assets<Mesh>>().len(), 1);
    set_target(&mut app, again, InstanceTarget::Gone);
    run_until(&mut app, |world| world.resource::<LiveObjectsResource>().0.is_empty());
    let found = &app.world().resource::<Found>().0;
    assert!(found.iter().all(|[all, ..]| [0, COUNT].contains(all)), "{found:?}");
    assert_eq!(app.world().resource::<StreamingStats>().hidden_entities, 0);
}

/// What goes takes less and less, also what was given up when only a part of it was there.
#[test]
fn what_is_despawned_is_never_counted_as_more_than_it_was() {
    let dir = Dir::default();
    let mut app = sliced(&dir);
    let levels = |world: &World| world.resource::<StreamingStats>().memory.levels;
    let id = load_until(&mut app, LoadState::Live);
    app.update();
    let all = levels(app.world());
    assert!(all > 0);
    let falls = |app: &mut App, most: u64| {
        let mut last = most;
        run_until(app, |world| {
            let now = levels(world);
            assert!(now <= last, "{now} after {last}");
            last = now;
            hidden(world) == 0 && now == 0
        });
    };
    set_target(&mut app, id, InstanceTarget::Gone);
    falls(&mut app, all);
    for part in [2, 10] {
        let id = load_until(&mut app, LoadState::Revealing);
        (0..part).for_each(|_| app.update());
        let spawned = hidden(app.world_mut()) as u64;
        assert!((1..COUNT as u64 / 2).contains(&spawned), "{spawned}");
        set_target(&mut app, id, InstanceTarget::Gone);
        app.update();
        falls(&mut app, all * (spawned + 1) / COUNT as u64);
    }
}

#[test]
fn what_game_code_has_hung_below_leaves_too() {
    let dir = Dir::default();
    let mut app = sliced(&dir);
    let before = app.world().entities().count_spawned();
    let id = load_until(&mut app, LoadState::Live);
    let world = app.world_mut();
    let first = world
        .query_filtered::<Entity, With<Likes>>()
        .iter(world)
        .next()
        .unwrap();
    let lamp = world.spawn((ChildOf(first), Transform::default())).id();
    world.spawn((ChildOf(lamp), Transform::default()));
    set_target(&mut app, id, InstanceTarget::Gone);
    run_until(&mut app, |world| state(world, id).is_none());
    let world = app.world_mut();
    assert_eq!(world.query::<&Transform>().iter(world).count(), 0);
    run_until(&mut app, |world| world.entities().count_spawned() == before);
}

#[test]
fn cancelled_slices_give_their_entity_ids_back() {
    let dir = Dir::default();
    let mut app = sliced(&dir);
    app.update();
    let (spawned, before) = (app.world().entities().count_spawned(), taken_ids(app.world_mut()));
    for round in 0..60 {
        let id = load_until(&mut app, LoadState::Revealing);
        for _ in 0..round % 16 {
            app.update();
        }
        set_target(&mut app, id, InstanceTarget::Gone);
        let mut told = events(&mut app);
        run_until(&mut app, |world| {
            told.extend(world.resource_mut::<Messages<InstanceEvent>>().drain());
            hidden(world) == 0 && state(world, id).is_none()
        });
        let ends = |event: &&InstanceEvent| !matches!(event, InstanceEvent::Revealed { .. });
        assert_eq!(told.iter().filter(ends).count(), 1, "{told:?}");
        assert_eq!(app.world().entities().count_spawned(), spawned);
    }
    let is_all_wasted = |world: &mut World| {
        let stats = world.resource::<StreamingStats>();
        stats.bytes_wasted == stats.bytes_read && stats.bytes_read > 0
    };
    // Once their packages are let go of: nobody has seen anything of them.
    run_until(&mut app, is_all_wasted);
    // What has left is in nobody's list until it is despawned, so one level more may have been there.
    assert_ids_are_back(&mut app, before + COUNT as u32);
    run_until(&mut app, |world| world.resource::<LiveObjectsResource>().0.is_empty());
}

/// Game code that drops what somebody carried drops nothing of what was never there.
#[test]
fn nobody_hears_of_the_removal_of_what_nobody_has_seen() {
    #[derive(Resource, Default)]
    struct Removed(u32);

    let dir = Dir::default();
    let mut app = sliced(&dir);
    app.init_resource::<Removed>();
    app.add_observer(|_: On<Remove, Likes>, mut removed: ResMut<Removed>| removed.0 += 1);
    for _ in 0..20 {
        let id = load_until(&mut app, LoadState::Revealing);
        (0..4).for_each(|_| app.update());
        set_target(&mut app, id, InstanceTarget::Gone);
        run_until(&mut app, |world| hidden(world) == 0 && state(world, id).is_none());
    }
    assert_eq!(app.world().resource::<Removed>().0, 0);
    let id = load_until(&mut app, LoadState::Live);
    set_target(&mut app, id, InstanceTarget::Gone);
    run_until(&mut app, |world| hidden(world) == 0 && state(world, id).is_none());
    assert_eq!(app.world().resource::<Removed>().0, COUNT as u32);
}

#[test]
fn a_level_that_is_not_to_be_shown_yet_waits_where_it_is() {
    let dir = Dir::default();
    let mut app = sliced(&dir);
    let id = load_until(&mut app, LoadState::Revealing);
    set_target(&mut app, id, InstanceTarget::Loaded);
    app.update();
    let there = hidden(app.world_mut());
    for _ in 0..30 {
        app.update();
        assert_eq!(hidden(app.world_mut()), there);
    }
    set_target(&mut app, id, InstanceTarget::Shown);
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Live));
    assert_eq!(level_entities(app.world_mut()), COUNT);
}

#[test]
fn a_hidden_level_keeps_its_entities_and_what_was_done_to_them() {
    let dir = Dir::default();
    let mut app = watched(sliced(&dir));
    let id = load_until(&mut app, LoadState::Live);
    let entities = |world: &mut World| {
        let mut all: Vec<_> = world.query_filtered::<Entity, With<Likes>>().iter(world).collect();
        all.sort_unstable();
        all
    };
    let all = entities(app.world_mut());
    app.world_mut().get_mut::<Transform>(all[7]).unwrap().translation.y = 77.0;
    app.update();
    events(&mut app);
    for _ in 0..3 {
        set_target(&mut app, id, InstanceTarget::Loaded);
        run_until(&mut app, |world| state(world, id) == Some(LoadState::Hidden));
        assert!(matches!(events(&mut app)[..], [InstanceEvent::Hidden { .. }]));
        assert_eq!(level_entities(app.world_mut()), 0);
        assert_eq!(app.world().resource::<StreamingStats>().live_entities, 0);
        app.world_mut().resource_mut::<Found>().0.clear();
        set_target(&mut app, id, InstanceTarget::Shown);
        run_until(&mut app, |world| state(world, id) == Some(LoadState::Live));
        assert!(matches!(events(&mut app)[..], [InstanceEvent::Shown { .. }]));
        assert_eq!(entities(app.world_mut()), all);
        assert_eq!(app.world().get::<Transform>(all[7]).unwrap().translation.y, 77.0);
        app.update();
        let found = &app.world().resource::<Found>().0;
        assert!(
            found.iter().all(|[_, added, changed]| (*added, *changed) == (0, 0)),
            "{found:?}"
        );
    }
    let before = app.world().resource::<StreamingStats>().left;
    set_target(&mut app, id, InstanceTarget::Loaded);
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Hidden));
    set_target(&mut app, id, InstanceTarget::Gone);
    run_until(&mut app, |world| hidden(world) == 0 && state(world, id).is_none());
    assert_eq!(app.world().resource::<StreamingStats>().left, before + 1);
    run_until(&mut app, |world| world.resource::<LiveObjectsResource>().0.is_empty());
}

fn hide_and_show(app: &mut App, id: InstanceId, meanwhile: impl FnOnce(&mut World)) {
    set_target(app, id, InstanceTarget::Loaded);
    run_until(app, |world| state(world, id) == Some(LoadState::Hidden));
    meanwhile(app.world_mut());
    set_target(app, id, InstanceTarget::Shown);
    run_until(app, |world| state(world, id) == Some(LoadState::Live));
}

/// Whether a reload that refuses to touch edits goes through.
fn reloads(app: &mut App) -> bool {
    let request = ReloadRequest {
        policy: ReloadPolicy::Refuse,
        ..ReloadRequest::new("a.pkg")
    };
    let load = app.world_mut().resource_mut::<Streamer>().reload(request);
    run_until(app, |_| load.result().is_some());
    load.result().is_some_and(|result| result.is_ok())
}

/// What was hidden and shown counts as changed for systems, and not as edited for reloads.
#[test]
fn only_what_game_code_has_changed_is_an_edit_to_a_reload() {
    let dir = Dir::default();
    let mut app = sliced(&dir);
    let id = load_until(&mut app, LoadState::Live);
    hide_and_show(&mut app, id, |_| {});
    assert!(reloads(&mut app));
    hide_and_show(&mut app, id, |world| {
        let all: Vec<_> = world
            .query_filtered::<Entity, With<InHiddenLevel>>()
            .iter(world)
            .collect();
        let drawn = all
            .into_iter()
            .find(|entity| world.get::<Likes>(*entity).is_some())
            .unwrap();
        world.get_mut::<Transform>(drawn).unwrap().translation.y = 7.0;
    });
    assert!(!reloads(&mut app));
    hide_and_show(&mut app, id, |_| {});
    assert!(!reloads(&mut app), "it is not forgotten");
}

#[test]
fn a_paused_level_says_that_it_is_loaded() {
    let dir = Dir::default();
    let mut app = sliced(&dir);
    let id = load_until(&mut app, LoadState::Revealing);
    events(&mut app);
    for _ in 0..2 {
        set_target(&mut app, id, InstanceTarget::Loaded);
        app.update();
        assert_eq!(state(app.world(), id), Some(LoadState::Staged));
        let told = events(&mut app);
        assert!(
            matches!(told[..], [InstanceEvent::Loaded { entities, .. }] if entities as usize == COUNT),
            "{told:?}"
        );
        set_target(&mut app, id, InstanceTarget::Shown);
        app.update();
        assert_eq!(state(app.world(), id), Some(LoadState::Revealing));
    }
}

#[test]
fn a_request_that_is_not_wanted_is_cancelled() {
    let dir = Dir::default();
    let mut app = sliced(&dir);
    let id = load_to(&mut app, "a.pkg", InstanceTarget::Gone);
    app.update();
    assert_eq!(state(app.world(), id), None);
    assert!(matches!(events(&mut app)[..], [InstanceEvent::Cancelled { .. }]));
}

#[test]
fn a_hidden_level_whose_root_is_despawned_has_left() {
    let dir = Dir::default();
    let mut app = sliced(&dir);
    let before = app.world().entities().count_spawned();
    let id = load_until(&mut app, LoadState::Live);
    let root = root_of(app.world_mut()).unwrap();
    set_target(&mut app, id, InstanceTarget::Loaded);
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Hidden));
    app.world_mut().entity_mut(root).despawn();
    run_until(&mut app, |world| state(world, id).is_none());
    run_until(&mut app, |world| world.resource::<LiveObjectsResource>().0.is_empty());
    assert_eq!(app.world().entities().count_spawned(), before);
}

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        let Self(state) = self;
        *state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (*state >> 33) as usize % end
    }
}

fn count_ends(world: &mut World, ended: &mut BTreeMap<InstanceId, u32>) {
    for event in world.resource_mut::<Messages<InstanceEvent>>().drain() {
        if let InstanceEvent::Left { id } | InstanceEvent::Cancelled { id } = event {
            *ended.entry(id).or_default() += 1;
        }
    }
}

/// How many entities are seen of each level of which any is.
fn seen_of_each(world: &mut World) -> Vec<usize> {
    let mut members = world.query_filtered::<Entity, With<Likes>>();
    let mut seen = BTreeMap::<Entity, usize>::new();
    for member in members.iter(world) {
        let above = core::iter::successors(Some(member), |entity| Some(world.get::<ChildOf>(*entity)?.parent()));
        *seen.entry(above.last().unwrap_or(member)).or_default() += 1;
    }
    seen.into_values().collect()
}

/// Twelve levels, and a new target for one of them in every frame.
#[test]
fn whatever_is_asked_for_each_level_ends_once_and_is_never_seen_in_part() {
    const LEVELS: usize = 12;
    const SIZE: usize = 150;
    let dir = Dir::default();
    let mut app = sliced(&dir);
    put(&dir, "b.pkg", chain(&app, "b.pkg", SIZE as u32, None));
    let spawned = app.world().entities().count_spawned();
    let mut random = Random(7);
    let mut ids: [Option<InstanceId>; LEVELS] = [None; LEVELS];
    let (mut asked, mut ended) = (0, BTreeMap::new());
    for _ in 0..4_000 {
        let slot = random.below(LEVELS);
        let target = match random.below(8) {
            0 => InstanceTarget::Gone,
            1 | 2 => InstanceTarget::Loaded,
            _ => InstanceTarget::Shown,
        };
        let known = ids[slot].filter(|id| state(app.world(), *id).is_some());
        let id = known.unwrap_or_else(|| {
            asked += 1;
            load_to(&mut app, "b.pkg", target)
        });
        ids[slot] = Some(id);
        set_target(&mut app, id, target);
        let mut done = random.below(4) > 0;
        run_until(&mut app, |world| {
            let seen = seen_of_each(world);
            assert!(seen.iter().all(|seen| *seen == SIZE), "{seen:?}");
            count_ends(world, &mut ended);
            // Now and then until its load has ended.
            done |= state(world, id).is_none_or(|state| state as u8 >= LoadState::Staged as u8);
            done
        });
    }
    for id in ids.into_iter().flatten() {
        set_target(&mut app, id, InstanceTarget::Gone);
    }
    run_until(&mut app, |world| {
        count_ends(world, &mut ended);
        hidden(world) == 0 && world.resource::<Streamer>().is_empty()
    });
    assert_eq!(ended.len(), asked);
    assert!(ended.values().all(|ends| *ends == 1), "{ended:?}");
    assert_eq!(app.world().entities().count_spawned(), spawned);
    let stats = app.world().resource::<StreamingStats>();
    let ends = [stats.left, stats.cancelled, stats.revealed];
    assert!(ends.iter().all(|count| *count > 20), "{ends:?}");
    run_until(&mut app, |world| world.resource::<LiveObjectsResource>().0.is_empty());
}
