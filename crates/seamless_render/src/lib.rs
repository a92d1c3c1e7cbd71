//! The part of bevy_seamless that needs a renderer.
//!
//! * [`StandardMaterialCodec`] puts `StandardMaterial`s into packages; [`SeamlessRenderApp::add_streamed_material`] adds a
//!   game's own material types.
//! * [`GpuGate`] holds a level's reveal back until its meshes, images and materials are on the GPU, [`PipelineGate`] until the pipelines
//!   that draw it are compiled, so that nothing pops in.
//! * Lights that come with a level shine from its first frame on: Bevy is told that there may be some, and gets room for about seven hundred of them in view
//!   ([`GlobalClusterGpuSettings`](bevy_light::cluster::GlobalClusterGpuSettings); for more, set it in `Startup`).
//! * Levels that are [hidden](seamless_asset::InHiddenLevel) are not drawn, lights and cameras included.
//! * [`mip`] decides which mips of which textures are to be resident.
//! * Uploads are paced before they reach Bevy, by
//!   [`StreamingSettings::upload_bytes_per_frame`](seamless_asset::StreamingSettings::upload_bytes_per_frame): Bevy's own
//!   limit applies to the render world only, after the main world has paid for the extraction.
#![forbid(unsafe_code)]

mod clusters;
mod drawn;
mod gate;
mod hide;
mod material;
mod pipelines;
mod rows;
mod sync;
#[cfg(test)]
mod tests;

pub mod mip;

pub use gate::GpuGate;
pub use material::StandardMaterialCodec;
pub use pipelines::PipelineGate;

use core::{any::TypeId, hash::Hash};

use bevy_app::{App, Plugin};
use bevy_ecs::schedule::{IntoScheduleConfigs, common_conditions::resource_exists};
use bevy_pbr::{Material, MeshMaterial3d, StandardMaterial, ViewKeyCache, check_views_lights_need_specialization};
use bevy_reflect::Reflect;
use bevy_render::{Render, RenderApp, RenderStartup, RenderSystems};
use seamless_asset::{RevealGates, SeamlessAssetApp, codec::HandleCodec, package::Role};

/// Adds the codecs of materials and, where there is a renderer, the gate that waits for it.
///
/// Add it after Bevy's `PbrPlugin` and after `SeamlessAssetPlugin`. Without a GPU (`backends: None`) there is nothing to wait for,
/// and no gate; lights and cameras can leave all the same, which Bevy alone answers with a panic there. Do not add Bevy's
/// `SyncWorldPlugin` against that: nothing would empty its queue, 24 bytes for each light and camera that comes or goes.
#[derive(Default)]
pub struct SeamlessRenderPlugin;

impl Plugin for SeamlessRenderPlugin {
    fn build(&self, app: &mut App) {
        app.init_resource::<GpuGate>()
            .init_resource::<PipelineGate>()
            .init_resource::<RevealGates>()
            .add_level_scan(drawn::own_lights)
            .add_asset_codec::<StandardMaterialCodec>()
            .add_streamed_material::<StandardMaterial>();
        clusters::add_systems(app);
    }

    /// The render app is there only after `RenderPlugin` has built.
    fn finish(&self, app: &mut App) {
        hide::add_hider(app);
        clusters::make_room(app);
        let gate = app.world().resource::<GpuGate>().clone();
        let pipelines = app.world().resource::<PipelineGate>().clone();
        let Some(render_app) = app.get_sub_app_mut(RenderApp) else {
            sync::drain_without_renderer(app);
            return;
        };
        render_app
            .insert_resource(gate.clone())
            .insert_resource(pipelines.clone())
            .init_resource::<pipelines::Warming>()
            .add_systems(RenderStartup, (gate::start_over, pipelines::start_over))
            .add_systems(
                Render,
                (
                    // What views add to pipelines is known by then.
                    pipelines::ask_for_pipelines
                        .in_set(RenderSystems::Specialize)
                        .after(check_views_lights_need_specialization)
                        .run_if(resource_exists::<ViewKeyCache>),
                    (gate::note_prepared, pipelines::note_compiled)
                        .chain()
                        .in_set(RenderSystems::Cleanup),
                ),
            );
        hide::hide_from_gpu(render_app);
        let mut gates = app.world_mut().resource_mut::<RevealGates>();
        gates.0.push(Box::new(gate));
        gates.0.push(Box::new(pipelines));
    }
}

/// Adds material types to an app.
pub trait SeamlessRenderApp {
    /// Streams entities with `MeshMaterial3d<M>`, and waits until their materials are prepared. The material itself needs
    /// an asset codec: [`SeamlessAssetApp::add_asset_codec`], or [`SeamlessAssetApp::cook_by_reflection`].
    fn add_streamed_material<M: Material + Reflect>(&mut self) -> &mut Self
    where
        M::Data: PartialEq + Eq + Hash + Clone;
}

impl SeamlessRenderApp for App {
    fn add_streamed_material<M: Material + Reflect>(&mut self) -> &mut Self
    where
        M::Data: PartialEq + Eq + Hash + Clone,
    {
        self.init_resource::<GpuGate>().init_resource::<PipelineGate>();
        self.world().resource::<GpuGate>().add_material(TypeId::of::<M>());
        self.world().resource::<PipelineGate>().add_material(drawn::found::<M>);
        self.add_level_scan(drawn::drawn_with::<M>);
        let mut materials = self.world_mut().get_resource_or_init::<hide::StreamedMaterials>();
        materials.add::<M>();
        self.add_component_codec(HandleCodec::<MeshMaterial3d<M>, M>::new(
            Role::CLIENT,
            |material| &material.0,
            MeshMaterial3d,
        ));
        rows::announce::<M>(self);
        mip::MipApp::add_mip_material::<M>(self)
    }
}
