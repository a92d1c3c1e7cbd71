//! What cues add to an app. See [`CuePlugin`].

use bevy_app::{App, MainScheduleOrder, Plugin, SpawnScene, Startup};
use bevy_asset::AssetApp;
use bevy_ecs::{
    component::Component,
    reflect::ReflectComponent,
    schedule::{IntoScheduleConfigs, Schedule, ScheduleLabel, SingleThreadedExecutor, SystemSet},
};
use bevy_reflect::{Reflect, std_traits::ReflectDefault};
use seamless_asset::SeamlessAssetApp;

use crate::{
    config::CueConfig,
    cue::CueContext,
    library::CueLibraries,
    manager::{self, CueInbox, Manager, State},
    notify::{CueNotify, CueNotifyCodec, CueNotifyLoader, TagsFile, TagsLoader},
    preload::follow_preload_sets,
    route::{filter::SuppressCues, translate::TranslateCues},
    stats::{self, CueStats},
    tag::{GameplayTag, TagSet},
};

/// Where somebody sees and hears: cues with a [`cull_distance`](CueNotify::cull_distance) are played near one of these only. Put it on cameras; while
/// there is none, nothing is culled.
#[derive(Component, Reflect, Clone, Copy, Debug, Default)]
#[reflect(Component, Default, Clone, Debug)]
pub struct CueListener;

/// The schedule in which cues that have waited are played: each frame, after `SpawnScene`, in which what was loaded comes into the world. Its systems run on one
/// thread: there is little to do in most frames, and to wake others takes longer.
#[derive(ScheduleLabel, Clone, Debug, PartialEq, Eq, Hash)]
pub struct PlayCues;

/// The schedule in which notifies are looked for before the first frame, after `Startup`.
#[derive(ScheduleLabel, Clone, Debug, PartialEq, Eq, Hash)]
pub struct StartCues;

/// The place of cues in [`PlayCues`].
#[derive(SystemSet, Clone, Debug, PartialEq, Eq, Hash)]
pub enum CueSystems {
    /// All main-thread work of cues that have waited, of notifies that come and of instances: one exclusive system. Cues that need not wait are played
    /// where the commands of who fires them are applied.
    Play,
}

/// Plays gameplay cues. Add it after `SeamlessAssetPlugin`.
pub struct CuePlugin {
    /// How cues are loaded and played; it becomes the resource [`CueConfig`]. Default: as there.
    pub config: CueConfig,
    /// Whether this app plays cues. A dedicated server does not: it loads no notify, and what is fired is gone. Default: true.
    pub plays: bool,
    /// The file that declares the game's tags, for cues: see [`CueNotifyLoader::tags`]. Definitions of abilities and effects ask `game.tags.ron`. Default:
    /// `game.tags.ron`.
    pub tags: String,
}

impl Default for CuePlugin {
    fn default() -> Self {
        Self {
            config: CueConfig::default(),
            plays: true,
            tags: CueNotifyLoader::default().tags,
        }
    }
}

impl CuePlugin {
    /// For an app that plays no cues.
    #[must_use]
    pub fn server() -> Self {
        Self {
            plays: false,
            ..Self::default()
        }
    }
}

/// Adds what reads notifies, from their sources and from packages: for the cooker, which plays nothing. [`CuePlugin`] does it as well.
pub fn add_cue_assets(app: &mut App, tags: &str) {
    let tags = tags.to_owned();
    app.init_asset::<CueNotify>()
        .init_asset::<TagsFile>()
        .register_asset_loader(CueNotifyLoader { tags })
        .register_asset_loader(TagsLoader)
        .register_type::<CueNotify>()
        .register_type::<GameplayTag>()
        .register_type::<TagSet>()
        .register_type::<SuppressCues>()
        .register_type::<TranslateCues>()
        .register_type::<CueListener>()
        .add_asset_codec::<CueNotifyCodec>();
}

/// Of systems that run one after the other: no other thread has to wake for them.
fn on_one_thread(label: impl ScheduleLabel) -> Schedule {
    let mut schedule = Schedule::new(label);
    schedule.set_executor(SingleThreadedExecutor::new());
    schedule
}

impl Plugin for CuePlugin {
    fn build(&self, app: &mut App) {
        add_cue_assets(app, &self.tags);
        app.register_type::<CueContext>()
            .register_type::<CueConfig>()
            .register_type::<CueStats>()
            .insert_resource(self.config.clone())
            .init_resource::<CueStats>()
            .init_resource::<CueLibraries>();
        if !self.plays {
            return;
        }
        app.init_resource::<CueInbox>()
            .insert_resource(Manager(Some(Box::<State>::default())))
            .add_schedule(on_one_thread(PlayCues))
            .add_schedule(on_one_thread(StartCues))
            .add_systems(StartCues, manager::start)
            .add_systems(
                PlayCues,
                (follow_preload_sets, manager::advance.in_set(CueSystems::Play)).chain(),
            );
        stats::add_diagnostics(app);
        let mut order = app.world_mut().get_resource_or_init::<MainScheduleOrder>();
        order.insert_startup_after(Startup, StartCues);
        order.insert_after(SpawnScene, PlayCues);
    }
}
