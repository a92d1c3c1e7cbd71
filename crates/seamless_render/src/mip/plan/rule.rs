//! What is wanted of a texture whoever draws with it. See [`rule`].

use super::super::{DemandRule, MipChain, MipSettings};

/// The rule of a texture of which mips from `finest` on can be read, and whose longer side is to have so many texels in any case.
pub(super) fn rule(chain: &MipChain, finest: u8, side: Option<u32>, settings: &MipSettings) -> DemandRule {
    let longest = settings.longest_side().unwrap_or(u32::MAX);
    let fits = (0..chain.mips()).find(|mip| chain.side(*mip) <= longest);
    let side = if settings.enabled { side } else { Some(u32::MAX) };
    let has = |mip: &u8, side: u32| chain.side(*mip) >= side;
    DemandRule {
        forced: side.map(|side| (0..chain.mips()).rev().find(|mip| has(mip, side)).unwrap_or(0)),
        finest: finest.max(fits.unwrap_or(chain.mips() - 1)),
        bias: settings.total_bias(),
        ..DemandRule::default()
    }
}
