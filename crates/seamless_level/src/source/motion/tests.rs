//! Ways that are gone evenly, with noise, over a network, in jumps; and ends of ways.

use bevy_math::{Vec3, vec3};

use super::{RECENT, SAMPLES, SourceMotion};
use crate::random::Random;

const FRAME: f64 = 1.0 / 60.0;

struct Walk {
    motion: SourceMotion,
    at: Vec3,
    now: f64,
}

impl Walk {
    fn new() -> Self {
        let mut walk = Self {
            motion: SourceMotion::default(),
            at: vec3(100.0, 2.0, -40.0),
            now: 7.0,
        };
        walk.note();
        walk
    }

    fn note(&mut self) {
        self.motion.note(self.at, self.now);
    }

    /// A frame of so many seconds at this velocity.
    fn go(&mut self, velocity: Vec3, seconds: f64) -> Vec3 {
        self.at += velocity * seconds as f32;
        self.now += seconds;
        self.note();
        self.motion.velocity()
    }

    fn go_frames(&mut self, velocity: Vec3, frames: usize) -> Vec3 {
        for _ in 0..frames {
            self.go(velocity, FRAME);
        }
        self.motion.velocity()
    }
}

fn is_near(a: Vec3, b: Vec3, part: f32) -> bool {
    a.distance(b) <= b.length() * part
}

#[test]
fn an_even_way_tells_its_velocity() {
    for speed in [0.1, 5.0, 30.0, 532.0, 3000.0] {
        let velocity = vec3(0.6, 0.0, -0.8) * speed;
        let mut walk = Walk::new();
        assert_eq!(walk.motion.velocity(), Vec3::ZERO);
        // Whoever is fast from the first step on seems to jump once.
        walk.go_frames(velocity, 3);
        assert!(is_near(walk.motion.velocity(), velocity, 0.01), "after three frames");
        walk.go_frames(velocity, 100);
        assert!(is_near(walk.motion.velocity(), velocity, 0.01), "{speed}");
    }
}

#[test]
fn frames_of_any_length_are_measured() {
    let velocity = vec3(30.0, -3.0, 0.0);
    for rate in [20.0, 60.0, 144.0, 1000.0] {
        let mut walk = Walk::new();
        for _ in 0..200 {
            walk.go(velocity, 1.0 / rate);
        }
        assert!(is_near(walk.motion.velocity(), velocity, 0.01), "at {rate} Hz");
    }
    let mut walk = Walk::new();
    let mut random = Random(5);
    walk.go_frames(velocity, 20);
    for _ in 0..200 {
        // A hitch is a long step that is no faster.
        let seconds = if random.below(10) == 0 { 0.4 } else { FRAME };
        assert!(is_near(walk.go(velocity, seconds), velocity, 0.01));
    }
}

#[test]
fn noise_is_averaged_out() {
    let velocity = vec3(20.0, 0.0, 20.0);
    let mut random = Random(99);
    let mut walk = Walk::new();
    let (mut worst, mut worst_step) = (0.0_f32, 0.0_f32);
    for frame in 0..600 {
        let smooth = walk.at + velocity * FRAME as f32;
        let before = walk.at;
        walk.at = smooth + random.point(0.2);
        walk.now += FRAME;
        walk.note();
        if frame > SAMPLES {
            worst = worst.max(walk.motion.velocity().distance(velocity));
            worst_step = worst_step.max(((walk.at - before) / FRAME as f32).distance(velocity));
        }
        walk.at = smooth;
    }
    assert!(worst < 3.0 && worst_step > 3.0 * worst, "{worst} of {worst_step}");
    // Who stands and trembles goes nowhere.
    let home = walk.at;
    for _ in 0..100 {
        walk.at = home + random.point(0.02);
        walk.now += FRAME;
        walk.note();
    }
    assert!(walk.motion.velocity().length() < 0.2);
}

#[test]
fn who_stops_is_at_rest_soon() {
    let velocity = Vec3::X * 50.0;
    let mut walk = Walk::new();
    walk.go_frames(velocity, 60);
    let braking = walk.go_frames(Vec3::ZERO, RECENT - 1);
    assert!(braking.length() < 50.0);
    assert_eq!(walk.go_frames(Vec3::ZERO, 1), Vec3::ZERO);
    assert_eq!(
        walk.go_frames(Vec3::ZERO, 100),
        Vec3::ZERO,
        "and stays so, to the last bit"
    );
    let turned = walk.go_frames(-velocity, SAMPLES + 1);
    assert!(is_near(turned, -velocity, 0.01));
}

#[test]
fn a_jump_is_no_way() {
    let velocity = Vec3::X * 5.0;
    let mut walk = Walk::new();
    walk.go_frames(velocity, 60);
    for jump in [vec3(0.0, 0.0, 20.0), vec3(-5000.0, 800.0, 3.0)] {
        walk.at += jump;
        assert_eq!(walk.go(velocity, FRAME), Vec3::ZERO);
        assert!(is_near(walk.go_frames(velocity, 2), velocity, 0.05));
        walk.go_frames(velocity, 60);
    }
    // A short one cannot be told from a way, unless somebody says so.
    walk.at += Vec3::Z * 7.0;
    walk.motion.teleported();
    assert_eq!(walk.go(velocity, FRAME), Vec3::ZERO);
    assert!(is_near(walk.go_frames(velocity, 2), velocity, 0.05));
}

#[test]
fn jumps_in_consecutive_frames_are_no_way() {
    for velocity in [Vec3::ZERO, Vec3::X * 5.0] {
        for jumps in [
            &[vec3(100.0, 0.0, 0.0), vec3(0.0, 0.0, 300.0)][..],
            &[vec3(100.0, 0.0, 0.0), vec3(-100.0, 0.0, 0.0)],
            &[vec3(20.0, 0.0, 0.0), vec3(100.0, 50.0, 0.0), vec3(0.0, -40.0, 90.0)],
        ] {
            let mut walk = Walk::new();
            walk.go_frames(velocity, 60);
            for jump in jumps {
                walk.at += *jump;
                assert_eq!(walk.go(velocity, FRAME), Vec3::ZERO, "{jumps:?}");
            }
            assert!(is_near(walk.go_frames(velocity, 2), velocity, 0.05));
            assert!(is_near(walk.go_frames(Vec3::ZERO, 60), Vec3::ZERO, 0.0));
        }
    }
}

#[test]
fn who_sets_off_fast_is_seen_to_fly_in_the_second_frame() {
    let velocity = vec3(600.0, 100.0, 0.0);
    let mut walk = Walk::new();
    walk.go_frames(Vec3::ZERO, 60);
    assert_eq!(walk.go(velocity, FRAME), Vec3::ZERO, "it may be a jump");
    assert!(is_near(walk.go(velocity, FRAME), velocity, 0.01));
}

/// Places are those of the frame before, so the old one is seen once more.
#[test]
fn a_short_jump_is_no_way_though_it_is_seen_a_frame_later() {
    let mut walk = Walk::new();
    walk.go_frames(Vec3::ZERO, 60);
    walk.motion.teleported();
    assert!(walk.motion.is_settling());
    assert_eq!(walk.go(Vec3::ZERO, FRAME), Vec3::ZERO);
    assert!(walk.motion.is_settling());
    walk.at += Vec3::Z * 7.0;
    for _ in 0..SAMPLES {
        assert_eq!(walk.go(Vec3::ZERO, FRAME), Vec3::ZERO);
        assert!(!walk.motion.is_settling());
    }
}

/// Ten times a second, some of them lost, in frames of any rate.
#[test]
fn positions_that_come_over_a_network_are_a_way() {
    for (speed, rate) in [(12.0, 60), (120.0, 60), (120.0, 30), (120.0, 130), (600.0, 60)] {
        let velocity = vec3(0.0, 0.0, speed);
        for lost in [usize::MAX, 100] {
            let mut walk = Walk::new();
            let home = walk.at;
            for tick in 0..100 {
                for _ in 0..rate / 10 {
                    walk.now += 1.0 / f64::from(rate);
                    walk.note();
                    let is_even = tick > 6 && tick % 25 > 6;
                    if is_even || lost > 100 && tick > 6 {
                        let way = walk.motion.velocity();
                        assert!(is_near(way, velocity, 0.2), "{way} at {speed}, {rate} Hz, tick {tick}");
                    }
                }
                if tick * 4 % lost != 0 {
                    walk.at = home + velocity * tick as f32 * 0.1;
                }
            }
        }
    }
}

/// However seldom is looked.
#[test]
fn a_turn_is_followed_soon() {
    for rate in [20.0, 60.0, 200.0] {
        let mut walk = Walk::new();
        for _ in 0..100 {
            walk.go(Vec3::X * 40.0, 1.0 / rate);
        }
        let begun = walk.now;
        while walk.now - begun < 0.3 {
            walk.go(Vec3::Z * 40.0, 1.0 / rate);
        }
        assert!(is_near(walk.motion.velocity(), Vec3::Z * 40.0, 0.05), "at {rate} Hz");
    }
}

#[test]
fn time_that_stands_still_and_places_that_are_none_do_no_harm() {
    let mut walk = Walk::new();
    for _ in 0..10 {
        walk.at += Vec3::X;
        assert_eq!(walk.go(Vec3::ZERO, 0.0), Vec3::ZERO);
    }
    walk.at += Vec3::X * 100.0;
    assert_eq!(walk.go(Vec3::ZERO, 0.0), Vec3::ZERO);
    walk.go_frames(Vec3::X, 20);
    walk.at = Vec3::NAN;
    assert_eq!(walk.go(Vec3::ZERO, FRAME), Vec3::ZERO);
    walk.at = Vec3::splat(f32::MAX);
    walk.go_frames(Vec3::ZERO, 2);
    walk.at = -walk.at;
    assert!(walk.go_frames(Vec3::ZERO, 2).is_finite());
    // Who was away for a while comes back at rest.
    let mut walk = Walk::new();
    walk.go_frames(Vec3::X * 4.0, 20);
    assert_eq!(walk.go(Vec3::X * 4.0, 30.0), Vec3::ZERO);
}
