//! Which pipelines Bevy would ask for: the keys of its `specialize_material_meshes`, `specialize_shadows` and
//! `specialize_prepass_material_meshes`.

#[cfg(test)]
mod tests;

use core::any::TypeId;
use std::sync::Arc;

use bevy_core_pipeline::core_3d::{AlphaMask3d, Opaque3d, Transparent3d};
use bevy_ecs::world::World;
use bevy_material::{
    AlphaMode, MaterialProperties, OpaqueRendererMethod, RenderPhaseType,
    key::{ErasedMaterialPipelineKey, ErasedMeshPipelineKey},
};
use bevy_mesh::{BaseMeshPipelineKey, MeshVertexBufferLayoutRef};
use bevy_pbr::{
    LightKeyCache, MeshPipelineKey, PreparedMaterial, PrepassFragmentShader, PrepassVertexShader, Transmissive3d,
    ViewKeyCache, ViewKeyPrepassCache, alpha_mode_pipeline_key,
};
use bevy_render::{
    erased_render_asset::ErasedRenderAssets,
    mesh::RenderMesh,
    render_asset::RenderAssets,
    render_phase::{ViewBinnedRenderPhases, ViewSortedRenderPhases},
    render_resource::CachedRenderPipelineId,
    view::{ExtractedView, Msaa, RetainedViewEntity},
};

use crate::drawn::{DrawnSet, OwnLights};

/// What views add to the keys of a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PassKey {
    Main(MeshPipelineKey),
    Prepass(MeshPipelineKey),
    Shadow(MeshPipelineKey),
}

/// The views whose main passes draw materials: those of 2D and of user interfaces have keys as well.
struct DrawingViews<'w> {
    opaque: Option<&'w ViewBinnedRenderPhases<Opaque3d>>,
    alpha_mask: Option<&'w ViewBinnedRenderPhases<AlphaMask3d>>,
    transmissive: Option<&'w ViewSortedRenderPhases<Transmissive3d>>,
    transparent: Option<&'w ViewSortedRenderPhases<Transparent3d>>,
}

impl<'w> DrawingViews<'w> {
    fn of(world: &'w World) -> Self {
        Self {
            opaque: world.get_resource(),
            alpha_mask: world.get_resource(),
            transmissive: world.get_resource(),
            transparent: world.get_resource(),
        }
    }

    /// As Bevy asks before it looks at what a view sees.
    fn has(&self, view: &RetainedViewEntity) -> bool {
        self.opaque.is_some_and(|phases| phases.contains_key(view))
            || self.alpha_mask.is_some_and(|phases| phases.contains_key(view))
            || self.transmissive.is_some_and(|phases| phases.contains_key(view))
            || self.transparent.is_some_and(|phases| phases.contains_key(view))
    }
}

/// The keys of all views, each once.
#[derive(Debug, Default)]
pub(super) struct Views {
    main: Vec<MeshPipelineKey>,
    prepass: Vec<MeshPipelineKey>,
    shadow: Vec<MeshPipelineKey>,
}

impl Views {
    pub fn of(world: &mut World) -> Self {
        let mut views = Self::default();
        let mut extracted = world.query::<&ExtractedView>();
        let caches = (
            world.resource::<ViewKeyCache>(),
            world.get_resource::<ViewKeyPrepassCache>(),
            world.get_resource::<LightKeyCache>(),
        );
        let (main, prepass, shadow) = caches;
        let drawing = DrawingViews::of(world);
        for view in extracted.iter(world) {
            let id = &view.retained_view_entity;
            views.main.extend(main.get(id).filter(|_| drawing.has(id)));
            let prepass = prepass.and_then(|keys| keys.get(id)).copied();
            // Bevy has that in the other key only.
            let deferred = main
                .get(id)
                .map_or(MeshPipelineKey::empty(), |key| *key & MeshPipelineKey::DEFERRED_PREPASS);
            let prepass = prepass.map(|key| key | deferred);
            // A view without any has a key of its own all the same.
            let has_prepass = MeshPipelineKey::DEPTH_PREPASS
                | MeshPipelineKey::NORMAL_PREPASS
                | MeshPipelineKey::MOTION_VECTOR_PREPASS
                | MeshPipelineKey::DEFERRED_PREPASS;
            views.prepass.extend(prepass.filter(|key| key.intersects(has_prepass)));
            views.shadow.extend(shadow.and_then(|keys| keys.get(id)));
        }
        for keys in [&mut views.main, &mut views.prepass, &mut views.shadow] {
            keys.sort_unstable_by_key(MeshPipelineKey::bits);
            keys.dedup();
        }
        views
    }

    /// What a level is drawn in where there are these lights. Nothing is, as long as nobody looks.
    pub fn passes(&self, lights: OwnLights) -> Vec<PassKey> {
        if self.main.is_empty() {
            return Vec::new();
        }
        // A view has those of a kind while it sees one.
        let kinds = probe_bits(lights);
        let mut main = self.main.clone();
        for view in &self.main {
            let bare = *view & !kinds.iter().fold(MeshPipelineKey::empty(), |all, bits| all | *bits);
            main.push(bare);
            main.extend(kinds.iter().map(|bits| bare | *bits));
        }
        main.sort_unstable_by_key(MeshPipelineKey::bits);
        main.dedup();
        let mut shadow = self.shadow.clone();
        if lights.points {
            shadow.push(MeshPipelineKey::DEPTH_PREPASS | MeshPipelineKey::VIEW_PROJECTION_PERSPECTIVE);
        }
        if lights.directional {
            let orthographic = MeshPipelineKey::VIEW_PROJECTION_ORTHOGRAPHIC | MeshPipelineKey::UNCLIPPED_DEPTH_ORTHO;
            shadow.push(MeshPipelineKey::DEPTH_PREPASS | orthographic);
        }
        shadow.sort_unstable_by_key(MeshPipelineKey::bits);
        shadow.dedup();
        let main = main.into_iter().map(PassKey::Main);
        let prepass = self.prepass.iter().copied().map(PassKey::Prepass);
        main.chain(prepass)
            .chain(shadow.into_iter().map(PassKey::Shadow))
            .collect()
    }
}

/// A mesh and a material that are on the GPU.
pub(super) struct Prepared {
    layout: MeshVertexBufferLayoutRef,
    mesh_bits: MeshPipelineKey,
    properties: Arc<MaterialProperties>,
    material_type: TypeId,
}

impl Prepared {
    /// `None` while one of the two is not there.
    pub fn of(world: &World, set: &DrawnSet) -> Option<Self> {
        let mesh = world.resource::<RenderAssets<RenderMesh>>().get(set.mesh)?;
        let materials = world.resource::<ErasedRenderAssets<PreparedMaterial>>();
        Some(Self {
            layout: mesh.layout.clone(),
            mesh_bits: MeshPipelineKey::from_bits_retain(BaseMeshPipelineKey::bits(&mesh.key_bits)),
            properties: materials.get(set.material)?.properties.clone(),
            material_type: set.material.type_id(),
        })
    }

    /// Asks for the pipeline of a pass; `None` if it is not drawn there, or Bevy has none for it.
    pub fn pipeline(&self, world: &mut World, set: &DrawnSet, pass: PassKey) -> Option<CachedRenderPipelineId> {
        let properties = &self.properties;
        let (mesh_key, specialize) = match pass {
            PassKey::Main(view) => (self.main_key(set, view), properties.base_specialize?),
            PassKey::Prepass(view) => (self.prepass_key(set, view)?, properties.prepass_specialize?),
            PassKey::Shadow(view) => (self.shadow_key(set, view)?, properties.prepass_specialize?),
        };
        let key = ErasedMaterialPipelineKey {
            type_id: self.material_type,
            mesh_key: ErasedMeshPipelineKey::new(mesh_key),
            material_key: properties.material_key.clone(),
        };
        specialize(world, key, &self.layout, properties).ok()
    }

    /// As Bevy finds it out, and keeps to itself.
    fn prepass_reads_material(&self) -> bool {
        let of_prepass = [
            self.properties.get_shader(PrepassVertexShader),
            self.properties.get_shader(PrepassFragmentShader),
        ];
        of_prepass.iter().any(Option::is_some)
    }

    fn alpha_bits(&self, view: MeshPipelineKey) -> MeshPipelineKey {
        alpha_mode_pipeline_key(self.properties.alpha_mode, &Msaa::from_samples(view.msaa_samples()))
    }

    fn main_key(&self, set: &DrawnSet, view: MeshPipelineKey) -> MeshPipelineKey {
        let of_material: MeshPipelineKey = self.properties.mesh_pipeline_key_bits.downcast();
        let mut key = view | self.mesh_bits | of_material | self.alpha_bits(view);
        key.set(MeshPipelineKey::LIGHTMAPPED, set.lightmap.is_some());
        key.set(MeshPipelineKey::LIGHTMAP_BICUBIC_SAMPLING, set.lightmap == Some(true));
        key.set(MeshPipelineKey::VISIBILITY_RANGE_DITHER, set.crossfades);
        key | skin_bits(set, view)
    }

    fn prepass_key(&self, set: &DrawnSet, view: MeshPipelineKey) -> Option<MeshPipelineKey> {
        let properties = &self.properties;
        let is_solid = matches!(
            properties.alpha_mode,
            AlphaMode::Opaque | AlphaMode::AlphaToCoverage | AlphaMode::Mask(_)
        );
        let is_drawn = matches!(
            properties.render_phase_type,
            RenderPhaseType::Opaque | RenderPhaseType::AlphaMask
        );
        let is_prepassed = properties.prepass_enabled && !properties.reads_view_transmission_texture;
        if !(is_solid && is_drawn && is_prepassed) {
            return None;
        }
        let is_forward = matches!(properties.render_method, OpaqueRendererMethod::Forward);
        let is_deferred = view.contains(MeshPipelineKey::DEFERRED_PREPASS) && !is_forward;
        let mut key = view | self.mesh_bits | self.alpha_bits(view);
        key.set(MeshPipelineKey::DEFERRED_PREPASS, is_deferred);
        key.set(MeshPipelineKey::LIGHTMAPPED, set.lightmap.is_some());
        let is_bicubic = is_deferred && set.lightmap == Some(true);
        key.set(MeshPipelineKey::LIGHTMAP_BICUBIC_SAMPLING, is_bicubic);
        key.set(MeshPipelineKey::VISIBILITY_RANGE_DITHER, set.crossfades);
        key.set(MeshPipelineKey::PREPASS_READS_MATERIAL, self.prepass_reads_material());
        Some(key | skin_bits(set, view))
    }

    fn shadow_key(&self, set: &DrawnSet, light: MeshPipelineKey) -> Option<MeshPipelineKey> {
        let properties = &self.properties;
        if !(set.casts_shadows && properties.shadows_enabled) {
            return None;
        }
        let mut key = light | self.mesh_bits;
        key.set(MeshPipelineKey::LIGHTMAPPED, set.lightmap.is_some());
        let may_discard = matches!(
            properties.alpha_mode,
            AlphaMode::Mask(_)
                | AlphaMode::Blend
                | AlphaMode::Premultiplied
                | AlphaMode::Add
                | AlphaMode::AlphaToCoverage
        );
        key.set(MeshPipelineKey::MAY_DISCARD, may_discard);
        key.set(MeshPipelineKey::PREPASS_READS_MATERIAL, self.prepass_reads_material());
        Some(key)
    }
}

/// What probes may add to what a view draws: those of one kind, or of both.
fn probe_bits(lights: OwnLights) -> Vec<MeshPipelineKey> {
    let reflections = lights.reflections.then_some(MeshPipelineKey::ENVIRONMENT_MAP);
    let irradiance = lights.irradiance.then_some(MeshPipelineKey::IRRADIANCE_VOLUME);
    let both = reflections.zip(irradiance).map(|(one, other)| one | other);
    [reflections, irradiance, both].into_iter().flatten().collect()
}

/// What bones add where a view draws motion: Bevy says that they were there in the last frame, of new ones too.
fn skin_bits(set: &DrawnSet, view: MeshPipelineKey) -> MeshPipelineKey {
    if set.skinned && view.contains(MeshPipelineKey::MOTION_VECTOR_PREPASS) {
        MeshPipelineKey::HAS_PREVIOUS_SKIN
    } else {
        MeshPipelineKey::empty()
    }
}
