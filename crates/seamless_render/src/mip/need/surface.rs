//! Where within its box a mesh is. See [`surface_spheres`].

use bevy_math::{Vec2, Vec3};

/// How many spheres a mesh has at most.
const MOST_SPHERES: usize = 32;
/// Meshes whose box's diagonal is shorter have none, in metres: the box is near enough.
pub(in crate::mip) const LEAST_DIAGONAL: f32 = 2.0;
/// Triangles are cut until no edge is longer than this part of the box's diagonal …
const LONGEST_EDGE: f32 = 0.125;
/// … or so many pieces have come of cutting.
const MOST_CUTS: usize = 4096;
/// A triangle that is shorter than this in texture coordinates shows a texel or two, whichever mip it is at.
const LEAST_UV_EDGE: f32 = 1.0 / 4096.0;

/// A part of a mesh's surface: all of it is within, and it has texture coordinates no finer than this.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct SurfaceSphere {
    /// Its middle, in the mesh's space.
    pub center: Vec3,
    /// In metres of the mesh's space.
    pub radius: f32,
    /// Metres per unit of texture coordinates, the largest of its triangles, for both channels; 0 where it has none.
    pub metres: [f32; 2],
}

/// At most 32 spheres that cover all triangles of a mesh; none for a mesh that is smaller than two metres.
///
/// `triangles` are indices of `positions`, and of the coordinates of the two channels. What leads nowhere, or is not finite, does not count.
#[must_use]
pub fn surface_spheres(
    positions: &[[f32; 3]],
    channels: [&[[f32; 2]]; 2],
    triangles: impl Iterator<Item = [u32; 3]>,
) -> Vec<SurfaceSphere> {
    let mut pieces: Vec<Piece> = triangles
        .filter_map(|triangle| piece(positions, channels, triangle))
        .collect();
    let (low, high) = bounds(pieces.iter().flat_map(|piece| piece.corners));
    let diagonal = (high - low).length();
    if pieces.is_empty() || diagonal < LEAST_DIAGONAL || !diagonal.is_finite() {
        return Vec::new();
    }
    cut(&mut pieces, diagonal * LONGEST_EDGE);
    let mut clusters = vec![Cluster::new(pieces)];
    while clusters.len() < MOST_SPHERES {
        let largest = clusters
            .iter()
            .enumerate()
            .max_by(|a, b| a.1.radius.total_cmp(&b.1.radius));
        let Some((index, _)) = largest.filter(|(_, cluster)| cluster.pieces.len() > 1) else {
            break;
        };
        let halves = clusters.swap_remove(index).split();
        clusters.extend(halves);
    }
    clusters.iter().map(Cluster::sphere).collect()
}

/// A triangle, or a part of one.
#[derive(Copy, Clone, Debug)]
struct Piece {
    corners: [Vec3; 3],
    metres: [f32; 2],
}

fn piece(positions: &[[f32; 3]], channels: [&[[f32; 2]]; 2], triangle: [u32; 3]) -> Option<Piece> {
    let point = |index: u32| positions.get(index as usize).map(|point| Vec3::from(*point));
    let [a, b, c] = triangle;
    let corners = [point(a)?, point(b)?, point(c)?];
    let metres = channels.map(|channel| {
        let uv = |index: u32| channel.get(index as usize).map(|uv| Vec2::from(*uv));
        let coordinates = || Some([uv(a)?, uv(b)?, uv(c)?]);
        coordinates()
            .and_then(|uvs| metres_per_unit(corners, uvs))
            .unwrap_or(0.0)
    });
    corners
        .iter()
        .all(|corner| corner.is_finite())
        .then_some(Piece { corners, metres })
}

/// What one unit of texture coordinates covers at least, whatever way the pixels lie: a GPU takes the larger of two derivatives.
fn metres_per_unit([a, b, c]: [Vec3; 3], uvs: [Vec2; 3]) -> Option<f32> {
    let (along, other) = (b - a, c - a);
    let (u, v) = (uvs[1] - uvs[0], uvs[2] - uvs[0]);
    let longest = u.length().max(v.length()).max((v - u).length());
    // Coordinates in the triangle's plane: the first axis lies along its first edge.
    let length = along.length();
    let aside = other.dot(along) / length;
    let height = along.cross(other).length() / length;
    let first = u / length;
    let second = (v - first * aside) / height;
    let metres = (2.0 / (first.length_squared() + second.length_squared())).sqrt();
    (longest >= LEAST_UV_EDGE && metres.is_finite() && metres > 0.0).then_some(metres)
}

/// Cuts the longest edges in two.
fn cut(pieces: &mut Vec<Piece>, longest: f32) {
    let most = pieces.len() + MOST_CUTS;
    let mut at = 0;
    while let Some(piece) = pieces.get(at).copied() {
        let [a, b, c] = piece.corners;
        let lengths = [(b - a).length(), (c - b).length(), (a - c).length()];
        let length = lengths.iter().copied().fold(0.0, f32::max);
        if length <= longest || pieces.len() >= most {
            at += 1;
            continue;
        }
        let (from, to, across) = match lengths.iter().position(|edge| *edge == length) {
            Some(0) => (a, b, c),
            Some(1) => (b, c, a),
            _ => (c, a, b),
        };
        let middle = from.midpoint(to);
        pieces[at].corners = [from, middle, across];
        pieces.push(Piece {
            corners: [middle, to, across],
            ..piece
        });
    }
}

/// Pieces that share a sphere.
struct Cluster {
    center: Vec3,
    radius: f32,
    pieces: Vec<Piece>,
}

impl Cluster {
    fn new(pieces: Vec<Piece>) -> Self {
        let (low, high) = bounds(pieces.iter().flat_map(|piece| piece.corners));
        let center = low.midpoint(high);
        let corners = pieces.iter().flat_map(|piece| piece.corners);
        let radius = corners.map(|corner| corner.distance(center)).fold(0.0, f32::max);
        Self { center, radius, pieces }
    }

    /// In two halves along the longest axis, as many pieces on each side.
    fn split(mut self) -> [Self; 2] {
        let middle = |piece: &Piece| piece.corners.iter().sum::<Vec3>();
        let (low, high) = bounds(self.pieces.iter().map(middle));
        let axis = (high - low).max_position();
        let half = self.pieces.len() / 2;
        self.pieces
            .select_nth_unstable_by(half, |a, b| middle(a)[axis].total_cmp(&middle(b)[axis]));
        let rest = self.pieces.split_off(half);
        [self.pieces, rest].map(Self::new)
    }

    fn sphere(&self) -> SurfaceSphere {
        let most = |channel: usize| {
            self.pieces
                .iter()
                .map(|piece| piece.metres[channel])
                .fold(0.0, f32::max)
        };
        SurfaceSphere {
            center: self.center,
            // Rounding must not leave a corner outside.
            radius: self.radius * (1.0 + 1e-5),
            metres: [most(0), most(1)],
        }
    }
}

fn bounds(points: impl Iterator<Item = Vec3>) -> (Vec3, Vec3) {
    points.fold((Vec3::INFINITY, Vec3::NEG_INFINITY), |(low, high), point| {
        (low.min(point), high.max(point))
    })
}
