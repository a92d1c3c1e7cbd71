//! A world's packages are listed for references over the network.

use seamless_asset::net::{NetPackage, NetPackages, PackageConnection, PackageMapPlugin};

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

fn named(name: &str, manifest: WorldManifest) -> WorldManifest {
    WorldManifest {
        name: name.into(),
        ..manifest
    }
}

fn networked() -> App {
    let mut app = level_app(SeamlessLevelPlugin::default());
    app.add_plugins(PackageMapPlugin::default());
    app
}

fn come(app: &mut App, manifest: WorldManifest) -> Entity {
    let handle = add_manifest(app, manifest);
    let world = app.world_mut().spawn(SeamlessWorld(handle)).id();
    app.update();
    app.update();
    assert!(app.world().get::<LevelTable>(world).is_some());
    world
}

fn leave(app: &mut App, world: Entity) {
    app.world_mut().despawn(world);
    app.update();
}

fn of(content: u64, names: &[&str]) -> Vec<(String, u64, u32)> {
    let entry = |name: &&str| ((*name).to_owned(), content, 12);
    names.iter().map(entry).collect()
}

/// Whoever leaves a server and joins another one has the list of the world that is there now.
#[test]
fn without_a_connection_the_list_is_what_the_worlds_are() {
    let mut app = networked();
    let first = come(&mut app, with_packages(&["west.pkg", "base.pkg"], 1));
    assert_eq!(listed(&app), of(1, &["base.pkg", "west.pkg"]));
    leave(&mut app, first);
    assert_eq!(listed(&app), []);
    // It comes again, with one package more and other content.
    let second = come(&mut app, with_packages(&["base.pkg", "east.pkg", "west.pkg"], 2));
    assert_eq!(listed(&app), of(2, &["base.pkg", "east.pkg", "west.pkg"]));
    // In the same frame another one takes its place.
    app.world_mut().despawn(second);
    come(&mut app, with_packages(&["base.pkg", "north.pkg"], 3));
    assert_eq!(listed(&app), of(3, &["base.pkg", "north.pkg"]));
}

/// In whatever order they come; what the game has listed itself is before them, and stays.
#[test]
fn worlds_are_listed_in_the_order_of_their_names() {
    for reversed in [false, true] {
        let mut app = networked();
        let mut worlds = [("cave", "cave.pkg"), ("town", "town.pkg")];
        if reversed {
            worlds.reverse();
        }
        let mut entities = Vec::new();
        for (at, (name, package)) in worlds.into_iter().enumerate() {
            entities.push(come(&mut app, named(name, with_packages(&[package], 1))));
            if at == 0 {
                let mut list = app.world_mut().resource_mut::<NetPackages>();
                let own = NetPackage {
                    name: "own.pkg".into(),
                    path: "own.pkg".into(),
                    content_hash: 1,
                    exports: 5,
                    entities: 7,
                };
                list.list(own).unwrap();
            }
        }
        assert_eq!(listed(&app), of(1, &["own.pkg", "cave.pkg", "town.pkg"]));
        leave(&mut app, entities[0]);
        let left = worlds[1].1;
        assert_eq!(listed(&app), of(1, &["own.pkg", left]));
    }
}

/// Two worlds may share a package: whoever comes first has no say in where it stands, or whose placement is its own.
#[test]
fn what_worlds_share_is_listed_the_same_whoever_comes_first() {
    let expected = of(1, &["cave.pkg", "shared.pkg", "arch.pkg"]);
    for order in [["cave", "town"], ["town", "cave"]] {
        let mut app = networked();
        let packages = |name| {
            if name == "cave" {
                ["shared.pkg", "cave.pkg"]
            } else {
                ["arch.pkg", "shared.pkg"]
            }
        };
        let worlds = order.map(|name| come(&mut app, named(name, with_packages(&packages(name), 1))));
        assert_eq!(listed(&app), expected, "{order:?}");
        leave(&mut app, worlds[0]);
        let mut left = packages(order[1]);
        left.sort_unstable();
        assert_eq!(listed(&app), of(1, &left), "{order:?}");
    }
}

/// The first placement of a package is that of the first world, and that of the second one is once the first has gone.
#[test]
fn placements_of_a_shared_package_are_in_the_order_of_their_worlds() {
    for order in [["cave", "town"], ["town", "cave"]] {
        let mut app = networked();
        let worlds = order.map(|name| come(&mut app, named(name, with_packages(&["west.pkg"], 1))));
        let names = |app: &App| listed(app).into_iter().map(|(name, ..)| name).collect::<Vec<_>>();
        assert_eq!(names(&app), ["west.pkg", "west.pkg@town/west"], "{order:?}");
        leave(&mut app, worlds[0]);
        assert_eq!(names(&app), ["west.pkg"], "{order:?}");
    }
}

/// A manifest that is loaded anew while there is a connection is listed once that is over.
#[test]
fn a_world_that_is_built_anew_is_listed_when_nobody_is_connected() {
    let mut app = networked();
    let world = come(&mut app, with_packages(&["base.pkg", "west.pkg"], 1));
    let connection = app.world_mut().spawn(PackageConnection::default()).id();
    let handle = add_manifest(&mut app, with_packages(&["base.pkg", "west.pkg"], 2));
    app.world_mut().entity_mut(world).insert(SeamlessWorld(handle));
    for _ in 0..3 {
        app.update();
    }
    assert_eq!(listed(&app), of(1, &["base.pkg", "west.pkg"]));
    leave(&mut app, connection);
    assert_eq!(listed(&app), of(2, &["base.pkg", "west.pkg"]));
}

/// What was compared with a peer stays where it is, until nobody is there any more.
#[test]
fn while_there_is_a_connection_the_list_grows() {
    let mut app = networked();
    let first = come(&mut app, with_packages(&["west.pkg", "base.pkg"], 1));
    let connection = app.world_mut().spawn(PackageConnection::default()).id();
    leave(&mut app, first);
    let second = come(&mut app, with_packages(&["base.pkg", "east.pkg"], 1));
    assert_eq!(listed(&app), of(1, &["base.pkg", "west.pkg", "east.pkg"]));
    // Other content under a name that is listed: nothing of it is taken.
    leave(&mut app, second);
    come(&mut app, with_packages(&["base.pkg", "north.pkg"], 2));
    assert_eq!(listed(&app), of(1, &["base.pkg", "west.pkg", "east.pkg"]));
    leave(&mut app, connection);
    assert_eq!(listed(&app), of(2, &["base.pkg", "north.pkg"]));
}

/// Each behind its package, in the order of their paths; the first of the manifest is the package's own entry.
#[test]
fn further_placements_of_a_package_are_listed_behind_it() {
    let mut app = networked();
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
