//! What the objects take that packages keep in memory. See [`HeldMemory`].

use crate::objects::Slot;

/// What the values of objects take in memory that packages keep, in bytes, about: each once, however many packages keep it and whoever brought it.
#[derive(Debug, Default)]
pub(super) struct HeldMemory(u64);

impl HeldMemory {
    /// All of it.
    pub fn bytes(&self) -> u64 {
        self.0
    }

    /// A package keeps these.
    pub fn hold<'a>(&mut self, slots: impl IntoIterator<Item = &'a Slot>) {
        let first = slots.into_iter().filter(|slot| slot.hold());
        self.0 += first.map(Slot::bytes).sum::<u64>();
    }

    /// A package keeps these no more.
    pub fn let_go<'a>(&mut self, slots: impl IntoIterator<Item = &'a Slot>) {
        let last = slots.into_iter().filter(|slot| slot.let_go());
        let gone: u64 = last.map(Slot::bytes).sum();
        self.0 = self.0.saturating_sub(gone);
    }

    /// The value of an object takes this much from now on.
    pub fn note(&mut self, slot: &Slot, bytes: u64) {
        let before = slot.set_bytes(bytes);
        if slot.is_held() {
            self.0 = self.0.saturating_sub(before) + bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_several_keep_is_counted_once() {
        let mut held = HeldMemory::default();
        let [shared, own] = [Slot::default(), Slot::default()];
        held.note(&shared, 100);
        assert_eq!(held.bytes(), 0, "no package keeps it");
        held.hold([&shared]);
        held.hold([&shared, &own]);
        assert_eq!(held.bytes(), 100);
        held.note(&own, 7);
        held.let_go([&shared]);
        assert_eq!(held.bytes(), 107, "the other keeps it");
        held.note(&shared, 40);
        assert_eq!(held.bytes(), 47);
        held.let_go([&shared, &own]);
        assert_eq!(held.bytes(), 0);
        // Still in memory, for somebody else.
        held.hold([&shared]);
        assert_eq!(held.bytes(), 40);
    }
}
