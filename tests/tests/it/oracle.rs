//! The oracle itself: the fixtures load, equal loads are equal, and every kind of change is seen.

use std::path::{Path, PathBuf};

use bevy::{
    image::Image, mesh::VertexAttributeValues, pbr::StandardMaterial, prelude::*,
    render::render_resource::Face,
};
use seamless_tests::{
    app::{LOAD_LIMIT, bevy_spawn, headless, headless_with, run_until},
    fixtures::{
        CrewOf, EscortedBy, Escorts, Inventory, Marked, Mood, PartlyHidden, Pilots, Skills,
        register_types, write_animated_gltf, write_everything_gltf, write_everything_scn,
        write_scn_with_resource,
    },
    snapshot::{Snapshot, SnapshotOptions, assert_same, entity_at},
};
use tempfile::TempDir;

const GLTF: &str = "everything.gltf#Scene0";
const SCN: &str = "everything.scn.ron";

fn temp() -> TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

fn load(dir: &Path, path: &str) -> (App, Entity) {
    let mut app = headless_with(dir, register_types);
    let root = bevy_spawn(&mut app, path);
    (app, root)
}

fn snapshot(dir: &Path, path: &str) -> Snapshot {
    let (app, root) = load(dir, path);
    Snapshot::of(app.world(), root)
}

/// The entity whose name is `name`, the first in tree order.
fn named(world: &World, root: Entity, name: &str) -> Entity {
    find(world, root, name).unwrap_or_else(|| panic!("{name} is in the tree"))
}

fn find(world: &World, at: Entity, name: &str) -> Option<Entity> {
    if world.get::<Name>(at).is_some_and(|n| n.as_str() == name) {
        return Some(at);
    }
    let children = world.get::<Children>(at)?;
    children.iter().find_map(|child| find(world, child, name))
}

#[test]
fn gltf_fixture_holds_what_it_promises() {
    let dir = temp();
    write_everything_gltf(dir.path());
    let (app, root) = load(dir.path(), GLTF);
    let snapshot = Snapshot::of(app.world(), root);
    assert_eq!(snapshot.problems(), Vec::<String>::new());
    let text = format!("{snapshot:?}");
    for needle in [
        "MorphWeights",
        "SkinnedMesh",
        "DirectionalLight",
        "PointLight",
        "SpotLight",
        "Perspective",
        "Orthographic",
        "GltfExtras",
        "GltfSceneExtras",
        "GltfMeshExtras",
        "GltfMaterialExtras",
        "Vertex_Uv_1",
        "Vertex_Tangent",
        "Vertex_Color",
        "Vertex_JointIndex",
        "smile",
        "LineList",
        "Mask",
        "Blend",
        "skinned_mesh_bounds",
    ] {
        assert!(text.contains(needle), "{needle} is in the snapshot");
    }
    let paths: Vec<_> = snapshot.paths().collect();
    for end in [
        "/dup", "/dup~1", "/dup~2", "/dup%7e1", "/a%2fb", "/%230", "/%empty",
    ] {
        assert!(
            paths.iter().any(|p| p.ends_with(end)),
            "{end} in {paths:#?}"
        );
    }
    assert!(
        paths
            .iter()
            .any(|p| p.contains("/Deep0/Deep1/Deep2/Deep3/Deep4/Deep5"))
    );
}

#[test]
fn fixtures_are_the_same_every_time() {
    let (a, b) = (temp(), temp());
    write_everything_scn(a.path());
    write_everything_scn(b.path());
    for file in [
        "everything.gltf",
        "everything.bin",
        "base.png",
        "orm.png",
        SCN,
    ] {
        let read = |dir: &TempDir| std::fs::read(dir.path().join(file)).expect("it was written");
        assert!(read(&a) == read(&b), "{file} differs between two writes");
    }
}

#[test]
fn two_loads_of_a_gltf_are_equal() {
    let dir = temp();
    write_everything_gltf(dir.path());
    let first = snapshot(dir.path(), GLTF);
    assert!(first.entity_count() > 30, "{}", first.entity_count());
    assert_same(&first, &snapshot(dir.path(), GLTF));
    let other = snapshot(dir.path(), "everything.gltf#Scene1");
    assert!(!first.diff(&other).is_empty());
}

#[test]
fn two_loads_of_an_animated_gltf_are_equal() {
    let dir = temp();
    write_animated_gltf(dir.path());
    let path = "animated.gltf#Scene0";
    assert_same(&snapshot(dir.path(), path), &snapshot(dir.path(), path));
}

#[test]
fn a_clip_is_an_asset_to_compare() {
    let dir = temp();
    write_animated_gltf(dir.path());
    let load = || {
        let mut app = headless(dir.path());
        bevy_spawn(&mut app, "animated.gltf#Scene0");
        let server = app.world().resource::<AssetServer>().clone();
        let handle = server.load::<AnimationClip>("animated.gltf#Animation0");
        // No entity refers to a clip: the first load has dropped it.
        assert!(run_until(&mut app, LOAD_LIMIT, |_| server.is_loaded(&handle)));
        let handle = handle.untyped();
        Snapshot::of_asset(app.world(), &handle)
    };
    let first = load();
    assert_same(&first, &load());
    assert_eq!(first.problems(), Vec::<String>::new());
    assert_eq!(first.asset_count(), 1);
}

#[test]
fn scn_fixture_round_trips_every_component() {
    let dir = temp();
    write_everything_scn(dir.path());
    let (app, root) = load(dir.path(), SCN);
    let world = app.world();
    let ship = named(world, root, "Ship");
    let captain = named(world, root, "Crew");
    let escort = named(world, root, "Escort");
    let inventory = world.get::<Inventory>(captain).expect("an inventory");
    assert_eq!((inventory.owner, inventory.items[1]), (captain, escort));
    assert_eq!(inventory.items.len(), 3);
    assert_eq!(inventory.weight.to_bits(), (1.0_f32 / 3.0).to_bits());
    assert_eq!(
        world.get::<Mood>(captain),
        Some(&Mood::Following { whom: escort })
    );
    assert_eq!(
        world.get::<Skills>(captain).map(|s| s.levels.len()),
        Some(3)
    );
    assert_eq!(world.get::<CrewOf>(ship).map(|c| c.iter().count()), Some(2));
    assert_eq!(
        world.get::<EscortedBy>(ship).map(|c| c.iter().count()),
        Some(1)
    );
    assert!(world.get::<Marked>(ship).is_some());
    let hidden = world
        .iter_entities()
        .find_map(|e| e.get::<PartlyHidden>().cloned());
    assert_eq!(
        hidden,
        Some(PartlyHidden {
            seen: -9_000_000_000,
            hidden: 0
        })
    );
    let hull = named(world, root, "Hull");
    let mesh = world.get::<Mesh3d>(hull).expect("a mesh");
    assert!(world.resource::<Assets<Mesh>>().contains(&mesh.0));
    let snapshot = Snapshot::of(world, root);
    assert_eq!(snapshot.problems(), Vec::<String>::new());
    assert_same(&snapshot, &self::snapshot(dir.path(), SCN));
}

#[test]
fn resource_fixture_has_a_resource() {
    let dir = temp();
    let path = write_scn_with_resource(dir.path());
    let text = std::fs::read_to_string(path).expect("it was written");
    assert!(text.contains("fixtures::types::Weather\": ("), "{text}");
    let plain = std::fs::read_to_string(write_everything_scn(dir.path())).expect("it was written");
    assert!(!plain.contains("Weather"));
}

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
    let material = world
        .resource::<Assets<StandardMaterial>>()
        .get(id)
        .expect("loaded");
    let image = material.normal_map_texture.clone().expect("a normal map");
    let mut images = world.resource_mut::<Assets<Image>>();
    change(&mut images.get_mut(&image).expect("the image is loaded"));
}

#[test]
fn changes_of_entities_are_seen() {
    all_seen(
        GLTF,
        &[
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
                    w.get_mut::<Transform>(e)
                        .expect("a transform")
                        .translation
                        .x = -0.0;
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
                    w.get_mut::<bevy::mesh::skinning::SkinnedMesh>(child)
                        .expect("a skin")
                        .joints[0] = tip;
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
        ],
    );
}

#[test]
fn changes_of_assets_are_seen() {
    all_seen(
        GLTF,
        &[
            (
                "one bit of a vertex",
                |w, r| {
                    with_mesh(w, r, "dup", |mesh| {
                        let Some(VertexAttributeValues::Float32x3(v)) =
                            mesh.attribute_mut(Mesh::ATTRIBUTE_POSITION)
                        else {
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
                        let Some(bevy::mesh::Indices::U16(indices)) = mesh.indices_mut() else {
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
                        let wide = mesh
                            .indices()
                            .expect("indices")
                            .iter()
                            .map(|i| i as u32)
                            .collect();
                        mesh.insert_indices(bevy::mesh::Indices::U32(wide));
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
                        mesh.asset_usage = bevy::asset::RenderAssetUsages::RENDER_WORLD;
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
                        image.sampler = bevy::image::ImageSampler::nearest();
                    })
                },
                "sampler",
            ),
            (
                "an image's format",
                |w, r| {
                    with_image(w, r, |image| {
                        image.texture_descriptor.format =
                            bevy::render::render_resource::TextureFormat::Rgba8UnormSrgb;
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
                    let handle = w
                        .resource_mut::<Assets<bevy::mesh::skinning::SkinnedMeshInverseBindposes>>()
                        .add(matrices);
                    w.get_mut::<bevy::mesh::skinning::SkinnedMesh>(child)
                        .expect("a skin")
                        .inverse_bindposes = handle;
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
        ],
    );
}

#[test]
fn changes_of_user_components_are_seen() {
    all_seen(
        SCN,
        &[
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
        ],
    );
}

#[test]
fn options_leave_components_out() {
    let dir = temp();
    write_everything_scn(dir.path());
    let (mut app, root) = load(dir.path(), SCN);
    let options = SnapshotOptions::default()
        .ignore_type::<Marked>()
        .ignore(Skills::type_path())
        .ignore_prefix("bevy_transform::")
        .without_root_components();
    let before = Snapshot::with(app.world(), root, &options);
    let (ship, crew) = (
        named(app.world(), root, "Ship"),
        named(app.world(), root, "Crew"),
    );
    app.world_mut().entity_mut(root).insert(Visibility::Hidden);
    app.world_mut()
        .entity_mut(ship)
        .remove::<Marked>()
        .insert(Transform::from_xyz(9.0, 9.0, 9.0));
    app.world_mut().entity_mut(crew).remove::<Skills>();
    assert_same(&before, &Snapshot::with(app.world(), root, &options));
    app.world_mut().entity_mut(ship).remove::<Visibility>();
    assert_eq!(
        before
            .diff(&Snapshot::with(app.world(), root, &options))
            .len(),
        1
    );
}

/// Real models, where they are at hand.
#[test]
fn two_loads_of_real_models_are_equal() {
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/gltf");
    for (folder, scene) in [
        ("FlightHelmet", "FlightHelmet.gltf#Scene0"),
        ("AlienCake", "alien.glb#Scene0"),
        ("AlienCake", "cakeBirthday.glb#Scene0"),
    ] {
        let dir = data.join(folder);
        let Some((file, _)) = scene.split_once('#') else {
            continue;
        };
        if !dir.join(file).exists() {
            skipped(&dir.join(file));
            continue;
        }
        let first = snapshot(&dir, scene);
        assert_eq!(first.problems(), Vec::<String>::new(), "{scene}");
        assert!(first.asset_count() > 1, "{scene} has assets");
        assert_same(&first, &snapshot(&dir, scene));
    }
}

#[expect(clippy::print_stderr, reason = "a test that did not run says so")]
fn skipped(path: &Path) {
    eprintln!("skipped: {} is missing", path.display());
}
