//! Levels that somebody waits for by their names, and what is said before they were heard of.

use std::thread;

use bevy_transform::components::Transform;
use futures_lite::future::block_on;

use super::*;

fn request(stage: &mut Stage, level: &'static str, target: LevelTarget) -> LevelTicket {
    stage.ask(move |levels| levels.request(level, target)).unwrap()
}

fn stage() -> Stage {
    let mut stage = Stage::new();
    stage.frames(3);
    stage
}

#[test]
fn a_ticket_tells_when_its_level_is_there() {
    let mut stage = stage();
    stage.hold("east");
    let ticket = request(&mut stage, "east", LevelTarget::Visible);
    assert!(
        ticket.result().is_none() && ticket.progress().is_pending,
        "nobody has looked"
    );
    stage.frames(5);
    let coming = StreamingProgress {
        wanted: 1,
        ..StreamingProgress::default()
    };
    assert_eq!((ticket.result(), ticket.progress()), (None, coming));
    stage.release();
    stage.frames(1);
    assert!(stage.level("east").is_visible());
    assert_eq!(ticket.result(), Some(StreamingResult::Ready));
    assert_eq!(ticket.progress().fraction(), 1.0);
    assert_eq!(block_on(ticket.wait()), StreamingResult::Ready, "at once");
    // Who asks for what is there hears of it in the next frame.
    let again = request(&mut stage, "east", LevelTarget::Visible);
    assert_eq!(again.result(), None);
    stage.frames(1);
    assert_eq!(again.result(), Some(StreamingResult::Ready));
}

#[test]
fn who_waits_for_a_level_in_a_thread_is_woken() {
    let mut stage = stage();
    stage.hold("east");
    let ticket = request(&mut stage, "east", LevelTarget::Visible);
    let waiting = ticket.clone();
    let waiter = thread::spawn(move || block_on(waiting.into_future()));
    stage.frames(5);
    assert!(!waiter.is_finished());
    stage.release();
    stage.frames(1);
    assert_eq!(waiter.join().unwrap(), StreamingResult::Ready);
    assert!(stage.level("east").is_visible(), "the clone holds it");
}

/// What is seen is loaded; what is on its way is not, and others may want more of it.
#[test]
fn what_is_only_to_be_loaded_may_be_seen() {
    let mut stage = stage();
    stage.hold("east");
    stage.ask(|levels| levels.load("east")).unwrap();
    let ticket = request(&mut stage, "east", LevelTarget::Loaded);
    stage.frames(3);
    assert_eq!(ticket.result(), None);
    stage.release();
    stage.frames(1);
    assert_eq!(ticket.result(), Some(StreamingResult::Ready));
}

#[test]
fn what_cannot_come_is_not_waited_for() {
    let mut stage = stage();
    stage.fail("east");
    let failed = request(&mut stage, "east", LevelTarget::Visible);
    stage.frames(2);
    assert_eq!(failed.result(), Some(StreamingResult::WithFailures(1)));
    stage.ask(|levels| levels.unload("west")).unwrap();
    let banned = request(&mut stage, "west", LevelTarget::Visible);
    stage.frames(1);
    assert_eq!(banned.result(), Some(StreamingResult::WithFailures(1)));
    let mut small = Stage::with(level_app_with(LevelSettings {
        max_levels: 1,
        ..Default::default()
    }));
    small.frames(3);
    let left_out = request(&mut small, "east", LevelTarget::Visible);
    small.frames(2);
    assert_eq!(left_out.result(), Some(StreamingResult::WithFailures(1)));
}

/// What may pass is waited for.
#[test]
fn what_is_tried_again_is_waited_for() {
    let mut stage = stage();
    stage.fake().unreadable.insert("east");
    let ticket = request(&mut stage, "east", LevelTarget::Visible);
    stage.frames(5);
    assert!(stage.level("east").retry_in().is_some() && ticket.result().is_none());
    stage.fake().unreadable.clear();
    stage.frames(60);
    assert_eq!(ticket.result(), Some(StreamingResult::Ready));
}

/// A menu waits for the world to be empty.
#[test]
fn what_is_to_stay_away_is_waited_for_until_it_has_left() {
    let mut stage = stage();
    stage.ask(|levels| levels.load("east")).unwrap();
    stage.frames(2);
    stage.hold("east");
    let away = request(&mut stage, "east", LevelTarget::Unloaded);
    stage.frames(3);
    assert_eq!(stage.level("east").state(), LevelState::Leaving);
    assert_eq!(away.result(), None);
    stage.release();
    stage.frames(1);
    assert_eq!(away.result(), Some(StreamingResult::Ready));
}

#[test]
fn nobody_waits_for_what_no_world_has() {
    let mut stage = Stage::new();
    let system = |mut levels: Levels| levels.request("nowhere", LevelTarget::Visible).unwrap();
    let early = stage.app.world_mut().run_system_once(system).unwrap();
    assert_eq!(early.result(), None, "the manifest is on its way");
    stage.frames(4);
    assert_eq!(early.result(), Some(StreamingResult::Gone));
    // And one whose world ends.
    stage.hold("east");
    let ticket = request(&mut stage, "east", LevelTarget::Visible);
    stage.frames(2);
    stage.app.world_mut().despawn(stage.world);
    stage.frames(1);
    assert_eq!(ticket.result(), Some(StreamingResult::Gone));
    // Or whose app does.
    let mut stage = self::stage();
    stage.hold("east");
    let ticket = request(&mut stage, "east", LevelTarget::Visible);
    stage.frames(2);
    drop(stage);
    assert_eq!(block_on(ticket.wait()), StreamingResult::Gone);
}

/// It is remembered only until it has ended.
#[test]
fn who_has_heard_the_end_is_not_looked_at() {
    let mut stage = stage();
    let tickets: Vec<_> = (0..10)
        .map(|_| request(&mut stage, "east", LevelTarget::Visible))
        .collect();
    let waiting = |stage: &mut Stage| {
        let mut requests = stage.app.world_mut().resource_mut::<crate::requests::LevelRequests>();
        let mut looked = 0;
        requests.look_at_awaited(|_, _| looked += 1);
        looked
    };
    stage.frames(1);
    assert_eq!(waiting(&mut stage), 0);
    stage.hold("west");
    let more = request(&mut stage, "west", LevelTarget::Visible);
    stage.frames(2);
    assert_eq!(waiting(&mut stage), 1);
    drop((more, tickets));
    stage.frames(1);
    assert_eq!(waiting(&mut stage), 0);
}

/// Each party has a dungeon of its own, from one manifest.
#[test]
fn one_world_may_be_meant() {
    let mut stage = stage();
    let handle = add_manifest(&mut stage.app, manifest());
    let other = stage.app.world_mut().spawn(SeamlessWorld(handle)).id();
    stage.frames(3);
    stage.hold("west");
    let ask = move |level: &'static str| {
        move |levels: &mut Levels| {
            levels.ask(LevelRequest {
                world: Some(other),
                ..LevelRequest::new(level, LevelTarget::Visible)
            })
        }
    };
    let ticket = stage.ask(ask("east")).unwrap();
    stage.frames(2);
    let table = |stage: &Stage, world| {
        stage
            .app
            .world()
            .get::<LevelTable>(world)
            .unwrap()
            .get("east")
            .unwrap()
            .state()
    };
    assert_eq!(table(&stage, other), LevelState::Visible);
    assert_eq!(table(&stage, stage.world), LevelState::Unloaded);
    assert_eq!(
        (ticket.result(), ticket.progress().wanted),
        (Some(StreamingResult::Ready), 1)
    );
    let unknown = stage.ask(ask("nowhere"));
    assert!(matches!(unknown, Err(RequestError::UnknownLevel { .. })));
    // Both have it: whoever means both waits for both.
    let both = request(&mut stage, "west", LevelTarget::Visible);
    stage.frames(2);
    assert_eq!((both.result(), both.progress().wanted), (None, 2));
    stage.app.world_mut().despawn(other);
    stage.frames(1);
    assert_eq!(both.progress().wanted, 1);
}

#[test]
fn a_request_may_be_less_urgent_than_usual() {
    let mut stage = stage();
    let ask = |priority: Option<f32>| {
        move |levels: &mut Levels| {
            levels.ask(LevelRequest {
                priority,
                ..LevelRequest::new("east", LevelTarget::Visible)
            })
        }
    };
    let priority = |stage: &Stage| {
        let place = stage
            .app
            .world()
            .get::<LevelTable>(stage.world)
            .unwrap()
            .index_of("east");
        let selection = stage.app.world().get::<crate::world::LevelSelection>(stage.world);
        selection.unwrap().selector.priority(place.unwrap() as u32)
    };
    for (said, heard) in [
        (Some(5.0), 5.0),
        (None, 1e7),
        (Some(f32::INFINITY), 1e7),
        (Some(-1.0), 0.0),
        (Some(f32::NAN), 0.0),
    ] {
        let ticket = stage.ask(ask(said)).unwrap();
        stage.frames(2);
        assert_eq!(priority(&stage), heard, "{said:?}");
        drop(ticket);
        stage.frames(2);
    }
}

type Step = fn(&mut Stage);

/// Who goes on as soon as all is there must not go on in the frame in which he has asked for it.
#[test]
fn nothing_is_all_there_before_it_was_heard_of() {
    let load: Step = |stage| stage.ask(|levels| levels.load("east")).unwrap();
    let ticket: Step = |stage| core::mem::forget(request(stage, "east", LevelTarget::Visible));
    let place: Step = |stage| core::mem::forget(stage.ask(|levels| levels.prepare(ArrivalPoint::at(EAST))));
    let wanted: Step = |stage| {
        stage.app.world_mut().spawn(LevelWanted::new(["east"]));
    };
    let source: Step = |stage| {
        let place = GlobalTransform::from_translation(EAST);
        stage.app.world_mut().spawn((StreamingSource::default(), place));
    };
    let teleport: Step = |stage| {
        let place = (
            Transform::from_translation(EAST),
            GlobalTransform::from_translation(EAST),
        );
        let mut source = stage.app.world_mut().entity_mut(stage.source);
        source.insert(place);
        source.get_mut::<SourceMotion>().unwrap().teleported();
    };
    for (step, what) in [
        (load, "load"),
        (ticket, "ticket"),
        (place, "place"),
        (wanted, "wanted"),
        (source, "source"),
        (teleport, "teleport"),
    ] {
        let mut stage = stage();
        stage.frames(3);
        let all = |status: StreamingStatus| status.is_everything_there();
        let is_all_there = |stage: &mut Stage| stage.app.world_mut().run_system_once(all).unwrap();
        assert!(is_all_there(&mut stage), "{what}: before");
        stage.hold("east");
        step(&mut stage);
        for frame in 0..5 {
            assert!(!is_all_there(&mut stage), "{what}: frame {frame}");
            stage.frames(1);
        }
        stage.release();
        stage.frames(5);
        assert!(is_all_there(&mut stage), "{what}: after");
    }
}

/// What nobody can hear is not waited for.
#[test]
fn who_asks_for_nothing_is_not_waited_for() {
    let mut stage = stage();
    let place = GlobalTransform::from_translation(EAST);
    for source in [
        StreamingSource {
            enabled: false,
            ..Default::default()
        },
        StreamingSource {
            remote: true,
            ..Default::default()
        },
        StreamingSource {
            target: LevelTarget::Unloaded,
            ..Default::default()
        },
        StreamingSource {
            priority: f32::NAN,
            ..Default::default()
        },
        StreamingSource {
            world: Some(Entity::PLACEHOLDER),
            ..Default::default()
        },
    ] {
        stage.app.world_mut().spawn((source, place));
    }
    let nowhere = GlobalTransform::from_translation(Vec3::NAN);
    stage.app.world_mut().spawn((StreamingSource::default(), nowhere));
    stage.frames(5);
    let all = |status: StreamingStatus| status.is_everything_there();
    assert!(stage.app.world_mut().run_system_once(all).unwrap());
}

/// A system may ask for levels, and whether all is there.
#[test]
fn who_asks_may_look_as_well() {
    let mut stage = stage();
    let system = |mut levels: Levels, status: StreamingStatus| {
        let before = status.is_everything_there();
        levels.load("east").unwrap();
        (before, status.is_everything_there())
    };
    let told = stage.app.world_mut().run_system_once(system).unwrap();
    assert_eq!(told, (true, false));
}

/// A game may ask for the same in each frame; it need not hear of that.
#[test]
fn what_is_asked_for_already_is_no_news() {
    let mut stage = stage();
    let system = |mut levels: Levels, status: StreamingStatus| {
        levels.load("east").unwrap();
        levels.release("west").unwrap();
        status.is_everything_there()
    };
    for frame in 0..5 {
        let is_there = stage.app.world_mut().run_system_once(system).unwrap();
        assert_eq!(is_there, frame > 0, "frame {frame}");
        stage.frames(1);
    }
}

/// Of very many, each is told in its turn, however many come to no end.
#[test]
fn each_of_very_many_tickets_is_told() {
    let mut stage = stage();
    stage.hold("west");
    let stay: Vec<_> = (0..300)
        .map(|_| request(&mut stage, "west", LevelTarget::Visible))
        .collect();
    let come: Vec<_> = (0..700)
        .map(|_| request(&mut stage, "east", LevelTarget::Visible))
        .collect();
    stage.frames(12);
    assert!(
        come.iter()
            .all(|ticket| ticket.result() == Some(StreamingResult::Ready))
    );
    stage.release();
    stage.frames(4);
    assert!(
        stay.iter()
            .all(|ticket| ticket.result() == Some(StreamingResult::Ready))
    );
}

/// As many as a server has places to spawn at: some are looked at in a frame, and all hear of it, also behind those that wait for long.
#[test]
fn many_places_are_looked_at_in_turn() {
    let mut stage = stage();
    stage.hold("west");
    stage.hold("east");
    let prepare = |stage: &mut Stage, count, place| {
        let one = |_| stage.ask(move |levels| levels.prepare(ArrivalPoint::at(place)));
        (0..count).map(one).collect::<Vec<_>>()
    };
    let long = prepare(&mut stage, 400, WEST);
    let mut arrivals = prepare(&mut stage, 600, EAST);
    stage.frames(3);
    let mut number = 0;
    arrivals.retain(|_| {
        number += 1;
        number % 3 > 0
    });
    stage.fake().held.remove("east");
    let is_ready = |arrival: &Arrival| arrival.result() == Some(StreamingResult::Ready);
    let mut ready = Vec::new();
    stage.until(|_| {
        ready.push(arrivals.iter().filter(|arrival| is_ready(arrival)).count());
        ready.ends_with(&[arrivals.len()])
    });
    assert!(ready.len() <= 8, "{ready:?}");
    assert!(long.iter().all(|arrival| arrival.result().is_none()));
}
