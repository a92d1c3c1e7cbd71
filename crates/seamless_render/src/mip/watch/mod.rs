//! Which mips all that is drawn needs, kept up to date by looking at few of it each frame. See [`Watch`].

mod group;
mod queue;
mod sweep;
#[cfg(test)]
mod tests;
mod views;

use super::need::{MipUser, MipView, Outline, Surface};

use group::{COARSEST, Group, NOBODY, key_of};
use queue::TravelQueue;
use sweep::{Sweep, Users};
use views::Views;

/// How many users are looked at in a frame; more wait for the next.
const LOOKS: usize = 8192;

/// A user of a [`Watch`], until it is removed; then another one may have its number.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UserId(u32);

/// Knows for each material and channel how fine the mips are that it is sampled at: the finest of all its users, from all views.
///
/// A user is looked at when it comes, is moved, or is seen after its time, and when views have travelled so far since that its lod may be another by
/// 1/32 mip ([`Footprint::slack`](super::need::Footprint::slack)): a camera at 30 m/s looks at few of 100 000. All are looked at, those
/// that are seen first, when a view comes, goes, jumps, or zooms by 1/32 mip. So what it says is finer than right by 1/16 mip at most, and coarser
/// by 1/32, and 1/32 more while a view zooms by less than that; it is late while [`waiting`](Self::is_waiting). At rest, nobody is looked at.
///
/// Each view counts where it is and where it will be. From views that are [expected](MipView::is_expected), everybody counts, seen or not. Materials have numbers from 0 on, each with a place of its own, so large ones cost memory.
#[derive(Debug, Default)]
pub struct Watch {
    seats: Vec<Seat>,
    free: Vec<u32>,
    live: Users,
    seen: Users,
    /// Two for each material, one a channel.
    groups: Vec<Group>,
    views: Views,
    queue: TravelQueue,
    sweep: Sweep,
    /// Who came, was moved, or is seen now.
    urgent: Vec<u32>,
    /// Groups that wait to be settled.
    listed: Vec<u32>,
    changed: Vec<u32>,
    looks: usize,
}

/// What is known of a user.
#[derive(Debug)]
struct Seat {
    outline: Outline,
    group: u32,
    /// Within the group.
    place: u32,
    /// What it covers, in pixels, by cameras and where somebody is expected.
    areas: [u32; 2],
    /// It is among those that are urgent.
    is_urgent: bool,
    /// It is looked at whatever the views do.
    is_new: bool,
}

impl Watch {
    /// Adds what is drawn; nobody sees it yet.
    pub fn add(&mut self, user: &MipUser, surface: &Surface) -> UserId {
        let id = self.free.pop().unwrap_or(self.seats.len() as u32);
        let group = group_of(user.material, user.channel);
        if self.groups.len() <= group as usize {
            // Both channels.
            self.groups.resize_with((group as usize | 1) + 1, Group::default);
        }
        let place = self.groups[group as usize].push(id, COARSEST);
        let seat = Seat {
            outline: Outline::new(surface, user),
            group,
            place: place as u32,
            areas: [0; 2],
            is_urgent: false,
            is_new: true,
        };
        match self.seats.get_mut(id as usize) {
            Some(free) => *free = seat,
            None => self.seats.push(seat),
        }
        self.sweep.grow(&self.live, id);
        self.live.set(id, true);
        self.list(group);
        self.hurry(id);
        UserId(id)
    }

    /// Takes it out; one that is gone is ignored.
    pub fn remove(&mut self, user: UserId) {
        if !self.live.has(user.0) {
            return;
        }
        self.seen(user, false);
        self.live.set(user.0, false);
        self.queue.take(user.0);
        let Self { seats, groups, .. } = self;
        let Seat {
            group, place, areas, ..
        } = seats[user.0 as usize];
        let moved = |user: u32, place: usize| seats[user as usize].place = place as u32;
        groups[group as usize].remove(place as usize, areas, moved);
        self.list(group);
        // Who is urgent is found among the living when its turn comes.
        self.seats[user.0 as usize].is_new = false;
        self.free.push(user.0);
    }

    /// It is elsewhere, or of another shape; `user` has the material and channel that it came with.
    pub fn moved(&mut self, id: UserId, user: &MipUser, surface: &Surface) {
        if let Some(seat) = self.seats.get_mut(id.0 as usize).filter(|_| self.live.has(id.0)) {
            seat.outline = Outline::new(surface, user);
            seat.is_new = true;
            self.hurry(id.0);
        }
    }

    /// It is within a view's picture, or not any more.
    pub fn seen(&mut self, user: UserId, is_seen: bool) {
        if !self.live.has(user.0) || self.seen.has(user.0) == is_seen {
            return;
        }
        self.seen.set(user.0, is_seen);
        let Self { seats, groups, .. } = self;
        let Seat {
            group, place, areas, ..
        } = seats[user.0 as usize];
        let moved = |user: u32, place: usize| seats[user as usize].place = place as u32;
        groups[group as usize].flip(place as usize, areas[0], moved);
        self.list(group);
        if is_seen {
            self.hurry(user.0);
        }
    }

    /// Lods above this make no difference to the textures of a material's channel: who is beyond is looked at again when that could end.
    pub fn limit(&mut self, material: u32, channel: u8, lod: f32) {
        let group = group_of(material, channel) as usize;
        if self.groups.len() <= group {
            self.groups.resize_with((group | 1) + 1, Group::default);
        }
        if self.groups[group].limit.to_bits() == lod.to_bits() {
            return;
        }
        self.groups[group].limit = lod;
        for place in 0..self.groups[group].users.len() {
            let user = self.groups[group].users[place];
            self.seats[user as usize].is_new = true;
            self.hurry(user);
        }
    }

    /// Looks at whom it has to. `lead` is how many seconds views look ahead.
    pub fn update(&mut self, views: &[MipView], lead: f32) {
        let change = self.views.note(views, lead);
        self.queue.travel(change.travelled);
        if change.is_new {
            self.sweep.begin(&self.live);
        }
        self.looks = 0;
        self.look_at_urgent();
        self.sweep(true);
        while self.looks < LOOKS
            && let Some(user) = self.queue.due()
        {
            self.look(user);
        }
        self.sweep(false);
        self.settle();
    }

    /// The materials of which the last update has told something else than before, by their number.
    #[must_use]
    pub fn changed(&self) -> &[u32] {
        &self.changed
    }

    /// The least lods of a material's channel: of its users that are seen, of the others, and of all where somebody is expected; infinite if there are none.
    #[must_use]
    pub fn least(&self, material: u32, channel: u8) -> [f32; 3] {
        let group = self.groups.get(group_of(material, channel) as usize);
        group.map_or([f32::INFINITY; 3], Group::least)
    }

    /// The lod that a user has from a view alone, wherever that goes; no more than makes a difference.
    pub(super) fn from(&self, user: UserId, view: &MipView) -> f32 {
        let seat = self.seats.get(user.0 as usize).filter(|_| self.live.has(user.0));
        let look = |seat: &Seat| seat.outline.look(view, self.groups[seat.group as usize].limit).lod;
        seat.map_or(f32::INFINITY, look)
    }

    /// How many pixels these would cover, one by one, if nothing were before them; when it was last another by a quarter.
    #[must_use]
    pub fn area(&self, material: u32, channel: u8) -> [f32; 3] {
        let group = self.groups.get(group_of(material, channel) as usize);
        group.map_or([0.0; 3], Group::area)
    }

    /// Whether somebody is to be looked at for whom there was no time.
    #[must_use]
    pub fn is_waiting(&mut self) -> bool {
        !self.urgent.is_empty() || !self.sweep.is_done() || self.queue.due().is_some()
    }

    /// Whether a view moves.
    #[must_use]
    pub fn is_moving(&self) -> bool {
        self.views.is_moving()
    }

    /// How many users were looked at in the last update.
    #[must_use]
    pub fn looks(&self) -> usize {
        self.looks
    }

    fn look_at_urgent(&mut self) {
        let mut urgent = core::mem::take(&mut self.urgent);
        let most = urgent.len().min(LOOKS);
        for user in urgent.drain(..most) {
            let seat = &mut self.seats[user as usize];
            seat.is_urgent = false;
            let is_new = core::mem::take(&mut seat.is_new);
            if self.live.has(user) && (is_new || self.queue.is_due(user)) {
                self.look(user);
            }
        }
        self.urgent = urgent;
    }

    fn sweep(&mut self, seen: bool) {
        while self.looks < LOOKS
            && let Some(users) = self.sweep.next(seen, &self.live, &self.seen)
        {
            users.for_each(|user| self.look(user));
        }
    }

    /// From all points: the finest mip, the shortest way, the largest area.
    fn look(&mut self, user: u32) {
        self.looks += 1;
        let seat = &mut self.seats[user as usize];
        let group = &mut self.groups[seat.group as usize];
        let (mut lods, mut areas, mut slack) = ([f32::INFINITY; 2], [0.0_f32; 2], f32::INFINITY);
        for view in self.views.points() {
            let (found, by) = (seat.outline.look(view, group.limit), usize::from(view.is_expected));
            lods[by] = lods[by].min(found.lod);
            areas[by] = areas[by].max(found.area);
            slack = slack.min(found.slack);
        }
        let before = core::mem::replace(&mut seat.areas, areas.map(|area| area as u32));
        let [lod, expected] = lods;
        let expected = if expected < f32::INFINITY {
            key_of(expected)
        } else {
            NOBODY
        };
        group.set(seat.place as usize, [key_of(lod), expected], before, seat.areas);
        self.queue.put(user, slack);
        let group = seat.group;
        self.list(group);
    }

    fn list(&mut self, group: u32) {
        if !core::mem::replace(&mut self.groups[group as usize].is_listed, true) {
            self.listed.push(group);
        }
    }

    fn hurry(&mut self, user: u32) {
        if !core::mem::replace(&mut self.seats[user as usize].is_urgent, true) {
            self.urgent.push(user);
        }
    }

    fn settle(&mut self) {
        self.changed.clear();
        for group in self.listed.drain(..) {
            let of = &mut self.groups[group as usize];
            of.is_listed = false;
            if of.settle() {
                self.changed.push(group / 2);
            }
        }
        self.changed.sort_unstable();
        self.changed.dedup();
    }
}

/// A channel that is none is the second.
fn group_of(material: u32, channel: u8) -> u32 {
    material * 2 + u32::from(channel.min(1))
}
