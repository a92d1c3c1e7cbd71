//! Tests that the flight is what it promises to be, measured frame by frame over the default world.

use std::collections::BTreeSet;

use super::*;
use crate::generate::terrain::Terrain;

const RATE: f32 = 60.0;

fn flight() -> (WorldOptions, Flight) {
    let options = WorldOptions::default();
    let flight = Flight::new(&options, 7);
    (options, flight)
}

fn frames(flight: &Flight) -> Vec<Pose> {
    (0..=(flight.duration() * RATE) as u32)
        .map(|frame| flight.pose(frame as f32 / RATE))
        .collect()
}

fn cell(options: &WorldOptions, pose: &Pose) -> (i32, i32) {
    let index = |v: f32| (v / options.cell_size).floor() as i32;
    (index(pose.position.x), index(pose.position.z))
}

#[test]
fn it_takes_about_forty_seconds() {
    let (_, flight) = flight();
    assert!((38.0..=45.0).contains(&flight.duration()), "{} s", flight.duration());
}

#[test]
fn it_stays_over_the_world_and_above_the_ground() {
    for seed in 0..8 {
        let options = WorldOptions::default();
        let (flight, terrain) = (Flight::new(&options, seed), Terrain::new(seed, &options));
        for pose in frames(&flight) {
            let p = pose.position;
            let inside = 0.0..options.extent();
            assert!(
                inside.contains(&p.x) && inside.contains(&p.z),
                "seed {seed}: outside at {p}"
            );
            let ground = terrain.ground(Vec2::new(p.x, p.z)).value;
            assert!(
                p.y > ground + 10.0 && p.y < 400.0,
                "seed {seed}: {p} over ground at {ground}"
            );
            assert!((pose.forward.length() - 1.0).abs() < 1e-4);
        }
    }
}

#[test]
fn teleports_are_the_only_jumps() {
    let (_, flight) = flight();
    let frames = frames(&flight);
    let mut jumps = 0;
    for pair in frames.windows(2) {
        let step = pair[0].position.distance(pair[1].position);
        if pair[1].teleported {
            jumps += 1;
            assert!(step > 300.0, "a teleport of {step} m goes nowhere");
        } else {
            assert!(step < 10.0, "a jump of {step} m");
            assert!(pair[0].forward.dot(pair[1].forward) > 0.98, "the view jumps");
        }
    }
    assert_eq!(jumps, 2);
    assert_eq!(flight.teleports().len(), 2);
}

#[test]
fn three_dives_enter_eight_cells_per_second() {
    let (options, flight) = flight();
    let fast_speed = 8.0 * options.cell_size;
    let frames = frames(&flight);
    // Stretches at full speed along one axis, in frames.
    let mut stretches = vec![0_u32];
    for pair in frames.windows(2) {
        let step = pair[1].position - pair[0].position;
        let speed = step.x.abs().max(step.z.abs()) * RATE;
        if speed >= fast_speed && !pair[1].teleported {
            *stretches.last_mut().unwrap() += 1;
        } else {
            stretches.push(0);
        }
    }
    let long = stretches.iter().filter(|frames| **frames as f32 >= 1.5 * RATE).count();
    assert_eq!(
        long,
        3,
        "stretches of {:?} frames",
        stretches.iter().filter(|n| **n > 9).collect::<Vec<_>>()
    );
    let most = frames
        .windows(RATE as usize + 1)
        .map(|second| {
            let mut cells: Vec<_> = second.iter().map(|pose| cell(&options, pose)).collect();
            cells.dedup();
            cells.len() - 1
        })
        .max()
        .unwrap();
    assert!(most >= 8, "at most {most} cells entered in a second");
}

#[test]
fn it_cruises_at_a_hundred_metres_per_second() {
    let (_, flight) = flight();
    let (start, later) = (flight.pose(1.0), flight.pose(2.0));
    let speed = start.position.distance(later.position);
    assert!((80.0..120.0).contains(&speed), "{speed} m/s");
}

/// Which cells the load distance asks for, and which are let go again, by the rule of the world's volumes.
#[test]
fn most_of_the_world_comes_and_goes() {
    let (options, flight) = flight();
    let size = options.cell_size;
    let (reach, margin) = (options.load_distance * size, 0.5 * size);
    let outside = |pose: &Pose, x: u32, z: u32| {
        let away = |at: f32, cell: u32| {
            let low = cell as f32 * size;
            (low - at).max(at - low - size).max(0.0)
        };
        away(pose.position.x, x).max(away(pose.position.z, z))
    };
    let (mut live, mut loaded, mut unloaded) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for pose in frames(&flight) {
        for z in 0..options.grid {
            for x in 0..options.grid {
                let away = outside(&pose, x, z);
                if away <= reach && live.insert((x, z)) {
                    loaded.insert((x, z));
                } else if away > reach + margin && live.remove(&(x, z)) {
                    unloaded.insert((x, z));
                }
            }
        }
    }
    assert!(loaded.len() > 300, "{} cells load", loaded.len());
    assert!(unloaded.len() > 250, "{} cells unload", unloaded.len());
}

#[test]
fn odd_times_rest_at_the_ends() {
    let (_, flight) = flight();
    assert_eq!(flight.pose(-5.0), flight.pose(0.0));
    assert_eq!(flight.pose(f32::NAN), flight.pose(0.0));
    assert_eq!(flight.pose(1e9), flight.pose(flight.duration()));
}

#[test]
fn a_flight_is_over_most_levels_and_not_around_what_lies_apart() {
    let level = |x: f32, z: f32| (Vec3::new(x, 0.0, z), Vec3::new(x + 64.0, 9.0, z + 64.0));
    let mut levels: Vec<_> = (0..49)
        .map(|n| level((n % 7) as f32 * 64.0, (n / 7) as f32 * 64.0))
        .collect();
    let all = Some((Vec3::ZERO, Vec3::new(448.0, 9.0, 448.0)));
    assert_eq!(around_most(&levels), all);
    let sky = (Vec3::splat(-20_000.0), Vec3::splat(20_000.0));
    levels.extend([sky, level(900_000.0, 0.0)]);
    assert_eq!(around_most(&levels), all);
    // The land around a town is none.
    let house = |n: u8| (Vec3::splat(f32::from(n)), Vec3::splat(f32::from(n) + 8.0));
    let land = (0..9).map(|n| {
        let corner = Vec3::new((n % 3 - 1) as f32 * 500.0, 0.0, (n / 3 - 1) as f32 * 500.0);
        (corner, corner + Vec3::new(500.0, 9.0, 500.0))
    });
    let town: Vec<_> = (0..90).map(house).chain(land).collect();
    assert_eq!(
        around_most(&town),
        Some((Vec3::new(-500.0, 0.0, -500.0), Vec3::new(1_000.0, 97.0, 1_000.0)))
    );
    // With few there is no telling who is one.
    assert_eq!(around_most(&[level(0.0, 0.0)]), Some(level(0.0, 0.0)));
    let two = [level(0.0, 0.0), level(5_000.0, 0.0)];
    assert_eq!(around_most(&two), Some((Vec3::ZERO, Vec3::new(5_064.0, 9.0, 64.0))));
    assert_eq!(around_most(&[]), None);
}
