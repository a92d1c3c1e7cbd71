//! Window or no window: what the examples have in common.

use core::time::Duration;
use std::process::ExitCode;

use bevy::{
    app::{PluginGroupBuilder, TerminalCtrlCHandlerPlugin},
    asset::{AssetPlugin, RenderAssetUsages},
    image::{CompressedImageFormatSupport, CompressedImageFormats},
    log::LogPlugin,
    prelude::*,
    render::{
        RenderPlugin,
        render_resource::{Extent3d, TextureDimension, TextureFormat, TextureUsages},
        settings::{RenderCreation, WgpuSettings},
    },
    time::TimeUpdateStrategy,
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
        filter: format!(
            "{},seamless_asset=debug,seamless_level=debug,seamless_render=debug",
            log.filter
        ),
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

/// An app without window and GPU, whose time advances by one simulated frame, so many seconds, per update.
///
/// Only the first app of the process may set up the log and the handler of Ctrl+C.
pub fn headless_app(is_first: bool, frame: f32) -> App {
    let mut app = App::new();
    let mut plugins = headless_plugins();
    if !is_first {
        plugins = plugins.disable::<LogPlugin>().disable::<TerminalCtrlCHandlerPlugin>();
    }
    // Without a GPU nobody else says which compressed formats there are.
    app.insert_resource(CompressedImageFormatSupport(CompressedImageFormats::NONE))
        .add_plugins(plugins)
        .insert_resource(TimeUpdateStrategy::ManualDuration(Duration::from_secs_f32(frame)));
    app
}

/// What is drawn into when there is no window, in pixels.
#[must_use]
pub fn canvas(width: u32, height: u32) -> Image {
    let size = Extent3d {
        width,
        height,
        depth_or_array_layers: 1,
    };
    let mut image = Image::new_fill(
        size,
        TextureDimension::D2,
        &[0; 4],
        TextureFormat::Rgba8UnormSrgb,
        RenderAssetUsages::default(),
    );
    image.texture_descriptor.usage |= TextureUsages::RENDER_ATTACHMENT | TextureUsages::COPY_SRC;
    image
}

/// How a program ends: what is wrong is told, and what fell short (`false`) is a failure.
#[expect(clippy::print_stderr, reason = "a command line tells its user what is wrong")]
#[must_use]
pub fn exit_code(result: Result<bool, String>) -> ExitCode {
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}
