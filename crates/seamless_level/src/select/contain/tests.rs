//! What is said of points and volumes, against a test of each with each.

use bevy_math::{Vec3, vec3};

use super::{Containment, Place, Probe};
use crate::{
    random::Random,
    select::{
        SourceInput,
        probe::POINTS,
        tests::{pair::random_source, random_shape},
    },
    source::SourceShape,
    volume::VolumeShape,
};

fn probe(position: Vec3) -> Probe {
    let source = SourceInput {
        position,
        ..SourceInput::default()
    };
    source.probe()
}

fn at(position: Vec3) -> Option<Probe> {
    Some(probe(position))
}

fn place(shape: VolumeShape, margin: f32) -> Place {
    Place {
        shape,
        range: 0.0,
        margin,
    }
}

impl Containment {
    fn is_inside(&self, volume: u32) -> bool {
        self.count(volume).0.inside > 0
    }

    fn is_near(&self, volume: u32) -> bool {
        self.count(volume).0.near > 0
    }
}

fn boxes(side: usize) -> impl Iterator<Item = VolumeShape> {
    (0..side * side).map(move |at| {
        let min = vec3((at % side) as f32 * 100.0, -500.0, (at / side) as f32 * 100.0);
        let max = min + vec3(110.0, 2500.0, 110.0);
        VolumeShape::Box { min, max }
    })
}

fn of(shapes: impl Iterator<Item = VolumeShape>, margin: f32) -> Containment {
    let mut contain = Containment::default();
    for (volume, shape) in (0u32..).zip(shapes) {
        contain.set(volume, place(shape, margin));
    }
    contain
}

#[test]
fn points_at_rest_look_at_nothing() {
    let mut contain = of(boxes(100), 10.0);
    let points = [vec3(50.0, 0.0, 50.0), vec3(5000.0, 10.0, 9000.0), Vec3::splat(-1e6)];
    contain.update(points.into_iter().map(at));
    let looked_at = contain.looked_at();
    assert!(
        looked_at > 0 && looked_at < 100,
        "{looked_at} of 10 000 volumes were looked at"
    );
    contain.clear_touched();
    for _ in 0..1000 {
        contain.update(points.into_iter().map(at));
    }
    assert_eq!(contain.looked_at(), looked_at);
    assert!(contain.touched().is_empty());
    assert!(contain.is_inside(0) && !contain.is_near(200));
}

/// What is too small for the cells around it to be counted is looked at by itself.
#[test]
fn one_small_volume_makes_nobody_look_at_all_others() {
    let mut contain = of(boxes(100), 10.0);
    let small = VolumeShape::Sphere {
        center: vec3(55.0, 0.0, 120.0),
        radius: 0.05,
    };
    contain.set(10_000, place(small, 0.0));
    let sphere = SourceInput {
        shape: SourceShape::Sphere { radius: 60.0 },
        ..SourceInput::default()
    };
    for frame in 0..100 {
        let position = vec3(55.0, 0.0, 55.0 + frame as f32 * 0.1);
        let source = SourceInput { position, ..sphere };
        contain.update(core::iter::once(Some(source.probe())));
        assert_eq!(contain.is_inside(10_000), frame >= 50, "in frame {frame}");
    }
    let looked_at = contain.looked_at();
    assert!(looked_at < 10_000, "{looked_at} tests in 100 frames");
}

/// In the middle of a large volume one may wander about without a test.
#[test]
fn points_within_their_slack_look_at_nothing() {
    let shape = VolumeShape::Sphere {
        center: Vec3::splat(64.0),
        radius: 64.0,
    };
    let mut contain = of([shape].into_iter(), 5.0);
    contain.update([at(Vec3::splat(64.0))].into_iter());
    assert_eq!(contain.looked_at(), 1);
    let mut random = Random(31);
    for _ in 0..1000 {
        let point = Vec3::splat(64.0) + random.point(1.0).normalize_or_zero() * 50.0;
        contain.update([at(point)].into_iter());
    }
    assert_eq!(contain.looked_at(), 1);
    contain.update([at(vec3(64.0 + 65.0, 64.0, 64.0))].into_iter());
    assert!(contain.looked_at() > 1 && contain.is_near(0) && !contain.is_inside(0));
}

#[test]
fn a_moving_point_looks_at_few() {
    let mut contain = of(boxes(100), 10.0);
    for frame in 0..600 {
        let point = vec3(1000.0 + frame as f32 * 0.5, 20.0, 3055.0);
        contain.update([at(point)].into_iter());
    }
    let looked_at = contain.looked_at();
    assert!(looked_at < 3000, "{looked_at} tests in 600 frames, of 6 000 000");
}

/// Exact at every scale: where coordinates are coarse as well as near the origin.
#[test]
fn it_says_what_a_test_of_each_says() {
    let mut random = Random(0x1357_9BDF_0246_8ACE);
    for scale in [1e-3, 1.0, 1e3, 1e6, 1e12, 1e18, 1e30] {
        for _ in 0..60 {
            let shapes: Vec<VolumeShape> = (0..random.below(20))
                .map(|_| random_shape(&mut random, scale))
                .collect();
            let margin = random.unit() * scale;
            let mut contain = of(shapes.iter().cloned(), margin);
            let mut points: Vec<Vec3> = (0..1 + random.below(4)).map(|_| random.point(140.0 * scale)).collect();
            for _ in 0..60 {
                let step = [0.01, 1.0, 20.0][random.below(3)] * scale;
                points.iter_mut().for_each(|point| *point += random.point(step));
                contain.update(points.iter().copied().map(at));
                for (volume, shape) in (0u32..).zip(&shapes) {
                    let within = |most: f32| {
                        points
                            .iter()
                            .any(|point| shape.signed_distance(*point) <= 0.0 || shape.signed_distance(*point) <= most)
                    };
                    assert_eq!(contain.is_inside(volume), within(0.0), "{shape:?} and {points:?}");
                    assert_eq!(contain.is_near(volume), within(margin), "{shape:?} and {points:?}");
                }
            }
        }
    }
}

#[test]
fn volumes_that_go_leave_nothing_behind() {
    let mut contain = of(boxes(3), 10.0);
    let points = [vec3(105.0, 0.0, 105.0), vec3(105.0, 0.0, 106.0)];
    contain.update(points.into_iter().map(at));
    assert!((0..9).filter(|volume| contain.is_inside(*volume)).count() == 4);
    (0..9).for_each(|volume| contain.remove(volume));
    contain.update(points.into_iter().map(at));
    assert!((0..9).all(|volume| !contain.is_near(volume)));
    contain.set(4, place(VolumeShape::default(), 1.0));
    contain.update(points.into_iter().map(at));
    assert!(!contain.is_near(4));
    contain.update([at(Vec3::ZERO)].into_iter());
    assert!(contain.is_inside(4));
    contain.update(std::iter::empty());
    assert!(!contain.is_near(4));
}

/// Sources of all shapes, volumes with ranges; counts by who asks.
#[test]
fn balls_sectors_and_ranges_are_as_a_test_of_each_says() {
    let mut random = Random(0xFACE_0FF5_EED5_0001);
    let mut most = 0;
    for _ in 0..400 {
        let places: Vec<Place> = (0..random.below(30))
            .map(|_| Place {
                range: [0.0, random.unit() * 40.0][random.below(2)],
                ..place(random_shape(&mut random, 1.0), random.unit() * 10.0)
            })
            .collect();
        let mut contain = Containment::default();
        for (volume, place) in (0u32..).zip(&places) {
            contain.set(volume, place.clone());
        }
        let mut sources: Vec<SourceInput> = (0..1 + random.below(4)).map(|_| random_source(&mut random)).collect();
        for _ in 0..40 {
            let step = [0.0, 0.01, 1.0, 20.0][random.below(4)];
            sources
                .iter_mut()
                .for_each(|source| source.position += random.point(step));
            if random.below(10) == 0 {
                let index = random.below(sources.len());
                sources[index] = random_source(&mut random);
            }
            let usable = sources.iter().filter(|source| source.is_usable());
            let points: Vec<Option<Probe>> = usable
                .flat_map(|source| (0..POINTS).map(|place| Some(source.point(place)?.1)))
                .collect();
            contain.update(points.iter().copied());
            let probes: Vec<Probe> = points.iter().flatten().copied().collect();
            for (volume, place) in (0u32..).zip(&places) {
                let test = |probe: &&Probe| probe.test(&place.shape, place.range, place.margin);
                let count = |is: &dyn Fn(&Probe) -> bool| {
                    let tested = probes.iter().filter(|probe| is(probe));
                    let (inside, near): (Vec<bool>, Vec<bool>) = tested.map(|probe| test(&probe)).unzip();
                    [inside, near].map(|list| list.iter().filter(|is| **is).count() as u32)
                };
                let (all, shows) = contain.count(volume);
                assert_eq!([all.inside, all.near], count(&|_| true));
                assert_eq!([shows.inside, shows.near], count(&|probe| probe.asks.shows));
                assert_eq!(contain.blocks(volume), count(&|probe| probe.asks.blocks)[0] > 0);
                let is_near = |probe: &Option<Probe>| probe.is_some_and(|probe| test(&&probe).1);
                let near = (0u32..).zip(&points).filter(|(_, probe)| is_near(probe));
                let mut known = contain.points(volume).expect("all have looked").to_vec();
                known.sort_unstable();
                assert_eq!(known, near.map(|(point, _)| point).collect::<Vec<_>>());
                most = most.max(all.near);
            }
        }
    }
    assert!(most > 6, "{most}");
}
