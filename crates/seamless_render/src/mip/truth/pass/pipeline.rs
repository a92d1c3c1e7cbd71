//! How meshes are drawn into pictures. See [`TruthPipeline`].

use bevy_app::App;
use bevy_asset::{AssetServer, Handle, embedded_asset, load_embedded_asset};
use bevy_ecs::prelude::*;
use bevy_mesh::{Mesh, MeshVertexBufferLayoutRef};
use bevy_render::render_resource::{
    BindGroupLayoutDescriptor, BindGroupLayoutEntries, ColorTargetState, ColorWrites, CompareFunction,
    DepthStencilState, Face, FragmentState, PrimitiveState, RenderPipelineDescriptor, SamplerBindingType, ShaderStages,
    SpecializedMeshPipeline, SpecializedMeshPipelineError, TextureSampleType, VertexState,
    binding_types::{sampler, storage_buffer_read_only_sized, texture_2d},
};
use bevy_shader::Shader;

use super::{DEPTH, TARGET};

/// How a mesh is drawn.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct TruthKey {
    /// Which texture coordinates it has.
    channels: [bool; 2],
    /// The side that is not drawn: what is behind it is seen.
    culled: Option<Face>,
}

impl TruthKey {
    pub fn of(layout: &MeshVertexBufferLayoutRef, culled: Option<Face>) -> Self {
        Self {
            channels: [Mesh::ATTRIBUTE_UV_0, Mesh::ATTRIBUTE_UV_1].map(|channel| layout.0.contains(channel)),
            culled,
        }
    }
}

/// Draws numbers instead of colours, whatever the material is.
#[derive(Resource)]
pub(super) struct TruthPipeline {
    /// Draws and the code, and its sampler.
    pub layouts: [BindGroupLayoutDescriptor; 2],
    shader: Handle<Shader>,
}

pub(in crate::mip::truth) fn add_shader(app: &mut App) {
    embedded_asset!(app, "truth.wgsl");
}

pub(super) fn start(mut commands: Commands, server: Res<AssetServer>) {
    let draws = BindGroupLayoutEntries::sequential(
        ShaderStages::VERTEX_FRAGMENT,
        (
            storage_buffer_read_only_sized(false, None),
            texture_2d(TextureSampleType::Float { filterable: true }),
        ),
    );
    let samplers = BindGroupLayoutEntries::single(ShaderStages::FRAGMENT, sampler(SamplerBindingType::Filtering));
    commands.insert_resource(TruthPipeline {
        layouts: [
            BindGroupLayoutDescriptor::new("seamless_mip_truth", &draws),
            BindGroupLayoutDescriptor::new("seamless_mip_truth_sampler", &samplers),
        ],
        shader: load_embedded_asset!(&*server, "truth.wgsl"),
    });
}

impl SpecializedMeshPipeline for TruthPipeline {
    type Key = TruthKey;

    fn specialize(
        &self,
        TruthKey { channels, culled }: TruthKey,
        layout: &MeshVertexBufferLayoutRef,
    ) -> Result<RenderPipelineDescriptor, SpecializedMeshPipelineError> {
        let [has_first, has_second] = channels;
        let mut attributes = vec![Mesh::ATTRIBUTE_POSITION.at_shader_location(0)];
        let mut defs = Vec::new();
        if has_first {
            attributes.push(Mesh::ATTRIBUTE_UV_0.at_shader_location(1));
            defs.push("UV_0".into());
        }
        if has_second {
            attributes.push(Mesh::ATTRIBUTE_UV_1.at_shader_location(2));
            defs.push("UV_1".into());
        }
        Ok(RenderPipelineDescriptor {
            label: Some("seamless_mip_truth".into()),
            layout: self.layouts.to_vec(),
            vertex: VertexState {
                shader: self.shader.clone(),
                shader_defs: defs.clone(),
                entry_point: Some("vertex".into()),
                buffers: vec![layout.0.get_layout(&attributes)?],
            },
            fragment: Some(FragmentState {
                shader: self.shader.clone(),
                shader_defs: defs,
                entry_point: Some("fragment".into()),
                targets: vec![Some(ColorTargetState {
                    format: TARGET,
                    blend: None,
                    write_mask: ColorWrites::ALL,
                })],
            }),
            primitive: PrimitiveState {
                cull_mode: culled,
                ..PrimitiveState::default()
            },
            depth_stencil: Some(DepthStencilState {
                format: DEPTH,
                depth_write_enabled: Some(true),
                depth_compare: Some(CompareFunction::GreaterEqual),
                stencil: Default::default(),
                bias: Default::default(),
            }),
            ..Default::default()
        })
    }
}
