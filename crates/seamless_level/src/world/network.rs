//! A world's packages, listed for references over the network. See [`list_packages`].

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use bevy_asset::AssetPath;
use bevy_ecs::{
    change_detection::{DetectChanges, Ref, ResMut},
    lifecycle::RemovedComponents,
    query::With,
    system::{Local, Query, Res},
};
use bevy_log::error;
use seamless_asset::{
    InstancePath, StreamingClock,
    net::{NetPackage, NetPackages, PackageConnection},
    package::package_map::MapError,
};

use super::{EvenHidden, LevelTable};
use crate::manifest::PackageEntry;

/// What is listed of worlds.
#[derive(Default)]
pub(crate) struct ListedWorlds {
    /// The packages that only worlds have listed.
    packages: HashSet<Arc<str>>,
    /// A world has come or gone since the list was that of those that are there.
    is_stale: bool,
}

/// Lists the packages of worlds, in the order of their names, each with its placements behind it, up to the first that cannot be listed: without it, those behind
/// it would have other places than at the peers.
///
/// As long as there is no connection, the list is what the worlds are that are there, in the order of their names: whoever leaves one server
/// joins the next one with the list of its world. While there is one, the list grows.
pub(crate) fn list_packages(
    worlds: Query<Ref<LevelTable>, EvenHidden>,
    mut gone: RemovedComponents<LevelTable>,
    peers: Query<(), With<PackageConnection>>,
    mut list: ResMut<NetPackages>,
    mut listed: Local<ListedWorlds>,
    clock: Res<StreamingClock>,
) {
    let has_come = worlds.iter().any(|table| table.is_added());
    listed.is_stale |= gone.read().count() > 0 || has_come;
    let free = peers.is_empty();
    let is_due = listed.is_stale && free;
    if !(has_come || is_due) {
        return;
    }
    let _time = clock.measure("packages of a world, listed for the network");
    if free {
        // All anew: who has come first must make no difference, and a world may have taken the place of another one of its name.
        let of_worlds = core::mem::take(&mut listed.packages);
        list.retain(|name| !of_worlds.contains(name));
        listed.is_stale = false;
    }
    let mut come: Vec<_> = worlds.iter().filter(|table| free || table.is_added()).collect();
    come.sort_by(|a, b| a.name().cmp(b.name()));
    for table in come {
        list_world(&table, &mut list, &mut listed.packages);
    }
}

fn list_world(table: &LevelTable, list: &mut NetPackages, of_worlds: &mut HashSet<Arc<str>>) {
    let mut placements = placements(table);
    for (entry, path) in &table.packages {
        let placements = placements.remove(path).unwrap_or_default();
        let count = list.map().len();
        let listing = list_package(list, entry, path, &placements);
        // What the game has listed itself stays its own, with all that is placed of it.
        if let Some(new) = list.map().package(count) {
            of_worlds.insert(new.path.clone());
        }
        if let Err(error) = listing {
            error!(
                "seamless world `{}`: references over the network: {error}",
                table.name()
            );
            break;
        }
    }
}

/// The manifest's levels of each package, in its order.
fn placements(table: &LevelTable) -> HashMap<AssetPath<'static>, Vec<InstancePath>> {
    let mut placements = HashMap::<_, Vec<_>>::new();
    for level in table.iter().filter(|level| table.listed(level.name()).is_some()) {
        let of = placements.entry(level.package().clone()).or_default();
        of.push(level.path().clone());
    }
    placements
}

fn list_package(
    list: &mut NetPackages,
    entry: &PackageEntry,
    path: &AssetPath<'static>,
    placements: &[InstancePath],
) -> Result<(), MapError> {
    let package = list.list(NetPackage {
        name: entry.package.as_str().into(),
        path: path.clone(),
        content_hash: entry.content_hash,
        exports: entry.exports,
        entities: entry.entities,
    })?;
    let Some((first, further)) = placements.split_first() else {
        return Ok(());
    };
    list.list_instance(package, first)?;
    let mut further = further.to_vec();
    further.sort_unstable();
    for path in &further {
        list.list_instance(package, path)?;
    }
    Ok(())
}
