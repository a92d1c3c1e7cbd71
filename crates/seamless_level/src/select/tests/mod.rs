//! Tests of the selection: random worlds against a brute force, and each rule by itself.

mod caps;
mod oracle;
pub(super) mod pair;
mod shapes;
mod sources;

use bevy_math::{BVec3, Vec3, vec3};

use self::pair::random_source;
pub(crate) use self::shapes::{random_shape, turned_box};
use super::*;
use crate::{random::Random, requests::RequestKind};

const UNCAPPED: SelectionLimits = SelectionLimits {
    max_levels: usize::MAX,
    max_bytes: u64::MAX,
    room: u64::MAX,
};

fn at_most(max_levels: usize) -> SelectionLimits {
    SelectionLimits { max_levels, ..UNCAPPED }
}

fn ball(center: Vec3, radius: f32, margin: f32, levels: &[u32]) -> VolumeInput {
    VolumeInput {
        shape: VolumeShape::Sphere { center, radius },
        unload_margin: margin,
        levels: levels.into(),
        ..VolumeInput::default()
    }
}

fn at(position: Vec3) -> SourceInput {
    SourceInput {
        position,
        ..SourceInput::default()
    }
}

fn random_volume(random: &mut Random, levels: usize) -> VolumeInput {
    let modes = [
        VolumeMode::Load,
        VolumeMode::LoadAndShow,
        VolumeMode::ShowIfLoaded,
        VolumeMode::BlockUntilLoaded,
    ];
    VolumeInput {
        shape: random_shape(random, 1.0),
        range: [0.0, 0.0, 0.0, random.unit() * 20.0][random.below(4)],
        unload_margin: random.unit() * 10.0,
        unload_delay: random.unit() * random.below(3) as f32,
        mode: modes[random.below(4)],
        priority: random.unit() * 2.0,
        levels: (0..random.below(4)).map(|_| random.below(levels + 1) as u32).collect(),
    }
}

/// A world of `levels` levels and these volumes.
fn world(levels: usize, volumes: &[VolumeInput]) -> Selector {
    let mut selector = Selector::new(&vec![LevelInput::default(); levels]);
    for volume in volumes {
        selector.add_volume(volume.clone());
    }
    selector
}

fn wants(selector: &Selector, level: u32) -> bool {
    selector.target(level) != LevelTarget::Unloaded
}

fn risen(plan: &Plan) -> Vec<u32> {
    plan.rise.iter().map(|(level, _)| *level).collect()
}

#[test]
fn order_does_not_matter() {
    let mut random = Random(77);
    for _ in 0..1000 {
        let count = 1 + random.below(30);
        let levels = vec![LevelInput::default(); count];
        let mut volumes: Vec<_> = (0..random.below(40))
            .map(|_| random_volume(&mut random, count))
            .collect();
        let mut sources: Vec<_> = (0..random.below(4)).map(|_| random_source(&mut random)).collect();
        let limits = at_most(random.below(20));
        let sorted = |mut plan: Plan| {
            plan.block.sort_unstable();
            plan
        };
        let plan = sorted(select(&levels, &volumes, &sources, &limits));
        random.shuffle(&mut volumes);
        random.shuffle(&mut sources);
        assert_eq!(sorted(select(&levels, &volumes, &sources, &limits)), plan);
    }
}

/// A source that trembles within less than the margin makes a level come or go once at most.
#[test]
fn borders_do_not_flicker() {
    let mut random = Random(4242);
    for _ in 0..300 {
        let mut volume = random_volume(&mut random, 1);
        volume.levels = [0].into();
        volume.mode = VolumeMode::LoadAndShow;
        volume.unload_margin = 1.0 + random.unit();
        volume.unload_delay = 0.0;
        let margin = volume.unload_margin;
        let middle = random.point(120.0);
        let mut selector = world(1, &[volume]);
        let mut changes = 0;
        for _ in 0..100 {
            // Two such positions are less than a margin apart.
            let step = random.point(2.0).clamp_length_max(margin * 0.499);
            let plan = selector.update(&[at(middle + step)], 0.0, &UNCAPPED);
            changes += plan.rise.len() + plan.fall.len();
        }
        assert!(changes <= 1, "{changes} changes");
    }
}

#[test]
fn a_margin_ends_somewhere() {
    let mut selector = world(1, &[ball(Vec3::ZERO, 10.0, 2.0, &[0])]);
    for (x, expected) in [
        (11.0, false),
        (10.0, true),
        (11.0, true),
        (12.0, true),
        (12.1, false),
        (11.0, false),
    ] {
        selector.update(&[at(Vec3::X * x)], 0.0, &UNCAPPED);
        assert_eq!(wants(&selector, 0), expected, "at {x}");
    }
}

#[test]
fn a_delay_holds_from_the_moment_the_last_source_is_out() {
    let volume = VolumeInput {
        unload_delay: 2.0,
        ..ball(Vec3::ZERO, 10.0, 2.0, &[0])
    };
    let mut selector = world(1, &[volume]);
    for (now, x, expected) in [
        (0.0, 11.0, false),
        (1.0, 9.0, true),
        (2.0, 30.0, true),
        (3.9, 30.0, true),
        // Back within the margin, as if nobody had left.
        (3.95, 12.0, true),
        (100.0, 12.0, true),
        (101.0, 30.0, true),
        (102.9, 30.0, true),
        (103.0, 30.0, false),
        (103.1, 12.0, false),
    ] {
        selector.update(&[at(Vec3::X * x)], now, &UNCAPPED);
        assert_eq!(wants(&selector, 0), expected, "at {now} s, {x}");
    }
    // A volume that is taken away asks no more at once.
    selector.update(&[at(Vec3::ZERO)], 200.0, &UNCAPPED);
    selector.update(&[], 201.0, &UNCAPPED);
    assert!(wants(&selector, 0), "all sources are gone, and it lingers");
    selector.remove_volume(VolumeKey(0));
    let plan = selector.update(&[], 201.0, &UNCAPPED);
    assert_eq!(plan.fall, [(0, LevelTarget::Unloaded)]);
}

#[test]
fn modes_ask_for_what_they_say() {
    let of_mode = |mode| VolumeInput {
        mode,
        ..ball(Vec3::ZERO, 10.0, 0.0, &[0])
    };
    let target = |modes: &[VolumeMode]| {
        let volumes: Vec<_> = modes.iter().map(|mode| of_mode(*mode)).collect();
        let mut selector = world(1, &volumes);
        selector.update(&[at(Vec3::ZERO)], 0.0, &UNCAPPED);
        selector.target(0)
    };
    use VolumeMode::{BlockUntilLoaded, Load, LoadAndShow, ShowIfLoaded};
    assert_eq!(target(&[Load]), LevelTarget::Loaded);
    assert_eq!(target(&[LoadAndShow]), LevelTarget::Visible);
    assert_eq!(target(&[BlockUntilLoaded]), LevelTarget::Visible);
    assert_eq!(target(&[ShowIfLoaded]), LevelTarget::Unloaded);
    assert_eq!(target(&[ShowIfLoaded, Load]), LevelTarget::Visible);
    assert_eq!(target(&[LoadAndShow, Load]), LevelTarget::Visible);
}

#[test]
fn a_volume_blocks_while_a_source_is_inside_and_a_level_is_missing() {
    let volume = VolumeInput {
        mode: VolumeMode::BlockUntilLoaded,
        unload_delay: 5.0,
        ..ball(Vec3::ZERO, 10.0, 5.0, &[1, 0, 1])
    };
    let mut selector = world(2, &[volume]);
    let block = |selector: &mut Selector, x: f32| selector.update(&[at(Vec3::X * x)], 0.0, &UNCAPPED).block.clone();
    assert!(block(&mut selector, 12.0).is_empty());
    assert_eq!(block(&mut selector, 0.0), [1, 0]);
    selector.set_presence(1, Presence::Coming);
    assert_eq!(block(&mut selector, 0.0), [1, 0]);
    assert!(
        block(&mut selector, 12.0).is_empty(),
        "within the margin it is wanted, and nothing blocks"
    );
    selector.set_presence(1, Presence::There);
    assert_eq!(block(&mut selector, 0.0), [0]);
    assert_eq!(block(&mut selector, 0.0), [0], "it is told for as long as it is so");
    selector.set_presence(0, Presence::Failed);
    assert!(block(&mut selector, 0.0).is_empty());
}

/// What was only loaded, or waited for room, is not there when it is to be seen: that frame waits, and not the next one.
#[test]
fn who_comes_to_what_is_only_loaded_is_blocked_at_once() {
    for presence in [Presence::There, Presence::Held, Presence::Coming] {
        let volume = VolumeInput {
            mode: VolumeMode::BlockUntilLoaded,
            ..ball(Vec3::ZERO, 10.0, 0.0, &[0])
        };
        let mut selector = world(1, &[volume]);
        selector.request(0, RequestKind::Load, 1.0);
        let plan = selector.update(&[at(Vec3::X * 50.0)], 0.0, &UNCAPPED).clone();
        assert_eq!((plan.rise, plan.block), (vec![(0, LevelTarget::Loaded)], vec![]));
        selector.set_presence(0, presence);
        let plan = selector.update(&[at(Vec3::ZERO)], 0.0, &UNCAPPED).clone();
        assert_eq!(plan.rise, [(0, LevelTarget::Visible)]);
        assert_eq!(plan.block, [0], "{presence:?}");
        selector.set_presence(0, Presence::There);
        assert!(selector.update(&[at(Vec3::ZERO)], 0.0, &UNCAPPED).block.is_empty());
    }
}

#[test]
fn requests_are_counted() {
    let mut selector = world(2, &[ball(Vec3::ZERO, 10.0, 0.0, &[0, 1])]);
    let update = |selector: &mut Selector| {
        selector.update(&[at(Vec3::ZERO)], 0.0, &UNCAPPED);
        assert!(wants(selector, 1), "a request for one level touches another");
        wants(selector, 0)
    };
    assert!(update(&mut selector));
    let bans = [0, 0].map(|level| selector.request(level, RequestKind::Ban, EXPLICIT_PRIORITY));
    let show = selector.request(0, RequestKind::Show, EXPLICIT_PRIORITY);
    assert!(!update(&mut selector));
    selector.release(bans[0]);
    assert!(!update(&mut selector));
    selector.release(bans[1]);
    selector.release(bans[1]);
    assert!(update(&mut selector));
    selector.release(show);
    selector.remove_volume(VolumeKey(0));
    selector.request(1, RequestKind::Load, 1.0);
    assert!(!update(&mut selector));
}

#[test]
fn the_most_urgent_go_first() {
    let mut levels = [LevelInput::default(); 5];
    levels[3].always_loaded = true;
    let volumes = [
        ball(vec3(6.0, 0.0, 0.0), 10.0, 0.0, &[0]),
        ball(vec3(0.0, 3.0, 0.0), 10.0, 0.0, &[1, 4]),
    ];
    let plan = |max_levels| {
        let mut selector = Selector::new(&levels);
        for volume in &volumes {
            selector.add_volume(volume.clone());
        }
        selector.request(2, RequestKind::Show, EXPLICIT_PRIORITY);
        let plan = selector.update(&[at(Vec3::ZERO)], 0.0, &at_most(max_levels));
        (risen(plan), plan.dropped)
    };
    assert_eq!(plan(usize::MAX), (vec![3, 2, 1, 4, 0], 0));
    assert_eq!(plan(3), (vec![3, 2, 1], 2));
    assert_eq!(plan(0), (vec![], 5));
}

#[test]
fn volumes_and_modes_weigh() {
    let near = ball(vec3(0.0, 2.0, 0.0), 10.0, 0.0, &[0]);
    let loads = VolumeInput {
        mode: VolumeMode::Load,
        levels: [1].into(),
        ..near.clone()
    };
    let heavy = VolumeInput {
        priority: 3.0,
        ..ball(vec3(5.0, 0.0, 0.0), 10.0, 0.0, &[2])
    };
    let plan = select(
        &[LevelInput::default(); 3],
        &[near, loads, heavy],
        &[at(Vec3::ZERO)],
        &UNCAPPED,
    );
    assert_eq!(risen(&plan), [2, 0, 1]);
}

#[test]
fn priorities_are_told_while_a_level_comes() {
    let mut selector = world(1, &[ball(Vec3::ZERO, 100.0, 0.0, &[0])]);
    let told = |selector: &mut Selector, x: f32| selector.update(&[at(Vec3::X * x)], 0.0, &UNCAPPED).priorities.clone();
    assert_eq!(told(&mut selector, 99.0), []);
    selector.set_presence(0, Presence::Coming);
    assert_eq!(told(&mut selector, 98.0), [], "that is next to nothing");
    assert_eq!(told(&mut selector, 49.0), [(0, 1.0 / (1.0 + 4.9))]);
    assert_eq!(told(&mut selector, 49.0), []);
    selector.set_presence(0, Presence::There);
    assert_eq!(told(&mut selector, 0.0), []);
    // Whether others may have it go is known at any time.
    let wish = selector.request(0, RequestKind::Show, EXPLICIT_PRIORITY);
    assert_eq!(told(&mut selector, 0.0), [(0, EXPLICIT_PRIORITY)]);
    assert_eq!(told(&mut selector, 1.0), []);
    selector.release(wish);
    assert_eq!(told(&mut selector, 0.0), [(0, 1.0)]);
}

#[test]
fn levels_do_not_take_turns_at_the_cap() {
    let volumes = [
        ball(vec3(-5.0, 0.0, 0.0), 50.0, 1.0, &[0]),
        ball(vec3(5.0, 0.0, 0.0), 50.0, 1.0, &[1]),
    ];
    let mut selector = world(2, &volumes);
    let mut changes = 0;
    for step in 0..40 {
        let x = if step % 2 == 0 { -0.2 } else { 0.2 };
        let plan = selector.update(&[at(Vec3::X * x)], 0.0, &at_most(1));
        changes += plan.rise.len() + plan.fall.len();
    }
    assert_eq!(changes, 1);
}

#[test]
fn sources_that_are_no_numbers_are_ignored() {
    let volumes = [ball(Vec3::ZERO, 10.0, f32::NAN, &[0, 7])];
    let everywhere = VolumeInput {
        shape: VolumeShape::Convex { planes: vec![] },
        unload_margin: f32::INFINITY,
        levels: [0].into(),
        ..VolumeInput::default()
    };
    let good = at(Vec3::ZERO);
    let of_shape = |shape| SourceInput { shape, ..good };
    let bad = [
        at(Vec3::NAN),
        at(vec3(0.0, f32::INFINITY, 0.0)),
        SourceInput {
            priority: f32::NAN,
            ..good
        },
        of_shape(SourceShape::Sphere { radius: f32::NAN }),
        of_shape(SourceShape::Sector {
            radius: f32::NAN,
            half_angle: 1.0,
        }),
        of_shape(SourceShape::Sector {
            radius: 1.0,
            half_angle: f32::NAN,
        }),
    ];
    let run = |sources: &[SourceInput], volumes: &[VolumeInput]| {
        select(&[LevelInput::default()], volumes, sources, &UNCAPPED)
    };
    assert_eq!(run(&bad, &volumes), Plan::default());
    assert_eq!(run(&[good], &[everywhere]), Plan::default());
    let together = run(&[&bad[..3], &[good], &bad[3..]].concat(), &volumes);
    assert_eq!(together, run(&[good], &volumes));
    assert_eq!(risen(&together), [0]);
    for priority in [-1.0, 0.0, 1e30] {
        let mut selector = world(1, &volumes);
        selector.update(&[SourceInput { priority, ..good }], 0.0, &UNCAPPED);
        assert!(wants(&selector, 0));
        assert!((0.0..=MAX_SOURCE_PRIORITY).contains(&selector.priority(0)));
    }
}

#[test]
fn failed_levels_take_no_place() {
    let mut selector = world(2, &[ball(Vec3::ZERO, 1.0, 0.0, &[1])]);
    let limits = at_most(1);
    selector.request(0, RequestKind::Show, ALWAYS_PRIORITY);
    let plan = selector.update(&[at(Vec3::ZERO)], 0.0, &limits);
    assert_eq!((risen(plan), plan.dropped), (vec![0], 1));
    selector.set_presence(0, Presence::Failed);
    let plan = selector.update(&[at(Vec3::ZERO)], 0.0, &limits);
    assert_eq!((risen(plan), plan.dropped), (vec![1], 0));
    assert!(wants(&selector, 0) && selector.wanted() == 2);
}

/// A world of 10 000 levels on a grid, each with its volume.
fn large_world() -> Selector {
    large_world_of(|min, max| VolumeShape::Box { min, max })
}

/// The same with another shape about each box.
fn large_world_of(shape: impl Fn(Vec3, Vec3) -> VolumeShape) -> Selector {
    let volumes: Vec<VolumeInput> = (0..10_000u32)
        .map(|level| {
            let min = vec3((level % 100) as f32 * 100.0, -500.0, (level / 100) as f32 * 100.0);
            VolumeInput {
                shape: shape(min - vec3(80.0, 0.0, 80.0), min + vec3(180.0, 2000.0, 180.0)),
                unload_margin: 20.0,
                unload_delay: 0.5,
                levels: [level].into(),
                ..VolumeInput::default()
            }
        })
        .collect();
    world(10_000, &volumes)
}

#[test]
fn at_rest_nothing_is_looked_at_and_nothing_allocated() {
    let mut selector = large_world();
    let sources = [1.0, 2.0, 3.0, 4.0].map(|part| at(Vec3::splat(part * 1234.5).with_y(10.0)));
    let rises = selector.update(&sources, 0.0, &UNCAPPED).rise.len();
    assert!((4 * 4..4 * 16).contains(&rises), "{rises}");
    selector.update(&sources, 0.01, &UNCAPPED);
    let tests = selector.tests();
    assert!(tests < 400, "{tests} volumes of 10 000 were tested");
    let allocated = allocation_counter::measure(|| {
        for frame in 0..1000 {
            let plan = selector.update(&sources, 1.0 + f64::from(frame) / 60.0, &UNCAPPED);
            assert!(plan.rise.is_empty() && plan.fall.is_empty());
        }
    });
    assert_eq!(allocated.count_total, 0);
    assert_eq!(selector.tests(), tests);
}

#[test]
fn a_moving_source_is_tested_against_few_volumes() {
    test_few_volumes(large_world(), 25);
    let turned = |min: Vec3, max: Vec3| turned_box((min + max) * 0.5, (max - min) * 0.4, Vec3::Y * 0.5);
    // What is turned lies in a larger box.
    test_few_volumes(large_world_of(turned), 40);
}

fn test_few_volumes(mut selector: Selector, most: u64) {
    let mut changes = 0;
    for frame in 0..1000u32 {
        let along = frame as f32 * 0.5;
        let sources = [1.0, 2.0, 3.0, 4.0].map(|part| at(vec3(part * 1000.0 + along, 10.0, 2000.0 * part + 50.0)));
        let plan = selector.update(&sources, f64::from(frame) / 60.0, &UNCAPPED);
        changes += plan.rise.len() + plan.fall.len();
    }
    assert!(changes > 50);
    let tests = selector.tests();
    assert!(
        tests < 4 * 1000 * most,
        "{tests} tests, a brute force makes forty million"
    );
}
