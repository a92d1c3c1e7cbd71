//! The points that are looked from, and how far they have travelled. See [`Views`].

use super::super::need::{MipView, SLACK_MIPS};

/// Who will be nearer than this to where it is, in metres, does not look ahead.
const LEAST_LEAD: f32 = 0.001;
/// Who is slower than this rests, in metres a second.
const LEAST_SPEED: f32 = 0.01;
/// Views that go farther in a frame have jumped, in metres: what is seen comes first then.
const JUMP: f32 = 32.0;

/// The views of the last frame, each where it is and where it will be.
#[derive(Debug, Default)]
pub(super) struct Views {
    known: Vec<Known>,
    points: Vec<MipView>,
}

#[derive(Copy, Clone, Debug)]
struct Known {
    view: MipView,
    ahead: MipView,
    /// What its lens was when all were looked at.
    lens: MipView,
}

/// What has changed since the last frame.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) struct Change {
    /// How far the point went that went farthest, in metres.
    pub travelled: f32,
    /// Whether all users are to be looked at.
    pub is_new: bool,
}

impl Views {
    /// All points that are looked from.
    pub fn points(&self) -> &[MipView] {
        &self.points
    }

    /// Whether a view moves, whether or not it looks ahead.
    pub fn is_moving(&self) -> bool {
        let is_fast = |known: &Known| known.view.velocity.length() > LEAST_SPEED;
        self.known.iter().any(is_fast)
    }

    /// Takes the views of a frame, which look `lead` seconds ahead.
    pub fn note(&mut self, views: &[MipView], lead: f32) -> Change {
        let mut change = Change {
            travelled: 0.0,
            is_new: views.len() != self.known.len(),
        };
        let before = core::mem::take(&mut self.known);
        self.points.clear();
        for view in views {
            let ahead = view.ahead(lead);
            let leads = view.position.distance(ahead.position) > LEAST_LEAD;
            let ahead = if leads { ahead } else { *view };
            let last = before.iter().find(|known| known.view.key == view.key);
            let way = last.map_or(f32::INFINITY, |last| last.way(view, &ahead));
            let zoom = last.map_or(f32::INFINITY, |last| view.zoom(&last.lens));
            // Written so that what is no number is new.
            let is_near = way <= JUMP && zoom < SLACK_MIPS;
            change.is_new |= !is_near;
            change.travelled = change.travelled.max(way);
            let lens = last.filter(|_| is_near).map_or(*view, |last| last.lens);
            self.known.push(Known {
                view: *view,
                ahead,
                lens,
            });
            self.points.push(*view);
            self.points.extend(leads.then_some(ahead));
        }
        if change.is_new {
            self.known.iter_mut().for_each(|known| known.lens = known.view);
        }
        change
    }
}

impl Known {
    /// How far the view and the point ahead of it went; nothing for what is nowhere, as before.
    fn way(&self, view: &MipView, ahead: &MipView) -> f32 {
        let bits = |view: &MipView| view.position.to_array().map(f32::to_bits);
        if bits(&self.view) == bits(view) && bits(&self.ahead) == bits(ahead) {
            return 0.0;
        }
        let way = self.view.position.distance(view.position);
        let ahead = self.ahead.position.distance(ahead.position);
        if way.is_nan() || ahead.is_nan() {
            f32::INFINITY
        } else {
            way.max(ahead)
        }
    }
}
