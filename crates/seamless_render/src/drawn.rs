//! What a level is drawn with, found off the main thread. See [`DrawnWith`].

use core::marker::PhantomData;

use bevy_asset::{AssetId, Assets, UntypedAssetId};
use bevy_camera::visibility::VisibilityRange;
use bevy_ecs::{entity::Entity, world::World};
use bevy_light::{
    DirectionalLight, EnvironmentMapLight, GeneratedEnvironmentMapLight, IrradianceVolume, LightProbe, NotShadowCaster,
    PointLight, SpotLight,
};
use bevy_mesh::{Mesh, Mesh3d, skinning::SkinnedMesh};
use bevy_pbr::{Lightmap, Material, MeshMaterial3d};
use seamless_asset::{LevelScans, StagedGroup, StagedLevel};

/// One way in which entities of a level are drawn, as far as it decides about pipelines. A forest of one tree has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct DrawnSet {
    pub mesh: AssetId<Mesh>,
    pub material: UntypedAssetId,
    pub casts_shadows: bool,
    /// Whether the lightmap that it has is sampled bicubically.
    pub lightmap: Option<bool>,
    /// It is dithered at the ends of its visibility range.
    pub crossfades: bool,
    /// It has bones. Where views draw motion, it is drawn with those of the last frame from the first frame on.
    pub skinned: bool,
}

/// What a level's entities with a material of type `M` are drawn with, each once.
pub(crate) struct DrawnWith<M>(Vec<DrawnSet>, PhantomData<fn() -> M>);

/// What the lights of a level add to how it is drawn, and everything else: that is there only when the level is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct OwnLights {
    /// Point and spot lights cast shadows.
    pub points: bool,
    /// Directional lights do.
    pub directional: bool,
    /// There are probes of reflections.
    pub reflections: bool,
    /// There are volumes of irradiance.
    pub irradiance: bool,
}

impl OwnLights {
    /// Those of both.
    pub fn and(self, other: Self) -> Self {
        Self {
            points: self.points || other.points,
            directional: self.directional || other.directional,
            reflections: self.reflections || other.reflections,
            irradiance: self.irradiance || other.irradiance,
        }
    }
}

/// What a scan for one type of materials has found, as far as that is still there.
pub(crate) type Found = fn(&LevelScans, &World) -> Vec<DrawnSet>;

/// The scan for a type of materials. The sets come in the order of the first entity that each has, as Bevy meets them: what is drawn first, among
/// surfaces at the same place, follows from the order in which pipelines were made.
pub(crate) fn drawn_with<M: Material>(level: &StagedLevel) -> DrawnWith<M> {
    let mut sets: Vec<(DrawnSet, Entity)> = level.groups().flat_map(|group| sets_of::<M>(&group)).collect();
    sets.sort_unstable();
    sets.dedup_by_key(|(set, _)| *set);
    sets.sort_unstable_by_key(|(_, first)| *first);
    let sets = sets.into_iter().map(|(set, _)| set).collect();
    DrawnWith(sets, PhantomData)
}

/// What [`drawn_with`] has found. A level that comes back may have lost the last who was drawn with some of it: nobody is any more, and nothing of it will ever
/// be ready.
pub(crate) fn found<M: Material>(scans: &LevelScans, world: &World) -> Vec<DrawnSet> {
    let meshes = world.get_resource::<Assets<Mesh>>();
    let materials = world.get_resource::<Assets<M>>();
    let is_there = |set: &DrawnSet| {
        let material = set.material.try_typed::<M>();
        meshes.is_none_or(|meshes| meshes.contains(set.mesh))
            && materials
                .zip(material.ok())
                .is_none_or(|(materials, material)| materials.contains(material))
    };
    let sets = scans.get::<DrawnWith<M>>().map_or(&[][..], |found| &found.0);
    sets.iter().copied().filter(is_there).collect()
}

/// Each with the first entity of those that follow each other.
fn sets_of<M: Material>(group: &StagedGroup) -> Vec<(DrawnSet, Entity)> {
    let casts_shadows = !group.has::<NotShadowCaster>();
    let (lit, ranged) = (group.has::<Lightmap>(), group.has::<VisibilityRange>());
    let skinned = group.has::<SkinnedMesh>();
    let pairs = group.values::<Mesh3d>().zip(group.values::<MeshMaterial3d<M>>());
    let set = |(row, (mesh, material)): (usize, (&Mesh3d, &MeshMaterial3d<M>))| DrawnSet {
        mesh: mesh.0.id(),
        material: material.0.id().untyped(),
        casts_shadows,
        lightmap: lit.then(|| group.get::<Lightmap>(row).is_some_and(|map| map.bicubic_sampling)),
        crossfades: ranged
            && group
                .get::<VisibilityRange>(row)
                .is_some_and(|range| !range.is_abrupt()),
        skinned,
    };
    let sets = pairs.enumerate().map(set).zip(group.entities().iter().copied());
    let mut sets: Vec<(DrawnSet, Entity)> = sets.collect();
    // Neighbours are mostly alike.
    sets.dedup_by_key(|(set, _)| *set);
    sets
}

/// The scan for lights.
pub(crate) fn own_lights(level: &StagedLevel) -> OwnLights {
    let mut lights = OwnLights::default();
    for group in level.groups() {
        lights.points |= group.values::<PointLight>().any(|light| light.shadow_maps_enabled)
            || group.values::<SpotLight>().any(|light| light.shadow_maps_enabled);
        lights.directional |= group
            .values::<DirectionalLight>()
            .any(|light| light.shadow_maps_enabled);
        // On a camera it is no probe.
        let has_map = group.has::<EnvironmentMapLight>() || group.has::<GeneratedEnvironmentMapLight>();
        lights.reflections |= has_map && group.has::<LightProbe>();
        lights.irradiance |= group.has::<IrradianceVolume>();
    }
    lights
}
