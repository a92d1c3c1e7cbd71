//! Who holds which asset.

use std::collections::BTreeSet;

use crate::share::{Home, Shareable, share};

fn assets(users: &[&[usize]]) -> Vec<Shareable> {
    let asset = |users: &&[usize]| Shareable {
        users: users.iter().copied().collect(),
        bytes: 100,
        is_startup: false,
    };
    users.iter().map(asset).collect()
}

#[test]
fn what_one_level_uses_is_its_own() {
    let homes = share(&assets(&[&[0], &[1], &[]]), 64);
    assert_eq!(homes, [Home::Level(0), Home::Level(1), Home::Nowhere]);
}

#[test]
fn what_the_same_levels_use_lies_together() {
    let homes = share(&assets(&[&[0, 1], &[1, 2], &[0, 1], &[0, 1, 2], &[2]]), 64);
    // More users come first: what an asset refers to has at least its users.
    assert_eq!(
        homes,
        [
            Home::Shared(1),
            Home::Shared(2),
            Home::Shared(1),
            Home::Shared(0),
            Home::Level(2)
        ]
    );
}

#[test]
fn there_are_never_too_many_shared_packages() {
    let sets: Vec<Vec<usize>> = (0..20).flat_map(|a| (a + 1..20).map(move |b| vec![a, b])).collect();
    let sets: Vec<&[usize]> = sets.iter().map(Vec::as_slice).collect();
    let homes = share(&assets(&sets), 64);
    let packages: BTreeSet<usize> = homes
        .iter()
        .map(|home| match home {
            Home::Shared(package) => *package,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(packages, (0..64).collect());
}

#[test]
fn merging_keeps_the_order_of_dependency() {
    // Chains of ever smaller sets: each asset may refer to the ones with more users.
    let sets: Vec<Vec<usize>> = (2..40).map(|length| (0..length).collect()).collect();
    let slices: Vec<&[usize]> = sets.iter().map(Vec::as_slice).collect();
    let homes = share(&assets(&slices), 5);
    let number = |home: &Home| match home {
        Home::Shared(package) => *package,
        other => panic!("{other:?}"),
    };
    let numbers: Vec<usize> = homes.iter().map(number).collect();
    assert!(numbers.is_sorted_by(|small, large| small >= large), "{numbers:?}");
    assert_eq!(numbers.iter().collect::<BTreeSet<_>>().len(), 5);
}

#[test]
fn the_cheapest_merge_wins() {
    let mut assets = assets(&[&[0, 1], &[0, 1, 2], &[5, 6]]);
    assets[2].bytes = 1_000_000;
    let homes = share(&assets, 2);
    assert_eq!(homes, [Home::Shared(0), Home::Shared(0), Home::Shared(1)]);
}
