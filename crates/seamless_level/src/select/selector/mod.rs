//! The selection, kept from frame to frame. See [`Selector`].

mod arrival;
mod askers;
mod grounds;
mod rank;
mod volumes;

use bevy_math::Vec3;
use bevy_platform::collections::HashMap;
use smallvec::SmallVec;

use self::{
    askers::{Asker, Explicit},
    grounds::Grounds,
    rank::Candidate,
};
use super::{
    ALWAYS_PRIORITY, LevelInput, Plan, Presence, RequestKey, SelectionLimits, SourceInput, Standing, VolumeInput,
    VolumeKey,
    contain::Containment,
    dense::DenseSet,
    linger::{LingerQueue, VolumeState, Whose},
    probe::{POINTS, Probe},
};
use crate::{
    requests::{RequestKind, RequestSet},
    target::LevelTarget,
};

/// How much a priority must change, as a part of itself, before it is told.
const PRIORITY_STEP: f32 = 0.1;

/// Decides which levels of a world are wanted, from one update to the next. See the [module](super#the-rule).
///
/// ```
/// # use bevy_math::Vec3;
/// # use seamless_level::{LevelTarget, VolumeShape, select::*};
/// let mut selector = Selector::new(&[LevelInput::default()]);
/// selector.add_volume(VolumeInput {
///     shape: VolumeShape::Sphere { center: Vec3::ZERO, radius: 10.0 },
///     unload_delay: 2.0,
///     levels: [0].into(),
///     ..VolumeInput::default()
/// });
/// let mut at = |x: f32, now: f64| {
///     let source = SourceInput { position: Vec3::X * x, ..SourceInput::default() };
///     let plan = selector.update(&[source], now, &SelectionLimits::default());
///     (plan.rise.clone(), plan.fall.clone())
/// };
/// assert_eq!(at(5.0, 0.0), (vec![(0, LevelTarget::Visible)], vec![]));
/// assert_eq!(at(50.0, 1.0), (vec![], vec![])); // it lingers
/// assert_eq!(at(50.0, 3.0), (vec![], vec![(0, LevelTarget::Unloaded)]));
/// ```
#[derive(Debug, Default)]
pub struct Selector {
    levels: Vec<LevelSlot>,
    volumes: Vec<Option<VolumeSlot>>,
    free_volumes: Vec<u32>,
    explicit: Vec<Option<Explicit>>,
    free_requests: Vec<u32>,
    requests: RequestSet,
    contain: Containment,
    linger: LingerQueue,
    /// The levels that everybody wants, wherever they are.
    always: Vec<u32>,
    /// The levels that somebody wants, the cap not looked at.
    asked: DenseSet,
    /// What they take of the caps.
    places: Places,
    coming: DenseSet,
    /// The volumes that are on and block.
    blocking: Vec<u32>,
    /// The volumes that ask although no point is within their margins.
    aside: DenseSet,
    sources: Vec<SourceInput>,
    /// Where each of them is, by its key.
    places_of_sources: HashMap<u64, usize>,
    limits: Option<SelectionLimits>,
    /// How many levels are left out whatever the caps say.
    outs: usize,
    /// Where levels are.
    grounds: Grounds,
    /// Whether anything but sources and time changed since the last update.
    has_changed: bool,
    plan: Plan,
    /// Scratch.
    ranked: Vec<Candidate>,
    /// Scratch.
    stepped: Vec<u32>,
}

#[derive(Debug, Default)]
struct LevelSlot {
    /// As far as plans have said.
    target: LevelTarget,
    /// As far as requests say.
    asked: LevelTarget,
    presence: Presence,
    bytes: u64,
    /// Around what is to be seen of it.
    bounds: Option<(Vec3, Vec3)>,
    /// Whether it is left out.
    is_cut: bool,
    /// Whether it is left out whatever the caps say.
    is_out: bool,
    /// The priority that was told last.
    told: f32,
    askers: SmallVec<[Asker; 2]>,
}

#[derive(Debug)]
struct VolumeSlot {
    input: VolumeInput,
    /// By all sources.
    all: VolumeState,
    /// By those that may show levels.
    showing: VolumeState,
    /// What it asks for, if it is on.
    asked: Option<RequestKind>,
}

/// What levels take of the caps.
#[derive(Copy, Clone, Debug, Default)]
struct Places {
    levels: usize,
    bytes: u128,
}

impl Places {
    /// A level takes a place, or does so no more.
    fn change(&mut self, bytes: u64, did_take: bool, takes: bool) {
        self.levels = self.levels + usize::from(takes) - usize::from(did_take);
        let bytes = |is_counted: bool| if is_counted { u128::from(bytes) } else { 0 };
        self.bytes = self.bytes + bytes(takes) - bytes(did_take);
    }
}

impl LevelSlot {
    fn new(level: &LevelInput) -> Self {
        Self {
            bytes: level.bytes,
            bounds: level.bounds,
            ..Self::default()
        }
    }

    /// Whether it takes a place under the cap.
    fn takes_place(&self) -> bool {
        self.asked != LevelTarget::Unloaded && self.presence != Presence::Failed
    }

    /// Whether it is to be seen, and is not there.
    fn is_missing(&self) -> bool {
        self.target == LevelTarget::Visible && matches!(self.presence, Presence::Away | Presence::Coming)
    }
}

impl Selector {
    /// A world of these levels, without volumes.
    #[must_use]
    pub fn new(levels: &[LevelInput]) -> Self {
        let count = levels.len();
        let mut selector = Self {
            requests: RequestSet::new(count),
            asked: DenseSet::new(count),
            coming: DenseSet::new(count),
            ..Self::default()
        };
        selector.levels.extend(levels.iter().map(LevelSlot::new));
        for (index, level) in (0u32..).zip(levels) {
            selector.grounds.change(index, None, level.bounds);
            selector.want_always(index, level);
        }
        selector
    }

    /// Adds a level; gives its index, which follows those that there are.
    pub fn add_level(&mut self, level: &LevelInput) -> u32 {
        let index = self.levels.len() as u32;
        self.levels.push(LevelSlot::new(level));
        self.requests.grow();
        self.asked.grow();
        self.coming.grow();
        self.grounds.change(index, None, level.bounds);
        self.want_always(index, level);
        index
    }

    fn want_always(&mut self, index: u32, level: &LevelInput) {
        if level.always_loaded {
            self.request(index, RequestKind::Show, ALWAYS_PRIORITY);
            self.always.push(index);
        }
    }

    /// Another level takes the place of one that is gone. Who asks for what is there asks for it from now on.
    pub fn replace_level(&mut self, level: u32, input: &LevelInput) {
        self.set_presence(level, Presence::Away);
        self.set_out(level, false);
        let Some(slot) = self.levels.get_mut(level as usize) else {
            return;
        };
        let new = LevelSlot::new(input);
        let takes_place = slot.takes_place();
        self.places.change(slot.bytes, takes_place, false);
        self.grounds.change(level, slot.bounds, new.bounds);
        (slot.bytes, slot.bounds) = (new.bytes, new.bounds);
        self.places.change(slot.bytes, false, takes_place);
        self.requests.mark(level);
        self.has_changed = true;
        self.want_always(level, input);
    }

    /// How many volumes and requests ask for a level, bans included.
    #[must_use]
    pub fn askers(&self, level: u32) -> usize {
        self.level(level).map_or(0, |slot| slot.askers.len())
    }

    /// Adds a volume.
    pub fn add_volume(&mut self, input: VolumeInput) -> VolumeKey {
        let slot = VolumeSlot {
            input,
            all: VolumeState::Off,
            showing: VolumeState::Off,
            asked: None,
        };
        let volume = insert(&mut self.volumes, &mut self.free_volumes, slot);
        if volume as usize == self.aside.limit() {
            self.aside.grow();
        }
        self.place(volume);
        VolumeKey(volume)
    }

    /// Changes a volume. If it is on it stays so, and goes off, with its delay, if all sources are outside of it now.
    pub fn set_volume(&mut self, key: VolumeKey, input: VolumeInput) {
        self.withdraw(key.0);
        let Some(Some(slot)) = self.volumes.get_mut(key.0 as usize) else {
            return;
        };
        slot.input = input;
        self.ask(key.0);
        self.place(key.0);
    }

    /// Takes a volume away; what it asked for it asks no more, without a delay.
    pub fn remove_volume(&mut self, key: VolumeKey) {
        self.withdraw(key.0);
        if let Some(slot) = self.volumes.get_mut(key.0 as usize).and_then(Option::take) {
            self.linger.change(key.0, Whose::All, slot.all, VolumeState::Off);
            self.linger
                .change(key.0, Whose::Showing, slot.showing, VolumeState::Off);
            self.contain.remove(key.0);
            self.aside.set(key.0, false);
            self.free_volumes.push(key.0);
            self.has_changed = true;
        }
    }

    /// Asks for a level until [`release`](Self::release); `priority` is that of the request among all. One for a level
    /// that there is not asks for nothing.
    pub fn request(&mut self, level: u32, kind: RequestKind, priority: f32) -> RequestKey {
        let request = Explicit::new(level, kind, priority);
        let key = insert(&mut self.explicit, &mut self.free_requests, request);
        self.add(level, kind, Asker::Request(key));
        RequestKey(key)
    }

    /// Takes a request back.
    pub fn release(&mut self, key: RequestKey) {
        let Some(request) = self.explicit.get(key.0 as usize).copied().flatten() else {
            return;
        };
        self.remove(request.level, request.kind, Asker::Request(key.0));
        if let Some(slot) = self.explicit.get_mut(key.0 as usize) {
            *slot = None;
            self.free_requests.push(key.0);
        }
    }

    /// Tells what there is of a level.
    pub fn set_presence(&mut self, level: u32, presence: Presence) {
        let Some(slot) = self.levels.get_mut(level as usize) else {
            return;
        };
        if slot.presence == presence {
            return;
        }
        let did_take = slot.takes_place();
        slot.presence = presence;
        self.places.change(slot.bytes, did_take, slot.takes_place());
        let is_coming = matches!(presence, Presence::Coming | Presence::Held);
        self.coming.set(level, is_coming);
        // One that was left out and failed is so no more.
        self.requests.mark(level);
        self.has_changed = true;
    }

    /// Leaves a level out whatever the caps say, for there is no memory for it, or does so no more.
    pub fn set_out(&mut self, level: u32, is_out: bool) {
        let Some(slot) = self.levels.get_mut(level as usize) else {
            return;
        };
        if core::mem::replace(&mut slot.is_out, is_out) != is_out {
            self.outs = if is_out { self.outs + 1 } else { self.outs - 1 };
            self.has_changed = true;
        }
    }

    /// What the last update decided.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// What there is of a level, as it was told.
    #[must_use]
    pub fn presence(&self, level: u32) -> Presence {
        self.level(level).map_or(Presence::Away, |slot| slot.presence)
    }

    /// How far a level is to come, as of the last update.
    #[must_use]
    pub fn target(&self, level: u32) -> LevelTarget {
        self.level(level).map_or(LevelTarget::Unloaded, |slot| slot.target)
    }

    /// Whether a volume asks for its levels, as of the last update.
    #[must_use]
    pub fn volume_state(&self, key: VolumeKey) -> VolumeState {
        let slot = self.volumes.get(key.0 as usize).and_then(Option::as_ref);
        slot.map_or(VolumeState::Off, |slot| slot.all)
    }

    /// How many levels are wanted, those left out not counted.
    #[must_use]
    pub fn wanted(&self) -> usize {
        self.asked.members().len() - self.plan.dropped
    }

    /// How many bytes the levels have that are wanted, those left out counted as well, but not those that failed.
    #[must_use]
    pub fn asked_bytes(&self) -> u64 {
        u64::try_from(self.places.bytes).unwrap_or(u64::MAX)
    }

    /// Whether any level is on its way.
    #[must_use]
    pub fn is_any_coming(&self) -> bool {
        let mut coming = self.coming.members().iter();
        coming.any(|level| self.presence(*level) == Presence::Coming)
    }

    /// How urgent a level is, as of the last update; zero for one that nobody wants.
    #[must_use]
    pub fn priority(&self, level: u32) -> f32 {
        self.urgency(level, |source| source.priority)
    }

    /// How urgent a level is, by what each source counts.
    fn urgency(&self, level: u32, weigh: fn(&SourceInput) -> f32) -> f32 {
        let askers = self.level(level).map_or(&[][..], |slot| &slot.askers);
        let scores = askers.iter().map(|asker| self.score(*asker, weigh));
        scores.fold(0.0, f32::max)
    }

    /// How often a volume was tested against a source, ever.
    #[must_use]
    pub fn tests(&self) -> u64 {
        self.contain.looked_at()
    }

    /// Decides what is wanted now. `now` is in seconds, from any beginning, and never less than before.
    pub fn update(&mut self, sources: &[SourceInput], now: f64, limits: &SelectionLimits) -> &Plan {
        self.plan.rise.clear();
        self.plan.fall.clear();
        self.plan.priorities.clear();
        let has_moved = self.move_sources(sources);
        let is_due = self.linger.due(now).is_some();
        if has_moved || is_due || self.has_changed || self.limits != Some(*limits) {
            self.limits = Some(*limits);
            // All points of one source, then those of the next: so each keeps its place when others begin to look ahead.
            let points = (0..self.sources.len() * POINTS).map(|point| point_of(&self.sources, point));
            self.contain.update(points.map(|found| Some(found?.2)));
            self.look_ahead();
            self.step_volumes(now);
            self.has_changed = false;
            self.settle();
            self.cap(limits);
            self.compare();
            self.tell_priorities();
            self.list_blocking();
            self.plan.arrival = self.arrival();
        }
        &self.plan
    }

    /// Takes over the sources that are somewhere; whether any of them is elsewhere now.
    fn move_sources(&mut self, sources: &[SourceInput]) -> bool {
        let is_usable = |source: &&SourceInput| source.is_usable();
        if sources.iter().filter(is_usable).eq(&self.sources) {
            return false;
        }
        self.sources.clear();
        self.sources.extend(sources.iter().filter(is_usable));
        self.places_of_sources.clear();
        // Of several with one key, the first one.
        let keys = self.sources.iter().map(|source| source.key).enumerate().rev();
        self.places_of_sources.extend(keys.map(|(place, key)| (key, place)));
        true
    }

    /// Takes over what requests say now.
    fn settle(&mut self) {
        for &level in self.requests.dirty() {
            let Some(slot) = self.levels.get_mut(level as usize) else {
                continue;
            };
            let did_take = slot.takes_place();
            slot.asked = self.requests.target(level);
            self.places.change(slot.bytes, did_take, slot.takes_place());
            self.asked.set(level, slot.asked != LevelTarget::Unloaded);
        }
    }

    fn tell_priorities(&mut self) {
        for &level in self.coming.members() {
            let priority = self.priority(level);
            let told = self.level(level).map_or(0.0, |slot| slot.told);
            if (priority - told).abs() > PRIORITY_STEP * told.abs() {
                self.plan.priorities.push((level, priority));
            }
        }
        for &(level, priority) in &self.plan.priorities {
            if let Some(slot) = self.levels.get_mut(level as usize) {
                slot.told = priority;
            }
        }
    }

    fn level(&self, level: u32) -> Option<&LevelSlot> {
        self.levels.get(level as usize)
    }
}

/// The source that a point is of, and if it asks there: when, and how.
fn point_of(sources: &[SourceInput], point: usize) -> Option<(&SourceInput, f32, Probe)> {
    let source = sources.get(point / POINTS)?;
    let (time, probe) = source.point(point % POINTS)?;
    Some((source, time, probe))
}

/// Puts a value into a free place, or at the end.
fn insert<T>(slots: &mut Vec<Option<T>>, free: &mut Vec<u32>, value: T) -> u32 {
    if let Some(place) = free.pop()
        && let Some(slot) = slots.get_mut(place as usize)
    {
        *slot = Some(value);
        return place;
    }
    slots.push(Some(value));
    slots.len() as u32 - 1
}
