//! A texture that streams, on a mesh and on Bevy's own sprite: what a sprite keeps of it follows in the frame of the swap. So does what a node of UI keeps.

#[cfg(feature = "ui")]
mod ui;

use bevy::{
    camera::{ClearColorConfig, RenderTarget},
    prelude::*,
};
use bevy_seamless::render::mip::{MipApp, MipPool};
use bevy_sprite::{Sprite, SpritePlugin};
use bevy_sprite_render::SpriteRenderPlugin;
use seamless_tests::picture::{Frame, SIDE, has_driver, settled};

use super::{
    pictures::{FLOOR, TEXTURE, colour, textures, write_all},
    stage::Stage,
};

/// The mesh fills the picture, and the sprite or node its right half.
fn assert_show(frame: &Frame, top: u8, when: &str) {
    let at = |x: u32| frame.picture.pixel(x, SIDE / 2);
    let expected = colour(0, top);
    for (what, found) in [("mesh", at(SIDE / 4)), ("image", at(SIDE / 4 * 3))] {
        let is_near = found.iter().zip(expected).all(|(a, b)| a.abs_diff(b) <= 1);
        assert!(
            is_near,
            "{when}: the {what} shows {found:?}, and mip {top} is {expected:?}"
        );
    }
}

/// A camera that draws over what the stage's camera draws.
fn add_camera(stage: &mut Stage) -> Entity {
    let world = stage.app.world_mut();
    let mut targets = world.query_filtered::<&RenderTarget, With<Camera3d>>();
    let target = targets.single(world).expect("there is one camera").clone();
    let over = Camera {
        order: 1,
        clear_color: ClearColorConfig::None,
        ..default()
    };
    world.spawn((Camera2d, over, Msaa::Off, target)).id()
}

/// What is drawn over the right half: a part of the texture, magnified like the mesh.
fn part() -> Rect {
    let part = TEXTURE as f32 / 64.0;
    Rect::new(0.0, 0.0, part, part)
}

fn add_sprite(stage: &mut Stage, image: &Handle<Image>) {
    add_camera(stage);
    let sprite = Sprite {
        image: image.clone(),
        rect: Some(part()),
        custom_size: Some(Vec2::new(SIDE as f32 / 2.0, SIDE as f32)),
        ..default()
    };
    let place = Transform::from_xyz(SIDE as f32 / 4.0, 0.0, 0.0);
    stage.app.world_mut().spawn((sprite, place));
}

/// Draws a texture over its mesh, and replaces it by others.
fn check(add_plugins: fn(&mut App), add_image: fn(&mut Stage, &Handle<Image>)) {
    if !has_driver() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    write_all(dir.path());
    let mut stage = Stage::new(dir.path(), add_plugins);
    let images = stage.load(&["t0"]);
    stage.hang(&images, 1);
    add_image(&mut stage, &images[0]);
    assert_show(&settled(&mut stage.app), FLOOR, "with the tail alone");
    let (number, booked) = (stage.number(&images[0]), textures(&stage));
    let mut shown = FLOOR;
    for top in [3, 2, 1, 0, 1, 2, 3, 4, 0, 4] {
        let change = stage.begin(number, top);
        if top < shown {
            stage.until_staged(&[(number, change)], |frame| {
                assert_show(frame, shown, "while it is read")
            });
        }
        stage.send(number, change);
        shown = top;
        assert_show(&stage.frame(), top, "in the frame of the swap");
        stage.until_idle(|frame| assert_show(frame, top, "afterwards"));
    }
    assert_eq!(stage.app.world().resource::<MipPool>().ledger.stray(), 0);
    // What wgpu was given back it lets go of when it is polled.
    (0..5).for_each(|_| drop(stage.frame()));
    assert_eq!(textures(&stage), booked, "nobody keeps a texture that was replaced");
}

#[test]
fn a_sprite_follows_the_texture_that_it_shares_with_a_mesh() {
    let add_plugins = |app: &mut App| {
        // With UI, sprites are texts, too.
        #[cfg(feature = "ui")]
        app.add_plugins(bevy_text::TextPlugin);
        app.add_plugins((SpritePlugin, SpriteRenderPlugin))
            .add_mip_drawn::<Sprite>(|sprite, images| images(sprite.image.id()));
    };
    check(add_plugins, add_sprite);
}
