//! Writes binary glTF 2.0 files: meshes, materials, textures by URI and a tree of nodes.

use std::{collections::BTreeMap, io};

use serde::Serialize;
use serde_json::{Value, json};

use super::shapes::Shape;

/// The vertex buffer target of the glTF specification.
const ARRAY_BUFFER: u32 = 34962;
/// The index buffer target of the glTF specification.
const ELEMENT_ARRAY_BUFFER: u32 = 34963;

/// A node of the scene. Rotation is only about the vertical axis.
#[derive(Serialize, Default, Debug, Clone)]
pub struct Node {
    /// The name; most nodes have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The mesh that is drawn here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mesh: Option<usize>,
    /// The position in the parent, in metres.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub translation: Option<[f32; 3]>,
    /// The rotation as a quaternion x, y, z, w.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rotation: Option<[f32; 4]>,
    /// The scale.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale: Option<[f32; 3]>,
    /// The nodes below, by index.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<usize>,
}

/// What a material looks like. Textures are paths relative to the GLB file.
#[derive(Debug, Clone, Copy, Default)]
pub struct Material<'a> {
    /// The material's name.
    pub name: &'a str,
    /// Linear base colour, multiplied with the texture.
    pub color: [f32; 3],
    /// The base colour texture.
    pub texture: Option<&'a str>,
    /// The tangent-space normal map; meshes of such a material get tangents.
    pub normal: Option<&'a str>,
    /// Perceptual roughness, 0 to 1.
    pub roughness: f32,
    /// 0 for everything but bare metal.
    pub metallic: f32,
    /// Whether back faces are drawn.
    pub double_sided: bool,
}

/// A glTF file in the making.
#[derive(Default, Debug)]
pub struct Glb {
    binary: Vec<u8>,
    views: Vec<Value>,
    accessors: Vec<Value>,
    meshes: Vec<Value>,
    primitives_of: Vec<usize>,
    materials: Vec<Value>,
    /// Per material, whether it has a normal map.
    bumpy: Vec<bool>,
    images: BTreeMap<String, usize>,
    nodes: Vec<Node>,
    roots: Vec<usize>,
}

impl Glb {
    /// Adds a material and gives its index.
    pub fn material(&mut self, material: &Material) -> usize {
        let [r, g, b] = material.color;
        let mut pbr = json!({
            "baseColorFactor": [r, g, b, 1.0],
            "metallicFactor": material.metallic,
            "roughnessFactor": material.roughness,
        });
        if let Some(uri) = material.texture {
            pbr["baseColorTexture"] = json!({ "index": self.image(uri) });
        }
        let mut value = json!({ "name": material.name, "pbrMetallicRoughness": pbr });
        if let Some(uri) = material.normal {
            value["normalTexture"] = json!({ "index": self.image(uri) });
        }
        if material.double_sided {
            value["doubleSided"] = json!(true);
        }
        self.materials.push(value);
        self.bumpy.push(material.normal.is_some());
        self.materials.len() - 1
    }

    fn image(&mut self, uri: &str) -> usize {
        let next = self.images.len();
        *self.images.entry(uri.to_owned()).or_insert(next)
    }

    /// Adds a mesh with one primitive per `(shape, material)` and gives its index.
    pub fn mesh(&mut self, name: Option<&str>, primitives: &[(&Shape, usize)]) -> usize {
        let list: Vec<Value> = primitives
            .iter()
            .map(|(shape, material)| self.primitive(shape, *material))
            .collect();
        let mut mesh = json!({ "primitives": list });
        if let Some(name) = name {
            mesh["name"] = json!(name);
        }
        self.meshes.push(mesh);
        self.primitives_of.push(primitives.len());
        self.meshes.len() - 1
    }

    fn primitive(&mut self, shape: &Shape, material: usize) -> Value {
        let (min, max) = shape.bounds();
        let position = self.floats("VEC3", shape.positions.iter().map(|p| p.to_array()));
        self.accessors[position]["min"] = json!(min.to_array());
        self.accessors[position]["max"] = json!(max.to_array());
        let normal = self.floats("VEC3", shape.normals.iter().map(|n| n.to_array()));
        let uv = self.floats("VEC2", shape.uvs.iter().map(|uv| uv.to_array()));
        let mut attributes = json!({ "POSITION": position, "NORMAL": normal, "TEXCOORD_0": uv });
        if self.bumpy[material] {
            let tangents = shape.tangents();
            attributes["TANGENT"] = json!(self.floats("VEC4", tangents.iter().map(|t| t.to_array())));
        }
        if !shape.colors.is_empty() {
            let colors: Vec<u8> = shape.colors.iter().flatten().copied().collect();
            let count = shape.colors.len();
            let accessor = json!({ "componentType": 5121, "normalized": true, "type": "VEC4", "count": count });
            attributes["COLOR_0"] = json!(self.accessor(&colors, ARRAY_BUFFER, accessor));
        }
        let indices: Vec<u8> = shape.indices.iter().flat_map(|i| i.to_le_bytes()).collect();
        let index = self.accessor(
            &indices,
            ELEMENT_ARRAY_BUFFER,
            json!({ "componentType": 5123, "type": "SCALAR", "count": shape.indices.len() }),
        );
        json!({ "attributes": attributes, "indices": index, "material": material })
    }

    /// An accessor of 32-bit floats, `N` per element.
    fn floats<const N: usize>(&mut self, kind: &str, values: impl ExactSizeIterator<Item = [f32; N]>) -> usize {
        let accessor = json!({ "componentType": 5126, "type": kind, "count": values.len() });
        let bytes: Vec<u8> = values.flatten().flat_map(f32::to_le_bytes).collect();
        self.accessor(&bytes, ARRAY_BUFFER, accessor)
    }

    fn accessor(&mut self, bytes: &[u8], target: u32, mut accessor: Value) -> usize {
        let offset = self.binary.len();
        self.binary.extend_from_slice(bytes);
        pad(&mut self.binary, 0);
        self.views
            .push(json!({ "buffer": 0, "byteOffset": offset, "byteLength": bytes.len(), "target": target }));
        accessor["bufferView"] = json!(self.views.len() - 1);
        self.accessors.push(accessor);
        self.accessors.len() - 1
    }

    /// Adds a node below `parent`, or at the top, and gives its index.
    pub fn node(&mut self, parent: Option<usize>, node: Node) -> usize {
        let index = self.nodes.len();
        self.nodes.push(node);
        match parent {
            Some(parent) => self.nodes[parent].children.push(index),
            None => self.roots.push(index),
        }
        index
    }

    /// How many entities Bevy's loader makes of the scene: one for its root, one per node, one per mesh primitive.
    #[must_use]
    pub fn entities(&self) -> u64 {
        let primitives: usize = self
            .nodes
            .iter()
            .filter_map(|node| node.mesh)
            .map(|m| self.primitives_of[m])
            .sum();
        (1 + self.nodes.len() + primitives) as u64
    }

    /// The bytes of the finished file.
    ///
    /// # Errors
    /// When the description cannot be written as JSON (a number that is not finite) or the file would pass 4 GiB.
    pub fn finish(self, scene: &str) -> io::Result<Vec<u8>> {
        let mut root = json!({
            "asset": { "version": "2.0", "generator": "seamless open_world" },
            "scene": 0,
            "scenes": [{ "name": scene, "nodes": self.roots }],
            "nodes": self.nodes,
            "meshes": self.meshes,
            "materials": self.materials,
            "accessors": self.accessors,
            "bufferViews": self.views,
            "buffers": [{ "byteLength": self.binary.len() }],
        });
        if !self.images.is_empty() {
            let mut uris: Vec<_> = self.images.into_iter().collect();
            uris.sort_by_key(|(_, index)| *index);
            let textures: Vec<_> = (0..uris.len()).map(|i| json!({ "source": i, "sampler": 0 })).collect();
            root["images"] = uris.iter().map(|(uri, _)| json!({ "uri": uri })).collect();
            root["textures"] = json!(textures);
            // Linear filters, repeating.
            root["samplers"] = json!([{ "magFilter": 9729, "minFilter": 9987, "wrapS": 10497, "wrapT": 10497 }]);
        }
        let mut text = serde_json::to_vec(&root).map_err(io::Error::other)?;
        pad(&mut text, b' ');
        container(&text, &self.binary)
    }
}

/// Joins the JSON and the binary chunk.
fn container(text: &[u8], binary: &[u8]) -> io::Result<Vec<u8>> {
    let length = |n: usize| u32::try_from(n).map_err(io::Error::other);
    let total = 12 + 8 + text.len() + 8 + binary.len();
    let mut file = Vec::with_capacity(total);
    file.extend_from_slice(b"glTF");
    file.extend_from_slice(&2_u32.to_le_bytes());
    file.extend_from_slice(&length(total)?.to_le_bytes());
    file.extend_from_slice(&length(text.len())?.to_le_bytes());
    file.extend_from_slice(b"JSON");
    file.extend_from_slice(text);
    file.extend_from_slice(&length(binary.len())?.to_le_bytes());
    file.extend_from_slice(b"BIN\0");
    file.extend_from_slice(binary);
    Ok(file)
}

/// Pads to a multiple of four bytes, as every chunk and every accessor wants.
fn pad(bytes: &mut Vec<u8>, with: u8) {
    bytes.resize(bytes.len().next_multiple_of(4), with);
}
