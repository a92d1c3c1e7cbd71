//! The largest of numbers that come and go. See [`Largest`].

use std::collections::BTreeMap;

/// The largest of numbers that are no less than zero; what is none does not count.
#[derive(Debug, Default)]
pub(super) struct Largest(BTreeMap<u32, u32>);

impl Largest {
    /// One more.
    pub fn add(&mut self, number: f32) {
        if let Some(key) = key(number) {
            *self.0.entry(key).or_default() += 1;
        }
    }

    /// One that was added is gone.
    pub fn remove(&mut self, number: f32) {
        let Some(key) = key(number) else { return };
        if let Some(count) = self.0.get_mut(&key) {
            *count -= 1;
            if *count == 0 {
                self.0.remove(&key);
            }
        }
    }

    /// The largest one; zero if there is none.
    pub fn get(&self) -> f32 {
        self.0
            .last_key_value()
            .map_or(0.0, |(largest, _)| f32::from_bits(*largest))
    }
}

/// Positive numbers have the order of their bits.
fn key(number: f32) -> Option<u32> {
    (number > 0.0).then(|| number.to_bits())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn it_is_the_largest_of_those_that_are_there() {
        let mut random = Random(5);
        let (mut largest, mut there) = (Largest::default(), Vec::<f32>::new());
        for _ in 0..2000 {
            if random.below(2) == 0 || there.is_empty() {
                let number = [0.0, 0.5, 3.0, 1e9, f32::INFINITY, f32::NAN, -1.0][random.below(7)];
                largest.add(number);
                there.push(number);
            } else {
                largest.remove(there.swap_remove(random.below(there.len())));
            }
            assert_eq!(largest.get(), there.iter().copied().fold(0.0, f32::max));
        }
    }
}
