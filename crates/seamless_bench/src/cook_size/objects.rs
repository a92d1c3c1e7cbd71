//! Textures and meshes out of packages. See [`Objects`].

use std::collections::HashSet;

use bevy_image::Image;
use bevy_mesh::Mesh;
use bevy_reflect::{TypePath, TypeRegistry};
use seamless_asset::{
    assets::{ImageCodec, MeshCodec},
    codec::{AssetCodec, DecodeContext},
    package::{ObjectId, Package},
};

/// What is stored outside of levels.
pub enum Object {
    Image(Box<Image>),
    Mesh(Box<Mesh>),
}

/// Which objects were met: one that several packages hold counts once.
#[derive(Default)]
pub struct Objects {
    known: HashSet<ObjectId>,
    /// Neither textures nor meshes look at types.
    registry: TypeRegistry,
}

impl Objects {
    /// The textures and meshes of a package, given as its file's bytes, that were not met before.
    pub fn new_ones(&mut self, package: &Package, bytes: &[u8]) -> Vec<Object> {
        let mut objects = Vec::new();
        for (index, export) in package.exports().iter().enumerate() {
            let class = package.class_of(index).map_or("", |schema| schema.type_path.as_str());
            let is_image = class == Image::type_path();
            if (is_image || class == Mesh::type_path()) && self.known.insert(export.object_id) {
                objects.push(self.decode(package, index, bytes, is_image));
            }
        }
        objects
    }

    fn decode(&self, package: &Package, index: usize, bytes: &[u8], is_image: bool) -> Object {
        let data = package.export_data(index, bytes, 0).expect("the package is sound");
        let payload = |number| {
            package
                .bulk_data(index, number, bytes, 0)
                .expect("the package is sound")
        };
        let bulk = (0..package.bulk(index).len()).map(|number| payload(number).into_owned());
        let bulk: Vec<Vec<u8>> = bulk.collect();
        let context = DecodeContext {
            registry: &self.registry,
            entities: &[],
            handles: &[],
            mesh_attributes: &[],
        };
        if is_image {
            Object::Image(Box::new(ImageCodec::decode(&data, bulk, &context).expect("a texture")))
        } else {
            Object::Mesh(Box::new(MeshCodec::decode(&data, bulk, &context).expect("a mesh")))
        }
    }
}
