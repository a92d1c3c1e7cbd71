//! Makes glTF files with animations.

use base64::{Engine, prelude::BASE64_STANDARD};

pub(super) const F32: u32 = 5126;
pub(super) const I8: u32 = 5120;
pub(super) const U8: u32 = 5121;
pub(super) const I16: u32 = 5122;
pub(super) const U16: u32 = 5123;
pub(super) const U32: u32 = 5125;

/// A glTF file of nodes and animations. Node 0 is `Root`, with the children 1, `Arm`, and 2, which has no name; 1 has the child 3, `Hand`;
/// node 4, `Lost`, is in no scene.
#[derive(Default)]
pub(super) struct Builder {
    pub bytes: Vec<u8>,
    views: Vec<String>,
    accessors: Vec<String>,
    animations: Vec<String>,
}

/// A channel: node, property, interpolation, and the accessors of its times and values.
pub(super) type Channel<'a> = (usize, &'a str, &'a str, usize, usize);

pub(super) fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

impl Builder {
    pub fn view(&mut self, data: &[u8]) -> usize {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        let (offset, length) = (self.bytes.len(), data.len());
        self.bytes.extend_from_slice(data);
        self.raw_view(offset, length)
    }

    pub fn raw_view(&mut self, offset: usize, length: usize) -> usize {
        self.views
            .push(format!(r#"{{"buffer":0,"byteOffset":{offset},"byteLength":{length}}}"#));
        self.views.len() - 1
    }

    pub fn accessor(&mut self, data: &[u8], component: u32, kind: &str, count: usize) -> usize {
        let view = self.view(data);
        let is_whole = component != F32;
        self.raw_accessor(&format!(
            r#""bufferView":{view},"componentType":{component},"normalized":{is_whole},"type":"{kind}","count":{count}"#
        ))
    }

    pub fn raw_accessor(&mut self, fields: &str) -> usize {
        self.accessors.push(format!("{{{fields}}}"));
        self.accessors.len() - 1
    }

    pub fn times(&mut self, times: &[f32]) -> usize {
        self.accessor(&floats(times), F32, "SCALAR", times.len())
    }

    /// An accessor of the values of `property`.
    pub fn values(&mut self, property: &str, values: &[f32]) -> usize {
        let (kind, width) = match property {
            "rotation" => ("VEC4", 4),
            "weights" => ("SCALAR", 1),
            _ => ("VEC3", 3),
        };
        self.accessor(&floats(values), F32, kind, values.len() / width)
    }

    pub fn animation(&mut self, name: Option<&str>, channels: &[Channel]) {
        let name = name.map_or_else(String::new, |name| format!(r#""name":"{name}","#));
        let targets = channels.iter().enumerate().map(|(index, (node, path, ..))| {
            format!(r#"{{"sampler":{index},"target":{{"node":{node},"path":"{path}"}}}}"#)
        });
        let samplers = channels.iter().map(|(_, _, interpolation, input, output)| {
            format!(r#"{{"input":{input},"interpolation":"{interpolation}","output":{output}}}"#)
        });
        let (targets, samplers) = (
            targets.collect::<Vec<_>>().join(","),
            samplers.collect::<Vec<_>>().join(","),
        );
        self.animations
            .push(format!(r#"{{{name}"channels":[{targets}],"samplers":[{samplers}]}}"#));
    }

    fn json(&self, buffer: &str) -> String {
        let list = |name: &str, entries: &[String]| match entries {
            [] => String::new(),
            entries => format!(r#","{name}":[{}]"#, entries.join(",")),
        };
        format!(
            r#"{{"asset":{{"version":"2.0"}},"scene":0,"scenes":[{{"nodes":[0]}}],
            "nodes":[{{"name":"Root","children":[1,2]}},{{"name":"Arm","children":[3]}},{{}},{{"name":"Hand"}},{{"name":"Lost"}}],
            "buffers":[{{{buffer}"byteLength":{}}}]{}{}{}}}"#,
            self.bytes.len(),
            list("bufferViews", &self.views),
            list("accessors", &self.accessors),
            list("animations", &self.animations),
        )
    }

    /// A file with everything in it.
    pub fn gltf(&self) -> Vec<u8> {
        let data = BASE64_STANDARD.encode(&self.bytes);
        self.with_uri(&format!("data:application/octet-stream;base64,{data}"))
    }

    /// A file whose buffer is elsewhere.
    pub fn with_uri(&self, uri: &str) -> Vec<u8> {
        self.json(&format!(r#""uri":"{uri}","#)).into_bytes()
    }

    /// A file whose buffer has no path, as in a binary file.
    pub fn without_uri(&self) -> Vec<u8> {
        self.json("").into_bytes()
    }

    /// A binary file.
    pub fn glb(&self) -> Vec<u8> {
        let padded = |mut bytes: Vec<u8>, with: u8| {
            bytes.resize(bytes.len().next_multiple_of(4), with);
            bytes
        };
        let (json, binary) = (padded(self.without_uri(), b' '), padded(self.bytes.clone(), 0));
        let number = |value: usize| (value as u32).to_le_bytes();
        let mut glb = [
            b"glTF".to_vec(),
            number(2).to_vec(),
            number(28 + json.len() + binary.len()).to_vec(),
        ]
        .concat();
        for (kind, chunk) in [(b"JSON", json), (b"BIN\0", binary)] {
            glb.extend(number(chunk.len()));
            glb.extend(kind);
            glb.extend(chunk);
        }
        glb
    }
}
