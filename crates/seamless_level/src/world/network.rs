//! A world's packages, listed for references over the network. See [`list_packages`].

use std::collections::HashMap;

use bevy_asset::AssetPath;
use bevy_ecs::{
    change_detection::{DetectChangesMut, ResMut},
    query::Added,
    system::{Query, Res},
};
use bevy_log::error;
use seamless_asset::{
    InstancePath, StreamingClock,
    net::{NetPackage, NetPackages},
    package::package_map::MapError,
};

use super::LevelTable;
use crate::manifest::PackageEntry;

/// Lists the packages of worlds that are new, in the order of their names, each with its placements behind it, up to the first that cannot be listed: without it, those behind
/// it would have other places than at the peers.
pub(crate) fn list_packages(
    mut worlds: Query<&mut LevelTable, Added<LevelTable>>,
    mut list: ResMut<NetPackages>,
    clock: Res<StreamingClock>,
) {
    let _time = clock.measure();
    for mut table in &mut worlds {
        let table = table.bypass_change_detection();
        let mut packages = core::mem::take(&mut table.packages);
        packages.sort_unstable_by(|(a, _), (b, _)| a.package.cmp(&b.package));
        let mut placements = placements(table);
        for (entry, path) in packages {
            let placements = placements.remove(&path).unwrap_or_default();
            if let Err(error) = list_package(&mut list, entry, path, &placements) {
                error!(
                    "seamless world `{}`: references over the network: {error}",
                    table.name()
                );
                break;
            }
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
    entry: PackageEntry,
    path: AssetPath<'static>,
    placements: &[InstancePath],
) -> Result<(), MapError> {
    let package = list.list(NetPackage {
        name: entry.package.into(),
        path,
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
