//! What the caps leave out, who is waited for, and who arrives.

use super::*;

#[test]
fn who_is_not_there_takes_no_place_at_the_cap() {
    let mut selector = world(
        2,
        &[
            ball(Vec3::ZERO, 100.0, 0.0, &[0]),
            ball(Vec3::X * 900.0, 9.0, 0.0, &[1]),
        ],
    );
    let player = at(Vec3::X * 90.0);
    let arrival = SourceInput {
        is_present: false,
        priority: 10.0,
        ..at(Vec3::X * 900.0)
    };
    selector.update(&[player], 0.0, &at_most(1));
    assert_eq!(selector.update(&[player, arrival], 0.0, &at_most(1)).fall, []);
    assert_eq!(selector.standing(1), Standing::LeftOut);
    let plan = selector.update(&[arrival], 0.0, &at_most(1));
    assert_eq!((risen(plan), plan.dropped), (vec![1], 0), "nobody is there");
}

#[test]
fn arrivals_are_told_until_all_is_there() {
    let bounds = Some((vec3(100.0, -5.0, -5.0), vec3(110.0, 5.0, 5.0)));
    let levels = [LevelInput {
        bounds,
        ..LevelInput::default()
    }];
    let mut selector = Selector::new(&levels);
    selector.add_volume(ball(vec3(100.0, 0.0, 0.0), 80.0, 0.0, &[0]));
    let mut arrival = |position: Vec3, velocity: Vec3, presence: Option<Presence>| {
        presence
            .into_iter()
            .for_each(|presence| selector.set_presence(0, presence));
        let source = SourceInput {
            velocity,
            ..at(position)
        };
        selector.update(&[source], 0.0, &UNCAPPED).arrival
    };
    let is = |arrival: Option<f32>, expected: f32| (arrival.unwrap() - expected).abs() < 0.01;
    let flight = Vec3::X * 20.0;
    assert_eq!(arrival(Vec3::ZERO, Vec3::ZERO, None), None, "it is not wanted yet");
    assert!(is(arrival(Vec3::X * 5.0, flight, None), 4.75));
    assert!(is(arrival(Vec3::X * 80.0, flight, Some(Presence::Coming)), 1.0));
    assert_eq!(arrival(Vec3::X * 80.0, Vec3::Y * 20.0, None), None, "it passes by");
    assert_eq!(arrival(Vec3::X * 80.0, -flight, None), None);
    assert_eq!(arrival(Vec3::X * 80.0, Vec3::ZERO, None), None);
    assert_eq!(arrival(Vec3::X * 105.0, Vec3::ZERO, None), Some(0.0), "late");
    assert_eq!(arrival(Vec3::X * 105.0, Vec3::ZERO, Some(Presence::There)), None);
    assert_eq!(arrival(Vec3::X * 80.0, flight, Some(Presence::Failed)), None);
}

/// What [`LateLevels`](crate::LateLevels) calls late is what the budget grows for.
#[test]
fn who_is_above_a_level_has_arrived_unless_heights_count() {
    let bounds = Some((vec3(100.0, 0.0, -5.0), vec3(110.0, 5.0, 5.0)));
    let mut selector = Selector::new(&[LevelInput {
        bounds,
        ..LevelInput::default()
    }]);
    selector.request(0, RequestKind::Show, EXPLICIT_PRIORITY);
    selector.set_presence(0, Presence::Coming);
    let camera = at(vec3(105.0, 25.0, 0.0));
    let arrival = |selector: &mut Selector, source: SourceInput| selector.update(&[source], 0.0, &UNCAPPED).arrival;
    assert_eq!(arrival(&mut selector, camera), Some(0.0));
    let sinking = SourceInput {
        velocity: Vec3::NEG_Y * 10.0,
        ..camera
    };
    assert_eq!(arrival(&mut selector, sinking), Some(0.0));
    let flying = SourceInput {
        position: vec3(90.0, 25.0, 0.0),
        velocity: vec3(20.0, 3.0, 0.0),
        ..camera
    };
    assert_eq!(arrival(&mut selector, flying), Some(0.5));
    selector.set_arrival_axes(BVec3::TRUE);
    assert_eq!(arrival(&mut selector, flying), None);
    assert_eq!(arrival(&mut selector, camera), None);
    assert_eq!(arrival(&mut selector, sinking), Some(2.0));
}

/// A server goes on while the player of another machine waits.
#[test]
fn nobody_waits_for_who_is_remote() {
    let volume = VolumeInput {
        mode: VolumeMode::BlockUntilLoaded,
        ..ball(Vec3::ZERO, 10.0, 0.0, &[0])
    };
    let mut selector = world(1, &[volume]);
    let remote = SourceInput {
        may_block: false,
        ..at(Vec3::ZERO)
    };
    let plan = selector.update(&[remote], 0.0, &UNCAPPED);
    assert_eq!(
        (&plan.rise[..], &plan.block[..]),
        (&[(0, LevelTarget::Visible)][..], &[][..])
    );
    assert_eq!(plan.arrival, Some(0.0), "it has arrived all the same");
    let plan = selector.update(&[remote, at(Vec3::ZERO)], 0.0, &UNCAPPED);
    assert_eq!(plan.block, [0], "but for who is here");
}

/// Beyond the room that there is only the most urgent level comes, beside what is always loaded.
#[test]
fn the_most_urgent_level_comes_whatever_room_there_is() {
    let mut levels = [10, 90, 5].map(|bytes| LevelInput {
        bytes,
        ..LevelInput::default()
    });
    levels[0].always_loaded = true;
    let mut selector = Selector::new(&levels);
    for (level, x) in [(1, 1.0), (2, 60.0)] {
        selector.add_volume(ball(Vec3::X * x, 100.0, 0.0, &[level]));
    }
    let mut wanted = |limits: SelectionLimits, x: f32| {
        selector.update(&[at(Vec3::X * x)], 0.0, &limits);
        [0, 1, 2].map(|level| wants(&selector, level))
    };
    let room = |room| SelectionLimits { room, ..UNCAPPED };
    assert_eq!(wanted(room(105), 0.0), [true; 3]);
    assert_eq!(wanted(room(104), 0.0), [true, true, false]);
    assert_eq!(wanted(room(0), 0.0), [true, true, false]);
    assert_eq!(wanted(room(20), 59.0), [true, false, true]);
    let max_bytes = SelectionLimits {
        max_bytes: 20,
        ..UNCAPPED
    };
    assert_eq!(wanted(max_bytes, 0.0), [true, false, true]);
}

/// What game code wants to be shown comes as well, and takes nobody's place as the most urgent one; but caps in numbers are caps.
#[test]
fn what_is_asked_for_by_name_comes_whatever_room_there_is() {
    let levels = [50, 50, 50, 20, 5].map(|bytes| LevelInput {
        bytes,
        ..LevelInput::default()
    });
    let mut selector = Selector::new(&levels);
    for level in 0..3 {
        selector.request(level, RequestKind::Show, EXPLICIT_PRIORITY);
    }
    selector.add_volume(ball(Vec3::ZERO, 100.0, 0.0, &[3]));
    selector.add_volume(ball(Vec3::X * 60.0, 100.0, 0.0, &[4]));
    let mut wanted = |limits: SelectionLimits| {
        selector.update(&[at(Vec3::ZERO)], 0.0, &limits);
        [0, 1, 2, 3, 4].map(|level| wants(&selector, level))
    };
    let room = |room| SelectionLimits { room, ..UNCAPPED };
    for _ in 0..2 {
        assert_eq!(wanted(room(175)), [true; 5]);
        assert_eq!(wanted(room(100)), [true, true, true, true, false]);
        assert_eq!(wanted(room(0)), [true, true, true, true, false]);
    }
    let max_bytes = SelectionLimits {
        max_bytes: 100,
        ..UNCAPPED
    };
    assert_eq!(wanted(max_bytes), [true, true, false, false, false]);
    // Nor does it stay away because there was no memory before somebody asked.
    selector.set_out(1, true);
    selector.set_out(3, true);
    selector.update(&[at(Vec3::ZERO)], 0.0, &room(175));
    assert_eq!([1, 3].map(|level| wants(&selector, level)), [true, false]);
}

/// The ground that somebody stands on, and a house over there.
#[test]
fn what_somebody_is_in_comes_before_what_is_near() {
    let of = |min: Vec3, max: Vec3, level| VolumeInput {
        shape: VolumeShape::Box { min, max },
        range: 500.0,
        levels: [level].into(),
        ..VolumeInput::default()
    };
    let house = of(vec3(400.0, 0.0, 0.0), vec3(420.0, 9.0, 20.0), 0);
    let ground = of(vec3(-10.0, -20.0, -10.0), vec3(4000.0, 0.0, 4000.0), 1);
    let mut selector = world(2, &[house, ground]);
    assert_eq!(risen(selector.update(&[at(Vec3::Y)], 0.0, &UNCAPPED)), [1, 0]);
}

#[test]
fn what_finds_no_memory_is_left_out_whatever_the_caps_say() {
    let mut selector = world(2, &[ball(Vec3::ZERO, 10.0, 0.0, &[0, 1])]);
    selector.update(&[at(Vec3::ZERO)], 0.0, &UNCAPPED);
    selector.set_out(0, true);
    let plan = selector.update(&[at(Vec3::ZERO)], 0.0, &UNCAPPED);
    assert_eq!((&plan.fall[..], plan.dropped), (&[(0, LevelTarget::Unloaded)][..], 1));
    assert_eq!(selector.standing(0), Standing::LeftOut);
    let mut listed: Vec<_> = selector.listed().map(|(level, .., is_out)| (level, is_out)).collect();
    listed.sort_unstable();
    assert_eq!(listed, [(0, true), (1, false)]);
    selector.set_out(0, false);
    let plan = selector.update(&[at(Vec3::ZERO)], 0.0, &UNCAPPED);
    assert_eq!((risen(plan), plan.dropped), (vec![0], 0));
}

#[test]
fn what_is_held_is_waited_for_by_nobody() {
    let mut selector = world(2, &[ball(Vec3::ZERO, 10.0, 0.0, &[0, 1])]);
    let source = at(Vec3::ZERO);
    selector.update(&[source], 0.0, &UNCAPPED);
    selector.set_presence(0, Presence::Held);
    selector.set_presence(1, Presence::There);
    let plan = selector.update(&[source], 0.0, &UNCAPPED);
    assert_eq!(plan.arrival, None);
    assert_eq!(
        [0, 1].map(|level| selector.standing(level)),
        [Standing::LeftOut, Standing::There]
    );
    assert!(!selector.is_any_coming());
    assert_eq!(
        selector.update(&[source], 0.0, &at_most(1)).fall,
        [(1, LevelTarget::Unloaded)],
        "it keeps its place"
    );
    selector.set_presence(0, Presence::Coming);
    assert!(selector.is_any_coming());
}

#[test]
fn another_level_in_the_place_of_one_weighs_what_it_weighs() {
    let of = |bytes, x: f32| LevelInput {
        bytes,
        bounds: Some((vec3(x, 0.0, 0.0), vec3(x + 1.0, 1.0, 1.0))),
        ..LevelInput::default()
    };
    let mut selector = Selector::new(&[of(10, 0.0)]);
    let added: Vec<u32> = (0..100).map(|index| selector.add_level(&of(7, index as f32))).collect();
    for &level in &added {
        selector.request(level, RequestKind::Show, EXPLICIT_PRIORITY);
    }
    let limits = SelectionLimits {
        max_bytes: 70,
        ..UNCAPPED
    };
    let plan = selector.update(&[at(vec3(50.5, 0.5, 0.5))], 0.0, &limits);
    assert_eq!((plan.rise.len(), plan.dropped), (10, 90));
    assert_eq!(selector.asked_bytes(), 700);
    selector.replace_level(added[0], &of(64, 50.0));
    selector.set_presence(added[0], Presence::Coming);
    let plan = selector.update(&[at(vec3(50.5, 0.5, 0.5))], 0.0, &limits);
    assert_eq!(plan.arrival, Some(0.0), "it is to be seen where it is now");
    assert_eq!((plan.fall.len(), plan.dropped), (9, 99));
    assert_eq!(selector.asked_bytes(), 757);
}

#[test]
fn bytes_are_capped_by_urgency() {
    let levels = [40, 30, 10].map(|bytes| LevelInput {
        bytes,
        ..LevelInput::default()
    });
    let mut selector = Selector::new(&levels);
    for (level, x) in [(0, 1.0), (1, 2.0), (2, 3.0)] {
        selector.add_volume(ball(Vec3::X * x, 100.0, 0.0, &[level]));
    }
    let mut plan = |max_bytes, x: f32| {
        let limits = SelectionLimits { max_bytes, ..UNCAPPED };
        let plan = selector.update(&[at(Vec3::X * x)], 0.0, &limits);
        let mut wanted = plan.clone();
        wanted.rise.sort_unstable();
        let dropped = wanted.dropped;
        (
            risen(&wanted),
            wanted.fall.iter().map(|(level, _)| *level).collect::<Vec<_>>(),
            dropped,
        )
    };
    assert_eq!(
        plan(55, 0.0),
        (vec![0, 2], vec![], 1),
        "what fits beside the most urgent one"
    );
    assert_eq!(plan(55, 1.6), (vec![], vec![], 1), "a little nearer is not enough");
    assert_eq!(plan(55, 20.0), (vec![], vec![], 1));
    assert_eq!(plan(35, 20.0), (vec![], vec![0], 2));
    assert_eq!(plan(80, 20.0), (vec![0, 1], vec![], 0));
    assert_eq!(plan(0, 20.0), (vec![], vec![0, 1, 2], 3));
}
