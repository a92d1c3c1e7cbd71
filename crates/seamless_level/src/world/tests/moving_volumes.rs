//! Volumes that go where their entities are.

use bevy_math::Quat;
use bevy_transform::{TransformPlugin, components::Transform};
use seamless_asset::InHiddenLevel;

use super::*;
use crate::arrival::Arrivals;

const DOCK: Vec3 = Vec3::new(0.0, 500.0, 0.0);
const ISLAND: Vec3 = Vec3::new(0.0, 500.0, 4000.0);

fn stage() -> Stage {
    let mut app = App::new();
    app.world_mut().register_disabling_component::<InHiddenLevel>();
    let mut app = level_app_of(app, SeamlessLevelPlugin::default());
    app.add_plugins(TransformPlugin);
    app.world_mut().resource_mut::<Arrivals>().are_places_known = true;
    Stage::with(app)
}

/// A cabin of ten units around the middle of what it is on.
fn cabin() -> StreamingVolume {
    StreamingVolume {
        unload_margin: Some(1.0),
        unload_delay: 0.0,
        ..StreamingVolume::new(ball(Vec3::ZERO, 10.0), ["east"])
    }
}

fn ship(stage: &mut Stage) -> (Entity, Entity) {
    let world = stage.app.world_mut();
    let ship = world.spawn(Transform::from_translation(DOCK)).id();
    let cabin = world.spawn((cabin(), Transform::from_xyz(30.0, 0.0, 0.0), ChildOf(ship)));
    let cabin = cabin.id();
    (ship, cabin)
}

fn is_there(stage: &mut Stage, at: Vec3) -> bool {
    // The source is where it is put, and not on a way there.
    *stage.app.world_mut().get_mut::<SourceMotion>(stage.source).unwrap() = SourceMotion::default();
    let place = Transform::from_translation(at);
    stage.app.world_mut().entity_mut(stage.source).insert(place);
    stage.frames(3);
    stage.level("east").is_visible()
}

#[test]
fn a_volume_goes_turns_and_grows_with_its_entity() {
    let mut stage = stage();
    stage.frames(2);
    let (ship, cabin) = ship(&mut stage);
    // Not where it is in its own space, in no frame.
    for _ in 0..4 {
        stage.frames(1);
        assert!(!stage.level("east").is_wanted());
    }
    let bow = Vec3::X * 30.0;
    assert!(is_there(&mut stage, DOCK + bow));
    assert!(!is_there(&mut stage, DOCK));
    let place = |stage: &mut Stage, place| *stage.app.world_mut().get_mut::<Transform>(ship).unwrap() = place;
    place(&mut stage, Transform::from_translation(ISLAND));
    assert!(!is_there(&mut stage, DOCK + bow), "it has put to sea");
    assert!(is_there(&mut stage, ISLAND + bow));
    // About, and the bow is where the stern was.
    let about = Quat::from_rotation_y(core::f32::consts::PI);
    place(&mut stage, Transform::from_translation(ISLAND).with_rotation(about));
    assert!(!is_there(&mut stage, ISLAND + bow));
    assert!(is_there(&mut stage, ISLAND - bow));
    place(
        &mut stage,
        Transform::from_translation(ISLAND).with_scale(Vec3::splat(10.0)),
    );
    assert!(is_there(&mut stage, ISLAND + bow * 13.0) && !is_there(&mut stage, ISLAND + bow * 13.5));
    // Another ship takes it aboard.
    let other = stage.app.world_mut().spawn(Transform::from_translation(DOCK)).id();
    stage.app.world_mut().entity_mut(cabin).insert(ChildOf(other));
    assert!(is_there(&mut stage, DOCK + bow));
}

#[test]
fn who_is_aboard_keeps_the_cabin_on_the_way() {
    let mut stage = stage();
    let (ship, cabin) = ship(&mut stage);
    let world = stage.app.world_mut();
    world
        .entity_mut(stage.source)
        .insert((Transform::default(), ChildOf(cabin)));
    stage.frames(4);
    assert!(stage.level("east").is_visible());
    stage.told();
    for _ in 0..300 {
        let mut transform = stage.app.world_mut().get_mut::<Transform>(ship).unwrap();
        transform.translation.x += 2.0;
        stage.frames(1);
        assert!(stage.level("east").is_visible());
    }
    // However far it is at once, and however long it stood before.
    for far in [1e3, -3e3, 70.0] {
        stage.frames(3);
        let mut transform = stage.app.world_mut().get_mut::<Transform>(ship).unwrap();
        transform.translation.x += far;
        stage.frames(3);
        assert!(stage.level("east").is_visible());
    }
    assert!(stage.told().is_empty(), "it never left");
    stage.app.world_mut().despawn(ship);
    stage.frames(3);
    assert!(!stage.level("east").is_wanted());
}

#[test]
fn a_volume_that_is_nowhere_asks_for_nothing_until_that_is_mended() {
    let mut stage = stage();
    let (ship, _) = ship(&mut stage);
    assert!(is_there(&mut stage, DOCK + Vec3::X * 30.0));
    let place = |stage: &mut Stage, scale| {
        stage.app.world_mut().get_mut::<Transform>(ship).unwrap().scale = scale;
    };
    for scale in [Vec3::ZERO, Vec3::NAN, Vec3::new(1.0, 0.0, 1.0)] {
        place(&mut stage, scale);
        stage.frames(3);
        assert!(!stage.level("east").is_wanted(), "{scale}");
        place(&mut stage, Vec3::ONE);
        stage.frames(3);
        assert!(stage.level("east").is_visible());
    }
}

#[test]
fn what_moves_while_it_is_hidden_is_there_when_it_is_seen() {
    let mut stage = stage();
    let (_, cabin) = ship(&mut stage);
    let bow = Vec3::X * 30.0;
    assert!(is_there(&mut stage, DOCK + bow));
    // It was seen before it was hidden: it asks on, from where it is.
    let place = GlobalTransform::from_translation(ISLAND);
    stage.app.world_mut().entity_mut(cabin).insert((InHiddenLevel, place));
    assert!(!is_there(&mut stage, DOCK + bow));
    assert!(is_there(&mut stage, ISLAND));
    let mut volume = stage.app.world_mut().get_mut::<StreamingVolume>(cabin).unwrap();
    volume.enabled = false;
    assert!(!is_there(&mut stage, ISLAND));
}
