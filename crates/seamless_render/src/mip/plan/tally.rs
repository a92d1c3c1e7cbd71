//! What resident textures are for, and which are too coarse. See [`Tally`].

#[cfg(test)]
mod tests;

use crate::mip::{DemandedTexture, MipLedger, Wanting};

/// After so long a texture that is coarser than wanted starves, in seconds.
const STARVING: f64 = 1.0;

/// Resident bytes by what they are for, and who waits for more.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::mip) struct Tally {
    /// What is seen needs them, in bytes.
    pub visible: u64,
    /// What nobody sees would need them, in bytes.
    pub hidden: u64,
    /// Textures that are forced, in bytes.
    pub forced: u64,
    /// Finer than anybody wants, and kept, in bytes.
    pub cached: u64,
    /// Textures that are coarser than is wanted.
    pub under_resolved: u64,
    /// By texture, since when it is, in seconds; not a number: it is not.
    since: Vec<f64>,
}

impl Tally {
    /// Counts all textures. `now` is in seconds.
    pub fn count(&mut self, textures: &[Option<DemandedTexture>], ledger: &MipLedger, wanting: &Wanting, now: f64) {
        let mut since = core::mem::take(&mut self.since);
        since.resize(textures.len(), f64::NAN);
        *self = Self::default();
        for ((number, of), since) in (0..).zip(textures).zip(&mut since) {
            let (Some(of), Some(resident)) = (of, ledger.get(number)) else {
                *since = f64::NAN;
                continue;
            };
            let wanted = of.wanted(wanting);
            let needed = resident.bytes.min(of.chain.bytes(wanted));
            let kind = match () {
                () if of.demand.rule.forced.is_some() => &mut self.forced,
                () if of.demand.seen < f32::INFINITY => &mut self.visible,
                () => &mut self.hidden,
            };
            *kind += needed;
            self.cached += resident.bytes - needed;
            if resident.top <= wanted {
                *since = f64::NAN;
            } else {
                self.under_resolved += 1;
                *since = if since.is_nan() { now } else { *since };
            }
        }
        self.since = since;
    }

    /// How many textures have been coarser than is wanted for a second or longer.
    pub fn starving(&self, now: f64) -> u64 {
        if self.under_resolved == 0 {
            return 0;
        }
        self.since.iter().filter(|since| now - **since >= STARVING).count() as u64
    }
}
