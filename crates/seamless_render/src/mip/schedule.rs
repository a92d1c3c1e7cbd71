//! What is done next to get from what is resident to what was planned. See [`schedule`].

#[cfg(test)]
mod tests;

use core::{cmp::Reverse, ops::Range};

use super::{
    chain::MipChain,
    demand::{Demand, DemandedTexture},
    fit::Fit,
    ledger::{ChangeId, MipLedger, Phase},
};

/// What may go on at once, and in a frame. Of reads and buffers, what is forced may have as much again, whatever others have: it waits for nothing but its own.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct MipLimits {
    /// All of mip streaming, in bytes; see [`LedgerSums::total`](super::LedgerSums::total).
    pub pool: u64,
    /// Buffers of changes that go on, in bytes; one change may have more.
    pub staging: u64,
    /// Changes that wait for what they read.
    pub reads: usize,
    /// A change that brings more bytes than this comes in two: two mips first, then the rest. What is forced comes at once.
    pub step: u64,
    /// Changes that are sent in this frame; none in a frame in which materials are not to change.
    pub swaps: usize,
    /// Bytes of new mips that are sent in this frame, or one change of any size; if it is 0, none that brings any.
    pub bytes: u64,
}

/// Mips to be read and staged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MipRead {
    /// For which change.
    pub id: ChangeId,
    /// Of which texture.
    pub texture: u32,
    /// Which mips.
    pub mips: Range<u8>,
}

/// A texture to be replaced.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct MipSwap {
    /// By which change.
    pub id: ChangeId,
    /// Which texture.
    pub texture: u32,
    /// The top that it has.
    pub from: u8,
    /// The top that it is to have.
    pub to: u8,
}

/// What is done next.
#[derive(Clone, Debug, Default)]
pub struct MipChanges {
    /// What is to be read, the most urgent first.
    pub reads: Vec<MipRead>,
    /// What is not wanted any more: texture and change, whose read is to be ended and whose buffers dropped.
    pub cancels: Vec<(u32, ChangeId)>,
    /// What the renderer is to do, in this order.
    pub swaps: Vec<MipSwap>,
    /// What the swaps bring, in bytes.
    pub sent: u64,
    /// Somebody waits for room: what goes makes some in the next frames.
    pub is_short_of_room: bool,
    /// Something is to go for whose copy there is no room yet.
    pub is_held: bool,
    candidates: Vec<Candidate>,
    going: Vec<Going>,
}

/// A texture that is to be another.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    urgency: Reverse<Urgency>,
    texture: u32,
}

/// What comes first.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Urgency {
    /// It has mips that are not planned: the more bytes, the sooner.
    Shrink(u64),
    /// Nobody sees it.
    Unseen(u32),
    /// It is seen, and too coarse: by pixels and mips.
    Seen(u32),
    /// Whatever is seen.
    Forced(u32),
}

/// A staged change.
#[derive(Copy, Clone, Debug)]
struct Going {
    urgency: Urgency,
    swap: MipSwap,
    bytes: u64,
}

/// Begins, cancels and sends changes, and writes them into the ledger. `ready` are textures and changes whose mips have come.
///
/// A change begins if its copy and its buffers fit the pool beside all that is there, and if the plan's budget holds what will be resident then. So
/// whatever goes on can be ended, and each plan is reached if reads and reports come: what is not in the way of the budget makes
/// room, and what makes room needs no more than the budget leaves free. Where somebody waits for room, what goes is first; else forced textures,
/// then seen ones by pixels and missing mips, then the others, then what goes. What is staged and does not fit the frame's bytes is passed by what does, and
/// is first in a later one.
pub fn schedule(
    plan: &Fit,
    textures: &[Option<DemandedTexture>],
    ledger: &mut MipLedger,
    ready: &[(u32, ChangeId)],
    limits: &MipLimits,
    out: &mut MipChanges,
) {
    let was_short = core::mem::take(&mut out.is_short_of_room);
    out.is_held = false;
    out.reads.clear();
    out.cancels.clear();
    out.swaps.clear();
    out.sent = 0;
    for (texture, id) in ready {
        ledger.staged(*texture, *id);
    }
    let mut scheduler = Scheduler {
        plan,
        textures,
        ledger,
        limits,
        swaps: limits.swaps,
        bytes: limits.bytes,
    };
    scheduler.look_at_changes(out);
    scheduler.list(out);
    let grows = out.candidates.partition_point(|of| of.urgency.0 >= Urgency::Unseen(0));
    if was_short {
        scheduler.shrink(grows, out);
    }
    scheduler.send_staged(out);
    scheduler.read(grows, out);
    if !was_short {
        scheduler.shrink(grows, out);
    }
}

/// What goes on of one kind of changes.
#[derive(Copy, Clone, Debug, Default)]
struct Lane {
    reads: usize,
    /// In bytes.
    staging: u64,
}

impl Lane {
    fn has_room(&self, staging: u64, limits: &MipLimits) -> bool {
        let is_alone = self.staging == 0;
        self.reads < limits.reads && (is_alone || self.staging + staging <= limits.staging)
    }

    fn begin(&mut self, staging: u64) {
        self.reads += 1;
        self.staging += staging;
    }
}

struct Scheduler<'a> {
    plan: &'a Fit,
    textures: &'a [Option<DemandedTexture>],
    ledger: &'a mut MipLedger,
    limits: &'a MipLimits,
    /// What is left of this frame's.
    swaps: usize,
    bytes: u64,
}

impl<'a> Scheduler<'a> {
    /// A texture, and its planned top.
    fn texture(&self, texture: u32) -> Option<(&'a DemandedTexture, u8)> {
        let of = self.textures.get(texture as usize)?.as_ref()?;
        // The number may have been another texture's when it was planned.
        Some((of, of.chain.top_for(*self.plan.tops.get(texture as usize)?)))
    }

    /// Cancels what is finer than planned; lists what is staged.
    fn look_at_changes(&mut self, out: &mut MipChanges) {
        out.going.clear();
        for texture in self.ledger.changing() {
            let Some(resident) = self.ledger.get(*texture) else {
                continue;
            };
            let (Some(change), Some((of, planned))) = (resident.change, self.texture(*texture)) else {
                continue;
            };
            let is_unwanted = change.to < resident.top && change.to < planned;
            if is_unwanted && change.phase != Phase::Sent {
                out.cancels.push((*texture, change.id));
            } else if change.phase == Phase::Staged {
                let swap = MipSwap {
                    id: change.id,
                    texture: *texture,
                    from: resident.top,
                    to: change.to,
                };
                out.going.push(Going {
                    urgency: urgency(of, resident.top, change.to),
                    swap,
                    bytes: of.chain.staging_bytes(resident.top, change.to),
                });
            }
        }
        for (texture, id) in &out.cancels {
            self.ledger.cancelled(*texture, *id);
        }
        out.going
            .sort_unstable_by_key(|going| (Reverse(going.urgency), going.swap.texture));
    }

    /// Lists what is not as planned and does not change, the most urgent first.
    fn list(&self, out: &mut MipChanges) {
        out.candidates.clear();
        for (texture, planned) in (0..self.ledger.len() as u32).zip(&self.plan.tops) {
            let Some(resident) = self.ledger.get(texture) else {
                continue;
            };
            if resident.change.is_some() || resident.top == *planned {
                continue;
            }
            if let Some((of, planned)) = self.texture(texture).filter(|(_, planned)| *planned != resident.top) {
                out.candidates.push(Candidate {
                    urgency: Reverse(urgency(of, resident.top, planned)),
                    texture,
                });
            }
        }
        out.candidates.sort_unstable();
    }

    fn send_staged(&mut self, out: &mut MipChanges) {
        for going in &out.going {
            if self.swaps == 0 || self.bytes == 0 {
                break;
            }
            if out.sent > 0 && going.bytes > self.bytes {
                continue;
            }
            self.swaps -= 1;
            self.bytes = self.bytes.saturating_sub(going.bytes);
            out.sent += going.bytes;
            self.ledger.sent(going.swap.texture, going.swap.id);
            out.swaps.push(going.swap);
        }
    }

    /// What goes on of all else, and of what is forced.
    fn lanes(&self) -> [Lane; 2] {
        let mut lanes = [Lane::default(); 2];
        for texture in self.ledger.changing() {
            let Some((resident, change)) = self.ledger.get(*texture).and_then(|of| Some((of, of.change?))) else {
                continue;
            };
            let is_forced = self
                .texture(*texture)
                .is_some_and(|(of, _)| lacks_forced(of, resident.top));
            let lane = &mut lanes[usize::from(is_forced)];
            lane.reads += usize::from(change.is_read());
            lane.staging += change.staging;
        }
        lanes
    }

    /// Begins to read for the first candidates; who has no room is not overtaken.
    fn read(&mut self, grows: usize, out: &mut MipChanges) {
        let mut lanes = self.lanes();
        for Candidate { texture, urgency } in out.candidates.iter().take(grows) {
            let (Some((of, planned)), Some(resident)) = (self.texture(*texture), self.ledger.get(*texture)) else {
                continue;
            };
            let chain = &of.chain;
            let is_forced = matches!(urgency.0, Urgency::Forced(_));
            let to = if is_forced {
                planned
            } else {
                step(chain, resident.top, planned, self.limits.step)
            };
            let staging = chain.staging_bytes(resident.top, to);
            let lane = &mut lanes[usize::from(is_forced)];
            if !lane.has_room(staging, self.limits) {
                return;
            }
            let destined = self.ledger.destined() - resident.bytes + chain.bytes(to);
            let total = self.ledger.sums().total() + chain.bytes(to) + staging;
            if destined > self.plan.budget || total > self.limits.pool {
                out.is_short_of_room = true;
                return;
            }
            if let Some(change) = self.ledger.begin(*texture, chain, to) {
                lane.begin(staging);
                out.reads.push(MipRead {
                    id: change.id,
                    texture: *texture,
                    mips: to..resident.top,
                });
            }
        }
    }

    /// Sends what leaves out mips. If nothing else goes on, one is sent even if its copy does not fit: what the pool has to hold may have become more, and
    /// there is no other way to make that less.
    fn shrink(&mut self, grows: usize, out: &mut MipChanges) {
        for Candidate { texture, .. } in out.candidates.iter().skip(grows) {
            let (Some((of, planned)), Some(resident)) = (self.texture(*texture), self.ledger.get(*texture)) else {
                continue;
            };
            if self.swaps == 0 {
                return;
            }
            let is_idle = self.ledger.changing().is_empty() && self.ledger.retiring() == 0;
            let total = self.ledger.sums().total() + of.chain.bytes(planned);
            if total > self.limits.pool && !is_idle {
                out.is_held = true;
                continue;
            }
            if let Some(change) = self.ledger.begin(*texture, &of.chain, planned) {
                self.swaps -= 1;
                self.ledger.sent(*texture, change.id);
                out.swaps.push(MipSwap {
                    id: change.id,
                    texture: *texture,
                    from: resident.top,
                    to: planned,
                });
            }
        }
    }
}

/// Where a texture goes that is at `from` and shall come to `to`.
fn step(chain: &MipChain, from: u8, to: u8, most: u64) -> u8 {
    if chain.staging_bytes(from, to) <= most {
        return to;
    }
    chain.top_for(from.saturating_sub(2)).max(to)
}

/// Whether a texture that begins at this top is coarser than it is forced to be.
fn lacks_forced(of: &DemandedTexture, top: u8) -> bool {
    of.demand.rule.forced.is_some_and(|forced| forced < top)
}

/// How urgent a change from one top to another is.
fn urgency(of: &DemandedTexture, from: u8, to: u8) -> Urgency {
    if to > from {
        return Urgency::Shrink(of.chain.bytes(from) - of.chain.bytes(to));
    }
    let Demand {
        seen,
        unseen,
        expected,
        area,
        unseen_area,
        expected_area,
        rule,
        ..
    } = of.demand;
    // What is positive has the order of its bits.
    let order = |area: f32, mip: f32| {
        let gap = f32::from(from) - mip.max(f32::from(to));
        (rule.weight * area * gap.max(0.0)).max(0.0).to_bits()
    };
    let is_seen = seen < f32::from(from);
    match lacks_forced(of, from) {
        true => Urgency::Forced(order(1.0 + area, f32::from(to))),
        false if is_seen => Urgency::Seen(order(area, seen)),
        false => Urgency::Unseen(order(unseen_area, unseen).max(order(expected_area, expected))),
    }
}
