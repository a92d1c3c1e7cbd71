//! What goes out of the list of packages, between connections. See [`NetPackages::retain`].

use bevy_platform::collections::HashMap;
use seamless_package::package_map::PackageMap;

use super::{Instances, Listed, NetPackages};

impl NetPackages {
    /// Takes the packages out of the list whose names are not kept, with their placements; the others stay in their order. What is known of
    /// objects stays known.
    ///
    /// A connection compares the list from its first packet on, and counts on what it has compared: do this while there is no
    /// [`PackageConnection`](crate::net::PackageConnection). A `SeamlessWorld` that comes or goes meanwhile does it: what the game has listed itself comes first, then worlds by
    /// their names.
    pub fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        let is_kept = |(at, listed): (u32, &Listed)| {
            let home = match listed.instances {
                Instances::Further(home) => home,
                _ => at,
            };
            self.map.package(home).is_some_and(|info| keep(&info.path))
        };
        let kept: Vec<bool> = (0..).zip(&self.listed).map(is_kept).collect();
        if kept.iter().all(|is_kept| *is_kept) {
            return;
        }
        let empty = PackageMap::new(self.map.limits().clone());
        let old = core::mem::replace(&mut self.map, empty);
        let listed = core::mem::take(&mut self.listed).into_iter();
        let stays = (0_u32..).zip(listed).zip(kept);
        let stays: Vec<_> = stays.filter_map(|(found, is_kept)| is_kept.then_some(found)).collect();
        let places: HashMap<u32, u32> = stays.iter().map(|(at, _)| *at).zip(0..).collect();
        let place = |at: u32| places.get(&at).copied();
        // All of it was in a map together before, so nothing is refused.
        for (at, mut listed) in stays {
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
