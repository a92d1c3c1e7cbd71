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
    // On Linux an X server: Wayland is not compiled in, as it needs a system package to build. Where there is only
    // `WAYLAND_DISPLAY`, winit would open no window and end the program.
    cfg!(not(target_os = "linux")) || std::env::var_os("DISPLAY").is_some_and(|display| !display.is_empty())
}

/// Bevy's default plugins over the workspace's `assets`.
#[must_use]
pub fn window_plugins() -> PluginGroupBuilder {
    let plugins = DefaultPlugins.build().set(AssetPlugin {
        file_path: "assets".into(),
        ..default()
    });
    #[cfg(feature = "trace")]
    let plugins = plugins.set(traced());
    plugins
}

/// The log, with the spans of streaming: they are of the level *debug*.
#[cfg(feature = "trace")]
fn traced() -> bevy::log::LogPlugin {
    let log = bevy::log::LogPlugin::default();
    bevy::log::LogPlugin {
        filter: format!("{},seamless_asset=debug,seamless_level=debug", log.filter),
        ..log
    }
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
