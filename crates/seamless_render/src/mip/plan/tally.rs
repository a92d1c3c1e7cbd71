//! What resident textures are for, and which are too coarse. See [`Tally`].

#[cfg(test)]
mod tests;

use crate::mip::{DemandedTexture, MipLedger, Resident, Wanting};

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
    /// By texture.
    counted: Vec<Counted>,
    /// With what it was counted.
    wanting: Option<Wanting>,
}

/// What was counted of a texture; it is looked at again when something of it is another.
#[derive(Copy, Clone, Debug, PartialEq)]
struct Counted {
    /// The top that is there; none: it is not there.
    top: Option<u8>,
    kind: Kind,
    is_coarse: bool,
    is_stale: bool,
    /// What somebody needs of it, in bytes.
    needed: u64,
    /// What nobody needs.
    cached: u64,
    /// Since when it is coarser than is wanted, in seconds; not a number: it is not.
    since: f64,
}

/// Who needs a texture.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Kind {
    Forced,
    Visible,
    Hidden,
}

impl Counted {
    const NEW: Self = Self {
        top: None,
        kind: Kind::Hidden,
        is_coarse: false,
        is_stale: true,
        needed: 0,
        cached: 0,
        since: f64::NAN,
    };

    fn look(&mut self, of: &DemandedTexture, resident: &Resident, wanting: &Wanting, now: f64) {
        let wanted = of.wanted(wanting);
        let is_coarse = resident.top > wanted;
        let since = if self.since.is_nan() { now } else { self.since };
        let needed = resident.bytes.min(of.chain.bytes(wanted));
        *self = Self {
            top: Some(resident.top),
            kind: match () {
                () if of.demand.rule.forced.is_some() => Kind::Forced,
                () if of.demand.seen < f32::INFINITY => Kind::Visible,
                () => Kind::Hidden,
            },
            is_coarse,
            is_stale: false,
            needed,
            cached: resident.bytes - needed,
            since: if is_coarse { since } else { f64::NAN },
        };
    }
}

impl Tally {
    /// Counts all textures, of which something else is wanted of those that are `changed`. `now` is in seconds.
    pub fn count(
        &mut self,
        textures: &[Option<DemandedTexture>],
        changed: &[u32],
        ledger: &MipLedger,
        wanting: &Wanting,
        now: f64,
    ) {
        let mut counted = core::mem::take(&mut self.counted);
        counted.resize(textures.len(), Counted::NEW);
        let is_all = self.wanting != Some(*wanting);
        for texture in changed {
            if let Some(counted) = counted.get_mut(*texture as usize) {
                counted.is_stale = true;
            }
        }
        *self = Self {
            wanting: Some(*wanting),
            ..Self::default()
        };
        for (number, of) in (0..).zip(&mut counted) {
            let resident = ledger.get(number);
            if is_all || of.is_stale || of.top != resident.map(|resident| resident.top) {
                match textures[number as usize].as_ref().zip(resident) {
                    Some((texture, resident)) => of.look(texture, &resident, wanting, now),
                    None => *of = Counted::NEW,
                }
            }
            self.add(of);
        }
        self.counted = counted;
    }

    fn add(&mut self, of: &Counted) {
        let kind = match of.kind {
            Kind::Forced => &mut self.forced,
            Kind::Visible => &mut self.visible,
            Kind::Hidden => &mut self.hidden,
        };
        *kind += of.needed;
        self.cached += of.cached;
        self.under_resolved += u64::from(of.is_coarse);
    }

    /// How many textures have been coarser than is wanted for a second or longer.
    pub fn starving(&self, now: f64) -> u64 {
        if self.under_resolved == 0 {
            return 0;
        }
        let starves = |of: &&Counted| now - of.since >= STARVING;
        self.counted.iter().filter(starves).count() as u64
    }
}
