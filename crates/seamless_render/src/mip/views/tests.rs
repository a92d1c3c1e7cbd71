use bevy_app::{App, Update};
use bevy_camera::{
    CameraProjection, ComputedCameraValues, OrthographicProjection, PerspectiveProjection, RenderTargetInfo, Viewport,
};
use bevy_math::{UVec2, Vec3, vec3};
use bevy_transform::components::Transform;
use seamless_asset::Viewpoint;

use super::*;

#[derive(Resource, Default)]
struct Bed {
    views: MipViews,
    now: f64,
}

fn app() -> App {
    let mut app = App::new();
    let look = |mut bed: ResMut<Bed>, looking: Looking| {
        let now = bed.now;
        bed.views.note(&looking, now);
    };
    app.init_resource::<Bed>()
        .init_resource::<Viewpoints>()
        .add_systems(Update, look);
    app
}

/// What cameras see next, in the order of their keys.
fn views(app: &mut App) -> Vec<MipView> {
    app.world_mut().resource_mut::<Bed>().now += 1.0 / 64.0;
    app.update();
    app.world().resource::<Bed>().views.views().to_vec()
}

/// A camera as Bevy leaves it when it has updated all, with a picture of 1600 × 900 pixels.
fn camera(projection: Projection, at: Vec3) -> impl Bundle {
    let camera = Camera {
        computed: ComputedCameraValues {
            clip_from_view: projection.get_clip_from_view(),
            target_info: Some(RenderTargetInfo {
                physical_size: UVec2::new(1600, 900),
                scale_factor: 2.0,
            }),
            ..ComputedCameraValues::default()
        },
        ..Camera::default()
    };
    (
        Camera3d::default(),
        camera,
        projection,
        GlobalTransform::from_translation(at),
    )
}

fn perspective(fov: f32, near: f32) -> Projection {
    Projection::Perspective(PerspectiveProjection {
        fov,
        near,
        aspect_ratio: 16.0 / 9.0,
        ..PerspectiveProjection::default()
    })
}

#[track_caller]
fn assert_near(found: f32, expected: f32) {
    assert!(
        (found - expected).abs() <= 1e-3 * expected.abs().max(1.0),
        "{found} is not {expected}"
    );
}

#[test]
fn a_perspective_camera_has_the_pixels_of_its_picture() {
    let mut app = app();
    let right_angle = core::f32::consts::FRAC_PI_2;
    let camera = app
        .world_mut()
        .spawn(camera(perspective(right_angle, 0.25), vec3(1.0, 2.0, 3.0)))
        .id();
    let [view] = views(&mut app)[..] else {
        panic!("one view")
    };
    // Half of the picture's height is one metre, one metre away.
    assert_near(view.pixels, 450.0);
    assert_eq!((view.position, view.near, view.bias), (vec3(1.0, 2.0, 3.0), 0.25, 0.0));
    assert!(!view.is_orthographic && view.velocity == Vec3::ZERO);
    let expected = MipView::perspective(view.key, view.position, right_angle, 900.0, 0.25);
    assert_near(view.pixels, expected.pixels);
    // Half of the screen, a bias, then fewer pixels in the render world.
    let mut entity = app.world_mut().entity_mut(camera);
    entity.insert(MipBias(-1.5));
    entity.get_mut::<Camera>().expect("it is one").viewport = Some(Viewport {
        physical_size: UVec2::new(800, 450),
        ..Viewport::default()
    });
    let view = views(&mut app)[0];
    assert_near(view.pixels, 225.0);
    assert_near(view.bias, -1.5);
    app.world_mut()
        .entity_mut(camera)
        .insert(MainPassResolutionOverride(UVec2::new(400, 225)));
    assert_near(views(&mut app)[0].pixels, 112.5);
    app.world_mut().get_mut::<Camera>(camera).expect("it is one").is_active = false;
    assert!(views(&mut app).is_empty());
}

#[test]
fn an_orthographic_camera_has_pixels_per_metre() {
    let mut app = app();
    let mut projection = OrthographicProjection::default_3d();
    projection.scaling_mode = bevy_camera::ScalingMode::FixedVertical { viewport_height: 20.0 };
    projection.update(1600.0, 900.0);
    app.world_mut()
        .spawn(camera(Projection::Orthographic(projection), Vec3::ZERO));
    let view = views(&mut app)[0];
    assert!(view.is_orthographic);
    assert_near(view.pixels, MipView::orthographic(0, Vec3::ZERO, 20.0, 900.0).pixels);
}

#[test]
fn cameras_without_a_picture_see_nothing() {
    let mut app = app();
    app.world_mut().spawn((
        Camera3d::default(),
        Camera::default(),
        perspective(1.0, 0.1),
        GlobalTransform::IDENTITY,
    ));
    app.world_mut()
        .spawn((bevy_camera::Camera2d, GlobalTransform::IDENTITY));
    assert!(views(&mut app).is_empty());
}

#[test]
fn viewpoints_and_expected_places_are_looked_from_as_well() {
    let mut app = app();
    let (far, near) = (vec3(500.0, 0.0, 0.0), vec3(0.0, 9.0, 0.0));
    app.world_mut().resource_mut::<Viewpoints>().0.push(Viewpoint {
        position: far,
        weight: 2.0,
    });
    app.world_mut().spawn((
        MipViewpoint {
            pixels: Some(77.0),
            weight: 1.0,
        },
        GlobalTransform::from_translation(near),
    ));
    let pixels = |views: &[MipView], at: Vec3| views.iter().find(|view| view.position == at).map(|view| view.pixels);
    let found = views(&mut app);
    assert_eq!((found.len(), pixels(&found, near)), (2, Some(77.0)));
    assert_eq!(pixels(&found, far), Some(USUAL_PIXELS));
    app.world_mut()
        .spawn(camera(perspective(core::f32::consts::FRAC_PI_2, 0.1), Vec3::ZERO));
    let found = views(&mut app);
    assert_eq!(found.len(), 3);
    assert_near(pixels(&found, far).expect("it is one"), 450.0);
    // Eight at most: the camera stays, who weighs least goes.
    for number in 0..8 {
        app.world_mut().resource_mut::<Viewpoints>().0.push(Viewpoint {
            position: Vec3::splat(number as f32 - 100.0),
            weight: 1.5,
        });
    }
    let found = views(&mut app);
    assert_eq!(found.len(), MOST_VIEWS);
    assert!(pixels(&found, Vec3::ZERO).is_some() && pixels(&found, far).is_some() && pixels(&found, near).is_none());
}

#[test]
fn expected_places_do_not_move() {
    let mut app = app();
    let place = |at: f32| Viewpoint {
        position: Vec3::X * at,
        weight: 1.0,
    };
    app.world_mut().resource_mut::<Viewpoints>().0 = [1.0, 2.0, 3.0].map(place).to_vec();
    views(&mut app);
    app.world_mut().resource_mut::<Viewpoints>().0.remove(0);
    let found = views(&mut app);
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(|view| view.velocity == Vec3::ZERO), "{found:?}");
}

#[test]
fn velocity_is_the_mean_of_what_was_gone_lately() {
    let mut app = app();
    let camera = app.world_mut().spawn(camera(perspective(1.0, 0.1), Vec3::ZERO)).id();
    let go = |app: &mut App, to: f32| {
        app.world_mut()
            .entity_mut(camera)
            .insert(Transform::default())
            .insert(GlobalTransform::from_xyz(to, 0.0, 0.0));
        views(app)[0].velocity.x
    };
    assert_near(go(&mut app, 0.0), 0.0);
    for frame in 1..40 {
        let velocity = go(&mut app, frame as f32 / 4.0);
        // A quarter of a metre each 64th of a second.
        assert_near(velocity, 16.0);
    }
    assert_near(go(&mut app, 1000.0), 0.0);
    assert_near(go(&mut app, 1000.25), 16.0);
    for _ in 0..16 {
        go(&mut app, 1000.25);
    }
    assert_near(go(&mut app, 1000.25), 0.0);
    // Two frames at one time are one.
    app.world_mut().resource_mut::<Bed>().now -= 1.0 / 64.0;
    assert_near(go(&mut app, 1000.5), 16.0 / 15.0);
}
