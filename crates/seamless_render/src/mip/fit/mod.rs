//! What of all that is wanted is to be resident, within a budget. See [`Fit`].

mod cut;
mod rows;
#[cfg(test)]
mod tests;

use super::demand::{DemandedTexture, Wanting};

use cut::Cutting;
use rows::Rows;

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
    rows: Rows,
    /// What all that was found takes together: what is wanted, and what is possible of it.
    all: [u64; 2],
    /// Who is looked at, while a fit is made.
    open: Vec<u32>,
    /// What is cached is looked at one by one, even where all of it has room.
    #[cfg(test)]
    one_by_one: bool,
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
    /// The top that is resident, and may stay; 255 if nothing may.
    resident: u8,
    /// The top that is wanted.
    wanted: u8,
    /// The finest of it that can be changed to.
    possible: u8,
}

/// What is remembered of a texture.
#[derive(Copy, Clone, Debug)]
struct Lately {
    /// The mips it was [sampled](super::Demand::sampled) at.
    sampled: [f32; 3],
    /// Until when it was about that; infinite if it is.
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
                let is_about_that = mip <= was + TREMBLE / 2.0;
                self.until[part] = if is_about_that { f64::INFINITY } else { until };
            } else {
                self.sampled[part] = mip;
                self.until[part] = f64::INFINITY;
            }
        }
    }

    /// Until when that is so, if it is sampled as before. A little earlier, lest it be too late for what is rounded.
    fn due(&self, cached: f32) -> f64 {
        let ends = self.until.into_iter().filter(|until| until.is_finite());
        let until = ends.fold(f64::INFINITY, f64::min);
        until + f64::from(cached) - 1e-6
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
        for ((last, top), absent) in self.last.iter_mut().zip(&self.tops).zip(&self.rows.absent) {
            *last = *top | absent;
        }
    }

    /// Finds out what is wanted of those of which it may be something else; returns the bytes of the largest change that is needed.
    fn find(&mut self, input: &FitInput) -> u64 {
        let FitInput {
            room, cached, wanting, ..
        } = *input;
        let terms = Some(Terms { room, cached, wanting });
        let is_all = input.changed.is_none() || self.terms != terms;
        let before = core::mem::replace(&mut self.terms, terms);
        if input.textures.len() < self.found.len() {
            (self.rows, self.all) = (Rows::default(), [0; 2]);
            self.found.clear();
        }
        let known = self.found.len();
        self.found.resize(input.textures.len(), Found::default());
        self.rows.resize(input.textures.len());
        let mut open = core::mem::take(&mut self.open);
        if is_all {
            open.extend(0..input.textures.len() as u32);
        } else {
            open.extend(input.changed.into_iter().flatten());
            open.extend(known as u32..input.textures.len() as u32);
            self.rows.told_other(input.resident, &mut open);
            self.rows.due(input.now, &mut open);
            open.sort_unstable();
            open.dedup();
        }
        for texture in open.drain(..) {
            self.look_at(input, texture);
        }
        if before.is_some_and(|before| before.cached != cached) {
            self.find_cached(input);
        }
        self.open = open;
        self.tops.copy_from_slice(&self.rows.possible);
        [self.perfect, self.used] = self.all;
        self.rows.change.iter().copied().max().unwrap_or_default()
    }

    fn look_at(&mut self, input: &FitInput, texture: u32) {
        let index = texture as usize;
        let Some(found) = self.found.get_mut(index) else {
            return;
        };
        let resident = input.resident.get(index).copied().unwrap_or(u8::MAX);
        let lately = &mut self.lately[index];
        let was_wanted = lately.wanted == f64::INFINITY;
        let now = look(input, index, resident, lately);
        if was_wanted && lately.wanted == input.now {
            let wanted = input.now;
            self.cached.push(Cached { texture, wanted });
        }
        let is_cached = lately.wanted.is_finite() && lately.wanted >= oldest(input) && input.cached > 0.0;
        let before = core::mem::replace(found, now);
        let [perfect, used] = &mut self.all;
        *perfect = *perfect - before.perfect + now.perfect;
        *used = *used - before.used + now.used;
        self.rows.set(index, resident, &now);
        self.rows.due[index] = lately.due(input.cached);
        if is_cached && now.resident < now.possible {
            self.rows.stay(index, now.resident, now.resident_bytes - now.used);
        } else {
            self.rows.stay(index, u8::MAX, 0);
        }
    }

    /// Finds all that is cached: what was not for long enough may be so again.
    fn find_cached(&mut self, input: &FitInput) {
        let oldest = oldest(input);
        let all = (0..).zip(&self.lately).map(|(texture, lately)| Cached {
            texture,
            wanted: lately.wanted,
        });
        self.cached.clear();
        self.cached
            .extend(all.filter(|cached| cached.wanted.is_finite() && cached.wanted >= oldest));
        self.cached
            .sort_unstable_by(|a, b| a.wanted.total_cmp(&b.wanted).then(a.texture.cmp(&b.texture)));
    }

    fn report(&mut self) {
        self.cut.clear();
        let Self { cut, tops, rows, .. } = self;
        rows.coarser(tops, |texture, wanted, top| cut.push(Cut { texture, wanted, top }));
    }

    /// Leaves what is resident where it is while there is room: first what is wanted and was left out, then what was wanted last.
    fn keep_cached(&mut self, input: &FitInput) {
        self.forget_old(input);
        if self.cut.is_empty() && self.used + self.rows.more <= self.budget && !self.is_one_by_one() {
            return self.keep_all(input);
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

    #[cfg(not(test))]
    fn is_one_by_one(&self) -> bool {
        false
    }

    /// What was wanted too long ago is not cached any more.
    fn forget_old(&mut self, input: &FitInput) {
        let oldest = oldest(input);
        let fresh = self.cached.partition_point(|cached| cached.wanted < oldest);
        let gone = if input.cached > 0.0 { fresh } else { self.cached.len() };
        for cached in self.cached.drain(..gone) {
            if is_current(&self.lately, &cached) {
                self.rows.stay(cached.texture as usize, u8::MAX, 0);
            }
        }
        if self.cached.len() > 2 * self.lately.len() {
            let lately = &self.lately;
            self.cached.retain(|cached| is_current(lately, cached));
        }
    }

    /// Nothing is left out, and all that is cached has room.
    fn keep_all(&mut self, input: &FitInput) {
        for (top, stay) in self.tops.iter_mut().zip(&self.rows.stay) {
            *top = (*top).min(*stay);
        }
        self.used += self.rows.more;
        let stays = |cached: &&Cached| {
            let index = cached.texture as usize;
            is_current(&self.lately, cached) && self.rows.stay[index] < self.rows.possible[index]
        };
        if let Some(first) = self.cached.iter().find(stays) {
            self.until = self.until.min(first.wanted + f64::from(input.cached));
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

/// What was wanted last at this time, or later, is cached.
fn oldest(input: &FitInput) -> f64 {
    input.now - f64::from(input.cached)
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
            resident: u8::MAX,
            ..Found::default()
        };
    };
    lately.note(of.demand.sampled(), input.cached, input.now);
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
        // What is finer than it may be does not stay.
        resident: if has < of.limit() { u8::MAX } else { has },
        wanted,
        possible,
    }
}

/// A change takes what is new twice, in the texture and in buffers: the finest top from `top` on whose change takes no more than `most`.
fn possible(of: &DemandedTexture, top: u8, most: u64) -> u8 {
    let floor = of.floor();
    let mut tops = of.chain.tops().filter(|coarser| (top..floor).contains(coarser));
    let fits = |top: &u8| of.chain.change_bytes(of.chain.floor(), *top) <= most;
    tops.find(fits).unwrap_or(floor)
}
