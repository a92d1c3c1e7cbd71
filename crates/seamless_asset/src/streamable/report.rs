//! Who holds what. See [`StreamableReport`].

use core::{fmt, panic::Location};
use std::sync::Arc;

use super::{Streamable, StreamableId, StreamableState};

/// How many paths the text of a report names of each streamable.
const SOME_PATHS: usize = 3;

/// All streamables that somebody holds, with who has asked for them: a leak is one that should be gone. Its text has one a line.
#[derive(Debug, Clone, Default)]
pub struct StreamableReport {
    /// In the order of their requests.
    pub held: Vec<HeldStreamable>,
}

/// One streamable of a [`StreamableReport`].
#[derive(Debug, Clone)]
pub struct HeldStreamable {
    /// Which one.
    pub id: StreamableId,
    /// What it is called.
    pub name: Arc<str>,
    /// Who has asked for it.
    pub caller: &'static Location<'static>,
    /// Where it is on its way.
    pub state: StreamableState,
    /// What it holds, or waits for.
    pub paths: Vec<Arc<str>>,
    /// Bytes of that, as far as registries know.
    pub bytes: u64,
    /// The streamables that it is made of.
    pub parts: Vec<StreamableId>,
}

impl StreamableReport {
    /// Bytes of all, as far as registries know; what two hold counts twice, but for those that are parts of another.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let single = self.held.iter().filter(|held| held.parts.is_empty());
        single.map(|held| held.bytes).sum()
    }

    /// Those that hold a path.
    pub fn holders<'s>(&'s self, path: &'s str) -> impl Iterator<Item = &'s HeldStreamable> {
        let holds = move |held: &&HeldStreamable| held.paths.iter().any(|known| **known == *path);
        self.held.iter().filter(holds)
    }
}

pub(super) fn held(streamable: &Streamable) -> HeldStreamable {
    let shared = &streamable.0;
    HeldStreamable {
        id: shared.id,
        name: shared.name.clone(),
        caller: shared.caller,
        state: streamable.state(),
        paths: shared.paths.iter().map(|path| path.shared().clone()).collect(),
        bytes: shared.bytes(),
        parts: shared.parts.iter().map(Streamable::id).collect(),
    }
}

impl fmt::Display for StreamableReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} streamables, {} bytes", self.held.len(), self.bytes())?;
        self.held.iter().try_for_each(|held| write!(f, "\n  {held}"))
    }
}

impl fmt::Display for HeldStreamable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, state, bytes) = (&self.name, self.state, self.bytes);
        write!(f, "`{name}`, {state:?}, {bytes} bytes, asked for at {}", self.caller)?;
        if !self.parts.is_empty() {
            return write!(f, ": {} streamables", self.parts.len());
        }
        let named: Vec<&str> = self.paths.iter().take(SOME_PATHS).map(|path| &**path).collect();
        write!(f, ": {}", named.join(", "))?;
        match self.paths.len() - named.len() {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}
