//! What is said of points and volumes, against a test of each with each.

use std::collections::BTreeMap;

use bevy_math::{Vec3, vec3};

use super::{Containment, MOST_CHANGED, Place, Probe};
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
            let mut shapes: Vec<VolumeShape> = (0..random.below(20))
                .map(|_| random_shape(&mut random, scale))
                .collect();
            let margin = random.unit() * scale;
            let mut contain = of(shapes.iter().cloned(), margin);
            let mut points: Vec<Vec3> = (0..1 + random.below(4)).map(|_| random.point(140.0 * scale)).collect();
            for _ in 0..60 {
                let step = [0.01, 1.0, 20.0][random.below(3)] * scale;
                points.iter_mut().for_each(|point| *point += random.point(step));
                if random.below(2) == 0 && !shapes.is_empty() {
                    let volume = random.below(shapes.len());
                    shapes[volume] = random_shape(&mut random, scale);
                    contain.set(volume as u32, place(shapes[volume].clone(), margin));
                }
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

fn random_place(random: &mut Random) -> Place {
    Place {
        range: [0.0, random.unit() * 40.0][random.below(2)],
        ..place(random_shape(random, 1.0), random.unit() * 10.0)
    }
}

fn random_sources(random: &mut Random) -> Vec<SourceInput> {
    (0..1 + random.below(4)).map(|_| random_source(random)).collect()
}

/// Where those ask that ask for anything.
fn points_of(sources: &[SourceInput]) -> Vec<Option<Probe>> {
    let usable = sources.iter().filter(|source| source.is_usable());
    usable
        .flat_map(|source| (0..POINTS).map(|place| Some(source.point(place)?.1)))
        .collect()
}

/// Moves them all, and now and then puts another one in the place of one of them.
fn move_sources(random: &mut Random, sources: &mut [SourceInput]) {
    let step = [0.0, 0.01, 1.0, 20.0][random.below(4)];
    sources
        .iter_mut()
        .for_each(|source| source.position += random.point(step));
    if random.below(10) == 0 {
        let index = random.below(sources.len());
        sources[index] = random_source(random);
    }
    if random.below(3) == 0 {
        // Back to where it was before, to the last bit.
        let index = random.below(sources.len());
        sources[index].position = Vec3::splat(20.0 * index as f32);
    }
}

/// Checks what is said of each volume against a test of each point; how many are near one at most.
fn check(contain: &Containment, places: &BTreeMap<u32, Place>, points: &[Option<Probe>]) -> u32 {
    let mut most = 0;
    for (&volume, place) in places {
        let test = |probe: &Probe| probe.test(&place.shape, place.range, place.margin);
        let count = |is: &dyn Fn(&Probe) -> bool| {
            let tested = points.iter().flatten().filter(|probe| is(probe));
            let (inside, near): (Vec<bool>, Vec<bool>) = tested.map(test).unzip();
            [inside, near].map(|list| list.iter().filter(|is| **is).count() as u32)
        };
        let (all, shows) = contain.count(volume);
        assert_eq!([all.inside, all.near], count(&|_| true));
        assert_eq!([shows.inside, shows.near], count(&|probe| probe.asks.shows));
        assert_eq!(contain.blocks(volume), count(&|probe| probe.asks.blocks)[0] > 0);
        let is_near = |point: &Option<Probe>| point.is_some_and(|probe| test(&probe).1);
        let near = (0u32..).zip(points).filter(|(_, point)| is_near(point));
        let mut known = contain.points(volume).expect("all have looked").to_vec();
        known.sort_unstable();
        assert_eq!(known, near.map(|(point, _)| point).collect::<Vec<_>>());
        most = most.max(all.near);
    }
    most
}

/// Sources of all shapes, volumes with ranges; counts by who asks.
#[test]
fn balls_sectors_and_ranges_are_as_a_test_of_each_says() {
    let mut random = Random(0xFACE_0FF5_EED5_0001);
    let mut most = 0;
    for _ in 0..400 {
        let count = random.below(30) as u32;
        let places: BTreeMap<u32, Place> = (0..count).map(|volume| (volume, random_place(&mut random))).collect();
        let mut contain = Containment::default();
        for (volume, place) in &places {
            contain.set(*volume, place.clone());
        }
        let mut sources = random_sources(&mut random);
        for _ in 0..40 {
            move_sources(&mut random, &mut sources);
            let points = points_of(&sources);
            contain.update(points.iter().copied());
            most = most.max(check(&contain, &places, &points));
        }
    }
    assert!(most > 6, "{most}");
}

/// Puts a volume in, in place of another or not, or takes it out.
fn change(random: &mut Random, contain: &mut Containment, places: &mut BTreeMap<u32, Place>, numbers: usize) {
    let volume = random.below(numbers) as u32;
    if random.below(3) == 0 {
        contain.remove(volume);
        places.remove(&volume);
        return;
    }
    let place = random_place(random);
    contain.set(volume, place.clone());
    places.insert(volume, place);
    assert_eq!(contain.points(volume), None, "nobody was tested against it");
}

/// The same where volumes come, go and move while points rest, or move within what they are free to: a few at a time, several of them more than once,
/// and now and then very many.
#[test]
fn volumes_that_change_each_frame_are_as_a_test_of_each_says() {
    let mut random = Random(0x5107_F1EE_7000_0001);
    let (mut asked, mut looks, mut most, mut crowds) = (0, 0, 0, 0);
    for _ in 0..120 {
        let numbers = 1 + random.below(50);
        let (mut contain, mut places) = (Containment::default(), BTreeMap::new());
        let mut sources = random_sources(&mut random);
        for frame in 0..60 {
            let changes = if frame % 20 == 0 { 150 } else { random.below(5) };
            (0..changes).for_each(|_| change(&mut random, &mut contain, &mut places, numbers));
            let is_crowd = contain.changed.len() > MOST_CHANGED;
            move_sources(&mut random, &mut sources);
            let points = points_of(&sources);
            let looked = contain.looks;
            contain.update(points.iter().copied());
            if is_crowd {
                crowds += 1;
            } else {
                asked += points.iter().flatten().count() as u64;
                looks += contain.looks - looked;
            }
            most = most.max(check(&contain, &places, &points));
            let near: usize = (0..points.len()).map(|point| contain.near(point).count()).sum();
            let counts = places.keys().map(|volume| contain.count(*volume).0.near as usize);
            assert_eq!(near, counts.sum::<usize>(), "what is gone is in no list");
        }
    }
    assert!(most > 6 && crowds > 20, "{most} near one, {crowds} times very many");
    assert!(
        looks < asked * 3 / 4,
        "{looks} looks of {asked} points: too many to tell"
    );
}

/// What a point is free to go counts from where it looked, also for what was put in when it was elsewhere: beside that way, or behind.
#[test]
fn what_is_put_in_beside_a_way_is_entered() {
    let wall = |min: Vec3, max: Vec3| VolumeShape::Box { min, max };
    let beside = wall(vec3(-50.0, 5.0, -50.0), Vec3::splat(50.0));
    let behind = wall(Vec3::splat(-50.0), vec3(-8.0, 50.0, 50.0));
    // The point is in the boxes around these.
    let ball = |center: Vec3, radius: f32| VolumeShape::Sphere { center, radius };
    let ball_beside = ball(vec3(50.0, 40.0, 0.0), 50.0);
    let ball_behind = ball(vec3(-40.0, 48.0, 0.0), 51.0);
    for (shape, end) in [
        (beside, vec3(10.0, 6.0, 0.0)),
        (behind, vec3(-9.0, 0.0, 0.0)),
        (ball_beside, vec3(10.0, 12.0, 0.0)),
        (ball_behind, vec3(-8.0, 10.0, 0.0)),
    ] {
        let mut contain = Containment::default();
        contain.update([at(Vec3::ZERO)].into_iter());
        contain.update([at(Vec3::X * 10.0)].into_iter());
        assert_eq!(contain.looks, 1);
        contain.set(0, place(shape.clone(), 0.0));
        contain.update([at(Vec3::X * 10.0)].into_iter());
        assert!(!contain.is_near(0), "{shape:?}");
        contain.update([at(end)].into_iter());
        assert!(contain.is_inside(0), "{shape:?}");
    }
}

/// Where it looked before the volume was there.
#[test]
fn who_comes_back_to_where_a_volume_was_put_in_is_inside() {
    let shape = VolumeShape::Box {
        min: Vec3::splat(-50.0),
        max: vec3(5.0, 50.0, 50.0),
    };
    let mut contain = Containment::default();
    contain.update([at(Vec3::ZERO)].into_iter());
    contain.update([at(Vec3::X * 10.0)].into_iter());
    contain.set(0, place(shape, 0.0));
    contain.update([at(Vec3::X * 10.0)].into_iter());
    assert!(!contain.is_near(0));
    contain.update([at(Vec3::ZERO)].into_iter());
    assert!(contain.is_inside(0));
}

/// A ship among many volumes and players costs a test of it alone, for those who are about where it is.
#[test]
fn a_volume_that_moves_makes_nobody_look_at_others() {
    const SHIP: u32 = 1024;
    let mut random = Random(500);
    let mut contain = of(boxes(32), 10.0);
    let points: Vec<Vec3> = (0..500)
        .map(|_| (random.point(3200.0) + Vec3::splat(1600.0)).with_y(0.0))
        .collect();
    contain.update(points.iter().copied().map(at));
    let looks = contain.looks;
    let (mut boarded, mut tests) = (0, 0);
    for frame in 0..200 {
        let ship = VolumeShape::Sphere {
            center: vec3(frame as f32 * 16.0, 0.0, 1600.0),
            radius: 150.0,
        };
        let looked_at = contain.looked_at();
        contain.set(SHIP, place(ship.clone(), 10.0));
        contain.update(points.iter().copied().map(at));
        let inside = points.iter().filter(|point| ship.contains(**point)).count();
        assert_eq!(contain.count(SHIP).0.inside as usize, inside, "in frame {frame}");
        boarded += inside;
        let tested = contain.looked_at() - looked_at;
        assert!(tested <= 500, "{tested} tests in frame {frame}");
        tests += tested;
    }
    assert_eq!(contain.looks, looks, "somebody looked at all there is");
    assert!(boarded > 300 && tests < 200 * 50, "{boarded} on board, {tests} tests");
}
