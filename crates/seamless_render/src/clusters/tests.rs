use bevy_camera::PerspectiveProjection;
use bevy_light::cluster::ClusterableObjects;
use bevy_math::{UVec2, UVec3};

use super::*;
use crate::pipelines::tests::instance;

fn app() -> App {
    let mut app = App::new();
    add_systems(&mut app);
    app
}

/// A view that was told so of its lights, and what it makes of that in a frame in which a level comes or does not.
fn told(app: &mut App, farthest: Option<f32>, far: Option<f32>, comes: bool) -> Option<f32> {
    let clusters = Clusters {
        tile_size: UVec2::ONE,
        dimensions: UVec3::ONE,
        near: 0.1,
        far: 1.0,
        last_frame_farthest_z: farthest,
        last_frame_total_cluster_index_count: None,
        clusterable_objects: ClusterableObjects::Gpu,
    };
    let view = app.world_mut().spawn(clusters).id();
    if let Some(far) = far {
        let projection = PerspectiveProjection {
            far,
            ..PerspectiveProjection::default()
        };
        app.world_mut().entity_mut(view).insert(Projection::from(projection));
    }
    if comes {
        app.world_mut().write_message(InstanceEvent::Shown { id: instance(1) });
    }
    app.update();
    let clusters = app.world().get::<Clusters>(view).expect("it is there");
    let found = clusters.last_frame_farthest_z;
    app.world_mut().despawn(view);
    found
}

#[test]
fn lights_that_come_are_seen_as_far_as_the_camera_sees() {
    for (farthest, far, expected) in [
        (Some(7.0), None, FAR),
        (Some(f32::NAN), Some(0.1), FAR),
        (None, Some(5000.0), 5000.0),
        (Some(7.0), Some(f32::INFINITY), FAR),
        // Those that are there are seen as before.
        (Some(3000.0), Some(100.0), 3000.0),
    ] {
        let mut app = app();
        app.world_mut().spawn(PointLight::default());
        assert_eq!(told(&mut app, farthest, far, true), Some(expected));
    }
}

#[test]
fn for_some_frames_and_only_for_lights_that_come() {
    let mut app = app();
    assert_eq!(told(&mut app, Some(7.0), None, true), Some(7.0), "there are no lights");
    app.world_mut().spawn(PointLight::default());
    assert_eq!(
        told(&mut app, Some(7.0), None, false),
        Some(7.0),
        "it came with no level"
    );
    assert_eq!(told(&mut app, Some(7.0), None, true), Some(7.0), "it was there before");
    app.world_mut().spawn(PointLight::default());
    assert_eq!(told(&mut app, Some(7.0), None, true), Some(FAR));
    for _ in 1..FRAMES {
        assert_eq!(told(&mut app, Some(7.0), None, false), Some(FAR));
    }
    assert_eq!(told(&mut app, Some(7.0), None, false), Some(7.0), "by now Bevy knows");
}
