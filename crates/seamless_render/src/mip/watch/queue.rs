//! Who is looked at again when the views have travelled how far. See [`TravelQueue`].

/// How far views travel from one bucket to the next, in metres.
const STEP: f64 = 0.25;
/// How many buckets there are; who has more time than that is looked at earlier.
const BUCKETS: u64 = 4096;
const NOBODY: u32 = u32::MAX;

/// A wheel of buckets, one for each quarter of a metre that the views travel. Each user is in one of them, or in none.
///
/// Who was looked at goes to the end of its bucket, so those who have waited longest come first.
#[derive(Debug)]
pub(super) struct TravelQueue {
    /// The first user of each bucket, which are rings.
    heads: Box<[u32]>,
    /// By user.
    links: Vec<Link>,
    /// No bucket before this one has anybody.
    first: u64,
    /// In metres.
    travelled: f64,
    /// How often the views have moved: who was put in since then is not due again.
    turn: u32,
}

#[derive(Copy, Clone, Debug)]
struct Link {
    next: u32,
    prev: u32,
    /// When it came into its bucket.
    turn: u32,
    /// The number of its bucket.
    bucket: u64,
}

impl Link {
    /// In no bucket.
    const LOOSE: Self = Self {
        next: NOBODY,
        prev: NOBODY,
        turn: 0,
        bucket: 0,
    };
}

impl Default for TravelQueue {
    fn default() -> Self {
        Self {
            heads: vec![NOBODY; BUCKETS as usize].into(),
            links: Vec::new(),
            first: 0,
            travelled: 0.0,
            turn: 0,
        }
    }
}

impl TravelQueue {
    /// The views have moved by so many metres.
    pub fn travel(&mut self, metres: f32) {
        if metres > 0.0 {
            // Behind the last bucket, it is all the same.
            self.travelled += f64::from(metres).min(STEP * BUCKETS as f64);
            self.turn = self.turn.wrapping_add(1);
            // Those in buckets that are left behind are due, whatever these are called now.
            self.first = self.first.max(self.now().saturating_sub(BUCKETS - 1));
        }
    }

    /// Puts a user that was looked at where it is due again when the views have travelled `slack`.
    pub fn put(&mut self, user: u32, slack: f32) {
        self.take(user);
        let index = user as usize;
        if self.links.len() <= index {
            self.links.resize(index + 1, Link::LOOSE);
        }
        let bucket = ((self.travelled + f64::from(slack)) / STEP) as u64;
        let bucket = bucket.clamp(self.now(), self.first + BUCKETS - 1);
        let head = &mut self.heads[slot(bucket)];
        let (next, prev) = if *head == NOBODY {
            *head = user;
            (user, user)
        } else {
            (*head, self.links[*head as usize].prev)
        };
        self.links[index] = Link {
            next,
            prev,
            turn: self.turn,
            bucket,
        };
        self.links[next as usize].prev = user;
        self.links[prev as usize].next = user;
    }

    /// Takes a user out.
    pub fn take(&mut self, user: u32) {
        let Some(link) = self.links.get_mut(user as usize).filter(|link| link.next != NOBODY) else {
            return;
        };
        let Link { next, prev, bucket, .. } = core::mem::replace(link, Link::LOOSE);
        let head = &mut self.heads[slot(bucket)];
        if next == user {
            *head = NOBODY;
            return;
        }
        if *head == user {
            *head = next;
        }
        self.links[next as usize].prev = prev;
        self.links[prev as usize].next = next;
    }

    /// Who is due, and has waited longest. It stays where it is.
    pub fn due(&mut self) -> Option<u32> {
        let now = self.now();
        while self.first < now && self.heads[slot(self.first)] == NOBODY {
            self.first += 1;
        }
        let head = self.heads[slot(self.first)];
        (head != NOBODY && self.is_due(head)).then_some(head)
    }

    /// Whether the views have gone farther since the user was looked at than it had slack for.
    pub fn is_due(&self, user: u32) -> bool {
        let link = self.links.get(user as usize).filter(|link| link.next != NOBODY);
        link.is_some_and(|link| link.bucket <= self.now() && link.turn != self.turn)
    }

    fn now(&self) -> u64 {
        (self.travelled / STEP) as u64
    }
}

fn slot(bucket: u64) -> usize {
    (bucket % BUCKETS) as usize
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    #[derive(Clone, Debug)]
    enum Step {
        Travel(f32),
        Put(u32, f32),
        Take(u32),
        Due,
    }

    fn any_step() -> impl Strategy<Value = Step> {
        let metres = || prop_oneof![0.0..1.0_f32, 0.0..40.0_f32, 0.0..3000.0_f32, Just(f32::INFINITY)];
        prop_oneof![
            metres().prop_map(Step::Travel),
            (0..40_u32, metres()).prop_map(|(user, slack)| Step::Put(user, slack)),
            (0..40_u32).prop_map(Step::Take),
            Just(Step::Due),
            Just(Step::Due),
        ]
    }

    proptest! {
        /// Beside a list of who was put in when: nobody is forgotten, and nobody comes who has time and was looked at just now.
        #[test]
        fn nobody_comes_too_late(steps in vec(any_step(), 1..300)) {
            let mut queue = TravelQueue::default();
            let mut model = std::collections::BTreeMap::<u32, f64>::new();
            let mut travelled = 0.0_f64;
            for step in steps {
                match step {
                    Step::Travel(metres) => {
                        travelled += f64::from(metres).min(1024.0);
                        queue.travel(metres);
                    }
                    Step::Put(user, slack) => {
                        model.insert(user, travelled + f64::from(slack));
                        queue.put(user, slack);
                    }
                    Step::Take(user) => {
                        model.remove(&user);
                        queue.take(user);
                    }
                    Step::Due => {
                        let mut came = vec![];
                        while let Some(user) = queue.due() {
                            prop_assert!(model.contains_key(&user));
                            prop_assert!(!came.contains(&user), "twice without a move");
                            came.push(user);
                            model.insert(user, travelled + 7.0);
                            queue.put(user, 7.0);
                        }
                        for (user, until) in &model {
                            prop_assert!(*until >= travelled - 1e-6 || came.contains(user), "{user} waits");
                        }
                    }
                }
            }
            for user in 0..40 {
                queue.take(user);
            }
            prop_assert!(queue.heads.iter().all(|head| *head == NOBODY));
        }
    }
}
