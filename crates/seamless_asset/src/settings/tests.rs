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
