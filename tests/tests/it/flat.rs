//! A game of sprites alone, as Bevy's feature `2d` makes it: without `PbrPlugin`, and what that brings.

use std::{fs, path::Path};

use bevy::{prelude::*, world_serialization::DynamicWorldBuilder};
use bevy_seamless::{asset::StreamingStats, prelude::*, render::mip::MipPlugin};
use bevy_sprite::{Anchor, Sprite, SpritePlugin};
use bevy_sprite_render::SpriteRenderPlugin;
use seamless_tests::{
    app::{headless, run_until},
    cooked::{Ask, Cooked, MANIFEST, STREAM_LIMIT, ask, spawn_world, state},
    picture::{SIDE, has_driver, next_frame, settled, studio_flat},
};

const WORLD: &str = r#"(levels: [
    (name: "room", source: "room.scn.ron", bounds: ((-32.0, -32.0, 0.0), (32.0, 32.0, 0.0)), on_request: true),
])"#;

/// A red square of 64 units, to the right of the middle.
fn write(dir: &Path) {
    let red = image::RgbaImage::from_pixel(8, 8, image::Rgba([255, 0, 0, 255]));
    red.save(dir.join("red.png")).expect("a picture is written");
    let mut app = headless(dir);
    let image = app.world().resource::<AssetServer>().load("red.png");
    let sprite = Sprite {
        image,
        custom_size: Some(Vec2::splat(64.0)),
        ..default()
    };
    let world = app.world_mut();
    let entity = world
        .spawn((Name::new("Wall"), sprite, Anchor::CENTER_LEFT, Transform::default()))
        .id();
    let registry = world.resource::<AppTypeRegistry>().read();
    let scene = DynamicWorldBuilder::from_world(world, &registry)
        .allow_component::<Name>()
        .allow_component::<Sprite>()
        .allow_component::<Anchor>()
        .allow_component::<Transform>()
        .allow_component::<Visibility>()
        .extract_entity(entity)
        .build();
    let text = scene.serialize(&registry).expect("registered types serialise");
    fs::write(dir.join("room.scn.ron"), text).expect("the scene is written");
}

fn add_plugins(app: &mut App) {
    // With UI, sprites are texts, too.
    #[cfg(feature = "ui")]
    app.add_plugins(bevy_text::TextPlugin);
    app.add_plugins((SpritePlugin, SpriteRenderPlugin, SeamlessPlugins, MipPlugin::default()));
    app.world_mut().resource_mut::<StreamingSettings>().read_timeout = core::time::Duration::ZERO;
}

/// What the cooker's own program knows of Bevy is enough.
#[test]
fn a_level_of_sprites_comes_into_a_game_of_sprites() {
    if !has_driver() {
        return;
    }
    let cooked = Cooked::new(write, WORLD, |_| {});
    let mut app = studio_flat(&cooked.out(), add_plugins);
    let world = spawn_world(&mut app, MANIFEST);
    assert!(run_until(&mut app, STREAM_LIMIT, |ecs| ecs
        .get::<LevelTable>(world)
        .is_some()));
    ask(&mut app, "room", Ask::Load);
    let is_there = |app: &App| state(app.world(), world, "room") == LevelState::Visible;
    let right = |frame: &seamless_tests::picture::Frame| [8, 56].map(|x| frame.picture.pixel(SIDE / 2 + x, SIDE / 2));
    let start = std::time::Instant::now();
    while !is_there(&app) {
        drop(next_frame(&mut app));
        assert!(
            start.elapsed() < STREAM_LIMIT,
            "{:?}",
            state(app.world(), world, "room")
        );
    }
    let frame = settled(&mut app);
    assert_eq!(right(&frame), [[255, 0, 0, 255]; 2]);
    assert_ne!(frame.picture.pixel(SIDE / 2 - 8, SIDE / 2), [255, 0, 0, 255]);
    assert_eq!(app.world().resource::<StreamingStats>().failed, 0);
    ask(&mut app, "room", Ask::Unload);
    assert!(run_until(&mut app, STREAM_LIMIT, |ecs| state(ecs, world, "room")
        == LevelState::Unloaded));
    assert_ne!(right(&next_frame(&mut app)), [[255, 0, 0, 255]; 2]);
}
