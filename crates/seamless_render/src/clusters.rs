//! Lights that come with a level shine from its first frame on. See [`see_new_lights`].

#[cfg(test)]
mod tests;

use bevy_app::{App, PostUpdate};
use bevy_camera::{CameraUpdateSystems, Projection, visibility::Visibility};
use bevy_ecs::{message::MessageReader, prelude::*};
use bevy_light::{
    ClusteredDecal, LightProbe, PointLight, SimulationLightSystems, SpotLight,
    cluster::{Clusters, GlobalClusterGpuSettings, GlobalClusterSettings},
};
use seamless_asset::{InstanceEvent, Reloaded, StreamingClock};

/// Room for more lights than Bevy makes by itself: about seven hundred, however far each of them reaches into the distance, …
const Z_SLICES: usize = 16_384;
/// … and for all parts of the picture and all lights that shine there together.
const INDICES: usize = 262_144;

/// For so many frames Bevy may still be told how far lights were before some came: it asks the GPU, and hears of it later.
const FRAMES: u8 = 8;

/// As far as Bevy looks for lights before it knows of any, in world units.
const FAR: f32 = 1000.0;

/// Before Bevy's own lights are put into clusters.
pub(crate) fn add_systems(app: &mut App) {
    app.add_message::<InstanceEvent>()
        .add_message::<Reloaded>()
        .add_systems(
            PostUpdate,
            see_new_lights
                .after(CameraUpdateSystems)
                .before(SimulationLightSystems::AssignLightsToClusters),
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
/// has heard of it; so for some frames, all that a camera sees counts.
fn see_new_lights(
    mut events: MessageReader<InstanceEvent>,
    mut reloads: MessageReader<Reloaded>,
    new: Query<(), (Changed<Visibility>, Clustered)>,
    mut views: Query<(&mut Clusters, Option<&Projection>)>,
    mut left: Local<u8>,
    clock: Option<Res<StreamingClock>>,
) {
    let _time = clock.as_ref().map(|clock| clock.measure("new lights"));
    let is_shown =
        |event: &InstanceEvent| matches!(event, InstanceEvent::Revealed { .. } | InstanceEvent::Shown { .. });
    // All of them are read.
    let shown = events.read().filter(|event| is_shown(event)).count() + reloads.read().count();
    if shown > 0 && !new.is_empty() {
        *left = FRAMES;
    }
    if *left == 0 {
        return;
    }
    *left -= 1;
    for (mut clusters, projection) in &mut views {
        let far = projection.map_or(FAR, |projection| projection.far());
        let far = if far.is_finite() { far.max(FAR) } else { FAR };
        let clusters = clusters.bypass_change_detection();
        // Of no lights Bevy knows a distance that is no number.
        clusters.last_frame_farthest_z = Some(clusters.last_frame_farthest_z.unwrap_or(far).max(far));
    }
}
