//! Where meshes are, and how densely their texture coordinates lie. See [`Shape`] and [`Densities`].

#[cfg(test)]
mod tests;

use std::sync::Arc;

use bevy_asset::{AssetEvent, AssetId, Assets};
use bevy_camera::primitives::{Aabb, MeshAabb};
use bevy_ecs::entity::{Entity, EntityHashSet};
use bevy_math::{Affine3A, Vec2, Vec3};
use bevy_mesh::{Indices, Mesh, MeshVertexAttribute, PrimitiveTopology, VertexAttributeValues};
use bevy_platform::collections::HashMap;
use seamless_asset::assets::MeshUvDensity;

use crate::mip::need::{Surface, SurfaceSphere};

/// Half of the box of what could be anywhere, in metres.
const EVERYWHERE: f32 = 1e6;
/// So many triangles of a mesh are looked at, all over it.
const MOST_TRIANGLES: usize = 256;
/// A part of a mesh's area lies more densely than is told: this one.
const FINEST_PART: f64 = 0.05;

/// Where something is, and how densely its texture coordinates lie.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::mip) struct Shape {
    /// The middle of its box, in world space.
    center: Vec3,
    /// Half of its box's sides, in metres.
    half: Vec3,
    /// How much larger it is than its mesh, the largest of the three axes.
    pub scale: f32,
    /// Metres per unit of both channels, in the mesh's space.
    pub metres: [f32; 2],
    /// Where within the box it is, if that is known.
    within: Option<Box<Within>>,
}

/// Spheres of a mesh, and where they are.
#[derive(Clone, Debug, PartialEq)]
struct Within {
    world: Affine3A,
    spheres: Arc<[SurfaceSphere]>,
}

impl Shape {
    /// That of a mesh whose box, in its own space, is placed so.
    pub fn new(mesh_box: &Aabb, world: &Affine3A, metres: [Option<f32>; 2]) -> Self {
        let axes = world.matrix3;
        let half = axes.abs() * mesh_box.half_extents;
        // Without a density, as if the texture were on it once.
        let diagonal = 2.0 * mesh_box.half_extents.length();
        Self {
            center: world.transform_point3a(mesh_box.center).into(),
            half: half.into(),
            scale: largest_scale(world),
            metres: metres.map(|metres| metres.unwrap_or(diagonal)),
            within: None,
        }
    }

    /// The same, within these spheres of the mesh.
    pub fn within(mut self, world: &Affine3A, spheres: Option<&Arc<[SurfaceSphere]>>) -> Self {
        self.within = spheres.map(|spheres| {
            Box::new(Within {
                world: *world,
                spheres: spheres.clone(),
            })
        });
        self
    }

    /// That of a mesh which may be drawn anywhere.
    pub fn everywhere(world: &Affine3A, metres: [Option<f32>; 2]) -> Self {
        Self {
            center: world.translation.into(),
            half: Vec3::splat(EVERYWHERE),
            scale: largest_scale(world),
            metres: metres.map(|metres| metres.unwrap_or(1.0)),
            within: None,
        }
    }

    pub fn surface(&self) -> Surface {
        Surface {
            center: self.center,
            half: self.half,
            world: self.within.as_ref().map_or(Affine3A::IDENTITY, |within| within.world),
            spheres: self.within.as_ref().map(|within| within.spheres.clone()),
        }
    }
}

fn largest_scale(world: &Affine3A) -> f32 {
    let axes = world.matrix3;
    let squares = [axes.x_axis, axes.y_axis, axes.z_axis].map(|axis| axis.length_squared());
    squares.into_iter().fold(0.0, f32::max).sqrt()
}

/// Densities of meshes that the cooker has not told, and boxes that Bevy has not, by mesh: computed when they are asked for, from meshes that are still in memory.
#[derive(Debug, Default)]
pub(in crate::mip) struct Densities {
    of: HashMap<AssetId<Mesh>, [Option<f32>; 2]>,
    boxes: HashMap<AssetId<Mesh>, Aabb>,
    /// Meshes that are to come, and who waits for them.
    awaited: HashMap<AssetId<Mesh>, EntityHashSet>,
    /// How many were computed since the last [`Self::begin`].
    computed: usize,
}

impl Densities {
    /// Begins a frame.
    pub fn begin(&mut self) {
        self.computed = 0;
    }

    /// How many were computed in this frame.
    pub fn computed(&self) -> usize {
        self.computed
    }

    /// Whether nothing has to be computed for the mesh.
    pub fn is_known(&self, mesh: AssetId<Mesh>, meshes: &Assets<Mesh>) -> bool {
        self.of.contains_key(&mesh) || !meshes.contains(mesh)
    }

    /// What is known of the mesh may be wrong, or it has come: `come` is told who waited for that.
    pub fn note(&mut self, event: &AssetEvent<Mesh>, come: impl FnMut(Entity)) {
        match event {
            AssetEvent::Modified { id } | AssetEvent::Removed { id } | AssetEvent::Unused { id } => {
                self.of.remove(id);
                self.boxes.remove(id);
                if !matches!(event, AssetEvent::Modified { .. }) {
                    self.awaited.remove(id);
                }
            }
            AssetEvent::Added { id } => self.awaited.remove(id).into_iter().flatten().for_each(come),
            AssetEvent::LoadedWithDependencies { .. } => {}
        }
    }

    /// An entity draws with a mesh that is not there. Bevy gives those a box that it culls, which tells that the mesh has come; this one is none of them.
    pub fn wait_for(&mut self, mesh: AssetId<Mesh>, entity: Entity) {
        self.awaited.entry(mesh).or_default().insert(entity);
    }

    /// The box of a mesh in its own space, without bones and the like; none of one that is not there, or has no positions.
    pub fn mesh_box(&mut self, mesh: AssetId<Mesh>, meshes: &Assets<Mesh>) -> Option<Aabb> {
        if let Some(known) = self.boxes.get(&mesh) {
            return Some(*known);
        }
        let mesh_box = meshes.get(mesh)?.compute_aabb()?;
        self.boxes.insert(mesh, mesh_box);
        Some(mesh_box)
    }

    /// Metres per unit of both channels, in the mesh's space; none where a mesh has no such channel, or is not in memory.
    pub fn of(&mut self, mesh: AssetId<Mesh>, told: Option<&MeshUvDensity>, meshes: &Assets<Mesh>) -> [Option<f32>; 2] {
        if let Some(told) = told {
            return [told.uv_0, told.uv_1];
        }
        if let Some(known) = self.of.get(&mesh) {
            return *known;
        }
        let Some(of) = meshes.get(mesh) else {
            return [None; 2];
        };
        self.computed += 1;
        let densities = [Mesh::ATTRIBUTE_UV_0, Mesh::ATTRIBUTE_UV_1].map(|channel| density(of, channel));
        self.of.insert(mesh, densities);
        densities
    }
}

/// Metres per unit of a channel: what is exceeded on [`FINEST_PART`] of the area, among so many triangles.
fn density(mesh: &Mesh, channel: MeshVertexAttribute) -> Option<f32> {
    let VertexAttributeValues::Float32x3(positions) = mesh.try_attribute_option(Mesh::ATTRIBUTE_POSITION).ok()?? else {
        return None;
    };
    let coordinates = coordinates(mesh, channel)?;
    let triangles = Triangles::new(mesh, positions.len())?;
    let step = triangles.len.div_ceil(MOST_TRIANGLES).max(1);
    let of_triangle = |at: usize| {
        let corners = triangles.get(at)?;
        let point = |corner: usize| positions.get(corner).copied().map(Vec3::from);
        let uv = |corner: usize| coordinates.get(corner).copied().map(Vec2::from);
        let [a, b, c] = corners;
        let area = (point(b)? - point(a)?).cross(point(c)? - point(a)?).length();
        let uv_area = (uv(b)? - uv(a)?).perp_dot(uv(c)? - uv(a)?).abs();
        let metres = (area / uv_area).sqrt();
        (metres.is_finite() && metres > 0.0).then_some((metres, f64::from(area)))
    };
    let mut found: Vec<(f32, f64)> = (0..triangles.len).step_by(step).filter_map(of_triangle).collect();
    found.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    let finest = found.iter().map(|(_, area)| area).sum::<f64>() * FINEST_PART;
    let mut covered = 0.0;
    let at_part = found.iter().find(|(_, area)| {
        covered += area;
        covered >= finest
    });
    at_part.map(|(metres, _)| *metres)
}

/// Texture coordinates, if they are two floats as everywhere in Bevy, and still in memory.
pub(super) fn coordinates(mesh: &Mesh, channel: MeshVertexAttribute) -> Option<&[[f32; 2]]> {
    match mesh.try_attribute_option(channel).ok()?? {
        VertexAttributeValues::Float32x2(coordinates) => Some(coordinates),
        _ => None,
    }
}

/// The triangles of a mesh, by number.
pub(super) struct Triangles<'a> {
    indices: Option<&'a Indices>,
    is_strip: bool,
    pub len: usize,
}

impl<'a> Triangles<'a> {
    pub fn new(mesh: &'a Mesh, vertices: usize) -> Option<Self> {
        let indices = mesh.try_indices_option().ok()?;
        let corners = indices.map_or(vertices, Indices::len);
        let (is_strip, len) = match mesh.primitive_topology() {
            PrimitiveTopology::TriangleList => (false, corners / 3),
            PrimitiveTopology::TriangleStrip => (true, corners.saturating_sub(2)),
            _ => return None,
        };
        Some(Self { indices, is_strip, len })
    }

    pub fn get(&self, at: usize) -> Option<[usize; 3]> {
        let first = if self.is_strip { at } else { at * 3 };
        let corner = |at: usize| match self.indices {
            None => Some(at),
            Some(Indices::U16(indices)) => indices.get(at).map(|index| usize::from(*index)),
            Some(Indices::U32(indices)) => indices.get(at).map(|index| *index as usize),
        };
        Some([corner(first)?, corner(first + 1)?, corner(first + 2)?])
    }
}
