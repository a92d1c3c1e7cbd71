//! A world's packages, listed for references over the network. See [`list_packages`].

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use bevy_asset::AssetPath;
use bevy_ecs::{
    change_detection::{DetectChanges, DetectChangesMut, ResMut},
    entity::Entity,
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

use super::LevelTable;
use crate::manifest::PackageEntry;

/// Worlds whose packages are listed.
#[derive(Default)]
pub(crate) struct ListedWorlds {
    /// In the order of their names.
    worlds: Vec<ListedWorld>,
    /// One has come or gone since the list was arranged.
    is_stale: bool,
}

struct ListedWorld {
    entity: Entity,
    name: String,
    packages: Vec<Arc<str>>,
    /// Whether that is all of them.
    is_whole: bool,
}

/// Lists the packages of worlds that are new, in the order of their names, each with its placements behind it, up to the first that cannot be listed: without it, those behind
/// it would have other places than at the peers.
///
/// As long as there is no connection, the list is what the worlds are that are there, in the order of their names: whoever leaves one server
/// joins the next one with the list of its world. While there is one, the list grows.
pub(crate) fn list_packages(
    mut worlds: Query<(Entity, &mut LevelTable)>,
    mut gone: RemovedComponents<LevelTable>,
    peers: Query<(), With<PackageConnection>>,
    mut list: ResMut<NetPackages>,
    mut listed: Local<ListedWorlds>,
    clock: Res<StreamingClock>,
) {
    let new = worlds.iter_mut().filter(|(_, table)| table.is_added());
    let new: HashSet<Entity> = new.map(|(entity, _)| entity).collect();
    listed.is_stale |= gone.read().count() + new.len() > 0;
    if !listed.is_stale {
        return;
    }
    let _time = clock.measure();
    let free = peers.is_empty();
    if free {
        let stays =
            |world: &ListedWorld| world.is_whole && worlds.contains(world.entity) && !new.contains(&world.entity);
        let (stay, go): (Vec<_>, Vec<_>) = core::mem::take(&mut listed.worlds).into_iter().partition(stays);
        forget(&go, &stay, &mut list);
        listed.worlds = stay;
    }
    let known: HashSet<Entity> = listed.worlds.iter().map(|world| world.entity).collect();
    let comes = |entity: &Entity| new.contains(entity) || free && !known.contains(entity);
    let mut come: Vec<_> = worlds.iter_mut().filter(|(entity, _)| comes(entity)).collect();
    come.sort_by(|(_, a), (_, b)| a.name().cmp(b.name()));
    for (entity, mut table) in come {
        let world = list_world(entity, table.bypass_change_detection(), &mut list);
        listed.worlds.push(world);
    }
    if free {
        listed.worlds.sort_by(|a, b| a.name.cmp(&b.name));
        let of_worlds = (1..).zip(&listed.worlds);
        let ranks: HashMap<&str, u32> = of_worlds
            .flat_map(|(rank, world)| world.packages.iter().map(move |name| (&**name, rank)))
            .collect();
        list.arrange(|name| Some(ranks.get(name).copied().unwrap_or_default()));
        listed.is_stale = false;
    }
}

/// Takes what only worlds have listed that go out of the list.
fn forget(go: &[ListedWorld], stay: &[ListedWorld], list: &mut NetPackages) {
    let names = |worlds| -> HashSet<_> { packages_of(worlds).map(|name| &**name).collect() };
    let (gone, kept): (HashSet<&str>, HashSet<&str>) = (names(go), names(stay));
    if !gone.is_subset(&kept) {
        list.arrange(|name| (kept.contains(name) || !gone.contains(name)).then_some(0));
    }
}

fn packages_of(worlds: &[ListedWorld]) -> impl Iterator<Item = &Arc<str>> {
    worlds.iter().flat_map(|world| &world.packages)
}

fn list_world(entity: Entity, table: &mut LevelTable, list: &mut NetPackages) -> ListedWorld {
    let mut packages = core::mem::take(&mut table.packages);
    packages.sort_unstable_by(|(a, _), (b, _)| a.package.cmp(&b.package));
    let mut placements = placements(table);
    let mut names = Vec::new();
    for (entry, path) in &packages {
        let placements = placements.remove(path).unwrap_or_default();
        if let Err(error) = list_package(list, entry, path, &placements) {
            error!(
                "seamless world `{}`: references over the network: {error}",
                table.name()
            );
            break;
        }
        names.push(entry.package.as_str().into());
    }
    let is_whole = names.len() == packages.len();
    if !is_whole {
        // For another try.
        table.packages = packages;
    }
    ListedWorld {
        entity,
        name: table.name().to_owned(),
        packages: names,
        is_whole,
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
