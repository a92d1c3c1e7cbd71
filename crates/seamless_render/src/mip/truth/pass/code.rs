//! A texture whose mips hold their own numbers. See [`Code`].

use bevy_ecs::prelude::*;
use bevy_render::{
    render_resource::{
        AddressMode, BindGroup, BindGroupEntries, BufferInitDescriptor, BufferUsages, Extent3d, FilterMode,
        MipmapFilterMode, PipelineCache, SamplerDescriptor, TextureDataOrder, TextureDescriptor, TextureDimension,
        TextureFormat, TextureUsages, TextureView, TextureViewDescriptor,
    },
    renderer::{RenderDevice, RenderQueue},
};

use super::pipeline::TruthPipeline;
use crate::mip::truth::job::{CODE_SIDE, TruthJob};

/// How many texels samplers take along a pixel, at most.
const ANISOTROPIES: [u16; 5] = [1, 2, 4, 8, 16];
/// 16-bit floats of the numbers from 0 to 8.
const NUMBERS: [u16; 9] = [0, 0x3c00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600, 0x4700, 0x4800];

/// What is sampled instead of materials' textures: what comes of it is which mip was sampled.
#[derive(Resource)]
pub(super) struct Code {
    view: TextureView,
    samplers: [BindGroup; 5],
}

pub(super) fn start(
    mut commands: Commands,
    device: Res<RenderDevice>,
    queue: Res<RenderQueue>,
    cache: Res<PipelineCache>,
    pipeline: Res<TruthPipeline>,
) {
    let texels = (0..).zip(NUMBERS).flat_map(|(mip, number)| {
        let side = (CODE_SIDE >> mip) as usize;
        core::iter::repeat_n(number.to_le_bytes(), side * side)
    });
    let texture = device.create_texture_with_data(
        &queue,
        &TextureDescriptor {
            label: Some("seamless_mip_code"),
            size: Extent3d {
                width: CODE_SIDE,
                height: CODE_SIDE,
                depth_or_array_layers: 1,
            },
            mip_level_count: NUMBERS.len() as u32,
            sample_count: 1,
            dimension: TextureDimension::D2,
            format: TextureFormat::R16Float,
            usage: TextureUsages::TEXTURE_BINDING | TextureUsages::COPY_DST,
            view_formats: &[],
        },
        TextureDataOrder::MipMajor,
        texels.flatten().collect::<Vec<u8>>().as_slice(),
    );
    let layout = cache.get_bind_group_layout(&pipeline.layouts[1]);
    let samplers = ANISOTROPIES.map(|anisotropy_clamp| {
        let sampler = device.create_sampler(&SamplerDescriptor {
            label: Some("seamless_mip_code"),
            address_mode_u: AddressMode::Repeat,
            address_mode_v: AddressMode::Repeat,
            mag_filter: FilterMode::Linear,
            min_filter: FilterMode::Linear,
            mipmap_filter: MipmapFilterMode::Linear,
            anisotropy_clamp,
            ..Default::default()
        });
        device.create_bind_group("seamless_mip_code", &layout, &BindGroupEntries::single(&sampler))
    });
    commands.insert_resource(Code {
        view: texture.create_view(&TextureViewDescriptor::default()),
        samplers,
    });
}

impl Code {
    /// The sampler that takes as many texels along a pixel.
    pub fn sampler(&self, anisotropy: u16) -> &BindGroup {
        let at = ANISOTROPIES.partition_point(|clamp| *clamp <= anisotropy.max(1));
        &self.samplers[at - 1]
    }

    /// All draws of a job, as the shader takes them.
    pub fn draws(
        &self,
        device: &RenderDevice,
        cache: &PipelineCache,
        pipeline: &TruthPipeline,
        job: &TruthJob,
    ) -> BindGroup {
        let mut bytes = Vec::with_capacity(job.draws.len() * 112);
        for (number, draw) in (0_u32..).zip(&job.draws) {
            let floats = draw.clip_from_local.to_cols_array();
            let floats = floats
                .into_iter()
                .chain(draw.codes.iter().flat_map(|code| code.columns));
            floats.for_each(|float| bytes.extend(float.to_le_bytes()));
            let channels = draw.codes.map(|code| u32::from(code.channel));
            let info = [number, channels[0] | channels[1] << 1, job.bias.to_bits(), 0];
            info.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
        }
        let buffer = device.create_buffer_with_data(&BufferInitDescriptor {
            label: Some("seamless_mip_truth"),
            contents: &bytes,
            usage: BufferUsages::STORAGE,
        });
        let layout = cache.get_bind_group_layout(&pipeline.layouts[0]);
        let entries = BindGroupEntries::sequential((buffer.as_entire_binding(), &self.view));
        device.create_bind_group("seamless_mip_truth", &layout, &entries)
    }
}
