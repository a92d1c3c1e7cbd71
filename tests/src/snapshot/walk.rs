//! Walks reflected values down to their leaves.

use std::{
    any::{TypeId, type_name},
    collections::{BTreeMap, HashMap},
};

use bevy::{
    asset::{ReflectHandle, UntypedAssetId, UntypedHandle},
    core_pipeline::prepass::PreviousViewData,
    ecs::component::ComponentId,
    light::cluster::Clusters,
    pbr::PreviousGlobalTransform,
    prelude::*,
    reflect::{PartialReflect, ReflectRef, ReflectSerialize, TypeData, TypeRegistryArc, enums::VariantField},
    world_serialization::WorldInstance,
};

use super::{
    SnapshotOptions, assets,
    paths::Paths,
    plain,
    record::{AssetRecord, Fields, Fingerprint, Leaf},
};

/// Reads one world; assets are read once each.
pub(super) struct Walker<'w> {
    pub(super) world: &'w World,
    paths: &'w Paths,
    registry: TypeRegistryArc,
    /// See [`SnapshotOptions::as_shipped`].
    pub(super) is_shipped: bool,
    /// `None` while an asset is being read: a reference back to it is a cycle.
    seen: HashMap<UntypedAssetId, Option<Leaf>>,
    assets: BTreeMap<Fingerprint, AssetRecord>,
}

impl<'w> Walker<'w> {
    pub(super) fn new(world: &'w World, paths: &'w Paths, options: &SnapshotOptions) -> Self {
        Self {
            world,
            paths,
            registry: world.resource::<AppTypeRegistry>().0.clone(),
            is_shipped: options.is_shipped(),
            seen: HashMap::new(),
            assets: BTreeMap::new(),
        }
    }

    pub(super) fn into_assets(self) -> BTreeMap<Fingerprint, AssetRecord> {
        self.assets
    }

    /// Every component of `entity` by type path.
    pub(super) fn components(&mut self, entity: Entity, options: &SnapshotOptions) -> BTreeMap<String, Fields> {
        let world = self.world;
        let ids: Vec<ComponentId> = world.entity(entity).archetype().components().to_vec();
        let mut components = BTreeMap::new();
        for id in ids {
            let type_id = world.components().get_info(id).and_then(|i| i.type_id());
            let value = type_id.and_then(|type_id| world.get_reflect(entity, type_id).ok());
            let name = match value {
                Some(value) => value.reflect_type_path().to_owned(),
                None => self.name_without_reflection(id, type_id),
            };
            if options.ignores(&name, type_id) {
                continue;
            }
            let mut fields = Fields::new();
            if let Some(value) = value {
                self.value("", value.as_partial_reflect(), &mut fields);
            }
            components.insert(name, fields);
        }
        components
    }

    /// The content of the asset behind `handle`, as a leaf.
    pub(super) fn handle(&mut self, handle: &UntypedHandle) -> Leaf {
        let id = handle.id();
        match self.seen.get(&id) {
            Some(Some(leaf)) => return leaf.clone(),
            Some(None) => return Leaf::text("<cycle>"),
            None => {}
        }
        self.seen.insert(id, None);
        let leaf = match assets::read(self, id) {
            Some(record) => {
                let kind = record.kind.clone();
                let fingerprint = record.fingerprint();
                self.assets.insert(fingerprint, record);
                Leaf::Asset { kind, fingerprint }
            }
            None => self.missing(handle),
        };
        self.seen.insert(id, Some(leaf.clone()));
        leaf
    }

    /// Adds `value` and all below it to `fields`, named from `at` on.
    pub(super) fn value(&mut self, at: &str, value: &dyn PartialReflect, fields: &mut Fields) {
        if let Some(leaf) = self.leaf(value) {
            fields.insert(at.to_owned(), leaf);
            return;
        }
        match value.reflect_ref() {
            ReflectRef::Struct(value) => {
                for (name, field) in value.iter_fields() {
                    self.value(&join(at, name), field, fields);
                }
            }
            ReflectRef::TupleStruct(value) => self.numbered(at, value.iter_fields(), fields),
            ReflectRef::Tuple(value) => self.numbered(at, value.iter_fields(), fields),
            ReflectRef::List(value) => self.elements(at, value.len(), value.iter(), fields),
            ReflectRef::Array(value) => self.elements(at, value.len(), value.iter(), fields),
            ReflectRef::Map(value) => {
                fields.insert(join(at, "len"), Leaf::text(value.len().to_string()));
                for (key, value) in value.iter() {
                    let key = self.key(key);
                    self.value(&format!("{at}{{{key}}}"), value, fields);
                }
            }
            ReflectRef::Set(value) => {
                fields.insert(join(at, "len"), Leaf::text(value.len().to_string()));
                for key in value.iter() {
                    let key = self.key(key);
                    fields.insert(format!("{at}{{{key}}}"), Leaf::text("in the set"));
                }
            }
            ReflectRef::Enum(value) => {
                fields.insert(at.to_owned(), Leaf::text(value.variant_name()));
                for (index, field) in value.iter_fields().enumerate() {
                    match field {
                        VariantField::Struct(name, field) => {
                            self.value(&join(at, name), field, fields);
                        }
                        VariantField::Tuple(field) => {
                            self.value(&join(at, &index.to_string()), field, fields);
                        }
                    }
                }
            }
            _ => {
                fields.insert(at.to_owned(), self.opaque(value));
            }
        }
    }

    fn numbered<'a>(&mut self, at: &str, items: impl Iterator<Item = &'a dyn PartialReflect>, fields: &mut Fields) {
        for (index, item) in items.enumerate() {
            self.value(&join(at, &index.to_string()), item, fields);
        }
    }

    fn elements<'a>(
        &mut self,
        at: &str,
        len: usize,
        items: impl Iterator<Item = &'a dyn PartialReflect>,
        fields: &mut Fields,
    ) {
        fields.insert(join(at, "len"), Leaf::text(len.to_string()));
        for (index, item) in items.enumerate() {
            self.value(&format!("{at}[{index}]"), item, fields);
        }
    }

    /// A map's key on one line.
    fn key(&mut self, key: &dyn PartialReflect) -> String {
        let mut fields = Fields::new();
        self.value("", key, &mut fields);
        let parts: Vec<_> = fields
            .iter()
            .map(|(name, leaf)| {
                if name.is_empty() {
                    leaf.to_string()
                } else {
                    format!("{name}={leaf}")
                }
            })
            .collect();
        parts.join(", ")
    }

    /// Values that are not walked into: entities, handles and plain data.
    fn leaf(&mut self, value: &dyn PartialReflect) -> Option<Leaf> {
        let reflected = value.try_as_reflect()?;
        if let Some(entity) = reflected.downcast_ref::<Entity>() {
            return Some(Leaf::text(self.paths.name(self.world, *entity)));
        }
        if let Some(handle) = reflected.downcast_ref::<UntypedHandle>() {
            return Some(self.handle(handle));
        }
        // Reflection stops at the hashed text inside.
        if let Some(name) = reflected.downcast_ref::<Name>() {
            return Some(Leaf::text(format!("{:?}", name.as_str())));
        }
        let type_id = reflected.reflect_type_info().type_id();
        if let Some(data) = self.type_data::<ReflectHandle>(type_id) {
            let handle = data.downcast_handle_untyped(reflected.as_any())?;
            return Some(self.handle(&handle));
        }
        let path = value.reflect_type_path();
        // Their indices differ from one world to the next.
        if path.starts_with("bevy_asset::handle::") || path.starts_with("bevy_asset::id::") {
            return Some(Leaf::text(format!("<opaque {path}>")));
        }
        plain::text(reflected).map(Leaf::Text)
    }

    /// The text of an opaque value: `Debug` where the type reflects it, else its serialised form.
    fn opaque(&self, value: &dyn PartialReflect) -> Leaf {
        let debug = format!("{value:?}");
        if !debug.starts_with("Reflect(") {
            return Leaf::Text(debug);
        }
        let serialized = value.try_as_reflect().and_then(|reflected| {
            let data = self.type_data::<ReflectSerialize>(reflected.reflect_type_info().type_id())?;
            serde_json::to_string(&*data.get_serializable(reflected)).ok()
        });
        let text = serialized.unwrap_or_else(|| format!("<opaque {}>", value.reflect_type_path()));
        Leaf::Text(text)
    }

    fn missing(&self, handle: &UntypedHandle) -> Leaf {
        let kind = self.type_name(handle.type_id());
        match handle {
            UntypedHandle::Strong(_) => Leaf::text(format!("<missing asset> of {kind}")),
            UntypedHandle::Uuid { uuid, .. } => Leaf::text(format!("uuid {uuid} of {kind}")),
        }
    }

    fn name_without_reflection(&self, id: ComponentId, type_id: Option<TypeId>) -> String {
        // Bevy keeps component names only with its `debug` feature; the id is stable inside one binary.
        match type_id.and_then(unreflected_of_bevy) {
            Some(name) => format!("<not reflected> {name}"),
            None => format!("<not reflected> {:?}", type_id.ok_or(id)),
        }
    }

    /// The type path of a registered type, else its id.
    pub(super) fn type_name(&self, type_id: TypeId) -> String {
        let registry = self.registry.read();
        registry.get(type_id).map_or_else(
            || format!("{type_id:?}"),
            |registration| registration.type_info().type_path().to_owned(),
        )
    }

    /// Type data by clone, so that no lock is held while walking.
    pub(super) fn type_data<D: TypeData + Clone>(&self, type_id: TypeId) -> Option<D> {
        self.registry.read().get_type_data::<D>(type_id).cloned()
    }
}

fn join(at: &str, name: &str) -> String {
    if at.is_empty() {
        name.to_owned()
    } else {
        format!("{at}.{name}")
    }
}

/// Names of Bevy's components without reflection that turn up in ordinary levels.
fn unreflected_of_bevy(type_id: TypeId) -> Option<&'static str> {
    fn entry<T: 'static>() -> (TypeId, &'static str) {
        (TypeId::of::<T>(), type_name::<T>())
    }
    let known = [
        entry::<WorldInstance>(),
        entry::<PreviousGlobalTransform>(),
        entry::<PreviousViewData>(),
        entry::<Clusters>(),
    ];
    let found = known.into_iter().find(|(id, _)| *id == type_id);
    found.map(|(_, name)| name)
}
