//! How large a level is, as its author states it or as its meshes tell, and the volume that it gets when the world file names none.

use bevy::asset::UntypedHandle;
use bevy::camera::primitives::Aabb;
use bevy::math::{Affine3A, Vec3A};
use bevy::prelude::*;
use seamless_level::{LevelEntry, VolumeShape};
use serde::{Deserialize, Serialize};

use crate::assets::AssetKey;
use crate::hierarchy::Hierarchy;
use crate::plan::{PlannedInstance, PlannedLevel};
use crate::source::SourceEntity;

/// A level without bounds is loaded within this many metres of its place.
pub(crate) const RADIUS_WITHOUT_BOUNDS: f32 = 50.0;
/// A level is loaded at least this many metres outside its bounds.
const LEAST_INFLATION: f32 = 10.0;

/// The least and the largest corner of a box.
pub(crate) type Bounds = ([f32; 3], [f32; 3]);

/// The bounds of an instance, from those of its level.
pub(crate) fn of_instance(level: &PlannedLevel, instance: &PlannedInstance, bounds: Option<Bounds>) -> Option<Bounds> {
    placed_again(level, bounds, instance).bounds
}

/// What a manifest says of an instance, as far as it follows from its placement and from its level's.
fn placed_again(level: &PlannedLevel, bounds: Option<Bounds>, instance: &PlannedInstance) -> LevelEntry {
    let of = LevelEntry {
        translation: level.translation,
        rotation: level.rotation,
        scale: level.scale,
        bounds,
        ..LevelEntry::default()
    };
    entry_of(&of, instance)
}

/// What the manifest says of an instance of a level.
pub(crate) fn entry_of(level: &LevelEntry, instance: &PlannedInstance) -> LevelEntry {
    let mut entry = level.placed_again(&instance.name, instance.translation, instance.rotation, instance.scale);
    entry.always_loaded = instance.always_loaded;
    entry.on_request = instance.on_request;
    entry.data.clone_from(&instance.data);
    if let Some(stated) = instance.bounds {
        entry.bounds = placed(stated, &entry.placement());
    }
    entry
}

/// World-space bounds that the author states of a level; `None` if that is nothing.
pub(crate) fn stated(level: &PlannedLevel) -> Option<Bounds> {
    placed(level.bounds?, &placement(level))
}

/// World-space bounds of what stands there and has these in its own space; `None` when a coordinate is not finite.
pub(crate) fn placed((min, max): Bounds, placement: &Transform) -> Option<Bounds> {
    let own = Aabb::from_min_max(min.into(), max.into());
    let (min, max) = transformed(&own, &placement.compute_affine())?;
    Some((min.to_array(), max.to_array()))
}

/// Where a level stands.
pub(crate) fn placement(level: &PlannedLevel) -> Transform {
    Transform {
        translation: Vec3::from_array(level.translation),
        rotation: Quat::from_array(level.rotation).normalize(),
        scale: Vec3::from_array(level.scale),
    }
}

/// A mesh of a level and where it stands in it.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Drawn {
    pub mesh: AssetKey,
    /// From the mesh to the level, by column.
    to_level: [f32; 12],
}

/// The level's meshes at their rest positions.
pub(crate) fn drawn(
    entities: &[SourceEntity],
    hierarchy: &Hierarchy,
    mut key: impl FnMut(&UntypedHandle) -> AssetKey,
) -> Vec<Drawn> {
    let mut globals = vec![Affine3A::IDENTITY; entities.len()];
    let mut drawn = Vec::new();
    for &index in &hierarchy.order {
        let components = &entities[index].components;
        if let Some(parent) = hierarchy.parents[index] {
            globals[index] = globals[parent];
        }
        let local = components
            .get(Transform::type_path())
            .and_then(|value| value.downcast_ref::<Transform>());
        if let Some(local) = local {
            globals[index] *= local.compute_affine();
        }
        let mesh = components
            .get(Mesh3d::type_path())
            .and_then(|value| value.downcast_ref::<Mesh3d>());
        if let Some(mesh) = mesh {
            drawn.push(Drawn {
                mesh: key(&mesh.0.clone().untyped()),
                to_level: globals[index].to_cols_array(),
            });
        }
    }
    drawn
}

/// World-space bounds of what is drawn; `None` if that is nothing.
pub(crate) fn of_drawn(
    level: &PlannedLevel,
    drawn: &[Drawn],
    mesh: impl Fn(&AssetKey) -> Option<Aabb>,
) -> Option<Bounds> {
    let placement = placement(level).compute_affine();
    let mut bounds: Option<(Vec3A, Vec3A)> = None;
    for drawn in drawn {
        let global = placement * Affine3A::from_cols_array(&drawn.to_level);
        let Some((min, max)) = mesh(&drawn.mesh).and_then(|aabb| transformed(&aabb, &global)) else {
            continue;
        };
        bounds = Some(bounds.map_or((min, max), |(least, most)| (least.min(min), most.max(max))));
    }
    bounds.map(|(min, max)| (min.to_array(), max.to_array()))
}

/// `None` when a coordinate is not finite.
fn transformed(aabb: &Aabb, global: &Affine3A) -> Option<(Vec3A, Vec3A)> {
    let center = global.transform_point3a(aabb.center);
    let matrix = global.matrix3;
    let half = matrix.x_axis.abs() * aabb.half_extents.x
        + matrix.y_axis.abs() * aabb.half_extents.y
        + matrix.z_axis.abs() * aabb.half_extents.z;
    let (min, max) = (center - half, center + half);
    (min.is_finite() && max.is_finite()).then_some((min, max))
}

/// The volume around a level, which stands there, that no volume of the world file lists: its bounds, inflated by half its greatest extent or
/// ten metres, whichever is more; a sphere of 50 m around its place if it has none.
pub(crate) fn own_volume(translation: [f32; 3], bounds: Option<Bounds>) -> VolumeShape {
    let Some((min, max)) = bounds else {
        return VolumeShape::Sphere {
            center: Vec3::from_array(translation),
            radius: RADIUS_WITHOUT_BOUNDS,
        };
    };
    let (min, max) = (Vec3::from_array(min), Vec3::from_array(max));
    let inflation = Vec3::splat(((max - min).max_element() * 0.5).max(LEAST_INFLATION));
    VolumeShape::Box {
        min: min - inflation,
        max: max + inflation,
    }
}
