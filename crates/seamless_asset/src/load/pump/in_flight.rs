//! How much is under way. See [`InFlight`].

use std::sync::Arc;

use bevy_asset::AssetPath;

use crate::load::{
    Progress,
    tasks::{Finished, JobOwner, MAX_LOADS, Task},
};

/// What a request for a package counts, beside one that is read by itself, such as a mip of a texture: that is a single read, and few of them
/// would never fill what a disk can give at once. What it needs of other packages counts nothing: those take turns by their ranks, and a level with dozens or hundreds of them must
/// not keep a more urgent one from its turn.
const PACKAGE: usize = 4;
const PART: usize = 1;

/// Tasks that have been started and have not come back, and what they count together. Not those of blocking loads.
#[derive(Default)]
pub(super) struct InFlight {
    tasks: usize,
    /// Those that count.
    turns: usize,
    shares: usize,
    /// The packages among them.
    packages: Vec<(AssetPath<'static>, Arc<Progress>)>,
}

impl InFlight {
    /// Whether what is asked for by `owner` may start, while `most` packages may be under way.
    pub fn has_room(&self, owner: JobOwner, most: usize) -> bool {
        let share = share(owner);
        self.turns < MAX_LOADS && self.shares + share <= most.saturating_mul(PACKAGE)
    }

    /// Whether nothing at all may start.
    pub fn is_full(&self, most: usize) -> bool {
        !self.has_room(JobOwner::Bulk(0), most)
    }

    pub fn begin(&mut self, task: &Task) {
        let share = share(task.owner());
        self.tasks += 1;
        self.turns += usize::from(share > 0);
        self.shares += share;
        if let Task::Package(job, _) = task {
            self.packages.push((job.path.clone(), job.progress.clone()));
        }
    }

    pub fn end(&mut self, finished: &Finished) {
        let share = share(finished.owner());
        self.tasks = self.tasks.saturating_sub(1);
        self.turns = self.turns.saturating_sub(usize::from(share > 0));
        self.shares = self.shares.saturating_sub(share);
        if let Finished::Package(finished) = finished {
            let is_it = |(_, progress): &(_, Arc<Progress>)| Arc::ptr_eq(progress, &finished.progress);
            if let Some(place) = self.packages.iter().position(is_it) {
                self.packages.swap_remove(place);
            }
        }
    }

    /// The packages that have not come back, and how far they are.
    pub fn packages(&self) -> &[(AssetPath<'static>, Arc<Progress>)] {
        &self.packages
    }

    /// How many tasks have not come back.
    pub fn tasks(&self) -> usize {
        self.tasks
    }
}

fn share(owner: JobOwner) -> usize {
    match owner {
        JobOwner::Bulk(_) => PART,
        JobOwner::Package | JobOwner::MoreObjects(_) => 0,
        JobOwner::Instance(_) | JobOwner::Objects(_) | JobOwner::Open(_) | JobOwner::Reload(_) => PACKAGE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{
        InstanceId,
        task::{Read, Stop},
        tasks::FinishedSingle,
    };

    #[test]
    fn parts_count_less_than_packages() {
        let package = JobOwner::Instance(InstanceId(0));
        let part = JobOwner::Bulk(0);
        let none = InFlight::default();
        assert!(none.is_full(0) && !none.is_full(1));
        let mut full = InFlight {
            tasks: 1,
            turns: 1,
            shares: 1,
            ..InFlight::default()
        };
        assert!(
            full.has_room(part, 1) && !full.has_room(package, 1),
            "it waits for the part"
        );
        assert!(full.has_room(package, 2));
        full = InFlight {
            tasks: 4,
            turns: 4,
            shares: 4,
            ..InFlight::default()
        };
        assert!(full.is_full(1));
        full.end(&Finished::Bulk(FinishedSingle {
            id: 0,
            read: Read::default(),
            result: Err(Stop::Cancelled),
        }));
        assert!(full.has_room(part, 1) && full.tasks() == 3);
    }

    #[test]
    fn no_more_tasks_than_there_are() {
        let many = InFlight {
            tasks: MAX_LOADS,
            turns: MAX_LOADS,
            shares: MAX_LOADS,
            ..InFlight::default()
        };
        assert!(many.is_full(usize::MAX));
    }
}
