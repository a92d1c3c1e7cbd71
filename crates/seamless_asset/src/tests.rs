//! What the plugin says of an app that it cannot work in.

use bevy_app::{App, Last, TaskPoolPlugin};
use bevy_asset::AssetPlugin;
use bevy_ecs::schedule::SingleThreadedExecutor;

use crate::{SeamlessAssetPlugin, doubles::logged};

/// An app that nobody has finished.
fn unfinished() -> App {
    let mut app = App::new();
    app.add_plugins((
        TaskPoolPlugin::default(),
        AssetPlugin::default(),
        SeamlessAssetPlugin::default(),
    ));
    // What other threads log is not heard.
    app.edit_schedule(Last, |schedule| {
        schedule.set_executor(SingleThreadedExecutor::new());
    });
    app
}

/// How often it is told in so many frames.
fn told(app: &mut App, frames: usize) -> usize {
    let said = logged(|| (0..frames).for_each(|_| app.update()));
    let told = said
        .iter()
        .filter(|line| line.starts_with("ERROR") && line.contains("call `App::finish`"));
    told.count()
}

#[test]
fn an_app_that_was_never_finished_is_told_once() {
    let mut app = unfinished();
    assert_eq!([1, 1, 20].map(|frames| told(&mut app, frames)), [0, 1, 0]);
}

#[test]
fn an_app_that_is_finished_is_not_told() {
    let mut app = unfinished();
    // Somebody may finish it a frame late.
    assert_eq!(told(&mut app, 1), 0);
    app.finish();
    app.cleanup();
    assert_eq!(told(&mut app, 20), 0);
}
