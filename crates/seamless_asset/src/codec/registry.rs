//! All codecs of an app. See [`Codecs`].

use core::any::TypeId;
use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};

use bevy_animation::{
    AnimationTargetId,
    graph::{AnimationGraph, AnimationGraphHandle},
};
use bevy_camera::visibility::Visibility;
use bevy_ecs::{
    hierarchy::{ChildOf, Children},
    name::Name,
    resource::Resource,
};
use bevy_mesh::{Mesh, Mesh3d};
use bevy_platform::collections::HashMap;
use bevy_reflect::TypeRegistry;
use bevy_transform::components::Transform;
use seamless_package::{Role, Schema};

use super::{
    AssetCodec, ComponentCodec, DecodeError, ErasedAssetCodec, HandleCodec, MigrationLists, Migrations,
    MigrationsError, Record, RecordCodec, ReflectCodec, RelationshipCodec, RelationshipTargetCodec, check_layout,
    plain::PlainTypes,
};
use crate::{
    assets::{
        MeshUvDensity,
        animation::{AnimationClipCodec, AnimationGraphCodec},
    },
    placed_row,
    spawn::{RowSets, SpawnRow},
};

/// The app's codecs, shared with the loading tasks. Filled through [`SeamlessAssetApp`](crate::SeamlessAssetApp).
#[derive(Resource, Clone)]
pub struct Codecs(Arc<RwLock<CodecRegistry>>);

impl Default for Codecs {
    /// The codecs of Bevy's own types that this crate knows.
    fn default() -> Self {
        Self(Arc::new(RwLock::new(CodecRegistry::with_builtin())))
    }
}

impl Codecs {
    /// The codecs, to look up.
    pub fn read(&self) -> RwLockReadGuard<'_, CodecRegistry> {
        self.0.read().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// The codecs, to add to.
    pub fn write(&self) -> RwLockWriteGuard<'_, CodecRegistry> {
        self.0.write().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// Codecs by type and by type path.
#[derive(Default)]
pub struct CodecRegistry {
    components: HashMap<TypeId, Arc<dyn ComponentCodec>>,
    component_paths: HashMap<String, TypeId>,
    assets: HashMap<TypeId, Arc<ErasedAssetCodec>>,
    asset_paths: HashMap<&'static str, TypeId>,
    rows: RowSets,
    migrations: MigrationLists,
    plain: PlainTypes,
}

impl CodecRegistry {
    fn with_builtin() -> Self {
        let mut this = Self::default();
        let added = this.migrations.add(Migrations::engine());
        debug_assert_eq!(added, Ok(()), "the first list has no mistake");
        this.add_record::<Transform>(Role::ALL);
        this.add_record::<bevy_transform::components::GlobalTransform>(Role::ALL);
        this.add_record::<bevy_transform::components::TransformTreeChanged>(Role::ALL);
        this.add_record::<Name>(Role::ALL);
        this.add_record::<Visibility>(Role::ALL);
        this.add_record::<bevy_camera::visibility::InheritedVisibility>(Role::ALL);
        this.add_record::<bevy_camera::visibility::ViewVisibility>(Role::ALL);
        this.add_record::<bevy_camera::primitives::Aabb>(Role::ALL);
        this.add_record::<bevy_camera::CameraMainTextureUsages>(Role::ALL);
        this.add_record::<AnimationTargetId>(Role::ALL);
        this.add_record::<MeshUvDensity>(Role::CLIENT);
        this.add_component(RelationshipCodec::<ChildOf>::default());
        this.add_component(RelationshipTargetCodec::<Children>::default());
        this.add_component(HandleCodec::<Mesh3d, Mesh>::new(Role::ALL, |mesh| &mesh.0, Mesh3d));
        this.add_component(HandleCodec::<AnimationGraphHandle, AnimationGraph>::new(
            Role::ALL,
            |graph| &graph.0,
            AnimationGraphHandle,
        ));
        this.add_asset::<crate::assets::MeshCodec>();
        this.add_asset::<AnimationClipCodec>();
        this.add_asset::<AnimationGraphCodec>();
        this.add_asset::<crate::assets::ImageCodec>();
        #[cfg(feature = "audio")]
        this.add_asset::<crate::assets::AudioSourceCodec>();
        this.add_asset::<crate::assets::InverseBindposesCodec>();
        this.add_asset::<crate::startup::StartupIndexCodec>();
        // As glTF files are loaded, and as running worlds are saved.
        this.add_row::<placed_row!()>();
        this.add_row::<placed_row!(Name)>();
        this.add_row::<placed_row!(Children)>();
        this.add_row::<placed_row!(Name, Children)>();
        // As scenes are written by hand: the rest comes with these.
        this.add_row::<(Transform, Visibility, ChildOf)>();
        this.add_row::<(Transform, Visibility, ChildOf, Name)>();
        this.add_row::<(Transform, Visibility, ChildOf, Children)>();
        this.add_row::<(Transform, Visibility, ChildOf, Name, Children)>();
        this
    }

    /// Adds or replaces the codec of a component.
    pub fn add_component(&mut self, codec: impl ComponentCodec) {
        self.component_paths
            .insert(codec.type_path().to_owned(), codec.type_id());
        self.components.insert(codec.type_id(), Arc::new(codec));
    }

    /// Adds the codec of a [`Record`].
    pub fn add_record<C: Record>(&mut self, role: Role) {
        self.add_component(RecordCodec::<C>::new(role));
    }

    /// Adds or replaces the codec of an asset.
    pub fn add_asset<C: AssetCodec>(&mut self) {
        let codec = ErasedAssetCodec::new::<C>();
        self.asset_paths.insert(codec.type_path, codec.type_id);
        self.assets.insert(codec.type_id, Arc::new(codec));
    }

    /// The codec of a component: its own, else one by reflection.
    ///
    /// # Errors
    /// When the type is not registered, or does not reflect `Component`.
    pub fn component(&self, type_id: TypeId, registry: &TypeRegistry) -> Result<Arc<dyn ComponentCodec>, DecodeError> {
        if let Some(codec) = self.components.get(&type_id) {
            return Ok(codec.clone());
        }
        let registration = registry
            .get(type_id)
            .ok_or_else(|| DecodeError::UnknownType(format!("{type_id:?}")))?;
        let role = default_role(registration.type_info().type_path());
        let plain = self.plain.of(registration, registry);
        Ok(Arc::new(ReflectCodec::new(registration, role, plain)?))
    }

    /// The codec of the component with this type path.
    ///
    /// # Errors
    /// When the app does not know the type.
    #[cfg(feature = "migrations")]
    pub(crate) fn component_by_path(
        &self,
        type_path: &str,
        registry: &TypeRegistry,
    ) -> Result<Arc<dyn ComponentCodec>, DecodeError> {
        let own = self.component_paths.get(type_path).copied();
        let registered = || Some(registry.get_with_type_path(type_path)?.type_id());
        let type_id = own.or_else(registered);
        let type_id = type_id.ok_or_else(|| DecodeError::UnknownType(type_path.to_owned()))?;
        self.component(type_id, registry)
    }

    /// The codec that reads columns of the schema `stored`.
    ///
    /// # Errors
    /// When the app does not know the type, or has it in another layout.
    pub fn component_reader(
        &self,
        stored: &Schema,
        registry: &TypeRegistry,
    ) -> Result<Arc<dyn ComponentCodec>, DecodeError> {
        let own = self.component_paths.get(&stored.type_path);
        if let Some(codec) = own.and_then(|type_id| self.components.get(type_id)) {
            check_layout(stored, &codec.schema(registry))?;
            return Ok(codec.clone());
        }
        let registration = registry
            .get_with_type_path(&stored.type_path)
            .ok_or_else(|| DecodeError::UnknownType(stored.type_path.clone()))?;
        let role = default_role(&stored.type_path);
        let reader = ReflectCodec::reading(stored, registration, registry, role, &self.plain)?;
        Ok(Arc::new(reader))
    }

    /// The codec of an asset type, if it has one.
    #[must_use]
    pub fn asset(&self, type_id: TypeId) -> Option<Arc<ErasedAssetCodec>> {
        self.assets.get(&type_id).cloned()
    }

    /// The codec of the asset type with this type path, if it has one.
    #[must_use]
    pub fn asset_by_path(&self, type_path: &str) -> Option<Arc<ErasedAssetCodec>> {
        self.asset(*self.asset_paths.get(type_path)?)
    }

    /// Announces a set of components; see [`SpawnRow`].
    pub fn add_row<R: SpawnRow>(&mut self) {
        self.rows.add::<R>();
    }

    /// Adds the migrations of one owner.
    ///
    /// # Errors
    /// When the list has a mistake, or is there already.
    pub fn add_migrations(&mut self, list: Migrations) -> Result<(), MigrationsError> {
        self.migrations.add(list)
    }

    /// The migrations, in the order in which they run.
    #[must_use]
    pub fn migrations(&self) -> &MigrationLists {
        &self.migrations
    }

    /// The announced sets.
    #[must_use]
    pub fn rows(&self) -> &RowSets {
        &self.rows
    }

    /// The app gives boxes to what is drawn: rows come with theirs.
    pub(crate) fn give_boxes(&mut self) {
        self.rows.gives_boxes = true;
    }

    /// All asset codecs.
    pub fn assets(&self) -> impl Iterator<Item = &Arc<ErasedAssetCodec>> {
        self.assets.values()
    }
}

/// Who needs a component that has no codec of its own: what is only seen or heard is for clients.
fn default_role(type_path: &str) -> Role {
    const CLIENT_ONLY: [&str; 6] = [
        "bevy_audio::",
        "bevy_light::",
        "bevy_pbr::",
        "bevy_render::",
        "bevy_core_pipeline::",
        "bevy_sprite",
    ];
    if CLIENT_ONLY.iter().any(|prefix| type_path.starts_with(prefix)) {
        Role::CLIENT
    } else {
        Role::ALL
    }
}
