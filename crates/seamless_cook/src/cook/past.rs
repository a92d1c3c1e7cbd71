//! What the last cook left, read once. See [`Past`].

use std::path::Path;

use super::sources::settle;
use crate::graph::output::COOK_FOLDER;
use crate::graph::state::{Graph, Memory, Seen};
use crate::graph::storage::{Storage, stamp};

/// What the last cook left, as far as it is whole.
#[derive(Default)]
pub(super) struct Past {
    bytes: Vec<u8>,
    memory: Option<Memory>,
    pub seen: Seen,
}

impl Past {
    /// Reads the file of that name in the cooker's own folder; what is not there, or not sound, is nothing.
    pub fn read(storage: &dyn Storage, out: &Path, state_file: &str) -> Self {
        Self::of(bytes(storage, out, state_file))
    }

    fn of(bytes: Vec<u8>) -> Self {
        let memory = Memory::parse(&bytes);
        let seen = memory.as_ref().and_then(Memory::seen).unwrap_or_default();
        Self { bytes, memory, seen }
    }

    /// The same, now that no other cook is at work: one may have been.
    pub fn read_again(self, storage: &dyn Storage, out: &Path, state_file: &str) -> Self {
        let bytes = bytes(storage, out, state_file);
        match bytes == self.bytes {
            true => self,
            false => Self::of(bytes),
        }
    }

    /// Whether the files in the output folder are those that were written.
    pub fn outputs_are_there(&self, out: &Path) -> bool {
        let mut outputs = self.seen.outputs.iter();
        outputs.all(|(file, old)| stamp(&out.join(file)) == Some(*old))
    }

    /// All of it. Meanwhile `make` is called, and the clock goes on, so that whatever changes from now on has another stamp than before:
    /// with the graph comes the time, in nanoseconds since 1970.
    pub fn settle<T>(self, make: impl FnOnce() -> T) -> (Seen, Graph, i128, T) {
        let memory = self.memory;
        let (graph, began, made) = std::thread::scope(|scope| {
            let graph = scope.spawn(|| memory.as_ref().and_then(Memory::graph));
            let (began, made) = settle(make);
            // One that panicked knows nothing.
            (graph.join().ok().flatten(), began, made)
        });
        (self.seen, graph.unwrap_or_default(), began, made)
    }
}

fn bytes(storage: &dyn Storage, out: &Path, state_file: &str) -> Vec<u8> {
    let file = out.join(COOK_FOLDER).join(state_file);
    storage.read(&file).unwrap_or_default()
}
