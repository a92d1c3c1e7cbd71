//! Which volumes may be at a point: a hash grid for each size of volume. See [`VolumeGrid`].

#[cfg(test)]
mod tests;

use bevy_math::{BVec3, IVec3, Vec3};
use bevy_platform::collections::HashMap;
use smallvec::SmallVec;

/// Cells are no smaller than `2^LEAST` world units.
const LEAST: i8 = -3;
/// A volume that is larger than `2^MOST` world units along an axis has no end along it.
const MOST: i8 = 24;
/// The size of the one cell along such an axis; everybody is in the middle of it.
const ENDLESS: i8 = 127;
/// Cells have coordinates up to this; beyond, a volume is looked at everywhere.
const FARTHEST: f32 = (1u32 << 30) as f32;

/// Who would have to look into more cells of a size than this looks at every volume of that size instead.
const MOST_CELLS: f32 = 512.0;

/// The size of a cell along each axis, as a power of two.
type Size = [i8; 3];

/// The volumes of a world by place.
///
/// A volume goes into the cells of the size just above its own, along each axis by itself, so it lies in eight of them
/// at most, and a point looks into one cell of each size that is in use.
#[derive(Debug, Default)]
pub(super) struct VolumeGrid {
    /// The sizes in use.
    sizes: Vec<Cells>,
    /// Volumes without an end along any axis, or too far away.
    everywhere: Vec<u32>,
}

/// The volumes of one size.
#[derive(Debug)]
struct Cells {
    size: Size,
    /// How many volumes there are.
    count: usize,
    cells: HashMap<IVec3, SmallVec<[u32; 8]>>,
}

impl VolumeGrid {
    /// Puts a volume where its box is; one that has no end along any axis is everywhere.
    pub fn insert(&mut self, volume: u32, low: Vec3, high: Vec3) {
        let Some((size, first, last)) = cells_of(low, high) else {
            self.everywhere.push(volume);
            return;
        };
        if !self.sizes.iter().any(|used| used.size == size) {
            self.sizes.push(Cells {
                size,
                count: 0,
                cells: HashMap::default(),
            });
        }
        let Some(used) = self.sizes.iter_mut().find(|used| used.size == size) else {
            return;
        };
        used.count += 1;
        for cell in between(first, last) {
            used.cells.entry(cell).or_default().push(volume);
        }
    }

    /// Takes a volume out that was put in with the same box.
    pub fn remove(&mut self, volume: u32, low: Vec3, high: Vec3) {
        let Some((size, first, last)) = cells_of(low, high) else {
            self.everywhere.retain(|other| *other != volume);
            return;
        };
        let place = self.sizes.iter().position(|used| used.size == size);
        let Some((place, used)) = place.and_then(|place| Some((place, self.sizes.get_mut(place)?))) else {
            return;
        };
        for cell in between(first, last) {
            if let Some(volumes) = used.cells.get_mut(&cell) {
                volumes.retain(|other| *other != volume);
                if volumes.is_empty() {
                    used.cells.remove(&cell);
                }
            }
        }
        used.count -= 1;
        if used.count == 0 {
            self.sizes.swap_remove(place);
        }
    }

    /// Lists the volumes that may be within `around` of `point`, some of them more than once: of sizes of which there would be too many
    /// cells to look into, all. The result is how far the point may go, in world units, until there may be others.
    pub fn look(&self, point: Vec3, around: f32, found: &mut Vec<u32>) -> f32 {
        found.clear();
        found.extend_from_slice(&self.everywhere);
        let mut free = f32::INFINITY;
        for used in &self.sizes {
            let lengths = lengths(used.size);
            let point = used.place(point);
            let (low, high) = (point - around, point + around);
            let (first, last) = ((low / lengths).floor(), (high / lengths).floor());
            // At most, wherever the walls are.
            let counts = (around * 2.0 / lengths).ceil() + 1.0;
            let count = Vec3::select(endless(used.size), Vec3::ONE, counts).element_product();
            // Written so that what is no number is refused.
            if around > 0.0 && !(count <= MOST_CELLS && first.abs().max(last.abs()).max_element() <= FARTHEST) {
                found.extend(used.cells.values().flatten());
                continue;
            }
            if first.abs().max_element() > FARTHEST {
                // No volume of this size is so far out, and walls cannot be told from each other here.
                free = 0.0;
                continue;
            }
            for (corner, cell) in [(low, first), (high, last)] {
                let wall = cell * lengths;
                free = free.min((corner - wall).min(wall + lengths - corner).min_element());
            }
            for cell in between(first.as_ivec3(), last.as_ivec3()) {
                if let Some(volumes) = used.cells.get(&cell) {
                    found.extend_from_slice(volumes);
                }
            }
        }
        free
    }
}

impl VolumeGrid {
    /// Lists the volumes that may be within `around` of a way from `start` to `end`, some of them more than once.
    pub fn look_along(&self, start: Vec3, end: Vec3, around: f32, found: &mut Vec<u32>) {
        found.clear();
        found.extend_from_slice(&self.everywhere);
        for used in &self.sizes {
            let lengths = lengths(used.size);
            let (start, end) = (used.place(start), used.place(end));
            let (low, high) = (start.min(end) - around, start.max(end) + around);
            let (first, last) = ((low / lengths).floor(), (high / lengths).floor());
            let steps = (last - first).max_element() + 1.0;
            let is_near = first.abs().max(last.abs()).max_element() <= FARTHEST;
            // Written so that what is no number is refused.
            if !(is_near && steps <= MOST_CELLS.max(used.count as f32)) {
                found.extend(used.cells.values().flatten());
                continue;
            }
            used.walk(start, end, around, (first.as_ivec3(), last.as_ivec3()), found);
        }
    }
}

impl Cells {
    /// Where a point is for them.
    fn place(&self, point: Vec3) -> Vec3 {
        placed(self.size, point)
    }

    /// Looks into the cells along a way: slice by slice across the axis along which there are most.
    fn walk(&self, start: Vec3, end: Vec3, around: f32, (first, last): (IVec3, IVec3), found: &mut Vec<u32>) {
        let lengths = lengths(self.size);
        let axis = (last - first).max_position();
        let way = end - start;
        for slice in first[axis]..=last[axis] {
            let walls = [slice, slice + 1].map(|wall| wall as f32 * lengths[axis]);
            let reach = [walls[0] - around, walls[1] + around];
            // Who does not move along this axis is in all of its slices.
            let parts = reach.map(|at| ((at - start[axis]) / way[axis]).clamp(0.0, 1.0));
            let ends = match way[axis] == 0.0 {
                true => [start, end],
                false => parts.map(|part| start + way * part),
            };
            let low = ((ends[0].min(ends[1]) - around) / lengths).floor().as_ivec3();
            let high = ((ends[0].max(ends[1]) + around) / lengths).floor().as_ivec3();
            let (mut low, mut high) = (low.max(first), high.min(last));
            (low[axis], high[axis]) = (slice, slice);
            for cell in between(low, high) {
                if let Some(volumes) = self.cells.get(&cell) {
                    found.extend_from_slice(volumes);
                }
            }
        }
    }
}

/// The size and the range of the cells in which a box lies.
fn cells_of(low: Vec3, high: Vec3) -> Option<(Size, IVec3, IVec3)> {
    let extent = high - low;
    let size = extent.to_array().map(exponent);
    if extent.is_nan() || size == [ENDLESS; 3] {
        return None;
    }
    let (low, high) = (placed(size, low), placed(size, high));
    let (first, last) = ((low / lengths(size)).floor(), (high / lengths(size)).floor());
    let is_near = first.abs().max(last.abs()).max_element() < FARTHEST;
    is_near.then(|| (size, first.as_ivec3(), last.as_ivec3()))
}

/// The smallest power of two, as exponent, that is no less than `extent`.
fn exponent(extent: f32) -> i8 {
    (LEAST..=MOST)
        .find(|exponent| length(*exponent) >= extent)
        .unwrap_or(ENDLESS)
}

/// The axes along which there is one cell.
fn endless(size: Size) -> BVec3 {
    BVec3::from_array(size.map(|exponent| exponent == ENDLESS))
}

/// A point, in the middle of that cell.
fn placed(size: Size, point: Vec3) -> Vec3 {
    Vec3::select(endless(size), Vec3::splat(length(ENDLESS - 1)), point)
}

/// Two to the power of `exponent`, exactly.
fn length(exponent: i8) -> f32 {
    f32::from_bits((i32::from(exponent) + 127).cast_unsigned() << 23)
}

fn lengths(size: Size) -> Vec3 {
    Vec3::from_array(size.map(length))
}

fn between(first: IVec3, last: IVec3) -> impl Iterator<Item = IVec3> {
    (first.x..=last.x)
        .flat_map(move |x| (first.y..=last.y).flat_map(move |y| (first.z..=last.z).map(move |z| IVec3::new(x, y, z))))
}
