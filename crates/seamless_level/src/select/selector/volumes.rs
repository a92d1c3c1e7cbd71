//! Volumes that go on and off, and what they ask for meanwhile.

use super::{Asker, LevelSlot, Selector, VolumeSlot, rank::entry};
use crate::{
    requests::RequestKind,
    select::{
        Presence, SourceInput, VolumeMode,
        contain::{Count, Place, Way},
        linger::{VolumeState, Whose},
    },
    target::LevelTarget,
    volume::VolumeShape,
};

impl VolumeSlot {
    /// What it is to ask for, by who is in it: as its mode says for sources that may show levels; for others, that levels are loaded.
    fn asks(&self) -> Option<RequestKind> {
        let mode = self.input.mode;
        if self.showing.asks() {
            Some(mode.request())
        } else if self.all.asks() && mode != VolumeMode::ShowIfLoaded {
            Some(RequestKind::Load)
        } else {
            None
        }
    }

    /// Whether it is on for those that may show levels, and blocks.
    fn may_block(&self) -> bool {
        self.input.mode == VolumeMode::BlockUntilLoaded && self.asked == Some(RequestKind::Show)
    }
}

/// Whether a source sees a volume from where its way leads into it; none if it does not, as far as it looks ahead.
fn sees_ahead(source: &SourceInput, shape: &VolumeShape) -> Option<bool> {
    entry(source, shape).map(|(_, at)| source.probe_at(at).sees(shape))
}

impl Selector {
    /// Tells where a volume is.
    pub(super) fn place(&mut self, volume: u32) {
        if let Some(Some(slot)) = self.volumes.get(volume as usize) {
            let input = &slot.input;
            let place = Place {
                shape: input.shape.clone(),
                range: input.range,
                margin: input.unload_margin,
            };
            self.contain.set(volume, place);
            self.has_changed = true;
        }
    }

    /// Makes the requests of a volume.
    pub(super) fn ask(&mut self, volume: u32) {
        let Some(Some(slot)) = self.volumes.get_mut(volume as usize) else {
            return;
        };
        slot.asked = slot.asks();
        if slot.may_block() {
            self.blocking.push(volume);
        }
        let (asked, levels) = (slot.asked, core::mem::take(&mut slot.input.levels));
        for &level in levels.iter().filter(|_| asked.is_some()) {
            self.add(level, asked.unwrap_or_default(), Asker::Volume(volume));
        }
        self.give_back(volume, levels);
    }

    /// Takes the requests of a volume back.
    pub(super) fn withdraw(&mut self, volume: u32) {
        let Some(Some(slot)) = self.volumes.get_mut(volume as usize) else {
            return;
        };
        let (asked, levels) = (slot.asked.take(), core::mem::take(&mut slot.input.levels));
        for &level in levels.iter().filter(|_| asked.is_some()) {
            self.remove(level, asked.unwrap_or_default(), Asker::Volume(volume));
        }
        self.blocking.retain(|other| *other != volume);
        self.give_back(volume, levels);
    }

    fn give_back(&mut self, volume: u32, levels: Box<[u32]>) {
        if let Some(Some(slot)) = self.volumes.get_mut(volume as usize) {
            slot.input.levels = levels;
        }
    }

    /// Finds the volumes that the ways of sources lead into.
    pub(super) fn look_ahead(&mut self) {
        self.contain.begin_ways();
        for (number, source) in (0..).zip(&self.sources) {
            if !source.looks_ahead() {
                continue;
            }
            let way = Way {
                source: number,
                start: source.position,
                end: source.position + source.velocity * source.ahead,
                shows: source.target == LevelTarget::Visible,
            };
            self.contain.look_along(way, |shape| sees_ahead(source, shape));
        }
    }

    /// Turns on and off the volumes that sources entered or left, and those whose time is over.
    pub(super) fn step_volumes(&mut self, now: f64) {
        for place in 0..self.contain.touched().len() {
            if let Some(&volume) = self.contain.touched().get(place) {
                self.step(volume, now);
            }
        }
        self.contain.clear_touched();
        let mut aside = core::mem::take(&mut self.stepped);
        aside.clear();
        aside.extend_from_slice(self.aside.members());
        aside.iter().for_each(|volume| self.step(*volume, now));
        self.stepped = aside;
        while let Some(volume) = self.linger.due(now) {
            self.step(volume, now);
        }
    }

    fn step(&mut self, volume: u32, now: f64) {
        let (all, showing) = self.contain.count(volume);
        let Some(Some(slot)) = self.volumes.get_mut(volume as usize) else {
            return;
        };
        let delay = slot.input.unload_delay.into();
        let (was_all, was_showing) = (slot.all, slot.showing);
        let next = |state: VolumeState, count: Count, is_ahead: bool| {
            let is_near = count.inside > 0 || state.asks() && count.near > 0 || is_ahead;
            state.next(is_near, is_near, delay, now)
        };
        let [any_ahead, showing_ahead] = self.contain.is_ahead(volume);
        slot.all = next(was_all, all, any_ahead);
        slot.showing = next(was_showing, showing, showing_ahead);
        let is_aside = |state: VolumeState, count: Count| state.asks() && count.near == 0;
        self.aside
            .set(volume, is_aside(slot.all, all) || is_aside(slot.showing, showing));
        self.linger.change(volume, Whose::All, was_all, slot.all);
        self.linger.change(volume, Whose::Showing, was_showing, slot.showing);
        if slot.asks() != slot.asked {
            self.withdraw(volume);
            self.ask(volume);
        }
    }

    /// Whether a level is to be seen from now on that was only to be loaded: it is there so far, or held.
    fn is_shown_next(&self, level: u32) -> bool {
        let presence = self.level(level).map(|slot| slot.presence);
        matches!(presence, Some(Presence::There | Presence::Held))
            && self.plan.rise.contains(&(level, LevelTarget::Visible))
    }

    /// Lists what nobody may be without and is not there.
    pub(super) fn list_blocking(&mut self) {
        self.plan.block.clear();
        for &volume in &self.blocking {
            let Some(Some(slot)) = self.volumes.get(volume as usize) else {
                continue;
            };
            if !self.contain.blocks(volume) {
                continue;
            }
            for &level in &slot.input.levels {
                let is_shown_next = self.is_shown_next(level);
                // It is so in this plan only.
                self.has_changed |= is_shown_next;
                let is_missing = is_shown_next || self.level(level).is_some_and(LevelSlot::is_missing);
                if is_missing && !self.plan.block.contains(&level) {
                    self.plan.block.push(level);
                }
            }
        }
    }
}
