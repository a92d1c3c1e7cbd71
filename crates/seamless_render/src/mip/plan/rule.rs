//! What is wanted of a texture whoever draws with it. See [`rule`].

use super::super::{DemandRule, MipChain, MipSettings};

/// The rule of a texture of which mips from `finest` on can be read; `is_whole`: all of it is wanted, as far as the pool goes.
pub(super) fn rule(chain: &MipChain, finest: u8, is_whole: bool, settings: &MipSettings) -> DemandRule {
    let longest = settings.longest_side().unwrap_or(u32::MAX);
    let fits = (0..chain.mips()).find(|mip| chain.side(*mip) <= longest);
    DemandRule {
        forced: (is_whole || !settings.enabled).then_some(0),
        finest: finest.max(fits.unwrap_or(chain.mips() - 1)),
        bias: settings.total_bias(),
        ..DemandRule::default()
    }
}
