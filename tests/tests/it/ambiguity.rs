//! The systems of this project run in an order that is said: no two that touch the same run as the scheduler likes.

use std::collections::{BTreeSet, HashMap};

use bevy::{
    ecs::schedule::{ScheduleLabel, Schedules, SystemKey},
    prelude::*,
    render::RenderApp,
};
use bevy_seamless::{
    asset::codec::Codecs,
    cue::AbilityPlugin,
    prelude::*,
    render::mip::{MipFadePlugin, MipFeedbackPlugin, MipPlugin},
};
use seamless_tests::{
    app::headless_with,
    picture::{has_driver, windowless},
};
use wgpu::Backends;

/// In the full name of every system of this project.
const OURS: &str = "seamless_";

/// What schedules hold.
#[derive(Default)]
struct Found {
    /// Names of systems of ours, each with its schedule.
    ours: BTreeSet<String>,
    /// Pairs of systems that touch the same in no order, one of ours among them.
    ambiguous: Vec<String>,
}

impl Found {
    fn look(&mut self, ecs: &mut World) {
        let labels: Vec<_> = ecs.resource::<Schedules>().iter().map(|(_, of)| of.label()).collect();
        for label in labels {
            ecs.schedule_scope(label, |ecs, schedule| self.look_at(ecs, schedule));
        }
    }

    fn look_at(&mut self, ecs: &mut World, schedule: &mut Schedule) {
        schedule.initialize(ecs).expect("the schedule can be built");
        let label = schedule.label();
        let systems = schedule.systems().expect("it was built");
        let names: HashMap<SystemKey, String> = systems.map(|(key, system)| (key, system.name().to_string())).collect();
        let is_ours = |name: &&String| name.contains(OURS);
        let ours = names.values().filter(is_ours);
        self.ours.extend(ours.map(|name| format!("{label:?}: {name}")));
        for (one, two, about) in schedule.graph().conflicting_systems().iter() {
            let (one, two) = (&names[one], &names[two]);
            if [one, two].iter().any(is_ours) {
                let about = about.iter().filter_map(|id| ecs.components().get_name(*id));
                let about: Vec<_> = about.map(|name| name.to_string()).collect();
                let words = format!("{label:?}: {one} and {two}, about {about:?}");
                self.ambiguous.push(words);
            }
        }
    }

    #[track_caller]
    fn assert_ordered(&self, expected: &[&str]) {
        for name in expected {
            let is_there = self.ours.iter().any(|system| system.contains(name));
            assert!(is_there, "{name} is looked at: {:#?}", self.ours);
        }
        assert!(self.ambiguous.is_empty(), "no order is said of {:#?}", self.ambiguous);
    }
}

/// All that the project has for a game.
fn add_all(app: &mut App) {
    app.add_plugins((
        SeamlessPlugins.set(SeamlessAssetPlugin {
            sliced_levels: true,
            ..SeamlessAssetPlugin::default()
        }),
        MipPlugin::default(),
        PackageMapPlugin::default(),
        AbilityPlugin::new(FixedUpdate),
    ));
    app.add_plugins((
        MipFeedbackPlugin::default(),
        MipFadePlugin::default(),
        SeamlessOverlayPlugin::default(),
        MipOverlayPlugin::default(),
    ));
    add_phases(app);
}

#[derive(States, Clone, PartialEq, Eq, Hash, Debug, Default)]
enum Phase {
    #[default]
    Lobby,
    Match,
}

#[derive(States, Clone, PartialEq, Eq, Hash, Debug, Default)]
enum Weather {
    #[default]
    Dry,
    Wet,
}

/// Two states, and one of them goes on from two values.
fn add_phases(app: &mut App) {
    app.init_state::<Phase>()
        .init_state::<Weather>()
        .preload_in_state(Phase::Lobby, ["menu"])
        .preload_in_state(Phase::Match, ["arena"])
        .preload_in_state(Weather::Wet, ["rain"])
        .advance_when_preloaded(Phase::Lobby, Phase::Match)
        .advance_when_preloaded(Phase::Match, Phase::Lobby)
        .advance_when_preloaded(Weather::Dry, Weather::Wet);
}

#[test]
fn the_main_world_has_one_order() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut app = headless_with(dir.path(), add_all);
    let mut found = Found::default();
    found.look(app.world_mut());
    found.assert_ordered(&[
        "SpawnScene: seamless_asset::preload::zone::look",
        "SpawnScene: seamless_asset::preload::phase::follow_phase",
        "advance_when_preloaded",
        "SpawnScene: seamless_asset::load::pump::pump",
        "SpawnScene: seamless_level::world::select::select_levels",
        "SpawnScene: seamless_level::world::report::report_levels",
        "Update: seamless_level::overlay::toggle",
        "PostUpdate: seamless_level::overlay::panel::write",
        "Update: seamless_render::mip::overlay::toggle",
        "FixedUpdate: seamless_cue::ability",
        "PreUpdate: seamless_asset::net",
        "PostUpdate: seamless_asset::net",
        "Last: seamless_asset::edits::note_edits",
        "Last: seamless_asset::load::pump::frame::roll_frame",
    ]);
    assert!(app.world().contains_resource::<Codecs>());
}

/// A server has other plugins of Bevy's.
#[test]
fn a_server_has_one_order() {
    let mut app = App::new();
    app.add_plugins((
        MinimalPlugins,
        AssetPlugin::default(),
        TransformPlugin,
        SeamlessMinimalPlugins,
        PackageMapPlugin::default(),
        AbilityPlugin::new(FixedUpdate),
    ));
    app.finish();
    app.cleanup();
    let mut found = Found::default();
    found.look(app.world_mut());
    found.assert_ordered(&[
        "SpawnScene: seamless_asset::load::pump::pump",
        "PreUpdate: seamless_asset::net",
    ]);
}

#[test]
fn the_render_world_has_one_order() {
    if !has_driver() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut app = windowless(dir.path(), Some(Backends::VULKAN), add_all);
    // What is extracted can be looked at only while there is something to extract from.
    app.update();
    let mut found = Found::default();
    found.look(app.world_mut());
    found.look(app.sub_app_mut(RenderApp).world_mut());
    found.assert_ordered(&[
        "SpawnScene: seamless_asset",
        "PreUpdate: seamless_render::mip::render::reports::hear_renderer",
        "PostUpdate: seamless_render::mip::plugin::follow_images",
        "ExtractSchedule: seamless_render",
        "Render: seamless_render::mip::render::carry_out_mips",
    ]);
}

/// The measure itself: it sees two systems that write one resource.
#[test]
fn the_measure_sees_an_ambiguity() {
    #[derive(Resource, Default)]
    struct Seen(u32);
    fn seamless_one(mut seen: ResMut<Seen>) {
        seen.0 += 1;
    }
    fn two(mut seen: ResMut<Seen>) {
        seen.0 *= 2;
    }
    #[derive(ScheduleLabel, Debug, Clone, PartialEq, Eq, Hash)]
    struct Game;
    let mut app = App::new();
    app.init_resource::<Seen>().add_systems(Game, (seamless_one, two));
    let mut found = Found::default();
    found.look(app.world_mut());
    assert_eq!(found.ambiguous.len(), 1, "{:?}", found.ambiguous);
    let mut app = App::new();
    app.init_resource::<Seen>()
        .add_systems(Game, (seamless_one, two).chain());
    let mut found = Found::default();
    found.look(app.world_mut());
    found.assert_ordered(&["Game: ", "seamless_one"]);
}
