//! What becomes of each read. See [`ReadGate`].

use core::{
    task::{Context, Poll, Waker},
    time::Duration,
};
use std::{
    collections::{BTreeMap, HashMap},
    io::ErrorKind,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
};

/// How long [`ReadGate::until_pending`] waits before it calls a test stuck.
const LIMIT: Duration = Duration::from_secs(240);

/// What becomes of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It is done, as without the gate.
    Pass,
    /// It fails. What is read of the file afterwards is a read of its own.
    Fail(ErrorKind),
    /// It gives so many bytes at most, and there the file ends.
    Short(usize),
    /// It never comes to an end. It is gone when whoever reads gives it up.
    Stall,
}

/// Names a read.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GatedRead {
    /// The file's path in its asset source.
    pub path: String,
    /// Which of the file's reads, counted from 0 since the gate was made, over all openings of the file. To open a file is a read
    /// of its own, so the first is always an opening.
    pub index: usize,
}

/// Decides about the reads of all files of its [`GatedReader`](super::GatedReader)s. Clones share it.
///
/// Every read waits until it is decided: ahead by [`script`](Self::script), one by one by [`release`](Self::release) and
/// [`release_next`](Self::release_next), or for all others by [`otherwise`](Self::otherwise).
#[derive(Debug, Clone, Default)]
pub struct ReadGate(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    book: Mutex<Book>,
    /// A read has come.
    arrived: Condvar,
}

#[derive(Debug, Default)]
struct Book {
    next: u64,
    begun: Vec<GatedRead>,
    counts: HashMap<String, usize>,
    script: HashMap<GatedRead, Fate>,
    otherwise: Option<Fate>,
    /// In the order in which they came.
    waiting: BTreeMap<u64, Waiting>,
    bytes: u64,
}

#[derive(Debug)]
struct Waiting {
    read: GatedRead,
    fate: Option<Fate>,
    waker: Option<Waker>,
}

impl Waiting {
    fn decide(&mut self, fate: Fate) {
        self.fate = Some(fate);
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

impl Book {
    /// A read begins.
    fn enter(&mut self, path: &str) -> u64 {
        let count = self.counts.entry(path.to_owned()).or_default();
        let read = GatedRead {
            path: path.to_owned(),
            index: *count,
        };
        *count += 1;
        self.begun.push(read.clone());
        let fate = self.script.get(&read).copied().or(self.otherwise);
        let waker = None;
        let id = self.next;
        self.next += 1;
        self.waiting.insert(id, Waiting { read, fate, waker });
        id
    }

    fn reads_of(&self, fate: Option<Fate>) -> Vec<GatedRead> {
        let waiting = self.waiting.values().filter(|waiting| waiting.fate == fate);
        waiting.map(|waiting| waiting.read.clone()).collect()
    }
}

impl ReadGate {
    fn book(&self) -> MutexGuard<'_, Book> {
        self.0.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Decides about a read ahead, or about one that waits.
    pub fn script(&self, path: impl Into<String>, index: usize, fate: Fate) {
        let path = path.into();
        let read = GatedRead { path, index };
        let mut book = self.book();
        if let Some(waiting) = book.waiting.values_mut().find(|waiting| waiting.read == read) {
            waiting.decide(fate);
        }
        book.script.insert(read, fate);
    }

    /// Forgets what was said ahead of reads that have not begun.
    pub fn clear_script(&self) {
        self.book().script.clear();
    }

    /// Decides about all reads that wait, and about those to come that the script does not name. `None`, the default: these wait.
    pub fn otherwise(&self, fate: Option<Fate>) {
        let mut book = self.book();
        book.otherwise = fate;
        let Some(fate) = fate else { return };
        let undecided = book.waiting.values_mut().filter(|waiting| waiting.fate.is_none());
        undecided.for_each(|waiting| waiting.decide(fate));
    }

    /// Decides about the read of this file that waits longest. Whether there is one.
    pub fn release(&self, path: &str, fate: Fate) -> bool {
        self.decide(fate, |read| read.path == path).is_some()
    }

    /// Decides about the read that waits longest, and tells which that was.
    pub fn release_next(&self, fate: Fate) -> Option<GatedRead> {
        self.decide(fate, |_| true)
    }

    fn decide(&self, fate: Fate, is_it: impl Fn(&GatedRead) -> bool) -> Option<GatedRead> {
        let mut book = self.book();
        let mut waiting = book.waiting.values_mut();
        let waiting = waiting.find(|waiting| waiting.fate.is_none() && is_it(&waiting.read))?;
        waiting.decide(fate);
        Some(waiting.read.clone())
    }

    /// The reads that wait for a decision, in the order in which they came.
    #[must_use]
    pub fn pending(&self) -> Vec<GatedRead> {
        self.book().reads_of(None)
    }

    /// The reads that never come to an end, as long as somebody waits for them.
    #[must_use]
    pub fn stalled(&self) -> Vec<GatedRead> {
        self.book().reads_of(Some(Fate::Stall))
    }

    /// All reads so far, in the order in which they began.
    #[must_use]
    pub fn begun(&self) -> Vec<GatedRead> {
        self.book().begun.clone()
    }

    /// Bytes that all reads together have given so far.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.book().bytes
    }

    /// Holds the calling thread until so many reads wait for a decision, and gives them.
    ///
    /// # Panics
    /// When they do not come in four minutes.
    #[must_use]
    pub fn until_pending(&self, count: usize) -> Vec<GatedRead> {
        let is_short = |book: &mut Book| book.reads_of(None).len() < count;
        let waited = self.0.arrived.wait_timeout_while(self.book(), LIMIT, is_short);
        let (book, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let pending = book.reads_of(None);
        drop(book);
        assert!(
            pending.len() >= count,
            "{count} reads are to wait, but only {pending:?} do"
        );
        pending
    }

    pub(super) fn count(&self, bytes: usize) {
        self.book().bytes += bytes as u64;
    }
}

/// A place at the gate, for one read after the other. A read that is given up leaves with it.
#[derive(Debug)]
pub(super) struct Place {
    gate: ReadGate,
    path: String,
    id: Option<u64>,
}

impl Place {
    pub fn new(gate: &ReadGate, path: String) -> Self {
        Self {
            gate: gate.clone(),
            path,
            id: None,
        }
    }

    pub fn gate(&self) -> &ReadGate {
        &self.gate
    }

    /// What becomes of the read that waits here, which begins with the first call.
    pub fn poll(&mut self, context: &Context) -> Poll<Fate> {
        let mut book = self.gate.book();
        let id = match self.id {
            Some(id) => id,
            None => {
                let id = *self.id.insert(book.enter(&self.path));
                self.gate.0.arrived.notify_all();
                id
            }
        };
        match book.waiting.get_mut(&id) {
            Some(Waiting {
                fate: None | Some(Fate::Stall),
                waker,
                ..
            }) => {
                *waker = Some(context.waker().clone());
                Poll::Pending
            }
            decided => {
                let fate = decided.and_then(|waiting| waiting.fate);
                book.waiting.remove(&id);
                self.id = None;
                Poll::Ready(fate.unwrap_or(Fate::Pass))
            }
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            self.gate.book().waiting.remove(&id);
        }
    }
}
