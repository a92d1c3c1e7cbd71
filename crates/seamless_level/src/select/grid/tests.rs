//! What the grid finds, against all boxes.

use bevy_math::Vec3;

use super::VolumeGrid;
use crate::random::Random;

fn sorted(mut found: Vec<u32>) -> Vec<u32> {
    found.sort_unstable();
    found
}

fn random_box(random: &mut Random) -> (Vec3, Vec3) {
    let mut low = random.point(200.0);
    let stretch = [1.0, 1.0, 1.0, 300.0, 1e9, f32::INFINITY][random.below(6)];
    let mut size = (random.point(30.0) + 15.0).abs();
    size[random.below(3)] *= stretch;
    let high = low + size;
    // Without an end on either side.
    for axis in (0..3).filter(|_| stretch == f32::INFINITY) {
        if high[axis] == f32::INFINITY && random.below(2) == 0 {
            low[axis] = f32::NEG_INFINITY;
        }
    }
    (low, high)
}

#[test]
fn whatever_is_at_a_point_is_found() {
    let mut random = Random(0xABCD_EF01_2345_6789);
    let mut found = Vec::new();
    let (mut whole, mut looks) = (0, 0);
    for _ in 0..200 {
        let mut grid = VolumeGrid::default();
        let boxes: Vec<(Vec3, Vec3)> = (0..random.below(60)).map(|_| random_box(&mut random)).collect();
        for (volume, (low, high)) in (0u32..).zip(&boxes) {
            grid.insert(volume, *low, *high);
        }
        let is_gone = |volume: u32| volume % 3 == 1;
        for (volume, (low, high)) in (0u32..).zip(&boxes).filter(|(volume, _)| is_gone(*volume)) {
            grid.remove(volume, *low, *high);
        }
        for _ in 0..50 {
            let point = random.point(300.0);
            let around = [0.0, 0.0, 3.0, 40.0][random.below(4)];
            let free = grid.look(point, around, &mut found);
            looks += usize::from(!grid.sizes.is_empty());
            whole += usize::from(!grid.sizes.is_empty() && free == f32::INFINITY);
            assert!(
                grid.sizes.is_empty() || around > 0.0 || free < f32::INFINITY,
                "a point is in one cell of each size"
            );
            for (volume, (low, high)) in (0u32..).zip(&boxes) {
                let is_in = low.cmple(point + around).all() && (point - around).cmple(*high).all();
                assert!(is_gone(volume) || !is_in || found.contains(&volume));
                assert!(!is_gone(volume) || !found.contains(&volume));
            }
            let list = sorted(found.clone());
            let step = random.point(2.0).normalize_or_zero() * (free.min(1e6) * 0.999 - 0.001).max(0.0);
            grid.look(point + step, around, &mut found);
            assert_eq!(sorted(found.clone()), list, "the list changed within {free}");
        }
    }
    assert!(whole < looks / 4, "{whole} of {looks} looks had to look at everything");
}

/// Whether a way comes into a box that is larger by `around`.
fn comes_into(start: Vec3, way: Vec3, around: f32, (low, high): (Vec3, Vec3)) -> bool {
    let (mut first, mut last) = (0.0_f32, 1.0_f32);
    for axis in 0..3 {
        let ends = [low[axis] - around, high[axis] + around].map(|wall| wall - start[axis]);
        if way[axis] == 0.0 {
            if ends[0] > 0.0 || ends[1] < 0.0 {
                return false;
            }
            continue;
        }
        let times = ends.map(|end| end / way[axis]);
        first = first.max(times[0].min(times[1]));
        last = last.min(times[0].max(times[1]));
    }
    first <= last
}

#[test]
fn whatever_lies_on_a_way_is_found_and_little_else() {
    let mut random = Random(0x57A9);
    let mut found = Vec::new();
    let (mut on, mut looked_at, mut all) = (0, 0, 0);
    for _ in 0..300 {
        let mut grid = VolumeGrid::default();
        let mut boxes: Vec<(Vec3, Vec3)> = (0..random.below(100))
            .map(|_| {
                let low = random.point(200.0);
                (low, low + Vec3::splat(20.0) * random.unit())
            })
            .collect();
        boxes.extend((0..3).map(|_| random_box(&mut random)));
        for (volume, (low, high)) in (0u32..).zip(&boxes) {
            grid.insert(volume, *low, *high);
        }
        for _ in 0..30 {
            let start = random.point(200.0);
            let size = [0.0, 3.0, 100.0, 300.0][random.below(4)];
            let mut way = random.point(size);
            if random.below(3) == 0 {
                way[random.below(3)] = 0.0;
            }
            grid.look_along(start, start + way, 0.01, &mut found);
            for (volume, place) in (0u32..).zip(&boxes) {
                if comes_into(start, way, 0.0, *place) {
                    on += 1;
                    assert!(found.contains(&volume), "{start} by {way}: {place:?}");
                }
            }
            found.sort_unstable();
            found.dedup();
            looked_at += found.len();
            all += boxes.len();
        }
    }
    assert!(on > 300 && looked_at < all / 10, "{on}, {looked_at} of {all}");
}

#[test]
fn an_empty_grid_is_empty_again() {
    let mut random = Random(5);
    let mut grid = VolumeGrid::default();
    let boxes: Vec<(Vec3, Vec3)> = (0..500).map(|_| random_box(&mut random)).collect();
    for (volume, (low, high)) in (0u32..).zip(&boxes) {
        grid.insert(volume, *low, *high);
    }
    let small = grid.sizes.iter().filter(|used| used.size.iter().all(|size| *size < 6));
    let most: usize = small.map(|used| used.cells.len()).sum();
    assert!(most > 0 && most <= 500 * 8, "a volume lies in eight cells at most");
    for (volume, (low, high)) in (0u32..).zip(&boxes) {
        grid.remove(volume, *low, *high);
    }
    assert!(grid.sizes.is_empty() && grid.everywhere.is_empty());
}

#[test]
fn what_is_not_finite_or_too_far_away_is_everywhere() {
    let mut grid = VolumeGrid::default();
    let far = Vec3::splat(1e20);
    let boxes = [
        (Vec3::NAN, Vec3::ONE),
        (Vec3::NEG_INFINITY, Vec3::INFINITY),
        (-far, far),
        (far, far),
        (Vec3::ZERO, Vec3::splat(1e8)),
    ];
    for (volume, (low, high)) in (0u32..).zip(&boxes) {
        grid.insert(volume, *low, *high);
    }
    grid.insert(9, Vec3::ZERO, Vec3::ONE);
    let mut found = Vec::new();
    assert!(grid.look(Vec3::splat(0.5), 0.0, &mut found) > 0.0);
    assert_eq!(sorted(found.clone()), [0, 1, 2, 3, 4, 9]);
    assert!(grid.look(far, 0.0, &mut found) <= 0.0);
    assert_eq!(sorted(found.clone()), [0, 1, 2, 3, 4]);
    for end in [far, Vec3::splat(1e6), Vec3::INFINITY, Vec3::NAN] {
        grid.look_along(Vec3::ZERO, end, 0.0, &mut found);
        found.dedup();
        assert_eq!(sorted(found.clone())[..6], [0, 1, 2, 3, 4, 9]);
    }
    for (point, around) in [(Vec3::ZERO, 1e6), (far, 1.0)] {
        assert_eq!(
            grid.look(point, around, &mut found),
            f32::INFINITY,
            "that is too many cells"
        );
        assert_eq!(sorted(found.clone())[..6], [0, 1, 2, 3, 4, 9]);
    }
}
