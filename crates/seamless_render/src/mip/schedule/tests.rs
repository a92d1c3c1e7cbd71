use wgpu_types::{Extent3d, TextureDimension, TextureFormat};

use super::*;
use crate::mip::{
    demand::{DemandRule, Wanting},
    fit::FitInput,
};

const FLOOR: u8 = 5;

fn chain() -> MipChain {
    let size = Extent3d {
        width: 1024,
        height: 1024,
        depth_or_array_layers: 1,
    };
    MipChain::new(
        size,
        TextureDimension::D2,
        1,
        TextureFormat::Bc7RgbaUnorm,
        11,
        FLOOR.into(),
    )
    .unwrap()
}

fn texture(seen: f32, area: f32) -> Option<DemandedTexture> {
    let demand = Demand {
        seen,
        unseen: f32::INFINITY,
        area,
        unseen_area: 0.0,
        expected: f32::INFINITY,
        expected_area: 0.0,
        last_seen: 0.0,
        rule: DemandRule::default(),
    };
    Some(DemandedTexture { chain: chain(), demand })
}

fn limits() -> MipLimits {
    MipLimits {
        pool: 64 << 20,
        staging: 64 << 20,
        reads: 16,
        step: u64::MAX,
        swaps: 16,
        bytes: u64::MAX,
    }
}

struct World {
    textures: Vec<Option<DemandedTexture>>,
    plan: Fit,
    ledger: MipLedger,
    limits: MipLimits,
    out: MipChanges,
}

impl World {
    fn new(textures: Vec<Option<DemandedTexture>>, limits: MipLimits) -> Self {
        let mut ledger = MipLedger::default();
        for texture in 0..textures.len() as u32 {
            ledger.insert(texture, &chain(), FLOOR);
        }
        Self {
            textures,
            plan: Fit::default(),
            ledger,
            limits,
            out: MipChanges::default(),
        }
    }

    fn frame(&mut self, ready: &[(u32, ChangeId)]) {
        let mut resident = vec![];
        self.ledger.targets(&mut resident);
        self.plan.update(&FitInput {
            textures: &self.textures,
            changed: None,
            resident: &resident,
            room: self.ledger.room(self.limits.pool),
            headroom: 0,
            cached: 0.0,
            wanting: Wanting::default(),
            now: 0.0,
        });
        schedule(
            &self.plan,
            &self.textures,
            &mut self.ledger,
            ready,
            &self.limits,
            &mut self.out,
        );
    }

    fn reads(&self) -> Vec<u32> {
        self.out.reads.iter().map(|read| read.texture).collect()
    }

    /// All that is read has come, and all that was sent is done.
    fn come(&mut self) -> Vec<(u32, ChangeId)> {
        for swap in &self.out.swaps {
            self.ledger.swapped(swap.texture, swap.id);
            self.ledger.retired(swap.id);
        }
        self.out.reads.iter().map(|read| (read.texture, read.id)).collect()
    }
}

#[test]
fn the_most_missed_come_first() {
    let mut textures = vec![
        texture(3.0, 10.0),
        texture(0.5, 10.0),
        texture(0.5, 99.0),
        None,
        texture(4.0, 1.0),
    ];
    let hidden = |texture: &mut Option<DemandedTexture>| {
        let demand = &mut texture.as_mut().unwrap().demand;
        (demand.unseen, demand.unseen_area) = (0.5, 1e6);
        (demand.seen, demand.area) = (f32::INFINITY, 0.0);
    };
    textures.push(texture(0.0, 0.0));
    hidden(&mut textures[5]);
    textures[4].as_mut().unwrap().demand.rule.forced = Some(2);
    let mut world = World::new(textures, MipLimits { reads: 3, ..limits() });
    world.frame(&[]);
    assert_eq!(world.reads(), [4, 2, 1, 0]);
    assert_eq!(world.out.reads[0].mips, 2..FLOOR);
    assert!(world.out.swaps.is_empty() && !world.out.is_short_of_room);
    world.frame(&[]);
    assert!(world.reads().is_empty(), "three wait already, and what is forced");
    let second = (2, world.ledger.get(2).unwrap().change.unwrap().id);
    world.frame(&[second]);
    let swap = MipSwap {
        id: second.1,
        texture: 2,
        from: FLOOR,
        to: 0,
    };
    assert_eq!((&world.out.swaps[..], world.reads()), (&[swap][..], vec![5]));
}

#[test]
fn a_frame_sends_no_more_than_it_may() {
    let textures = (0..6).map(|_| texture(0.5, 1.0)).collect();
    let whole = chain().staging_bytes(FLOOR, 0);
    let mut world = World::new(
        textures,
        MipLimits {
            bytes: whole * 2,
            ..limits()
        },
    );
    world.frame(&[]);
    let ready = world.come();
    assert_eq!(ready.len(), 6);
    world.frame(&ready);
    assert_eq!(world.out.swaps.len(), 2);
    world.limits = MipLimits { bytes: 1, ..limits() };
    world.frame(&[]);
    assert_eq!(world.out.swaps.len(), 1, "one of any size");
    world.limits = MipLimits { swaps: 0, ..limits() };
    world.frame(&[]);
    assert_eq!(world.out.swaps.len(), 0);
    world.limits = limits();
    world.frame(&[]);
    assert_eq!(world.out.swaps.len(), 3);
}

#[test]
fn what_does_not_fit_a_frame_is_passed_by_what_does() {
    let textures = vec![texture(1.5, 99.0), texture(0.5, 100.0), texture(3.5, 9.0)];
    let mut world = World::new(textures, limits());
    world.frame(&[]);
    let ready = world.come();
    let sent = |world: &World| world.out.swaps.iter().map(|swap| swap.texture).collect::<Vec<_>>();
    world.limits.bytes = 0;
    world.frame(&ready);
    assert!(
        sent(&world).is_empty(),
        "a frame that makes up for others sends nothing"
    );
    let first = chain().staging_bytes(FLOOR, 0);
    world.limits.bytes = first + chain().staging_bytes(FLOOR, 3);
    world.frame(&[]);
    assert_eq!((sent(&world), world.out.sent), (vec![1, 2], world.limits.bytes));
    world.frame(&[]);
    assert_eq!(sent(&world), [0]);
}

#[test]
fn a_large_change_comes_in_two() {
    let step = chain().staging_bytes(FLOOR, 2);
    let mut world = World::new(vec![texture(0.5, 1.0)], MipLimits { step, ..limits() });
    let mut tops = vec![];
    for _ in 0..20 {
        let ready = world.come();
        world.frame(&ready);
        tops.extend(world.out.swaps.iter().map(|swap| swap.to));
    }
    assert_eq!(tops, [3, 1, 0]);
}

#[test]
fn what_is_forced_comes_at_once() {
    let step = chain().staging_bytes(FLOOR, 2);
    let mut textures = vec![texture(0.5, 1.0)];
    textures[0].as_mut().unwrap().demand.rule.forced = Some(0);
    let mut world = World::new(textures, MipLimits { step, ..limits() });
    world.frame(&[]);
    assert_eq!(world.out.reads[0].mips, 0..FLOOR);
}

/// As of what a player takes up while a new place is read.
#[test]
fn what_is_forced_waits_for_no_reads_but_its_own() {
    let change = chain().staging_bytes(FLOOR, 0);
    let textures = (0..8).map(|_| texture(0.5, 1.0)).collect();
    let mut world = World::new(
        textures,
        MipLimits {
            reads: 2,
            staging: 2 * change,
            ..limits()
        },
    );
    world.frame(&[]);
    assert_eq!(world.reads(), [0, 1]);
    world.frame(&[]);
    assert!(world.reads().is_empty(), "all reads and buffers are taken");
    for texture in [5, 6, 7] {
        world.textures[texture].as_mut().unwrap().demand.rule.forced = Some(0);
    }
    world.frame(&[]);
    assert_eq!(world.reads(), [5, 6], "as many again");
    assert_eq!(world.ledger.sums().reserved, 4 * (change + chain().bytes(0)));
    world.frame(&[]);
    assert!(world.reads().is_empty());
    // Within the pool, as all.
    let held = (5, world.ledger.get(5).unwrap().change.unwrap().id);
    world.limits.pool = world.ledger.sums().total();
    world.limits.swaps = 0;
    world.frame(&[held]);
    assert!(world.reads().is_empty());
}

#[test]
fn what_is_not_wanted_any_more_is_not_read() {
    let mut world = World::new(vec![texture(0.5, 1.0), texture(0.5, 1.0)], limits());
    world.frame(&[]);
    let ready = world.come();
    let total = world.ledger.sums().total();
    world.textures = vec![texture(9.0, 1.0), texture(0.5, 1.0)];
    world.frame(&[]);
    assert_eq!(world.out.cancels, [ready[0]]);
    assert!(world.ledger.sums().total() < total);
    world.frame(&ready);
    assert_eq!(world.out.swaps.len(), 1);
    assert_eq!(world.ledger.stray(), 1, "it came all the same");
}

#[test]
fn what_goes_makes_room_for_who_waits() {
    let whole = chain().bytes(0);
    let change = chain().change_bytes(FLOOR, 0);
    // Room for two, and for a change.
    let pool = whole * 2 + chain().bytes(FLOOR) * 2 + change;
    let mut world = World::new(
        [0.5, 0.5, 9.0].map(|mip| texture(mip, 1.0)).into(),
        MipLimits {
            pool,
            swaps: 1,
            ..limits()
        },
    );
    for _ in 0..20 {
        let ready = world.come();
        world.frame(&ready);
        assert!(world.ledger.sums().total() <= pool);
    }
    let tops = |world: &World| [0, 1, 2].map(|texture| world.ledger.get(texture).unwrap().top);
    assert_eq!(tops(&world), [0, 0, FLOOR]);
    world.textures = [9.0, 0.5, 0.5].map(|mip| texture(mip, 1.0)).into();
    let ready = world.come();
    world.frame(&ready);
    assert!(world.out.is_short_of_room && world.reads().is_empty());
    assert_eq!(world.out.swaps.iter().map(|swap| swap.texture).collect::<Vec<_>>(), [0]);
    for _ in 0..20 {
        let ready = world.come();
        world.frame(&ready);
        assert!(world.ledger.sums().total() <= pool);
    }
    assert_eq!(tops(&world), [FLOOR, 0, 0]);
    // Less than all floors: one at a time becomes less, and that is all.
    world.limits.pool = 100;
    for _ in 0..20 {
        let ready = world.come();
        world.frame(&ready);
    }
    assert!(world.plan.is_short);
    assert_eq!(tops(&world), [FLOOR; 3]);
}
