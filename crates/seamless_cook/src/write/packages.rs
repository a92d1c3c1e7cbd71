//! All packages of a world, on several threads. See [`write_packages`].

use std::thread;

use seamless_package::{Limits, Summary};

use super::package::{Inputs, Writer};
use super::seek_free::Originals;
use super::{Layout, NameList, Stop, key, package_error};
use crate::graph::cache::Cache;
use crate::graph::digest::Digest;
use crate::graph::output::Output;
use crate::graph::state::Written;
use crate::graph::storage::{Stamp, stamp};
use crate::in_order::InOrder;
use crate::layout::PackagePlan;
use crate::output::refuse_newer;
use crate::parts::in_parts;
use crate::report::{Progress, Stage};

/// One package of the output, as it will be.
pub(super) struct Done {
    pub written: Written,
    /// Whether its bytes were made now.
    pub is_new: bool,
}

/// A package that was put together, or that is there already.
struct Made {
    written: Written,
    bytes: Option<Vec<u8>>,
}

/// What is to be done for a package.
enum Task<'a> {
    /// Nothing: it is there.
    Keep(Written),
    Make {
        index: usize,
        package: &'a PackagePlan,
        /// What is known of it before it is there.
        written: Written,
        inputs: Box<Inputs<'a>>,
    },
}

/// Has all packages staged that are not there already. What they are made of is read, and they are staged, in their order and by the
/// calling thread; in between, threads put them together.
pub(super) fn write_packages(
    layout: &Layout,
    cache: &Cache,
    output: &mut Output,
    progress: &dyn Progress,
) -> Result<Vec<Done>, Stop> {
    let mut writing = Writing {
        layout,
        cache,
        output,
        progress,
        keys: keys(layout),
        originals: Originals::default(),
        done: Vec::new(),
        stopped: None,
    };
    let world = layout.world;
    let first_level = world.packages.iter().position(|package| package.level().is_some());
    thread::scope(|scope| {
        let mut threads = InOrder::new(world.jobs, |work| drop(scope.spawn(work)));
        for (index, (package, names)) in world.packages.iter().zip(&layout.names).enumerate() {
            if Some(index) == first_level {
                // From here on there are copies, and they are made of what is staged.
                threads.finish(&mut |made| writing.take(made));
            }
            if writing.stopped.is_some() {
                return;
            }
            let task = writing.begin(index, package, names.clone());
            threads.give(move || task.and_then(|task| task.run(layout)), &mut |made| {
                writing.take(made)
            });
        }
        threads.finish(&mut |made| writing.take(made));
    });
    match writing.stopped {
        Some(stop) => Err(stop),
        None => Ok(writing.done),
    }
}

/// What packages follow from, except for those with copies of what is still to be made.
fn keys(layout: &Layout) -> Vec<Option<(Digest, Vec<String>)>> {
    let packages: Vec<_> = layout.world.packages.iter().enumerate().collect();
    in_parts(layout.world.threads(), &packages, |(index, package)| {
        if let Some(same) = layout.world.same(*index) {
            return Some((same.key, same.used.clone()));
        }
        let key = || key::of(layout, *index, &Originals::default());
        package.copies.is_empty().then(key)
    })
}

/// What the calling thread knows.
struct Writing<'w, 'a, 'o> {
    layout: &'w Layout<'a>,
    cache: &'w Cache<'w>,
    output: &'w mut Output<'o>,
    progress: &'w dyn Progress,
    /// By package, as far as they follow from the layout alone.
    keys: Vec<Option<(Digest, Vec<String>)>>,
    originals: Originals,
    done: Vec<Done>,
    /// Why the first package that could not be made was not.
    stopped: Option<Stop>,
}

impl<'a> Writing<'_, 'a, '_> {
    /// Reads what a package is made of, if it is not there.
    fn begin(
        &mut self,
        index: usize,
        package: &'a PackagePlan,
        (names_key, names): NameList,
    ) -> Result<Task<'a>, Stop> {
        let world = self.layout.world;
        if let Some(same) = world.same(index) {
            // Somebody has looked whether it is there.
            return Ok(Task::Keep(same.clone()));
        }
        let known = self.keys.get_mut(index).and_then(Option::take);
        let (key, used) = known.unwrap_or_else(|| key::of(self.layout, index, &self.originals));
        let old = world.old.get(&package.file).filter(|old| old.key == key);
        if let Some(old) = old.filter(|old| stamp(&self.output.path(&package.file)) == Some(old.stamp)) {
            return Ok(Task::Keep(Written {
                names_key,
                names,
                ..old.clone()
            }));
        }
        refuse_newer(&self.output.path(&package.file), world.versions)?;
        let written = Written {
            key,
            stamp: Stamp::of_new(0),
            content_hash: 0,
            exports: 0,
            names_key,
            names,
            used,
        };
        Ok(Task::Make {
            index,
            package,
            written,
            inputs: Box::new(Inputs::load(
                self.layout,
                self.cache,
                package,
                &self.originals,
                self.output,
            )?),
        })
    }

    /// Stages the next package.
    fn take(&mut self, made: Result<Made, Stop>) {
        if self.stopped.is_some() {
            return;
        }
        match made.and_then(|made| self.stage(made)) {
            Ok(done) => self.done.push(done),
            Err(stop) => self.stopped = Some(stop),
        }
    }

    fn stage(&mut self, made: Made) -> Result<Done, Stop> {
        let index = self.done.len();
        let file = self
            .layout
            .world
            .packages
            .get(index)
            .map_or("", |package| &package.file);
        if let Some(bytes) = &made.bytes {
            self.output.stage(file, bytes)?;
        }
        self.originals.add(index, made.written.content_hash);
        self.progress.step(Stage::Write, file);
        Ok(Done {
            written: made.written,
            is_new: made.bytes.is_some(),
        })
    }
}

impl Task<'_> {
    /// Does it, on any thread.
    fn run(self, layout: &Layout) -> Result<Made, Stop> {
        let (index, package, written, inputs) = match self {
            Self::Keep(written) => return Ok(Made { written, bytes: None }),
            Self::Make {
                index,
                package,
                written,
                inputs,
            } => (index, package, written, inputs),
        };
        let bytes = Writer::new(layout, index)
            .build(*inputs, &package.file)
            .map_err(|error| package_error(layout.world, package, &error))?;
        let summary = Summary::parse(&bytes, &Limits::default());
        let summary = summary.map_err(|error| package_error(layout.world, package, &error))?;
        let written = Written {
            stamp: Stamp::of_new(bytes.len() as u64),
            content_hash: summary.content_hash,
            exports: summary.export_count,
            ..written
        };
        let bytes = Some(bytes);
        Ok(Made { written, bytes })
    }
}
