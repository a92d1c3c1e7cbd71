//! A set of small numbers that is walked through in a row. See [`DenseSet`].

/// No place.
const NOWHERE: u32 = u32::MAX;

/// Numbers below a limit, in no order.
#[derive(Clone, Debug, Default)]
pub(super) struct DenseSet {
    members: Vec<u32>,
    /// Where each number is among the members.
    places: Vec<u32>,
}

impl DenseSet {
    /// None of the numbers below `limit`; room for all.
    pub fn new(limit: usize) -> Self {
        Self {
            members: Vec::with_capacity(limit),
            places: vec![NOWHERE; limit],
        }
    }

    /// The limit is higher by one.
    pub fn grow(&mut self) {
        self.places.push(NOWHERE);
    }

    /// All numbers are below it.
    pub fn limit(&self) -> usize {
        self.places.len()
    }

    pub fn members(&self) -> &[u32] {
        &self.members
    }

    /// Puts a number in or takes it out; one beyond the limit is ignored.
    pub fn set(&mut self, number: u32, is_in: bool) {
        let Some(place) = self.places.get_mut(number as usize) else {
            return;
        };
        if is_in == (*place != NOWHERE) {
            return;
        }
        if is_in {
            *place = self.members.len() as u32;
            self.members.push(number);
            return;
        }
        let free = core::mem::replace(place, NOWHERE);
        self.members.swap_remove(free as usize);
        if let Some(moved) = self.members.get(free as usize)
            && let Some(place) = self.places.get_mut(*moved as usize)
        {
            *place = free;
        }
    }
}
