//! Which package holds which asset. See [`assign`] and, for the rule itself, [`share`].
//!
//! An asset that one level uses lies in that level's package. Assets that several levels use lie in shared packages, one
//! for each set of levels: all of a shared package is then needed whenever any of it is. What an asset refers to is
//! used by at least the same levels, so references lead from a level to shared packages, and from a shared package to
//! those of more levels, and never back: shared packages come in an order in which each only refers to earlier ones.
//!
//! Startup content, with all that it refers to, lies in a package of its own, whoever else uses it: it is always live. That package
//! comes before all others, and refers to none.
//!
//! There are never more than [`MOST_SHARED`] shared packages. Where there would be, neighbours in that order are merged, those
//! first whose merging makes the levels load the fewest bytes that they do not need; the order stays sound.

use std::collections::{BTreeMap, BTreeSet};

use crate::assets::{AssetKey, ObjectRecord};
use crate::graph::state::LevelUnit;
use crate::plan::WorldPlan;
use crate::report::{ContentError, Progress, Stage};
use crate::startup::STARTUP_PACKAGE;

/// The most shared packages that a world is cooked to.
pub(crate) const MOST_SHARED: usize = 64;

/// A package that will be written.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PackagePlan {
    /// File name, which is also the package's path in object ids.
    pub file: String,
    pub kind: PackageKind,
    /// Its assets, each after those that it refers to.
    pub assets: Vec<AssetKey>,
    /// The levels that use it.
    pub users: BTreeSet<usize>,
}

/// What a package is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PackageKind {
    /// Content that is live before the first frame, and stays.
    Startup,
    /// Assets of several levels.
    Shared,
    /// The level with this index.
    Level(usize),
}

impl PackagePlan {
    /// Index of the level whose package it is.
    pub(crate) fn level(&self) -> Option<usize> {
        match self.kind {
            PackageKind::Level(level) => Some(level),
            _ => None,
        }
    }
}

/// An asset as [`share`] sees it.
pub(crate) struct Shareable {
    pub users: BTreeSet<usize>,
    pub bytes: u64,
    /// Startup content, or used by it.
    pub is_startup: bool,
}

/// Plans all packages: that of the startup content, whose index is `startup`; the shared ones, each referring only to earlier ones;
/// then the levels' in their order.
///
/// # Errors
/// When assets refer to each other in a circle, which no loading order satisfies.
pub(crate) fn assign(
    plan: &WorldPlan,
    startup: Option<&AssetKey>,
    levels: &[&LevelUnit],
    objects: &BTreeMap<AssetKey, ObjectRecord>,
    progress: &dyn Progress,
) -> Result<Vec<PackagePlan>, Vec<ContentError>> {
    progress.begin(Stage::Share, objects.len() as u64);
    let order = dependency_order(objects)?;
    let rank: BTreeMap<&AssetKey, usize> = order.iter().enumerate().map(|(rank, key)| (*key, rank)).collect();
    let mut assets: Vec<Shareable> = order.iter().map(|key| shareable(objects.get(key))).collect();
    for (index, level) in levels.iter().enumerate() {
        for key in level.roots() {
            assets.extend_users(rank.get(key).copied(), index);
        }
    }
    if let Some(index) = startup.and_then(|key| rank.get(key)) {
        assets[*index].is_startup = true;
    }
    // Users come before what they use in reverse order, so one pass hands every level down.
    for (position, key) in order.iter().enumerate().rev() {
        let (users, is_startup) = (assets[position].users.clone(), assets[position].is_startup);
        for reference in objects.get(*key).into_iter().flat_map(|object| &object.references) {
            if let Some(asset) = rank.get(reference).and_then(|rank| assets.get_mut(*rank)) {
                asset.users.extend(&users);
                asset.is_startup |= is_startup;
            }
        }
        progress.step(Stage::Share, &key.path());
    }
    let homes = share(&assets, MOST_SHARED);
    let shared = homes
        .iter()
        .filter_map(|home| home.shared())
        .max()
        .map_or(0, |most| most + 1);
    let first = usize::from(startup.is_some());
    let mut packages: Vec<PackagePlan> = Vec::with_capacity(first + shared + plan.levels.len());
    packages.extend(startup.map(|_| package(STARTUP_PACKAGE.to_owned(), PackageKind::Startup)));
    packages.extend((0..shared).map(|n| package(format!("shared_{n}.pkg"), PackageKind::Shared)));
    packages.extend(
        plan.levels
            .iter()
            .enumerate()
            .map(|(index, level)| package(format!("{}.pkg", level.name), PackageKind::Level(index))),
    );
    for ((key, home), asset) in order.iter().zip(&homes).zip(&assets) {
        let index = match home {
            Home::Nowhere => continue,
            Home::Startup => 0,
            Home::Shared(index) => first + *index,
            Home::Level(level) => first + shared + level,
        };
        packages[index].assets.push((*key).clone());
        packages[index].users.extend(&asset.users);
    }
    progress.end(Stage::Share);
    Ok(packages)
}

fn package(file: String, kind: PackageKind) -> PackagePlan {
    let mut plan = PackagePlan {
        file,
        kind,
        assets: Vec::new(),
        users: BTreeSet::new(),
    };
    plan.users.extend(plan.level());
    plan
}

fn shareable(object: Option<&ObjectRecord>) -> Shareable {
    Shareable {
        users: BTreeSet::new(),
        bytes: object.map_or(0, |object| object.bytes),
        is_startup: false,
    }
}

trait ExtendUsers {
    fn extend_users(&mut self, rank: Option<usize>, level: usize);
}

impl ExtendUsers for Vec<Shareable> {
    fn extend_users(&mut self, rank: Option<usize>, level: usize) {
        if let Some(asset) = rank.and_then(|rank| self.get_mut(rank)) {
            asset.users.insert(level);
        }
    }
}

/// All assets, each after those that it refers to; otherwise by key.
fn dependency_order(objects: &BTreeMap<AssetKey, ObjectRecord>) -> Result<Vec<&AssetKey>, Vec<ContentError>> {
    let mut order = Vec::with_capacity(objects.len());
    // False while its references are on the way.
    let mut seen: BTreeMap<&AssetKey, bool> = BTreeMap::new();
    let mut errors = Vec::new();
    for root in objects.keys() {
        let mut open = vec![(root, false)];
        while let Some((key, left)) = open.pop() {
            if left {
                seen.insert(key, true);
                order.push(key);
                continue;
            }
            match seen.get(key) {
                Some(true) => continue,
                Some(false) => {
                    let path = key.path();
                    let (file, object) = path.split_once('#').unwrap_or((&path, ""));
                    errors.push(ContentError::new(
                        file,
                        object,
                        "refers to itself, directly or through other assets; break the circle",
                    ));
                    continue;
                }
                None => {}
            }
            seen.insert(key, false);
            open.push((key, true));
            let references = objects.get_key_value(key).map(|(_, object)| &object.references);
            let known = references
                .into_iter()
                .flatten()
                .filter(|key| objects.contains_key(*key));
            let open_references = known.rev().filter(|key| seen.get(*key) != Some(&true));
            open.extend(open_references.map(|key| (key, false)).collect::<Vec<_>>());
        }
    }
    if errors.is_empty() { Ok(order) } else { Err(errors) }
}

/// Where an asset lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Home {
    /// Nobody uses it.
    Nowhere,
    /// With the startup content.
    Startup,
    /// In the package of the one level that uses it.
    Level(usize),
    /// In this shared package.
    Shared(usize),
}

impl Home {
    fn shared(self) -> Option<usize> {
        match self {
            Self::Shared(index) => Some(index),
            _ => None,
        }
    }
}

/// Sets of users whose assets lie together.
struct Run {
    users: Vec<BTreeSet<usize>>,
    union: BTreeSet<usize>,
    bytes: u64,
}

impl Run {
    /// Bytes that levels would load without need if `next` lay in the same package, beyond those that they load anyway.
    fn cost(&self, next: &Self) -> u64 {
        let union = self.union.union(&next.union).count() as u64;
        let loaded = union * (self.bytes + next.bytes);
        loaded - self.union.len() as u64 * self.bytes - next.union.len() as u64 * next.bytes
    }

    fn absorb(&mut self, next: Self) {
        self.union.extend(next.union);
        self.users.extend(next.users);
        self.bytes += next.bytes;
    }
}

/// Decides where each asset lies: a pure function of who uses it and how large it is.
pub(crate) fn share(assets: &[Shareable], most: usize) -> Vec<Home> {
    let mut bytes: BTreeMap<&BTreeSet<usize>, u64> = BTreeMap::new();
    for asset in assets.iter().filter(|asset| asset.users.len() > 1 && !asset.is_startup) {
        *bytes.entry(&asset.users).or_default() += asset.bytes;
    }
    let mut sets: Vec<_> = bytes.into_iter().collect();
    // Sets with more levels first: references lead from subsets to supersets, so the order is one of dependency.
    sets.sort_by(|(a, _), (b, _)| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    let runs = sets.into_iter().map(|(users, bytes)| Run {
        users: vec![users.clone()],
        union: users.clone(),
        bytes,
    });
    let runs = merge(runs.collect(), most.max(1));
    let packages: BTreeMap<&BTreeSet<usize>, usize> = runs
        .iter()
        .enumerate()
        .flat_map(|(index, run)| run.users.iter().map(move |users| (users, index)))
        .collect();
    let home = |asset: &Shareable| match (asset.users.first(), packages.get(&asset.users)) {
        _ if asset.is_startup => Home::Startup,
        (_, Some(package)) => Home::Shared(*package),
        (Some(level), None) => Home::Level(*level),
        (None, None) => Home::Nowhere,
    };
    assets.iter().map(home).collect()
}

/// Merges neighbours until there are no more than `most`, the cheapest pair first, the earliest of equals.
fn merge(mut runs: Vec<Run>, most: usize) -> Vec<Run> {
    let cost = |runs: &[Run], index: usize| runs.get(index)?.cost(runs.get(index + 1)?).into();
    let mut costs: Vec<Option<u64>> = (0..runs.len()).map(|index| cost(&runs, index)).collect();
    while runs.len() > most {
        let pairs = costs
            .iter()
            .enumerate()
            .filter_map(|(index, cost)| Some(((*cost)?, index)));
        let Some((_, index)) = pairs.min() else { break };
        let next = runs.remove(index + 1);
        runs[index].absorb(next);
        costs.remove(index);
        costs[index] = cost(&runs, index);
        if let Some(before) = index.checked_sub(1) {
            costs[before] = cost(&runs, before);
        }
    }
    runs
}
