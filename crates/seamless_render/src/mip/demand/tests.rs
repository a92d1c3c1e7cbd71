use bevy_math::{Affine3A, Vec3};
use wgpu_types::{Extent3d, TextureDimension, TextureFormat};

use super::*;
use crate::mip::need::{MipUser, MipView, Surface};

fn chain(side: u32, tail: u32) -> MipChain {
    chain_of(TextureFormat::Bc7RgbaUnorm, side, tail)
}

fn chain_of(format: TextureFormat, side: u32, tail: u32) -> MipChain {
    let size = Extent3d {
        width: side,
        height: side,
        depth_or_array_layers: 1,
    };
    let mips = side.ilog2() + 1;
    MipChain::new(size, TextureDimension::D2, 1, format, mips, tail).unwrap()
}

fn texture(chain: MipChain, seen: f32, unseen: f32, rule: DemandRule) -> DemandedTexture {
    let demand = Demand {
        seen,
        unseen,
        area: 1.0,
        unseen_area: 1.0,
        expected: f32::INFINITY,
        expected_area: 0.0,
        last_seen: 0.0,
        rule,
    };
    DemandedTexture { chain, demand }
}

const NOTHING: f32 = f32::INFINITY;

#[test]
fn a_mip_is_wanted_before_it_is_sampled() {
    let wanted = |seen, unseen, rule| texture(chain(1024, 5), seen, unseen, rule).wanted(&Wanting::default());
    let usual = DemandRule::default();
    // At 1.0 mip 1 is all, at 1.2 mip 0 will soon be.
    let cases = [
        (0.0, 0),
        (1.0, 0),
        (1.2, 0),
        (1.3, 1),
        (2.2, 1),
        (4.9, 4),
        (99.0, 5),
        (-3.0, 0),
        (NOTHING, 5),
        (f32::NAN, 5),
    ];
    for (seen, expected) in cases {
        assert_eq!(wanted(seen, NOTHING, usual), expected, "{seen}");
    }
    assert_eq!(wanted(NOTHING, 1.3, usual), 2, "one less for what is hidden");
    assert_eq!(wanted(4.5, 1.3, usual), 2);
    assert_eq!(wanted(1.5, 1.5, usual), 1);
    let mut expected = texture(chain(1024, 5), 4.5, NOTHING, usual);
    expected.demand.expected = 1.3;
    assert_eq!(
        expected.wanted(&Wanting::default()),
        1,
        "where somebody is expected, nothing is hidden"
    );
    let at_rest = Wanting {
        margin: 0.0,
        ..Wanting::default()
    };
    assert_eq!(texture(chain(1024, 5), 1.0, NOTHING, usual).wanted(&at_rest), 1);
    let coarse = Wanting {
        hidden_bias: 16.0,
        ..Wanting::default()
    };
    let whole = texture(chain(1024, 5), NOTHING, Demand::WHOLE, usual);
    assert_eq!(whole.wanted(&coarse), 0, "whatever is set");
    let forced = DemandRule {
        forced: Some(2),
        ..usual
    };
    assert_eq!((wanted(9.0, NOTHING, forced), wanted(0.5, NOTHING, forced)), (2, 0));
    let limited = DemandRule { finest: 3, ..forced };
    assert_eq!((wanted(9.0, NOTHING, limited), wanted(0.0, NOTHING, limited)), (3, 3));
    let good = DemandRule { coarsest: 2, ..usual };
    assert_eq!((wanted(9.0, NOTHING, good), wanted(0.0, NOTHING, good)), (2, 0));
    let both = DemandRule {
        finest: 4,
        coarsest: 2,
        ..usual
    };
    assert_eq!((wanted(9.0, NOTHING, both), wanted(0.0, NOTHING, both)), (4, 4));
}

#[test]
fn between_tops_a_wish_is_finer_and_a_limit_coarser() {
    // 2056: tops 0, 1, 4, 5, 6.
    let wanted = |seen, rule| texture(chain(2056, 6), seen, NOTHING, rule).wanted(&Wanting::default());
    let usual = DemandRule::default();
    assert_eq!((wanted(3.5, usual), wanted(4.5, usual)), (1, 4));
    let limited = DemandRule { finest: 2, ..usual };
    assert_eq!((wanted(0.0, limited), wanted(5.5, limited)), (4, 5));
    let forced = DemandRule {
        forced: Some(3),
        ..usual
    };
    assert_eq!(wanted(9.0, forced), 1);
}

fn wall(at: Vec3) -> Surface {
    Surface {
        center: at,
        half: Vec3::splat(0.5),
        world: Affine3A::from_translation(at),
        spheres: None,
    }
}

fn user(material: u32, channel: u8) -> MipUser {
    MipUser {
        material,
        channel,
        metres: 1.0,
        object_scale: 1.0,
        uv_scale: 1.0,
    }
}

/// At 10 m, there are 100 pixels a metre.
fn view() -> MipView {
    MipView {
        pixels: 1000.0,
        ..MipView::perspective(0, Vec3::ZERO, 1.0, 1000.0, 0.1)
    }
}

struct World {
    watch: Watch,
    demands: MipDemands,
    margin: f32,
    now: f64,
}

impl World {
    fn new(margin: f32) -> Self {
        Self {
            watch: Watch::default(),
            demands: MipDemands::default(),
            margin,
            now: 0.0,
        }
    }

    fn frame(&mut self) -> bool {
        self.now += 1.0;
        self.demands.set_limits(&mut self.watch, self.margin);
        self.watch.update(&[view()], 0.0);
        self.demands.update(&self.watch, self.now);
        !self.demands.changed().is_empty()
    }

    fn demand(&self, texture: usize) -> Demand {
        self.demands.textures()[texture].as_ref().unwrap().demand
    }
}

#[test]
fn the_finest_user_of_all_materials_decides() {
    let mut world = World::new(0.25);
    for texture in [3, 4] {
        world
            .demands
            .insert(texture, chain(1024, 6), DemandRule::default(), 0.0);
    }
    for (texture, material, channel) in [(3, 0, 0), (3, 7, 1), (3, 7, 1), (9, 7, 1)] {
        world.demands.link(texture, material, channel);
    }
    let near = world.watch.add(&user(7, 1), &wall(Vec3::X * 10.5));
    let far = world.watch.add(&user(0, 0), &wall(Vec3::X * 40.5));
    assert!(world.frame());
    // No material has ever used texture 4: after a second it is wanted whole, by nobody who is seen.
    assert_eq!((world.demand(4).seen, world.demand(4).unseen), (NOTHING, Demand::WHOLE));
    let at = |metres: f32| (1024.0 * metres / 1000.0_f32).log2();
    let is_near = |found: f32, right: f32| found <= right + 1e-3 && found > right - 1.0 / 16.0;
    assert!(is_near(world.demand(3).unseen, at(10.0)), "{:?}", world.demand(3));
    assert_eq!(world.demand(3).seen, NOTHING);
    assert!(!world.frame(), "nothing is another");

    world.watch.seen(far, true);
    assert!(world.frame());
    assert!(is_near(world.demand(3).seen, at(40.0)) && is_near(world.demand(3).unseen, at(10.0)));
    assert!(world.demand(3).area > 100.0);
    world.watch.remove(far);
    world.frame();
    let left = world.now;
    world.frame();
    assert_eq!((world.demand(3).seen, world.demand(3).last_seen), (NOTHING, left));

    let coarser = DemandRule {
        bias: 1.0,
        ..DemandRule::default()
    };
    world.demands.set_rule(3, coarser);
    world.frame();
    assert!(is_near(world.demand(3).unseen, at(10.0) + 1.0));
    world.demands.unlink(3, 7, 1);
    assert!(world.frame());
    assert_eq!(world.demand(3).unseen, NOTHING, "its other material has nobody");
    world.watch.remove(near);
    world.demands.remove(3);
    world.demands.remove(77);
    world.frame();
    assert!(world.demands.textures()[3].is_none());
    world
        .demands
        .insert(3, chain(64, 2), DemandRule::default(), world.now + 0.5);
    assert!(world.frame() && world.demands.has_new());
    assert_eq!(world.demand(3).unseen, NOTHING, "who draws it may be on the way");
    assert!(world.frame() && !world.demands.has_new());
    assert_eq!(world.demand(3).unseen, Demand::WHOLE, "it has none of its old links");
    world.demands.insert(5, chain(64, 2), DemandRule::default(), world.now);
    world.demands.link(5, 8, 0);
    assert!(!world.demands.has_new(), "it is known");
    world.demands.unlink(5, 8, 0);
    assert!(world.frame());
    assert_eq!(world.demand(5).unseen, NOTHING, "who was known has gone");
    assert!(!world.frame(), "and that is that");
}

/// Whatever its size is rounded to, and with no margin at all.
#[test]
fn what_is_far_is_wanted_as_coarse_as_it_may_be() {
    let mut world = World::new(0.0);
    let sides = [512, 600, 700, 724, 1000, 1023, 1500, 2047];
    for (number, side) in (0..).zip(sides) {
        let chain = chain_of(TextureFormat::Rgba8Unorm, side, 3);
        world.demands.insert(number, chain, DemandRule::default(), 0.0);
        world.demands.link(number, number, 0);
        let there = world.watch.add(&user(number, 0), &wall(Vec3::X * 5000.0));
        world.watch.seen(there, true);
    }
    world.frame();
    let at_rest = Wanting {
        margin: 0.0,
        ..Wanting::default()
    };
    let textures = world.demands.textures().iter().flatten();
    for (of, side) in textures.zip(sides) {
        assert!(of.demand.seen < NOTHING, "it is seen");
        assert_eq!(of.wanted(&at_rest), of.floor(), "of {side}: {:?}", of.demand);
    }
}

/// What is too far to matter is not looked at again until it might.
#[test]
fn limits_keep_what_is_far_from_being_looked_at() {
    let mut world = World::new(0.25);
    // Mip 4, its floor, is sampled from 15.6 m on, and all that is sampled from 18.6 m on.
    world.demands.insert(0, chain(1024, 4), DemandRule::default(), 0.0);
    world.demands.link(0, 0, 0);
    for step in 0..1000 {
        world.watch.add(&user(0, 0), &wall(Vec3::X * (100.0 + step as f32)));
    }
    world.frame();
    let mut looks = 0;
    for step in 0..60 {
        let view = MipView {
            position: Vec3::X * step as f32,
            ..view()
        };
        world.watch.update(&[view], 0.0);
        looks += world.watch.looks();
        world.demands.update(&world.watch, 0.0);
    }
    assert!(looks < 60, "{looks} looks");
    // Without a limit, the slack of the nearest would be some metres.
    world.watch.limit(0, 0, 0.0);
    world.watch.update(&[view()], 0.0);
    looks = 0;
    for step in 0..60 {
        let view = MipView {
            position: Vec3::X * step as f32,
            ..view()
        };
        world.watch.update(&[view], 0.0);
        looks += world.watch.looks();
    }
    assert!(looks > 2000, "{looks} looks");
}

#[test]
fn what_is_drawn_as_it_is_is_wanted_whole() {
    let (mut demands, watch) = (MipDemands::default(), Watch::default());
    let rule = DemandRule {
        bias: 2.0,
        ..DemandRule::default()
    };
    demands.insert(0, chain(1024, 5), rule, 0.0);
    demands.link(0, 7, 0);
    let mut wanted = |shown, now| {
        demands.set_shown(0, shown);
        demands.set_shown(9, shown);
        demands.update(&watch, now);
        let of = demands.textures()[0].as_ref().unwrap();
        let Demand {
            seen, area, last_seen, ..
        } = of.demand;
        (of.wanted(&Wanting::default()), seen, area, last_seen)
    };
    let far = wanted(Shown::Never, 1.0).0;
    assert!(far > 1, "no user of its material is near: {far}");
    assert_eq!(wanted(Shown::Seen, 2.0), (0, 0.0, 1024.0 * 1024.0, 2.0));
    let (hidden, seen, area, last_seen) = wanted(Shown::Hidden, 3.0);
    assert_eq!((hidden, seen, area, last_seen), (0, NOTHING, 0.0, 3.0));
    assert_eq!(wanted(Shown::Never, 4.0).0, far);
    demands.unlink(0, 7, 0);
    demands.update(&watch, 5.0);
    let nobody = demands.textures()[0].as_ref().unwrap().demand;
    assert_eq!(nobody.unseen, NOTHING, "who was known has gone");
}

#[test]
fn who_was_drawn_once_is_known() {
    let mut demands = MipDemands::default();
    for (texture, draw) in [
        (
            0,
            (|demands: &mut MipDemands| demands.link(0, 7, 0)) as fn(&mut MipDemands),
        ),
        (1, |demands: &mut MipDemands| demands.set_shown(1, Shown::Hidden)),
    ] {
        demands.insert(texture, chain(1024, 5), DemandRule::default(), 0.0);
        assert!(!demands.was_known(texture) && !demands.was_known(9));
        draw(&mut demands);
        demands.unlink(texture, 7, 0);
        demands.set_shown(texture, Shown::Never);
        assert!(demands.was_known(texture));
        demands.remove(texture);
        demands.insert(texture, chain(1024, 5), DemandRule::default(), 0.0);
        assert!(!demands.was_known(texture), "it is another");
    }
}

#[test]
fn who_takes_a_number_is_not_drawn_as_the_last_one_was() {
    let (mut demands, watch) = (MipDemands::default(), Watch::default());
    demands.insert(0, chain(1024, 5), DemandRule::default(), 0.0);
    demands.set_shown(0, Shown::Seen);
    demands.remove(0);
    demands.insert(0, chain(1024, 5), DemandRule::default(), 0.0);
    demands.update(&watch, 1.0);
    assert_eq!(demands.textures()[0].as_ref().unwrap().demand.seen, NOTHING);
}
