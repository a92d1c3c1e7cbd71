//! Sources as components: who is followed, what lies ahead, how soon it is needed.

use std::time::Duration;

use bevy_ecs::change_detection::DetectChanges;
use bevy_time::{Real, Time};
use seamless_asset::{Viewpoint, Viewpoints};

use super::*;

fn source_mut(stage: &mut Stage) -> Mut<'_, StreamingSource> {
    stage.app.world_mut().get_mut(stage.source).unwrap()
}

/// Flies on from where the source is, for some frames of a sixtieth of a second.
fn fly(stage: &mut Stage, velocity: Vec3, frames: usize) {
    for _ in 0..frames {
        let world = stage.app.world_mut();
        let mut transform = world.get_mut::<GlobalTransform>(stage.source).unwrap();
        *transform = GlobalTransform::from_translation(transform.translation() + velocity / 60.0);
        stage.frames(1);
    }
}

#[test]
fn only_servers_follow_players_of_other_machines() {
    let mut stage = Stage::new();
    source_mut(&mut stage).remote = true;
    stage.go(WEST);
    assert!(!stage.level("west").is_wanted());
    stage.app.world_mut().resource_mut::<LevelSettings>().follow_remote = true;
    stage.frames(2);
    assert!(stage.level("west").is_visible());
    // A server follows all of them.
    let other = (
        StreamingSource {
            remote: true,
            ..StreamingSource::default()
        },
        GlobalTransform::from_translation(EAST),
    );
    stage.app.world_mut().spawn(other);
    stage.frames(3);
    assert!(stage.level("west").is_visible() && stage.level("east").is_visible());
    stage.app.world_mut().resource_mut::<LevelSettings>().follow_remote = false;
    stage.frames(3);
    assert!(!stage.level("west").is_wanted() && !stage.level("east").is_wanted());
}

#[test]
fn a_source_that_moves_loads_ahead() {
    let mut stage = Stage::new();
    stage.frames(3);
    fly(&mut stage, Vec3::X * 21.0, 40);
    let at = stage
        .app
        .world()
        .get::<GlobalTransform>(stage.source)
        .unwrap()
        .translation();
    assert!(at.x < 20.0 && !stage.level("east").is_wanted());
    let velocity = stage.app.world().get::<SourceMotion>(stage.source).unwrap().velocity();
    assert!(velocity.distance(Vec3::X * 21.0) < 0.1, "{velocity}");
    fly(&mut stage, Vec3::X * 21.0, 20);
    assert!(stage.level("east").is_visible(), "half a second before it is there");
    assert!(!stage.level("west").is_wanted());
    // It stops, and what lies ahead is let go of.
    fly(&mut stage, Vec3::ZERO, 20);
    assert!(!stage.level("east").is_wanted());
    source_mut(&mut stage).ahead = 0.0;
    fly(&mut stage, Vec3::X * 21.0, 10);
    assert!(!stage.level("east").is_wanted());
}

fn viewpoints(stage: &Stage) -> Vec<Viewpoint> {
    stage.app.world().resource::<Viewpoints>().0.clone()
}

/// Not where a source is or goes: its camera sees for itself.
#[test]
fn it_is_told_where_somebody_is_expected() {
    let mut stage = Stage::new();
    stage.frames(3);
    fly(&mut stage, Vec3::X * 21.0, 40);
    assert_eq!(viewpoints(&stage), []);
    // A place is got ready, and another one that is none.
    let [west, _nowhere] = [WEST, Vec3::NAN].map(|at| stage.ask(move |levels| levels.prepare(ArrivalPoint::at(at))));
    stage.frames(1);
    let place = Viewpoint {
        position: WEST,
        weight: 10.0,
    };
    assert_eq!(viewpoints(&stage), [place]);
    // As long as it asks: one frame longer than it is held.
    drop(west);
    stage.frames(1);
    assert_eq!(viewpoints(&stage), [place]);
    stage.frames(1);
    assert_eq!(viewpoints(&stage), []);
}

/// Who looks for changes sees none while nothing has changed.
#[test]
fn what_is_expected_is_told_when_it_changes() {
    let mut stage = Stage::new();
    stage.frames(3);
    let _west = stage.ask(|levels| levels.prepare(ArrivalPoint::at(WEST)));
    stage.frames(1);
    let told = |stage: &Stage| stage.app.world().resource_ref::<Viewpoints>().last_changed();
    let before = told(&stage);
    stage.frames(3);
    assert_eq!(told(&stage), before);
}

#[test]
fn a_jump_is_not_flown_on() {
    let mut stage = Stage::new();
    stage.frames(3);
    stage.go(Vec3::X * -1000.0);
    // Two jumps of a hundred, each twice as far from the levels as the next.
    stage.go(Vec3::X * -100.0);
    assert!(!stage.level("west").is_wanted());
    assert_eq!(
        stage.app.world().get::<SourceMotion>(stage.source).unwrap().velocity(),
        Vec3::ZERO
    );
}

/// Where a source is, is where it was at the end of the frame before; the time of that frame belongs to it.
#[test]
fn a_frame_that_takes_long_is_no_jump_and_no_rest() {
    let mut stage = Stage::new();
    stage.app.init_resource::<Time<Real>>();
    stage.frames(3);
    let velocity = Vec3::X * 60.0;
    for frame in 0..200 {
        let seconds = if frame % 40 == 39 { 0.25 } else { 1.0 / 60.0 };
        let mut time = stage.app.world_mut().resource_mut::<Time<Real>>();
        time.update_with_duration(Duration::from_secs_f32(seconds));
        stage.frames(1);
        let world = stage.app.world_mut();
        let measured = world.get::<SourceMotion>(stage.source).unwrap().velocity();
        assert!(
            frame < 20 || measured.distance(velocity) < 1.0,
            "{measured} in frame {frame}"
        );
        let mut transform = world.get_mut::<GlobalTransform>(stage.source).unwrap();
        *transform = GlobalTransform::from_translation(transform.translation() + velocity * seconds);
    }
}

#[test]
fn a_source_that_only_loads_shows_nothing() {
    let mut stage = Stage::new();
    source_mut(&mut stage).target = LevelTarget::Loaded;
    stage.go(WEST);
    assert_eq!(stage.level("west").target(), LevelTarget::Loaded);
    source_mut(&mut stage).target = LevelTarget::Visible;
    stage.frames(2);
    assert_eq!(stage.level("west").target(), LevelTarget::Visible);
    source_mut(&mut stage).target = LevelTarget::Unloaded;
    stage.frames(2);
    assert!(!stage.level("west").is_wanted());
}

#[test]
fn who_looks_elsewhere_with_a_sector_sees_nothing() {
    let mut stage = Stage::new();
    *source_mut(&mut stage) = StreamingSource {
        shape: SourceShape::Sector {
            radius: 45.0,
            half_angle: 0.3,
        },
        ..StreamingSource::default()
    };
    let look_at = |stage: &mut Stage, target: Vec3| {
        let transform = bevy_transform::components::Transform::default().looking_at(target, Vec3::Y);
        stage
            .app
            .world_mut()
            .entity_mut(stage.source)
            .insert(GlobalTransform::from(transform));
        stage.frames(2);
        ["west", "east"].map(|name| stage.level(name).is_wanted())
    };
    assert_eq!(look_at(&mut stage, WEST), [true, false]);
    assert_eq!(look_at(&mut stage, EAST), [false, true]);
    assert_eq!(look_at(&mut stage, Vec3::Z), [false, false]);
}

#[test]
fn the_urgency_is_told_and_ends() {
    let mut stage = Stage::new();
    stage.fake().held.insert("east");
    stage.frames(3);
    let arrival = |stage: &Stage| stage.app.world().resource::<StreamingUrgency>().arrival;
    assert_eq!(arrival(&stage), None, "the base has neither bounds nor a volume");
    fly(&mut stage, Vec3::X * 30.0, 30);
    let soon = arrival(&stage).unwrap();
    assert!(soon > 0.7 && soon < 0.9, "25 units are left, at 30 a second: {soon}");
    fly(&mut stage, Vec3::X * 30.0, 55);
    assert_eq!(arrival(&stage), Some(0.0));
    stage.fake().held.clear();
    stage.frames(3);
    assert_eq!(arrival(&stage), None);
}

/// Levels along the way, and beside it: those that come first are loaded first.
#[test]
fn the_order_of_loads_follows_the_flight() {
    let mut stage = Stage::new();
    let names: Vec<String> = (0..6).map(|index| format!("stop {index}")).collect();
    let mut manifest = manifest();
    manifest.levels = names
        .iter()
        .map(|name| LevelEntry {
            name: name.clone(),
            package: format!("{name}.pkg"),
            ..LevelEntry::default()
        })
        .collect();
    // In the manifest, the last stop is the first volume.
    let volume = |(index, name): (usize, &String)| VolumeEntry {
        name: name.clone(),
        shape: ball(Vec3::X * 40.0 * index as f32, 25.0),
        levels: vec![name.clone()],
        unload_delay: 60.0,
        ..VolumeEntry::default()
    };
    manifest.volumes = names.iter().enumerate().map(volume).rev().collect();
    let handle = add_manifest(&mut stage.app, manifest);
    stage.app.world_mut().get_mut::<SeamlessWorld>(stage.world).unwrap().0 = handle;
    stage.go(Vec3::X * -900.0);
    stage.fake().begun.clear();
    stage.go(Vec3::X * -80.0);
    fly(&mut stage, Vec3::X * 50.0, 330);
    assert_eq!(stage.fake().begun, names);
}
