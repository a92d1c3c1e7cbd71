//! Whether somebody is near enough to notice. Pure.

use bevy_math::Vec3;

/// Whether a cue at `location` is beyond `distance` of all listeners, so that nothing need be loaded for it. Where nobody says where listeners
/// are, or where the cue is, or how far it carries, nothing is culled.
pub(crate) fn is_culled(listeners: &[Vec3], location: Option<Vec3>, distance: Option<f32>) -> bool {
    let (Some(location), Some(distance)) = (location, distance) else {
        return false;
    };
    !listeners.is_empty()
        && listeners
            .iter()
            .all(|listener| listener.distance_squared(location) > distance * distance)
}
