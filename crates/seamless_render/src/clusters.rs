//! Lights that come with a level shine from its first frame on. See [`see_new_lights`].

use bevy_app::{App, PostUpdate};
use bevy_camera::visibility::Visibility;
use bevy_ecs::prelude::*;
use bevy_light::{
    ClusteredDecal, LightProbe, PointLight, SimulationLightSystems, SpotLight,
    cluster::{Clusters, GlobalClusterGpuSettings, GlobalClusterSettings},
};
use seamless_asset::StreamingClock;

/// Room for more lights than Bevy makes by itself: about seven hundred, however far each of them reaches into the distance, …
const Z_SLICES: usize = 16_384;
/// … and for all parts of the picture and all lights that shine there together.
const INDICES: usize = 262_144;

/// For so many frames Bevy may still be told how far lights were before some came: it asks the GPU, and hears of it later.
const FRAMES: u8 = 8;

/// Before Bevy's own lights are put into clusters.
pub(crate) fn add_systems(app: &mut App) {
    app.add_systems(
        PostUpdate,
        see_new_lights.before(SimulationLightSystems::AssignLightsToClusters),
    );
}

/// Bevy lists on the GPU which lights shine where, makes its lists longer when they were too short, and says that lights may be wrong for some frames then.
/// A level may bring hundreds at once, so there is room for them. Who has made more keeps it.
pub(crate) fn make_room(app: &mut App) {
    let settings = app.world_mut().get_resource_mut::<GlobalClusterSettings>();
    let on_gpu = settings.and_then(|settings| settings.into_inner().gpu_clustering.as_mut());
    if let Some(GlobalClusterGpuSettings {
        initial_z_slice_list_capacity,
        initial_index_list_capacity,
    }) = on_gpu
    {
        *initial_z_slice_list_capacity = Z_SLICES.max(*initial_z_slice_list_capacity);
        *initial_index_list_capacity = INDICES.max(*initial_index_list_capacity);
    }
}

/// What Bevy puts into clusters.
type Clustered = Or<(
    With<PointLight>,
    With<SpotLight>,
    With<ClusteredDecal>,
    With<LightProbe>,
)>;

/// Bevy divides what is seen by how far the farthest light was some frames ago. What comes, or is shown again, beyond that shines nowhere until Bevy
/// has heard of it; so for some frames, nothing counts as known.
fn see_new_lights(
    new: Query<(), (Changed<Visibility>, Clustered)>,
    mut views: Query<&mut Clusters>,
    mut left: Local<u8>,
    clock: Option<Res<StreamingClock>>,
) {
    let _time = clock.as_ref().map(|clock| clock.measure("new lights"));
    if !new.is_empty() {
        *left = FRAMES;
    }
    if *left == 0 {
        return;
    }
    *left -= 1;
    for mut clusters in &mut views {
        clusters.bypass_change_detection().last_frame_farthest_z = None;
    }
}
