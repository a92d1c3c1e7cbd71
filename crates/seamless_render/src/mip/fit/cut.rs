//! Leaves out single mips until the rest fits. See [`Cutting`].

use super::{
    super::demand::{Demand, DemandedTexture},
    FitInput, Lately,
};

/// What nobody sees counts so much less, where somebody is expected as well.
const UNSEEN: f32 = 1.0 / 16.0;
/// What was kept in the last fit is worth so much more.
const KEPT: f32 = 1.25;
/// Keys of what is not forced; those of what is are larger by that.
const KEYS: usize = 4096;

/// Lists that are kept from one fit to the next.
#[derive(Debug, Default)]
pub(super) struct Cutting {
    drops: Vec<Drop>,
    /// How many drops have each key; then where the next of them goes.
    counts: Vec<u32>,
    order: Vec<u32>,
}

/// To leave out the mips of a texture up to a coarser top.
#[derive(Copy, Clone, Debug)]
struct Drop {
    texture: u32,
    top: u8,
    key: u16,
}

impl Cutting {
    /// Leaves out mips of `tops`, those first that cost the least error for a byte; returns what the rest takes.
    pub fn cut(
        &mut self,
        input: &FitInput,
        lately: &[Lately],
        last: &[u8],
        budget: u64,
        mut used: u64,
        tops: &mut [u8],
    ) -> u64 {
        self.list(input, lately, last, tops);
        self.sort();
        for index in &self.order {
            if used <= budget {
                break;
            }
            let Drop { texture, top, .. } = self.drops[*index as usize];
            let Some(of) = &input.textures[texture as usize] else {
                continue;
            };
            let last = &mut tops[texture as usize];
            used -= of.chain.bytes(*last) - of.chain.bytes(top);
            *last = top;
        }
        used
    }

    fn list(&mut self, input: &FitInput, lately: &[Lately], last: &[u8], tops: &[u8]) {
        self.drops.clear();
        for (texture, of) in (0..).zip(input.textures) {
            let Some(of) = of else { continue };
            let index = texture as usize;
            let (error, last) = (Error::new(&of.demand, lately[index].sampled, input), last[index]);
            let (mut top, mut key) = (tops[index], 0);
            while let Some(coarser) = of.chain.coarser(top).filter(|coarser| *coarser <= of.floor()) {
                key = drop_key(of, &error, last, top, coarser).max(key);
                self.drops.push(Drop {
                    texture,
                    top: coarser,
                    key,
                });
                top = coarser;
            }
        }
    }

    /// By key; among equals, in the order in which they were listed: a texture's finer mips first.
    fn sort(&mut self) {
        self.counts.clear();
        self.counts.resize(2 * KEYS, 0);
        for drop in &self.drops {
            self.counts[usize::from(drop.key)] += 1;
        }
        let mut before = 0;
        for count in &mut self.counts {
            before += core::mem::replace(count, before);
        }
        self.order.clear();
        self.order.resize(self.drops.len(), 0);
        for (index, drop) in (0..).zip(&self.drops) {
            let place = &mut self.counts[usize::from(drop.key)];
            self.order[*place as usize] = index;
            *place += 1;
        }
    }
}

fn drop_key(of: &DemandedTexture, error: &Error, last: u8, top: u8, coarser: u8) -> u16 {
    let bytes = of.chain.bytes(top) - of.chain.bytes(coarser);
    let mut cost = (error.at(coarser) - error.at(top)) / bytes as f32;
    if last <= top {
        cost *= KEPT;
    }
    let is_forced = of.demand.rule.forced.is_some_and(|forced| forced <= top);
    key_of(cost) + if is_forced { KEYS as u16 } else { 0 }
}

/// Exponent and four bits of the mantissa: sixteen keys from one power of two to the next, in the order of costs.
fn key_of(cost: f32) -> u16 {
    // Written so that what is no number costs nothing.
    let cost = if cost > 0.0 { cost.min(f32::MAX) } else { 0.0 };
    (cost.to_bits() >> 19) as u16
}

/// What it costs that mips of a texture are missing.
pub(super) struct Error {
    seen: f32,
    unseen: f32,
    expected: f32,
    area: f32,
    unseen_area: f32,
    expected_area: f32,
}

impl Error {
    pub fn new(demand: &Demand, [seen, unseen, expected]: [f32; 3], input: &FitInput) -> Self {
        let since = (input.now - demand.last_seen).max(0.0) as f32;
        Self {
            seen,
            unseen: input.wanting.hidden(unseen),
            expected,
            area: demand.rule.weight * demand.area,
            unseen_area: demand.rule.weight * demand.unseen_area * UNSEEN * (-since).exp2(),
            expected_area: demand.rule.weight * demand.expected_area * UNSEEN,
        }
    }

    /// If the texture begins at this top.
    pub fn at(&self, top: u8) -> f32 {
        let top = f32::from(top);
        let part = |area: f32, sampled: f32| area * (top - sampled).max(0.0).powi(2);
        let seen = part(self.area, self.seen);
        seen + part(self.unseen_area, self.unseen) + part(self.expected_area, self.expected)
    }
}
