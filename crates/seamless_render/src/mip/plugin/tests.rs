use core::{mem, time::Duration};

use bevy_app::TaskPoolPlugin;
use bevy_asset::{AssetId, AssetPlugin, RenderAssetUsages};
use bevy_ecs::{
    message::Messages,
    schedule::{InternedScheduleLabel, ScheduleLabel},
    system::RunSystemOnce,
    world::World,
};
use bevy_image::ImageSampler;
use seamless_asset::SeamlessAssetPlugin;

use super::{
    super::textures::{MipRecord, tests::apart},
    *,
};
use crate::mip::{MipTextureNews, textures::tests::record, work::MipOrder};

/// A texture that streams, and whether it does so still when an event of its image was heard.
fn streams(event: fn(AssetId<Image>) -> AssetEvent<Image>, image: Image) -> bool {
    let mut world = World::new();
    let mut images = Assets::<Image>::default();
    let handle = images.add(image);
    let id = handle.id();
    let (mut work, mut textures, mut pool) = (MipWork::default(), MipTextures::new(1), MipPool::default());
    work.come(id, record(), &mut textures, &mut pool.ledger);
    world.init_resource::<StreamingClock>();
    world.insert_resource(images);
    world.insert_resource(work);
    world.insert_resource(textures);
    world.insert_resource(pool);
    world.init_resource::<Messages<AssetEvent<Image>>>();
    world.write_message(event(id));
    world.run_system_once(follow_images).unwrap();
    world.resource::<MipTextures>().number(id).is_some()
}

#[test]
fn an_image_that_the_game_puts_in_the_place_of_ours_is_its_own() {
    let stand_in = || MipRecord::stand_in(&apart(256, 256, wgpu_types::TextureFormat::R8Unorm).image);
    let own = || Image {
        asset_usage: RenderAssetUsages::all(),
        ..stand_in()
    };
    for event in [(|id| AssetEvent::Added { id }) as fn(_) -> _, |id| {
        AssetEvent::Modified { id }
    }] {
        assert!(streams(event, stand_in()));
        assert!(!streams(event, own()));
    }
    assert!(streams(|id| AssetEvent::Removed { id }, own()));
    assert!(!streams(|id| AssetEvent::Unused { id }, stand_in()));
}

#[test]
fn a_sampler_that_the_game_changes_is_taken_over_once() {
    let mut world = World::new();
    let mut images = Assets::<Image>::default();
    let record = record();
    let handle = images.add(MipRecord::stand_in(record.parts().image()));
    let id = handle.id();
    let (mut work, mut textures, mut pool) = (MipWork::default(), MipTextures::new(1), MipPool::default());
    work.come(id, record, &mut textures, &mut pool.ledger);
    let mut orders = Vec::new();
    work.take_orders(&mut orders);
    world.init_resource::<StreamingClock>();
    world.insert_resource(images);
    world.insert_resource(work);
    world.insert_resource(textures);
    world.insert_resource(pool);
    world.init_resource::<Messages<AssetEvent<Image>>>();
    let mut told = |sampler: Option<ImageSampler>| {
        let mut images = world.resource_mut::<Assets<Image>>();
        let mut image = images.get_mut(id).unwrap();
        image.sampler = sampler.unwrap_or(image.sampler.clone());
        drop(image);
        world.write_message(AssetEvent::Modified { id });
        world.run_system_once(follow_images).unwrap();
        world.resource_mut::<Messages<AssetEvent<Image>>>().clear();
        let mut orders = Vec::new();
        let mut work = world.resource_mut::<MipWork>();
        work.take_orders(&mut orders);
        let samplers = orders.iter().map(|order| match order {
            MipOrder::Resample(of, record) if *of == id => record.sampler().clone(),
            other => panic!("{other:?}"),
        });
        samplers.collect::<Vec<_>>()
    };
    assert_eq!(told(None), [], "mip streaming itself modifies it");
    assert_eq!(told(Some(ImageSampler::nearest())), [ImageSampler::nearest()]);
    assert_eq!(told(None), []);
    let mut news = Vec::new();
    let mut textures = world.resource_mut::<MipTextures>();
    textures.take_news(&mut news);
    assert!(textures.number(id).is_some(), "it streams still");
    assert_eq!(news, [MipTextureNews::Come(0), MipTextureNews::Resampled(0)]);
    let mut work = world.resource_mut::<MipWork>();
    work.send(&MipTextures::new(1));
    assert_eq!(work.renewed().collect::<Vec<_>>(), [id]);
}

/// Where there is nothing to be done, too. Nobody else in this app measures anything in these schedules.
#[test]
fn what_it_does_is_in_the_account_of_streaming() {
    let mut app = App::new();
    let mips = MipPlugin {
        rehearses: true,
        ..MipPlugin::default()
    };
    app.add_plugins((
        TaskPoolPlugin::default(),
        AssetPlugin::default(),
        SeamlessAssetPlugin::default(),
    ))
    .init_asset::<Image>()
    .add_plugins(mips);
    app.finish();
    let (world, mut spent) = (app.world_mut(), Duration::ZERO);
    let schedules: [InternedScheduleLabel; 2] = [PreUpdate.intern(), PostUpdate.intern()];
    for schedule in schedules {
        world.run_schedule(schedule);
        let now = world.resource::<StreamingClock>().spent();
        let before = mem::replace(&mut spent, now);
        assert!(now > before, "{schedule:?}");
    }
}
