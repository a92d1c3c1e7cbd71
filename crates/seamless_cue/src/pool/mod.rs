//! Instances of an actor's prefab: who gets which, and how many there are. Pure; see [`Pool`].

#[cfg(test)]
mod tests;

use core::time::Duration;

use bevy_ecs::entity::Entity;
use bevy_reflect::{Reflect, std_traits::ReflectDefault};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::cue::CueKey;

/// What becomes of a cue that needs an instance while a pool's [cap](crate::CueNotify::cap) is reached.
#[derive(Reflect, Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[reflect(Default, Clone, Debug, PartialEq)]
pub enum WhenFull {
    /// It gets the instance that has played longest, which is recycled for it.
    #[default]
    ReuseOldest,
    /// It goes without: observers hear of it, with no instance. Counted.
    GoWithout,
}

/// For whom an instance plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlaysFor {
    pub target: Entity,
    /// Only where the notify has an instance for each.
    pub instigator: Option<Entity>,
    pub source: Option<Entity>,
}

/// An instance that plays.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Playing<I> {
    pub instance: I,
    pub plays_for: PlaysFor,
    /// Cues that last and are played by it.
    pub users: SmallVec<[CueKey; 1]>,
    /// When it goes back; `None`: not as long as something lasts.
    pub until: Option<Duration>,
    /// Whether it goes where its target goes.
    pub follows: bool,
}

/// What there is for a cue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Give<I> {
    /// An instance that plays for the same already.
    Same(I),
    /// One that was free.
    Free(I),
    /// The one that has played longest.
    Oldest(I),
    /// None, and there will be none.
    Full,
    /// None yet.
    NotYet,
}

/// How a pool was used; see [`PoolReport`](crate::PoolReport).
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolStats {
    /// Instances that are free.
    pub free: u32,
    /// Instances that play.
    pub playing: u32,
    /// Instances that are on their way.
    pub making: u32,
    /// The most that have been needed at the same time, those that were not given among them.
    pub high_water: u32,
    /// Instances that were made, and cues that had to wait for that: as many as were not preallocated.
    pub made_late: u32,
    /// How often a free instance was used again.
    pub reused: u64,
    /// How often the oldest was taken, or none given, because the pool was full.
    pub full: u64,
}

impl PoolStats {
    /// What to write as `preallocated` in the cue's file, so that no cue of a session like this one had waited for an instance.
    #[must_use]
    pub fn recommended(&self, cap: u32) -> u32 {
        self.high_water.min(cap)
    }
}

/// The instances of one notify.
#[derive(Debug)]
pub(crate) struct Pool<I> {
    pub cap: u32,
    pub preallocated: u32,
    pub when_full: WhenFull,
    pub free: Vec<I>,
    /// The one that has played longest first.
    pub playing: Vec<Playing<I>>,
    /// How many are on their way.
    pub making: u32,
    pub stats: PoolStats,
}

impl<I: Copy + PartialEq> Pool<I> {
    pub fn new(cap: u32, preallocated: u32, when_full: WhenFull) -> Self {
        Self {
            cap: cap.max(1),
            preallocated: preallocated.min(cap.max(1)),
            when_full,
            free: Vec::new(),
            playing: Vec::new(),
            making: 0,
            stats: PoolStats::default(),
        }
    }

    /// How many there are, those on their way among them.
    pub fn total(&self) -> u32 {
        self.free.len() as u32 + self.playing.len() as u32 + self.making
    }

    /// Whether one more is to be made ahead of its use.
    pub fn wants_more(&self) -> bool {
        self.total() < self.preallocated
    }

    /// What there is for a cue. An instance of its own is nobody else's.
    pub fn look(&self, plays_for: PlaysFor) -> Give<I> {
        let same = self
            .playing
            .iter()
            .find(|playing| playing.until.is_none() && playing.plays_for == plays_for);
        if let Some(same) = same {
            return Give::Same(same.instance);
        }
        match (self.free.last(), self.playing.first(), self.when_full) {
            (Some(free), ..) => Give::Free(*free),
            _ if self.total() < self.cap => Give::NotYet,
            (None, Some(oldest), WhenFull::ReuseOldest) => Give::Oldest(oldest.instance),
            (None, None, WhenFull::ReuseOldest) => Give::NotYet,
            (None, _, WhenFull::GoWithout) if self.making > 0 && self.playing.is_empty() => Give::NotYet,
            (None, _, WhenFull::GoWithout) => Give::Full,
        }
    }

    /// Whether to make one for a cue that has to wait. One that was just fired wants one of its own; one that still waits, any.
    pub fn should_make(&mut self, is_new: bool) -> bool {
        let needed = self.playing.len() as u32 + self.making + 1;
        self.stats.high_water = self.stats.high_water.max(needed);
        let makes = self.total() < self.cap && (is_new || self.making == 0);
        self.stats.made_late += u32::from(makes);
        makes
    }

    /// Gives what [`look`](Self::look) finds. What it gives plays until it is said until when.
    pub fn take(&mut self, plays_for: PlaysFor) -> Give<I> {
        let found = self.look(plays_for);
        match found {
            Give::Free(instance) => {
                self.free.pop();
                self.stats.reused += 1;
                self.begin(instance, plays_for);
            }
            Give::Oldest(instance) => {
                self.playing.remove(0);
                self.stats.full += 1;
                self.begin(instance, plays_for);
            }
            Give::Full => self.stats.full += 1,
            Give::Same(_) | Give::NotYet => {}
        }
        let needed = self.playing.len() as u32 + u32::from(matches!(found, Give::Full | Give::Oldest(_)));
        self.stats.high_water = self.stats.high_water.max(needed);
        found
    }

    fn begin(&mut self, instance: I, plays_for: PlaysFor) {
        self.playing.push(Playing {
            instance,
            plays_for,
            users: SmallVec::new(),
            until: None,
            follows: false,
        });
    }

    pub fn playing_mut(&mut self, instance: I) -> Option<&mut Playing<I>> {
        self.playing.iter_mut().find(|playing| playing.instance == instance)
    }

    /// Takes those out that have played to their end, or whose target is gone. They are free as soon as they are [given back](Self::give_back).
    pub fn ended(&mut self, now: Duration, mut is_alive: impl FnMut(Entity) -> bool) -> Vec<I> {
        let mut ended = Vec::new();
        self.playing.retain(|playing| {
            let is_over = playing.until.is_some_and(|until| until <= now);
            let stays = !is_over && is_alive(playing.plays_for.target);
            if !stays {
                ended.push(playing.instance);
            }
            stays
        });
        ended
    }

    /// An instance is free: a new one, or one that was recycled.
    pub fn give_back(&mut self, instance: I) {
        self.free.push(instance);
    }

    /// Instances are there no more.
    pub fn lose(&mut self, is_lost: impl Fn(&I) -> bool) {
        self.free.retain(|free| !is_lost(free));
        self.playing.retain(|playing| !is_lost(&playing.instance));
    }

    /// Its notify says something else from now on.
    pub fn set_limits(&mut self, cap: u32, preallocated: u32, when_full: WhenFull) {
        self.cap = cap.max(1);
        self.preallocated = preallocated.min(self.cap);
        self.when_full = when_full;
    }

    /// How it is used.
    pub fn stats(&self) -> PoolStats {
        PoolStats {
            free: self.free.len() as u32,
            playing: self.playing.len() as u32,
            making: self.making,
            ..self.stats
        }
    }
}
