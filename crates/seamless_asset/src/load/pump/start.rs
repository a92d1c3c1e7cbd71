//! From the queue to the tasks: which requests start, and what they load.

use std::sync::Arc;

use super::Pipeline;
use crate::{
    load::{
        InstanceId, Progress,
        instance::{Phase, by_priority},
        packages::PackageEntry,
        task::Job,
        tasks::MAX_LOADS,
    },
    settings::StreamingSettings,
};

impl Pipeline {
    /// Starts the most urgent requests while tasks are free.
    pub(super) fn start_tasks(&mut self, settings: &StreamingSettings) {
        let most = settings.max_loads_in_flight.min(MAX_LOADS);
        if self.in_flight >= most {
            return;
        }
        let mut queued: Vec<_> = self
            .instances
            .iter()
            .filter(|(_, instance)| matches!(instance.phase, Phase::Queued))
            .map(|(id, instance)| (instance.request.priority, *id))
            .collect();
        queued.sort_unstable_by(|a, b| by_priority(*a, *b));
        for (_, id) in queued {
            if self.in_flight >= most {
                break;
            }
            self.start(id);
        }
    }

    fn start(&mut self, id: InstanceId) {
        let Some(instance) = self.instances.get_mut(&id) else {
            return;
        };
        let progress = Arc::new(Progress::default());
        instance.phase = Phase::Loading(progress.clone());
        let own = instance.request.package.clone();
        let others = instance.request.dependencies.clone();
        for path in others {
            let entry = match self.packages.get_mut(&path) {
                Some(entry) => entry,
                None => {
                    let progress = Arc::new(Progress::default());
                    let job = Job {
                        path: path.clone(),
                        assets: true,
                        level: false,
                        progress: progress.clone(),
                    };
                    self.tasks.start(job, None);
                    self.in_flight += 1;
                    self.packages.entry(path).or_insert(PackageEntry::loading(progress))
                }
            };
            entry.users.insert(id);
        }
        let known = self.packages.contains_key(&own);
        let job = Job {
            path: own.clone(),
            assets: !known,
            level: true,
            progress: Arc::clone(&progress),
        };
        self.tasks.start(job, Some(id));
        self.in_flight += 1;
        let entry = self
            .packages
            .entry(own)
            .or_insert_with(|| PackageEntry::loading(progress));
        entry.users.insert(id);
    }
}
