use bevy::prelude::*;
use bevy_input_focus::{InputDispatchPlugin, InputFocusPlugin};
use bevy_seamless::render::mip::MipApp;
use bevy_sprite::SpritePlugin;
use bevy_sprite_render::SpriteRenderPlugin;
use bevy_text::TextPlugin;
use bevy_ui::{
    PositionType, UiPlugin, UiTargetCamera,
    prelude::{Node, Val},
    widget::{ImageNode, NodeImageMode},
};
use bevy_ui_render::UiRenderPlugin;

use super::{Stage, add_camera, check, part};

fn add_node(stage: &mut Stage, image: &Handle<Image>) {
    let camera = add_camera(stage);
    let image = ImageNode {
        image: image.clone(),
        rect: Some(part()),
        image_mode: NodeImageMode::Stretch,
        ..default()
    };
    let node = Node {
        position_type: PositionType::Absolute,
        left: Val::Percent(50.0),
        top: Val::Percent(0.0),
        width: Val::Percent(50.0),
        height: Val::Percent(100.0),
        ..default()
    };
    stage.app.world_mut().spawn((image, node, UiTargetCamera(camera)));
}

#[test]
fn a_node_follows_the_texture_that_it_shares_with_a_mesh() {
    let add_plugins = |app: &mut App| {
        let sprites = (SpritePlugin, SpriteRenderPlugin);
        let focus = (InputFocusPlugin, InputDispatchPlugin);
        app.add_plugins((TextPlugin, sprites, focus, UiPlugin, UiRenderPlugin))
            .add_mip_drawn::<ImageNode>(|node, images| images(node.image.id()));
    };
    check(add_plugins, add_node);
}
