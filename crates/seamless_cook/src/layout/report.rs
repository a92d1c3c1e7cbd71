//! What the layout is, and what it costs. See [`LayoutReport`].

use serde::{Deserialize, Serialize};

use super::choose::cheapest_of;
use super::cost::{Cost, Group, Scene};
use super::together::ONE;
use super::{Choice, everything};
use crate::assets::AssetKey;
use crate::cli::paint::size;
use crate::plan::WorldPlan;

/// The most groups that are told: those for which it matters most.
const MOST_GROUPS: usize = 200;
/// How many levels and objects of a group are named.
const SOME: usize = 4;

/// Where the objects lie that several levels use, and what that costs against copying everything and sharing everything.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LayoutReport {
    /// What the layout costs: all objects, those of single levels included, without tables, entities and what seek-free levels copy.
    pub chosen: LayoutCost,
    /// What it would cost to have a copy of everything in each level that uses it.
    pub duplicate_everything: LayoutCost,
    /// What it would cost to have everything that several levels use in shared packages.
    pub share_everything: LayoutCost,
    /// Objects of several levels that each of these has a copy of.
    pub copied: LayoutTotal,
    /// Objects of several levels in shared packages.
    pub shared: LayoutTotal,
    /// Objects that come with what is always loaded.
    pub persistent: LayoutTotal,
    /// Objects with the same users and the same place, those first for which it matters most.
    pub groups: Vec<LayoutGroup>,
    /// Groups that are not told.
    pub groups_left_out: u32,
}

/// What it takes to store a layout, and to load every level once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct LayoutCost {
    /// Bytes on the disk.
    pub disk_bytes: u64,
    /// Bytes read while every level is loaded once, beside entities and tables.
    pub read_bytes: u64,
    /// Packages opened meanwhile, beside the levels' own; a mean over all orders in which levels may come.
    pub opens: f64,
    /// Bytes in memory where no level uses them: the mean over the places of the world.
    pub resident_bytes: u64,
    /// The same, summed over the places.
    pub resident_bytes_sum: u64,
    /// All of it as a price, in bytes read: see [`LayoutSettings`](crate::LayoutSettings).
    pub price: u64,
}

/// How much lies in one kind of place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayoutTotal {
    /// How many objects.
    pub objects: u32,
    /// Their size, once, as they are stored.
    pub stored_bytes: u64,
}

/// Objects that the same levels use, and that lie in the same place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LayoutGroup {
    /// Where they lie.
    pub choice: Choice,
    /// Why.
    pub reason: LayoutReason,
    /// How many levels use them.
    pub levels: u32,
    /// Some of these levels.
    pub some_levels: Vec<String>,
    /// How many objects they are.
    pub objects: u32,
    /// The largest of them.
    pub largest: Vec<String>,
    /// Their size, once, as they are stored.
    pub stored_bytes: u64,
    /// What they cost there. All costs of a group are those it would have by itself; where packages are merged, they differ a little.
    pub chosen: LayoutCost,
    /// What copies would cost.
    pub duplicated: LayoutCost,
    /// What sharing would cost.
    pub shared: LayoutCost,
}

/// Why objects lie where they lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum LayoutReason {
    /// It costs least.
    Cost,
    /// A rule of `cook.ron`.
    Rule,
    /// By themselves they would cost less elsewhere, but not with what they refer to, with what refers to them, and all else of the world.
    World,
}

impl Choice {
    /// In one word, where objects lie.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Duplicate => "copied",
            Self::Share => "shared",
            Self::Persistent => "persistent",
        }
    }
}

impl LayoutGroup {
    /// How much depends on the choice.
    fn weight(&self) -> u64 {
        let worst = self.duplicated.price.max(self.shared.price);
        worst.abs_diff(self.chosen.price)
    }
}

impl LayoutCost {
    /// What it takes more or less than `other`, for people.
    pub(crate) fn against(&self, other: &Self) -> Vec<String> {
        let bytes = |ours: u64, theirs: u64, what: &str| {
            let sign = if ours > theirs { '+' } else { '-' };
            (ours != theirs).then(|| format!("{sign}{} {what}", size(ours.abs_diff(theirs))))
        };
        let opens = self.opens - other.opens;
        let differences = [
            bytes(self.read_bytes, other.read_bytes, "read"),
            (opens.abs() >= 0.05).then(|| format!("{opens:+.1} packages opened")),
            bytes(self.disk_bytes, other.disk_bytes, "on disk"),
            bytes(self.resident_bytes, other.resident_bytes, "in memory"),
        ];
        differences.into_iter().flatten().collect()
    }

    /// [`opens`](Self::opens), in [`ONE`]s.
    pub(super) fn opens_in_parts(&self) -> u64 {
        (self.opens * ONE as f64).round() as u64
    }

    fn of(cost: &Cost, scene: &Scene) -> Self {
        Self {
            disk_bytes: cost.disk,
            read_bytes: cost.read,
            opens: cost.opens as f64 / ONE as f64,
            resident_bytes: cost.resident.checked_div(scene.together.count()).unwrap_or_default(),
            resident_bytes_sum: cost.resident,
            price: cost.price(scene.settings),
        }
    }
}

/// The report about a layout.
pub(super) fn of(plan: &WorldPlan, order: &[&AssetKey], scene: &Scene, choices: &[Choice]) -> LayoutReport {
    let whole = |choice: Choice| LayoutCost::of(&scene.whole_cost(&everything(scene, choice)), scene);
    let mut groups: Vec<LayoutGroup> = Vec::new();
    for group in &scene.groups {
        for choice in [Choice::Duplicate, Choice::Share, Choice::Persistent] {
            let members = scene.members(group, choices, choice);
            let is_told = group.is_shared() || choice == Choice::Persistent;
            if is_told && !members.is_empty() {
                groups.push(told(plan, order, scene, group, &members, choice));
            }
        }
    }
    let total = |choice: Choice| {
        let groups = groups.iter().filter(|group| group.choice == choice);
        groups.fold(LayoutTotal::default(), |total, group| LayoutTotal {
            objects: total.objects + group.objects,
            stored_bytes: total.stored_bytes + group.stored_bytes,
        })
    };
    let [copied, shared, persistent] = [Choice::Duplicate, Choice::Share, Choice::Persistent].map(total);
    groups.sort_by_key(|group| core::cmp::Reverse(group.weight()));
    let left_out = groups.len().saturating_sub(MOST_GROUPS);
    groups.truncate(MOST_GROUPS);
    LayoutReport {
        chosen: LayoutCost::of(&scene.whole_cost(choices), scene),
        duplicate_everything: whole(Choice::Duplicate),
        share_everything: whole(Choice::Share),
        copied,
        shared,
        persistent,
        groups,
        groups_left_out: left_out as u32,
    }
}

fn told(
    plan: &WorldPlan,
    order: &[&AssetKey],
    scene: &Scene,
    group: &Group,
    members: &[usize],
    choice: Choice,
) -> LayoutGroup {
    let members_size = scene.size(members);
    let cost = |choice: Choice| LayoutCost::of(&scene.cost(group, members_size, choice), scene);
    let is_ruled = members.iter().any(|asset| scene.forced(*asset) == Some(choice));
    let reason = match cheapest_of(scene, group, true) == choice {
        _ if is_ruled => LayoutReason::Rule,
        true => LayoutReason::Cost,
        false => LayoutReason::World,
    };
    let mut largest = members.to_vec();
    largest.sort_by_key(|asset| core::cmp::Reverse(scene.assets.get(*asset).map(|asset| asset.size.stored)));
    let levels = group.users.iter().filter_map(|level| plan.levels.get(*level));
    LayoutGroup {
        choice,
        reason,
        levels: group.users.len() as u32,
        some_levels: levels.take(SOME).map(|level| level.name.clone()).collect(),
        objects: members.len() as u32,
        largest: (largest.iter().take(SOME))
            .filter_map(|asset| Some(order.get(*asset)?.path()))
            .collect(),
        stored_bytes: members_size.stored,
        chosen: cost(choice),
        duplicated: cost(Choice::Duplicate),
        shared: cost(Choice::Share),
    }
}
