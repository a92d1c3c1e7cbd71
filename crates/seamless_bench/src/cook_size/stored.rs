//! What our packages' bytes are for. See [`Stored`].

use bevy_image::Image;
use bevy_mesh::Mesh;
use bevy_reflect::TypePath;
use seamless_asset::{level_data::LEVEL_CLASS, package::Package};

/// Bytes of packages, by what they hold.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Stored {
    pub textures: u64,
    pub meshes: u64,
    pub levels: u64,
    /// Tables, schemas, materials, and everything else.
    pub rest: u64,
}

impl Stored {
    /// Bytes of the packages as they are.
    pub fn total(&self) -> u64 {
        self.textures + self.meshes + self.levels + self.rest
    }

    /// Adds a package, given as its file's bytes.
    pub fn add(&mut self, package: &Package, bytes: &[u8]) {
        let mut rest = bytes.len() as u64;
        for (index, export) in package.exports().iter().enumerate() {
            // Those of a copy may lie in another file.
            let payloads = package.bulk(index);
            let here = payloads.iter().filter(|payload| payload.origin == 0);
            let stored = export.stored_size + here.map(|payload| payload.stored_size).sum::<u64>();
            let Some(class) = package.class_of(index) else {
                continue;
            };
            let kind = match class.type_path.as_str() {
                path if path == Image::type_path() => &mut self.textures,
                path if path == Mesh::type_path() => &mut self.meshes,
                LEVEL_CLASS => &mut self.levels,
                _ => continue,
            };
            *kind += stored;
            rest -= stored;
        }
        self.rest += rest;
    }
}
