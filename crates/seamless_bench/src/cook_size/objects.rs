//! Textures and meshes out of packages. See [`Objects`].

use bevy_image::Image;
use bevy_mesh::Mesh;
use bevy_reflect::{TypePath, TypeRegistry};
use seamless_asset::{
    assets::{ImageCodec, MeshCodec},
    codec::{AssetCodec, DecodeContext},
    package::Package,
};

/// What is stored outside of levels.
pub enum Object {
    Image(Box<Image>),
    Mesh(Box<Mesh>),
}

/// Decodes objects. Neither textures nor meshes look at types.
#[derive(Default)]
pub struct Objects {
    registry: TypeRegistry,
}

impl Objects {
    /// The textures and meshes that are at home in a package, given as its file's bytes. Copies are not: they would count twice.
    pub fn of(&self, package: &Package, bytes: &[u8]) -> Vec<Object> {
        let own = package
            .exports()
            .iter()
            .enumerate()
            .filter(|(_, export)| !export.is_forced());
        own.filter_map(|(index, _)| {
            let class = package.class_of(index)?.type_path.as_str();
            let is_image = class == Image::type_path();
            (is_image || class == Mesh::type_path()).then(|| self.decode(package, index, bytes, is_image))
        })
        .collect()
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
            object: None,
        };
        if is_image {
            Object::Image(Box::new(ImageCodec::decode(&data, bulk, &context).expect("a texture")))
        } else {
            Object::Mesh(Box::new(MeshCodec::decode(&data, bulk, &context).expect("a mesh")))
        }
    }
}
