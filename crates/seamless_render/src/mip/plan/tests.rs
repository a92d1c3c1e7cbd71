use bevy_ecs::system::RunSystemOnce;
use bevy_math::{Affine3A, Vec3};
use core::time::Duration;
use wgpu_types::{Extent3d, TextureDimension, TextureFormat};

use super::*;
use crate::mip::{
    Demand, DemandRule, MipChain, MipGroup, MipQuality, Phase, UserId,
    need::{MipUser, MipView, Surface},
    random::Random,
    textures::tests::{id, record},
    users::MipImage,
};

/// Of a square of 1024 texels, four payloads.
pub(in crate::mip) fn chain() -> MipChain {
    let size = Extent3d {
        width: 1024,
        height: 1024,
        depth_or_array_layers: 1,
    };
    MipChain::new(size, TextureDimension::D2, 1, TextureFormat::Bc7RgbaUnorm, 11, 4).expect("it streams")
}

/// Textures that hang in a row, ten metres apart, each on a square of a metre, and a camera that is before one of them. Reads and swaps take a frame.
struct Row {
    plan: MipPlan,
    pool: MipPool,
    settings: MipSettings,
    frame: u32,
    at: f32,
    users: Vec<UserId>,
    /// What was told to be done, frame by frame.
    told: Vec<String>,
    retiring: Vec<ChangeId>,
    /// The pool has become smaller, so that it may not hold for a while.
    was_larger: bool,
}

impl Row {
    fn new(textures: u32) -> Self {
        let mut row = Self {
            plan: MipPlan::default(),
            pool: MipPool::default(),
            settings: MipSettings {
                headroom: 0,
                cached: 1.0,
                ..MipSettings::default()
            },
            frame: 0,
            at: 0.0,
            users: vec![],
            told: vec![],
            retiring: vec![],
            was_larger: false,
        };
        for texture in 0..textures {
            let center = Vec3::X * 10.0 * texture as f32;
            let surface = Surface {
                center,
                half: Vec3::new(0.5, 0.5, 0.0),
                world: Affine3A::from_translation(center),
                spheres: None,
            };
            let user = MipUser {
                material: texture,
                channel: 0,
                metres: 1.0,
                object_scale: 1.0,
                uv_scale: 1.0,
            };
            row.users.push(row.plan.watch.add(&user, &surface));
            row.plan.demands.insert(texture, chain(), DemandRule::default(), 0.0);
            row.plan.demands.link(texture, texture, 0);
            row.pool.ledger.insert(texture, &chain(), 4);
        }
        row
    }

    /// From one metre away, the texture before the camera has about a texel a pixel.
    fn frame(&mut self) {
        self.frame += 1;
        let now = f64::from(self.frame) / 60.0;
        let view = MipView {
            pixels: 1000.0,
            ..MipView::perspective(1, Vec3::new(self.at, 0.0, 1.0), 1.0, 1000.0, 0.1)
        };
        let Self { plan, pool, .. } = self;
        self.retiring.drain(..).for_each(|id| pool.ledger.retired(id));
        plan.demands.set_limits(&mut plan.watch, 0.25);
        plan.watch.update(&[view], 0.5);
        plan.demands.update(&plan.watch, now);
        plan.decide(&self.settings, pool, 1, now);
        let is_within = pool.ledger.sums().total() <= self.settings.pool;
        assert!(is_within || self.was_larger, "frame {}", self.frame);
        let MipChanges {
            reads, swaps, cancels, ..
        } = &mut plan.changes;
        if !(reads.is_empty() && swaps.is_empty() && cancels.is_empty()) {
            self.told
                .push(format!("{} {reads:?} {swaps:?} {cancels:?}", self.frame));
        }
        plan.ready.extend(reads.drain(..).map(|read| (read.texture, read.id)));
        for swap in swaps.drain(..) {
            pool.ledger.swapped(swap.texture, swap.id);
            self.retiring.push(swap.id);
        }
        cancels.clear();
    }

    fn settle(&mut self) {
        (0..120).for_each(|_| self.frame());
        assert!(self.plan.is_at_rest || self.frame == 0, "{:?}", self.told.last());
        let told = self.told.len();
        (0..60).for_each(|_| self.frame());
        assert_eq!(
            (self.told.len(), self.plan.watch.looks()),
            (told, 0),
            "at rest, nothing is done"
        );
    }

    fn tops(&self) -> Vec<u8> {
        let tops = (0..self.users.len() as u32).map(|texture| self.pool.ledger.get(texture));
        tops.map(|of| of.expect("it is there").top).collect()
    }
}

#[test]
fn textures_are_fine_where_the_camera_is() {
    let mut row = Row::new(4);
    row.users
        .clone()
        .into_iter()
        .for_each(|user| row.plan.watch.seen(user, true));
    row.settle();
    // Ten metres away, 95 pixels show a texture of 1024 texels: mip 3.4.
    assert_eq!(row.tops(), [0, 3, 4, 4]);
    row.at = 30.0;
    row.settle();
    assert_eq!(row.tops(), [4, 4, 3, 0]);
    row.at = 3000.0;
    row.settle();
    assert_eq!(row.tops(), [4; 4]);
    row.settings.cached = f32::NAN;
    row.settle();
    let mut fitted = [0.0; 4].map(|_| {
        row.frame();
        row.plan.fitted_at
    });
    fitted.sort_by(f64::total_cmp);
    assert!(
        fitted[1..].iter().zip(&fitted).any(|(a, b)| a == b),
        "fitted in each frame: {fitted:?}"
    );
    let floors = 4 * chain().bytes(4);
    assert_eq!(row.pool.ledger.sums().total(), floors);
}

#[test]
fn settings_count_at_once() {
    let mut row = Row::new(2);
    row.users
        .clone()
        .into_iter()
        .for_each(|user| row.plan.watch.seen(user, true));
    row.settle();
    assert_eq!(row.tops(), [0, 3]);
    // What is there leaves no room for any change.
    let fitting = row.pool.ledger.sums().total();
    row.settings.cached = 0.0;
    row.settings.pool = fitting;
    row.was_larger = true;
    row.settle();
    assert!(row.tops()[0] > 0, "{:?}", row.tops());
    assert!(row.pool.ledger.sums().total() <= fitting);
    row.was_larger = false;
    row.settings.pool = 16 * fitting;
    row.settle();
    assert_eq!(row.tops(), [0, 3]);
    for user in row.users.clone() {
        row.plan.watch.seen(user, false);
    }
    row.settle();
    assert_eq!(row.tops(), [1, 4], "what nobody sees is a mip coarser");
}

#[test]
fn the_same_walk_is_planned_alike() {
    let walk = || {
        let mut row = Row::new(24);
        row.settings.pool = 6 * chain().bytes(0);
        let mut random = Random(5);
        for _ in 0..2000 {
            let (user, step) = (row.users[random.below(24) as usize], random.part() - 0.4);
            row.plan.watch.seen(user, random.below(2) == 0);
            row.at = (row.at + step) % 240.0;
            row.frame();
        }
        row.told
    };
    let told = walk();
    assert!(told.len() > 40, "too little happens: {}", told.len());
    assert!(told == walk());
}

#[test]
fn rules_say_what_settings_and_materials_do() {
    let chain = chain();
    let settings = MipSettings::default();
    assert_eq!(rule(&chain, 0, None, &settings, None), DemandRule::default());
    assert_eq!(rule(&chain, 2, Some(u32::MAX), &settings, None).finest, 2);
    assert_eq!(rule(&chain, 0, Some(u32::MAX), &settings, None).forced, Some(0));
    assert_eq!(
        rule(&chain, 0, Some(300), &settings, None).forced,
        Some(1),
        "512 texels"
    );
    let low = MipSettings {
        quality: MipQuality::Low,
        bias: -0.5,
        max_size: Some(300),
        ..settings.clone()
    };
    let rule_of_low = rule(&chain, 0, None, &low, None);
    assert_eq!(
        (rule_of_low.finest, rule_of_low.bias, rule_of_low.forced),
        (2, 1.5, None)
    );
    let off = MipSettings {
        enabled: false,
        max_size: Some(0),
        ..settings
    };
    let rule_of_off = rule(&chain, 0, None, &off, None);
    assert_eq!(
        (rule_of_off.forced, rule_of_off.finest),
        (Some(0), 10),
        "a limit, even for what is forced"
    );
}

#[test]
fn groups_add_to_what_settings_say() {
    let chain = chain();
    let settings = MipSettings {
        bias: 0.5,
        max_size: Some(512),
        ..MipSettings::default()
    };
    let group = MipGroup {
        bias: 1.0,
        max_size: Some(256),
        min_size: Some(128),
        weight: 3.0,
        ..MipGroup::new(["a"])
    };
    let of_group = rule(&chain, 0, None, &settings, Some(&group));
    assert_eq!((of_group.finest, of_group.coarsest), (2, 3));
    assert_eq!((of_group.bias, of_group.weight, of_group.forced), (1.5, 3.0, None));
    let odd = MipGroup {
        bias: f32::NAN,
        max_size: Some(0),
        min_size: Some(u32::MAX),
        weight: f32::NAN,
        ..MipGroup::new(["a"])
    };
    let of_odd = rule(&chain, 0, None, &settings, Some(&odd));
    assert_eq!((of_odd.finest, of_odd.coarsest), (10, 0));
    assert!(of_odd.bias.is_finite() && of_odd.weight.is_finite());
}

#[test]
fn textures_go_by_their_groups_while_these_last() {
    let mut world = world();
    come(&mut world, 7);
    let path = {
        let textures = world.resource::<MipTextures>();
        textures.get(0).expect("it is there").path().to_owned()
    };
    let weight = |world: &mut World| {
        world.run_system_once(take_textures).expect("it runs");
        demanded(world)[0].expect("it is there").weight
    };
    assert_eq!(weight(&mut world), 1.0);
    let group = MipGroup {
        weight: 2.0,
        ..MipGroup::new([path])
    };
    world.resource_mut::<MipGroups>().0.push(group);
    assert_eq!(weight(&mut world), 2.0);
    world.resource_mut::<MipGroups>().0.clear();
    assert_eq!(weight(&mut world), 1.0);
}

/// As an options screen does that is open.
#[test]
fn settings_that_are_written_as_they_were_change_nothing() {
    let mut world = world();
    (0..3).for_each(|number| assert_eq!(come(&mut world, number), number));
    let mut schedule = bevy_ecs::schedule::Schedule::default();
    let demands = |mut plan: ResMut<MipPlan>| {
        let plan = &mut *plan;
        plan.demands.update(&plan.watch, 1.0);
    };
    schedule.add_systems((take_textures, demands, plan).chain());
    let mut frame = |world: &mut World| {
        world.resource_mut::<MipSettings>().set_changed();
        world.resource_mut::<MipGroups>().set_changed();
        schedule.run(world);
        let plan = world.resource::<MipPlan>();
        (plan.demands.changed().len(), plan.fitted_at)
    };
    assert_eq!(frame(&mut world).0, 3, "they are new");
    world.resource_mut::<MipPool>().refused(Duration::from_secs(1));
    // What the GPU has refused lately is less than the pool; that is looked at once.
    frame(&mut world);
    for _ in 0..3 {
        assert_eq!(frame(&mut world).0, 0, "no rule was made anew");
    }
    let (settings, pool) = (world.resource::<MipSettings>(), world.resource::<MipPool>());
    assert!(
        pool.usable(settings.pool) < settings.pool,
        "what was refused is not tried again"
    );
    world.resource_mut::<MipSettings>().bias = 1.0;
    assert_eq!(frame(&mut world).0, 3);
    world.resource_mut::<MipSettings>().pool *= 2;
    frame(&mut world);
    let (settings, pool) = (world.resource::<MipSettings>(), world.resource::<MipPool>());
    assert_eq!(pool.usable(settings.pool), settings.pool, "another pool");
}

#[test]
fn what_is_seen_and_lacks_most_is_read_first() {
    let demand = |seen: f32, area: f32, forced: Option<u8>| Demand {
        seen,
        unseen: 0.0,
        area,
        unseen_area: 1e6,
        expected: f32::INFINITY,
        expected_area: 0.0,
        last_seen: 0.0,
        rule: DemandRule {
            forced,
            ..DemandRule::default()
        },
    };
    let order = [
        demand(9.0, 1e6, Some(0)),
        demand(0.0, 1e6, None),
        demand(2.0, 1e6, None),
        demand(2.0, 1e3, None),
        demand(f32::INFINITY, 0.0, None),
    ];
    let priorities = order.map(|demand| priority(&demand, 4));
    assert!(priorities.is_sorted_by(|a, b| a > b), "{priorities:?}");
    assert!(priorities.iter().all(|priority| (1.0..=100.0).contains(priority)));
    assert!(priority(&demand(f32::NAN, f32::NAN, None), 4) >= 1.0);
}

/// All that the systems need, but cameras and entities.
pub(in crate::mip) fn world() -> World {
    let mut world = World::new();
    let mut time = StreamingTime::stopped();
    time.advance(Duration::from_secs(1));
    world.insert_resource(time);
    world.init_resource::<StreamingClock>();
    world.insert_resource(MipTextures::new(100));
    world.init_resource::<MipUsers>();
    world.init_resource::<MipPlan>();
    world.init_resource::<MipPool>();
    world.init_resource::<MipWork>();
    world.init_resource::<MipRoads>();
    world.init_resource::<MipSettings>();
    world.init_resource::<MipGroups>();
    world
}

pub(in crate::mip) fn come(world: &mut World, number: u32) -> u32 {
    MipWork::scope(world, |work, textures, ledger| {
        work.come(id(number), record(), textures, ledger)
    });
    world.resource::<MipTextures>().number(id(number)).expect("it has come")
}

/// A frame without views.
pub(in crate::mip) fn plan_frame(world: &mut World) {
    world.run_system_once(take_textures).expect("it runs");
    world.resource_scope(|world, mut plan: Mut<MipPlan>| {
        let (now, plan) = (world.resource::<StreamingTime>().now(), &mut *plan);
        plan.demands.update(&plan.watch, now.as_secs_f64());
    });
    world.run_system_once(plan).expect("it runs");
}

/// Frames a second apart: nobody has come who draws with textures that came before the first.
pub(in crate::mip) fn plan_for_nobody(world: &mut World) {
    plan_frame(world);
    world.resource_mut::<StreamingTime>().advance(Duration::from_secs(1));
    plan_frame(world);
}

fn demanded(world: &World) -> Vec<Option<DemandRule>> {
    let demanded = world.resource::<MipPlan>().demands.textures().iter();
    demanded.map(|of| of.as_ref().map(|of| of.demand.rule)).collect()
}

#[test]
fn textures_come_and_go_with_their_rules() {
    let mut world = world();
    let take = |world: &mut World| {
        world.run_system_once(take_textures).expect("it runs");
        demanded(world)
    };
    assert_eq!(come(&mut world, 7), 0);
    assert_eq!(come(&mut world, 8), 1);
    let mut whole = MipImage::new(id(7));
    whole.is_whole = true;
    let material: AssetId<bevy_pbr::StandardMaterial> = AssetId::invalid();
    let mut users = world.resource_mut::<MipUsers>();
    users.materials.note(material.untyped(), [whole].into_iter().collect());
    let plain = DemandRule::default();
    let forced = DemandRule {
        forced: Some(0),
        ..plain
    };
    assert_eq!(take(&mut world), [Some(forced), Some(plain)]);
    // Gone and another one come in its place, in one frame.
    MipWork::scope(&mut world, |work, textures, ledger| work.go(id(7), textures, ledger));
    assert_eq!(come(&mut world, 9), 0);
    world.resource_mut::<MipTextures>().limit(1, 1);
    let limited = DemandRule { finest: 1, ..plain };
    assert_eq!(take(&mut world), [Some(plain), Some(limited)]);
    world.resource_mut::<MipSettings>().enabled = false;
    let limited = DemandRule {
        forced: Some(0),
        ..limited
    };
    assert_eq!(take(&mut world), [Some(forced), Some(limited)]);
    MipWork::scope(&mut world, |work, textures, ledger| work.go(id(8), textures, ledger));
    assert_eq!(take(&mut world), [Some(forced), None]);
}

#[test]
fn where_materials_are_touched_textures_are_replaced_in_every_fourth_frame() {
    // As many in all as in each frame.
    for (interval, touched, expected) in [
        (None, false, vec![1, 2, 3, 4, 5, 6]),
        (None, true, vec![0, 0, 0, 4, 4, 4, 4, 6]),
        (Some(2), true, vec![0, 2, 2, 4, 4, 6]),
        (Some(0), false, vec![1, 2, 3, 4, 5, 6]),
    ] {
        let mut world = world();
        (0..6).for_each(|number| assert_eq!(come(&mut world, number), number));
        world.resource_mut::<MipSettings>().swap_interval = interval;
        world.resource_mut::<MipSettings>().swaps_per_frame = 1;
        world.insert_resource(MipRoads::of(vec![false, touched]));
        world.run_system_once(take_textures).expect("it runs");
        // Nobody comes who draws with them.
        world.resource_mut::<StreamingTime>().advance(Duration::from_secs(1));
        world.resource_scope(|_, mut pool: Mut<MipPool>| {
            for texture in 0..6 {
                // Whole, and a mip coarser is enough for what nobody draws with.
                pool.ledger.insert(texture, record().chain(), 0);
            }
        });
        world.resource_scope(|world, mut plan: Mut<MipPlan>| {
            let rule = DemandRule {
                finest: 1,
                ..DemandRule::default()
            };
            let (now, of) = (world.resource::<StreamingTime>().now().as_secs_f64(), &mut *plan);
            (0..6).for_each(|texture| of.demands.set_rule(texture, rule));
            of.demands.update(&of.watch, now);
        });
        let sent = |world: &World| {
            let ledger = &world.resource::<MipPool>().ledger;
            let changes = (0..6).filter_map(|texture| ledger.get(texture)?.change);
            changes.filter(|change| change.phase == Phase::Sent).count()
        };
        let mut schedule = bevy_ecs::schedule::Schedule::default();
        schedule.add_systems(plan);
        let mut found = vec![];
        while found.last() != Some(&6) && found.len() < 100 {
            schedule.run(&mut world);
            found.push(sent(&world));
        }
        assert_eq!(found, expected, "{interval:?}, {touched}");
    }
}
