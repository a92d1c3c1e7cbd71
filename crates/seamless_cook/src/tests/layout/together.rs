//! How often packages are loaded, by who is there together.

use std::collections::BTreeSet;

use bevy::math::Vec3;

use crate::layout::together::{LevelPlace, ONE, Together};

/// A level within `half` of `x`.
pub(super) fn at(x: f32, half: f32) -> LevelPlace {
    LevelPlace {
        regions: vec![(Vec3::new(x - half, -half, -half), Vec3::new(x + half, half, half))],
        ..LevelPlace::default()
    }
}

fn all(count: usize) -> BTreeSet<usize> {
    (0..count).collect()
}

#[test]
fn levels_apart_load_what_they_share_each() {
    let together = Together::new(vec![at(0.0, 10.0), at(100.0, 10.0), at(200.0, 10.0)]);
    assert_eq!(together.loads(&all(3)), 3 * ONE);
    assert_eq!(together.presence(&all(3)), ONE);
    assert_eq!(together.presence(&[0].into()), ONE / 3);
}

#[test]
fn levels_that_are_there_together_load_it_once() {
    let together = Together::new(vec![at(0.0, 10.0), at(3.0, 10.0), at(6.0, 10.0), at(9.0, 10.0)]);
    assert_eq!(together.loads(&all(4)), ONE);
}

/// Of three in a row the middle one meets both: a third, and two halves.
#[test]
fn a_row_is_between_both() {
    let together = Together::new(vec![at(0.0, 10.0), at(8.0, 10.0), at(16.0, 10.0)]);
    assert_eq!(together.loads(&all(3)), ONE / 3 + 2 * (ONE / 2));
    assert_eq!(
        together.presence(&[1].into()),
        ONE,
        "it is there wherever one of the others is"
    );
}

#[test]
fn what_is_always_loaded_loads_once_and_is_everywhere() {
    let always = LevelPlace {
        is_always_loaded: true,
        ..LevelPlace::default()
    };
    let seek_free = LevelPlace {
        is_seek_free: true,
        ..always.clone()
    };
    let together = Together::new(vec![always, at(0.0, 1.0), at(50.0, 1.0), seek_free.clone()]);
    assert_eq!((together.loads(&all(3)), together.presence(&[0].into())), (ONE, ONE));
    assert!(together.has_persistent());
    assert!(!Together::new(vec![at(0.0, 1.0), seek_free]).has_persistent());
    assert!(!together.opens(3), "what is seek-free opens nothing");
    assert_eq!(together.loads(&[1, 2, 3].into()), 2 * ONE);
}

/// Two roads that cross, each without an end, and a tower beside one of them that no ground is as high as: it is the same wherever the world has its origin.
#[test]
fn regions_without_an_end_meet_wherever_the_origin_is() {
    let inf = f32::INFINITY;
    let boxes = [
        (Vec3::new(-inf, -inf, 500.0), Vec3::new(inf, inf, 510.0)),
        (Vec3::new(1000.0, -inf, -inf), Vec3::new(1010.0, inf, inf)),
        (Vec3::new(1000.0, 900.0, 0.0), Vec3::new(1010.0, 1000.0, 10.0)),
        (Vec3::new(-inf, -inf, 600.0), Vec3::new(900.0, inf, 610.0)),
    ];
    for origin in [Vec3::ZERO, Vec3::new(1000.0, 0.0, 500.0), Vec3::splat(-7000.0)] {
        let level = |(min, max): (Vec3, Vec3)| LevelPlace {
            regions: vec![(min - origin, max - origin)],
            ..LevelPlace::default()
        };
        let together = Together::new(boxes.map(level).into());
        let loads = |users: &[usize]| together.loads(&users.iter().copied().collect());
        assert_eq!(loads(&[0, 1]), ONE, "where they cross, both are there");
        assert_eq!(loads(&[1, 2]), ONE, "it stands in that road");
        assert_eq!(loads(&[0, 2]), 2 * ONE);
        assert_eq!((loads(&[0, 3]), loads(&[1, 3])), (2 * ONE, 2 * ONE), "it ends before");
        assert_eq!(together.presence(&[1].into()), ONE / 4 * 3);
    }
}

/// Levels without a volume come when somebody asks for them.
#[test]
fn who_has_no_volume_meets_nobody() {
    let together = Together::new(vec![LevelPlace::default(), LevelPlace::default(), at(0.0, 1.0)]);
    assert_eq!(together.loads(&all(3)), 3 * ONE);
}

#[test]
fn many_levels_are_counted_by_some() {
    let together = Together::new((0..1000).map(|x| at(x as f32 * 100.0, 110.0)).collect());
    let loads = together.loads(&all(1000));
    assert!(
        (330 * ONE..340 * ONE).contains(&loads),
        "each meets two others: {}",
        loads / ONE
    );
}

mod volumes {
    use super::super::super::*;
    use super::*;
    use crate::plan::WorldPlan;

    fn plan(volumes: &str) -> WorldPlan {
        let fixture = two_scenes();
        let world = TWO_LEVELS.trim_end_matches(')').to_owned() + &format!(", volumes: [{volumes}])");
        fixture.write("test.world.ron", world);
        WorldPlan::read(&fixture.path("test.world.ron")).unwrap()
    }

    #[test]
    fn volumes_of_the_world_file_tell_who_meets() {
        let ball = |x: f32, level: &str| -> String {
            format!("(shape: Sphere(center: ({x:?}, 0.0, 0.0), radius: 10.0), levels: [\"{level}\"]),")
        };
        let wall = |sign: f32, d: f32, level: &str| -> String {
            format!("(shape: Convex(planes: [(({sign:?}, 0.0, 0.0), {d:?})]), levels: [\"{level}\"]),")
        };
        for (volumes, loads) in [
            (ball(0.0, "a") + &ball(8.0, "b"), ONE),
            (ball(0.0, "a") + &ball(15.0, "b"), 2 * ONE),
            (ball(0.0, "a") + &ball(15.0, "b") + &ball(-5.0, "b"), ONE),
            (ball(0.0, "a\", \"b"), ONE),
            (ball(0.0, "a"), 2 * ONE),
            // One that loads nothing brings nobody together.
            (
                ball(0.0, "a") + &ball(15.0, "b") + &ball(-5.0, "b").replace("levels", "mode: ShowIfLoaded, levels"),
                2 * ONE,
            ),
            // Everything left of 5, and everything right of it.
            (wall(1.0, 5.0, "a") + &wall(-1.0, -6.0, "b"), 2 * ONE),
            (wall(1.0, 5.0, "a") + &wall(-1.0, -4.0, "b"), ONE),
        ] {
            let together = Together::of(&plan(&volumes), &[None, None]);
            assert_eq!(together.loads(&all(2)), loads, "{volumes}");
        }
    }

    /// Without volumes, levels have one around their bounds.
    #[test]
    fn bounds_tell_it_where_there_are_no_volumes() {
        let near = Some(([0.0; 3], [10.0; 3]));
        let far = Some(([100.0; 3], [110.0; 3]));
        assert_eq!(Together::of(&plan(""), &[near, near]).loads(&all(2)), ONE);
        assert_eq!(Together::of(&plan(""), &[near, far]).loads(&all(2)), 2 * ONE);
    }
}
