//! Volumes that go on and off, and what they ask for meanwhile.

use super::{Asker, Selector};
use crate::select::{LevelTarget, Presence, VolumeMode};

impl Selector {
    /// Tells where a volume is.
    pub(super) fn place(&mut self, volume: u32) {
        if let Some(Some(slot)) = self.volumes.get(volume as usize) {
            let input = &slot.input;
            self.contain.set(volume, input.shape.clone(), input.unload_margin);
            self.has_changed = true;
        }
    }

    /// Makes the requests of a volume.
    pub(super) fn ask(&mut self, volume: u32) {
        let Some(Some(slot)) = self.volumes.get_mut(volume as usize) else {
            return;
        };
        let levels = core::mem::take(&mut slot.input.levels);
        let mode = slot.input.mode;
        for &level in &levels {
            self.add(level, mode.request(), Asker::Volume(volume));
        }
        if mode == VolumeMode::BlockUntilLoaded {
            self.blocking.push(volume);
        }
        self.give_back(volume, levels);
    }

    /// Takes the requests of a volume back.
    pub(super) fn withdraw(&mut self, volume: u32) {
        let Some(Some(slot)) = self.volumes.get_mut(volume as usize) else {
            return;
        };
        let levels = core::mem::take(&mut slot.input.levels);
        let mode = slot.input.mode;
        for &level in &levels {
            self.remove(level, mode.request(), Asker::Volume(volume));
        }
        self.blocking.retain(|other| *other != volume);
        self.give_back(volume, levels);
    }

    fn give_back(&mut self, volume: u32, levels: Box<[u32]>) {
        if let Some(Some(slot)) = self.volumes.get_mut(volume as usize) {
            slot.input.levels = levels;
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
        while let Some(volume) = self.linger.due(now) {
            self.step(volume, now);
        }
    }

    fn step(&mut self, volume: u32, now: f64) {
        let (is_inside, is_near) = (self.contain.is_inside(volume), self.contain.is_near(volume));
        let Some(Some(slot)) = self.volumes.get_mut(volume as usize) else {
            return;
        };
        let was = slot.state;
        slot.state = was.next(is_inside, is_near, slot.input.unload_delay.into(), now);
        let is = slot.state;
        self.linger.change(volume, was, is);
        match (was.asks(), is.asks()) {
            (false, true) => self.ask(volume),
            (true, false) => self.withdraw(volume),
            _ => {}
        }
    }

    /// Lists what nobody may be without and is not there.
    pub(super) fn list_blocking(&mut self) {
        self.plan.block.clear();
        for &volume in &self.blocking {
            let Some(Some(slot)) = self.volumes.get(volume as usize) else {
                continue;
            };
            if !self.contain.is_inside(volume) {
                continue;
            }
            for &level in &slot.input.levels {
                let is_missing = self.level(level).is_some_and(|slot| {
                    slot.target == LevelTarget::Visible && matches!(slot.presence, Presence::Away | Presence::Coming)
                });
                if is_missing && !self.plan.block.contains(&level) {
                    self.plan.block.push(level);
                }
            }
        }
    }
}
