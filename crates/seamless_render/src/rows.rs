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
use seamless_asset::{SeamlessAssetApp, assets::MeshUvDensity, placed_row};

/// Announces sets of components, and each of them with the [`MeshUvDensity`] that the cooker gives to what draws a mesh.
macro_rules! announce {
    ($app:expr, $(($($component:ty),*)),* $(,)?) => {
        $app$(
            .add_spawn_row::<($($component,)*)>()
            .add_spawn_row::<($($component,)* MeshUvDensity,)>()
        )*
    };
}

/// Announces the sets that entities with `MeshMaterial3d<M>` usually have.
pub(crate) fn announce<M: Material + Reflect>(app: &mut App) {
    // As running worlds are saved.
    app.add_spawn_row::<placed_row!(Mesh3d, MeshMaterial3d<M>)>()
        .add_spawn_row::<placed_row!(Mesh3d, MeshMaterial3d<M>, Name)>()
        .add_spawn_row::<placed_row!(Mesh3d, MeshMaterial3d<M>, Aabb)>()
        .add_spawn_row::<placed_row!(Mesh3d, MeshMaterial3d<M>, Aabb, Name)>()
        .add_spawn_row::<placed_row!(Mesh3d, MeshMaterial3d<M>, MeshUvDensity)>()
        .add_spawn_row::<placed_row!(Mesh3d, MeshMaterial3d<M>, Name, MeshUvDensity)>()
        .add_spawn_row::<placed_row!(Mesh3d, MeshMaterial3d<M>, Aabb, MeshUvDensity)>()
        .add_spawn_row::<placed_row!(Mesh3d, MeshMaterial3d<M>, Aabb, Name, MeshUvDensity)>();
    // As scenes are written by hand: the rest comes with these.
    announce!(
        app,
        (Transform, Visibility, ChildOf, Mesh3d, MeshMaterial3d<M>),
        (Transform, Visibility, ChildOf, Mesh3d, MeshMaterial3d<M>, Name),
        (Transform, Visibility, ChildOf, Mesh3d, MeshMaterial3d<M>, Children),
        (
            Transform,
            Visibility,
            ChildOf,
            Mesh3d,
            MeshMaterial3d<M>,
            Name,
            Children
        ),
    );
    #[cfg(feature = "gltf")]
    announce_gltf::<M>(app);
}

/// Bevy's glTF loader knows no visibility; it comes with the mesh when the primitive is spawned.
#[cfg(feature = "gltf")]
fn announce_gltf<M: Material + Reflect>(app: &mut App) {
    use bevy_gltf::{GltfMaterialName, GltfMeshName};
    use bevy_transform::components::{GlobalTransform, TransformTreeChanged};

    macro_rules! primitive {
        ($(($($name:ty),*)),*) => {
            announce!(app, $((
                Transform, GlobalTransform, TransformTreeChanged, ChildOf, Name, Aabb, Mesh3d, MeshMaterial3d<M> $(, $name)*
            )),*)
        };
    }
    primitive!((), (GltfMaterialName), (GltfMeshName), (GltfMaterialName, GltfMeshName));
}
