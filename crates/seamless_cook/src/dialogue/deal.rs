//! Which variants of a set come with which level. See [`deal`].

use core::cmp::Reverse;
use std::collections::BTreeSet;

use crate::graph::digest::{Digest, Parts};

/// A level that gets some variants of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hand<'a> {
    /// Its name.
    pub level: &'a str,
    /// How many variants it gets at most.
    pub max: usize,
}

/// Deals the variants of a set to levels; gives the places of each level's variants.
///
/// That follows from the numbers and from the names of set, variants and levels alone, in whatever order these come:
/// * A level gets as many variants as it may, or all, and none of them twice.
/// * The numbers of levels that get a variant differ by one at most. So all variants are used where the levels may have as many in all.
/// * A new level changes what a few others get, however many there are.
///
/// A hash tells how well a level and a variant go together. The best pairs come first: each is taken if the level still wants a variant,
/// and the variant is not yet with its fair share of levels. So somebody new takes few places, and who has to give one up finds another soon.
/// At the end a level may lack a variant because it has all those that are left over: it gets another, and then numbers are made even.
pub(crate) fn deal(set: &str, variants: &[&str], hands: &[Hand]) -> Vec<BTreeSet<usize>> {
    let mut table = Table {
        set,
        variants,
        hands,
        held: vec![BTreeSet::new(); hands.len()],
        uses: vec![0; variants.len()],
    };
    table.take_best_pairs();
    table.complete();
    table.make_even();
    table.held
}

struct Table<'a> {
    set: &'a str,
    variants: &'a [&'a str],
    hands: &'a [Hand<'a>],
    /// What each hand has.
    held: Vec<BTreeSet<usize>>,
    /// How many hands have each variant.
    uses: Vec<usize>,
}

impl Table<'_> {
    /// How well a hand and a variant go together. No two pairs are the same.
    fn wish(&self, hand: usize, variant: usize) -> Digest {
        let level = self.hands.get(hand).map_or("", |hand| hand.level);
        let mut parts = Parts::default();
        parts.text(self.set).text(self.variant(variant)).text(level).finish()
    }

    fn variant(&self, variant: usize) -> &str {
        self.variants.get(variant).copied().unwrap_or_default()
    }

    fn wants(&self, hand: usize) -> usize {
        self.hands.get(hand).map_or(0, |hand| hand.max.min(self.variants.len()))
    }

    fn lacks(&self, hand: usize) -> bool {
        self.held.get(hand).is_some_and(|held| held.len() < self.wants(hand))
    }

    fn has(&self, hand: usize, variant: usize) -> bool {
        self.held.get(hand).is_some_and(|held| held.contains(&variant))
    }

    fn give(&mut self, hand: usize, variant: usize) {
        if let (Some(held), Some(uses)) = (self.held.get_mut(hand), self.uses.get_mut(variant)) {
            *uses += usize::from(held.insert(variant));
        }
    }

    fn take(&mut self, hand: usize, variant: usize) {
        if let (Some(held), Some(uses)) = (self.held.get_mut(hand), self.uses.get_mut(variant)) {
            *uses -= usize::from(held.remove(&variant));
        }
    }

    /// With how many hands each variant is to be: the same number, and one more for some.
    fn shares(&self) -> Vec<usize> {
        let (count, wanted) = (self.variants.len(), self.hands.len());
        let wanted: usize = (0..wanted).map(|hand| self.wants(hand)).sum();
        let (each, more) = (wanted / count.max(1), wanted % count.max(1));
        let mut ranked: Vec<usize> = (0..count).collect();
        ranked.sort_by_cached_key(|variant| Parts::default().text(self.set).text(self.variant(*variant)).finish());
        let mut shares = vec![each; count];
        for variant in ranked.into_iter().take(more) {
            shares[variant] += 1;
        }
        shares
    }

    fn take_best_pairs(&mut self) {
        let shares = self.shares();
        let hands = 0..self.hands.len();
        let pairs = hands.flat_map(|hand| (0..self.variants.len()).map(move |variant| (hand, variant)));
        let mut pairs: Vec<(usize, usize)> = pairs.collect();
        pairs.sort_by_cached_key(|(hand, variant)| self.wish(*hand, *variant));
        for (hand, variant) in pairs {
            if self.lacks(hand) && self.uses.get(variant) < shares.get(variant) {
                self.give(hand, variant);
            }
        }
    }

    /// Gives who lacks some the variants that are least used.
    fn complete(&mut self) {
        let mut hands: Vec<usize> = (0..self.hands.len()).filter(|hand| self.lacks(*hand)).collect();
        hands.sort_by_key(|hand| self.hands.get(*hand).map(|hand| hand.level));
        for hand in hands {
            while self.lacks(hand) {
                let free = (0..self.variants.len()).filter(|variant| !self.has(hand, *variant));
                let best = free.min_by_key(|variant| (self.uses.get(*variant).copied(), self.wish(hand, *variant)));
                let Some(variant) = best else { break };
                self.give(hand, variant);
            }
        }
    }

    /// Gives somebody a rare variant in place of a common one, until none is more than once more common.
    fn make_even(&mut self) {
        loop {
            let named = |variant: &usize| (self.uses.get(*variant).copied(), Reverse(self.variant(*variant)));
            let variants = 0..self.variants.len();
            let (Some(common), Some(rare)) = (variants.clone().max_by_key(named), variants.min_by_key(named)) else {
                return;
            };
            if self.uses.get(common) <= self.uses.get(rare).map(|uses| uses + 1).as_ref() {
                return;
            }
            // There is one: more hands have the common one.
            let hands = (0..self.hands.len()).filter(|hand| self.has(*hand, common) && !self.has(*hand, rare));
            let Some(hand) = hands.min_by_key(|hand| self.wish(*hand, rare)) else {
                return;
            };
            self.take(hand, common);
            self.give(hand, rare);
        }
    }
}
