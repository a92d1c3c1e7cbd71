//! How much tasks may have under way, and in which order. See [`Gatekeeper`].

use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_channel::{Sender, bounded};
use futures_lite::future::yield_now;

use super::Progress;

/// Lets tasks pass while what they have in flight together stays below a cap: what they have read and not decoded yet. What is larger
/// than the cap passes alone.
///
/// Whoever waits and ranks highest at the moment goes next, and nobody goes before it, however small: so what is large passes, too.
/// Only tasks take the lock, and only to write down who comes and goes; the main thread changes the cap and ranks without it.
#[derive(Default)]
pub(crate) struct Gatekeeper {
    most: AtomicU64,
    /// What is in flight, for who does not take the lock.
    now: AtomicU64,
    book: Mutex<Book>,
}

#[derive(Default)]
struct Book {
    next: u64,
    in_flight: u64,
    /// In the order in which they came. Nobody waits while nothing is in flight.
    waiting: Vec<Waiter>,
}

struct Waiter {
    number: u64,
    bytes: u64,
    progress: Arc<Progress>,
    admit: Sender<Permit>,
}

/// Bytes that a task has in flight, until it is dropped.
pub(super) struct Permit {
    gatekeeper: Arc<Gatekeeper>,
    bytes: u64,
}

/// A place among those that wait. Who gives up leaves it.
struct Place<'g> {
    gatekeeper: &'g Arc<Gatekeeper>,
    number: u64,
}

impl Book {
    fn fits(&self, bytes: u64, most: u64) -> bool {
        self.in_flight == 0 || self.in_flight.saturating_add(bytes) <= most
    }

    /// Who goes next, if there is room; its bytes are in flight from now on.
    fn admit(&mut self, most: u64) -> Option<Waiter> {
        let ranked = self.waiting.iter().enumerate();
        let rank = |waiter: &Waiter| waiter.progress.rank();
        let first = ranked.max_by(|(_, a), (_, b)| rank(a).total_cmp(&rank(b)).then(b.number.cmp(&a.number)));
        let (at, first) = first?;
        if !self.fits(first.bytes, most) {
            return None;
        }
        self.in_flight += first.bytes;
        Some(self.waiting.remove(at))
    }
}

impl Gatekeeper {
    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the cap, in bytes.
    pub fn set_most(&self, most: u64) {
        self.most.store(most, Ordering::Relaxed);
    }

    /// The bytes in flight.
    pub fn in_flight(&self) -> u64 {
        self.now.load(Ordering::Relaxed)
    }

    /// How many wait.
    #[cfg(test)]
    pub fn waiting(&self) -> usize {
        self.book().waiting.len()
    }

    /// Waits until so many bytes more may be in flight.
    pub async fn pass(self: &Arc<Self>, bytes: u64, progress: &Arc<Progress>) -> Permit {
        self.pass_after(bytes, progress, async {}).await
    }

    /// Waits for one of as many places as the cap says. Who is about to ask is waited for as well: on one thread, whoever comes first
    /// would go first, and not who ranks highest.
    pub async fn take_turn(self: &Arc<Self>, progress: &Arc<Progress>) -> Permit {
        self.pass_after(1, progress, yield_now()).await
    }

    async fn pass_after(
        self: &Arc<Self>,
        bytes: u64,
        progress: &Arc<Progress>,
        before: impl Future<Output = ()>,
    ) -> Permit {
        let (admit, admitted) = bounded(1);
        let place = self.enter(bytes, progress.clone(), admit);
        before.await;
        self.admit_waiting();
        let permit = admitted.recv().await;
        drop(place);
        permit.unwrap_or_else(|_| self.permit(0))
    }

    fn enter(self: &Arc<Self>, bytes: u64, progress: Arc<Progress>, admit: Sender<Permit>) -> Place<'_> {
        let mut book = self.book();
        let number = book.next;
        book.next += 1;
        book.waiting.push(Waiter {
            number,
            bytes,
            progress,
            admit,
        });
        Place {
            gatekeeper: self,
            number,
        }
    }

    fn permit(self: &Arc<Self>, bytes: u64) -> Permit {
        Permit {
            gatekeeper: self.clone(),
            bytes,
        }
    }

    /// Lets those pass for whom there is room, now that the cap was raised. It takes the lock, so the main thread does not call it.
    pub fn admit_waiting(self: &Arc<Self>) {
        loop {
            let mut book = self.book();
            let admitted = book.admit(self.most.load(Ordering::Relaxed));
            self.now.store(book.in_flight, Ordering::Relaxed);
            drop(book);
            let Some(waiter) = admitted else { return };
            // If it has given up meanwhile, the permit is dropped here, and with it goes what it holds.
            let _ = waiter.admit.try_send(self.permit(waiter.bytes));
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut book = self.gatekeeper.book();
        book.in_flight = book.in_flight.saturating_sub(self.bytes);
        drop(book);
        self.gatekeeper.admit_waiting();
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut book = self.gatekeeper.book();
        let before = book.waiting.len();
        book.waiting.retain(|waiter| waiter.number != self.number);
        let has_given_up = book.waiting.len() < before;
        drop(book);
        // Others may have waited for it only.
        if has_given_up {
            self.gatekeeper.admit_waiting();
        }
    }
}

#[cfg(test)]
mod tests {
    use core::pin::Pin;

    use futures_lite::future::{block_on, poll_once};
    use proptest::prelude::*;

    use super::*;

    type Passing = Pin<Box<dyn Future<Output = Permit>>>;

    fn gatekeeper(most: u64) -> Arc<Gatekeeper> {
        let gatekeeper = Arc::new(Gatekeeper::default());
        gatekeeper.set_most(most);
        gatekeeper
    }

    fn passing(gatekeeper: &Arc<Gatekeeper>, bytes: u64, rank: f64) -> (Passing, Arc<Progress>) {
        let (gatekeeper, progress) = (gatekeeper.clone(), Arc::new(Progress::default()));
        progress.set_rank(rank);
        let of = progress.clone();
        (Box::pin(async move { gatekeeper.pass(bytes, &of).await }), progress)
    }

    fn poll(passing: &mut Passing) -> Option<Permit> {
        block_on(poll_once(passing))
    }

    #[test]
    fn who_ranks_highest_goes_first_and_ranks_may_change() {
        let gatekeeper = gatekeeper(10);
        let (mut first, _) = passing(&gatekeeper, 10, 0.0);
        let permit = poll(&mut first).expect("nothing is in flight");
        let (mut all, progresses): (Vec<_>, Vec<_>) = [3.0, 1.0, 5.0, 2.0]
            .map(|rank| passing(&gatekeeper, 10, rank))
            .into_iter()
            .unzip();
        assert!(all.iter_mut().all(|passing| poll(passing).is_none()));
        progresses[1].set_rank(9.0);
        let mut permit = Some(permit);
        for expected in [1, 2, 0, 3] {
            drop(permit.take());
            permit = poll(&mut all[expected]);
            assert!(permit.is_some(), "{expected} is next");
            assert_eq!(gatekeeper.book().in_flight, 10);
        }
    }

    /// However small, and what is larger than the cap passes alone.
    #[test]
    fn nobody_goes_before_one_that_ranks_higher() {
        let gatekeeper = gatekeeper(10);
        let (mut small, _) = passing(&gatekeeper, 4, 0.0);
        let permit = poll(&mut small).expect("it fits");
        let (mut large, _) = passing(&gatekeeper, 1000, 5.0);
        let (mut late, _) = passing(&gatekeeper, 1, 1.0);
        assert!(poll(&mut large).is_none() && poll(&mut late).is_none());
        drop(permit);
        let permit = poll(&mut large).expect("nothing else is in flight");
        assert!(poll(&mut late).is_none());
        drop(permit);
        assert!(poll(&mut late).is_some());
        assert_eq!(gatekeeper.book().in_flight, 0);
    }

    /// One after the other, on one thread: those that come in the same round go by their rank.
    #[test]
    fn turns_go_by_rank_whoever_comes_first() {
        let gatekeeper = gatekeeper(1);
        let mut all = [2.0, 1.0, 3.0].map(|rank| {
            let (gatekeeper, progress) = (gatekeeper.clone(), Arc::new(Progress::default()));
            progress.set_rank(rank);
            let turn: Passing = Box::pin(async move { gatekeeper.take_turn(&progress).await });
            turn
        });
        assert!(
            all.iter_mut().all(|turn| poll(turn).is_none()),
            "they wait for each other"
        );
        let mut order = Vec::new();
        while order.len() < all.len() {
            for (at, turn) in all.iter_mut().enumerate() {
                if !order.contains(&at) && poll(turn).is_some() {
                    order.push(at);
                }
            }
        }
        assert_eq!(order, [2, 0, 1]);
    }

    #[test]
    fn who_gives_up_holds_nothing_and_nobody() {
        let gatekeeper = gatekeeper(10);
        let (mut first, _) = passing(&gatekeeper, 6, 0.0);
        let permit = poll(&mut first);
        let (mut large, _) = passing(&gatekeeper, 10, 5.0);
        let (mut small, _) = passing(&gatekeeper, 4, 1.0);
        assert!(poll(&mut large).is_none() && poll(&mut small).is_none());
        drop(large);
        let second = poll(&mut small).expect("it waited for the large one only");
        // Admitted, and given up before it hears of it.
        let (mut third, _) = passing(&gatekeeper, 10, 0.0);
        assert!(poll(&mut third).is_none());
        drop((permit, second));
        assert_eq!(gatekeeper.book().in_flight, 10);
        drop(third);
        assert_eq!(gatekeeper.book().in_flight, 0);
    }

    proptest! {
        /// Any sizes, given back or given up in any order: never more than the cap, but for one that is larger, and all pass.
        #[test]
        fn never_more_than_the_cap(
            sizes in prop::collection::vec((0..30_u64, -5.0..5.0_f64, any::<bool>()), 1..40),
            order in prop::collection::vec(any::<prop::sample::Index>(), 40),
        ) {
            let gatekeeper = gatekeeper(20);
            let mut waiting: Vec<_> = sizes.iter().map(|(bytes, rank, gives_up)| {
                (passing(&gatekeeper, *bytes, *rank).0, *bytes, *gives_up)
            }).collect();
            let (mut passed, mut order) = (Vec::new(), order.into_iter().cycle());
            while !waiting.is_empty() || !passed.is_empty() {
                let mut still = Vec::new();
                for (mut passing, bytes, gives_up) in waiting {
                    match poll(&mut passing) {
                        Some(permit) => passed.push((permit, bytes)),
                        None if gives_up => {}
                        None => still.push((passing, bytes, gives_up)),
                    }
                }
                waiting = still;
                let in_flight: u64 = passed.iter().map(|(_, bytes)| *bytes).sum();
                prop_assert!(in_flight <= 20 || passed.iter().filter(|(_, bytes)| *bytes > 0).count() == 1);
                prop_assert!(!passed.is_empty() || waiting.is_empty(), "all wait for nobody");
                if let Some(index) = order.next().filter(|_| !passed.is_empty()) {
                    passed.swap_remove(index.index(passed.len()));
                }
            }
            prop_assert_eq!(gatekeeper.book().in_flight, 0);
        }
    }
}
