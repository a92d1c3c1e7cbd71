//! Levels that failed for a reason that may pass are tried again.

use std::time::Duration;

use bevy_time::{Real, Time};

use super::*;

/// What was said of failures: level, and in how many seconds it is tried again.
#[derive(Resource, Default)]
struct Said(Vec<(String, Option<Duration>)>);

/// How long the time that waiting is measured by goes on, all at once.
const PAUSE: Duration = Duration::from_secs(7);

fn stage(retry: RetryPolicy) -> Stage {
    let mut app = level_app_with(LevelSettings {
        retry,
        ..Default::default()
    });
    app.insert_resource(StreamingTime::stopped());
    app.init_resource::<Said>()
        .add_observer(|failed: On<LevelFailed>, mut said: ResMut<Said>| {
            said.0.push((failed.level.clone(), failed.retry_in));
        });
    let mut stage = Stage::with(app);
    stage.frames(3);
    stage.fake().unreadable.insert("west");
    stage.go(WEST);
    stage
}

fn said(stage: &mut Stage) -> Vec<(String, Option<Duration>)> {
    std::mem::take(&mut stage.app.world_mut().resource_mut::<Said>().0)
}

#[test]
fn a_level_comes_when_its_file_can_be_read() {
    let mut stage = stage(RetryPolicy::default());
    let told = said(&mut stage);
    assert!(matches!(&told[..], [(level, Some(_))] if level == "west"), "{told:?}");
    let wait = stage.level("west").retry_in().unwrap();
    assert!(
        wait > Duration::from_millis(150) && wait < Duration::from_millis(500),
        "{wait:?}"
    );
    assert_eq!(stage.level("west").state(), LevelState::Failed);
    stage.frames(5);
    assert!(stage.level("west").retry_in().unwrap() < wait, "it goes by");
    stage.frames(26);
    assert_eq!(stage.level("west").times_failed(), 2);
    let second = stage.level("west").retry_in().unwrap();
    assert!(
        second > Duration::from_millis(400),
        "the second wait is longer: {second:?}"
    );
    assert_eq!(said(&mut stage), [], "it is one run of failures");
    stage.fake().unreadable.clear();
    let mut time = stage.app.world_mut().resource_mut::<StreamingTime>();
    time.advance(PAUSE);
    stage.frames(62);
    let west = stage.level("west");
    assert!(west.is_visible() && west.retry_in().is_none() && west.error().is_none());
    let times = west.waited();
    assert_eq!((times.retrying, times.total()), (PAUSE, PAUSE));
    assert_eq!(stage.told(), ["+base", "!west", "+west"]);
    // Another run begins anew.
    stage.go(Vec3::ZERO);
    stage.fake().unreadable.insert("west");
    stage.go(WEST);
    assert_eq!(said(&mut stage).len(), 1);
    assert!(stage.level("west").retry_in().unwrap() < Duration::from_millis(500));
}

/// It was the load, on the main thread, that took the time.
#[test]
fn a_frame_that_took_long_is_no_part_of_the_wait() {
    let mut app = level_app_with(LevelSettings::default());
    app.init_resource::<Time<Real>>();
    let mut stage = Stage::with(app);
    stage.frames(3);
    stage.fake().unreadable.insert("west");
    let there = GlobalTransform::from_translation(WEST);
    stage.app.world_mut().entity_mut(stage.source).insert(there);
    stage.until(|stage| stage.level("west").state() == LevelState::Failed);
    let mut after = |seconds| {
        let mut time = stage.app.world_mut().resource_mut::<Time<Real>>();
        time.advance_by(Duration::from_secs(seconds));
        stage.frames(1);
        stage.level("west").times_failed()
    };
    assert_eq!(after(20), 1, "it has not waited yet");
    assert_eq!(after(1), 2);
}

#[test]
fn a_level_is_given_up_after_some_attempts() {
    let mut stage = stage(RetryPolicy {
        attempts: 2,
        ..RetryPolicy::default()
    });
    stage.frames(30 + 60 + 10);
    let west = stage.level("west");
    assert_eq!(
        (west.times_failed(), west.state(), west.retry_in()),
        (3, LevelState::Failed, None)
    );
    stage.frames(600);
    assert_eq!(stage.level("west").times_failed(), 3);
    let told = said(&mut stage);
    assert!(
        matches!(&told[..], [(_, Some(_)), (_, None)]),
        "the first is told, and that it is given up: {told:?}"
    );
    stage.ask(|levels| levels.retry("west")).unwrap();
    stage.frames(1);
    assert_eq!(said(&mut stage).len(), 1, "who asks is told");
    assert!(
        stage.level("west").retry_in().is_some(),
        "and it is tried some times more"
    );
}

#[test]
fn what_cannot_pass_is_not_tried_again() {
    let mut stage = stage(RetryPolicy::default());
    stage.fake().unreadable.clear();
    stage.fake().broken.insert("west");
    stage.frames(60);
    let west = stage.level("west");
    assert_eq!(
        (west.times_failed(), west.retry_in()),
        (2, None),
        "it is another reason now"
    );
    stage.frames(600);
    assert_eq!(stage.level("west").times_failed(), 2);
    assert_eq!(said(&mut stage).len(), 2, "that it is given up is told");
}

#[test]
fn without_attempts_nothing_is_tried_again() {
    let mut stage = stage(RetryPolicy::OFF);
    assert_eq!(said(&mut stage), [("west".to_owned(), None)]);
    stage.frames(600);
    assert_eq!(stage.level("west").times_failed(), 1);
}

#[test]
fn a_run_of_failures_ends_when_its_last_attempt_is_cancelled() {
    let mut stage = stage(RetryPolicy::default());
    stage.fake().held.insert("west");
    stage.frames(40);
    assert!(matches!(stage.level("west").state(), LevelState::Loading(_)));
    stage.fake().held.clear();
    let origin = GlobalTransform::from_translation(Vec3::ZERO);
    stage.app.world_mut().entity_mut(stage.source).insert(origin);
    stage.frames(1);
    assert_eq!(stage.level("west").state(), LevelState::Unloaded);
    assert_eq!(said(&mut stage).len(), 1);
    stage.go(WEST);
    assert_eq!((said(&mut stage).len(), stage.level("west").times_failed()), (1, 2));
}

#[test]
fn a_run_of_failures_ends_when_its_attempt_is_let_go_of_and_wanted_again_at_once() {
    let mut stage = stage(RetryPolicy::default());
    stage.hold("west");
    stage.frames(40);
    assert_eq!(said(&mut stage).len(), 1);
    let go = |stage: &mut Stage, to: Vec3| {
        let place = GlobalTransform::from_translation(to);
        stage.app.world_mut().entity_mut(stage.source).insert(place);
        stage.frames(1);
        stage.level("west").state()
    };
    assert_eq!(go(&mut stage, Vec3::ZERO), LevelState::Leaving);
    assert!(matches!(go(&mut stage, WEST), LevelState::Loading(_)));
    stage.release();
    stage.frames(1);
    let told = said(&mut stage);
    assert!(matches!(&told[..], [(level, Some(_))] if level == "west"), "{told:?}");
}

#[test]
fn what_is_tried_again_keeps_its_place_under_the_cap() {
    let mut app = level_app_with(LevelSettings {
        max_levels: 2,
        ..Default::default()
    });
    app.init_resource::<Told>();
    let mut stage = Stage::with(app);
    stage.go(WEST);
    stage.frames(3);
    assert!(stage.level("west").is_visible());
    // What the app asks for is more urgent, and has never come yet.
    stage.fake().unreadable.insert("east");
    stage.ask(|levels| levels.load("east")).unwrap();
    stage.frames(5);
    let retries = RetryPolicy::default().attempts as usize;
    let mut frames = 0;
    while stage.level("east").retry_in().is_some() || stage.level("east").state() != LevelState::Failed {
        assert!(!stage.level("west").is_wanted(), "its place is taken in frame {frames}");
        stage.frames(1);
        frames += 1;
        assert!(frames < 3000);
    }
    assert_eq!(stage.level("east").times_failed() as usize, retries + 1);
    stage.frames(3);
    let west = stage.level("west");
    assert!(west.is_visible(), "it was given up, and takes no place any more");
    assert_eq!((west.times_left(), west.times_revealed()), (1, 2));
}

#[test]
fn what_is_not_wanted_meanwhile_is_forgotten() {
    let mut stage = stage(RetryPolicy::default());
    stage.go(Vec3::ZERO);
    let west = stage.level("west");
    assert_eq!((west.state(), west.retry_in()), (LevelState::Unloaded, None));
    stage.frames(120);
    assert_eq!(stage.level("west").times_failed(), 1);
    // Wanted anew before its time would have come, it is tried at once, and the old time does not count.
    stage.go(WEST);
    stage.go(Vec3::ZERO);
    stage.fake().held.insert("west");
    stage.go(WEST);
    stage.frames(60);
    assert!(matches!(stage.level("west").state(), LevelState::Loading(_)));
    assert_eq!((stage.level("west").times_failed(), said(&mut stage).len()), (2, 2));
    let loads = stage.fake().loads;
    stage.frames(60);
    assert_eq!(stage.fake().loads, loads);
    // Its world ends while it waits.
    stage.fake().held.clear();
    stage.frames(2);
    assert!(stage.level("west").retry_in().is_some());
    stage.app.world_mut().despawn(stage.world);
    stage.frames(120);
    assert_eq!(stage.tracked(), 0);
}
