//! Volumes of the app's own: they come, change and go, and bad ones do no harm.

use std::time::Duration;

use bevy_ecs::entity_disabling::Disabled;
use bevy_time::{Real, Time};
use bevy_transform::components::Transform;
use seamless_asset::InHiddenLevel;

use super::*;

fn volume(levels: &[&str], center: Vec3) -> StreamingVolume {
    StreamingVolume {
        shape: ball(center, 5.0),
        levels: levels.iter().map(ToString::to_string).collect(),
        unload_margin: Some(1.0),
        unload_delay: 0.0,
        ..StreamingVolume::default()
    }
}

const TOWER: Vec3 = Vec3::new(0.0, 500.0, 0.0);

#[test]
fn volumes_of_the_manifest_belong_to_their_world() {
    let mut stage = Stage::new();
    stage.frames(2);
    let world = stage.app.world_mut();
    let mut volumes = world.query::<(&StreamingVolume, &VolumeOf, &Name)>();
    let mut names: Vec<_> = volumes.iter(world).map(|(_, _, name)| name.to_string()).collect();
    names.sort();
    assert_eq!(names, ["around east", "around west"]);
    let all_ours = |(volume, of, _): (&StreamingVolume, &VolumeOf, &Name)| {
        volume.world == Some(stage.world) && of.0 == stage.world
    };
    assert!(volumes.iter(world).all(all_ours));
}

#[test]
fn own_volumes_come_change_and_go() {
    let mut stage = Stage::new();
    let own = stage
        .app
        .world_mut()
        .spawn(volume(&["east", "west", "east"], TOWER))
        .id();
    stage.go(TOWER);
    assert!(stage.level("east").is_visible() && stage.level("west").is_visible());
    stage.app.world_mut().get_mut::<StreamingVolume>(own).unwrap().levels = vec!["east".into()];
    stage.frames(3);
    assert!(stage.level("east").is_visible() && !stage.level("west").is_visible());
    stage.app.world_mut().get_mut::<StreamingVolume>(own).unwrap().shape = ball(Vec3::ZERO, 5.0);
    stage.frames(3);
    assert!(!stage.level("east").is_visible());
    stage.go(Vec3::ZERO);
    assert!(stage.level("east").is_visible());
    stage.app.world_mut().entity_mut(own).remove::<StreamingVolume>();
    stage.frames(3);
    assert!(!stage.level("east").is_visible());
    stage
        .app
        .world_mut()
        .entity_mut(own)
        .insert(volume(&["west"], Vec3::ZERO));
    stage.frames(3);
    assert!(stage.level("west").is_visible());
    stage.app.world_mut().despawn(own);
    stage.frames(3);
    assert!(!stage.level("west").is_visible());
}

#[test]
fn many_volumes_come_and_go_in_any_order() {
    let mut stage = Stage::new();
    stage.frames(2);
    let place = |index: usize| Vec3::new(0.0, 1000.0 + 20.0 * index as f32, 0.0);
    let mut own: Vec<Entity> = (0..40)
        .map(|index| stage.app.world_mut().spawn(volume(&["east"], place(index))).id())
        .collect();
    let mut there: Vec<usize> = (0..40).collect();
    // Who goes as far again and again may be on a way of which little is seen.
    let mut source = stage.app.world_mut().get_mut::<StreamingSource>(stage.source).unwrap();
    source.ahead = 0.0;
    for step in 0..30 {
        let gone = step * 7 % own.len();
        stage.app.world_mut().despawn(own.swap_remove(gone));
        there.swap_remove(gone);
        let index = step * 11 % 40;
        stage.go(place(index));
        assert_eq!(
            stage.level("east").is_visible(),
            there.contains(&index),
            "after {step} went"
        );
    }
}

#[test]
fn bad_volumes_want_nothing_and_harm_nobody() {
    let mut stage = Stage::new();
    let bad = [
        StreamingVolume {
            shape: ball(Vec3::NAN, 1e9),
            ..volume(&["east"], TOWER)
        },
        StreamingVolume {
            shape: ball(TOWER, f32::INFINITY),
            ..volume(&["east"], TOWER)
        },
        StreamingVolume {
            unload_margin: Some(f32::NAN),
            ..volume(&["east"], TOWER)
        },
        StreamingVolume {
            shape: VolumeShape::Convex { planes: vec![] },
            ..volume(&["east"], TOWER)
        },
        StreamingVolume {
            world: Some(Entity::PLACEHOLDER),
            ..volume(&["east"], TOWER)
        },
        volume(&["nowhere"], TOWER),
    ];
    let bad: Vec<Entity> = bad.map(|volume| stage.app.world_mut().spawn(volume).id()).into();
    stage.app.world_mut().spawn(volume(&["nowhere", "west"], TOWER));
    stage.go(TOWER);
    assert!(stage.level("west").is_visible(), "what is known of a volume counts");
    assert_eq!(stage.level("east").state(), LevelState::Unloaded);
    // Mended, it works; broken, it stops.
    *stage.app.world_mut().get_mut::<StreamingVolume>(bad[0]).unwrap() = volume(&["east"], TOWER);
    stage.frames(3);
    assert!(stage.level("east").is_visible());
    stage.app.world_mut().get_mut::<StreamingVolume>(bad[0]).unwrap().shape = ball(Vec3::NAN, 1.0);
    stage.frames(3);
    assert_eq!(stage.level("east").state(), LevelState::Unloaded);
}

#[test]
fn with_several_worlds_a_volume_says_which() {
    let mut stage = Stage::new();
    let handle = add_manifest(&mut stage.app, manifest());
    let second = stage.app.world_mut().spawn(SeamlessWorld(handle)).id();
    // Before there are two, it would know which one is meant.
    stage.until(|stage| stage.app.world().get::<LevelTable>(second).is_some());
    let own = stage.app.world_mut().spawn(volume(&["west"], TOWER)).id();
    stage.go(TOWER);
    let live = |stage: &Stage, world| {
        stage
            .app
            .world()
            .get::<LevelTable>(world)
            .unwrap()
            .root_of("west")
            .is_some()
    };
    assert_eq!((live(&stage, stage.world), live(&stage, second)), (false, false));
    stage.app.world_mut().get_mut::<StreamingVolume>(own).unwrap().world = Some(second);
    stage.frames(3);
    assert_eq!((live(&stage, stage.world), live(&stage, second)), (false, true));
    stage.app.world_mut().get_mut::<StreamingVolume>(own).unwrap().world = None;
    stage.frames(3);
    assert_eq!(
        (live(&stage, stage.world), live(&stage, second)),
        (false, true),
        "as before"
    );
    stage.app.world_mut().despawn(second);
    stage.frames(3);
    assert!(live(&stage, stage.world), "now there is one world only");
}

/// Seconds pass as the test says.
fn pass(stage: &mut Stage, seconds: f32) {
    let mut time = stage.app.world_mut().get_resource_or_init::<Time<Real>>();
    let start = time.startup();
    let passed = time.elapsed();
    time.update_with_instant(start + passed + Duration::from_secs_f32(seconds));
    stage.frames(1);
}

#[test]
fn a_level_stays_for_the_delay_of_its_volume() {
    let mut stage = Stage::new();
    let mut delayed = volume(&["east"], TOWER);
    delayed.unload_delay = 2.0;
    let own = stage.app.world_mut().spawn(delayed).id();
    pass(&mut stage, 0.0);
    pass(&mut stage, 0.0);
    stage.go(TOWER);
    assert!(stage.level("east").is_visible());
    let root = stage.level("east").root();
    stage.go(Vec3::ZERO);
    pass(&mut stage, 1.5);
    assert!(stage.level("east").is_visible() && stage.level("east").is_wanted());
    stage.go(TOWER);
    stage.go(Vec3::ZERO);
    pass(&mut stage, 1.9);
    assert_eq!(
        stage.level("east").root(),
        root,
        "the delay began anew, and nothing came or went"
    );
    pass(&mut stage, 0.2);
    assert_eq!(stage.level("east").state(), LevelState::Unloaded);
    assert_eq!(
        (stage.level("east").times_revealed(), stage.level("east").times_left()),
        (1, 1)
    );
    // Away at once with the volume.
    stage.go(TOWER);
    stage.go(Vec3::ZERO);
    assert!(stage.level("east").is_visible());
    stage.app.world_mut().despawn(own);
    stage.frames(1);
    assert_eq!(stage.level("east").state(), LevelState::Unloaded);
}

/// An app that measures no time is taken to run at 60 Hz.
#[test]
fn delays_end_without_a_clock() {
    let mut stage = Stage::new();
    let mut delayed = volume(&["east"], TOWER);
    delayed.unload_delay = 0.5;
    stage.app.world_mut().spawn(delayed);
    stage.go(TOWER);
    stage.go(Vec3::ZERO);
    stage.frames(20);
    assert!(stage.level("east").is_visible());
    stage.frames(20);
    assert_eq!(stage.level("east").state(), LevelState::Unloaded);
}

#[test]
fn a_disabled_volume_asks_for_nothing() {
    let mut stage = Stage::new();
    let mut disabled = volume(&["east"], TOWER);
    disabled.enabled = false;
    disabled.unload_delay = 60.0;
    let own = stage.app.world_mut().spawn(disabled).id();
    stage.go(TOWER);
    assert!(!stage.level("east").is_wanted());
    for enabled in [true, false, true] {
        stage.app.world_mut().get_mut::<StreamingVolume>(own).unwrap().enabled = enabled;
        stage.frames(2);
        assert_eq!(
            stage.level("east").is_visible(),
            enabled,
            "at once, in spite of the delay"
        );
    }
}

/// Bevy's `Disabled` is for queries; what a volume asks for has a field of its own.
#[test]
fn a_volume_that_queries_skip_asks_all_the_same() {
    for comes_first in [false, true] {
        let mut stage = Stage::new();
        if !comes_first {
            stage.frames(3);
        }
        let own = (volume(&["east"], TOWER), Disabled);
        let own = stage.app.world_mut().spawn(own).id();
        stage.go(TOWER);
        assert!(stage.level("east").is_visible());
        stage.app.world_mut().get_mut::<StreamingVolume>(own).unwrap().levels = vec!["west".into()];
        stage.frames(3);
        assert!(stage.level("west").is_visible() && !stage.level("east").is_visible());
        stage.app.world_mut().entity_mut(own).remove::<Disabled>();
        stage.frames(3);
        assert!(stage.level("west").is_visible());
        stage.app.world_mut().entity_mut(own).insert(Disabled);
        stage.app.world_mut().despawn(own);
        stage.frames(3);
        assert!(!stage.level("west").is_wanted());
    }
}

#[test]
fn some_volumes_show_what_others_load() {
    let mut stage = Stage::new();
    let of_mode = |mode| StreamingVolume {
        mode,
        ..volume(&["east"], TOWER)
    };
    stage.app.world_mut().spawn(of_mode(VolumeMode::ShowIfLoaded));
    stage.go(TOWER);
    assert_eq!(stage.level("east").target(), LevelTarget::Unloaded);
    let loads = stage.app.world_mut().spawn(of_mode(VolumeMode::Load)).id();
    stage.frames(2);
    assert_eq!(stage.level("east").target(), LevelTarget::Visible);
    assert!(stage.level("east").is_visible());
    stage.app.world_mut().despawn(loads);
    stage.frames(2);
    assert_eq!(stage.level("east").state(), LevelState::Unloaded);
}

/// A second world makes all volumes be looked up again: nothing of the first one comes or goes by it.
#[test]
fn another_world_changes_nothing_for_the_first() {
    let mut stage = Stage::new();
    let mut own = volume(&["east"], TOWER);
    own.world = Some(stage.world);
    own.unload_delay = 60.0;
    stage.app.world_mut().spawn(own);
    stage.go(TOWER);
    stage.go(WEST);
    stage.go(WEST + Vec3::Y * 11.0);
    stage.told();
    let handle = add_manifest(&mut stage.app, manifest());
    let second = stage.app.world_mut().spawn(SeamlessWorld(handle)).id();
    stage.frames(3);
    stage.app.world_mut().despawn(second);
    stage.frames(3);
    assert_eq!(stage.told(), ["+base", "-base"], "those of the second world");
    assert!(
        stage.level("east").is_visible() && stage.level("west").is_visible(),
        "lingering, and within the margin"
    );
}

/// In its first frame a source is at the origin, for nothing was propagated to it: what lies there must not come and linger.
#[test]
fn a_source_that_was_just_spawned_is_nowhere() {
    let mut stage = Stage::new();
    let mut at_origin = volume(&["east"], Vec3::ZERO);
    at_origin.unload_delay = 60.0;
    stage.go(WEST);
    let world = stage.app.world_mut();
    world.spawn(at_origin);
    let source = world
        .spawn((StreamingSource::default(), Transform::from_translation(TOWER)))
        .id();
    stage.frames(1);
    assert!(!stage.level("east").is_wanted());
    let propagated = GlobalTransform::from_translation(TOWER);
    stage.app.world_mut().entity_mut(source).insert(propagated);
    stage.frames(3);
    assert!(!stage.level("east").is_wanted());
    // One that is there in truth is seen a frame later.
    stage.app.world_mut().spawn(StreamingSource::default());
    stage.frames(2);
    assert!(stage.level("east").is_wanted());
}

/// A level that comes in slices may have volumes, and is seen when it is whole: they ask from then on, also of worlds that come meanwhile.
#[test]
fn who_was_never_seen_asks_of_no_world_that_comes() {
    let mut app = App::new();
    app.world_mut().register_disabling_component::<InHiddenLevel>();
    let mut stage = Stage::with(level_app_of(app, SeamlessLevelPlugin::default()));
    stage.frames(3);
    let own = |stage: &Stage| StreamingVolume {
        world: Some(stage.world),
        ..volume(&["east"], TOWER)
    };
    let new = (own(&stage), InHiddenLevel);
    let new = stage.app.world_mut().spawn(new).id();
    stage.go(TOWER);
    assert!(!stage.level("east").is_wanted());
    // Its world comes once more.
    let replace = |stage: &mut Stage| {
        let other = SeamlessWorld(add_manifest(&mut stage.app, manifest()));
        stage.app.world_mut().entity_mut(stage.world).insert(other);
        stage.frames(4);
    };
    replace(&mut stage);
    assert!(!stage.level("east").is_wanted());
    // As a reveal does it.
    stage.app.world_mut().entity_mut(new).remove::<InHiddenLevel>();
    let asked = own(&stage);
    stage.app.world_mut().entity_mut(new).insert(asked);
    stage.frames(2);
    assert!(stage.level("east").is_wanted());
    // Who is hidden later goes on.
    stage.app.world_mut().entity_mut(new).insert(InHiddenLevel);
    replace(&mut stage);
    assert!(stage.level("east").is_wanted());
}
