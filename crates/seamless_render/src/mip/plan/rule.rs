//! What is wanted of a texture whoever draws with it. See [`rule`].

use super::super::{DemandRule, MipChain, MipGroup, MipSettings, settings::sound};

/// The rule of a texture of which mips from `finest` on can be read, and whose longer side is to have so many texels in any case.
pub(super) fn rule(
    chain: &MipChain,
    finest: u8,
    side: Option<u32>,
    settings: &MipSettings,
    group: Option<&MipGroup>,
) -> DemandRule {
    let sides = [settings.longest_side(), group.and_then(|group| group.max_size)];
    let longest = sides.into_iter().flatten().min().unwrap_or(u32::MAX);
    let fits = (0..chain.mips()).find(|mip| chain.side(*mip) <= longest);
    let side = if settings.enabled { side } else { Some(u32::MAX) };
    let has = |mip: &u8, side: u32| chain.side(*mip) >= side;
    let coarsest = |side: u32| (0..chain.mips()).rev().find(|mip| has(mip, side)).unwrap_or(0);
    let least = group.and_then(|group| group.min_size);
    DemandRule {
        forced: side.map(coarsest),
        finest: finest.max(fits.unwrap_or(chain.mips() - 1)),
        coarsest: least.map_or(u8::MAX, coarsest),
        bias: settings.total_bias() + group.map_or(0.0, |group| sound(group.bias, -16.0, 16.0)),
        weight: group.map_or(1.0, |group| sound(group.weight, 0.0, 1e6)),
    }
}
