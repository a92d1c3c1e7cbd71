//! What the last cook left, read once. See [`Past`].

use core::num::NonZeroUsize;
use std::cell::OnceCell;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use super::sources::{Sources, changed, settle};
use crate::graph::output::COOK_FOLDER;
use crate::graph::state::{FileUnit, Memory, Outcome, Seen, SeenFiles, Units};
use crate::graph::storage::{Stamp, Storage, stamp};
use crate::plan::WorldPlan;
use crate::report::CookReport;

/// What the last cook left, as far as it is whole.
pub(super) struct Past {
    memory: Memory,
    /// When it was read, before anybody looked at a file.
    start: Instant,
    /// Of its file, before it was read.
    stamp: Option<Stamp>,
    pub seen: Seen,
    files: SeenFiles,
    /// How many threads look at files.
    threads: NonZeroUsize,
    /// By place, whether a file has changed since, once somebody has looked.
    changed: OnceCell<Vec<bool>>,
}

impl Past {
    /// Reads the file of that name in the cooker's own folder; what is not there, or not sound, is nothing.
    pub fn read(storage: &dyn Storage, out: &Path, state_file: &str, threads: NonZeroUsize) -> Self {
        let (file, start) = (file(out, state_file), Instant::now());
        let stamp = stamp(&file);
        let memory = Memory::of(storage.read(&file).unwrap_or_default());
        let (seen, files) = (memory.seen(), memory.files());
        let (seen, files) = seen.zip(files).unwrap_or_default();
        Self {
            memory,
            start,
            stamp,
            seen,
            files,
            threads,
            changed: OnceCell::new(),
        }
    }

    /// The same, now that no other cook is at work: one may have been. Each leaves another file, much later than the one before.
    pub fn read_again(self, storage: &dyn Storage, out: &Path, state_file: &str) -> Self {
        match stamp(&file(out, state_file)) == self.stamp {
            true => self,
            false => Self::read(storage, out, state_file, self.threads),
        }
    }

    /// Whether any of the files that were seen has changed since.
    pub fn is_changed(&self) -> bool {
        self.changed().contains(&true)
    }

    fn changed(&self) -> &[bool] {
        let look = || changed(&self.seen, &self.files, self.threads);
        self.changed.get_or_init(look)
    }

    /// Whether the files in the output folder are those that were written.
    pub fn outputs_are_there(&self, out: &Path) -> bool {
        let mut outputs = self.seen.outputs.iter();
        outputs.all(|(file, old)| stamp(&out.join(file)) == Some(*old))
    }

    /// What the last cook told.
    pub fn report(&self) -> Option<CookReport> {
        self.memory.report()
    }

    /// All of it, and what of it holds for the files of the plan; meanwhile `make` is called. The clock goes on before the bytes of any file are
    /// looked at, so that whatever changes afterwards has another stamp than before. What the last cook told is read where `tells`.
    pub fn settle<T>(self, plan: &WorldPlan, tells: bool, make: impl FnOnce() -> T) -> Settled<T> {
        self.changed();
        let changed = self.changed.into_inner().unwrap_or_default();
        let (memory, start) = (self.memory, self.start);
        let mut sources = Sources::new(plan, &self.seen, self.files, changed);
        let (made, files, others) = std::thread::scope(|scope| {
            let files = scope.spawn(|| {
                let mut files = memory.file_units().unwrap_or_default();
                let began = settle(start);
                let gone = files.extract_if(.., |_, unit| !sources.hold_seen(&unit.dependencies));
                let gone: Vec<(String, FileUnit)> = gone.collect();
                (files, gone, began)
            });
            let others = scope.spawn(|| {
                let report = tells.then(|| memory.report()).flatten();
                (memory.units(), memory.outcome(), report)
            });
            let made = make();
            // Plain data: a panic is a fault of the cooker.
            let files = files.join().unwrap_or_else(|panic| resume_unwind(panic));
            (made, files, others.join().unwrap_or_else(|panic| resume_unwind(panic)))
        });
        let ((files, gone, began), (units, outcome, report)) = (files, others);
        for (file, unit) in &gone {
            sources.remember_loading(file, &unit.loading);
        }
        Settled {
            sources,
            units: Units {
                files: Arc::new(files),
                ..units.unwrap_or_default()
            },
            outcome: outcome.unwrap_or_default(),
            gone,
            report,
            memory,
            began,
            made,
        }
    }
}

/// What a cook starts from. See [`Past::settle`].
pub(super) struct Settled<T> {
    pub sources: Sources,
    /// What sources became, less files that do not hold any more.
    pub units: Units,
    pub outcome: Outcome,
    /// The files that do not hold any more.
    pub gone: Vec<(String, FileUnit)>,
    /// What the last cook told, if that was asked for.
    pub report: Option<CookReport>,
    /// All of that, as bytes.
    pub memory: Memory,
    /// What the clock showed then, in nanoseconds since 1970.
    pub began: i128,
    pub made: T,
}

fn file(out: &Path, state_file: &str) -> PathBuf {
    out.join(COOK_FOLDER).join(state_file)
}
