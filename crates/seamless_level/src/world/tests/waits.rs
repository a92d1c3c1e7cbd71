//! What levels waited for.

use core::time::Duration;

use super::*;

#[test]
fn what_a_level_waited_for_is_told() {
    let mut stage = Stage::new();
    stage.app.insert_resource(StreamingTime::stopped());
    let pass = |stage: &mut Stage, seconds: u64| {
        let mut time = stage.app.world_mut().resource_mut::<StreamingTime>();
        time.advance(Duration::from_secs(seconds));
    };
    let queued = |stage: &Stage| stage.level("west").waited().queued.as_secs();
    stage.frames(3);
    stage.hold("west");
    pass(&mut stage, 100);
    stage.go(WEST);
    pass(&mut stage, 3);
    stage.frames(2);
    assert_eq!(queued(&stage), 3, "it still waits");
    stage.release();
    stage.frames(2);
    assert!(stage.level("west").is_visible());
    pass(&mut stage, 40);
    stage.frames(2);
    assert_eq!((queued(&stage), stage.level("west").waited().total().as_secs()), (3, 3));
    // On its way out, and wanted again: that it was to go is none of what it waits for.
    stage.go(Vec3::ZERO);
    stage.hold("west");
    stage.go(WEST);
    pass(&mut stage, 5);
    stage.go(Vec3::ZERO);
    pass(&mut stage, 70);
    stage.go(WEST);
    pass(&mut stage, 2);
    stage.release();
    stage.frames(2);
    assert_eq!(queued(&stage), 7);
}
