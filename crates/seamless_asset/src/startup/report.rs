//! What startup content costs, and who is to blame. See [`StartupReport`].

use core::time::Duration;

use bevy_ecs::{reflect::ReflectResource, resource::Resource};
use bevy_reflect::Reflect;
use seamless_package::{Package, RefTarget, Role};
use serde::{Deserialize, Serialize};

use super::table::{StartupTable, startup_export};

/// What each registrant pins, and how many bytes stay in memory for ever because of it.
///
/// A resource of the app once its startup package is loaded; the cooker tells the same of the package that it writes. Who pins an
/// object alone would free it by letting go; what several pin is told apart, and counts once in [`total`](Self::total).
#[derive(Resource, Reflect, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[reflect(Resource)]
pub struct StartupReport {
    /// The package.
    pub package: String,
    /// Size of its file in bytes, tables included.
    pub package_bytes: u64,
    /// All objects together.
    pub total: StartupPinned,
    /// By registrant, in the order of their first registration.
    pub owners: Vec<StartupOwner>,
    /// What this app's code registered and the package does not have: it was cooked without that. Empty in the cooker.
    pub missing: Vec<StartupMissing>,
    /// How it was read; none in the cooker.
    pub read: Option<StartupRead>,
}

/// Objects that are in memory for ever, and their bytes.
#[derive(Reflect, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StartupPinned {
    /// How many objects.
    pub objects: u32,
    /// Bytes in the package, as stored.
    pub package_bytes: u64,
    /// Bytes in main memory, about: data and payloads once decompressed. What the GPU has of it comes on top.
    pub resident_bytes: u64,
}

impl StartupPinned {
    fn add(&mut self, other: Self) {
        self.objects += other.objects;
        self.package_bytes += other.package_bytes;
        self.resident_bytes += other.resident_bytes;
    }
}

/// What one registrant pins: what it registered, and everything that this refers to.
#[derive(Reflect, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
pub struct StartupOwner {
    /// The registrant: a plugin's type, or a world file.
    pub owner: String,
    /// The paths that it registered.
    pub paths: Vec<String>,
    /// What only it pins.
    pub exclusive: StartupPinned,
    /// What it pins together with others.
    pub shared: StartupPinned,
}

/// Content that was registered and is not in the package.
#[derive(Reflect, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
pub struct StartupMissing {
    /// Who registered it.
    pub owner: String,
    /// The path of the source.
    pub path: String,
}

/// How a startup package was read.
#[derive(Reflect, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StartupRead {
    /// From the first byte to the last value.
    pub took: Duration,
    /// Windows that were read.
    pub windows: u32,
    /// The most bytes of the file that were held at once, beside the windows that waited for their turn.
    pub peak_bytes: u64,
}

/// Who pins an object.
#[derive(Clone, Copy, PartialEq)]
enum Pinner {
    Nobody,
    Only(usize),
    Several,
}

impl StartupReport {
    /// The report of a package, for an app of this role.
    #[must_use]
    pub fn of(package: &Package, table: &StartupTable, role: Role) -> Self {
        let mut owners: Vec<StartupOwner> = Vec::new();
        let mut roots: Vec<Vec<usize>> = Vec::new();
        for (owner, path, export) in table.exports(package) {
            let place = owners.iter().position(|known| known.owner == owner);
            let place = place.unwrap_or_else(|| {
                owners.push(StartupOwner {
                    owner: owner.to_owned(),
                    ..StartupOwner::default()
                });
                roots.push(Vec::new());
                owners.len() - 1
            });
            owners[place].paths.push(path.to_owned());
            roots[place].push(export);
        }
        let pinned: Vec<Vec<usize>> = roots.into_iter().map(|roots| reached(package, roots, role)).collect();
        let mut pinners = vec![Pinner::Nobody; package.exports().len()];
        for (owner, exports) in pinned.iter().enumerate() {
            for export in exports {
                pinners[*export] = match pinners[*export] {
                    Pinner::Nobody => Pinner::Only(owner),
                    _ => Pinner::Several,
                };
            }
        }
        for (owner, exports) in owners.iter_mut().zip(&pinned) {
            for export in exports {
                let is_shared = pinners[*export] == Pinner::Several;
                let part = if is_shared {
                    &mut owner.shared
                } else {
                    &mut owner.exclusive
                };
                part.add(size(package, table, *export));
            }
        }
        let mut total = StartupPinned::default();
        let held = pinners
            .iter()
            .enumerate()
            .filter(|(_, pinner)| **pinner != Pinner::Nobody);
        held.for_each(|(export, _)| total.add(size(package, table, export)));
        Self {
            package: package.name().to_owned(),
            package_bytes: package.summary().file_len(),
            total,
            owners,
            ..Self::default()
        }
    }
}

/// Everything that `roots` lead to, each once. The index itself is nobody's.
fn reached(package: &Package, roots: Vec<usize>, role: Role) -> Vec<usize> {
    let mut seen = vec![false; package.exports().len()];
    let mut reached = Vec::new();
    let mut open = roots;
    while let Some(index) = open.pop() {
        let is_needed = package
            .exports()
            .get(index)
            .is_some_and(|export| export.role.intersects(role));
        if !is_needed || Some(index) == startup_export(package) || core::mem::replace(&mut seen[index], true) {
            continue;
        }
        reached.push(index);
        open.extend(
            package
                .refs(index)
                .iter()
                .filter_map(|reference| match reference.target() {
                    RefTarget::Export(index) => Some(index),
                    RefTarget::Import(index) => package.forced_for_import(index),
                    RefTarget::None => None,
                }),
        );
    }
    reached
}

fn size(package: &Package, table: &StartupTable, index: usize) -> StartupPinned {
    let Some(export) = package.exports().get(index) else {
        return StartupPinned::default();
    };
    let own = || package.bulk(index).iter().filter(|bulk| bulk.origin == 0);
    let stays = package
        .class_of(index)
        .is_none_or(|class| !table.is_on_demand(&class.type_path));
    let payloads: u64 = own().filter(|_| stays).map(|bulk| bulk.raw_size).sum();
    StartupPinned {
        objects: 1,
        package_bytes: export.stored_size + own().map(|bulk| bulk.stored_size).sum::<u64>(),
        resident_bytes: export.raw_size + payloads,
    }
}
