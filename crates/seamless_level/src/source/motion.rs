//! How fast a source goes, by where it was: pure. See [`SourceMotion`].

#[cfg(test)]
mod tests;

use bevy_ecs::{component::Component, reflect::ReflectComponent};
use bevy_math::Vec3;
use bevy_reflect::{Reflect, std_traits::ReflectDefault};

/// How many positions are remembered.
const SAMPLES: usize = 16;
/// They are this far apart at least, in seconds, so that many frames a second do not shorten the memory.
const SPACING: f64 = 1.0 / 64.0;
/// How far back is looked, in seconds. Places that come over a network are no further apart.
const WINDOW: f64 = 0.25;
/// However few frames there are in that time, so many positions are remembered.
const LEAST_SAMPLES: usize = 3;
/// A source is no faster than it was once in so many steps; so one that stops is soon at rest. A position that comes over a network
/// ten times a second moves once in these.
const RECENT: usize = 8;
/// A step that is longer than this, in world units …
const JUMP: f32 = 8.0;
/// … and so many times faster than those before is a jump, and no way that was gone.
const JUMP_FACTOR: f32 = 8.0;
/// The step after a jump is a way all the same if it differs from it by no more than this part of it.
const ALIKE: f32 = 0.5;
/// So many selections after a teleport have seen where the source is: positions may be those of the frame before.
const SETTLING: u8 = 2;
/// What was so many seconds ago tells nothing about now.
const FORGOTTEN: f64 = 1.0;

/// How a [`StreamingSource`](crate::StreamingSource) moves: the mean of its last quarter of a second. It comes with the source, and the
/// selection of levels keeps it up to date.
///
/// A jump, that is a step that is longer than eight units and eight times as fast as what went before in the last second, starts it anew: nobody flies on
/// after a teleport, nor after several that differ. Who goes on as it jumped has set off. What is seldom seen, as over a network, is on its way between.
#[derive(Component, Reflect, Clone, Debug, Default)]
#[reflect(Component, Default, Clone)]
pub struct SourceMotion {
    velocity: Vec3,
    /// So many selections more see a place that is no way from the one before.
    #[reflect(ignore)]
    settling: u8,
    #[reflect(ignore)]
    track: Track,
}

impl SourceMotion {
    /// In world units a second; zero for a source that is new, has stopped or has jumped.
    #[must_use]
    pub fn velocity(&self) -> Vec3 {
        self.velocity
    }

    /// Says that the source is moved without a way between in this frame, for jumps that are too short to tell: it starts at rest. Until it is
    /// seen in its new place, [`StreamingStatus`](crate::StreamingStatus) does not call it complete.
    pub fn teleported(&mut self) {
        // The next selection may still see the old place.
        *self = Self {
            settling: SETTLING,
            ..Self::default()
        };
    }

    /// Whether it is not known yet where the source is after a teleport.
    pub(crate) fn is_settling(&self) -> bool {
        self.settling > 0
    }

    /// Notes where the source is. `now` is in seconds.
    pub(crate) fn note(&mut self, at: Vec3, now: f64) {
        if self.settling > 0 {
            self.settling -= 1;
            self.track = Track::default();
        }
        self.track.push(at, now);
        self.velocity = self.track.velocity();
    }
}

#[derive(Copy, Clone, Debug, Default)]
struct Sample {
    at: Vec3,
    now: f64,
    /// When it came there.
    since: f64,
}

/// Where a source was, the oldest position first.
#[derive(Clone, Debug, Default)]
struct Track {
    samples: [Sample; SAMPLES],
    len: usize,
    /// How fast the last step was that was no jump.
    speed: f32,
    /// The last step, if it was a jump.
    jump: Option<Step>,
}

/// How a step was made, in world units a second.
#[derive(Copy, Clone, Debug)]
struct Step {
    /// In the time since the last look.
    by_look: Vec3,
    /// In the time since the place before was new: over a network, places come seldom.
    by_place: Vec3,
}

impl Step {
    /// None if it took no time.
    fn new(last: Sample, next: Sample) -> Option<Self> {
        let begun = last.since.max(next.now - WINDOW).min(last.now);
        Some(Self {
            by_look: velocity(last, next)?,
            by_place: velocity(Sample { now: begun, ..last }, next)?,
        })
    }

    /// Whether this is the way on from a jump. Two jumps in a row do not go the same way.
    fn goes_on(&self, jump: &Self) -> bool {
        let is_alike = |step: Vec3, jump: Vec3| step.distance(jump) <= jump.length() * ALIKE;
        is_alike(self.by_look, jump.by_look) || is_alike(self.by_place, jump.by_place)
    }
}

impl Track {
    fn push(&mut self, at: Vec3, now: f64) {
        if !at.is_finite() {
            self.len = 0;
            return;
        }
        let since = self.samples().last().filter(|last| last.at == at);
        let since = since.map_or(now, |last| last.since);
        let sample = Sample { at, now, since };
        if let Some(last) = self.samples().last().copied() {
            self.step(last, sample);
        }
        self.make_place();
        if let Some(place) = self.samples.get_mut(self.len) {
            *place = sample;
            self.len += 1;
        }
        self.forget_before(now - WINDOW);
    }

    /// Forgets what was before the position that was the last one at that time.
    fn forget_before(&mut self, then: f64) {
        let spare = self.len.saturating_sub(LEAST_SAMPLES);
        let later = self.samples().iter().skip(1).take(spare);
        let old = later.take_while(|sample| sample.now <= then).count();
        self.samples.copy_within(old.., 0);
        self.len -= old;
    }

    /// Notes how a step was made; what was before a jump is forgotten, but how fast it went.
    fn step(&mut self, last: Sample, next: Sample) {
        if next.now - last.now > FORGOTTEN {
            self.len = 0;
        }
        // Who stands may have come to rest, or the next place is on its way.
        if next.at == last.at {
            if next.now - next.since > FORGOTTEN {
                (self.speed, self.jump) = (0.0, None);
            }
            return;
        }
        let step = Step::new(last, next);
        let is_far = last.at.distance(next.at) > JUMP;
        let usual = self.mean().length().max(self.speed);
        let speed = step.map_or(0.0, |step| step.by_place.length());
        // Who sets off that fast goes on like that.
        let goes_on = |step: Step| self.jump.is_some_and(|jump| step.goes_on(&jump));
        // Time that does not move makes every step a jump.
        let is_way = step.is_some_and(|step| speed <= usual * JUMP_FACTOR || goes_on(step));
        let is_jump = is_far && !is_way;
        if is_jump {
            self.len = 0;
        }
        self.jump = step.filter(|_| is_jump);
        self.speed = if is_jump { usual } else { speed };
    }

    /// The newest position goes if it is right beside the one before, or else the oldest if there is no place.
    fn make_place(&mut self) {
        let is_close = match self.samples() {
            [.., before, newest] => newest.now - before.now < SPACING,
            _ => false,
        };
        if is_close {
            self.len -= 1;
        } else if self.len == SAMPLES {
            self.samples.copy_within(1.., 0);
            self.len -= 1;
        }
    }

    fn velocity(&self) -> Vec3 {
        let steps = self.samples().windows(2).rev().take(RECENT);
        let speeds = steps.filter_map(|step| Some(velocity(*step.first()?, *step.last()?)?.length()));
        self.mean().clamp_length_max(speeds.fold(0.0, f32::max))
    }

    /// Places that come seldom stand still between: the way is measured from when the first came to when the last did. One that stays away for
    /// longer than those before makes it slower.
    fn mean(&self) -> Vec3 {
        let (Some(first), Some(last)) = (self.samples().first(), self.samples().last()) else {
            return Vec3::ZERO;
        };
        let steps = self.samples().windows(2);
        let mut moves = steps.filter_map(|step| match step {
            [before, after] if before.at != after.at => Some(after),
            _ => None,
        });
        let from = moves.next();
        let (mut newest, mut longest) = (from, 0.0_f64);
        for to in moves {
            longest = longest.max(newest.map_or(0.0, |before| to.since - before.since));
            newest = Some(to);
        }
        let (from, since, until) = match (from, newest) {
            (Some(from), Some(to)) if longest > 0.0 => (from.at, from.since, to.since.max(last.now - longest)),
            _ => (first.at, first.now, last.now),
        };
        let mean = (last.at - from) / (until - since) as f32;
        if mean.is_finite() { mean } else { Vec3::ZERO }
    }

    fn samples(&self) -> &[Sample] {
        self.samples.get(..self.len).unwrap_or_default()
    }
}

/// How a step was made, in world units a second; none if it took no time.
fn velocity(from: Sample, to: Sample) -> Option<Vec3> {
    let took = (to.now - from.now) as f32;
    (took > 0.0).then(|| (to.at - from.at) / took)
}
