//! Places that are got ready, and who waits for them.

use std::{thread, time::Duration};

use bevy_transform::{TransformPlugin, components::Transform};
use futures_lite::future::block_on;

use super::*;
use crate::arrival::Arrivals;

fn prepare(stage: &mut Stage, point: ArrivalPoint) -> Arrival {
    stage.ask(move |levels| levels.prepare(point))
}

fn status<R: 'static>(stage: &mut Stage, ask: impl Fn(StreamingStatus) -> R + Send + Sync + 'static) -> R {
    let system = move |status: StreamingStatus| ask(status);
    stage.app.world_mut().run_system_once(system).unwrap()
}

/// Beside the level that is always loaded.
fn progress(wanted: u32, there: u32, failed: u32) -> StreamingProgress {
    StreamingProgress {
        wanted: wanted + 1,
        there: there + 1,
        failed,
        ..StreamingProgress::default()
    }
}

#[test]
fn a_place_is_got_ready_and_let_go_of() {
    let mut stage = Stage::new();
    stage.frames(3);
    stage.fake().held.insert("west");
    let arrival = prepare(&mut stage, ArrivalPoint::at(WEST));
    assert!(!arrival.is_streaming_complete() && arrival.result().is_none());
    stage.frames(3);
    assert!(!arrival.is_streaming_complete());
    assert_eq!(
        (arrival.progress(), arrival.progress().fraction()),
        (progress(1, 0, 0), 0.5)
    );
    assert_eq!(
        stage.app.world().resource::<StreamingUrgency>().arrival,
        None,
        "nobody is there who would be late"
    );
    stage.fake().held.clear();
    stage.frames(1);
    assert!(stage.level("west").is_visible());
    assert_eq!(arrival.result(), Some(StreamingResult::Ready));
    assert_eq!(
        (arrival.progress(), arrival.progress().fraction()),
        (progress(1, 1, 0), 1.0)
    );
    assert_eq!(block_on(arrival.wait()), StreamingResult::Ready, "at once");
    // The last clone holds it.
    let clone = arrival.clone();
    drop(arrival);
    stage.frames(100);
    assert!(stage.level("west").is_visible() && clone.is_streaming_complete());
    // Whoever came meanwhile keeps it there.
    stage.go(WEST);
    let root = stage.level("west").root();
    drop(clone);
    stage.frames(100);
    assert_eq!(stage.level("west").root(), root);
    stage.go(Vec3::ZERO);
    assert!(!stage.level("west").is_wanted());
}

/// A loading screen goes when the ground is there, too, which no volume has.
#[test]
fn what_is_always_loaded_is_waited_for() {
    let mut stage = Stage::new();
    stage.hold("base");
    let (source, tower) = (stage.source, Vec3::Y * 500.0);
    let arrival = prepare(&mut stage, ArrivalPoint::at(tower));
    let shown = move |status: StreamingStatus| (status.progress(source), status.is_streaming_complete(source));
    for _ in 0..3 {
        stage.frames(1);
        assert!(!status(&mut stage, shown).1 && arrival.result().is_none());
    }
    assert_eq!(arrival.progress().wanted, 1);
    stage.release();
    stage.frames(1);
    assert_eq!(status(&mut stage, shown), (progress(0, 0, 0), true));
    assert_eq!(arrival.result(), Some(StreamingResult::Ready));
}

/// A bar that shows it begins empty.
#[test]
fn nothing_is_known_before_it_was_looked_at() {
    let mut stage = Stage::new();
    let arrival = prepare(&mut stage, ArrivalPoint::at(WEST));
    let source = stage.source;
    let shown = move |status: StreamingStatus| (status.progress(source), status.is_everything_there());
    for progress in [arrival.progress(), status(&mut stage, shown).0] {
        assert!(progress.is_pending && !progress.is_complete());
        assert_eq!(progress.fraction(), 0.0);
    }
    assert!(!status(&mut stage, shown).1);
    stage.frames(5);
    assert_eq!(arrival.progress(), progress(1, 1, 0));
    assert_eq!(status(&mut stage, shown), (progress(0, 0, 0), true));
    // Who is no source asks for nothing, and a world that is gone has nothing.
    let nobody = status(&mut stage, |status| status.progress(Entity::PLACEHOLDER));
    assert!(nobody.is_pending && nobody.wanted == 0);
    stage.app.world_mut().despawn(stage.world);
    stage.frames(1);
    assert!(!status(&mut stage, shown).1);
}

/// Nobody goes on into a world of which there is nothing; whoever waits for it is told why in vain.
#[test]
fn a_world_that_failed_is_never_complete() {
    let mut stage = Stage::new();
    stage.frames(3);
    let source = stage.source;
    let shown = move |status: StreamingStatus| {
        let failed: Vec<_> = status.failed_worlds().map(|(world, _)| world).collect();
        (
            status.is_streaming_complete(source),
            status.is_everything_there(),
            failed,
        )
    };
    assert_eq!(status(&mut stage, shown), (true, true, vec![]));
    let broken = add_manifest(&mut stage.app, WorldManifest::default());
    stage.app.world_mut().get_mut::<SeamlessWorld>(stage.world).unwrap().0 = broken;
    stage.frames(5);
    let world = stage.world;
    assert_eq!(status(&mut stage, shown), (false, false, vec![world]));
    // Another one that is there is waited for all the same.
    let good = add_manifest(&mut stage.app, manifest());
    stage.app.world_mut().spawn(SeamlessWorld(good));
    stage.frames(5);
    assert_eq!(status(&mut stage, shown), (true, true, vec![world]));
}

/// What is asked for by name is in the bar of all, and not in that of a source.
#[test]
fn what_game_code_asks_for_is_waited_for() {
    let mut stage = Stage::new();
    stage.frames(3);
    stage.hold("east");
    stage.ask(|levels| levels.load("east")).unwrap();
    stage.frames(2);
    let source = stage.source;
    let shown = move |status: StreamingStatus| (status.progress(source), status.overall_progress());
    let (own, all) = status(&mut stage, shown);
    assert!(own.is_complete() && !all.is_complete());
    assert_eq!((all.wanted, all.there), (2, 1));
    stage.release();
    stage.frames(2);
    assert!(status(&mut stage, shown).1.is_complete());
}

#[test]
fn a_place_may_be_loaded_only() {
    let mut stage = Stage::new();
    stage.frames(3);
    let target = LevelTarget::Loaded;
    let point = ArrivalPoint {
        target,
        ..ArrivalPoint::at(WEST)
    };
    let _arrival = prepare(&mut stage, point);
    stage.frames(2);
    assert_eq!(stage.level("west").target(), target);
}

#[test]
fn nothing_is_complete_before_it_was_looked_at() {
    let mut stage = Stage::new();
    stage.frames(3);
    let nowhere = prepare(&mut stage, ArrivalPoint::at(Vec3::Y * 5000.0));
    assert!(!nowhere.is_streaming_complete());
    stage.frames(1);
    assert_eq!(
        (nowhere.result(), nowhere.progress()),
        (Some(StreamingResult::Ready), progress(0, 0, 0))
    );
}

/// Nobody is to be moved to where nothing was got ready.
#[test]
fn a_place_that_is_none_is_never_ready() {
    let mut stage = Stage::new();
    stage.frames(3);
    let west = ArrivalPoint::at(WEST);
    let radius = f32::INFINITY;
    let points = [
        ArrivalPoint::at(Vec3::NAN),
        ArrivalPoint {
            shape: SourceShape::Sphere { radius },
            ..west
        },
        ArrivalPoint { reach: radius, ..west },
        ArrivalPoint {
            priority: radius,
            ..west
        },
    ];
    for point in points {
        let arrival = prepare(&mut stage, point);
        stage.frames(2);
        assert_eq!(arrival.result(), Some(StreamingResult::Gone), "{point:?}");
        assert!(!arrival.is_streaming_complete());
    }
}

#[test]
fn failures_are_counted_when_nothing_is_tried_again() {
    let mut stage = Stage::new();
    stage.frames(3);
    stage.fake().broken.insert("west");
    let arrival = prepare(&mut stage, ArrivalPoint::at(WEST));
    stage.frames(2);
    assert_eq!(arrival.result(), Some(StreamingResult::WithFailures(1)));
    assert_eq!(arrival.progress(), progress(1, 0, 1));
    drop(arrival);
    stage.frames(2);
    stage.fake().broken.clear();
    stage.fake().unreadable.insert("west");
    let arrival = prepare(&mut stage, ArrivalPoint::at(WEST));
    stage.frames(5);
    assert!(stage.level("west").retry_in().is_some() && arrival.result().is_none());
    stage.fake().unreadable.clear();
    stage.frames(60);
    assert_eq!(arrival.result(), Some(StreamingResult::Ready));
}

#[test]
fn what_is_beyond_the_cap_is_not_waited_for() {
    let mut stage = Stage::with(level_app_with(LevelSettings {
        max_levels: 1,
        ..Default::default()
    }));
    stage.frames(3);
    let arrival = prepare(&mut stage, ArrivalPoint::at(WEST));
    stage.frames(2);
    assert_eq!(arrival.result(), Some(StreamingResult::WithFailures(1)));
}

#[test]
fn there_are_no_more_arrivals_than_requests() {
    let mut stage = Stage::with(level_app_with(LevelSettings {
        max_requests: 2,
        ..Default::default()
    }));
    stage.frames(3);
    let kept = [WEST, EAST].map(|place| prepare(&mut stage, ArrivalPoint::at(place)));
    let more = prepare(&mut stage, ArrivalPoint::at(WEST));
    assert_eq!(more.result(), Some(StreamingResult::Gone));
    stage.frames(3);
    assert_eq!(kept.map(|arrival| arrival.result()), [Some(StreamingResult::Ready); 2]);
    stage.frames(3);
    let next = prepare(&mut stage, ArrivalPoint::at(WEST));
    stage.frames(3);
    assert_eq!(next.result(), Some(StreamingResult::Ready));
}

#[test]
fn what_is_banned_is_not_wanted() {
    let mut stage = Stage::new();
    stage.frames(3);
    stage.ask(|levels| levels.unload("west")).unwrap();
    let arrival = prepare(&mut stage, ArrivalPoint::at(WEST));
    stage.frames(2);
    assert_eq!(
        (arrival.result(), arrival.progress()),
        (Some(StreamingResult::Ready), progress(0, 0, 0))
    );
}

#[test]
fn one_that_is_dropped_early_leaves_nothing() {
    let mut stage = Stage::new();
    stage.frames(3);
    drop(prepare(&mut stage, ArrivalPoint::at(WEST)));
    stage.frames(3);
    assert_eq!(stage.fake().begun, ["base"]);
    stage.fake().held.insert("west");
    let arrival = prepare(&mut stage, ArrivalPoint::at(WEST));
    stage.frames(2);
    let waiting = arrival.clone();
    let waiter = thread::spawn(move || {
        drop(waiting);
    });
    waiter.join().unwrap();
    assert!(stage.level("west").is_wanted());
    drop(arrival);
    stage.frames(2);
    assert!(!stage.level("west").is_wanted(), "it asks for one frame more");
}

/// A stage on which transforms are propagated: places are those of the frame's end, if it is known that Bevy does it, or else those of the frame before.
fn stage_of_transforms(is_known: bool) -> Stage {
    let mut app = level_app(SeamlessLevelPlugin::default());
    app.add_plugins(TransformPlugin);
    app.world_mut().resource_mut::<Arrivals>().are_places_known = is_known;
    let mut stage = Stage::with(app);
    stage.frames(3);
    stage
}

/// As a system in `Update` does it.
fn teleport(stage: &mut Stage, to: Vec3) {
    let mut source = stage.app.world_mut().entity_mut(stage.source);
    source.get_mut::<Transform>().unwrap().translation = to;
    source.get_mut::<SourceMotion>().unwrap().teleported();
}

#[test]
fn an_arrival_that_is_dropped_in_the_frame_of_the_teleport_lets_nothing_fall() {
    for is_known in [true, false] {
        let mut stage = stage_of_transforms(is_known);
        let arrival = prepare(&mut stage, ArrivalPoint::at(WEST));
        stage.frames(3);
        assert!(arrival.is_streaming_complete());
        let root = stage.level("west").root();
        teleport(&mut stage, WEST);
        drop(arrival);
        for frame in 0..10 {
            stage.frames(1);
            assert!(stage.level("west").is_wanted(), "in frame {frame}");
            assert_eq!(stage.level("west").root(), root, "in frame {frame}");
        }
        teleport(&mut stage, Vec3::ZERO);
        stage.frames(3);
        assert!(!stage.level("west").is_wanted());
    }
}

#[test]
fn nobody_is_complete_before_the_new_place_was_looked_at() {
    for is_known in [true, false] {
        let mut stage = stage_of_transforms(is_known);
        let source = stage.source;
        let complete = move |status: StreamingStatus| status.is_streaming_complete(source);
        assert!(status(&mut stage, complete));
        stage.hold("west");
        teleport(&mut stage, WEST);
        for frame in 0..5 {
            assert!(!status(&mut stage, complete), "in frame {frame}");
            stage.frames(1);
            let is_asked_for = stage.level("west").is_wanted();
            assert_eq!(is_asked_for, is_known || frame > 0, "in frame {frame}");
        }
        stage.release();
        stage.frames(1);
        assert!(status(&mut stage, complete));
    }
}

#[test]
fn a_world_that_failed_before_is_gone() {
    let mut stage = Stage::new();
    let broken = add_manifest(&mut stage.app, WorldManifest::default());
    stage.app.world_mut().get_mut::<SeamlessWorld>(stage.world).unwrap().0 = broken;
    stage.frames(5);
    assert!(stage.app.world().get::<WorldFailure>(stage.world).is_some());
    let arrival = prepare(&mut stage, ArrivalPoint::at(WEST));
    stage.frames(1);
    assert_eq!(arrival.result(), Some(StreamingResult::Gone));
    assert_eq!(block_on(arrival.wait()), StreamingResult::Gone);
}

#[test]
fn worlds_that_end_end_what_waits_for_them() {
    let mut stage = Stage::new();
    stage.frames(3);
    stage.fake().held.insert("west");
    let world = Some(stage.world);
    let all = prepare(&mut stage, ArrivalPoint::at(WEST));
    let one = prepare(
        &mut stage,
        ArrivalPoint {
            world,
            ..ArrivalPoint::at(WEST)
        },
    );
    let nobodys = prepare(
        &mut stage,
        ArrivalPoint {
            world: Some(Entity::PLACEHOLDER),
            ..ArrivalPoint::at(WEST)
        },
    );
    stage.frames(2);
    assert_eq!((all.result(), one.result()), (None, None));
    assert_eq!(nobodys.result(), Some(StreamingResult::Gone));
    stage.app.world_mut().despawn(stage.world);
    stage.frames(1);
    assert_eq!(block_on(all.wait()), StreamingResult::Gone);
    assert_eq!(block_on(one.into_future()), StreamingResult::Gone);
    // The first world of another app has not come yet.
    let mut app = level_app(SeamlessLevelPlugin::default());
    let system = |mut levels: Levels| levels.prepare(ArrivalPoint::at(WEST));
    let early = app.world_mut().run_system_once(system).unwrap();
    app.update();
    assert_eq!(early.result(), None);
    let mut stage = Stage::with(app);
    stage.frames(3);
    assert_eq!(early.result(), Some(StreamingResult::Ready));
    // And one that never comes, for the app is over.
    stage.fake().held.insert("east");
    let late = prepare(&mut stage, ArrivalPoint::at(EAST));
    stage.frames(2);
    drop(stage);
    assert_eq!(block_on(late.wait()), StreamingResult::Gone);
}

#[test]
fn who_waits_in_a_thread_is_woken() {
    let mut stage = Stage::new();
    stage.frames(3);
    stage.fake().held.insert("west");
    let arrival = prepare(&mut stage, ArrivalPoint::at(WEST));
    let waiters: Vec<_> = (0..3)
        .map(|_| {
            let arrival = arrival.clone();
            thread::spawn(move || block_on(arrival.into_future()))
        })
        .collect();
    for _ in 0..20 {
        stage.frames(1);
        thread::sleep(Duration::from_millis(1));
    }
    assert!(waiters.iter().all(|waiter| !waiter.is_finished()));
    stage.fake().held.clear();
    stage.frames(1);
    for waiter in waiters {
        assert_eq!(waiter.join().unwrap(), StreamingResult::Ready);
    }
    assert!(stage.level("west").is_visible(), "the first clone still holds it");
}

#[test]
fn the_status_of_sources() {
    let mut stage = Stage::new();
    let source = stage.source;
    let complete = move |status: StreamingStatus| (status.is_streaming_complete(source), status.is_everything_there());
    assert_eq!(
        status(&mut stage, complete),
        (false, false),
        "the manifest is on its way"
    );
    stage.frames(3);
    assert_eq!(status(&mut stage, complete), (true, true));
    stage.fake().held.insert("west");
    stage.go(WEST);
    assert_eq!(status(&mut stage, complete), (false, false));
    assert_eq!(
        status(&mut stage, move |status| status.progress(source)),
        progress(1, 0, 0)
    );
    stage.fake().held.clear();
    stage.frames(1);
    assert_eq!(status(&mut stage, complete), (true, true));
    let other = stage.app.world_mut().spawn_empty().id();
    let of_other = move |status: StreamingStatus| (status.is_streaming_complete(other), status.progress(other).wanted);
    assert_eq!(status(&mut stage, of_other), (false, 0), "it is no source");
    // Others' levels do not matter to it.
    stage.fake().held.insert("east");
    stage.ask(|levels| levels.load("east")).unwrap();
    stage.frames(2);
    assert_eq!(status(&mut stage, complete), (true, false));
}

#[test]
fn bytes_tell_how_far_it_is() {
    let part = StreamingProgress {
        wanted: 4,
        there: 2,
        failed: 1,
        wanted_bytes: 1000,
        there_bytes: 250,
        ..StreamingProgress::default()
    };
    let unknown = StreamingProgress {
        is_pending: true,
        ..part
    };
    assert!(!unknown.is_complete() && unknown.fraction() == 0.0);
    assert!(!part.is_complete());
    assert_eq!(part.fraction(), 0.25);
    assert_eq!(progress(3, 0, 0).fraction(), 0.25);
    assert_eq!(StreamingProgress::default().fraction(), 1.0);
}
