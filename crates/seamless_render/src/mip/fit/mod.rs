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
    /// What is wanted.
    wanted: Vec<u8>,
    /// The finest of that which can be changed to.
    possible: Vec<u8>,
    cutting: Cutting,
    cached: Vec<Cached>,
}

/// What is remembered of a texture.
#[derive(Copy, Clone, Debug)]
struct Lately {
    /// The mips it was sampled at, by those who were seen and by the others.
    sampled: [f32; 2],
    /// When it was about that.
    since: [f64; 2],
    /// When what is resident of it was wanted last.
    wanted: f64,
    /// The top of the last fit.
    top: Option<u8>,
}

impl Lately {
    const NOTHING: Self = Self {
        sampled: [f32::INFINITY; 2],
        since: [f64::NEG_INFINITY; 2],
        wanted: f64::NEG_INFINITY,
        top: None,
    };

    /// What is finer counts at once; what is a little coarser does not for a while.
    fn note(&mut self, sampled: [f32; 2], cached: f32, now: f64) {
        for (part, mip) in sampled.into_iter().enumerate() {
            let was = self.sampled[part];
            let is_recent = now - self.since[part] <= f64::from(cached) && cached > 0.0;
            if is_recent && mip > was && mip <= was + TREMBLE {
                if mip <= was + TREMBLE / 2.0 {
                    self.since[part] = now;
                }
                continue;
            }
            self.sampled[part] = mip;
            self.since[part] = now;
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
        self.cut.clear();
        self.lately.resize(input.textures.len(), Lately::NOTHING);
        self.tops.resize(input.textures.len(), 0);
        let largest = self.want(input);
        self.budget = input.room - largest.max(input.headroom.min(input.room / 2));
        self.tops.copy_from_slice(&self.possible);
        if self.used > self.budget {
            self.used = self
                .cutting
                .cut(input, &self.lately, self.budget, self.used, &mut self.tops);
        }
        self.is_short = self.used > self.budget;
        self.report();
        self.keep_cached(input);
        for ((lately, top), of) in self.lately.iter_mut().zip(&self.tops).zip(input.textures) {
            lately.top = of.is_some().then_some(*top);
        }
    }

    /// What is wanted of each; returns the bytes of the largest change that is needed for it, or to get rid of something.
    fn want(&mut self, input: &FitInput) -> u64 {
        (self.perfect, self.used) = (0, 0);
        self.wanted.clear();
        self.possible.clear();
        let mut largest = 0;
        for (index, of) in input.textures.iter().enumerate() {
            let lately = &mut self.lately[index];
            let Some(of) = of else {
                *lately = Lately::NOTHING;
                self.wanted.push(0);
                self.possible.push(0);
                continue;
            };
            lately.note([of.demand.seen, of.demand.unseen], input.cached, input.now);
            let mut top = of.wanted_at(lately.sampled, &input.wanting);
            self.wanted.push(top);
            self.perfect += of.chain.bytes(top);
            // A change takes what is new twice, in the texture and in buffers: no more than half of the room.
            while top < of.floor() && of.chain.change_bytes(of.chain.floor(), top) > input.room / 2 {
                top = of.chain.coarser(top).unwrap_or(u8::MAX);
            }
            let resident = of.chain.top_for(input.resident.get(index).copied().unwrap_or(u8::MAX));
            if top < resident {
                largest = largest.max(of.chain.change_bytes(resident, top));
            }
            if let Some(coarser) = of.chain.coarser(resident) {
                largest = largest.max(of.chain.bytes(coarser));
            }
            if top <= resident {
                lately.wanted = input.now;
            }
            self.possible.push(top);
            self.used += of.chain.bytes(top);
        }
        largest.min(input.room)
    }

    fn report(&mut self) {
        for ((texture, wanted), top) in (0..).zip(&self.wanted).zip(&self.tops) {
            if top > wanted {
                self.cut.push(Cut {
                    texture,
                    wanted: *wanted,
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
            let wanted = lately.wanted;
            let is_fresh = input.now - wanted <= f64::from(input.cached) && input.cached > 0.0;
            if resident < top && is_fresh {
                self.cached.push(Cached { texture, wanted });
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
