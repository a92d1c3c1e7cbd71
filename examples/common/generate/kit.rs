//! The kit: building parts that all towns share, as one GLB file.

use std::io;

use glam::Vec3;

use super::{
    glb::{Glb, Material, Node},
    shapes::{self, Shape},
};

/// The length of a house along its x axis, in metres.
pub const LENGTH: f32 = 8.0;
/// The depth of a house along its z axis, in metres.
pub const DEPTH: f32 = 6.0;
/// The height of one storey, in metres.
pub const STOREY: f32 = 3.0;
/// The thickness of a wall, in metres.
const THICK: f32 = 0.25;

/// The parts, in the order of the kit's meshes. Each mesh has one primitive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A wall of a house's length; its middle is at the origin, its outside looks along +z.
    LongWall,
    /// A wall of a house's depth, likewise.
    ShortWall,
    /// A gable roof for the whole house.
    Roof,
    /// A door with its frame, looking along +z.
    Door,
    /// A window with its frame and sill, looking along +z.
    Window,
    /// A chimney.
    Chimney,
    /// The stone slab under a house.
    Slab,
    /// The ring of a well.
    Well,
}

/// The materials, in the order of the kit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// Red brick with a normal map.
    Brick,
    /// Light plaster.
    Plaster,
    /// Roof tiles.
    Tiles,
    /// Planks.
    Wood,
    /// Dark, smooth glass.
    Glass,
    /// Rough stone with a normal map.
    Stone,
}

impl Part {
    const ALL: [Self; 8] = [
        Self::LongWall,
        Self::ShortWall,
        Self::Roof,
        Self::Door,
        Self::Window,
        Self::Chimney,
        Self::Slab,
        Self::Well,
    ];

    /// The asset path of the part's mesh.
    #[must_use]
    pub fn path(self) -> String {
        format!("kit.glb#Mesh{}/Primitive0", self as usize)
    }

    fn name(self) -> &'static str {
        match self {
            Self::LongWall => "wall_long",
            Self::ShortWall => "wall_short",
            Self::Roof => "roof",
            Self::Door => "door",
            Self::Window => "window",
            Self::Chimney => "chimney",
            Self::Slab => "slab",
            Self::Well => "well",
        }
    }

    fn finish(self) -> Finish {
        match self {
            Self::LongWall | Self::ShortWall | Self::Chimney => Finish::Brick,
            Self::Roof => Finish::Tiles,
            Self::Door => Finish::Wood,
            Self::Window => Finish::Glass,
            Self::Slab | Self::Well => Finish::Stone,
        }
    }

    fn shape(self) -> Shape {
        let mut shape = Shape::default();
        let mut cuboid = |x: f32, low: f32, high: f32, back: f32, front: f32, texel: f32| {
            shape.cuboid(Vec3::new(-x, low, back), Vec3::new(x, high, front), texel);
        };
        match self {
            Self::LongWall => cuboid(LENGTH / 2.0, 0.0, STOREY, -THICK, 0.0, 2.0),
            Self::ShortWall => cuboid(DEPTH / 2.0, 0.0, STOREY, -THICK, 0.0, 2.0),
            Self::Roof => return roof(),
            Self::Door => {
                cuboid(0.55, 0.0, 2.1, -0.05, 0.06, 1.2);
                cuboid(0.65, 2.1, 2.25, -0.05, 0.12, 1.2);
            }
            Self::Window => {
                cuboid(0.5, 0.0, 1.2, -0.05, 0.03, 1.0);
                cuboid(0.6, -0.1, 0.0, -0.05, 0.16, 1.0);
            }
            Self::Chimney => cuboid(0.4, 0.0, 2.4, -0.4, 0.4, 2.0),
            Self::Slab => cuboid(
                LENGTH / 2.0 + 0.4,
                -1.2,
                0.25,
                -DEPTH / 2.0 - 0.4,
                DEPTH / 2.0 + 0.4,
                3.0,
            ),
            Self::Well => return shapes::cone(1.3, 1.1, -0.3, 1.0, 14),
        }
        shape
    }
}

/// A gable roof that stands out over the walls, ridge along x.
fn roof() -> Shape {
    let (x, z, top, out) = (LENGTH / 2.0 + 0.4, DEPTH / 2.0 + 0.5, 2.6, -0.25);
    let p = Vec3::new;
    let (ridge_left, ridge_right) = (p(-x, top, 0.0), p(x, top, 0.0));
    let mut shape = Shape::default();
    shape.quad([p(-x, out, z), p(x, out, z), ridge_right, ridge_left], 2.4);
    shape.quad([p(x, out, -z), p(-x, out, -z), ridge_left, ridge_right], 2.4);
    shape.quad([p(-x, out, -z), p(x, out, -z), p(x, out, z), p(-x, out, z)], 2.4);
    shape.triangle([p(x, out, z), p(x, out, -z), ridge_right], 2.4);
    shape.triangle([p(-x, out, -z), p(-x, out, z), ridge_left], 2.4);
    shape
}

impl Finish {
    const ALL: [Self; 6] = [
        Self::Brick,
        Self::Plaster,
        Self::Tiles,
        Self::Wood,
        Self::Glass,
        Self::Stone,
    ];

    /// The asset path of the material; Bevy's loader keeps its `StandardMaterial` under this label.
    #[must_use]
    pub fn path(self) -> String {
        format!("kit.glb#Material{}/std", self as usize)
    }

    fn material(self) -> Material<'static> {
        let base = Material {
            color: [1.0; 3],
            roughness: 0.9,
            ..Material::default()
        };
        match self {
            Self::Brick => Material {
                name: "brick",
                texture: Some("textures/brick.png"),
                normal: Some("textures/brick_normal.png"),
                ..base
            },
            Self::Plaster => Material {
                name: "plaster",
                texture: Some("textures/plaster.png"),
                ..base
            },
            Self::Tiles => Material {
                name: "tiles",
                texture: Some("textures/roof.png"),
                roughness: 0.8,
                double_sided: true,
                ..base
            },
            Self::Wood => Material {
                name: "wood",
                texture: Some("textures/wood.png"),
                roughness: 0.7,
                ..base
            },
            Self::Glass => Material {
                name: "glass",
                color: [0.05, 0.07, 0.09],
                roughness: 0.15,
                ..base
            },
            Self::Stone => Material {
                name: "stone",
                texture: Some("textures/rock.png"),
                normal: Some("textures/rock_normal.png"),
                ..base
            },
        }
    }
}

/// The kit's GLB file. Its scene shows each part once, side by side.
///
/// # Errors
/// When the GLB file cannot be written (see [`Glb::finish`]).
pub fn build() -> io::Result<Vec<u8>> {
    let mut glb = Glb::default();
    for finish in Finish::ALL {
        glb.material(&finish.material());
    }
    for (i, part) in Part::ALL.into_iter().enumerate() {
        let mesh = glb.mesh(Some(part.name()), &[(&part.shape(), part.finish() as usize)]);
        glb.node(
            None,
            Node {
                name: Some(part.name().into()),
                mesh: Some(mesh),
                translation: Some([i as f32 * 10.0, 0.0, 0.0]),
                ..Node::default()
            },
        );
    }
    glb.finish("kit")
}
