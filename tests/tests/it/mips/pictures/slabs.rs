//! Bindless materials that do not fit into one slab: each slab has arrays of textures of its own.

use std::{collections::HashSet, fs};

use bevy::{
    pbr::{RenderMaterialBindings, material_uses_bindless_resources},
    prelude::*,
    render::{RenderApp, render_resource::AsBindGroup, renderer::RenderDevice},
    shader::ShaderRef,
};
use bevy_seamless::render::SeamlessRenderApp;
use seamless_tests::{picture::has_driver, skip::skipped_unless_required};

use super::{super::stage::Stage, TEXTURES, walk, write_all};

/// So many textures are in one slab at most.
const LIMIT: usize = 4;

#[derive(Asset, AsBindGroup, Reflect, Clone)]
#[bindless(limit(4))]
struct Few {
    #[texture(0)]
    #[sampler(1)]
    picture: Handle<Image>,
}

/// Shows the finest mip that is there.
const SHADER: &str = "
#import bevy_pbr::{forward_io::VertexOutput, mesh_bindings::mesh}
#ifdef BINDLESS
#import bevy_render::bindless::{bindless_samplers_filtering, bindless_textures_2d}
struct Bindings { picture: u32, picture_sampler: u32 }
@group(#{MATERIAL_BIND_GROUP}) @binding(0) var<storage> indices: array<Bindings>;
#else
@group(#{MATERIAL_BIND_GROUP}) @binding(0) var picture: texture_2d<f32>;
@group(#{MATERIAL_BIND_GROUP}) @binding(1) var picture_sampler: sampler;
#endif
@fragment
fn fragment(in: VertexOutput) -> @location(0) vec4<f32> {
#ifdef BINDLESS
    let slot = mesh[in.instance_index].material_and_lightmap_bind_group_slot & 0xffffu;
    let texture = indices[slot].picture;
    let texture_sampler = indices[slot].picture_sampler;
    return textureSampleLevel(bindless_textures_2d[texture], bindless_samplers_filtering[texture_sampler], in.uv, 0.0);
#else
    return textureSampleLevel(picture, picture_sampler, in.uv, 0.0);
#endif
}
";

impl Material for Few {
    fn fragment_shader() -> ShaderRef {
        "few.wgsl".into()
    }
}

#[test]
fn so_does_each_frame_with_materials_in_several_slabs() {
    if !has_driver() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    write_all(dir.path());
    fs::write(dir.path().join("few.wgsl"), SHADER).expect("it is written");
    let mut stage = Stage::new(dir.path(), |app| {
        app.add_plugins(MaterialPlugin::<Few>::default())
            .add_streamed_material::<Few>();
    });
    let device = stage.app.world().resource::<RenderDevice>();
    if !material_uses_bindless_resources::<Few>(device) {
        let why = "the driver has no arrays of textures, so each material has a bind group of its own";
        return skipped_unless_required("SEAMLESS_REQUIRE_BINDLESS", why);
    }
    walk(&mut stage, |picture| Few { picture });
    let bindings = stage
        .app
        .sub_app(RenderApp)
        .world()
        .resource::<RenderMaterialBindings>();
    let slabs: HashSet<u32> = bindings.values().map(|binding| binding.group.0).collect();
    assert!(slabs.len() >= TEXTURES / LIMIT, "{} slabs", slabs.len());
}
