//! Textures of packages, by their paths.

use std::{fs, path::Path};

use ::image::RgbImage;
use bevy::{prelude::*, render::render_resource::TextureFormat};
use bevy_seamless::render::mip::TexturePackage;
use seamless_cook::{CookOptions, Profile};
use seamless_tests::{cooked::Cooked, picture::has_driver};

use super::{
    super::stage::{self, PACKAGE, image},
    NEAR, Room, assert_alike,
    write::mips,
};

#[test]
fn a_texture_of_a_package_streams_by_its_path() {
    if !has_driver() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let picture = |side: u32| image([side, side, 1], TextureFormat::Rgba8UnormSrgb, mips(side, side, 1, 4));
    let images = [("walls/brick.png", 1024), ("small", 64)];
    stage::write(dir.path(), images.map(|(name, side)| (name.to_owned(), picture(side))));
    let mut room = Room::new(dir.path());
    for (name, side) in images {
        let own = room.app.world_mut().resource_mut::<Assets<Image>>().add(picture(side));
        room.hang(own);
        let expected = room.pictures();
        let handle: Handle<Image> = room.server().load(format!("{PACKAGE}#{name}"));
        room.hang(handle.clone());
        room.wait(&handle);
        assert_alike(&room.pictures(), &expected, name);
        assert_eq!(room.top(&handle).is_some(), side == 1024, "{name}");
    }
    let package: Handle<TexturePackage> = room.server().load(PACKAGE);
    room.wait(&package);
    let package = room.app.world().resource::<Assets<TexturePackage>>().get(&package);
    let names: Vec<_> = package.expect("it is loaded").iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["walls/brick.png", "small"]);
}

/// As the README says: nobody loads the level.
#[test]
fn a_texture_of_a_cooked_level_streams_by_its_path() {
    if !has_driver() {
        return;
    }
    let cooked = cook_hall();
    let mut room = Room::new(&cooked.out());
    let package: Handle<TexturePackage> = room.server().load("hall.pkg");
    room.wait(&package);
    let package = room.app.world().resource::<Assets<TexturePackage>>().get(&package);
    let names: Vec<_> = package.expect("it is loaded").iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["brick.png"]);
    let image: Handle<Image> = room.server().load("hall.pkg#brick.png");
    room.hang(image.clone());
    room.wait(&image);
    room.look(NEAR);
    let frame = room.settle();
    assert_eq!(room.top(&image), Some(0));
    assert!(frame.picture.colours() > 10);
}

/// A world of one level, `hall`, that is a triangle with a texture.
pub fn cook_hall() -> Cooked {
    let sources = |dir: &Path| {
        let mut picture = RgbImage::new(512, 512);
        for (place, byte) in picture.iter_mut().enumerate() {
            *byte = (place / 97 % 256) as u8;
        }
        picture.save(dir.join("brick.png")).expect("it is written");
        let positions: Vec<u8> = [0.0_f32, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0]
            .into_iter()
            .flat_map(f32::to_le_bytes)
            .collect();
        let uvs: Vec<u8> = [0.0_f32, 0.0, 1.0, 0.0, 0.0, 1.0]
            .into_iter()
            .flat_map(f32::to_le_bytes)
            .collect();
        fs::write(dir.join("hall.bin"), [positions, uvs].concat()).expect("it is written");
        fs::write(dir.join("hall.gltf"), HALL).expect("it is written");
    };
    let mut cooked = Cooked::new(sources, "(levels: [(source: \"hall.gltf\")])", |_| {});
    let dev = CookOptions {
        profile: Profile::Dev,
        ..CookOptions::default()
    };
    cooked.cook_again(&dev, |_| {});
    cooked
}

/// A triangle with a texture.
const HALL: &str = r#"{
    "asset": { "version": "2.0" },
    "scenes": [{ "nodes": [0] }],
    "nodes": [{ "mesh": 0 }],
    "meshes": [{ "primitives": [{ "attributes": { "POSITION": 0, "TEXCOORD_0": 1 }, "material": 0 }] }],
    "materials": [{ "pbrMetallicRoughness": { "baseColorTexture": { "index": 0 } } }],
    "textures": [{ "source": 0 }],
    "images": [{ "uri": "brick.png" }],
    "buffers": [{ "uri": "hall.bin", "byteLength": 60 }],
    "bufferViews": [
        { "buffer": 0, "byteOffset": 0, "byteLength": 36 },
        { "buffer": 0, "byteOffset": 36, "byteLength": 24 }
    ],
    "accessors": [
        { "bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3", "min": [0, 0, 0], "max": [1, 1, 0] },
        { "bufferView": 1, "componentType": 5126, "count": 3, "type": "VEC2" }
    ]
}"#;
