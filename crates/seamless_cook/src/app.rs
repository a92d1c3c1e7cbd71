//! The cooker: a headless Bevy app. See [`CookApp`].

use core::any::TypeId;
use core::num::NonZeroUsize;
use core::time::Duration;
use std::collections::BTreeMap;
use std::path::Path;

use bevy::app::{TaskPoolOptions, TaskPoolPlugin, TaskPoolThreadAssignmentPolicy, TerminalCtrlCHandlerPlugin};
use bevy::asset::io::{AssetSourceBuilder, AssetSourceId};
use bevy::core_pipeline::CorePipelinePlugin;
use bevy::ecs::error::{FallbackErrorHandler, warn};
use bevy::image::{CompressedImageFormatSupport, CompressedImageFormats};
use bevy::log::LogPlugin;
use bevy::prelude::*;
use bevy::render::{
    RenderPlugin,
    settings::{RenderCreation, WgpuSettings},
};
use bevy::window::ExitCondition;
use bevy::winit::WinitPlugin;
use bevy_sprite::{Anchor, Sprite};
use seamless_asset::codec::Codecs;
use seamless_cue::{AbilityAssetsPlugin, CueNotifyLoader, add_cue_assets};
use seamless_package::{Codec, Role, VersionList};
use seamless_render::SeamlessRenderPlugin;

#[cfg(feature = "audio")]
use crate::audio;
use crate::cook::Order;
use crate::core_of_scenes::CoreOfScenes;
use crate::graph::recorder::Recorder;
use crate::graph::storage::Disk;
use crate::report::{CookError, CookReport, Progress};
use crate::shaders_unread::{ShadersUnread, UNAPPROVED_PATHS};
use crate::texture::TargetFormats;

/// What a cook does with the data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Profile {
    /// Changes no data: a cooked level equals the one that Bevy's own spawner makes.
    #[default]
    Exact,
    /// To look at: textures get mips and are block-compressed, fast ([`texture`](crate::texture)), and are kept on the GPU only at run
    /// time (`RenderAssetUsages::RENDER_WORLD`). Whatever draws a mesh gets the mesh's [`MeshUvDensity`](seamless_asset::assets::MeshUvDensity).
    /// Everything else is as in `Exact`. Meshes keep their copy: bounds and ray casts read it.
    Dev,
    /// As `Dev`, with textures that took as much time as they need. Meshes are put in an order that a GPU draws with fewer misses
    /// ([`mesh::reordered`](crate::mesh::reordered)) where all that is known to draw them hides what is behind. Packages are smaller:
    /// what the others store as LZ4 is stored as zstd.
    Ship,
}

impl Profile {
    /// How packages store what gets smaller by it. LZ4 is written and read at once; zstd takes its time when it is written.
    #[must_use]
    pub fn codec(self) -> Codec {
        match self {
            Self::Exact | Self::Dev => Codec::Lz4,
            Self::Ship => Codec::Zstd,
        }
    }
}

/// Whom the packages are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// Objects and components that none of these needs are left out: what refers to them is told so.
    pub roles: Role,
    /// What its GPUs can sample. Only [`Profile::Dev`] and [`Profile::Ship`] make formats; `Exact` changes no data.
    pub formats: TargetFormats,
}

impl Target {
    /// Everybody: one set of packages for client, server and editor, each of which skips what it does not need. The default.
    pub const ALL: Self = Self {
        roles: Role::ALL,
        formats: TargetFormats { bc: true },
    };

    /// The target with this name, one of [`NAMES`](Self::NAMES). With `-rgba8` it is for GPUs without block compression
    /// (`TEXTURE_COMPRESSION_BC`), as those of phones: textures get mips, and stay uncompressed.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let (role, formats) = match name.strip_suffix("-rgba8") {
            Some(role) => (role, TargetFormats { bc: false }),
            None => (name, TargetFormats::default()),
        };
        let roles = match role {
            "all" => Role::ALL,
            "client" => Role::CLIENT,
            "server" if formats.bc => Role::SERVER,
            "editor" if formats.bc => Role::EDITOR,
            _ => return None,
        };
        Some(Self { roles, formats })
    }

    /// The names that [`named`](Self::named) knows.
    pub const NAMES: [&str; 6] = ["all", "client", "server", "editor", "all-rgba8", "client-rgba8"];
}

/// How to cook.
#[derive(Debug, Clone)]
pub struct CookOptions {
    /// What to do with the data.
    pub profile: Profile,
    /// Whom the packages are for. Default: everybody.
    pub target: Target,
    /// Only these levels, by name, and what they need. Default: none, which stands for all levels.
    pub maps: Vec<String>,
    /// How long a load may go without any progress before it is an error. Default: 30 s.
    pub load_timeout: Duration,
    /// How many threads compress textures, pack data, put packages together, and look whether sources have changed; at least one. Default: as many
    /// as the machine runs at once.
    pub jobs: usize,
    /// How many levels are loaded at once, the one that is encoded included; at least one. Default: 8.
    pub levels_ahead: usize,
}

impl Default for CookOptions {
    fn default() -> Self {
        Self {
            profile: Profile::Exact,
            target: Target::ALL,
            maps: Vec::new(),
            load_timeout: Duration::from_secs(30),
            jobs: std::thread::available_parallelism().map_or(1, NonZeroUsize::get),
            levels_ahead: 8,
        }
    }
}

/// The cooker. A game that has types of its own adds them with [`with`](Self::with); that is all its cook program
/// has to do:
///
/// ```no_run
/// # use std::process::ExitCode; use bevy::prelude::*; use seamless_cook::CookApp;
/// # #[derive(Component, Reflect)] #[reflect(Component)] struct Door;
/// fn main() -> ExitCode {
///     CookApp::new().with(|app| { app.register_type::<Door>(); }).run_cli()
/// }
/// ```
#[derive(Default)]
pub struct CookApp {
    pub(crate) setup: Vec<Setup>,
    /// By name.
    pub(crate) importers: BTreeMap<String, u32>,
    pub(crate) log: bool,
}

/// A change to the headless app.
pub(crate) struct Setup {
    run: Box<dyn Fn(&mut App)>,
    /// What it does, if that follows from its type.
    pub(crate) identity: Option<TypeId>,
}

impl CookApp {
    /// A cooker that knows Bevy's own types.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Changes the headless app before it starts: plugins, types, codecs, asset loaders, startup content. Runs once per cook, after
    /// Bevy's own plugins and the built-in codecs are added. What it does may follow from the program alone, unless it captures something:
    /// the next cook by the same program takes it for the same. Systems that come along run, and only warn when they fail.
    #[must_use]
    pub fn with<R, F: Fn(&mut App) -> R + 'static>(mut self, setup: F) -> Self {
        let run = Box::new(move |app: &mut App| {
            setup(app);
        });
        let identity = (size_of::<F>() == 0).then(TypeId::of::<F>);
        self.setup.push(Setup { run, identity });
        self
    }

    /// The version of an asset loader of the game, or of anything else of it that shapes what is cooked and is neither a file nor a type.
    /// What was cooked with another version is cooked again; raise it when the loader makes something else of the same file.
    #[must_use]
    pub fn importer_version(mut self, name: impl Into<String>, version: u32) -> Self {
        self.importers.insert(name.into(), version);
        self
    }

    /// Cooks `world_file` into the directory `out`, which is made if it is not there.
    ///
    /// # Errors
    /// [`CookError::Content`] lists everything that is wrong with the content; nothing is written then.
    pub fn cook(
        &self,
        world_file: &Path,
        out: &Path,
        options: &CookOptions,
        progress: &dyn Progress,
    ) -> Result<CookReport, CookError> {
        let order = Order {
            cooker: self,
            world_file,
            out,
            options,
            progress,
            storage: &Disk,
        };
        order.run()
    }

    /// The versions of the game's content, where it has any beside Bevy's.
    pub(crate) fn versions(&self) -> Option<Vec<VersionList>> {
        if self.setup.is_empty() {
            return None;
        }
        let app = self.build_app(&Recorder::new(Path::new("")));
        let codecs = app.world().resource::<Codecs>().read();
        Some(codecs.migrations().versions().to_vec())
    }

    /// Bevy without window and GPU, with every loader and format, reading through `recorder`.
    pub(crate) fn build_app(&self, recorder: &Recorder) -> App {
        let mut app = App::new();
        let files = recorder.clone();
        app.register_asset_source(
            AssetSourceId::Default,
            AssetSourceBuilder::new(move || Box::new(files.clone())),
        );
        let mut plugins = DefaultPlugins
            .build()
            .disable::<CorePipelinePlugin>()
            .add_after::<CorePipelinePlugin>(CoreOfScenes)
            .disable::<WinitPlugin>()
            .disable::<TerminalCtrlCHandlerPlugin>()
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
            .set(task_pools())
            .set(AssetPlugin {
                watch_for_changes_override: Some(false),
                use_asset_processor_override: Some(false),
                mode: AssetMode::Unprocessed,
                unapproved_path_mode: UNAPPROVED_PATHS,
                ..default()
            })
            .add_after::<AssetPlugin>(ShadersUnread);
        #[cfg(feature = "audio")]
        {
            plugins = audio::without_playback(plugins);
        }
        plugins = if self.log {
            // What fails to load is in the report, with the object that needs it.
            plugins.set(LogPlugin {
                filter: "warn,bevy_asset=off,bevy_render=off,wgpu=off".into(),
                ..default()
            })
        } else {
            plugins.disable::<LogPlugin>()
        };
        app.add_plugins(plugins);
        app.init_resource::<Codecs>();
        // The game's plugins bring their systems along, which may fail where there is no game: that is no fault of the content.
        app.insert_resource(FallbackErrorHandler(warn));
        app.add_plugins(SeamlessRenderPlugin);
        add_cue_assets(&mut app, &CueNotifyLoader::default().tags);
        app.add_plugins(AbilityAssetsPlugin);
        app.register_type::<Sprite>().register_type::<Anchor>();
        #[cfg(feature = "audio")]
        audio::add_to(&mut app);
        for setup in &self.setup {
            (setup.run)(&mut app);
        }
        // Without a GPU Bevy would refuse every compressed format, or expand it.
        app.insert_resource(CompressedImageFormatSupport(CompressedImageFormats::all()));
        while app.plugins_state() == bevy::app::PluginsState::Adding {
            bevy::tasks::tick_global_task_pools_on_main_thread();
        }
        app.finish();
        app.cleanup();
        app
    }
}

/// What loads and decodes runs where files are read, and there is little else to do meanwhile.
fn task_pools() -> TaskPoolPlugin {
    let default = TaskPoolOptions::default();
    TaskPoolPlugin {
        task_pool_options: TaskPoolOptions {
            io: TaskPoolThreadAssignmentPolicy {
                max_threads: usize::MAX,
                percent: 1.0,
                ..default.io
            },
            ..default
        },
    }
}

/// What the profile does to what was loaded, before it is encoded.
pub(crate) fn prepare(world: &mut World, options: &CookOptions) {
    if options.profile != Profile::Exact {
        keep_images_on_gpu_only(world);
    }
}

fn keep_images_on_gpu_only(world: &mut World) {
    let Some(mut images) = world.get_resource_mut::<Assets<Image>>() else {
        return;
    };
    let kept: Vec<_> = images
        .iter()
        .filter(|(_, image)| image.asset_usage.contains(bevy::asset::RenderAssetUsages::all()))
        .map(|(id, _)| id)
        .collect();
    for id in kept {
        if let Some(mut image) = images.get_mut(id) {
            image.asset_usage = bevy::asset::RenderAssetUsages::RENDER_WORLD;
        }
    }
}
