//! A world's packages, listed for references over the network. See [`list_packages`].

use bevy_ecs::{
    change_detection::{DetectChangesMut, ResMut},
    query::Added,
    system::{Query, Res},
};
use bevy_log::error;
use seamless_asset::{
    StreamingClock,
    net::{NetPackage, NetPackages},
};

use super::LevelTable;

/// Lists the packages of worlds that are new, in the order of their names, up to the first that cannot be listed: without it, those behind
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
        for (entry, path) in packages {
            let listed = list.list(NetPackage {
                name: entry.package.into(),
                path,
                content_hash: entry.content_hash,
                exports: entry.exports,
                entities: entry.entities,
            });
            if let Err(error) = listed {
                error!(
                    "seamless world `{}`: references over the network: {error}",
                    table.name()
                );
                break;
            }
        }
    }
}
