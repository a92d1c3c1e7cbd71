//! The decision. See [`choose`].

use super::cost::{Group, Scene};
use super::together::ONE;
use super::{Asset, Choice};

/// Decides for each asset where it lies: a pure function. What costs least by itself is made sound in the cheaper way where references
/// forbid it, and compared as a whole with sharing everything and with copying everything, as far as rules let it, and with nothing persistent
/// that no rule asks for: it never costs more than any of these.
pub(crate) fn choose(scene: &Scene) -> Vec<Choice> {
    let referrers = referrers(scene);
    let shared = uniform(scene, &referrers, Choice::Share);
    if !scene.groups.iter().any(Group::is_shared) {
        // Rules alone decide: all candidates are this one.
        return shared;
    }
    let mut candidates = vec![shared];
    let others = [
        uniform(scene, &referrers, Choice::Duplicate),
        cheapest(scene, &referrers, false),
        cheapest(scene, &referrers, true),
    ];
    for other in others {
        if !candidates.contains(&other) {
            candidates.push(other);
        }
    }
    let priced = candidates.into_iter().map(|choices| {
        let price = scene.whole_cost(&choices).exact_price(scene.settings);
        (price, choices)
    });
    // The first of equals: what is simplest.
    priced
        .min_by_key(|(price, _)| *price)
        .map(|(_, choices)| choices)
        .unwrap_or_default()
}

/// The same for all that several levels use, whatever rules say.
pub(crate) fn everything(scene: &Scene, choice: Choice) -> Vec<Choice> {
    (0..scene.assets.len())
        .map(|index| same(scene, index, choice))
        .collect()
}

fn same(scene: &Scene, asset: usize, choice: Choice) -> Choice {
    match scene.group(asset) {
        Some(group) if group.is_shared() => choice,
        _ => Choice::Duplicate,
    }
}

/// The same for all that no rule is about.
fn uniform(scene: &Scene, referrers: &[Vec<usize>], choice: Choice) -> Vec<Choice> {
    let mut choices = with_rules(scene, |index| same(scene, index, choice));
    obey(scene, referrers, &mut choices);
    raise(scene.assets, &mut choices);
    choices
}

/// What refers to each asset.
fn referrers(scene: &Scene) -> Vec<Vec<usize>> {
    let mut referrers: Vec<Vec<usize>> = vec![Vec::new(); scene.assets.len()];
    for (index, asset) in scene.assets.iter().enumerate() {
        for reference in &asset.references {
            referrers[*reference].push(index);
        }
    }
    referrers
}

fn with_rules(scene: &Scene, free: impl Fn(usize) -> Choice) -> Vec<Choice> {
    let assets = 0..scene.assets.len();
    assets
        .map(|index| scene.forced(index).unwrap_or_else(|| free(index)))
        .collect()
}

/// What costs least for each group, made sound.
fn cheapest(scene: &Scene, referrers: &[Vec<usize>], may_persist: bool) -> Vec<Choice> {
    let by_group: Vec<Choice> = (scene.groups.iter())
        .map(|group| cheapest_of(scene, group, may_persist))
        .collect();
    let free = |index: usize| {
        let group = scene.group_of.get(index).copied().flatten();
        group.and_then(|group| by_group.get(group).copied())
    };
    let mut choices = with_rules(scene, |index| free(index).unwrap_or(Choice::Duplicate));
    settle(scene, referrers, &mut choices);
    obey(scene, referrers, &mut choices);
    raise(scene.assets, &mut choices);
    choices
}

/// What costs least for those assets of a group that no rule is about.
pub(super) fn cheapest_of(scene: &Scene, group: &Group, may_persist: bool) -> Choice {
    if !group.is_shared() {
        return Choice::Duplicate;
    }
    let free: Vec<usize> = (group.assets.iter().copied())
        .filter(|asset| scene.forced(*asset).is_none())
        .collect();
    let size = scene.size(&free);
    let is_open = group
        .assets
        .iter()
        .any(|asset| scene.forced(*asset) == Some(Choice::Share));
    let least_presence = u64::from(scene.settings.persistent_percent) * ONE / 100;
    let may_persist = may_persist && scene.together.has_persistent() && group.presence >= least_presence;
    let choices = [
        Some(Choice::Share),
        // The package is opened anyway.
        (!is_open).then_some(Choice::Duplicate),
        may_persist.then_some(Choice::Persistent),
    ];
    let choices = choices.into_iter().flatten();
    let best = choices.min_by_key(|choice| scene.price(group, size, *choice));
    best.unwrap_or(Choice::Share)
}

/// What a shared asset refers to may not be copied, or its package would open the originals'. For each group that costs less as copies,
/// either what refers to it becomes copies as well, or the group is shared: whichever costs less.
fn settle(scene: &Scene, referrers: &[Vec<usize>], choices: &mut [Choice]) {
    // What is shared instead leads to groups of more users, which come later.
    let mut groups: Vec<&Group> = scene.groups.iter().filter(|group| group.is_shared()).collect();
    groups.sort_by_key(|group| group.users.len());
    let is_free = |index: &usize| scene.forced(*index).is_none();
    for group in groups {
        let is_copied = |index: &usize| is_free(index) && choices.get(*index) == Some(&Choice::Duplicate);
        let copied: Vec<usize> = group.assets.iter().copied().filter(is_copied).collect();
        let mut above = above(&copied, referrers);
        above.retain(|index| choices.get(*index) == Some(&Choice::Share));
        if above.is_empty() {
            continue;
        }
        let size = scene.size(&copied);
        let price = |choice| difference(scene.price(group, size, choice));
        let raised = price(Choice::Share) - price(Choice::Duplicate);
        let lowered: i128 = above.iter().map(|index| lowering(scene, *index)).sum();
        let (changed, choice) = match above.iter().all(is_free) && lowered < raised {
            true => (above, Choice::Duplicate),
            false => (copied, Choice::Share),
        };
        for index in changed {
            choices[index] = choice;
        }
    }
}

/// What is lost where a shared asset is copied, and its package is still there.
fn lowering(scene: &Scene, index: usize) -> i128 {
    let (Some(group), Some(asset)) = (scene.group(index), scene.assets.get(index)) else {
        return 0;
    };
    let shared = scene.cost(group, asset.size, Choice::Share);
    let shared = super::cost::Cost { opens: 0, ..shared };
    difference(scene.price(group, asset.size, Choice::Duplicate)) - difference(shared.exact_price(scene.settings))
}

/// A price, to be compared with others: no world costs more than can be told.
fn difference(price: u128) -> i128 {
    i128::try_from(price).unwrap_or(i128::MAX / 4)
}

/// The assets that lead to one of these.
fn above(assets: &[usize], referrers: &[Vec<usize>]) -> Vec<usize> {
    let mut seen = vec![false; referrers.len()];
    let mut open = assets.to_vec();
    let mut above = Vec::new();
    while let Some(index) = open.pop() {
        for referrer in referrers.get(index).into_iter().flatten() {
            if !core::mem::replace(&mut seen[*referrer], true) {
                open.push(*referrer);
                above.push(*referrer);
            }
        }
    }
    above
}

/// Lowers what no rule is about and leads to what a rule keeps low; not where another rule keeps it high.
fn obey(scene: &Scene, referrers: &[Vec<usize>], choices: &mut [Choice]) {
    for limit in [Choice::Share, Choice::Duplicate] {
        let mut is_below = vec![false; choices.len()];
        let mut kept = Vec::new();
        for (index, asset) in scene.assets.iter().enumerate().rev() {
            let forced = scene.forced(index);
            if is_below[index] || forced.is_some_and(|forced| forced > limit) {
                is_below[index] = true;
                asset
                    .references
                    .iter()
                    .for_each(|reference| is_below[*reference] = true);
            } else if forced == Some(limit) {
                kept.push(index);
            }
        }
        for index in above(&kept, referrers) {
            choices[index] = choices[index].min(limit);
        }
    }
}

/// Whatever a shared or persistent asset refers to has that place, too.
fn raise(assets: &[Asset], choices: &mut [Choice]) {
    // Later ones refer to earlier ones.
    for (index, asset) in assets.iter().enumerate().rev() {
        let choice = choices[index];
        if asset.users.is_empty() {
            continue;
        }
        for reference in &asset.references {
            choices[*reference] = choices[*reference].max(choice);
        }
    }
}
