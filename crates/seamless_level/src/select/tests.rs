//! Tests of the selection: seeded random worlds, and each rule by itself.

use bevy_math::{Vec3, vec3};

use super::*;
use crate::random::Random;

const UNCAPPED: SelectionLimits = SelectionLimits { max_levels: usize::MAX };

fn ball(center: Vec3, radius: f32, margin: f32, levels: &[u32]) -> VolumeInput {
    VolumeInput {
        shape: VolumeShape::Sphere { center, radius },
        unload_margin: margin,
        levels: levels.into(),
    }
}

fn at(position: Vec3) -> SourceInput {
    SourceInput {
        position,
        priority: 1.0,
    }
}

fn random_volume(random: &mut Random, levels: usize) -> VolumeInput {
    let center = random.point(100.0);
    let size = 1.0 + random.unit() * 40.0;
    let shape = match random.below(3) {
        0 => VolumeShape::Sphere { center, radius: size },
        1 => VolumeShape::Box {
            min: center - size,
            max: center + size * random.unit(),
        },
        _ => VolumeShape::Convex {
            planes: (0..1 + random.below(5))
                .map(|_| random.point(2.0) + Vec3::splat(0.01))
                .map(|normal| (normal, normal.dot(center) + size))
                .collect(),
        },
    };
    VolumeInput {
        shape,
        unload_margin: random.unit() * 10.0,
        levels: (0..random.below(4)).map(|_| random.below(levels + 1) as u32).collect(),
    }
}

struct Case {
    sources: Vec<SourceInput>,
    volumes: Vec<VolumeInput>,
    levels: Vec<LevelInput>,
    previous: Wanted,
    limits: SelectionLimits,
}

impl Case {
    fn random(random: &mut Random) -> Self {
        let count = 1 + random.below(40);
        let requests = [
            LevelRequest::None,
            LevelRequest::None,
            LevelRequest::Load,
            LevelRequest::Unload,
        ];
        Self {
            sources: (0..random.below(4))
                .map(|_| SourceInput {
                    position: random.point(140.0),
                    priority: random.unit() * 4.0,
                })
                .collect(),
            volumes: (0..random.below(60)).map(|_| random_volume(random, count)).collect(),
            levels: (0..count)
                .map(|_| LevelInput {
                    always_loaded: random.below(8) == 0,
                    request: requests[random.below(4)],
                    failed: random.below(8) == 0,
                })
                .collect(),
            previous: Wanted((0..count).map(|_| random.below(2) == 0).collect()),
            limits: SelectionLimits {
                max_levels: random.below(30),
            },
        }
    }

    fn select(&self) -> Plan {
        let inputs = SelectionInputs {
            sources: &self.sources,
            volumes: &self.volumes,
            levels: &self.levels,
        };
        select(&inputs, &self.previous, &self.limits)
    }
}

#[test]
fn random_worlds_keep_the_rules() {
    let mut random = Random(0x5EED_1234_5678_9ABC);
    let mut dropped = 0;
    for _ in 0..3000 {
        let case = Case::random(&mut random);
        let plan = case.select();
        dropped += plan.dropped;
        let mut working = 0;
        for (index, level) in case.levels.iter().enumerate() {
            let (wanted, was) = (plan.wants(index), case.previous.contains(index));
            let asked = asked_by_the_rules(&case, index);
            assert!(!wanted || asked, "level {index} is wanted by nobody");
            assert!(
                wanted || !asked || !level.failed,
                "a failed level needs no place under the cap"
            );
            assert!(
                plan.dropped > 0 || wanted == asked,
                "level {index} is asked for, yet not wanted"
            );
            working += usize::from(wanted && !level.failed);
            assert_eq!(plan.load.contains(&(index as u32)), wanted && !was && !level.failed);
            assert_eq!(plan.unload.contains(&(index as u32)), !wanted && was);
            assert!(plan.priority(index).is_none_or(f32::is_finite));
        }
        assert!(working <= case.limits.max_levels);
        assert!(
            plan.dropped == 0 || working == case.limits.max_levels,
            "a place under the cap is empty"
        );
        let priority = |level: &u32| plan.priority(*level as usize).unwrap();
        assert!(
            plan.load
                .is_sorted_by(|a, b| (priority(b), a).partial_cmp(&(priority(a), b)).unwrap().is_le())
        );
    }
    assert!(dropped > 100, "the cap was hardly ever reached");
}

/// The rules once more, written plainly.
fn asked_by_the_rules(case: &Case, index: usize) -> bool {
    let level = case.levels[index];
    let by_volume = case
        .volumes
        .iter()
        .filter(|volume| volume.levels.contains(&(index as u32)))
        .any(|volume| {
            let margin = if case.previous.contains(index) {
                volume.unload_margin
            } else {
                0.0
            };
            case.sources
                .iter()
                .any(|source| volume.shape.signed_distance(source.position) <= margin)
        });
    level.request != LevelRequest::Unload && (level.always_loaded || level.request == LevelRequest::Load || by_volume)
}

#[test]
fn order_does_not_matter() {
    let mut random = Random(77);
    for _ in 0..1000 {
        let mut case = Case::random(&mut random);
        let plan = case.select();
        case.volumes.reverse();
        case.sources.reverse();
        let middle = case.volumes.len() / 2;
        case.volumes.rotate_left(middle);
        assert_eq!(case.select(), plan);
    }
}

#[test]
fn reused_memory_changes_nothing() {
    let mut random = Random(99);
    let mut plan = Plan::default();
    for _ in 0..500 {
        let case = Case::random(&mut random);
        let inputs = SelectionInputs {
            sources: &case.sources,
            volumes: &case.volumes,
            levels: &case.levels,
        };
        select_into(&inputs, &case.previous, &case.limits, &mut plan);
        assert_eq!(plan, case.select());
    }
}

/// A source that trembles within less than the margin makes a level come or go once at most.
#[test]
fn borders_do_not_flicker() {
    let mut random = Random(4242);
    let levels = [LevelInput::default()];
    for _ in 0..300 {
        let mut volume = random_volume(&mut random, 1);
        volume.levels = [0].into();
        volume.unload_margin = 1.0 + random.unit();
        let middle = random.point(120.0);
        let mut wanted = Wanted::none();
        let mut changes = 0;
        for _ in 0..100 {
            // Two such positions are less than a margin apart.
            let step = random.point(2.0).clamp_length_max(volume.unload_margin * 0.499);
            let sources = [at(middle + step)];
            let inputs = SelectionInputs {
                sources: &sources,
                volumes: std::slice::from_ref(&volume),
                levels: &levels,
            };
            let plan = select(&inputs, &wanted, &UNCAPPED);
            changes += plan.load.len() + plan.unload.len();
            wanted.update(&plan);
        }
        assert!(changes <= 1, "{changes} changes for {volume:?}");
    }
}

#[test]
fn a_margin_ends_somewhere() {
    let volumes = [ball(Vec3::ZERO, 10.0, 2.0, &[0])];
    let mut wanted = Wanted::none();
    for (x, expected) in [
        (11.0, false),
        (10.0, true),
        (11.0, true),
        (12.0, true),
        (12.1, false),
        (11.0, false),
    ] {
        let sources = [at(Vec3::X * x)];
        let inputs = SelectionInputs {
            sources: &sources,
            volumes: &volumes,
            levels: &[LevelInput::default()],
        };
        let plan = select(&inputs, &wanted, &UNCAPPED);
        assert_eq!(plan.wants(0), expected, "at {x}");
        wanted.update(&plan);
    }
}

#[test]
fn requests_win_until_they_are_cleared() {
    let volumes = [ball(Vec3::ZERO, 10.0, 0.0, &[0, 1])];
    let sources = [at(Vec3::ZERO)];
    let mut wanted = Wanted::none();
    let mut run = |request, always_loaded| {
        let levels = [
            LevelInput {
                request,
                always_loaded,
                failed: false,
            },
            LevelInput::default(),
        ];
        let inputs = SelectionInputs {
            sources: &sources,
            volumes: &volumes,
            levels: &levels,
        };
        let plan = select(&inputs, &wanted, &UNCAPPED);
        wanted.update(&plan);
        assert!(plan.wants(1), "a request for one level touches another");
        plan.wants(0)
    };
    assert!(run(LevelRequest::None, false));
    for _ in 0..3 {
        assert!(!run(LevelRequest::Unload, false));
        assert!(!run(LevelRequest::Unload, true));
    }
    assert!(run(LevelRequest::None, false));
    assert!(run(LevelRequest::Load, false));
}

#[test]
fn the_most_urgent_go_first() {
    let levels = [
        LevelInput::default(),
        LevelInput::default(),
        LevelInput {
            request: LevelRequest::Load,
            ..Default::default()
        },
        LevelInput {
            always_loaded: true,
            ..Default::default()
        },
        LevelInput::default(),
    ];
    let volumes = [
        ball(vec3(6.0, 0.0, 0.0), 10.0, 0.0, &[0]),
        ball(vec3(0.0, 3.0, 0.0), 10.0, 0.0, &[1, 4]),
    ];
    let sources = [at(Vec3::ZERO)];
    let inputs = SelectionInputs {
        sources: &sources,
        volumes: &volumes,
        levels: &levels,
    };
    assert_eq!(select(&inputs, &Wanted::none(), &UNCAPPED).load, [3, 2, 1, 4, 0]);
    let capped = select(&inputs, &Wanted::none(), &SelectionLimits { max_levels: 3 });
    assert_eq!((capped.load.as_slice(), capped.dropped), ([3, 2, 1].as_slice(), 2));
    let none = select(&inputs, &Wanted::none(), &SelectionLimits { max_levels: 0 });
    assert_eq!((none.load.len(), none.dropped), (0, 5));
}

#[test]
fn levels_do_not_take_turns_at_the_cap() {
    let volumes = [
        ball(vec3(-5.0, 0.0, 0.0), 50.0, 1.0, &[0]),
        ball(vec3(5.0, 0.0, 0.0), 50.0, 1.0, &[1]),
    ];
    let mut wanted = Wanted::none();
    let mut changes = 0;
    for step in 0..40 {
        let x = if step % 2 == 0 { -0.2 } else { 0.2 };
        let sources = [at(Vec3::X * x)];
        let inputs = SelectionInputs {
            sources: &sources,
            volumes: &volumes,
            levels: &[LevelInput::default(); 2],
        };
        let plan = select(&inputs, &wanted, &SelectionLimits { max_levels: 1 });
        changes += plan.load.len() + plan.unload.len();
        wanted.update(&plan);
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
    };
    let good = at(Vec3::ZERO);
    let bad = [
        at(Vec3::NAN),
        at(vec3(0.0, f32::INFINITY, 0.0)),
        SourceInput {
            priority: f32::NAN,
            ..good
        },
    ];
    let run = |sources: &[SourceInput], volumes: &[VolumeInput]| {
        let inputs = SelectionInputs {
            sources,
            volumes,
            levels: &[LevelInput::default()],
        };
        select(&inputs, &Wanted::none(), &UNCAPPED)
    };
    assert!(!run(&bad, &volumes).wants(0));
    assert!(!run(&[good], &[everywhere]).wants(0));
    let together = run(&[bad[0], good, bad[1], bad[2]], &volumes);
    assert_eq!(together, run(&[good], &volumes));
    assert!(together.wants(0) && !together.wants(7));
    for priority in [-1.0, 0.0, 1e30] {
        let plan = run(&[SourceInput { priority, ..good }], &volumes);
        assert!(
            plan.priority(0)
                .is_some_and(|found| (0.0..=MAX_SOURCE_PRIORITY).contains(&found))
        );
    }
}

#[test]
fn failed_levels_take_no_place() {
    let levels = [
        LevelInput {
            failed: true,
            always_loaded: true,
            ..Default::default()
        },
        LevelInput::default(),
    ];
    let volumes = [ball(Vec3::ZERO, 1.0, 0.0, &[1])];
    let sources = [at(Vec3::ZERO)];
    let inputs = SelectionInputs {
        sources: &sources,
        volumes: &volumes,
        levels: &levels,
    };
    let plan = select(&inputs, &Wanted::none(), &SelectionLimits { max_levels: 1 });
    assert!(plan.wants(0) && plan.wants(1));
    assert_eq!((plan.load.as_slice(), plan.dropped), ([1].as_slice(), 0));
}
