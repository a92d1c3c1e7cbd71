//! What a layout costs. See [`Scene`] and [`Cost`].

use core::ops::{Add, AddAssign};
use std::collections::{BTreeMap, BTreeSet};

use super::merge::{Run, runs};
use super::together::{ONE, Together};
use super::{Asset, Choice, Home, MOST_SHARED};
use crate::assets::ObjectSize;
use crate::settings::LayoutSettings;

/// Assets with the same users.
#[derive(Debug)]
pub(crate) struct Group {
    pub users: BTreeSet<usize>,
    /// Their indices, in order.
    pub assets: Vec<usize>,
    /// How many of the users open other packages: all but the seek-free ones.
    pub openers: u64,
    /// How often a package of these users is loaded, in [`ONE`]s.
    pub loads: u64,
    /// In which part of the world's places one of them is there, in parts of [`ONE`].
    pub presence: u64,
}

impl Group {
    /// Whether there is something to choose.
    pub fn is_shared(&self) -> bool {
        self.users.len() > 1
    }
}

/// What is there to be laid out.
pub(crate) struct Scene<'a> {
    pub assets: &'a [Asset],
    pub groups: Vec<Group>,
    /// The group of each asset; none for startup content, and for what nobody uses.
    pub group_of: Vec<Option<usize>>,
    pub together: &'a Together,
    pub settings: &'a LayoutSettings,
}

/// What it takes to store a world, and to load each of its levels once. What seek-free levels copy is the same in every layout, and does
/// not count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Cost {
    pub disk: u64,
    pub read: u64,
    /// Opened packages, in [`ONE`]s.
    pub opens: u64,
    /// Bytes in memory where no level uses them, over all levels of the world.
    pub resident: u64,
}

impl Add for Cost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            disk: self.disk.saturating_add(other.disk),
            read: self.read.saturating_add(other.read),
            opens: self.opens.saturating_add(other.opens),
            resident: self.resident.saturating_add(other.resident),
        }
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Cost {
    /// The price in bytes read.
    pub fn price(&self, settings: &LayoutSettings) -> u64 {
        u64::try_from(self.exact_price(settings) / EXACT).unwrap_or(u64::MAX)
    }

    /// The price in parts of bytes read, of which nothing is rounded: what all of several layouts cost makes no difference between them.
    pub fn exact_price(&self, settings: &LayoutSettings) -> u128 {
        let percent = |of: u64, percent: u32| (u128::from(of) * u128::from(percent)).saturating_mul(u128::from(ONE));
        let opens = (u128::from(settings.open_bytes) * u128::from(self.opens)).saturating_mul(100);
        let disk = percent(self.disk, settings.disk_percent);
        let resident = percent(self.resident, settings.resident_percent);
        let read = u128::from(self.read) * EXACT;
        [opens, disk, resident].into_iter().fold(read, u128::saturating_add)
    }
}

/// Parts of a byte that prices are counted in: a percent, of one package opened in one place.
const EXACT: u128 = 100 * ONE as u128;

/// `of`, `parts` times a part of [`ONE`].
fn part(of: u64, parts: u64) -> u64 {
    u64::try_from(u128::from(of) * u128::from(parts) / u128::from(ONE)).unwrap_or(u64::MAX)
}

/// A layout: where each asset lies.
pub(crate) struct Laid {
    pub homes: Vec<Home>,
    pub has_persistent: bool,
    /// How many shared packages there are.
    pub shared: usize,
    /// How many packages of originals there are.
    pub originals: usize,
}

impl<'a> Scene<'a> {
    pub fn new(assets: &'a [Asset], together: &'a Together, settings: &'a LayoutSettings) -> Self {
        let mut places: BTreeMap<&BTreeSet<usize>, usize> = BTreeMap::new();
        let mut sets: Vec<Vec<usize>> = Vec::new();
        // Neighbours mostly have the same users.
        let mut last: Option<(&BTreeSet<usize>, usize)> = None;
        for (index, asset) in assets.iter().enumerate() {
            let users = &asset.users;
            if asset.is_startup || users.is_empty() {
                continue;
            }
            let place = match last {
                Some((known, place)) if known == users => place,
                _ => *places.entry(users).or_insert(sets.len()),
            };
            if place == sets.len() {
                sets.push(Vec::new());
            }
            sets[place].push(index);
            last = Some((users, place));
        }
        let mut group_of = vec![None; assets.len()];
        let mut groups = Vec::with_capacity(sets.len());
        for (users, place) in places {
            let members = core::mem::take(&mut sets[place]);
            for index in &members {
                group_of[*index] = Some(groups.len());
            }
            groups.push(Group {
                users: users.clone(),
                assets: members,
                openers: users.iter().filter(|level| together.opens(**level)).count() as u64,
                loads: together.loads(users),
                presence: together.presence(users),
            });
        }
        Self {
            assets,
            groups,
            group_of,
            together,
            settings,
        }
    }

    /// The group of an asset.
    pub fn group(&self, asset: usize) -> Option<&Group> {
        self.groups.get((*self.group_of.get(asset)?)?)
    }

    /// What a rule forces on an asset, as far as that can be.
    pub fn forced(&self, index: usize) -> Option<Choice> {
        let group = self.group(index)?;
        match self.assets.get(index)?.forced? {
            Choice::Persistent if self.together.has_persistent() => Some(Choice::Persistent),
            Choice::Persistent | Choice::Share if group.is_shared() => Some(Choice::Share),
            _ => Some(Choice::Duplicate),
        }
    }

    /// Whether a level holds a copy of what lies there and is used by it.
    pub fn takes_copy(&self, home: Home, level: usize) -> bool {
        match home {
            Home::Originals(_) => true,
            Home::Shared(_) | Home::Persistent => !self.together.opens(level),
            Home::Nowhere | Home::Startup | Home::Level(_) => false,
        }
    }

    /// The size of these assets.
    pub fn size(&self, assets: &[usize]) -> ObjectSize {
        let sizes = assets.iter().filter_map(|index| Some(self.assets.get(*index)?.size));
        sizes.fold(ObjectSize::default(), Add::add)
    }

    /// Those assets of a group that lie there.
    pub fn members(&self, group: &Group, choices: &[Choice], choice: Choice) -> Vec<usize> {
        let assets = group.assets.iter().copied();
        assets.filter(|asset| choices.get(*asset) == Some(&choice)).collect()
    }

    /// What it costs to have assets of a group in one place, by themselves.
    pub fn cost(&self, group: &Group, size: ObjectSize, choice: Choice) -> Cost {
        let home = Cost {
            disk: size.stored,
            ..Cost::default()
        };
        match choice {
            Choice::Duplicate if !group.is_shared() => Cost {
                read: size.read,
                ..home
            },
            Choice::Duplicate => Cost {
                disk: size.stored.saturating_add(size.read.saturating_mul(group.openers)),
                read: size.read.saturating_mul(group.openers),
                ..Cost::default()
            },
            Choice::Share => Cost {
                read: part(size.read, group.loads),
                opens: group.loads,
                ..home
            },
            Choice::Persistent => Cost {
                read: size.read,
                resident: self.resident(size, ONE.saturating_sub(group.presence)),
                ..home
            },
        }
    }

    /// As [`cost`](Self::cost), as an exact price.
    pub fn price(&self, group: &Group, size: ObjectSize, choice: Choice) -> u128 {
        self.cost(group, size, choice).exact_price(self.settings)
    }

    fn resident(&self, size: ObjectSize, parts: u64) -> u64 {
        part(size.unpacked, parts).saturating_mul(self.together.count())
    }

    /// The groups of several users that have assets of this choice, with the size of these.
    fn sizes(&self, choices: &[Choice], choice: Choice) -> BTreeMap<usize, ObjectSize> {
        let groups = self.groups.iter().enumerate().filter(|(_, group)| group.is_shared());
        groups
            .filter_map(|(index, group)| {
                let members = self.members(group, choices, choice);
                (!members.is_empty()).then(|| (index, self.size(&members)))
            })
            .collect()
    }

    /// Lays everything out as chosen.
    pub fn lay(&self, choices: &[Choice]) -> Laid {
        let run = |choice| runs(&self.groups, self.sizes(choices, choice), MOST_SHARED);
        let (shared, originals) = (run(Choice::Share), run(Choice::Duplicate));
        Laid {
            homes: self.homes(choices, &shared, &originals),
            has_persistent: choices.contains(&Choice::Persistent),
            shared: shared.len(),
            originals: originals.len(),
        }
    }

    /// What it costs to lay everything out as chosen.
    pub fn whole_cost(&self, choices: &[Choice]) -> Cost {
        let mut cost = self.others_cost(choices);
        for (index, size) in self.sizes(choices, Choice::Duplicate) {
            cost += self.cost(&self.groups[index], size, Choice::Duplicate);
        }
        let wanted = self.sizes(choices, Choice::Share);
        for run in &runs(&self.groups, wanted.clone(), MOST_SHARED) {
            cost += self.run_cost(run, &wanted);
        }
        cost
    }

    /// A shared package, whose levels may load some of it without need.
    fn run_cost(&self, run: &Run, wanted: &BTreeMap<usize, ObjectSize>) -> Cost {
        let (loads, presence) = match run.groups.as_slice() {
            // Those of its only group.
            [only] => (self.groups[*only].loads, self.groups[*only].presence),
            _ => (self.together.loads(&run.users), self.together.presence(&run.users)),
        };
        let there = self.resident(run.size, presence);
        let used = run.groups.iter().filter_map(|index| {
            let group = self.groups.get(*index)?;
            Some(self.resident(*wanted.get(index)?, group.presence))
        });
        Cost {
            disk: run.size.stored,
            read: part(run.size.read, loads),
            opens: loads,
            resident: there.saturating_sub(used.fold(0, u64::saturating_add)),
        }
    }

    /// What is used by one level, and what is persistent.
    fn others_cost(&self, choices: &[Choice]) -> Cost {
        let mut cost = Cost::default();
        for group in &self.groups {
            let persistent = self.members(group, choices, Choice::Persistent);
            cost += self.cost(group, self.size(&persistent), Choice::Persistent);
            if !group.is_shared() {
                let own = self.members(group, choices, Choice::Duplicate);
                cost += self.cost(group, self.size(&own), Choice::Duplicate);
            }
        }
        if choices.contains(&Choice::Persistent) {
            cost.opens = cost.opens.saturating_add(ONE);
        }
        cost
    }

    fn homes(&self, choices: &[Choice], shared: &[Run], originals: &[Run]) -> Vec<Home> {
        let places = |runs: &[Run]| -> BTreeMap<usize, usize> {
            let runs = runs.iter().enumerate();
            runs.flat_map(|(place, run)| run.groups.iter().map(move |group| (*group, place)))
                .collect()
        };
        let (shared, originals) = (places(shared), places(originals));
        let home = |(index, asset): (usize, &Asset)| {
            let group = self.group_of.get(index).copied().flatten();
            let place = |places: &BTreeMap<usize, usize>| group.and_then(|group| places.get(&group).copied());
            match (choices.get(index), asset.users.first()) {
                _ if asset.is_startup => Home::Startup,
                (None, _) | (_, None) => Home::Nowhere,
                (Some(Choice::Persistent), _) => Home::Persistent,
                (Some(Choice::Share), Some(level)) => place(&shared).map_or(Home::Level(*level), Home::Shared),
                (Some(Choice::Duplicate), Some(level)) => {
                    place(&originals).map_or(Home::Level(*level), Home::Originals)
                }
            }
        };
        self.assets.iter().enumerate().map(home).collect()
    }
}
