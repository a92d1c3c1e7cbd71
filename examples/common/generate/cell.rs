//! One cell of the world: its terrain and all that grows and lies on it, as a GLB file.

use std::io;

use glam::{Vec2, Vec3};

use super::{
    WorldOptions,
    glb::{Glb, Material, Node},
    noise::{Noise, Rng, mix, smoothstep},
    shapes::{self, Shape},
    terrain::Terrain,
};

/// Quads along one side of a cell's terrain mesh.
const QUADS: usize = 28;
/// Metres of ground that one repetition of a ground texture covers. Divides the default cell size.
const GROUND_TEXEL: f32 = 8.0;
/// Ground steeper than this is bare rock.
const STEEP: f32 = 0.3;
/// Things stand in clumps, this many along each side of a cell.
const CLUMPS: usize = 4;

const GRASS: &str = "../textures/grass.png";
const ROCK: &str = "../textures/rock.png";
const ROCK_NORMAL: &str = "../textures/rock_normal.png";
const LEAVES: &str = "../textures/leaves.png";
const BARK: &str = "../textures/bark.png";

/// A cell's file and the number of entities that Bevy's loader makes of it.
pub struct CellFile {
    /// The GLB file.
    pub bytes: Vec<u8>,
    /// Entities, the scene's root included.
    pub entities: u64,
}

/// Builds the cell in column `x` and row `z`.
///
/// # Errors
/// When the GLB file cannot be written (see [`Glb::finish`]).
pub fn build(x: u32, z: u32, seed: u64, options: &WorldOptions, terrain: &Terrain) -> io::Result<CellFile> {
    let origin = Vec2::new(x as f32, z as f32) * options.cell_size;
    let mut rng = Rng::new(seed, mix(u64::from(x) | (u64::from(z) << 32)) | 1);
    let mut glb = Glb::default();
    let materials = Materials::new(&mut glb);
    add_ground(&mut glb, origin, options, terrain, seed);
    let stock = Stock::new(&mut glb, &materials, &mut rng);
    let things = scatter(origin, seed, options, terrain, &mut rng);
    for kind in Kind::ALL {
        add_things(&mut glb, kind, &stock, &things, options.cell_size, &mut rng);
    }
    Ok(CellFile {
        entities: glb.entities(),
        bytes: glb.finish(&format!("cell_{x}_{z}"))?,
    })
}

struct Materials {
    stone: usize,
    bark: usize,
    leaves: usize,
    needles: usize,
    bush: usize,
    tuft: usize,
}

fn plain() -> Material<'static> {
    Material {
        color: [1.0; 3],
        roughness: 0.95,
        ..Material::default()
    }
}

fn rock() -> Material<'static> {
    Material {
        texture: Some(ROCK),
        normal: Some(ROCK_NORMAL),
        roughness: 0.9,
        ..plain()
    }
}

impl Materials {
    fn new(glb: &mut Glb) -> Self {
        let base = plain();
        let leaves = Material {
            texture: Some(LEAVES),
            roughness: 0.85,
            ..base
        };
        let rock = rock();
        Self {
            stone: glb.material(&Material {
                name: "stone",
                color: [0.86, 0.84, 0.8],
                ..rock
            }),
            bark: glb.material(&Material {
                name: "bark",
                texture: Some(BARK),
                ..base
            }),
            leaves: glb.material(&Material {
                name: "leaves",
                ..leaves
            }),
            needles: glb.material(&Material {
                name: "needles",
                color: [0.45, 0.62, 0.5],
                ..leaves
            }),
            bush: glb.material(&Material {
                name: "bush",
                color: [0.9, 0.85, 0.55],
                ..leaves
            }),
            tuft: glb.material(&Material {
                name: "tuft",
                color: [0.2, 0.27, 0.07],
                double_sided: true,
                ..base
            }),
        }
    }
}

/// The kinds of things on the ground, each a group of its own in the scene.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Tree,
    Rock,
    Bush,
    Grass,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Tree, Self::Rock, Self::Bush, Self::Grass];

    fn group(self) -> &'static str {
        match self {
            Self::Tree => "trees",
            Self::Rock => "rocks",
            Self::Bush => "bushes",
            Self::Grass => "grass",
        }
    }

    /// The name that some of the things have.
    fn single(self) -> &'static str {
        match self {
            Self::Tree => "tree",
            Self::Rock => "rock",
            Self::Bush => "bush",
            Self::Grass => "tuft",
        }
    }

    /// How small and how large the things get.
    fn scales(self) -> (f32, f32) {
        match self {
            Self::Tree => (0.65, 1.35),
            Self::Rock => (0.3, 1.7),
            Self::Bush => (0.6, 1.3),
            Self::Grass => (0.7, 1.5),
        }
    }
}

/// The meshes of a cell, by kind.
struct Stock {
    trees: Vec<usize>,
    rocks: Vec<usize>,
    bushes: Vec<usize>,
    tufts: Vec<usize>,
}

impl Stock {
    fn new(glb: &mut Glb, materials: &Materials, rng: &mut Rng) -> Self {
        let trees = vec![
            broadleaf(glb, materials, rng),
            broadleaf(glb, materials, rng),
            fir(glb, materials, rng),
        ];
        let rocks = [0.8, 0.55, 0.7]
            .map(|squash| {
                let shape = shapes::lump(0.9, squash, 0.45, 5, rng);
                glb.mesh(Some("rock"), &[(&shape, materials.stone)])
            })
            .to_vec();
        let bushes = [0.75, 0.6]
            .map(|squash| {
                let shape = shapes::lump(0.8, squash, 0.3, 5, rng);
                glb.mesh(None, &[(&shape, materials.bush)])
            })
            .to_vec();
        let tufts = [9, 12]
            .map(|blades| glb.mesh(None, &[(&shapes::tuft(blades, 0.5, rng), materials.tuft)]))
            .to_vec();
        Self {
            trees,
            rocks,
            bushes,
            tufts,
        }
    }

    fn of(&self, kind: Kind) -> &[usize] {
        match kind {
            Kind::Tree => &self.trees,
            Kind::Rock => &self.rocks,
            Kind::Bush => &self.bushes,
            Kind::Grass => &self.tufts,
        }
    }
}

fn broadleaf(glb: &mut Glb, materials: &Materials, rng: &mut Rng) -> usize {
    let height = rng.range(5.0, 7.0);
    let trunk = shapes::cone(0.28, 0.14, -0.4, height * 0.7, 7);
    let mut crown = shapes::lump(height * 0.36, rng.range(0.85, 1.15), 0.3, 6, rng);
    for position in &mut crown.positions {
        position.y += height * 0.78;
    }
    glb.mesh(
        Some("broadleaf"),
        &[(&trunk, materials.bark), (&crown, materials.leaves)],
    )
}

fn fir(glb: &mut Glb, materials: &Materials, rng: &mut Rng) -> usize {
    let height = rng.range(7.5, 9.5);
    let trunk = shapes::cone(0.24, 0.1, -0.4, height * 0.4, 6);
    let crown = shapes::fir_crown(height, height * 0.24, 4, rng);
    glb.mesh(Some("fir"), &[(&trunk, materials.bark), (&crown, materials.needles)])
}

/// One thing on the ground, relative to the cell's corner.
struct Thing {
    kind: Kind,
    position: Vec3,
}

/// Chooses what lies where: forests, stony slopes and meadows follow the same noise in every cell.
fn scatter(origin: Vec2, seed: u64, options: &WorldOptions, terrain: &Terrain, rng: &mut Rng) -> Vec<Thing> {
    let (woods, stones) = (Noise::new(seed, 11), Noise::new(seed, 12));
    let mut things = Vec::with_capacity(options.items_per_cell as usize);
    let mut tries = options.items_per_cell * 8;
    while things.len() < options.items_per_cell as usize && tries > 0 {
        tries -= 1;
        let local = Vec2::new(rng.unit(), rng.unit()) * options.cell_size;
        let place = origin + local;
        if terrain.in_town(place) {
            continue;
        }
        let ground = terrain.ground(place);
        let steep = ground.slope.length() > STEEP;
        let wooded = smoothstep(-0.15, 0.35, woods.fractal(place / 150.0, 3, 0).value).0;
        let stony = smoothstep(0.0, 0.5, stones.fractal(place / 90.0, 2, 0).value).0;
        let kind = choose(rng.unit(), wooded, stony, steep);
        // Things sink a little, so that nothing floats on a slope.
        let sink = if kind == Kind::Rock { 0.25 } else { 0.03 };
        things.push(Thing {
            kind,
            position: Vec3::new(local.x, ground.value - sink, local.y),
        });
    }
    things
}

fn choose(dice: f32, wooded: f32, stony: f32, steep: bool) -> Kind {
    let trees = if steep { 0.04 } else { 0.06 + 0.34 * wooded };
    let rocks = if steep { 0.45 } else { 0.07 + 0.2 * stony };
    let bushes = 0.1 + 0.12 * wooded;
    match dice {
        d if d < trees => Kind::Tree,
        d if d < trees + rocks => Kind::Rock,
        d if d < trees + rocks + bushes => Kind::Bush,
        _ => Kind::Grass,
    }
}

/// Adds a group for one kind, clumps in it and the things in the clumps.
fn add_things(glb: &mut Glb, kind: Kind, stock: &Stock, things: &[Thing], cell_size: f32, rng: &mut Rng) {
    let group = glb.node(
        None,
        Node {
            name: Some(kind.group().into()),
            ..Node::default()
        },
    );
    let side = cell_size / CLUMPS as f32;
    let clump_of = |thing: &Thing| {
        let index = |v: f32| ((v / side) as usize).min(CLUMPS - 1);
        (index(thing.position.x), index(thing.position.z))
    };
    for clump in 0..CLUMPS * CLUMPS {
        let at = (clump % CLUMPS, clump / CLUMPS);
        let members: Vec<&Thing> = things.iter().filter(|t| t.kind == kind && clump_of(t) == at).collect();
        if members.is_empty() {
            continue;
        }
        let center = Vec3::new((at.0 as f32 + 0.5) * side, 0.0, (at.1 as f32 + 0.5) * side);
        let name = (clump % 3 == 0).then(|| format!("{}_{clump}", kind.group()));
        let node = Node {
            name,
            translation: Some(short(center)),
            ..Node::default()
        };
        let parent = glb.node(Some(group), node);
        for thing in members {
            add_thing(glb, parent, thing, center, stock, rng);
        }
    }
}

fn add_thing(glb: &mut Glb, parent: usize, thing: &Thing, center: Vec3, stock: &Stock, rng: &mut Rng) {
    let meshes = stock.of(thing.kind);
    let (small, large) = thing.kind.scales();
    let scale = round(rng.range(small, large) * rng.range(0.8, 1.2), 100.0);
    let (sin, cos) = (rng.unit() * std::f32::consts::PI).sin_cos();
    let named = rng.below(8) == 0;
    glb.node(
        Some(parent),
        Node {
            // Some names repeat below one parent and most things have none, as in hand-made scenes.
            name: named.then(|| thing.kind.single().to_string()),
            mesh: Some(meshes[rng.below(meshes.len())]),
            translation: Some(short(thing.position - center)),
            rotation: Some([0.0, round(sin, 1e4), 0.0, round(cos, 1e4)]),
            scale: Some([scale; 3]),
            ..Node::default()
        },
    );
}

/// Adds the terrain mesh: grass where the ground is gentle, rock where it is steep.
fn add_ground(glb: &mut Glb, origin: Vec2, options: &WorldOptions, terrain: &Terrain, seed: u64) {
    let tint = Noise::new(seed, 13);
    let step = options.cell_size / QUADS as f32;
    let mut grid = Shape::default();
    let mut slopes = Vec::new();
    for row in 0..=QUADS {
        for column in 0..=QUADS {
            let local = Vec2::new(column as f32, row as f32) * step;
            let ground = terrain.ground(origin + local);
            grid.positions.push(Vec3::new(local.x, ground.value, local.y));
            grid.normals.push(Terrain::normal(ground.slope));
            grid.uvs.push(local / GROUND_TEXEL);
            grid.colors.push(ground_tint(&tint, origin + local));
            slopes.push(ground.slope.length());
        }
    }
    let (mut gentle, mut steep) = (Patch::new(&grid), Patch::new(&grid));
    for row in 0..QUADS {
        for column in 0..QUADS {
            let a = row * (QUADS + 1) + column;
            let (b, c, d) = (a + 1, a + QUADS + 1, a + QUADS + 2);
            for triangle in [[a, c, b], [b, c, d]] {
                let slope: f32 = triangle.iter().map(|i| slopes[*i]).sum::<f32>() / 3.0;
                let patch = if slope > STEEP { &mut steep } else { &mut gentle };
                triangle.into_iter().for_each(|i| patch.index(i));
            }
        }
    }
    let grass = Material {
        name: "ground",
        texture: Some(GRASS),
        ..plain()
    };
    let cliff = Material {
        name: "cliff",
        ..rock()
    };
    // A cell without cliffs has no material of them.
    let parts: Vec<_> = [(&gentle.shape, grass), (&steep.shape, cliff)]
        .into_iter()
        .filter(|(shape, _)| !shape.indices.is_empty())
        .map(|(shape, material)| (shape, glb.material(&material)))
        .collect();
    let mesh = glb.mesh(Some("terrain"), &parts);
    glb.node(
        None,
        Node {
            name: Some("terrain".into()),
            mesh: Some(mesh),
            ..Node::default()
        },
    );
}

/// Large, soft differences of the ground's colour, so that the repeating texture does not show.
fn ground_tint(noise: &Noise, place: Vec2) -> [u8; 4] {
    let dry = noise.fractal(place / 110.0, 3, 0).value;
    let shade = noise.fractal(place / 31.0, 2, 0).value;
    let byte = |v: f32| (v.clamp(0.0, 1.0) * 255.0) as u8;
    let light = 0.84 + 0.14 * shade;
    [
        byte(light + 0.1 * dry),
        byte(light + 0.02 * dry),
        byte(light - 0.14 * dry),
        255,
    ]
}

/// The part of a vertex grid that one material covers.
struct Patch<'a> {
    grid: &'a Shape,
    shape: Shape,
    /// Index in the grid to index in the patch.
    map: Vec<Option<u16>>,
}

impl<'a> Patch<'a> {
    fn new(grid: &'a Shape) -> Self {
        Self {
            grid,
            shape: Shape::default(),
            map: vec![None; grid.positions.len()],
        }
    }

    fn index(&mut self, i: usize) {
        let shape = &mut self.shape;
        let index = *self.map[i].get_or_insert_with(|| {
            shape.positions.push(self.grid.positions[i]);
            shape.normals.push(self.grid.normals[i]);
            shape.uvs.push(self.grid.uvs[i]);
            shape.colors.push(self.grid.colors[i]);
            (shape.positions.len() - 1) as u16
        });
        shape.indices.push(index);
    }
}

/// Rounds to `1 / parts`, so that the numbers in the file are short.
fn round(value: f32, parts: f32) -> f32 {
    (value * parts).round() / parts
}

fn short(v: Vec3) -> [f32; 3] {
    v.to_array().map(|x| round(x, 1e3))
}
