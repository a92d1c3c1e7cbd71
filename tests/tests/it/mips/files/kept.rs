//! Who keeps something of a texture by its image, as Bevy's sprites and UI do.

use std::{
    collections::{BTreeSet, HashMap},
    fs,
};

use bevy::{
    prelude::*,
    render::{
        Extract, ExtractSchedule, Render, RenderApp, RenderSystems, render_asset::RenderAssets,
        render_resource::TextureId, texture::GpuImage,
    },
};
use seamless_tests::picture::has_driver;

use super::{Room, rgba};

/// They keep what they made of a texture by its image, until they hear that the image is modified.
#[derive(Resource, Default)]
struct Kept {
    textures: HashMap<AssetId<Image>, TextureId>,
    /// The sides of all that were seen, each once.
    sides: BTreeSet<u32>,
}

fn let_go(mut kept: ResMut<Kept>, mut events: Extract<MessageReader<AssetEvent<Image>>>) {
    for event in events.read() {
        if let AssetEvent::Modified { id } | AssetEvent::Removed { id } | AssetEvent::Unused { id } = event {
            kept.textures.remove(id);
        }
    }
}

fn keep(mut kept: ResMut<Kept>, images: Res<RenderAssets<GpuImage>>) {
    for (id, image) in images.iter() {
        let texture = image.texture.id();
        let known = *kept.textures.entry(id).or_insert(texture);
        assert_eq!(known, texture, "it was swapped, and nobody has said so");
        kept.sides.insert(image.texture.width());
    }
}

#[test]
fn who_keeps_something_by_its_image_hears_of_swaps_in_their_frame() {
    if !has_driver() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    fs::write(dir.path().join("wall.stream.ktx2"), rgba(1024).bytes()).expect("it is written");
    let mut room = Room::new(dir.path());
    room.app
        .sub_app_mut(RenderApp)
        .init_resource::<Kept>()
        .add_systems(ExtractSchedule, let_go)
        .add_systems(Render, keep.in_set(RenderSystems::PrepareBindGroups));
    let image: Handle<Image> = room.server().load("wall.stream.ktx2");
    room.hang(image.clone());
    room.wait(&image);
    room.pictures();
    room.pictures();
    let kept = room.app.sub_app(RenderApp).world().resource::<Kept>();
    assert!(
        kept.sides.contains(&1024) && kept.sides.contains(&64),
        "{:?}",
        kept.sides
    );
}
