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
    /// The tops of the last fit; 255 for what was not there.
    last: Vec<u8>,
    found: Vec<Found>,
    /// With what it was found.
    terms: Option<Terms>,
    cutting: Cutting,
    /// The last that was wanted comes last. Those that are wanted again are left in it for a while.
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
    /// What is there takes so much.
    resident_bytes: u64,
    /// What was told to be resident.
    told: u8,
    /// The top that is, and may stay; 255 if nothing may.
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
    /// The mips it was [sampled](super::Demand::sampled) at.
    sampled: [f32; 3],
    /// Until when it was about that; infinite if it is so.
    until: [f64; 3],
    /// Until when what is resident of it was wanted; infinite if it is.
    wanted: f64,
}

impl Lately {
    const NOTHING: Self = Self {
        sampled: [f32::INFINITY; 3],
        until: [f64::NEG_INFINITY; 3],
        wanted: f64::NEG_INFINITY,
    };

    /// What is finer counts at once; what is a little coarser does not for a while.
    fn note(&mut self, sampled: [f32; 3], cached: f32, now: f64) {
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

/// A texture that has had finer mips than are wanted, since then.
#[derive(Copy, Clone, Debug, PartialEq)]
struct Cached {
    texture: u32,
    wanted: f64,
}

impl Fit {
    /// Fits anew, beginning with what was before.
    pub fn update(&mut self, input: &FitInput) {
        self.until = f64::INFINITY;
        self.lately.resize(input.textures.len(), Lately::NOTHING);
        self.last.resize(input.textures.len(), u8::MAX);
        self.tops.resize(input.textures.len(), 0);
        let largest = self.find(input);
        self.budget = input.room - largest.min(input.room).max(input.headroom.min(input.room / 2));
        if self.used > self.budget {
            self.used = self
                .cutting
                .cut(input, &self.lately, &self.last, self.budget, self.used, &mut self.tops);
        }
        self.is_short = self.used > self.budget;
        self.report();
        self.keep_cached(input);
        for ((last, top), of) in self.last.iter_mut().zip(&self.tops).zip(&self.found) {
            // What is not there takes nothing.
            *last = if of.perfect > 0 { *top } else { u8::MAX };
        }
    }

    /// Finds out what is wanted of those of which it may be something else; returns the bytes of the largest change that is needed.
    fn find(&mut self, input: &FitInput) -> u64 {
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
        (self.perfect, self.used) = (0, 0);
        let mut largest = 0;
        let both = self.found.iter_mut().zip(&mut self.tops);
        for (index, (found, top)) in both.enumerate() {
            let resident = input.resident.get(index).copied().unwrap_or(u8::MAX);
            if is_all || found.is_open || found.told != resident {
                let lately = &mut self.lately[index];
                let was_wanted = lately.wanted == f64::INFINITY;
                *found = look(input, index, resident, lately);
                if was_wanted && lately.wanted == input.now {
                    self.cached.push(Cached {
                        texture: index as u32,
                        wanted: input.now,
                    });
                }
            }
            *top = found.possible;
            self.perfect += found.perfect;
            self.used += found.used;
            largest = largest.max(found.change);
        }
        largest
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

    /// Leaves what is resident where it is while there is room: first what is wanted and was left out, then what was wanted last.
    fn keep_cached(&mut self, input: &FitInput) {
        let oldest = input.now - f64::from(input.cached);
        let fresh = self.cached.partition_point(|cached| cached.wanted < oldest);
        self.cached
            .drain(..if input.cached > 0.0 { fresh } else { self.cached.len() });
        if self.cached.len() > 2 * self.lately.len() {
            let lately = &self.lately;
            self.cached.retain(|cached| is_current(lately, cached));
        }
        if input.cached > 0.0 {
            for place in 0..self.cut.len() {
                self.keep(input, self.cut[place].texture);
            }
        }
        for place in (0..self.cached.len()).rev() {
            let cached = self.cached[place];
            if is_current(&self.lately, &cached) && self.keep(input, cached.texture) {
                self.until = self.until.min(cached.wanted + f64::from(input.cached));
            }
        }
    }

    /// Leaves of a texture what has room; whether something stays.
    fn keep(&mut self, input: &FitInput, texture: u32) -> bool {
        let index = texture as usize;
        let (top, found) = (self.tops[index], self.found[index]);
        if found.resident >= top {
            return false;
        }
        let free = self.budget.saturating_sub(self.used);
        let is_whole = found.possible == top && found.resident_bytes - found.used <= free;
        let Some(of) = input.textures[index].as_ref().filter(|_| !is_whole) else {
            self.tops[index] = found.resident;
            self.used += found.resident_bytes - found.used;
            return true;
        };
        let more = |stay: u8| of.chain.bytes(stay) - of.chain.bytes(top);
        let mut stays = of.chain.tops().filter(|stay| (found.resident..top).contains(stay));
        let stay = stays.find(|stay| more(*stay) <= free);
        self.tops[index] = stay.unwrap_or(top);
        self.used += stay.map_or(0, more);
        stay.is_some()
    }
}

fn is_current(lately: &[Lately], cached: &Cached) -> bool {
    lately
        .get(cached.texture as usize)
        .is_some_and(|lately| lately.wanted == cached.wanted)
}

/// What is wanted of a texture, and what it takes.
fn look(input: &FitInput, index: usize, resident: u8, lately: &mut Lately) -> Found {
    let Some(of) = &input.textures[index] else {
        *lately = Lately::NOTHING;
        return Found {
            told: resident,
            resident: u8::MAX,
            ..Found::default()
        };
    };
    let sampled = of.demand.sampled();
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
        resident_bytes: chain.bytes(has),
        told: resident,
        // What is finer than it may be does not stay.
        resident: if has < of.limit() { u8::MAX } else { has },
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
