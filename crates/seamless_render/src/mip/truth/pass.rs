//! Draws pictures of which mip each pixel samples. See [`RenderTruth`].

mod code;
mod pipeline;
mod read;

use bevy_app::SubApp;
use bevy_ecs::prelude::*;
use bevy_mesh::PrimitiveTopology;
use bevy_render::{
    ExtractSchedule, GpuResourceAppExt, Render, RenderStartup, RenderSystems,
    mesh::{RenderMesh, RenderMeshBufferInfo, allocator::MeshAllocator},
    render_asset::RenderAssets,
    render_phase::TrackedRenderPass,
    render_resource::{
        BindGroup, CachedRenderPipelineId, CommandEncoderDescriptor, Extent3d, LoadOp, Operations, PipelineCache,
        PollType, RenderPassColorAttachment, RenderPassDepthStencilAttachment, RenderPassDescriptor,
        SpecializedMeshPipelines, StoreOp, Texture, TextureDescriptor, TextureDimension, TextureFormat, TextureUsages,
        TextureViewDescriptor,
    },
    renderer::{RenderDevice, RenderQueue},
};

use super::{
    MipTruth,
    job::{JobDraw, TruthJob},
};
use code::Code;
pub(super) use pipeline::add_shader;
use pipeline::{TruthKey, TruthPipeline};

/// The draw and one, and both layers.
const TARGET: TextureFormat = TextureFormat::Rg32Uint;
const DEPTH: TextureFormat = TextureFormat::Depth32Float;
/// So many frames are waited for pipelines.
const PATIENCE: u32 = 600;

/// The picture that is under way in the render world.
#[derive(Resource, Default)]
struct RenderTruth {
    job: Option<TruthJob>,
    /// One for each draw; none for what is not drawn.
    pipelines: Vec<Option<CachedRenderPipelineId>>,
    /// How many frames the pipelines have been waited for.
    waited: u32,
    /// The GPU has not told yet what it has drawn.
    is_read: bool,
}

/// Adds all systems to the render world.
pub(super) fn add_systems(render: &mut SubApp, truth: MipTruth) {
    render
        .insert_resource(truth)
        .init_resource::<RenderTruth>()
        .init_gpu_resource::<SpecializedMeshPipelines<TruthPipeline>>()
        .add_systems(RenderStartup, ((pipeline::start, code::start).chain(), start_over))
        .add_systems(ExtractSchedule, take_job)
        .add_systems(
            Render,
            (
                specialize.in_set(RenderSystems::PrepareResources),
                // Pipelines are compiled, and what they draw is on the device.
                draw.in_set(RenderSystems::Cleanup),
            ),
        );
}

/// On another device, pipelines are others, and what the last one was to read back never comes.
fn start_over(truth: Res<MipTruth>, mut render: ResMut<RenderTruth>) {
    render.pipelines.clear();
    (render.waited, render.is_read) = (0, false);
    truth.start_over(render.job.is_some());
}

fn take_job(truth: Res<MipTruth>, mut render: ResMut<RenderTruth>) {
    if let Some(job) = truth.lock().job.take() {
        render.job = Some(job);
        render.pipelines.clear();
        render.waited = 0;
    }
}

/// Asks for the pipelines of what is drawn.
fn specialize(
    mut render: ResMut<RenderTruth>,
    mut pipelines: ResMut<SpecializedMeshPipelines<TruthPipeline>>,
    pipeline: Res<TruthPipeline>,
    cache: Res<PipelineCache>,
    meshes: Res<RenderAssets<RenderMesh>>,
) {
    let render = &mut *render;
    let Some(job) = render.job.as_mut().filter(|_| render.pipelines.is_empty()) else {
        return;
    };
    for draw in &job.draws {
        let mesh = meshes.get(draw.mesh);
        let id = mesh.filter(|mesh| mesh.primitive_topology() == PrimitiveTopology::TriangleList);
        let id = id.and_then(|mesh| {
            let key = TruthKey::of(&mesh.layout, draw.culled);
            pipelines.specialize(&cache, &pipeline, key, &mesh.layout).ok()
        });
        render.pipelines.push(id);
    }
    // What is not drawn is not known.
    for (told, id) in job.picture.draws.iter().zip(&render.pipelines) {
        if id.is_none() {
            let layers = told.layers.iter().map(|layer| layer.number);
            job.picture.unknown.extend(layers);
        }
    }
}

/// Draws the picture, once all pipelines are there.
fn draw(
    mut render: ResMut<RenderTruth>,
    cache: Res<PipelineCache>,
    pipeline: Res<TruthPipeline>,
    code: Res<Code>,
    (meshes, allocator): (Res<RenderAssets<RenderMesh>>, Res<MeshAllocator>),
    (device, queue): (Res<RenderDevice>, Res<RenderQueue>),
    truth: Res<MipTruth>,
) {
    if render.is_read {
        if let Err(error) = device.poll(PollType::Poll) {
            bevy_log::debug!("the device cannot be polled: {error}");
        }
        render.is_read = truth.lock().drawn_for.is_some();
    }
    if render.job.is_none() {
        return;
    }
    let is_ready = |id: &CachedRenderPipelineId| cache.get_render_pipeline(*id).is_some();
    if !render.pipelines.iter().flatten().all(is_ready) {
        render.waited += 1;
        if render.waited > PATIENCE {
            bevy_log::error!(
                "no picture of the mips that are sampled: its shader is not there after {PATIENCE} frames"
            );
            render.job = None;
            truth.done(truth.device(), None);
        }
        return;
    }
    let Some(job) = render.job.take() else { return };
    render.is_read = true;
    if job.draws.is_empty() {
        return truth.done(truth.device(), Some(job.picture));
    }
    let drawing = Drawing {
        cache: &cache,
        device: &device,
        meshes: &meshes,
        allocator: &allocator,
        code: &code,
        draws: code.draws(&device, &cache, &pipeline, &job),
    };
    let target = drawing.target(&job, TARGET, TextureUsages::COPY_SRC);
    let mut encoder = device.create_command_encoder(&CommandEncoderDescriptor {
        label: Some("seamless_mip_truth"),
    });
    drawing.record(&mut encoder, &job, &render.pipelines, &target);
    let reading = read::Reading::new(&device, &mut encoder, &target, job.picture);
    queue.submit([encoder.finish()]);
    reading.start(truth.clone());
}

/// What draws need.
struct Drawing<'a> {
    cache: &'a PipelineCache,
    device: &'a RenderDevice,
    meshes: &'a RenderAssets<RenderMesh>,
    allocator: &'a MeshAllocator,
    code: &'a Code,
    draws: BindGroup,
}

impl Drawing<'_> {
    fn target(&self, job: &TruthJob, format: TextureFormat, usage: TextureUsages) -> Texture {
        self.device.create_texture(&TextureDescriptor {
            label: Some("seamless_mip_truth"),
            size: Extent3d {
                width: job.picture.width,
                height: job.picture.height,
                depth_or_array_layers: 1,
            },
            mip_level_count: 1,
            sample_count: 1,
            dimension: TextureDimension::D2,
            format,
            usage: TextureUsages::RENDER_ATTACHMENT | usage,
            view_formats: &[],
        })
    }

    fn record(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        job: &TruthJob,
        pipelines: &[Option<CachedRenderPipelineId>],
        target: &Texture,
    ) {
        let depth = self.target(job, DEPTH, TextureUsages::empty());
        let view = |texture: &Texture| texture.create_view(&TextureViewDescriptor::default());
        let (target, depth) = (view(target), view(&depth));
        let pass = encoder.begin_render_pass(&RenderPassDescriptor {
            label: Some("seamless_mip_truth"),
            color_attachments: &[Some(RenderPassColorAttachment {
                view: &target,
                depth_slice: None,
                resolve_target: None,
                ops: Operations {
                    load: LoadOp::Clear(wgpu::Color::TRANSPARENT),
                    store: StoreOp::Store,
                },
            })],
            depth_stencil_attachment: Some(RenderPassDepthStencilAttachment {
                view: &depth,
                // Far away, as Bevy has it.
                depth_ops: Some(Operations {
                    load: LoadOp::Clear(0.0),
                    store: StoreOp::Discard,
                }),
                stencil_ops: None,
            }),
            ..Default::default()
        });
        let mut pass = TrackedRenderPass::new(self.device, pass);
        pass.set_bind_group(0, &self.draws, &[]);
        for ((number, draw), pipeline) in (0..).zip(&job.draws).zip(pipelines) {
            let pipeline = pipeline.and_then(|id| self.cache.get_render_pipeline(id));
            if let Some(pipeline) = pipeline {
                pass.set_render_pipeline(pipeline);
                pass.set_bind_group(1, self.code.sampler(draw.anisotropy), &[]);
                self.draw(&mut pass, number, draw);
            }
        }
    }

    fn draw<'a>(&'a self, pass: &mut TrackedRenderPass<'a>, number: u32, draw: &JobDraw) {
        let slice = self.allocator.mesh_vertex_slice(&draw.mesh);
        let (Some(mesh), Some(vertices)) = (self.meshes.get(draw.mesh), slice) else {
            return;
        };
        pass.set_vertex_buffer(0, vertices.buffer.slice(..));
        match &mesh.buffer_info {
            RenderMeshBufferInfo::Indexed { count, index_format } => {
                let Some(indices) = self.allocator.mesh_index_slice(&draw.mesh) else {
                    return;
                };
                let first = indices.range.start;
                pass.set_index_buffer(indices.buffer.slice(..), *index_format);
                pass.draw_indexed(first..first + count, vertices.range.start as i32, number..number + 1);
            }
            RenderMeshBufferInfo::NonIndexed => pass.draw(vertices.range, number..number + 1),
        }
    }
}
