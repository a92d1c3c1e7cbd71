//! A layout that holds where only what lies with one level has another size. See [`LaidOut`].

#[cfg(test)]
mod tests;

use core::iter::once;
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::cost::Cost;
use super::{LayoutReport, PackageKind, PackagePlan};
use crate::assets::{AssetKey, ObjectSize, Objects};
use crate::settings::LayoutSettings;

/// Where the objects of a world lie, by their places among all of them, sorted.
///
/// What is decided follows from who uses an object, what it refers to, from rules, prices and volumes, and from the sizes of what several levels
/// use: what lies in a level's package costs the same whatever is decided, and prices are compared before they are rounded.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct LaidOut {
    packages: Vec<LaidPackage>,
    /// How many objects there are.
    objects: usize,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct LaidPackage {
    file: String,
    kind: PackageKind,
    assets: Vec<u32>,
    copies: Vec<u32>,
    users: BTreeSet<usize>,
}

/// Packages of which most are as they were.
pub(crate) struct Again {
    /// In their order. Those that are as they were are told without their assets and copies.
    pub packages: Vec<PackagePlan>,
    /// By package, how many assets it has, and whether anything in it is another one.
    pub counts: Vec<usize>,
    pub is_changed: Vec<bool>,
    /// By package, the objects that it holds copies of, by place.
    pub copies: Vec<Vec<u32>>,
    /// The objects that are others, by place.
    pub changed: BTreeSet<usize>,
    /// By place of the object: its package, and its place there.
    pub places: Vec<Option<(usize, usize)>>,
}

impl LaidOut {
    /// What is to be remembered; none if an object lies in these packages that is not among all objects.
    pub fn of(packages: &[PackagePlan], objects: &Objects) -> Option<Self> {
        let package = |package: &PackagePlan| {
            let place = |key: &AssetKey| objects.get_index_of(key)?.try_into().ok();
            let places = |keys: &[AssetKey]| keys.iter().map(place).collect::<Option<Vec<u32>>>();
            Some(LaidPackage {
                file: package.file.clone(),
                kind: package.kind,
                assets: places(&package.assets)?,
                copies: places(&package.copies)?,
                users: package.users.clone(),
            })
        };
        Some(Self {
            packages: packages.iter().map(package).collect::<Option<_>>()?,
            objects: objects.len(),
        })
    }

    /// The packages' files.
    pub fn files(&self) -> impl Iterator<Item = &String> {
        self.packages.iter().map(|package| &package.file)
    }

    /// Whether nothing but the size of these objects, by their places, could be another one without another layout.
    pub fn holds(&self, objects: usize, mut changed: impl Iterator<Item = usize>) -> bool {
        let mut is_own = vec![false; self.objects];
        let levels = self.packages.iter();
        let levels = levels.filter(|package| matches!(package.kind, PackageKind::Level(_)));
        for place in levels.flat_map(|package| &package.assets) {
            if let Some(is_own) = is_own.get_mut(*place as usize) {
                *is_own = true;
            }
        }
        objects == self.objects && changed.all(|place| is_own.get(place) == Some(&true))
    }

    /// The packages, where these objects are others than they were.
    pub fn again(&self, objects: &Objects, changed: &BTreeSet<usize>) -> Again {
        let mut places = vec![None; self.objects];
        let mut again = Again {
            packages: Vec::with_capacity(self.packages.len()),
            counts: self.packages.iter().map(|package| package.assets.len()).collect(),
            is_changed: Vec::with_capacity(self.packages.len()),
            copies: self.packages.iter().map(|package| package.copies.clone()).collect(),
            changed: changed.clone(),
            places: Vec::new(),
        };
        for (index, package) in self.packages.iter().enumerate() {
            let mut is_changed = false;
            for (rank, place) in package.assets.iter().enumerate() {
                let place = *place as usize;
                is_changed |= changed.contains(&place);
                if let Some(found) = places.get_mut(place) {
                    *found = Some((index, rank));
                }
            }
            let key = |place: &u32| Some(objects.get_index(*place as usize)?.0.clone());
            let keys = |places: &[u32]| places.iter().filter(|_| is_changed).filter_map(key).collect();
            again.packages.push(PackagePlan {
                file: package.file.clone(),
                kind: package.kind,
                assets: keys(&package.assets),
                copies: keys(&package.copies),
                users: package.users.clone(),
            });
            again.is_changed.push(is_changed);
        }
        again.places = places;
        again
    }
}

impl LayoutReport {
    /// The same, where what lies with single levels has become larger or smaller.
    pub(crate) fn resized(mut self, settings: &LayoutSettings, was: ObjectSize, is: ObjectSize) -> Self {
        let others = once(&mut self.duplicate_everything).chain(once(&mut self.share_everything));
        for told in once(&mut self.chosen).chain(others) {
            let cost = Cost {
                disk: told.disk_bytes.saturating_sub(was.stored).saturating_add(is.stored),
                read: told.read_bytes.saturating_sub(was.read).saturating_add(is.read),
                opens: told.opens_in_parts(),
                resident: told.resident_bytes_sum,
            };
            (told.disk_bytes, told.read_bytes, told.price) = (cost.disk, cost.read, cost.price(settings));
        }
        self
    }
}
