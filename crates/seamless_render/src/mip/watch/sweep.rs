//! Goes through all users, those that are seen first. See [`Sweep`].

/// A set of users.
#[derive(Debug, Default)]
pub(super) struct Users(Vec<u64>);

impl Users {
    pub fn set(&mut self, user: u32, is_in: bool) {
        let (word, bit) = (user as usize / 64, 1 << (user % 64));
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        if is_in {
            self.0[word] |= bit;
        } else {
            self.0[word] &= !bit;
        }
    }

    pub fn has(&self, user: u32) -> bool {
        let word = self.0.get(user as usize / 64).copied().unwrap_or_default();
        word >> (user % 64) & 1 == 1
    }

    fn word(&self, index: usize) -> u64 {
        self.0.get(index).copied().unwrap_or_default()
    }
}

/// A round through all users, 64 at a time. One that begins anew while it goes on goes on where it is, so that everybody has a turn.
#[derive(Debug, Default)]
pub(super) struct Sweep {
    /// Of those that are seen, and of the others.
    rounds: [Round; 2],
}

#[derive(Debug, Default)]
struct Round {
    at: usize,
    left: usize,
}

impl Sweep {
    /// Begins anew, with all users that `live` has room for.
    pub fn begin(&mut self, live: &Users) {
        self.rounds.iter_mut().for_each(|round| round.left = live.0.len());
    }

    /// There is room for more users.
    pub fn grow(&mut self, before: &Users, user: u32) {
        let more = (user as usize / 64 + 1).saturating_sub(before.0.len());
        let going = self.rounds.iter_mut().filter(|round| round.left > 0);
        going.for_each(|round| round.left += more);
    }

    pub fn is_done(&self) -> bool {
        self.rounds.iter().all(|round| round.left == 0)
    }

    /// The next users of the round through those that are seen, or through the others; none when it is over.
    pub fn next(&mut self, seen: bool, live: &Users, who: &Users) -> Option<impl Iterator<Item = u32> + use<>> {
        let round = &mut self.rounds[usize::from(!seen)];
        round.left = round.left.checked_sub(1)?;
        round.at = if round.at < live.0.len() { round.at } else { 0 };
        let at = round.at;
        round.at += 1;
        let is_seen = who.word(at);
        let word = live.word(at) & if seen { is_seen } else { !is_seen };
        Some(
            (0..64)
                .filter(move |bit| word >> bit & 1 == 1)
                .map(move |bit| at as u32 * 64 + bit),
        )
    }
}
