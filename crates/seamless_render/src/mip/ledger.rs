//! What is resident, and what is on its way, to the byte. See [`MipLedger`].

#[cfg(test)]
mod tests;

use super::chain::MipChain;

/// The number of a change; none comes twice.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChangeId(u64);

/// How far a change is.
///
/// ```text
/// Reading ─▶ Filling ─▶ Staged ─▶ Sent
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Its new mips are read.
    Reading,
    /// They are put into buffers.
    Filling,
    /// All of it is in buffers; for one that only leaves mips out, from the beginning.
    Staged,
    /// The renderer has been told, and cannot be stopped.
    Sent,
}

/// A texture on its way to another top.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Its number.
    pub id: ChangeId,
    /// The top that it goes to.
    pub to: u8,
    /// How far it is.
    pub phase: Phase,
    bytes: u64,
    /// Its buffers, in bytes.
    pub(super) staging: u64,
}

impl Change {
    /// What is read is not in buffers yet.
    pub(super) fn is_read(&self) -> bool {
        matches!(self.phase, Phase::Reading | Phase::Filling)
    }

    /// Its copy, its buffers, and what of both is not there yet, in bytes.
    fn parts(&self) -> [u64; 3] {
        let Self { bytes, staging, .. } = *self;
        match self.phase {
            Phase::Reading => [0, 0, bytes + staging],
            Phase::Filling | Phase::Staged => [0, staging, bytes],
            Phase::Sent => [bytes, staging, 0],
        }
    }
}

/// What of a texture is on the GPU.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Resident {
    /// The finest mip that is there.
    pub top: u8,
    /// What it takes, in bytes.
    pub bytes: u64,
    /// Where it goes.
    pub change: Option<Change>,
}

impl Resident {
    /// The top when all that goes on has ended.
    #[must_use]
    pub fn target(&self) -> u8 {
        self.change.map_or(self.top, |change| change.to)
    }
}

/// Bytes by what they are for.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct LedgerSums {
    /// Textures that are drawn with.
    pub resident: u64,
    /// New textures that the renderer makes.
    pub copies: u64,
    /// Old textures, and buffers that were copied from, that the GPU may still read.
    pub retiring: u64,
    /// Buffers of changes that go on.
    pub staging: u64,
    /// Copies and buffers of changes that go on, which are not there yet: room is kept for them.
    pub reserved: u64,
    /// What does not stream.
    pub not_streamed: u64,
}

impl LedgerSums {
    /// What the pool bounds.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.held() + self.reserved
    }

    /// What there is on the GPU, at most, but for buffers that were given up: a task lets go of them.
    #[must_use]
    pub fn held(&self) -> u64 {
        self.resident + self.in_flight() + self.not_streamed
    }

    /// What there is on the GPU, at most, for changes that go on or have ended lately.
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.copies + self.retiring + self.staging
    }
}

/// The books of mip streaming: what each texture has on the GPU, what its change takes, what the GPU has not let go of.
///
/// A change takes all its bytes when it begins, the new texture and the buffers, so nothing has to be found later; what of it is not there yet is
/// [reserved](LedgerSums::reserved). Both textures count until the renderer reports that the old one is free. Reports that fit no change are counted, and nothing else: the texture has gone, or the
/// device was lost meanwhile.
#[derive(Debug, Default)]
pub struct MipLedger {
    /// By number.
    textures: Vec<Option<Resident>>,
    /// Textures with a change, in the order in which they began.
    changing: Vec<u32>,
    retiring: Vec<(ChangeId, u64)>,
    sums: LedgerSums,
    /// What will be resident when all that goes on has ended.
    destined: u64,
    /// What waits to be let in.
    expected: u64,
    last: u64,
    stray: u64,
}

impl MipLedger {
    /// Bytes by what they are for.
    #[must_use]
    pub fn sums(&self) -> LedgerSums {
        self.sums
    }

    /// What the textures that stream will take when all that goes on has ended, in bytes.
    #[must_use]
    pub fn destined(&self) -> u64 {
        self.destined
    }

    /// What of a pool is left for textures that stream, and for their changes.
    #[must_use]
    pub fn room(&self, pool: u64) -> u64 {
        pool.saturating_sub(self.sums.not_streamed)
            .saturating_sub(self.expected)
    }

    /// How many reports fitted nothing.
    #[must_use]
    pub fn stray(&self) -> u64 {
        self.stray
    }

    /// What is known of a texture.
    #[must_use]
    pub fn get(&self, texture: u32) -> Option<Resident> {
        self.textures.get(texture as usize).copied().flatten()
    }

    /// Writes the tops that all textures have when what goes on has ended, by number; 255 for those that are not there.
    pub fn targets(&self, out: &mut Vec<u8>) {
        out.clear();
        let target = |of: &Option<Resident>| of.map_or(u8::MAX, |resident| resident.target());
        out.extend(self.textures.iter().map(target));
    }

    /// How many textures there may be, by number.
    #[must_use]
    pub fn len(&self) -> usize {
        self.textures.len()
    }

    /// Whether there never was one.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.textures.is_empty()
    }

    /// The textures that change, in the order in which they began.
    #[must_use]
    pub fn changing(&self) -> &[u32] {
        &self.changing
    }

    /// Old textures that the GPU has not let go of yet.
    #[must_use]
    pub fn retiring(&self) -> usize {
        self.retiring.len()
    }

    /// What of the GPU's memory others take, in bytes.
    pub fn set_not_streamed(&mut self, bytes: u64) {
        self.sums.not_streamed = bytes;
    }

    /// What waits to come, of which nothing is there yet, in bytes: tails of new textures, or what does not stream. Room is made for it.
    pub fn set_expected(&mut self, bytes: u64) {
        self.expected = bytes;
    }

    /// A texture is on the GPU, from this top on. Whoever wants the pool to hold waits until there is room; see [`Self::set_expected`].
    pub fn insert(&mut self, texture: u32, chain: &MipChain, top: u8) {
        self.remove(texture);
        let index = texture as usize;
        if self.textures.len() <= index {
            self.textures.resize(index + 1, None);
        }
        let bytes = chain.bytes(top);
        self.textures[index] = Some(Resident {
            top,
            bytes,
            change: None,
        });
        self.sums.resident += bytes;
        self.destined += bytes;
    }

    /// A texture is not drawn with any more. All that it has goes on counting until the report for the number that is returned.
    pub fn remove(&mut self, texture: u32) -> Option<ChangeId> {
        let Resident { bytes, change, .. } = self.textures.get_mut(texture as usize)?.take()?;
        self.sums.resident -= bytes;
        self.destined -= change.map_or(bytes, |change| change.bytes);
        let mut left = bytes;
        if let Some(change) = change {
            self.end(texture, &change);
            let [copy, staging, _] = change.parts();
            left += copy + staging;
        }
        let id = self.new_id();
        self.retire(id, left);
        Some(id)
    }

    /// A texture is to begin at `to`; none if it is not there, changes already, or begins there.
    pub fn begin(&mut self, texture: u32, chain: &MipChain, to: u8) -> Option<Change> {
        let resident = self.get(texture)?;
        if resident.change.is_some() || resident.top == to {
            return None;
        }
        let change = Change {
            id: self.new_id(),
            to,
            phase: if to < resident.top {
                Phase::Reading
            } else {
                Phase::Staged
            },
            bytes: chain.bytes(to),
            staging: chain.staging_bytes(resident.top, to),
        };
        self.count(&change);
        self.destined = self.destined - resident.bytes + change.bytes;
        self.changing.push(texture);
        self.textures[texture as usize] = Some(Resident {
            change: Some(change),
            ..resident
        });
        Some(change)
    }

    /// All that was to be read has come, and is put into buffers.
    pub fn filling(&mut self, texture: u32, id: ChangeId) {
        self.advance(texture, id, |change| change.phase == Phase::Reading, Phase::Filling);
    }

    /// All that was to be read is in buffers.
    pub fn staged(&mut self, texture: u32, id: ChangeId) {
        self.advance(texture, id, Change::is_read, Phase::Staged);
    }

    /// The renderer is told.
    pub fn sent(&mut self, texture: u32, id: ChangeId) {
        self.advance(texture, id, |change| change.phase == Phase::Staged, Phase::Sent);
    }

    /// A change that was not sent is given up: it is not wanted any more, or could not be read.
    pub fn cancelled(&mut self, texture: u32, id: ChangeId) {
        self.give_up(texture, id, |change| change.phase != Phase::Sent);
    }

    /// The renderer could not do it: the texture is as it was.
    pub fn failed(&mut self, texture: u32, id: ChangeId) {
        self.give_up(texture, id, |change| change.phase == Phase::Sent);
    }

    /// The renderer has done it: the new texture is drawn with, the old one and the buffers are to be let go of.
    pub fn swapped(&mut self, texture: u32, id: ChangeId) {
        let Some((resident, change)) = self.find(texture, id, |change| change.phase == Phase::Sent) else {
            return;
        };
        self.end(texture, &change);
        self.sums.resident = self.sums.resident - resident.bytes + change.bytes;
        self.retire(id, resident.bytes + change.staging);
        self.textures[texture as usize] = Some(Resident {
            top: change.to,
            bytes: change.bytes,
            change: None,
        });
    }

    /// The GPU has let go of what a change, or a removal, has left.
    pub fn retired(&mut self, id: ChangeId) {
        match self.retiring.iter().position(|(of, _)| *of == id) {
            Some(place) => self.sums.retiring -= self.retiring.remove(place).1,
            None => self.stray += 1,
        }
    }

    /// The device is gone, and all that was on it. Each texture begins at its floor again, as soon as there is a new one; `floor_of` tells it, and
    /// what that takes.
    pub fn lost(&mut self, mut floor_of: impl FnMut(u32) -> Option<(u8, u64)>) {
        self.changing.clear();
        self.retiring.clear();
        let not_streamed = self.sums.not_streamed;
        self.sums = LedgerSums {
            not_streamed,
            ..LedgerSums::default()
        };
        for (texture, of) in (0..).zip(&mut self.textures) {
            let floor = of.and_then(|_| floor_of(texture));
            *of = floor.map(|(top, bytes)| Resident {
                top,
                bytes,
                change: None,
            });
            self.sums.resident += floor.map_or(0, |(_, bytes)| bytes);
        }
        self.destined = self.sums.resident;
    }

    fn new_id(&mut self) -> ChangeId {
        self.last += 1;
        ChangeId(self.last)
    }

    fn find(&mut self, texture: u32, id: ChangeId, is_right: impl Fn(&Change) -> bool) -> Option<(Resident, Change)> {
        let resident = self.get(texture);
        let change = resident.and_then(|resident| resident.change);
        let change = change.filter(|change| change.id == id && is_right(change));
        if change.is_none() {
            self.stray += 1;
        }
        resident.zip(change)
    }

    fn advance(&mut self, texture: u32, id: ChangeId, is_right: impl Fn(&Change) -> bool, to: Phase) {
        if let Some((resident, before)) = self.find(texture, id, is_right) {
            let change = Change { phase: to, ..before };
            self.discount(&before);
            self.count(&change);
            self.textures[texture as usize] = Some(Resident {
                change: Some(change),
                ..resident
            });
        }
    }

    fn give_up(&mut self, texture: u32, id: ChangeId, is_right: impl Fn(&Change) -> bool) {
        if let Some((resident, change)) = self.find(texture, id, is_right) {
            self.end(texture, &change);
            self.destined = self.destined - change.bytes + resident.bytes;
            self.textures[texture as usize] = Some(Resident {
                change: None,
                ..resident
            });
        }
    }

    /// Neither the copy nor the buffers are a change's any more.
    fn end(&mut self, texture: u32, change: &Change) {
        self.discount(change);
        self.changing.retain(|of| *of != texture);
    }

    fn count(&mut self, change: &Change) {
        let [copy, staging, reserved] = change.parts();
        self.sums.copies += copy;
        self.sums.staging += staging;
        self.sums.reserved += reserved;
    }

    fn discount(&mut self, change: &Change) {
        let [copy, staging, reserved] = change.parts();
        self.sums.copies -= copy;
        self.sums.staging -= staging;
        self.sums.reserved -= reserved;
    }

    fn retire(&mut self, id: ChangeId, bytes: u64) {
        self.sums.retiring += bytes;
        self.retiring.push((id, bytes));
    }
}
