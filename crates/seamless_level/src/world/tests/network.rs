//! A world's packages are listed for references over the network.

use seamless_asset::net::{NetPackages, PackageMapPlugin};

use super::*;

fn listed(app: &App) -> Vec<(String, u64, u32)> {
    let map = app.world().resource::<NetPackages>().map();
    let packages = (0..map.len()).filter_map(|at| map.package(at));
    packages
        .map(|info| (info.path.to_string(), info.content_hash, info.export_count))
        .collect()
}

fn with_packages(names: &[&str], content_hash: u64) -> WorldManifest {
    let entry = |name: &&str| PackageEntry {
        package: (*name).into(),
        content_hash,
        exports: 5,
        entities: 7,
    };
    WorldManifest {
        packages: names.iter().map(entry).collect(),
        ..manifest()
    }
}

#[test]
fn packages_are_listed_by_name_once() {
    let mut app = level_app(SeamlessLevelPlugin::default());
    app.add_plugins(PackageMapPlugin::default());
    let spawn = |app: &mut App, manifest: WorldManifest| {
        let handle = add_manifest(app, manifest);
        let world = app.world_mut().spawn(SeamlessWorld(handle)).id();
        app.update();
        app.update();
        assert!(app.world().get::<LevelTable>(world).is_some());
        world
    };
    let first = spawn(&mut app, with_packages(&["west.pkg", "base.pkg"], 1));
    let expected = ["base.pkg", "west.pkg"].map(|name| (name.to_owned(), 1, 12));
    assert_eq!(listed(&app), expected);
    // It comes again, with one package more.
    app.world_mut().entity_mut(first).despawn();
    let second = spawn(&mut app, with_packages(&["base.pkg", "east.pkg", "west.pkg"], 1));
    let [base, west] = expected;
    let expected = [base, west, ("east.pkg".to_owned(), 1, 12)];
    assert_eq!(listed(&app), expected);
    // Other content under a name that is listed: nothing of it is taken.
    app.world_mut().entity_mut(second).despawn();
    spawn(&mut app, with_packages(&["base.pkg", "north.pkg"], 2));
    assert_eq!(listed(&app), expected);
}

/// Each behind its package, in the order of their paths; the first of the manifest is the package's own entry.
#[test]
fn further_placements_of_a_package_are_listed_behind_it() {
    let mut app = level_app(SeamlessLevelPlugin::default());
    app.add_plugins(PackageMapPlugin::default());
    let mut manifest = with_packages(&["west.pkg", "base.pkg"], 1);
    let west = manifest.levels.iter().find(|level| level.name == "west").cloned();
    for name in ["hut_2", "hut_1"] {
        let level = west.clone().map(|level| LevelEntry {
            name: name.into(),
            ..level
        });
        manifest.levels.extend(level);
    }
    let handle = add_manifest(&mut app, manifest);
    app.world_mut().spawn(SeamlessWorld(handle));
    app.update();
    app.update();
    let expected = [
        ("base.pkg", 12),
        ("west.pkg", 12),
        ("west.pkg@test/hut_1", 7),
        ("west.pkg@test/hut_2", 7),
    ];
    assert_eq!(
        listed(&app),
        expected.map(|(name, objects)| (name.to_owned(), 1, objects))
    );
}
