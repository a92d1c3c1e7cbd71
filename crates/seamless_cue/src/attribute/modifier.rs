//! How modifiers of one attribute become one number. See [`Aggregate`].

use bevy_reflect::Reflect;
use serde::{Deserialize, Serialize};

/// What a modifier does to an attribute.
#[derive(Reflect, Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[reflect(Clone, Debug, PartialEq, Hash)]
pub enum Operation {
    /// Adds the magnitude; a negative one takes away.
    Add,
    /// Multiplies with the magnitude.
    Multiply,
    /// Divides by the magnitude. By zero nothing is divided.
    Divide,
    /// The attribute is the magnitude, whatever else there is.
    Override,
}

// Wide enough for what is meant, and narrow enough that no product of them leaves the numbers.
const MOST_ADDED: f64 = 1e60;
const MOST_MULTIPLIED: f64 = 1e200;
const LEAST_DIVIDED: f64 = 1e-40;

/// All modifiers of one attribute that are at work, summed up.
///
/// ```text
/// value = override, the last one given, or else
///         (base + all that is added) × all that multiplies ÷ all that divides
/// ```
/// So the order in which modifiers come does not matter, but between overrides. The result is always a finite number.
///
/// ```
/// use seamless_cue::{Aggregate, Operation};
///
/// let mut speed = Aggregate::default();
/// speed.push(Operation::Multiply, 2.0, 1);
/// speed.push(Operation::Add, 1.0, 3); // three stacks
/// assert_eq!(speed.apply(2.0), 10.0);
/// ```
#[derive(Reflect, Clone, Copy, Debug, PartialEq)]
#[reflect(Clone, Debug, PartialEq)]
pub struct Aggregate {
    add: f64,
    multiply: f64,
    divide: f64,
    replace: Option<f32>,
}

impl Default for Aggregate {
    /// Changes nothing.
    fn default() -> Self {
        Self {
            add: 0.0,
            multiply: 1.0,
            divide: 1.0,
            replace: None,
        }
    }
}

impl Aggregate {
    /// Adds a modifier that is there `stacks` times.
    pub fn push(&mut self, operation: Operation, magnitude: f32, stacks: u32) {
        let each = f64::from(finite(magnitude));
        let product = || power(each, stacks);
        match operation {
            Operation::Add => self.add = (self.add + each * f64::from(stacks)).clamp(-MOST_ADDED, MOST_ADDED),
            Operation::Multiply => self.multiply = limited(self.multiply, product()),
            Operation::Divide if each == 0.0 => {}
            Operation::Divide => self.divide = limited(self.divide, product()),
            Operation::Override => self.replace = Some(finite(magnitude)),
        }
    }

    /// The value that they make of `base`.
    #[must_use]
    pub fn apply(&self, base: f32) -> f32 {
        if let Some(value) = self.replace {
            return value;
        }
        let divisor = self.divide.abs().max(LEAST_DIVIDED).copysign(self.divide);
        narrow((f64::from(finite(base)) + self.add) * self.multiply / divisor)
    }
}

/// What `operation` makes of a value at once, as effects without a duration do it.
#[must_use]
pub fn operate(value: f32, operation: Operation, magnitude: f32, stacks: u32) -> f32 {
    let mut one = Aggregate::default();
    one.push(operation, magnitude, stacks);
    one.apply(value)
}

/// `base` times itself so often. `powi` may differ in its last bits from one platform to the next; products do not.
fn power(base: f64, mut times: u32) -> f64 {
    let (mut power, mut square) = (1.0, base);
    while times > 0 {
        if times & 1 == 1 {
            power *= square;
        }
        square *= square;
        times >>= 1;
    }
    power
}

fn limited(a: f64, b: f64) -> f64 {
    // A power of a large number is infinite, and of nothing times that no number is left.
    let product = a * b.clamp(-MOST_MULTIPLIED, MOST_MULTIPLIED);
    product.clamp(-MOST_MULTIPLIED, MOST_MULTIPLIED)
}

fn narrow(value: f64) -> f32 {
    value.clamp(f64::from(f32::MIN), f64::from(f32::MAX)) as f32
}

/// A number near it; what is no number counts as zero.
pub(crate) fn finite(value: f32) -> f32 {
    if value.is_nan() {
        0.0
    } else {
        value.clamp(f32::MIN, f32::MAX)
    }
}
