//! Materials that make their bind groups themselves, as those do that have arrays of textures.

use std::fs;

use bevy::{
    ecs::system::{SystemParamItem, lifetimeless::SRes},
    prelude::*,
    render::{
        render_asset::RenderAssets,
        render_resource::{
            AsBindGroup, AsBindGroupError, BindGroupEntries, BindGroupLayout, BindGroupLayoutDescriptor,
            BindGroupLayoutEntries, BindGroupLayoutEntry, BindingResources, PipelineCache, PreparedBindGroup,
            SamplerBindingType, ShaderStages, TextureSampleType, UnpreparedBindGroup,
            binding_types::{sampler, texture_2d},
        },
        renderer::RenderDevice,
        texture::GpuImage,
    },
    shader::ShaderRef,
};
use bevy_seamless::render::mip::MipApp;
use seamless_tests::picture::has_driver;

use super::{
    pictures::{walk, write_all},
    stage::Stage,
};

#[derive(Asset, Reflect, Clone)]
struct Direct {
    picture: Handle<Image>,
}

const SHADER: &str = "
#import bevy_pbr::forward_io::VertexOutput
@group(#{MATERIAL_BIND_GROUP}) @binding(0) var picture: texture_2d<f32>;
@group(#{MATERIAL_BIND_GROUP}) @binding(1) var picture_sampler: sampler;
@fragment
fn fragment(in: VertexOutput) -> @location(0) vec4<f32> {
    return textureSample(picture, picture_sampler, in.uv / 64.0);
}
";

impl Material for Direct {
    fn fragment_shader() -> ShaderRef {
        "direct.wgsl".into()
    }
}

impl AsBindGroup for Direct {
    type Data = ();
    type Param = SRes<RenderAssets<GpuImage>>;

    fn label() -> &'static str {
        "direct"
    }

    fn as_bind_group(
        &self,
        layout: &BindGroupLayoutDescriptor,
        device: &RenderDevice,
        cache: &PipelineCache,
        images: &mut SystemParamItem<'_, '_, Self::Param>,
    ) -> Result<PreparedBindGroup, AsBindGroupError> {
        let image = images.get(&self.picture).ok_or(AsBindGroupError::RetryNextUpdate)?;
        let entries = BindGroupEntries::sequential((&image.texture_view, &image.sampler));
        let layout = cache.get_bind_group_layout(layout);
        Ok(PreparedBindGroup {
            bindings: BindingResources(vec![]),
            bind_group: device.create_bind_group("direct", &layout, &entries),
        })
    }

    fn bind_group_data(&self) {}

    fn unprepared_bind_group(
        &self,
        _: &BindGroupLayout,
        _: &RenderDevice,
        _: &mut SystemParamItem<'_, '_, Self::Param>,
        _: bool,
    ) -> Result<UnpreparedBindGroup, AsBindGroupError> {
        Err(AsBindGroupError::CreateBindGroupDirectly)
    }

    fn bind_group_layout_entries(_: &RenderDevice, _: bool) -> Vec<BindGroupLayoutEntry> {
        let float = TextureSampleType::Float { filterable: true };
        let bindings = (texture_2d(float), sampler(SamplerBindingType::Filtering));
        BindGroupLayoutEntries::sequential(ShaderStages::FRAGMENT, bindings).to_vec()
    }
}

/// Bevy gives each bind group of theirs another place, and lets go of none.
#[test]
fn bind_groups_that_materials_make_themselves_show_the_mips_that_are_there() {
    if !has_driver() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    fs::write(dir.path().join("direct.wgsl"), SHADER).expect("it is written");
    write_all(dir.path());
    let mut stage = Stage::new(dir.path(), |app| {
        app.add_plugins(MaterialPlugin::<Direct>::default())
            .add_mip_material::<Direct>();
    });
    walk(&mut stage, |picture| Direct { picture });
}
