//! How views move. See [`Tracks`].

use bevy_math::Vec3;

use super::{super::need::MipView, EXPECTED};

/// So many frames are remembered.
const FRAMES: usize = 16;
/// Who goes farther in a frame has jumped, in metres.
const JUMP: f32 = 32.0;

/// Where a view was, the latest last.
#[derive(Copy, Clone, Debug)]
struct Track {
    key: u64,
    places: [(Vec3, f64); FRAMES],
    len: usize,
}

/// Where views were lately. A view's velocity is the mean of 16 frames, and nothing after a jump, or for expected places: those are ahead already.
#[derive(Debug, Default)]
pub(super) struct Tracks {
    tracks: Vec<Track>,
    before: Vec<Track>,
}

impl Tracks {
    /// Writes the velocities of a frame's views. `now` is in seconds; while it stands still, nothing moves.
    pub fn note(&mut self, views: &mut [MipView], now: f64) {
        core::mem::swap(&mut self.tracks, &mut self.before);
        self.tracks.clear();
        // An expected place is no movement, though another one may have its key now.
        for view in views.iter_mut().filter(|view| view.key < EXPECTED) {
            let known = self.before.iter().find(|track| track.key == view.key);
            let mut track = known.copied().unwrap_or(Track {
                key: view.key,
                places: [(Vec3::ZERO, 0.0); FRAMES],
                len: 0,
            });
            track.push(view.position, now);
            view.velocity = track.velocity();
            self.tracks.push(track);
        }
    }
}

impl Track {
    fn push(&mut self, place: Vec3, now: f64) {
        let last = self.places[..self.len].last().copied();
        // Written so that what is no number begins anew.
        let is_near = last.is_some_and(|(last, _)| last.distance(place) <= JUMP);
        match last {
            _ if !is_near => self.len = 0,
            Some((_, then)) if then == now => self.len -= 1,
            _ if self.len == FRAMES => {
                self.places.copy_within(1.., 0);
                self.len -= 1;
            }
            _ => {}
        }
        self.places[self.len] = (place, now);
        self.len += 1;
    }

    /// Metres a second.
    fn velocity(&self) -> Vec3 {
        let places = &self.places[..self.len];
        let (Some((from, then)), Some((to, now))) = (places.first(), places.last()) else {
            return Vec3::ZERO;
        };
        let velocity = (to - from) / (now - then) as f32;
        if velocity.is_finite() { velocity } else { Vec3::ZERO }
    }
}
