//! Window or no window: what the examples have in common.

use bevy::{
    app::PluginGroupBuilder,
    asset::AssetPlugin,
    prelude::*,
    render::{
        RenderPlugin,
        settings::{RenderCreation, WgpuSettings},
    },
    window::ExitCondition,
    winit::WinitPlugin,
};

/// Whether there is a display to open a window on.
#[must_use]
pub fn has_display() -> bool {
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    cfg!(not(target_os = "linux")) || set("DISPLAY") || set("WAYLAND_DISPLAY")
}

/// Bevy's default plugins over the workspace's `assets`.
#[must_use]
pub fn window_plugins() -> PluginGroupBuilder {
    DefaultPlugins.build().set(AssetPlugin {
        file_path: "assets".into(),
        ..default()
    })
}

/// The same without window and GPU.
#[must_use]
pub fn headless_plugins() -> PluginGroupBuilder {
    window_plugins()
        .disable::<WinitPlugin>()
        .set(WindowPlugin {
            primary_window: None,
            exit_condition: ExitCondition::DontExit,
            ..default()
        })
        .set(RenderPlugin {
            render_creation: RenderCreation::Automatic(Box::new(WgpuSettings {
                backends: None,
                ..default()
            })),
            ..default()
        })
}
