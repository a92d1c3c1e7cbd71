//! Who asks for a level, and where each is in the level's list.

use super::Selector;
use crate::requests::RequestKind;

/// Who asks for a level.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Asker {
    Volume(u32),
    Request(u32),
}

/// A request of the app.
#[derive(Copy, Clone, Debug)]
pub(super) struct Explicit {
    pub level: u32,
    pub kind: RequestKind,
    pub priority: f32,
    /// Where it is among those who ask for its level: thousands may ask for one, and all be gone in the same frame.
    place: usize,
}

impl Explicit {
    /// One that is not among those who ask yet.
    pub fn new(level: u32, kind: RequestKind, priority: f32) -> Self {
        Self {
            level,
            kind,
            priority,
            place: usize::MAX,
        }
    }
}

impl Selector {
    /// Somebody asks for a level from now on.
    pub(super) fn add(&mut self, level: u32, kind: RequestKind, asker: Asker) {
        self.requests.add(level, kind);
        if let Some(slot) = self.levels.get_mut(level as usize) {
            let place = slot.askers.len();
            slot.askers.push(asker);
            self.note_place(asker, place);
        }
        self.has_changed = true;
    }

    /// Somebody asks for a level no more.
    pub(super) fn remove(&mut self, level: u32, kind: RequestKind, asker: Asker) {
        self.requests.remove(level, kind);
        let place = self.place_of(level, asker);
        if let Some(slot) = self.levels.get_mut(level as usize)
            && let Some(place) = place
        {
            slot.askers.swap_remove(place);
            // The last one is in its place now.
            if let Some(&moved) = slot.askers.get(place) {
                self.note_place(moved, place);
            }
        }
        self.has_changed = true;
    }

    /// Volumes are looked for: few overlap at one level, and each is in the lists of several.
    fn place_of(&self, level: u32, asker: Asker) -> Option<usize> {
        let askers = &self.level(level)?.askers;
        match asker {
            Asker::Volume(_) => askers.iter().position(|other| *other == asker),
            Asker::Request(key) => {
                let request = self.explicit.get(key as usize).copied().flatten()?;
                debug_assert_eq!(askers.get(request.place), Some(&asker), "it is somewhere else");
                (request.place < askers.len()).then_some(request.place)
            }
        }
    }

    fn note_place(&mut self, asker: Asker, place: usize) {
        if let Asker::Request(key) = asker
            && let Some(Some(request)) = self.explicit.get_mut(key as usize)
        {
            request.place = place;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        random::Random,
        select::{LevelInput, SelectionLimits, SourceInput, VolumeInput},
    };

    #[test]
    fn requests_know_where_they_are_whoever_goes() {
        let mut random = Random(31);
        let mut selector = Selector::new(&[LevelInput::default(); 3]);
        let (mut held, mut volumes) = (Vec::new(), Vec::new());
        for _ in 0..3_000 {
            match random.below(6) {
                // One of the levels is not there.
                0 | 1 => held.push(selector.request(random.below(4) as u32, RequestKind::Show, 1.0)),
                2 | 3 if !held.is_empty() => selector.release(held.swap_remove(random.below(held.len()))),
                4 => volumes.push(selector.add_volume(VolumeInput {
                    levels: [0, 1, 1].into(),
                    ..VolumeInput::default()
                })),
                5 if !volumes.is_empty() => selector.remove_volume(volumes.swap_remove(random.below(volumes.len()))),
                _ => {}
            }
            selector.update(&[SourceInput::default()], 0.0, &SelectionLimits::default());
            let mut count = 3 * volumes.len();
            for (key, request) in (0..).zip(&selector.explicit) {
                let Some(request) = request.filter(|request| request.level < 3) else {
                    continue;
                };
                let askers = &selector.levels[request.level as usize].askers;
                assert_eq!(askers[request.place], Asker::Request(key));
                count += 1;
            }
            assert_eq!((0..3).map(|level| selector.askers(level)).sum::<usize>(), count);
        }
    }
}
