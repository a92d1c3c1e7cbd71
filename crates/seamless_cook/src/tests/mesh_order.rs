//! Meshes are put in order where nobody sees it, and only with the profile that may.

use std::fmt::Write;

use seamless_package::{Limits, Package};

use super::*;
use crate::Profile;

/// Quads in a square of so many on a side.
const SIDE: u16 = 12;

/// A grid whose triangles come in a bad order.
fn grid() -> Vec<u8> {
    let corners = (0..=SIDE).flat_map(|y| (0..=SIDE).map(move |x| [f32::from(x), f32::from(y), 0.0]));
    let mut bytes: Vec<u8> = corners.flatten().flat_map(f32::to_le_bytes).collect();
    let quads = SIDE * SIDE;
    for index in 0..quads {
        // 55 has no factor with 144.
        let quad = (u32::from(index) * 55 % u32::from(quads)) as u16;
        let corner = quad / SIDE * (SIDE + 1) + quad % SIDE;
        let (right, above) = (corner + 1, corner + SIDE + 1);
        let triangles = [corner, right, above, right, above + 1, above];
        bytes.extend(triangles.iter().flat_map(|index| index.to_le_bytes()));
    }
    bytes
}

/// The grid under one node, with this material. Without normals Bevy would give each triangle corners of its own.
fn gltf_of(material: &str) -> String {
    let (vertices, indices) = (u32::from(SIDE + 1).pow(2), u32::from(SIDE).pow(2) * 6);
    let mut text = String::new();
    write!(
        text,
        r#"{{"asset":{{"version":"2.0"}},"scene":0,"scenes":[{{"nodes":[0]}}],"nodes":[{{"mesh":0}}],
        "meshes":[{{"primitives":[{{"attributes":{{"POSITION":0,"NORMAL":0}},"indices":1,"material":0}}]}}],"materials":[{{{material}}}],
        "buffers":[{{"uri":"grid.bin","byteLength":{}}}],
        "bufferViews":[{{"buffer":0,"byteLength":{}}},{{"buffer":0,"byteOffset":{},"byteLength":{}}}],
        "accessors":[{{"bufferView":0,"componentType":5126,"count":{vertices},"type":"VEC3","min":[0,0,0],"max":[{SIDE},{SIDE},0]}},
        {{"bufferView":1,"componentType":5123,"count":{indices},"type":"SCALAR"}}]}}"#,
        vertices * 12 + indices * 2,
        vertices * 12,
        vertices * 12,
        indices * 2,
    )
    .unwrap();
    text
}

const OPAQUE: &str = r#""alphaMode":"OPAQUE""#;
const MASK: &str = r#""alphaMode":"MASK""#;
const BLEND: &str = r#""alphaMode":"BLEND""#;

fn fixture(material: &str) -> Fixture {
    let fixture = Fixture::new();
    fixture
        .write("grid.gltf", gltf_of(material))
        .write("grid.bin", grid())
        .write("glass.gltf", gltf_of(BLEND));
    // Draws the one file's mesh with the other one's material.
    let mesh = r#""bevy_mesh::components::Mesh3d": (Path("grid.gltf#Mesh0/Primitive0"))"#;
    let material = "\"bevy_pbr::mesh_material::MeshMaterial3d<bevy_pbr::pbr_material::StandardMaterial>\": \
                    (Path(\"glass.gltf#Material0/std\"))";
    let entity = format!("{}: (components: {{{mesh}, {material}}})", number(1));
    fixture.write("pane.scn.ron", format!("(resources: {{}}, entities: {{{entity}}})"));
    fixture
}

const ALONE: &str = r#"(levels: [(source: "grid.gltf")])"#;
const WITH_PANE: &str = r#"(levels: [(source: "grid.gltf"), (source: "pane.scn.ron")])"#;

/// Cooks; gives the mesh's bytes, wherever it lies, and checks that a fresh cook gives the same files.
fn mesh(fixture: &Fixture, profile: Profile, world: &str) -> Vec<u8> {
    let options = CookOptions {
        profile,
        ..CookOptions::default()
    };
    fixture.cook_with(&CookApp::new(), world, &options).unwrap();
    let fresh = fixture.path("fresh");
    let _ = std::fs::remove_dir_all(&fresh);
    CookApp::new()
        .cook(&fixture.path("test.world.ron"), &fresh, &options, &())
        .unwrap();
    let mut found = Vec::new();
    for file in files(&fixture.out()) {
        let bytes = std::fs::read(fixture.out().join(&file)).unwrap();
        assert!(bytes == std::fs::read(fresh.join(&file)).unwrap(), "{file} is another");
        let Ok(package) = Package::parse(bytes.clone(), &Limits::default()) else {
            continue;
        };
        let index = ["Mesh0/Primitive0", "grid.gltf/Mesh0/Primitive0"]
            .iter()
            .find_map(|name| package.find_name(name));
        found.extend(index.map(|index| package.export_data(index, &bytes, 0).unwrap().into_owned()));
    }
    assert_eq!(found.len(), 1, "the mesh is there once");
    found.remove(0)
}

#[test]
fn meshes_are_put_in_order_to_ship() {
    let fixture = fixture(OPAQUE);
    let exact = mesh(&fixture, Profile::Exact, ALONE);
    assert!(mesh(&fixture, Profile::Dev, ALONE) == exact);
    let ordered = mesh(&fixture, Profile::Ship, ALONE);
    assert!(ordered != exact);
    assert_eq!(ordered.len(), exact.len());
    fixture.write("grid.gltf", gltf_of(MASK));
    assert!(mesh(&fixture, Profile::Ship, ALONE) == ordered);
}

#[test]
fn what_blends_keeps_its_order() {
    let glass = fixture(BLEND);
    let exact = mesh(&glass, Profile::Exact, ALONE);
    assert!(mesh(&glass, Profile::Ship, ALONE) == exact);
    // Through another level.
    let fixture = fixture(OPAQUE);
    let ordered = mesh(&fixture, Profile::Ship, ALONE);
    assert!(ordered != exact);
    assert!(mesh(&fixture, Profile::Ship, WITH_PANE) == exact);
    assert!(mesh(&fixture, Profile::Ship, ALONE) == ordered);
    // A material of another file that does not blend any more.
    assert!(mesh(&fixture, Profile::Ship, WITH_PANE) == exact);
    fixture.write("glass.gltf", gltf_of(OPAQUE));
    assert!(mesh(&fixture, Profile::Ship, WITH_PANE) == ordered);
    fixture.write(
        "glass.gltf",
        gltf_of(r#""alphaMode":"OPAQUE","extensions":{"KHR_materials_transmission":{"transmissionFactor":0.5}}"#),
    );
    assert!(mesh(&fixture, Profile::Ship, WITH_PANE) == exact);
}
