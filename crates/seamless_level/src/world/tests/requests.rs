//! Requests of the app: tickets, standing ones, and those of entities; counted together with those of volumes.

use super::*;
use crate::requests::LevelRequests;

fn ticket(stage: &mut Stage, level: &'static str, target: LevelTarget) -> LevelTicket {
    stage.ask(move |levels| levels.request(level, target)).unwrap()
}

#[test]
fn a_ticket_holds_until_its_last_clone_is_dropped() {
    let mut stage = Stage::new();
    stage.frames(3);
    stage.told();
    let first = ticket(&mut stage, "east", LevelTarget::Visible);
    assert_eq!((first.level(), first.target()), ("east", LevelTarget::Visible));
    let clone = first.clone();
    let second = ticket(&mut stage, "east", LevelTarget::Visible);
    stage.frames(1);
    assert_eq!(stage.told(), ["+east"]);
    drop(first);
    drop(second);
    stage.frames(2);
    assert!(stage.level("east").is_visible());
    std::thread::spawn(move || drop(clone)).join().unwrap();
    stage.frames(2);
    assert_eq!(stage.told(), ["-east"]);
}

#[test]
fn a_ticket_may_keep_a_level_away() {
    let mut stage = Stage::new();
    stage.go(WEST);
    let ban = ticket(&mut stage, "west", LevelTarget::Unloaded);
    let show = ticket(&mut stage, "west", LevelTarget::Visible);
    stage.frames(2);
    assert_eq!(stage.level("west").state(), LevelState::Unloaded);
    drop(ban);
    stage.frames(2);
    assert!(stage.level("west").is_visible());
    drop(show);
    stage.frames(2);
    assert!(stage.level("west").is_visible(), "its volume wants it");
}

#[test]
fn a_ticket_outlives_its_world_and_meets_the_next() {
    let mut stage = Stage::new();
    let ticket = ticket(&mut stage, "east", LevelTarget::Visible);
    stage.frames(3);
    assert!(stage.level("east").is_visible(), "the world came after the request");
    stage.app.world_mut().despawn(stage.world);
    stage.frames(3);
    let handle = add_manifest(&mut stage.app, manifest());
    stage.world = stage.app.world_mut().spawn(SeamlessWorld(handle)).id();
    stage.frames(3);
    assert!(stage.level("east").is_visible());
    // It may outlive the app as well.
    drop(stage);
    drop(ticket);
}

/// A standing request outlives its world, and must not for ever.
#[test]
fn what_was_asked_of_a_world_that_is_gone_is_taken_back() {
    let mut stage = Stage::new();
    stage.frames(3);
    stage.ask(|levels| levels.unload("west")).unwrap();
    let first = stage.app.world().get::<SeamlessWorld>(stage.world).unwrap().clone();
    let mut other = manifest();
    other.levels.retain(|level| level.name != "west");
    other.volumes.clear();
    let other = SeamlessWorld(add_manifest(&mut stage.app, other));
    stage.app.world_mut().entity_mut(stage.world).insert(other);
    stage.frames(3);
    assert!(stage.ask(|levels| levels.load("west")).is_err());
    assert_eq!(stage.ask(|levels| levels.release("west")), Ok(()));
    assert_eq!(stage.ask(|levels| levels.requested("west")), None);
    assert!(stage.ask(|levels| levels.release("west")).is_err(), "there is none");
    stage.app.world_mut().entity_mut(stage.world).insert(first);
    stage.go(WEST);
    assert!(stage.level("west").is_visible());
}

/// What is always loaded, and the ground, are told by their priorities.
#[test]
fn nobody_passes_a_cap_by_its_priority() {
    let mut stage = Stage::with(level_app_with(LevelSettings {
        max_levels: 2,
        ..Default::default()
    }));
    for priority in [5e7, f32::INFINITY, f32::NAN] {
        let wanted = LevelWanted {
            levels: vec!["west".into(), "east".into()],
            priority: Some(priority),
            ..LevelWanted::default()
        };
        let quest = stage.app.world_mut().spawn(wanted).id();
        stage.frames(4);
        let here = ["west", "east"].map(|level| stage.level(level).is_visible());
        assert_eq!(
            here,
            [true, false],
            "beside the level that is always loaded, at {priority}"
        );
        stage.app.world_mut().despawn(quest);
        stage.frames(4);
    }
}

#[test]
fn a_level_that_is_to_be_loaded_is_raised_and_lowered() {
    let mut stage = Stage::new();
    stage.frames(2);
    stage.ask(|levels| levels.preload("east")).unwrap();
    stage.frames(2);
    assert_eq!(stage.level("east").target(), LevelTarget::Loaded);
    stage.ask(|levels| {
        assert_eq!(levels.requested("east"), Some(RequestKind::Load));
        levels.load("east").unwrap();
    });
    stage.frames(2);
    assert_eq!(stage.level("east").target(), LevelTarget::Visible);
    let revealed = stage.level("east").times_revealed();
    let ticket = ticket(&mut stage, "east", LevelTarget::Loaded);
    stage.ask(|levels| levels.release("east")).unwrap();
    stage.frames(2);
    assert_eq!(stage.level("east").target(), LevelTarget::Loaded);
    assert_eq!(
        (stage.level("east").times_revealed(), stage.level("east").times_left()),
        (revealed, 0)
    );
    drop(ticket);
    stage.frames(2);
    assert_eq!(stage.level("east").state(), LevelState::Unloaded);
}

#[test]
fn entities_want_levels() {
    let mut stage = Stage::new();
    stage.go(WEST);
    stage.told();
    let wanted = |levels: &[&str], kind| LevelWanted {
        levels: levels.iter().map(ToString::to_string).collect(),
        kind,
        ..LevelWanted::default()
    };
    let quest = stage
        .app
        .world_mut()
        .spawn(wanted(&["east", "nowhere"], RequestKind::Show))
        .id();
    let night = stage.app.world_mut().spawn(wanted(&["west"], RequestKind::Ban)).id();
    stage.frames(2);
    assert_eq!(stage.told(), ["+east", "-west"]);
    stage
        .app
        .world_mut()
        .get_mut::<LevelWanted>(quest)
        .unwrap()
        .levels
        .clear();
    stage.app.world_mut().entity_mut(night).remove::<LevelWanted>();
    stage.frames(2);
    assert_eq!(stage.told(), ["+west", "-east"]);
    stage
        .app
        .world_mut()
        .entity_mut(quest)
        .insert(wanted(&["east"], RequestKind::Show));
    stage.frames(2);
    assert_eq!(stage.told(), ["+east"]);
    stage.app.world_mut().despawn(quest);
    stage.frames(2);
    assert_eq!(stage.told(), ["-east"]);
}

#[test]
fn an_entity_may_mean_one_world() {
    let mut stage = Stage::new();
    let handle = add_manifest(&mut stage.app, manifest());
    let second = stage.app.world_mut().spawn(SeamlessWorld(handle)).id();
    stage.frames(3);
    let wanted = LevelWanted {
        levels: vec!["east".into()],
        world: Some(second),
        ..LevelWanted::default()
    };
    stage.app.world_mut().spawn(wanted);
    stage.frames(2);
    let table = stage.app.world().get::<LevelTable>(second).unwrap();
    assert!(table.get("east").unwrap().is_visible());
    assert!(!stage.level("east").is_wanted());
}

#[test]
fn all_requests_of_the_app_are_capped_together() {
    let mut stage = Stage::with(level_app_with(LevelSettings {
        max_requests: 3,
        ..Default::default()
    }));
    stage.frames(3);
    let ticket = ticket(&mut stage, "east", LevelTarget::Visible);
    let wanted = LevelWanted {
        levels: vec!["west".into(); 5],
        ..LevelWanted::default()
    };
    let quest = stage.app.world_mut().spawn(wanted).id();
    stage.frames(2);
    assert!(stage.level("west").is_visible(), "what is within the cap counts");
    let refused = stage.ask(|levels| levels.load("east"));
    assert_eq!(refused, Err(RequestError::TooMany { limit: 3 }));
    drop(ticket);
    stage.frames(1);
    stage.ask(|levels| levels.load("east")).unwrap();
    stage.app.world_mut().despawn(quest);
    stage.frames(2);
    assert!(stage.level("east").is_visible() && !stage.level("west").is_wanted());
}

/// Who was refused is asked for as soon as there is room, in part and then wholly.
#[test]
fn what_an_entity_wants_beyond_the_cap_comes_when_there_is_room() {
    let mut stage = Stage::with(level_app_with(LevelSettings {
        max_requests: 2,
        ..Default::default()
    }));
    stage.frames(3);
    let first = ticket(&mut stage, "base", LevelTarget::Visible);
    let second = ticket(&mut stage, "base", LevelTarget::Visible);
    let wanted = LevelWanted {
        levels: vec!["west".into(), "east".into()],
        ..LevelWanted::default()
    };
    let quest = stage.app.world_mut().spawn(wanted).id();
    stage.frames(3);
    let wanted = |stage: &Stage| ["west", "east"].map(|name| stage.level(name).is_wanted());
    assert_eq!(wanted(&stage), [false, false]);
    drop(first);
    stage.frames(2);
    assert_eq!(wanted(&stage), [true, false]);
    drop(second);
    stage.frames(2);
    assert_eq!(wanted(&stage), [true, true]);
    let loads = stage.fake().loads;
    stage.frames(10);
    assert_eq!(stage.fake().loads, loads, "nothing comes and goes meanwhile");
    stage.app.world_mut().despawn(quest);
    stage.frames(2);
    assert_eq!(wanted(&stage), [false, false]);
    // A higher cap is room, too.
    let more = LevelWanted {
        levels: vec!["west".into(); 3],
        ..LevelWanted::default()
    };
    stage.app.world_mut().spawn(more.clone());
    let other = LevelWanted {
        levels: vec!["east".into()],
        ..more
    };
    let other = stage.app.world_mut().spawn(other).id();
    stage.frames(2);
    assert_eq!(wanted(&stage), [true, false]);
    stage.app.world_mut().resource_mut::<LevelSettings>().max_requests = 100;
    stage.frames(2);
    assert_eq!(wanted(&stage), [true, true]);
    stage.app.world_mut().despawn(other);
    stage.frames(2);
    assert_eq!(wanted(&stage), [true, false]);
}

/// Volumes, code and entities, in any order: what counts is who is there at the end.
#[test]
fn the_order_of_requests_does_not_matter() {
    type Step = fn(&mut Stage);
    let steps: [Step; 4] = [
        |stage| stage.go(WEST),
        |stage| stage.ask(|levels| levels.preload("west")).unwrap(),
        |stage| {
            let wanted = LevelWanted {
                levels: vec!["east".into()],
                ..LevelWanted::default()
            };
            stage.app.world_mut().spawn(wanted);
        },
        |stage| stage.ask(|levels| levels.unload("base")).unwrap(),
    ];
    let mut random = crate::random::Random(2024);
    for _ in 0..12 {
        let mut stage = Stage::new();
        let mut order = [0, 1, 2, 3];
        random.shuffle(&mut order);
        for step in order {
            steps[step](&mut stage);
            stage.frames(random.below(3));
        }
        stage.frames(3);
        let targets = ["base", "west", "east"].map(|name| stage.level(name).target());
        let expected = [LevelTarget::Unloaded, LevelTarget::Visible, LevelTarget::Visible];
        assert_eq!(targets, expected, "{order:?}");
        assert_eq!(stage.tracked(), 2);
    }
}

#[test]
fn standing_requests_are_listed_and_taken_back_at_once() {
    let mut stage = Stage::new();
    stage.frames(2);
    stage.ask(|levels| levels.load("west")).unwrap();
    stage.ask(|levels| levels.unload("base")).unwrap();
    let ticket = stage
        .ask(|levels| levels.request("east", LevelTarget::Visible))
        .unwrap();
    let all = |levels: &mut Levels| {
        let all = levels.all_requested().map(|(level, kind)| (level.to_owned(), kind));
        all.collect::<BTreeMap<_, _>>()
    };
    let expected = [("west", RequestKind::Show), ("base", RequestKind::Ban)];
    assert_eq!(
        stage.ask(all),
        expected.map(|(level, kind)| (level.to_owned(), kind)).into()
    );
    stage.frames(3);
    let seen = |stage: &Stage| ["base", "west", "east"].map(|level| stage.level(level).is_visible());
    assert_eq!(seen(&stage), [false, true, true]);
    stage.ask(|levels| levels.release_all());
    stage.frames(3);
    assert_eq!(seen(&stage), [true, false, true]);
    assert_eq!(stage.ask(all), BTreeMap::new());
    drop(ticket);
}

/// Another instance of that name is another one.
#[test]
fn what_was_asked_of_an_instance_goes_with_it() {
    use bevy_transform::components::Transform;
    let mut stage = Stage::new();
    stage.frames(2);
    let build = |levels: &mut Levels| {
        let house = NewInstance::new("house", "west", Transform::from_xyz(0.0, 900.0, 0.0));
        drop(levels.add_instance(house).unwrap());
    };
    stage.ask(build);
    stage.frames(1);
    stage.ask(|levels| levels.load("house")).unwrap();
    stage.frames(3);
    assert!(stage.level("house").is_visible());
    stage.ask(|levels| levels.remove_instance("house")).unwrap();
    stage.ask(build);
    stage.frames(5);
    assert!(!stage.level("house").is_wanted());
    assert_eq!(stage.ask(|levels| levels.requested("house")), None);
}

fn allow(stage: &mut Stage, most: usize) {
    stage.app.world_mut().resource_mut::<LevelSettings>().max_requests = most;
}

#[test]
fn a_word_that_there_is_no_room_for_changes_nothing() {
    let mut stage = Stage::new();
    stage.frames(3);
    stage.ask(|levels| levels.load("west")).unwrap();
    stage.ask(|levels| levels.load("east")).unwrap();
    allow(&mut stage, 0);
    assert_eq!(
        stage.ask(|levels| levels.unload("west")),
        Err(RequestError::TooMany { limit: 0 })
    );
    assert_eq!(stage.ask(|levels| levels.requested("west")), Some(RequestKind::Show));
    // It takes the place of the one before.
    allow(&mut stage, 2);
    assert_eq!(stage.ask(|levels| levels.unload("west")), Ok(()));
    assert!(stage.ask(|levels| levels.load("base")).is_err());
}

#[test]
fn a_ticket_that_is_dropped_makes_room_at_once() {
    let mut stage = Stage::new();
    stage.frames(3);
    allow(&mut stage, 1);
    for _ in 0..3 {
        let ticket = ticket(&mut stage, "west", LevelTarget::Visible);
        assert!(stage.ask(|levels| levels.load("east")).is_err());
        drop(ticket);
    }
}

#[test]
fn names_that_no_world_has_are_noted_whoever_asks() {
    let mut app = level_app(SeamlessLevelPlugin::default());
    let wanted = LevelWanted {
        levels: vec!["west".into(), "wset".into()],
        ..LevelWanted::default()
    };
    app.world_mut().spawn(wanted);
    app.update();
    let noted = |app: &App| app.world().resource::<LevelRequests>().unknown.clone();
    // A world may still come.
    assert!(["west", "wset"].iter().all(|level| noted(&app).contains(*level)));
    let mut stage = Stage::with(app);
    stage.frames(3);
    assert!(noted(&stage.app).is_empty());
    assert!(stage.level("west").is_visible());
    // Once, whoever writes to it in each frame.
    let mut requests = stage.app.world_mut().resource_mut::<LevelRequests>();
    assert!(
        !requests.is_news("wset") && requests.is_news("west"),
        "only the one was told"
    );
    requests.note_unknown("wset");
    assert!(requests.unknown.is_empty());
}

#[test]
fn systems_may_wait_for_a_level() {
    #[derive(Resource, Default)]
    struct Ran(u32);
    let mut app = level_app(SeamlessLevelPlugin::default());
    let count = |mut ran: ResMut<Ran>| ran.0 += 1;
    app.init_resource::<Ran>()
        .add_systems(bevy_app::Last, count.run_if(level_is_visible("east")));
    let mut stage = Stage::with(app);
    stage.frames(4);
    let ran = |stage: &Stage| stage.app.world().resource::<Ran>().0;
    assert_eq!(ran(&stage), 0);
    stage.ask(|levels| levels.load("east")).unwrap();
    stage.frames(1);
    assert!(stage.ask(|levels| levels.is_visible("east") && !levels.is_visible("west")));
    assert_eq!(ran(&stage), 1);
    stage.ask(|levels| levels.release("east")).unwrap();
    stage.frames(3);
    assert_eq!(ran(&stage), 1);
}
