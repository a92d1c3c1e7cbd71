use bevy_math::{Quat, Vec3};

use super::*;

#[test]
fn a_box_is_where_the_thing_is_and_as_it_is_turned() {
    let bounds = Aabb::from_min_max(Vec3::new(0.0, 0.0, 0.0), Vec3::new(2.0, 4.0, 6.0));
    let place = Transform::from_xyz(100.0, 0.0, 0.0)
        .with_rotation(Quat::from_rotation_z(core::f32::consts::FRAC_PI_2))
        .with_scale(Vec3::splat(10.0));
    let cube = cube(&bounds, &GlobalTransform::from(place));
    for (corner, expected) in [
        (Vec3::splat(-0.5), Vec3::new(100.0, 0.0, 0.0)),
        (Vec3::splat(0.5), Vec3::new(60.0, 20.0, 60.0)),
        (Vec3::new(0.5, -0.5, -0.5), Vec3::new(100.0, 20.0, 0.0)),
    ] {
        let found = cube.transform_point(corner);
        assert!(found.abs_diff_eq(expected, 1e-3), "{found}, not {expected}");
    }
}

#[test]
fn what_lacks_more_has_another_colour() {
    let colours: Vec<Color> = (-2..=3).map(color).collect();
    let others = |colour: &&Color| colours.iter().filter(|other| other == colour).count() == 1;
    assert!(colours.iter().all(|colour| others(&colour)));
    assert_eq!((color(3), color(-2)), (color(9), color(-9)));
}

#[test]
fn without_mip_streaming_nothing_is_drawn() {
    let mut app = App::new();
    app.add_plugins(bevy_asset::AssetPlugin::default());
    let settings = MipOverlaySettings {
        is_on: true,
        ..MipOverlaySettings::default()
    };
    bevy_asset::AssetApp::init_asset::<bevy_mesh::Mesh>(&mut app);
    bevy_asset::AssetApp::init_asset::<bevy_mesh::skinning::SkinnedMeshInverseBindposes>(&mut app);
    app.init_resource::<ButtonInput<KeyCode>>()
        .add_plugins(MipOverlayPlugin { settings });
    app.update();
    let is_on = |app: &App| {
        app.world()
            .resource::<GizmoConfigStore>()
            .config::<MipOverlaySettings>()
            .1
            .is_on
    };
    assert!(is_on(&app));
    app.world_mut()
        .resource_mut::<ButtonInput<KeyCode>>()
        .press(KeyCode::F2);
    app.update();
    assert!(!is_on(&app));
}
