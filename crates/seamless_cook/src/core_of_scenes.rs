//! Bevy's core pipeline, as far as scenes know it. See [`CoreOfScenes`].

#[cfg(test)]
mod tests;

use bevy::core_pipeline::blit::BlitPlugin;
use bevy::core_pipeline::core_2d::Core2dPlugin;
use bevy::core_pipeline::core_3d::Core3dPlugin;
use bevy::core_pipeline::deferred::copy_lighting_id::CopyDeferredLightingIdPlugin;
use bevy::core_pipeline::oit::OrderIndependentTransparencyPlugin;
use bevy::core_pipeline::prepass::background_motion_vectors::BackgroundMotionVectorsPlugin;
use bevy::core_pipeline::tonemapping::{TonemappingLuts, TonemappingPlugin};
use bevy::core_pipeline::upscaling::UpscalingPlugin;
use bevy::prelude::*;

/// Stands for Bevy's `CorePipelinePlugin` where nothing is drawn: the same types, and the same required components of cameras, without what takes
/// most of the time that Bevy needs to start. That is its shaders for mips, one for each format of textures, and tables of colours.
pub(crate) struct CoreOfScenes;

impl Plugin for CoreOfScenes {
    fn build(&self, app: &mut App) {
        // Tonemapping only unpacks its tables where there are none.
        app.insert_resource(no_tonemapping());
        app.add_plugins((
            Core2dPlugin,
            Core3dPlugin,
            CopyDeferredLightingIdPlugin,
            BlitPlugin,
            TonemappingPlugin,
            UpscalingPlugin,
            OrderIndependentTransparencyPlugin,
            BackgroundMotionVectorsPlugin,
        ));
    }
}

fn no_tonemapping() -> TonemappingLuts {
    TonemappingLuts {
        blender_filmic: Handle::default(),
        agx: Handle::default(),
        tony_mc_mapface: Handle::default(),
    }
}
