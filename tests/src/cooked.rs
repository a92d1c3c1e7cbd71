//! Cooked worlds in a temporary directory, and apps that stream them.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use bevy::{app::PluginGroupBuilder, prelude::*};
use bevy_seamless::prelude::*;
use seamless_cook::{CookApp, CookError, CookOptions, CookReport};
use tempfile::TempDir;

use crate::app::{headless_with, run_until};

/// How long a level may take to come or to go.
pub const STREAM_LIMIT: Duration = Duration::from_secs(240);

/// The manifest of every world that [`Cooked`] makes, in its `out` directory.
pub const MANIFEST: &str = "test.seamless";

/// The world file of every world that is cooked here, beside its sources.
const WORLD_FILE: &str = "test.world.ron";

/// Sources, the world file `test.world.ron` and, in `out`, what was cooked from them.
pub struct Cooked {
    dir: TempDir,
    /// What the cook reported.
    pub report: CookReport,
}

impl Cooked {
    /// Lets `sources` write files into an empty directory, puts the world file `world` beside them and cooks it, in an
    /// app that `configure` was run on.
    ///
    /// # Panics
    /// When the cook fails; with all its errors.
    pub fn new(sources: impl FnOnce(&Path), world: &str, configure: fn(&mut App)) -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        sources(dir.path());
        let report = cook(dir.path(), world, &dir.path().join("out"), configure)
            .unwrap_or_else(|error| panic!("{}", describe(&error)));
        Self { dir, report }
    }

    /// Cooks the same sources again, as `options` say.
    ///
    /// # Panics
    /// When the cook fails; with all its errors.
    pub fn cook_again(&mut self, options: &CookOptions, configure: fn(&mut App)) {
        let report = cook_with(self.sources(), &self.out(), options, configure);
        self.report = report.unwrap_or_else(|error| panic!("{}", describe(&error)));
    }

    /// Where the sources are.
    #[must_use]
    pub fn sources(&self) -> &Path {
        self.dir.path()
    }

    /// Where the packages are.
    #[must_use]
    pub fn out(&self) -> PathBuf {
        self.dir.path().join("out")
    }

    /// The file of a package or of the manifest.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.out().join(name)
    }

    /// An app with `SeamlessPlugins` in which the manifest is loaded; the entity is the seamless world.
    ///
    /// # Panics
    /// When the manifest does not load.
    pub fn start(&self, configure: fn(&mut App)) -> (App, Entity) {
        let mut app = streaming_app(&self.out(), configure);
        let world = spawn_world(&mut app, MANIFEST);
        let there = run_until(&mut app, STREAM_LIMIT, |ecs| ecs.get::<LevelTable>(world).is_some());
        assert!(
            there,
            "the manifest does not load: {:?}",
            app.world().get::<WorldFailure>(world)
        );
        (app, world)
    }
}

/// Cooks the world file text `world`, written into `sources`, into `out`, with the profile `exact`.
///
/// # Errors
/// The cooker's.
///
/// # Panics
/// When the world file cannot be written.
pub fn cook(sources: &Path, world: &str, out: &Path, configure: fn(&mut App)) -> Result<CookReport, CookError> {
    fs::write(sources.join(WORLD_FILE), world).expect("the world file is written");
    cook_with(sources, out, &CookOptions::default(), configure)
}

/// Cooks the world file that [`cook`] wrote, as `options` say.
///
/// # Errors
/// The cooker's.
pub fn cook_with(
    sources: &Path,
    out: &Path,
    options: &CookOptions,
    configure: fn(&mut App),
) -> Result<CookReport, CookError> {
    let cooker = CookApp::new().with(configure);
    cooker.cook(&sources.join(WORLD_FILE), out, options, &())
}

/// A cook's error with everything that it lists.
#[must_use]
pub fn describe(error: &CookError) -> String {
    let mut text = error.to_string();
    for error in error.content_errors() {
        text.push_str(&format!("\n  {error}"));
    }
    text
}

/// A headless app with `SeamlessPlugins` that reads packages from `out`; frames have as much time as they need.
pub fn streaming_app(out: &Path, configure: fn(&mut App)) -> App {
    streaming_app_with(out, SeamlessPlugins.build(), configure)
}

/// The same with these plugins.
pub fn streaming_app_with(out: &Path, plugins: PluginGroupBuilder, configure: fn(&mut App)) -> App {
    headless_with(out, |app| {
        app.add_plugins(plugins);
        let mut settings = app.world_mut().resource_mut::<StreamingSettings>();
        settings.budget = Duration::from_millis(50);
        // On a busy machine, the threads that read files get next to nothing of it.
        settings.read_timeout = Duration::ZERO;
        // A failure is one, and not the first of five.
        app.world_mut().resource_mut::<LevelSettings>().retry = RetryPolicy::OFF;
        configure(app);
    })
}

/// Spawns the seamless world of a manifest.
pub fn spawn_world(app: &mut App, manifest: &str) -> Entity {
    let handle = app.world().resource::<AssetServer>().load(manifest.to_owned());
    app.world_mut().spawn(SeamlessWorld(handle)).id()
}

/// What to do with a level by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// [`Levels::load`].
    Load,
    /// [`Levels::preload`].
    Preload,
    /// [`Levels::unload`].
    Unload,
    /// [`Levels::release`].
    Release,
    /// [`Levels::retry`].
    Retry,
}

/// Asks for a level.
///
/// # Panics
/// When the request is refused.
pub fn ask(app: &mut App, level: &str, what: Ask) {
    let level = level.to_owned();
    let asked = app.world_mut().run_system_cached_with(
        |In((level, what)): In<(String, Ask)>, mut levels: Levels| match what {
            Ask::Load => levels.load(&level),
            Ask::Preload => levels.preload(&level),
            Ask::Unload => levels.unload(&level),
            Ask::Release => levels.release(&level),
            Ask::Retry => levels.retry(&level),
        },
        (level, what),
    );
    asked.expect("the system runs").expect("the request is taken");
}

/// Where a level is.
///
/// # Panics
/// When there is no such level.
#[must_use]
pub fn state(ecs: &World, world: Entity, level: &str) -> LevelState {
    level_of(ecs, world, level).state()
}

/// A level of the world's table.
///
/// # Panics
/// When there is no such level.
#[must_use]
pub fn level_of<'w>(ecs: &'w World, world: Entity, level: &str) -> &'w Level {
    let table = ecs.get::<LevelTable>(world).expect("the world has levels");
    table.get(level).unwrap_or_else(|| panic!("there is no level {level}"))
}

/// Waits until the level is live, and returns its root.
///
/// # Panics
/// When it fails or does not come.
pub fn wait_until_live(app: &mut App, world: Entity, level: &str) -> Entity {
    let over = run_until(app, STREAM_LIMIT, |ecs| {
        matches!(state(ecs, world, level), LevelState::Visible | LevelState::Failed)
    });
    let level = level_of(app.world(), world, level);
    assert!(over, "{} does not come: {:?}", level.name(), level.state());
    level
        .root()
        .unwrap_or_else(|| panic!("{} failed: {:?}", level.name(), level.error().map(ToString::to_string)))
}

/// Asks for the level and waits until it is live; returns its root.
///
/// # Panics
/// When it fails or does not come.
pub fn reveal(app: &mut App, world: Entity, level: &str) -> Entity {
    ask(app, level, Ask::Load);
    wait_until_live(app, world, level)
}

/// Asks for the level and waits until it has failed; returns the error's text.
///
/// # Panics
/// When it comes, or nothing happens.
pub fn reveal_fails(app: &mut App, world: Entity, level: &str) -> String {
    ask(app, level, Ask::Load);
    let over = run_until(app, STREAM_LIMIT, |ecs| {
        matches!(state(ecs, world, level), LevelState::Visible | LevelState::Failed)
    });
    let level = level_of(app.world(), world, level);
    assert!(
        over && level.state() == LevelState::Failed,
        "{} is {:?}",
        level.name(),
        level.state()
    );
    level.error().expect("a failed level has an error").to_string()
}
