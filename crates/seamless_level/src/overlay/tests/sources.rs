//! Sources, and what they see.

use super::*;
use crate::DistanceStreaming;

#[test]
fn where_sources_go_what_they_see_and_what_is_prepared_is_drawn() {
    let mut stage = stage(true);
    set(&mut stage.app, |settings| {
        (settings.volumes, settings.bounds) = (false, false);
    });
    stage.frames(5);
    let at_rest = corners(&stage.app);
    assert!(at_rest > 0);
    // It flies, and an arrow shows where to.
    for frame in 0..30 {
        let at = GlobalTransform::from_xyz(frame as f32 * 0.2, 0.0, 0.0);
        stage.app.world_mut().entity_mut(stage.source).insert(at);
        stage.frames(1);
    }
    assert!(corners(&stage.app) > at_rest, "the arrow");
    stage.frames(30);
    assert_eq!(corners(&stage.app), at_rest, "it has stopped");
    let mut of = |shape| {
        let mut source = stage.app.world_mut().get_mut::<StreamingSource>(stage.source).unwrap();
        source.shape = shape;
        stage.frames(1);
        corners(&stage.app)
    };
    let (radius, half_angle) = (20.0, 0.6);
    let ball = of(SourceShape::Sphere { radius });
    let part = of(SourceShape::Sector { radius, half_angle });
    assert!(
        ball > at_rest && part > at_rest && ball != part,
        "{at_rest} {ball} {part}"
    );
    assert_eq!(
        of(SourceShape::Sector {
            radius,
            half_angle: 4.0
        }),
        ball,
        "it sees all around"
    );
    assert_eq!(of(SourceShape::Sphere { radius: f32::INFINITY }), at_rest);
    of(SourceShape::Point);
    let arrival = stage.ask(|levels| levels.prepare(ArrivalPoint::at(WEST)));
    stage.frames(1);
    assert!(corners(&stage.app) > at_rest, "the place that is prepared");
    drop(arrival);
    stage.frames(3);
    assert_eq!(corners(&stage.app), at_rest);
}

/// Only who asks is drawn in white.
#[test]
fn sources_that_ask_for_nothing_are_grey() {
    let (mut settings, source) = (LevelSettings::default(), StreamingSource::default());
    let asks = |source: &StreamingSource, settings: &LevelSettings| {
        let input = source.input(0, &GlobalTransform::IDENTITY, Vec3::ZERO);
        source.asks(&input, settings.follow_remote)
    };
    assert!(asks(&source, &settings));
    let remote = StreamingSource { remote: true, ..source };
    let others = [
        remote,
        StreamingSource {
            target: LevelTarget::Unloaded,
            ..source
        },
        StreamingSource {
            enabled: false,
            ..source
        },
        StreamingSource {
            priority: f32::INFINITY,
            ..source
        },
        StreamingSource {
            shape: SourceShape::Sphere { radius: f32::NAN },
            ..source
        },
    ];
    for other in others {
        assert!(!asks(&other, &settings), "{other:?}");
    }
    settings.follow_remote = true;
    assert!(asks(&remote, &settings));
}

/// With sources alone.
fn stage_of_sources() -> Stage {
    let mut stage = stage(true);
    set(&mut stage.app, |settings| {
        (settings.volumes, settings.bounds) = (false, false);
    });
    stage.frames(5);
    stage
}

fn change(stage: &mut Stage, how: impl FnOnce(&mut StreamingSource)) {
    let mut source = stage.app.world_mut().get_mut::<StreamingSource>(stage.source).unwrap();
    how(&mut source);
    stage.frames(1);
}

/// A world that is not there, or not any more, has no levels.
#[test]
fn who_asks_a_world_that_is_not_there_is_grey() {
    let mut stage = stage_of_sources();
    let (world, nothing) = (stage.world, stage.app.world_mut().spawn_empty().id());
    for (asked, expected) in [(Some(world), true), (Some(nothing), false), (None, true)] {
        change(&mut stage, |source| source.world = asked);
        assert_eq!(is_drawn_in(&stage.app, Color::WHITE), expected, "{asked:?}");
    }
    stage.app.world_mut().despawn(world);
    stage.frames(1);
    assert!(!is_drawn_in(&stage.app, Color::WHITE), "there is no world at all");
}

#[test]
fn there_is_no_arrow_to_where_nobody_looks_ahead() {
    let mut stage = stage_of_sources();
    let at_rest = corners(&stage.app);
    for (speed, ahead) in [(0.2, -1.0), (0.2, 0.0), (0.01, 1.0)] {
        // It has come to rest.
        stage.go(Vec3::ZERO);
        stage.frames(30);
        change(&mut stage, |source| source.ahead = ahead);
        for frame in 0..30 {
            let at = GlobalTransform::from_xyz(frame as f32 * speed, 0.0, 0.0);
            stage.app.world_mut().entity_mut(stage.source).insert(at);
            stage.frames(1);
            assert_eq!(corners(&stage.app), at_rest, "{speed} a frame, {ahead} s");
        }
    }
}

#[test]
fn the_distances_of_a_world_are_around_its_sources() {
    let mut stage = stage_of_sources();
    let at_rest = corners(&stage.app);
    let mut with = |distances: DistanceStreaming| {
        stage.app.world_mut().entity_mut(stage.world).insert(distances);
        stage.frames(1);
        corners(&stage.app) - at_rest
    };
    let both = DistanceStreaming {
        show: 20.0,
        load: 50.0,
        unload: 60.0,
        ..DistanceStreaming::default()
    };
    let ball = with(DistanceStreaming { show: 50.0, ..both });
    assert!(ball > 0);
    assert_eq!(with(both), 2 * ball, "where they are shown, and where they are loaded");
    assert_eq!(with(DistanceStreaming { load: 10.0, ..both }), 0, "it is of no use");
    assert_eq!(with(both), 2 * ball);
    change(&mut stage, |source| source.enabled = false);
    assert_eq!(corners(&stage.app), at_rest, "nothing comes by it");
    change(&mut stage, |source| (source.enabled, source.reach) = (true, 3.0));
    let far = points(&stage.app).map(|point| point.length()).fold(0.0, f32::max);
    assert!((far - 150.0).abs() < 0.1, "{far}");
}

/// A circle as high as the source, and a line.
#[test]
fn distances_are_drawn_along_the_axes_that_count() {
    let mut stage = stage_of_sources();
    let at = Vec3::new(3.0, 70.0, 0.0);
    stage.go(at);
    let before: Vec<Vec3> = points(&stage.app).collect();
    let mut with = |axes: [bool; 3]| {
        let distances = DistanceStreaming {
            show: 50.0,
            load: 50.0,
            axes: axes.into(),
            ..DistanceStreaming::default()
        };
        stage.app.world_mut().entity_mut(stage.world).insert(distances);
        stage.frames(1);
        let all = points(&stage.app).filter(|point| !before.contains(point));
        all.map(|point| point - at).collect::<Vec<_>>()
    };
    let circle = with([true, false, true]);
    assert!(circle.len() > 8, "{circle:?}");
    for point in circle {
        assert!(point.y.abs() < 1e-3 && (point.length() - 50.0).abs() < 0.1, "{point}");
    }
    assert_eq!(with([false, true, false]), [Vec3::Y * -50.0, Vec3::Y * 50.0]);
}

#[test]
fn the_outline_of_a_sector_is_where_it_sees() {
    let (at, look, half_angle) = (Vec3::new(1.0, 2.0, 3.0), Vec3::NEG_Z, 0.6);
    let [right, up, rim] = draw::sector(at, look, 10.0, half_angle);
    assert!(right[0] == at && up[0] == at);
    for corner in right[1..].iter().chain(&up[1..]).chain(&rim) {
        let way = *corner - at;
        assert!((way.length() - 10.0).abs() < 1e-3 && way.angle_between(look) < half_angle + 1e-3);
    }
    assert!(
        rim.iter()
            .all(|corner| ((*corner - at).angle_between(look) - half_angle).abs() < 1e-3)
    );
}
