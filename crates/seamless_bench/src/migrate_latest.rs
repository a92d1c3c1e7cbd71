//! `migrate_latest`: what it costs to be able to migrate where nothing is old.
//!
//! The app has a history, and the package is at its end: 1 000 entities with a component that goes by reflection and one that is
//! copied as it is, and 100 assets that go by reflection. Ours is opening, linking and decoding it out of memory. The limit is
//! the same in a build without the feature `migrations`, so it takes two builds:
//!
//! ```text
//! cargo run --release -p seamless_bench --no-default-features -- --filter migrate_latest --json without.json
//! cargo run --release -p seamless_bench -- --filter migrate_latest --limit-from without.json
//! ```

use std::{path::Path, time::Duration};

use bevy_app::App;
use bevy_asset::{AssetPath, io::memory::Dir};
use bevy_reflect::{Reflect, TypePath};
use seamless_asset::{
    LiveObjectsResource, SeamlessAssetApp,
    bench_support::{HAS_MIGRATIONS, Services},
    codec::{Encoding, Migrations},
};

use crate::{
    app::{cpu_ns, writer},
    level::{entity, level},
    read_bulk::{Body, body},
    row::{Row, Samples, Targets},
    scene::{Crate, crate_number},
    stones::{our_app, write_stone},
};

const WITH: &str = "migrate_latest";
const WITHOUT: &str = "migrate_latest/without";
/// The row of this build.
pub const NAME: &str = if HAS_MIGRATIONS { WITH } else { WITHOUT };

const PACKAGE: &str = "latest.pkg";
const ENTITIES: usize = 1000;
/// No more than [`PER_FILE`](crate::stones::PER_FILE) have different names.
const ASSETS: usize = 100;

/// Measures decoding.
pub fn run(samples: Option<usize>) -> Row {
    let mut app = our_app(&Dir::default());
    app.register_type::<Body>()
        .register_type::<Crate>()
        .add_migrations(history());
    let objects = app.world().resource::<LiveObjectsResource>().0.clone();
    app.update();
    let services = Services::new(app.world()).expect("the app has the plugin");
    let package = package(&app);
    let path = AssetPath::from(PACKAGE);
    let mut result = Samples::default();
    for round in 0..samples.unwrap_or(301) + 10 {
        let (ours, decoded) = cpu_ns(|| services.decode(&path, &package).expect("the package is sound"));
        assert_eq!(objects.len(), ASSETS, "all assets are decoded");
        drop(decoded);
        services.free_returned(app.world_mut());
        app.update();
        // The first rounds warm caches and allocator.
        if round >= 10 {
            result.ours.push(ours / (ENTITIES + ASSETS) as f64);
        }
    }
    let targets = Targets {
        of_limit: Some(1.05),
        ..Targets::default()
    };
    let limit = HAS_MIGRATIONS.then_some("a build without `migrations`, in a run before");
    result.row(NAME, "ns/object", None, limit, targets)
}

/// What happened to the types before the package was cooked.
fn history() -> Migrations {
    Migrations::game()
        .entry("initial")
        .entry("masses, not weights")
        .rename_field(Body::type_path(), "weight", "mass")
        .entry("crates have locks")
        .patch(Crate::type_path(), |_| Ok(()))
}

fn package(app: &App) -> Vec<u8> {
    let mut writer = writer(app.world(), PACKAGE);
    for number in 0..ASSETS {
        write_stone(&mut writer, app, number);
    }
    let crates: Vec<Crate> = (0..ENTITIES)
        .map(|row| crate_number(row, entity((row + 1) % ENTITIES)))
        .collect();
    let bodies: Vec<Body> = (0..ENTITIES).map(body).collect();
    let columns = [
        crates.iter().map(|value| value as &dyn Reflect).collect(),
        bodies.iter().map(|value| value as &dyn Reflect).collect(),
    ];
    let columns = level(&mut writer, app.world(), PACKAGE, &columns);
    let encodings: Vec<u8> = columns.iter().map(|(encoding, _)| *encoding).collect();
    assert_eq!(encodings, [Encoding::Reflect as u8, Encoding::Plain as u8]);
    writer.finish().expect("the package is within the limits")
}

/// How old a limit may be: of the same machine in the same state, and of the same code.
const LIMIT_LASTS: Duration = Duration::from_secs(2 * 60 * 60);

/// Takes the limit from what a build without `migrations` wrote to `path`, not long ago.
///
/// # Errors
/// When the file is no such thing, or is old, or this build has no row to put it in.
pub fn take_limit(rows: &mut [Row], path: &Path) -> Result<(), String> {
    let json = std::fs::read(path).map_err(|error| error.to_string())?;
    let without: serde_json::Value = serde_json::from_slice(&json).map_err(|error| error.to_string())?;
    let without = without.as_array().into_iter().flatten();
    let limit = without
        .filter(|row| row["name"] == WITHOUT)
        .find_map(|row| row["ours"].as_f64());
    let limit = limit.ok_or_else(|| format!("has no `{WITHOUT}`; write it by a build with `--no-default-features`"))?;
    let row = rows.iter_mut().find(|row| row.name == WITH);
    let row =
        row.ok_or_else(|| format!("`{WITH}` was not measured; use `--filter {WITH}` in a build with `migrations`"))?;
    let age = age(path)?;
    row.limit = Some(limit);
    row.note = format!(
        "its limit was measured {} minutes before, by another build",
        age.as_secs() / 60
    );
    Ok(())
}

fn age(path: &Path) -> Result<Duration, String> {
    let written = std::fs::metadata(path).and_then(|metadata| metadata.modified());
    // From the future is new enough.
    let age = written
        .map_err(|error| error.to_string())?
        .elapsed()
        .unwrap_or_default();
    if age > LIMIT_LASTS {
        let hours = age.as_secs() / 3600;
        return Err(format!(
            "was written {hours} hours ago; measure the limit again, right before this run"
        ));
    }
    Ok(age)
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn only_a_new_limit_of_the_right_row_is_taken() {
        let dir = tempfile::tempdir().expect("there is room");
        let path = dir.path().join("without.json");
        let row = || vec![Samples::default().row(WITH, "ns/object", None, None, Targets::default())];
        let taken = |rows: &mut [Row]| take_limit(rows, &path);
        std::fs::write(&path, format!("[{{\"name\": \"{WITHOUT}\", \"ours\": 7.5}}]")).expect("it can be written");
        let mut rows = row();
        assert_eq!(taken(&mut rows), Ok(()));
        assert_eq!(rows[0].limit, Some(7.5));
        assert!(rows[0].note.contains("0 minutes before"), "{}", rows[0].note);
        assert!(taken(&mut []).is_err_and(|error| error.contains("was not measured")));
        let old = SystemTime::now() - LIMIT_LASTS - Duration::from_secs(60);
        let file = std::fs::File::options().write(true).open(&path).expect("it is there");
        file.set_modified(old).expect("it is ours");
        let mut rows = row();
        assert!(taken(&mut rows).is_err_and(|error| error.contains("2 hours ago")));
        assert_eq!(rows[0].limit, None);
        std::fs::write(&path, "[]").expect("it can be written");
        assert!(taken(&mut row()).is_err_and(|error| error.contains(WITHOUT)));
    }
}
