//! The usual sets of components of something drawn, announced for faster reveals. See [`announce`].

use bevy_app::App;
use bevy_camera::{primitives::Aabb, visibility::Visibility};
use bevy_ecs::{
    hierarchy::{ChildOf, Children},
    name::Name,
};
use bevy_mesh::Mesh3d;
use bevy_pbr::{Material, MeshMaterial3d};
use bevy_reflect::Reflect;
use bevy_transform::components::Transform;
use seamless_asset::{SeamlessAssetApp, placed_row};

/// Announces the sets that entities with `MeshMaterial3d<M>` usually have.
pub(crate) fn announce<M: Material + Reflect>(app: &mut App) {
    // As running worlds are saved.
    app.add_spawn_row::<placed_row!(Mesh3d, MeshMaterial3d<M>)>()
        .add_spawn_row::<placed_row!(Mesh3d, MeshMaterial3d<M>, Name)>()
        .add_spawn_row::<placed_row!(Mesh3d, MeshMaterial3d<M>, Aabb)>()
        .add_spawn_row::<placed_row!(Mesh3d, MeshMaterial3d<M>, Aabb, Name)>();
    // As scenes are written by hand: the rest comes with these.
    app.add_spawn_row::<(Transform, Visibility, ChildOf, Mesh3d, MeshMaterial3d<M>)>()
        .add_spawn_row::<(Transform, Visibility, ChildOf, Mesh3d, MeshMaterial3d<M>, Name)>()
        .add_spawn_row::<(Transform, Visibility, ChildOf, Mesh3d, MeshMaterial3d<M>, Children)>()
        .add_spawn_row::<(
            Transform,
            Visibility,
            ChildOf,
            Mesh3d,
            MeshMaterial3d<M>,
            Name,
            Children,
        )>();
    #[cfg(feature = "gltf")]
    announce_gltf::<M>(app);
}

/// Bevy's glTF loader knows no visibility; it comes with the mesh when the primitive is spawned.
#[cfg(feature = "gltf")]
fn announce_gltf<M: Material + Reflect>(app: &mut App) {
    use bevy_gltf::{GltfMaterialName, GltfMeshName};
    use bevy_transform::components::{GlobalTransform, TransformTreeChanged};

    macro_rules! primitive {
        ($($name:ty),*) => {
            (Transform, GlobalTransform, TransformTreeChanged, ChildOf, Name, Aabb, Mesh3d, MeshMaterial3d<M>, $($name),*)
        };
    }
    app.add_spawn_row::<primitive!()>()
        .add_spawn_row::<primitive!(GltfMaterialName)>()
        .add_spawn_row::<primitive!(GltfMeshName)>()
        .add_spawn_row::<primitive!(GltfMaterialName, GltfMeshName)>();
}
