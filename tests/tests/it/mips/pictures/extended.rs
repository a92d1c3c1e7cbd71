//! Bevy's own `ExtendedMaterial`: what it extends and what it adds both have images.

use bevy::{
    pbr::{ExtendedMaterial, MaterialExtension, material_uses_bindless_resources},
    prelude::*,
    render::{render_resource::AsBindGroup, renderer::RenderDevice},
};
use bevy_seamless::render::SeamlessRenderApp;
use seamless_tests::{picture::has_driver, skip::skipped_unless_required};

use super::{
    super::stage::{Stage, unlit},
    walk, write_all,
};

/// An image more, which keeps its old texture for as long as it is bound.
#[derive(Asset, AsBindGroup, Reflect, Clone)]
struct Detail {
    #[texture(100)]
    #[sampler(101)]
    detail: Handle<Image>,
}

impl MaterialExtension for Detail {}

/// The same in an array of textures, where the driver has those.
#[derive(Asset, AsBindGroup, Reflect, Clone)]
#[bindless(index_table(range(50..52), binding(100)))]
struct BindlessDetail {
    #[texture(50)]
    #[sampler(51)]
    detail: Handle<Image>,
}

impl MaterialExtension for BindlessDetail {}

fn stage<E: MaterialExtension + Reflect>(dir: &std::path::Path) -> Stage
where
    ExtendedMaterial<StandardMaterial, E>: Material + Reflect,
    <ExtendedMaterial<StandardMaterial, E> as AsBindGroup>::Data: PartialEq + Eq + core::hash::Hash + Clone,
{
    write_all(dir);
    Stage::new(dir, |app| {
        app.add_plugins(MaterialPlugin::<ExtendedMaterial<StandardMaterial, E>>::default())
            .add_streamed_material::<ExtendedMaterial<StandardMaterial, E>>();
    })
}

#[test]
fn so_does_each_frame_with_extended_materials() {
    if !has_driver() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut stage = stage::<Detail>(dir.path());
    walk(&mut stage, |image| ExtendedMaterial {
        base: unlit(image.clone()),
        extension: Detail { detail: image },
    });
}

#[test]
fn so_does_each_frame_with_extended_materials_that_are_bindless() {
    if !has_driver() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut stage = stage::<BindlessDetail>(dir.path());
    let device = stage.app.world().resource::<RenderDevice>();
    if !material_uses_bindless_resources::<ExtendedMaterial<StandardMaterial, BindlessDetail>>(device) {
        let why = "the driver has no arrays of textures, so this is the same as without them";
        return skipped_unless_required("SEAMLESS_REQUIRE_BINDLESS", why);
    }
    walk(&mut stage, |image| ExtendedMaterial {
        base: unlit(image.clone()),
        extension: BindlessDetail { detail: image },
    });
}
