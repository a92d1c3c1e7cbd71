//! What of all that is wanted is to be resident, within a budget. See [`Fit`].

mod cut;
#[cfg(test)]
mod tests;

use super::demand::{DemandedTexture, Wanting};

use cut::Cutting;

/// By how much a texture may be sampled coarser than lately, in mips, without being taken for coarser: a view that trembles changes nothing.
const TREMBLE: f32 = 0.25;

/// What a fit is made of, beside what was fitted before.
#[derive(Copy, Clone, Debug)]
pub struct FitInput<'a> {
    /// By number, what is wanted.
    pub textures: &'a [Option<DemandedTexture>],
    /// The textures that have come or gone, or of which something else is wanted, since the last fit, as
    /// [`MipDemands::changed`](super::MipDemands::changed) tells them; none if nobody knows: then all are looked at.
    pub changed: Option<&'a [u32]>,
    /// By number, the tops that are resident, or will be when what goes on has ended; those of textures that are not there do not matter.
    pub resident: &'a [u8],
    /// What of the pool is for textures that stream, changes included, in bytes.
    pub room: u64,
    /// What of the room is for changes at least, in bytes; half of it at most.
    pub headroom: u64,
    /// What is resident stays so many seconds after it was wanted, while there is room.
    pub cached: f32,
    /// When a mip is wanted.
    pub wanting: Wanting,
    /// In seconds.
    pub now: f64,
}

/// A texture that has less than it should.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Its number.
    pub texture: u32,
    /// The top that is wanted.
    pub wanted: u8,
    /// The top that it is to have.
    pub top: u8,
}

/// Which mips are to be resident: all that are wanted, if they fit. Else single mips are left out where a byte costs the least error; what is not seen
/// counts a sixteenth, and half of that for each second since it was. What has room beside stays, as long as it is cached.
///
/// The error of a mip that is missing is `weight · area · (mips too coarse)²`. A mip that was kept in the last fit is worth a quarter more than one
/// that was not, and where something is cached, a texture that was sampled finer by up to a quarter of a mip lately still counts as that:
/// so at a full pool, two textures do not take turns. Among equals, the lower number goes first.
#[derive(Debug, Default)]
pub struct Fit {
    /// By number, the top that each texture is to have; 0 for those that are not there.
    pub tops: Vec<u8>,
    /// Who has less than it should.
    pub cut: Vec<Cut>,
    /// What all tops may take together: the room, but for the largest change that may be needed, and the headroom at least. In bytes.
    pub budget: u64,
    /// What all that is wanted would take, in bytes.
    pub perfect: u64,
    /// What all tops take, in bytes.
    pub used: u64,
    /// Not even the coarsest tops of all fit; then all have them.
    pub is_short: bool,
    /// When something that is cached will have been for long enough, in seconds: the next fit is another then, though nothing else changes.
    pub until: f64,
    lately: Vec<Lately>,
    found: Vec<Found>,
    /// With what it was found.
    terms: Option<Terms>,
    cutting: Cutting,
    cached: Vec<Cached>,
}

/// What all that is found depends on.
#[derive(Copy, Clone, Debug, PartialEq)]
struct Terms {
    room: u64,
    cached: f32,
    wanting: Wanting,
}

/// What was found of a texture; it is looked at again when something of it is another.
#[derive(Copy, Clone, Debug, Default)]
struct Found {
    /// What is wanted takes so much …
    perfect: u64,
    /// … and the finest of it that can be changed to.
    used: u64,
    /// What a change to that takes, or to get rid of what is there.
    change: u64,
    /// The top that was resident.
    resident: u8,
    /// The top that is wanted.
    wanted: u8,
    /// The finest of it that can be changed to.
    possible: u8,
    /// It may be another though nothing changes.
    is_open: bool,
}

/// What is remembered of a texture.
#[derive(Copy, Clone, Debug)]
struct Lately {
    /// The mips it was sampled at, by those who were seen and by the others.
    sampled: [f32; 2],
    /// Until when it was about that; infinite if it is so.
    until: [f64; 2],
    /// Until when what is resident of it was wanted; infinite if it is.
    wanted: f64,
    /// The top of the last fit.
    top: Option<u8>,
}

impl Lately {
    const NOTHING: Self = Self {
        sampled: [f32::INFINITY; 2],
        until: [f64::NEG_INFINITY; 2],
        wanted: f64::NEG_INFINITY,
        top: None,
    };

    /// What is finer counts at once; what is a little coarser does not for a while.
    fn note(&mut self, sampled: [f32; 2], cached: f32, now: f64) {
        for (part, mip) in sampled.into_iter().enumerate() {
            let was = self.sampled[part];
            let until = self.until[part].min(now);
            let is_recent = now - until <= f64::from(cached) && cached > 0.0;
            if is_recent && mip > was && mip <= was + TREMBLE {
                self.until[part] = if mip <= was + TREMBLE / 2.0 { now } else { until };
            } else {
                self.sampled[part] = mip;
                self.until[part] = f64::INFINITY;
            }
        }
    }
}

/// A texture with finer mips than are planned for it.
#[derive(Copy, Clone, Debug)]
struct Cached {
    texture: u32,
    wanted: f64,
}

impl Fit {
    /// Fits anew, beginning with what was before.
    pub fn update(&mut self, input: &FitInput) {
        self.until = f64::INFINITY;
        self.lately.resize(input.textures.len(), Lately::NOTHING);
        self.tops.resize(input.textures.len(), 0);
        self.find(input);
        let largest = self.found.iter().map(|found| found.change).max().unwrap_or_default();
        self.perfect = self.found.iter().map(|found| found.perfect).sum();
        self.used = self.found.iter().map(|found| found.used).sum();
        self.budget = input.room - largest.min(input.room).max(input.headroom.min(input.room / 2));
        let possible = self.tops.iter_mut().zip(&self.found);
        possible.for_each(|(top, found)| *top = found.possible);
        if self.used > self.budget {
            self.used = self
                .cutting
                .cut(input, &self.lately, self.budget, self.used, &mut self.tops);
        }
        self.is_short = self.used > self.budget;
        self.report();
        self.keep_cached(input);
        for ((lately, top), of) in self.lately.iter_mut().zip(&self.tops).zip(&self.found) {
            // What is not there takes nothing.
            lately.top = (of.perfect > 0).then_some(*top);
        }
    }

    /// Finds out what is wanted of those of which it may be something else.
    fn find(&mut self, input: &FitInput) {
        let FitInput {
            room, cached, wanting, ..
        } = *input;
        let terms = Some(Terms { room, cached, wanting });
        let is_all = input.changed.is_none() || self.terms != terms;
        self.terms = terms;
        let new = Found {
            is_open: true,
            ..Found::default()
        };
        self.found.resize(input.textures.len(), new);
        for texture in input.changed.into_iter().flatten() {
            if let Some(found) = self.found.get_mut(*texture as usize) {
                found.is_open = true;
            }
        }
        let both = self.found.iter_mut().zip(&mut self.lately);
        for (index, (found, lately)) in both.enumerate() {
            let resident = input.resident.get(index).copied().unwrap_or(u8::MAX);
            if is_all || found.is_open || found.resident != resident {
                *found = look(input, index, resident, lately);
            }
        }
    }

    fn report(&mut self) {
        self.cut.clear();
        for ((texture, found), top) in (0..).zip(&self.found).zip(&self.tops) {
            if *top > found.wanted {
                self.cut.push(Cut {
                    texture,
                    wanted: found.wanted,
                    top: *top,
                });
            }
        }
    }

    /// Leaves what is resident where it is while there is room, first what was wanted last.
    fn keep_cached(&mut self, input: &FitInput) {
        self.cached.clear();
        let tops = self.tops.iter().zip(&self.lately);
        for ((texture, resident), (top, lately)) in (0..).zip(input.resident).zip(tops) {
            if resident < top {
                let wanted = lately.wanted;
                let is_fresh = input.now - wanted <= f64::from(input.cached) && input.cached > 0.0;
                self.cached.extend(is_fresh.then_some(Cached { texture, wanted }));
            }
        }
        let order = |cached: &Cached| (core::cmp::Reverse(Seconds(cached.wanted)), cached.texture);
        self.cached.sort_unstable_by_key(order);
        for Cached { texture, wanted } in &self.cached {
            let index = *texture as usize;
            let Some(of) = &input.textures[index] else { continue };
            let (top, resident) = (self.tops[index], input.resident[index]);
            let free = self.budget.saturating_sub(self.used);
            let fits = |stay: &u8| of.chain.bytes(*stay) - of.chain.bytes(top) <= free;
            let mut stays = of
                .chain
                .tops()
                .filter(|stay| (resident..top).contains(stay) && *stay >= of.demand.rule.finest);
            if let Some(stay) = stays.find(fits) {
                self.used += of.chain.bytes(stay) - of.chain.bytes(top);
                self.tops[index] = stay;
                self.until = self.until.min(wanted + f64::from(input.cached));
            }
        }
    }
}

/// What is wanted of a texture, and what it takes.
fn look(input: &FitInput, index: usize, resident: u8, lately: &mut Lately) -> Found {
    let Some(of) = &input.textures[index] else {
        *lately = Lately::NOTHING;
        return Found {
            resident,
            ..Found::default()
        };
    };
    let sampled = [of.demand.seen, of.demand.unseen];
    lately.note(sampled, input.cached, input.now);
    let wanted = of.wanted_at(lately.sampled, &input.wanting);
    let chain = &of.chain;
    let has = chain.top_for(resident);
    let possible = if wanted < has {
        possible(of, wanted, input.room / 2).min(has)
    } else {
        wanted
    };
    let change = if possible < has {
        chain.change_bytes(has, possible)
    } else {
        chain.coarser(has).map_or(0, |coarser| chain.bytes(coarser))
    };
    lately.wanted = if possible <= has {
        f64::INFINITY
    } else {
        lately.wanted.min(input.now)
    };
    Found {
        perfect: chain.bytes(wanted),
        used: chain.bytes(possible),
        change,
        resident,
        wanted,
        possible,
        is_open: lately.sampled != sampled,
    }
}

/// A change takes what is new twice, in the texture and in buffers: the finest top from `top` on whose change takes no more than `most`.
fn possible(of: &DemandedTexture, top: u8, most: u64) -> u8 {
    let floor = of.floor();
    let mut tops = of.chain.tops().filter(|coarser| (top..floor).contains(coarser));
    let fits = |top: &u8| of.chain.change_bytes(of.chain.floor(), *top) <= most;
    tops.find(fits).unwrap_or(floor)
}

/// In the order of time.
#[derive(PartialEq)]
struct Seconds(f64);

impl Eq for Seconds {}

impl PartialOrd for Seconds {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Seconds {
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}
