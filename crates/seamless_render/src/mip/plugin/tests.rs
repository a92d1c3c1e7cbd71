use bevy_asset::{AssetId, RenderAssetUsages};
use bevy_ecs::{message::Messages, system::RunSystemOnce, world::World};

use super::{
    super::textures::{MipRecord, tests::apart},
    *,
};
use crate::mip::textures::tests::record;

/// A texture that streams, and whether it does so still when an event of its image was heard.
fn streams(event: fn(AssetId<Image>) -> AssetEvent<Image>, image: Image) -> bool {
    let mut world = World::new();
    let mut images = Assets::<Image>::default();
    let handle = images.add(image);
    let id = handle.id();
    let (mut work, mut textures, mut pool) = (MipWork::default(), MipTextures::new(1), MipPool::default());
    work.come(id, record(), &mut textures, &mut pool.ledger);
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
