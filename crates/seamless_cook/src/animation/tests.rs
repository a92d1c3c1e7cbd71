//! What is read from glTF files is what Bevy loads from them. The files are made here.

mod builder;
mod errors;
mod oracle;
mod player;

use std::io;

use super::*;

/// Reads no file: everything is in the glTF file.
fn no_file(path: &str) -> io::Result<Vec<u8>> {
    Err(io::Error::other(format!("nobody asked for `{path}`")))
}

fn clips(gltf: &[u8]) -> Vec<GltfClip> {
    clips_of_gltf(gltf, no_file).unwrap()
}
