//! What holds of dealt variants, whatever the world.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::deal::{Hand, deal};
use super::*;

fn names(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|number| format!("{prefix}_{number}")).collect()
}

/// Deals to levels with these limits, in this order of levels and variants; gives what each level gets, by names.
fn dealt(set: &str, levels: &[(String, usize)], variants: &[String]) -> BTreeMap<String, BTreeSet<String>> {
    let sounds: Vec<&str> = variants.iter().map(String::as_str).collect();
    let hands = levels.iter().map(|(level, max)| Hand { level, max: *max });
    let hands: Vec<Hand> = hands.collect();
    let named = |chosen: BTreeSet<usize>| chosen.into_iter().map(|index| variants[index].clone()).collect();
    let dealt = deal(set, &sounds, &hands).into_iter().map(named);
    levels.iter().map(|(level, _)| level.clone()).zip(dealt).collect()
}

fn uses(dealt: &BTreeMap<String, BTreeSet<String>>, variant: &str) -> usize {
    dealt.values().filter(|chosen| chosen.contains(variant)).count()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn everybody_gets_what_he_may_and_all_variants_are_used_alike(
        limits in prop::collection::vec(1_usize..8, 1..30),
        count in 1_usize..20,
        seed in 0_u32..1000,
    ) {
        let (set, variants) = (format!("set_{seed}"), names("sound", count));
        let levels: Vec<_> = names("level", limits.len()).into_iter().zip(limits.iter().copied()).collect();
        let dealt = dealt(&set, &levels, &variants);
        for (level, max) in &levels {
            prop_assert_eq!(dealt[level].len(), (*max).min(count), "as many as it may, or all, each once");
        }
        let uses: Vec<usize> = variants.iter().map(|variant| uses(&dealt, variant)).collect();
        let (least, most) = (uses.iter().min().unwrap(), uses.iter().max().unwrap());
        prop_assert!(most - least <= 1, "{:?}", uses);
    }

    #[test]
    fn it_does_not_matter_in_which_order_levels_and_variants_come(
        limits in prop::collection::vec(1_usize..6, 1..20),
        count in 1_usize..12,
    ) {
        let variants = names("sound", count);
        let levels: Vec<_> = names("level", limits.len()).into_iter().zip(limits.iter().copied()).collect();
        let turned = |list: &[_]| list.iter().rev().cloned().collect::<Vec<_>>();
        let other_variants: Vec<String> = variants.iter().rev().cloned().collect();
        prop_assert_eq!(dealt("set", &levels, &variants), dealt("set", &turned(&levels), &other_variants));
    }
}

/// How many of `levels` levels that are there before get something else when one comes, for each of `trials`.
fn disturbed(levels: usize, count: usize, max: usize, trials: usize) -> f64 {
    let variants = names("sound", count);
    let all: Vec<_> = names("level", levels + trials)
        .into_iter()
        .map(|level| (level, max))
        .collect();
    let (others, new) = all.split_at(levels);
    let before = dealt("set", others, &variants);
    let changed = new.iter().map(|level| {
        let after = dealt("set", &[others, core::slice::from_ref(level)].concat(), &variants);
        before
            .iter()
            .filter(|(level, chosen)| after[*level] != **chosen)
            .count()
    });
    changed.sum::<usize>() as f64 / trials as f64
}

#[test]
fn a_new_level_changes_what_few_others_get_however_many_there_are() {
    for (count, max) in [(12, 3), (6, 1), (20, 5)] {
        let [few, many] = [40, 400].map(|levels| disturbed(levels, count, max, 6));
        assert!(
            few < count as f64 && many < count as f64,
            "{count} variants, {max} each: {few} of 40 levels, {many} of 400"
        );
    }
}

#[test]
fn the_last_limit_that_fits_counts() {
    let limits = DialogueLimits {
        of_all: Some(4),
        of_some: vec![
            DialogueLimit {
                sets: "guard/*".into(),
                max_variants: 2,
            },
            DialogueLimit {
                sets: "*/hello.dialogue.ron".into(),
                max_variants: 1,
            },
        ],
    };
    let of = |set| limits.of(set);
    assert_eq!(of("king/bye.dialogue.ron"), Some(4));
    assert_eq!(of("guard/bye.dialogue.ron"), Some(2));
    assert_eq!(of("guard/hello.dialogue.ron"), Some(1));
    assert_eq!(DialogueLimits::default().of("guard/hello.dialogue.ron"), None);
}
