//! Which package holds which asset, and which levels hold copies of it. See [`assign`], and [`choose`] for the decision itself.
//!
//! An asset that one level uses lies in that level's package, unless a rule makes it, or what leads to it, persistent. For assets that several levels use, there are three places ([`Choice`]):
//!
//! * *Duplicate*: each level holds a copy, and opens no other package for it. The originals lie in packages of their own.
//! * *Share*: one package for each set of levels, so that all of it is needed whenever any of it is.
//! * *Persistent*: one package that comes with the levels that are always loaded.
//!
//! What an asset refers to is used by at least the same levels. References lead from a copy to anything, from a shared package to shared
//! ones of more levels and to the persistent one, and from there nowhere else: whoever opens a package opens nothing for the sake of
//! originals. So the order startup, persistent, shared, originals, levels is one in which each package only refers to earlier ones.
//!
//! Startup content, with all that it refers to, lies in a package of its own, whoever else uses it: it is always live, and never copied.
//! Levels that are seek-free hold copies of everything else, whatever is chosen.
//!
//! There are never more than [`MOST_SHARED`] shared packages, nor originals'. Where there would be, neighbours in that order are merged, those
//! first whose merging makes the levels load the fewest bytes that they do not need; the order stays sound.

mod again;
mod choose;
mod cost;
mod merge;
mod order;
mod report;
mod rules;
pub(crate) mod together;

use std::collections::BTreeSet;

use seamless_package::Role;
use serde::{Deserialize, Serialize};

use crate::assets::{AssetKey, ObjectSize, Objects};
use crate::bounds::Bounds;
use crate::graph::state::LevelUnit;
use crate::plan::{SourceKind, WorldPlan};
use crate::report::{ContentError, Progress, Stage};
use crate::startup::STARTUP_PACKAGE;

pub(crate) use again::{Again, LaidOut};
pub(crate) use choose::{choose, everything};
pub(crate) use cost::{Group, Laid, Scene};
pub(crate) use order::dependency_order;
pub use report::{LayoutCost, LayoutGroup, LayoutReason, LayoutReport, LayoutTotal};
pub(crate) use together::Together;

/// The most shared packages that a world is cooked to.
pub(crate) const MOST_SHARED: usize = 64;
/// The package that comes with the levels that are always loaded.
pub(crate) const PERSISTENT_PACKAGE: &str = "shared_persistent.pkg";
const SHARED: &str = "shared_";
const ORIGINALS: &str = "originals_";

/// Whether a level's package may not have this name, without its ending and in lower case.
pub(crate) fn is_kept_name(name: &str) -> bool {
    let numbered = [SHARED, ORIGINALS]
        .iter()
        .filter_map(|prefix| name.strip_prefix(prefix));
    let is_numbered = numbered
        .into_iter()
        .any(|number| number.chars().all(|c| c.is_ascii_digit()));
    is_numbered || PERSISTENT_PACKAGE.strip_suffix(".pkg") == Some(name)
}

/// Where objects lie that several levels use. What an object refers to has the same place or a greater one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Choice {
    /// A copy in each level; a regular object where only one level uses it.
    Duplicate,
    /// A package for all levels that use it.
    Share,
    /// The package of what is always loaded.
    Persistent,
}

/// A package that will be written.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PackagePlan {
    /// File name, which is also the package's path in object ids.
    pub file: String,
    pub kind: PackageKind,
    /// Its assets, each after those that it refers to.
    pub assets: Vec<AssetKey>,
    /// The assets of earlier packages that it holds copies of, each after those that it refers to.
    pub copies: Vec<AssetKey>,
    /// The levels that use it.
    pub users: BTreeSet<usize>,
}

/// What a package is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum PackageKind {
    /// Content that is live before the first frame, and stays.
    Startup,
    /// Assets that the levels that are always loaded bring along, and keep.
    Persistent,
    /// Assets of several levels.
    Shared,
    /// Assets of several levels, each of which has a copy.
    Originals,
    /// The level with this index.
    Level(usize),
}

impl PackagePlan {
    fn new(file: String, kind: PackageKind) -> Self {
        let mut plan = Self {
            file,
            kind,
            assets: Vec::new(),
            copies: Vec::new(),
            users: BTreeSet::new(),
        };
        plan.users.extend(plan.level());
        plan
    }

    /// Index of the level whose package it is.
    pub(crate) fn level(&self) -> Option<usize> {
        match self.kind {
            PackageKind::Level(level) => Some(level),
            _ => None,
        }
    }
}

/// An asset as [`choose`] sees it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asset {
    pub users: BTreeSet<usize>,
    pub size: ObjectSize,
    /// Startup content, or used by it.
    pub is_startup: bool,
    /// What a rule forces.
    pub forced: Option<Choice>,
    /// Indices of earlier assets.
    pub references: Vec<usize>,
}

/// A cook that is encoded, and only needs to be laid out.
pub(crate) struct Input<'a> {
    pub plan: &'a WorldPlan,
    /// The index of the startup content.
    pub startup: Option<&'a AssetKey>,
    pub levels: &'a [&'a LevelUnit],
    pub bounds: &'a [Option<Bounds>],
    pub objects: &'a Objects,
    /// What nobody of these needs lies nowhere.
    pub roles: Role,
}

/// What [`assign`] decides.
pub(crate) struct Layout {
    /// That of the startup content, the persistent one, the shared ones, those of originals, each referring only to earlier ones; then the
    /// levels' in their order.
    pub packages: Vec<PackagePlan>,
    pub report: LayoutReport,
    pub warnings: Vec<ContentError>,
}

/// Plans all packages.
///
/// # Errors
/// When assets refer to each other in a circle, which no loading order satisfies.
pub(crate) fn assign(input: &Input, progress: &dyn Progress) -> Result<Layout, Vec<ContentError>> {
    progress.begin(Stage::Share, input.objects.len() as u64);
    let places = order::dependency_order(input.objects)?;
    let order = places
        .iter()
        .filter_map(|place| Some(input.objects.get_index(*place)?.0));
    let order: Vec<&AssetKey> = order.collect();
    let matched = rules::matched(&input.plan.settings.layout.rules, &order);
    let assets = assets(input, &places, &matched, progress);
    let together = Together::of(input.plan, input.bounds);
    let scene = Scene::new(&assets, &together, &input.plan.settings.layout);
    let choices = choose(&scene);
    let laid = scene.lay(&choices);
    let packages = packages(input, &order, &scene, &laid);
    let warnings = rules::warnings(input.plan, &matched, &order, &scene, &choices);
    let report = report::of(input.plan, &order, &scene, &choices);
    progress.end(Stage::Share);
    Ok(Layout {
        packages,
        report,
        warnings,
    })
}

/// What is known of each asset of `order`, places in the objects: who uses it, and what it refers to.
fn assets(input: &Input, order: &[usize], matched: &rules::Matched, progress: &dyn Progress) -> Vec<Asset> {
    let mut ranks = vec![None; input.objects.len()];
    for (rank, place) in order.iter().enumerate() {
        ranks[*place] = Some(rank);
    }
    let rank = |key: &AssetKey| ranks.get(input.objects.get_index_of(key)?).copied().flatten();
    let asset = |(index, place): (usize, &usize)| {
        let object = input.objects.get_index(*place).map(|(_, object)| object);
        let references = object.into_iter().flat_map(|object| &object.references);
        Asset {
            size: object.map(|object| object.size).unwrap_or_default(),
            forced: matched.choice(&input.plan.settings.layout.rules, index),
            references: references.filter_map(rank).collect(),
            ..Asset::default()
        }
    };
    let mut assets: Vec<Asset> = order.iter().enumerate().map(asset).collect();
    for (level, unit) in input.levels.iter().enumerate() {
        for index in unit.roots().filter_map(rank) {
            assets[index].users.insert(level);
        }
    }
    if let Some(index) = input.startup.and_then(rank) {
        assets[index].is_startup = true;
    }
    // Users come before what they use in reverse order, so one pass hands every level down.
    for (index, place) in order.iter().enumerate().rev() {
        let (earlier, rest) = assets.split_at_mut(index);
        let Some(asset) = rest.first_mut() else { continue };
        for reference in &asset.references {
            if let Some(used) = earlier.get_mut(*reference) {
                used.users.extend(&asset.users);
                used.is_startup |= asset.is_startup;
            }
        }
        let Some((key, object)) = input.objects.get_index(*place) else {
            continue;
        };
        if !object.role.intersects(input.roles) {
            // It lies nowhere.
            asset.users.clear();
            asset.is_startup = false;
        }
        progress.step(Stage::Share, &key.path());
    }
    assets
}

/// The packages with what lies in them.
fn packages(input: &Input, order: &[&AssetKey], scene: &Scene, laid: &Laid) -> Vec<PackagePlan> {
    let mut packages: Vec<PackagePlan> = Vec::new();
    let mut add = |file: String, kind: PackageKind| {
        packages.push(PackagePlan::new(file, kind));
        packages.len() - 1
    };
    let startup = input
        .startup
        .map(|_| add(STARTUP_PACKAGE.to_owned(), PackageKind::Startup));
    let persistent = (laid.has_persistent).then(|| add(PERSISTENT_PACKAGE.to_owned(), PackageKind::Persistent));
    let shared: Vec<usize> = (0..laid.shared)
        .map(|n| add(format!("{SHARED}{n}.pkg"), PackageKind::Shared))
        .collect();
    let originals: Vec<usize> = (0..laid.originals)
        .map(|n| add(format!("{ORIGINALS}{n}.pkg"), PackageKind::Originals))
        .collect();
    let levels = input.plan.levels.iter().enumerate();
    let levels: Vec<usize> = levels
        .map(|(index, level)| add(format!("{}.pkg", level.name), PackageKind::Level(index)))
        .collect();
    for ((key, home), asset) in order.iter().zip(&laid.homes).zip(scene.assets) {
        let place = match home {
            Home::Nowhere => None,
            Home::Startup => startup,
            Home::Persistent => persistent,
            Home::Shared(index) => shared.get(*index).copied(),
            Home::Originals(index) => originals.get(*index).copied(),
            Home::Level(level) => levels.get(*level).copied(),
        };
        let Some(package) = place.and_then(|place| packages.get_mut(place)) else {
            continue;
        };
        package.assets.push((*key).clone());
        package.users.extend(&asset.users);
        for level in asset.users.iter().filter(|level| scene.takes_copy(*home, **level)) {
            if let Some(package) = levels.get(*level).and_then(|place| packages.get_mut(*place)) {
                package.copies.push((*key).clone());
            }
        }
    }
    // What was asked for may lie with others, or nowhere for this target.
    packages.retain(|package| !is_empty_content(input.plan, package));
    packages
}

/// Whether it would be the package of assets that lie elsewhere.
fn is_empty_content(plan: &WorldPlan, package: &PackagePlan) -> bool {
    let level = package.level().and_then(|level| plan.levels.get(level));
    let is_content = level.is_some_and(|level| level.kind == SourceKind::Asset);
    is_content && package.assets.is_empty() && package.copies.is_empty()
}

/// Where an asset lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Home {
    /// Nobody uses it.
    Nowhere,
    /// With the startup content.
    Startup,
    /// With what is always loaded.
    Persistent,
    /// In this shared package.
    Shared(usize),
    /// In this package of originals.
    Originals(usize),
    /// In the package of the one level that uses it.
    Level(usize),
}
