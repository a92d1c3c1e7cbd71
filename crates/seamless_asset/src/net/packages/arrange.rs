//! The order of the list of packages, between connections. See [`NetPackages::arrange`].

use bevy_platform::collections::HashMap;
use seamless_package::package_map::PackageMap;

use super::{Instances, Listed, NetPackages};

impl NetPackages {
    /// Puts the list in order, and takes packages out: each by the rank of its name, those without one are dropped. Equal ranks stay in their
    /// order, and placements with their package. What is known of objects stays known.
    ///
    /// A connection compares the list from its first packet on, and counts on what it has compared: arrange it while there is no
    /// [`PackageConnection`](crate::net::PackageConnection). A `SeamlessWorld` that comes or goes meanwhile has this done: what the game has listed itself comes first, then worlds by
    /// their names.
    pub fn arrange(&mut self, rank: impl Fn(&str) -> Option<u32>) {
        let rank_of = |(at, listed): (u32, &Listed)| {
            let home = match listed.instances {
                Instances::Further(home) => home,
                _ => at,
            };
            rank(&self.map.package(home)?.path)
        };
        let ranks: Vec<_> = (0..).zip(&self.listed).map(rank_of).collect();
        if ranks.iter().all(Option::is_some) && ranks.is_sorted() {
            return;
        }
        let empty = PackageMap::new(self.map.limits().clone());
        let old = core::mem::replace(&mut self.map, empty);
        let listed = core::mem::take(&mut self.listed).into_iter();
        let mut kept: Vec<_> = (0_u32..).zip(listed).zip(ranks).collect();
        kept.retain(|(_, rank)| rank.is_some());
        kept.sort_by_key(|(_, rank)| *rank);
        let order = kept.iter().map(|((at, _), _)| *at);
        let places: HashMap<u32, u32> = order.zip(0..).collect();
        let place = |at: u32| places.get(&at).copied();
        // All of it was in a map together before, so nothing is refused.
        for ((at, mut listed), _) in kept {
            if let Instances::Further(home) = &mut listed.instances {
                *home = place(*home).unwrap_or_default();
            }
            if let Some(info) = old.package(at).cloned() {
                let _ = self.map.add_package(info);
                self.listed.push(listed);
            }
        }
        for (index, id) in old.objects() {
            if let Some(package) = place(index.package) {
                let _ = self.map.add_objects(package, [(index.export, id)]);
            }
        }
        let instances = core::mem::take(&mut self.instances).into_iter();
        self.instances = instances
            .filter_map(|((package, path), at)| Some(((place(package)?, path), place(at)?)))
            .collect();
        self.is_new = true;
    }
}
