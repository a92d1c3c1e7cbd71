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

/// As the documentation of each says. Whoever adds one says here what it is.
#[test]
fn defaults_are_those_that_are_documented() {
    let StreamingSettings {
        budget,
        boost,
        boost_horizon,
        least,
        slow_frame,
        suspended,
        upload_bytes_per_frame,
        max_loads_in_flight,
        max_bytes_in_flight,
        gate_deadline_frames,
        read_timeout,
        aging,
        memory_ceiling,
        essential_priority,
        load_order_seed,
    } = StreamingSettings::default();
    assert_eq!((budget, boost, least), (Duration::from_millis(2), 2.0, 0.5));
    assert_eq!(boost_horizon, Duration::from_millis(750));
    assert_eq!(slow_frame, Duration::from_nanos(16_666_666));
    assert_eq!((max_loads_in_flight, gate_deadline_frames), (8, 120));
    assert_eq!((upload_bytes_per_frame, max_bytes_in_flight), (16_777_216, 268_435_456));
    assert_eq!((read_timeout, aging), (Duration::from_secs(10), Duration::from_secs(1)));
    assert_eq!((memory_ceiling, essential_priority), (None, 1e7));
    assert_eq!((suspended, load_order_seed), (false, None));
}
