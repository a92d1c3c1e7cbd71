use bevy_ecs::{message::Messages, system::RunSystemOnce, world::World};
use bevy_image::{ImageSampler, ImageSamplerDescriptor};
use seamless_asset::{StreamingClock, StreamingTime};

use super::{
    reports::{NotSwapped, Report},
    sampler::for_top,
    *,
};
use crate::mip::{ChangeId, MipFailed, MipPool, MipTextures, MipWork};

fn bounded(min: f32, max: f32) -> ImageSampler {
    ImageSampler::Descriptor(ImageSamplerDescriptor {
        lod_min_clamp: min,
        lod_max_clamp: max,
        ..ImageSamplerDescriptor::linear()
    })
}

fn bounds(sampler: &ImageSampler, top: u8) -> Option<(f32, f32)> {
    for_top(sampler, top, 9).map(|sampler| (sampler.lod_min_clamp, sampler.lod_max_clamp))
}

#[test]
fn bounds_of_samplers_count_from_what_is_there() {
    for whole in [ImageSampler::Default, ImageSampler::linear(), bounded(0.0, 8.0)] {
        assert_eq!(bounds(&whole, 3), None, "{whole:?} is one for all tops");
    }
    assert_eq!(bounds(&bounded(2.0, 32.0), 0), Some((2.0, 32.0)));
    assert_eq!(bounds(&bounded(2.0, 32.0), 1), Some((1.0, 31.0)));
    assert_eq!(bounds(&bounded(2.0, 5.0), 3), Some((0.0, 2.0)));
    assert_eq!(bounds(&bounded(0.0, 2.0), 4), Some((0.0, 0.0)));
}

#[test]
fn what_the_last_device_had_to_say_does_not_matter() {
    let reports = MipReports::default();
    let mut ledger = crate::mip::MipLedger::default();
    let record = crate::mip::textures::tests::record();
    ledger.insert(0, record.chain(), 2);
    let left = ledger.remove(0).unwrap();
    let old = reports.when_done(vec![left], Vec::new());
    assert!(reports.is_awaited());
    reports.push(Report::Retired(vec![left]));
    reports.lost();
    old();
    assert!(!reports.is_awaited());
    assert_eq!((reports.epoch(), reports.take()), (1, vec![Report::Lost]));
    reports.when_done(vec![left], Vec::new())();
    assert_eq!(reports.take(), [Report::Retired(vec![left])]);
}

/// All that `hear_renderer` looks at, and a texture whose change to mip 0 was sent.
fn sent() -> (World, MipReports, ChangeId) {
    let (mut world, reports) = (World::new(), MipReports::default());
    let record = crate::mip::textures::tests::record();
    let mut textures = MipTextures::new(1);
    textures.insert(crate::mip::textures::tests::id(1), record.clone());
    let mut pool = MipPool::default();
    pool.ledger.insert(0, record.chain(), 2);
    let change = pool.ledger.begin(0, record.chain(), 0).unwrap().id;
    pool.ledger.staged(0, change);
    pool.ledger.sent(0, change);
    world.insert_resource(reports.clone());
    world.insert_resource(textures);
    world.insert_resource(pool);
    world.init_resource::<MipWork>();
    world.insert_resource(StreamingTime::stopped());
    world.init_resource::<StreamingClock>();
    world.init_resource::<Messages<MipFailed>>();
    (world, reports, change)
}

/// What is known when the renderer was heard: the top, the finest mip, what may be used of 100 bytes, and how much was told.
fn heard(mut world: World) -> (u8, u8, u64, usize) {
    world.run_system_once(hear_renderer).unwrap();
    let (pool, textures) = (world.resource::<MipPool>(), world.resource::<MipTextures>());
    let resident = pool.ledger.get(0).unwrap();
    assert_eq!((resident.change, pool.ledger.stray()), (None, 0));
    let told = world.resource::<Messages<MipFailed>>().len();
    (resident.top, textures.finest(0), pool.usable(100), told)
}

#[test]
fn what_the_renderer_says_is_in_the_books() {
    let heard_of = |report: fn(u32, ChangeId) -> Report| {
        let (world, reports, change) = sent();
        reports.push(report(0, change));
        heard(world)
    };
    assert_eq!(
        heard_of(|texture, change| Report::Swapped { texture, change }),
        (0, 0, 100, 0)
    );
    let failed = |why: fn() -> NotSwapped| {
        let (world, reports, change) = sent();
        let (texture, why) = (0, why());
        reports.push(Report::Failed { texture, change, why });
        heard(world)
    };
    assert_eq!(failed(|| NotSwapped::Stale), (2, 0, 100, 0));
    assert_eq!(failed(|| NotSwapped::Refused { top: 0 }), (2, 1, 100, 1));
    assert_eq!(failed(|| NotSwapped::OutOfMemory { bytes: 9 }), (2, 0, 90, 1));
    let (world, reports, _) = sent();
    reports.lost();
    assert_eq!(heard(world), (2, 0, 100, 0));
}

#[test]
fn tails_that_cannot_be_made_are_told_once() {
    let out_of_memory = NotSwapped::OutOfMemory { bytes: 9 };
    for (why, times, expected) in [
        (out_of_memory, 3, (2, 2, 90, 1)),
        (NotSwapped::Refused { top: 2 }, 1, (2, 2, 100, 1)),
    ] {
        let (mut world, reports, change) = sent();
        world.resource_mut::<MipPool>().ledger.failed(0, change);
        let image = world.resource::<MipTextures>().id(0).unwrap();
        (0..times).for_each(|_| reports.push(Report::NoTail { image, why }));
        assert_eq!(heard(world), expected, "nothing finer is read for it");
    }
    let (mut world, reports, change) = sent();
    world.resource_mut::<MipPool>().ledger.failed(0, change);
    let image = world.resource::<MipTextures>().id(0).unwrap();
    reports.push(Report::NoTail {
        image,
        why: out_of_memory,
    });
    reports.push(Report::Tail(image));
    assert_eq!(heard(world), (2, 0, 90, 1));
}

#[test]
fn what_one_device_has_refused_another_is_asked_again() {
    for why in [NotSwapped::OutOfMemory { bytes: 9 }, NotSwapped::Refused { top: 2 }] {
        let (mut world, reports, change) = sent();
        world.resource_mut::<MipPool>().ledger.failed(0, change);
        let image = world.resource::<MipTextures>().id(0).unwrap();
        reports.push(Report::NoTail { image, why });
        world.run_system_once(hear_renderer).unwrap();
        assert_eq!(world.resource::<MipTextures>().finest(0), 2);
        reports.lost();
        world.run_system_once(hear_renderer).unwrap();
        let pool = world.resource::<MipPool>();
        assert_eq!((world.resource::<MipTextures>().finest(0), pool.usable(100)), (0, 100));
        reports.push(Report::NoTail { image, why });
        world.run_system_once(hear_renderer).unwrap();
        assert_eq!(world.resource::<Messages<MipFailed>>().len(), 2, "it is news again");
    }
}

#[test]
fn a_tail_without_memory_waits_for_some_frames() {
    let mut bare = tail::Bare::new(crate::mip::textures::tests::id(1));
    assert!(bare.is_due() && bare.is_due());
    bare.fail();
    let frames = (1..).find(|_| bare.is_due());
    assert_eq!(frames, Some(60));
}

#[test]
fn what_comes_and_goes_while_nothing_is_rendered_leaves_no_orders() {
    use crate::mip::textures::tests::{id, record};
    let (mut ledger, reports) = (crate::mip::MipLedger::default(), MipReports::default());
    let mut gone = |number| {
        ledger.insert(0, record().chain(), 2);
        MipOrder::Gone(id(number), ledger.remove(0).unwrap())
    };
    let (first, second) = (gone(1), gone(1));
    let MipOrder::Gone(_, left) = second else {
        unreachable!()
    };
    let mut orders = vec![
        first,
        MipOrder::Come(id(1), record()),
        MipOrder::Come(id(2), record()),
        second,
    ];
    extract::drop_short_lived(&mut orders, &reports);
    assert!(
        matches!(orders[..], [MipOrder::Gone(gone, _), MipOrder::Come(come, _)] if (gone, come) == (id(1), id(2))),
        "{orders:?}"
    );
    assert_eq!(reports.take(), [Report::Retired(vec![left])]);
}
