//! From the queue to the tasks: which requests start, and what they load.

use core::{cmp::Reverse, ops::Range};
use std::sync::Arc;

use bevy_asset::AssetPath;
use bevy_ecs::world::World;
use bevy_platform::collections::HashSet;

use super::{
    Pipeline,
    coming::{Order, Place, Queued},
    memory::UnderCeiling,
};
use crate::{
    load::{
        InstanceId, InstanceInfo, Progress, Streamer,
        instance::{Phase, Turn},
        memory::MayStart,
        packages::{PackageEntry, PackageStatus},
        rank::by_rank,
        task::{Job, Wanted},
        tasks::{JobOwner, Task},
    },
    settings::{StreamingSettings, StreamingStats},
    threads::LoadingThreads,
    time::StreamingTime,
};

impl Pipeline {
    /// Sees to it that what is under way gets on: a read that does not move is given up, and threads that get no time are helped.
    pub(super) fn look_after_tasks(&mut self, world: &mut World, settings: &StreamingSettings) {
        let now = world.resource::<StreamingTime>().now();
        self.stalls.look(now, settings.read_timeout);
        self.stalls.gates.set_most(settings);
        let others = world.resource::<Streamer>().loading_threads();
        let is_any_under_way = self.in_flight.tasks() > 0 || others.is_some_and(LoadingThreads::are_busy);
        if self.tasks.look_after(is_any_under_way) {
            world.resource_mut::<StreamingStats>().starved += 1;
        }
    }

    /// When the requests came that are about to be taken in.
    pub(super) fn note_arrivals(&mut self, world: &World) {
        let now = world.resource::<StreamingTime>().now();
        let next = world.resource::<Streamer>().next_number();
        let &StreamingSettings { aging, suspended, .. } = world.resource::<StreamingSettings>();
        // Nobody is kept waiting by others then.
        if suspended {
            self.arrivals.stand_still(now);
        }
        let has_other_scale = self.arrivals.aging() != aging;
        self.arrivals.note(next, now, aging);
        if has_other_scale {
            self.rank_all_again();
        }
    }

    /// Starts the most urgent requests while tasks are free.
    pub(super) fn start_tasks(&mut self, world: &World, settings: &StreamingSettings) {
        if settings.suspended {
            // Nothing is to go for what cannot start.
            (self.short, self.held) = (0, 0);
            return;
        }
        let most = settings.max_loads_in_flight;
        if self.in_flight.is_full(most) {
            // Nobody looks again; what has gone since then lacks no more.
            let used = self.memory().total();
            let lacks = self.short.saturating_sub(self.short_at.saturating_sub(used));
            let is_any_waiting = !self.instances.index().waiting(Turn::Start).is_empty();
            self.short = if is_any_waiting { lacks } else { 0 };
            self.short_at = self.short_at.min(used);
            self.held = 0;
            return;
        }
        // What starts now is not there yet.
        let known = self.under_ceiling(settings);
        let is_calm = known.as_ref().is_none_or(UnderCeiling::is_calm);
        self.note_hold(is_calm);
        let mut queue = self.queue(settings.load_order_seed, is_calm);
        let (mut short, mut is_full) = (None, false);
        while let Some(owner) = self.next_queued(&mut queue) {
            if let JobOwner::Instance(id) = owner
                && let MayStart::Short(bytes) = self.may_start(known.as_ref(), id)
            {
                // Who ranks lower waits for it.
                short = Some((id, bytes));
                self.leave_out(&mut queue, &[Queued::Shown, Queued::Loaded]);
                continue;
            }
            // Who ranks lower does not take the place that this one waits for.
            is_full = !self.in_flight.has_room(owner, most);
            if is_full {
                break;
            }
            self.start_owner(world, owner);
        }
        self.short = short.map_or(0, |(_, bytes)| bytes);
        self.short_for = short.map(|(id, _)| id);
        self.short_at = known.map_or(0, |known| known.used());
        // Whether there is room for these is decided when all others have begun.
        let is_held = !is_calm && !is_full;
        let held = is_held.then(|| self.coming.queued(Queued::Loaded).len() as u64);
        self.held = held.unwrap_or(0);
    }

    /// What is not to be shown is held until memory is calm, however long that takes. Then it is no more urgent than before.
    fn note_hold(&mut self, is_calm: bool) {
        let now = self.arrivals.now();
        if !is_calm {
            self.held_since.get_or_insert(now);
            return;
        }
        let Some(since) = self.held_since.take() else {
            return;
        };
        let held: Vec<_> = self.coming.queued(Queued::Loaded).iter().collect();
        for place in held {
            if let Some(mut instance) = self.instances.get_mut(&place.id) {
                instance.forget_hold(since, now);
            }
        }
    }

    fn start_owner(&mut self, world: &World, owner: JobOwner) {
        match owner {
            JobOwner::Instance(id) => self.start(id),
            JobOwner::Objects(id) => self.start_objects(id),
            JobOwner::Bulk(id) => self.start_bulk(id),
            JobOwner::Open(id) => self.start_open(id),
            JobOwner::Reload(id) => self.start_reload(world, id),
            JobOwner::Package | JobOwner::MoreObjects(_) => {}
        }
    }

    /// All that could start: by rank, or in an order of this seed. What is not to be shown waits until there is plenty of memory.
    fn queue(&mut self, seed: Option<u64>, is_calm: bool) -> Queue {
        self.look_at_coming();
        let ranked = self.waiting_reloads().map(|(priority, owner)| {
            let number = number(owner);
            (self.arrivals.rank(number, priority), (number, owner))
        });
        let mut others: Vec<_> = ranked.collect();
        #[cfg(test)]
        {
            self.coming.looks += others.len() as u64;
        }
        let first = if let Some(seed) = seed {
            for kind in KINDS {
                let places = self.order(kind).iter();
                others.extend(places.filter_map(|place| self.ranked(kind, place)));
            }
            others.sort_unstable_by_key(|(_, (_, owner))| Reverse(shuffled(seed, *owner)));
            [None; KINDS.end]
        } else {
            others.sort_unstable_by(|a, b| by_rank(*b, *a));
            core::array::from_fn(|kind| self.order(kind).first())
        };
        let mut queue = Queue { first, others };
        if !is_calm {
            self.leave_out(&mut queue, &[Queued::Loaded]);
        }
        queue
    }

    /// What waits of a kind: levels as [`Queued`] says, and requests that are for none.
    fn order(&self, kind: usize) -> &Order {
        let levels = Queued::ALL.get(kind).map(|kind| self.coming.queued(*kind));
        levels.unwrap_or_else(|| self.waiting.order())
    }

    fn ranked(&self, kind: usize, place: Place) -> Option<Ranked> {
        let owner = match Queued::ALL.get(kind) {
            Some(_) => JobOwner::Instance(place.id),
            None => self.waiting.owner(place)?,
        };
        Some((place.rank, (place.id.0, owner)))
    }

    /// Of these kinds, nothing starts.
    fn leave_out(&self, queue: &mut Queue, kinds: &[Queued]) {
        kinds.iter().for_each(|kind| queue.first[*kind as usize] = None);
        let is_out = |id: InstanceId| kinds.iter().any(|kind| self.coming.queued(*kind).contains(id));
        let is_left = |(_, (_, owner)): &Ranked| !matches!(owner, JobOwner::Instance(id) if is_out(*id));
        queue.others.retain(is_left);
    }

    /// The next one; of a package that is being reloaded no level starts.
    fn next_queued(&mut self, queue: &mut Queue) -> Option<JobOwner> {
        loop {
            #[cfg(test)]
            {
                self.coming.looks += 1;
            }
            let first = queue
                .first
                .iter()
                .zip(KINDS)
                .filter_map(|(place, kind)| Some(((*place)?, kind)));
            let first = first.min_by_key(|(place, _)| *place);
            let rank = |(place, _): (Place, usize)| (place.rank, place.id.0);
            let is_next = |(other, (number, _)): &mut Ranked| {
                first
                    .map(rank)
                    .is_none_or(|first| by_rank((*other, *number), first).is_lt())
            };
            let next = match queue.others.pop_if(is_next) {
                Some(other) => Some(other),
                None => {
                    let (place, kind) = first?;
                    queue.first[kind] = self.order(kind).after(place);
                    self.ranked(kind, place)
                }
            };
            let next = next.map(|(_, (_, owner))| owner);
            if let Some(owner) = next.filter(|owner| self.has_no_reload(*owner)) {
                return Some(owner);
            }
        }
    }

    fn has_no_reload(&self, owner: JobOwner) -> bool {
        match owner {
            JobOwner::Instance(id) => {
                let instance = self.instances.get(&id);
                instance.is_some_and(|of| !self.is_reloading(&of.request.package))
            }
            JobOwner::Objects(id) => self.may_objects_start(id),
            _ => true,
        }
    }

    /// Ranks of another [`aging`](StreamingSettings::aging) cannot be compared with new ones.
    fn rank_all_again(&mut self) {
        let all: Vec<_> = self.instances.iter().map(|(id, _)| *id).collect();
        self.rank_again(&all);
        self.rank_reloads_again();
        self.rank_objects_again();
        self.rank_waiting_again();
        for (id, priority, progress) in self.bulk.begun().chain(self.opens.begun()) {
            progress.set_rank(self.arrivals.rank(id, priority));
        }
    }

    /// The priorities of instances have changed: their packages are as urgent as the most urgent of those who wait for them. Each package is looked at
    /// once, as it may have many users.
    pub(super) fn rank_again(&mut self, changed: &[InstanceId]) {
        let mut waited_for: HashSet<&AssetPath<'static>> = HashSet::default();
        for id in changed {
            let Some(instance) = self.instances.get(id) else {
                continue;
            };
            if let Phase::Loading(progress) = &instance.phase {
                progress.set_rank(instance.rank(&self.arrivals));
            }
            waited_for.extend(&instance.packages);
        }
        waited_for.into_iter().for_each(|path| self.rank_package(path));
    }

    /// A package is as urgent as the most urgent of its users, as long as it is waited for.
    pub(super) fn rank_package(&self, path: &AssetPath<'static>) {
        let Some(entry) = self.packages.get(path) else {
            return;
        };
        let PackageStatus::Loading(progress) = &entry.status else {
            return;
        };
        let ranks = entry.users.iter().filter_map(|user| self.rank_of(*user));
        if let Some(highest) = ranks.max_by(f64::total_cmp) {
            progress.set_rank(highest);
        }
    }

    /// Starts a job, or keeps it for the blocking load that is under way.
    pub(super) fn start_job(&mut self, job: Job, owner: JobOwner) {
        self.start_task(Task::Package(job, owner));
    }

    pub(super) fn start_task(&mut self, task: Task) {
        match &mut self.blocking {
            Some(tasks) => tasks.push(task),
            None => {
                self.in_flight.begin(&task);
                self.tasks.start(task, self.stalls.watch());
            }
        }
    }

    pub(super) fn start(&mut self, id: InstanceId) {
        let Some(instance) = self.instances.get(&id) else {
            return;
        };
        if !matches!(instance.phase, Phase::Queued) {
            return;
        }
        let own = instance.request.package.clone();
        let others = instance.request.dependencies.clone();
        let is_first = !self.packages.contains_key(&own);
        let Some(progress) = self.start_level(id, is_first) else {
            return;
        };
        if is_first {
            self.packages.insert(
                own.clone(),
                PackageEntry::loading(progress, self.sizes.assets(&own).bytes()),
            );
        }
        self.join(id, own);
        for path in others {
            self.join(id, path);
        }
    }

    /// Starts the job that loads the level of an instance, with the assets of its package or without.
    pub(super) fn start_level(&mut self, id: InstanceId, assets: bool) -> Option<Arc<Progress>> {
        let mut instance = self.instances.get_mut(&id)?;
        instance.expected = self.sizes.level(&instance.request.package).bytes();
        let progress = Arc::new(Progress::default());
        let before = core::mem::replace(&mut instance.phase, Phase::Loading(progress.clone()));
        instance.is_announced = false;
        let job = Job {
            path: instance.request.package.clone(),
            wanted: Wanted::Level {
                assets,
                instance: Arc::new(InstanceInfo::from(&instance.request)),
            },
            verify: instance.request.verify,
            progress: progress.clone(),
        };
        progress.set_rank(instance.rank(&self.arrivals));
        drop(instance);
        self.tasks.drop_later(before);
        self.start_job(job, JobOwner::Instance(id));
        Some(progress)
    }

    /// The instance needs the package, and what that imports from. What is not under way is loaded.
    pub(super) fn join(&mut self, id: InstanceId, path: AssetPath<'static>) {
        let mut open = vec![path];
        while let Some(path) = open.pop() {
            let Some(mut instance) = self.instances.get_mut(&id) else {
                return;
            };
            if instance.packages.contains(&path) {
                continue;
            }
            instance.packages.push(path.clone());
            let verify = instance.request.verify;
            let rank = instance.rank(&self.arrivals);
            drop(instance);
            if !self.packages.contains_key(&path) {
                let progress = Arc::new(Progress::default());
                progress.set_rank(rank);
                let job = Job {
                    path: path.clone(),
                    wanted: Wanted::Assets,
                    verify,
                    progress: progress.clone(),
                };
                self.start_job(job, JobOwner::Package);
                let expected = self.sizes.assets(&path).bytes();
                self.packages
                    .insert(path.clone(), PackageEntry::loading(progress, expected));
            }
            if let Some(mut entry) = self.packages.get_mut(&path) {
                entry.users.insert(id);
                if let PackageStatus::Loading(progress) = &entry.status {
                    progress.join(verify);
                    progress.raise_rank(rank);
                }
                open.extend(entry.needs.iter().cloned());
            }
        }
    }
}

/// With its rank, and the number of its request.
type Ranked = (f64, (u64, JobOwner));

/// Kinds of what waits: levels, by [`Queued`], and what is for none.
const KINDS: Range<usize> = 0..Queued::ALL.len() + 1;

/// What waits to start, and was not looked at yet.
struct Queue {
    /// The most urgent of each kind.
    first: [Option<Place>; KINDS.end],
    /// All else; the most urgent is the last.
    others: Vec<Ranked>,
}

/// The number of the request that a job is for.
pub(super) fn number(owner: JobOwner) -> u64 {
    match owner {
        JobOwner::Instance(InstanceId(id)) | JobOwner::Reload(InstanceId(id)) => id,
        JobOwner::Objects(id) | JobOwner::MoreObjects(id) | JobOwner::Bulk(id) | JobOwner::Open(id) => id,
        JobOwner::Package => 0,
    }
}

/// An order that looks random and is the same for the same seed (`SplitMix64`).
fn shuffled(seed: u64, owner: JobOwner) -> u64 {
    let number = number(owner);
    let mut z = seed.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
