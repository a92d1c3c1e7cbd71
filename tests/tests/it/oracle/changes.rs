//! One change at a time: each must be seen, and named.

use bevy::{
    asset::RenderAssetUsages,
    image::{Image, ImageSampler},
    mesh::{
        Indices, VertexAttributeValues,
        skinning::{SkinnedMesh, SkinnedMeshInverseBindposes},
    },
    pbr::StandardMaterial,
    prelude::*,
    render::render_resource::{Face, TextureFormat},
};
use seamless_tests::{
    fixtures::{Escorts, Inventory, Marked, Mood, Pilots, Skills, write_everything_scn},
    snapshot::{Snapshot, entity_at},
};

use super::{GLTF, SCN, load, named, snapshot, temp};

/// A name, a change to the world, and a word that the difference must contain.
type Mutation = (&'static str, fn(&mut World, Entity), &'static str);

/// Applies each mutation to a fresh spawn and expects it to be seen, and named.
fn all_seen(path: &str, mutations: &[Mutation]) {
    let dir = temp();
    write_everything_scn(dir.path());
    let before = snapshot(dir.path(), path);
    for (name, mutate, word) in mutations {
        let (mut app, root) = load(dir.path(), path);
        mutate(app.world_mut(), root);
        let after = Snapshot::of(app.world(), root);
        let differences = before.diff(&after);
        assert!(!differences.is_empty(), "{name} is not seen");
        assert_ne!(before, after, "{name} leaves equal snapshots");
        let text: Vec<_> = differences.iter().map(ToString::to_string).collect();
        let named = text.iter().any(|line| line.contains(word));
        assert!(named, "{name}: no difference names {word}: {text:#?}");
    }
}

fn flip_float(value: &mut f32) {
    *value = f32::from_bits(value.to_bits() ^ 1);
}

fn first_mesh(world: &mut World, root: Entity, name: &str) -> AssetId<Mesh> {
    let node = named(world, root, name);
    let child = world.get::<Children>(node).expect("primitives")[0];
    world.get::<Mesh3d>(child).expect("a mesh").id()
}

fn with_mesh(world: &mut World, root: Entity, name: &str, change: fn(&mut Mesh)) {
    let id = first_mesh(world, root, name);
    let mut meshes = world.resource_mut::<Assets<Mesh>>();
    change(&mut meshes.get_mut(id).expect("the mesh is loaded"));
}

fn with_material(world: &mut World, root: Entity, change: fn(&mut StandardMaterial)) {
    let node = named(world, root, "dup");
    let child = world.get::<Children>(node).expect("primitives")[0];
    let id = world
        .get::<MeshMaterial3d<StandardMaterial>>(child)
        .expect("a material")
        .id();
    let mut materials = world.resource_mut::<Assets<StandardMaterial>>();
    change(&mut materials.get_mut(id).expect("the material is loaded"));
}

fn with_image(world: &mut World, root: Entity, change: fn(&mut Image)) {
    let node = named(world, root, "dup");
    let child = world.get::<Children>(node).expect("primitives")[0];
    let id = world
        .get::<MeshMaterial3d<StandardMaterial>>(child)
        .expect("a material")
        .id();
    let material = world.resource::<Assets<StandardMaterial>>().get(id).expect("loaded");
    let image = material.normal_map_texture.clone().expect("a normal map");
    let mut images = world.resource_mut::<Assets<Image>>();
    change(&mut images.get_mut(&image).expect("the image is loaded"));
}

#[test]
fn changes_of_entities_are_seen() {
    all_seen(GLTF, ENTITY_CHANGES);
}

const ENTITY_CHANGES: &[Mutation] = &[
    (
        "one bit of a transform",
        |w, r| {
            let e = named(w, r, "Deep3");
            flip_float(&mut w.get_mut::<Transform>(e).expect("a transform").rotation.w);
        },
        "rotation.w",
    ),
    (
        "minus zero",
        |w, r| {
            let e = named(w, r, "JointTip");
            w.get_mut::<Transform>(e).expect("a transform").translation.x = -0.0;
        },
        "translation.x: 0.0 | -0.0",
    ),
    (
        "a computed transform",
        |w, r| {
            let e = named(w, r, "Deep3");
            w.entity_mut(e).insert(GlobalTransform::IDENTITY);
        },
        "GlobalTransform",
    ),
    (
        "a new name",
        |w, r| {
            let e = named(w, r, "Deep2");
            w.entity_mut(e).insert(Name::new("Deeper"));
        },
        "/Deeper",
    ),
    (
        "a component less",
        |w, r| {
            let e = named(w, r, "Sun");
            w.entity_mut(e).remove::<DirectionalLight>();
        },
        "DirectionalLight",
    ),
    (
        "a component more",
        |w, r| {
            let e = named(w, r, "Deep1");
            w.entity_mut(e).insert(Marked);
        },
        "Marked",
    ),
    (
        "an unreflected component more",
        |w, r| {
            #[derive(Component)]
            struct Unknown;
            let e = named(w, r, "Deep1");
            w.entity_mut(e).insert(Unknown);
        },
        "<not reflected>",
    ),
    (
        "another parent",
        |w, r| {
            let (e, to) = (named(w, r, "Deep5"), named(w, r, "Beside"));
            w.entity_mut(e).insert(ChildOf(to));
        },
        "/Deep5",
    ),
    (
        "two children swapped",
        |w, r| {
            let e = named(w, r, "Root");
            w.get_mut::<Children>(e).expect("children").swap(0, 1);
        },
        "Children",
    ),
    (
        "a child less",
        |w, r| {
            let e = named(w, r, "dup");
            w.entity_mut(e).despawn();
        },
        "dup",
    ),
    (
        "hidden",
        |w, r| {
            let e = named(w, r, "Deep0");
            w.entity_mut(e).insert(Visibility::Hidden);
        },
        "Visibility",
    ),
    (
        "a joint replaced",
        |w, r| {
            let tip = named(w, r, "JointTip");
            let node = named(w, r, "Skinned");
            let child = w.get::<Children>(node).expect("primitives")[0];
            w.get_mut::<SkinnedMesh>(child).expect("a skin").joints[0] = tip;
        },
        "joints[0]",
    ),
    (
        "a morph weight",
        |w, r| {
            let e = named(w, r, "a/b");
            let mut weights = w.get_mut::<MorphWeights>(e).expect("weights");
            flip_float(&mut weights.weights_mut()[1]);
        },
        "MorphWeights",
    ),
];

#[test]
fn changes_of_assets_are_seen() {
    all_seen(GLTF, ASSET_CHANGES);
}

const ASSET_CHANGES: &[Mutation] = &[
    (
        "one bit of a vertex",
        |w, r| {
            with_mesh(w, r, "dup", |mesh| {
                let Some(VertexAttributeValues::Float32x3(v)) = mesh.attribute_mut(Mesh::ATTRIBUTE_POSITION) else {
                    panic!("positions are three floats")
                };
                flip_float(&mut v[2][1]);
            })
        },
        "Vertex_Position.values",
    ),
    (
        "an index",
        |w, r| {
            with_mesh(w, r, "dup", |mesh| {
                let Some(Indices::U16(indices)) = mesh.indices_mut() else {
                    panic!("indices are 16-bit")
                };
                indices.swap(0, 1);
            })
        },
        "indices",
    ),
    (
        "wider indices",
        |w, r| {
            with_mesh(w, r, "dup", |mesh| {
                let wide = mesh.indices().expect("indices").iter().map(|i| i as u32).collect();
                mesh.insert_indices(Indices::U32(wide));
            })
        },
        "indices.format",
    ),
    (
        "an attribute less",
        |w, r| {
            with_mesh(w, r, "dup", |mesh| {
                mesh.remove_attribute(Mesh::ATTRIBUTE_UV_1);
            })
        },
        "Vertex_Uv_1",
    ),
    (
        "a mesh's usage",
        |w, r| {
            with_mesh(w, r, "dup", |mesh| {
                mesh.asset_usage = RenderAssetUsages::RENDER_WORLD;
            })
        },
        "asset_usage",
    ),
    (
        "a morph target",
        |w, r| {
            with_mesh(w, r, "a/b", |mesh| {
                let mut targets = mesh.morph_targets().expect("targets").clone();
                flip_float(&mut targets[5].position.y);
                mesh.set_morph_targets(targets);
            })
        },
        "morph_targets",
    ),
    (
        "a morph target's name",
        |w, r| {
            with_mesh(w, r, "a/b", |mesh| {
                mesh.set_morph_target_names(vec!["smile".into(), "grin".into()]);
            })
        },
        "morph_target_names",
    ),
    (
        "skinned bounds",
        |w, r| {
            with_mesh(w, r, "Skinned", |mesh| {
                mesh.set_skinned_mesh_bounds(None);
            })
        },
        "skinned_mesh_bounds",
    ),
    (
        "a byte of an image",
        |w, r| {
            with_image(w, r, |image| {
                image.data.as_mut().expect("data")[7] ^= 0x10;
            })
        },
        "byte 7 is",
    ),
    (
        "an image's sampler",
        |w, r| {
            with_image(w, r, |image| {
                image.sampler = ImageSampler::nearest();
            })
        },
        "sampler",
    ),
    (
        "an image's format",
        |w, r| {
            with_image(w, r, |image| {
                image.texture_descriptor.format = TextureFormat::Rgba8UnormSrgb;
            })
        },
        "descriptor.format",
    ),
    (
        "a material's factor",
        |w, r| with_material(w, r, |m| flip_float(&mut m.metallic)),
        "metallic",
    ),
    (
        "a material's ignored field",
        |w, r| with_material(w, r, |m| m.cull_mode = Some(Face::Front)),
        "cull_mode",
    ),
    (
        "a material's texture",
        |w, r| with_material(w, r, |m| m.emissive_texture = None),
        "emissive_texture",
    ),
    (
        "an inverse bind matrix",
        |w, r| {
            let node = named(w, r, "Skinned");
            let child = w.get::<Children>(node).expect("primitives")[0];
            let matrices = vec![Mat4::IDENTITY, Mat4::IDENTITY];
            let handle = w.resource_mut::<Assets<SkinnedMeshInverseBindposes>>().add(matrices);
            w.get_mut::<SkinnedMesh>(child).expect("a skin").inverse_bindposes = handle;
        },
        "inverse_bindposes -> ",
    ),
    (
        "an asset gone",
        |w, r| {
            let id = first_mesh(w, r, "dup");
            w.resource_mut::<Assets<Mesh>>().remove(id);
        },
        "<missing asset>",
    ),
];

#[test]
fn changes_of_user_components_are_seen() {
    all_seen(SCN, USER_CHANGES);
}

const USER_CHANGES: &[Mutation] = &[
    (
        "an entity in a list",
        |w, r| {
            let (crew, ship) = (named(w, r, "Crew"), named(w, r, "Ship"));
            w.get_mut::<Inventory>(crew).expect("an inventory").items[2] = ship;
        },
        "items[2]",
    ),
    (
        "an entity outside",
        |w, r| {
            let (crew, outside) = (named(w, r, "Crew"), w.spawn_empty().id());
            w.get_mut::<Inventory>(crew).expect("an inventory").owner = outside;
        },
        "<outside>",
    ),
    (
        "a dead entity",
        |w, r| {
            let (crew, dead) = (named(w, r, "Crew"), w.spawn_empty().id());
            w.despawn(dead);
            let mut inventory = w.get_mut::<Inventory>(crew).expect("an inventory");
            inventory.nested.as_mut().expect("a pouch").keeper = dead;
        },
        "<dead>",
    ),
    (
        "an option",
        |w, r| {
            let crew = named(w, r, "Crew");
            let mut inventory = w.get_mut::<Inventory>(crew).expect("an inventory");
            inventory.nested.as_mut().expect("a pouch").tag = None;
        },
        "tag",
    ),
    (
        "an enum's variant",
        |w, r| {
            let crew = named(w, r, "Crew");
            w.entity_mut(crew).insert(Mood::Calm);
        },
        "Calm",
    ),
    (
        "a value in a map",
        |w, r| {
            let crew = named(w, r, "Crew");
            w.get_mut::<Skills>(crew)
                .expect("skills")
                .levels
                .insert("run".into(), 0.0);
        },
        "{\"run\"}: -0.0 | 0.0",
    ),
    (
        "a relationship's target",
        |w, r| {
            let (crew, escort) = (named(w, r, "Crew"), named(w, r, "Escort"));
            w.entity_mut(crew).insert(Pilots(escort));
        },
        "CrewOf",
    ),
    (
        "a relationship less",
        |w, r| {
            let escort = named(w, r, "Escort");
            w.entity_mut(escort).remove::<Escorts>();
        },
        "EscortedBy",
    ),
    (
        "a nameless child less",
        |w, r| {
            let child = entity_at(w, r, "/Ship/Hull/#0").expect("a nameless child");
            w.entity_mut(child).despawn();
        },
        "/Ship/Hull/#0",
    ),
    (
        "a unit component less",
        |w, r| {
            let ship = named(w, r, "Ship");
            w.entity_mut(ship).remove::<Marked>();
        },
        "Marked",
    ),
];
