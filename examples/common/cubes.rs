//! A glTF file of coloured cubes: the smallest content that can be seen. See [`write_cubes`].

use std::{fs, io, path::Path};

use serde_json::json;

/// The six faces of a cube: the normal, and two directions along the face.
const FACES: [[[f32; 3]; 3]; 6] = [
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
    [[-1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]],
    [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]],
    [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]],
    [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]],
    [[0.0, 0.0, -1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]],
];

/// Writes `NAME.gltf` and `NAME.bin` into `directory`: one cube of edge 1 at each of `positions`, all of `color` (linear RGB).
///
/// # Errors
/// When the files cannot be written.
pub fn write_cubes(directory: &Path, name: &str, positions: &[[f32; 3]], color: [f32; 3]) -> io::Result<()> {
    let (points, normals, indices) = cube();
    let mut bytes = Vec::new();
    for value in points.iter().chain(&normals).flatten() {
        bytes.extend_from_slice(&value.to_le_bytes());
    }
    for index in &indices {
        bytes.extend_from_slice(&index.to_le_bytes());
    }
    let array = points.len() * 12;
    let nodes: Vec<_> = positions
        .iter()
        .enumerate()
        .map(|(index, at)| json!({ "name": format!("cube {index}"), "mesh": 0, "translation": at }))
        .collect();
    let gltf = json!({
        "asset": { "version": "2.0" },
        "scene": 0,
        "scenes": [{ "name": name, "nodes": (0..nodes.len()).collect::<Vec<_>>() }],
        "nodes": nodes,
        "materials": [{ "pbrMetallicRoughness": {
            "baseColorFactor": [color[0], color[1], color[2], 1.0], "metallicFactor": 0.0, "roughnessFactor": 0.7
        } }],
        "meshes": [{ "primitives": [{
            "attributes": { "POSITION": 0, "NORMAL": 1 }, "indices": 2, "material": 0
        }] }],
        "accessors": [
            { "bufferView": 0, "componentType": 5126, "count": points.len(), "type": "VEC3",
              "min": [-0.5, -0.5, -0.5], "max": [0.5, 0.5, 0.5] },
            { "bufferView": 1, "componentType": 5126, "count": normals.len(), "type": "VEC3" },
            { "bufferView": 2, "componentType": 5123, "count": indices.len(), "type": "SCALAR" },
        ],
        "bufferViews": [
            { "buffer": 0, "byteOffset": 0, "byteLength": array },
            { "buffer": 0, "byteOffset": array, "byteLength": array },
            { "buffer": 0, "byteOffset": array * 2, "byteLength": indices.len() * 2 },
        ],
        "buffers": [{ "uri": format!("{name}.bin"), "byteLength": bytes.len() }],
    });
    fs::create_dir_all(directory)?;
    fs::write(directory.join(format!("{name}.bin")), bytes)?;
    fs::write(
        directory.join(format!("{name}.gltf")),
        serde_json::to_vec_pretty(&gltf)?,
    )
}

/// Points, normals and indices of a cube of edge 1.
fn cube() -> (Vec<[f32; 3]>, Vec<[f32; 3]>, Vec<u16>) {
    let (mut points, mut normals, mut indices) = (Vec::new(), Vec::new(), Vec::new());
    for [normal, u, v] in FACES {
        let first = points.len() as u16;
        for (along_u, along_v) in [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)] {
            points.push([0, 1, 2].map(|axis: usize| 0.5 * (normal[axis] + along_u * u[axis] + along_v * v[axis])));
            normals.push(normal);
        }
        indices.extend([0, 1, 2, 0, 2, 3].map(|corner| first + corner));
    }
    (points, normals, indices)
}
