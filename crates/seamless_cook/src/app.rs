//! The cooker: a headless Bevy app. See [`CookApp`].

use core::time::Duration;
use std::path::Path;
use std::time::Instant;

use bevy::app::TerminalCtrlCHandlerPlugin;
use bevy::asset::UnapprovedPathMode;
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
use seamless_asset::codec::Codecs;
use seamless_render::SeamlessRenderPlugin;

use crate::assets::AssetStore;
use crate::level::{EncodedLevel, LevelEncoder};
use crate::load::Loader;
use crate::plan::{WorldPlan, world_name};
use crate::report::{ContentError, CookError, CookReport, Progress, Stage};
use crate::{share, startup, write};

/// What a cook does with the data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Profile {
    /// Changes no data: a cooked level equals the one that Bevy's own spawner makes.
    #[default]
    Exact,
    /// As `Exact`, but images are kept on the GPU only at run time (`RenderAssetUsages::RENDER_WORLD`), which halves
    /// their memory. Meshes keep their copy: bounds and ray casts read it.
    Dev,
}

/// How to cook.
#[derive(Debug, Clone)]
pub struct CookOptions {
    /// What to do with the data.
    pub profile: Profile,
    /// How long a load may go without any progress before it is an error. Default: 30 s.
    pub load_timeout: Duration,
    /// How many levels are loaded at once, the one that is encoded included; at least one. Default: 8.
    pub levels_ahead: usize,
}

impl Default for CookOptions {
    fn default() -> Self {
        Self {
            profile: Profile::Exact,
            load_timeout: Duration::from_secs(30),
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
    pub(crate) setup: Vec<Box<dyn Fn(&mut App)>>,
    pub(crate) log: bool,
}

impl CookApp {
    /// A cooker that knows Bevy's own types.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Changes the headless app before it starts: plugins, types, codecs, asset loaders, startup content. Runs once per cook, after
    /// Bevy's own plugins and the built-in codecs are added. Systems that come along run, and only warn when they fail.
    #[must_use]
    pub fn with<R>(mut self, setup: impl Fn(&mut App) -> R + 'static) -> Self {
        self.setup.push(Box::new(move |app| {
            setup(app);
        }));
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
        let start = Instant::now();
        let mut report = CookReport {
            world: world_name(world_file),
            ..CookReport::default()
        };
        let plan = match WorldPlan::read(world_file) {
            Ok(plan) => plan,
            Err(errors) => return Err(failed(report, errors, start)),
        };
        let mut app = self.build_app(&plan.root);
        let mut store = AssetStore::default();
        let mut errors = Vec::new();
        let startup = startup::encode(&mut app, &plan, options, &mut store, &mut errors, prepare);
        let warnings = &mut report.warnings;
        let levels = encode_levels(&mut app, &plan, options, progress, &mut store, &mut errors, warnings);
        report.warnings.extend(store.take_warnings());
        if !errors.is_empty() {
            return Err(failed(report, errors, start));
        }
        let packages = match share::assign(&plan, startup.as_ref(), &levels, &store, progress) {
            Ok(packages) => packages,
            Err(errors) => return Err(failed(report, errors, start)),
        };
        let world_path = world_file.display().to_string();
        let versions = app.world().resource::<Codecs>().read().migrations().versions().to_vec();
        write::write_world(
            &plan,
            &world_path,
            levels,
            store,
            &packages,
            &versions,
            out,
            progress,
            &mut report,
        )
        .map_err(|error| error.into_cook_error(&mut report, start))?;
        report.seconds = start.elapsed().as_secs_f64();
        Ok(report)
    }

    /// Bevy without window and GPU, with every loader and format, reading below `root`.
    fn build_app(&self, root: &Path) -> App {
        let mut app = App::new();
        let mut plugins = DefaultPlugins
            .build()
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
            .set(AssetPlugin {
                file_path: root.to_string_lossy().into_owned(),
                watch_for_changes_override: Some(false),
                use_asset_processor_override: Some(false),
                mode: AssetMode::Unprocessed,
                // Sources may refer to files beside the root; the author runs this on their own files.
                unapproved_path_mode: UnapprovedPathMode::Allow,
                ..default()
            });
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
        for setup in &self.setup {
            setup(&mut app);
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

fn failed(mut report: CookReport, mut errors: Vec<ContentError>, start: Instant) -> CookError {
    errors.dedup();
    report.errors = errors;
    report.seconds = start.elapsed().as_secs_f64();
    CookError::Content(Box::new(report))
}

/// Loads and encodes the levels in order, a few being loaded ahead.
fn encode_levels(
    app: &mut App,
    plan: &WorldPlan,
    options: &CookOptions,
    progress: &dyn Progress,
    store: &mut AssetStore,
    errors: &mut Vec<ContentError>,
    warnings: &mut Vec<ContentError>,
) -> Vec<EncodedLevel> {
    let steps = plan.levels.len() as u64;
    progress.begin(Stage::Load, steps);
    progress.begin(Stage::Encode, steps);
    let mut encoded = Vec::new();
    let mut loader = Loader::new(&plan.levels, options);
    let mut encoder = LevelEncoder::new(plan.resources);
    for (index, level) in plan.levels.iter().enumerate() {
        let outcome = loader.wait_for(app, index);
        progress.step(Stage::Load, &level.name);
        prepare(app.world_mut(), options);
        outcome.encode(errors, |root, errors| {
            encoded.extend(encoder.encode(app.world(), index, level, root, store, errors, warnings));
        });
        loader.release(index);
        progress.step(Stage::Encode, &level.name);
    }
    progress.end(Stage::Load);
    progress.end(Stage::Encode);
    encoded
}

/// What the profile does to what was loaded, before it is encoded.
fn prepare(world: &mut World, options: &CookOptions) {
    if options.profile == Profile::Dev {
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
