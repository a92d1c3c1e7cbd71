//! Levels that come by their distance.

use super::*;

/// Eight levels in a ring around the origin, a hundred away from it, each a box of ten; and those of [`manifest`], which has volumes. One
/// level is nowhere, another one comes only when it is asked for.
fn ring() -> WorldManifest {
    let mut world = manifest();
    let level = |index: usize| {
        let angle = core::f32::consts::TAU * index as f32 / 8.0;
        let center = Vec3::new(angle.cos(), 0.0, angle.sin()) * 100.0;
        LevelEntry {
            name: format!("ring {index}"),
            package: format!("ring {index}.pkg"),
            bounds: Some(((center - 5.0).to_array(), (center + 5.0).to_array())),
            ..LevelEntry::default()
        }
    };
    world.levels.extend((0..8).map(level));
    world.levels.push(LevelEntry {
        name: "nowhere".into(),
        package: "nowhere.pkg".into(),
        ..LevelEntry::default()
    });
    world.levels.push(LevelEntry {
        name: "on request".into(),
        package: "on request.pkg".into(),
        bounds: Some(([-50.0; 3], [50.0; 3])),
        on_request: true,
        ..LevelEntry::default()
    });
    world.levels[1].bounds = Some(([-100.0; 3], [100.0; 3]));
    world
}

fn stage(distances: DistanceStreaming) -> Stage {
    let mut stage = Stage::new();
    let handle = add_manifest(&mut stage.app, ring());
    let world = stage.app.world_mut();
    world.entity_mut(stage.world).insert((SeamlessWorld(handle), distances));
    world.get_mut::<StreamingSource>(stage.source).unwrap().ahead = 0.0;
    stage.frames(4);
    stage
}

const DISTANCES: DistanceStreaming = DistanceStreaming {
    load: 50.0,
    show: 20.0,
    unload: 60.0,
    delay: 0.0,
    block: None,
    axes: BVec3::TRUE,
};

/// The targets of the ring's levels: nothing, loaded, or visible.
fn targets(stage: &Stage) -> String {
    let targets = (0..8).map(|index| match stage.level(&format!("ring {index}")).target() {
        LevelTarget::Unloaded => '.',
        LevelTarget::Loaded => 'l',
        LevelTarget::Visible => 'V',
    });
    targets.collect()
}

#[test]
fn levels_come_in_rings() {
    let mut stage = stage(DISTANCES);
    assert_eq!(targets(&stage), "........");
    for (x, expected) in [
        (44.0, "........"),
        (46.0, "l......."),
        (74.0, "l......."),
        (76.0, "V......."),
        // Ten more until it is hidden, and until it leaves.
        (66.0, "V......."),
        (64.0, "l......."),
        (36.0, "l......."),
        (34.0, "........"),
        (44.0, "........"),
    ] {
        stage.go(Vec3::X * x);
        assert_eq!(targets(&stage), expected, "at {x}");
    }
    stage.go(Vec3::new(1.0, 0.0, 1.0).normalize() * 90.0);
    assert_eq!(targets(&stage), ".V......", "its neighbours are 60 away");
    assert!(!stage.level("nowhere").is_wanted() && !stage.level("on request").is_wanted());
}

#[test]
fn levels_with_volumes_are_left_to_them() {
    let mut stage = stage(DISTANCES);
    assert!(!stage.level("west").is_wanted() && stage.level("base").is_visible());
    stage.go(WEST);
    assert!(stage.level("west").is_visible());
}

#[test]
fn heights_count_unless_nobody_wants_that() {
    let mut stage = stage(DISTANCES);
    let above = Vec3::new(76.0, 500.0, 0.0);
    stage.go(above);
    assert_eq!(targets(&stage), "........");
    let set = |stage: &mut Stage, axes: BVec3| {
        let distances = DistanceStreaming { axes, ..DISTANCES };
        stage.app.world_mut().entity_mut(stage.world).insert(distances);
        stage.frames(2);
        targets(stage)
    };
    let on_map = BVec3::new(true, false, true);
    assert_eq!(set(&mut stage, on_map), "V.......");
    stage.go(above.with_x(74.0));
    assert_eq!(targets(&stage), "V.......", "within the margin");
    stage.go(above.with_x(34.0));
    assert_eq!(targets(&stage), "........");
    stage.go(above);
    assert_eq!(set(&mut stage, BVec3::FALSE), "........", "some axis has to count");
    assert_eq!(set(&mut stage, on_map), "V.......");
    assert_eq!(set(&mut stage, BVec3::TRUE), "........");
}

#[test]
fn sources_reach_differently_far() {
    let mut stage = stage(DISTANCES);
    let far = StreamingSource {
        reach: 3.0,
        ..StreamingSource::default()
    };
    let far = stage
        .app
        .world_mut()
        .spawn((far, GlobalTransform::from_translation(Vec3::Y)))
        .id();
    stage.frames(3);
    assert_eq!(targets(&stage), "llllllll");
    stage.app.world_mut().get_mut::<StreamingSource>(far).unwrap().reach = 5.0;
    stage.frames(3);
    assert_eq!(targets(&stage), "VVVVVVVV");
    stage.app.world_mut().get_mut::<StreamingSource>(far).unwrap().reach = 1.0;
    stage.frames(3);
    assert_eq!(targets(&stage), "........");
}

#[test]
fn distances_change_and_go() {
    let mut stage = stage(DISTANCES);
    stage.go(Vec3::X * 76.0);
    stage.go(Vec3::X * 66.0);
    let set = |stage: &mut Stage, distances: DistanceStreaming| {
        stage.app.world_mut().entity_mut(stage.world).insert(distances);
        stage.frames(2);
        targets(stage)
    };
    let wider = DistanceStreaming {
        load: 55.0,
        unload: 65.0,
        ..DISTANCES
    };
    assert_eq!(set(&mut stage, wider), "V.......", "what is within the margin stays");
    let all_shown = DistanceStreaming { show: 55.0, ..wider };
    assert_eq!(set(&mut stage, all_shown), "V.......");
    assert_eq!(set(&mut stage, DISTANCES), "V.......");
    let wide = DistanceStreaming {
        load: 1000.0,
        show: 1000.0,
        unload: 1000.0,
        ..DISTANCES
    };
    assert_eq!(set(&mut stage, wide), "VVVVVVVV");
    for bad in [
        DistanceStreaming { load: f32::NAN, ..wide },
        DistanceStreaming { unload: 900.0, ..wide },
        DistanceStreaming { show: 1001.0, ..wide },
        DistanceStreaming { delay: -1.0, ..wide },
        DistanceStreaming { show: -1.0, ..wide },
        DistanceStreaming {
            block: Some(1001.0),
            ..wide
        },
        DistanceStreaming {
            block: Some(f32::NAN),
            ..wide
        },
    ] {
        assert_eq!(set(&mut stage, bad), "........", "{bad:?}");
        assert_eq!(set(&mut stage, wide), "VVVVVVVV");
    }
    let world = stage.world;
    stage.app.world_mut().entity_mut(world).remove::<DistanceStreaming>();
    stage.frames(2);
    assert_eq!(targets(&stage), "........");
    assert_eq!(set(&mut stage, wide), "VVVVVVVV");
    // The world starts anew with the same distances.
    let handle = add_manifest(&mut stage.app, ring());
    stage.app.world_mut().get_mut::<SeamlessWorld>(world).unwrap().0 = handle;
    stage.frames(4);
    assert_eq!(targets(&stage), "VVVVVVVV");
}

#[test]
fn a_delay_holds_what_was_left() {
    let mut stage = stage(DistanceStreaming {
        delay: 0.5,
        ..DISTANCES
    });
    stage.go(Vec3::X * 90.0);
    stage.go(Vec3::ZERO);
    assert_eq!(targets(&stage), "V.......");
    stage.frames(40);
    assert_eq!(targets(&stage), "........");
}

/// Who sees further finds all of it there.
#[test]
fn a_place_is_got_ready_as_far_as_who_comes_sees() {
    let mut stage = stage(DISTANCES);
    let from = Vec3::new(30.0, 0.0, 0.0);
    let source = StreamingSource {
        reach: 2.0,
        ..StreamingSource::default()
    };
    let mut wanted = |point: ArrivalPoint| {
        let arrival = stage.ask(move |levels| levels.prepare(point));
        stage.frames(2);
        arrival.progress().wanted
    };
    let usual = wanted(ArrivalPoint::at(from));
    let far = wanted(ArrivalPoint::of(&source, from));
    assert!(far > usual, "{far} and {usual}");
}
