//! Towns and the sky as `.scn.ron` files: entities with reflected components, as Bevy's `DynamicWorld` writes them.

use std::fmt::Write;

use glam::{Quat, Vec3};

use super::{
    kit::{DEPTH, Finish, LENGTH, Part, STOREY},
    noise::{Rng, mix},
};

/// A scene in the making: entities with their components as text.
#[derive(Default)]
struct Scene {
    entities: Vec<Entity>,
}

struct Entity {
    components: String,
    children: Vec<usize>,
}

impl Scene {
    /// Adds an entity with a transform and gives its index.
    fn spawn(&mut self, parent: Option<usize>, name: Option<&str>, at: Vec3, rotation: Quat, scale: Vec3) -> usize {
        let index = self.entities.len();
        let mut components = String::new();
        if let Some(name) = name {
            component(&mut components, "bevy_ecs::name::Name", &format!("\"{name}\""));
        }
        let [x, y, z] = at.to_array().map(short);
        let [qx, qy, qz, qw] = rotation.to_array().map(short);
        let [sx, sy, sz] = scale.to_array().map(short);
        let transform =
            format!("(translation: ({x}, {y}, {z}), rotation: ({qx}, {qy}, {qz}, {qw}), scale: ({sx}, {sy}, {sz}))");
        component(
            &mut components,
            "bevy_transform::components::transform::Transform",
            &transform,
        );
        component(&mut components, "bevy_camera::visibility::Visibility", "Inherited");
        if let Some(parent) = parent {
            component(
                &mut components,
                "bevy_ecs::hierarchy::ChildOf",
                &format!("({})", number(parent)),
            );
            self.entities[parent].children.push(index);
        }
        self.entities.push(Entity {
            components,
            children: Vec::new(),
        });
        index
    }

    /// Adds an entity that shows a part of the kit and gives its index.
    fn part(&mut self, parent: usize, part: Part, finish: Finish, at: Vec3, turn: f32) -> usize {
        let index = self.spawn(Some(parent), None, at, Quat::from_rotation_y(turn), Vec3::ONE);
        let components = &mut self.entities[index].components;
        component(
            components,
            "bevy_mesh::components::Mesh3d",
            &format!("(Path(\"{}\"))", part.path()),
        );
        component(
            components,
            "bevy_pbr::mesh_material::MeshMaterial3d<bevy_pbr::pbr_material::StandardMaterial>",
            &format!("(Path(\"{}\"))", finish.path()),
        );
        index
    }

    fn text(&self) -> String {
        let mut text = String::from("(\n  resources: {},\n  entities: {\n");
        for (index, entity) in self.entities.iter().enumerate() {
            let _ = writeln!(text, "    {}: (\n      components: {{", number(index));
            text.push_str(&entity.components);
            if !entity.children.is_empty() {
                let children: Vec<String> = entity.children.iter().map(|child| number(*child).to_string()).collect();
                component(
                    &mut text,
                    "bevy_ecs::hierarchy::Children",
                    &format!("([{}])", children.join(", ")),
                );
            }
            text.push_str("      },\n    ),\n");
        }
        text.push_str("  },\n)\n");
        text
    }
}

/// The number of an entity in the file: what Bevy writes for a fresh world's entity with this index.
fn number(index: usize) -> u64 {
    u64::from(u32::MAX) - index as u64
}

fn component(text: &mut String, path: &str, value: &str) {
    let _ = writeln!(text, "        \"{path}\": {value},");
}

/// A number with a decimal point and at most five digits after it.
fn short(value: f32) -> String {
    // Adding zero makes -0.0 positive.
    format!("{:?}", (value * 1e5).round() / 1e5 + 0.0)
}

/// A town's `.scn.ron` text and the number of its entities. Its middle is at the origin.
#[must_use]
pub fn build(index: usize, seed: u64) -> (String, u64) {
    let mut rng = Rng::new(seed, mix(index as u64 + 77));
    let mut scene = Scene::default();
    let town = scene.spawn(
        None,
        Some(&format!("town_{index}")),
        Vec3::ZERO,
        Quat::IDENTITY,
        Vec3::ONE,
    );
    let well = scene.spawn(Some(town), Some("well"), Vec3::ZERO, Quat::IDENTITY, Vec3::ONE);
    scene.part(well, Part::Well, Finish::Stone, Vec3::ZERO, 0.0);
    let houses = 8 + rng.below(3);
    for house in 0..houses {
        let turn = std::f32::consts::TAU * (house as f32 + rng.range(-0.1, 0.1)) / houses as f32;
        let out = Quat::from_rotation_y(turn);
        let at = out * Vec3::new(0.0, 0.0, rng.range(16.0, 19.5));
        // Doors look at the well.
        let facing = out * Quat::from_rotation_y(std::f32::consts::PI + rng.range(-0.15, 0.15));
        let root = scene.spawn(Some(town), Some(&format!("house_{house}")), at, facing, Vec3::ONE);
        add_house(&mut scene, root, &mut rng);
    }
    (scene.text(), scene.entities.len() as u64)
}

fn add_house(scene: &mut Scene, root: usize, rng: &mut Rng) {
    let walls = if rng.below(2) == 0 {
        Finish::Brick
    } else {
        Finish::Plaster
    };
    let storeys = 1 + rng.below(2);
    let base = 0.25;
    scene.part(root, Part::Slab, Finish::Stone, Vec3::ZERO, 0.0);
    for storey in 0..storeys {
        let floor = base + STOREY * storey as f32;
        let half = std::f32::consts::FRAC_PI_2;
        for side in 0..4 {
            let turn = half * side as f32;
            let (part, out) = if side % 2 == 0 {
                (Part::LongWall, DEPTH)
            } else {
                (Part::ShortWall, LENGTH)
            };
            let at = Quat::from_rotation_y(turn) * Vec3::new(0.0, 0.0, out * 0.5) + Vec3::Y * floor;
            let wall = scene.part(root, part, walls, at, turn);
            add_openings(scene, wall, side, storey, rng);
        }
    }
    let top = base + STOREY * storeys as f32;
    scene.part(root, Part::Roof, Finish::Tiles, Vec3::Y * top, 0.0);
    if rng.below(3) > 0 {
        let at = Vec3::new(rng.range(-2.5, 2.5), top + 0.6, -1.0);
        scene.part(root, Part::Chimney, Finish::Brick, at, 0.0);
    }
}

/// Doors and windows are children of their wall.
fn add_openings(scene: &mut Scene, wall: usize, side: usize, storey: usize, rng: &mut Rng) {
    let long = side.is_multiple_of(2);
    let places: &[f32] = if long { &[-2.5, 0.0, 2.5] } else { &[-1.4, 1.4] };
    for x in places {
        let door = side == 0 && storey == 0 && *x == 0.0;
        if door {
            scene.part(wall, Part::Door, Finish::Wood, Vec3::ZERO, 0.0);
        } else if rng.below(4) > 0 {
            scene.part(wall, Part::Window, Finish::Glass, Vec3::new(*x, 1.0, 0.0), 0.0);
        }
    }
}

/// The sky's `.scn.ron` text and the number of its entities: the sun, and a weak bluish light from the other side that
/// stands for the light of the sky.
#[must_use]
pub fn sky() -> (String, u64) {
    let mut scene = Scene::default();
    let lights = [
        ("sun", Vec3::new(-0.5, -0.75, -0.35), (1.0, 0.95, 0.85), 11_000.0),
        ("sky_light", Vec3::new(0.5, -0.6, 0.6), (0.62, 0.74, 1.0), 3_500.0),
    ];
    for (name, direction, (r, g, b), illuminance) in lights {
        let rotation = Quat::from_rotation_arc(Vec3::NEG_Z, direction.normalize());
        let light = scene.spawn(None, Some(name), Vec3::ZERO, rotation, Vec3::ONE);
        let value = format!(
            "(color: LinearRgba((red: {r:?}, green: {g:?}, blue: {b:?}, alpha: 1.0)), illuminance: {illuminance:?}, \
             shadow_maps_enabled: false, contact_shadows_enabled: false, affects_lightmapped_mesh_diffuse: true, \
             shadow_depth_bias: 0.02, shadow_normal_bias: 1.8)"
        );
        component(
            &mut scene.entities[light].components,
            "bevy_light::directional_light::DirectionalLight",
            &value,
        );
    }
    (scene.text(), scene.entities.len() as u64)
}
