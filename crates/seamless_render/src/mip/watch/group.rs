//! All users of one material and channel, and the finest of them. See [`Group`].

use super::super::need::{COARSEST_LOD, FINEST_LOD, SLACK_MIPS};

/// How an lod is kept: so many 32nds of a mip above the finest.
pub(super) type Key = u16;
/// The key of nobody, and of who is looked at from nowhere.
pub(super) const NOBODY: Key = Key::MAX;
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

/// The users of a material's channel, those that are seen before the others, with the least key of both parts; and that of all of them as they
/// look from where somebody is expected.
///
/// Keys lie side by side, so the least of some thousands is found in less time than one user is looked at; and it is looked for only
/// when the one that was least has become another.
#[derive(Debug)]
pub(super) struct Group {
    pub users: Vec<u32>,
    keys: Vec<Key>,
    expected: Vec<Key>,
    /// So many are seen.
    seen: usize,
    /// Of those seen, of the others, and of all as they are expected to be seen.
    least: [Key; 3],
    is_stale: [bool; 3],
    /// What these cover, in pixels.
    area: [u64; 3],
    /// Lods above this make no difference.
    pub limit: f32,
    /// Whether it waits to be settled.
    pub is_listed: bool,
    told: ([Key; 3], [u64; 3]),
}

impl Default for Group {
    fn default() -> Self {
        Self {
            users: Vec::new(),
            keys: Vec::new(),
            expected: Vec::new(),
            seen: 0,
            least: [NOBODY; 3],
            is_stale: [false; 3],
            area: [0; 3],
            limit: COARSEST_LOD,
            is_listed: false,
            told: ([NOBODY; 3], [0; 3]),
        }
    }
}

impl Group {
    /// Adds one that is not seen, and covers nothing; returns its place.
    pub fn push(&mut self, user: u32, key: Key) -> usize {
        self.users.push(user);
        self.keys.push(key);
        self.expected.push(NOBODY);
        self.least[1] = self.least[1].min(key);
        self.users.len() - 1
    }

    /// Takes one out that is not seen, and covers `areas`; `moved` is called for who has its place then.
    pub fn remove(&mut self, place: usize, areas: [u32; 2], mut moved: impl FnMut(u32, usize)) {
        self.users.swap_remove(place);
        let keys = [self.keys.swap_remove(place), self.expected.swap_remove(place)];
        for (part, (key, area)) in (1..).zip(keys.into_iter().zip(areas)) {
            self.is_stale[part] |= key == self.least[part];
            self.area[part] -= u64::from(area);
        }
        if let Some(user) = self.users.get(place) {
            moved(*user, place);
        }
    }

    /// One needs other mips, by cameras and where somebody is expected, and covers `areas` instead of `before`.
    pub fn set(&mut self, place: usize, keys: [Key; 2], before: [u32; 2], areas: [u32; 2]) {
        let parts = [usize::from(place >= self.seen), 2];
        let known = [&mut self.keys[place], &mut self.expected[place]];
        for (of, (part, known)) in parts.into_iter().zip(known).enumerate() {
            let key = keys[of];
            let was = core::mem::replace(known, key);
            self.is_stale[part] |= was == self.least[part] && key > was;
            self.least[part] = self.least[part].min(key);
            self.area[part] = self.area[part] - u64::from(before[of]) + u64::from(areas[of]);
        }
    }

    /// One is seen that was not, or the other way round, and covers `area`; `moved` is called for the two that change places.
    pub fn flip(&mut self, place: usize, area: u32, mut moved: impl FnMut(u32, usize)) {
        let from = usize::from(place >= self.seen);
        let border = if from == 0 { self.seen - 1 } else { self.seen };
        self.users.swap(place, border);
        self.keys.swap(place, border);
        self.expected.swap(place, border);
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
        for (part, keys) in [seen, unseen, &self.expected].into_iter().enumerate() {
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

    /// The least lods of those seen, of the others, and of all as they are expected to be seen, when it was settled; infinite if there is nobody.
    pub fn least(&self) -> [f32; 3] {
        self.told.0.map(lod_of)
    }

    /// What these cover, in pixels, when it was settled.
    pub fn area(&self) -> [f32; 3] {
        self.told.1.map(|area| area as f32)
    }

    /// Counts all anew.
    #[cfg(test)]
    pub fn check(&self, areas_of: impl Fn(u32) -> [u32; 2]) {
        let all = self.keys.len();
        let parts = [
            (0..self.seen, &self.keys, 0),
            (self.seen..all, &self.keys, 0),
            (0..all, &self.expected, 1),
        ];
        for (part, (range, keys, of)) in parts.into_iter().enumerate() {
            let least = keys[range.clone()].iter().copied().min().unwrap_or(NOBODY);
            assert!(self.is_stale[part] || self.least[part] == least);
            let areas = self.users[range].iter().map(|user| u64::from(areas_of(*user)[of]));
            assert_eq!(self.area[part], areas.sum::<u64>());
        }
        assert!(self.is_listed || self.is_stale == [false; 3]);
    }
}
