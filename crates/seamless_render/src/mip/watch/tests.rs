use bevy_math::{Affine3A, Vec3, vec3};
use proptest::{collection::vec, prelude::*};

use super::*;
use crate::mip::{
    need::{COARSEST_LOD, FINEST_LOD, SurfaceSphere, footprint},
    random::Random,
};

const LEAD: f32 = 0.5;
const MATERIALS: u32 = 5;

/// Every user, looked at each time from everywhere.
#[derive(Default)]
struct Model {
    users: Vec<(UserId, MipUser, Surface, bool)>,
    limits: std::collections::BTreeMap<(u32, u8), f32>,
}

impl Model {
    fn least(&self, views: &[MipView], material: u32, channel: u8) -> [f32; 3] {
        let limit = self.limits.get(&(material, channel)).copied().unwrap_or(COARSEST_LOD);
        let limit = limit.clamp(FINEST_LOD, COARSEST_LOD);
        let mut least = [f32::INFINITY; 3];
        for (_, user, surface, is_seen) in &self.users {
            if (user.material, user.channel) != (material, channel) {
                continue;
            }
            let points = views.iter().flat_map(|view| [*view, view.ahead(LEAD)]);
            let (expected, cameras): (Vec<_>, Vec<_>) = points.partition(|view| view.is_expected);
            let lod = |view: &MipView| footprint(view, surface, user).lod.min(limit);
            let part = usize::from(!is_seen);
            let by_cameras = cameras.iter().map(lod).fold(COARSEST_LOD, f32::min);
            least[part] = least[part].min(by_cameras);
            least[2] = expected.iter().map(lod).fold(least[2], f32::min);
        }
        least
    }
}

struct World {
    watch: Watch,
    model: Model,
    views: Vec<MipView>,
    random: Random,
}

impl World {
    fn new(seed: u64) -> Self {
        Self {
            watch: Watch::default(),
            model: Model::default(),
            views: vec![view(1, Vec3::ZERO)],
            random: Random(seed),
        }
    }

    fn place(&mut self, reach: f32) -> Vec3 {
        let [x, y, z] = [(); 3].map(|()| self.random.part() * 2.0 - 1.0);
        vec3(x, y * 0.1, z) * reach
    }

    fn surface(&mut self) -> Surface {
        let center = self.place(400.0);
        let half = vec3(self.random.part(), self.random.part(), self.random.part()) * 12.0;
        let has_spheres = self.random.below(3) == 0;
        let sphere = |world: &mut Self| SurfaceSphere {
            center: world.place(8.0),
            radius: world.random.part() * 4.0,
            metres: [world.random.part() * 8.0, 0.0],
        };
        let spheres = has_spheres.then(|| (0..5).map(|_| sphere(self)).collect());
        Surface {
            center,
            half,
            world: Affine3A::from_translation(center),
            spheres,
        }
    }

    fn add(&mut self) {
        let user = MipUser {
            material: self.random.below(u64::from(MATERIALS)) as u32,
            channel: self.random.below(2) as u8,
            metres: 0.1 + self.random.part() * 4.0,
            object_scale: 1.0,
            uv_scale: 1.0,
        };
        let surface = self.surface();
        let id = self.watch.add(&user, &surface);
        self.model.users.push((id, user, surface, false));
    }

    /// One of all things that may happen.
    fn step(&mut self, what: u8) {
        let count = self.model.users.len() as u64;
        let at = self.random.below(count.max(1)) as usize;
        let way = self.place(1.0);
        match what {
            0 | 1 => self.add(),
            2 if count > 0 => {
                let (id, ..) = self.model.users.swap_remove(at);
                self.watch.remove(id);
                self.watch.remove(id);
                self.watch.seen(id, true);
            }
            3 if count > 0 => {
                let surface = self.surface();
                let (id, user, of, _) = &mut self.model.users[at];
                *of = surface;
                self.watch.moved(*id, user, of);
            }
            4..=6 if count > 0 => {
                let (id, _, _, is_seen) = &mut self.model.users[at];
                *is_seen = !*is_seen;
                self.watch.seen(*id, *is_seen);
            }
            7 => {
                let key = self.random.below(9);
                let place = self.place(300.0);
                self.views.retain(|view| view.key != key);
                self.views.push(MipView {
                    is_expected: self.random.below(2) == 0,
                    ..view(key, place)
                });
                self.views.truncate(3);
            }
            8 => self.views.truncate(1),
            9 => self.views[0].position = self.place(600.0),
            // Never by less than is noticed, whatever comes together.
            10 => self.views[0].pixels *= [0.8, 1.3][at % 2],
            11 => self.views[0].is_orthographic = !self.views[0].is_orthographic,
            12 => self.views.iter_mut().for_each(|view| view.velocity = way * 40.0),
            13 => self.views.iter_mut().for_each(|view| view.velocity = Vec3::ZERO),
            14 => {
                let (material, channel) = (self.random.below(5) as u32, self.random.below(2) as u8);
                let limit = -12.0 + self.random.part() * 13.0;
                self.watch.limit(material, channel, limit);
                self.model.limits.insert((material, channel), limit);
            }
            _ => self.views.iter_mut().for_each(|view| view.position += way * 2.0),
        }
    }

    /// Updates, and compares with the model. Materials of which nothing is told are as they were.
    fn check(&mut self) {
        let mut before: Vec<[f32; 3]> = vec![];
        let all = || (0..MATERIALS).flat_map(|material| [(material, 0), (material, 1)]);
        before.extend(all().map(|(material, channel)| self.watch.least(material, channel)));
        self.watch.update(&self.views, LEAD);
        let mut changed = self.watch.changed().to_vec();
        while self.watch.is_waiting() {
            self.watch.update(&self.views, LEAD);
            changed.extend(self.watch.changed());
        }
        for ((material, channel), before) in all().zip(before) {
            let found = self.watch.least(material, channel);
            let right = self.model.least(&self.views, material, channel);
            assert!(changed.contains(&material) || found == before);
            for (found, right) in found.into_iter().zip(right) {
                let is_right =
                    found == right || found <= right + 1.0 / 32.0 + 2e-3 && found >= right - 1.0 / 16.0 - 2e-3;
                assert!(is_right, "material {material}.{channel} is at {found}, not {right}");
            }
        }
        let Watch {
            groups, seats, seen, ..
        } = &self.watch;
        groups.iter().for_each(|group| {
            group.check(|user| seats[user as usize].areas);
            group.users.iter().enumerate().for_each(|(place, user)| {
                assert_eq!(seats[*user as usize].place as usize, place);
            });
        });
        for (id, _, _, is_seen) in &self.model.users {
            assert_eq!(seen.has(id.0), *is_seen);
        }
    }
}

fn view(key: u64, position: Vec3) -> MipView {
    MipView::perspective(key, position, 1.0, 1080.0, 0.1)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// 64 worlds, 200 moves each.
    #[test]
    fn it_knows_what_testing_all_pairs_tells(seed in any::<u64>(), steps in vec((0..40_u8, 0..3_u8), 200)) {
        let mut world = World::new(seed);
        (0..100).for_each(|_| world.add());
        for (what, then) in steps {
            world.step(what);
            if then == 0 {
                world.check();
            } else if then == 1 {
                let views = world.views.clone();
                world.watch.update(&views, LEAD);
            }
        }
        world.check();
        for (id, ..) in core::mem::take(&mut world.model.users) {
            world.watch.remove(id);
        }
        world.check();
    }
}

#[test]
fn at_rest_nobody_is_looked_at() {
    let mut world = World::new(7);
    (0..500).for_each(|_| world.add());
    world.check();
    for _ in 0..5 {
        world.watch.update(&world.views, LEAD);
        assert_eq!((world.watch.looks(), world.watch.changed()), (0, &[][..]));
    }
    world.views[0].position.x += 0.01;
    world.watch.update(&world.views, LEAD);
    assert!(world.watch.looks() < 50, "{} were looked at", world.watch.looks());
}

#[test]
fn a_frame_looks_at_so_many_and_the_seen_come_first() {
    let mut world = World::new(9);
    (0..30_000).for_each(|_| world.add());
    world.check();
    let seen: Vec<UserId> = world.model.users.iter().map(|user| user.0).step_by(10).collect();
    for id in &seen {
        world.watch.seen(*id, true);
    }
    for user in world.model.users.iter_mut().step_by(10) {
        user.3 = true;
    }
    world.check();
    // A jump: those that are seen are right in the same frame.
    world.views[0].position = vec3(300.0, 5.0, -200.0);
    world.watch.update(&world.views, LEAD);
    assert!(world.watch.is_waiting());
    assert!(world.watch.looks() <= LOOKS + 64);
    for material in 0..MATERIALS {
        let right = world.model.least(&world.views, material, 0)[0];
        let found = world.watch.least(material, 0)[0];
        assert!((found - right).abs() <= 1.0 / 16.0, "{found} is not {right}");
    }
    world.check();
}

#[test]
fn views_that_zoom_slowly_are_noticed() {
    let mut world = World::new(3);
    (0..300).for_each(|_| world.add());
    world.check();
    let mut looked = 0;
    for _ in 0..100 {
        world.views[0].pixels *= 1.005;
        world.watch.update(&world.views, LEAD);
        looked += world.watch.looks();
    }
    assert!((300..300 * 40).contains(&looked), "{looked}");
    world.views[0].pixels *= 1.05;
    world.check();
}

#[test]
fn numbers_that_are_none_do_no_harm() {
    let mut world = World::new(4);
    (0..50).for_each(|_| world.add());
    world.views[0].position = Vec3::NAN;
    world.check();
    world.watch.update(&world.views, LEAD);
    assert_eq!(world.watch.looks(), 0, "nowhere as before");
    world.views[0].position = Vec3::ONE;
    world.views[0].velocity = Vec3::INFINITY;
    world.check();
    world.views[0].velocity = Vec3::ZERO;
    world.check();
    world.views.clear();
    world.check();
}

/// A margin is for who moves, also where nobody looks ahead, or hardly.
#[test]
fn who_is_slow_moves_and_who_trembles_rests() {
    let mut watch = Watch::default();
    for (speed, lead, is_moving) in [
        (0.0, LEAD, false),
        (0.002, LEAD, false),
        (0.1, LEAD, true),
        (0.1, 0.0, true),
    ] {
        let view = MipView {
            velocity: Vec3::X * speed,
            ..MipView::perspective(1, Vec3::ZERO, 1.0, 1000.0, 0.1)
        };
        watch.update(&[view], lead);
        assert_eq!(watch.is_moving(), is_moving, "{speed} m/s, {lead} s ahead");
    }
}
