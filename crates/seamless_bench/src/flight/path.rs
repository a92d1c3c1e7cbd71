//! The camera's path, and which cells it asks for: both pure.

#[cfg(test)]
mod tests;

use bevy_math::{Vec2, Vec3};

/// Cells along each side of the world.
pub const GRID: usize = 8;
/// The length of a cell's side, in metres.
pub const CELL: f32 = 64.0;
/// Frames in a second.
pub const RATE: f32 = 60.0;
/// How far outside its footprint a level is wanted, in metres.
pub const REACH: f32 = 1.5 * CELL;
/// How much further out it leaves.
pub const MARGIN: f32 = 0.5 * CELL;

/// Time in seconds and place in metres; between two of them the camera goes straight, at two in the same moment it jumps.
const KEYS: [(f32, f32, f32); 9] = [
    (0.0, 60.0, 60.0),
    (1.5, 150.0, 60.0),
    // A dive: five cells in a second.
    (2.4, 440.0, 80.0),
    (3.9, 460.0, 170.0),
    // A teleport.
    (3.9, 60.0, 460.0),
    (5.0, 120.0, 450.0),
    (5.9, 150.0, 160.0),
    (6.6, 190.0, 130.0),
    (7.0, 210.0, 130.0),
];

/// How many frames the flight has.
pub fn frames() -> usize {
    (KEYS[KEYS.len() - 1].0 * RATE) as usize
}

/// Where the camera is.
pub fn position(frame: usize) -> Vec3 {
    let time = frame as f32 / RATE;
    let next = KEYS
        .iter()
        .position(|key| key.0 > time)
        .unwrap_or(KEYS.len() - 1)
        .max(1);
    let (a, b) = (KEYS[next - 1], KEYS[next]);
    let part = ((time - a.0) / (b.0 - a.0)).clamp(0.0, 1.0);
    let place = Vec2::new(a.1, a.2).lerp(Vec2::new(b.1, b.2), part);
    Vec3::new(place.x, 60.0, place.y)
}

/// How far a place is from a cell, along the longer axis.
pub fn distance(cell: usize, place: Vec3) -> f32 {
    let center = (Vec2::new((cell % GRID) as f32, (cell / GRID) as f32) + 0.5) * CELL;
    let outside = (Vec2::new(place.x, place.z) - center).abs() - CELL / 2.0;
    outside.max_element().max(0.0)
}

/// The rule of a streaming volume: a box around the cell that lets go a little further out than it asks.
pub fn is_wanted(cell: usize, place: Vec3, was_wanted: bool) -> bool {
    distance(cell, place) <= if was_wanted { REACH + MARGIN } else { REACH }
}
