//! What kinds of sources ask for, one by one.

use core::f32::consts::{FRAC_PI_2, PI};

use super::*;

/// Balls of radius ten along the x axis, a hundred apart, each with its level.
fn row(count: u32) -> Selector {
    let volumes: Vec<_> = (0..count)
        .map(|level| ball(Vec3::X * 100.0 * level as f32, 10.0, 0.0, &[level]))
        .collect();
    world(count as usize, &volumes)
}

fn targets(selector: &mut Selector, source: SourceInput) -> Vec<u32> {
    selector.update(&[source], 0.0, &UNCAPPED);
    (0..20).filter(|level| wants(selector, *level)).collect()
}

#[test]
fn balls_touch_and_sectors_look() {
    let of = |shape, look| SourceInput {
        shape,
        look: Some(look),
        ..at(Vec3::ZERO)
    };
    let sphere = |radius| SourceShape::Sphere { radius };
    let sector = |half_angle| SourceShape::Sector {
        radius: 195.0,
        half_angle,
    };
    let seen = |source| targets(&mut row(5), source);
    assert_eq!(seen(of(SourceShape::Point, Vec3::X)), [0]);
    assert_eq!(seen(of(sphere(89.0), Vec3::X)), [0]);
    assert_eq!(seen(of(sphere(91.0), Vec3::Y)), [0, 1]);
    assert_eq!(seen(of(sphere(195.0), Vec3::Y)), [0, 1, 2]);
    assert_eq!(seen(of(sphere(-5.0), Vec3::X)), [0]);
    assert_eq!(seen(of(sector(0.1), Vec3::X)), [0, 1, 2]);
    assert_eq!(seen(of(sector(0.1), -Vec3::X)), [0], "it is in that one itself");
    // The nearer one is wider.
    assert_eq!(seen(of(sector(FRAC_PI_2 - 0.09), Vec3::Y)), [0, 1]);
    assert_eq!(seen(of(sector(PI), -Vec3::X)), [0, 1, 2]);
}

#[test]
fn who_looks_about_a_little_keeps_what_it_sees() {
    let mut selector = row(2);
    let look = |angle: f32| SourceInput {
        shape: SourceShape::Sector {
            radius: 150.0,
            half_angle: 0.5,
        },
        look: Some(vec3(angle.cos(), angle.sin(), 0.0)),
        ..at(Vec3::ZERO)
    };
    let border = 0.5 + 0.1_f32.asin();
    for (angle, expected) in [
        (border + 0.05, false),
        (border - 0.05, true),
        (border + 0.1, true),
        (border + 0.2, false),
        (border + 0.1, false),
    ] {
        assert_eq!(targets(&mut selector, look(angle)).contains(&1), expected, "at {angle}");
    }
}

#[test]
fn what_lies_ahead_is_asked_for_and_never_waited_for() {
    let volumes: Vec<_> = (0..5)
        .map(|level| VolumeInput {
            mode: VolumeMode::BlockUntilLoaded,
            ..ball(Vec3::X * 100.0 * level as f32, 10.0, 0.0, &[level])
        })
        .collect();
    let mut selector = world(5, &volumes);
    let source = SourceInput {
        velocity: Vec3::X * 150.0,
        ahead: 2.0,
        ..at(Vec3::ZERO)
    };
    let plan = selector.update(&[source], 0.0, &UNCAPPED);
    assert_eq!(risen(plan), [0, 1, 2, 3], "the sooner it is there the more urgent");
    assert_eq!(plan.block, [0]);
    for still in [
        SourceInput { ahead: 0.0, ..source },
        SourceInput {
            velocity: Vec3::X * 0.4,
            ..source
        },
    ] {
        assert_eq!(targets(&mut row(5), still), [0]);
    }
    // Nobody waits for who only prepares.
    for (source, expected) in [
        (
            SourceInput {
                is_present: false,
                ..at(Vec3::ZERO)
            },
            LevelTarget::Visible,
        ),
        (
            SourceInput {
                target: LevelTarget::Loaded,
                ..at(Vec3::ZERO)
            },
            LevelTarget::Loaded,
        ),
    ] {
        let mut selector = world(5, &volumes);
        let plan = selector.update(&[source], 0.0, &UNCAPPED);
        assert_eq!((&plan.rise[..], &plan.block[..]), (&[(0, expected)][..], &[][..]));
    }
}

#[test]
fn who_only_loads_shows_nothing() {
    let of_mode = |mode| VolumeInput {
        mode,
        unload_delay: 2.0,
        ..ball(Vec3::ZERO, 10.0, 0.0, &[0])
    };
    let viewer = at(Vec3::ZERO);
    let loader = SourceInput {
        target: LevelTarget::Loaded,
        ..viewer
    };
    let blind = SourceInput {
        target: LevelTarget::Unloaded,
        ..viewer
    };
    let target = |modes: &[VolumeMode], sources: &[SourceInput]| {
        let mut selector = world(1, &modes.iter().map(|mode| of_mode(*mode)).collect::<Vec<_>>());
        selector.update(sources, 0.0, &UNCAPPED);
        selector.target(0)
    };
    use VolumeMode::{BlockUntilLoaded, Load, LoadAndShow, ShowIfLoaded};
    for mode in [Load, LoadAndShow, BlockUntilLoaded] {
        assert_eq!(target(&[mode], &[loader]), LevelTarget::Loaded);
        assert_eq!(target(&[mode], &[blind]), LevelTarget::Unloaded);
    }
    assert_eq!(target(&[Load, ShowIfLoaded], &[loader]), LevelTarget::Loaded);
    assert_eq!(target(&[LoadAndShow], &[loader, viewer]), LevelTarget::Visible);
    // When the viewer goes the level is hidden after the delay, and does not leave.
    let mut selector = world(1, &[of_mode(LoadAndShow)]);
    let mut at = |sources: &[SourceInput], now| {
        selector.update(sources, now, &UNCAPPED);
        selector.target(0)
    };
    assert_eq!(at(&[viewer, loader], 0.0), LevelTarget::Visible);
    assert_eq!(at(&[loader], 1.0), LevelTarget::Visible);
    assert_eq!(at(&[loader], 3.0), LevelTarget::Loaded);
    assert_eq!(at(&[], 4.0), LevelTarget::Loaded);
    assert_eq!(at(&[], 6.0), LevelTarget::Unloaded);
}

#[test]
fn ranges_reach_from_afar() {
    let volume = VolumeInput {
        range: 50.0,
        unload_margin: 20.0,
        ..ball(Vec3::ZERO, 10.0, 0.0, &[0])
    };
    let at = |x: f32, reach: f32| SourceInput {
        reach,
        ..at(Vec3::X * x)
    };
    for reach in [0.5, 1.0, 4.0] {
        let mut selector = world(1, core::slice::from_ref(&volume));
        for (range, expected) in [(51.0, false), (49.0, true), (69.0, true), (71.0, false), (60.0, false)] {
            let there = targets(&mut selector, at(10.0 + range * reach, reach)) == [0];
            assert_eq!(there, expected, "{range} times {reach}");
        }
    }
}

#[test]
fn urgency_follows_look_and_time() {
    let behind = ball(vec3(-40.0, 0.0, 0.0), 60.0, 0.0, &[0]);
    let before = ball(vec3(45.0, 0.0, 0.0), 60.0, 0.0, &[1]);
    let order = |source: SourceInput| {
        let volumes = [behind.clone(), before.clone()];
        risen(&select(&[LevelInput::default(); 2], &volumes, &[source], &UNCAPPED))
    };
    let still = at(Vec3::ZERO);
    assert_eq!(order(still), [0, 1], "the nearer one");
    let look = Some(Vec3::X);
    assert_eq!(order(SourceInput { look, ..still }), [1, 0]);
    let look_weight = 0.0;
    assert_eq!(
        order(SourceInput {
            look,
            look_weight,
            ..still
        }),
        [0, 1]
    );
    let velocity = Vec3::X * 20.0;
    assert_eq!(order(SourceInput { velocity, ..still }), [0, 1], "soon is not now");
    assert_eq!(
        order(SourceInput {
            velocity: velocity * 2.0,
            ..still
        }),
        [1, 0]
    );
}

/// A thin volume between two of the points at which a source asks lingers until it is there; meanwhile its level counts as before.
#[test]
fn what_lies_between_the_points_ahead_keeps_its_urgency() {
    let mut beside = ball(Vec3::ZERO, 500.0, 0.0, &[1]);
    beside.priority = 0.1;
    let mut thin = ball(Vec3::X * 45.0, 3.0, 0.0, &[0]);
    thin.unload_delay = 10.0;
    let mut selector = world(2, &[thin, beside]);
    let mut fly = |x: f32, max_levels| {
        let source = SourceInput {
            velocity: Vec3::X * 90.0,
            ..at(Vec3::X * x)
        };
        let plan = selector.update(&[source], 0.0, &at_most(max_levels)).clone();
        selector.set_presence(0, Presence::Coming);
        (plan, selector.priority(0))
    };
    fly(-15.0, 2);
    let (plan, priority) = fly(0.0, 1);
    assert!(wants(&selector, 0), "its load is not cancelled: {plan:?}");
    let time = 42.0 / 90.0;
    // A tenth of the way to its middle counts where it is entered.
    assert!((priority - 1.0 / (1.3 * (1.0 + time))).abs() < 1e-4, "{priority}");
}

/// At 532 m/s and 60 Hz a step is nearly nine metres, a third of the way is twenty of them, and a long frame is fifty metres.
#[test]
fn nothing_on_a_fast_way_is_passed_over() {
    let places = || (0..40).map(place_of);
    let volumes: Vec<_> = (0..)
        .zip(places())
        .map(|(level, x)| ball(Vec3::X * x, 1.0, 0.0, &[level]))
        .collect();
    let mut selector = world(volumes.len(), &volumes);
    let (mut x, mut now) = (0.0, 0.0);
    let mut came = vec![None; volumes.len()];
    for frame in 0.. {
        let seconds = if frame % 40 == 39 { 0.1 } else { 1.0 / 60.0 };
        let source = SourceInput {
            velocity: Vec3::X * 532.0,
            ..at(Vec3::X * x)
        };
        for (level, _) in &selector.update(&[source], now, &UNCAPPED).rise {
            came[*level as usize].get_or_insert(x);
        }
        x += 532.0 * seconds;
        now += f64::from(seconds);
        if x > 8000.0 {
            break;
        }
    }
    for (place, came) in places().zip(came) {
        let ahead = place - 1.0 - came.expect("it is asked for");
        assert!((532.0 - 54.0..=532.1).contains(&ahead), "{ahead} before {place}");
    }
    // After a turn, all of the new way counts at once.
    let turned = SourceInput {
        velocity: Vec3::X * 532.0,
        ..at(Vec3::X * (place_of(3) - 88.0))
    };
    let mut selector = world(volumes.len(), &volumes);
    let aside = SourceInput {
        velocity: Vec3::Y * 532.0,
        ..turned
    };
    assert!(targets(&mut selector, aside).is_empty());
    assert_eq!(targets(&mut selector, turned), [3, 4, 5]);
}

/// Where the volume with this number is.
fn place_of(index: u32) -> f32 {
    600.0 + 173.7 * index as f32
}

/// Small volumes without margins and delays: each is entered by the point that is furthest ahead, and stays until the source has passed it.
#[test]
fn what_the_way_leads_into_does_not_come_and_go_between_the_points_ahead() {
    let levels = [0, 1, 2];
    let volumes = levels.map(|level| ball(Vec3::X * (120.0 + 10.0 * level as f32), 1.0, 0.0, &[level]));
    let mut selector = world(3, &volumes);
    let mut changes = Vec::new();
    for frame in 0..200 {
        let source = SourceInput {
            velocity: Vec3::X * 60.0,
            ..at(Vec3::X * frame as f32)
        };
        let plan = selector.update(&[source], f64::from(frame) / 60.0, &UNCAPPED);
        changes.extend(plan.rise.iter().map(|(level, _)| (frame, *level, true)));
        changes.extend(plan.fall.iter().map(|(level, _)| (frame, *level, false)));
    }
    let expected = [59, 69, 79]
        .into_iter()
        .zip(levels)
        .map(|(frame, level)| (frame, level, true));
    let gone = [122, 132, 142]
        .into_iter()
        .zip(levels)
        .map(|(frame, level)| (frame, level, false));
    assert_eq!(changes, expected.chain(gone).collect::<Vec<_>>());
}

#[test]
fn who_turns_away_from_what_the_way_led_into_lets_it_go() {
    let mut selector = world(1, &[ball(Vec3::X * 45.0, 3.0, 0.0, &[0])]);
    let fly = |velocity: Vec3, x: f32| SourceInput {
        velocity,
        ..at(Vec3::X * x)
    };
    assert!(targets(&mut selector, fly(Vec3::X * 40.0, 0.0)).is_empty());
    assert_eq!(
        targets(&mut selector, fly(Vec3::X * 90.0, 0.0)),
        [0],
        "between two points"
    );
    assert_eq!(targets(&mut selector, fly(Vec3::X * 90.0, -15.0)), [0]);
    assert!(
        targets(&mut selector, fly(Vec3::X * 40.0, 0.0)).is_empty(),
        "it does not come so far"
    );
    targets(&mut selector, fly(Vec3::X * 90.0, -15.0));
    assert!(targets(&mut selector, fly(Vec3::Z * 90.0, -15.0)).is_empty());
}

#[test]
fn each_source_knows_what_it_waits_for() {
    let mut selector = row(4);
    let of = |key, x: f32| SourceInput { key, ..at(Vec3::X * x) };
    selector.request(3, RequestKind::Ban, EXPLICIT_PRIORITY);
    let sources = [of(7, 0.0), of(8, 100.0), of(9, 300.0), at(Vec3::NAN)];
    selector.update(&sources, 0.0, &at_most(1));
    assert_eq!(selector.asked_by(7), Some((vec![0], LevelTarget::Visible)));
    assert_eq!(selector.asked_by(9), Some((vec![3], LevelTarget::Visible)));
    assert_eq!((selector.asked_by(0), selector.asked_by(1)), (None, None));
    let standing = |selector: &Selector| [0, 1, 2, 3].map(|level| selector.standing(level));
    use Standing::{Coming, Failed, LeftOut, There, Unwanted};
    assert_eq!(standing(&selector), [Coming, LeftOut, Unwanted, Unwanted]);
    selector.set_presence(0, Presence::Failed);
    selector.update(&sources, 0.0, &at_most(1));
    selector.set_presence(1, Presence::There);
    selector.update(&sources, 0.0, &at_most(1));
    assert_eq!(standing(&selector), [Failed, There, Unwanted, Unwanted]);
    assert_eq!(selector.asked().len(), 2);
}
