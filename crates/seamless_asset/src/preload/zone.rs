//! Sets for places. See [`PreloadZone`].

use core::panic::Location;
use std::sync::Arc;

use bevy_ecs::{
    component::Component,
    entity::{Entity, EntityHashSet},
    prelude::{DetectChanges, Local, Query, Ref, ResMut, With},
    reflect::ReflectComponent,
};
use bevy_math::Vec3;
use bevy_reflect::{Reflect, std_traits::ReflectDefault};
use bevy_transform::components::{GlobalTransform, Transform};

use super::PreloadSets;

/// Who is in a zone, or comes near it, wants the zone's sets. Put it on players.
#[derive(Component, Reflect, Clone, Copy, Debug, Default)]
#[reflect(Component, Default, Clone, Debug)]
#[require(Transform)]
pub struct PreloadSource;

/// A box around an entity, in which sets are wanted: while any [`PreloadSource`] is in it or near it. Of zones that overlap all count.
///
/// ```
/// # use bevy_math::Vec3; use bevy_transform::components::Transform;
/// # use seamless_asset::PreloadZone;
/// let volcano = (PreloadZone::new(Vec3::splat(40.0), ["volcano"]), Transform::from_xyz(200.0, 0.0, 0.0));
/// ```
#[derive(Component, Reflect, Clone, Debug, Default, PartialEq)]
#[reflect(Component, Default, Clone, Debug, PartialEq)]
#[require(Transform)]
pub struct PreloadZone {
    /// The sets.
    pub sets: Vec<String>,
    /// From the middle to the faces, in the entity's own coordinates.
    pub half_size: Vec3,
    /// How far before its faces it begins, in the same unit: what is loaded ahead is there when somebody comes in. Default of [`new`](Self::new): 10.
    pub ahead: f32,
    /// How much farther away it ends, so that who walks along its edge does not load and release. Default of [`new`](Self::new): 5.
    pub keep: f32,
}

impl PreloadZone {
    /// A zone with these sets.
    pub fn new<N: Into<String>>(half_size: Vec3, sets: impl IntoIterator<Item = N>) -> Self {
        Self {
            sets: sets.into_iter().map(Into::into).collect(),
            half_size,
            ahead: 10.0,
            keep: 5.0,
        }
    }

    /// Whether somebody at this place, in the zone's own coordinates, wants its sets.
    #[must_use]
    pub(super) fn is_wanted(&self, at: Vec3, was: bool) -> bool {
        let outside = (at.abs() - self.half_size.abs()).max(Vec3::ZERO).length();
        let keep = if was { self.keep.max(0.0) } else { 0.0 };
        // What is no place is in no zone.
        at.is_finite() && outside <= self.ahead.max(0.0) + keep
    }
}

/// Looks who is where. Allocates nothing while nobody comes or goes.
pub(super) fn look(
    zones: Query<(Entity, Ref<PreloadZone>, &GlobalTransform)>,
    sources: Query<&GlobalTransform, With<PreloadSource>>,
    (mut inside, mut now): (Local<EntityHashSet>, Local<EntityHashSet>),
    mut sets: ResMut<PreloadSets>,
) {
    if sources.is_empty() && inside.is_empty() {
        return;
    }
    let mut is_other = false;
    now.clear();
    for (entity, zone, place) in &zones {
        let was = inside.contains(&entity);
        let into_zone = place.affine().inverse();
        let wants = |source: &GlobalTransform| zone.is_wanted(into_zone.transform_point3(source.translation()), was);
        if sources.iter().any(wants) {
            now.insert(entity);
            is_other |= zone.is_changed();
        }
    }
    core::mem::swap(&mut *inside, &mut *now);
    if !is_other && *inside == *now {
        return;
    }
    let those = zones.iter().filter(|(entity, ..)| inside.contains(entity));
    let wanted = those.flat_map(|(_, zone, _)| {
        let named: Vec<Arc<str>> = zone.sets.iter().map(|set| Arc::from(set.as_str())).collect();
        named.into_iter().map(|set| (set, Location::caller()))
    });
    sets.want_at("zones", wanted);
}
