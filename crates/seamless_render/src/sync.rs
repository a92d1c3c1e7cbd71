//! Bevy's queue of render entities, kept sound and empty where there is no renderer. See [`drain_without_renderer`].

use bevy_app::{App, AppLabel};
use bevy_render::{RenderApp, extract_plugin::ExtractPlugin, sync_world::SyncWorldPlugin};

/// The sub-app that empties the queue.
#[derive(AppLabel, Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct HeadlessSync;

/// Lets lights and cameras leave an app that has Bevy's render plugins and no GPU (`backends: None`).
///
/// Bevy notes every light and camera that comes or goes in a queue, from hooks that its plugins add with or without a GPU.
/// The queue itself comes with `SyncWorldPlugin`, which `RenderPlugin` adds (by way of `ExtractPlugin`) only together with the
/// render app: without it, the first despawn of a light panics. And only the render app's extraction empties the queue.
///
/// So this takes Bevy's own extraction for a sub-app that has no schedules: its world holds one empty entity for each light and
/// camera, as a render world would, and the queue is emptied once a frame. `RenderApp` itself must not stay: plugins take it for
/// a renderer.
///
/// Called from `finish`, when `RenderPlugin` has decided; an app that has added `SyncWorldPlugin` by itself keeps it, and a
/// queue that grows with every light and camera.
pub(crate) fn drain_without_renderer(app: &mut App) {
    if app.is_plugin_added::<SyncWorldPlugin>() {
        return;
    }
    app.add_plugins(ExtractPlugin::default());
    if let Some(sub_app) = app.remove_sub_app(RenderApp) {
        app.insert_sub_app(HeadlessSync, sub_app);
    }
}
