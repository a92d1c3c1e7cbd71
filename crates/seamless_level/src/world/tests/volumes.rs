//! Volumes of the app's own: they come, change and go, and bad ones do no harm.

use super::*;

fn volume(levels: &[&str], center: Vec3) -> StreamingVolume {
    StreamingVolume {
        shape: ball(center, 5.0),
        levels: levels.iter().map(ToString::to_string).collect(),
        unload_margin: 1.0,
        world: None,
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
    assert!(stage.level("east").is_live() && stage.level("west").is_live());
    stage.app.world_mut().get_mut::<StreamingVolume>(own).unwrap().levels = vec!["east".into()];
    stage.frames(3);
    assert!(stage.level("east").is_live() && !stage.level("west").is_live());
    stage.app.world_mut().get_mut::<StreamingVolume>(own).unwrap().shape = ball(Vec3::ZERO, 5.0);
    stage.frames(3);
    assert!(!stage.level("east").is_live());
    stage.go(Vec3::ZERO);
    assert!(stage.level("east").is_live());
    stage.app.world_mut().entity_mut(own).remove::<StreamingVolume>();
    stage.frames(3);
    assert!(!stage.level("east").is_live());
    stage
        .app
        .world_mut()
        .entity_mut(own)
        .insert(volume(&["west"], Vec3::ZERO));
    stage.frames(3);
    assert!(stage.level("west").is_live());
    stage.app.world_mut().despawn(own);
    stage.frames(3);
    assert!(!stage.level("west").is_live());
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
    for step in 0..30 {
        let gone = step * 7 % own.len();
        stage.app.world_mut().despawn(own.swap_remove(gone));
        there.swap_remove(gone);
        let index = step * 11 % 40;
        stage.go(place(index));
        assert_eq!(
            stage.level("east").is_live(),
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
            unload_margin: f32::NAN,
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
    assert!(stage.level("west").is_live(), "what is known of a volume counts");
    assert_eq!(stage.level("east").state(), LevelState::Unloaded);
    // Mended, it works; broken, it stops.
    *stage.app.world_mut().get_mut::<StreamingVolume>(bad[0]).unwrap() = volume(&["east"], TOWER);
    stage.frames(3);
    assert!(stage.level("east").is_live());
    stage.app.world_mut().get_mut::<StreamingVolume>(bad[0]).unwrap().shape = ball(Vec3::NAN, 1.0);
    stage.frames(3);
    assert_eq!(stage.level("east").state(), LevelState::Unloaded);
}

#[test]
fn with_several_worlds_a_volume_says_which() {
    let mut stage = Stage::new();
    let handle = add_manifest(&mut stage.app, manifest());
    let second = stage.app.world_mut().spawn(SeamlessWorld(handle)).id();
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
    assert_eq!((live(&stage, stage.world), live(&stage, second)), (false, false));
    stage.app.world_mut().despawn(second);
    stage.frames(3);
    assert!(live(&stage, stage.world), "now there is one world only");
}
