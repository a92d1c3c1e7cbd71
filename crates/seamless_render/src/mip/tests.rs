//! Watch, demands, fit and schedule together, as in a game: with reads and reports that take their time, or fail.

use core::time::Duration;
use std::hash::{DefaultHasher, Hash, Hasher};

use bevy_math::{Affine3A, Vec3, vec3};
use wgpu_types::{Extent3d, TextureDimension, TextureFormat};

use super::{
    ChangeId, DemandRule, Fit, FitInput, MipChain, MipChanges, MipDemands, MipLedger, MipLimits, UserId, Wanting,
    Watch,
    need::{MipUser, MipView, Surface},
    random::Random,
    schedule,
    work::Waiting,
};

const TEXTURES: u32 = 80;
const MATERIALS: u32 = 50;
const USERS: usize = 400;
const HALL: f32 = 120.0;

/// Something that comes later.
#[derive(Clone, Copy)]
enum Event {
    Read(u32, ChangeId),
    Swapped(u32, ChangeId),
    Retired(ChangeId),
    Failed(u32, ChangeId),
}

struct World {
    random: Random,
    watch: Watch,
    demands: MipDemands,
    fit: Fit,
    /// Looks at all textures each time.
    whole: Fit,
    ledger: MipLedger,
    out: MipChanges,
    limits: MipLimits,
    users: Vec<(UserId, MipUser)>,
    chains: Vec<MipChain>,
    /// Textures that wait for room, by the rule of the app.
    waiting: Waiting<u32, ()>,
    events: Vec<(u32, Event)>,
    ready: Vec<(u32, ChangeId)>,
    frame: u32,
    hash: DefaultHasher,
    /// Things go wrong.
    is_wild: bool,
    swaps: usize,
}

fn any_chain(random: &mut Random) -> MipChain {
    let side = |random: &mut Random| {
        (64 << random.below(5))
            + if random.below(4) == 0 {
                8 * random.below(9) as u32
            } else {
                0
            }
    };
    let format = [
        TextureFormat::Bc7RgbaUnormSrgb,
        TextureFormat::Bc1RgbaUnorm,
        TextureFormat::Rgba8Unorm,
    ];
    loop {
        let (width, height) = (side(random), side(random));
        let size = Extent3d {
            width,
            height,
            depth_or_array_layers: 1 + (random.below(8) / 7) as u32 * 2,
        };
        let mips = width.max(height).ilog2() + 1;
        let tail = mips.saturating_sub(6);
        let chain = MipChain::new(
            size,
            TextureDimension::D2,
            1,
            format[random.below(3) as usize],
            mips,
            tail,
        );
        if let Ok(chain) = chain {
            return chain;
        }
    }
}

impl World {
    fn new(seed: u64, part: f64) -> Self {
        let mut random = Random(seed);
        let chains: Vec<MipChain> = (0..TEXTURES).map(|_| any_chain(&mut random)).collect();
        let whole: u64 = chains.iter().map(|chain| chain.bytes(0)).sum();
        let mut world = Self {
            random,
            watch: Watch::default(),
            demands: MipDemands::default(),
            fit: Fit::default(),
            whole: Fit::one_by_one(),
            ledger: MipLedger::default(),
            out: MipChanges::default(),
            limits: MipLimits {
                pool: (whole as f64 * part) as u64,
                staging: 4 << 20,
                reads: 8,
                step: 1 << 20,
                swaps: 4,
                bytes: 2 << 20,
            },
            users: vec![],
            chains,
            waiting: Waiting::default(),
            events: vec![],
            ready: vec![],
            frame: 0,
            hash: DefaultHasher::new(),
            is_wild: true,
            swaps: 0,
        };
        (0..USERS).for_each(|_| world.add_user());
        world.waiting.set_usable(world.limits.pool);
        (0..TEXTURES).for_each(|texture| world.come(texture));
        world
    }

    fn place(&mut self) -> Vec3 {
        let [x, z] = [(); 2].map(|()| (self.random.part() - 0.5) * HALL);
        vec3(x, self.random.part() * 4.0, z)
    }

    fn surface(&mut self) -> Surface {
        let center = self.place();
        Surface {
            center,
            half: Vec3::splat(0.2 + self.random.part()),
            world: Affine3A::from_translation(center),
            spheres: None,
        }
    }

    fn add_user(&mut self) {
        let user = MipUser {
            material: self.random.below(u64::from(MATERIALS)) as u32,
            channel: 0,
            metres: 0.5 + self.random.part() * 3.0,
            object_scale: 1.0,
            uv_scale: 1.0,
        };
        let surface = self.surface();
        let id = self.watch.add(&user, &surface);
        self.users.push((id, user));
    }

    fn come(&mut self, texture: u32) {
        let chain = &self.chains[texture as usize];
        self.waiting.push(texture, (), chain.bytes(chain.floor()));
    }

    /// Textures come when there is room for their floors; the pool is made to have some.
    fn let_in(&mut self) {
        assert!(
            !self.waiting.begin(
                !self.waiting.is_empty(),
                false,
                Duration::from_secs_f64(f64::from(self.frame) / 60.0)
            ),
            "room is found in time"
        );
        while let Some((texture, ())) = self.waiting.next(self.ledger.sums().total()) {
            let chain = &self.chains[texture as usize];
            self.ledger.insert(texture, chain, chain.floor());
            let now = f64::from(self.frame) / 60.0;
            self.demands.insert(texture, chain.clone(), DemandRule::default(), now);
            for by in 0..2 {
                self.demands.link(texture, (texture * 7 + by * 13) % MATERIALS, 0);
            }
        }
        self.ledger.set_expected(self.waiting.bytes());
    }

    fn disturb(&mut self) {
        let at = self.random.below(self.users.len() as u64) as usize;
        let texture = self.random.below(u64::from(TEXTURES)) as u32;
        let (id, user) = self.users[at];
        match self.random.below(60) {
            0 => {
                self.watch.remove(id);
                self.users.swap_remove(at);
                self.add_user();
            }
            1..6 => {
                let surface = self.surface();
                self.watch.moved(id, &user, &surface);
            }
            6 if self.ledger.get(texture).is_some() => {
                self.demands.remove(texture);
                if let Some(id) = self.ledger.remove(texture) {
                    self.later(Event::Retired(id));
                }
                self.come(texture);
            }
            7 => {
                let rule = DemandRule {
                    forced: (self.random.below(2) == 0).then_some(0),
                    finest: (self.random.below(8) / 7) as u8,
                    ..DemandRule::default()
                };
                self.demands.set_rule(texture, rule);
            }
            8 if self.random.below(20) == 0 => {
                let chains = &self.chains;
                self.ledger.lost(|texture| {
                    let chain = &chains[texture as usize];
                    Some((chain.floor(), chain.bytes(chain.floor())))
                });
            }
            _ => {}
        }
    }

    fn later(&mut self, event: Event) {
        let delay = 1 + self.random.below(if self.is_wild { 12 } else { 3 }) as u32;
        self.events.push((self.frame + delay, event));
    }

    fn take_events(&mut self) {
        self.ready.clear();
        let (now, later) = self.events.iter().partition(|(frame, _)| *frame <= self.frame);
        self.events = later;
        let now: Vec<(u32, Event)> = now;
        for (_, event) in now {
            match event {
                Event::Read(texture, id) if self.is_wild && self.random.below(10) == 0 => {
                    self.ledger.cancelled(texture, id);
                }
                Event::Read(texture, id) => self.ready.push((texture, id)),
                Event::Swapped(texture, id) => {
                    self.ledger.swapped(texture, id);
                    self.later(Event::Retired(id));
                }
                Event::Retired(id) => self.ledger.retired(id),
                Event::Failed(texture, id) => self.ledger.failed(texture, id),
            }
        }
    }

    fn update(&mut self, views: &[MipView]) {
        self.frame += 1;
        self.take_events();
        self.let_in();
        if self.is_wild {
            self.disturb();
        }
        for at in 0..self.users.len() / 8 {
            let (id, _) = self.users[(at * 8 + self.frame as usize) % self.users.len()];
            let is_seen = self.is_wild && self.random.below(3) == 0;
            self.watch.seen(id, is_seen);
        }
        let now = f64::from(self.frame) / 60.0;
        self.demands.set_limits(&mut self.watch, 0.25);
        self.watch.update(views, 0.5);
        self.demands.update(&self.watch, now);
        let mut resident = vec![];
        self.ledger.targets(&mut resident);
        let input = FitInput {
            textures: self.demands.textures(),
            changed: Some(self.demands.changed()),
            resident: &resident,
            room: self.ledger.room(self.limits.pool),
            headroom: 1 << 20,
            cached: 1.0,
            wanting: Wanting {
                margin: if self.watch.is_moving() { 0.25 } else { 0.0 },
                ..Wanting::default()
            },
            now,
        };
        self.fit.update(&input);
        self.whole.update(&FitInput { changed: None, ..input });
        assert_eq!(
            (&self.fit.tops, self.fit.used, &self.fit.cut, self.fit.until),
            (&self.whole.tops, self.whole.used, &self.whole.cut, self.whole.until)
        );
        let Self {
            fit,
            demands,
            ledger,
            out,
            ..
        } = self;
        schedule(fit, demands.textures(), ledger, &self.ready, &self.limits, out);
        self.check();
        self.send();
    }

    fn check(&mut self) {
        let total = self.ledger.sums().total();
        let floors: u64 = self
            .demands
            .textures()
            .iter()
            .flatten()
            .map(|of| of.chain.bytes(of.chain.floor()))
            .sum();
        assert!(
            total <= self.limits.pool.max(floors),
            "frame {}: {total} of {}",
            self.frame,
            self.limits.pool
        );
        assert!(self.fit.used <= self.fit.budget || self.fit.is_short);
        self.fit.tops.hash(&mut self.hash);
        for read in &self.out.reads {
            (read.texture, read.id, read.mips.clone()).hash(&mut self.hash);
        }
        for swap in &self.out.swaps {
            (swap.texture, swap.id, swap.to).hash(&mut self.hash);
        }
    }

    fn send(&mut self) {
        for read in self.out.reads.clone() {
            self.later(Event::Read(read.texture, read.id));
        }
        self.swaps += self.out.swaps.len();
        for swap in self.out.swaps.clone() {
            let fails = self.is_wild && self.random.below(30) == 0;
            self.later(if fails {
                Event::Failed(swap.texture, swap.id)
            } else {
                Event::Swapped(swap.texture, swap.id)
            });
        }
    }

    /// Nothing disturbs any more: what is planned is reached, and stays.
    fn settle(&mut self, views: &[MipView]) {
        self.is_wild = false;
        let mut quiet = 0;
        for _ in 0..4000 {
            self.update(views);
            let is_quiet = self.events.is_empty() && self.out.reads.is_empty() && self.out.swaps.is_empty();
            quiet = if is_quiet { quiet + 1 } else { 0 };
            if quiet > 120 {
                break;
            }
        }
        assert!(quiet > 120, "it never comes to rest");
        assert!(self.waiting.is_empty(), "all textures are in");
        for texture in 0..TEXTURES {
            let found = self.ledger.get(texture).map(|of| (of.top, of.change));
            assert_eq!(
                found,
                Some((self.fit.tops[texture as usize], None)),
                "texture {texture}"
            );
        }
        let sums = self.ledger.sums();
        assert_eq!(sums.total(), sums.resident);
        assert_eq!((sums.resident, self.ledger.retiring()), (self.fit.used, 0));
    }
}

/// A view somewhere, or one that goes on from where it was.
fn next_view(random: &mut Random, last: &MipView) -> MipView {
    let part = |random: &mut Random| (random.part() - 0.5) * HALL;
    match random.below(40) {
        0 => MipView::perspective(
            1,
            vec3(part(random), 2.0, part(random)),
            0.6 + random.part(),
            1080.0,
            0.1,
        ),
        1 => MipView {
            velocity: vec3(part(random), 0.0, part(random)) / 10.0,
            ..*last
        },
        2 => MipView {
            velocity: Vec3::ZERO,
            ..*last
        },
        _ => MipView {
            position: last.position + last.velocity / 60.0,
            ..*last
        },
    }
}

/// A walk through a world of its own, with so many views; returns what was planned and done, as a hash.
fn walk(seed: u64, part: f64, views: usize) -> u64 {
    let mut world = World::new(seed, part);
    let mut random = Random(!seed);
    let mut view = MipView::perspective(1, Vec3::ZERO, 1.0, 1080.0, 0.1);
    for _ in 0..views {
        view = next_view(&mut random, &view);
        world.update(&[view]);
    }
    assert!(world.swaps > views / 20, "{} swaps: too little happens", world.swaps);
    world.settle(&[MipView {
        velocity: Vec3::ZERO,
        ..view
    }]);
    world.hash.finish()
}

/// Pools of a tenth to all of what all textures take: 10 000 views, and no frame has more than the pool.
#[test]
fn the_pool_holds_and_each_plan_is_reached() {
    for (seed, part) in [(1, 0.1), (2, 0.2), (3, 0.35), (4, 0.5), (5, 1.2)] {
        let hash = walk(seed, part, 2000);
        // The same again, for the smallest: the same plans, reads and swaps.
        assert!(seed > 1 || walk(seed, part, 2000) == hash, "same input, same plan");
    }
}
