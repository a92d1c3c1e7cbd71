//! Without a renderer, what Bevy would extract can come and go.

use bevy_app::{App, TaskPoolPlugin};
use bevy_ecs::component::Component;
use bevy_render::{
    RenderApp,
    sync_component::{SyncComponent, SyncComponentPlugin},
    sync_world::{RenderEntity, SyncWorldPlugin},
};

use crate::SeamlessRenderPlugin;

/// Stands for a light.
#[derive(Component, Clone)]
struct Lamp;

impl SyncComponent for Lamp {
    type Target = Self;
}

fn finished(add: impl FnOnce(&mut App)) -> App {
    let mut app = App::new();
    app.add_plugins((TaskPoolPlugin::default(), SyncComponentPlugin::<Lamp>::default()));
    add(&mut app);
    app.finish();
    app.cleanup();
    app
}

#[test]
fn lights_come_and_go_and_the_queue_is_emptied() {
    let mut app = finished(|app| {
        app.add_plugins(SeamlessRenderPlugin);
    });
    assert!(app.get_sub_app(RenderApp).is_none(), "nobody takes it for a renderer");
    for _ in 0..3 {
        let lamp = app.world_mut().spawn(Lamp).id();
        app.update();
        // Only whoever empties the queue gives a lamp its render entity.
        assert!(app.world().get::<RenderEntity>(lamp).is_some());
        app.world_mut().despawn(lamp);
        app.update();
    }
}

#[test]
fn an_app_that_has_the_queue_keeps_it() {
    let mut app = finished(|app| {
        app.add_plugins((SyncWorldPlugin, SeamlessRenderPlugin));
    });
    let lamp = app.world_mut().spawn(Lamp).id();
    app.update();
    app.world_mut().despawn(lamp);
    app.update();
}
