use bevy_app::{App, TaskPoolPlugin};
use bevy_asset::AssetPlugin;

use super::*;
use crate::SeamlessAssetPlugin;

fn with_budget(milliseconds: u64) -> StreamingSettings {
    StreamingSettings {
        budget: Duration::from_millis(milliseconds),
        ..StreamingSettings::default()
    }
}

/// The budget of an app that has been given so many milliseconds before its plugins, or none.
fn budget(before: Option<u64>) -> Duration {
    let plugin = SeamlessAssetPlugin {
        settings: with_budget(7),
        ..SeamlessAssetPlugin::default()
    };
    let mut app = App::new();
    if let Some(milliseconds) = before {
        app.insert_resource(with_budget(milliseconds));
    }
    app.add_plugins((TaskPoolPlugin::default(), AssetPlugin::default(), plugin));
    app.world().resource::<StreamingSettings>().budget
}

#[test]
fn settings_are_those_of_the_plugin_unless_there_are_some_before() {
    assert_eq!(budget(None), Duration::from_millis(7));
    assert_eq!(budget(Some(9)), Duration::from_millis(9));
}

#[test]
fn a_part_of_any_budget_is_no_more_than_that() {
    let settings = with_budget(2);
    assert_eq!(settings.budget_part(0.5), settings.budget / 2);
    for part in [1.0, 7.0, f32::INFINITY] {
        assert_eq!(settings.budget_part(part), settings.budget, "{part}");
    }
    let endless = StreamingSettings {
        budget: Duration::MAX,
        ..settings
    };
    assert_eq!(endless.budget_part(1.0), Duration::MAX);
    assert!(endless.budget_part(0.5) > Duration::MAX / 3);
    for part in [0.0, -1.0, f32::NAN, f32::NEG_INFINITY] {
        assert_eq!(endless.budget_part(part), Duration::ZERO, "{part}");
    }
}
