//! All users of one material and channel, and the finest of them. See [`Group`].

use super::super::need::{COARSEST_LOD, FINEST_LOD, SLACK_MIPS};

/// How an lod is kept: so many 32nds of a mip above the finest.
pub(super) type Key = u16;
/// The key of nobody.
const NOBODY: Key = Key::MAX;
/// The key of what is as coarse as can be.
pub(super) const COARSEST: Key = ((COARSEST_LOD - FINEST_LOD) / SLACK_MIPS) as Key;

/// The largest key whose lod is not above this one.
pub(super) fn key_of(lod: f32) -> Key {
    ((lod - FINEST_LOD) / SLACK_MIPS).clamp(0.0, f32::from(COARSEST)) as Key
}

fn lod_of(key: Key) -> f32 {
    match key {
        NOBODY => f32::INFINITY,
        key => FINEST_LOD + f32::from(key) * SLACK_MIPS,
    }
}

/// The users of a material's channel, those that are seen before the others, with the least key of both parts.
///
/// Keys lie side by side, so the least of some thousands is found in less time than one user is looked at; and it is looked for only
/// when the one that was least has become another.
#[derive(Debug)]
pub(super) struct Group {
    pub users: Vec<u32>,
    keys: Vec<Key>,
    /// So many are seen.
    seen: usize,
    least: [Key; 2],
    is_stale: [bool; 2],
    /// What all seen ones, and all others, cover, in pixels.
    area: [u64; 2],
    /// Lods above this make no difference.
    pub limit: f32,
    /// Whether it waits to be settled.
    pub is_listed: bool,
    told: ([Key; 2], [u64; 2]),
}

impl Default for Group {
    fn default() -> Self {
        Self {
            users: Vec::new(),
            keys: Vec::new(),
            seen: 0,
            least: [NOBODY; 2],
            is_stale: [false; 2],
            area: [0; 2],
            limit: COARSEST_LOD,
            is_listed: false,
            told: ([NOBODY; 2], [0; 2]),
        }
    }
}

impl Group {
    /// Adds one that is not seen, and covers nothing; returns its place.
    pub fn push(&mut self, user: u32, key: Key) -> usize {
        self.users.push(user);
        self.keys.push(key);
        self.least[1] = self.least[1].min(key);
        self.users.len() - 1
    }

    /// Takes one out that is not seen, and covers `area`; `moved` is called for who has its place then.
    pub fn remove(&mut self, place: usize, area: u32, mut moved: impl FnMut(u32, usize)) {
        self.users.swap_remove(place);
        let key = self.keys.swap_remove(place);
        self.is_stale[1] |= key == self.least[1];
        self.area[1] -= u64::from(area);
        if let Some(user) = self.users.get(place) {
            moved(*user, place);
        }
    }

    /// One needs another mip, and covers `area` instead of `before`.
    pub fn set(&mut self, place: usize, key: Key, before: u32, area: u32) {
        let part = usize::from(place >= self.seen);
        let was = core::mem::replace(&mut self.keys[place], key);
        self.is_stale[part] |= was == self.least[part] && key > was;
        self.least[part] = self.least[part].min(key);
        self.area[part] = self.area[part] - u64::from(before) + u64::from(area);
    }

    /// One is seen that was not, or the other way round; `moved` is called for the two that change places.
    pub fn flip(&mut self, place: usize, area: u32, mut moved: impl FnMut(u32, usize)) {
        let from = usize::from(place >= self.seen);
        let border = if from == 0 { self.seen - 1 } else { self.seen };
        self.users.swap(place, border);
        self.keys.swap(place, border);
        moved(self.users[place], place);
        moved(self.users[border], border);
        self.seen = if from == 0 { self.seen - 1 } else { self.seen + 1 };
        let key = self.keys[border];
        self.is_stale[from] |= key == self.least[from];
        self.least[1 - from] = self.least[1 - from].min(key);
        self.area[from] -= u64::from(area);
        self.area[1 - from] += u64::from(area);
    }

    /// Finds the least keys; whether somebody should be told: one is another, or an area is by a quarter.
    pub fn settle(&mut self) -> bool {
        let (seen, unseen) = self.keys.split_at(self.seen);
        for (part, keys) in [seen, unseen].into_iter().enumerate() {
            if core::mem::take(&mut self.is_stale[part]) {
                self.least[part] = keys.iter().copied().min().unwrap_or(NOBODY);
            }
        }
        let is_other = |(now, told): (u64, u64)| now.abs_diff(told) > told / 4;
        let areas = self.area.into_iter().zip(self.told.1);
        let has_changed = self.least != self.told.0 || areas.into_iter().any(is_other);
        if has_changed {
            self.told = (self.least, self.area);
        }
        has_changed
    }

    /// The least lods of those seen, and of the others, when it was settled; infinite if there is nobody.
    pub fn least(&self) -> [f32; 2] {
        self.told.0.map(lod_of)
    }

    /// What both cover, in pixels, when it was settled.
    pub fn area(&self) -> [f32; 2] {
        self.told.1.map(|area| area as f32)
    }

    /// Counts all anew.
    #[cfg(test)]
    pub fn check(&self, area_of: impl Fn(u32) -> u32) {
        let parts = [0..self.seen, self.seen..self.keys.len()];
        for (part, range) in parts.into_iter().enumerate() {
            let least = self.keys[range.clone()].iter().copied().min().unwrap_or(NOBODY);
            assert!(self.is_stale[part] || self.least[part] == least);
            let areas = self.users[range].iter().map(|user| u64::from(area_of(*user)));
            assert_eq!(self.area[part], areas.sum::<u64>());
        }
        assert!(self.is_listed || self.is_stale == [false; 2]);
    }
}
