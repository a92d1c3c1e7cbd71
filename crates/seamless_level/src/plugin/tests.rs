use super::*;
use crate::world::tests::{level_app, level_app_of};

fn with_max(max_levels: usize) -> LevelSettings {
    LevelSettings {
        max_levels,
        ..LevelSettings::default()
    }
}

fn settings(app: &App) -> LevelSettings {
    *app.world().resource::<LevelSettings>()
}

#[test]
fn settings_are_those_of_the_plugin() {
    let plugin = SeamlessLevelPlugin { settings: with_max(3) };
    assert_eq!(settings(&level_app(plugin)), with_max(3));
    assert!(settings(&level_app(SeamlessLevelPlugin::server())).follow_remote);
    let app = level_app(SeamlessLevelPlugin::default());
    assert_eq!(settings(&app), LevelSettings::default());
}

#[test]
fn settings_that_are_there_before_are_kept() {
    let mut app = App::new();
    app.insert_resource(with_max(5));
    let app = level_app_of(app, SeamlessLevelPlugin { settings: with_max(3) });
    assert_eq!(settings(&app), with_max(5));
}
