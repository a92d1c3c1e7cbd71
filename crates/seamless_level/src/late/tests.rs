use bevy_app::App;
use bevy_ecs::message::Messages;
use bevy_math::{BVec3, Vec3};
use bevy_transform::components::GlobalTransform;

use super::*;
use crate::{
    LevelSettings, StreamingSource,
    random::Random,
    settings::ARRIVAL_AXES,
    world::tests::{Stage, level_app, with_bounds},
};

fn stage() -> Stage {
    let mut stage = Stage::of(level_app(crate::SeamlessLevelPlugin::default()), with_bounds());
    stage.frames(3);
    messages(&mut stage.app);
    stage
}

fn messages(app: &mut App) -> Vec<LevelLate> {
    app.world_mut().resource_mut::<Messages<LevelLate>>().drain().collect()
}

fn late(stage: &Stage) -> Vec<String> {
    let late = stage.app.world().resource::<LateLevels>();
    late.iter().map(|level| level.name.clone()).collect()
}

fn put(stage: &mut Stage, position: Vec3) {
    let transform = GlobalTransform::from_translation(position);
    stage.app.world_mut().entity_mut(stage.source).insert(transform);
}

const WEST: Vec3 = crate::world::tests::WEST;

#[test]
fn a_level_is_late_while_somebody_is_there_and_it_is_not() {
    let mut stage = stage();
    stage.hold("west");
    put(&mut stage, WEST);
    stage.frames(31);
    assert_eq!(late(&stage), ["west"]);
    let ledger = stage.app.world().resource::<LateLevels>();
    let seconds = ledger.iter().next().unwrap().seconds;
    assert!((seconds - 0.5).abs() < 1e-3, "30 frames at 60 Hz: {seconds}");
    assert_eq!(ledger.begun(), 1);
    assert_eq!(messages(&mut stage.app), []);
    stage.release();
    stage.frames(1);
    assert_eq!(late(&stage), [""; 0]);
    let told = messages(&mut stage.app);
    assert!(
        matches!(&told[..], [LevelLate { level, has_come: true, seconds, .. }] if level == "west" && *seconds > 0.5),
        "{told:?}"
    );
}

#[test]
fn who_comes_in_time_or_is_not_wanted_is_not_late() {
    let mut stage = stage();
    put(&mut stage, WEST);
    stage.frames(1);
    assert_eq!(late(&stage), [""; 0], "it came in the same frame");
    let world = stage.app.world_mut();
    world.get_mut::<StreamingSource>(stage.source).unwrap().enabled = false;
    stage.frames(2);
    stage.hold("west");
    let world = stage.app.world_mut();
    world.get_mut::<StreamingSource>(stage.source).unwrap().enabled = true;
    stage.frames(2);
    assert_eq!(late(&stage), ["west"]);
    // High above it is in it, unless heights count.
    put(&mut stage, WEST + Vec3::Y * 8.0);
    stage.frames(1);
    assert_eq!(late(&stage), ["west"]);
    stage.app.world_mut().resource_mut::<LevelSettings>().arrival_axes = BVec3::TRUE;
    stage.frames(1);
    assert_eq!(late(&stage), [""; 0]);
    let told = messages(&mut stage.app);
    assert!(matches!(&told[..], [LevelLate { has_come: false, .. }]), "{told:?}");
    stage.app.world_mut().resource_mut::<LevelSettings>().arrival_axes = ARRIVAL_AXES;
    stage.frames(1);
    stage.ask(|levels| levels.unload("west")).unwrap();
    stage.frames(2);
    assert_eq!(late(&stage), [""; 0], "it is banned");
    stage.app.world_mut().despawn(stage.world);
    stage.frames(2);
    assert!(stage.app.world().resource::<LateLevels>().is_empty());
}

/// On a client: the level that it comes to is not late because another machine's player is in it, or one who only gets it ready.
#[test]
fn who_is_not_followed_or_sees_nothing_misses_nothing() {
    let mut stage = stage();
    stage.hold("west");
    // The client itself is on its way.
    put(&mut stage, WEST + Vec3::X * 8.0);
    let remote = StreamingSource {
        remote: true,
        ..StreamingSource::default()
    };
    let scout = StreamingSource {
        target: LevelTarget::Loaded,
        ..StreamingSource::default()
    };
    for source in [remote, scout] {
        let place = GlobalTransform::from_translation(WEST);
        stage.app.world_mut().spawn((source, place));
    }
    stage.frames(3);
    assert_eq!(stage.level("west").target(), LevelTarget::Visible);
    assert_eq!(late(&stage), [""; 0]);
    // On a server it is.
    stage.app.world_mut().resource_mut::<LevelSettings>().follow_remote = true;
    stage.frames(1);
    assert_eq!(late(&stage), ["west"]);
}

/// What a look at every level and every source says.
fn by_brute_force(stage: &mut Stage) -> Vec<String> {
    let world = stage.app.world_mut();
    let is_server = world.resource::<LevelSettings>().follow_remote;
    let sees = |source: &StreamingSource| {
        source.enabled && (is_server || !source.remote) && source.target == LevelTarget::Visible
    };
    let mut sources = world.query::<(&StreamingSource, &GlobalTransform)>();
    let viewers = sources.iter(world).filter(|(source, _)| sees(source));
    let points: Vec<Vec3> = viewers.map(|(_, place)| place.translation()).collect();
    let table = world.get::<LevelTable>(stage.world).unwrap();
    let is_late = |level: &&Level| {
        let wanted = level.target() == LevelTarget::Visible && level.root().is_none();
        let (min, max) = level.entry().bounds.unwrap();
        let is_in = |at: &Vec3| at.x >= min[0] && at.x <= max[0] && at.z >= min[2] && at.z <= max[2];
        wanted && level.state() != crate::LevelState::Failed && points.iter().any(is_in)
    };
    table
        .iter()
        .filter(is_late)
        .map(|level| level.name().to_owned())
        .collect()
}

#[test]
fn the_ledger_says_what_brute_force_says() {
    let mut stage = stage();
    let mut random = Random(7);
    let (mut begun, mut ended) = (0, 0);
    let mut before: Vec<String> = Vec::new();
    let others = [(); 2].map(|()| stage.app.world_mut().spawn(StreamingSource::default()).id());
    let somewhere = |random: &mut Random| {
        let x = [-50.0, -46.0, -44.0, 0.0, 44.0, 50.0][random.below(6)];
        GlobalTransform::from_translation(Vec3::X * x)
    };
    for _ in 0..1200 {
        match random.below(8) {
            0 => stage.hold(["west", "east"][random.below(2)]),
            1 => stage.release(),
            2 => {
                let is_server = random.below(3) == 0;
                stage.app.world_mut().resource_mut::<LevelSettings>().follow_remote = is_server;
            }
            3 => {
                let other = StreamingSource {
                    remote: random.below(2) == 0,
                    enabled: random.below(4) > 0,
                    target: [LevelTarget::Loaded, LevelTarget::Visible][random.below(2)],
                    ..StreamingSource::default()
                };
                let place = somewhere(&mut random);
                let entity = others[random.below(2)];
                stage.app.world_mut().entity_mut(entity).insert((other, place));
            }
            _ => {}
        }
        let place = somewhere(&mut random);
        stage.app.world_mut().entity_mut(stage.source).insert(place);
        stage.frames(1);
        let expected = by_brute_force(&mut stage);
        assert_eq!(late(&stage), expected);
        begun += expected.iter().filter(|name| !before.contains(name)).count() as u64;
        ended += before.iter().filter(|name| !expected.contains(name)).count();
        before = expected;
        ended -= messages(&mut stage.app).len();
    }
    assert_eq!(stage.app.world().resource::<LateLevels>().begun(), begun);
    assert!(begun > 20, "{begun}");
    assert_eq!(ended, 0, "each is told once");
}
