//! Loads the startup package before the first frame. See [`SeamlessStartupPlugin`].

use std::sync::Arc;

use bevy_app::{App, Plugin};
use bevy_asset::AssetPath;
use bevy_log::{error, info};

use super::{StartupContent, StartupReport};
use crate::{
    error::LoadError,
    load::{LoadedStartup, Pipeline, StartupWindows, load_startup},
};

/// Loads the app's startup package when all plugins are there and before the first frame, so that systems in `PreStartup` and
/// `Startup` find its values in their `Assets`. Add it after [`SeamlessAssetPlugin`](crate::SeamlessAssetPlugin).
///
/// The file is read once, front to back, and no other file is: a thread reads ahead, window by window, while what is complete is
/// decoded. A package that is missing or damaged is logged and told by [`StartupContent::error`]; nothing of it is live then, and the
/// app goes on without.
///
/// ```no_run
/// # use bevy_app::App; use seamless_asset::{SeamlessAssetPlugin, SeamlessStartupPlugin};
/// App::new().add_plugins((SeamlessAssetPlugin::default(), SeamlessStartupPlugin::new("my_world/startup.pkg")));
/// ```
pub struct SeamlessStartupPlugin {
    /// Where the package is: `startup.pkg`, beside the world's manifest.
    pub package: AssetPath<'static>,
    /// Bytes that are read at a time; taken between 1 KiB and 64 MiB. Default: 1 MiB.
    pub window_bytes: usize,
    /// Windows that may be read ahead of the decoding, 64 at most. Default: 4.
    pub windows_ahead: usize,
}

impl SeamlessStartupPlugin {
    /// Loads the package at this path.
    pub fn new(package: impl Into<AssetPath<'static>>) -> Self {
        Self {
            package: package.into(),
            window_bytes: 1 << 20,
            windows_ahead: 4,
        }
    }
}

impl Plugin for SeamlessStartupPlugin {
    fn build(&self, app: &mut App) {
        app.init_resource::<StartupContent>()
            .register_type::<StartupContent>()
            .register_type::<StartupReport>();
    }

    /// All plugins are finished by now, and no frame has run.
    fn cleanup(&self, app: &mut App) {
        if !app.world().contains_resource::<Pipeline>() {
            error!("SeamlessStartupPlugin loads nothing: add SeamlessAssetPlugin before it");
            return;
        }
        let windows = StartupWindows {
            bytes: self.window_bytes.clamp(1 << 10, 64 << 20),
            ahead: self.windows_ahead.clamp(1, 64),
        };
        match load_startup(app.world_mut(), &self.package, windows) {
            Ok(loaded) => take(app, loaded),
            Err(error) => fail(app, *error),
        }
    }
}

fn take(app: &mut App, loaded: LoadedStartup) {
    let LoadedStartup { index, mut report } = loaded;
    let mut content = app.world_mut().resource_mut::<StartupContent>();
    content.loaded(index);
    report.missing = content.missing();
    info!("{}", line(&report));
    for missing in &report.missing {
        error!(
            "startup content `{}` of `{}` is not in {}; cook again, with that plugin in the cook program",
            missing.path, missing.owner, report.package
        );
    }
    app.insert_resource(report);
}

fn fail(app: &mut App, error: LoadError) {
    let mut content = app.world_mut().resource_mut::<StartupContent>();
    let lacks: Vec<&str> = content
        .registrations
        .iter()
        .map(|registered| &*registered.path)
        .collect();
    error!(
        "startup content cannot be loaded: {error}; the app goes on without {}",
        lacks.join(", ")
    );
    content.state = super::State::Failed(Arc::new(error));
}

/// The report in one line.
fn line(report: &StartupReport) -> String {
    let owners = report.owners.iter().map(|owner| {
        let bytes = owner.exclusive.resident_bytes + owner.shared.resident_bytes;
        format!("{} {bytes} B", owner.owner)
    });
    let read = report.read.unwrap_or_default();
    format!(
        "startup content: {} objects, {} bytes for ever, from {} ({} bytes) in {:.1} ms and {} windows; pinned by {}",
        report.total.objects,
        report.total.resident_bytes,
        report.package,
        report.package_bytes,
        read.took.as_secs_f64() * 1e3,
        read.windows,
        owners.collect::<Vec<_>>().join(", "),
    )
}
