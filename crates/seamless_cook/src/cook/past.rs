//! What the last cook left, read once. See [`Past`].

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::path::Path;

use super::sources::{Sources, settle};
use crate::graph::output::COOK_FOLDER;
use crate::graph::state::{Graph, Memory, Seen};
use crate::graph::storage::{Storage, stamp};

/// What the last cook left, as far as it is whole.
#[derive(Default)]
pub(super) struct Past {
    bytes: Vec<u8>,
    memory: Option<Memory>,
    pub seen: Seen,
    /// Files that have changed since, once somebody has looked.
    changed: OnceCell<BTreeSet<String>>,
}

impl Past {
    /// Reads the file of that name in the cooker's own folder; what is not there, or not sound, is nothing.
    pub fn read(storage: &dyn Storage, out: &Path, state_file: &str) -> Self {
        Self::of(bytes(storage, out, state_file))
    }

    fn of(bytes: Vec<u8>) -> Self {
        let memory = Memory::parse(&bytes);
        let seen = memory.as_ref().and_then(Memory::seen).unwrap_or_default();
        let changed = OnceCell::new();
        Self {
            bytes,
            memory,
            seen,
            changed,
        }
    }

    /// The same, now that no other cook is at work: one may have been.
    pub fn read_again(self, storage: &dyn Storage, out: &Path, state_file: &str) -> Self {
        let bytes = bytes(storage, out, state_file);
        match bytes == self.bytes {
            true => self,
            false => Self::of(bytes),
        }
    }

    /// Which of the files that were seen have changed since.
    pub fn changed(&self) -> &BTreeSet<String> {
        self.changed.get_or_init(|| Sources::changed(&self.seen))
    }

    /// Whether the files in the output folder are those that were written.
    pub fn outputs_are_there(&self, out: &Path) -> bool {
        let mut outputs = self.seen.outputs.iter();
        outputs.all(|(file, old)| stamp(&out.join(file)) == Some(*old))
    }

    /// All of it. Meanwhile `make` is called, and the clock goes on, so that whatever changes afterwards has another stamp than before.
    pub fn settle<T>(self, make: impl FnOnce() -> T) -> Settled<T> {
        self.changed();
        let memory = self.memory;
        let (graph, began, made) = std::thread::scope(|scope| {
            let graph = scope.spawn(|| memory.as_ref().and_then(Memory::graph));
            let (began, made) = settle(make);
            // One that panicked knows nothing.
            (graph.join().ok().flatten(), began, made)
        });
        Settled {
            seen: self.seen,
            changed: self.changed.into_inner().unwrap_or_default(),
            graph: graph.unwrap_or_default(),
            began,
            made,
        }
    }
}

/// What a cook starts from. See [`Past::settle`].
pub(super) struct Settled<T> {
    pub seen: Seen,
    /// Files of `seen` that have changed since.
    pub changed: BTreeSet<String>,
    pub graph: Graph,
    /// What the clock showed then, in nanoseconds since 1970.
    pub began: i128,
    pub made: T,
}

fn bytes(storage: &dyn Storage, out: &Path, state_file: &str) -> Vec<u8> {
    let file = out.join(COOK_FOLDER).join(state_file);
    storage.read(&file).unwrap_or_default()
}
